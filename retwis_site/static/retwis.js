// What pages do beyond HTML. Without this file everything works; with it nothing is lost, and nothing reloads.
"use strict";
(() => {
  /** Tell screen readers. */
  const say = (text) => {
    document.getElementById("said").textContent = text;
  };

  /** Tell everybody, where "Posted." stands: what stands there is read out too. */
  const tell = (text) => {
    const message = document.createElement("p");
    message.className = "message error";
    message.textContent = text;
    document.getElementById("messages").replaceChildren(message);
  };

  /** Why the site did not do it, as its error page says. */
  const why = (answer) => {
    const page = new DOMParser().parseFromString(answer, "text/html");
    return page.querySelector("main h1 + p")?.textContent ?? "That did not work. Try again in a moment.";
  };

  /** Following without leaving the page. Whatever goes wrong, the button stays as it was, and can be pressed again. */
  const follows = () => {
    const on = (name, act) =>
      document.addEventListener(name, (event) => {
        const form = event.detail.requestConfig?.elt;
        if (form?.matches("form.follow")) act(event, form);
      });

    on("htmx:beforeSwap", (event, form) => {
      const { xhr, isError, serverResponse } = event.detail;
      if (isError || serverResponse.includes(`id="${form.id}"`)) return;
      // Another page, such as the login: where the form leads without a script.
      event.detail.shouldSwap = false;
      location.assign(xhr.responseURL);
    });
    on("htmx:responseError", (event) => tell(why(event.detail.xhr.responseText)));
    on("htmx:sendError", () => tell("The site could not be reached. Try again in a moment."));
  };

  follows();
})();

// What pages do beyond HTML. Without this file everything works; with it nothing is lost, and nothing reloads.
"use strict";
(() => {
  const said = document.getElementById("said"); // it also has the words for what a page does not know of beforehand

  /** Tell screen readers. */
  const say = (text) => {
    said.textContent = text;
  };

  // A form that came back: what is wrong with it is where one goes on, and what a screen reader reads.
  document.querySelector("[aria-invalid=true]")?.focus();

  // ---- how much room is left

  /** Keep a counter up to date with its text. */
  const counting = (counter, longest) => {
    const text = document.getElementById(counter.htmlFor.value);
    const near = 20; // characters left, from where it is worth telling
    let left;

    const count = () => {
      const before = left;
      left = longest - [...text.value.trim()].length; // as the server counts: characters, not UTF-16
      counter.textContent = left;
      counter.classList.toggle("over", left < 0);
      // Whatever was pasted may jump over either.
      if (left < 0 && before >= 0) say(counter.dataset.over);
      else if (left <= near && before > near) say(counter.dataset.near.replace("{left}", left));
    };
    text.addEventListener("input", count);
    count();
  };
  document.querySelectorAll(".counter[data-longest]").forEach((counter) => counting(counter, Number(counter.dataset.longest)));

  // ---- the composer: Ctrl-Enter, and a text that stays until it is posted

  const compose = (form) => {
    const text = form.querySelector("textarea");
    const draft = `draft:${form.dataset.of}`;
    const over = `${draft}:over`; // what the page had brought where it was typed
    const brought = text.defaultValue;

    text.addEventListener("input", () => {
      sessionStorage.setItem(draft, text.value);
      sessionStorage.setItem(over, brought);
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });

    if (document.querySelector(".message.posted")) sessionStorage.removeItem(draft);
    else if (!text.value || (text.value === brought && sessionStorage.getItem(over) === brought))
      text.value = sessionStorage.getItem(draft) ?? text.value;
    counting(form.querySelector(".counter"), Number(form.dataset.longest));
  };
  document.querySelectorAll(".composer").forEach(compose);
  document.querySelector("form[action='/logout/']")?.addEventListener("submit", () => sessionStorage.clear());

  // ---- what comes while the page is open

  const arrivals = () => document.getElementById("arrivals");

  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target !== arrivals()) return;
    const { count } = document.getElementById("arrived").dataset;
    document.title = document.title.replace(/^(\(\S*\) )?/, `(${count}) `); // seen from another tab
  });

  // ---- swaps: the focus goes on where what had it has gone

  let swapping = null;

  /** Whether an answer is of another page than this home: the session ended in another window, or is another's. */
  const isOfAnother = (answer) => {
    const home = document.querySelector(".composer");
    return home !== null && !answer.includes(`data-of="${home.dataset.of}"`);
  };

  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const { elt } = detail.requestConfig;
    if (detail.shouldSwap && elt.matches("a[href]") && isOfAnother(detail.serverResponse)) {
      detail.shouldSwap = false;
      location.assign(elt.href); // strangers' posts are no older ones of ours
      return;
    }
    const told = detail.target === arrivals() && detail.xhr.responseText.trim() === arrivals().innerHTML.trim();
    if (told) detail.shouldSwap = false; // not again: neither the focus nor the ear should be bothered
    if (!detail.shouldSwap) return;
    const posts = document.querySelectorAll(".post").length;
    swapping = { focused: detail.target.contains(document.activeElement), known: detail.target.id === "stream" ? 0 : posts };
  });
  document.body.addEventListener("htmx:afterSettle", () => {
    if (!swapping?.focused || document.activeElement !== document.body) return;
    const first = document.querySelectorAll(".post")[swapping.known];
    swapping = null;
    if (!first) return;
    first.tabIndex = -1;
    first.focus();
  });

  // A link that is to open elsewhere does so: htmx, which would follow it in place, does not hear of it.
  const opensElsewhere = (event) => event.ctrlKey || event.metaKey || event.shiftKey;
  document.addEventListener("click", (event) => {
    if (opensElsewhere(event) && event.target.closest("a[hx-get]")) event.stopPropagation();
  }, true);

  // A link that could not be followed in place is followed as ever: the page that comes says what is wrong.
  for (const failure of ["htmx:responseError", "htmx:sendError"]) {
    document.body.addEventListener(failure, ({ target }) => {
      if (target.matches("a[href]")) window.location.assign(target.href);
    });
  }

  // ---- following in place

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
    return page.querySelector("main h1 + p")?.textContent ?? said.dataset.failed;
  };

  // What is found while one types stays what it was when the site does not answer: so that must be said.
  document.body.addEventListener("htmx:responseError", ({ target, detail }) => {
    if (target.matches("[type=search]")) tell(why(detail.xhr.responseText));
  });
  document.body.addEventListener("htmx:sendError", ({ target }) => {
    if (target.matches("[type=search]")) tell(said.dataset.unreachable);
  });

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
    on("htmx:sendError", () => tell(said.dataset.unreachable));
  };

  follows();

  // The second click of two meant the button that was there at the first: not the new one in its place.
  document.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest("form.follow")) event.preventDefault();
  });
})();

// While a post is typed, `@` and `#` are completed with people and tags. Without this file nothing is missing.
"use strict";
(() => {
  const PAUSE = 150; // milliseconds without typing before the site is asked
  // A sign and the beginning of a name, right before the caret; not inside a word, an address or a mail address.
  const TOKEN = /(?<![\p{L}\p{N}\p{M}_@#＃﹟&/])[@#＃﹟][\p{L}\p{N}\p{M}_\u200c\u200d]{1,100}$/u;
  const TEXTS = "textarea[name=body]";

  let open = null; // what is shown now: the text field, its list, and the text that it completes
  let asking = null; // the request under way
  let timer = 0;

  const tokenOf = (text) =>
    text.selectionStart === text.selectionEnd ? (TOKEN.exec(text.value.slice(0, text.selectionStart))?.[0] ?? "") : "";

  const close = () => {
    clearTimeout(timer);
    asking?.abort();
    if (!open) return;
    for (const name of ["aria-controls", "aria-activedescendant"]) open.text.removeAttribute(name);
    open.place.remove();
    open = null;
  };

  const show = (text, token, html) => {
    close();
    const place = document.createElement("div");
    place.className = "completing";
    place.innerHTML = html;
    const list = place.querySelector("[role=listbox]");
    if (!list) return; // another page, such as the login
    text.after(place);
    text.setAttribute("aria-autocomplete", "list");
    text.setAttribute("aria-haspopup", "listbox");
    text.setAttribute("aria-controls", list.id);
    open = { text, token, place, list };
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the text field keeps the focus
    list.addEventListener("click", ({ target }) => accept(target.closest("[role=option]")));
  };

  const ask = async (text) => {
    const token = tokenOf(text);
    if (!token) return close();
    asking?.abort();
    const request = (asking = new AbortController());
    try {
      const answer = await fetch(`/complete/?q=${encodeURIComponent(token)}`, { signal: request.signal });
      const html = answer.status === 200 ? await answer.text() : "";
      if (request.signal.aborted || document.activeElement !== text || tokenOf(text) !== token) return;
      if (html) show(text, token, html);
      else close();
    } catch {
      if (!request.signal.aborted) close(); // the site cannot be reached: typing goes on without it
    }
  };

  const active = () => open.list.querySelector("[aria-selected=true]");

  const activate = (option) => {
    active()?.setAttribute("aria-selected", "false");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    open.text.setAttribute("aria-activedescendant", option.id);
  };

  /** Put the option where the token stands, and a space after it. */
  const accept = (option) => {
    if (!option) return;
    const { text, token } = open;
    const end = text.selectionStart;
    const space = /^\s/.test(text.value.slice(end)) ? "" : " ";
    text.setRangeText(option.dataset.text + space, end - token.length, end, "end");
    close();
    text.dispatchEvent(new Event("input", { bubbles: true })); // the counter and the draft follow
  };

  document.addEventListener("input", (event) => {
    const text = event.target;
    if (!text.matches?.(TEXTS) || event.isComposing) return;
    clearTimeout(timer);
    if (!tokenOf(text)) return close();
    timer = setTimeout(() => ask(text), PAUSE);
  });
  document.addEventListener("compositionend", ({ target }) => {
    if (target.matches?.(TEXTS)) ask(target);
  });

  document.addEventListener("keydown", (event) => {
    if (!open || event.target !== open.text || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const options = [...open.list.children];
    const at = options.indexOf(active());
    if (event.key === "ArrowDown") activate(options[(at + 1) % options.length]);
    else if (event.key === "ArrowUp") activate(options[(at <= 0 ? options.length : at) - 1]);
    else if (event.key === "Escape") close();
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && at >= 0) accept(options[at]);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // The list belongs to the place of the caret.
  document.addEventListener("selectionchange", () => {
    if (open && tokenOf(open.text) !== open.token) close();
  });
  document.addEventListener("focusout", ({ target }) => {
    if (open?.text === target) close();
  });
})();

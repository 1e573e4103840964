// Without this file every page works. With it, typed text is kept and pages update without a reload.
"use strict";
if (window.htmx) Object.assign(htmx.config, { includeIndicatorStyles: false, allowEval: false, historyCacheSize: 0, refreshOnHistoryMiss: true, scrollIntoViewOnBoost: false });

// Where the site begins on its host: this file is in its folder `static/`.
const siteTop = new URL("../", document.currentScript.src).pathname;

const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

/** The page behind an address, as a document; null without an answer, or with a part of one. */
const pageAt = async (address, sent) => {
  try {
    const answer = await fetch(address, sent);
    return parsed(await answer.text());
  } catch {
    return null;
  }
};

(() => {
  const status = document.getElementById("said"); // its data attributes have the translated texts for this script

  /** Let screen readers read a text. */
  const announce = (text) => {
    status.textContent = text;
  };

  // When a form has errors, focus the first wrong field. A screen reader then reads its error.
  document.querySelector("[aria-invalid=true]")?.focus();

  // ---- the counter of the characters left

  /** The text as the server stores it: at most two line breaks in a row, and no spaces at the ends of lines. */
  const seen = /(?![\p{DI}\u2800])[\p{L}\p{M}\p{N}\p{P}\p{S}\p{ExtPict}]/u; // as in form_fields.py
  const normalised = (text) =>
    text
      .split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
      .map((line) => (seen.test(line) ? line.trimEnd() : ""))
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim();

  /** Update a counter whenever its text changes. */
  const updateCounter = (counter, longest) => {
    const text = document.getElementById(counter.htmlFor.value);
    const near = 20; // characters left; screen readers hear the number once it is as low as this
    let left;

    const count = () => {
      const before = left;
      left = longest - [...normalised(text.value)].length; // the server counts characters too, not UTF-16 code units
      counter.textContent = left;
      counter.classList.toggle("over", left < 0);
      // A pasted text can pass one or both limits at once.
      if (left < 0 && before >= 0) announce(counter.dataset.over);
      else if (left <= near && before > near) announce(counter.dataset.near.replace("{left}", left));
    };
    text.addEventListener("input", count);
    count();
  };
  document.querySelectorAll(".counter[data-longest]").forEach((counter) => updateCounter(counter, Number(counter.dataset.longest)));

  // ---- the composer: Ctrl-Enter posts, and a draft is kept until it is posted

  const drafts = `draft:${siteTop.slice(1)}`; // sites on one host have one storage
  const sent = `${drafts}sent`; // the key of the draft whose form was sent last
  if (document.querySelector(".message.posted")) sessionStorage.removeItem(sessionStorage.getItem(sent));
  if (document.querySelector(".message.ended")) sessionStorage.clear();

  const setUpComposer = (form) => {
    const text = form.querySelector("textarea");
    const draft = `${drafts}${form.dataset.draft}`; // whose it is, and which posts it names
    const base = `${draft}:over`; // the key of the text that the server had put into the form before the user typed
    const fromServer = text.defaultValue;
    const begins = form.matches(".begun") ? fromServer : "";

    text.addEventListener("input", () => {
      sessionStorage.setItem(draft, text.value);
      sessionStorage.setItem(base, fromServer);
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });

    const discard = form.querySelector("[formaction$='/discard/']"); // a form that changes a post has "Cancel" instead
    form.querySelector(".actions a")?.addEventListener("click", () => sessionStorage.removeItem(draft));
    const offerToDiscard = () => {
      if (discard) discard.hidden = !text.value || text.value === begins;
    };
    text.addEventListener("input", offerToDiscard);
    form.addEventListener("submit", ({ submitter }) => {
      sessionStorage.setItem(sent, draft);
      if (submitter !== null && submitter === discard) sessionStorage.removeItem(draft);
    });

    if (!text.value || (text.value === fromServer && sessionStorage.getItem(base) === fromServer))
      text.value = sessionStorage.getItem(draft) ?? text.value;
    if (begins) text.setSelectionRange(text.value.length, text.value.length); // one types on after the name
    offerToDiscard();
    updateCounter(form.querySelector(".counter"), Number(form.dataset.longest));
  };
  const composers = new WeakSet();
  const setUpComposers = () => {
    for (const form of document.querySelectorAll(".composer")) {
      if (composers.has(form)) continue;
      composers.add(form);
      setUpComposer(form);
    }
  };
  setUpComposers();
  document.body.addEventListener("htmx:afterSettle", setUpComposers);

  // ---- pictures of a post: uploaded as soon as they are chosen, pasted or dropped. The answer is the page with the same
  // form; its part with the pictures comes into this one.

  /** Put the fields for pictures in the place of the link to them. */
  const openPictures = async (form) => {
    const link = form.querySelector("a.attach");
    if (!link) return;
    const part = (await pageAt(link.href))?.querySelector(".composer .attach");
    if (!part) return location.assign(link.href); // that page says what is wrong
    form.enctype = "multipart/form-data";
    link.replaceWith(part);
    part.open = true;
  };

  let lastChange = Promise.resolve(); // the next one begins with the form that this one leaves
  const waiting = []; // forms with files that are not shown in them yet

  /** Send the form for its pictures alone: with these files, or without the picture that the button removes. */
  const changePictures = (form, { name, value }, files) => {
    if (files) waiting.push({ form, files });
    lastChange = lastChange.then(async () => {
      const before = form.querySelector(".attach");
      const field = before.querySelector("[type=file]");
      if (files) field.files = files;
      const body = new FormData(form);
      body.append(name, value);
      const { activeElement } = document;
      const text = activeElement.value;
      before.setAttribute("aria-busy", "true");
      const page = await pageAt(form.action, { method: "POST", body });
      if (files) waiting.shift();
      const after = page?.querySelector(".composer details.attach");
      before.removeAttribute("aria-busy");
      if (after) showPictures(before, after, document.activeElement === activeElement && activeElement.value === text);
      else {
        // Such as files that are too large: without them, the form can be sent.
        field.value = "";
        const why = before.querySelector(":scope > .message") ?? document.createElement("p");
        why.className = "message error";
        why.setAttribute("role", "alert");
        why.textContent = page?.querySelector("h1 + p")?.textContent ?? document.getElementById("said").dataset.unreachable;
        before.querySelector("summary").after(why);
      }
    });
  };
  /** Put the new part in the place of the old one, with what was typed and ticked there meanwhile. `waits`: the user has
   * done nothing else, so the focus goes to the first picture without a description. */
  const showPictures = (before, after, waits) => {
    const { activeElement } = document;
    for (const field of before.querySelectorAll("[name=alt]")) {
      const same = after.querySelector(`#${field.id}`);
      if (same) same.value = field.value;
    }
    after.querySelector("[name=sensitive]").checked = before.querySelector("[name=sensitive]").checked;
    after.open = true;
    before.replaceWith(after);
    const described = [...after.querySelectorAll("[name=alt]")];
    after.closest("form").elements.body.required = !described.length; // pictures need no text
    const same = described.find((field) => field.id === activeElement.id);
    if (waits) (described.find((field) => !field.value) ?? described.at(-1) ?? after.querySelector("summary")).focus();
    else if (same) {
      same.focus();
      same.setSelectionRange(activeElement.selectionStart, activeElement.selectionEnd);
    }
  };
  // Who posts meanwhile sends them too.
  document.addEventListener("submit", ({ target }) => {
    const its = waiting.filter(({ form }) => form === target);
    if (!its.length) return;
    const all = new DataTransfer();
    for (const { files } of its) for (const file of files) all.items.add(file);
    target.querySelector(".attach [type=file]").files = all.files;
  });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.attach");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const form = link.closest("form");
      await openPictures(form);
      form.querySelector(".attach [type=file]")?.focus();
    }
    const button = event.target.closest(".attach button");
    if (!button) return;
    event.preventDefault();
    changePictures(button.form, button);
  });
  document.addEventListener("change", ({ target }) => {
    if (target.matches(".attach [type=file]") && target.files.length) changePictures(target.form, target.form.elements.add, target.files);
  });
  const takePictures = async (event, data) => {
    const form = event.target.closest(".composer:has(.attach)");
    if (!form || !data?.types.includes("Files")) return;
    event.preventDefault(); // else the browser would leave the page and show the file
    const chosen = new DataTransfer();
    for (const file of data.files) chosen.items.add(file);
    if (!chosen.files.length) return; // still dragged
    await openPictures(form);
    if (form.elements.add) changePictures(form, form.elements.add, chosen.files);
  };
  document.addEventListener("paste", (event) => {
    const { types } = event.clipboardData;
    if (types.includes("text/plain") && types.includes("text/html")) return; // Word and Excel add a picture of the text
    takePictures(event, event.clipboardData);
  });
  document.addEventListener("dragover", (event) => takePictures(event, event.dataTransfer));
  document.addEventListener("drop", (event) => takePictures(event, event.dataTransfer));

  // ---- answering below a card of a list

  /** Open a composer below a card, or close it. Its text is kept. */
  const answerBelow = async (card, link) => {
    if (card.nextElementSibling?.matches(".composer")) return card.nextElementSibling.remove();
    const pid = card.id.replace("post-", "");
    const page = await pageAt(`${siteTop}compose/?reply_to=${pid}`);
    const form = page?.querySelector(".composer");
    if (!form || isOtherSession(page)) return location.assign(link.href); // the page of the post says what is wrong
    if (card.nextElementSibling?.matches(".composer")) return; // a second click was faster
    for (const element of form.querySelectorAll("*"))
      for (const name of ["id", "for", "aria-describedby"])
        if (element.hasAttribute(name)) element.setAttribute(name, element.getAttribute(name).replaceAll("reply_body", `reply_body-${pid}`));
    card.after(form);
    setUpComposers();
    form.querySelector("textarea").focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.reply");
    const isSignedIn = document.querySelector("[formaction$='/logout/']");
    if (!link || !isSignedIn || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.pathname === location.pathname) return; // this page has the composer
    event.preventDefault();
    answerBelow(link.closest(".post"), link);
  });
  // ---- ages keep growing while the page is open

  const DAY = 1440; // minutes
  const opened = Date.now();

  /** Update the ages of all posts, in the server's words: the long ones in `title`, and the long or short ones on the page. */
  const growAges = () => {
    const phrases = Object.fromEntries(document.getElementById("ages").dataset.phrases.split("\n").map((line) => line.split("=")));
    const plural = new Intl.PluralRules(document.documentElement.lang);
    for (const time of document.querySelectorAll(".post time[title]")) {
      const written = new Date(time.dateTime);
      const minutes = Math.floor((Date.now() - written) / 60_000);
      const [before, when] = time.title.split(" · "); // notices have the date alone
      if (minutes < 1) continue;
      const isShort = time.textContent !== before;
      const [unit, size] = minutes < 60 ? ["minute", 1] : minutes < DAY ? ["hour", 60] : ["day", DAY];
      const number = Math.floor(minutes / size);
      const says = phrases[`${unit}.${plural.select(number)}`] ?? phrases[`${unit}.other`];
      const [words, short] = says.replaceAll("#", number).split("|");
      if (when) time.title = `${words} · ${when}`;
      if (!isShort) time.textContent = words;
      else if (short) time.textContent = short;
      else if (opened - written < DAY * 60_000) // it was no date yet
        time.textContent = phrases.months.split("|")[written.getUTCMonth()].replace("#", written.getUTCDate());
    }
  };
  if (document.getElementById("ages")) setInterval(growAges, 60_000);

  // ---- "More" and "Repost" lead to a page of choices. What that page chooses from opens as a menu below the link.

  const OPENS_MENU = ":is(a.to-more, a.repost)";

  const closeMore = (link) => {
    link.nextElementSibling.remove();
    link.removeAttribute("aria-expanded");
  };
  const openMore = async (link) => {
    unanswered.add(link);
    markSlow();
    const page = await pageAt(link.href);
    unanswered.delete(link);
    markSlow();
    const menu = page?.getElementById("more");
    if (!menu || isOtherSession(page)) return location.assign(link.href); // that page says what is wrong
    if (link.hasAttribute("aria-expanded")) return; // a second click was faster
    menu.removeAttribute("id");
    offerAddress(menu);
    closeMenus();
    link.after(menu);
    link.setAttribute("aria-expanded", "true");
    menu.scrollIntoView({ block: "nearest" });
    menu.querySelector("a, button, select, summary").focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest(OPENS_MENU);
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.hasAttribute("aria-expanded")) closeMore(link);
    else openMore(link);
  });

  // What opens inside a menu may reach below the window.
  document.addEventListener("toggle", ({ target }) => {
    if (target.open && target.matches(".choosing details")) target.lastElementChild.scrollIntoView({ block: "nearest" });
  }, true);

  // ---- the address of a post: copied, or shared as the device does it. What the browser cannot do is not offered.

  const offerAddress = (choices) => {
    const address = choices?.querySelector(".address");
    if (!address) return;
    address.hidden = "clipboard" in navigator;
    choices.querySelector("li:has(> .copies)").hidden = !address.hidden;
    choices.querySelector("li:has(> .shares)").hidden = !("share" in navigator);
  };
  offerAddress(document.getElementById("more"));
  document.addEventListener("click", ({ target }) => {
    const url = target.closest(".shares")?.closest("ul").querySelector(".address input").value;
    if (url) navigator.share({ url }).catch(() => {}); // the user has thought better of it
  });

  // ---- menus: one is open at a time, and a click elsewhere, Escape or Tab beyond it closes it: it would cover the focus

  const closeMenus = (but) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== but) menu.open = false;
    for (const link of document.querySelectorAll(`${OPENS_MENU}[aria-expanded=true]`)) if (link.nextElementSibling !== but) closeMore(link);
  };
  const menuAt = (element) => element.closest("details.menu, .choosing") ?? element.closest(OPENS_MENU)?.nextElementSibling;
  document.addEventListener("click", ({ target }) => closeMenus(menuAt(target)));
  document.addEventListener("focusin", ({ target }) => {
    // A press on a text in a menu focuses the card around it once `j` has made that focusable; in Safari, one on a button too.
    if (!target.querySelector("details.menu[open], .choosing")) closeMenus(menuAt(target));
  });
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector(`details.menu[open], ${OPENS_MENU} + .choosing`);
    if (!open) return;
    if (event.key === "Escape") {
      if (open.contains(document.activeElement)) (open.querySelector(".menu > summary") ?? open.previousElementSibling).focus();
      closeMenus();
    } else if (/^Arrow(Up|Down)$/.test(event.key) && open.contains(document.activeElement) && !event.target.matches("select")) {
      event.preventDefault();
      const items = [...open.querySelectorAll("a, button, select, summary")].filter((item) => item.checkVisibility());
      const step = event.key === "ArrowDown" ? 1 : -1;
      items.at((items.indexOf(document.activeElement) + step) % items.length).focus();
    }
  });

  // ---- posts that arrive while the page is open

  const arrivals = () => document.getElementById("arrivals");

  /** The number before the title, visible from another tab: new posts that this page can load, and new notices. */
  const countInTitle = () => {
    const counts = ["arrived", "news"].map((id) => document.getElementById(id)?.dataset.count).filter(Boolean);
    const sum = counts.reduce((all, count) => all + parseInt(count, 10), 0);
    const more = counts.some((count) => count.endsWith("+")) ? "+" : "";
    document.title = (sum ? `(${sum}${more}) ` : "") + document.title.replace(/^\(\S*\) /, "");
  };
  const carriesNumber = (target) => target === arrivals() || target.id === "news";
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => carriesNumber(detail.target) && countInTitle());
  document.body.addEventListener("htmx:oobAfterSwap", ({ detail }) => carriesNumber(detail.target) && countInTitle());

  // ---- a line at the top of the window while an answer is slow

  const SLOW = 300; // milliseconds
  const unanswered = new Set();
  let untilSlow;

  const markSlow = () => {
    if (unanswered.size === 0) {
      clearTimeout(untilSlow);
      untilSlow = undefined;
      document.documentElement.classList.remove("slow");
    } else untilSlow ??= setTimeout(() => document.documentElement.classList.add("slow"), SLOW);
  };
  document.addEventListener("htmx:beforeSend", ({ detail }) => {
    if (detail.elt.matches("[hx-trigger*=every]")) return; // nobody waits for a poll
    unanswered.add(detail.xhr);
    markSlow();
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    unanswered.delete(detail.xhr);
    markSlow();
  });
  // A form goes out once: a second click would find that the name is taken or the password another by now, and what the
  // first had answered would be lost. On the window: after all that stands on the document, which may send it in place.
  const DOUBLE_CLICK = 1000; // milliseconds
  let last = { form: null, at: 0 };
  addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.matches("[data-gives-file]")) return; // a script sends it; the page stays
    if (event.target === last.form && event.timeStamp - last.at < DOUBLE_CLICK) return event.preventDefault();
    if (event.target.method === "post") last = { form: event.target, at: event.timeStamp }; // a search may go out again with another word
    unanswered.add(event);
    markSlow();
  });
  addEventListener("pageshow", () => {
    unanswered.clear();
    markSlow();
  });

  // ---- Back returns to the same place, also among older posts that were loaded in place. Browsers that keep the whole
  // ---- page need none of this.

  let pagesLoaded = 0;

  /** Note in the browser's history which post is the first in view. */
  const keepPlace = () => {
    const post = [...document.querySelectorAll(".post")].find((one) => one.getBoundingClientRect().bottom > 0);
    if (!pagesLoaded || !post) return;
    const place = { post: post.id, top: post.getBoundingClientRect().top, pages: pagesLoaded };
    history.replaceState({ ...history.state, place }, "");
  };
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (!detail.requestConfig?.elt.matches(".pager a")) return;
    pagesLoaded += 1;
    keepPlace();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest("a[href], button")) keepPlace();
  }, true);

  /** Load as many pages again, and the noted post. New posts may have come above it: two pages more are looked at. */
  const returnTo = async ({ post, top, pages }) => {
    for (let page = 0; page <= pages + 2; page += 1) {
      const found = document.getElementById(post);
      const link = document.querySelector(".pager a[hx-get]");
      if (found && (page >= pages || !link)) return scrollBy(0, found.getBoundingClientRect().top - top);
      if (!link) return;
      await new Promise((resolve) => {
        document.addEventListener("htmx:afterSettle", ({ detail }) => detail.requestConfig?.elt === link && resolve());
        link.click();
      });
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    const [visit] = performance.getEntriesByType("navigation");
    if (visit?.type === "back_forward" && history.state?.place) returnTo(history.state.place);
  });

  // ---- swaps: when the focused element was replaced, the same action of the post or the first new post gets the focus

  let swapping = null;

  const meOn = (page) => page.querySelector("a.me")?.getAttribute("href");

  /** Whether a page belongs to another session than this one: another window logged out, or in as another user. */
  const isOtherSession = (page) => meOn(document) !== undefined && meOn(page) !== meOn(document);

  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const { elt } = detail.requestConfig;
    if (detail.shouldSwap && elt.matches("a[href]") && isOtherSession(parsed(detail.serverResponse))) {
      detail.shouldSwap = false;
      location.assign(elt.href); // its posts do not continue this list
      return;
    }
    const unchanged = detail.target === arrivals() && detail.xhr.responseText.trim() === arrivals().innerHTML.trim();
    const isStillEmpty = elt.id === "stream" && !detail.serverResponse.includes("<article");
    if (unchanged || isStillEmpty) detail.shouldSwap = false; // keep the focus, and let screen readers stay silent
    if (!detail.shouldSwap) return;
    const posts = document.querySelectorAll(".post").length;
    const { activeElement } = document;
    const action = detail.target.matches(".acts") && `#${detail.target.closest(".post").id} .acts .${activeElement.classList[0]}`;
    swapping = { focused: detail.target.contains(activeElement), action, before: detail.target.id === "stream" ? 0 : posts };
  });
  document.body.addEventListener("htmx:afterSettle", () => {
    if (!swapping?.focused || document.activeElement !== document.body) return;
    const { action, before } = swapping;
    swapping = null;
    if (action) return document.querySelector(action)?.focus();
    const first = document.querySelectorAll(".post")[before];
    if (!first) return;
    first.tabIndex = -1;
    first.focus();
  });

  // Ctrl, Meta or Shift opens a link in a new tab or window. htmx must not see that click: it would follow the link here.
  const opensNewWindow = (event) => event.ctrlKey || event.metaKey || event.shiftKey;
  document.addEventListener("click", (event) => {
    if (opensNewWindow(event) && event.target.closest("a[hx-get]")) event.stopPropagation();
  }, true);

  // When htmx cannot load a link, the browser follows it: the error page says what is wrong.
  for (const failure of ["htmx:responseError", "htmx:sendError"]) {
    document.body.addEventListener(failure, ({ target }) => {
      if (target.matches("a[href]")) window.location.assign(target.href);
    });
  }

  // ---- following without a reload

  /** Show an error where "Posted." is shown. Screen readers read that place too. */
  const showError = (text) => {
    const message = document.createElement("p");
    message.className = "message error";
    message.textContent = text;
    document.getElementById("messages").replaceChildren(message);
  };

  /** The sentence of an error page that says what is wrong. */
  const reasonOf = (answer) => {
    return parsed(answer).querySelector("main h1 + p")?.textContent ?? status.dataset.failed;
  };

  // When a search fails, the old results stay on the page, so an error must be shown.
  document.body.addEventListener("htmx:responseError", ({ target, detail }) => {
    if (target.matches("[type=search]")) showError(reasonOf(detail.xhr.responseText));
  });
  document.body.addEventListener("htmx:sendError", ({ target }) => {
    if (target.matches("[type=search]")) showError(status.dataset.unreachable);
  });

  /** Follow without leaving the page. After an error the button is unchanged and can be pressed again. */
  const setUpFollowing = () => {
    const on = (name, handle) =>
      document.addEventListener(name, (event) => {
        const form = event.detail.requestConfig?.elt;
        if (form?.matches("form.follow, .acts button")) handle(event, form.closest(".post") ?? form);
      });

    on("htmx:beforeSwap", (event, form) => {
      const { xhr, isError, serverResponse } = event.detail;
      if (isError || serverResponse.includes(`id="${form.id}"`)) return;
      // The answer is another page, such as the login: open it, as the form does without a script.
      event.detail.shouldSwap = false;
      location.assign(xhr.responseURL);
    });
    on("htmx:responseError", (event) => showError(reasonOf(event.detail.xhr.responseText)));
    on("htmx:sendError", () => showError(status.dataset.unreachable));
  };

  setUpFollowing();

  // A home without posts suggests people. The first follow there fills it.
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (!detail.successful || !detail.requestConfig.elt.matches("form.follow") || !document.querySelector("#stream .suggestions")) return;
    htmx.ajax("GET", siteTop, { source: "#stream", target: "#stream", select: "#stream", selectOOB: "#you", swap: "outerHTML ignoreTitle:true" });
  });

  // ---- actions on a post without a reload: the answer is the page of the post, which has the same row of actions

  const lastAct = new WeakMap(); // by post: each answer has the whole row, so the next act begins when it is shown

  const act = async (post, kind, address, form) => {
    const row = `#${post.id} .acts`;
    const button = document.querySelector(`${row} button.${kind}`); // none where it was in a menu that is gone by now
    if (button && button.getAttribute("formaction") !== address) return; // done by the click before
    const source = button ?? document.querySelector(row);
    if (!source) return; // the post is gone
    source.setAttribute("hx-select-oob", "#messages:innerHTML");
    await htmx.ajax("POST", address, { source, target: row, select: row, swap: "outerHTML ignoreTitle:true settle:0ms", values: htmx.values(form) });
  };
  document.addEventListener("submit", (event) => {
    const { submitter: button, target: form } = event;
    if (!button?.matches(".acts button")) return;
    event.preventDefault();
    const post = button.closest(".post");
    const [kind, address] = [button.classList[0], button.getAttribute("formaction")];
    const before = lastAct.get(post) ?? Promise.resolve();
    lastAct.set(post, before.then(() => act(post, kind, address, form)).catch(() => {})); // the user was told why
  });

  // ---- buttons that need a script: they copy what an element says, and print the page

  /** The text of a field, or of each element with a text that is copied as it is. */
  const textOf = (element) => element.value ?? [...element.querySelectorAll("code")].map((code) => code.textContent).join("\n");

  /** Whether the text is in the clipboard. Without HTTPS browsers have no `navigator.clipboard`: then it is selected. */
  const copy = async (element) => {
    try {
      await navigator.clipboard.writeText(textOf(element));
      return true;
    } catch {
      element.closest("[hidden]")?.removeAttribute("hidden"); // the user sees what is selected
      if (element.select) element.select();
      else getSelection().selectAllChildren(element);
      return document.execCommand("copy");
    }
  };
  for (const button of document.querySelectorAll("[data-copies], [data-prints]")) button.hidden = false;
  document.addEventListener("click", async ({ target }) => {
    if (target.closest("[data-prints]")) print();
    const button = target.closest("[data-copies]");
    if (!button || !(await copy(document.getElementById(button.dataset.copies)))) return;
    button.textContent = button.dataset.done;
    announce(button.dataset.done);
  });

  // The second click of a double click meant the first button, not the button that has replaced it.
  document.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest("form.follow, .acts button")) event.preventDefault();
  });
})();

// While the device is offline, a service worker shows a page that says so. Browsers have none without HTTPS.
addEventListener("load", () => navigator.serviceWorker?.register(`${siteTop}service-worker.js`).catch(() => {}));

// ---- keys: the next post and what one does with it, as on GitHub and Mastodon. The appearance page turns them off.
(() => {
  if (document.getElementById("said")?.dataset.shortcuts !== "on") return;
  const list = `${siteTop}settings/appearance/`;
  const posts = () => [...document.querySelectorAll("main .post")].filter((post) => post.checkVisibility());
  const focused = () => document.activeElement.closest("main .post");

  /** The post on which the keys act: the one with the focus, else the first in view. */
  const current = () => focused() ?? posts().find((post) => post.getBoundingClientRect().top >= 0);

  const step = (by) => {
    const all = posts();
    const from = focused();
    const next = from ? all[all.indexOf(from) + by] : current();
    if (!next) return by > 0 && document.querySelector(".pager a")?.focus();
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  const search = () => {
    const field = [...document.querySelectorAll("main [type=search], #find")].find((one) => one.checkVisibility());
    if (field) field.focus();
    else document.querySelector("a.to-search").click();
  };

  const write = () => {
    const field = document.querySelector(".composer:not(:has([name=reply_to])) textarea");
    if (field) field.focus();
    else document.querySelector("a.to-compose")?.click();
  };

  const showKeys = async () => {
    const keys = (await pageAt(list))?.getElementById("shortcuts");
    if (!keys) return location.assign(list);
    const dialog = document.createElement("dialog");
    const close = document.createElement("button");
    dialog.className = keys.className;
    dialog.setAttribute("aria-labelledby", "shortcuts-title");
    close.className = "button wide";
    close.textContent = keys.dataset.close;
    close.addEventListener("click", () => dialog.close());
    dialog.append(...keys.childNodes, close);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    l: () => current()?.querySelector(".acts button.like")?.click(),
    r: () => current()?.querySelector(".acts a.reply")?.click(),
    n: write,
    "/": search,
    "?": showKeys,
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
    if (!Object.hasOwn(keys, event.key) || (event.repeat && !"jk".includes(event.key))) return;
    event.preventDefault();
    keys[event.key]();
  });
})();

// While a post is typed, `@` and `#` are completed with people and tags.
(() => {
  const PAUSE = 150; // milliseconds without typing before the site is asked
  // A sign and the beginning of a name, right before the caret; not inside a word, an address or a mail address. A username
  // is Latin, so it may follow a letter of another script.
  const TOKEN = /((?<![@＠﹫/]|[\p{sc=Latin}0-9_]\p{M}*)[@＠﹫]|(?<![\p{L}\p{N}\p{M}_@＠﹫#＃﹟&/])[#＃﹟])[\p{L}\p{N}\p{M}_\u200c\u200d]{1,100}$/u;
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
      const answer = await fetch(`${siteTop}complete/?q=${encodeURIComponent(token)}`, { signal: request.signal });
      const html = answer.status === 200 ? await answer.text() : "";
      if (request.signal.aborted || document.activeElement !== text || tokenOf(text) !== token) return;
      if (html) show(text, token, html);
      else close();
    } catch {
      if (!request.signal.aborted) close(); // the site cannot be reached: typing goes on without it
    }
  };

  const active = () => open.list.querySelector("[aria-selected=true]");

  const deactivate = () => {
    active()?.setAttribute("aria-selected", "false");
    open.text.removeAttribute("aria-activedescendant");
  };

  const activate = (option) => {
    deactivate();
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    open.text.setAttribute("aria-activedescendant", option.id);
  };

  /** Put the option where the token stands, and a space after it. */
  const accept = (option) => {
    if (!option) return;
    const { text } = open;
    const end = text.selectionStart;
    const space = /^\s/.test(text.value.slice(end)) ? "" : " ";
    text.setRangeText(option.dataset.text + space, end - tokenOf(text).length, end, "end"); // more may be typed than the list knows
    close();
    text.dispatchEvent(new Event("input", { bubbles: true })); // the counter and the draft follow
  };

  /** Ask after a pause. What is shown stays until then, but Enter takes none of it: it may not fit what was typed. */
  const askSoon = (text) => {
    clearTimeout(timer);
    if (!tokenOf(text)) return close();
    if (open) deactivate();
    timer = setTimeout(() => ask(text), PAUSE);
  };
  // Also within a composition: keyboards of phones compose each word.
  document.addEventListener("input", ({ target }) => {
    if (target.matches?.(TEXTS)) askSoon(target);
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
    if (open && tokenOf(open.text) !== open.token) askSoon(open.text);
  });
  document.addEventListener("focusout", ({ target }) => {
    if (open?.text === target) close();
  });
})();

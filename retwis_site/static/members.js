// What members do without a reload: act on posts, follow, write with pictures and completed names, and see what arrives.
// It builds on retwis.js, and adds to its tables.
"use strict";

Object.assign(PRESSES, {
  ".acts button": act,
  "form.follow button": follow,
  "a.reply": answerBelow,
  "a.to-more, .acts > a.repost": toggleMenu,
  "#arrived": showArrivals,
  "a.attach": choosePictures,
  ".attach .chosen button": removePicture,
  ".adds button": ({ form }) => addPictures(form, form.elements.picture.files),
  ".composer .actions a": cancelEdit,
});
Object.assign(UPGRADES, { ".composer": bringBack, ".counter": count });

// ---- acting on a post and following: the answer is the page of the post or person, which has the same button

async function act(button) {
  const post = button.closest(".post");
  const [kind] = button.classList; // also of the button in a menu
  const sending = send(button.form, button.formAction);
  closeMenus();
  const { ok, url, page, why } = await sending;
  if (!ok) return showError(why);
  const newer = page.querySelector(`#${post.id} .acts > .${kind}`);
  if (!newer) return goTo(url); // another page, such as the login
  const older = document.querySelector(`#${post.id} .acts > .${kind}`); // none when the list has changed meanwhile
  if (older) replace(older, newer);
  noteChange(post.id, url);
  showMessages(page);
}

async function follow(button) {
  const { id } = button.closest(".tag-choices") ?? button.form; // a tag that is followed has a second form
  const { ok, url, page, why } = await send(button.form, button.form.action);
  if (!ok) return showError(why);
  const [older, newer] = [document.getElementById(id), page.getElementById(id)];
  if (!newer) return goTo(url);
  if (older) replace(older, newer);
  noteChange(id, url);
  showMessages(page);
  for (const counts of document.querySelectorAll("[id^=counts-]")) {
    const newest = page.getElementById(counts.id);
    if (newest) replace(counts, newest);
  }
  // A home without posts suggests people. The first follow there fills it. Where the column beside it lies below it, as on
  // a phone, others would be suggested below all posts: there they stay, and a link says how many posts have come.
  const stream = document.querySelector("#stream:has(.suggestions)");
  if (!stream) return;
  const you = document.getElementById("you");
  if (you.getBoundingClientRect().top >= stream.getBoundingClientRect().bottom) {
    return poll(newer); // the next button stays under the finger
  }
  const home = await load(siteTop);
  if (!home.page.querySelector("#stream article")) return;
  showStream(home.page);
  you.replaceWith(home.page.getElementById("you"));
}

// ---- what was done on another page is shown after Back, too: browsers show a page as it was left

const changesKey = `changes:${siteTop.slice(1)}`; // sites on one host have one storage
const MOST_CHANGES = 20; // one question each, of those that the page shows
const GONE = 410; // the status of the page of a deleted post

const changesNoted = () => JSON.parse(sessionStorage.getItem(changesKey) ?? "[]");

/** Note that a post, or a button that follows, has changed. `address`: a page that shows it. */
function noteChange(id, address, at = Date.now()) {
  const others = changesNoted().filter((change) => change.id !== id);
  sessionStorage.setItem(changesKey, JSON.stringify([...others, { id, address, at }].slice(-MOST_CHANGES)));
}
document.addEventListener("submit", ({ target, submitter }) => {
  const post = /^(.*\/(\d+)\/)(?:edit|delete)\/$/.exec((submitter ?? target).getAttribute("formaction") ?? target.action);
  if (post) noteChange(`post-${post[2]}`, post[1], Date.now() + ANSWERED_IN); // this page, too, is left before the answer
});

/** Show what has changed since the page was left. */
async function showChanges(since) {
  for (const { id, address } of changesNoted().filter(({ id: its, at }) => at > since && document.getElementById(its))) {
    const { ok, status, page } = await ask(address);
    const isHere = new URL(address, location).pathname === location.pathname;
    if (ok ? isOtherSession(page) : status === GONE && isHere) return location.reload();
    const [older, newer] = [document.getElementById(id), page.getElementById(id)];
    if (status === GONE) older?.remove();
    if (!older || !newer) continue;
    if (!older.matches(".post")) replace(older, newer);
    else
      for (const one of newer.querySelectorAll(":scope > .said > .body, .acts > *")) {
        const [name] = one.classList;
        const same = older.querySelector(`:scope > .said > .${name}, .acts > .${name}`);
        if (same && !same.isEqualNode(one)) replace(same, one);
      }
  }
}

let leftAt = 0; // while the page is shown
addEventListener("pagehide", () => {
  leftAt = Date.now();
});
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted && visit?.type !== "back_forward") return;
  if (Number(sessionStorage.getItem(endedKey)) > leftAt && persisted) return loadAnew();
  closeMenus();
  poll();
  showChanges(leftAt);
  leftAt = 0;
});

// ---- menus: one is open at a time, and a click elsewhere, Escape or Tab beyond it closes it: it would cover the focus.
// ---- "More" and "Repost" lead to a page of choices. What that page chooses from opens as a menu below the link.

const OPENED = "[aria-expanded=true] + .choosing";

async function toggleMenu(link) {
  if (link.hasAttribute("aria-expanded")) return closeMenu(link.nextElementSibling);
  const stillWaits = waits();
  const { page } = await load(link.href);
  if (!stillWaits()) return;
  const menu = page.getElementById("more");
  if (!menu || isOtherSession(page)) return goTo(link.href);
  menu.removeAttribute("id");
  closeMenus();
  link.after(menu);
  link.setAttribute("aria-expanded", "true");
  upgrade();
  menu.scrollIntoView({ block: "nearest" });
  menu.querySelector("a, button, select, summary").focus({ preventScroll: true });
}

function closeMenu(menu) {
  const opener = menu.querySelector(".menu > summary") ?? menu.previousElementSibling;
  if (menu.contains(document.activeElement)) opener.focus();
  if (menu.open) menu.open = false;
  else {
    opener.removeAttribute("aria-expanded");
    menu.remove();
  }
}

function closeMenus(but) {
  for (const menu of document.querySelectorAll(`details.menu[open], ${OPENED}`)) if (menu !== but) closeMenu(menu);
}
const menuAt = (element) => element.closest("details.menu, .choosing") ?? element.closest("[aria-expanded]")?.nextElementSibling;
document.addEventListener("click", ({ target }) => closeMenus(menuAt(target)));
document.addEventListener("focusin", ({ target }) => {
  // A press on a text in a menu focuses the card around it once `j` has made that focusable; in Safari, one on a button too.
  if (!target.querySelector("details.menu[open], .choosing")) closeMenus(menuAt(target));
});
document.addEventListener("keydown", (event) => {
  const menu = document.querySelector(`details.menu[open], ${OPENED}`);
  if (!menu) return;
  if (event.key === "Escape") closeMenu(menu);
  else if (/^Arrow(Up|Down)$/.test(event.key) && menu.contains(document.activeElement) && !event.target.matches("select, textarea:not([readonly])")) {
    event.preventDefault();
    const items = [...menu.querySelectorAll("a, button, select, summary")].filter((item) => !item.closest("[hidden], details:not([open]) > :not(summary)"));
    const step = event.key === "ArrowDown" ? 1 : -1;
    items.at((items.indexOf(document.activeElement) + step) % items.length).focus();
  }
});
// What opens inside a menu may reach below the window.
document.addEventListener("toggle", ({ target }) => {
  if (target.open && target.matches(".choosing details")) target.lastElementChild.scrollIntoView({ block: "nearest" });
}, true);

// ---- an open page asks for the number of new notices, and home for new posts

const POLL = 15_000; // milliseconds
const OTHER_SESSION = 205; // the status of the answer when the session of this page has ended, or another has begun

/** Whether the page has what would be lost: a form on its way, pictures, what was typed or chosen and no draft keeps, or a
 * form that came back with errors. */
function hasTyped() {
  if (unanswered.size || visit?.responseStatus >= 400 || document.querySelector(".attach .chosen")) return true;
  const fields = [...document.querySelectorAll("form[method=post] :is(input, textarea):not(.composer [name=body])")];
  // A box without a value has "on", which is no default.
  const isChanged = (field) => field.checked !== field.defaultChecked || (field.type !== "checkbox" && field.value !== field.defaultValue);
  return fields.some(isChanged);
}

/** Show what this address has for the session of now. */
function loadAnew() {
  document.documentElement.hidden = true; // until the answer is there, and also when none comes
  location.replace(location.pathname + location.search); // a reload would send a form again
}

/** `stays`: what keeps its place in the window, whatever comes above it. */
async function poll(stays) {
  const asks = document.querySelector("[data-asks]");
  if (!asks) return;
  const address = new URL(asks.dataset.asks, location);
  address.searchParams.set("known", document.getElementById("known").value);
  const me = meOn(document);
  if (me !== undefined) address.searchParams.set("me", me); // a site's own template may lack that link
  const { ok, status, page } = await ask(address);
  if (status === OTHER_SESSION && !hasTyped()) return loadAnew();
  if (!ok || status === OTHER_SESSION || !asks.isConnected) return; // another part has shown newer posts meanwhile
  const top = stays?.getBoundingClientRect().top;
  for (const id of ["news", "arrived"]) {
    const newer = page.getElementById(id);
    const older = document.getElementById(id);
    // What is the same stays: it may have the focus, and screen readers stay silent.
    if (!newer || newer.isEqualNode(older)) continue;
    if (older) replace(older, newer);
    else fill("arrivals", newer);
  }
  if (stays) scrollBy(0, stays.getBoundingClientRect().top - top);
  countInTitle();
}

async function keepPolling() {
  await poll();
  setTimeout(keepPolling, POLL); // after the answer: on a line that carries none, requests would pile up
}
setTimeout(keepPolling, POLL);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !leftAt) poll(); // the user is back in this tab; after Back to a kept page, `pageshow` follows
});

/** The number before the title, visible from another tab: new posts that this page can load, and new notices. */
function countInTitle() {
  const counts = ["arrived", "news"].map((id) => document.getElementById(id)?.dataset.count).filter(Boolean);
  const sum = counts.reduce((all, number) => all + parseInt(number, 10), 0);
  const more = counts.some((number) => number.endsWith("+")) ? "+" : "";
  document.title = (sum ? `(${sum}${more}) ` : "") + document.title.replace(/^\(\S*\) /, "");
}

async function showArrivals(link) {
  const { ok, page } = await load(link.href);
  if (!ok || isOtherSession(page) || !page.getElementById("stream")) return goTo(link.href);
  showStream(page);
  scrollTo(0, 0);
}

/** Show the newest posts of home. */
function showStream(page) {
  const older = document.getElementById("stream");
  const newer = page.getElementById("stream");
  const isFocused = older.contains(document.activeElement);
  older.replaceWith(newer);
  if (isFocused) focusPost(newer.querySelector(".post"));
  pagesLoaded = 0;
  countInTitle();
}

// ---- the counter of the characters left

// The text as the server stores it: at most two line breaks in a row, and no spaces at the ends of lines.
const seen = /(?![\p{DI}\u2800])[\p{L}\p{M}\p{N}\p{P}\p{S}\p{ExtPict}\u0600-\u0605\u06dd\u070f\u08e2]/u; // as in form_fields.py
const normalised = (text) =>
  text
    .split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
    .map((line) => (seen.test(line) ? line.trimEnd() : ""))
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
const NEAR = 20; // characters left; screen readers hear the number once it is as low as this

function count(counter) {
  const text = document.getElementById(counter.htmlFor.value);
  const longest = Number(counter.dataset.longest ?? counter.form.dataset.longest);
  const left = longest - [...normalised(text.value)].length; // the server counts characters too, not UTF-16 code units
  const before = Number(counter.textContent || left);
  counter.textContent = left;
  counter.classList.toggle("over", left < 0);
  // A pasted text can pass one or both limits at once.
  if (left < 0 && before >= 0) announce(counter.dataset.over);
  else if (left <= NEAR && before > NEAR) announce(counter.dataset.near.replace("{left}", left));
}
document.addEventListener("input", ({ target }) => {
  const counter = target.form?.querySelector(`.counter[for="${target.id}"]`);
  if (counter) count(counter);
});

// ---- the composer: Ctrl-Enter posts, and a draft is kept until it is posted

const drafts = `draft:${siteTop.slice(1)}`; // sites on one host have one storage
const sentDraft = `${drafts}sent`; // the key of the draft whose form was sent last
if (document.querySelector(".message.posted")) sessionStorage.removeItem(sessionStorage.getItem(sentDraft));

const draftOf = (form) => `${drafts}${form.dataset.draft}`; // whose it is, and which posts it names
const overOf = (form) => `${draftOf(form)}:over`; // the text that the server had put into the form before the user typed
const discardOf = (form) => form.querySelector("[formaction$='/discard/']"); // a form that changes a post has "Cancel" instead

function keepDraft(form) {
  const text = form.elements.body;
  sessionStorage.setItem(draftOf(form), text.value);
  sessionStorage.setItem(overOf(form), text.defaultValue);
  offerToDiscard(form);
}

/** Put the draft into a form, or else what the server has put there. */
function bringBack(form) {
  const text = form.elements.body;
  const isNew = text.autocomplete !== "off";
  text.autocomplete = "off"; // Back brings the draft back, and not what the browser remembers: that may be posted by now
  // Typed before this script came? After Back and a reload, Firefox itself puts there what was typed then: that, too, may
  // be posted by now, or be another user's.
  const isTyped = text.value !== text.defaultValue && (visit?.type === "navigate" || document.activeElement === text);
  if (isNew && isTyped) keepDraft(form);
  const isOfText = !text.defaultValue || sessionStorage.getItem(overOf(form)) === text.defaultValue;
  const value = (isOfText ? sessionStorage.getItem(draftOf(form)) : null) ?? text.defaultValue;
  if (text.value !== value) text.value = value;
  if (isNew && form.matches(".begun")) text.setSelectionRange(value.length, value.length); // one types on after the name
  offerToDiscard(form);
}

function offerToDiscard(form) {
  const { value, defaultValue } = form.elements.body;
  const discard = discardOf(form);
  if (discard) discard.hidden = !value || (form.matches(".begun") && value === defaultValue);
}

function cancelEdit(link) {
  sessionStorage.removeItem(draftOf(link.closest("form")));
  location.assign(link.href);
}

// A form that changes a post has its text as it was before, where the browser has kept it after it was sent.
addEventListener("pageshow", ({ persisted }) => {
  const form = document.querySelector(".composer");
  if (persisted && form && !discardOf(form) && sessionStorage.getItem(sentDraft) === draftOf(form)) location.reload();
});

const TEXTS = ".composer textarea[name=body]";
// "Post" and "Quote" lead to a page for the text, which begins behind what stands in it: what one typed there were keys.
if (location.pathname === `${siteTop}compose/` && document.activeElement === document.body) {
  const text = document.querySelector(TEXTS);
  text?.focus();
  text?.setSelectionRange(text.value.length, text.value.length);
}
document.addEventListener("input", ({ target }) => {
  if (target.matches(TEXTS)) keepDraft(target.form);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  if (event.target.matches(".composer textarea")) event.target.form.requestSubmit(); // also in a description
});
document.addEventListener("submit", ({ target, submitter }) => {
  if (!target.matches(".composer")) return;
  sessionStorage.setItem(sentDraft, draftOf(target));
  if (submitter !== null && submitter === discardOf(target)) sessionStorage.removeItem(draftOf(target));
});

// ---- answering below a card of a list

const answers = new WeakMap(); // by card: the composer that was opened below it, also a closed one: it has its pictures

function openAnswer(card, form, takesFocus) {
  card.after(form);
  upgrade();
  if (!takesFocus) return;
  form.elements.body.focus();
  form.scrollIntoView({ block: "nearest" }); // with its buttons, which the focus shows
}

const closeAnswer = (form) => new DocumentFragment().append(form); // `form.remove` is a button once it has a picture

/** Open a composer below a card, or close it. Its text and pictures are kept. */
async function answerBelow(link) {
  if (link.pathname === location.pathname) return document.querySelector("#reply [name=body]")?.focus(); // a frozen user has none
  const card = link.closest(".post");
  const own = answers.get(card);
  if (own) return own.isConnected ? closeAnswer(own) : openAnswer(card, own, true);
  const pid = card.id.replace("post-", "");
  const stillWaits = waits();
  const { page } = await load(`${siteTop}compose/?reply_to=${pid}`);
  const form = page.querySelector(".composer");
  if (!form || isOtherSession(page)) return goTo(link.href);
  for (const element of form.querySelectorAll("*"))
    for (const name of ["id", "for", "aria-describedby"])
      if (element.hasAttribute(name)) element.setAttribute(name, element.getAttribute(name).replaceAll("reply_body", `reply_body-${pid}`));
  answers.set(card, form);
  openAnswer(card, form, stillWaits());
}
document.addEventListener("keydown", ({ key, target, isComposing }) => {
  const form = key === "Escape" && !isComposing ? target.closest(".post + .composer") : null;
  const card = form?.previousElementSibling;
  if (!form || answers.get(card) !== form) return; // a page's own form stays
  closeAnswer(form);
  card.querySelector(".acts a.reply").focus();
});

// ---- while a post is typed, `@` and `#` are completed with people and tags

// A sign and the beginning of a name, right before the caret; not inside a word, an address or a mail address. A username
// is Latin, so it may follow a letter of another script. Safari before 16.4 could not read a script with a lookbehind.
const TOKEN = /(?:(?:^|[^@＠﹫/\p{sc=Latin}0-9_\p{M}]|[@＠﹫/]\p{M})\p{M}*(?=[@＠﹫])|(?:^|[^\p{L}\p{N}\p{M}_@＠﹫#＃﹟&/])(?=[#＃﹟]))(.[\p{L}\p{N}\p{M}_\u200c\u200d]{1,100})$/u;

let completion = null; // what is shown now: the text field, its list, and the text that it completes
let awaited = ""; // the text that is asked for
let untilCompleted;

const tokenOf = (text) =>
  text.selectionStart === text.selectionEnd ? (TOKEN.exec(text.value.slice(0, text.selectionStart))?.[1] ?? "") : "";

function closeCompletion() {
  clearTimeout(untilCompleted);
  awaited = "";
  if (!completion) return;
  for (const name of ["aria-controls", "aria-activedescendant"]) completion.text.removeAttribute(name);
  completion.place.remove();
  completion = null;
}

/** Whether all that is offered stands in the text already. */
const isWritten = ({ children: [option, another] }, token) => !another && option.dataset.text === token;

async function complete(text) {
  const token = tokenOf(text);
  if (!token) return closeCompletion();
  awaited = token;
  const { page } = await ask(`${siteTop}complete/?q=${encodeURIComponent(token)}`);
  if (awaited !== token || document.activeElement !== text || tokenOf(text) !== token) return;
  const list = page.querySelector("[role=listbox]"); // none when nobody fits, or the site cannot be reached
  closeCompletion();
  if (!list || isWritten(list, token)) return;
  const place = document.createElement("div");
  place.className = "completing";
  place.append(...page.body.childNodes);
  text.after(place);
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-haspopup", "listbox");
  text.setAttribute("aria-controls", list.id);
  completion = { text, token, place, list };
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the text field keeps the focus
  list.addEventListener("click", ({ target }) => accept(target.closest("[role=option]")));
}

const active = () => completion.list.querySelector("[aria-selected=true]");

/** Mark an option, or none. */
function activate(option) {
  active()?.setAttribute("aria-selected", "false");
  completion.text.removeAttribute("aria-activedescendant");
  if (!option) return;
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  completion.text.setAttribute("aria-activedescendant", option.id);
}

/** Put the option where the token stands, and a space after it. */
function accept(option) {
  if (!option) return;
  const { text } = completion;
  const end = text.selectionStart;
  const space = /^\s/.test(text.value.slice(end)) ? "" : " ";
  text.setRangeText(option.dataset.text + space, end - tokenOf(text).length, end, "end"); // more may be typed than the list knows
  closeCompletion();
  text.dispatchEvent(new Event("input", { bubbles: true })); // the counter and the draft follow
}

/** Ask after a pause. What is shown stays until then, but Enter takes none of it: it may not fit what was typed. */
function completeSoon(text) {
  clearTimeout(untilCompleted);
  if (!tokenOf(text)) return closeCompletion();
  if (completion) activate(null);
  untilCompleted = setTimeout(() => complete(text), PAUSE);
}

// Also within a composition: keyboards of phones compose each word.
document.addEventListener("input", ({ target }) => {
  if (target.matches(TEXTS)) completeSoon(target);
});
document.addEventListener("keydown", (event) => {
  if (event.target !== completion?.text || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const options = [...completion.list.children];
  const at = options.indexOf(active());
  if (event.key === "ArrowDown") activate(options[(at + 1) % options.length]);
  else if (event.key === "ArrowUp") activate(options[(at <= 0 ? options.length : at) - 1]);
  else if (event.key === "Escape") closeCompletion();
  else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && at >= 0) accept(options[at]);
  else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
// The list belongs to the place of the caret.
document.addEventListener("selectionchange", () => {
  if (completion && tokenOf(completion.text) !== completion.token) completeSoon(completion.text);
});
document.addEventListener("focusout", ({ target }) => {
  if (completion?.text === target) closeCompletion();
});

// ---- pictures of a post: uploaded as soon as they are chosen, pasted or dropped. The answer is the page with the same
// form; its part with the pictures comes into this one.

/** Put the fields for pictures in the place of the link to them. */
async function openPictures(form) {
  const link = form.querySelector("a.attach");
  if (!link) return;
  const { page } = await load(link.href);
  const part = page.querySelector(".composer .attach");
  if (!part) return goTo(link.href);
  form.enctype = "multipart/form-data";
  link.replaceWith(part);
  part.open = true;
}

async function choosePictures(link) {
  const form = link.closest("form");
  await openPictures(form);
  if (document.activeElement !== document.body) return; // it was on the link
  form.elements.body.focus(); // in Safari it was nowhere, so an empty form has closed; this opens it
  form.querySelector(".attach [type=file]")?.focus();
}

const unshown = new WeakMap(); // by form: its files that are not shown in it yet; who posts meanwhile sends them too

function putFiles(form, files) {
  unshown.set(form, files);
  const all = new DataTransfer();
  for (const file of files) all.items.add(file);
  form.querySelector(".attach [type=file]").files = all.files;
}

function addPictures(form, files) {
  putFiles(form, [...new Set([...(unshown.get(form) ?? []), ...files])]);
  return changePictures(form, "add", "1");
}

function removePicture({ form, name, value, parentElement }) {
  parentElement.remove(); // at once: who posts meanwhile posts without it
  return changePictures(form, name, value);
}

let lastChange = Promise.resolve(); // the next one begins with the form that this one leaves

/** Send the form for its pictures alone. `name` and `value` say what changes. */
function changePictures(form, name, value) {
  lastChange = lastChange.then(async () => {
    const part = form.querySelector(".attach");
    const files = unshown.get(form) ?? [];
    const body = new FormData(form);
    body.append(name, value);
    const stillWaits = waits();
    part.open = true;
    part.setAttribute("aria-busy", "true");
    const { status, page, why } = await load(form.action, { method: "POST", body });
    part.removeAttribute("aria-busy");
    const answer = page.querySelector(".composer details.attach");
    refusePictures(part, answer?.querySelectorAll(":scope > .message") ?? [errorMessage(why)]);
    if (answer) showPictures(part, answer, body.getAll("media"));
    const fields = [...part.querySelectorAll("[name=alt]")];
    form.elements.body.required = !fields.length; // pictures need no text
    // The first picture without a description gets the focus, unless the user does something else by now.
    if (answer && stillWaits()) (fields.find((field) => !field.value) ?? fields.at(-1) ?? part.querySelector("summary")).focus();
    const others = (unshown.get(form) ?? []).filter((file) => !files.includes(file));
    if (status && status < 500) putFiles(form, others); // the form can be sent without the refused
    else if (!others.length) unshown.delete(form); // without an answer they stay chosen, until others are chosen
  });
  return lastChange;
}

function refusePictures(part, messages) {
  for (const message of part.querySelectorAll(":scope > .message")) message.remove();
  for (const message of messages) message.setAttribute("role", "alert");
  part.querySelector("summary").after(...messages);
}

/** Add the pictures that are new in the answer. `sent` are those that the form had: where one is gone, it was removed
 * meanwhile. */
function showPictures(part, answer, sent) {
  for (const picture of answer.querySelectorAll(".chosen")) {
    const { value } = picture.querySelector("[name=media]");
    const same = part.querySelector(`.chosen:has([value="${value}"])`);
    if (same) same.querySelector("label").replaceWith(picture.querySelector("label")); // it has another number now
    else if (!sent.includes(value)) part.querySelector(".adds").before(picture);
  }
}

document.addEventListener("change", ({ target }) => {
  if (target.matches(".attach [type=file]") && target.files.length) addPictures(target.form, target.files);
});
async function takePictures(event, data) {
  const form = event.target.closest(".composer:has(.attach)");
  if (!form || !data?.types.includes("Files")) return;
  event.preventDefault(); // else the browser would leave the page and show the file
  const files = [...data.files];
  if (!files.length) return; // still dragged
  await openPictures(form);
  if (form.elements.add) addPictures(form, files);
}
document.addEventListener("paste", (event) => {
  const { types } = event.clipboardData;
  if (types.includes("text/plain") && types.includes("text/html")) return; // Word and Excel add a picture of the text
  takePictures(event, event.clipboardData);
});
document.addEventListener("dragover", (event) => takePictures(event, event.dataTransfer));
document.addEventListener("drop", (event) => takePictures(event, event.dataTransfer));


// Without the scripts every page works. With this one, pages change without a reload; members.js has what members do.
//
// The site is asked by `load`, and each answer is a whole page, of which a part comes into this one. What a click does
// stands in one table, PRESSES. What the script does to the elements of a page stands in another, UPGRADES: it is done
// again whenever something has come into the page, so each may be done at any time.
"use strict";

// Where the site begins on its host: this file is in its folder `static/`.
const siteTop = new URL("../", document.currentScript.src).pathname;
const texts = document.getElementById("said")?.dataset; // the translated texts for the scripts

/** What a click does, by what is clicked. What cannot be done in place leads to a page, which says what is wrong. */
const PRESSES = {
  ".pager a[data-adds]": loadOlder,
  "[data-copies]": copy,
  "[data-prints]": () => print(),
  ".shares": share,
};

/** What is done to the elements of a page, by their selector. */
const UPGRADES = {
  "[data-copies], [data-prints]": (button) => button.removeAttribute("hidden"),
  ".choosing .address": offerAddress,
};

function upgrade() {
  for (const [selector, prepare] of Object.entries(UPGRADES)) document.querySelectorAll(selector).forEach((element) => prepare(element));
}
document.addEventListener("DOMContentLoaded", upgrade);
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  isLeft = false;
  last = {};
  unanswered.clear(); // the browser has kept the page as it was left
  markSlow();
  upgrade();
});

const atWork = new WeakSet(); // what was pressed and is not done yet

document.addEventListener("click", async (event) => {
  const selector = Object.keys(PRESSES).find((one) => event.target.closest(one));
  if (!selector || event.defaultPrevented) return;
  const pressed = event.target.closest(selector);
  if (pressed.matches("a") && (event.ctrlKey || event.metaKey || event.shiftKey)) return; // it opens in a new tab or window
  event.preventDefault();
  // The second click of a double click meant what stood there at the first.
  if (event.detail > 1 || atWork.has(pressed)) return;
  atWork.add(pressed);
  try {
    await PRESSES[selector](pressed);
  } finally {
    atWork.delete(pressed);
  }
});

// ---- what the user is told

/** Let screen readers read a text. */
function announce(text) {
  document.getElementById("said").textContent = text;
}

function errorMessage(text) {
  const message = document.createElement("p");
  message.className = "message error";
  message.textContent = text;
  return message;
}

/** Fill a place above the posts. What is read below it does not move, also in Safari, which has no scroll anchoring. */
function fill(id, ...content) {
  const [place, main] = [document.getElementById(id), document.getElementById("main")];
  const { bottom } = main.getBoundingClientRect();
  place?.replaceChildren(...content);
  // The place itself is sticky, so what it is in tells whether it is out of view.
  const isAbove = place?.parentElement.getBoundingClientRect().top < 0;
  if (isAbove && !CSS.supports("overflow-anchor", "auto")) scrollBy(0, main.getBoundingClientRect().bottom - bottom);
}

/** Show an error where "Posted." is shown. Screen readers read that place too. */
function showError(text) {
  if (!isLeft) fill("messages", errorMessage(text));
}

/** Show what another page tells. */
function showMessages(page) {
  fill("messages", ...page.getElementById("messages").childNodes);
}

// With its session, what a member has typed leaves the browser; members.js shows no page that was kept before.
const endedKey = `ended:${siteTop.slice(1)}`; // sites on one host have one storage
if (document.querySelector(".message.ended")) {
  sessionStorage.clear();
  sessionStorage.setItem(endedKey, Date.now());
}

// When a form has errors, focus the first wrong field. A screen reader then reads its error.
document.querySelector("[aria-invalid=true]")?.focus();

// ---- asking the site

// Whether the user goes on to another page. Firefox then ends what this one asks, at once: that is no failure to tell of,
// and no reason to lead elsewhere.
let isLeft = false;
addEventListener("beforeunload", () => {
  isLeft = true;
});

let isOffline = false; // the device has no connection, and what was asked last had no answer

/** Lead to a page, unless the user goes to one. Offline, this page stays: the other one would be the browser's error. */
function goTo(address) {
  if (isOffline) showError(texts.unreachable);
  else if (!isLeft) location.assign(address);
}

/** Ask the site. Returns whether it has answered well (`ok`), its `status`, the `page`, its address (`url`), and a
 * sentence that says why not (`why`). Without an answer, or with a part of one, the page is empty and the status 0. */
async function ask(address, sent = {}) {
  try {
    // By this header the site knows that a part of this page changes: it leads to the post, or to the person.
    const answer = await fetch(address, { ...sent, headers: { "HX-Request": "true" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    isOffline = false;
    const { ok, status, url } = answer;
    return { ok, status, url, page, why: page.querySelector("h1 + p")?.textContent ?? texts.failed };
  } catch {
    isOffline = !navigator.onLine;
    return { ok: false, status: 0, url: address, page: document.implementation.createHTMLDocument(), why: texts.unreachable };
  }
}

const SLOW = 300; // milliseconds, after which a line at the top of the window says that an answer is slow
const unanswered = new Set();
let untilSlow;

function markSlow() {
  if (unanswered.size === 0) {
    clearTimeout(untilSlow);
    untilSlow = undefined;
    document.documentElement.classList.remove("slow");
  } else untilSlow ??= setTimeout(() => document.documentElement.classList.add("slow"), SLOW);
}

/** Ask what the user waits for. */
async function load(address, sent) {
  const request = {};
  isLeft = false; // a download leaves the page as it is
  unanswered.add(request);
  markSlow();
  const answer = await ask(address, sent);
  unanswered.delete(request);
  markSlow();
  const inspector = answer.page.getElementById("inspector"); // what this answer has sent to Redis
  if (inspector) document.getElementById("inspector")?.replaceWith(inspector);
  return answer;
}

/** Send a form, and stay on this page. */
const send = (form, address) => load(address, { method: "POST", body: new FormData(form) });

const meOn = (page) => page.querySelector("a.me")?.getAttribute("href");

/** Whether a page belongs to another session than this one: another window logged out, or in as another user. */
const isOtherSession = (page) => meOn(document) !== undefined && meOn(page) !== meOn(document);

// A form goes out once: a second click would find that the name is taken or the password another by now, and what the
// first had answered would be lost. Not for ever, since nothing tells that the user has stopped the browser meanwhile. On
// the window: after all that stands on the document, which may send it in place.
const ANSWERED_IN = 10_000; // milliseconds, also on a slow line
let last = {};
addEventListener("input", () => (last = {})); // it is another form now
addEventListener("keydown", ({ key }) => key === "Escape" && (last = {})); // it stops the browser
addEventListener("submit", (event) => {
  const { target: form, submitter, timeStamp: at } = event;
  if (event.defaultPrevented || form.matches("[data-gives-file]")) return; // a script sends it; the page stays
  if (form === last.form && submitter === last.submitter && at - last.at < ANSWERED_IN) return event.preventDefault();
  if (form.method === "post") last = { form, submitter, at }; // a search may go out again with another word
  unanswered.add(event);
  markSlow();
});

// ---- changing the page

/** A function that tells whether the user has done nothing else since: what comes late does not take the focus then. */
function waits() {
  const { activeElement } = document;
  const { value } = activeElement;
  return () => document.activeElement === activeElement && activeElement.value === value;
}

/** Put a newer element in the place of an older one. The focus stays on it, or on what has the same id in it. */
function replace(older, newer) {
  const { activeElement } = document;
  const isFocused = older.contains(activeElement);
  older.replaceWith(newer);
  if (!isFocused) return;
  const same = activeElement === older ? newer : document.getElementById(activeElement.id);
  same?.focus({ preventScroll: true }); // the user may have scrolled on meanwhile
}

function focusPost(post) {
  if (!post) return;
  post.tabIndex = -1;
  post.focus();
}

// ---- older posts, in the place of the link to them. Back returns to the same place among them; browsers that keep the
// ---- whole page need nothing for that.

let pagesLoaded = 0;

async function loadOlder(link) {
  if (!(await addOlder(link))) goTo(link.href);
}

/** Returns whether they have come. The posts of another session do not continue this list. */
async function addOlder(link) {
  const { page } = await load(link.href);
  const parts = [...page.querySelectorAll(link.dataset.adds)];
  if (!parts.length || isOtherSession(page)) return false;
  const isFocused = document.activeElement === link;
  link.closest(".pager").replaceWith(...parts);
  if (isFocused) focusPost(parts.flatMap((part) => [...part.querySelectorAll(".post")])[0]);
  pagesLoaded += 1;
  keepPlace();
  return true;
}

/** Note in the browser's history which post is the first in view. */
function keepPlace() {
  const post = [...document.querySelectorAll(".post")].find((one) => one.getBoundingClientRect().bottom > 0);
  if (!pagesLoaded || !post) return;
  const place = { post: post.id, top: post.getBoundingClientRect().top, pages: pagesLoaded };
  history.replaceState({ ...history.state, place }, "");
}
document.addEventListener("click", ({ target }) => {
  if (target.closest("a[href], button")) keepPlace();
}, true);

/** Load as many pages again, and the noted post. New posts may have come above it: two pages more are looked at. */
async function returnTo({ post, top, pages }) {
  for (let page = 0; page <= pages + 2; page += 1) {
    const found = document.getElementById(post);
    const link = document.querySelector(".pager a[data-adds]");
    if (found && (page >= pages || !link)) return scrollBy(0, found.getBoundingClientRect().top - top);
    if (!link || !(await addOlder(link))) return;
  }
}
const [visit] = performance.getEntriesByType("navigation");
document.addEventListener("DOMContentLoaded", () => {
  if (visit?.type === "back_forward" && history.state?.place) returnTo(history.state.place);
});

// ---- people are found while a name is typed

const PAUSE = 150; // milliseconds without typing before the site is asked
let untilAsked;
let isFinding = false;

/** Ask until what is found is what stands in the field. */
async function findPeople(field) {
  if (isFinding) return;
  isFinding = true;
  for (let text; text !== field.value; ) {
    text = field.value;
    const address = `${field.form.action}?q=${encodeURIComponent(text)}`;
    const { ok, page, why } = await load(address);
    const newer = page.getElementById("people");
    if (!ok) showError(why);
    else if (!newer) goTo(address);
    else {
      document.getElementById("people").replaceWith(newer);
      document.getElementById("found").replaceChildren(...page.getElementById("found").childNodes);
      showMessages(page);
      history.replaceState(history.state, "", address);
    }
  }
  isFinding = false;
}
document.addEventListener("input", ({ target }) => {
  if (!target.matches("input[data-finds]")) return;
  clearTimeout(untilAsked);
  untilAsked = setTimeout(() => findPeople(target), PAUSE);
});

// ---- ages keep growing while the page is open

const DAY = 1440; // minutes
const opened = Date.now();

/** Update the ages of all posts, in the server's words: the long ones in `title`, and the long or short ones on the page. */
function growAges() {
  const words = document.getElementById("ages")?.dataset.phrases;
  if (!words) return;
  const phrases = Object.fromEntries(words.split("\n").map((line) => line.split("=")));
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
    const [long, short] = says.replaceAll("#", number).split("|");
    if (when) time.title = `${long} · ${when}`;
    if (!isShort) time.textContent = long;
    else if (short) time.textContent = short;
    else if (opened - written < DAY * 60_000) // it was no date yet
      time.textContent = phrases.months.split("|")[written.getUTCMonth()].replace("#", written.getUTCDate());
  }
}
setInterval(growAges, 60_000);

// ---- what only a script can do: copy what an element says, and share an address as the device does it

/** The address of a post is a field, for who cannot copy it by a button. */
function offerAddress(address) {
  const choices = address.closest("ul");
  address.hidden = "clipboard" in navigator;
  choices.querySelector("li:has(> .copies)").hidden = !address.hidden;
  choices.querySelector("li:has(> .shares)").hidden = !("share" in navigator);
}

function share(button) {
  const url = button.closest("ul").querySelector(".address :is(textarea, input)").value;
  navigator.share({ url }).catch(() => {}); // the user has thought better of it
}

/** Copy the text of a field, or of each element with a text that is copied as it is. */
async function copy(button) {
  const element = document.getElementById(button.dataset.copies);
  const text = element.value ?? [...element.querySelectorAll("code")].map((code) => code.textContent).join("\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without HTTPS browsers have no `navigator.clipboard`.
    element.closest("[hidden]")?.removeAttribute("hidden"); // the user sees what is selected
    if (element.select) element.select();
    else getSelection().selectAllChildren(element);
    if (!document.execCommand("copy")) return;
  }
  button.textContent = button.dataset.done;
  announce(button.dataset.done);
}

// ---- keys: the next post and what one does with it, as on GitHub and Mastodon. The appearance page turns them off.

const KEYS = {
  j: () => stepBy(1),
  k: () => stepBy(-1),
  l: () => currentPost()?.querySelector(".acts button.like")?.click(),
  r: () => currentPost()?.querySelector(".acts a.reply")?.click(),
  n: () => focusOrFollow(".composer:not(:has([name=reply_to])) textarea", "a.to-compose"),
  "/": () => focusOrFollow("main [type=search], #find", "a.to-search"),
  "?": showKeys,
};
document.addEventListener("keydown", (event) => {
  if (texts?.shortcuts !== "on" || event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
  if (!Object.hasOwn(KEYS, event.key) || (event.repeat && !"jk".includes(event.key))) return;
  event.preventDefault();
  KEYS[event.key]();
});

const shownPosts = () => [...document.querySelectorAll("main .post:not(details:not([open]) *)")]; // not a muted one
const focusedPost = () => document.activeElement.closest("main .post");

/** The post on which the keys act: the one with the focus, else the first in view. */
const currentPost = () => focusedPost() ?? shownPosts().find((post) => post.getBoundingClientRect().top >= 0);

function stepBy(by) {
  const posts = shownPosts();
  const from = focusedPost();
  const next = from ? posts[posts.indexOf(from) + by] : currentPost();
  if (!next) return by > 0 && document.querySelector(".pager a")?.focus();
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function focusOrFollow(fields, link) {
  const field = document.querySelector(fields);
  if (field) field.focus();
  else document.querySelector(link)?.click();
}

async function showKeys() {
  const address = `${siteTop}settings/appearance/`;
  const stillWaits = waits();
  const keys = (await load(address)).page.getElementById("shortcuts");
  if (!stillWaits() || document.querySelector("dialog")) return; // the key was pressed twice
  if (!keys) return goTo(address);
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
}

// While the device is offline, a service worker shows a page that says so. Browsers have none without HTTPS.
addEventListener("load", () => navigator.serviceWorker?.register(`${siteTop}service-worker.js`).catch(() => {}));

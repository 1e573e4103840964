// What pages do beyond HTML. Without this file everything works; with it nothing is lost, and nothing reloads.
"use strict";
(() => {
  /** Tell screen readers. */
  const say = (text) => {
    document.getElementById("said").textContent = text;
  };
})();

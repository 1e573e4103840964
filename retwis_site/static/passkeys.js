// Passkeys: asks the browser for one, and sends its answer with the form. Without this file, codes work.
"use strict";

(() => {
  const known = window.PublicKeyCredential?.parseRequestOptionsFromJSON && window.PublicKeyCredential.parseCreationOptionsFromJSON;
  if (!known) return;

  // What was removed here, the browser forgets, where it can. At an address of numbers it has nothing to forget.
  const { accepted } = document.querySelector("[data-accepted]")?.dataset ?? {};
  if (accepted) PublicKeyCredential.signalAllAcceptedCredentials?.(JSON.parse(accepted)).catch(() => {});

  let waiting = null; // what offers passkeys in the list of the name's field, until a button asks for one

  /** What the browser is asked: it stands in the form, or its address tells it. */
  const optionsOf = async (form) =>
    form.dataset.options ? JSON.parse(form.dataset.options) : (await fetch(form.action, { headers: { Accept: "application/json" } })).json();

  /** Ask the browser for a passkey, and send what it answers. `more`: further options, such as `mediation`. */
  const ask = async (form, more = {}) => {
    const options = await optionsOf(form);
    const credential =
      "creates" in form.dataset
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), ...more });
    form.elements.passkey.value = JSON.stringify(credential.toJSON());
    form.submit();
  };

  /** Offer passkeys in the list of the name's field. A challenge lives five minutes, so it is asked anew before. */
  const offer = async (form) => {
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
    for (;;) {
      const offered = (waiting = new AbortController());
      const ends = setTimeout(() => offered.abort("old"), 240_000);
      try {
        await ask(form, { mediation: "conditional", signal: offered.signal });
      } catch {
        if (offered.signal.reason !== "old") return; // a button asks, or the browser does not want to
      } finally {
        clearTimeout(ends);
      }
      if (!offered.signal.aborted) return;
    }
  };

  let isAsking = false; // a double click asks once: a browser refuses a second question while the first is open

  for (const form of document.querySelectorAll("form.passkey")) {
    const alerts = [...form.querySelectorAll("[data-says-of]")]; // each of errors with this name, the last of all others
    form.querySelector("button").hidden = false;
    form.querySelector(".needs-script").hidden = true;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isAsking) return;
      isAsking = true;
      waiting?.abort("button");
      for (const alert of alerts) alert.hidden = true;
      try {
        await ask(form);
      } catch ({ name }) {
        alerts.find(({ dataset }) => ["", name].includes(dataset.saysOf)).hidden = false;
        isAsking = false;
      }
    });
    if (!form.dataset.options) offer(form);
  }

  // After Back, what the browser has kept of this page has been answered already: it would ask nothing more. No reload:
  // for the answer to a wrong password, browsers would ask whether to send it again.
  addEventListener("pageshow", ({ persisted }) => persisted && location.replace(location.pathname + location.search));
})();

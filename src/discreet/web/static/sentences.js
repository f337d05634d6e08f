// A form of sentences with blanks: where the kind of a sentence changes, the server makes the new
// sentence, and only the form's own part of the page is exchanged.

import { fetched, stale } from "/static/discreet.js";

async function exchanged(form, address) {
  const made = await fetched(address, "conditions");
  const fresh = made.getElementById("conditions");
  const focused = document.activeElement;
  const name = focused && form.contains(focused) ? focused.name : "";
  const value = focused ? focused.value : "";
  document.getElementById("conditions").replaceWith(document.adoptNode(fresh));
  if (name) {
    const same = [...form.elements].filter((part) => part.name === name);
    const next = same.find((part) => part.value === value) || same[0]
      || form.querySelector(".condition:last-of-type .sentence input");
    if (next) next.focus();
  }
}

// `speaking` keeps the form live. Until the form has its new sentences, and the answer to them, the
// one before cannot be used; if they do not come, the next change asks for them again.
export function reshaping(form, speaking, before = () => {}) {
  const here = form.getAttribute("action");

  async function exchange(address) {
    speaking.owed = true;
    stale(speaking.results, true);
    try {
      await exchanged(form, address);
    } catch (error) {
      speaking.refused(error);
      return;
    }
    speaking.owed = false;
    before();
    speaking.send({});
  }

  function reshape(extra = {}) {
    const asked = new URLSearchParams(new FormData(form));
    asked.delete("upto");
    for (const [name, value] of Object.entries(extra)) asked.set(name, value);
    exchange(`${here}?${asked}`);
  }

  // Before the form's own listeners: the kind of a sentence changes first, then the numbers.
  form.addEventListener("input", (event) => {
    if (!speaking.owed && !("reshape" in event.target.dataset)) return;
    event.stopImmediatePropagation();
    reshape();
  }, true);
  form.addEventListener("submit", (event) => {
    if (!event.submitter || !event.submitter.name) return;
    event.preventDefault();
    reshape({ [event.submitter.name]: event.submitter.value });
  });
  form.addEventListener("click", (event) => {
    const example = event.target.closest("a[data-state]");
    if (!example) return;
    event.preventDefault();
    exchange(example.getAttribute("href"));
  });
}

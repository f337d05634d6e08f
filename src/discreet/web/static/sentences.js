// A form of sentences with blanks: where the kind of a sentence changes, the server makes the new
// sentence, and only the form's own part of the page is exchanged.

import { fetched } from "/static/discreet.js";

async function exchanged(form, address) {
  let made;
  try {
    made = await fetched(address, "conditions");
  } catch (error) {
    form.querySelector("[data-problem]").textContent = error.message;
    return false;
  }
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
  return true;
}

// `changed` is called when the form has its new sentences.
export function reshaping(form, changed) {
  const here = form.getAttribute("action");
  const query = () => new URLSearchParams(new FormData(form));

  async function reshape(extra = {}) {
    const asked = query();
    asked.delete("upto");
    for (const [name, value] of Object.entries(extra)) asked.set(name, value);
    if (await exchanged(form, `${here}?${asked}`)) changed();
  }

  form.addEventListener("input", (event) => {
    if (!("reshape" in event.target.dataset)) return;
    event.stopImmediatePropagation();
    reshape();
  });
  form.addEventListener("submit", (event) => {
    if (!event.submitter || !event.submitter.name) return;
    event.preventDefault();
    reshape({ [event.submitter.name]: event.submitter.value });
  });
  form.addEventListener("click", async (event) => {
    const example = event.target.closest("a[data-state]");
    if (!example) return;
    event.preventDefault();
    if (await exchanged(form, example.getAttribute("href"))) changed();
  });
}

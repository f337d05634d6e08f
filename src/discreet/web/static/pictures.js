// A chart as one image with words: what is inside it is hidden from screen readers, since the
// caption says what it shows and a table beside it has its figures.
import { chart } from "/static/discreet.js";

export async function picture(id, spec, words) {
  const element = document.getElementById(id);
  element.setAttribute("aria-label", words);
  const caption = element.parentElement.querySelector("figcaption");
  if (caption) caption.textContent = words;
  await chart(element, spec);
  element.querySelector("svg")?.setAttribute("aria-hidden", "true");
}

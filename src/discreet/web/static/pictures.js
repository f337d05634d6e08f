// A picture with words: it is one image for screen readers, since the caption says what it shows.
import { chart } from "/static/discreet.js";

function told(id, words) {
  const element = document.getElementById(id);
  element.setAttribute("aria-label", words);
  const caption = element.parentElement.querySelector("figcaption");
  if (caption) caption.textContent = words;
  return element;
}

export function picture(id, spec, words) {
  return chart(told(id, words), spec);
}

// A hundred figures that fill; the server has counted them.
export function icons(id, marks, words) {
  figures(told(id, words), marks.before, marks.after);
}

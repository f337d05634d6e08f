// The screen Explain: the promise and the suspicion go to the server; words and pictures come back.
import { announce, facts, how, live, rows, say, state, text } from "/static/discreet.js";
import { icons, picture } from "/static/pictures.js";

const form = document.getElementById("explain-form");
const results = document.getElementById("results");

// Show the numbers that this kind of promise has, and the words for whom they are. What is hidden
// is not sent.
function arrange() {
  const wanted = form.elements.kind.selectedOptions[0].dataset.numbers.split(" ");
  for (const part of form.querySelectorAll("[data-number]")) {
    part.hidden = !wanted.includes(part.dataset.number);
    part.querySelector("input").disabled = part.hidden;
  }
  // Where neighbours differ in a value, everyone is known to be in: there is one belief to ask for.
  const neighbours = form.elements.adjacency.value;
  for (const part of form.querySelectorAll("[data-neighbours]")) {
    part.hidden = !part.dataset.neighbours.split(" ").includes(neighbours);
    for (const blank of part.querySelectorAll("input")) blank.disabled = part.hidden;
  }
  const audience = form.elements.audience.value;
  for (const part of document.querySelectorAll("[data-audience]")) part.hidden = part.dataset.audience !== audience;
}

function part(name, lines) {
  document.getElementById(`${name}-part`).hidden = lines.length === 0;
  rows(name, lines);
}

function show(answer) {
  text("headline", answer.headline);
  text("note", answer.note);
  for (const [audience, told] of Object.entries(answer.told)) {
    text(`learned-${audience}`, told.learned);
    text(`promise-${audience}`, told.promise);
    text(`always-${audience}`, told.always);
    facts(`open-${audience}`, told.not_protected);
  }
  rows("bounds", answer.lines);
  rows("others", answer.others);
  rows("assumptions", answer.assumptions);
  part("joining", answer.joining);
  part("confidences", answer.confidences);
  document.querySelectorAll("[data-published]").forEach((cell, place) => {
    cell.textContent = answer.published[place];
  });
  how("belief-how", answer.how);
  document.getElementById("me").href = answer.me;
  document.getElementById("icons-part").hidden = answer.icons === null;
  if (answer.icons) icons("icons", answer.icons, answer.icons_caption);
  picture("curve", answer.curve, answer.curve_caption);
  state(answer.link, answer.yaml);
  announce(say("at_most", answer));
}

form.addEventListener("input", arrange);
arrange();
live(form, "/api/explain", show, { results: [results] }).send({});

// Attack: the steps come from the server; a slider or a button shows them one after the other.
import { announce, chart, header, how, live, rows, sentences, state, text } from "/static/discreet.js";

const form = document.getElementById("attack-form");
const results = document.getElementById("results");
const slider = document.getElementById("step");
const drawing = document.getElementById("attack-chart");
const written = document.querySelectorAll("#steps tbody tr");
const next = document.getElementById("next");
let shown = {
  chart: JSON.parse(drawing.dataset.chart),
  places: JSON.parse(slider.dataset.places),
  rows: [...written].map((row) => [...row.cells].map((cell) => cell.textContent)),
};

const atEnd = () => { next.disabled = slider.value === slider.max; };

function step() {
  const last = shown.places[slider.value];
  text("step-shown", String(last));
  slider.setAttribute("aria-valuetext", String(last));
  atEnd();
  const steps = shown.chart.datasets.steps.filter((row) => row.k <= last);
  chart(drawing, { ...shown.chart, datasets: { ...shown.chart.datasets, steps } });
  rows("steps", shown.rows.slice(0, Number(slider.value) + 1));
}

const speaking = live(form, "/api/attack", (answer) => {
  shown = answer;
  text("attack-title", answer.title);
  sentences("told", answer.sentences);
  header("steps", answer.header);
  slider.max = answer.places.length - 1;
  slider.value = slider.max;
  how("attack-how", answer.how);
  drawing.setAttribute("aria-label", answer.caption);
  state(answer.link, null);
  announce(answer.spoken);
  step();
}, { results: [results] });

atEnd();
slider.addEventListener("input", step);
document.getElementById("first").addEventListener("click", () => { slider.value = 0; step(); });
next.addEventListener("click", () => { slider.value = Number(slider.value) + 1; step(); });
document.getElementById("again").addEventListener("click", () => {
  const count = form.elements.namedItem("again");
  count.value = Number(count.value) + 1;
  speaking.send({});
});

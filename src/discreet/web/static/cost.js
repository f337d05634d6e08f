// Cost: tolerances side by side; a slider moves the first number of a sentence.
import { announce, chart, header, how, live, rows, say, state, text } from "/static/discreet.js";
import { reshaping } from "/static/sentences.js";

const form = document.getElementById("asked");
const results = document.getElementById("results");

if (form && results) {
  // A slider and its blank show the same value; only the blank is sent.
  form.addEventListener("input", (event) => {
    const { moves } = event.target.dataset;
    const [slider, blank] = moves
      ? [event.target, form.elements.namedItem(moves)]
      : [form.querySelector(`[data-moves="${event.target.name}"]`), event.target];
    if (!slider || !blank) return;
    if (moves) blank.value = slider.value; else slider.value = blank.value;
    slider.setAttribute("aria-valuetext", slider.dataset.says.replace("{}", blank.value));
  });

  const speaking = live(form, "/api/cost", (answer, superseded) => {
    if (!superseded) {
      state(answer.link, answer.yaml);
      announce(answer.spoken);
    }
    header("costs", answer.header);
    rows("costs", answer.rows);
    text("verdict", answer.verdict);
    document.getElementById("take").replaceChildren(...answer.releases.map((path, place) => {
      const way = document.createElement("a");
      way.className = "button";
      way.href = path;
      way.textContent = say("take", { name: answer.names[place] });
      return way;
    }));
    text("shown", answer.shown);
    for (const [name, item] of Object.entries(answer.how)) how(`how-${name}`, item);
    chart(document.getElementById("counts"), answer.charts.counts);
  }, { results: [results] });
  reshaping(form, speaking);
  speaking.send({});
}

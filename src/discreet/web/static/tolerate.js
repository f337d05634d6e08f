// Tolerate: the sentence and the curve change one another, through the server.
import {
  announce, chart, facts, header, how, live, rows, sentences, state, text, thread,
} from "/static/discreet.js";
import { reshaping } from "/static/sentences.js";
import { rack } from "/static/handles.js";

const form = document.getElementById("asked");
const results = document.getElementById("results");
const profile = document.getElementById("profile");
const curved = document.getElementById("curve-part");
let resting = 0;
let mapped = 0;  // when the map was drawn last

if (form && results) start();

function start() {
  const speaking = live(form, "/api/tolerate", render, { results: [results, profile, curved] });
  reshaping(form, speaking, () => {
    const axis = form.elements.namedItem("upto");
    if (axis) axis.value = "";
  });
  const send = (extra) => speaking.send(extra);
  const [curve, field] = [["draggable", "tolerated"], ["draggable-map", "ratios"]].map(
    ([stage, picture]) => rack(document.getElementById(stage), document.getElementById(picture), send),
  );
  speaking.send({});

  function render(answer, superseded, extra) {
    // While a person types ahead, what they typed last stays; a hand on a handle types nothing.
    if (!superseded || extra.handle) {
      for (const [name, value] of Object.entries(answer.fields)) {
        const blank = form.elements.namedItem(name);
        // What a person is typing stays as they type it.
        if (blank && blank !== document.activeElement && blank.value !== value) blank.value = value;
      }
      const axis = form.elements.namedItem("upto");
      if (axis) axis.value = answer.upto;
      thread(answer.thread);
      state(answer.link, answer.yaml);
      announce(answer.spoken);
    }
    text("epsilon", answer.shown);
    text("epsilon-again", answer.shown);
    text("rounded", answer.rounded);
    text("holds", answer.holds);
    text("binding", answer.binding);
    text("certificate", answer.certificate);
    text("noise", answer.noise);
    document.getElementById("to-cost").href = answer.cost;
    for (const way of ["release", "series", "explain", "approval"]) {
      document.getElementById(`to-${way}`).href = answer[way];
    }
    document.getElementById("compared-part").hidden = answer.compared.length === 0;
    rows("compared", answer.compared);
    header("implied", answer.implied_header);
    rows("implied", answer.implied);
    for (const [name, item] of Object.entries(answer.how)) how(`how-${name}`, item);
    sentences("warnings", answer.warnings);
    facts("assumptions", answer.assumptions);
    drawn(answer);
  }

  async function drawn(answer) {
    const { tolerated, ratio, epsilon, map, ratios } = answer.charts;
    profile.hidden = !ratio && !map;
    document.getElementById("lines").hidden = !ratio;
    document.getElementById("maps").hidden = !map;
    curve.placed(answer.handles, await chart(document.getElementById("tolerated"), tolerated));
    if (ratio) {
      await chart(document.getElementById("ratio"), ratio);
      await chart(document.getElementById("largest"), epsilon);
    }
    window.clearTimeout(resting);
    if (!map) return;
    // A map has hundreds of fields, and would hold up the hand: it follows a few times a second.
    const wait = Math.max(0, Math.min(80, mapped + 250 - performance.now()));
    resting = window.setTimeout(async () => {
      mapped = performance.now();
      field.placed(answer.map_handles, await chart(document.getElementById("ratios"), ratios));
      chart(document.getElementById("map"), map);
    }, wait);
  }
}

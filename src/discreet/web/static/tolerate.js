// Tolerate: the sentence and the curve change one another, through the server.
import { announce, chart, how, live, rows, state, text } from "/static/discreet.js";
import { reshaping } from "/static/conditions.js";

const form = document.getElementById("asked");
const results = document.getElementById("results");
const stage = document.getElementById("draggable");
const sliders = new Map();
let view = null;
let dragged = null;
let height = 0;  // where the hand took a handle
let resting = 0;
let owed = 0;  // steps of the keyboard that were not sent yet

if (form && results) start();

function start() {
  // The kind of a sentence changes first, then the numbers: the order of listeners matters.
  reshaping(form, () => {
    const axis = form.elements.namedItem("upto");
    if (axis) axis.value = "";
    speaking.send({});
  });
  const speaking = live(form, "/api/tolerate", render, { results: [results] });
  window.addEventListener("resize", () => placed());
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
      state(answer.link, answer.yaml);
      announce(answer.spoken);
    }
    text("epsilon", answer.shown);
    text("epsilon-again", answer.shown);
    text("holds", answer.holds);
    text("binding", answer.binding);
    text("certificate", answer.certificate);
    text("noise", answer.noise);
    document.getElementById("to-cost").href = answer.cost;
    document.getElementById("to-release").href = answer.release;
    const head = document.querySelector("#implied thead tr");
    head.replaceChildren(...answer.implied_header.map((name) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      return cell;
    }));
    rows("implied", answer.implied);
    for (const [name, item] of Object.entries(answer.how)) how(`how-${name}`, item);
    listed("warnings", answer.warnings);
    described("assumptions", answer.assumptions);
    drawn(answer);
  }

  async function drawn(answer) {
    const { tolerated, ratio, epsilon, map, ratios } = answer.charts;
    document.getElementById("profile").hidden = !ratio && !map;
    document.getElementById("lines").hidden = !ratio;
    document.getElementById("maps").hidden = !map;
    view = await chart(document.getElementById("tolerated"), tolerated) || view;
    placed(answer.handles);
    if (ratio) {
      await chart(document.getElementById("ratio"), ratio);
      await chart(document.getElementById("largest"), epsilon);
    }
    // A map has hundreds of fields, and would hold up the hand: it is drawn when the hand rests.
    window.clearTimeout(resting);
    if (map) {
      resting = window.setTimeout(() => {
        chart(document.getElementById("ratios"), ratios);
        chart(document.getElementById("map"), map);
      }, 80);
    }
  }

  // -- handles: where a value stands in pixels is all that is known here

  function pixels() {
    const drawing = document.querySelector("#tolerated svg");
    if (!view || !drawing) return null;
    const box = drawing.getBoundingClientRect();
    const frame = stage.getBoundingClientRect();
    const shrunk = box.width / drawing.viewBox.baseVal.width;
    const [right, down] = view.origin();
    const edge = view.padding();
    return {
      x: view.scale("x"), y: view.scale("y"), shrunk,
      left: box.left - frame.left + (edge.left + right) * shrunk,
      top: box.top - frame.top + (edge.top + down) * shrunk,
    };
  }

  function placed(list) {
    const at = pixels();
    if (!at) return;
    const wanted = list || [...sliders.values()].map((slider) => slider.item);
    const names = new Set(wanted.map((item) => item.name));
    for (const [name, slider] of sliders) {
      if (!names.has(name)) { slider.element.remove(); sliders.delete(name); }
    }
    for (const item of wanted) {
      const slider = sliders.get(item.name) || made(item);
      slider.item = item;
      const { element } = slider;
      element.setAttribute("aria-label", item.label);
      element.setAttribute("aria-orientation", item.across ? "horizontal" : "vertical");
      element.setAttribute("aria-valuemin", item.low);
      element.setAttribute("aria-valuemax", item.high);
      element.setAttribute("aria-valuenow", item.value);
      element.setAttribute("aria-valuetext", item.text);
      element.classList.toggle("across", item.across);
      element.classList.toggle("down", !item.across);
      if (dragged === item.name) continue;  // it is where the hand is
      element.style.left = `${at.left + at.x(item.x) * at.shrunk}px`;
      element.style.top = `${at.top + at.y(item.y) * at.shrunk}px`;
    }
  }

  function made(item) {
    const element = document.createElement("div");
    element.className = "handle";
    element.tabIndex = 0;
    element.setAttribute("role", "slider");
    const slider = { element, item };
    sliders.set(item.name, slider);
    stage.append(element);

    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      element.focus();
      dragged = slider.item.name;
      height = slider.item.y;
      event.preventDefault();
    });
    element.addEventListener("pointermove", (event) => {
      if (dragged !== slider.item.name) return;
      const at = pixels();
      const frame = stage.getBoundingClientRect();
      const [low, high] = slider.item.across ? at.x.range() : at.y.range();
      const keep = (value) => Math.min(Math.max(value, Math.min(low, high)), Math.max(low, high));
      const along = slider.item.across
        ? keep((event.clientX - frame.left - at.left) / at.shrunk)
        : keep((event.clientY - frame.top - at.top) / at.shrunk);
      let { x } = slider.item;
      let y = height;
      if (slider.item.across) {
        element.style.left = `${at.left + along * at.shrunk}px`;
        x = at.x.invert(along);
      } else {
        element.style.top = `${at.top + along * at.shrunk}px`;
        y = at.y.invert(along);
      }
      speaking.send({ handle: slider.item.name, x, y });
    });
    const dropped = () => {
      if (dragged !== slider.item.name) return;
      dragged = null;
      speaking.send({});
    };
    element.addEventListener("pointerup", dropped);
    element.addEventListener("pointercancel", dropped);
    element.addEventListener("keydown", (event) => {
      const steps = {
        ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1,
        PageUp: 10, PageDown: -10, Home: -1000, End: 1000,
      }[event.key];
      if (steps === undefined) return;
      event.preventDefault();
      owed += steps;
      speaking.send({
        handle: slider.item.name,
        steps: () => { const all = owed; owed = 0; return all; },
      });
    });
    return slider;
  }
}

function listed(id, lines) {
  document.getElementById(id).replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
}

function described(id, pairs) {
  document.getElementById(id).replaceChildren(...pairs.flatMap(([name, words]) => {
    const term = document.createElement("dt");
    term.textContent = name;
    const description = document.createElement("dd");
    description.textContent = words;
    return [term, description];
  }));
}

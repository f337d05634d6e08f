// The screen Release: sends what was typed, and puts the server's page in place. Nothing is computed.

import { announce, drawings, failed, fetched, mark, remember, say, stale, thread } from "/static/discreet.js";

const WAIT = 250;

const specForm = document.getElementById("spec-form");
const yamlForm = document.getElementById("yaml-form");
const problem = document.getElementById("look-problem");

let running = null;
let timer = 0;

// Ask for the page of a state; a newer question ends an older one.
async function pageOf(fields) {
  if (running) running.abort();
  running = new AbortController();
  return fetched("/release/look", "look-body", {
    method: "POST",
    body: new URLSearchParams(fields),
    signal: running.signal,
  });
}

function put(page, id) {
  const fresh = page.getElementById(id);
  const old = document.getElementById(id);
  if (fresh && old) old.replaceWith(document.importNode(fresh, true));
}

// Put new fields in place and keep the one that is being typed in, with its cursor.
function putFields(page) {
  const active = document.activeElement;
  const name = active && active.closest("#fields") ? active.name : null;
  const [puts, value] = [active?.dataset?.puts, active?.dataset?.value];
  const at = name && "selectionStart" in active ? active.selectionStart : null;
  const open = [...document.querySelectorAll("#fields details")].map((part) => part.open);
  put(page, "fields");
  [...document.querySelectorAll("#fields details")].forEach((part, place) => {
    if (open[place]) part.open = true;
  });
  if (puts) {
    const chips = [...document.querySelectorAll("#fields [data-puts]")];
    chips.find((one) => one.dataset.puts === puts && one.dataset.value === value)?.focus();
  }
  if (!name) return;
  // A statistic that was removed takes its button along; the one that adds another is always there.
  const found = specForm.elements.namedItem(name) || specForm.elements.namedItem("add");
  const next = found instanceof RadioNodeList ? found[0] : found;
  if (next) {
    next.focus();
    if (at !== null && next.name === name && next.setSelectionRange) next.setSelectionRange(at, at);
  }
}

// Put the new dry run in place; what was typed into the form that opens an account stays.
function putLook(page) {
  const typed = new Map();
  for (const field of document.querySelectorAll("#look-body input[id]")) typed.set(field.id, field.value);
  put(page, "look-body");
  drawings(document.getElementById("look-body"));
  for (const [id, value] of typed) {
    const field = document.getElementById(id);
    if (field && !field.value) field.value = value;
  }
}

// The promise that was typed goes along from here: on the line above, in the menu, to other data.
function putPromise(page) {
  const parts = [...page.querySelectorAll("#thread:not([hidden]) [data-part]")];
  if (parts.length) {
    const told = Object.fromEntries(parts.map((part) => [part.dataset.part, part.textContent]));
    thread({ ...told, query: page.documentElement.dataset.thread });
  }
  put(page, "files");
  document.getElementById("upload").action = page.getElementById("upload").getAttribute("action");
}

async function show(fields, { shape, fromYaml }) {
  outdated();
  let page;
  try {
    page = await pageOf(fields);
  } catch (error) {
    if (error.name === "AbortError") return;
    failed(problem, error.message);
    document.getElementById("look-body").replaceChildren();
    // The other side says what was typed before; typing here once more asks again.
    stale([fromYaml ? specForm : yamlForm], true);
    return;
  }
  const readable = page.querySelector("#fields [name='account']");
  if (fromYaml ? readable : shape) putFields(page);
  if (!fromYaml) {
    const text = page.getElementById("spec");
    if (text && text.value) document.getElementById("spec").value = text.value;
  }
  pressed();
  mark(specForm, JSON.parse(page.getElementById("field-problems").dataset.problems));
  putLook(page);
  stale([specForm, yamlForm], false);
  putPromise(page);
  const words = page.getElementById("look-problem").textContent;
  problem.textContent = words;
  const link = page.getElementById("state-link");
  if (link) {
    remember(link.getAttribute("href"));
    for (const id of ["state-link", "state-yaml"]) {
      const [fresh, old] = [page.getElementById(id), document.getElementById(id)];
      if (fresh && old) old.href = fresh.getAttribute("href");
    }
  }
  const number = document.querySelector("#refusal p") || document.querySelector("#look-body .number");
  announce(words || (number ? number.textContent : say("more_needed")));
}

// Until the answer is there, the dry run is that of another spec: it cannot be used.
function outdated() {
  stale([document.getElementById("look-body")], true);
}

function later(fields, options) {
  outdated();
  window.clearTimeout(timer);
  timer = window.setTimeout(() => show(fields(), options), WAIT);
}

if (specForm && yamlForm) {
  specForm.addEventListener("input", (event) => {
    // A text that decides which fields there are is finished when it is left, not while typing.
    const shape = event.target.matches("select[data-shape], input[type='checkbox'][data-shape]");
    later(() => new FormData(specForm), { shape, fromYaml: false });
  });
  specForm.addEventListener("change", (event) => {
    if (event.target.matches("input[data-shape]")) {
      later(() => new FormData(specForm), { shape: true, fromYaml: false });
    }
  });
  specForm.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new FormData(specForm);
    const button = event.submitter;
    if (button && button.name) fields.append(button.name, button.value);
    window.clearTimeout(timer);
    show(fields, { shape: true, fromYaml: false });
  });
  // What the form asks for beside the spec goes along with the YAML.
  const written = () => {
    const fields = new FormData(yamlForm);
    for (const part of specForm.querySelectorAll("[data-beside] input")) fields.append(part.name, part.value);
    return fields;
  };
  yamlForm.addEventListener("input", () => {
    later(written, { shape: true, fromYaml: true });
  });
  yamlForm.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.hasAttribute("data-download")) return;
    event.preventDefault();
    show(written(), { shape: true, fromYaml: true });
  });
  // What was typed before this script was there counts, too.
  const fields = [...specForm.elements].filter((field) => field.type === "text");
  if (fields.some((field) => field.value !== field.defaultValue)) {
    later(() => new FormData(specForm), { shape: true, fromYaml: false });
  }
}

// A column is pressed instead of typed: it goes into its field, or out again. Names are as in CSV.
const split = (text) => text.match(/"(?:[^"]|"")*"|[^,;\s][^,;]*/g)?.map((one) => one.trim()) || [];
const cell = (name) => (/[",;\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
// Of sets of columns, the last one is meant: what stands before it stays.
const before = (chip, text) => ("sets" in chip.dataset && text.match(/^(?:.*;|\s*up to \d+ (?:columns )?of )\s*/i)?.[0]) || "";
function pressed() {
  for (const chip of document.querySelectorAll("[data-puts]")) {
    const text = document.getElementById(chip.dataset.puts)?.value || "";
    const typed = split(text.slice(before(chip, text).length));
    chip.setAttribute("aria-pressed", typed.includes(cell(chip.dataset.value)));
  }
}
document.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-puts]");
  if (!chip) return;
  const field = document.getElementById(chip.dataset.puts);
  const head = before(chip, field.value);
  const [name, typed] = [cell(chip.dataset.value), split(field.value.slice(head.length))];
  const rest = typed.filter((one) => one !== name);
  const there = rest.length < typed.length;
  field.value = head + ("many" in chip.dataset ? [...rest, ...(there ? [] : [name])] : there ? [] : [name]).join(", ");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
  pressed();
});
document.addEventListener("input", pressed);
pressed();

// A file that is too large is refused before it is sent; the server refuses it all the same.
for (const form of document.querySelectorAll("form[data-most]")) {
  form.addEventListener("submit", (event) => {
    const file = form.querySelector("input[type='file']").files[0];
    const most = Number(form.dataset.most);
    const problem = form.querySelector("[role='alert']");
    problem.textContent = "";
    if (file && file.size > most) {
      event.preventDefault();
      problem.textContent = form.dataset.large;
    }
  });
}

// Charging takes a moment: say so, and take no second press.
const make = document.getElementById("make");
if (make) {
  make.addEventListener("submit", () => {
    const button = make.querySelector("button");
    button.textContent = say("charging");
    window.setTimeout(() => { button.disabled = true; }, 0);
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });
}

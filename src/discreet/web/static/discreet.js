// What all screens share. No number is computed here: the state goes to the server, and numbers,
// sentences and charts come back.

export const quiet = window.matchMedia("(prefers-reduced-motion: reduce)");

document.documentElement.classList.add("live");

// What scripts say by themselves comes with the page, from the catalogue; {names} are filled in.
const texts = JSON.parse(document.documentElement.dataset.texts);
export function say(name, values = {}) {
  return texts[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

// Say something to a screen reader, when its reader has a moment.
let announced = 0;
export function announce(text, answers = true) {
  if (answers) foot(text);
  window.clearTimeout(announced);
  // A drag changes many times a second; only where it comes to rest is spoken.
  announced = window.setTimeout(() => {
    document.getElementById("announcer").textContent = text;
  }, 400);
}

// At the foot of the screen: on a phone the answer while it is not in sight, and everywhere a request
// that failed, if the place where that is said is not in sight.
const bar = document.getElementById("bar");
const answering = document.querySelector("form ~ #results, form #results, .columns > #results, #look");
const answered = bar?.getAttribute("href");
let seen = true;
function foot(text, problem = null) {
  if (!bar || !answering) return;
  bar.textContent = text;
  bar.classList.toggle("failed", problem !== null);
  bar.setAttribute("href", problem ? `#${problem.id}` : answered);
  bar.hidden = !text || (problem ? within(problem) : seen || answering.hidden);
}
function within(part) {
  const { top, bottom } = part.getBoundingClientRect();
  const line = document.getElementById("thread").getBoundingClientRect();
  return top >= line.height && bottom <= window.innerHeight;
}
if (bar && answering) {
  new IntersectionObserver(([entry]) => {
    seen = entry.isIntersecting;
    if (!bar.classList.contains("failed")) foot(bar.textContent);
  }, { rootMargin: "0px 0px -80px 0px" }).observe(answering);
}

// Say what went wrong in its place; where fields say it themselves, the foot of the screen need not.
export function failed(problem, words, atFields = false) {
  problem.id ||= "problem";
  problem.textContent = words;
  foot(atFields ? "" : words, problem);
}

// The promise that goes along: every link of the menu carries it, and so does the address, where the
// screen is not itself about the promise.
const root = document.documentElement;
const CARRIED = ["promise", "ledger", "account", "series"];
let along = root.dataset.thread;
let carried = root.dataset.carried;
function carrying(link, query) {
  const [path, own = ""] = link.split("?");
  const all = new URLSearchParams(own);
  if (all.has("spec") || all.has("file")) return link;  // a spec says its own promise
  for (const name of CARRIED) {
    if (query && !(path === "/ledger" && name !== "promise")) all.delete(name);
  }
  for (const [name, value] of new URLSearchParams(query)) if (!all.has(name)) all.set(name, value);
  return all.size ? `${path}?${all}` : path;
}

// Show another promise, or another account under it; where no account is told, it stays.
export function thread(told) {
  if (!told) return;
  const [next, now] = [told.query, along].map((query) => new URLSearchParams(query));
  const same = (name) => next.get(name) === now.get(name);
  if (same("promise") && (!next.has("account") || same("account"))) return;
  along = told.query;
  const line = document.getElementById("thread");
  line.hidden = false;
  for (const part of line.querySelectorAll("[data-part]")) part.textContent = told[part.dataset.part];
  menu();
}

// What this tab keeps: each screen as it was left, and the states of each for undo. Where nothing can
// be kept, the menu leads to each screen as it begins.
const kept = {
  get(name) {
    try { return JSON.parse(window.sessionStorage.getItem(name)); } catch { return null; }
  },
  set(name, value) {
    try { window.sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* as it begins */ }
  },
};
function menu() {
  const promise = new URLSearchParams(along).get("promise");
  for (const way of document.querySelectorAll("nav a")) {
    const left = kept.get(way.pathname);
    // A screen that was left under another promise begins anew with this one.
    const link = left && (left.promise === promise || !along) ? left.link : way.pathname;
    way.href = carrying(link, along);
  }
}

// Keep the state in the address. Changes in quick succession are one step for Back and for undo, and
// the menu leads to each screen as this tab left it.
const MOVE = 1000;
const here = () => window.location.pathname + window.location.search;
let address = here();
let changed = null;
export function remember(link) {
  const full = carrying(link, carried);
  const step = !(changed === null || performance.now() - changed < MOVE);
  if (full !== address) {
    window.history[step ? "pushState" : "replaceState"](null, "", full);
    address = here();
  }
  changed = performance.now();
  keep(full, step);
}
window.addEventListener("popstate", () => {
  // What is shown is made by the server: it makes the earlier state again.
  if (here() !== address) window.location.replace(window.location.href);
});

const path = window.location.pathname;
const [undo, redo] = ["undo", "redo"].map((id) => document.getElementById(id));
const states = kept.get(`states:${path}`) || { list: [], at: -1 };
function keep(link, step) {
  const known = states.list.lastIndexOf(link);
  if (known >= 0 && Math.abs(known - states.at) <= 1) states.at = known;
  else {
    const from = step || states.at < 0 ? states.at + 1 : states.at;
    states.list.splice(from, Infinity, link);
    if (states.list.length > 100) states.list.shift();
    states.at = states.list.length - 1;
  }
  kept.set(`states:${path}`, states);
  kept.set(path, { link, promise: new URLSearchParams(along).get("promise") });
  if (undo) undo.disabled = states.at <= 0;
  if (redo) redo.disabled = states.at >= states.list.length - 1;
  menu();
}
for (const [button, way] of [[undo, -1], [redo, 1]]) {
  if (!button) continue;
  button.addEventListener("click", () => {
    const link = states.list[states.at + way];
    if (!link) return;
    states.at += way;
    kept.set(`states:${path}`, states);
    window.location.assign(link);
  });
}
menu();
const first = document.getElementById("state-link");
if (first) keep(first.getAttribute("href"), true);

// Show the state in the address, the link and the download.
export function state(link, yaml) {
  if (link) {
    remember(link);
    const copy = document.getElementById("state-link");
    if (copy) copy.href = carrying(link, carried);
  }
  const file = document.getElementById("state-yaml");
  if (file && yaml) file.href = yaml;
}

document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-print]")) window.print();
  const copy = event.target.closest("a[data-copy]");
  if (!copy || !navigator.clipboard) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(copy.href);
    const before = copy.textContent;
    copy.textContent = say("copied");
    announce(say("link_copied"), false);
    window.setTimeout(() => { copy.textContent = before; }, 1600);
  } catch {
    window.location.href = copy.href;
  }
});

// Ask the server; a refusal becomes an Error with the words of the problem, and where it is.
export async function ask(url, options = {}) {
  let answer;
  try {
    answer = await fetch(url, { headers: { Accept: "application/json" }, ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(say("no_answer"));
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const error = new Error(body.message || say("no_page"));
    error.code = body.code;
    error.fields = body.fields;
    throw error;
  }
  return body;
}

// Fetch a page of the server that has an element of that id; anything else is said as an Error.
export async function fetched(url, id, options = {}) {
  let answer;
  try {
    answer = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(say("no_answer"));
  }
  const made = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (made.getElementById(id)) return made;
  throw new Error(made.querySelector("main p")?.textContent || say("no_page"));
}

// Say at each field what is wrong with it, as the server's page does; return whether all were told.
export function mark(form, problems) {
  let complete = Object.keys(problems || {}).length > 0;
  for (const told of form.querySelectorAll(".wrong")) told.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    const rest = (field.getAttribute("aria-describedby") || "").split(" ").filter((id) => id && !id.startsWith("p-"));
    if (rest.length) field.setAttribute("aria-describedby", rest.join(" "));
    else field.removeAttribute("aria-describedby");
  }
  for (const [name, words] of Object.entries(problems || {})) {
    const found = form.elements.namedItem(name);
    const field = found instanceof RadioNodeList ? found[0] : found;
    if (!field || field.type === "hidden") { complete = false; continue; }
    // Below a sentence with several blanks it is said which of them is meant.
    const label = field.closest(".sentence") && field.getAttribute("aria-label");
    const told = Object.assign(document.createElement("span"), {
      className: "wrong",
      id: `p-${name.replaceAll(" ", "_")}`,
      textContent: label ? say("at", { field: label, problem: words }) : words,
    });
    (field.closest(".field, .sentence") || field.parentElement).append(told);
    field.setAttribute("aria-invalid", "true");
    const before = field.getAttribute("aria-describedby");
    field.setAttribute("aria-describedby", before ? `${before} ${told.id}` : told.id);
    for (let part = field.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  }
  return complete;
}

// What no longer answers the form is faded and cannot be used: no link, no button, no state.
export function stale(parts, is, whole = true) {
  for (const part of parts) {
    part.classList.toggle("stale", is);
    part.inert = is;
  }
  const kept = document.querySelector(".head .state");
  if (kept && whole) kept.hidden = is;
}

// Keep a form live: each change sends the form as a query to `url` and renders the answer. One
// request is in flight, and the newest wins. What the server refuses is said in the element with
// data-problem and at its fields, and the numbers shown stay, faded and out of use, until they are
// true again. What `send` is given joins the query, functions by what they return when it is sent.
export function live(form, url, render, options = {}) {
  const problem = options.problem || form.querySelector("[data-problem]");
  const results = options.results || [];
  const whole = !options.problem;  // whether this is what the form is about, not one part more
  let busy = false;
  let waiting = null;
  let held = null;  // what was pressed while the answer was on its way
  const query = () => new URLSearchParams(new FormData(form));
  const updating = (is) => results.forEach((part) => part.setAttribute("aria-busy", is));

  function refused(error) {
    const told = whole && mark(form, error.fields);
    if (whole) failed(problem, told ? say("see_fields") : error.message, told);
    else problem.textContent = error.message;
    stale(results, true, whole);
    held = null;
  }

  async function send(extra) {
    if (busy) { waiting = { ...waiting, ...extra }; return; }
    busy = true;
    updating(true);
    const asked = query();
    for (const [name, value] of Object.entries(extra)) {
      asked.set(name, typeof value === "function" ? value() : value);
    }
    const fade = window.setTimeout(() => results.forEach((part) => part.classList.add("stale")), 300);
    try {
      const answer = await ask(`${url}?${asked}`);
      problem.textContent = "";
      if (whole) mark(form, {});
      for (const part of results) part.hidden = false;
      stale(results, speaking.owed, whole);
      // The second says whether a newer state is already wanted.
      render(answer, waiting !== null, extra);
    } catch (error) {
      if (waiting === null) refused(error);
    } finally {
      window.clearTimeout(fade);
      busy = false;
      if (waiting !== null) {
        const next = waiting;
        waiting = null;
        send(next);
      } else {
        updating(false);
        const ways = results.flatMap((part) => [...part.querySelectorAll("a[href]")]);
        const way = held && ways.find((one) => one.textContent === held);
        held = null;
        way?.click();
      }
    }
  }

  // A link of the answer before waits for the new one, and leads where that one leads.
  for (const part of results) {
    part.addEventListener("click", (event) => {
      const way = event.target.closest("a[href]");
      if (!way || !busy) return;
      event.preventDefault();
      held = way.textContent;
    }, true);
  }
  form.addEventListener("input", () => send({}));
  form.addEventListener("submit", (event) => {
    // A button with a name changes the form itself (add, remove): the server makes the new page.
    if (event.submitter && event.submitter.name) return;
    event.preventDefault();
    send({});
  });
  // While the form is owed another shape, an answer to the one before is out of date when it comes.
  const speaking = { send, refused, results, owed: false };
  return speaking;
}

// -- charts

const drawn = new WeakMap();
let vega = null;

function embedder() {
  vega ||= import(document.documentElement.dataset.vega).then((module) => module.vegaEmbed);
  return vega;
}

// Name every inline data set, so that new rows can be put in without drawing anew.
function apart(spec) {
  const rows = { ...spec.datasets };
  let count = 0;
  const walk = (part) => {
    if (Array.isArray(part)) return part.map(walk);
    if (!part || typeof part !== "object") return part;
    const copy = {};
    for (const [key, value] of Object.entries(part)) {
      if (key === "data" && value && Array.isArray(value.values) && !value.name) {
        const name = `rows-${count++}`;
        rows[name] = value.values;
        copy[key] = { name };
      } else copy[key] = walk(value);
    }
    return copy;
  };
  const { datasets, ...rest } = spec;
  return { shape: walk(rest), rows };
}

// Draw a Vega-Lite chart; where only its rows changed, put them in. Resolves to the Vega view.
export async function chart(element, spec) {
  const { shape, rows } = apart(spec);
  const key = JSON.stringify(shape);
  const before = drawn.get(element);
  if (before && before.key === key) {
    before.latest = rows;
    if (before.view) {
      for (const [name, values] of Object.entries(rows)) before.view.data(name, values);
      await before.view.runAsync();
    }
    return before.view;
  }
  if (before && before.view) before.finalize();
  const mine = { key, latest: rows, view: null, finalize: () => {} };
  drawn.set(element, mine);
  let embed;
  try {
    embed = await embedder();
  } catch {
    vega = null;  // the next change asks for it again
    drawn.delete(element);
    element.textContent = say("no_chart");
    return null;
  }
  if (drawn.get(element) !== mine) return null;
  const drawing = document.createElement("div");
  drawing.className = shape.width === "container" ? "drawing fluid" : "drawing";
  element.replaceChildren(drawing);
  // The page behind a chart is the page's own, by day and by night; words and tables beside it say
  // what it shows, so the drawing itself is one image.
  const letters = { labelFontSize: 13, titleFontSize: 13 };
  const config = {
    ...shape.config, background: null, aria: false,
    axis: { ...shape.config?.axis, ...letters, labelSeparation: 4 },
    // On a phone, names stand below each other: side by side they would be cut off.
    legend: { columns: { expr: "width < 360 ? 1 : 0" }, ...shape.config?.legend, ...letters },
    mark: { ...shape.config?.mark, tooltip: true },
  };
  const made = await embed(drawing, { ...shape, config, datasets: mine.latest }, {
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    tooltip: hovered,
  });
  // The element itself is the image, and says what it shows; its strokes say nothing.
  const svg = drawing.querySelector("svg");
  svg.setAttribute("aria-hidden", "true");
  if (shape.width !== "container") {
    const larger = getComputedStyle(element).getPropertyValue("--letters") || 1;
    svg.style.width = `${svg.viewBox.baseVal.width * larger}px`;
    drawing.style.width = "100%";
  }
  mine.view = made.view;
  tools(element, mine, made.view);
  mine.finalize = () => made.finalize();
  return made.view;
}

// What a chart shows under the hand; the same values stand in the table below it.
const near = document.createElement("div");
near.className = "near";
near.hidden = true;
near.setAttribute("aria-hidden", "true");
document.body.append(near);
function hovered(_, event, item, value) {
  near.hidden = value === null || value === undefined || value === "";
  if (near.hidden) return;
  const said = typeof value === "object" ? Object.entries(value) : [["", value]];
  near.textContent = said.map(([name, one]) => (name ? `${name}: ${one}` : one)).join("\n");
  near.style.left = `${Math.min(event.clientX + 12, window.innerWidth - near.offsetWidth - 8)}px`;
  near.style.top = `${event.clientY + 14}px`;
}

// Below a chart: its values as a table, and the chart as a file.
const digits = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value ?? ""));
function lines(rows) {
  const flat = Object.values(rows).filter((some) => some.length).flat();
  const names = [...new Set(flat.flatMap((row) => Object.keys(row)))];
  return [names, ...flat.map((row) => names.map((name) => digits(row[name])))];
}
function tools(element, mine, view) {
  const figure = element.closest("figure");
  if (!figure || figure.querySelector(".tools")) return;
  const part = document.createElement("details");
  part.className = "how tools";
  part.append(Object.assign(document.createElement("summary"), { textContent: say("values") }));
  const buttons = document.createElement("p");
  buttons.className = "buttons";
  const made = {
    CSV: async () => {
      const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const text = lines(drawn.get(element).latest).map((line) => line.map(cell).join(",")).join("\r\n");
      return URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    },
    SVG: async () => URL.createObjectURL(new Blob([await drawn.get(element).view.toSVG()], { type: "image/svg+xml" })),
    PNG: () => drawn.get(element).view.toImageURL("png", 2),
  };
  for (const [kind, file] of Object.entries(made)) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button", textContent: kind });
    button.addEventListener("click", async () => {
      const way = document.createElement("a");
      way.href = await file();
      way.download = `${element.id}.${kind.toLowerCase()}`;
      way.click();
    });
    buttons.append(button);
  }
  const frame = document.createElement("div");
  frame.className = "scroll values";
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  // A page may have several charts: each table is named by its own.
  frame.setAttribute("aria-label", `${say("as_table")}: ${element.getAttribute("aria-label")}`);
  part.append(buttons, frame);
  part.addEventListener("toggle", () => {
    if (!part.open) return;
    const [names, ...rest] = lines(drawn.get(element).latest);
    const row = (cells, kind) => {
      const line = document.createElement("tr");
      line.append(...cells.map((text) => Object.assign(document.createElement(kind), { textContent: text })));
      return line;
    };
    const table = Object.assign(document.createElement("table"), { className: "table" });
    table.append(row(names, "th"), ...rest.slice(0, 400).map((cells) => row(cells, "td")));
    frame.replaceChildren(table);
  });
  figure.append(part);
}

// Charts that came with the page.
export function drawings(where = document) {
  for (const part of where.querySelectorAll("[data-chart]")) chart(part, JSON.parse(part.dataset.chart));
}
drawings();

// -- small things for screens

export function text(id, value) {
  const part = document.getElementById(id);
  if (part && part.textContent !== value) part.textContent = value;
}

// Fill the body of a table with rows of plain texts; the first cell of a row names it.
export function rows(id, lines) {
  const body = document.querySelector(`#${id} tbody`);
  if (!body) return;
  body.replaceChildren(...lines.map((line) => {
    const row = document.createElement("tr");
    row.append(...line.map((cell, place) => {
      const made = document.createElement(place ? "td" : "th");
      if (!place) made.scope = "row";
      else if (cell.length < 16) made.className = "short";  // a number and its unit stay together
      made.textContent = cell;
      return made;
    }));
    return row;
  }));
}

// The names of a table's columns; one without a name is an empty corner.
export function header(id, names) {
  document.querySelector(`#${id} thead tr`).replaceChildren(...names.map((name) => {
    const cell = document.createElement(name ? "th" : "td");
    if (name) cell.scope = "col";
    cell.textContent = name;
    return cell;
  }));
}

// A list of plain sentences.
export function sentences(id, lines) {
  document.getElementById(id).replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
}

// Names and what is said of them.
export function facts(id, pairs) {
  document.getElementById(id).replaceChildren(...pairs.flatMap(([topic, words]) => {
    const name = document.createElement("dt");
    const said = document.createElement("dd");
    name.textContent = topic;
    said.textContent = words;
    return [name, said];
  }));
}

// Fill a block "how is this computed".
export function how(id, item) {
  const block = document.getElementById(id);
  if (!block || !item) return;
  for (const part of block.querySelectorAll("[data-how]")) {
    part.textContent = item[part.dataset.how] || "";
  }
}

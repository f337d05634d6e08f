// One participant's own worry. Nothing is computed here: each place of the slider has its row in the
// table that came with the page, and a figure says which column it shows, and by when.
const data = JSON.parse(document.getElementById("table").textContent);
const get = (id) => document.getElementById(id);

function show() {
  const place = get("suspect").value;
  const chosen = document.querySelector("[name=about]:checked").value;
  const most = (stage, about) => data[stage][about === "chosen" ? chosen : about][place - 1];
  const said = (count) => data.of.replace("#", count);
  for (const one of document.querySelectorAll("[data-of]")) {
    const [stage, about] = one.dataset.of.split(".");
    one.textContent = said(stage === "before" ? place : most(stage, about));
  }
  get("suspect").setAttribute("aria-valuetext", said(place));
  get("suspect-shown").textContent = said(place);
  const last = data.end ? "end" : "now";
  figures(get("figures"), place, most(last, "chosen"));
  if (data.now.joining) figures(get("figures-joining"), place, most(last, "joining"));
}

document.documentElement.classList.add("live");
if (data) {
  for (const field of document.querySelectorAll("#suspect, [name=about]")) field.addEventListener("input", show);
  get("suspect").addEventListener("input", () => { get("typed").value = get("suspect").value; });
  get("typed").addEventListener("input", () => {
    if (!get("typed").validity.valid || !get("typed").value) return;
    get("suspect").value = get("typed").value;
    show();
  });
  get("typed").addEventListener("change", () => { get("typed").value = get("suspect").value; });
  show();
}

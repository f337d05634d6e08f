// One participant's own worry. Nothing is computed here: each place of a slider has its row in the
// table that came with the page.
const data = JSON.parse(document.getElementById("table").textContent);
const get = (id) => document.getElementById(id);

function worry() {
  const about = document.querySelector("[name=about]:checked").value;
  const row = data[about][get("suspect").value];
  get("suspect").setAttribute("aria-valuetext", row.before);
  get("suspect-shown").textContent = row.before;
  get("before").textContent = row.before;
  get("after").textContent = row.after;
  figures(get("figures"), row.marks[0], row.marks[1]);
}

function join() {
  const row = data.joining[get("without").value];
  get("without").setAttribute("aria-valuetext", row.before);
  get("without-shown").textContent = row.before;
  get("out").textContent = row.before;
  get("in").textContent = row.after;
  figures(get("figures-out"), row.marks[0], row.marks[0]);
  figures(get("figures-in"), row.marks[0], row.marks[1]);
}

document.documentElement.classList.add("live");
if (data.value) {
  for (const field of document.querySelectorAll("#suspect, [name=about]")) field.addEventListener("input", worry);
  worry();
}
if (data.joining) {
  get("without").addEventListener("input", join);
  join();
}

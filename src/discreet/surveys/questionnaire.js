"use strict";
const survey = {data};
// A whole number below n, each equally likely: what would favour small numbers is drawn again.
function below(n) {
  const words = new Uint32Array(1);
  const limit = 4294967296 - (4294967296 % n);
  do { crypto.getRandomValues(words); } while (words[0] >= limit);
  return words[0] % n;
}
function randomize(truth) {
  const count = survey.answers.length;
  if (survey.encoding === "response") {
    const drawn = below(survey.a + (count - 1) * survey.b);
    if (drawn < survey.a) return survey.answers[truth];
    const other = Math.floor((drawn - survey.a) / survey.b);
    return survey.answers[other < truth ? other : other + 1];
  }
  let ticks = "";
  for (let place = 0; place < count; place++) {
    const ticked = place === truth ? below(2) < 1 : below(survey.a + survey.b) < survey.b;
    ticks += ticked ? "1" : "0";
  }
  return ticks;
}
function spoken(report) {
  if (survey.encoding === "response") return report;
  const ticked = survey.answers.filter((_, place) => report[place] === "1");
  return ticked.length ? survey.ticked + " " + ticked.join(", ") : survey.none;
}
const form = document.getElementById("ask");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = form.querySelector("input:checked");
  document.getElementById("choose").hidden = chosen !== null;
  if (chosen === null) return;
  const report = randomize(Number(chosen.value));
  form.reset();
  form.hidden = true;
  document.getElementById("spoken").textContent = spoken(report);
  document.getElementById("report").value = report;
  document.getElementById("save").href = "data:text/plain;charset=utf-8," + encodeURIComponent(report + "\n");
  document.getElementById("done").hidden = false;
  document.getElementById("sent").focus();
});

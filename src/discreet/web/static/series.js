// The screen Series: two questions of one form, each with its own request in flight.
import { announce, header, how, live, rows, say, sentences, state, text } from "/static/discreet.js";
import { picture } from "/static/pictures.js";

const form = document.getElementById("series-form");
const belief = document.getElementById("belief");
const plan = document.getElementById("plan-results");

function showBelief(answer) {
  document.getElementById("results").hidden = false;
  text("headline", answer.headline);
  text("when", answer.when);
  text("sentence", answer.sentence);
  text("limit-word", answer.limit_word);
  rows("strengths", answer.lines);
  header("steps", [say("releases"), say("after"), ...answer.strengths]);
  rows("steps", answer.steps);
  sentences("belief-notes", answer.notes);
  how("belief-how", answer.how);
  state(answer.link, answer.yaml);
  for (const way of document.querySelectorAll(".onward a")) {
    const all = new URLSearchParams(way.search);
    all.set("series", answer.releases);
    way.search = all;
  }
  picture("belief-chart", answer.chart, answer.caption);
  announce(answer.when);
}

function showPlan(answer) {
  text("plan-headline", answer.headline);
  text("plan-each", answer.each_of);
  text("plan-accuracy", answer.accuracy);
  rows("plan-lines", answer.lines);
  sentences("plan-notes", answer.notes);
  how("plan-how", answer.how);
}

live(form, "/api/series", showBelief, { results: [belief] }).send({});
const problem = document.getElementById("plan-problem");
live(form, "/api/series/plan", showPlan, { results: [plan], problem }).send({});

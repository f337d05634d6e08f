// The participant's view: a slider and a choice; the odds come from the server.
import { announce, how, live, say, state, text } from "/static/discreet.js";
import { icons } from "/static/pictures.js";

const form = document.getElementById("me-form");
// The cards hold questions and answers: only what is no question can be out of date.
const results = [...document.querySelectorAll("#results .card > :not(h2, .choice)")]
  .filter((part) => !part.querySelector("input"));

function show(answer) {
  document.getElementById("suspect").setAttribute("aria-valuetext", answer.suspect_text);
  text("suspect-shown", answer.suspect_text);
  text("before", answer.before);
  text("after", answer.after);
  text("worry-text", answer.text);
  text("always", answer.always);
  icons("icons", answer.icons, answer.icons_caption);
  how("me-how", answer.how);
  if (answer.join_icons) {
    text("happens", answer.happens);
    text("thought", answer.thought);
    icons("join-icons", answer.join_icons, answer.join_caption);
    how("join-how", answer.how_joining);
  }
  state(answer.link, null);
  announce(say("from_to", answer));
}

live(form, "/api/explain/me", show, { results }).send({});

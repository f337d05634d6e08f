"""The respondent's questionnaire: one page that randomizes the answer on their own device.

The page needs no network and stores nothing; its policy forbids both. A number comes from
`crypto.getRandomValues` by rejection and is compared with whole weights, as in `randomize`, so the
probabilities are the survey's rationals exactly. It draws once: the answer cannot be given again
without loading the page anew, which the respondent is asked not to do.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files

from discreet.surveys.survey import Survey
from discreet.words import catalogue, say

__all__ = ["questionnaire"]


def questionnaire(survey: Survey) -> str:
    """Return the page as HTML."""
    a, b = survey.weights
    given = {
        "answers": list(survey.answers),
        "encoding": survey.encoding,
        "a": a,
        "b": b,
        "ticked": say("surveys.page.ticked"),
        "none": say("surveys.page.none_ticked"),
    }
    # "<" could end the script element early
    data = json.dumps(given, ensure_ascii=False).replace("<", "\\u003c")
    template = files("discreet.surveys").joinpath("questionnaire.html").read_text("utf-8")
    script = files("discreet.surveys").joinpath("questionnaire.js").read_text("utf-8")
    script = script.replace("{data}", data)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    choices = "\n".join(
        f'<label><input type="radio" name="answer" value="{place}"> {escape(answer)}</label>'
        for place, answer in enumerate(survey.answers)
    )
    promise = "\n".join(f"<p>{escape(line)}</p>" for line in survey.statement())
    texts = {
        name: escape(say(f"surveys.page.{name}"))
        for name in ("send", "sent", "copy", "save", "how", "no_script", "choose")
    }
    values = {
        "language": catalogue().language,
        "question": escape(survey.question),
        "digest": digest,
        "choices": choices,
        "promise": promise,
        "script": script,
        **texts,
    }
    for name, value in values.items():
        template = template.replace("{{" + name + "}}", value)
    return template

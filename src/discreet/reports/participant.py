"""The participant's page: one HTML file for a phone, which asks nothing of any server.

Someone enters their own worry and sees how far it can grow, and what joining can change against
staying out. The page computes nothing: every place of its sliders has a row in a table that is
computed here, rounded upward, and that the verifier recomputes. Its one script is named by its hash
in the page's own policy, so that no other can run.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from discreet.beliefs import Prior, explain
from discreet.composition import loss_of
from discreet.frames import html_page
from discreet.guarantees import Adjacency, Guarantee
from discreet.reports.facts import Statement
from discreet.reports.page import unprotected
from discreet.rounding import decimal_up
from discreet.statements import promise_lines
from discreet.statements.figures import counted, crowd_for, frequency, plain
from discreet.words import say

PLACES = (1, 2, 3, 5, 7, *range(10, 95, 5), 95, 97, 98, 99)
"""The percentages that a slider has."""

USUAL = 30
"""The percentage that the page begins with."""

_USUAL = PLACES.index(USUAL), PLACES.index(10)
_HERE = Path(__file__).parent


def participant_table(total: Guarantee, confidence: float) -> dict[str, Any]:
    """Return what the page shows: a row for each belief, about being in, a value, and joining."""
    central = total.adjacency is Adjacency.ADD_REMOVE
    sure = min(confidence, 1 - 1e-12)

    def after(prior: Prior) -> float:
        found = explain(total, prior, confidence=sure).posterior
        return 1.0 if found is None else found.upper

    shares = [place / 100 for place in PLACES]
    loss = loss_of(total)
    return {
        "format": 1,
        "holds_with": confidence,
        "in": [_row(x, after(Prior(x))) for x in shares] if central else None,
        "value": [_row(x, after(Prior(1.0, x))) for x in shares],
        "joining": [_row(x, loss.right_guess(x)) for x in shares] if central else None,
    }


def _row(before: float, after: float) -> dict[str, Any]:
    most = min(1.0, decimal_up(after, 6))
    crowd = crowd_for(before, most)
    return {
        "p": before,
        "most": most,
        "before": plain(before, crowd),
        "after": frequency(most, "up", crowd),
        "marks": [counted(before, "down", 100), counted(most, "up", 100)],
    }


def participant_page(statement: Statement, later: str | None = None) -> str:
    """Return the page as HTML; `later` is what is to be expected of releases to come."""
    facts = statement.facts
    table: dict[str, Any] = {"format": 1, "in": None, "value": None, "joining": None}
    if statement.risk is not None:
        sure = facts["risk"]["beliefs"][0]["holds_with"]
        table = participant_table(statement.stored.total(), sure)
    said = json.dumps(table, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    identity = facts["identity"]
    lead = say("reports.participant.lead", purpose=identity["purpose"], unit=statement.subject)
    meta = say("reports.page.meta", **{k: identity[k] for k in ("release_id", "made", "account")})
    return html_page(
        _HERE / "participant.html",
        title=_say("title"),
        style=_text("report.css", "figures.css", "participant.css"),
        lead=escape(lead),
        promised=_promised(statement),
        worry=_worry(table, facts, later),
        joining=_joining(table),
        open_title=escape(say("reports.not_protected.title")),
        open_to=unprotected(statement),
        values=_values(table),
        meta=escape(meta),
        footer=_say("footer"),
        table=said,
        script=_text("figures.js", "participant.js"),
    )


def _text(*names: str) -> str:
    return "".join((_HERE / name).read_text(encoding="utf-8") for name in names)


def _say(name: str, **values: Any) -> str:
    return escape(say(f"reports.participant.{name}", **values))


def _promised(statement: Statement) -> str:
    lines = promise_lines(statement.facts["promises"], plain=True)
    return "".join(f'<p class="statement">{escape(line)}</p>\n' for line in lines)


def _slider(name: str, table: list[dict[str, Any]], first: int) -> str:
    shown = escape(table[first]["before"])
    return (
        f'<p class="only-script"><label for="{name}">{_say(name)} '
        f'<output id="{name}-shown" for="{name}">{shown}</output></label>'
        f'<input id="{name}" type="range" min="0" max="{len(table) - 1}" step="1" value="{first}">'
        "</p>"
    )


def _worry(table: dict[str, Any], facts: Any, later: str | None) -> str:
    rows = table["in"] or table["value"]
    if rows is None:
        reason = escape(str(facts["guarantee"]["reason"]))
        return f'<section aria-label="{_say("worry")}"><p>{reason}</p></section>'
    first = rows[_USUAL[0]]
    checked = ("in", "value") if table["in"] else ("value",)
    choices = "".join(
        f'<label><input type="radio" name="about" value="{name}"'
        f"{' checked' if name == checked[0] else ''}> {_say(f'about_{name}')}</label>"
        for name in checked
    )
    sure = table["holds_with"]
    holds = _say("holds_always") if sure == 1 else _say("holds", level=f"{100 * sure:g} %")
    so_far = "" if later is None else f"<p>{_say('so_far')}</p>"
    told = "" if later is None else f'<p class="statement">{escape(later)}</p>'
    return (
        f'<section aria-labelledby="worry"><h2 id="worry">{_say("worry")}</h2>'
        f"{_slider('suspect', rows, _USUAL[0])}"
        f'<fieldset class="choices only-script"><legend>{_say("about")}</legend>{choices}'
        f'</fieldset>{so_far}<p class="big" aria-live="polite">{_say("from")} <span id="before">'
        f'{escape(first["before"])}</span> {_say("to")} <span id="after">{escape(first["after"])}'
        f'</span></p><div class="figures only-script" id="figures" aria-hidden="true"></div>'
        f'<p class="only-script"><span class="key before"></span> {_say("key_before")} '
        f'<span class="key after"></span> {_say("key_after")}</p>{told}<p>{holds}</p>'
        f'<p class="lead">{_say("knows")}</p></section>\n'
    )


def _joining(table: dict[str, Any]) -> str:
    rows = table["joining"]
    if rows is None:
        told = "" if table["value"] is None else f"<p>{_say('values_only')}</p>"
        return f'<section aria-label="{_say("join")}">{told}</section>' if told else ""
    first = rows[_USUAL[1]]
    sides = "".join(
        f'<div><h3>{_say(title)}</h3><p class="big" id="{name}">{escape(text)}</p>'
        f'<div class="figures only-script" id="figures-{name}" aria-hidden="true"></div></div>'
        for name, title, text in (
            ("out", "stay_out", first["before"]),
            ("in", "joined", first["after"]),
        )
    )
    return (
        f'<section aria-labelledby="join"><h2 id="join">{_say("join")}</h2>'
        f'{_slider("without", rows, _USUAL[1])}<div class="sides">{sides}</div></section>\n'
    )


def _values(table: dict[str, Any]) -> str:
    """Every row of the table, for those without a script, and for paper."""
    shown = [name for name in ("in", "value", "joining") if table[name]]
    if not shown:
        return ""
    head = "".join(f'<th scope="col">{_say(f"column_{name}")}</th>' for name in ("before", *shown))
    body = "".join(
        f'<tr><th scope="row">{PLACES[place]} %</th>'
        + "".join(f"<td>{escape(table[name][place]['after'])}</td>" for name in shown)
        + "</tr>"
        for place in range(len(PLACES))
    )
    return (
        f"<details><summary>{_say('all')}</summary><table><caption>{_say('all_are')}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"
    )

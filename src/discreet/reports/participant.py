"""The participant's page: one HTML file for a phone, which asks nothing of any server.

Someone enters their own worry and sees how far it can grow, and what joining can change against
staying out: by now, and once all is out that may follow. The page computes nothing: every place of
its slider has a row in a table that is computed here, rounded upward, and that the verifier
recomputes. Its one script is named by its hash in the page's own policy, so that no other can run.

Three columns answer the questions. `in` and `value` are beliefs, before and after; `joining` is the
chance of something bad, with the data left out and with them in. What someone thinks of a unit that
joins, against what they would think had it stayed out, is two steps apart like `value`, and that
column bounds it too.

What is charged so far is not what decides whether to join: under a promise more may be published,
and what may be learned can still grow. So each number is told for both, now and at the end of what
may follow (`Ahead`): all that is approved, which a series may use up.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from discreet.beliefs import Belief, Prior, explaining
from discreet.composition import loss_of
from discreet.errors import GuaranteeError
from discreet.frames import html_page
from discreet.guarantees import Adjacency, Guarantee, PureDP
from discreet.promises import CONFIDENCE
from discreet.reports import verifier
from discreet.reports.facts import Statement
from discreet.reports.page import unprotected
from discreet.reports.sentences import grows_text, growth_text, surely
from discreet.reports.stored import Books, Stored
from discreet.statements import Learned, promise_lines
from discreet.statements.tables import many, plain, restored_lines
from discreet.words import say

PLACES = range(1, 100)
"""The percentages that the slider has."""

USUAL = 30
"""The percentage that the page begins with."""

_CROWD = 100
_LISTED = (1, *range(5, 100, 5), 99)  # on paper
_COLUMNS = ("in", "value", "joining")
_HERE = Path(__file__).parent

Stage = dict[str, list[float] | None]


# -- what may still follow


@dataclass(frozen=True, slots=True)
class Ahead:
    """Where a release stands in a series, if in any, and what may be spent in the end.

    `when` names the end. `total` is what the account then promises in all; None if nothing more may
    follow, or if nothing limits what does.
    """

    place: str
    when: str
    total: Guarantee | None
    final: bool = False
    """Whether nothing more may follow."""
    stands: str = ""
    """As long as what the end is told for: a promise may be withdrawn, a cap raised."""

    def told(self, found: Learned) -> str:
        """Return it as a paragraph, on the beliefs that the promises are about."""
        so_far, total = found.headline, self.total
        if total is None or so_far.prior is None:
            return self.place
        sure = self.sure(so_far.holds_with)

        def end(belief: Belief) -> float:
            return 1.0 if belief.prior is None else most_believed(total, belief.prior, sure)

        told = [self.place, growth_text(so_far, total, end(so_far), self.when)]
        told += [grows_text(one, end(one), self.when) for one in found.others]
        told += [surely(sure)] if sure < so_far.holds_with else []
        return " ".join([*told, self.stands])

    def sure(self, holds_with: float) -> float:
        """Return how surely the end is bounded: as by now, but not always where δ may come."""
        always = holds_with == 1 and not isinstance(self.total, PureDP)
        return CONFIDENCE if always and self.total is not None else holds_with


def most_believed(total: Guarantee, prior: Prior, sure: float) -> float:
    """Return the largest belief; 1 where nothing is bounded this surely."""
    try:
        return explaining.most_believed(total, prior, min(sure, 1 - 1e-12))
    except GuaranteeError:
        return 1.0


def ahead(books: Books) -> Ahead:
    """Return what may follow a release, or whatever is charged to an account."""
    account, place, when = books.account, "", say("reports.series.when_approved")
    end = account.cap
    for limit in account.promises.values():
        end = limit if end is None else end.least(limit)
    if isinstance(books, Stored):
        said, own = dict(books.said), books.walked().account
        found = verifier.place_in_series(said, own.charged)
        if found is not None:
            k, total, rest = found
            told = "slot" if books.entry.cost is None else "place" if rest else "all_out"
            place = say(f"reports.series.{told}", k=k, total=total)
            # Where more than the series is approved, or less, its end is not the end.
            stop, after = verifier.stop_of(said, own) or ("", 0)
            if stop == "series":
                when = say("reports.series.when_series", k=k, total=total)
            elif stop:
                how = {"after": after, "many": len(account.promises)}
                place += " " + say(f"reports.series.stopped_{stop}", **how)
    if end is None:
        return Ahead(f"{place} {say('reports.series.unlimited')}".strip(), when, None)
    end = end.plus(account.spent.minus(end))  # what is spent already, at the least
    both = zip(end.floats("up").values(), account.spent.floats("up").values(), strict=True)
    if all(math.isclose(*pair, rel_tol=1e-12) for pair in both):  # shares are rounded down
        return Ahead(place, when, None, final=True)
    limits = [] if account.cap is None else ["cap"]
    limits += ["promises"] if account.promises else []
    stands = say(f"reports.series.stands_{'_and_'.join(limits)}", many=len(account.promises))
    return Ahead(place or say("reports.series.more"), when, account.promise(end), stands=stands)


# -- the page


def participant_table(
    total: Guarantee, confidence: float, ahead: Ahead | None = None, about: str = "membership"
) -> dict[str, Any]:
    """Return what the page shows, in 100, by now and in the end: a row for each belief.

    It begins with what the promise is `about`.
    """
    now, later, sure = _stage(total, confidence), None, confidence
    if ahead is not None and ahead.total is not None:
        sure = ahead.sure(confidence)
        later = _stage(ahead.total, sure)
    return {
        "format": 2,
        "about": "in" if now["in"] and about != "value" else "value",
        "holds_with": sure,
        "of": say("frequency.of", count="#", crowd=str(_CROWD)),
        "start": USUAL,
        "now": now,
        "end": None if later == now else later,
    }


def _stage(total: Guarantee, confidence: float) -> Stage:
    central = total.adjacency is Adjacency.ADD_REMOVE
    loss, shares = loss_of(total), [place / 100 for place in PLACES]

    def after(p: float, q: float) -> float:
        return _most(most_believed(total, Prior(p, q), confidence))

    return {
        "in": [after(x, 1.0) for x in shares] if central else None,
        "value": [after(1.0, x) for x in shares],
        "joining": [_most(loss.right_guess(x)) for x in shares] if central else None,
    }


def _most(bound: float) -> float:
    shown = float(many(bound, "up", _CROWD))
    return int(shown) if shown.is_integer() else shown


def participant_page(statement: Statement, ahead: Ahead) -> str:
    """Return the page as HTML."""
    facts, table = statement.facts, None
    if statement.learned is not None:
        sure = facts["risk"]["beliefs"][0]["holds_with"]
        about = statement.learned.about
        table = participant_table(statement.stored.total(), sure, ahead, about)
    identity = facts["identity"]
    own = "person" if facts["unit"]["unit"] == "person" else "other"
    made = str(identity["made"])[:10]
    meta = {name: identity[name] for name in ("release_id", "account")}
    said = json.dumps(table, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    if table is None:
        reason = escape(str(facts["guarantee"]["reason"]))
        shown = {"worry": f"<section><p>{reason}</p></section>\n", "joining": "", "values": ""}
    else:
        shown = {
            "worry": _worry(table, ahead, own, statement.subject),
            "joining": _joining(table, ahead.when, joining_words(own, statement.subject)),
            "values": _values(table, ahead.when),
        }
    return html_page(
        _HERE / "participant.html",
        title=_say("title"),
        style=_text("report.css", "figures.css", "participant.css"),
        lead=_say(f"{own}.lead", purpose=identity["purpose"], unit=statement.subject),
        promised=_promised(statement),
        open_title=escape(say("reports.not_protected.title")),
        open_to=unprotected(statement),
        meta=escape(say("reports.page.meta", made=made, **meta)),
        footer=_say("footer"),
        table=said,
        script=_text("figures.js", "participant.js"),
        **shown,
    )


def _text(*names: str) -> str:
    return "".join((_HERE / name).read_text(encoding="utf-8") for name in names)


def _say(name: str, **values: Any) -> str:
    return escape(say(f"reports.participant.{name}", **values))


def _promised(statement: Statement) -> str:
    """The promises; that one holds for every output is told below, in words for everyone."""
    facts = statement.facts
    lines = promise_lines(facts["promises"], plain=True)
    lines += restored_lines(facts["spending"]["restored"], plain=True, told="participant")
    always = " " + say("promises.surely.every_output")
    return "".join(
        f'<p class="statement">{escape(line.replace(always, ""))}</p>\n' for line in lines
    )


def joining_words(own: str, unit: str) -> dict[str, str]:
    """Return how to speak of staying out and joining: of the reader, or of one unit of theirs."""
    names = ("left", "joined")
    return {name: say(f"reports.participant.{own}.{name}", unit=unit) for name in names}


def _told(table: dict[str, Any], name: str, about: str, **words: str) -> str:
    """A text with figures in it that follow the slider; `about` is a column, or the chosen one."""
    marks = {stage: f"\0{stage}\0" for stage in ("before", "now", "end")}  # in no other text
    text = _say(name, **marks, **words)
    for stage, mark in marks.items():
        if mark in text:
            column = table["about"] if about == "chosen" else about
            most = USUAL if stage == "before" else table[stage][column][USUAL - 1]
            shown = escape(table["of"].replace("#", f"{most:g}"))
            text = text.replace(mark, f'<b data-of="{stage}.{about}">{shown}</b>')
    return text


def _worry(table: dict[str, Any], ahead: Ahead, own: str, unit: str) -> str:
    shown = escape(plain(USUAL / 100, _CROWD))
    ends = [escape(plain(place / 100, _CROWD)) for place in (PLACES[0], PLACES[-1])]
    choices = "".join(
        f'<label><input type="radio" name="about" value="{name}"'
        f"{' checked' if name == table['about'] else ''}> {told}</label>"
        for name in ("in", "value")
        if table["now"][name]
        for told in [_say(f"{own}.about_{name}", unit=unit)]
    )
    last = "" if table["end"] is None else "_end"
    if not last:
        grown = f'<p class="big">{_told(table, "grows", "chosen")}</p>'
    else:
        grown = (
            f'<p class="big">{_told(table, "grows_so_far", "chosen")}</p>'
            f'<p class="big">{_told(table, "grows_later", "chosen", when=ahead.when)}</p>'
            f"<p>{escape(ahead.stands)}</p>"
        )
    place = f"<p>{escape(ahead.place)}</p>" if ahead.place else ""
    limits = f'min="{PLACES[0]}" max="{PLACES[-1]}" step="1" value="{USUAL}"'
    return (
        f'<section aria-labelledby="worry"><h2 id="worry">{_say("worry")}</h2>'
        f'<div class="only-script"><p><label for="suspect">{_say("suspect")}</label> '
        f'<input id="typed" type="number" inputmode="numeric" {limits} '
        f'aria-label="{_say("typed")}"> <output id="suspect-shown" for="suspect">{shown}</output>'
        f'</p><input id="suspect" type="range" {limits}>'
        f'<p class="ends" aria-hidden="true"><span>{ends[0]}</span><span>{ends[1]}</span></p></div>'
        f'<fieldset class="choices only-script"><legend>{_say("about")}</legend>{choices}'
        f'</fieldset>{place}<div aria-live="polite">{grown}</div>'
        f'<div class="figures only-script" id="figures" aria-hidden="true"></div>'
        f'<p class="only-script"><span class="key before"></span> {_say("key_before")} '
        f'<span class="key after"></span> {_say(f"key_after{last}")}</p>'
        f"<p>{escape(surely(table['holds_with']))} {_say('knows')}</p></section>\n"
    )


def _joining(table: dict[str, Any], when: str, words: dict[str, str]) -> str:
    if table["now"]["joining"] is None:
        return f'<section aria-label="{_say("join")}"><p>{_say("values_only")}</p></section>\n'
    so_far, last = ("", "") if table["end"] is None else ("_so_far", "_end")
    decides = f"<p>{_say('decides')}</p>" if so_far else ""
    words, sure = words | {"when": when}, table["holds_with"]
    fails = f" {escape(surely(sure))}" if sure < 1 else ""  # a chance of something bad never does
    return (
        f'<section aria-labelledby="join"><h2 id="join">{_say("join")}</h2>'
        f"<p>{_told(table, f'happens{so_far}', 'joining', **words)}</p>"
        f'<div class="figures only-script" id="figures-joining" aria-hidden="true"></div>'
        f'<p class="only-script"><span class="key before"></span> {_say("key_out")} '
        f'<span class="key after"></span> {_say(f"key_joined{last}")}</p>'
        f"<p>{_told(table, f'thought{so_far}', 'value', **words)}{fails}</p>{decides}</section>\n"
    )


def _values(table: dict[str, Any], when: str) -> str:
    """Rows of the table, for those without a script, and for paper."""
    stages = {"now": _say("now"), "end": escape(when)} if table["end"] else {"now": _say("now")}
    shown = [name for name in _COLUMNS if table["now"][name]]
    names = "".join(
        f'<th scope="colgroup" colspan="{len(stages)}">{_say(f"column_{name}")}</th>'
        for name in shown
    )
    below = "".join(f'<th scope="col">{title}</th>' for _ in shown for title in stages.values())
    body = "".join(
        f'<tr><th scope="row">{place}</th>'
        + "".join(f"<td>{table[s][name][place - 1]:g}</td>" for name in shown for s in stages)
        + "</tr>"
        for place in _LISTED
    )
    return (
        f'<details><summary>{_say("all")}</summary><div class="scroll" role="region" tabindex="0" '
        f'aria-label="{_say("all")}"><table><caption>{_say("all_are")}</caption><thead>'
        f'<tr><th scope="col" rowspan="2">{_say("column_before")}</th>{names}</tr>'
        f"<tr>{below}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )

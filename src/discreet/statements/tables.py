"""The facts of a statement as people read them: the sentence first, then one table.

Everything here is made from JSON-ready facts, so that a stored release renders the same every time.
Figures are percentages, upper bounds rounded up and lower bounds down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from discreet.rounding import decimal_down, decimal_up, number
from discreet.words import catalogue

_COLUMNS = ("membership", "value", "both", "guess")

__all__ = [
    "flat",
    "learned_lines",
    "learned_table",
    "probability_text",
    "promise_lines",
    "share",
]


def share(x: float, side: Literal["up", "down"]) -> str:
    """Return a probability as a percentage with at most one decimal, rounded to a side.

    >>> share(0.12, "up"), share(0.1234, "up")
    ('12 %', '12.4 %')
    """
    rounded = (decimal_up if side == "up" else decimal_down)(100 * x, 1)
    return f"{rounded:.1f}".removesuffix(".0") + " %"


def promise_lines(promises: Sequence[Mapping[str, Any]], *, plain: bool = False) -> list[str]:
    """Return what was promised, a line each, with what became of it; in Markdown, or plain."""
    say, written = catalogue().say, str if plain else flat
    if not promises:
        return [say("statement.promise.none")]
    lines = []
    for one in promises:
        gone, sentence = one.get("withdrawn"), written(one["sentence"])
        line = sentence if plain else f"**{sentence}**"
        if gone:
            reason = written(" ".join(str(gone["reason"]).split()))
            line += " " + say("statement.promise.withdrawn", at=str(gone["at"])[:10], reason=reason)
        elif one.get("kept") is False:
            line += " " + say("statement.promise.broken")
        lines.append(line)
    sure = [one for one in promises if "confidence" in one.get("keys", {})]
    if len(sure) > 1:
        lines.append(say("statement.promise.not_jointly"))
    return lines


def flat(text: object) -> str:
    """Return a text that people gave so that it cannot break out of its line or its cell."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def learned_table(facts: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, with the event in them, and the rows."""
    say, unit, rows = catalogue().say, facts["unit"], facts["rows"]
    columns = [about for about in _COLUMNS if any(row[about] is not None for row in rows)]
    names = [say("statement.learned.before")]
    names += [say(f"statement.learned.{about}", unit=unit) for about in columns]
    body = []
    for row in rows:
        before = share(row["prior"], "up")
        cells = ["–" if row[about] is None else share(row[about], "up") for about in columns]
        body.append([before, *cells])
    return names, body


def learned_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """Return the table as Markdown, with how often it holds below it."""
    say = catalogue().say
    if facts is None:
        return [say("statement.learned.nothing")]
    names, rows = learned_table(facts)
    lines = [f"| {' | '.join(map(flat, names))} |", "|" + "---|" * len(names)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return [*lines, "", flat(probability_text(facts))]


def gaussian_lines(mu: float | None) -> list[str]:
    """Return μ of the Gaussian noise of a release as a paragraph; nothing without any."""
    if mu is None:
        return []
    return [catalogue().say("statement.learned.gaussian", mu=number(mu, "up")), ""]


def probability_text(facts: Mapping[str, Any]) -> str:
    """Return how often the bounds hold."""
    sure = facts["holds_with"]
    if sure == 1:
        return catalogue().say("statement.learned.always", unit=facts["unit"])
    level = f"{100 * sure:.10g} %"
    return catalogue().say("statement.learned.confident", unit=facts["unit"], level=level)

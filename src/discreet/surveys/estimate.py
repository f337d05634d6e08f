"""True shares, estimated from randomized reports.

A report holds answer v with probability r = λ + (π−λ)f, f the share of v among those from whom
respondents were drawn. Of n reports c hold it, so c is binomial, and (c/n − λ)/(π−λ) is an
unbiased estimate of f. The interval is that of Clopper and Pearson for r, mapped to f and cut to
[0, 1]: it covers the share with at least the stated probability, whatever n and f are. For the
share among the respondents themselves, whose reports vary less (Hoeffding 1956), it is wider than
need be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.frames import Tabular
from discreet.numerics import bracket, incomplete_beta
from discreet.surveys.survey import Survey


@dataclass(frozen=True, slots=True)
class Estimate(Tabular):
    """What a survey found: for each answer its share, and the interval."""

    survey: Survey
    respondents: int
    unreadable: int
    interval: float
    rows: tuple[dict[str, Any], ...]

    def to_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the table."""
        names = ("answer", "value", "std_error", "interval_low", "interval_high")
        return {name: [row[name] for row in self.rows] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "respondents": self.respondents,
            "unreadable": self.unreadable,
            "interval": self.interval,
            "shares": [dict(row) for row in self.rows],
        }

    def __repr__(self) -> str:
        return f"Estimate({self.respondents} respondents, {len(self.rows)} answers)"


def estimate(survey: Survey, reports: Iterable[str], *, interval: float = 0.95) -> Estimate:
    """Return the estimated share of each answer, from reports as `randomize` makes them.

    What is no possible report is left out and counted. Estimated shares may lie below 0 or above 1:
    they are unbiased; their intervals do not.
    """
    if not 0 < interval < 1:
        raise InputError("surveys.interval", interval=interval)
    held: Counter[int] = Counter()
    size = unreadable = 0
    for report in reports:
        ticked = _ticked(survey, report.strip())
        if ticked is None:
            unreadable += 1
            continue
        size += 1
        held.update(ticked)
    if not size:
        raise InputError("surveys.no_reports", unreadable=unreadable)
    keep, other = float(survey.keep), float(survey.other)
    rows = []
    for place, answer in enumerate(survey.answers):
        low, high = _proportion(held[place], size, interval)
        share = (held[place] / size - other) / (keep - other)
        rows.append(
            {
                "answer": answer,
                "value": share,
                "std_error": survey.sd(size, min(1.0, max(0.0, share))),
                "interval_low": min(1.0, max(0.0, (low - other) / (keep - other))),
                "interval_high": min(1.0, max(0.0, (high - other) / (keep - other))),
            }
        )
    return Estimate(survey, size, unreadable, interval, tuple(rows))


def _ticked(survey: Survey, report: str) -> list[int] | None:
    if survey.encoding == "response":
        return [survey.answers.index(report)] if report in survey.answers else None
    if len(report) != len(survey.answers) or set(report) - {"0", "1"}:
        return None
    return [place for place, digit in enumerate(report) if digit == "1"]


def _proportion(held: int, size: int, interval: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a proportion, each end rounded outward."""
    miss = (1 - interval) / 2

    def above(p: float) -> float:  # P(at least `held`), which grows with p
        return incomplete_beta(p, held, size - held + 1)

    def below(p: float) -> float:  # P(at most `held`), which falls
        return 1 - incomplete_beta(p, held + 1, size - held)

    low = 0.0 if held == 0 else bracket(lambda p: above(p) <= miss, 0.0, 1.0)[0]
    high = 1.0 if held == size else bracket(lambda p: below(p) <= miss, 1.0, 0.0)[0]
    return low, high

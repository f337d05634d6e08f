"""What was cut: how many units lose rows to the limits, or have a value outside the bounds.

A spec asks for it with `cut: {weight: 0.05}`. Each question is one number over all cells. A unit is
in it or not, so it moves the number by at most 1 (2 where a unit is replaced, as for any count).
Statistics that share a limit, or bounds of a column, share the question.

The answers say in which direction the values are off. How far follows only from outer limits that
are declared public. A unit that loses rows has at most `rows` of them, and keeps at least
k = min(R, G, c), or min(R, c) without groups. A value outside the bounds lies within the outer
`values`. So, with U the upper end of a question's interval, a count lacks at most U·(rows − k) rows
over all of its cells, a sum that many times its larger bound; and clipping moves a sum by at most
U·rows times the larger distance from the bounds to the outer ones (U·T times, if `rows` is not
given: then it speaks of the rows that count). Together they bound how far a total is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import Field, InstanceOf

from discreet.numerics import float_up
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Cutting, Measure, Number, fields
from discreet.releases.models import Closed, Pair
from discreet.releases.statistics.base import Answer, Noisy, Part, Statistic, decimal, plain_rows
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.planning import Planned

__all__ = ["Cut", "CutUnits", "questions"]


P = TypeVar("P", bound="Planned")


class Cut(Closed):
    """Pay for the number of units that limits and bounds cut."""

    weight: float = Field(
        default=0.05, gt=0, description="Of all questions together; a statistic has weight 1."
    )
    rows: int | None = Field(
        default=None, ge=1, description="The most rows that any unit has: public, not from data."
    )
    values: dict[str, Pair] = Field(
        default_factory=dict,
        description="Outer bounds of columns that hold every value: public, not from data.",
    )


class CutUnits(Statistic):
    """One question: units that lose rows of a statistic, or with a number outside its bounds."""

    kind: ClassVar[str] = "cut"
    overall: ClassVar[bool] = True
    of: InstanceOf[Statistic]
    bounds: InstanceOf[Contribution]
    number: InstanceOf[Number] | None = None

    @property
    def about(self) -> str:
        """What is cut: rows, or the column whose values are."""
        return "rows" if self.number is None else self.number.column

    def measures(self) -> tuple[Measure, ...]:
        """The units."""
        repeats = not self.of.counts_units
        return (Cutting(self.measure_name("units"), self.number, repeats),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call; a unit is counted or not, whatever it may contribute to the statistic."""
        return (Part.of_numbers("units", Contribution(adjacency=contribution.adjacency)),)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A count and its interval."""
        return plain_rows(noisy["units"])

    @property
    def bias(self) -> str:
        """In which direction the statistic is off: `low`, `high` or `either`."""
        adds = self.of.adds
        if adds is None or self.number is not None or adds[0] < 0 < adds[1]:
            return "either"
        return "low" if adds[0] >= 0 else "high"

    def explain(self) -> str:
        """Say who is counted, and in which direction the statistic is off."""
        if self.number is None:
            bias = say(f"releases.cut.bias.{self.bias}")
            return say("releases.cut.rows", statistic=self.of.name, bias=bias)
        low, high = (float(end * self.number.resolution) for end in self._ends)
        values = {"column": self.number.column, "low": low, "high": high}
        return say("releases.cut.values", statistic=self.of.name, **values)

    @property
    def _ends(self) -> tuple[int, int]:
        return (0, 0) if self.number is None else (self.number.low, self.number.high)

    @property
    def _kept(self) -> int:
        """The least rows that are kept of a unit that loses some."""
        deep = min(self.bounds.rows, self.bounds.rows_per_group)
        return self.bounds.untouched if self.of.grouped_by else deep

    def at_most(self, units: Fraction, outer: Cut) -> Fraction | None:
        """Return how far values are off, all cells together, if at most so many units are cut.

        None where the statistic does not add up over rows, or no outer limit is declared.
        """
        adds = self.of.adds
        if adds is None:
            return None
        if self.number is None:
            if outer.rows is None:
                return None
            each = max(outer.rows - self._kept, 0) * max(abs(adds[0]), abs(adds[1]))
        else:
            products = any(len(fields(measure)) > 1 for measure in self.of.measures())
            if self.number.column not in outer.values or products:
                return None
            low, high = (decimal(end) for end in outer.values[self.number.column])
            inner = [end * self.number.resolution for end in self._ends]
            each = (outer.rows or self.bounds.total) * max(
                high - inner[1], inner[0] - low, Fraction(0)
            )
        return max(units, Fraction(0)) * each

    def told(self, row: Mapping[str, str | None], outer: Cut) -> dict[str, Any]:
        """Return the answer as JSON-ready values, from the row of the table that it is."""
        value, low, high = (
            None if (said := row.get(name)) is None else Fraction(said)
            for name in ("value", "interval_low", "interval_high")
        )
        most = None if high is None else self.at_most(high, outer)
        return {
            "name": self.name,
            "statistic": self.of.name,
            "about": self.about,
            "units": None if value is None else int(value),
            "interval_low": None if low is None else int(low),
            "interval_high": None if high is None else int(high),
            "bias": self.bias,
            "at_most": None if most is None else float_up(most),
            "text": self.explain(),
        }


def _column(number: Number) -> tuple[str, int, int, Fraction]:
    return number.column, number.low, number.high, number.resolution


def questions(planned: Sequence[P], *, units: bool) -> Iterator[tuple[P, CutUnits]]:
    """Yield each question, with the planned statistic whose pass over the data it shares.

    Without `units` each row is its own, and none is ever left out.
    """
    seen = set()
    for one in planned:
        statistic, bounds = one.statistic, one.contribution
        over = (one.by, one.cells, one.found_by)
        used = {f for m in statistic.measures() for f in fields(m) if isinstance(f, Number)}
        asked: list[Number | None] = [*sorted(used, key=_column)]
        if units and (one.by or not statistic.counts_units):
            asked.insert(0, None)
        for field in asked:
            question = (over, field, bounds if field is None else None)
            if question not in seen:
                seen.add(question)
                about = "rows" if field is None else field.column
                name = f"cut/{statistic.name}/{about}"
                yield one, CutUnits(name=name, of=statistic, bounds=bounds, number=field)

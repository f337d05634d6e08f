"""What was cut: how many units lose rows to the limits, or have a value outside the bounds.

A spec asks for it with `cut: {weight: 0.05}`. Each question is one number over all cells. A unit is
in it or not, so it moves the number by at most 1 (2 where a unit is replaced, as for any count).
Statistics that share a limit, or bounds of a column, share the question.

The answers say in which direction the values are off. How far follows only from outer limits that
are declared public. A unit that loses rows has at most `rows` of them, and keeps at least
k = min(R, G, c), or min(R, c) without groups. A value outside the bounds lies within the outer
`values`.

Let U be the upper end of a question's interval, [a, b] what a row adds within its bounds, and
[l, h] ⊇ [a, b] the outer values. Over all rows, true − used = Σ (x − clip x) + Σ clip x, the first
over the rows with values outside the bounds, the second over those left out. In the first each of
at most U·rows terms (U·T, if `rows` is not given: then it speaks of the rows that count) lies
between l − a and h − b; in the second each of at most U·(rows − k) terms lies between a and b. So
the true total lies above the used one by no more than U·rows·(h − b) + U·(rows − k)·max(b, 0), and
below it by no more than U·rows·(a − l) + U·(rows − k)·max(−a, 0): a sum of values that cannot be
negative, and are clipped from above alone, can only be too low. A count has a = b = 1, and is not
clipped.

Outer interval. Rows of one cell are some of all rows, and the terms above are bounded on each side
by themselves, so a cell is off to a side by no more than all cells together. The interval of each
cell, made wider on each side by the bounds of its questions there, covers what the data would have
given without limits. Of the failure probability α, half is for the noise of the cell
(two-sided), and α/2q for each of its q questions: with symmetric noise, that is the upper end of
the interval that fails with α/q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import Field, InstanceOf

from discreet.numerics import float_up
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Cells, Cutting, KeySet, Measure, Number, fields
from discreet.releases.models import Closed, Pair
from discreet.releases.statistics.base import (
    Answer,
    Noisy,
    Part,
    Statistic,
    decimal,
    plain_rows,
    span,
)
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.planning import Plan, Planned

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

    def over(self, found: Sequence[KeySet]) -> tuple[Self, Cells | None]:
        """Its cells are those of the statistic."""
        return self, self.of.over(found)[1]

    def measures(self) -> tuple[Measure, ...]:
        """The units."""
        repeats = not self.of.counts_units
        return (Cutting(self.measure_name("units"), self.number, repeats),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call; a unit is counted or not, whatever it may contribute to the statistic."""
        return (Part.of_numbers("units", Contribution(adjacency=contribution.adjacency)),)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> Sequence[Sequence[Answer]]:
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
        low, high = map(float, span(self.number))
        values = {"column": self.number.column, "low": low, "high": high}
        return say("releases.cut.values", statistic=self.of.name, **values)

    def reach(self, units: Fraction, outer: Cut) -> tuple[Fraction, Fraction] | None:
        """Return how far below and above values the true ones lie, if so many units are cut.

        It is of all cells together. None where the statistic does not add up over rows, or no outer
        limit is declared.
        """
        adds = self.of.adds
        if adds is None:
            return None
        if self.number is None:
            if outer.rows is None:
                return None
            rows = max(outer.rows - self.bounds.kept(grouped=bool(self.of.grouped_by)), 0)
            below, above = -adds[0], adds[1]
        else:
            products = any(len(fields(measure)) > 1 for measure in self.of.measures())
            if self.number.column not in outer.values or products:
                return None
            low, high = map(decimal, outer.values[self.number.column])
            least, most = span(self.number)
            rows, below, above = outer.rows or self.bounds.total, least - low, high - most
        moved = max(units, Fraction(0)) * rows
        return moved * max(below, Fraction(0)), moved * max(above, Fraction(0))

    def told(self, row: Mapping[str, str | None], outer: Cut) -> dict[str, Any]:
        """Return the answer as JSON-ready values, from the row of the table that it is."""
        value, low, high = (
            None if (said := row.get(name)) is None else Fraction(said)
            for name in ("value", "interval_low", "interval_high")
        )
        reach = None if high is None else self.reach(high, outer)
        return {
            "name": self.name,
            "statistic": self.of.name,
            "about": self.about,
            "units": None if value is None else int(value),
            "interval_low": None if low is None else int(low),
            "interval_high": None if high is None else int(high),
            "bias": self.bias,
            "at_most": None if reach is None else float_up(max(reach)),
            "text": self.explain(),
        }


def questions(planned: Sequence[P], *, units: bool) -> Iterator[tuple[P, CutUnits]]:
    """Yield each question, with the planned statistic whose pass over the data it shares.

    Without `units` each row is its own, or all that a unit has, and none is ever left out.
    """
    seen = set()
    for one in planned:
        for key, question in _asked(one, units=units):
            if key not in seen:
                seen.add(key)
                yield one, question


def _asked(one: Planned, *, units: bool) -> Iterator[tuple[Any, CutUnits]]:
    """Yield the questions of one statistic, each with what makes it the same as another's."""
    statistic, bounds = one.statistic, one.contribution
    over = (one.by, one.cells, one.searches)
    used = {f for m in statistic.measures() for f in fields(m) if isinstance(f, Number)}
    asked: list[Number | None] = [*sorted(used, key=astuple)]
    if units and (one.by or not statistic.counts_units):
        asked.insert(0, None)
    for field in asked:
        about = "rows" if field is None else field.column
        name = f"cut/{statistic.name}/{about}"
        same = (over, field, bounds if field is None else None)
        yield same, CutUnits(name=name, of=statistic, bounds=bounds, number=field)


def outer_ends(
    plan: Plan, one: Planned, values: Sequence[str | None], units: Mapping[str, str | None]
) -> list[tuple[Fraction, Fraction]] | None:
    """Return intervals of a statistic's values that also cover what was cut.

    `units` has the noisy answer of each question. None where outer limits do not say enough.
    """
    by_unit, cut = plan.spec.limited, plan.spec.cut
    if cut is None or one.statistic.adds is None or isinstance(one.statistic, CutUnits):
        return None
    paid = {
        key: q for p in plan.statistics for key, q in _asked(p, units=by_unit) if q.name in units
    }
    own = list(_asked(one, units=by_unit))
    level, below, above = 1 - plan.spec.interval, Fraction(0), Fraction(0)
    for key, question in own:
        if key not in paid:  # no key was found, and nothing asked
            return None
        name = str(paid[key].name)
        (call,) = plan.calls(name).values()
        most = int(units[name] or 0) + call.half_width(1 - level / len(own))
        reach = question.reach(Fraction(most), cut)
        if reach is None:
            return None
        below, above = below + reach[0], above + reach[1]
    lines = one.statistic.accuracies(plan.calls(one.name), 1 - level / 2)
    each = [line.get("cells", len(values)) if len(lines) > 1 else len(values) for line in lines]
    widths = [w for line, n in zip(lines, each, strict=True) for w in [line["half_width"]] * n]
    found = []
    for value, width in zip(values, widths, strict=True):
        middle, off = Fraction(value or 0), Fraction(math.nextafter(width, math.inf))
        found.append((middle - off - below, middle + off + above))
    return found

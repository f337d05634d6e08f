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
the interval that fails with α/q. Questions that move nothing, however many units they find, take
no part; without any other, all of α is for the noise of the cell.
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
from discreet.releases.statistics.base import Statistic
from discreet.releases.statistics.values import Answer, Noisy, Part, decimal, plain_rows, span
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.planning import Plan, Planned
    from discreet.releases.spec import Spec

_ONE = Fraction(1)

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

    def bias(self, outer: Cut) -> str:
        """In which direction the statistic is off: `low`, `high` or `either`.

        What lies above the bounds counts as the upper one, and pulls values down.
        """
        if self.number is None:
            return bias_of(self.of)
        if self.about not in outer.values:
            return "either"
        (least, most), (low, high) = span(self.number), map(decimal, outer.values[self.about])
        return "low" if least <= low else "high" if high <= most else "either"

    def explain(self, *, outer: Cut | None = None, found: bool = False) -> str:
        """Say who is counted, and in which direction the statistic is off if anyone is.

        With `found`, the answer's interval says that someone is.
        """
        bias = self.bias(outer or Cut())
        if self.number is None:
            said = "rows_found" if found else "rows"
            direction = say(f"releases.cut.bias.{bias}")
            return say(f"releases.cut.{said}", statistic=self.of.name, bias=direction)
        low, high = map(float, span(self.number))
        values = {"column": self.number.column, "low": low, "high": high}
        return say(f"releases.cut.values.{bias}", statistic=self.of.name, **values)

    def has_limit(self, outer: Cut) -> bool:
        """Whether an outer limit is declared for what is cut."""
        return outer.rows is not None if self.number is None else self.about in outer.values

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
        text = self.explain(outer=outer, found=low is not None and low > 0)
        if low is not None and low <= 0:
            text = f"{text} {say('releases.cut.perhaps_none')}"
        return {
            "name": self.name,
            "statistic": self.of.name,
            "about": self.about,
            "units": None if value is None else int(value),
            "interval_low": None if low is None else int(low),
            "interval_high": None if high is None else int(high),
            "bias": self.bias(outer),
            "at_most": None if reach is None else float_up(max(reach)),
            "text": text,
        }


def questions(
    planned: Sequence[P], spec: Spec, outer: Cut | None = None
) -> Iterator[tuple[P, CutUnits]]:
    """Yield each question, with the planned statistic whose pass over the data it shares.

    Nothing is asked where nothing can be cut, by the limits or by the `outer` ones.
    """
    seen = set()
    for one in planned:
        for key, question in _asked(one, spec, outer):
            if key not in seen:
                seen.add(key)
                yield one, question


def _asked(one: Planned, spec: Spec, outer: Cut | None) -> Iterator[tuple[Any, CutUnits]]:
    """Yield the questions of one statistic, each with what makes it the same as another's.

    What is asked does not depend on a limit that is chosen on the data.
    """
    statistic, bounds = one.statistic, one.contribution
    once, outer = statistic.counts_units, outer or Cut()
    over = (one.by, one.cells, one.searches)
    used = {f for m in statistic.measures() for f in fields(m) if isinstance(f, Number)}
    asked: list[Number | None] = [
        number for number in sorted(used, key=astuple) if not _within(number, outer)
    ]
    if loses_rows(one, spec, outer.rows):
        asked.insert(0, None)
    for field in asked:
        about = "rows" if field is None else field.column
        name = f"cut/{statistic.name}/{about}"
        same = (over, field, (bounds, once) if field is None else None)
        yield same, CutUnits(name=name, of=statistic, bounds=bounds, number=field)


def not_counted(planned: Sequence[Planned], spec: Spec) -> Iterator[str]:
    """Say what a spec that pays for what is cut does not get: features, and outer intervals."""
    outer = spec.cut
    if outer is None:
        return
    if features := [name for name, one in spec.per_unit.items() if one.bounds is not None]:
        yield say("releases.cut.in_features", features=", ".join(features))
    if outer.rows is None and not outer.values:
        return
    never, lacking = [], dict[str, list[str]]()
    for one in planned:
        asked = [question for _, question in _asked(one, spec, outer)]
        unknown = [question for question in asked if question.reach(_ONE, outer) is None]
        if isinstance(one.statistic, CutUnits) or not unknown:
            continue
        limits = [q.about for q in unknown if not q.has_limit(outer)]
        if one.statistic.adds is None or not limits:
            never.append(one.name)
        for about in limits if one.statistic.adds is not None else ():
            lacking.setdefault(about, []).append(one.name)
    if never:
        yield say("releases.cut.no_outer", statistics=", ".join(never))
    for about, names in lacking.items():
        limit = "rows" if about == "rows" else f"values: {{{about}: [LOW, HIGH]}}"
        yield say("releases.cut.lacks_outer", statistic=", ".join(names), limit=limit)


def bias_of(statistic: Statistic) -> str:
    """In which direction a statistic is off if rows are left out: `low`, `high` or `either`."""
    adds = statistic.adds
    if adds is None or adds[0] < 0 < adds[1]:
        return "either"
    return "low" if adds[0] >= 0 else "high"


def loses_rows(one: Planned, spec: Spec, most: int | None) -> bool:
    """Whether limits may leave out rows of a statistic, if no unit has more than `most`.

    If the limit of rows is chosen on the data, any limit may. If it is not `limited`, each row is
    its own, or all that a unit has.
    """
    grouped, once = bool(one.by), one.statistic.counts_units
    if spec.protect.rows_choice is None:
        kept = one.contribution.keeps_all(most, grouped=grouped, once=once)
    else:
        kept = once and not grouped
    return spec.limited and not kept


def limits_of(one: Planned, spec: Spec) -> dict[str, Any]:
    """Return what limits may do to a statistic, and which columns are clipped.

    `left_out` is None where no unit loses anything. Else `of` says what a unit has beyond the
    limits: `rows`; rows of some `groups`, too; or, counted once in each, all but some `groups` or
    `combinations` of keys, whose numbers are added up. `values` are then too `low`, `high` or
    `either`.
    """
    statistic, bounds = one.statistic, one.contribution
    if isinstance(statistic, CutUnits):
        return {"left_out": None, "clipped": []}
    outer = spec.cut or Cut()
    found = None
    if loses_rows(one, spec, outer.rows):
        of = "groups" if one.by and not bounds.all_groups else "rows"
        if statistic.counts_units:
            of = "combinations" if statistic.mixes else "units"
        found = {"of": of, "values": bias_of(statistic)}
    used = {f for m in statistic.measures() for f in fields(m) if isinstance(f, Number)}
    columns = {number.column for number in used if not _within(number, outer)}
    return {"left_out": found, "clipped": sorted(columns)}


def clipped_told(statistic: Statistic) -> Iterator[tuple[str, str]]:
    """Yield the columns of a statistic whose values are clipped, each with what is said of it."""
    for column, *ends in statistic.clipped():
        low, high = (f"{float(end):g}" for end in ends)
        yield column, say("statements.bias.clipping", column=column, low=low, high=high)


def _within(number: Number, outer: Cut) -> bool:
    """Whether every value lies within the bounds by an outer limit that is declared."""
    if number.column not in outer.values:
        return False
    (low, high), (least, most) = map(decimal, outer.values[number.column]), span(number)
    return least <= low and high <= most


def outer_ends(
    plan: Plan,
    one: Planned,
    values: Sequence[str | None],
    ends: Sequence[tuple[str | None, str | None]],
    units: Mapping[str, str | None],
) -> list[tuple[Fraction, Fraction]] | None:
    """Return intervals of a statistic's values that also cover what was cut.

    `ends` are those that cover the noise: the same, where nothing can be cut. `units` has the noisy
    answer of each question. None where outer limits do not say enough.
    """
    cut = plan.spec.cut
    if cut is None or one.statistic.adds is None or isinstance(one.statistic, CutUnits):
        return None
    paid = {
        key: q for p in plan.statistics for key, q in _asked(p, plan.spec, cut) if q.name in units
    }
    own = list(_asked(one, plan.spec, cut))
    if any(key not in paid for key, _ in own):  # no key was found, and nothing asked
        return None
    level, below, above = 1 - plan.spec.interval, Fraction(0), Fraction(0)
    moved = [
        (key, question)
        for key, question in own
        if (reach := question.reach(_ONE, cut)) is None or any(reach)
    ]
    if not moved:
        return [(Fraction(low or 0), Fraction(high or 0)) for low, high in ends]
    for key, question in moved:
        name = str(paid[key].name)
        (call,) = plan.calls(name).values()
        most = int(units[name] or 0) + call.half_width(1 - level / len(moved))
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

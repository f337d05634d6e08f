"""Mean and variance, from noisy counts, sums and squares of deviations.

Deviations are from the middle of the bounds: that halves the sensitivity of the sum, and a mean
that deviates by at most half the width lies within the bounds, so that a mean of zeros and ones is
a share between 0 and 1. Where the middle is half a multiple of the resolution, deviations are in
half multiples: 2y − low − high, made of whole sums of y − c, c the whole number below the middle.
A mean takes two calls (count and sum), a variance three (and squares).

Interval of a mean. Released are A = S + N and B = n + M, S the sum of n ≥ 1 deviations, N and M
noise. The mean θ = S/n lies in [−R, R], R the largest deviation, and A − θB = N − θM. If q(θ) is
what N − θM stays within with probability 1 − α, then {θ: |A − θB| ≤ q(θ)} covers the mean with
probability 1 − α, whatever S and n are (Fieller). Two q are known: of the noise bounded one by one,
and of the law of both. For each θ the smaller one holds, so both sets may be intersected. If noise
took A beyond ±RB, no mean, or only a sliver of them, would be in the set, and an interval without
width would look exact. So A is brought within ±RB first: if A > RB, then |RB − θB| ≤ |A − θB| for
every θ ≤ R, and the set only grows. It contains R, and is as wide there as the noise. A mean of
squares is brought within what the bounds allow in the same way. Below the square of the mean
there is none either: the upper end of a variance is that of the least mean of squares not below it.

By the law of both: let k be whole, |θ| ≤ k, and N symmetric and unimodal. Given M, rounding θM to a
whole number moves it by ½ at most and does not take it beyond kM, and |N − x| is the larger in law
the larger a whole |x| is. So q(θ) ≤ q(k) + ½, q(k) by `quotients.Sum`. It is computed at some k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.noise.standalone import average
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Measure, Number, Summing
from discreet.releases.quotients import Array, Sum
from discreet.releases.statistics.base import Bounded, ColumnName, Measured, ScriptLines, register
from discreet.releases.statistics.values import Answer, Noisy, Part

if TYPE_CHECKING:
    from discreet.laws.mechanism import WholeNoise
    from discreet.releases.pricing import Priced

_PLACES = 32  # of assumed means, between the middle of the bounds and their end
_STEPS = 16  # between means of which it is computed what both noises stay within
_ROUNDS = 4
_OUTWARD = 1 + 1e-12


def _within(total: WholeNoise, count: WholeNoise, mean: int, confidence: float) -> float:
    """Return what N − θM stays within for every |θ| ≤ mean, with that probability."""
    one = np.ones(1)
    return Sum([(total, one, one), (count, mean * one, one)]).half_width(confidence) + 0.5


@lru_cache(maxsize=32)
def _steps(
    total: WholeNoise, count: WholeNoise, reach: int, confidence: float
) -> tuple[Array, Array]:
    """Return some means from 0 to `reach`, and what both noises stay within up to each."""
    means = sorted({-(-reach * step // _STEPS) for step in range(_STEPS + 1)})
    within = [_within(total, count, mean, confidence) for mean in means]
    return np.array(means, dtype=float), np.array(within)


def _ranges(
    sums: Array, counts: Array, means: Array, within: Array, reach: int
) -> tuple[Array, Array]:
    """Return the ends of {θ: |A − θB| ≤ q(θ)}, each cell's, by a q that grows in steps.

    A θ of that set below A/B is no farther from 0 than A/B or the end known so far; what q is at
    most there gives the next end. So every round holds, and the ends only come closer.
    """
    known = counts > 0
    below = np.where(known, counts, 1.0)
    middle = np.clip(sums / below, -reach, reach)
    sums = np.clip(sums, -reach * below, reach * below)
    ends = []
    for side in (-1, 1):
        end = np.full(len(sums), float(side * reach))
        for _ in range(_ROUNDS):
            farthest = np.maximum(np.abs(end), np.abs(middle))
            most = within[np.minimum(np.searchsorted(means, farthest), len(means) - 1)]
            end = np.clip((sums + side * most * _OUTWARD) / below, -reach, reach)
        ends.append(np.where(known, end, side * reach))
    return ends[0], ends[1]


class _Moment(Bounded):
    """What mean and variance share."""

    @property
    def typical(self) -> bool:
        """Of the rows that are kept."""
        return True

    @property
    def centre(self) -> int:
        """The whole number at or below the middle of the bounds, in multiples."""
        return (self.number.low + self.number.high) // 2

    @property
    def halves(self) -> bool:
        """Whether the middle is half a multiple above the centre."""
        return (self.number.low + self.number.high) % 2 == 1

    @property
    def middle(self) -> Fraction:
        """The middle of the bounds."""
        return Fraction(self.number.low + self.number.high, 2) * self.number.resolution

    @property
    def step(self) -> Fraction:
        """What deviations are whole multiples of."""
        return self.number.resolution / (2 if self.halves else 1)

    @property
    def reach(self) -> int:
        """The largest deviation, in steps."""
        width = self.number.high - self.number.low
        return width if self.halves else max(width // 2, 1)

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The whole numbers that noise goes on, in steps from the middle."""
        found = super().numbers(part, measured)
        if not self.halves or part == "count":
            return found
        counts = super().numbers("count", measured)
        if part == "sum":
            return [2 * s - n for s, n in zip(found, counts, strict=True)]
        sums = super().numbers("sum", measured)
        return [4 * (q - s) + n for q, s, n in zip(found, sums, counts, strict=True)]

    def measures(self) -> tuple[Measure, ...]:
        """The count, and the sum of deviations."""
        return (
            Counting(self.measure_name("count"), self.number),
            Summing(self.measure_name("sum"), self.number, self.centre),
        )

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """Two calls."""
        return (
            Part.of_numbers("count", contribution),
            Part.of_numbers("sum", contribution, self.reach, self.step, signed=True),
        )

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Groups of that size whose means go from the middle of the bounds to their end.

        The farther the mean is from the middle, the more the noise of the count moves it.
        """
        sums = [size * self.reach * place // _PLACES for place in range(_PLACES + 1)]
        return {"count": [size] * len(sums), "sum": sums}

    def averages(
        self, noisy: Mapping[str, Noisy], part: str, reach: int, *, signed: bool
    ) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
        """Yield sum/count of each cell and the range it may have, within what the bounds allow."""
        low = -reach if signed else 0
        bottom, top = Fraction(low), Fraction(reach)
        counts, totals = noisy["count"], noisy[part]

        def inside(x: Fraction) -> Fraction:
            return min(max(x, bottom), top)

        for count, total in zip(counts.values, totals.values, strict=True):
            value = average(total, count, reach, signed=signed)
            least, most = count - counts.half_width, count + counts.half_width
            if least < 1:
                yield value, bottom, top
                continue
            total = min(max(total, low * count), reach * count)
            ends = (total - totals.half_width, total + totals.half_width)
            corners = [Fraction(s, n) for s in ends for n in (least, most)]
            yield value, inside(min(corners)), inside(max(corners))

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Count and add up deviations, and add noise to both."""
        yield f"field = {self.number.script}"
        yield "n = counts(kept, len(cells), field)"
        yield f"count = {lines.drawn('count')}(n)"
        yield f"s = sums(kept, len(cells), field, {self.centre})"
        moved = "[2 * b - a for a, b in zip(n, s, strict=True)]" if self.halves else "s"
        yield f"total = {lines.drawn('sum')}({moved})"


@register("mean")
class Mean(_Moment):
    """A noisy sum over a noisy count."""

    mean: ColumnName

    @property
    def stays_within(self) -> Number:
        """The column itself."""
        return self.number

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The mean of each cell; of an empty one only the bounds are known."""
        found = self.averages(noisy, "sum", self.reach, signed=True)
        if noisy["sum"].law is not None:
            found = self._narrowed(found, noisy, interval)
        return [[Answer((), *(self.middle + x * self.step for x in one))] for one in found]

    def _narrowed(
        self,
        found: Iterator[tuple[Fraction, Fraction, Fraction]],
        noisy: Mapping[str, Noisy],
        interval: float,
    ) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
        """Yield each value and its range, cut to what the law of both noises together allows."""
        total, count = noisy["sum"], noisy["count"]
        known = _steps(total.law, count.law, self.reach, interval)
        sums, counts = (np.array(one.values, dtype=float) for one in (total, count))
        ends = _ranges(sums, counts, *known, self.reach)
        for (value, low, high), least, most in zip(found, *ends, strict=True):
            yield (
                value,
                min(max(low, Fraction(least)), value),
                max(min(high, Fraction(most)), value),
            )

    def off_by(self, size: int, calls: Mapping[str, Priced], interval: float) -> float:
        """Return what |error| stays within, whatever the mean, by the law of both noises together.

        Let n be the size, N and M the noise of sum and count, m the mean and R the largest one, all
        from the middle of the bounds and in steps. If n + M ≥ 1, the value is above m + t only if
        N − (m + t)M > tn, and below m − t only if N − (m − t)M < −tn. As it is kept within ±R, the
        first asks for m + t < R and the second for m − t > −R; so |error| > t has no more than the
        probability of |N − θM| > tn for some |θ| ≤ R, one half from each side. So t = q/n holds,
        with q what N − θM stays within for every such θ.
        """
        left = 1 - interval - calls["count"].law.tail(size)  # but for n + M < 1
        if left <= 0:
            return math.inf
        within = _within(calls["sum"].law, calls["count"].law, self.reach, 1 - left)
        return within / size * float(self.step)

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Divide."""
        yield from super().script(lines)
        yield "for key, n, s in zip(cells, count, total, strict=True):"
        yield f"    value = average(s, n, {self.reach}, signed=True)"
        middle, step = lines.fraction(self.middle), lines.fraction(self.step)
        yield f"    {lines.add(f'{middle} + value * {step}')}"


@register("variance")
class Variance(_Moment):
    """From a noisy count, sum and sum of squares."""

    most_multiples: ClassVar[int] = 2**31
    too_many: ClassVar[str] = "releases.statistics.squares_overflow"

    variance: ColumnName

    def measures(self) -> tuple[Measure, ...]:
        """Count, sum of deviations, and of their squares."""
        squares = Summing(self.measure_name("squares"), self.number, self.centre, 2)
        return (*super().measures(), squares)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """Three calls."""
        squares = Part.of_numbers("squares", contribution, self.reach**2, self.step**2)
        return (*super().parts(contribution), squares)

    def assumed(self, size: int) -> dict[str, list[int]]:
        """The same, each with the least and the largest variance that its mean allows."""
        sums = super().assumed(size)["sum"]
        least, most = [s * s // size for s in sums], [size * self.reach**2] * len(sums)
        return {"count": [size] * 2 * len(sums), "sum": sums * 2, "squares": least + most}

    def accuracy_by_size(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """The same, with three noises bounded one by one: mostly far more than the error."""
        return super().accuracy_by_size(calls, interval) | {"worst_case": True}

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The mean of squares less the square of the mean, within what the bounds allow."""
        largest = self.reach**2
        unit = self.step**2

        def inside(x: Fraction) -> Fraction:
            return min(max(x, Fraction(0)), Fraction(largest)) * unit

        means = [*self.averages(noisy, "sum", self.reach, signed=True)]
        raised = [
            max(total, math.ceil(mean**2 * count))
            for total, count, (mean, *_) in zip(
                noisy["squares"].values, noisy["count"].values, means, strict=True
            )
        ]
        above = {**noisy, "squares": replace(noisy["squares"], values=raised)}
        squares, highest = (
            self.averages(one, "squares", largest, signed=False) for one in (noisy, above)
        )
        rows = []
        for (mean, low, high), (second, bottom, _), (_, _, top) in zip(
            means, squares, highest, strict=True
        ):
            least = Fraction(0) if low <= 0 <= high else min(low**2, high**2)
            ends = (second - mean**2, bottom - max(low**2, high**2), top - least)
            rows.append([Answer((), *map(inside, ends))])
        return rows

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Add up squares too."""
        yield from super().script(lines)
        unit = lines.fraction(self.step**2)
        yield f"q = sums(kept, len(cells), field, {self.centre}, 2)"
        moved = "[4 * (c - b) + a for a, b, c in zip(n, s, q, strict=True)]"
        yield f"squares = {lines.drawn('squares')}({moved if self.halves else 'q'})"
        yield "for key, n, s, q in zip(cells, count, total, squares, strict=True):"
        yield f"    {lines.add(f'spread(q, s, n, {self.reach}) * {unit}')}"

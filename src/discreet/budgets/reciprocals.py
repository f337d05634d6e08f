"""W = 1/r* over boxes of priors: of a formula, and of a function that is monotone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from discreet.budgets.enclosures import (
    Array,
    Boxes,
    Enclosure,
    Mask,
    Span,
    at_points,
    enclose,
    tested,
)
from discreet.budgets.structure import Within
from discreet.errors import ToleranceError
from discreet.promises.formula import Expression, walk
from discreet.promises.tolerance import Tolerance
from discreet.words import say

_NOISE = 1e-12  # rounding of a function's values, relative
_NEIGHBOURS = (slice(None, -1), slice(1, None))


class Reciprocal(Protocol):
    """W = 1/r*, never negative, over boxes and at a point."""

    def over(self, boxes: Boxes, slopes: str) -> tuple[Enclosure, Mask]:
        """Enclose W over boxes; say where it may be undefined."""

    def at(self, p: Array, q: Array) -> Array:
        """Return W at priors, to rounding; NaN where it has no value."""

    @property
    def parts(self) -> int:
        """How much work one box is."""


@dataclass(frozen=True, slots=True)
class OfFormula:
    """1/r* of a formula; on the priors `within` comparisons, if some are given, and 0 elsewhere.

    A box in which they may hold has the bounds that the formula has on all of it.
    """

    expression: Expression
    within: Within = ()
    parts: int = field(init=False)  # how much work one box is

    def __post_init__(self) -> None:
        parts = sum(1 for each in (self.expression, *self.within) for _ in walk(each))
        object.__setattr__(self, "parts", parts)

    def over(self, boxes: Boxes, slopes: str) -> tuple[Enclosure, Mask]:
        """Enclose W over boxes; say where it may be undefined."""
        enclosed, undefined = enclose(self.expression, boxes, slopes=slopes)
        if not self.within:
            return enclosed, undefined
        inside, outside = self.sides(boxes)
        points = (boxes.p0 == boxes.p1) & (boxes.q0 == boxes.q1)
        high = np.where(outside & ~points, 0.0, enclosed.high)
        # A centre need not lie inside: it bounds the formula, and is no prior to offer.
        low = np.where(inside, enclosed.low, 0.0)
        return replace(enclosed, span=np.array([low, high])), undefined & ~outside

    def sides(self, boxes: Boxes) -> tuple[Mask, Mask]:
        """Return which boxes lie inside, and which outside, for certain."""
        inside, outside = np.full(len(boxes), True), np.full(len(boxes), False)
        for test in self.within:
            may_hold, may_fail = tested(test, boxes)
            inside, outside = inside & ~may_fail, outside | ~may_hold
        return inside, outside

    def at(self, p: Array, q: Array) -> Array:
        """Return W at priors, to rounding; NaN where it has no value."""
        with np.errstate(all="ignore"):
            out = np.broadcast_to(
                at_points(self.expression, p, q), np.broadcast_shapes(p.shape, q.shape)
            )
            for test in self.within:
                out = np.where(at_points(test, p, q), out, 0.0)
            return out


@dataclass(frozen=True, slots=True)
class OfFunction:
    """A function that is monotone in p and in q: least at one corner of a box.

    Where two corners show that it is not, it is refused.
    """

    profile: Tolerance

    def over(self, boxes: Boxes, slopes: str) -> tuple[Enclosure, Mask]:
        """Enclose W over boxes; say where it may be undefined."""
        falls_p, falls_q = (word == "decreasing" for word in self.profile.monotone())
        p_least, p_most = (boxes.p1, boxes.p0) if falls_p else (boxes.p0, boxes.p1)
        q_least, q_most = (boxes.q1, boxes.q0) if falls_q else (boxes.q0, boxes.q1)
        high, low = self.at(p_least, q_least), self.at(p_most, q_most)
        unknown: Span = np.full((2, len(boxes)), [[-math.inf], [math.inf]])
        nowhere = np.zeros(len(boxes), dtype=bool)
        lies = np.flatnonzero(low > high * (1 + _NOISE))
        if len(lies):
            k = lies[0]
            raise self.not_as_declared((p_least[k], q_least[k]), (p_most[k], q_most[k]))
        low = np.minimum(low, high)
        # 1/r is rounded to the nearest: one step outward holds the true one.
        low = np.where(low == 1, low, np.nextafter(low, 0.0))
        high = np.nextafter(high, math.inf)
        return Enclosure(np.array([low, high]), unknown, unknown, sign=1), nowhere

    def at(self, p: Array, q: Array) -> Array:
        """Return W at priors, to rounding; NaN where it has no value."""
        p, q = np.broadcast_arrays(p, q)
        ratios = map(self.ratio_at, p.flat, q.flat)
        w = [1 / ratio if ratio > 0 else math.inf for ratio in ratios]
        return np.reshape(w, p.shape)

    @property
    def parts(self) -> int:
        """How much work one box is."""
        return 8

    def ratio_at(self, p: float, q: float) -> float:
        """Return r* at a prior, or its limit."""
        box = self.profile.box
        return self.profile.ratio_at(_or_limit(p, box.p0, box.p1), _or_limit(q, box.q0, box.q1))

    def look_for_lies(self) -> None:
        """Compare neighbours of a grid, orders of magnitude among them, with what was declared."""
        declared = self.profile.monotone()
        if declared == (None, None):
            return
        box = self.profile.box
        p = _lines(box.p0, box.p1, 600 if box.q_fixed else 24)
        q = _lines(box.q0, box.q1, 600 if box.p_fixed else 24)
        ratio = np.array([[self.ratio_at(x, y) for y in q] for x in p])
        for axis, word in enumerate(declared):
            if word is None:
                continue
            first, second = (np.moveaxis(ratio, axis, 0)[ends] for ends in _NEIGHBOURS)
            wrong = (second < first) if word == "increasing" else (second > first)
            lies = wrong & ~np.isclose(first, second, rtol=_NOISE, atol=0.0)
            if lies.any():
                with np.errstate(invalid="ignore"):  # ∞ − ∞ is no lie
                    gap = np.where(lies, np.abs(first - second), -1.0)
                i, j = np.unravel_index(np.argmax(gap), gap.shape)[:: 1 if axis == 0 else -1]
                there = (p[i + 1], q[j]) if axis == 0 else (p[i], q[j + 1])
                raise self.not_as_declared((p[i], q[j]), there)

    def not_as_declared(self, *at: tuple[float, float]) -> ToleranceError:
        """Return the refusal of a function that is not monotone as it was declared."""
        words = zip(self.profile.monotone(), "pq", strict=True)
        declared = " and ".join(f"{word} in {name}" for word, name in words if word)
        found = " and ".join(
            say("budgets.ratio_there", ratio=self.ratio_at(p, q), p=p, q=q) for p, q in at
        )
        return ToleranceError("budgets.not_as_declared", declared=declared, found=found)


def _or_limit(x: float, low: float, high: float) -> float:
    """Return a prior; 0 is a limit, for which one far below any that matters stands."""
    least = low if low > 0 else max(1e-100 * high, math.ulp(0.0))
    return max(float(x), least)


def _lines(low: float, high: float, many: int) -> Array:
    """Return priors between two ends, evenly spaced and by orders of magnitude."""
    if low == high:
        return np.array([high])
    start = low if low > 0 else max(1e-12 * high, math.ulp(0.0))
    lines = np.concatenate([np.linspace(low, high, many), np.geomspace(start, high, many)])
    return np.unique(np.clip(lines[lines > 0], start, high))


def just_below(w: Array) -> Array:
    """Return a step down, but where w = 1: that is a ratio of 1, which no rounding made."""
    return np.where(w < 1, np.nextafter(w, 0.0), w)

"""The certified search: the least ε_i over a box of priors, enclosed from both sides.

Notation. W = 1/r*, and ∞ where r* ≤ 0; u = e^{-ε}, S(p, q; u) = pq + u²(1−q)p + u(1−p). By K&R
Theorem 1 a budget ε keeps the tolerance at (p, q) exactly where G = S − W ≥ 0, and ε_i(p, q) is the
ε with G = 0. Where W ≥ 1 (but for W = 1 at p = q = 1) there is none, and the tolerance is refused.

Branch and bound. Every box is discarded with a proof that ε_i ≥ best − tol on it, or cut up:

1. *corner bound*: with W ≤ w on the box, the least ε_i is at q = q0 and at p = p1 if q0 ≤ w/(1+w),
   else at p = p0 (`closed_forms`, fact 1);
2. *slope bound*: at the target ε, G ≥ G(centre) − ½ width·|slope|, by the mean value theorem, with
   slopes enclosed over the box. It gains the square of the width where the profile is smooth;
3. *monotone faces*: ∂ε_i/∂p has the sign of ∂G/∂p. Where that is fixed for every u that ε_i may
   take below the best, only one face of the box can hold the least value;
4. *certainty*: at p = q = 1 nothing is left to learn, and S = 1 for every u. Where W = 1 there too
   (3/(1+2pq), say), 1 − W and W − pq vanish together and ε_i near it is their quotient, which
   intervals cannot tell. Slopes can: G = 0 at (1, 1), so G ≥ 0 on a box that ends there and on
   which it falls in p and in q. Along p = 1 the limit is ε_i → −½ log(1 − ∂W/∂q), along q = 1
   −log(1 − ∂W/∂p). Where a kink runs into the corner, slopes are told apart along rays: with p =
   1 − t, q = 1 − st (or the other way round) G is 0 at t = 0, so G ≥ 0 where ∂G/∂t ≥ 0.

A target only falls when a better prior is found, and what was proved at a higher target holds at a
lower one. So in the end best − tol ≤ true infimum ≤ best. All bounds are from interval arithmetic
with outward rounding; a grid, by contrast, errs on the unsafe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from discreet.beliefs.one_prior import TINY, ULP
from discreet.budgets.enclosures import (
    ENDS,
    Array,
    Boxes,
    Enclosure,
    Mask,
    Span,
    at_points,
    enclose,
    tested,
)
from discreet.budgets.structure import Within, branches, on_rays, pieces, reciprocal
from discreet.errors import FormulaError, ToleranceError
from discreet.promises.box import Box
from discreet.promises.formula import Binary, Call, Compare, Expression, evaluate, is_constant, walk
from discreet.promises.shapes.ratio import constant_ratio
from discreet.promises.tolerance import Tolerance
from discreet.words import say

_RELATIVE = {1: 2e-10, 2: 2e-8}  # of ε, by the dimension of the piece
_FLOOR = 4e-14  # what rounding of 1/r* leaves of a very small ε
_SLACK = 1 - 2e-15  # the few ulps of the vector formula for ε_i
_PATIENCE, _ENOUGH = 4_000, 9e-7  # after so many boxes, this tolerance will do
_LONGER = 60_000  # boxes after which a budget that is plenty will do
_MOST_WORK = 17_000_000  # boxes times parts, of all pieces of a formula: less than a second
_CALL = 250  # what one array operation costs beside its boxes
_LOST = 1_000  # boxes that are left when the best prior may not have been seen yet
_HURRY = 3_000  # boxes after which a budget that is plenty, and has no prior against it, will do
_AT_ONCE = 256  # an array operation costs about the same for one box as for this many
_NEAR = {1: 1e-11, 2: 1e-6}  # the first cut beside the best prior, by dimension
_SMOOTH = {1: 4e-6, 2: 3e-5}  # the same where ε_i is smooth there: its square counts
_COARSE = {1: 48, 2: 12}  # cells of the first grid along a prior, by dimension
_WINDOW = {1: np.linspace(-1, 1, 33), 2: np.linspace(-1, 1, 9)}
_FAR = 1e9  # stands for an ε without limit
_LOOKS = 30  # windows of the look around
_TINY = 1e-9  # a box that small and still undefined is taken for a true singularity
_LEAST = 1e-322
_ROUNDING = 1e-14  # of slopes of S, whose terms are at most 1
_NOISE = 1e-12  # rounding of a function's values, relative
_NEIGHBOURS = (slice(None, -1), slice(1, None))
_DUST = 1e-13  # a box that small beside p = q = 1 and still not proved never will be
_BESIDE = 1e-5  # a square beside p = q = 1 that is too small for digits to tell
_EVENLY, _WHOLE = np.arange(9) / 8, np.append(np.zeros(8), 1.0)
_FROM_CORNER = np.append(0.0, 4.0 ** -np.arange(7, -1, -1))
_RAYS = _MOST_WORK / 24  # the work of one proof along rays
# What is tried along rays: times the tolerance, and the side of the square beside p = q = 1.
_WIDER_AND_SMALLER = (
    *((1, 0.2), (10, 0.2), (10, 1e-3), (1e3, 0.2), (10, 1e-6), (1e3, 1e-3), (1e5, 0.2)),
    *((1e5, 1e-3), (1e7, 0.2), (1e7, 1e-3), (1e7, 1e-6)),
)
_PLENTY = 5.0  # noise of that budget leaves 99 of 100 counts as they are: more buys nothing


@dataclass(slots=True)
class Search:
    """What is known so far: lower ≤ infimum ≤ upper, and the prior that gave upper."""

    lower: float = math.inf
    upper: float = math.inf
    p: float = 1.0
    q: float = 1.0
    boxes: int = 0
    left: float = field(default_factory=lambda: _MOST_WORK)

    def spend(self, work: Reciprocal, boxes: int) -> None:
        """Count the work of enclosing a formula over so many boxes."""
        self.left -= work.parts * (boxes + _CALL)

    def offer(self, epsilon: Array, p: Array, q: Array) -> None:
        """Take the least of these ε as the best so far, if it is."""
        best = int(np.argmin(epsilon))
        if epsilon[best] < self.upper:
            self.upper = float(epsilon[best])
            self.p, self.q = float(p[best]), float(q[best])
        if self.upper < _FLOOR:
            raise ToleranceError("budgets.ratio_of_one", p=self.p, q=self.q)


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
class _OfFormula:
    """1/r* of a formula; on the priors `within` comparisons, if some are given, and 0 elsewhere.

    A box in which they may hold has the bounds that the formula has on all of it.
    """

    expression: Expression
    within: Within = ()

    def over(self, boxes: Boxes, slopes: str) -> tuple[Enclosure, Mask]:
        enclosed, undefined = enclose(self.expression, boxes, slopes=slopes)
        if not self.within:
            return enclosed, undefined
        inside, outside = self.sides(boxes)
        points = (boxes.p0 == boxes.p1) & (boxes.q0 == boxes.q1)
        high = np.where(outside & ~points, 0.0, enclosed.high)
        # A centre need not lie inside: it bounds the formula, and is no prior to offer.
        low = np.where(inside, enclosed.low, 0.0)
        return replace(enclosed, low=low, high=high), undefined & ~outside

    def sides(self, boxes: Boxes) -> tuple[Mask, Mask]:
        """Return which boxes lie inside, and which outside, for certain."""
        inside, outside = np.full(len(boxes), True), np.full(len(boxes), False)
        for test in self.within:
            may_hold, may_fail = tested(test, boxes)
            inside, outside = inside & ~may_fail, outside | ~may_hold
        return inside, outside

    def at(self, p: Array, q: Array) -> Array:
        with np.errstate(all="ignore"):
            out = np.broadcast_to(at_points(self.expression, p, q), p.shape)
            for test in self.within:
                out = np.where(at_points(test, p, q), out, 0.0)
            return out

    @property
    def parts(self) -> int:
        return sum(1 for each in (self.expression, *self.within) for _ in walk(each))


@dataclass(frozen=True, slots=True)
class _OfFunction:
    """A function that is monotone in p and in q: least at one corner of a box.

    Where two corners show that it is not, it is refused.
    """

    profile: Tolerance

    def over(self, boxes: Boxes, slopes: str) -> tuple[Enclosure, Mask]:
        falls_p, falls_q = (word == "decreasing" for word in self.profile.monotone())
        p_least, p_most = (boxes.p1, boxes.p0) if falls_p else (boxes.p0, boxes.p1)
        q_least, q_most = (boxes.q1, boxes.q0) if falls_q else (boxes.q0, boxes.q1)
        high, low = self.at(p_least, q_least), self.at(p_most, q_most)
        unknown: Span = (np.full(len(boxes), -math.inf), np.full(len(boxes), math.inf))
        nowhere = np.zeros(len(boxes), dtype=bool)
        lies = np.flatnonzero(low > high * (1 + _NOISE))
        if len(lies):
            k = lies[0]
            raise self.not_as_declared((p_least[k], q_least[k]), (p_most[k], q_most[k]))
        low = np.minimum(low, high)
        # 1/r is rounded to the nearest: one step outward holds the true one.
        low, high = _just_below(low), np.nextafter(high, math.inf)
        return Enclosure(low, high, unknown, unknown, sign=1), nowhere

    def at(self, p: Array, q: Array) -> Array:
        ratios = map(self.ratio_at, p, q)
        return np.array([1 / ratio if ratio > 0 else math.inf for ratio in ratios])

    @property
    def parts(self) -> int:
        return 8

    def ratio_at(self, p: float, q: float) -> float:
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


def search_monotone(profile: Tolerance) -> Search:
    """Return bounds of the largest budget for a function of declared monotonicity.

    They hold if it is monotone as declared. That is tried, and cannot be proved.
    """
    state, W = Search(p=profile.box.p1, q=profile.box.q1), _OfFunction(profile)
    W.look_for_lies()
    dimension = 1 if profile.box.p_fixed or profile.box.q_fixed else 2
    at = _look(W, profile.box)[1]
    _offer(W, np.array(at[:1]), np.array(at[1:]), state)
    relative = max(_search_piece(W, profile.box, at, state, _RELATIVE[dimension]))
    state.lower = min(state.lower, state.upper - _target_gap(state.upper, relative))
    return state


def look(profile: Tolerance, points: int = 96) -> Search:
    """Look for the worst prior of an opaque function on finer and finer grids. Proves nothing."""
    box, W = profile.box, _OfFunction(profile)
    W.look_for_lies()
    state = Search(p=box.p1, q=box.q1)
    p0, p1, q0, q1 = box.p0, box.p1, box.q0, box.q1
    for _ in range(12):
        p, q = np.linspace(p0, p1, points), np.linspace(q0, q1, points)
        p, q = (_and_magnitudes(x, points // 2) if x[0] == 0 else x for x in (p, q))
        p, q = np.repeat(p, len(q)), np.tile(q, len(p))
        state.offer(_epsilon(W.at(p, q), p, q), p, q)
        width_p, width_q = (p1 - p0) / points * 4, (q1 - q0) / points * 4
        # Beside 0 a width may have become 0 as well.
        p0, p1 = max(box.p0, state.p - width_p), min(box.p1, state.p + width_p) or box.p1
        q0, q1 = max(box.q0, state.q - width_q), min(box.q1, state.q + width_q) or box.q1
        points = 24
    state.lower = state.upper * (1 - 1e-6)
    return state


def _and_magnitudes(line: Array, points: int) -> Array:
    """Add orders of magnitude to a line that starts at 0, the open end."""
    high = float(line[-1])
    least = 1e-12 if high > 1e-12 else max(1e-12 * high, math.ulp(0.0))
    return np.concatenate([line, np.minimum(np.geomspace(least, high, points), high)])


def search(expression: Expression, box: Box) -> Search:
    """Return lower and upper bounds of the largest budget that keeps r* on the box."""
    state = Search(p=box.p1, q=box.q1)
    margin = 0.0
    found_at: list[tuple[float, int, Iterator[float]]] = []
    parted = [
        (*branch, piece)
        for whole, piece in pieces(expression, box)
        for branch in branches(whole, piece)
    ]
    for within, part, piece in parted:
        if is_constant(part) and not within:
            found = constant_ratio(evaluate(part, 1.0, 1.0), piece)
            state.lower = min(state.lower, found.lower)
            state.offer(np.array([found.upper]), np.array([found.p]), np.array([found.q]))
            continue
        dimension = 1 if piece.p_fixed or piece.q_fixed else 2
        inverse = _OfFormula(reciprocal(part), within)
        epsilon, at = _look(inverse, piece)
        one = _search_piece(inverse, piece, at, state, _RELATIVE[dimension])
        found_at.append((epsilon, len(found_at), one))
    searches = [each for _, _, each in sorted(found_at)]  # the best first
    while searches:  # one level of each in turn: they share the best prior, and the work
        steps = [(each, next(each, None)) for each in searches]
        margin = max([margin, *(relative for _, relative in steps if relative is not None)])
        searches = [each for each, relative in steps if relative is not None]
    if margin > 0:
        state.lower = min(state.lower, state.upper - _target_gap(state.upper, margin))
    return state


def _tolerance(upper: float, relative: float) -> float:
    return relative * upper + _FLOOR


def _search_piece(
    W: Reciprocal, piece: Box, at: tuple[float, float], state: Search, relative: float
) -> Iterator[float]:
    """Search one piece, level by level; yield the tolerance that is proved, relative to ε."""
    within = W.within if isinstance(W, _OfFormula) else ()
    if state.upper < math.inf and _no_better(W, piece, state, relative):
        yield relative
        return
    if isinstance(W, _OfFormula):
        for test in (test for test in within if test.op == "=="):
            _look_along(W, test, piece, state)
    boxes = _around_best(piece, *_look_around(W, piece, at))
    slopes = ("" if piece.p_fixed else "p") + ("" if piece.q_fixed else "q")
    certain = _near_certainty(W, piece, slopes, state)
    if certain is not None:  # nearer than that to the corner, digits are lost
        relative = max(relative, _RELATIVE[2])
    level, before = 0, state.boxes
    rays: tuple[float, float] | None = None
    while len(boxes):
        state.boxes += len(boxes)
        state.spend(W, 2 * len(boxes))
        if state.boxes - before > _PATIENCE and state.upper < math.inf:
            relative = max(relative, _ENOUGH * min(50.0, max(1.0, 1 / state.upper)))
        enclosed, undefined = W.over(boxes, slopes)
        if level >= 2:
            _refuse_undefined(W, boxes[undefined])
        bound = _corner_bound(enclosed.high, boxes)
        bound = np.where(undefined | np.isnan(bound), 0.0, bound)
        keep = bound < state.upper - _target_gap(state.upper, relative)
        if not keep.any():
            break
        boxes, bound, undefined = boxes[keep], bound[keep], undefined[keep]
        enclosed = _take(enclosed, keep)
        if level >= 1 and len(boxes) > _LOST:
            _dive(W, boxes[np.array([np.argmin(bound)])], state)
        patience = _LONGER if state.upper < math.inf else _HURRY
        plenty = state.boxes - before > patience and np.min(bound) > _PLENTY
        if plenty or 4 * len(boxes) * W.parts > state.left:
            settled = _settle(W, boxes, enclosed, bound, state, relative)
            if settled <= 0 and certain is not None:
                raise _unproved_at_certainty()
            state.lower = min(state.lower, settled)
            break
        points = _uncut(boxes.p0, boxes.p1) & _uncut(boxes.q0, boxes.q1)
        # The face that holds the least value need not lie within.
        partly = ~W.sides(boxes)[0] if isinstance(W, _OfFormula) and within else undefined
        boxes = _collapse(boxes, enclosed, bound, undefined | partly, state.upper)
        w = _offer_points(W, boxes, int(np.argmin(bound)), state)
        target = state.upper - _target_gap(state.upper, relative)
        proved = (bound >= target) | (_slope_bound(w, boxes, enclosed, target) & ~undefined)
        for test in within:
            beside = _beside(test, boxes, slopes)
            proved |= _slope_bound(w, boxes, enclosed, target, beside) & ~undefined
        if certain is not None:
            p0, q0 = _certain_from(*certain, target)
            proved |= (boxes.p0 >= p0) & (boxes.q0 >= q0)
            corner = (np.minimum(boxes.p1, boxes.q1) > 1 - _BESIDE) & ~proved
            if rays is None and corner.any() and p0 * q0 > 1 - _BESIDE:
                rays = _along_rays(W, piece, state, relative)
                state.lower = min(state.lower, rays[1])
            if rays is not None:
                proved |= (boxes.p0 >= 1 - rays[0]) & (boxes.q0 >= 1 - rays[0])
            ends_there = (boxes.p1 == 1) & (boxes.q1 == 1)
            if np.any(ends_there & ~proved & (_sizes(boxes) < _DUST)):
                raise _unproved_at_certainty()
        # A point that is not proved has lost its digits to rounding; cutting cannot help it.
        lost = points & ~proved
        state.lower = min(state.lower, float(np.min(bound, where=lost, initial=math.inf)))
        boxes = boxes[~(proved | lost)]
        fits = 18 * len(boxes) * W.parts < state.left
        boxes = _cut(boxes, 3 if fits else 2)
        level += 1
        yield relative
    yield relative


def _no_better(W: Reciprocal, piece: Box, state: Search, relative: float) -> bool:
    """Say whether a few boxes show that a piece holds nothing below the best."""
    many = 16 if piece.p_fixed or piece.q_fixed else 5
    boxes = _cross(*(
        _grid(np.array([low]), np.array([high]), many)[0] if low < high else np.array([low])
        for low, high in ((piece.p0, piece.p1), (piece.q0, piece.q1))
    ))  # fmt: skip
    state.boxes += len(boxes)
    state.spend(W, len(boxes))
    enclosed, undefined = W.over(boxes, "")
    least = state.upper - _target_gap(state.upper, relative)
    return bool(np.all((_corner_bound(enclosed.high, boxes) >= least) & ~undefined))


def _beside(test: Compare, boxes: Boxes, slopes: str) -> tuple[Enclosure, Enclosure, bool]:
    """Enclose what is 0 on the line of a comparison and above 0 where it holds.

    Over the boxes, and at their centres; and say whether it holds on the line alone.
    """
    left, right = (test.right, test.left) if test.op in ("<", "<=") else (test.left, test.right)
    above = Binary("-", left, right)
    over, unknown = enclose(above, boxes, slopes=slopes)
    centre, _ = enclose(above, _centres(boxes), slopes="")
    low, high = (np.where(unknown, math.nan, end) for end in (centre.low, centre.high))
    return over, replace(centre, low=low, high=high), test.op == "=="


def _dive(W: Reciprocal, box: Boxes, state: Search) -> None:
    """Follow the box of the least bound down, and offer the priors on the way.

    A narrow valley is seen by enclosures long before a centre falls into it.
    """
    while _sizes(box)[0] > _DUST and state.left > 0:
        children = _cut(box)
        state.spend(W, len(children))
        if len(children) == 1:
            break
        enclosed, undefined = W.over(children, "")
        bound = np.where(undefined, math.inf, _corner_bound(enclosed.high, children))
        box = children[np.array([np.argmin(bound)])]
        _offer_points(W, box, 0, state)


def _uncut(low: Array, high: Array) -> Mask:
    """Say where no double lies between two ends."""
    return np.asarray(np.nextafter(low, math.inf) >= high)


def _target_gap(upper: float, relative: float) -> float:
    return _tolerance(upper, relative) if upper < math.inf else 0.0


def _cut(boxes: Boxes, least: int = 3) -> Boxes:
    """Cut boxes along both sides, segments along their length, and leave points alone.

    Few boxes are cut fine and many coarsely, so that every level does a fair piece of work.
    """
    share = _AT_ONCE // max(1, len(boxes))
    segments, sides = max(8, share), max(least, math.isqrt(share))
    wide_p, wide_q = boxes.p0 < boxes.p1, boxes.q0 < boxes.q1
    groups = []
    for p_is_wide, q_is_wide in ((True, True), (True, False), (False, True), (False, False)):
        chosen = (wide_p == p_is_wide) & (wide_q == q_is_wide)
        if not chosen.any():
            continue
        some = boxes[chosen]
        many = sides if p_is_wide and q_is_wide else segments
        p = _grid(some.p0, some.p1, many if p_is_wide else 1)
        q = _grid(some.q0, some.q1, many if q_is_wide else 1)
        columns = q.shape[1] - 1
        i, j = np.divmod(np.arange((p.shape[1] - 1) * columns), columns)
        groups.append([p[:, i], p[:, i + 1], q[:, j], q[:, j + 1]])
    if not groups:
        return boxes
    ends = [np.concatenate([group[k].ravel() for group in groups]) for k in range(4)]
    return Boxes(*ends)


def _grid(low: Array, high: Array, parts: int) -> Array:
    steps = np.arange(parts + 1) / parts
    out = low[:, None] + (high - low)[:, None] * steps
    out[:, -1] = high
    return out


def _look(W: Reciprocal, piece: Box) -> tuple[float, tuple[float, float]]:
    """Return the least ε_i on a coarse grid, and its prior."""
    many = _COARSE[1 if piece.p_fixed or piece.q_fixed else 2]
    p, q = (
        _ends(low, high, many if low < high else 1)
        for low, high in ((piece.p0, piece.p1), (piece.q0, piece.q1))
    )
    p, q = np.repeat(p, len(q)), np.tile(q, len(p))
    epsilon = _epsilon(W.at(p, q), p, q)
    epsilon = np.where(np.isnan(epsilon), math.inf, epsilon)
    i = int(np.argmin(epsilon))
    return float(epsilon[i]), (float(p[i]), float(q[i]))


def _look_around(W: Reciprocal, piece: Box, at: tuple[float, float]) -> tuple[float, float, bool]:
    """Return a prior near the least ε_i of the piece, from one beside it; say if ε_i is smooth.

    Windows about the best prior so far, each smaller than the last; where ε_i looks like a
    parabola, a far smaller one about its least point is tried first.
    """
    ends = ((piece.p0, piece.p1), (piece.q0, piece.q1))
    dimension = sum(low < high for low, high in ends)
    if dimension == 0:
        return *at, False
    across = _WINDOW[dimension]
    half = [(high - low) / _COARSE[dimension] for low, high in ends]
    best, centre, trust = math.inf, at, True
    for _ in range(_LOOKS):
        if max(half) <= (_SMOOTH if trust else _NEAR)[dimension]:
            break
        lines = [
            np.clip(x + h * across, low, high) if low < high else np.array([x])
            for x, h, (low, high) in zip(centre, half, ends, strict=True)
        ]
        shape = (len(lines[0]), len(lines[1]))
        p, q = np.repeat(lines[0], shape[1]), np.tile(lines[1], shape[0])
        epsilon = _epsilon(W.at(p, q), p, q)
        epsilon = np.where(np.isnan(epsilon), math.inf, epsilon).reshape(shape)
        i, j = (int(k) for k in np.unravel_index(int(np.argmin(epsilon)), shape))
        better, guessed = float(epsilon[i, j]) < best, centre != at
        if better:
            best, at = float(epsilon[i, j]), (float(lines[0][i]), float(lines[1][j]))
        inside = all(
            0 < k < n - 1 or n == 1 or x in span
            for k, n, x, span in zip((i, j), shape, at, ends, strict=True)
        )
        centre = at
        if guessed and not (better and inside):
            trust, half = False, [16 * h for h in half]
        elif inside or not better:  # else the least lies outside: on, with a window as wide
            half = [h * 2 / (len(across) - 1) for h in half]
            guess = _least_of_parabola(epsilon, (i, j), lines) if trust and inside else None
            if guess is not None:
                centre, half = guess, [h / 16 for h in half]
    return *at, trust and isinstance(W, _OfFormula)


def _least_of_parabola(
    epsilon: Array, at: tuple[int, int], lines: list[Array]
) -> tuple[float, float] | None:
    """Return the least point of the parabola through a place and its neighbours, if it has one."""
    i, j = at
    free = [0 < k < len(line) - 1 for k, line in zip(at, lines, strict=True)]
    if not any(free):
        return None
    x, y = (1 if each else 0 for each in free)
    epsilon = np.minimum(epsilon, _FAR)
    here, left, right = epsilon[i, j], epsilon[i - x, j], epsilon[i + x, j]
    below, above = epsilon[i, j - y], epsilon[i, j + y]
    corners = epsilon[i - x : i + x + 1 : 2, j - y : j + y + 1 : 2] if x and y else np.zeros((2, 2))
    cross = (corners[0, 0] + corners[1, 1] - corners[0, 1] - corners[1, 0]) / 4
    a, b = (left + right - 2 * here if x else 1.0), (below + above - 2 * here if y else 1.0)
    slope_p, slope_q = (right - left) / 2, (above - below) / 2
    bend = a * b - cross * cross
    if not (0 < bend < math.inf and a > 0):
        return None
    steps = ((cross * slope_q - b * slope_p) / bend, (cross * slope_p - a * slope_q) / bend)
    p, q = (
        float(line[k] + step * (line[k + 1] - line[k])) if each else float(line[k])
        for line, k, step, each in zip(lines, at, steps, free, strict=True)
    )
    return p, q


def _look_along(W: _OfFormula, test: Compare, piece: Box, state: Search) -> None:
    """Offer priors on the curve of an equation: where it changes sign along lines, ever closer."""
    inside = _OfFormula(W.expression, tuple(each for each in W.within if each is not test))
    curve = Binary("-", test.left, test.right)
    for axis in (0, 1):
        (low, high), (start, stop) = (piece.p0, piece.p1), (piece.q0, piece.q1)
        if axis == 0:
            (low, high), (start, stop) = (start, stop), (low, high)
        if start == stop:
            continue
        lines, width = _ends(low, high, 24 if low < high else 1), (high - low) / 24
        for _ in range(5 if low < high else 1):
            found = _roots(curve, axis, lines, start, stop)
            if found is None:
                break
            x, at = found
            p, q = (x, at) if axis == 0 else (at, x)
            state.spend(inside, len(p))
            epsilon = _offer(inside, p, q, state)[1]
            best = float(at[np.argmin(epsilon)])
            lines = np.clip(np.linspace(best - width, best + width, 25), low, high)
            width /= 12


def _roots(
    curve: Expression, axis: int, lines: Array, start: float, stop: float
) -> tuple[Array, Array] | None:
    """Return where the curve crosses lines, to neighbouring doubles, and which lines."""
    at, low, high = lines, np.full(len(lines), start), np.full(len(lines), stop)
    for turn in range(20):
        x = _grid(low, high, 64 if turn == 0 else 16)
        y = np.broadcast_to(at[:, None], x.shape)
        p, q = (x.ravel(), y.ravel()) if axis == 0 else (y.ravel(), x.ravel())
        with np.errstate(all="ignore"):
            off = at_points(curve, p, q).reshape(x.shape)
        sign = np.where(np.isnan(off), math.nan, np.where(off > 0, 1.0, -1.0))
        row, column = np.nonzero(sign[:, :-1] * sign[:, 1:] < 0)
        if not len(row):
            return None
        at, low, high = at[row], x[row, column], x[row, column + 1]
    return low, at


def _ends(low: float, high: float, parts: int) -> Array:
    return low + (high - low) * (np.arange(parts + 1) / parts) if parts > 1 else np.array([high])


def _around_best(piece: Box, p: float, q: float, smooth: bool = False) -> Boxes:
    """Cut a piece into boxes that shrink towards a prior, fourfold at each step.

    On both sides of a kink, or of a smooth minimum, ε_i is then monotone on most boxes, and those
    around it are too small to matter: one level proves most profiles.
    """
    dimension = 1 if piece.p_fixed or piece.q_fixed else 2
    steps = (_SMOOTH if smooth else _NEAR)[dimension] * 4.0 ** np.arange(24)
    axes = []
    for low, high, at in ((piece.p0, piece.p1, p), (piece.q0, piece.q1, q)):
        lines = np.concatenate([at - steps, at + steps])
        lines = lines[(lines > low) & (lines < high)]
        axes.append(np.unique(np.concatenate([[low], lines, [high]])))
    return _cross(*axes)


def _cross(p: Array, q: Array) -> Boxes:
    """Return the boxes between lines; one line is a side of no length."""
    (p0, p1), (q0, q1) = ((x[:-1], x[1:]) if len(x) > 1 else (x, x) for x in (p, q))
    return Boxes(
        np.repeat(p0, len(q0)), np.repeat(p1, len(q0)), np.tile(q0, len(p0)), np.tile(q1, len(p0))
    )


def _epsilon(W: Array, p: Array, q: Array) -> Array:
    """ε_i of `one_prior`, for arrays: within a few ulps."""
    with np.errstate(all="ignore"):
        A, B, C, D = p * (1 - q), 1 - p, W - p * q, 1 - W
        R = np.sqrt(B * B + 4 * A * np.maximum(C, 0.0))
        y = 2 * D / (2 * A + B + R)
        large = np.log((B + R) / (2 * C))
        if np.any(tiny := (C > 0) & (C < TINY)):  # the quotient may be ∞, and 4AC lose its digits
            R = np.maximum(B, 2 * np.sqrt(A) * np.sqrt(C))
            large = np.where(tiny, np.log(B + R) - np.log(2 * C), large)
        out = np.where(y < 0.5, -np.log1p(-np.minimum(y, 0.5)), large)
        out = np.where(D <= 0, 0.0, out)
        return np.where(C <= 0, math.inf, out)


def _just_below(w: Array) -> Array:
    """Return a step down, but where w = 1: that is a ratio of 1, which no rounding made."""
    return np.where(w < 1, np.nextafter(w, 0.0), w)


def _corner_bound(w: Array, boxes: Boxes) -> Array:
    with np.errstate(all="ignore"):
        falls = boxes.q0 * (1 + w) <= w
    p = np.where(falls, boxes.p1, boxes.p0)
    # A step up covers the rounding of pq, which C = w − pq may be as small as; 0 asks for nothing.
    above = np.where(w > 0, np.nextafter(np.minimum(w, 1.0), 2.0), 0.0)
    bound = _epsilon(above, p, boxes.q0)
    return np.asarray(bound * _SLACK)


def _offer_points(W: Reciprocal, boxes: Boxes, least: int, state: Search) -> Array:
    """Try the centres of the boxes, and the corners of the one that looks least.

    Return an upper bound of W at the centres.
    """
    corners_p = [boxes.p0[least], boxes.p0[least], boxes.p1[least], boxes.p1[least]]
    corners_q = [boxes.q0[least], boxes.q1[least], boxes.q0[least], boxes.q1[least]]
    p = np.concatenate([(boxes.p0 + boxes.p1) / 2, corners_p])
    q = np.concatenate([(boxes.q0 + boxes.q1) / 2, corners_q])
    return _offer(W, p, q, state)[0][: len(boxes)]


def _offer(W: Reciprocal, p: Array, q: Array, state: Search) -> tuple[Array, Array]:
    """Offer these priors; return upper bounds of W and ε_i at each."""
    at, undefined = W.over(Boxes(p, p, q, q), "")
    epsilon = _epsilon(_just_below(np.maximum(at.low, 0.0)), p, q) / _SLACK
    epsilon = np.where(undefined, math.inf, epsilon)
    state.offer(epsilon, p, q)
    return at.high, epsilon


def _take(enclosed: Enclosure, keep: Mask) -> Enclosure:
    def some(span: Span | None) -> Span | None:
        if span is None:
            return None
        low, high = (np.broadcast_to(end, keep.shape)[keep] for end in span)
        return low, high

    return replace(
        enclosed,
        low=enclosed.low[keep],
        high=enclosed.high[keep],
        slope_p=some(enclosed.slope_p),
        slope_q=some(enclosed.slope_q),
    )


def _slopes(boxes: Boxes, enclosed: Enclosure, u0: Array, u1: Array) -> tuple[Span, Span]:
    """Enclose ∂G/∂p and ∂G/∂q over boxes, for u between u0 and u1.

    ∂S/∂p = q(1−u²) + u² − u rises in q and is convex in u; ∂S/∂q = p(1−u²).
    """
    zero: Span = (np.zeros(1), np.zeros(1))
    W_p, W_q = enclosed.slope_p or zero, enclosed.slope_q or zero
    with np.errstate(all="ignore"):
        lowest = np.clip(1 / (2 * (1 - boxes.q0)), u0, u1)
        S_p_low = boxes.q0 * (1 - lowest * lowest) + lowest * lowest - lowest
        S_p_high = np.maximum(
            boxes.q1 * (1 - u0 * u0) + u0 * u0 - u0, boxes.q1 * (1 - u1 * u1) + u1 * u1 - u1
        )
        S_q_low, S_q_high = boxes.p0 * (1 - u1 * u1), boxes.p1 * (1 - u0 * u0)
        along_p = (S_p_low - W_p[1] - _ROUNDING, S_p_high - W_p[0] + _ROUNDING)
        along_q = (S_q_low - W_q[1] - _ROUNDING, S_q_high - W_q[0] + _ROUNDING)
    return along_p, along_q


def _collapse(
    boxes: Boxes, enclosed: Enclosure, bound: Array, undefined: Mask, upper: float
) -> Boxes:
    """Shrink boxes to the face that must hold the least ε_i, where slopes have a fixed sign."""
    u0 = np.full(len(boxes), math.exp(-upper) * (1 - 1e-12))
    u1 = np.minimum(1.0, np.exp(-bound) * (1 + 1e-12))
    (p_low, p_high), (q_low, q_high) = _slopes(boxes, enclosed, u0, u1)
    known = ~undefined
    p1 = np.where(known & (p_low >= 0), boxes.p0, boxes.p1)
    p0 = np.where(known & (p_high <= 0), boxes.p1, boxes.p0)
    q1 = np.where(known & (q_low >= 0), boxes.q0, boxes.q1)
    q0 = np.where(known & (q_high <= 0), boxes.q1, boxes.q0)
    return Boxes(np.minimum(p0, p1), np.maximum(p0, p1), np.minimum(q0, q1), np.maximum(q0, q1))


def _slope_bound(
    w: Array,
    boxes: Boxes,
    enclosed: Enclosure,
    target: float,
    beside: tuple[Enclosure, Enclosure, bool] | None = None,
) -> Mask:
    """Prove G ≥ 0 at the target from its value at the centre, where W ≤ w, and its slopes.

    With g ≥ 0 on the priors that count (`beside`), G ≥ 0 there if G − λg ≥ 0 on the box for some
    λ ≥ 0, of any sign where g = 0 on them. The λ taken leaves the least slope across g = 0.
    """
    u = math.exp(-target)
    p, q = (boxes.p0 + boxes.p1) / 2, (boxes.q0 + boxes.q1) / 2
    half_p, half_q = (boxes.p1 - boxes.p0) / 2, (boxes.q1 - boxes.q0) / 2
    along_p, along_q = _slopes(boxes, enclosed, np.full(1, u), np.full(1, u))
    with np.errstate(all="ignore"):
        S = p * q + u * u * (1 - q) * p + u * (1 - p)
        if beside is not None:
            over, centre, on_line = beside
            zero: Span = (np.zeros(1), np.zeros(1))
            g_p, g_q = over.slope_p or zero, over.slope_q or zero
            weighed = [(along_p, g_p, half_p), (along_q, g_q, half_q)]
            across = sum((a[0] + a[1]) * (g[0] + g[1]) * h * h for a, g, h in weighed)
            most = sum((g[0] + g[1]) ** 2 * h * h for _, g, h in weighed)
            times = np.where((most > 0) & np.isfinite(across), across / most, 0.0)
            times = times if on_line else np.maximum(times, 0.0)
            along_p, along_q = (_less(a, times, g) for a, g, _ in weighed)
            w = w + _more(times * centre.low, times * centre.high)
        drop = half_p * np.maximum(-along_p[0], along_p[1]) + half_q * np.maximum(
            -along_q[0], along_q[1]
        )
        # A NaN (a width of 0 times an unknown slope) is no proof.
        # Nor are sums of numbers that are below the least double.
        return np.asarray(S * _SLACK - w - drop * (1 + 1e-14) >= _LEAST)


def _less(a: Span, times: Array, g: Span) -> Span:
    """Enclose a − λg for numbers λ."""
    x, y = times * g[0], times * g[1]
    return a[0] - _more(x, y), a[1] + _more(-x, -y)


def _more(x: Array, y: Array) -> Array:
    """Return the larger of two products, with what their rounding and a sum's may add."""
    return np.asarray(np.maximum(x, y) + 1e-15 * (1 + np.abs(x) + np.abs(y)))


def _near_certainty(
    W: Reciprocal, piece: Box, slopes: str, state: Search
) -> tuple[Boxes, Enclosure] | None:
    """Where W = 1 at p = q = 1: boxes that end there, with W on them; offer the limits of ε_i.

    What cannot be told from 1 is taken for it: it matters at priors as near to certainty only.
    """
    one, inside = np.ones(1), True
    if piece.p1 * piece.q1 < 1:
        return None
    if isinstance(W, _OfFormula) and W.within:
        beside = np.full(1, 1 - _TINY)
        within, without = W.sides(Boxes(beside, one, beside, one))
        if without[0]:
            return None
        W, inside = _OfFormula(W.expression), bool(within[0])
    if W.at(one, one)[0] < 1 - 1e-9:
        return None
    widths = np.append(0.0, 10.0 ** -np.arange(1, 14))
    one = np.ones_like(widths)
    near = Boxes(np.maximum(piece.p0, 1 - widths), one, np.maximum(piece.q0, 1 - widths), one)
    enclosed, undefined = W.over(near, slopes)
    if undefined[0] or not enclosed.low[0] <= 1 <= enclosed.high[0] <= 1 + 16 * ULP:
        return None
    for share, span in ((1.0, enclosed.slope_p), (0.5, enclosed.slope_q)):
        least, most = (float(end[0]) for end in span) if span else (0.0, 1.0)
        if not least > -math.inf:  # not known, or no slope at all
            if isinstance(W, _OfFormula):
                continue  # rays may tell
            raise _unproved_at_certainty()
        if most < 1 and inside:
            state.offer(np.array([-share * math.log1p(-most)]), one, one)
    return near[~undefined], _take(enclosed, ~undefined)


def _certain_from(near: Boxes, enclosed: Enclosure, target: float) -> tuple[float, float]:
    """Return the p and q above which G ≥ 0 at the target, as it falls to 0 at p = q = 1."""
    u = np.full(1, math.exp(-target))
    along_p, along_q = _slopes(near, enclosed, u, u)
    falls = ((near.p0 == 1) | (along_p[1] <= 0)) & ((near.q0 == 1) | (along_q[1] <= 0))
    p0, q0 = (float(np.min(ends, where=falls, initial=1.0)) for ends in (near.p0, near.q0))
    return p0, q0


def _along_rays(W: Reciprocal, piece: Box, state: Search, relative: float) -> tuple[float, float]:
    """Return the side of a square that ends at p = q = 1, and an ε that is kept on all of it.

    Priors beside the corner are offered first; then the least ε that they leave is tried, and lower
    ones until a proof is found. Without one the side is 0.
    """
    fall, share = 3e-8, np.linspace(0, 1, 65)
    charts = [("p", not piece.q_fixed)] if not piece.p_fixed else []
    charts += [("q", not piece.p_fixed)] if not piece.q_fixed else []
    for first, _ in charts:
        s, best = share, 0.0
        for _ in range(4):
            p, q = (1 - fall, 1 - s * fall) if first == "p" else (1 - s * fall, 1 - fall)
            p, q = np.broadcast_arrays(p, q)
            inside = (p >= piece.p0) & (p <= piece.p1) & (q >= piece.q0) & (q <= piece.q1)
            if not inside.any():
                break
            found = _offer(W, p[inside], q[inside], state)[1]
            best, width = float(s[inside][np.argmin(found)]), float(s[-1] - s[0]) / 32
            s = np.clip(np.linspace(best - width, best + width, 65), 0, 1)
    if not isinstance(W, _OfFormula) or math.isinf(state.upper):
        return 0.0, math.inf
    # W = min(a, b) is kept where a alone is
    whole = W.expression
    ways = (
        [whole, *whole.arguments]
        if isinstance(whole, Call) and whole.function == "min"
        else [whole]
    )
    gap = _target_gap(state.upper, relative)
    ends, left = ((piece.p0, piece.p1), (piece.q0, piece.q1)), [state.left / 2]
    room = min(high - low for low, high in ends if low < high)
    for times, side in _WIDER_AND_SMALLER:
        target = state.upper - times * gap
        if times == _WIDER_AND_SMALLER[-1][0]:  # the last hope: some work is always left for it
            left[0] = max(left[0], 3 * _RAYS)
        if side <= room and all(
            any(_rises(way, first, side, wide, target, left) for way in ways)
            for first, wide in charts
        ):
            break
    else:
        side, target = 0.0, math.inf
    state.left = state.left / 2 + left[0]
    return side, target


def _rises(
    e: Expression, first: str, side: float, wide: bool, target: float, left: list[float]
) -> bool:
    """Prove ∂G/∂t ≥ 0 on all rays up to t = side, at the target.

    ∂S/∂t = −(1−u) − s(1−u²) + 2st(1−u²), with u and u² changed about where q falls first, rises
    in t and is linear in s.
    """
    u = math.exp(-target)
    steep, flat = (1 - u, 1 - u * u) if first == "p" else (1 - u * u, 1 - u)
    both, zero, along_rays = 1 - u * u, np.zeros(1), on_rays(e, first)
    parts = sum(1 for _ in walk(along_rays))

    def rise(boxes: Boxes) -> tuple[Array, Array]:
        left[0] -= parts * (len(boxes) + _CALL)
        enclosed, undefined = enclose(along_rays, boxes, slopes="p")
        low, high = enclosed.slope_p or (zero, zero)
        a0, a1, b0, b1 = (
            2 * s * t * both - steep - s * flat
            for t in (boxes.p0, boxes.p1)
            for s in (boxes.q0, boxes.q1)
        )
        least = np.where(undefined, -math.inf, np.minimum(a0, a1) - high)
        return least, np.where(undefined, math.inf, np.maximum(b0, b1) - low)

    t, s = np.repeat(side * _FROM_CORNER, 9), np.tile(float(wide) * _EVENLY, 9)
    if np.any(rise(Boxes(t, t, s, s))[1] < 0):
        return False
    boxes = Boxes(zero, np.full(1, side), zero, np.full(1, float(wide)))
    least_left = left[0] - _RAYS
    while len(boxes) and left[0] > max(0.0, least_left):
        low, high = rise(boxes)
        if np.any(high < 0):
            return False
        boxes = boxes[~(low >= _ROUNDING)]
        t, s = (boxes.p0 + boxes.p1) / 2, (boxes.q0 + boxes.q1) / 2
        thin = ((boxes.p0, t), (boxes.p1, t), (s, boxes.q0), (s, boxes.q1))
        low, high = rise(Boxes(*map(np.concatenate, thin)))
        (low_t, low_s), (high_t, high_s) = np.split(low, 2), np.split(high, 2)
        with np.errstate(invalid="ignore"):
            along = ~(high_s - low_s > high_t - low_t)[:, None]  # unknown: cut along the ray
        near = np.where(boxes.p0[:, None] == 0, _FROM_CORNER, _EVENLY)
        p = boxes.p0[:, None] + np.where(along, near, _WHOLE) * (boxes.p1 - boxes.p0)[:, None]
        q = boxes.q0[:, None] + np.where(along, _WHOLE, _EVENLY) * (boxes.q1 - boxes.q0)[:, None]
        a, b = slice(None, -1), slice(1, None)
        many = np.broadcast_to(along, (len(boxes), 8))
        p0, p1 = np.where(many, p[:, a], p[:, :1]), np.where(many, p[:, b], p[:, -1:])
        q0, q1 = np.where(many, q[:, :1], q[:, a]), np.where(many, q[:, -1:], q[:, b])
        boxes = Boxes(p0.ravel(), p1.ravel(), q0.ravel(), q1.ravel())
    return not len(boxes)


def _unproved_at_certainty() -> ToleranceError:
    return ToleranceError("budgets.unproved_at_certainty")


def _settle(
    W: Reciprocal,
    boxes: Boxes,
    enclosed: Enclosure,
    bound: Array,
    state: Search,
    relative: float,
) -> float:
    """Return the highest target that the boxes at hand prove, when cutting on costs too much."""
    w = W.over(_centres(boxes), "")[0].high
    least, gap = float(np.min(bound)), _tolerance(state.upper, relative)
    while (target := state.upper - gap) > least:
        if np.all((bound >= target) | _slope_bound(w, boxes, enclosed, target)):
            return target
        gap *= 2
    return least


def _sizes(boxes: Boxes) -> Array:
    return np.maximum(boxes.p1 - boxes.p0, boxes.q1 - boxes.q0)


def _centres(boxes: Boxes) -> Boxes:
    p, q = (boxes.p0 + boxes.p1) / 2, (boxes.q0 + boxes.q1) / 2
    return Boxes(p, p, q, q)


def _refuse_undefined(W: Reciprocal, boxes: Boxes) -> None:
    """Follow an undefined box down; refuse if it stays undefined down to the size of dust."""
    for _ in range(400):
        if not len(boxes):
            return
        first = boxes[np.array([len(boxes) - 1])]
        rest = boxes[np.arange(len(boxes) - 1)]
        if _sizes(first)[0] < _TINY:
            break
        children = _cut(first)
        _, undefined = W.over(children, "")
        children = children[undefined]
        boxes = Boxes(
            *(np.concatenate([getattr(rest, end), getattr(children, end)]) for end in ENDS)
        )
    p, q = float(first.p0[0] + first.p1[0]) / 2, float(first.q0[0] + first.q1[0]) / 2
    raise FormulaError("budgets.no_value_near", p=p, q=q)

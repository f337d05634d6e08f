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

5. *bowls*: where the profile is smooth, second derivatives prove a whole box about the worst prior
   at once (`bowls`); the rest is far from it, and a first look over a few boxes proves most of it.

A target only falls when a better prior is found, and what was proved at a higher target holds at a
lower one. So in the end best − tol ≤ true infimum ≤ best. All bounds are from interval arithmetic
with outward rounding; a grid, by contrast, errs on the unsafe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from discreet.budgets.enclosures import around_best, cut, sizes, uncut
from discreet.budgets.finding import (
    Search,
    coarse_look,
    look_along,
    look_around,
    offer,
    offer_points,
    target_gap,
)
from discreet.budgets.proving import (
    DUST,
    along_rays,
    beside_bowl,
    certain_from,
    collapse,
    corner_bound,
    dive,
    line_of,
    near_certainty,
    no_better,
    refuse_undefined,
    settle,
    slope_bound,
    unproved_at_certainty,
)
from discreet.budgets.reciprocals import OfFormula, OfFunction, Reciprocal
from discreet.budgets.structure import branches, guarded, pieces, reciprocal
from discreet.promises.box import Box
from discreet.promises.formula import Expression, evaluate, is_constant
from discreet.promises.shapes.ratio import least_for_ratio
from discreet.promises.tolerance import Tolerance

_RELATIVE = {1: 2e-10, 2: 2e-8}  # of ε, by the dimension of the piece
_PATIENCE, _ENOUGH = 4_000, 9e-7  # after so many boxes, this tolerance will do
_LONGER = 60_000  # boxes after which a budget that is plenty will do
_LOST = 1_000  # boxes that are left when the best prior may not have been seen yet
_HURRY = 3_000  # boxes after which a budget that is plenty, and has no prior against it, will do
_BESIDE = 1e-5  # a square beside p = q = 1 that is too small for digits to tell
_PLENTY = 5.0  # noise of that budget leaves 99 of 100 counts as they are: more buys nothing


def search(expression: Expression, box: Box) -> Search:
    """Return lower and upper bounds of the largest budget that keeps r* on the box."""
    state = Search(p=box.p1, q=box.q1)
    margin = 0.0
    found_at: list[tuple[float, int, Iterator[float]]] = []
    parted = [
        (*branch, piece)
        for whole, piece in pieces(guarded(expression), box)
        for branch in branches(whole, piece)
    ]
    for within, part, piece in parted:
        if is_constant(part) and not within:
            lower, *upper_at = least_for_ratio(evaluate(part, 1.0, 1.0), piece)
            state.lower = min(state.lower, lower)
            state.offer_one(*upper_at)
            continue
        dimension = 1 if piece.p_fixed or piece.q_fixed else 2
        inverse = OfFormula(reciprocal(part), within)
        epsilon, *at = coarse_look(inverse, piece)
        one = _search_piece(inverse, piece, (at[0], at[1]), state, _RELATIVE[dimension])
        found_at.append((epsilon, len(found_at), one))
    searches = [each for _, _, each in sorted(found_at)]  # the best first
    while searches:  # one level of each in turn: they share the best prior, and the work
        steps = [(each, next(each, None)) for each in searches]
        margin = max([margin, *(relative for _, relative in steps if relative is not None)])
        searches = [each for each, relative in steps if relative is not None]
    if margin > 0:
        state.lower = min(state.lower, state.upper - target_gap(state.upper, margin))
    return state


def search_monotone(profile: Tolerance) -> Search:
    """Return bounds of the largest budget for a function of declared monotonicity.

    They hold if it is monotone as declared. That is tried, and cannot be proved.
    """
    state, W = Search(p=profile.box.p1, q=profile.box.q1), OfFunction(profile)
    W.look_for_lies()
    dimension = 1 if profile.box.p_fixed or profile.box.q_fixed else 2
    _, at, _ = coarse_look(W, profile.box)
    offer(W, np.array(at[:1]), np.array(at[1:]), state)
    relative = max(_search_piece(W, profile.box, (at, at), state, _RELATIVE[dimension]))
    state.lower = min(state.lower, state.upper - target_gap(state.upper, relative))
    return state


def _search_piece(
    W: Reciprocal,
    piece: Box,
    at: tuple[tuple[float, float], tuple[float, float]],
    state: Search,
    relative: float,
) -> Iterator[float]:
    """Search one piece, level by level; yield the tolerance that is proved, relative to ε.

    It starts at the best prior that was seen, or where a parabola has its least.
    """
    within = W.within if isinstance(W, OfFormula) else ()
    if state.upper < math.inf and no_better(W, piece, state, relative):
        yield relative
        return
    if isinstance(W, OfFormula):
        for test in (test for test in within if test.op == "=="):
            look_along(W, test, piece, state)
    slopes = ("" if piece.p_fixed else "p") + ("" if piece.q_fixed else "q")
    boxes = beside_bowl(W, piece, at[1], state, relative)
    if boxes is None:
        boxes = around_best(piece, *look_around(W, piece, at[0]))
    elif not len(boxes):
        yield relative
        return
    certain = near_certainty(W, piece, slopes, state)
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
            refuse_undefined(W, boxes[undefined])
        bound = corner_bound(enclosed.high, boxes)
        bound = np.where(undefined | np.isnan(bound), 0.0, bound)
        keep = bound < state.upper - target_gap(state.upper, relative)
        if not keep.any():
            break
        boxes, bound, undefined = boxes[keep], bound[keep], undefined[keep]
        enclosed = enclosed[keep]
        if level >= 1 and len(boxes) > _LOST:
            dive(W, boxes[np.array([np.argmin(bound)])], state)
        patience = _LONGER if state.upper < math.inf else _HURRY
        plenty = state.boxes - before > patience and np.min(bound) > _PLENTY
        if plenty or 4 * len(boxes) * W.parts > state.left:
            settled = settle(W, boxes, enclosed, bound, state, relative)
            if settled <= 0 and certain is not None:
                raise unproved_at_certainty()
            state.lower = min(state.lower, settled)
            break
        points = uncut(boxes.p0, boxes.p1) & uncut(boxes.q0, boxes.q1)
        # The face that holds the least value need not lie within.
        partly = ~W.sides(boxes)[0] if isinstance(W, OfFormula) and within else undefined
        boxes = collapse(boxes, enclosed, bound, undefined | partly, state.upper)
        w = offer_points(W, boxes, int(np.argmin(bound)), state)
        target = state.upper - target_gap(state.upper, relative)
        proved = (bound >= target) | (slope_bound(w, boxes, enclosed, target) & ~undefined)
        for test in within:
            beside = line_of(test, boxes, slopes)
            proved |= slope_bound(w, boxes, enclosed, target, beside) & ~undefined
        if certain is not None:
            p0, q0 = certain_from(*certain, target)
            proved |= (boxes.p0 >= p0) & (boxes.q0 >= q0)
            corner = (np.minimum(boxes.p1, boxes.q1) > 1 - _BESIDE) & ~proved
            if rays is None and corner.any() and p0 * q0 > 1 - _BESIDE:
                rays = along_rays(W, piece, state, relative)
                state.lower = min(state.lower, rays[1])
            if rays is not None:
                proved |= (boxes.p0 >= 1 - rays[0]) & (boxes.q0 >= 1 - rays[0])
            ends_there = (boxes.p1 == 1) & (boxes.q1 == 1)
            if np.any(ends_there & ~proved & (sizes(boxes) < DUST)):
                raise unproved_at_certainty()
        # A point that is not proved has lost its digits to rounding; cutting cannot help it.
        lost = points & ~proved
        state.lower = min(state.lower, float(np.min(bound, where=lost, initial=math.inf)))
        boxes = boxes[~(proved | lost)]
        fits = 18 * len(boxes) * W.parts < state.left
        boxes = cut(boxes, 3 if fits else 2)
        level += 1
        yield relative
    yield relative

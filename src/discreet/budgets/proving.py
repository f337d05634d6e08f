"""Proofs over boxes: what shows that no prior of a box has an ε_i below a target.

Notation and the bounds 1 to 3 are in `search`. A box that no bound proves is cut up there.

Beside p = q = 1 there are proofs where 1 − W and W − pq vanish together (4 in `search`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from discreet.beliefs.one_prior import ULP
from discreet.budgets.bowls import bowl
from discreet.budgets.enclosures import (
    ACROSS,
    ENDS,
    Array,
    Boxes,
    Enclosure,
    Mask,
    Span,
    centres_of,
    cross,
    cut,
    enclose,
    grid,
    outward,
    sizes,
)
from discreet.budgets.finding import (
    CALL,
    MOST_WORK,
    SLACK,
    Search,
    epsilon_of,
    offer,
    offer_points,
    target_gap,
    tolerance,
)
from discreet.budgets.reciprocals import OfFormula, Reciprocal
from discreet.budgets.structure import on_rays
from discreet.errors import FormulaError, ToleranceError
from discreet.promises.box import Box
from discreet.promises.formula import Binary, Call, Compare, Expression, walk

SPECK = 1e-9  # a box that small and still undefined is taken for a true singularity
_LEAST = 1e-322
_Ends: TypeAlias = tuple[Array, Array]
ROUNDING = 1e-14  # of slopes of S, whose terms are at most 1
DUST = 1e-13  # a box that small beside p = q = 1 and still not proved never will be


def corner_bound(w: Array, boxes: Boxes) -> Array:
    """Return the least ε_i that a box may hold, with W ≤ w on it."""
    with np.errstate(all="ignore"):
        falls = boxes.q0 * (1 + w) <= w
    p = np.where(falls, boxes.p1, boxes.p0)
    # A step up covers the rounding of pq, which C = w − pq may be as small as; 0 asks for nothing.
    above = np.where(w > 0, np.nextafter(np.minimum(w, 1.0), 2.0), 0.0)
    bound = epsilon_of(above, p, boxes.q0)
    return np.asarray(bound * SLACK)


def no_better(W: Reciprocal, piece: Box, state: Search, relative: float) -> bool:
    """Say whether a few boxes show that a piece holds nothing below the best."""
    many = 16 if piece.p_fixed or piece.q_fixed else 5
    boxes = cross(*(
        grid(np.array([low]), np.array([high]), many)[0] if low < high else np.array([low])
        for low, high in ((piece.p0, piece.p1), (piece.q0, piece.q1))
    ))  # fmt: skip
    state.boxes += len(boxes)
    state.spend(W, len(boxes))
    enclosed, undefined = W.over(boxes, "")
    least = state.upper - target_gap(state.upper, relative)
    return bool(np.all((corner_bound(enclosed.high, boxes) >= least) & ~undefined))


def line_of(test: Compare, boxes: Boxes, slopes: str) -> tuple[Enclosure, Enclosure, bool]:
    """Enclose what is 0 on the line of a comparison and above 0 where it holds.

    Over the boxes, and at their centres; and say whether it holds on the line alone.
    """
    left, right = (test.right, test.left) if test.op in ("<", "<=") else (test.left, test.right)
    above = Binary("-", left, right)
    over, unknown = enclose(above, boxes, slopes=slopes)
    centre, _ = enclose(above, centres_of(boxes), slopes="")
    low, high = (np.where(unknown, math.nan, end) for end in (centre.low, centre.high))
    return over, replace(centre, span=np.array([low, high])), test.op == "=="


def slopes(boxes: Boxes, enclosed: Enclosure, u0: Array, u1: Array) -> tuple[_Ends, _Ends]:
    """Enclose ∂G/∂p and ∂G/∂q over boxes, for u between u0 and u1.

    ∂S/∂p = q(1−u²) + u² − u rises in q and is convex in u; ∂S/∂q = p(1−u²).
    """
    W_p, W_q = enclosed.slopes
    with np.errstate(all="ignore"):
        lowest = np.clip(1 / (2 * (1 - boxes.q0)), u0, u1)
        S_p_low = boxes.q0 * (1 - lowest * lowest) + lowest * lowest - lowest
        S_p_high = np.maximum(
            boxes.q1 * (1 - u0 * u0) + u0 * u0 - u0, boxes.q1 * (1 - u1 * u1) + u1 * u1 - u1
        )
        S_q_low, S_q_high = boxes.p0 * (1 - u1 * u1), boxes.p1 * (1 - u0 * u0)
        along_p = (S_p_low - W_p[1] - ROUNDING, S_p_high - W_p[0] + ROUNDING)
        along_q = (S_q_low - W_q[1] - ROUNDING, S_q_high - W_q[0] + ROUNDING)
    return along_p, along_q


def collapse(
    boxes: Boxes, enclosed: Enclosure, bound: Array, undefined: Mask, upper: float
) -> Boxes:
    """Shrink boxes to the face that must hold the least ε_i, where slopes have a fixed sign."""
    u0 = np.full(len(boxes), math.exp(-upper) * (1 - 1e-12))
    u1 = np.minimum(1.0, np.exp(-bound) * (1 + 1e-12))
    (p_low, p_high), (q_low, q_high) = slopes(boxes, enclosed, u0, u1)
    known = ~undefined
    p1 = np.where(known & (p_low >= 0), boxes.p0, boxes.p1)
    p0 = np.where(known & (p_high <= 0), boxes.p1, boxes.p0)
    q1 = np.where(known & (q_low >= 0), boxes.q0, boxes.q1)
    q0 = np.where(known & (q_high <= 0), boxes.q1, boxes.q0)
    return Boxes(np.minimum(p0, p1), np.maximum(p0, p1), np.minimum(q0, q1), np.maximum(q0, q1))


def slope_bound(
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
    along_p, along_q = slopes(boxes, enclosed, np.full(1, u), np.full(1, u))
    with np.errstate(all="ignore"):
        S = _share(p, q, u)
        if beside is not None:
            over, centre, on_line = beside
            g_p, g_q = over.slopes
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
        return np.asarray(S * SLACK - w - drop * (1 + 1e-14) >= _LEAST)


def _share(p: Array, q: Array, u: Array | float) -> Array:
    return np.asarray(p * q + u * u * (1 - q) * p + u * (1 - p))


def _less(a: _Ends, times: Array, g: Span) -> _Ends:
    """Enclose a − λg for numbers λ."""
    x, y = times * g[0], times * g[1]
    return a[0] - _more(x, y), a[1] + _more(-x, -y)


def _more(x: Array, y: Array) -> Array:
    """Return the larger of two products, with what their rounding and a sum's may add."""
    return np.asarray(np.maximum(x, y) + 1e-15 * (1 + np.abs(x) + np.abs(y)))


def settle(
    W: Reciprocal,
    boxes: Boxes,
    enclosed: Enclosure,
    bound: Array,
    state: Search,
    relative: float,
) -> float:
    """Return the highest target that the boxes at hand prove, when cutting on costs too much."""
    w = W.over(centres_of(boxes), "")[0].high
    least, gap = float(np.min(bound)), tolerance(state.upper, relative)
    while (target := state.upper - gap) > least:
        if np.all((bound >= target) | slope_bound(w, boxes, enclosed, target)):
            return target
        gap *= 2
    return least


def beside_bowl(
    W: Reciprocal, piece: Box, at: tuple[float, float], state: Search, relative: float
) -> Boxes | None:
    """Prove a box about the worst prior at once, where the formula is smooth.

    Return boxes of the rest that a first look at them does not prove.
    """
    if not isinstance(W, OfFormula) or W.within:
        return None

    def target(epsilon: float) -> float:
        best = min(epsilon, state.upper)
        return best - target_gap(best, relative)

    found = bowl(W.expression, piece, at, target)
    if found is None:
        return None
    state.offer_one(found.epsilon, *found.at)
    ends = ((piece.p0, piece.p1), (piece.q0, piece.q1))
    many = ACROSS[sum(low < high for low, high in ends)]
    boxes = cross(*(outward(*each, many) for each in zip(ends, found[:2], strict=True)))
    (p0, p1), (q0, q1) = found[:2]
    inside = (boxes.p0 >= p0) & (boxes.p1 <= p1) & (boxes.q0 >= q0) & (boxes.q1 <= q1)
    boxes = boxes[~inside]
    state.boxes += len(boxes)
    state.spend(W, len(boxes))
    enclosed, undefined = W.over(boxes, "")
    aim = np.array([math.exp(-target(state.upper)) * (1 - 1e-15)])
    with np.errstate(all="ignore"):
        # at a corner: S rises in q, and in p where q(1−u²) > u − u²
        p = np.where(boxes.q0 * (1 + aim) >= aim, boxes.p0, boxes.p1)
        proved = _share(p, boxes.q0, aim) * SLACK - enclosed.high >= _LEAST
    return boxes[~proved | undefined]


def refuse_undefined(W: Reciprocal, boxes: Boxes) -> None:
    """Follow an undefined box down; refuse if it stays undefined down to the size of dust."""
    for _ in range(400):
        if not len(boxes):
            return
        first = boxes[np.array([len(boxes) - 1])]
        rest = boxes[np.arange(len(boxes) - 1)]
        if sizes(first)[0] < SPECK:
            break
        children = cut(first)
        _, undefined = W.over(children, "")
        children = children[undefined]
        boxes = Boxes(
            *(np.concatenate([getattr(rest, end), getattr(children, end)]) for end in ENDS)
        )
    p, q = float(first.p0[0] + first.p1[0]) / 2, float(first.q0[0] + first.q1[0]) / 2
    raise FormulaError("budgets.no_value_near", p=p, q=q)


def dive(W: Reciprocal, box: Boxes, state: Search) -> None:
    """Follow the box of the least bound down, and offer the priors on the way.

    A narrow valley is seen by enclosures long before a centre falls into it.
    """
    while sizes(box)[0] > DUST and state.left > 0:
        children = cut(box)
        state.spend(W, len(children))
        if len(children) == 1:
            break
        enclosed, undefined = W.over(children, "")
        bound = np.where(undefined, math.inf, corner_bound(enclosed.high, children))
        box = children[np.array([np.argmin(bound)])]
        offer_points(W, box, 0, state)


_EVENLY, _WHOLE = np.arange(9) / 8, np.append(np.zeros(8), 1.0)
_FROM_CORNER = np.append(0.0, 4.0 ** -np.arange(7, -1, -1))
_RAYS = MOST_WORK / 24  # the work of one proof along rays
# What is tried along rays: times the tolerance, and the side of the square beside p = q = 1.
_WIDER_AND_SMALLER = (
    *((1, 0.2), (10, 0.2), (10, 1e-3), (1e3, 0.2), (10, 1e-6), (1e3, 1e-3), (1e5, 0.2)),
    *((1e5, 1e-3), (1e7, 0.2), (1e7, 1e-3), (1e7, 1e-6)),
)


def near_certainty(
    W: Reciprocal, piece: Box, slopes: str, state: Search
) -> tuple[Boxes, Enclosure] | None:
    """Where W = 1 at p = q = 1: boxes that end there, with W on them; offer the limits of ε_i.

    What cannot be told from 1 is taken for it: it matters at priors as near to certainty only.
    """
    one, inside = np.ones(1), True
    if piece.p1 * piece.q1 < 1:
        return None
    if isinstance(W, OfFormula) and W.within:
        beside = np.full(1, 1 - SPECK)
        within, without = W.sides(Boxes(beside, one, beside, one))
        if without[0]:
            return None
        W, inside = OfFormula(W.expression), bool(within[0])
    if W.at(one, one)[0] < 1 - 1e-9:
        return None
    widths = np.append(0.0, 10.0 ** -np.arange(1, 14))
    one = np.ones_like(widths)
    near = Boxes(np.maximum(piece.p0, 1 - widths), one, np.maximum(piece.q0, 1 - widths), one)
    enclosed, undefined = W.over(near, slopes)
    if undefined[0] or not enclosed.low[0] <= 1 <= enclosed.high[0] <= 1 + 16 * ULP:
        return None
    for share, span in ((1.0, enclosed.slope_p), (0.5, enclosed.slope_q)):
        least, most = (float(end[0]) for end in span) if span is not None else (0.0, 1.0)
        if not least > -math.inf:  # not known, or no slope at all
            if isinstance(W, OfFormula):
                continue  # rays may tell
            raise unproved_at_certainty()
        if most < 1 and inside:
            state.offer(np.array([-share * math.log1p(-most)]), one, one)
    return near[~undefined], enclosed[~undefined]


def certain_from(near: Boxes, enclosed: Enclosure, target: float) -> tuple[float, float]:
    """Return the p and q above which G ≥ 0 at the target, as it falls to 0 at p = q = 1."""
    u = np.full(1, math.exp(-target))
    along_p, along_q = slopes(near, enclosed, u, u)
    falls = ((near.p0 == 1) | (along_p[1] <= 0)) & ((near.q0 == 1) | (along_q[1] <= 0))
    p0, q0 = (float(np.min(ends, where=falls, initial=1.0)) for ends in (near.p0, near.q0))
    return p0, q0


def along_rays(W: Reciprocal, piece: Box, state: Search, relative: float) -> tuple[float, float]:
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
            found = offer(W, p[inside], q[inside], state)[1]
            best, width = float(s[inside][np.argmin(found)]), float(s[-1] - s[0]) / 32
            s = np.clip(np.linspace(best - width, best + width, 65), 0, 1)
    if not isinstance(W, OfFormula) or math.isinf(state.upper):
        return 0.0, math.inf
    # W = min(a, b) is kept where a alone is; rays start at G = 0, so only where a is 1 there too
    whole, one = W.expression, np.ones(1)
    ways = [whole]
    if isinstance(whole, Call) and whole.function == "min":
        corner = Boxes(one, one, one, one)
        ways += [a for a in whole.arguments if enclose(a, corner)[0].high[0] <= 1 + 16 * ULP]
    gap = target_gap(state.upper, relative)
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
        left[0] -= parts * (len(boxes) + CALL)
        enclosed, undefined = enclose(along_rays, boxes, slopes="p")
        low, high = enclosed.slopes[0]
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
        boxes = boxes[~(low >= ROUNDING)]
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


def unproved_at_certainty() -> ToleranceError:
    """Return the refusal of what cannot be proved beside p = q = 1."""
    return ToleranceError("budgets.unproved_at_certainty")

"""Beside p = q = 1: proofs where 1 − W and W − pq vanish together (4 in `search`)."""

from __future__ import annotations

import math

import numpy as np

from discreet.beliefs.one_prior import ULP
from discreet.budgets.enclosures import Array, Boxes, Enclosure, enclose
from discreet.budgets.finding import CALL, MOST_WORK, Search, offer, target_gap
from discreet.budgets.proving import ROUNDING, SPECK, slopes
from discreet.budgets.reciprocals import OfFormula, Reciprocal
from discreet.budgets.structure import on_rays
from discreet.errors import ToleranceError
from discreet.promises.box import Box
from discreet.promises.formula import Call, Expression, walk

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

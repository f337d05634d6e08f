"""Boxes of priors: how a piece is cut up, about its worst prior and level by level."""

from __future__ import annotations

import math

import numpy as np

from discreet.budgets.enclosures import Array, Boxes, Mask
from discreet.promises.box import Box

_AT_ONCE = 256  # an array operation costs about the same for one box as for this many
NEAR = {1: 1e-11, 2: 1e-8}  # the first cut beside the best prior, by dimension
SMOOTH = {1: 4e-6, 2: 3e-5}  # the same where ε_i is smooth there: its square counts
# Lines across a bowl and beyond it, in its sides.
_ACROSS = (0.0, 1 / 3, 2 / 3)
_OUTWARD = (0.25, 0.6, 1.1, 1.8, 2.8, 4.2, 6.3, 9.5, 14.0, 21.0)


def cut(boxes: Boxes, least: int = 3) -> Boxes:
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
        p = grid(some.p0, some.p1, many if p_is_wide else 1)
        q = grid(some.q0, some.q1, many if q_is_wide else 1)
        columns = q.shape[1] - 1
        i, j = np.divmod(np.arange((p.shape[1] - 1) * columns), columns)
        groups.append([p[:, i], p[:, i + 1], q[:, j], q[:, j + 1]])
    if not groups:
        return boxes
    ends = [np.concatenate([group[k].ravel() for group in groups]) for k in range(4)]
    return Boxes(*ends)


def grid(low: Array, high: Array, parts: int) -> Array:
    """Return lines that cut each of some spans into equal parts."""
    steps = np.arange(parts + 1) / parts
    out = low[:, None] + (high - low)[:, None] * steps
    out[:, -1] = high
    return out


def ends(low: float, high: float, parts: int) -> Array:
    """Return lines that cut a span into equal parts, or its end alone."""
    return low + (high - low) * (np.arange(parts + 1) / parts) if parts > 1 else np.array([high])


def around_best(piece: Box, p: float, q: float, smooth: bool = False) -> Boxes:
    """Cut a piece into boxes that shrink towards a prior, fourfold at each step.

    On both sides of a kink, or of a smooth minimum, ε_i is then monotone on most boxes, and those
    around it are too small to matter: one level proves most profiles.
    """
    dimension = 1 if piece.p_fixed or piece.q_fixed else 2
    steps = (SMOOTH if smooth else NEAR)[dimension] * 4.0 ** np.arange(24)
    axes = []
    for low, high, at in ((piece.p0, piece.p1, p), (piece.q0, piece.q1, q)):
        lines = np.concatenate([at - steps, at + steps])
        lines = lines[(lines > low) & (lines < high)]
        axes.append(np.unique(np.concatenate([[low], lines, [high]])))
    return cross(*axes)


def outward(ends: tuple[float, float], sides: tuple[float, float]) -> Array:
    """Return lines across the sides of a bowl, and ever farther apart beyond them."""
    (low, high), (start, stop) = ends, sides
    if low == high:
        return np.array([low])
    wide = stop - start
    lines = [low, *(start - wide * x for x in _OUTWARD), *(start + wide * x for x in _ACROSS)]
    lines += [stop, *(stop + wide * x for x in _OUTWARD), high]
    return np.array(sorted({x for x in lines if low <= x <= high}))


def cross(p: Array, q: Array) -> Boxes:
    """Return the boxes between lines; one line is a side of no length."""
    (p0, p1), (q0, q1) = ((x[:-1], x[1:]) if len(x) > 1 else (x, x) for x in (p, q))
    return Boxes(
        np.repeat(p0, len(q0)), np.repeat(p1, len(q0)), np.tile(q0, len(p0)), np.tile(q1, len(p0))
    )


def sizes(boxes: Boxes) -> Array:
    """Return the longer side of each box."""
    return np.maximum(boxes.p1 - boxes.p0, boxes.q1 - boxes.q0)


def centres_of(boxes: Boxes) -> Boxes:
    """Return the centres, as boxes of no size."""
    p, q = (boxes.p0 + boxes.p1) / 2, (boxes.q0 + boxes.q1) / 2
    return Boxes(p, p, q, q)


def uncut(low: Array, high: Array) -> Mask:
    """Say where no double lies between two ends."""
    return np.asarray(np.nextafter(low, math.inf) >= high)

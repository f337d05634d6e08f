"""The twin of an estimate that adds up: whole numbers, none below zero, that add up as well.

It is made from published numbers alone: a table x ≥ 0 of the finest cells, whose margins are what
is published. So all margins and levels agree, whatever was done to x.

1. x is the table nearest to the estimate: it minimises Σ_B ‖M_B x − v_B‖²/k_B over the published
   margins B, under x ≥ 0 and Σx = T. v_B is the estimate, k_B how many finest cells a cell gathers
   at most, T the estimated total, rounded, or a public one. With these weights the part of each
   residual has a curvature between 1 and the number of margins, so that accelerated projected
   gradients (Beck and Teboulle 2009) need some hundred steps.
2. Rounding: cells get whole numbers such that every sum of the first k of them is within one half.
   Then units are moved between cells, one at a time, as long as Σ_B ‖M_B (y − x)‖² falls.

The twin is biased: where counts are small, none can be below zero, and what is added there is taken
elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.releases.adding_up import Design, Margin

__all__ = ["MOST_CELLS", "twin_of"]

MOST_CELLS = 100_000
"""The most cells of the finest table for which a twin is made."""

_STEPS = 2000
_MOVES = 2000
_CLOSE = 1e-4

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def twin_of(
    design: Design,
    values: Mapping[Margin, Floats],
    *,
    total: int | None = None,
    empty: NDArray[np.bool_] | None = None,
) -> dict[Margin, list[int]]:
    """Return whole numbers, none negative, for every published margin.

    `total` is public, instead of the estimated one; `empty` says which of the finest cells, the
    tree first, are known to be empty.
    """
    places = {margin: design.finest(margin) for margin in values}
    used = np.arange(design.finest_size) if empty is None else np.flatnonzero(~empty)
    among = {margin: at[used] for margin, at in places.items()}
    whole = max(0, round(float(values[()][0]))) if total is None else total
    near = _nearest(design, values, among, float(whole), len(used))
    table = _rounded(design, near, among)
    return {
        margin: np.bincount(at, table, minlength=design.cells(margin)).astype(np.int64).tolist()
        for margin, at in among.items()
    }


def _nearest(
    design: Design,
    values: Mapping[Margin, Floats],
    places: Mapping[Margin, Places],
    total: float,
    size: int,
) -> Floats:
    """Return the table nearest to the estimate with that total, none of its numbers negative."""
    weights = {margin: 1 / design.gathered(margin) for margin in values}
    rate = 1 / len(values)
    found = ahead = np.full(size, total / size)
    momentum = 1.0
    for _ in range(_STEPS):
        slope = np.zeros(size)
        for margin, at in places.items():
            off = np.bincount(at, ahead, minlength=design.cells(margin)) - values[margin]
            slope += (weights[margin] * off)[at]
        moved = _onto_simplex(ahead - rate * slope, total)
        if float(((ahead - moved) * (moved - found)).sum()) > 0:
            momentum = 1.0  # it goes back: start again from here
        after = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / after * (moved - found)
        close = float(np.abs(moved - found).max(initial=0.0)) < _CLOSE
        found, momentum = moved, after
        if close:
            break
    return found


def _onto_simplex(x: Floats, total: float) -> Floats:
    """Return the nearest table with no negative number and that total."""
    falling = np.sort(x)[::-1]
    above = (np.cumsum(falling) - total) / np.arange(1, len(x) + 1)
    count = int((falling > above).sum())
    return np.asarray(np.maximum(x - above[max(count, 1) - 1], 0.0))


def _rounded(design: Design, near: Floats, places: Mapping[Margin, Places]) -> Floats:
    """Return whole numbers near to a table, the margins too."""
    table = np.diff(np.floor(np.cumsum(near) + 0.5), prepend=0.0)
    off = {
        margin: np.bincount(at, table - near, minlength=design.cells(margin))
        for margin, at in places.items()
    }
    for _ in range(_MOVES):
        slope = np.zeros(len(near))
        for margin, at in places.items():
            slope += off[margin][at]
        giver = int(np.argmax(np.where(table > 0, slope, -np.inf)))
        taker = int(np.argmin(slope))
        apart = [margin for margin, at in places.items() if at[giver] != at[taker]]
        # Moving a unit changes the sum of squares by 2(slope of taker − slope of giver + apart).
        if table[giver] <= 0 or slope[giver] - slope[taker] <= len(apart) + 1e-9:
            break
        table[giver] -= 1
        table[taker] += 1
        for margin in apart:
            off[margin][places[margin][giver]] -= 1
            off[margin][places[margin][taker]] += 1
    return table

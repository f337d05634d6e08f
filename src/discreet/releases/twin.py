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
elsewhere. So it has intervals of its own, by a parametric bootstrap: the published table is taken
for the truth, the whole release is simulated from it (noise of the same laws on what was measured,
the estimate, the twin), and a cell's interval has the half width that the simulated twins stay
within as often as stated. Nothing but the published numbers and the laws of the noise enters, and
the seed is fixed, so everyone can do it again. That is no proof for one cell: tests count how often
true numbers are covered, in tables with many small cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.releases.adding_up import Design, Margin, Spread

MOST_CELLS = 100_000
"""The most cells of the finest table for which a twin is made."""

_STEPS = 2000
_MOVES = 2000
_CLOSE, _NEAR = 1e-4, 1e-2
_SIMULATIONS, _LEAST = 199, 39
_MOST_WORK = 10_000_000

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def twin_of(
    design: Design,
    values: Mapping[Margin, Floats],
    *,
    total: int | None = None,
    empty: NDArray[np.bool_] | None = None,
    start: Floats | None = None,
) -> dict[Margin, list[int]]:
    """Return whole numbers, none negative, for every published margin.

    `total` is public, instead of the estimated one; `empty` says which of the finest cells, the
    tree first, are known to be empty. `start` is a table that is near already; with it fewer steps
    are made, as one of many simulations needs no more.
    """
    places = {margin: design.finest(margin) for margin in values}
    used = np.arange(design.finest_size) if empty is None else np.flatnonzero(~empty)
    among = {margin: at[used] for margin, at in places.items()}
    whole = max(0, round(float(values[()][0]))) if total is None else total
    near = _nearest(design, values, among, float(whole), len(used), start)
    table = _rounded(design, near, among)
    return {
        margin: np.bincount(at, table, minlength=design.cells(margin)).astype(np.int64).tolist()
        for margin, at in among.items()
    }


def simulations(design: Design) -> int:
    """Return how many releases are simulated for intervals: none where that would take long."""
    most = _MOST_WORK // (design.finest_size * len(design.published))
    return min(_SIMULATIONS, most) if most >= _LEAST else 0


def simulated(
    design: Design,
    published: Mapping[Margin, NDArray[np.int64]],
    noise: Mapping[Margin, Spread],
    confidence: float,
    **known: Any,
) -> dict[Margin, NDArray[np.int64]]:
    """Return what each cell of simulated twins stays within, as often as stated.

    `noise` has the laws of what was measured; `known` is what `twin_of` may know.
    """
    chance, draws = np.random.default_rng(0), simulations(design)
    digits = design.digits(design.errors(noise))
    first = {margin: design.finest(margin) for margin in published}
    values = {margin: table.astype(np.float64) for margin, table in published.items()}
    start = _nearest(design, values, first, float(published[()][0]), design.finest_size)
    start = start if known.get("empty") is None else start[~known["empty"]]
    off: dict[Margin, list[Any]] = {margin: [] for margin in published}
    for _ in range(draws):
        drawn = {m: own.law.simulated(design.cells(m), chance) for m, own in noise.items()}
        combined = design.combined(drawn, noise, digits)  # the estimate is linear
        near = {m: published[m] + v / 10.0**digits for m, v in combined.items()}
        found = twin_of(design, near, **known, start=start)
        for margin, numbers in found.items():
            off[margin].append(np.abs(np.array(numbers) - published[margin]))
    place = min(math.ceil((draws + 1) * confidence), draws) - 1
    return {margin: np.sort(each, axis=0)[place] for margin, each in off.items()}


def _nearest(
    design: Design,
    values: Mapping[Margin, Floats],
    places: Mapping[Margin, Places],
    total: float,
    size: int,
    start: Floats | None = None,
) -> Floats:
    """Return the table nearest to the estimate with that total, none of its numbers negative."""
    known = [(at, values[m], 1 / design.gathered(m)) for m, at in places.items()]
    rate, enough = 1 / len(values), _CLOSE if start is None else _NEAR
    found = ahead = np.full(size, total / size) if start is None else _onto_simplex(start, total)
    momentum = 1.0
    for _ in range(_STEPS):
        slope = np.zeros(size)
        for at, value, weight in known:
            slope += (weight * (np.bincount(at, ahead, minlength=len(value)) - value))[at]
        moved = _onto_simplex(ahead - rate * slope, total)
        if float(((ahead - moved) * (moved - found)).sum()) > 0:
            momentum = 1.0  # it goes back: start again from here
        after = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / after * (moved - found)
        close = float(np.abs(moved - found).max(initial=0.0)) < enough
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

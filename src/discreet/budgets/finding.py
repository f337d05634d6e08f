"""Looking for the worst prior: what is found bounds ε from above, and proves nothing below."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from discreet.beliefs.one_prior import TINY
from discreet.budgets.enclosures import NEAR, SMOOTH, Array, Boxes, at_points, ends, grid
from discreet.budgets.reciprocals import OfFormula, OfFunction, Reciprocal, just_below
from discreet.errors import ToleranceError
from discreet.promises.box import Box
from discreet.promises.formula import Binary, Compare, Expression
from discreet.promises.tolerance import Tolerance

_FLOOR = 4e-14  # what rounding of 1/r* leaves of a very small ε
SLACK = 1 - 2e-15  # the few ulps of the vector formula for ε_i
MOST_WORK = 17_000_000  # boxes times parts, of all pieces of a formula: less than a second
CALL = 250  # what one array operation costs beside its boxes
_COARSE = {1: 48, 2: 12}  # cells of the first grid along a prior, by dimension
_WINDOW = {1: np.linspace(-1, 1, 129), 2: np.linspace(-1, 1, 17)}
_FAR = 1e9  # stands for an ε without limit
_LOOKS = 30  # windows of the look around


@dataclass(slots=True)
class Search:
    """What is known so far: lower ≤ infimum ≤ upper, and the prior that gave upper."""

    lower: float = math.inf
    upper: float = math.inf
    p: float = 1.0
    q: float = 1.0
    boxes: int = 0
    left: float = field(default_factory=lambda: MOST_WORK)

    def spend(self, work: Reciprocal, boxes: int) -> None:
        """Count the work of enclosing a formula over so many boxes."""
        self.left -= work.parts * (boxes + CALL)

    def offer(self, epsilon: Array, p: Array, q: Array) -> None:
        """Take the least of these ε as the best so far, if it is."""
        best = int(np.argmin(epsilon))
        self.offer_one(float(epsilon[best]), float(p[best]), float(q[best]))

    def offer_one(self, epsilon: float, p: float, q: float) -> None:
        """Take this ε as the best so far, if it is."""
        if epsilon < self.upper:
            self.upper, self.p, self.q = epsilon, p, q
        if self.upper < _FLOOR:
            raise ToleranceError("budgets.ratio_of_one", p=self.p, q=self.q)


def tolerance(upper: float, relative: float) -> float:
    """Return how far below the best prior a proof may end."""
    return relative * upper + _FLOOR


def target_gap(upper: float, relative: float) -> float:
    """Return the same; nothing while no prior bounds ε."""
    return tolerance(upper, relative) if upper < math.inf else 0.0


def epsilon_of(W: Array, p: Array, q: Array) -> Array:
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


def offer_points(W: Reciprocal, boxes: Boxes, least: int, state: Search) -> Array:
    """Try the centres of the boxes, and the corners of the one that looks least.

    Return an upper bound of W at the centres.
    """
    corners_p = [boxes.p0[least], boxes.p0[least], boxes.p1[least], boxes.p1[least]]
    corners_q = [boxes.q0[least], boxes.q1[least], boxes.q0[least], boxes.q1[least]]
    p = np.concatenate([(boxes.p0 + boxes.p1) / 2, corners_p])
    q = np.concatenate([(boxes.q0 + boxes.q1) / 2, corners_q])
    return offer(W, p, q, state)[0][: len(boxes)]


def offer(W: Reciprocal, p: Array, q: Array, state: Search) -> tuple[Array, Array]:
    """Offer these priors; return upper bounds of W and ε_i at each."""
    at, undefined = W.over(Boxes(p, p, q, q), "")
    epsilon = epsilon_of(just_below(np.maximum(at.low, 0.0)), p, q) / SLACK
    epsilon = np.where(undefined, math.inf, epsilon)
    state.offer(epsilon, p, q)
    return at.high, epsilon


def _on_grid(W: Reciprocal, lines: list[Array]) -> tuple[Array, tuple[int, int]]:
    """Return ε_i where lines cross, ∞ where it has no value, and where it is least."""
    p, q = lines[0][:, None], lines[1][None, :]
    epsilon = epsilon_of(W.at(p, q), p, q)
    epsilon[np.isnan(epsilon)] = math.inf
    i, j = divmod(int(np.argmin(epsilon)), len(lines[1]))
    return epsilon, (i, j)


def coarse_look(
    W: Reciprocal, piece: Box
) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """Return the least ε_i on a coarse grid, its prior, and where a parabola has its least."""
    many = _COARSE[1 if piece.p_fixed or piece.q_fixed else 2]
    lines = [
        ends(low, high, many if low < high else 1)
        for low, high in ((piece.p0, piece.p1), (piece.q0, piece.q1))
    ]
    epsilon, (i, j) = _on_grid(W, lines)
    at = (float(lines[0][i]), float(lines[1][j]))
    return float(epsilon[i, j]), at, _least_of_parabola(epsilon, (i, j), lines) or at


def look_around(W: Reciprocal, piece: Box, at: tuple[float, float]) -> tuple[float, float, bool]:
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
        if max(half) <= (SMOOTH if trust else NEAR)[dimension]:
            break
        lines = [
            np.clip(x + h * across, low, high) if low < high else np.array([x])
            for x, h, (low, high) in zip(centre, half, ends, strict=True)
        ]
        epsilon, (i, j) = _on_grid(W, lines)
        better, guessed = float(epsilon[i, j]) < best, centre != at
        if better:
            best, at = float(epsilon[i, j]), (float(lines[0][i]), float(lines[1][j]))
        inside = all(
            0 < k < n - 1 or n == 1 or x in span
            for k, n, x, span in zip((i, j), epsilon.shape, at, ends, strict=True)
        )
        centre = at
        if guessed and not (better and inside):
            trust, half = False, [16 * h for h in half]
        elif inside or not better:  # else the least lies outside: on, with a window as wide
            half = [h * 2 / (len(across) - 1) for h in half]
            guess = _least_of_parabola(epsilon, (i, j), lines) if trust and inside else None
            if guess is not None:
                centre, half = guess, [h / 16 for h in half]
    return *at, trust and isinstance(W, OfFormula)


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


def look_along(W: OfFormula, test: Compare, piece: Box, state: Search) -> None:
    """Offer priors on the curve of an equation: where it changes sign along lines, ever closer."""
    inside = OfFormula(W.expression, tuple(each for each in W.within if each is not test))
    curve = Binary("-", test.left, test.right)
    for axis in (0, 1):
        (low, high), (start, stop) = (piece.p0, piece.p1), (piece.q0, piece.q1)
        if axis == 0:
            (low, high), (start, stop) = (start, stop), (low, high)
        if start == stop:
            continue
        lines, width = ends(low, high, 24 if low < high else 1), (high - low) / 24
        for _ in range(5 if low < high else 1):
            found = _roots(curve, axis, lines, start, stop)
            if found is None:
                break
            x, at = found
            p, q = (x, at) if axis == 0 else (at, x)
            state.spend(inside, len(p))
            epsilon = offer(inside, p, q, state)[1]
            best = float(at[np.argmin(epsilon)])
            lines = np.clip(np.linspace(best - width, best + width, 25), low, high)
            width /= 12


def _roots(
    curve: Expression, axis: int, lines: Array, start: float, stop: float
) -> tuple[Array, Array] | None:
    """Return where the curve crosses lines, to neighbouring doubles, and which lines."""
    at, low, high = lines, np.full(len(lines), start), np.full(len(lines), stop)
    for turn in range(20):
        x = grid(low, high, 64 if turn == 0 else 16)
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


def look(profile: Tolerance, points: int = 96) -> Search:
    """Look for the worst prior of an opaque function on finer and finer grids. Proves nothing."""
    box, W = profile.box, OfFunction(profile)
    W.look_for_lies()
    state = Search(p=box.p1, q=box.q1)
    p0, p1, q0, q1 = box.p0, box.p1, box.q0, box.q1
    for _ in range(12):
        p, q = np.linspace(p0, p1, points), np.linspace(q0, q1, points)
        p, q = (_and_magnitudes(x, points // 2) if x[0] == 0 else x for x in (p, q))
        epsilon, (i, j) = _on_grid(W, [p, q])
        state.offer(epsilon[i, j : j + 1], p[i : i + 1], q[j : j + 1])
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

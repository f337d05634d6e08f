"""Mixed plans: the loss of the whole on one grid, by an exponentially tilted Fourier transform.

Notation. h the step of the grid, P the law of the loss (moved to the grid on the safe side, see
`ingredients`), K its cumulant function in the tilt λ = θ + ½, P_θ(l) = P(l) e^{θl − K}.

    δ(ε) = e^{K−θε} Σ_{l>ε} P_θ(l) e^{−θ(l−ε)} (1 − e^{ε−l}).

With θ such that the mean of P_θ is near ε (the saddle point), the sum is over the bulk of P_θ and keeps
its digits however small δ is. One inverse transform on a window of width 2W around ε gives P_θ there:

- losses that lie beyond the window at its upper end would be missed: P(L > ε+W) ≤ e^{K(v) − (v−½)(ε+W)}
  for any v (Chernoff) is added; those beyond the lower end only make δ larger;
- the rounding error of the transforms is bounded (first order) by u·(32k·mean|φ| + 8·log₂N·rms|φ|/√N)
  a point and added to every point, k the number of releases.

The step is chosen so that the grid's own variance moves ε by about 4e-8 at most, and so that the atoms of
the mechanisms fall on grid points where a common step allows (then they cost nothing).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from discreet.composition.ingredients import Ingredient, Reals
from discreet.composition.loss import PrivacyLoss, settle
from discreet.guarantees import Adjacency
from discreet.rounding import down, up

__all__ = ["GridLoss"]

_U = 2.0**-53
_TINY = 5e-324
_CHUNK = 8192  # frequencies at a time: what is worked on stays in the cache
_MOVES = 4e-8  # how far the grid may move ε, where `points` allows


@dataclass(frozen=True, slots=True)
class GridLoss(PrivacyLoss):
    """The loss of a plan of any ingredients; `lost` is the mass of losses without bound.

    `points` limits the size of the transforms: more points are slower and closer to the truth.
    """

    ingredients: tuple[Ingredient, ...]
    lost: float = 0.0
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    name: str = "mixed releases"
    points: int = field(default=1 << 17, compare=True)

    def largest(self) -> float:
        """The sum of the largest losses."""
        return up(math.fsum(part.top() for part in self.ingredients), 4)

    def _at_infinity(self) -> float:
        return self.lost

    def _delta(self, epsilon: float) -> float:
        if epsilon >= self.largest():
            return self.lost
        window = _window(self, _bucket(self, epsilon))
        walked = window.delta(epsilon)
        return walked if self.lost == 0 else min(1.0, up(self.lost + (1 - self.lost) * walked, 4))

    def _epsilon(self, delta: float) -> float:
        target = down((delta - self.lost) / (1 - self.lost), 8) if self.lost else delta
        bucket = _bucket(self, min(_saddle_epsilon(self, target), self.largest() * (1 - 1e-9)))
        while True:
            window = _window(self, bucket)
            if window.delta(window.low) <= target:
                if bucket == 0:
                    return 0.0
                bucket -= 1
            elif window.delta(window.high) > target and window.high < self.largest():
                bucket += 1
            else:
                break
        return min(self.largest(), settle(self._delta, delta, window.epsilon(target)))


def _cumulants(loss: GridLoss, tilt: float) -> tuple[float, float, float]:
    sums = np.sum([part.cumulants(tilt) for part in loss.ingredients], axis=0)
    return float(sums[0]), float(sums[1]), float(sums[2])


@lru_cache(maxsize=256)
def _sd(loss: GridLoss) -> float:
    """The standard deviation of S, the symmetric form of the loss: the yardstick of windows."""
    return math.sqrt(_cumulants(loss, 0.0)[2])


def _unit(loss: GridLoss) -> float:
    """How much of the curve one window serves."""
    return _sd(loss) / 2


def _bucket(loss: GridLoss, epsilon: float) -> int:
    return math.floor(epsilon / _unit(loss))


def _tilt_at(loss: GridLoss, epsilon: float) -> float:
    """The tilt λ ≥ 0 under which the mean loss is ε, roughly; bounded where ε nears the largest."""
    sd = _sd(loss)
    most = 60 / sd
    low, high, tilt = 0.0, most, min(most, epsilon / sd**2)
    for _ in range(60):
        _, mean, variance = _cumulants(loss, tilt)
        if abs(mean - epsilon) < 0.01 * sd or high - low < 1e-3 * high:
            break
        low, high = (tilt, high) if mean < epsilon else (low, tilt)
        nearer = tilt + (epsilon - mean) / max(variance, 1e-300)
        tilt = nearer if low < nearer < high else (low + high) / 2
    return tilt


def _saddle_epsilon(loss: GridLoss, delta: float) -> float:
    """The ε of the saddle-point approximation to δ: where to look first."""
    sd, goal = _sd(loss), math.log(delta)
    low, high = 0.5, 0.5 + 60 / sd
    tilt = 0.5 + min(60.0, math.sqrt(-2 * goal)) / sd / 1.2
    mean = 0.0
    for _ in range(40):
        k, mean, variance = _cumulants(loss, tilt)
        theta = tilt - 0.5
        away = math.log(1 + theta * (theta + 1) * math.sqrt(2 * math.pi * variance))
        excess = k - theta * mean - away - goal
        if abs(excess) < 0.02:
            break
        low, high = (tilt, high) if excess > 0 else (low, tilt)
        nearer = tilt + excess / max(theta * variance, 1e-300)
        tilt = nearer if low < nearer < high else (low + high) / 2
    return max(0.0, mean)


@lru_cache(maxsize=256)
def _step(loss: GridLoss) -> float:
    """The step of the grid: see the module."""
    sd = _sd(loss)
    tilt = 0.5 + 4.5 / sd  # the tilt that belongs to δ near 1e-6
    places, times, between = np.concatenate([part.spread() for part in loss.ingredients], axis=1)
    finest = 2 * _half_width(sd, 4.5) / loss.points
    # Variance V on the grid raises K by θ(θ+1)V/2, and ε by (θ+1)V/2.
    allowed = 2 * _MOVES / (tilt + 0.5)
    coarsest = math.sqrt(6 * allowed / max(float(times @ between), 1e-12))
    atoms = places[places > 4 * finest]
    if not len(atoms):
        return max(finest, coarsest)
    base = float(atoms.min())
    n = max(1, math.ceil(base / max(finest, coarsest) * (1 - 1e-12)))
    steps = base / (n + np.arange(max(1, min(512, math.floor(base / finest) - n + 1))))
    counts = places[:, None] / steps
    off = np.abs(counts - np.rint(counts))
    off = np.where(off < 1e-9, 0.0, off) * steps
    variance = times @ (off * (steps - off)) + float(times @ between) * steps**2 / 6
    enough = np.flatnonzero(variance <= allowed)
    # a hair wider, so that aligned atoms lie just below their grid points (see `ingredients`)
    return float(steps[enough[0] if len(enough) else np.argmin(variance)]) * (1 + 1e-12)


def _half_width(sd: float, away: float) -> float:
    """W: how far the window must reach for what lies beyond to weigh about 1e-9 of δ.

    For a normal law x standard deviations out, in units of its own: the upper end weighs
    e^{-(xw + w²/2)} of δ, and the bulk that comes round from the lower end e^{-2xw + x²/2}.
    """
    x = max(away, 0.0)
    w = math.sqrt(x * x + 46) - x
    if w < x:
        w = max(w, x / 4 + 11.5 / x)
    return 1.05 * w * sd


def _fast_size(least: int) -> int:
    """The least 2^a·3^b·5^c, even, that is at least `least`."""
    best = 1 << max(4, (least - 1).bit_length())
    for five in (1, 5, 25, 125):
        for three in (1, 3, 9, 27, 81):
            size = five * three * 2
            while size < least:
                size *= 2
            best = min(best, size)
    return best


@dataclass(frozen=True, slots=True)
class _Window:
    """δ between `low` and `high`, from suffix sums of P and of e^{−l}P over the grid points above."""

    low: float
    high: float
    centre: float
    h: float
    first: int  # grid index of the first suffix sum
    above: Reals
    above_q: Reals
    log_scale: float
    missed: float
    slack: float

    def delta(self, epsilon: float) -> float:
        m = min(max(0, math.floor(epsilon / self.h) + 1 - self.first), len(self.above) - 1)
        p = float(self.above[m])
        q = float(self.above_q[m]) * math.exp(epsilon - self.centre)
        value = max(0.0, p - q) + self.slack * p
        return min(1.0, max(_TINY, value * math.exp(self.log_scale) + self.missed))

    def epsilon(self, target: float) -> float:
        """An ε between `low` and `high` with δ(ε) about the target."""
        start = max(0, math.floor(self.low / self.h) + 1 - self.first)
        stop = min(len(self.above) - 1, math.floor(self.high / self.h) + 2 - self.first)
        while stop - start > 1:
            middle = (start + stop) // 2
            enough = self.delta((self.first + middle - 1) * self.h) <= target
            start, stop = (start, middle) if enough else (middle, stop)
        p, q = float(self.above[start]), float(self.above_q[start])
        wanted = (target - self.missed) * math.exp(-self.log_scale) - self.slack * p
        if q <= 0 or p <= wanted:
            return self.low
        guess = self.centre + math.log((p - wanted) / q)
        return min(max(guess, self.low), self.high)


@lru_cache(maxsize=24)
def _window(loss: GridLoss, bucket: int) -> _Window:
    unit, h = _unit(loss), _step(loss)
    low, high = bucket * unit, (bucket + 1) * unit
    top = math.fsum(part.top() for part in loss.ingredients)
    aim = min((low + high) / 2, top * (1 - 1e-6))
    tilt = _tilt_at(loss, aim)
    theta = tilt - 0.5
    k, mean, variance = _cumulants(loss, tilt)
    sd = math.sqrt(max(variance, h * h))
    centre = (low + high) / 2
    width = _half_width(sd, theta * sd) + unit / 2 + abs(centre - mean)
    size = _fast_size(math.ceil(2 * width / h))
    whole = 2 * math.ceil(top / h) + 5 if math.isfinite(top) else math.inf
    missed = 0.0
    if whole <= size:
        size = _fast_size(int(whole))
        begin = -(size // 2)
    else:
        begin = math.floor(centre / h) - size // 2
        reach = (begin + size - 1) * h
        v = tilt + max(width / (sd * sd), 1e-3)
        # twice: the cumulants are those of the exact law, a hair below those on the grid
        missed = 2 * math.exp(min(0.0, _cumulants(loss, v)[0] - (v - 0.5) * reach))
    negligible = 1e-13 * h / sd
    spectra = [part.prepare(tilt, h, size, negligible) for part in loss.ingredients]
    product = np.empty(size // 2 + 1, dtype=np.complex128)
    for start in range(0, len(product), _CHUNK):
        stop = min(len(product), start + _CHUNK)
        product[start:stop] = spectra[0](start, stop)
        for spectrum in spectra[1:]:
            product[start:stop] *= spectrum(start, stop)
    sizes = np.abs(product)
    releases = float(sum(np.sum(part.spread()[1]) for part in loss.ingredients))
    rounding = negligible + _U * (
        32 * releases * float(sizes.mean())
        + 8 * math.log2(size) * math.sqrt(float((sizes * sizes).mean()) / size)
    )
    circle = np.fft.irfft(product, size)
    first = max(begin, math.floor(low / h) - 2)
    index = np.arange(first, begin + size)
    tilted = np.maximum(circle[index % size], 0.0) + rounding
    offset = index * h - centre
    p = tilted * np.exp(-theta * offset)
    q = p * np.exp(-offset)
    above = np.append(np.cumsum(p[::-1])[::-1], 0.0)
    above_q = np.append(np.cumsum(q[::-1])[::-1], 0.0)
    slack = _U * (len(p) + 64 * (1 + abs(tilt) * top if math.isfinite(top) else 64))
    return _Window(low, high, centre, h, first, above, above_q, k - theta * centre, missed, slack)

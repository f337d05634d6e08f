"""Mixed plans: the loss of the whole on one grid, by an exponentially tilted Fourier transform.

Notation. h the step of the grid, P the law of the loss (moved to the grid on the safe side, see
`ingredients`), K its cumulant function in the tilt λ = θ + ½, P_θ(l) = P(l) e^{θl − K}.

    δ(ε) = e^{K−θε} Σ_{l>ε} P_θ(l) e^{−θ(l−ε)} (1 − e^{ε−l}).

With θ such that the mean of P_θ is near ε (the saddle point), the sum is over the bulk of P_θ and
keeps its digits however small δ is. One inverse transform on a window of width 2W around ε gives
P_θ there:

- losses x > ε + W beyond its upper end would be missed, and P(L > x) ≤ e^{K(v) − (v−½)x}, any v ≥ ½
  (Chernoff), is added for them; those beyond the lower end come round and only make δ larger;
- the rounding error of the transforms, to first order, is at most
      u·(32k·mean|φ| + 8·log₂N·rms|φ|/√N)
  a point, k the number of releases; it is added to every point.

The step is chosen so that the grid's own variance moves ε by about 4e-8 at most, and so that the
atoms of the mechanisms fall on grid points where a common step allows (then they cost nothing).

Where many releases are added up, few frequencies count, and `contour` takes the place of the grid.

k equal randomized responses over K > 2 categories have an exact bound as well. Each answer has loss
+ε, −ε or 0 (another category), so after j answers that the change touches the loss is S_j ε, S_j a
lazy walk, and a change may touch any j ≤ k of the answers. max over j ≤ k of P(|S_j| > m) is taken
by computing every one of them: j convolutions with three positive numbers, sums of positive terms,
raised by their rounding error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.composition.curves import Sided, rung
from discreet.composition.grid.contour import Contour, contour
from discreet.composition.grid.ingredients import (
    Atoms,
    Categories,
    Complex,
    Ingredient,
    Reals,
    cumulants,
    fast_size,
    spectrum,
)
from discreet.composition.loss import PrivacyLoss
from discreet.errors import GuaranteeError
from discreet.guarantees import Adjacency
from discreet.numerics import last_whole, newton, settle
from discreet.rounding import down, up

_U = 2.0**-53
_TINY = 5e-324
_MOVES = 4e-8  # how far the grid may move ε, where `resolution` allows
_MOST = 4096
_MANY = 16  # releases, from which on few frequencies may count
_SMALLEST = 1e-280  # below, probabilities would be subnormal
_LEAST = 1e-100  # below, squares of the losses would underflow


@dataclass(frozen=True, slots=True)
class GridLoss(PrivacyLoss):
    """The loss of a plan of any ingredients; `lost` is the mass of losses without bound.

    `resolution` limits the size of the transforms: more points are slower and closer to the truth.
    """

    ingredients: tuple[Ingredient, ...]
    lost: float = 0.0
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    name: str = "mixed releases"
    resolution: int = 1 << 17

    def largest(self) -> float:
        """The sum of the largest losses."""
        return up(math.fsum(part.top() for part in self.ingredients), 4)

    def _at_infinity(self) -> float:
        return self.lost

    def _delta(self, epsilon: float) -> float:
        if epsilon >= self.largest():
            return self.lost
        if self.largest() < _LEAST:  # δ(ε) = E[(1 − e^{ε−L})⁺] is at most the largest loss less ε
            walked = self.largest() - epsilon
        else:
            walked = _window(self, _bucket(self, epsilon)).delta(epsilon)
        return walked if self.lost == 0 else min(1.0, up(self.lost + (1 - self.lost) * walked, 4))

    def _epsilon(self, delta: float) -> float:
        target = down((delta - self.lost) / (1 - self.lost), 8) if self.lost else delta
        if self.largest() < _LEAST:
            return max(0.0, self.largest() - target)
        bucket = _bucket(self, min(_saddle(self, target)[0], self.largest() * (1 - 1e-9)))
        window = _window(self, bucket)
        while bucket >= 0 and window.delta(window.low) <= target:
            bucket -= 1
            window = _window(self, bucket)
        while window.delta(window.high) > target and window.high < self.largest():
            bucket += 1
            window = _window(self, bucket)
        if window.delta(window.low) <= target:  # the first window that is low enough is so at once
            return min(self.largest(), settle(self._delta, delta, window.low))
        return min(self.largest(), settle(self._delta, delta, window.epsilon(target)))

    def _near_best(self, failure: float) -> float | None:
        """An ε near the best point, where −dδ/dε = δ' − δ: δ is δ'/(1+θ) if it falls like e^{−θε}.

        It saves the windows that a search from 0 would pass.
        """
        if failure <= self.lost or self.largest() < _LEAST:
            return None
        epsilon, theta, variance = _saddle(self, failure - self.lost)
        # log δ falls by θx + x²/2V over the next x
        root = math.sqrt(theta * theta + 2 * math.log1p(theta) / variance)
        return min(epsilon + variance * (root - theta), self.largest())


@lru_cache(maxsize=256)
def _centre(loss: GridLoss) -> tuple[float, float]:
    """Mean and standard deviation of the loss."""
    _, mean, variance = cumulants(loss.ingredients, 0.5)
    return mean, math.sqrt(max(variance, 1e-24 * mean * mean))


@lru_cache(maxsize=256)
def _scale(loss: GridLoss) -> float:
    """The standard deviation of the loss.

    Where nearly all outputs have one loss and the few others lie far off (σ = 0.15), an eighth of
    the way to them.
    """
    far = max(float(part.spread()[0].max()) for part in loss.ingredients)
    return max(_centre(loss)[1], far / 8)


def _unit(loss: GridLoss) -> float:
    """How much of ε one window serves: two standard deviations, where those tell the scale."""
    return max(2 * _centre(loss)[1], _scale(loss))


def _bucket(loss: GridLoss, epsilon: float) -> int:
    """Which window serves ε: −1 up to the mean loss, then one for each unit."""
    return max(-1, math.floor((epsilon - _centre(loss)[0]) / _unit(loss)))


def _tilt_at(loss: GridLoss, epsilon: float) -> float:
    """The tilt λ ≥ ½ under which the mean loss is ε, roughly; bounded where ε nears the largest."""
    mean, sd = _centre(loss)
    high = 0.5 + 60 / sd

    def excess(tilt: float) -> tuple[float, float]:
        _, mean, variance = cumulants(loss.ingredients, tilt)
        return (mean - epsilon if abs(mean - epsilon) >= 0.01 * sd else 0.0), max(variance, 1e-300)

    start = min(high, 0.5 + max(0.0, epsilon - mean) / _scale(loss) ** 2)
    return newton(excess, start, 0.5, high, width=1e-3)


def _saddle(loss: GridLoss, delta: float) -> tuple[float, float, float]:
    """The ε of the saddle-point approximation to δ, with θ and K'' there: where to look first."""
    sd, goal = _centre(loss)[1], math.log(delta)

    def missing(tilt: float) -> tuple[float, float]:
        _, mean, variance = found = cumulants(loss.ingredients, tilt)
        value = goal - _log_delta(found, tilt, mean)
        return (value if abs(value) >= 0.02 else 0.0), max((tilt - 0.5) * variance, 1e-300)

    start = 0.5 + min(60.0, math.sqrt(-2 * goal)) / _scale(loss) / 1.2
    tilt = newton(missing, start, 0.5, 0.5 + 60 / sd, width=1e-3)
    _, mean, variance = cumulants(loss.ingredients, tilt)
    return max(0.0, mean), tilt - 0.5, max(variance, 1e-300)


@lru_cache(maxsize=256)
def _step(loss: GridLoss) -> float:
    """The step of the grid: see the module."""
    sd = _centre(loss)[1]
    tilt = 0.5 + 4.5 / sd  # the tilt that belongs to δ near 1e-6
    places, times, between = np.concatenate([part.spread() for part in loss.ingredients], axis=1)
    finest = 2 * _half_width(_scale(loss), 4.5) / loss.resolution
    # Variance V on the grid raises K by θ(θ+1)V/2, and ε by (θ+1)V/2.
    allowed = 2 * _MOVES / (tilt + 0.5)
    spread = float(times @ between)
    coarsest = math.sqrt(6 * allowed / spread) if spread > 0 else math.inf
    atoms = places[places > 4 * finest]
    if not len(atoms):  # nothing to align with: every loss is moved within its cell
        return max(finest, math.sqrt(6 * allowed / float(times.sum())))
    base = float(atoms.min())
    n = max(1, math.ceil(base / max(finest, coarsest) * (1 - 1e-12)))
    steps = base / (n + np.arange(max(1, min(512, math.floor(base / finest) - n + 1))))
    off = _off(places[:, None], steps) * steps
    variance = times @ (off * (steps - off)) + spread * steps**2 / 6
    enough = np.flatnonzero(variance <= allowed)
    # a hair wider, so that aligned atoms lie just below their grid points (see `ingredients`)
    return float(steps[enough[0] if len(enough) else np.argmin(variance)]) * (1 + 1e-12)


def _off(places: Reals, h: Reals | float) -> Reals:
    """How far from the grid atoms lie, in steps; 0 for those that fall on it."""
    off = np.abs(places / h - np.rint(places / h))
    return np.where(off < 1e-9, 0.0, off)


@lru_cache(maxsize=256)
def _moved(loss: GridLoss, h: float) -> float:
    """A bound on the variance that moving losses to the grid adds: h²/4 for each that is moved.

    Of an aligned lattice even the thousandth multiple lies within 1e-6 steps of its point.
    """
    if h == 0:
        return 0.0
    places, times, between = np.concatenate([part.spread() for part in loss.ingredients], axis=1)
    moves = (_off(places, h) > 0) | (between > 0)
    return float(times @ np.where(moves, 0.25, 1e-4)) * h * h


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


def _releases(loss: GridLoss) -> float:
    return float(sum(np.sum(part.spread()[1]) for part in loss.ingredients))


def _log_beyond(loss: GridLoss, tilt: float, reach: float, width: float, h: float) -> float:
    """log of a bound on P(L > reach) on the grid, by Chernoff.

    The cumulants are those of the exact law; moving losses within their cells adds a variance, and
    (v² − ¼)/2 times that to K(v). The factor 2 covers the orders beyond.
    """
    variance = max(cumulants(loss.ingredients, tilt)[2], 1e-300)
    v = tilt + min(width / variance, 40 / math.sqrt(variance))
    moved = (v * v - 0.25) / 2 * _moved(loss, h)
    return math.log(2) + moved + cumulants(loss.ingredients, v)[0] - (v - 0.5) * reach


def _log_round(loss: GridLoss, tilt: float, reach: float, width: float) -> float:
    """log of a bound on what comes round from below `reach`: e^{−2θW} P(L < reach)."""
    low = max(-tilt, tilt - width / max(cumulants(loss.ingredients, tilt)[2], 1e-300))
    tilts = [low, *np.linspace(low, 0.5, 6)[1:-1].tolist()] if low < 0.5 else []
    below = (cumulants(loss.ingredients, v)[0] - (v - 0.5) * reach for v in tilts)
    return min(0.0, min(below, default=0.0)) - 2 * (tilt - 0.5) * width


def _reach(loss: GridLoss, tilt: float, centre: float, margin: float, h: float) -> float:
    """Half the width of a window: wide enough for both ends to weigh less than e^-19 of δ."""
    k, mean, variance = cumulants(loss.ingredients, tilt)
    variance = max(variance, h * h)
    sd = math.sqrt(variance)
    width = _half_width(sd, (tilt - 0.5) * sd)
    enough = _log_delta((k, mean, variance), tilt, centre) - 19
    for _ in range(12):
        full = width + margin
        ends = _log_beyond(loss, tilt, centre + full, full, h)
        if h > 0:  # of the grid, not of a contour
            ends = max(ends, _log_round(loss, tilt, centre - full, full))
        if ends <= enough or (h > 0 and full > loss.resolution * h):
            break
        width *= 1.3
    return width + margin


@dataclass(frozen=True, slots=True)
class Window:
    """δ between `low` and `high`, from sums over the grid points l_i ≥ l_m above, i = m, m+1, …

    With masses p_i: `q[m]` = Σ p_i e^{−(l_i−l_m)} and `d[m]` = Σ p_i (1 − e^{−(l_i−l_m)}), so that
    for ε below l_m by g, and above l_{m−1}, δ(ε) = d[m] + (1 − e^{−g}) q[m]: no difference loses
    its digits.
    """

    low: float
    high: float
    h: float
    first: int  # grid index of d[0]
    d: Reals
    q: Reals
    scale: float
    missed: float
    origin: float  # the loss of grid index 0

    @classmethod
    def of(
        cls,
        low: float,
        high: float,
        h: float,
        first: int,
        p: Reals,
        scale: float,
        missed: float,
        origin: float = 0.0,
    ) -> Window:
        """Return the window of masses p at `first` and above, all to be multiplied by `scale`."""
        last = min(len(p), max(0, math.ceil((high - origin) / h) + 2 - first))
        # Above the last point that is asked for only sums count.
        beyond = p[last:]
        fall = np.expm1(np.arange(len(beyond)) * -h)
        above = np.append(np.cumsum(p[:last][::-1])[::-1][1:], 0.0)[:last] + float(beyond.sum())
        d = _discounted(above * -math.expm1(-h), h, -float((beyond * fall).sum()))
        q = _discounted(p[:last], h, float((beyond * (1 + fall)).sum()))
        return cls(low, high, h, first, d, q, scale, missed, origin)

    def _above(self, epsilon: float) -> int:
        first = math.ceil((epsilon - self.origin) / self.h) - self.first
        return min(max(0, first), len(self.d) - 1)

    def _place(self, m: int) -> float:
        return self.origin + (self.first + m) * self.h

    def delta(self, epsilon: float) -> float:
        """δ(ε), never below the truth."""
        m = self._above(epsilon)
        gap = max(0.0, self._place(m) - epsilon)
        value = float(self.d[m]) - math.expm1(-gap) * float(self.q[m])
        return min(1.0, max(_TINY, value * self.scale + self.missed))

    def epsilon(self, target: float) -> float:
        """An ε between `low` and `high` with δ(ε) about the target, which lies between theirs."""

        def above(m: int) -> bool:
            return self.delta(self._place(m)) > target

        # on the stretch below the first of the points that is low enough
        m = 1 + last_whole(above, self._above(self.low) - 1, self._above(self.high))
        wanted = (target - self.missed) / self.scale - float(self.d[m])
        share = wanted / float(self.q[m]) if self.q[m] > 0 else 0.0
        guess = self._place(m) + math.log1p(-min(max(share, 0.0), 1 - 1e-12))
        return min(max(guess, self.low), self.high)


def _discounted(masses: Reals, h: float, carry: float) -> Reals:
    """x_m = Σ_{i≥m} masses_i e^{−(i−m)h}, in blocks that span 300 so that nothing overflows.

    `carry` is the sum from the first point on that is not among them, and comes last.
    """
    result = np.empty(len(masses) + 1)
    result[-1] = carry
    block = max(1, min(len(masses), math.floor(300 / h)))
    growth = np.exp(np.arange(block) * h)
    for stop in range(len(masses), 0, -block):
        start = max(0, stop - block)
        up_to = growth[: stop - start]
        sums = np.cumsum((masses[start:stop] / up_to)[::-1])[::-1]
        result[start:stop] = (sums + carry * math.exp(-(stop - start) * h)) * up_to
        carry = float(result[start])
    return result


def masses(product: Complex, size: int, releases: float) -> Reals:
    """The inverse of a transform that is a product over so many releases, and its rounding error.

    See the module: no mass comes out below the true one.
    """
    sizes = np.abs(product)
    rounding = _U * (
        32 * releases * float(sizes.mean())
        + 8 * math.log2(size) * math.sqrt(float((sizes * sizes).mean()) / size)
    )
    return np.maximum(np.fft.irfft(product, size), 0.0) + rounding


@lru_cache(maxsize=24)
def _window(loss: GridLoss, bucket: int) -> Window | Contour:
    mean, unit = _centre(loss)[0], _unit(loss)
    low, high = (0.0, mean) if bucket < 0 else (mean + bucket * unit, mean + (bucket + 1) * unit)
    centre = mean if bucket < 0 else (low + high) / 2
    top = math.fsum(part.top() for part in loss.ingredients)
    tilt = 0.5 if bucket < 0 else _tilt_at(loss, min(centre, top * (1 - 1e-6)))
    if (found := _contour(loss, low, high, centre, tilt)) is not None:
        return found
    h = _step(loss)
    theta = tilt - 0.5
    k, tilted_mean, variance = cumulants(loss.ingredients, tilt)
    sd = math.sqrt(max(variance, h * h))
    margin = unit / 2 + abs(centre - tilted_mean)
    width = _reach(loss, tilt, centre, margin, h)
    size = fast_size(math.ceil(2 * width / h))
    # Each release moves its largest loss up by one point at most.
    whole = 2 * (math.ceil(top / h) + _releases(loss)) + 5 if math.isfinite(top) else math.inf
    missed = 0.0
    if whole <= max(size, loss.resolution // 2):  # a short plan has room for all its losses
        size = fast_size(int(whole))
        begin = -(size // 2)
    else:
        begin = math.floor(centre / h) - size // 2
        reach = (begin + size - 1) * h
        missed = math.exp(min(0.0, _log_beyond(loss, tilt, reach, width, h)))
    negligible = 1e-13 * h / sd
    product = spectrum(loss.ingredients, tilt, h, size, negligible)
    releases = _releases(loss)
    circle = masses(product, size, releases) + negligible
    first = max(begin, math.floor(low / h) - 2)
    index = np.arange(first, begin + size)
    p = circle[index % size]
    if theta > 0:
        p *= np.exp(-theta * (index * h - centre))
    exact = abs(k) + theta * centre
    scale = math.exp(k - theta * centre) * (1 + _U * (4 * len(p) + 64 + 8 * exact + 8 * releases))
    return Window.of(low, high, h, first, p, scale, missed)


def _contour(loss: GridLoss, low: float, high: float, centre: float, tilt: float) -> Contour | None:
    """δ by the frequencies that count; None where these are too many."""
    mean, sd = _centre(loss)
    if _releases(loss) < _MANY or (tilt == 0.5 and mean > 4 * sd):
        return None
    period = 0.0
    if tilt == 0.5:  # below the mean any θ > 0 will do
        tilt += 1 / max(sd, mean)
    else:
        margin = _unit(loss) / 2 + abs(centre - cumulants(loss.ingredients, tilt)[1])
        period = 2 * _reach(loss, tilt, centre, margin, 0.0)
    # e^{−θT}δ(ε−T), at most e^{−θT}T, is to be e^-19 of δ
    least = _log_delta(cumulants(loss.ingredients, tilt), tilt, high)
    period = max(period, (19 - least) / (tilt - 0.5))
    period = max(period, (19 - least + math.log(min(1.0, period))) / (tilt - 0.5))
    # (θ+1)ρ₀ is how far ε is moved
    moves = _MOVES / (2 if len(loss.ingredients[0].spread()[0]) == 1 else 1)
    rho = moves * max(1.0, mean) / (tilt + 0.5)
    return contour(loss.ingredients, low, high, centre, tilt, period, rho)


def _log_delta(cumulant: tuple[float, float, float], tilt: float, epsilon: float) -> float:
    """log of the saddle-point approximation to δ(ε)."""
    (k, _, variance), theta = cumulant, tilt - 0.5
    away = math.log(1 + theta * (theta + 1) * math.sqrt(2 * math.pi * variance))
    return min(0.0, k - theta * epsilon - away)


@dataclass(frozen=True, slots=True)
class CategoryLoss(GridLoss):
    """The loss of equal randomized responses over K > 2 categories."""

    exact_proved = True

    def _exact_epsilon(self, delta_prime: float, sided: Sided) -> float:
        of = _only(self.ingredients[0])
        if of.times > _MOST:
            raise GuaranteeError("composition.exact_too_many", name=self.name, most=_MOST)
        if delta_prime < _SMALLEST:
            return self.largest()
        worst = _worst_tails(of, sided)
        return rung(int(np.argmax(worst <= delta_prime)), of.epsilon)


def _only(part: Ingredient) -> Categories:
    if not isinstance(part, Atoms) or not isinstance(part.of, Categories):
        raise GuaranteeError("composition.not_categories_alone")
    return part.of


@lru_cache(maxsize=16)
def _worst_tails(of: Categories, sided: Sided) -> Reals:
    """max over j ≤ k of P(|S_j| > m), or P(S_j > m), for m = 0 … k; never below."""
    down, stay, up = of.law()[1].tolist()
    k = of.times
    law = np.zeros(2 * k + 1)
    law[k] = 1.0
    worst = np.zeros(k + 1)
    for _ in range(k):
        moved = stay * law
        moved[1:] += up * law[:-1]
        moved[:-1] += down * law[1:]
        law = moved
        above = np.append(np.cumsum(law[:k:-1])[::-1], 0.0)  # P(S > m), m = 0 … k
        if sided == "two":
            above += np.append(np.cumsum(law[:k])[::-1], 0.0)
        np.maximum(worst, above, out=worst)
    return worst * (1 + 2.0**-53 * (16 * k + 64))

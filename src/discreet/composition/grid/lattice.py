"""Equal discrete Gaussian releases: their noises add up to a whole number, and no loss is moved.

Notation. M the sum of k discrete Gaussian noises of parameter σ, s = σ√k, p(m) = P(M = m). The loss
is L = (k + 2M)/2σ², so with x = εσ² − k/2
    δ(ε) = Σ_{m>x} p(m) (1 − e^{ε−l(m)}),   l(m) = (k + 2m)/2σ².

Which p, and how it is summed:

- σ ≥ 2: p(m) ∝ e^{−m²/2s²}. The lattice {n ∈ ℤ^k, Σn = 0} has a dual whose shortest vector has
  length² 1 − 1/k ≥ ½, so the sum over {Σn = m} differs from that by e^{−π²σ²} < 1e-17 of it
  (Poisson summation). Its terms are added up one by one, or for s ≥ 2000 by an integral: with x₀
  half a point below the first m, and ε₀ the loss there, g(x) = p(x) − e^{ε₀} p(x+k) is 0 at x₀,
      Σ g(m) = ∫g + g'(x₀)/24 + R,   |R| ≤ (1/384) ∫|g''''|     (Euler and Maclaurin)
  where ∫g is the δ(ε₀) of Gaussian noise and g'(x₀) = p(x₀)/σ². From ε₀ to ε the curve is a line
  in e^ε.
- σ < 2: by a Fourier transform over whole numbers, tilted: p(m) e^{τm} is followed, with τ such
  that its mean is near x, which keeps the digits of the smallest δ. What lies beyond the upper end
  of the window is bounded (Chernoff) and added; what comes round from below only makes δ larger.

Many discrete Gaussian releases: no worse than one Gaussian release of hardly more ρ.

Notation. Release i adds discrete Gaussian noise of parameter σ_i to a whole number that one unit
moves by 1; D = diag(σ_i²), u_i = 1/σ_i², û = u/|u|, m = max û_i, K releases in all.

Lemma (Peikert 2010, Theorem 3.1, with the error kept). Let R be positive definite, D − R too. Take
x from the normal law of mean μ and covariance D − R, and then a whole y with chances ∝
e^{−(y−x)ᵀR⁻¹(y−x)/2}. By Poisson summation what these add up to is the same for every x, but for a
share of η = Σ_{v≠0} e^{−2π² vᵀRv}, v whole. So y has the law ∝ e^{−(y−μ)ᵀD⁻¹(y−μ)/2} but for a
share of 2η/(1−η): the releases are a post-processing of Gaussian noise of covariance D − R, and
    δ(ε) ≤ (1 + 5η) δ'(ε − 9η),   ρ' = ½ 1ᵀ(D−R)⁻¹1.

R = t²(I − ûûᵀ) + κ²ûûᵀ smooths along û, where the loss is, only as much as it must. With s = v·û
and d² = |v|² − s², vᵀRv = t²d² + κ²s². Let 0 < f < 1.

- |s| < f/m: as |s| ≤ m Σ|v_i| ≤ m|v|², s² ≤ f|v|² and d² ≥ (1−f)|v|². These v add up to at most
  (1 + 2.1 e^{−2π²t²(1−f)})^K − 1.
- |s| in [a, a+ℓ), a ≥ f/m − ℓ: with w = aû, d ≥ |v−w| − ℓ and (x−ℓ)² ≥ x²/2 − ℓ². A sum over whole
  v of e^{−π²t²|v−w|²} is at most (1 + 2.1e^{−π²t²})^K. With ℓ = 1/(πt√2) these v add up to at most
  2e·(1 + 2.1e^{−π²t²})^K Σ_a e^{−2π²κ²a²}.

Both are below e^{−L} for the t and κ taken here, with L = 46: less than the rounding of a double.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.composition.gaussian import GaussianLoss
from discreet.composition.grid.ingredients import Atoms, DiscreteNormal, Reals, fast_size, raised
from discreet.composition.grid.loss import GridLoss, Window, masses
from discreet.numerics import (
    bracket,
    last_whole,
    log_normal_density,
    mills,
    newton,
    normal_tail,
    settle,
)

_U = 2.0**-53
_SMOOTH = 2.0  # from this σ on, sums of discrete Gaussian noise are discrete Gaussian
_FINE = 2000.0  # from this s on, sums are integrals
_FAR = 45.0  # terms below e^-45 of the first are bounded, not added


@dataclass(frozen=True, slots=True)
class EqualNormals(GridLoss):
    """The loss of k equal discrete Gaussian releases of sensitivity 1."""

    @property
    def _of(self) -> DiscreteNormal:
        part = self.ingredients[0]
        assert isinstance(part, Atoms) and isinstance(part.of, DiscreteNormal)  # noqa: S101, PT018
        return part.of

    def _near_best(self, failure: float) -> float | None:
        of = self._of
        return GaussianLoss(of.times / (2 * of.sigma**2)).epsilon(failure / 2)

    def _delta(self, epsilon: float) -> float:
        of = self._of
        square, origin = of.sigma**2, of.times / (2 * of.sigma**2)
        epsilon -= 4 * _U * (epsilon + origin)  # places are rounded
        if _by_integral(of):
            return _integrated(of, epsilon)
        return _window(of, _bucket(of, (epsilon - origin) * square)).delta(epsilon)

    def _epsilon(self, delta: float) -> float:
        of = self._of
        if self._delta(0.0) <= delta:
            return 0.0
        if _by_integral(of):
            guess = GaussianLoss(of.times / (2 * of.sigma**2)).epsilon(delta)
            apart = 1 / of.sigma**2 + 1e-6 * guess
            low, high = max(0.0, guess - apart), guess + apart
            while self._delta(high) > delta:
                low, high = high, high + (high - low)
            while self._delta(low) <= delta:
                low, high = max(0.0, low - 2 * (high - low)), low
            return bracket(lambda e: self._delta(e) <= delta, high, low, relative=1e-14)[0]

        def above(bucket: int) -> bool:
            return self._delta(max(0.0, _window(of, bucket).low)) > delta

        guess = _bucket(of, _spread(of) * math.sqrt(-2 * math.log(delta)))
        window = _window(of, last_whole(above, -1, 1 << 40, guess=guess))
        return settle(self._delta, delta, window.epsilon(delta))


def _by_integral(of: DiscreteNormal) -> bool:
    return of.sigma >= _SMOOTH and of.sigma * math.sqrt(of.times) >= _FINE


def _integrated(of: DiscreteNormal, epsilon: float) -> float:
    k, square = of.times, of.sigma**2
    s = of.sigma * math.sqrt(k)
    start = math.floor(epsilon * square - k / 2) + 0.5
    middle = (k + 2 * start) / (2 * square)
    y, across = start / s, (start + k) / s
    normal = GaussianLoss(k / (2 * square)).delta(middle)
    density = math.exp(log_normal_density(y))
    lower = density * mills(across)  # e^{ε₀} times the tail of the other law
    rest = 1.01 * (normal_tail(y) * _moments(y) + lower * _moments(across)) / (384 * s**4)
    lines = -math.expm1(epsilon - middle) * lower
    lines += abs(lines) * (1 + across * across) / (12 * s * s)
    bend = density / (24 * square * s)
    return (normal + bend + rest + lines) * (1 + 1e-12)


def _moments(y: float) -> float:
    """2 E[Y⁴ + 6Y² + 3 | Y > y] or more, Y normal: by φ(y) ≤ (y+1) P(Y > y) for y ≥ 0."""
    y = max(y, 0.0)
    return 2 * (12 + 9 * y + 9 * y**2 + y**3 + y**4)


@lru_cache(maxsize=64)
def _spread(of: DiscreteNormal) -> float:
    """The standard deviation of M."""
    if of.sigma >= _SMOOTH:
        return of.sigma * math.sqrt(of.times)
    return math.sqrt(of.times * _tilted(of.sigma, 0.0)[3])


def _unit(of: DiscreteNormal) -> int:
    """How many whole numbers x one window serves."""
    return max(1, int(_spread(of) / 2))


def _bucket(of: DiscreteNormal, x: float) -> int:
    """Which window serves x: −1 below the mean."""
    return max(-1, math.floor(x / _unit(of)))


@lru_cache(maxsize=24)
def _window(of: DiscreteNormal, bucket: int) -> Window:
    unit, h, origin = _unit(of), 1 / of.sigma**2, of.times / (2 * of.sigma**2)
    law = _smooth_law if of.sigma >= _SMOOTH else _rough_law
    first, p, scale, missed = law(of, bucket * unit, unit)
    low, high = origin + bucket * unit * h, origin + (bucket + 1) * unit * h
    if bucket < 0:
        low = 0.0
    return Window.of(low, high, h, first, p, scale, missed, origin)


def _smooth_law(of: DiscreteNormal, first: int, unit: int) -> tuple[int, Reals, float, float]:
    """p from `first` on for σ ≥ 2: the first point, p, what to multiply it by, and what is left."""
    s = of.sigma * math.sqrt(of.times)
    start = -math.ceil(10 * s) if first < 0 else first
    stop = math.ceil(math.sqrt(max(start, 0) ** 2 + 2 * _FAR * s * s)) + unit + 2
    m = np.arange(start, stop + 1, dtype=np.float64)
    base = max(start, 0)
    p = np.exp((base - m) * (base + m) / (2 * s * s))
    norm = s * math.sqrt(2 * math.pi)
    scale = math.exp(-base * base / (2 * s * s)) / norm * (1 + _U * (256 + 4 * len(p)))
    left = scale * float(p[-1]) * (1 + s * s / stop)
    return start, p, scale * (1 + _U * 16 * (base / s) ** 2), left + (1e-22 if first < 0 else 0.0)


def _tilted(sigma: float, tau: float) -> tuple[int, Reals, float, float, float]:
    """The law ∝ p(n) e^{τn} of one noise: first n, probabilities, mean, variance; log E[e^{τn}]."""
    reach = math.ceil(39 * sigma) + 2
    at = round(tau * sigma * sigma)
    n = np.arange(at - reach, at + reach + 1, dtype=np.float64)
    logs = tau * n - n * n / (2 * sigma * sigma)
    peak = float(logs.max())
    weights = np.exp(logs - peak)
    total = float(weights.sum())
    weights /= total
    mean = float(weights @ n)
    variance = float(weights @ (n - mean) ** 2)
    if tau == 0:
        return at - reach, weights, 0.0, variance, 0.0
    around = np.arange(-reach, reach + 1, dtype=np.float64)
    norm = float(np.exp(-around * around / (2 * sigma * sigma)).sum())
    return at - reach, weights, mean, variance, peak + math.log(total / norm)


def _rough_law(of: DiscreteNormal, first: int, unit: int) -> tuple[int, Reals, float, float]:
    """The same for σ < 2."""
    sigma, k = of.sigma, of.times
    centre = 0 if first < 0 else first + (unit + 1) // 2

    def missing(tau: float) -> tuple[float, float]:
        _, _, mean, variance, _ = _tilted(sigma, tau)
        off = k * mean - centre
        return (off if abs(off) > 0.02 * unit else 0.0), max(k * variance, 1e-300)

    # The mean of one noise lies within 1 of τσ², which its law is centred at.
    start, most = centre / (k * sigma * sigma), (centre / k + 1) / sigma**2
    tau = newton(missing, start, 0.0, most, width=1e-9) if centre > 0 else 0.0
    least, weights, _, variance, log_k = _tilted(sigma, tau)
    spread = math.sqrt(k * variance)
    width = math.ceil(14 * spread) + 64
    size = fast_size(2 * width + unit)
    places = (least + np.arange(len(weights))) % size
    product = raised(np.fft.rfft(np.bincount(places, weights, size)), k)
    begin = -width if first < 0 else first
    m = np.arange(begin, centre + size // 2)
    # In logarithms: for σ far below 1 the tilt alone is beyond the range of doubles.
    with np.errstate(divide="ignore"):
        logs = np.log(masses(product, size, k)[m % size])
    p = np.exp(np.minimum(0.0, logs - tau * (m - centre) + (k * log_k - tau * centre)))
    tilts = k * abs(log_k) + tau * (centre + size)
    slack = _U * (4 * len(p) + 1024 + 16 * k + 8 * tilts)
    further = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, *_steps(width, spread))
    beyond = min(k * _tilted(sigma, tau + t)[4] - (tau + t) * (centre + size // 2) for t in further)
    missed = math.exp(min(0.0, beyond + 1e-9)) + (1e-20 if first < 0 else 0.0)
    return begin, p, 1 + slack, missed


def _steps(width: int, spread: float) -> Iterable[float]:
    return (width / spread**2, width / (2 * spread**2)) if spread > 1 else ()


_L = 46.0
_LEAST_PART = 0.05  # the least 1 − f or f


def as_gaussian(releases: Sequence[tuple[float, int]]) -> float:
    """Return ρ of a Gaussian release that is no better than these (σ, how often); inf if none is.

    >>> as_gaussian([(50.0, 400)]) / (400 / (2 * 50.0**2)) - 1 < 1e-5
    True
    """
    many = sum(times for _, times in releases)
    log_many = math.log(3 * many)
    t2 = 0.9 * min(sigma for sigma, _ in releases) ** 2
    # 2π²t²(1−f) is L + log 3K, and π²t² at least log 3K: then (1 + 2.1e^{−π²t²})^K is below e
    share = 1 - (_L + log_many) / (2 * math.pi**2 * t2)
    if share < _LEAST_PART or math.pi**2 * t2 < log_many:
        return math.inf
    length = math.sqrt(math.fsum(times / sigma**4 for sigma, times in releases))
    largest = max(1 / sigma**2 for sigma, _ in releases) / length
    begin = share / largest - 2 / (math.pi * math.sqrt(2 * t2))
    if begin <= 1:
        return math.inf
    # Σ_a e^{−2π²κ²a²} ≤ (1 + 1/(ℓ·4π²κ²·begin)) e^{−2π²κ²·begin²}, with κ ≥ 1/begin
    extra = math.log(2 * math.e**2 * (1 + begin * math.sqrt(2 * t2)))
    k2 = (_L + extra) / (2 * math.pi**2 * begin**2)
    if k2 >= t2:
        return math.inf
    # (E + cûûᵀ)⁻¹ with E = D − t², c = t² − κ², by Sherman and Morrison
    c, rests = t2 - k2, [(sigma**2 - t2, sigma, times) for sigma, times in releases]
    plain = math.fsum(times / e for e, _, times in rests)
    along = math.fsum(times / (e * sigma**2) for e, sigma, times in rests) / length
    within = math.fsum(times / (e * sigma**4) for e, sigma, times in rests) / length**2
    less = c * along * along / (1 + c * within)
    return (plain - less) / 2 + 1e-14 * (plain + less)

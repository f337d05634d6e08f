"""The law of the loss itself: P(L > x) of any plan, from its transform, never below the truth.

Notation. z = θ + it, M(z) = E[e^{zL}] = e^K φ(t) (`transforms`), T(y) = P(L > y), and Q the law of
everything released without the person, for which P(L < −y) = Q(L > y) by symmetry, and
E_Q[e^{(z+1)L}] = M(z): one transform serves both sides.

Inversion. Under the tilted law P_θ(l) = P(l) e^{θl−K} the tail is a mean of the cut exponential
f(x) = e^{-λx} for x ≥ 0, 0 for x < 0:
    T(x) ≤ e^{K−θx} E_θ[f((L−x)/h)],   λ = θh, any h > 0.
A law with atoms has frequencies without end, so f is replaced by the least function above it that
has none beyond 1 (Graham and Vaaler 1981):
    m(ν) = (1−|ν|)/(1−q) − (i sgn ν/2π)(λ/(e^λ−1) − λq/(1−q)),   q = e^{-λ−2πiν},   |ν| < 1,
its transform. That moves losses up by h/2, all releases together, wherever their atoms lie; to
round each of k of them up to a grid would move them by about kh/2. The integral over ν becomes a
sum over the frequencies 2πf/p, which is the same with what lies multiples of p away added (Poisson
summation): that is never negative, so it cannot make a bound too small, and p only has to be long
enough for it not to matter.

Two kinds of plan lose nothing. Where all losses lie on one lattice of step h (equal releases of
discrete Gaussian noise, of geometric noise with Δ > 1, of randomized response) Σ e^{zy} P(L ≥ y)
over the lattice is M(z)/(1 − e^{-zh}), and there is nothing to replace. And equal Laplace releases
are, with probability ((1+e^{-ε})/2)^k, all at ±ε: that part is a binomial walk, counted exactly,
and only the rest, which has a density, is inverted. In other plans a tail asked for at an atom of
the law, or within h above it, counts the atom or a part of it.

What it is the law of. The person is in every release with their full contribution. For Laplace
noise and mixed plans it is *not proved* that no other contribution exposes them more, so this is no
exact bound on beliefs there, and `exact_epsilon` keeps refusing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.composition.curves import Sided
from discreet.composition.grid.ingredients import (
    Atoms,
    Categories,
    Complex,
    DiscreteNormal,
    LaplaceLosses,
    Reals,
    Steps,
    TwoPoints,
)
from discreet.composition.grid.transforms import Transform, cumulants, fast_size, transform
from discreet.composition.walk import WalkLoss
from discreet.numerics import bracket, last_whole, newton

if TYPE_CHECKING:
    from discreet.composition.grid.loss import GridLoss

_U = 2.0**-53
_TINY = 5e-324
_ENDS = 23.0  # what comes round weighs about e^-23 of T
_DEEPEST = 36.0  # standard deviations: beyond, probabilities underflow
_BACK = 12  # points looked at below x, two to a step
_LARGEST_LATTICE = 1 << 20


def tail(loss: GridLoss, x: float, sided: Sided) -> float:
    """P(L > x), or P(|L| > x) for x ≥ 0, of the ingredients at full contribution."""
    bucket = _bucket(loss, x)
    if bucket < -2 * _DEEPEST:
        return 1.0
    return _piece(loss, bucket).tail(x, sided)


def quantile(loss: GridLoss, delta_prime: float, sided: Sided) -> float:
    """Return the least x ≥ 0 with a tail of at most δ', 0 < δ' < 1, or a hair above it."""
    largest = loss.largest()

    def below(x: float) -> bool:
        return x >= largest or tail(loss, x, sided) <= delta_prime

    mean, unit = _frame(loss)
    floor = math.floor(-mean / unit)  # the window that holds 0

    def end(bucket: int) -> float:
        return max(0.0, mean + bucket * unit)

    low = max(floor, _bucket(loss, _guess(loss, delta_prime)))
    stride = 1
    while low > floor and below(end(low)):
        low, stride = max(floor, low - stride), 2 * stride
    high, stride = low + 1, 1
    while not below(end(high)):
        low, high, stride = high, high + stride, 2 * stride
    low = last_whole(lambda bucket: not below(end(bucket)), low, high)
    if low == floor and below(0.0):
        return 0.0
    return bracket(below, min(largest, end(low + 1)), end(low))[0]


@dataclass(frozen=True, slots=True)
class _Piece:
    """e^{θy−K} T(y) and e^{(θ+1)y−K} Q(L > y) at points y one step apart, on a circle."""

    step: float
    theta: float
    upper: Reals
    lower: Reals
    log_scale: float
    slack: float
    lattice: tuple[Fraction, int] | None = None  # half a step, and whether the points are odd
    atoms: tuple[WalkLoss, float] | None = None

    def tail(self, x: float, sided: Sided) -> float:
        m = self._point(x)
        found = self._value(self.upper, m, self.theta)
        if sided == "two":
            found += self._value(self.lower, m, self.theta + 1)
        if self.atoms is not None:
            walk, weight = self.atoms
            found += weight * walk.tail(x, sided)
        return min(1.0, max(_TINY, found))

    def _point(self, x: float) -> int:
        """The last point at or below x; of a lattice, where points count themselves, the next."""
        if self.lattice is None:
            return math.floor(x / self.step - 1e-6)
        half, odd = self.lattice
        return math.floor((Fraction(x) / half - odd) / 2) + 1

    def _place(self, m: int) -> float:
        if self.lattice is None:
            return m * self.step
        half, odd = self.lattice
        return float((2 * m + odd) * half)

    def _value(self, circle: Reals, m: int, theta: float) -> float:
        """The least bound at the last few points: what lies above a lower point covers it too.

        The majorant overshoots between whole numbers, so just above an atom an earlier point may
        be the better one.
        """
        best = math.inf
        for n in range(m, m - (1 if self.lattice else _BACK), -1):
            exponent = theta * self._place(n)
            slack = 1 + _U * (self.slack + 8 * abs(exponent))
            value = float(circle[n % len(circle)]) * math.exp(self.log_scale - exponent) * slack
            best = min(best, value)
        return best


@lru_cache(maxsize=256)
def _frame(loss: GridLoss) -> tuple[float, float]:
    """Mean of the loss, and half a standard deviation or a step of its lattice: one window each."""
    _, mean, variance = cumulants(loss.ingredients, 0.5)
    lattice = _lattice(loss)
    step = 0.0 if lattice is None else float(lattice[0])
    return mean, max(0.5 * math.sqrt(max(variance, 1e-24 * mean * mean)), step)


def _bucket(loss: GridLoss, x: float) -> int:
    mean, unit = _frame(loss)
    return math.floor(min(max((x - mean) / unit, -1e6), 1e6))


@lru_cache(maxsize=256)
def _most(loss: GridLoss) -> float:
    """The largest θ of use; the law of discrete Gaussian losses is cut a little beyond."""
    _, mean, variance = cumulants(loss.ingredients, 0.5)
    most = _DEEPEST / math.sqrt(max(variance, 1e-24 * mean * mean))
    for part in loss.ingredients:
        if isinstance(part, Atoms) and isinstance(part.of, DiscreteNormal):
            most = min(most, 30 * part.of.sigma)
    return most


def _solved(loss: GridLoss, missing: Callable[[float], tuple[float, float]]) -> float:
    """The θ at which a rising function is 0, or near enough."""
    most = _most(loss)
    return newton(missing, min(most, 1 / (2 * _frame(loss)[1])), 0.0, most, width=1e-3)


def _saddle(loss: GridLoss, x: float) -> float:
    """The θ ≥ 0 under which the mean of the loss is x, nearly."""
    mean, unit = _frame(loss)
    if x <= mean:
        return 0.0

    def missing(theta: float) -> tuple[float, float]:
        _, mean, variance = cumulants(loss.ingredients, theta + 0.5)
        return (mean - x if abs(mean - x) >= 0.05 * unit else 0.0), variance

    return _solved(loss, missing)


def _log_tail(loss: GridLoss, theta: float) -> tuple[float, float, float]:
    """The saddle-point approximation to log T at the mean under θ, that mean and the variance."""
    k, mean, variance = cumulants(loss.ingredients, theta + 0.5)
    away = math.log(2 + theta * math.sqrt(2 * math.pi * variance))
    return k - theta * mean - away, mean, variance


def _guess(loss: GridLoss, delta_prime: float) -> float:
    """Where T is about δ'."""
    goal = math.log(delta_prime)

    def missing(theta: float) -> tuple[float, float]:
        value, _, variance = _log_tail(loss, theta)
        return (goal - value if abs(goal - value) >= 0.05 else 0.0), theta * variance

    return _log_tail(loss, _solved(loss, missing))[1] if delta_prime < 0.4 else _frame(loss)[0]


def _period(loss: GridLoss, theta: float, x: float, goal: float) -> float:
    """A period after which what comes round weighs e^-23 of T(x) = e^goal, or nearly."""
    variance = max(cumulants(loss.ingredients, theta + 0.5)[2], _frame(loss)[1] ** 2 / 4)
    sd = math.sqrt(variance)
    period = max(7 * sd, (_ENDS - goal) / theta)
    for _ in range(24):
        v = min(theta + min(period / variance, 40 / sd), _most(loss) + theta)
        beyond = cumulants(loss.ingredients, v + 0.5)[0] - v * (x + period) + theta * period
        if beyond <= goal - _ENDS or x + period > loss.largest() + 9 * sd:
            break
        period *= 1.1
    return period


def _lattice(loss: GridLoss) -> tuple[Fraction, int] | None:
    """Half the step of the lattice on which all losses lie, and whether they are odd multiples."""
    part = loss.ingredients[0]
    if len(loss.ingredients) > 1 or not isinstance(part, Atoms):
        return None
    match part.of:
        case Steps(epsilon, sensitivity, times):
            return Fraction(epsilon) / sensitivity, sensitivity * times % 2
        case Categories(epsilon):
            return Fraction(epsilon) / 2, 0
        case DiscreteNormal(sigma, times):
            return 1 / (2 * Fraction(sigma) ** 2), times % 2


def _walk(loss: GridLoss) -> tuple[WalkLoss, float] | None:
    """Equal Laplace releases that all fall on their atoms: their walk, and log of their mass."""
    part = loss.ingredients[0]
    if len(loss.ingredients) > 1 or not isinstance(part, LaplaceLosses) or len(part.times) > 1:
        return None
    epsilon, times = part.epsilons[0], part.times[0]
    return WalkLoss(epsilon, times), times * math.log1p(math.expm1(-epsilon) / 2)


@lru_cache(maxsize=8)
def _piece(loss: GridLoss, bucket: int) -> _Piece:
    mean, unit = _frame(loss)
    x = min(mean + (bucket + 0.5) * unit, loss.largest())
    saddle = _saddle(loss, x)
    goal = _log_tail(loss, saddle)[0]
    spread = max(math.sqrt(cumulants(loss.ingredients, saddle + 0.5)[2]), unit / 2)
    theta = min(saddle + 2 / spread, 1.1 * _most(loss))
    period = _period(loss, theta, x, goal)
    log_mass = cumulants(loss.ingredients, theta + 0.5)[0]
    lattice = _lattice(loss)
    if lattice is not None:
        h = float(2 * lattice[0])
        size = fast_size(max(256, math.ceil(period / h)))
        if size <= _LARGEST_LATTICE:
            return _on_lattice(loss, theta, log_mass, lattice, size)
    return _banded(loss, theta, log_mass, period, 2 * loss.resolution)


def _slack(loss: GridLoss, log_mass: float) -> float:
    releases = float(sum(np.sum(part.spread()[1]) for part in loss.ingredients))
    return 256 + 16 * releases + 8 * abs(log_mass)


def _on_lattice(
    loss: GridLoss, theta: float, log_mass: float, lattice: tuple[Fraction, int], size: int
) -> _Piece:
    h = float(2 * lattice[0])
    t = np.arange(size // 2 + 1, dtype=np.float64) * (2 * math.pi / (size * h))
    phi = transform(loss.ingredients, theta, t)
    z = theta + 1j * t
    turn = np.exp(-1j * math.pi / size * lattice[1] * np.arange(size // 2 + 1))
    upper, lower = (_inverted(phi, turn / -np.expm1(-w * h), size) for w in (z, z + 1))
    return _Piece(h, theta, upper, lower, log_mass, _slack(loss, log_mass), lattice=lattice)


def _banded(loss: GridLoss, theta: float, log_mass: float, period: float, size: int) -> _Piece:
    h = 2 * period / size  # the highest frequency of the transform is ν = 1
    t = np.arange(size // 2 + 1, dtype=np.float64) * (2 * math.pi / period)
    phi = transform(loss.ingredients, theta, t)
    atoms = _walk(loss)
    if atoms is not None:
        walk, log_weight = atoms
        part = TwoPoints((walk.step,), (walk.times,))
        share = math.exp(log_weight + part.cumulants(theta + 0.5)[0] - log_mass)
        phi = phi.less(share, transform((part,), theta, t))
    upper, lower = (
        2 * _inverted(phi, _majorant(tilt * h, size // 2), size) for tilt in (theta, theta + 1)
    )
    weight = None if atoms is None else (atoms[0], math.exp(atoms[1]) * (1 + 1e-13))
    slack = _slack(loss, log_mass)
    return _Piece(h / 2, theta, upper, lower, log_mass, slack, atoms=weight)


def _majorant(rate: float, points: int) -> Complex:
    """m(ν) at ν = 0, 1/points, …, 1 for the rate λ; see the module."""
    nu = np.arange(points + 1) / points
    # 1/(e^{λ+2πiν} − 1), ν taken between −½ and ½ so that no digits are lost near 1
    inverse = 1 / np.expm1(rate + 2j * math.pi * (nu - np.rint(nu)))
    found: Complex = (1 - nu) * (1 + inverse)
    found += (0.5j / math.pi * rate) * (inverse - 1 / math.expm1(rate))
    found[0] = 1 + 1 / math.expm1(rate)
    return found


def _inverted(phi: Transform, factor: Complex, size: int) -> Reals:
    """The inverse transform of φ times a factor, raised by its rounding error.

    The transform of a vector of norm |v| has an error of norm 8u log₂N |v| at most (Higham 2002,
    Thm 24.2), and so has each of its entries.
    """
    spectrum = phi.phi * factor
    sizes = np.abs(factor) * phi.size
    norm = math.sqrt(2 * float(sizes @ sizes) / size)
    rounding = 2 / size * float(sizes @ (phi.error + 64)) + 8 * math.log2(size) * norm
    circle: Reals = np.fft.irfft(np.conj(spectrum), size)
    return np.maximum(circle, 0.0) + _U * rounding

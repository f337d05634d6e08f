"""The Fourier transform of each loss, tilted, in closed form at any frequency.

Notation. As in `ingredients`: λ = θ + ½ with θ > 0, S(l) = e^{-l/2} P(l), K(λ) = log Σ S(l) e^{λl}.
Here z = θ + it, and for all releases of an ingredient together
    φ(t) = E[e^{zL}]/E[e^{θL}] = e^{K(λ + it) − K(λ)},   |φ| ≤ 1.
Nothing is moved to a grid. Up to a constant, one release has

- two-point ±ε:  cosh(λε);
- Laplace:  ½e^{λε}(1 + 1/2λ) + ½e^{−λε}(1 − 1/2λ);
- normal:  e^{ρλ²};
- geometric with Δ > 1, w = e^{λε/Δ}, a = e^{-ε/Δ}:  w^Δ + w^{−Δ} + (1−a)(w^Δ − w^{2−Δ})/(w² − 1);
- randomized response over K > 2:  e^{λε} + e^{−λε} + (K−2)e^{-ε/2};
- discrete Gaussian:  Σ_n e^{-n²/2σ² + z(1−2n)/2σ²}, for σ ≥ ½ by Poisson summation, which is
      σ√2π e^{(θ²+θ+it)/2σ²} Σ_j exp(−2π²σ²d² + 2πiθd),   d = j + t/2πσ²,
  of which the terms with d near 0 count.

Every φ comes with a bound on its rounding error, to first order: it grows with the phase tl of a
loss, which is rounded once, and a k-th power multiplies it by k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.composition.grid.ingredients import (
    Atoms,
    Categories,
    Complex,
    DiscreteNormal,
    Ingredient,
    LaplaceLosses,
    Normal,
    Reals,
    Steps,
    TwoPoints,
    raised,
)

_NEAR = range(-4, 5)  # the terms left out are below e^-90
_SMALL = 0.125
_NOTHING = 1e-40


def fast_size(least: int) -> int:
    """The least 2^a·3^b·5^c, even, that is at least `least`."""
    best = 1 << max(4, (least - 1).bit_length())
    for five in (1, 5, 25, 125):
        for three in (1, 3, 9, 27, 81):
            size = five * three * 2
            while size < least:
                size *= 2
            best = min(best, size)
    return best


def cumulants(parts: Iterable[Ingredient], tilt: float) -> tuple[float, float, float]:
    """K, K' and K'' of the whole plan."""
    sums = np.sum([part.cumulants(tilt) for part in parts], axis=0)
    return float(sums[0]), float(sums[1]), float(sums[2])


@dataclass(frozen=True, slots=True)
class Transform:
    """φ, a size of it that is not below |φ|, and its error in units of 2⁻⁵³ of that size."""

    phi: Complex
    size: Reals
    error: Reals

    def at(self, kept: NDArray[np.bool_]) -> Transform:
        """The same at some of the frequencies."""
        return Transform(self.phi[kept], self.size[kept], self.error[kept])

    def less(self, share: float, other: Transform) -> Transform:
        """Take a share of another transform away."""
        return Transform(
            self.phi - share * other.phi,
            self.size + share * other.size,
            np.maximum(self.error, other.error) + 4.0,
        )

    def __mul__(self, other: Transform) -> Transform:
        return Transform(
            self.phi * other.phi, self.size * other.size, self.error + other.error + 4.0
        )


def transform(parts: Iterable[Ingredient], theta: float, t: Reals) -> Transform:
    """φ of the whole plan at frequencies t ≥ 0, for θ > 0.

    Of many factors only the frequencies that still matter are followed; at the others φ is taken to
    be 0, with an error of all that it may be.
    """
    alive, here = np.arange(len(t)), t
    product: Transform | None = None
    for turn, group in enumerate(_groups(parts, theta)):
        factor = group(here)
        product = factor if product is None else product * factor
        if turn % 8 == 7:
            kept = product.size > _NOTHING
            alive, here, product = alive[kept], here[kept], product.at(kept)
    if product is None:
        raise AssertionError("there is nothing to transform")
    if len(alive) == len(t):
        return product
    phi = np.zeros(len(t), dtype=np.complex128)
    size, error = np.full(len(t), _NOTHING), np.full(len(t), 2.0**53)
    phi[alive], size[alive], error[alive] = product.phi, product.size, product.error
    return Transform(phi, size, error)


def _groups(parts: Iterable[Ingredient], theta: float) -> Iterable[Callable[[Reals], Transform]]:
    """φ of each group of equal releases, as a function of the frequencies."""
    for part in parts:
        match part:
            case TwoPoints():
                for epsilon, times in zip(part.epsilons, part.times, strict=True):
                    yield partial(_two_point, epsilon, times, theta)
            case LaplaceLosses():
                for epsilon, times in zip(part.epsilons, part.times, strict=True):
                    yield partial(_laplace, epsilon, times, theta)
            case Normal():
                yield partial(_normal, part.rho, theta)
            case Atoms():
                yield partial(_atoms, part, theta)


def _repeated(phi: Complex, error: Reals, times: int) -> Transform:
    """φ^times; where |φ| is small its error is no longer small beside it, and ⅛ takes its place."""
    size = np.sqrt(np.maximum(phi.real**2 + phi.imag**2, _SMALL * _SMALL))
    error = times * (error / size + 4)
    return Transform(raised(phi, times), size**times if times > 1 else size, error)


def _two_point(epsilon: float, times: int, theta: float, t: Reals) -> Transform:
    x = (theta + 0.5) * epsilon
    turn = np.exp(1j * (epsilon * t))
    down = math.exp(-2 * x)
    phi = (turn + down * np.conj(turn)) / (1 + down)
    return _repeated(phi, 16 + 2 * epsilon * t, times)


def _laplace(epsilon: float, times: int, theta: float, t: Reals) -> Transform:
    tilt = theta + 0.5
    x = tilt * epsilon
    turn = np.exp(1j * (epsilon * t))
    down = math.exp(-2 * x)
    half = 0.5 / (tilt + 1j * t)
    norm = 1 + down - math.expm1(-2 * x) / (2 * tilt)
    phi = (turn * (1 + half) + down * np.conj(turn) * (1 - half)) / norm
    return _repeated(phi, 32 + 2 * epsilon * t, times)


def _normal(rho: float, theta: float, t: Reals) -> Transform:
    phase, fall = 2 * rho * (theta + 0.5) * t, rho * t * t
    return Transform(np.exp(1j * phase - fall), np.exp(-fall), 8 + 4 * (phase + fall))


def _atoms(part: Atoms, theta: float, t: Reals) -> Transform:
    of = part.of
    log_norm = part.cumulants(theta + 0.5)[0] / of.times
    match of:
        case Steps():
            phi, error = _steps(of, theta, t, log_norm)
        case Categories():
            phi, error = _categories(of, theta, t, log_norm)
        case DiscreteNormal():
            phi, error = _discrete_normal(of.sigma, theta, t, log_norm)
    return _repeated(phi, error, of.times)


def _steps(of: Steps, theta: float, t: Reals, log_norm: float) -> tuple[Complex, Reals]:
    # Between the ends the terms of Σ P(l) e^{zl} are geometric with ratio e^v.
    rate = of.epsilon / of.sensitivity
    z = theta + 1j * t
    v = (2 * z + 1) * rate
    top, bottom = np.exp(z * of.epsilon - log_norm), np.exp(-(z + 1) * of.epsilon - log_norm)
    ratio = np.expm1(v)
    within = -math.expm1(-rate) * (top - np.exp(v) * bottom) / ratio
    total = (top + bottom + within) / (1 + math.exp(-rate))
    error = 64 + 8 * of.epsilon * t + 8 * np.abs(within) * (1 + rate * t) / np.abs(ratio) * rate
    return total, error


def _categories(of: Categories, theta: float, t: Reals, log_norm: float) -> tuple[Complex, Reals]:
    low, middle, high = of.law()[1].tolist()
    x, turn = theta * of.epsilon, np.exp(1j * (of.epsilon * t))
    total = high * math.exp(x - log_norm) * turn + middle * math.exp(-log_norm)
    total += low * math.exp(-x - log_norm) * np.conj(turn)
    return total, 16 + 2 * of.epsilon * t


def _discrete_normal(
    sigma: float, theta: float, t: Reals, log_norm: float
) -> tuple[Complex, Reals]:
    square = sigma * sigma
    total = np.zeros(len(t), dtype=np.complex128)
    if sigma < 0.5:
        at = -round(theta)
        log_norm += math.log(math.fsum(math.exp(-0.5 * n * n / square) for n in range(-12, 13)))
        for n in range(at - 12, at + 13):
            weight = math.exp((theta * (1 - 2 * n) - n * n) / (2 * square) - log_norm)
            total += weight * np.exp(1j * ((0.5 - n) / square * t))
        return total, 64 + (4 * abs(at) + 50) / square * (1 + t)
    turns = t / (2 * math.pi * square)
    off = turns - np.rint(turns)
    for j in _NEAR:
        d = off + j
        total += np.exp((2j * math.pi * theta - 2 * math.pi**2 * square * d) * d)
    # the sum of all e^{-n²/2σ²} is the same at z = 0
    log_norm += math.log1p(2 * math.fsum(math.exp(-2 * (math.pi * sigma * j) ** 2) for j in (1, 2)))
    total *= math.exp((theta * theta + theta) / (2 * square) - log_norm)
    total *= np.exp(1j * (t / (2 * square)))
    growth = (theta * theta + theta) / square
    return total, 64 + 4 * growth + ((4 * theta + 2) / square + 8 / sigma) * t

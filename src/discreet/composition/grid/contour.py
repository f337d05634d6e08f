"""δ(ε) of many releases at the points that are asked for: a sum over few frequencies, and no grid.

Notation. As in `loss`: K(λ), λ = θ + ½, the cumulant function of the loss L, and
φ(ω) = e^{K(λ+iω)−K(λ)}; T a period and ω_j = 2πj/T. For any θ > 0

    (1 − e^{ε−L})⁺ = (1/2π) ∫ e^{(θ+iω)(L−ε)} / ((θ+iω)(θ+1+iω)) dω,

and the trapezoidal rule, by Poisson's summation formula, gives exactly

    (1/T) e^{K−θε} Σ_j φ(ω_j) e^{−iω_jε} / ((θ+iω_j)(θ+1+iω_j)) = Σ_m e^{−θmT} δ(ε − mT).

All terms on the right are positive, so the sum is never below δ(ε), its term m = 0; T is such that
the others weigh about 1e-8 of it.

Which frequencies. Next to 0 a dozen points hold nearly all. Farther out, φ is small unless all
losses lie near a common lattice; so |φ| is first bounded over blocks of frequencies, and the blocks
whose bounds together weigh next to nothing are left out, and added as an error. A block reaches r
from its centre, where |cos ωε| ≤ |cos ω_cε| + rε =: c. Over its value at ω = 0,

- two points:  |φ|² = 1 − (1 − cos² ωε)/cosh² λε, which rises with cos²;
- Laplace:  |φ| ≤ (√(1 − (1 − c²)/cosh² λε) + 1/2ω)/(1 + tanh(λε)/2λ);
- normal:  |φ| = e^{−ρω²}.

To bound what lies beyond the last block, one more Gaussian release of a tiny ρ₀ is added to the
plan. It can only make δ larger: leaving its output out is post-processing. ρ₀ moves ε by (θ+1)ρ₀;
by more at the corners of a curve whose losses lie far apart, which is seen from the sum.

Rounding. ω_j is exact (a short number times j). One factor φ is off by at most u(8 + 4ωl), l the
largest loss of its release, no factor is above 1, and e^{−iωε} is off by 2uωε; these are added up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.composition.grid.ingredients import (
    Complex,
    Ingredient,
    Normal,
    Reals,
    cumulants,
)
from discreet.numerics import newton

_U = 2.0**-53
_TINY = 5e-324
_LEFT_OUT = 4e-9  # how far blocks that are left out may move ε
_CORNERS = 3.0  # how much more than usual the release that is added may move ε
_SHARP = 1e-7  # the largest share of δ that errors may have
_MOST_BLOCKS = 40_000
_MOST_POINTS = 16_384
_MOST_WORK = 600_000  # points times releases


@dataclass(frozen=True, slots=True)
class Contour:
    """δ between `low` and `high`: frequencies ω_j > 0 and what e^{−iω_j(ε−centre)} is taken by."""

    low: float
    high: float
    centre: float
    theta: float
    scale: float
    first: float
    omega: Reals
    weights: Complex
    slack: float

    def delta(self, epsilon: float) -> float:
        """δ(ε), never below the truth."""
        return self._at(epsilon)[0]

    def _sum(self, epsilon: float) -> tuple[float, Complex]:
        """The sum, with all that it may be off by, and its terms."""
        turned = self.weights * np.exp(self.omega * (-1j * (epsilon - self.centre)))
        return max(self.first + float(turned.real.sum()) + self.slack, 1e-300), turned

    def _at(self, epsilon: float) -> tuple[float, float]:
        """δ, and the slope of its logarithm."""
        total, turned = self._sum(epsilon)
        value = self.scale * math.exp(-self.theta * (epsilon - self.centre)) * total
        return min(1.0, max(_TINY, value)), float(self.omega @ turned.imag) / total - self.theta

    def sharp(self) -> bool:
        """Whether the error that is added hardly shows, at either end."""
        return all(self.slack <= _SHARP * self._sum(end)[0] for end in (self.low, self.high))

    def epsilon(self, target: float) -> float:
        """An ε between `low` and `high` with δ(ε) about the target, which lies between theirs."""
        goal = math.log(target)

        def falls(epsilon: float) -> tuple[float, float]:
            value, slope = self._at(epsilon)
            return goal - math.log(value), -min(slope, -1e-300)

        return newton(falls, (self.low + self.high) / 2, self.low, self.high, near=1e-15)


def contour(
    parts: tuple[Ingredient, ...],
    low: float,
    high: float,
    centre: float,
    tilt: float,
    period: float,
    rho: float,
) -> Contour | None:
    """Return δ between `low` and `high`, or None where too many frequencies count.

    `rho` is that of the release that is added.
    """
    theta = tilt - 0.5
    k, _, variance = cumulants(parts, tilt)
    k += rho * (tilt * tilt - 0.25)
    step = _short(2 * math.pi / period)
    # The sum comes to about this; errors are measured by it.
    whole = period / (1 + theta * (theta + 1) * math.sqrt(2 * math.pi * variance))
    allowed = min(1e-8, _LEFT_OUT * theta) * whole
    moves = _CORNERS * rho * (theta * (theta + 1) + 1 / variance) * whole
    found = _frequencies(parts, tilt, step, rho, allowed, moves)
    if found is None:
        return None
    j, dropped = found
    omega = j * step
    phi = np.exp(rho * omega * (2j * tilt - omega))
    for part in parts:
        phi *= part.at(omega, tilt)
    below = 2 / ((theta + 1j * omega) * (theta + 1 + 1j * omega))
    count, loss = np.sum([part.rounding(tilt) for part in parts], axis=0).tolist()
    off = _U * (8 * count + 64 + omega * 4 * (loss + 2 * rho * tilt + high))
    slack = dropped + float(np.abs(below) @ off) + 8 * _U * len(omega) * whole
    weights = phi * below * np.exp(omega * (-1j * centre))
    sure = 1 + _U * (128 + 8 * (abs(k) + theta * high) + 8 * count)
    made = Contour(
        low=low,
        high=high,
        centre=centre,
        theta=theta,
        scale=math.exp(k - theta * centre) * sure * step / (2 * math.pi),
        first=1 / (theta * (theta + 1)),
        omega=omega,
        weights=weights,
        slack=slack,
    )
    return made if made.sharp() else None


def _frequencies(
    parts: tuple[Ingredient, ...],
    tilt: float,
    step: float,
    rho: float,
    allowed: float,
    moves: float,
) -> tuple[Reals, float] | None:
    """The j that count, and a bound on what all others add to the sum.

    None where there are too many, or where the release that is added changes the sum by more than
    `moves`.
    """
    normal = rho + math.fsum(part.rho for part in parts if isinstance(part, Normal))
    last = 1 / math.sqrt(normal)
    for _ in range(4):  # 2 Σ_{ω>Ω} e^{−ρω²}/ω² ≤ 2e^{−ρΩ²}/(Ω·step)
        last = math.sqrt(max(1.0, math.log(8 / (step * last * allowed))) / normal)
    beyond = 2 * math.exp(-normal * last * last) / (last * step)
    near = max(part.typical() for part in parts)
    if len(parts) == 1 and parts[0].peak(tilt) * near > 4 * math.sqrt(2 * rho):
        return None  # all losses lie on one lattice, and it shows
    each = max(1, min(64, int(0.7 / (near * step)))) if near > 0 else 16
    many = math.ceil(last / step / each)
    if many > _MOST_BLOCKS:
        return None
    blocks = 1 + each * np.arange(many)
    first, _, dropped = _left(parts, tilt, step, rho, allowed / 4, blocks, each)
    if len(first) * each > _MOST_POINTS:
        return None
    points = np.add.outer(first, np.arange(each)).ravel()
    first, b, more = _left(parts, tilt, step, rho, allowed / 4, points, 1)
    if len(first) * max(part.terms() for part in parts) > _MOST_WORK:
        return None
    far = b * (first * step * near > 0.5)  # what is next to 0 is moved as it should be
    if float(-np.expm1(-rho * (first * step) ** 2) @ far) > moves:
        return None
    return first.astype(np.float64), (dropped + more + beyond) * (1 + 1e-9)


def _left(
    parts: tuple[Ingredient, ...],
    tilt: float,
    step: float,
    rho: float,
    allowed: float,
    first: NDArray[np.int64],
    each: int,
) -> tuple[NDArray[np.int64], Reals, float]:
    """The blocks of `each` frequencies that count, by their first; bounds of them, and the rest."""
    low: Reals = np.asarray(first * step, dtype=np.float64)
    half = (each - 1) / 2 * step
    log_b = math.log(2 * each) - rho * low * low
    log_b -= 0.5 * np.log((tilt - 0.5) ** 2 + low * low) + np.log(low)
    hopeless = math.log(allowed / (2 * len(first) + 2))
    for part in parts:
        for bound in part.bounds(tilt):
            alive = log_b > hopeless
            if np.count_nonzero(alive) < 0.8 * len(alive):
                first, low, log_b = first[alive], low[alive], log_b[alive]
            log_b += bound(low, half)
    b = np.exp(log_b)
    threshold = allowed
    while (dropped := float(b[b < threshold].sum())) > allowed / 2:
        threshold /= 3
    return first[b >= threshold], b[b >= threshold], dropped + allowed / 2


def _short(x: float) -> float:
    """About x, with so few digits that its multiples are exact."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(mantissa * (1 << 26)), exponent - 26)

"""k equal two-point releases: the loss is a random walk, and everything about it is binomial.

Notation. Each release has loss +ε₀ with probability p = e^{ε₀}/(1+e^{ε₀}) and −ε₀ with q = 1 − p,
so with D ~ Bin(k, q) steps down, L = (k − 2D)ε₀. That is the law of randomized response, exactly
that of the geometric mechanism with sensitivity 1, and the worst case of any ε₀-DP release; for
(ε₀, δ₀)-DP the worst case moreover gives everything away with probability δ₀ (Kairouz, Oh and
Viswanath 2015).

Curve, for every real ε:
    δ(ε) = 1 − (1−δ₀)^k (1 − Σ_{d: L_d > ε} P(D = d) (1 − e^{ε−L_d})),
linear in e^ε between the rungs (k−2ℓ)ε₀ that the theorem is printed for.

Exact. T_j(m) = P(|L_j| > mε₀) is a step function of the number j of releases in which the person
is. Two more releases never lower it: with S_j the walk in steps, m' ≥ 1 the first level of its
parity above m, x = (q/p)^{m'} and R = P(S_j=m'−2)/P(S_j=m') = (j+m')/(j−m'+2) · q/p ≥ q/p,
    T_{j+2} − T_j = P(S_j=m') [R p²(1+x) − q² − x p²] ≥ P(S_j=m') (p−q) (q − xp) ≥ 0,
and one-sided (x = 0) likewise. One more release can lower it (the parity changes), so the maximum
over all j ≤ k is that over j ∈ {k−1, k}.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.composition import guesses
from discreet.composition.curves import CurvePoint, Sided, best_rung, rung
from discreet.composition.loss import PrivacyLoss
from discreet.guarantees import Adjacency
from discreet.numerics import last_whole, log_binomial, settle
from discreet.rounding import down, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_U = 2.0**-53
_TINY = 5e-324
_DEPTH = 80.0  # up to 10^7 terms that are each e^-80 of the largest do not show
# Tables leave out what is below e^-160 each (1e-62 together), and, for sums below 1e-45, e^-830.
_SHALLOW, _DEEP, _ENOUGH = 160.0, 830.0, 1e-45


@lru_cache(maxsize=8)
def _table(k: int, epsilon: float, depth: float) -> tuple[int, int, NDArray[np.float64]]:
    """Return the first d that matters, the mode, and log P(D = d) from there, rounded up.

    Beyond √(k·depth/2) from the mean every probability is below e^-depth (Hoeffding).
    """
    import numpy as np

    q = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    mode, reach = min(k, int((k + 1) * q)), math.ceil(math.sqrt(k * depth / 2)) + 2
    first, last = max(0, mode - reach), min(k, mode + reach)
    d = np.arange(first, last + 1, dtype=np.float64)
    if q > 1e-290:
        logs = log_binomial(k, d, q, 1 / (1 + math.exp(-epsilon)))
    else:  # only d near 0 counts, where log Γ loses nothing
        logs = np.array([_plain_log(k, x, epsilon) for x in range(first, last + 1)])
    return first, mode, logs + _U * (64 + 8 * np.abs(logs) + 8 * np.abs(d - k * q))


def _plain_log(k: int, d: int, epsilon: float) -> float:
    """log P(D = d) through log Γ."""
    choices = math.lgamma(k + 1) - math.lgamma(d + 1) - math.lgamma(k - d + 1)
    return choices - k * math.log1p(math.exp(-epsilon)) - d * epsilon


@dataclass(frozen=True, slots=True)
class WalkLoss(PrivacyLoss):
    """The loss of `times` equal two-point releases of `step` each, with δ₀ = `lost` each.

    >>> round(WalkLoss(0.05, 365).epsilon(1e-6), 6)
    4.613448
    """

    step: float
    times: int
    lost: float = 0.0
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    name: str = "two-point releases"
    exact_proved: bool = True

    def largest(self) -> float:
        """The loss when every step goes up: kε₀."""
        return rung(self.times, self.step)

    def _at_infinity(self) -> float:
        if self.lost in (0.0, 1.0):
            return self.lost
        return min(1.0, up(-math.expm1(self.times * math.log1p(-self.lost))))

    def _sum(self, count: int, weight: str, over: float = 0.0) -> float:
        """Σ_{d<count} P(D = d) w_d, never below the truth.

        The weight is 1 (`one`), 1 + e^{−L_d} (`two`), 1 − e^{−g_d} (`curve`) or e^{−g_d} (`slope`),
        where g_d = over + 2ε₀(count − 1 − d) is how far L_d lies above the ε that is asked about.
        """
        found = self._sum_to(_SHALLOW, count, weight, over)
        return found if found > _ENOUGH else self._sum_to(_DEEP, count, weight, over)

    def _sum_to(self, depth: float, count: int, weight: str, over: float) -> float:
        """The same from a table of that depth; right if the table is deep enough."""
        import numpy as np

        first, mode, table = _table(self.times, self.step, depth)
        stop = min(count - first, len(table))
        if stop <= 0:
            return 0.0 if count <= 0 else _TINY
        rising = table[: min(stop, mode - first + 1)]
        start = int(np.searchsorted(rising, rising[-1] - _DEPTH))
        logs = table[start:stop]
        d = np.arange(first + start, first + stop)
        if weight == "two":
            logs = logs + np.logaddexp(0.0, (2.0 * d - self.times) * self.step)
        elif weight != "one":
            gap = over + 2 * self.step * (count - 1 - d)
            logs = logs - gap if weight == "slope" else logs + np.log(-np.expm1(-gap - _TINY))
        peak = float(logs.max())
        total = float(np.exp(np.maximum(logs - peak, -700.0)).sum())
        return max(_TINY, math.exp(min(1.0, peak + math.log(total))) * (1 + 1e-14))

    def _delta(self, epsilon: float) -> float:
        count, over = _above(self.times, self.step, epsilon)
        return self._with_lost(self._sum(count, "curve", over))

    def _with_lost(self, walked: float) -> float:
        lost = self._at_infinity()
        return walked if lost == 0 else min(1.0, up(lost + (1 - lost) * min(1.0, walked), 4))

    def _target(self, delta: float) -> float:
        """What is left for the walk of δ, once everything may be given away; rounded down."""
        lost = self._at_infinity()
        return down((delta - lost) / (1 - lost), 8) if 0 < lost < 1 else delta - lost

    def _last_rung(self, target: float) -> int:
        """The greatest count ≥ 1 at whose rung L_{count−1} ≥ 0 the sum is at most the target."""
        z = math.sqrt(max(0.0, -2 * math.log(max(target, _TINY))))
        last = self.times // 2 + 2
        guess = (self.times - self._about(0.85 * z) / self.step) / 2 + 1
        return last_whole(lambda count: self._sum(count, "curve") <= target, 1, last, guess)

    def _about(self, z: float) -> float:
        """The loss z standard deviations above its mean: where to look first."""
        drift = math.tanh(self.step / 2)
        spread = math.sqrt(self.times * max(0.0, 1 - drift * drift))
        return self.step * (self.times * drift + z * spread)

    def _epsilon(self, delta: float) -> float:
        # On the stretch below that rung the sum is linear in e^ε.
        target = self._target(delta)
        count = self._last_rung(target)
        share = (target - self._sum(count, "curve")) / self._sum(count, "slope")
        found = (self.times - 2 * (count - 1)) * self.step + math.log1p(-min(share, 0.999))
        return settle(self._delta, delta, found) if found > 0 else self._from_zero(delta)

    def _from_zero(self, delta: float) -> float:
        return 0.0 if self._delta(0.0) <= delta else settle(self._delta, delta, 1e-300)

    def rung_epsilon(self, delta: float) -> float | None:
        """Return the smallest rung (k−2ℓ)ε₀ ≥ 0 with δ ≤ delta, as printed; None if none is."""
        target = self._target(delta)
        if target < 0 or (target == 0 and self.lost > 0):
            return None
        return rung(self.times - 2 * (self._last_rung(max(target, _TINY)) - 1), self.step)

    def _exact_epsilon(self, delta_prime: float, sided: Sided) -> float:
        if not self.exact_proved or self.lost:
            return super(WalkLoss, self)._exact_epsilon(delta_prime, sided)
        fewer = WalkLoss(self.step, self.times - 1) if self.times > 1 else None

        def exposed(m: int) -> float:
            here = self._sum((self.times - m + 1) // 2, sided)
            return (
                here if fewer is None else max(here, fewer._sum((fewer.times - m + 1) // 2, sided))
            )

        return self._first_rung(exposed, delta_prime)

    def _best(self, failure: float, sided: str) -> CurvePoint:
        hint = self._about(0.83 * math.sqrt(max(0.0, -2 * math.log(failure))))
        return best_rung(self.delta, self.step, self.times, failure, sided, hint=hint)

    def _right_guess(self, kappa: float) -> float:
        return guesses.from_curve(self.delta, kappa, self.step, self.times)

    def _first_rung(self, exposed: Callable[[int], float], delta_prime: float) -> float:
        """The least rung mε₀ ≥ 0 beyond which no more than δ' lies."""
        z = math.sqrt(max(0.0, -2 * math.log(2 * delta_prime))) - 0.5
        guess = self._about(z) / self.step
        passed = last_whole(lambda m: exposed(m) > delta_prime, -1, self.times, guess)
        return rung(passed + 1, self.step)


def _above(k: int, step: float, epsilon: float) -> tuple[int, float]:
    """Return how many d have L_d > ε, and by how much the lowest of them lies above; exactly."""
    (a, b), (c, d) = epsilon.as_integer_ratio(), step.as_integer_ratio()
    # L_d > ε where (k − 2d)·bc > ad
    count = min(k + 1, max(0, -((a * d - k * b * c) // (2 * b * c))))
    return count, ((k - 2 * (count - 1)) * b * c - a * d) / (b * d)

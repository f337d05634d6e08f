"""What a release promises of any event, in the form that an attack can break.

Notation. P and Q are the laws of the release on two neighbouring data sets, in either order; E is
an event of the output.

A guarantee with the points (ε_j, δ_j) says P(E) ≤ e^{ε_j} Q(E) + δ_j for every E and every j. So
if P(E) ≥ p and Q(E) ≤ q are certain, each point with p > e^{ε_j} q + δ_j is broken, and
    ε ≥ log((p − δ_j)/q)
is what the data show at δ_j. For pure DP there is one point with δ = 0; for zCDP the points lie on
its tight conversion (Canonne, Kamath and Steinke 2020). Any set of points is sound: a point that is
left out only costs power. Keys that are paid for add their δ to every point.

ρ-zCDP says more: by the data processing inequality the Rényi divergences of the event alone,
D_α(p‖q) between coins that fall as P(E) and Q(E) do, are at most αρ for every α > 1, and at α = 1,
where D is the Kullback–Leibler divergence (Bun and Steinke 2016). So ρ ≥ D_α(p‖q)/α is shown. For
p ≥ q it rises in p and falls in q, so that bounds may stand in their places.

How certain (Clopper and Pearson 1934). k of n independent trials were hits; the lower bound of the
probability of a hit is the q at which k or more hits have probability α, the upper bound the q at
which k or fewer have. Each is wrong with probability at most α, whatever q is: no approximation by
a normal law. The tails are summed in log space from the binomial law, and the root is bracketed by
halving; the end of the bracket that is further out is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.composition.concentrated import zcdp_delta
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, Guarantee, PrivacyCurve, PureDP, stated
from discreet.numerics import bracket, log_binomial
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POINTS = 160
_FARTHEST = 12.0
_FAILURE = 0.01
_SMALL = 1e-3
_ORDERS = (1.25, 1.5, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True)
class Shown:
    """What one event shows: ε is at least `epsilon_lower` at δ, where `epsilon` was promised."""

    epsilon_lower: float
    epsilon: float
    delta: float
    rho_lower: float | None = None
    rho: float | None = None

    @property
    def broken(self) -> bool:
        """Whether more was shown than promised."""
        if self.rho is not None and (self.rho_lower or 0.0) > self.rho:
            return True
        return self.epsilon_lower > self.epsilon


@dataclass(frozen=True)
class Claim:
    """Points (ε, δ) that must all hold, and the guarantee that beliefs are bounded from."""

    guarantee: Guarantee
    points: tuple[tuple[float, float], ...]
    rho: float | None = None

    @classmethod
    def of(cls, charges: Sequence[Guarantee]) -> Claim:
        """Return what some charges promise together: ε, ρ and δ add up, ε enters ρ as ε²/2."""
        rho = math.fsum(c.rho for c in charges if isinstance(c, ZCDP))
        delta = math.fsum(c.delta for c in charges if isinstance(c, ApproxDP))
        pure = [c.epsilon for c in charges if isinstance(c, (PureDP, ApproxDP))]
        if any(not isinstance(c, (ZCDP, PureDP, ApproxDP)) for c in charges):
            raise GuaranteeError("auditing.not_auditable")
        adjacency = charges[0].adjacency if charges else Adjacency.ADD_REMOVE
        if not rho:
            epsilon = math.fsum(pure)
            return cls(stated(epsilon, delta, adjacency=adjacency), ((epsilon, delta),))
        return cls._concentrated(rho + math.fsum(e * e / 2 for e in pure), delta, adjacency)

    @classmethod
    def _concentrated(cls, rho: float, delta: float, adjacency: Adjacency) -> Claim:
        steps = [_FARTHEST * (place + 1) / _POINTS for place in range(_POINTS)]
        points = tuple((e, min(1.0, zcdp_delta(rho, e) + delta)) for e in steps)
        whole: Guarantee = ZCDP(rho, adjacency=adjacency)
        if delta:
            whole = PrivacyCurve(
                say("auditing.mixed", rho=rho, delta=delta),
                lambda e: min(1.0, zcdp_delta(rho, e) + delta),
                adjacency=adjacency,
            )
        return cls(whole, points, None if delta else rho)

    def excess(self, p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much ε would be exceeded if P(E) were p and Q(E) were q, at most."""
        import numpy as np

        worst = np.full(np.broadcast(p, q).shape, -np.inf)
        for epsilon, delta in self.points:
            worst = np.maximum(worst, np.log(np.maximum(p - delta, 1e-12) / q) - epsilon)
        if self.rho is not None:
            worst = np.maximum(worst, np.log(np.maximum(_rho_of(p, q), 1e-12) / self.rho))
        return worst

    def shown(self, p: float, q: float) -> Shown:
        """Return what P(E) ≥ p and Q(E) ≤ q show (q > 0), at the point that is broken the most.

        Where none is broken, it is said at a small δ: near δ = 1 any curve says little of ε.
        """
        found = [
            Shown(max(0.0, math.log((p - delta) / q)) if p > delta else 0.0, epsilon, delta)
            for epsilon, delta in self.points
        ]
        worst = max(found, key=lambda s: s.epsilon_lower - s.epsilon)
        small = (s for s in found if s.delta <= _SMALL)
        said = worst if worst.broken else next(small, found[-1])
        if self.rho is None:
            return said
        import numpy as np

        return replace(said, rho_lower=float(_rho_of(np.array(p), np.array(q))), rho=self.rho)

    def loss(self, failure: float) -> float:
        """Return ε': the privacy loss is within ±ε' but with that probability (0 for pure DP)."""
        if isinstance(self.guarantee, PureDP):
            return self.guarantee.epsilon
        from discreet.composition import loss_of

        return loss_of(self.guarantee).one_step(failure).epsilon_prime

    @property
    def always(self) -> bool:
        """Whether it speaks of every output."""
        return isinstance(self.guarantee, PureDP)

    @property
    def failure(self) -> float:
        """δ': how often beliefs may be outside; 0 for pure DP, else more than δ."""
        if self.always:
            return 0.0
        return min(0.5, max(_FAILURE, 4 * min(delta for _, delta in self.points)))


def _rho_of(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest D_α(p‖q)/α over some α, where p > q; 0 elsewhere."""
    import numpy as np

    above = (p > q) & (q > 0) & (q < 1)
    a = np.clip(np.where(above, p, 0.5), 1e-12, 1 - 1e-12)
    b = np.clip(np.where(above, q, 0.5), 1e-12, 1 - 1e-12)
    best = a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))
    for order in _ORDERS:
        moments = a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order)
        best = np.maximum(best, np.log(moments) / (order - 1) / order)
    return np.where(above, best, 0.0)


# -- how certain a probability is

_HALVINGS = 44
# The tail is summed to about 1e-13 of itself; a level this much lower is on the safe side.
_MARGIN = 1e-11


def _check(hits: int, trials: int, alpha: float) -> None:
    if math.isnan(alpha) or not 0 < alpha < 1:
        raise InputError("auditing.bad_failure", failure=alpha)
    if not (0 <= hits <= trials and trials >= 1):
        raise InputError("auditing.bad_hits", hits=hits, trials=trials)


def _log_tail(hits: int, trials: int) -> Callable[[float], float]:
    """q ↦ log P(X ≥ hits) for X ~ Bin(trials, q) and q ≤ hits/trials, where each term is smaller.

    P(X = k + 1)/P(X = k) = (trials − k)/(k + 1) · q/(1 − q), and P(X = hits) at any q follows from
    that at hits/trials.
    """
    import numpy as np

    k = np.arange(hits, trials, dtype=np.float64)
    ratios, most = (trials - k) / (k + 1), hits / trials
    first = float(log_binomial(trials, np.array([float(hits)]), most, 1 - most)[0])

    def at(q: float) -> float:
        less = hits * math.log(q / most) + (trials - hits) * math.log((1 - q) / (1 - most))
        return first + less + math.log1p(float(np.cumprod(ratios * (q / (1 - q))).sum()))

    return at


def at_least(hits: int, trials: int, alpha: float) -> float:
    """Return a lower bound of the probability of a hit; wrong with probability at most α.

    >>> at_least(0, 10, 0.05), round(at_least(10, 10, 0.05), 6)
    (0.0, 0.741134)
    """
    _check(hits, trials, alpha)
    if hits == 0:
        return 0.0
    level = math.log(alpha) - _MARGIN
    if hits == trials:
        return math.exp(level / trials) * (1 - 1e-15)
    tail, most = _log_tail(hits, trials), hits / trials
    return bracket(lambda q: tail(q) <= level, 0.0, most, halvings=_HALVINGS)[0]


def at_most(hits: int, trials: int, alpha: float) -> float:
    """Return an upper bound of the probability of a hit; wrong with probability at most α.

    >>> round(at_most(0, 10, 0.05), 6), at_most(10, 10, 0.05)
    (0.258866, 1.0)
    """
    return min(1.0, math.nextafter(1 - at_least(trials - hits, trials, alpha), math.inf))

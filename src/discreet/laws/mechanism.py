"""What a mechanism is: what it promises, how it looks from further away, and what it loses.

The privacy loss of one release has one of a few known laws, which `composition` can add up:

| loss                       | of                                                                 |
|----------------------------|--------------------------------------------------------------------|
| `TwoPoint(ε)`              | ±ε and nothing else: the worst that ε-DP allows                    |
| `LaplaceLoss(ε)`           | Laplace noise: atoms at ±ε and a density between                   |
| `NormalLoss(ρ)`            | Gaussian noise: N(ρ, 2ρ)                                           |
| `StepsLoss(ε, Δ)`          | geometric noise on a statistic of sensitivity Δ > 1                |
| `CategoriesLoss(ε, K)`     | randomized response over K > 2 categories                          |
| `DiscreteNormalLoss(σ)`    | discrete Gaussian noise, sensitivity 1                             |
| `None`                     | unknown: only what the mechanism promises is used                  |

A mechanism from outside the package is a subclass of `Mechanism` and a call of `register`. Noise
that releases are to draw is a `WholeNoise`: all that a release asks of its noise, it asks the law.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from discreet.errors import InputError
from discreet.guarantees import ZCDP, PureDP
from discreet.laws.checks import positive, probability, whole
from discreet.numerics import last_whole
from discreet.rounding import up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Budget: TypeAlias = Literal["epsilon", "rho"]

_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class TwoPoint:
    """A loss of ±ε."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class LaplaceLoss:
    """The loss of Laplace noise."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class NormalLoss:
    """A loss with the law N(ρ, 2ρ)."""

    rho: float


@dataclass(frozen=True, slots=True)
class StepsLoss:
    """The loss of geometric noise: (2i − Δ)ε/Δ."""

    epsilon: float
    sensitivity: int


@dataclass(frozen=True, slots=True)
class CategoriesLoss:
    """The loss of randomized response over many categories: ±ε or 0."""

    epsilon: float
    categories: int


@dataclass(frozen=True, slots=True)
class DiscreteNormalLoss:
    """The loss of discrete Gaussian noise: (1 − 2n)/2σ² at noise n."""

    sigma: float


Loss: TypeAlias = (
    TwoPoint | LaplaceLoss | NormalLoss | StepsLoss | CategoriesLoss | DiscreteNormalLoss
)


class Mechanism(ABC):
    """One release; a frozen value, so that equal releases are counted together."""

    __slots__ = ()

    #: An ε-DP release of this kind is ε²/`rho_divisor`-zCDP (Bun and Steinke 2016, Prop. 1.4).
    rho_divisor: ClassVar[int] = 2

    @abstractmethod
    def guarantee(self) -> PureDP | ZCDP:
        """Return what one release promises."""

    @abstractmethod
    def steps(self, m: int) -> Self:
        """Return the same noise, seen from data sets that are m neighbours apart."""

    @abstractmethod
    def explain(self) -> str:
        """Say in one sentence what the noise does."""

    @property
    def sd(self) -> float | None:
        """Standard deviation of the noise; None where nothing is added."""
        return None

    @property
    def prob_exact(self) -> float | None:
        """Probability that what is released is the truth; None where that is not known."""
        return None

    def half_width(self, confidence: float = 0.95) -> float | None:
        """The t within which the noise stays at that confidence; None where nothing is added."""
        return None

    def two_steps_nonnegative(self) -> Self:
        """Return the same noise two steps apart, where no contribution has negative values."""
        return self.steps(2)

    @property
    def loss(self) -> Loss | None:
        """The law of the privacy loss of one release; None if only the promise is known."""
        return None

    @property
    def zcdp(self) -> float:
        """A ρ for which the mechanism is ρ-zCDP."""
        stated = self.guarantee()
        if isinstance(stated, ZCDP):
            return stated.rho
        return up(stated.epsilon**2 / self.rho_divisor, 2)


class Noise(Mechanism):
    """Noise N that is added to a value."""

    __slots__ = ()

    #: Whether N is a whole number, as for counts.
    whole_numbers: ClassVar[bool] = False

    @property
    def prob_exact(self) -> float:
        """Probability that the released value is the true one; 0 for a continuous value."""
        return 0.0

    @abstractmethod
    def tail(self, t: Any) -> float:
        """P(N ≥ t), which is P(N ≤ −t), for any t (a whole one, where N is whole)."""

    def log_density(self, x: Any) -> float:
        """Return log P(N = x), or the logarithm of the density at x where N is continuous."""
        if not self.whole_numbers:
            raise InputError("laws.no_density", law=type(self).__name__)
        prob = self.tail(x) - self.tail(x + 1) if x >= 0 else self.tail(-x) - self.tail(1 - x)
        return math.log(prob) if prob > 0 else -math.inf

    def cdf(self, x: float) -> float:
        """P(N ≤ x)."""
        return self.tail(-math.floor(x) if self.whole_numbers else -x)

    def prob_within(self, t: float) -> float:
        """P(|N| ≤ t)."""
        return 1 - 2 * self.tail(math.floor(t) + 1 if self.whole_numbers else t) if t >= 0 else 0.0

    @abstractmethod
    def quantile(self, prob: float) -> float:
        """The least x with P(N ≤ x) ≥ prob."""

    def illustrated(self, size: int = 40) -> tuple[float, ...]:
        """Return `size` values that stand for the noise, each at its own fixed place.

        Value i is the quantile at i·φ mod 1, φ the golden ratio: a sequence spread evenly over (0,
        1) (a Kronecker sequence; Niederreiter 1992, chapter 3). The same i is the same piece of
        luck for every law, so that where a budget grows every value moves towards 0 and none jumps.
        Nothing is drawn, and no secret is involved.

        >>> from discreet.laws import Geometric
        >>> Geometric(1.0).illustrated(6), Geometric(0.5).illustrated(6)
        ((0, -1, 1, 0, -2, 0), (0, -1, 2, 0, -3, 1))
        """
        places = range(1, whole("size", size) + 1)
        return tuple(self.quantile(math.fmod(i * _GOLDEN, 1.0)) for i in places)

    def prob_crosses(self, distance: float) -> float:
        """Probability that noise carries a value across a limit `distance` away (K&R Example 3).

        The value crosses when the noise is at least `distance` towards the limit.
        """
        if self.whole_numbers:
            return self.tail(whole("distance", distance))
        return self.tail(positive("distance", distance))


@dataclass(frozen=True, slots=True)
class Continuous:
    """A continuous law that noise on whole numbers is close to, and that is easier to add up.

    `apart`: how far noise of equal rank is apart at the most. `reach(α)`: what noise of scale 1
    stays within, but for a probability α. `tail(t, s, r)`: P(|X + Y| ≥ t) for scales s and r.
    """

    apart: float
    reach: Callable[[float], float]
    tail: Callable[[float, float, float], float]


class WholeNoise(Noise):
    """Noise on whole numbers that releases can draw; they store it by its name and its scale."""

    __slots__ = ()

    whole_numbers = True
    #: What specs and stored releases call it.
    released_as: ClassVar[str]
    #: What it is paid in: ε, by the L1 sensitivity, or ρ, by the L2 sensitivity.
    paid_in: ClassVar[Budget]
    #: For intervals of quotients; without it, each noise is bounded by itself.
    continuous: ClassVar[Continuous | None] = None

    @classmethod
    @abstractmethod
    def of_scale(cls, scale: float) -> Self:
        """Return the law of exactly this scale."""

    @classmethod
    @abstractmethod
    def least_scale(cls, l1: Fraction, l2_squared: Fraction, budget: float) -> float:
        """Return a scale, never too small, that keeps a budget at these sensitivities."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Its scale."""

    def quantile(self, prob: float) -> int:
        """Smallest whole x with P(N ≤ x) ≥ prob."""
        prob = probability("prob", prob)
        far = self._far(min(prob, 1 - prob))
        return 1 + last_whole(lambda x: self.cdf(x) < prob, -far, far)

    def half_width(self, confidence: float = 0.95) -> int:
        """Smallest whole t with P(|N| ≤ t) ≥ confidence."""
        level = (1 - probability("confidence", confidence)) / 2
        return 1 + last_whole(lambda t: self.tail(t + 1) > level, -1, self._far(level))

    def _far(self, level: float) -> int:
        """Return a whole number that the noise passes with less than that probability."""
        far = math.ceil(4 * (self.sd or 1.0)) + 1
        while self.tail(far) >= level:
            far *= 2
        return far

    def covers(self, confidence: float) -> int:
        """Return a whole t with P(|N| ≤ t) ≥ confidence; where that is quicker, not the least."""
        return self.half_width(confidence)

    @abstractmethod
    def cumulant(self, t: float) -> float:
        """Return log E e^{tN}, or a bound of it."""

    @property
    def finite_below(self) -> float:
        """The t from which on E e^{tN} is infinite."""
        return math.inf

    @staticmethod
    @abstractmethod
    def log_characteristic(scale: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
        """Return log E e^{iθN} for noise of these scales; θ may be imaginary, within its reach."""

    @abstractmethod
    def simulated(self, size: int, chance: np.random.Generator) -> NDArray[np.int64]:
        """Return so many values of the law for a simulation. What protects is drawn in `noise`."""


def distance_across(count: int, limit: int) -> int:
    """Return how far noise must carry a true count to publish it on the other side of a limit.

    A count is on one side where it is above the limit, on the other where it is at it or below.

    >>> [distance_across(count, 24) for count in (25, 24, 20)]
    [1, 1, 5]
    """
    return count - limit if count > limit else limit - count + 1

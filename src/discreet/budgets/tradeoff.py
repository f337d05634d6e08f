"""What each tolerance of a grid costs: budget, noise, and the chance of crossing a limit.

K&R §5: an agency looks at several risk profiles side by side, none of which touches the data, and
takes one whose noise it can live with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.budgets.choice import choose
from discreet.laws.geometric import Geometric
from discreet.promises.tolerance import Tolerance

__all__ = ["TradeOff", "distance_across", "trade_off"]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One tolerance and its cost; `crosses` maps a distance to the chance of passing it."""

    name: str
    tolerance: Tolerance
    epsilon: float
    sd: float
    prob_exact: float
    half_width: int
    crosses: tuple[tuple[int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON-ready values."""
        return {
            "name": self.name,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "sd": self.sd,
            "prob_exact": self.prob_exact,
            "half_width": self.half_width,
            "crosses": {str(distance): chance for distance, chance in self.crosses},
        }


def distance_across(count: int, limit: int) -> int:
    """Return how far noise must carry a true count to publish it on the other side of a limit.

    A count is on one side where it is above the limit, on the other where it is at it or below.

    >>> [distance_across(count, 24) for count in (25, 24, 20)]
    [1, 1, 5]
    """
    return count - limit if count > limit else limit - count + 1


def trade_off(
    tolerances: Mapping[str, Tolerance],
    *,
    distances: Iterable[int] = (),
    confidence: float = 0.95,
    sensitivity: int = 1,
    adjacency: str = "add-remove",
) -> tuple[TradeOff, ...]:
    """Return the cost of each tolerance on one count with geometric noise.

    `distances` are how far a true count may lie beyond a limit; `crosses` gives the chance that
    noise carries it back across (K&R Example 3).

    >>> from discreet.promises import PosteriorUnlessRatio, priors
    >>> row, = trade_off({"bold": PosteriorUnlessRatio(0.5, 5, priors(q=1))}, distances=[1])
    >>> round(row.epsilon, 4), round(row.sd, 3), round(row.crosses[0][1], 3)
    (2.1972, 0.53, 0.1)
    """
    distances = tuple(distances)
    rows = []
    for name, tolerance in tolerances.items():
        epsilon = choose(tolerance, adjacency=adjacency).epsilon
        if math.isinf(epsilon):
            nothing = tuple((distance, 0.0) for distance in distances)
            rows.append(TradeOff(name, tolerance, epsilon, 0.0, 1.0, 0, nothing))
            continue
        law = Geometric(epsilon, sensitivity)
        crosses = tuple((distance, law.prob_crosses(distance)) for distance in distances)
        width = law.half_width(confidence)
        rows.append(TradeOff(name, tolerance, epsilon, law.sd, law.prob_exact, width, crosses))
    return tuple(rows)

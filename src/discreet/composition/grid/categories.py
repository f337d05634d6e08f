"""k equal randomized responses over K > 2 categories: the curve of the grid, and the exact bound.

Notation. Each answer has loss +ε, −ε or 0 (another category), so after j answers that the change
touches the loss is S_j ε, S_j a lazy walk. A change may touch any j ≤ k of the answers.

Exact. max over j ≤ k of P(|S_j| > m) is taken by computing every one of them: j convolutions with
three positive numbers, sums of positive terms, raised by their rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.composition.curves import Sided, rung
from discreet.composition.grid.ingredients import Atoms, Categories, Ingredient, Reals
from discreet.composition.grid.loss import GridLoss
from discreet.errors import GuaranteeError

__all__ = ["CategoryLoss"]

_MOST = 4096
_SMALLEST = 1e-280  # below, probabilities would be subnormal


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

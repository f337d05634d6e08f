"""What is tolerated over a series, as one number: the largest bound ε' on the privacy loss.

Notation. The adversary is the strong one; X the posterior and p the prior probability of "in".

- difference: X − p ≤ b for every prior  ⇔  ε' = 4 atanh b (KSZ Lemma 3.4);
- posterior: X ≤ A at the prior p  ⇔  ε' = logit A − logit p;
- ratio: X/p ≤ R for every prior  ⇔  ε' = log R; at a prior p, e^{-ε'} = (1/R − p)/(1 − p), and
  anything is tolerated where R ≥ 1/p.
Several must all hold: the smallest ε' counts. It is rounded down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.beliefs.converse import (
    epsilon_for_difference,
    epsilon_for_posterior,
    epsilon_for_ratio,
)
from discreet.beliefs.prior import check_probability
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import finite_or_null
from discreet.rounding import down

__all__ = ["Tolerated"]


@dataclass(frozen=True, slots=True)
class Tolerated:
    """A tolerance over a whole series, for a strong adversary.

    >>> round(Tolerated(difference=0.2).epsilon_prime, 4)
    0.8109
    """

    difference: float | None = None
    posterior: float | None = None
    ratio: float | None = None
    prior: float | None = None

    def __post_init__(self) -> None:
        if self.difference is None and self.posterior is None and self.ratio is None:
            raise InputError(
                "no tolerance was given; say how far belief may move: a difference, a posterior "
                "at a prior, or a ratio."
            )
        if self.prior is not None:
            check_probability("prior", self.prior)
        if self.posterior is not None and self.prior is None:
            raise InputError(
                "a posterior is tolerated at a prior; give the prior too, or a difference or a "
                "ratio, which hold for every prior."
            )
        if self.epsilon_prime <= 0:
            raise ToleranceError(
                "the tolerance allows no change of belief at all; no release can keep it. Allow "
                "some, however little."
            )

    @property
    def epsilon_prime(self) -> float:
        """The largest tolerated bound on the privacy loss, rounded down."""
        bounds = []
        if self.difference is not None:
            bounds.append(epsilon_for_difference(self.difference))
        if self.posterior is not None and self.prior is not None:
            bounds.append(epsilon_for_posterior(self.posterior, self.prior))
        if self.ratio is not None:
            bounds.append(self._for_ratio(self.ratio))
        return down(min(bounds))

    def _for_ratio(self, ratio: float) -> float:
        everywhere = epsilon_for_ratio(ratio)
        if self.prior is None:
            return everywhere
        left = 1 / ratio - self.prior
        return math.inf if left <= 0 else -math.log(left / (1 - self.prior))

    def to_dict(self) -> dict[str, Any]:
        """Return the tolerance by name."""
        return {
            "difference": self.difference,
            "posterior": self.posterior,
            "ratio": self.ratio,
            "prior": self.prior,
            "epsilon_prime": finite_or_null(self.epsilon_prime),
        }

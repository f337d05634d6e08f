"""What an adversary believes before the release.

Notation (K&R §2.2): p is the probability that the person is in the data, q the probability that
their value is sensitive given that they are in. The event of interest, "in, and sensitive", has
prior probability pq. A *strong* adversary knows everything but whether the person is in: q = 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

from discreet.errors import InputError

__all__ = ["Prior", "Priors", "check_probability", "listed"]


def check_probability(name: str, value: float, *, zero: bool = False) -> float:
    """Return a probability in (0, 1], or in [0, 1] where zero is allowed; refuse anything else."""
    rule = "between 0 and 1" if zero else "above 0 and at most 1"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise InputError(f"{name} is {value!r}; a prior probability must be a number {rule}.")
    if not (0 <= value <= 1) or (value == 0 and not zero):
        why = "" if value != 0 else ": to someone who rules it out, nothing can be disclosed"
        raise InputError(f"{name} is {value:g}; a prior probability must be {rule}{why}.")
    return float(value)


@dataclass(frozen=True, slots=True)
class Prior:
    """An adversary's belief before the release.

    >>> Prior(0.3).pq
    0.3
    """

    p: float
    q: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_probability("p", self.p))
        object.__setattr__(self, "q", check_probability("q", self.q))
        if self.pq < sys.float_info.min:
            raise InputError(
                f"p = {self.p:g} and q = {self.q:g} are together smaller than what can be computed "
                "with; a prior this small says that it is ruled out. Give larger ones."
            )

    @classmethod
    def of(cls, given: Prior | float) -> Prior:
        """Return a prior as it is, or one of being in the data; NumPy's numbers are numbers too."""
        if isinstance(given, Prior):
            return given
        plain = isinstance(given, Real) and not isinstance(given, bool)
        return cls(float(given) if plain else given)

    @property
    def pq(self) -> float:
        """Prior probability of "in, and sensitive"."""
        return self.p * self.q


Priors: TypeAlias = Iterable[float | Prior]
"""Several priors: a sequence, a NumPy array, a column of a data frame."""


def listed(prior: Prior | float | Priors | None) -> list[Prior] | None:
    """Return several priors as a list; None where they are not several."""
    if not isinstance(prior, Iterable) or isinstance(prior, str):
        return None
    return [Prior.of(one) for one in prior]

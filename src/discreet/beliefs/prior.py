"""What an adversary believes before the release, and how surely a bound on it holds.

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
from typing import Any, TypeAlias

from discreet.errors import InputError
from discreet.words import say


def check_probability(name: str, value: float, *, zero: bool = False) -> float:
    """Return a probability in (0, 1], or in [0, 1] where zero is allowed; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise InputError("beliefs.not_a_probability", name=name, value=value)
    if not 0 <= value <= 1:
        raise InputError("beliefs.outside_zero_to_one", name=name, value=value)
    if value == 0 and not zero:
        raise InputError("beliefs.prior_of_zero", name=name)
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
            raise InputError("beliefs.prior_too_small", p=self.p, q=self.q)

    @classmethod
    def of(cls, given: Prior | float, about: str = "membership") -> Prior:
        """Return a prior as it is; a number alone is that of being in, or of the value.

        NumPy's numbers are numbers too.

        >>> Prior.of(0.05, about="value")
        Prior(p=1.0, q=0.05)
        """
        if isinstance(given, Prior):
            return given
        plain = isinstance(given, Real) and not isinstance(given, bool)
        alone = float(given) if plain else given
        return cls(1.0, alone) if about == "value" else cls(alone)

    @classmethod
    def beside(cls, promise: Any, given: Prior | float) -> tuple[Prior, str | None]:
        """Return a prior as a promise says that one number is to be read, and how it was read.

        The promise may fix p or q; the number is then the other. Otherwise it is that of what the
        promise is about, or of being in. What is plain from the promise alone is not told.
        """
        about = "membership" if promise is None else promise.about
        found = cls.of(given, about)
        if isinstance(given, Prior) or about != "both":
            return found, None
        p, q = promise.fixed
        if q is not None:
            return cls(found.p, q), say("beliefs.read_as_p", q=q)
        if p is not None:
            return cls(p, found.p), say("beliefs.read_as_q", p=p)
        return found, say("beliefs.read_as_being_in")

    @property
    def pq(self) -> float:
        """Prior probability of "in, and sensitive"."""
        return self.p * self.q


Priors: TypeAlias = Iterable[float | Prior]
"""Several priors: a sequence, a NumPy array, a column of a data frame."""


def listed(prior: Prior | float | Priors | None) -> list[Prior | float] | None:
    """Return several priors as a list; None where they are not several."""
    if isinstance(prior, str) or not isinstance(prior, Iterable):
        return None
    several = list(prior)
    if isinstance(prior, tuple) and len(several) == 2 and all(isinstance(x, Real) for x in several):
        raise InputError("beliefs.pair_of_numbers", first=several[0], second=several[1])
    return several


# -- how surely


def failure_of(confidence: float) -> float:
    """Return δ' = 1 − confidence, for a confidence strictly between 0 and 1.

    It is taken from the decimal that the caller wrote: 1 − 0.99 is 0.010000000000000009 in doubles,
    which is above the 0.01 that was meant and so on the unsafe side.

    >>> failure_of(0.99), failure_of(0.999999)
    (0.01, 1e-06)
    """
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise InputError("beliefs.confidence_not_a_number", confidence=confidence)
    if math.isnan(confidence) or not 0 < confidence < 1:
        raise InputError("beliefs.confidence_out_of_range", confidence=confidence)
    from decimal import Decimal

    return float(1 - Decimal(repr(float(confidence))))

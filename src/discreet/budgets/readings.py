"""One sentence, three ways of being sure: the budget that each allows, and what it does not say.

A promise about a value can be read for every output, with a confidence, or on average. The readings
differ a lot in what they allow, so they are shown beside each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.guarantees import finite_or_null
from discreet.promises.promise import EVERY_OUTPUT, Surety
from discreet.words import catalogue

if TYPE_CHECKING:
    from discreet.budgets.choice import Choice

__all__ = ["Reading", "readings_of"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A way of being sure, the largest ε of pure DP under it, and what it does not say."""

    reading: str
    epsilon: float
    does_not_say: str

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as JSON-ready values."""
        out: dict[str, Any] = {
            "reading": self.reading,
            "epsilon": finite_or_null(self.epsilon),
            "does_not_say": self.does_not_say,
        }
        return out if math.isfinite(self.epsilon) else out | {"unbounded": True}


def readings_of(choice: Choice) -> tuple[Reading, ...]:
    """Return the readings of a promise about one value; none of any other."""
    from discreet.budgets.choosing import choose

    promise = choice.promise
    if promise.about != "value" or any(not part.box.q_fixed for _, part in promise.parts):
        return ()
    found = []
    for surety in (EVERY_OUTPUT, Surety("on_average")):
        try:
            epsilon = choose(replace(promise, surety=surety)).epsilon
        except DiscreetError:
            continue
        words = catalogue().say(f"reading.{surety.reading}")
        found.append(Reading(surety.reading, epsilon, words))
    return tuple(found)

"""`probe`: the same adversary against any mechanism, given as two samplers.

For what is not a release: an answer randomized where it is given, a selection, synthetic records.
An event is chosen on training draws and tested on fresh ones; half of the failure probability goes
to the event and half to the beliefs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.auditing.events import (
    BeliefCheck,
    Name,
    Sample,
    Tested,
    beliefs,
    best_event,
    collected,
    edges_of,
    judged,
)
from discreet.auditing.promises import Promise
from discreet.errors import InputError
from discreet.guarantees import Guarantee
from discreet.words import say


def training_size(trials: int) -> int:
    """How many trials go into choosing an event: a quarter of those that test it."""
    return max(100, trials // 4)


def check_settings(epsilon: float, trials: int, failure_probability: float) -> None:
    """Refuse an audit that cannot be run; NaN first."""
    if math.isnan(epsilon) or not 0 < epsilon <= 20:
        raise InputError("auditing.bad_epsilon", epsilon=epsilon)
    if isinstance(trials, bool) or not isinstance(trials, int) or not 100 <= trials <= 10**6:
        raise InputError("auditing.bad_trials", trials=trials)
    if math.isnan(failure_probability) or not 0 < failure_probability < 1:
        raise InputError("auditing.bad_failure", failure=failure_probability)


@dataclass(frozen=True, slots=True)
class Probe:
    """What an attack on two samplers showed."""

    test: Tested
    belief: BeliefCheck
    failure_probability: float

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.test.broken and self.belief.passed

    @property
    def epsilon_lower(self) -> float:
        """A lower bound of ε, wrong with the stated probability at most."""
        return self.test.shown.epsilon_lower

    def to_dict(self) -> dict[str, Any]:
        """Return the probe as JSON-ready values."""
        return {
            "passed": self.passed,
            "trials": self.test.trials,
            "epsilon_lower": self.epsilon_lower,
            "failure_probability": self.failure_probability,
            "test": self.test.to_dict(),
            "belief": self.belief.to_dict(),
            "note": say("auditing.note"),
        }

    def __repr__(self) -> str:
        verdict = say("auditing.passed" if self.passed else "auditing.not_passed")
        return f"Probe({verdict}, epsilon_lower={self.epsilon_lower:.3g})"


Draw: TypeAlias = Callable[[], Sequence[float]]


def probe(
    with_unit: Draw,
    without_unit: Draw,
    guarantee: Guarantee,
    *,
    trials: int = 2000,
    failure_probability: float = 1e-3,
) -> Probe:
    """Attack any mechanism, given as two samplers that return numbers: one for each neighbour.

    >>> from discreet.guarantees import PureDP
    >>> probe(lambda: [1], lambda: [0], PureDP(2.0), trials=400).passed
    False
    """
    check_settings(2.0, trials, failure_probability)
    promise = Promise.of([guarantee])
    codes: dict[Hashable, int] = {}

    def sample(draw: Draw, size: int) -> Sample:
        seen: list[tuple[Mapping[Name, float], Hashable]] = []
        for _ in range(size):
            values = draw()
            named: dict[Name, float] = {("output", str(i)): float(v) for i, v in enumerate(values)}
            seen.append((named, len(values)))
        return collected(seen, codes)

    size = training_size(trials)
    training = sample(with_unit, size), sample(without_unit, size)
    event = best_event(*training, promise)
    edges = edges_of(event.score, *training)
    fresh = sample(with_unit, trials), sample(without_unit, trials)
    half = failure_probability / 2
    test = judged(event, *fresh, promise, half, "given", say("auditing.whole"))
    belief = beliefs(event, edges, *fresh, promise, promise.failure, half, "given")
    return Probe(test, belief, failure_probability)

"""`attack`: the same adversary against any mechanism, given as two samplers.

For what is not a release: an answer randomized where it is given, a selection, synthetic records.
An event is chosen on training draws and tested on fresh ones; half of the failure probability goes
to the event and half to the beliefs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.auditing.belief_checks import BeliefCheck, beliefs, edges_of
from discreet.auditing.events import Name, Sample, Tested, best_event, collected, judged
from discreet.auditing.promises import Promise
from discreet.auditing.settings import NOTE, WHOLE, check_settings, training_size
from discreet.guarantees import Guarantee

__all__ = ["Attack", "attack"]


@dataclass(frozen=True, slots=True)
class Attack:
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
        """Return the attack as JSON-ready values."""
        return {
            "passed": self.passed,
            "trials": self.test.trials,
            "epsilon_lower": self.epsilon_lower,
            "failure_probability": self.failure_probability,
            "test": self.test.to_dict(),
            "belief": self.belief.to_dict(),
            "note": NOTE,
        }

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "NOT passed"
        return f"Attack({verdict}, epsilon_lower={self.epsilon_lower:.3g})"


Draw: TypeAlias = Callable[[], Sequence[float]]


def attack(
    with_unit: Draw,
    without_unit: Draw,
    guarantee: Guarantee,
    *,
    trials: int = 2000,
    failure_probability: float = 1e-3,
) -> Attack:
    """Attack any mechanism, given as two samplers that return numbers: one for each neighbour.

    >>> from discreet.guarantees import PureDP
    >>> attack(lambda: [1], lambda: [0], PureDP(2.0), trials=400).passed
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
    test = judged(event, *fresh, promise, half, "given", WHOLE)
    belief = beliefs(event, edges, *fresh, promise, promise.failure, half, "given")
    return Attack(test, belief, failure_probability)

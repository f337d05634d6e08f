"""Units whose data depend on each other, when the strength of the dependence is stated.

Pure DP bounds what the data of one unit can change. An adversary who does not know the others can
learn about a unit from them, as far as their data depend on its own (K&R's assumption 2; contagion,
households, neighbours). The strength is stated as an odds ratio θ: given everything about all
others, a change of one neighbour's data changes the odds of any two values of a unit at most
θ-fold. Write ω = log θ and t = tanh(ω/4).

*Any graph in which a unit has at most m neighbours.* Let f(x) be the probability of an output,
which a change of unit j changes at most e^{ε_j}-fold. Averaging f over x_j by its law given all
others leaves a function that does not depend on x_j, and in which unit k changes the logarithm by
at most ε_k + t ε_j if k is a neighbour of j, and ε_k otherwise: the mean of a function whose
logarithm ranges over ε_j, under two laws whose density ratio ranges over θ, changes at most by a
factor of cosh²((ω+ε_j)/4)/cosh²((ω−ε_j)/4) ≤ e^{t ε_j} (the worst case has two values). Averaging
again and again over all units but i leaves the probability of the output given x_i. If c = m t < 1
what goes over to i adds up to at most c/(1 − c) times the ε of the others.

*A chain* (each unit depends on the one before and the one after; the Markov quilt of Song, Wang and
Chaudhuri 2017). Given the units at distance d on both sides, those beyond do not depend on unit i.
The 2d − 2 units between change by group privacy, and the two at distance d tell at most 2ω t^{d−1}
(Birkhoff's contraction). Every d is valid, and the best is taken, or the bound above with m = 2.

Both are proved for pure DP, whatever the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.guarantees import Adjacency, PureDP
from discreet.words import say

_LONGEST = 10_000
_DOWN, _UP = 1 - 1e-12, 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Dependence:
    """How strongly the data of units depend on each other: θ, and who is whose neighbour.

    >>> round(Dependence(1.5, 3).raised(1.0, 2.0), 6)
    1.869694
    """

    odds: float
    neighbours: int = 2
    chain: bool = False

    def __post_init__(self) -> None:
        odds, m = self.odds, self.neighbours
        if isinstance(odds, bool) or not isinstance(odds, (int, float)) or not 1 < odds < math.inf:
            raise InputError("promises.odds", odds=odds)
        if isinstance(m, bool) or not isinstance(m, int) or not 1 <= m <= 1_000_000:
            raise InputError("promises.neighbours", neighbours=m)
        if not isinstance(self.chain, bool) or (self.chain and m != 2):
            raise InputError("promises.chain")
        if not self.chain and self._influence >= 1:
            most = math.exp(4 * math.atanh(1 / m)) if m > 1 else math.inf
            raise InputError("promises.too_dependent", odds=odds, neighbours=m, most=most)

    @property
    def _influence(self) -> float:
        """Return c = m t, rounded up: how much one unit's data move all others at once."""
        return self.neighbours * math.tanh(math.log(self.odds) / 4) * _UP

    def _bounds(self) -> Iterator[tuple[float, float]]:
        """Every valid bound: how many others' ε are added, and how much beside them."""
        if (c := self._influence) < 1:
            yield c / (1 - c) * _UP, 0.0
        if self.chain:
            omega = math.log(self.odds) * _UP
            told = 2 * omega
            for d in range(1, _LONGEST):
                yield 2.0 * d - 2, told
                told *= math.tanh(omega / 4) * _UP
                if told < 1e-12:
                    break

    def raised(self, own: float, others: float) -> float:
        """Return the loss of a unit whose change costs `own`, where others' changes cost `others`.

        Never below the truth.
        """
        return min(own + more * others + told for more, told in self._bounds()) * _UP

    def lowered(self, limit: float, weight: float) -> float:
        """Return the largest loss of one unit's own change that stays within a limit.

        `weight` is what a change of another unit costs, relative to the own. Never above the truth.
        """
        if math.isinf(limit):
            return limit
        return max(((limit - told) / (1 + more * weight) for more, told in self._bounds())) * _DOWN

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys that say so."""
        return {"odds": self.odds} | (
            {"chain": True} if self.chain else {"neighbours": self.neighbours}
        )

    def sentence(self) -> str:
        """Say what is assumed of the dependence."""
        which = "chain" if self.chain else "neighbours"
        return say(f"promises.dependent.{which}", odds=self.odds, neighbours=self.neighbours)


def of_dependent_units(
    subject: Any,
    adjacency: Adjacency,
    related: int,
    dependence: Dependence | None,
    *,
    known_in: bool = False,
) -> Any:
    """Return what is known of a unit whose data the data of others depend on.

    `subject` is a guarantee or a loss for a unit by itself. Of K related units 2K − 1 steps count,
    or K where values are replaced. Where the unit is `known_in`, a value is replaced under
    add-remove too: K times two steps.
    """
    central = adjacency is Adjacency.ADD_REMOVE
    if related > 1:
        subject = subject.steps(2 * related - 1 if central and not known_in else related)
    if dependence is None:
        return subject
    if not isinstance(subject, PureDP):
        raise InputError("promises.dependent_every_output")
    others = 2 * subject.epsilon if central else subject.epsilon
    raised = dependence.raised(others if known_in else subject.epsilon, others)
    halved = raised / 2 if central and known_in else raised
    return PureDP(halved, adjacency=subject.adjacency)

"""Whether beliefs stayed inside the promise: posterior, ratio and difference at several priors.

Notation. p is the prior probability of "in", L = log P(B)/Q(B) the privacy loss of seeing that the
output fell in the bin B, X = expit(logit p + L) the posterior, ε' the bound on |L| that the promise
gives with probability 1 − δ' (δ' = 0 for pure DP).

The adversary sorts outputs into a few bins by the score that told the pair apart best on the
training trials; sorting is post-processing, so the promise holds for bins as well. On fresh trials
each bin's two probabilities get exact bounds, and from them a part of L that is certain: the
smallest |L| that the bounds leave. (What is "seen" is the estimate, which may pass ε' by chance.) A
bin lies outside if what is certain exceeds ε'. Beliefs stayed inside if the bins outside carry no
more than δ' of either law, for certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.auditing.confidence import at_least, at_most
from discreet.auditing.events import Event, Sample, Score
from discreet.auditing.promises import Promise
from discreet.beliefs.bounds import differences, posterior, ratios

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PRIORS", "BeliefCheck", "Bin", "beliefs", "edges_of"]

PRIORS = (0.01, 0.1, 0.5, 0.9)
_BINS = 8


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin: how often each side fell in it, and the part of the loss that is certain."""

    hits: tuple[int, int]
    loss: float
    certain: float
    outside: bool


@dataclass(frozen=True, slots=True)
class BeliefCheck:
    """Promised against seen, for one pair: the bins, the bound ε', and how often it failed."""

    pair: str
    score: str
    trials: int
    loss_bound: float
    allowed: float
    bins: tuple[Bin, ...]
    outside: float
    passed: bool

    def at(self, p: float) -> dict[str, Any]:
        """Return posterior, ratio and difference at a prior: promised, seen, and certain."""
        seen = [_posterior(p, b.loss) for b in self.bins if sum(b.hits)]
        sure = [_posterior(p, b.certain) for b in self.bins]
        said: dict[str, Any] = {"prior": p, "inside": self.passed}
        promised = {
            "posterior": posterior(self.loss_bound, p),
            "ratio": ratios(self.loss_bound, p),
            "difference": differences(self.loss_bound, p),
        }
        read = {
            "posterior": lambda x: x,
            "ratio": lambda x: x / p,
            "difference": lambda x: x - p,
        }
        for name, bounds in promised.items():
            low, high = read[name](min(seen)), read[name](max(seen))
            said[name] = {
                "promised": [bounds.lower, bounds.upper],
                "seen": [low, high],
                "certain": [read[name](min(sure)), read[name](max(sure))],
            }
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON-ready values."""
        return {
            "pair": self.pair,
            "by": self.score,
            "trials": self.trials,
            "loss_bound": self.loss_bound,
            "allowed_outside": self.allowed,
            "seen_outside": self.outside,
            "passed": self.passed,
            "priors": [self.at(p) for p in PRIORS],
        }


def _posterior(p: float, loss: float) -> float:
    return 1 / (1 + (1 - p) / p * math.exp(-loss))


def edges_of(score: Score, left: Sample, right: Sample) -> NDArray[np.float64]:
    """Return the edges of the bins, from training trials: quantiles of what both sides gave."""
    import numpy as np

    both = np.concatenate([score.of(left), score.of(right)])
    known = both[~np.isnan(both)]
    if not len(known):
        return np.empty(0)
    edges: NDArray[np.float64] = np.unique(np.quantile(known, np.linspace(0, 1, _BINS)[1:-1]))
    return edges


def _binned(score: Score, edges: NDArray[np.float64], sample: Sample) -> NDArray[np.int64]:
    """Count the trials of each bin; the last bin is for numbers that were not published."""
    import numpy as np

    values = score.of(sample)
    places = np.searchsorted(edges, values, side="right")
    places = np.where(np.isnan(values), len(edges) + 1, places)
    return np.bincount(places, minlength=len(edges) + 2)


def beliefs(
    event: Event,
    edges: NDArray[np.float64],
    left: Sample,
    right: Sample,
    promise: Promise,
    failure: float,
    alpha: float,
    pair: str,
) -> BeliefCheck:
    """Check the beliefs of one pair on fresh trials; a false alarm has probability at most α."""
    counts = [_binned(event.score, edges, sample).tolist() for sample in (left, right)]
    bound = promise.loss(failure)
    allowed = 0.0 if promise.always else failure
    each = alpha / (4 * len(counts[0]))  # four bounds a bin, all right but with probability α
    bins = []
    for a, b in zip(*counts, strict=True):
        up = math.log(max(at_least(a, left.size, each), 1e-300) / at_most(b, right.size, each))
        down = math.log(max(at_least(b, right.size, each), 1e-300) / at_most(a, left.size, each))
        certain = max(up, 0.0) if up >= down else -max(down, 0.0)
        loss = math.log((a + 0.5) / (b + 0.5) * (right.size + 1) / (left.size + 1))
        bins.append(Bin((a, b), loss, certain, abs(certain) > bound))
    outside = [b for b in bins if b.outside]
    sides = ((0, left.size), (1, right.size))
    share = max(sum(b.hits[side] for b in outside) / size for side, size in sides)
    # The bounds hold for all bins at once, so they also hold for those that turned out outside.
    sure = max(sum(at_least(b.hits[side], size, each) for b in outside) for side, size in sides)
    return BeliefCheck(
        pair, str(event.score), left.size, bound, allowed, tuple(bins), share, sure <= allowed
    )

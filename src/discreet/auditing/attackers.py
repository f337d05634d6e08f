"""The adversaries: what each asks, and what it believes after each answer, by Bayes' rule.

Notation. A target is counted (h = 1) or not (h = 0); π is the belief in h = 1 before. An answer is
x = s + N, with s the true sum and N noise of a known law, or N = 0 for an exact answer; ℓ(n) is
log P(N = n). The target here is always counted: the belief in h = 1 is that in the truth.

Two kinds of knowledge. A strong adversary knows everyone else (averaging, draining). The others
know only how likely each other person is to be counted, independently of the target (K&R's
assumption 2); bounds that hold with a probability over the noise alone are not for them, so they
are compared with the bound for every output.

The data are invented: nothing is read.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from discreet.laws.mechanism import Noise

Answers: TypeAlias = Sequence[int]
Likelihood: TypeAlias = Callable[[int], float]
"""ℓ: the logarithm of the probability of each noise."""

_OTHERS = 25  # people other than the target whom a count counts
_REGION = 200  # how many there may be at most, for who does not know
_CELLS = ((40, 6), (12, 3), (4, 2), (1, 1))  # people in the target's cell, and those with it
_RECORDS = 12  # all 2^12 data sets can be gone through
_DAILY = 2  # answers on one day, which share its budget


@dataclass(frozen=True, slots=True)
class Asked:
    """What an attack is run with: π, how often the adversary asks, how far the target counts."""

    prior: float
    times: int | None = None
    moves: int = 1

    def steps(self, otherwise: int) -> tuple[int, ...]:
        """Return the numbers of steps after which the adversary is looked at: 1, 2, 5, 10, …"""
        last = self.times or otherwise
        looks = (m * 10**e for e in range(len(str(last))) for m in (1, 2, 5))
        return (*(k for k in looks if k < last), last)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the adversary wants to know, what it computed, and how sure it is."""

    truth: float
    estimate: float | None
    belief: float


@dataclass(frozen=True, slots=True)
class Scene:
    """The exact answers of all releases, and what an adversary believes after some of them.

    `believes` yields one `Seen` for each of the `steps`; a step has `each` answers. The budget of a
    release is split over `share` answers. `in_units` says that truth and estimate are like answers.
    """

    answers: tuple[int, ...]
    steps: tuple[int, ...]
    believes: Callable[[Answers, Likelihood], Iterator[Seen]]
    each: int = 1
    share: int = 1
    strong: bool = False
    in_units: bool = True


def _expit(x: float) -> float:
    """Return 1/(1 + e^{-x}); x may be infinite."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _log_sum(values: Sequence[float]) -> float:
    """Return log Σ e^v; −∞ for nothing."""
    top = max(values, default=-math.inf)
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def _belief(prior: float, counted: float, not_counted: float) -> float:
    """Return the belief from the log-likelihoods of both cases, of which the true one is finite."""
    return _expit(math.log(prior) - math.log1p(-prior) + counted - not_counted)


def _repeated(asked: Asked, steps: tuple[int, ...], each: int) -> Scene:
    """A count that is asked again and again by someone who knows all the others."""
    true = _OTHERS + asked.moves

    def believes(answers: Answers, like: Likelihood) -> Iterator[Seen]:
        sums = list(accumulate(answers))
        counted = list(accumulate(like(x - true) for x in answers))
        without = list(accumulate(like(x - _OTHERS) for x in answers))
        for k in steps:
            last = k * each - 1
            belief = _belief(asked.prior, counted[last], without[last])
            yield Seen(true, sums[last] / (last + 1), belief)

    return Scene((true,) * (steps[-1] * each), steps, believes, each, each, strong=True)


def averaging(asked: Asked) -> Scene:
    """The same count, asked again and again."""
    return _repeated(asked, asked.steps(100), 1)


def draining(asked: Asked) -> Scene:
    """A budget that is new every day, and an adversary who waits."""
    return _repeated(asked, asked.steps(365), _DAILY)


def differencing(asked: Asked) -> Scene:
    """A count before the target comes, and one after, by someone who knows neither."""
    before, after = _OTHERS, _OTHERS + asked.moves

    def believes(answers: Answers, like: Likelihood) -> Iterator[Seen]:
        yield Seen(asked.moves, None, asked.prior)  # nothing is known of the target yet
        first, second = answers

        def together(moved: int) -> float:
            """Over how many others there may be, each number as likely."""
            others = range(_REGION + 1)
            return _log_sum([like(first - n) + like(second - n - moved) for n in others])

        belief = _belief(asked.prior, together(asked.moves), together(0))
        yield Seen(asked.moves, second - first, belief)

    return Scene((before, after), (1, 2), believes)


def linkage(asked: Asked) -> Scene:
    """Finer and finer tables; the last cell has the target alone, who is known to be in it."""
    counts = tuple(ill - 1 + asked.moves for _, ill in _CELLS)
    people = [size for size, _ in _CELLS]

    def likelihood(answers: Answers, like: Likelihood, moved: int) -> float:
        """Sum over the others, from the finest cell outward: those of each ring are independent."""
        inner, found = 1, [0.0]  # log-weights of the number of others counted so far
        for answer, size in reversed(list(zip(answers, people, strict=False))):
            ring = _binomial(size - inner, asked.prior)
            found = [
                like(answer - moved - n) + _log_sum([found[m] + ring[n - m] for m in places])
                for n, places in enumerate(_pairs(len(found), len(ring)))
            ]
            inner = size
        return _log_sum(found)

    def believes(answers: Answers, like: Likelihood) -> Iterator[Seen]:
        for k, true in enumerate(counts, 1):
            both = [likelihood(answers[:k], like, moved) for moved in (asked.moves, 0)]
            yield Seen(true, answers[k - 1], _belief(asked.prior, *both))

    return Scene(counts, tuple(range(1, len(counts) + 1)), believes)


def _pairs(one: int, other: int) -> Iterator[range]:
    """For every total of two places, one below `one` and one below `other`: the first ones."""
    return (range(max(0, n - other + 1), min(one - 1, n) + 1) for n in range(one + other - 1))


def _binomial(size: int, prob: float) -> list[float]:
    """Return the logarithms of the binomial probabilities."""
    yes, no = math.log(prob), math.log1p(-prob)
    return [math.log(math.comb(size, n)) + n * yes + (size - n) * no for n in range(size + 1)]


def reconstruction(asked: Asked) -> Scene:
    """Sums over overlapping groups, solved for the records.

    The records are solved for by least squares; the belief in the target's goes through every data
    set that there could be.
    """
    import numpy as np

    steps, moves = asked.steps(2 * _RECORDS), asked.moves
    chance = random.Random(_RECORDS)  # noqa: S311  (which questions are asked is public)
    groups = np.array([[chance.randrange(2) for _ in range(_RECORDS)] for _ in range(steps[-1])])
    groups[:, 0] |= groups.sum(axis=1) == 0  # no empty question
    records = np.array([1] + [chance.randrange(2) for _ in range(_RECORDS - 1)])
    every = (np.arange(2**_RECORDS)[:, None] >> np.arange(_RECORDS)) & 1
    sums = every @ groups.T
    counted = every.sum(axis=1)
    before = counted * math.log(asked.prior) + (_RECORDS - counted) * math.log1p(-asked.prior)
    mine = every[:, 0] == 1

    def believes(answers: Answers, like: Likelihood) -> Iterator[Seen]:
        weights: Any = before.copy()
        seen = 0
        for k in steps:
            for j in range(seen, k):
                possible = np.array([like(answers[j] - moves * s) for s in range(_RECORDS + 1)])
                weights = weights + possible[sums[:, j]]
            seen = k
            solved = np.linalg.lstsq(groups[:k], np.array(answers[:k]) / moves, rcond=None)[0]
            right = int(np.sum((solved > 0.5) == records))
            shares = [np.logaddexp.reduce(weights[side]) for side in (mine, ~mine)]
            yield Seen(_RECORDS, right, _expit(float(shares[0] - shares[1])))

    answers = tuple(moves * int(x) for x in groups @ records)
    return Scene(answers, steps, believes, share=len(answers), in_units=False)


Attacker: TypeAlias = Callable[[Asked], Scene]

ATTACKERS: dict[str, Attacker] = {
    one.__name__: one for one in (differencing, averaging, draining, linkage, reconstruction)
}
"""By name, in the order in which they are told."""


def likelihood_of(law: Noise | None) -> Likelihood:
    """Return ℓ for noise of a law, or for none."""
    if law is None:
        return lambda n: 0.0 if n == 0 else -math.inf
    return law.log_density

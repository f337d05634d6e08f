"""Which event of the output tells two neighbours apart: chosen on some trials, tested on others.

Notation. A `Sample` is what an adversary saw of many releases of one data set: a column of numbers
for each coordinate of the output (NaN where it was not published), and the shape of the table as a
category. The numbers before noise are known to a strong adversary too, for each of the two worlds.

A strong adversary (KSZ, §3.1) knows everything but the target's membership, so any event of the
whole output may serve. The events tried are half-lines and single values of some scores: each
coordinate, differences of two coordinates (which cancel noise that is used twice), the sum over
all, the log-likelihood ratios of Gaussian and of Laplace noise, and the shape of the table.

The choice is made on training trials with approximate bounds (Wilson 1927); nothing is concluded
from them. The one event chosen is then tested on fresh trials with exact bounds, so that no
correction for how many were tried is due.

Beliefs. p is the prior probability of "in", L = log P(B)/Q(B) the privacy loss of seeing that the
output fell in the bin B, X = expit(logit p + L) the posterior, ε' the bound on |L| that the promise
gives with probability 1 − δ' (δ' = 0 for pure DP). Outputs are sorted into a few bins by the score
of the chosen event; sorting is post-processing, so the promise holds for bins as well. On fresh
trials each bin's two probabilities get exact bounds, and from them a part of L that is certain: the
smallest |L| that the bounds leave. (What is "seen" is the estimate, which may pass ε' by chance.) A
bin lies outside if what is certain exceeds ε'. Beliefs stayed inside if the bins outside carry no
more than δ' of either law, for certain.

`probe` turns the same adversary on any mechanism that is given as two samplers, such as an answer
that is randomized where it is given. Half of the failure probability goes to the event and half to
the beliefs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from discreet.auditing.claims import Claim, Shown, at_least, at_most
from discreet.beliefs import bounds as belief_bounds
from discreet.errors import InputError
from discreet.guarantees import Guarantee
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_COORDINATES = 24
_PARTNERS = 3
_THRESHOLDS = 25
_Z = 3.0

Name = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """What was seen of one data set, a row a trial."""

    size: int
    columns: Mapping[Name, Floats]
    shapes: Floats
    true: Mapping[Name, float]

    def column(self, name: Name) -> Floats:
        """Return a coordinate; all NaN if it was never published."""
        import numpy as np

        found = self.columns.get(name)
        return np.full(self.size, np.nan) if found is None else found


def collected(
    seen: Sequence[tuple[Mapping[Name, float], Hashable]],
    codes: dict[Hashable, int],
    true: Mapping[Name, float] | None = None,
) -> Sample:
    """Gather trials into columns; `codes` numbers the shapes, the same for all samples."""
    import numpy as np

    size = len(seen)
    columns: dict[Name, Floats] = {}
    shapes = np.empty(size)
    for place, (values, shape) in enumerate(seen):
        shapes[place] = codes.setdefault(shape, len(codes))
        for name, value in values.items():
            if name not in columns:
                columns[name] = np.full(size, np.nan)
            columns[name][place] = value
    return Sample(size, columns, shapes, true or {})


@dataclass(frozen=True)
class Score:
    """One number made of an output.

    A `total` is Σ weight·clip(x, low, high), its terms being (weight, low, high). Between the two
    medians, and constant beyond them, it is the log-likelihood ratio of Laplace noise.
    """

    kind: Literal["value", "difference", "total", "shape"]
    names: tuple[Name, ...] = ()
    terms: tuple[tuple[float, float, float], ...] = ()

    def of(self, sample: Sample) -> Floats:
        """Return the score of each trial."""
        import numpy as np

        if self.kind == "shape":
            return sample.shapes
        columns = [sample.column(name) for name in self.names]
        if self.kind == "value":
            return columns[0]
        if self.kind == "difference":
            return columns[0] - columns[1]
        total = np.zeros(sample.size)
        for column, (weight, low, high) in zip(columns, self.terms, strict=True):
            total = total + weight * np.clip(np.nan_to_num(column), low, high)
        return total

    def __str__(self) -> str:
        if self.kind == "shape":
            return say("auditing.event.shape")
        said = [" ".join(part for part in name if part) for name in self.names]
        if self.kind == "value":
            return said[0]
        if self.kind == "difference":
            return say("auditing.event.difference", one=said[0], other=said[1])
        return say("auditing.event.together", count=len(said))


@dataclass(frozen=True)
class Event:
    """A half-line or a single value of a score, likelier on one side than on the other."""

    score: Score
    relation: Literal[">=", "<=", "=="]
    level: float
    swapped: bool
    suspicion: float

    def hits(self, sample: Sample) -> int:
        """Count the trials in which it happened; a number that is not there is no hit."""
        values = self.score.of(sample)
        if self.relation == ">=":
            return int((values >= self.level).sum())
        if self.relation == "<=":
            return int((values <= self.level).sum())
        return int((values == self.level).sum())

    def __str__(self) -> str:
        if self.score.kind == "shape":
            return say("auditing.event.one_shape")
        return f"{self.score} {self.relation} {self.level:g}"


@dataclass(frozen=True, slots=True)
class Tested:
    """One event, tested on fresh trials: how often each side had it, and what that shows."""

    pair: str
    view: str
    event: str
    hits: tuple[int, int]
    trials: int
    shown: Shown

    @property
    def broken(self) -> bool:
        """Whether the promise is broken, but with the test's failure probability."""
        return self.shown.broken

    def to_dict(self) -> dict[str, Any]:
        """Return the test as JSON-ready values."""
        return {
            "pair": self.pair,
            "of": self.view,
            "event": self.event,
            "hits": list(self.hits),
            "trials": self.trials,
            "epsilon_lower": self.shown.epsilon_lower,
            "epsilon_promised": self.shown.epsilon,
            "delta": self.shown.delta,
            "rho_lower": self.shown.rho_lower,
            "rho_promised": self.shown.rho,
            "broken": self.broken,
        }


def _wilson(hits: Floats, size: int, sign: int) -> Floats:
    """Return Wilson's bound of a probability, below (−1) or above (1)."""
    import numpy as np

    z = _Z
    centre = hits + z * z / 2
    spread = z * np.sqrt(hits * (size - hits) / size + z * z / 4)
    bound: Floats = np.clip((centre + sign * spread) / (size + z * z), 0.0, 1.0)
    return bound


def _middle(name: Name, sample: Sample) -> float:
    """Return the number before noise of a coordinate, or else the median of what was seen."""
    import numpy as np

    if name in sample.true:
        return sample.true[name]
    return float(np.median(np.nan_to_num(sample.column(name))))


def _apart(name: Name, left: Sample, right: Sample) -> float:
    """Return how far the two sides of a coordinate are apart, in standard deviations."""
    import numpy as np

    a, b = left.column(name), right.column(name)
    gone = abs(float(np.isnan(a).mean() - np.isnan(b).mean()))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    spread = float(np.sqrt(a.var() + b.var())) or 1e-12
    if name in left.true and name in right.true:
        return abs(left.true[name] - right.true[name]) / spread + gone
    return abs(float(a.mean() - b.mean())) / spread + gone


def _scores(left: Sample, right: Sample, names: Sequence[Name] | None) -> list[Score]:
    import numpy as np

    every = sorted({*left.columns, *right.columns}) if names is None else list(names)
    far = {name: _apart(name, left, right) for name in every}
    ranked = sorted(every, key=lambda name: -far[name])
    # The printed table repeats the noisy numbers; sums and differences are made of the latter.
    plain = [name for name in ranked if name[0] != "table"][:_COORDINATES]
    printed = [name for name in ranked if name[0] == "table"][:_COORDINATES]
    scores = [Score("value", (name,)) for name in (*plain, *printed)]
    for name in plain[:_PARTNERS]:
        scores += [Score("difference", (name, other)) for other in plain if other != name]
    if names is None:
        scores.append(Score("shape"))
    if not plain:
        return scores
    everywhere = (-np.inf, np.inf)
    scores.append(Score("total", tuple(plain), ((1.0, *everywhere),) * len(plain)))
    linear, clipped = [], []
    for name in plain:
        spread = float(np.nan_to_num(right.column(name)).std()) or 1.0
        ends = _middle(name, left), _middle(name, right)
        linear.append(((ends[0] - ends[1]) / spread**2, *everywhere))
        clipped.append(((1.0 if ends[0] >= ends[1] else -1.0) / spread, min(ends), max(ends)))
    scores += [Score("total", tuple(plain), tuple(terms)) for terms in (linear, clipped)]
    return scores


def best_event(
    left: Sample, right: Sample, promise: Claim, names: Sequence[Name] | None = None
) -> Event:
    """Return the event that seems to break the promise most, or comes nearest to breaking it."""
    import numpy as np

    best = Event(Score("shape"), "==", 0.0, False, -np.inf)
    for score in _scores(left, right, names):
        a, b = score.of(left), score.of(right)
        both = np.concatenate([a, b])
        levels = np.unique(both[~np.isnan(both)])
        if len(levels) > _THRESHOLDS:
            steps = np.linspace(0, len(levels) - 1, _THRESHOLDS).astype(int)
            common = np.quantile(both[~np.isnan(both)], np.linspace(0.02, 0.98, _THRESHOLDS))
            levels = np.unique(np.concatenate([levels[steps], common]))
        if not len(levels):
            continue
        for relation, compare in (
            (">=", np.greater_equal),
            ("<=", np.less_equal),
            ("==", np.equal),
        ):
            hits = [
                compare(side[:, None], levels[None, :]).sum(axis=0).astype(float) for side in (a, b)
            ]
            for swapped in (False, True):
                p, q = hits[::-1] if swapped else hits
                size = len(b) if swapped else len(a)
                other = len(a) if swapped else len(b)
                suspicion = promise.excess(_wilson(p, size, -1), _wilson(q, other, 1))
                place = int(np.argmax(suspicion))
                if suspicion[place] > best.suspicion:
                    level = float(levels[place])
                    best = Event(score, relation, level, swapped, float(suspicion[place]))  # type: ignore[arg-type]
    return best


def judged(
    event: Event, left: Sample, right: Sample, promise: Claim, alpha: float, pair: str, view: str
) -> Tested:
    """Test one event on fresh trials; what it shows is wrong with probability at most α."""
    likely, rare = (right, left) if event.swapped else (left, right)
    p, q = event.hits(likely), event.hits(rare)
    shown = promise.shown(at_least(p, likely.size, alpha / 2), at_most(q, rare.size, alpha / 2))
    said = say("auditing.event.swapped", event=event) if event.swapped else str(event)
    return Tested(pair, view, said, (p, q), likely.size, shown)


# -- beliefs

_PRIORS = (0.01, 0.1, 0.5, 0.9)
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
            "posterior": belief_bounds.posterior(self.loss_bound, p),
            "ratio": belief_bounds.ratios(self.loss_bound, p),
            "difference": belief_bounds.differences(self.loss_bound, p),
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
            "priors": [self.at(p) for p in _PRIORS],
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
    promise: Claim,
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


# -- any mechanism, given as two samplers


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
    promise = Claim.of([guarantee])
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

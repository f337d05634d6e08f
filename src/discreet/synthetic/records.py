"""The disclosure risk of every record, given the file: R and RR, declared intruders, linkage.

Notation. The target's true cell is t. The intruder knows every other record, so the counts without
the target: b = x − e_t. They give the truth the prior w and spread 1 − w over the *alternatives*,
cell k having the share u_k (Σ u_k = 1). s_k synthetic records fell in cell k, all copies together.

Risk (McClure and Reiter 2012, (2), (5), (8)): R is the posterior probability of t, and RR = R/w.
Under the law of `law.py` the file is e^{λ_k} times as likely with the target in cell k as without:

    λ_k = s_k log1p(1/(b_k + α)),      b_k = x_k for k ≠ t,  b_t = x_t − 1,

the normalising constant being the same for every k. So one number a cell carries everything,

    Λ_t = λ_t − log Σ_{k≠t} u_k e^{λ_k},      logit R = logit w + Λ_t,      RR = R/w,

for every prior w at once, and all records of a cell have the same risk: ten million records cost as
much as their cells. On the way, RR = R + (1 − R) e^{Λ}: in the plane of Figures 3 and 4 of M&R
every record is a straight line.

Alternatives: `all` cells (each equally likely), the `observed` ones (cells with records in the
original), or the `worst`: all of 1 − w on the cell that the file speaks for least. For a given w no
prior over the cells gives a larger R than the last, and by the privacy of the synthesizer Λ ≤ ε. If
the intruder knows some columns of the target, the alternatives are the cells that agree on them; a
record without any was certain before, and the file adds nothing (Λ = 0). An intruder may also have
beliefs of their own: u_k is then in proportion to them.

Sampling (M&R, section 2.2: the risk "can incorporate uncertainty due to random sampling"). Where
the data are a sample, the intruder may give the target a chance φ to be in them at all. Without the
target the file has the likelihood of the n − 1 others, c^{-1} times that with λ = 0, where c = (1 +
1/(n − 1 + Σα))^{−N} for N draws; so e^λ becomes φ c e^λ + 1 − φ on both sides of Λ.

Before any data are seen (M&R, (6)–(7)): one yes/no variable, p0 the true share of yes, X ~ Bin(n,
p0) yes-records in the original, X* ~ Bin(n_s, θ_X) in the file, θ_X = (X + α)/(n + 2α). Then

    ER = Σ_{X, X*} (max(R, w) − w) P(X* | X) P(X | p0),

for a record that says yes (so X − 1 of the others do); where X = 0, for a record that says no. In
terms of the shift, (R − w)⁺ = w(1 − w) expm1(Λ)⁺/(1 + w expm1(Λ)). Terms below e^{-80} of the
largest are left out: the sum is exact to rounding, and costs about √n·√n_s terms instead of n·n_s.

*Intruders* (McClure and Reiter 2012, section 2.2: what the intruder knows, A, is declared). Each
one knows some columns of the target, has beliefs about the rest (relative weights of levels,
multiplied over columns) and gives the target a chance to be in the data at all. Their prior of the
truth is then a number for each cell, and R is their posterior of it. The *posterior mode* is the
cell that they would guess. Its distance from the truth is the number of columns that differ; ties
are averaged, as if one of them were picked by chance.

A fully synthetic record is nobody's. What an intruder may do with it is to take the synthetic
records that agree with the target on the known columns, and say of the target what one of them
says. `attributed` is how often that is right, `from_others` how often it would be with the other
original records instead: what the population says of anyone.

*Linkage* (Reiter and Mitra 2009; Drechsler and Reiter 2008). In a partially synthetic file each row
was made from one original. The intruder knows the true key of target j and gives released row i the
match probability (1/m) Σ_l [key of i in copy l is that of j] / N_l, N_l being the rows of copy l
with that key. c_j rows have the largest probability; I_j says whether j's own row is one of them.
Then

    expected matches  Σ I_j/c_j,
    true match rate   share of records with c_j = 1 and I_j = 1,
    false match rate  share of those with c_j = 1 that have I_j = 0.

If the data are a sample, drawn at a rate φ, a key with f records in the file is shared by F ≥ f
people, and a match is right with E(1/F | f) instead of 1/f. With the prior 1/F, F − f is negative
binomial (Benedetti and Franconi 1998), and E(1/F | f) = φ ∫₀¹ u^{f−1}/(φ + (1 − φ)u) du.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from discreet.beliefs.bounds import posterior
from discreet.errors import DataError, InputError
from discreet.frames import JsonReady
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer, as_counts, binomial, law_of, prior_weight, whole
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.releases.engines.base import Engine

Alternatives: TypeAlias = Literal["all", "observed", "worst"]
LogLikelihood: TypeAlias = "Callable[[NDArray[np.int64]], float]"

COPY = "copy"
"""The column of a file that numbers its copies."""

_CLOSE = 1e-12


def check_prior(prior: ArrayLike) -> NDArray[np.float64]:
    """Return priors as an array of numbers strictly between 0 and 1."""
    array = np.asarray(prior, dtype=np.float64)
    if array.size == 0 or not np.all((array > 0) & (array < 1)):
        raise InputError("synthetic.bad_prior", prior=array.tolist())
    return array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordRisk:
    """The risk of every record of a file: one log-odds shift Λ a cell, for all priors at once.

    `records[k]` counts the original records in cell k; a cell without records has the shift NaN.
    These figures are confidential: they describe the original data.
    """

    shift: NDArray[np.float64]
    records: NDArray[np.int64]
    alternatives: str
    law: Synthesizer | None = None
    """The law of the file; None where it is only known as a likelihood."""

    @property
    def at_risk(self) -> NDArray[np.bool_]:
        """Which cells hold records."""
        return self.records > 0

    @property
    def largest_shift(self) -> float:
        """The largest Λ of any record."""
        return float(np.max(self.shift[self.at_risk]))

    def absolute(self, prior: ArrayLike = 0.5) -> NDArray[np.float64]:
        """R: cells down, priors across (one prior: cells only)."""
        w = check_prior(prior)
        odds = np.log(w) - np.log1p(-w)
        return _expit(self.shift.reshape(-1, *(1,) * w.ndim) + odds)

    def relative(self, prior: ArrayLike = 0.5) -> NDArray[np.float64]:
        """RR = R/w, in the shape of `absolute`; stable for small w."""
        w = check_prior(prior)
        shift = self.shift.reshape(-1, *(1,) * w.ndim)
        # 1/(w + (1−w)e^{−Λ}); where Λ is very negative e^{−Λ} overflows to inf, and RR is 0.
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (w + (1 - w) * np.exp(-shift)))

    def __repr__(self) -> str:
        return (
            f"RecordRisk(cells={len(self.records)}, records={int(self.records.sum())}, "
            f"alternatives={self.alternatives!r}, largest_shift={self.largest_shift:.4g})"
        )


def _expit(z: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, e) / (1.0 + e))


def risk(
    original: ArrayLike,
    synthetic: ArrayLike,
    *,
    synthesizer: Synthesizer | None = None,
    epsilon: float | None = None,
    copies: int = 1,
    alternatives: Alternatives = "all",
    groups: ArrayLike | None = None,
    beliefs: ArrayLike | None = None,
    sampled: float = 1.0,
    log_likelihood: LogLikelihood | None = None,
) -> RecordRisk:
    """Return the risk of every record of `original`, given the file `synthetic`.

    Both are counts over the same cells; of several copies, give the sum. The law of the file is a
    `synthesizer`, or the `epsilon` of ours, or, for a file made by another one, a `log_likelihood`:
    a function from hypothetical original counts to the log-probability (up to a constant) of the
    file at hand. Without any of the three a risk cannot be computed, and is refused. `groups`
    numbers the cells by the columns that the intruder knows: alternatives have the same number;
    `beliefs` are relative weights of the cells in their mind (equal, if left out), and `sampled` is
    the chance that they give the target to be in the data at all.

    McClure and Reiter's example (ε = 1000, one record in the cell, three synthetic ones):

    >>> round(float(risk([999, 1], [997, 3], epsilon=1000).absolute(0.5)[1]), 2)
    0.88
    """
    if alternatives not in get_args(Alternatives):
        said = {"name": "alternatives", "choices": ", ".join(get_args(Alternatives))}
        raise InputError("synthetic.bad_choice", value=alternatives, **said)
    x = as_counts("original", original)
    s = as_counts("synthetic", synthetic, cells=x.size)
    if x.sum() == 0:
        raise InputError("synthetic.no_original_records")
    group = groups_of(groups, x.size)
    if not 0 < sampled <= 1:
        raise InputError("synthetic.not_a_probability", name="sampled", value=sampled)
    weight = np.ones(x.size) if beliefs is None else _weights(beliefs, x.size)
    if alternatives == "observed":
        weight = np.where(x > 0, weight, 0.0)
    if log_likelihood is not None:
        if synthesizer is not None or epsilon is not None:
            raise InputError("synthetic.two_laws")
        worst = alternatives == "worst"
        found = _by_function(x, group, weight, worst, sampled, log_likelihood)
        return RecordRisk(_settled(found, x), x, alternatives)
    law = law_of(synthesizer, epsilon, copies, x.size, int(s.sum()))
    own, other = evidence(x, s, law, sampled)
    away = (
        _least_other(other, group) if alternatives == "worst" else _mean_other(other, group, weight)
    )
    return RecordRisk(_settled(np.where(x > 0, own - away, math.nan), x), x, alternatives, law)


def evidence(
    x: NDArray[np.int64], s: NDArray[np.int64], law: Synthesizer, sampled: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return λ with the target in each cell: for a target of that cell, and for any other target.

    Up to a constant, and with the chance that the target is in the data at all.
    """
    alphas = law.alphas
    own = np.asarray(s * np.log1p(1 / (np.maximum(x - 1, 0) + alphas)), dtype=np.float64)
    other = np.asarray(s * np.log1p(1 / (x + alphas)), dtype=np.float64)
    if sampled == 1:
        return own, other
    out = law.draws * math.log1p(1 / (int(x.sum()) - 1 + float(alphas.sum())))
    return hedged(own, out, sampled), hedged(other, out, sampled)


def hedged(inside: Any, out: float, sampled: float) -> Any:
    """Return log(φ e^λ + (1 − φ) e^out)."""
    if sampled == 1:
        return inside
    return np.logaddexp(math.log(sampled) + inside, math.log1p(-sampled) + out)


def _weights(values: ArrayLike, cells: int) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (cells,) or not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise InputError("synthetic.bad_beliefs", cells=cells)
    return array


def _settled(shift: NDArray[np.float64], x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the shift 0 to records without an alternative: they were certain before any file."""
    alone = np.isnan(shift) & (x > 0)
    if np.array_equal(alone, x > 0):
        raise InputError("synthetic.no_alternative")
    return np.where(alone, 0.0, shift)


def groups_of(groups: ArrayLike | None, cells: int) -> NDArray[np.int64]:
    """Return the numbers of the groups of cells, from 0; one group if none are given."""
    if groups is None:
        return np.zeros(cells, dtype=np.int64)
    array = np.asarray(groups)
    if array.shape != (cells,):
        raise InputError("synthetic.bad_groups", cells=cells)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def top_two(
    values: NDArray[np.float64], group: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Return which cell holds its group's largest value, that value, and the second largest."""
    count = int(group.max()) + 1
    order = np.lexsort((values, group))
    last = np.searchsorted(group[order], np.arange(count), side="right") - 1
    first = np.searchsorted(group[order], np.arange(count), side="left")
    is_top = np.zeros(values.size, dtype=bool)
    is_top[order[last]] = True
    top = values[order[last]]
    second = np.where(last > first, values[order[np.maximum(last - 1, 0)]], -math.inf)
    return is_top, top, second


def _least_other(other: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each cell the least λ among the other cells of its group; NaN if none."""
    is_least, least, second = top_two(-other, group)
    away = -np.where(is_least, second[group], least[group])
    return np.where(np.isinf(away), math.nan, away)


def _mean_other(
    other: NDArray[np.float64],
    group: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return log of the weighted mean of e^λ over the other cells of its group; NaN if none.

    Leaving a cell out of its group's sum loses digits only if that cell is the largest term, so the
    sum without each group's largest term is kept beside the whole sum.
    """
    with np.errstate(divide="ignore"):
        masked = other + np.log(weight)
    is_top, top, second = top_two(masked, group)
    rivals = np.bincount(group, weights=weight)[group] - weight
    top0 = np.where(np.isinf(top), 0.0, top)
    second0 = np.where(np.isinf(second), 0.0, second)
    term = np.exp(masked - top0[group])
    whole_sum = np.bincount(group, weights=term)
    rest = np.where(is_top, 0.0, np.exp(masked - second0[group]))
    rest_sum = np.bincount(group, weights=rest)
    with np.errstate(divide="ignore", invalid="ignore"):
        without_top = second0 + np.log(rest_sum)
        without_me = top0[group] + np.log(np.maximum(whole_sum[group] - term, 0.0))
        total = np.where(is_top, without_top[group], without_me)
        mean = total - np.log(rivals)
    return np.where(np.bincount(group, weights=weight > 0)[group] > (weight > 0), mean, math.nan)


def _by_function(
    x: NDArray[np.int64],
    group: NDArray[np.int64],
    weight: NDArray[np.float64],
    worst: bool,
    sampled: float,
    log_likelihood: LogLikelihood,
) -> NDArray[np.float64]:
    """Return Λ by evaluating the caller's log-likelihood with the target in every cell in turn."""
    shift = np.full(x.size, math.nan)
    for t in np.flatnonzero(x):
        rivals = np.flatnonzero((group == group[t]) & (weight > 0))
        rivals = rivals[rivals != t]
        if rivals.size == 0:
            continue
        without = x.copy()
        without[t] -= 1
        out = _evaluate(log_likelihood, without) if sampled < 1 else 0.0
        truth = _evaluate(log_likelihood, x)
        values = np.empty(rivals.size)
        for i, k in enumerate(rivals):
            without[k] += 1
            values[i] = _evaluate(log_likelihood, without)
            without[k] -= 1
        if truth == -math.inf:
            raise InputError("synthetic.impossible_likelihood")
        values, relative = hedged(values, out, sampled), weight[rivals] / weight[rivals].sum()
        away = values.min() if worst else np.logaddexp.reduce(values + np.log(relative))
        shift[t] = hedged(truth, out, sampled) - away
    return shift


def _evaluate(log_likelihood: LogLikelihood, counts: NDArray[np.int64]) -> float:
    counts = counts.copy()
    counts.flags.writeable = False
    value = float(log_likelihood(counts))
    if math.isnan(value) or value == math.inf:
        raise InputError("synthetic.not_a_likelihood")
    return value


def worst_case(epsilon: float, priors: Sequence[float]) -> list[dict[str, Any]]:
    """Return, for each prior, the R that no file of an ε-DP synthesizer can exceed (Λ ≤ ε).

    It needs no data: both adjacencies have the same ε here, since moving one record costs at most
    ε as well (`law.py`).
    """
    starts = check_prior(list(priors)).tolist()
    return [{"prior": w, "posterior": posterior(epsilon, w).upper} for w in starts]


# -- before any data


def expected_risk_increase(
    p0: float,
    *,
    epsilon: float,
    n: int = 1000,
    n_synthetic: int | None = None,
    prior: float = 0.5,
    weights: tuple[int, int] = (1, 1),
    records: int = 1,
) -> float:
    """Return how much the posterior of a record's true value rises over its prior, on average.

    A fall counts as 0: it is E[max(R − w, 0)]. The number of yes is Binomial(n, p0), and the record
    says yes, or no where none says yes: for the risk of one that says no, take 1 − p0 and turn
    `weights` round. `prior` is w, the intruder's probability for the
    true value, whichever it is; `n_synthetic` is n if it is left out; `weights` are the relative
    blur of no and of yes, and `records` the most that one unit may have. M&R, Table 1:

    >>> round(expected_risk_increase(0.5, epsilon=1000, n=1000), 5)
    0.00655
    """
    if math.isnan(p0) or not 0 <= p0 <= 1:
        raise InputError("synthetic.not_a_probability", name="p0", value=p0)
    n = whole("n", n)
    drawn = n if n_synthetic is None else whole("n_synthetic", n_synthetic)
    w = float(check_prior(prior))
    alpha = prior_weight(epsilon, drawn, records=records)
    no, yes = (alpha * one / min(whole("weights", own) for own in weights) for one in weights)
    first, mass = binomial(n, p0)
    total = 0.0
    for x, chance in enumerate(mass.tolist(), start=first):
        # Where nobody says yes, a no-record: by symmetry, a yes-record when all say yes.
        case = (x, (no, yes)) if x else (n, (yes, no))
        total += chance * _increase(*case, n, drawn, w)
    return total


def _increase(x: int, blur: tuple[float, float], n: int, drawn: int, w: float) -> float:
    """Return Σ_{X*} (max(R, w) − w) P(X* | X) for X ≥ 1, the record saying yes."""
    beta, alpha = blur
    first, mass = binomial(drawn, (x + alpha) / (n + alpha + beta))
    s = np.arange(first, first + mass.size)
    shift = s * math.log1p(1 / (x - 1 + alpha)) - (drawn - s) * math.log1p(1 / (n - x + beta))
    gain = np.maximum(np.expm1(np.minimum(shift, 700.0)), 0.0)
    return float(w * (1 - w) * (mass @ (gain / (1 + w * gain))))


# -- declared intruders, and links to people


@dataclass(frozen=True, slots=True)
class Intruder:
    """Someone who looks for a person in a file: what they know and believe."""

    name: str
    known: tuple[str, ...] = ()
    beliefs: Mapping[str, Mapping[Any, int]] = field(default_factory=dict)
    sampled: float = 1.0

    @classmethod
    def of(cls, name: str, given: Any) -> Intruder:
        """Read one from a mapping, such as a part of a YAML file."""
        keys = given if isinstance(given, Mapping) else {"": given}
        known, beliefs = keys.get("known", ()), keys.get("beliefs", {})
        sampled = keys.get("sampled", 1.0)
        if (
            not keys.keys() <= {"known", "beliefs", "sampled"}
            or not isinstance(known, (list, tuple))
            or not isinstance(beliefs, Mapping)
            or not all(isinstance(levels, Mapping) for levels in beliefs.values())
            or isinstance(sampled, bool)
            or not isinstance(sampled, (int, float))
        ):
            raise InputError("synthetic.bad_intruder", name=name)
        return cls(str(name), tuple(map(str, known)), beliefs, float(sampled))


def seen_by(
    intruder: Intruder,
    x: NDArray[np.int64],
    s: NDArray[np.int64],
    cells: Cells,
    law: Synthesizer,
) -> dict[str, Any]:
    """Return what an intruder believes of the records before and after a file. Confidential."""
    group = groups_of(cells.groups(intruder.known), cells.size)
    weight = np.array(cells.weights(intruder.beliefs), dtype=np.float64)
    found = risk(x, s, synthesizer=law, groups=group, beliefs=weight, sampled=intruder.sampled)
    here = np.flatnonzero(x)
    records = x[here]
    before = (weight / np.bincount(group, weights=weight)[group])[here]
    rest = 1 - before
    after = before / (before + rest * np.exp(-np.clip(found.shift[here], -700, 700)))
    own, other = evidence(x, s, law, intruder.sampled)
    right, far = _guessed(np.log(weight), np.log(weight), group, cells, here)
    right_after, far_after = _guessed(
        np.log(weight) + own, np.log(weight) + other, group, cells, here
    )
    drawn = np.bincount(group, weights=s)[group][here]
    alike = np.bincount(group, weights=x)[group][here] - 1
    said = s[here] / np.maximum(drawn, 1)
    of_others = (records - 1) / np.maximum(alike, 1)

    def mean(values: NDArray[Any]) -> float:
        return float(values @ records / records.sum())

    return {
        "name": intruder.name,
        "known": list(intruder.known),
        "sampled": intruder.sampled,
        "before": mean(before),
        "after": mean(after),
        "largest": float(after.max()),
        "largest_relative": float((after / before).max()),
        "right_before": mean(right),
        "right_after": mean(right_after),
        "distance_before": mean(far),
        "distance_after": mean(far_after),
        "matched": mean(drawn > 0),
        "attributed": mean(said),
        "from_others": mean(of_others),
    }


def _guessed(
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    group: NDArray[np.int64],
    cells: Cells,
    here: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often the likeliest cell is the truth, and its distance, for targets in `here`.

    `own` are the log-weights of a target's own cell, at least `other`, those of any other cell. So
    the likeliest cells of a target are either its own, or the likeliest of its group, or both.
    """
    is_top, top, second = top_two(other, group)
    rival = np.where(is_top, second[group], top[group])[here]
    gap = own[here] - rival
    tie = np.abs(gap) <= _CLOSE * np.maximum(1, np.abs(own[here]))
    best = other >= (top - _CLOSE * np.maximum(1, np.abs(top)))[group]
    count = np.bincount(group, weights=best)[group[here]]
    # Rivals in the tie: the likeliest of the group, without the target's own cell.
    rivals = np.maximum(count - best[here], 1)
    apart = np.zeros(here.size)
    for column, at in cells.coordinates().items():
        width = len(cells.levels[column])
        same = np.bincount(group * width + at, weights=best, minlength=(group.max() + 1) * width)
        agree = same[(group * width + at)[here]] - best[here]
        apart += 1 - agree / rivals
    alone = (gap > 0) & ~tie
    right = np.where(alone, 1.0, np.where(tie, 1 / (1 + rivals), 0.0))
    return right, (1 - right) * apart


class Confidential(JsonReady):
    """A result that describes the original data, and says so first."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, JSON-ready, after what to heed."""
        said = {name: say(f"synthetic.{name}") for name in ("confidential", "caution")}
        return said | super().to_dict()


@dataclass(frozen=True, slots=True)
class Linkage(Confidential):
    """How often an intruder who knows true keys links a released row to the right person.

    Confidential: the figures compare the file with the original data. `expected_matches_sampled`
    is there if the data are a sample, drawn at the rate `sampled`.
    """

    records: int
    copies: int
    known: tuple[str, ...]
    expected_matches: float
    unique_matches: int
    true_matches: int
    true_match_rate: float
    false_match_rate: float | None
    sampled: float | None
    expected_matches_sampled: float | None


def linkage(
    original: ArrayLike,
    released: ArrayLike,
    *,
    known: Sequence[str] = (),
    sampled: float | None = None,
) -> Linkage:
    """Return how often true keys link released rows to the right person.

    `original` has the key of each record, as a whole number; `released` its key in the file, row
    for row, with one column for each copy. `sampled` is the rate at which the data were drawn from
    a population, if an intruder cannot know that the target is among them.

    Three people; the file leaves the first as they are, and swaps the keys of the other two:

    >>> linkage([1, 2, 3], [1, 3, 2]).expected_matches
    1.0
    """
    truth = np.asarray(original)
    rows = np.asarray(released)
    rows = rows.reshape(len(rows), -1)
    if truth.ndim != 1 or not truth.size or len(rows) != truth.size:
        raise InputError("synthetic.linked_rows")
    n, copies = rows.shape
    both, code = np.unique(np.concatenate([truth, rows.ravel()]), return_inverse=True)
    truth, rows = code[:n], code[n:].reshape(n, copies)
    sizes = [np.bincount(rows[:, copy], minlength=both.size) for copy in range(copies)]
    record = np.tile(np.arange(n), copies)
    key = rows.T.ravel()
    rate = np.concatenate([1 / (copies * sizes[copy][rows[:, copy]]) for copy in range(copies)])
    pairs, place = np.unique(key * n + record, return_inverse=True)
    chance = np.bincount(place, weights=rate)
    of_key = pairs // n
    largest = np.zeros(both.size)
    np.maximum.at(largest, of_key, chance)
    best = chance >= largest[of_key] * (1 - _CLOSE)
    ties = np.bincount(of_key, weights=best, minlength=both.size)[truth]
    mine = np.searchsorted(pairs, truth * n + np.arange(n))
    mine = np.minimum(mine, pairs.size - 1)
    hit = (pairs[mine] == truth * n + np.arange(n)) & best[mine]
    unique = ties == 1
    by_chance = None
    if sampled is not None:
        among = [one_in_population(size, sampled)[truth] for size in sizes]
        there = [rows[:, copy] == truth for copy in range(copies)]
        by_chance = float((np.mean(np.where(there, among, 0.0), axis=0) * hit).sum())
    alone, right = int(unique.sum()), int((unique & hit).sum())
    return Linkage(
        n,
        copies,
        tuple(known),
        float((hit / np.maximum(ties, 1)).sum()),
        alone,
        right,
        right / n,
        1 - right / alone if alone else None,
        sampled,
        by_chance,
    )


def one_in_population(counts: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Return E(1/F | f): the chance that one of f people in a sample is the one who is looked for.

    >>> round(float(one_in_population([1], 0.1)[0]), 4)
    0.2558
    """
    if not 0 < rate <= 1:
        raise InputError("synthetic.not_a_probability", name="sampled", value=rate)
    f, place = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
    most = np.maximum(f, 1).astype(np.float64)
    # 1/(φ + (1−φ)u) = Σ (1−φ)^k (1−u)^k, and ∫ u^{f−1}(1−u)^k du = B(f, k+1).
    found, term = np.zeros(f.size), 1 / most
    for k in range(1, 120):
        found += term
        term = term * (1 - rate) * k / (most + k)
    found *= rate
    if rate < 0.5:
        # For few people the series is slow; A_{f+1} = φ/(1−φ) (1/f − A_f) is stable for φ < ½.
        exact = -rate * math.log(rate) / (1 - rate)
        for small in range(1, 65):
            found[most == small] = exact
            exact = rate / (1 - rate) * (1 / small - exact)
    return np.asarray(found[place])


def linked(
    original: Engine,
    candidate: Engine,
    unit: Sequence[str],
    known: Sequence[str],
    sampled: float | None,
) -> Linkage:
    """Link the rows of a partially synthetic file to its original, by the unit that both name."""
    true, _ = _keys(original, unit, known)
    rows, copies = _keys(candidate, unit, known, [COPY] if COPY in candidate.columns else [])
    number = {key: i for i, key in enumerate(dict.fromkeys([*true.values(), *rows.values()]))}
    if rows.keys() != {(*who, copy) for who in (key[:-1] for key in true) for copy in copies}:
        raise DataError("synthetic.linked_rows")
    released = [[number[rows[(*key[:-1], copy)]] for copy in copies] for key in true]
    return linkage([number[key] for key in true.values()], released, known=known, sampled=sampled)


def _keys(
    engine: Engine, unit: Sequence[str], known: Sequence[str], copy: Sequence[str] = ()
) -> tuple[dict[tuple[str, ...], tuple[str, ...]], list[str]]:
    """Return the known values of each unit and copy; refuse a unit with two rows."""
    for column in (*unit, *known):
        if column not in engine.columns:
            raise DataError("synthetic.no_such_column", column=column)
    texts, _ = engine.every_row((*unit, *copy, *known), ())  # type: ignore[attr-defined]
    width = len(unit) + len(copy)
    found = {}
    for row in texts:
        key = row[:width] if copy else (*row[:width], "")
        if key in found:
            raise DataError("synthetic.linked_rows")
        found[key] = row[width:]
    return found, list(dict.fromkeys(key[-1] for key in found))

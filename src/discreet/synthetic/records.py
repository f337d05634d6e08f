"""The disclosure risk of every record, given the synthetic file: R and RR, cell by cell.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from discreet.errors import InputError
from discreet.synthetic.law import (
    Synthesizer,
    binomial,
    prior_weight,
    whole,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Alternatives: TypeAlias = Literal["all", "observed", "worst"]
LogLikelihood: TypeAlias = "Callable[[NDArray[np.int64]], float]"

_CHOICES = ("all", "observed", "worst")


def as_counts(name: str, values: ArrayLike, *, cells: int | None = None) -> NDArray[np.int64]:
    """Return whole, non-negative counts, one a cell; say what is wrong without showing a count."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise InputError("synthetic.not_a_list_of_counts", name=name)
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)):
        raise InputError("synthetic.not_counts", name=name)
    if np.any(array < 0) or np.any(array != np.floor(array)) or np.any(array >= 2.0**62):
        raise InputError("synthetic.not_counts", name=name)
    if cells is not None and array.size != cells:
        raise InputError("synthetic.other_cells", name=name, cells=array.size, expected=cells)
    return array.astype(np.int64)


def check_prior(prior: ArrayLike) -> NDArray[np.float64]:
    """Return priors as an array of numbers strictly between 0 and 1."""
    array = np.asarray(prior, dtype=np.float64)
    if np.any(np.isnan(array)):
        raise InputError("synthetic.bad_prior", prior="NaN")
    if array.size == 0 or np.any(array <= 0) or np.any(array >= 1):
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
    if alternatives not in _CHOICES:
        raise InputError(
            "synthetic.bad_choice",
            name="alternatives",
            value=alternatives,
            choices=", ".join(_CHOICES),
        )
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


def law_of(
    synthesizer: Synthesizer | None, epsilon: float | None, copies: int, cells: int, drawn: int
) -> Synthesizer:
    """Return the law of a file with so many records: the one given, or ours for `epsilon`."""
    if synthesizer is None and epsilon is not None:
        each, rest = divmod(drawn, whole("copies", copies))
        if rest or each == 0:
            raise InputError("synthetic.uneven_copies", copies=copies)
        return Synthesizer.of(epsilon, n_synthetic=each, cells=cells, copies=copies)
    if synthesizer is None or epsilon is not None:
        raise InputError("synthetic.no_law")
    if synthesizer.cells != cells or synthesizer.draws != drawn:
        raise InputError(
            "synthetic.another_synthesizer",
            draws=synthesizer.draws,
            cells=synthesizer.cells,
            records=drawn,
            over=cells,
        )
    return synthesizer


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
        values = hedged(values, out, sampled)
        away = values.min() if worst else _log_mean(values, weight[rivals])
        shift[t] = hedged(truth, out, sampled) - away
    return shift


def _log_mean(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    top = float(values.max())
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.average(np.exp(values - top), weights=weight)))


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
    w = check_prior(list(priors))
    bound = np.minimum(1.0, _expit(np.log(w) - np.log1p(-w) + epsilon) * (1 + 1e-14))
    return [{"prior": float(p), "posterior": float(b)} for p, b in zip(w, bound, strict=True)]


# -- before any data


def expected_risk_increase(
    p0: float,
    *,
    epsilon: float,
    n: int = 1000,
    n_synthetic: int | None = None,
    prior: float = 0.5,
    weights: tuple[int, int] = (1, 1),
) -> float:
    """Return how much the posterior of a record's true value rises over its prior, on average.

    `prior` is the intruder's probability for the true value, whichever it is; `n_synthetic` is n
    if it is left out; `weights` are the relative blur of no and of yes. M&R, Table 1:

    >>> round(expected_risk_increase(0.5, epsilon=1000, n=1000), 5)
    0.00655
    """
    if math.isnan(p0) or not 0 <= p0 <= 1:
        raise InputError("synthetic.not_a_probability", name="p0", value=p0)
    n = whole("n", n)
    drawn = n if n_synthetic is None else whole("n_synthetic", n_synthetic)
    w = float(check_prior(prior))
    least = prior_weight(epsilon, drawn) / min(whole("weights", one) for one in weights)
    no, yes = (least * one for one in weights)
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

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
prior over the cells gives a larger R than the last, and by the privacy of the synthesizer Λ ≤ ε.
If the intruder knows some columns of the target, the alternatives are the cells that agree on them;
a record without any was certain before, and the file adds nothing (Λ = 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from discreet.errors import InputError
from discreet.synthetic.law import Synthesizer, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Alternatives",
    "LogLikelihood",
    "RecordRisk",
    "as_counts",
    "check_prior",
    "law_of",
    "risk",
    "worst_case",
]

Alternatives: TypeAlias = Literal["all", "observed", "worst"]
LogLikelihood: TypeAlias = "Callable[[NDArray[np.int64]], float]"

_CHOICES = ("all", "observed", "worst")


def as_counts(name: str, values: ArrayLike, *, cells: int | None = None) -> NDArray[np.int64]:
    """Return whole, non-negative counts, one a cell; say what is wrong without showing a count."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a list of counts, one for every cell.")
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)):
        raise InputError(f"{name} must hold whole numbers, 0 or more.")
    if np.any(array < 0) or np.any(array != np.floor(array)) or np.any(array >= 2.0**62):
        raise InputError(f"{name} must hold whole numbers, 0 or more.")
    if cells is not None and array.size != cells:
        raise InputError(
            f"{name} has {array.size} cells and {cells} were expected; both files must be counted "
            "over the same cells."
        )
    return array.astype(np.int64)


def check_prior(prior: ArrayLike) -> NDArray[np.float64]:
    """Return priors as an array of numbers strictly between 0 and 1."""
    array = np.asarray(prior, dtype=np.float64)
    if np.any(np.isnan(array)):
        raise InputError("prior is NaN; it must lie strictly between 0 and 1.")
    if array.size == 0 or np.any(array <= 0) or np.any(array >= 1):
        raise InputError("prior must lie strictly between 0 and 1.")
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
    log_likelihood: LogLikelihood | None = None,
) -> RecordRisk:
    """Return the risk of every record of `original`, given the file `synthetic`.

    Both are counts over the same cells; of several copies, give the sum. The law of the file is a
    `synthesizer`, or the `epsilon` of ours, or, for a file made by another one, a `log_likelihood`:
    a function from hypothetical original counts to the log-probability (up to a constant) of the
    file at hand. Without any of the three a risk cannot be computed, and is refused. `groups`
    numbers the cells by the columns that the intruder knows: alternatives have the same number.

    McClure and Reiter's example (ε = 1000, one record in the cell, three synthetic ones):

    >>> round(float(risk([999, 1], [997, 3], epsilon=1000).absolute(0.5)[1]), 2)
    0.88
    """
    if alternatives not in _CHOICES:
        raise InputError(
            f"alternatives is {alternatives!r}; it must be one of: {', '.join(_CHOICES)}."
        )
    x = as_counts("original", original)
    s = as_counts("synthetic", synthetic, cells=x.size)
    if x.sum() == 0:
        raise InputError("The original has no records in these cells, so there is no risk to tell.")
    group = _groups(groups, x.size)
    if log_likelihood is not None:
        if synthesizer is not None or epsilon is not None:
            raise InputError("Give log_likelihood, synthesizer or epsilon: only one of them.")
        found = _by_function(x, group, alternatives, log_likelihood)
        return RecordRisk(_settled(found, x), x, alternatives)
    law = law_of(synthesizer, epsilon, copies, x.size, int(s.sum()))
    alpha = float(law.alpha)
    occupied = np.maximum(x - 1, 0)
    own = np.asarray(s * np.log1p(1 / (occupied + alpha)), dtype=np.float64)
    other = np.asarray(s * np.log1p(1 / (x + alpha)), dtype=np.float64)
    if alternatives == "worst":
        away = _least_other(other, group)
    else:
        allowed = x > 0 if alternatives == "observed" else np.ones(x.size, dtype=bool)
        away = _mean_other(other, group, allowed)
    return RecordRisk(_settled(np.where(x > 0, own - away, math.nan), x), x, alternatives)


def _settled(shift: NDArray[np.float64], x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the shift 0 to records without an alternative: they were certain before any file."""
    alone = np.isnan(shift) & (x > 0)
    if np.array_equal(alone, x > 0):
        raise InputError(
            "No record has an alternative cell under these assumptions: the intruder would know "
            "all values before seeing any file. Assume fewer known columns, or alternatives over "
            "all cells."
        )
    return np.where(alone, 0.0, shift)


def law_of(
    synthesizer: Synthesizer | None, epsilon: float | None, copies: int, cells: int, drawn: int
) -> Synthesizer:
    """Return the law of a file with so many records: the one given, or ours for `epsilon`."""
    if synthesizer is None and epsilon is not None:
        each, rest = divmod(drawn, whole("copies", copies))
        if rest or each == 0:
            raise InputError(f"synthetic must hold the same number of records in {copies} copies.")
        return Synthesizer.of(epsilon, n_synthetic=each, cells=cells, copies=copies)
    if synthesizer is None or epsilon is not None:
        raise InputError(
            "The risk of a file depends on how it was made: give the synthesizer or the epsilon of "
            "ours, or for a file from elsewhere a log_likelihood function; exactly one of them."
        )
    if synthesizer.cells != cells or synthesizer.draws != drawn:
        raise InputError(
            f"The synthesizer draws {synthesizer.draws} records over {synthesizer.cells} cells "
            f"and the file has {drawn} over {cells}; they do not belong together."
        )
    return synthesizer


def _groups(groups: ArrayLike | None, cells: int) -> NDArray[np.int64]:
    if groups is None:
        return np.zeros(cells, dtype=np.int64)
    array = np.asarray(groups)
    if array.shape != (cells,):
        raise InputError(f"groups must have one number for each of the {cells} cells.")
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _top_two(
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
    is_least, least, second = _top_two(-other, group)
    away = -np.where(is_least, second[group], least[group])
    return np.where(np.isinf(away), math.nan, away)


def _mean_other(
    other: NDArray[np.float64],
    group: NDArray[np.int64],
    allowed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return log of the mean of e^λ over the allowed other cells of its group; NaN if none.

    Leaving a cell out of its group's sum loses digits only if that cell is the largest term, so the
    sum without each group's largest term is kept beside the whole sum.
    """
    masked = np.where(allowed, other, -math.inf)
    is_top, top, second = _top_two(masked, group)
    rivals = np.bincount(group, weights=allowed)[group] - allowed
    top0 = np.where(np.isinf(top), 0.0, top)
    second0 = np.where(np.isinf(second), 0.0, second)
    term = np.exp(masked - top0[group])
    whole_sum = np.bincount(group, weights=term)
    rest = np.where(is_top, 0.0, np.exp(masked - second0[group]))
    rest_sum = np.bincount(group, weights=rest)
    with np.errstate(divide="ignore"):
        without_top = second0 + np.log(rest_sum)
        without_me = top0[group] + np.log(np.maximum(whole_sum[group] - term, 0.0))
        total = np.where(is_top, without_top[group], without_me)
        mean = total - np.log(np.maximum(rivals, 1))
    return np.where(rivals > 0, mean, math.nan)


def _by_function(
    x: NDArray[np.int64],
    group: NDArray[np.int64],
    alternatives: Alternatives,
    log_likelihood: LogLikelihood,
) -> NDArray[np.float64]:
    """Return Λ by evaluating the caller's log-likelihood with the target in every cell in turn."""
    shift = np.full(x.size, math.nan)
    for t in np.flatnonzero(x):
        rivals = np.flatnonzero(group == group[t])
        rivals = rivals[rivals != t]
        if alternatives == "observed":
            rivals = rivals[x[rivals] > 0]
        if rivals.size == 0:
            continue
        truth = _evaluate(log_likelihood, x)
        values = np.empty(rivals.size)
        for i, k in enumerate(rivals):
            moved = x.copy()
            moved[t] -= 1
            moved[k] += 1
            values[i] = _evaluate(log_likelihood, moved)
        if truth == -math.inf:
            raise InputError(
                "log_likelihood gives the file no chance under the original data; it is not the "
                "law of the synthesizer that made it."
            )
        shift[t] = truth - (values.min() if alternatives == "worst" else _log_mean(values))
    return shift


def _log_mean(values: NDArray[np.float64]) -> float:
    top = float(values.max())
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.mean(np.exp(values - top))))


def _evaluate(log_likelihood: LogLikelihood, counts: NDArray[np.int64]) -> float:
    counts = counts.copy()
    counts.flags.writeable = False
    value = float(log_likelihood(counts))
    if math.isnan(value) or value == math.inf:
        raise InputError("log_likelihood gave NaN or infinity; it must give a log-probability.")
    return value


def worst_case(epsilon: float, priors: Sequence[float]) -> list[dict[str, Any]]:
    """Return, for each prior, the R that no file of an ε-DP synthesizer can exceed (Λ ≤ ε).

    It needs no data: both adjacencies have the same ε here, since moving one record costs at most
    ε as well (`law.py`).
    """
    w = check_prior(list(priors))
    bound = np.minimum(1.0, _expit(np.log(w) - np.log1p(-w) + epsilon) * (1 + 1e-14))
    return [{"prior": float(p), "posterior": float(b)} for p, b in zip(w, bound, strict=True)]

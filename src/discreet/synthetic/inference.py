"""What an analyst of the synthetic file may infer, and how much was lost: exact Beta mixtures.

Notation. p the population's share of a cell, or of a set of k cells, Beta(a, b) the analyst's prior
for it; X of n original records are in it, X* of N synthetic ones (all copies together); α the
synthesizer's weight of it and β that of all others together: the sums over its cells and the rest.

Posterior (McClure and Reiter 2012, Appendix B, sample it; it is tractable). X is not known, but
takes n + 1 values, and given X the file says nothing more about p. So p | X* is a mixture of the
n + 1 laws Beta(X + a, n − X + b), with weights

    C(n, X) B(X + a, n − X + b) (X + α)^{X*} (n − X + β)^{N − X*}.

It needs N, n, α and K, all of which the file's description may hold (n only if it is public), and
treats it against the rest: exact given the synthetic count X* itself. (How the others fell among
themselves could add a little; it is not used.)

Prior. Left out, it is Jeffreys's Beta(½, ½), whatever k is. One record in each cell beforehand,
Beta(k, K − k), would weigh as K records and draw every share to k/K as the blur does: its intervals
miss most shares far from k/K. Tests add up, over every file, how often an interval holds the share.

Utility ((4) there): U = log10 E[(p0 − p)² | D*] / E[(p0 − p)² | D]; 0 means nothing was lost.

Distribution function. With t_X = p^{X+a}(1−p)^{n−X+b−1}/((X+a) B(X+a, n−X+b)), the incomplete beta
functions satisfy I_p(X+1+a, n−X−1+b) = I_p(X+a, n−X+b) − t_X (DLMF 8.17.20–21), so one of them, by
its continued fraction, gives all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.frames import html_grid
from discreet.numerics import bracket, incomplete_beta, log_beta_term
from discreet.synthetic.law import CUT, Synthesizer, beta_binomial, whole
from discreet.synthetic.records import as_counts, law_of
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_JEFFREYS = (0.5, 0.5)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Posterior:
    """The analyst's posterior of one share: a mixture of Betas over the unknown original count."""

    first: int
    weights: NDArray[np.float64]
    n: int
    a: float
    b: float

    @property
    def mean(self) -> float:
        """The posterior mean of the share."""
        return float(self.weights @ self._means())

    @property
    def sd(self) -> float:
        """The posterior standard deviation of the share."""
        return math.sqrt(self.squared_error(self.mean))

    def squared_error(self, p0: float) -> float:
        """E[(p0 − p)²]: the expected squared error if the truth is p0."""
        means = self._means()
        variances = means * (1 - means) / (self.n + self.a + self.b + 1)
        return float(self.weights @ (variances + (means - p0) ** 2))

    def cdf(self, p: float) -> float:
        """P(share ≤ p)."""
        if math.isnan(p):
            raise InputError("synthetic.not_a_number", name="p")
        if p <= 0 or p >= 1:
            return float(p >= 1)
        start = self.first + self.a, self.n - self.first + self.b
        x = np.arange(self.first, self.first + len(self.weights) - 1)
        ratios = np.log(self.n - x - 1 + self.b) - np.log(x + 1 + self.a)
        log_t = log_beta_term(p, *start) + np.concatenate(
            [[0.0], np.cumsum(ratios + math.log(p) - math.log1p(-p))]
        )
        below = incomplete_beta(p, *start) - np.concatenate([[0.0], np.cumsum(np.exp(log_t[:-1]))])
        return float(np.clip(self.weights @ below, 0.0, 1.0))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval with equal tails that holds p with that posterior probability."""
        if math.isnan(confidence) or not 0 < confidence < 1:
            raise InputError("synthetic.not_a_probability", name="confidence", value=confidence)
        tail = (1 - confidence) / 2
        return self._bracket(tail)[0], self._bracket(1 - tail)[1]

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return mean, standard deviation and interval, JSON-ready."""
        low, high = self.interval(confidence)
        return {
            "mean": self.mean,
            "sd": self.sd,
            "interval": {"lower": low, "upper": high, "confidence": confidence},
        }

    def _means(self) -> NDArray[np.float64]:
        x = np.arange(self.first, self.first + len(self.weights))
        return np.asarray((x + self.a) / (self.n + self.a + self.b))

    def _bracket(self, level: float) -> tuple[float, float]:
        """Return two neighbouring points around the quantile at `level`."""
        return bracket(lambda p: self.cdf(p) < level, 0.0, 1.0, relative=1e-12, least=1e-6)

    def _repr_html_(self) -> str:
        low, high = self.interval()
        figures = [f"{value:.4g}" for value in (self.mean, self.sd, low, high)]
        header = [say("synthetic.posterior.mean"), say("synthetic.posterior.sd"), "2.5 %", "97.5 %"]
        return html_grid(say("synthetic.posterior.title"), header, [figures])

    def __repr__(self) -> str:
        return f"Posterior(mean={self.mean:.6g}, sd={self.sd:.3g}, n={self.n})"


def posterior(
    synthetic: ArrayLike,
    *,
    n: int,
    cell: int | Sequence[int] | None = None,
    synthesizer: Synthesizer | None = None,
    epsilon: float | None = None,
    copies: int = 1,
    prior: tuple[float, float] | None = None,
) -> Posterior:
    """Return the posterior of the share of `cell` in the population, from a synthetic file alone.

    `synthetic` counts the file over its cells (all copies together). `cell` is one of them or a set
    of k (all who smoke, say); of two cells the second is meant if it is left out. `n` is the size
    of the original, `prior` the analyst's (a, b), by default (½, ½) for any set of cells. Taking
    the file's own share instead would be biased towards k/K.

    >>> share = posterior([700, 300], n=1000, epsilon=100)
    >>> round(share.mean, 3), [round(end, 2) for end in share.interval()]
    (0.297, [0.26, 0.34])
    """
    s = as_counts("synthetic", synthetic)
    law = law_of(synthesizer, epsilon, copies, s.size, int(s.sum()))
    chosen = _cells(cell, s.size)
    a, b = _JEFFREYS if prior is None else prior
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise InputError("synthetic.bad_beta", a=a, b=b)
    n = whole("n", n)
    blur = law.alphas
    inside = float(blur[chosen].sum())
    x = np.arange(n + 1, dtype=np.float64)
    drawn = int(s[chosen].sum())
    log_weight = (
        beta_binomial(n, a, b)
        + drawn * np.log(x + inside)
        + (law.draws - drawn) * np.log(n - x + float(blur.sum()) - inside)
    )
    log_weight -= log_weight.max()
    kept = np.flatnonzero(log_weight > -CUT)
    first, last = int(kept[0]), int(kept[-1])
    weights = np.exp(log_weight[first : last + 1])
    return Posterior(first, weights / weights.sum(), n, float(a), float(b))


def utility(
    original: ArrayLike,
    synthetic: ArrayLike,
    *,
    p0: float | None = None,
    cell: int | Sequence[int] | None = None,
    **how: Any,
) -> float:
    """Return U, the digits of squared error lost by inferring a share from the file ((4) of M&R).

    `p0` is the truth; left out, the original's own share. `how` goes on to `posterior` (the law of
    the file, the analyst's prior). The result describes the original data: it is confidential.
    """
    x = as_counts("original", original)
    s = as_counts("synthetic", synthetic, cells=x.size)
    n = int(x.sum())
    from_file = posterior(s, n=n, cell=cell, **how)
    there = int(x[_cells(cell, x.size)].sum())
    truth = there / n if p0 is None else p0
    if math.isnan(truth) or not 0 <= truth <= 1:
        raise InputError("synthetic.not_a_probability", name="p0", value=p0)
    from_original = Posterior(there, np.ones(1), n, from_file.a, from_file.b)
    return math.log10(from_file.squared_error(truth) / from_original.squared_error(truth))


def _cells(cell: int | Sequence[int] | None, size: int) -> list[int]:
    """Return the cells that are meant: some, and not all."""
    if cell is None:
        if size != 2:
            raise InputError("synthetic.which_cell", cells=size)
        return [1]
    chosen = [cell] if isinstance(cell, int) else sorted(set(cell))
    if not chosen or len(chosen) == size:
        raise InputError("synthetic.some_cells")
    if not all(0 <= one < size for one in chosen):
        raise InputError("synthetic.bad_cell", cell=cell, last=size - 1)
    return chosen

"""The law of the synthesizer, and what an analyst infers by it: n_s draws from blurred cells.

Notation. x_k the number of records in cell k of K, n = Σ x_k, n_s the records of one synthetic
copy, m the number of copies, c the most records that one protected unit may have, ε the budget.

Law (McClure and Reiter 2012, (3); for K cells the Dirichlet–multinomial form of Abowd and Vilhuber
2008): every synthetic record falls into cell k with probability (x_k + α)/(n + Kα), independently.

Theorem (M&R, Theorem 1, for K cells, m copies and units with c records). One draw's likelihood
under neighbours b + v and b + u, where |u|, |v| ≤ c records are those of one unit, has the ratio
(b_k + v_k + α)/(b_k + u_k + α) · (|b| + |u| + Kα)/(|b| + |v| + Kα) ≤ (c + α)/α. So all m·n_s draws
together satisfy ε-differential privacy with

    ε = m n_s log1p(c/α),   that is   α = c/expm1(ε/(m n_s)),

under `replace` (where it is attained) and under `add-remove` (u = 0 or v = 0; approached as n
grows), as long as n_s and α do not depend on the data. Cells may have unequal weights α w_k (M&R's
α ≠ β; w_k public whole numbers, such as shares from a census): the smallest of them is what costs.
Nothing here reads n: α is a function of public numbers alone, rounded *up* to a rational number so
that the draws can be exact in integers.

Binomial and beta-binomial weights have simple ratios of neighbouring probabilities, so their
logarithms are cumulative sums away from the mode, and dividing by the sum needs no gamma function.
Terms below e^{-80} of the largest are left out: less than 1e-30 of the whole.

What an analyst of the file may infer, and how much was lost: exact Beta mixtures.

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
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.frames import html_grid
from discreet.guarantees import PureDP
from discreet.numerics import bracket, incomplete_beta, log_beta_term
from discreet.reading import fraction_of
from discreet.rounding import down, up
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# α is kept to 32 binary digits after the point or 32 significant ones, whichever is coarser, so
# that the integer weights of ten million records in ten million cells still fit a machine word.
_BITS = 32
_MOST_DRAWS = 2_000_000_000
_LEAST_RATE = 1e-200
JEFFREYS = (0.5, 0.5)
_MOST_RATE = 700.0  # beyond it expm1 overflows; the weight is raised to 2^-32 in any case


def whole(name: str, value: int, *, low: int = 1) -> int:
    """Return `value` if it is a whole number of at least `low`; say what is wrong otherwise."""
    try:
        same = int(value) == value and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same or value < low:
        raise InputError("synthetic.not_whole", name=name, value=value, low=low)
    return int(value)


def as_counts(name: str, values: ArrayLike, *, cells: int | None = None) -> NDArray[np.int64]:
    """Return whole, non-negative counts, one a cell; say what is wrong without showing a count."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise InputError("synthetic.not_a_list_of_counts", name=name)
    if array.dtype.kind not in "iuf" or not np.all(
        (array >= 0) & (array < 2.0**62) & (array == np.floor(array))
    ):
        raise InputError("synthetic.not_counts", name=name)
    if cells is not None and array.size != cells:
        raise InputError("synthetic.other_cells", name=name, cells=array.size, expected=cells)
    return array.astype(np.int64)


def prior_weight(epsilon: float, n_synthetic: int, *, copies: int = 1, records: int = 1) -> float:
    """Return the smallest α that makes the draws ε-DP, up to rounding: c/expm1(ε/(m n_s)).

    >>> round(prior_weight(1000, 1000), 2)
    0.58
    """
    PureDP(epsilon)
    if epsilon == 0 or math.isinf(epsilon):
        raise InputError("synthetic.no_budget", epsilon=epsilon)
    draws = whole("n_synthetic", n_synthetic) * whole("copies", copies)
    rate = epsilon / draws
    if rate < _LEAST_RATE:
        raise InputError("synthetic.too_little_a_draw", epsilon=epsilon, draws=draws)
    return whole("records", records) / math.expm1(min(rate, _MOST_RATE))


def _rational_up(alpha: float) -> Fraction:
    """Return a rational of few digits, at least α; tiny weights are raised to 2^-32."""
    exponent = math.frexp(alpha)[1]
    shift = max(0, min(_BITS, _BITS - exponent))
    return Fraction(math.ceil(Fraction(alpha) * 2**shift), 2**shift)


@dataclass(frozen=True, slots=True)
class Synthesizer:
    """The synthesizer of one budget: how many cells, draws and copies, and the weight α.

    >>> Synthesizer.of(1000, n_synthetic=1000)
    Synthesizer(epsilon=1000, alpha=0.581977, cells=2, n_synthetic=1000, copies=1, records=1)
    """

    epsilon: float
    alpha: Fraction
    cells: int
    n_synthetic: int
    copies: int = 1
    records: int = 1
    weights: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        PureDP(self.epsilon)
        if self.weights and len(self.weights) != self.cells:
            raise InputError("synthetic.one_count_a_cell", name="weights", cells=self.cells)
        for weight in self.weights:
            whole("weights", weight)
        if whole("cells", self.cells) < 2:
            raise InputError("synthetic.one_cell")
        draws = whole("n_synthetic", self.n_synthetic) * whole("copies", self.copies)
        if draws > _MOST_DRAWS:
            raise InputError("synthetic.too_many_draws", draws=draws, most=_MOST_DRAWS)
        whole("records", self.records)
        if not self.alpha > 0:
            raise InputError("synthetic.bad_alpha", alpha=self.alpha)
        if self.epsilon < self.loss:
            said = {"alpha": float(self.alpha), "cost": self.loss, "epsilon": self.epsilon}
            raise InputError("synthetic.alpha_costs_more", **said)

    @classmethod
    def of(
        cls,
        epsilon: float,
        *,
        n_synthetic: int,
        cells: int = 2,
        copies: int = 1,
        records: int = 1,
        weights: Sequence[int] | None = None,
    ) -> Synthesizer:
        """Return the synthesizer that spends at most ε over all its copies together."""
        given = tuple(weights or ())
        least = whole("weights", min(given, default=1))
        # Nudged up past the rounding of expm1 and of both divisions; `loss` checks it again.
        exact = prior_weight(epsilon, n_synthetic, copies=copies, records=records)
        alpha = _rational_up(up(exact / least))
        while _loss(alpha * least, n_synthetic * copies, records) > epsilon:
            alpha = _rational_up(up(float(alpha * (1 + Fraction(1, 2**_BITS)))))
        return cls(epsilon, alpha, cells, n_synthetic, copies, records, given)

    @property
    def draws(self) -> int:
        """How many synthetic records are drawn in all copies together."""
        return self.n_synthetic * self.copies

    @property
    def loss(self) -> float:
        """The largest privacy loss over all outputs and neighbours, rounded up."""
        return _loss(self.alpha * min(self.weights, default=1), self.draws, self.records)

    @property
    def alphas(self) -> NDArray[np.float64]:
        """The weight of every cell."""
        relative = np.array(self.weights, float) if self.weights else np.ones(self.cells)
        return np.asarray(float(self.alpha) * relative)

    def prior_share(self, n: int | None) -> float | None:
        """Return the share of a file that comes from the blur, Kα/(n + Kα); None without n."""
        blur = float(self.alphas.sum())
        return None if n is None else blur / (n + blur)

    def guarantee(self, adjacency: str) -> PureDP:
        """Return what the draws promise under that adjacency (the same ε under either)."""
        return PureDP(self.epsilon, adjacency=adjacency)  # type: ignore[arg-type]

    def integer_weights(self, counts: Any) -> list[int]:
        """Return whole numbers in the ratio of x_k + α, one a cell: exact weights of one draw."""
        scale, weight = self.alpha.denominator, self.alpha.numerator
        relative = self.weights or repeat(1)
        return [int(count) * scale + weight * w for count, w in zip(counts, relative, strict=False)]

    def to_dict(self) -> dict[str, Any]:
        """Return the public description that an analyst of the file needs."""
        alpha = f"{self.alpha.numerator}/{self.alpha.denominator}"
        said = asdict(self) | {"alpha": alpha, "weights": list(self.weights)}
        return {name: value for name, value in said.items() if value != []}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Synthesizer:
        """Read back what `to_dict` wrote."""
        try:
            names = ("cells", "n_synthetic", "copies", "records")
            numbers = {name: int(values[name]) for name in names}
            epsilon, alpha = float(values["epsilon"]), fraction_of(values["alpha"])
            return cls(epsilon, alpha, weights=tuple(values.get("weights", ())), **numbers)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("synthetic.unreadable_synthesizer") from None

    def __repr__(self) -> str:
        return (
            f"Synthesizer(epsilon={self.epsilon:g}, alpha={float(self.alpha):g}, "
            f"cells={self.cells}, n_synthetic={self.n_synthetic}, copies={self.copies}, "
            f"records={self.records})"
        )


def _loss(alpha: Fraction, draws: int, records: int) -> float:
    """Return draws·log1p(c/α), rounded up."""
    return up(draws * math.log1p(records / down(float(alpha))))


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
        made = {"draws": synthesizer.draws, "cells": synthesizer.cells}
        raise InputError("synthetic.another_synthesizer", records=drawn, over=cells, **made)
    return synthesizer


def draw_copies(law: Synthesizer, original: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a file, exactly: one row of counts a copy.

    The weights x_k + α are whole numbers over a common denominator, and each record falls where a
    uniform whole number from the operating system says: no floating-point number is involved.
    """
    from discreet.noise import multinomial

    weights = law.integer_weights(original)
    drawn = [multinomial(law.n_synthetic, weights) for _ in range(law.copies)]
    return np.array(drawn, dtype=np.int64)


# -- binomial and beta-binomial weights

_CUT = 80.0


def binomial(n: int, p: float) -> tuple[int, NDArray[np.float64]]:
    """Return (first, probabilities) of Bin(n, p) on the run that matters.

    >>> first, mass = binomial(4, 0.5)
    >>> first, mass.round(4).tolist()
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    if p == 0:
        return 0, np.ones(1)
    if p == 1:
        return n, np.ones(1)
    mode = min(n, math.floor((n + 1) * p))
    # A binomial lies within this of its mode but for e^{-80} (Bernstein's inequality).
    reach = math.ceil(math.sqrt(2 * _CUT * n * p * (1 - p)) + 2 * _CUT / 3 + 2)
    low, high = max(0, mode - reach), min(n, mode + reach)
    log_odds = math.log(p) - math.log1p(-p)
    k = np.arange(low, high)
    mass = np.exp(_from_middle(np.log(n - k) - np.log(k + 1.0) + log_odds, mode - low))
    return low, mass / mass.sum()


def _beta_binomial(n: int, a: float, b: float) -> NDArray[np.float64]:
    """Return the logarithm, up to a constant, of the beta-binomial probabilities of 0 … n.

    C(n, k) B(k + a, n − k + b): the law of a binomial count whose probability is Beta(a, b).
    """
    k = np.arange(n, dtype=np.float64)
    steps = np.log(n - k) - np.log(k + 1) + np.log(k + a) - np.log(n - k - 1 + b)
    return _from_middle(steps, n // 2)


def _from_middle(steps: NDArray[np.float64], middle: int) -> NDArray[np.float64]:
    """Return the sums of steps to the right of `middle`, and minus those to its left."""
    right = np.cumsum(steps[middle:])
    left = -np.cumsum(steps[:middle][::-1])[::-1]
    return np.concatenate([left, [0.0], right])


# -- the analyst's side


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
        return float(self.weights @ self._means)

    @property
    def sd(self) -> float:
        """The posterior standard deviation of the share."""
        return math.sqrt(self.squared_error(self.mean))

    def squared_error(self, p0: float) -> float:
        """E[(p0 − p)²]: the expected squared error if the truth is p0."""
        means = self._means
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

    def _bracket(self, level: float) -> tuple[float, float]:
        """Return two neighbouring points around the quantile at `level`."""
        return bracket(lambda p: self.cdf(p) < level, 0.0, 1.0, relative=1e-12, least=1e-6)

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return mean, standard deviation and interval, JSON-ready."""
        low, high = self.interval(confidence)
        return {
            "mean": self.mean,
            "sd": self.sd,
            "interval": {"lower": low, "upper": high, "confidence": confidence},
        }

    @property
    def _means(self) -> NDArray[np.float64]:
        x = np.arange(self.first, self.first + len(self.weights))
        return np.asarray((x + self.a) / (self.n + self.a + self.b))

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
    prior: tuple[float, float] = JEFFREYS,
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
    a, b = prior
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise InputError("synthetic.bad_beta", a=a, b=b)
    n = whole("n", n)
    blur = law.alphas
    inside = float(blur[chosen].sum())
    x = np.arange(n + 1, dtype=np.float64)
    drawn = int(s[chosen].sum())
    log_weight = (
        _beta_binomial(n, a, b)
        + drawn * np.log(x + inside)
        + (law.draws - drawn) * np.log(n - x + float(blur.sum()) - inside)
    )
    log_weight -= log_weight.max()
    kept = np.flatnonzero(log_weight > -_CUT)
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

"""The law of the synthesizer: n_s draws from the cells, with a prior weight α in every cell.

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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.guarantees import PureDP
from discreet.reading import fraction_of
from discreet.rounding import down, up

if TYPE_CHECKING:
    from numpy.typing import NDArray

# α is kept to 32 binary digits after the point or 32 significant ones, whichever is coarser, so
# that the integer weights of ten million records in ten million cells still fit a machine word.
_BITS = 32
_MOST_DRAWS = 2_000_000_000
_LEAST_RATE = 1e-200
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
    weights: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        PureDP(self.epsilon)
        if self.weights is not None and len(self.weights) != self.cells:
            raise InputError("synthetic.one_count_a_cell", name="weights", cells=self.cells)
        for weight in self.weights or ():
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
            raise InputError(
                "synthetic.alpha_costs_more",
                alpha=float(self.alpha),
                cost=self.loss,
                epsilon=self.epsilon,
            )

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
        draws = whole("n_synthetic", n_synthetic) * whole("copies", copies)
        least = whole("weights", min(weights or (1,)))
        # Nudged up past the rounding of expm1 and of both divisions; `loss` checks it again.
        exact = prior_weight(epsilon, n_synthetic, copies=copies, records=records)
        alpha = _rational_up(up(exact / least))
        while _loss(alpha * least, draws, records) > epsilon:
            alpha *= 1 + Fraction(1, 2**_BITS)
            alpha = _rational_up(up(float(alpha)))
        return cls(
            epsilon,
            alpha,
            cells,
            n_synthetic,
            copies,
            records,
            None if weights is None else tuple(weights),
        )

    @property
    def draws(self) -> int:
        """How many synthetic records are drawn in all copies together."""
        return self.n_synthetic * self.copies

    @property
    def loss(self) -> float:
        """The largest privacy loss over all outputs and neighbours, rounded up."""
        least = 1 if self.weights is None else min(self.weights)
        return _loss(self.alpha * least, self.draws, self.records)

    @property
    def alphas(self) -> NDArray[np.float64]:
        """The weight of every cell."""
        relative = np.ones(self.cells) if self.weights is None else np.array(self.weights, float)
        return np.asarray(float(self.alpha) * relative)

    def guarantee(self, adjacency: str) -> PureDP:
        """Return what the draws promise under that adjacency (the same ε under either)."""
        return PureDP(self.epsilon, adjacency=adjacency)  # type: ignore[arg-type]

    def integer_weights(self, counts: Any) -> list[int]:
        """Return whole numbers in the ratio of x_k + α, one a cell: exact weights of one draw."""
        scale, weight = self.alpha.denominator, self.alpha.numerator
        relative = repeat(1) if self.weights is None else self.weights
        return [int(count) * scale + weight * w for count, w in zip(counts, relative, strict=False)]

    def to_dict(self) -> dict[str, Any]:
        """Return the public description that an analyst of the file needs."""
        return {
            "epsilon": self.epsilon,
            "alpha": f"{self.alpha.numerator}/{self.alpha.denominator}",
            "cells": self.cells,
            "n_synthetic": self.n_synthetic,
            "copies": self.copies,
            "records": self.records,
            **({} if self.weights is None else {"weights": list(self.weights)}),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Synthesizer:
        """Read back what `to_dict` wrote."""
        try:
            return cls(
                float(values["epsilon"]),
                fraction_of(values["alpha"]),
                int(values["cells"]),
                int(values["n_synthetic"]),
                int(values["copies"]),
                int(values["records"]),
                tuple(values["weights"]) if "weights" in values else None,
            )
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

CUT = 80.0


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
    # A binomial lies within this of its mode but for e^{-CUT} (Bernstein's inequality).
    reach = math.ceil(math.sqrt(2 * CUT * n * p * (1 - p)) + 2 * CUT / 3 + 2)
    low, high = max(0, mode - reach), min(n, mode + reach)
    log_odds = math.log(p) - math.log1p(-p)
    k = np.arange(low, high)
    return low, _normalised(np.log(n - k) - np.log(k + 1.0) + log_odds, mode - low)


def beta_binomial(n: int, a: float, b: float) -> NDArray[np.float64]:
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


def _normalised(steps: NDArray[np.float64], mode: int) -> NDArray[np.float64]:
    mass = np.exp(_from_middle(steps, mode))
    return np.asarray(mass / mass.sum())

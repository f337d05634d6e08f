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
grows), as long as n_s and α do not depend on the data. Nothing here reads n: α is a function of
public numbers alone, rounded *up* to a rational number so that the draws can be exact in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InputError
from discreet.guarantees import PureDP
from discreet.rounding import down, up

__all__ = ["Synthesizer", "prior_weight", "whole"]

# α is kept to 32 binary digits after the point or 32 significant ones, whichever is coarser, so
# that the integer weights of ten million records in ten million cells still fit a machine word.
_BITS = 32
_MOST_DRAWS = 2_000_000_000
_LEAST_RATE = 1e-200
_MOST_RATE = 700.0  # beyond it expm1 overflows; the weight is raised to 2^-32 in any case


def whole(name: str, value: int, *, low: int = 1) -> int:
    """Return `value` if it is a whole number of at least `low`; say what is wrong otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        try:
            same = int(value) == value
        except (TypeError, ValueError, OverflowError):
            same = False
        if not same or isinstance(value, bool):
            raise InputError(f"{name} is {value!r}; it must be a whole number, {low} or more.")
    if value < low:
        raise InputError(f"{name} is {value!r}; it must be a whole number, {low} or more.")
    return int(value)


def prior_weight(epsilon: float, n_synthetic: int, *, copies: int = 1, records: int = 1) -> float:
    """Return the smallest α that makes the draws ε-DP, up to rounding: c/expm1(ε/(m n_s)).

    >>> round(prior_weight(1000, 1000), 2)
    0.58
    """
    PureDP(epsilon)
    if epsilon == 0 or math.isinf(epsilon):
        raise InputError(
            f"epsilon is {epsilon:g}; synthetic data need a budget above 0 and below infinity."
        )
    draws = whole("n_synthetic", n_synthetic) * whole("copies", copies)
    rate = epsilon / draws
    if rate < _LEAST_RATE:
        raise InputError(
            f"epsilon is {epsilon:g} for {draws} draws, so little a draw that the prior weight "
            "overflows and the file would be pure chance. Raise epsilon or draw fewer records."
        )
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

    def __post_init__(self) -> None:
        PureDP(self.epsilon)
        if whole("cells", self.cells) < 2:
            raise InputError(
                "Only one cell is possible, so a synthetic file would say nothing; give a column "
                "with at least two levels."
            )
        draws = whole("n_synthetic", self.n_synthetic) * whole("copies", self.copies)
        if draws > _MOST_DRAWS:
            raise InputError(
                f"n_synthetic × copies is {draws}; records are drawn one by one and "
                f"{_MOST_DRAWS} is the most. Draw fewer records."
            )
        whole("records", self.records)
        if not self.alpha > 0:
            raise InputError(f"alpha is {self.alpha}; it must be above 0.")
        if self.epsilon < self.loss:
            raise InputError(
                f"alpha is {float(self.alpha):g}, which costs epsilon {self.loss:g}, more than the "
                f"{self.epsilon:g} stated."
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
    ) -> Synthesizer:
        """Return the synthesizer that spends at most ε over all its copies together."""
        draws = whole("n_synthetic", n_synthetic) * whole("copies", copies)
        # Nudged up past the rounding of expm1 and of both divisions; `loss` checks it again.
        exact = prior_weight(epsilon, n_synthetic, copies=copies, records=records)
        alpha = _rational_up(up(exact))
        while _loss(alpha, draws, records) > epsilon:
            alpha *= 1 + Fraction(1, 2**_BITS)
            alpha = _rational_up(up(float(alpha)))
        return cls(epsilon, alpha, cells, n_synthetic, copies, records)

    @classmethod
    def with_weight(
        cls,
        alpha: float | Fraction,
        *,
        n_synthetic: int,
        cells: int = 2,
        copies: int = 1,
        records: int = 1,
    ) -> Synthesizer:
        """Return the synthesizer with that α, and the ε (rounded up) that it costs."""
        if isinstance(alpha, float) and not 0 < alpha < math.inf:
            raise InputError(f"alpha is {alpha!r}; it must be above 0 and finite.")
        weight = Fraction(alpha)
        if not weight > 0:
            raise InputError(f"alpha is {alpha!r}; it must be above 0 and finite.")
        draws = whole("n_synthetic", n_synthetic) * whole("copies", copies)
        epsilon = _loss(weight, draws, whole("records", records))
        return cls(epsilon, weight, cells, n_synthetic, copies, records)

    @property
    def draws(self) -> int:
        """How many synthetic records are drawn in all copies together."""
        return self.n_synthetic * self.copies

    @property
    def loss(self) -> float:
        """The largest privacy loss over all outputs and neighbours, rounded up."""
        return _loss(self.alpha, self.draws, self.records)

    def guarantee(self, adjacency: str) -> PureDP:
        """Return what the draws promise under that adjacency (the same ε under either)."""
        return PureDP(self.epsilon, adjacency=adjacency)  # type: ignore[arg-type]

    def integer_weights(self, counts: Any) -> list[int]:
        """Return whole numbers in the ratio of x_k + α, one a cell: exact weights of one draw."""
        scale, weight = self.alpha.denominator, self.alpha.numerator
        return [int(count) * scale + weight for count in counts]

    def to_dict(self) -> dict[str, Any]:
        """Return the public description that an analyst of the file needs."""
        return {
            "epsilon": self.epsilon,
            "alpha": f"{self.alpha.numerator}/{self.alpha.denominator}",
            "cells": self.cells,
            "n_synthetic": self.n_synthetic,
            "copies": self.copies,
            "records": self.records,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Synthesizer:
        """Read back what `to_dict` wrote."""
        try:
            return cls(
                float(values["epsilon"]),
                Fraction(values["alpha"]),
                int(values["cells"]),
                int(values["n_synthetic"]),
                int(values["copies"]),
                int(values["records"]),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "The description of the synthesizer cannot be read; it must hold epsilon, alpha, "
                "cells, n_synthetic, copies and records as `synthesize` wrote them."
            ) from None

    def __repr__(self) -> str:
        return (
            f"Synthesizer(epsilon={self.epsilon:g}, alpha={float(self.alpha):g}, "
            f"cells={self.cells}, n_synthetic={self.n_synthetic}, copies={self.copies}, "
            f"records={self.records})"
        )


def _loss(alpha: Fraction, draws: int, records: int) -> float:
    """Return draws·log1p(c/α), rounded up."""
    return up(draws * math.log1p(records / down(float(alpha))))

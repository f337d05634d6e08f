"""The expected increase in risk before any data are seen: ER over all data sets and all files.

Notation. One yes/no variable; p0 the true share of yes; X ~ Bin(n, p0) yes-records in the
original, X* ~ Bin(n_s, θ_X) in the synthetic file, θ_X = (X + α)/(n + 2α); w the intruder's prior
for the true value of the record, R its posterior, Λ the shift of log-odds of `records.py`.

Definition (McClure and Reiter 2012, (6)–(7)):

    ER = Σ_{X, X*} (max(R, w) − w) P(X* | X) P(X | p0),

for a record that says yes (so X − 1 of the others do); where X = 0, for a record that says no. In
terms of the shift, (R − w)⁺ = w(1 − w) expm1(Λ)⁺/(1 + w expm1(Λ)). Terms below e^{-80} of the
largest are left out: the sum is exact to rounding, and costs about √n·√n_s terms instead of n·n_s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.frames import html_grid
from discreet.synthetic.binomials import CUT, binomial, log_choose
from discreet.synthetic.law import prior_weight, whole
from discreet.synthetic.records import check_prior

__all__ = ["RiskTable", "expected_risk_increase", "risk_table"]

_BLOCK = 1 << 16  # terms held at once: small enough to stay in the processor's cache


def expected_risk_increase(
    p0: float,
    *,
    epsilon: float,
    n: int = 1000,
    n_synthetic: int | None = None,
    prior: float = 0.5,
) -> float:
    """Return how much the posterior of a record's true value rises over its prior, on average.

    `prior` is the intruder's probability for the true value, whichever it is; `n_synthetic` is n
    if it is left out. M&R, Table 1:

    >>> round(expected_risk_increase(0.5, epsilon=1000, n=1000), 5)
    0.00655
    """
    if math.isnan(p0) or not 0 <= p0 <= 1:
        raise InputError(f"p0 is {p0!r}; it must lie between 0 and 1.")
    n = whole("n", n)
    drawn = n if n_synthetic is None else whole("n_synthetic", n_synthetic)
    w = float(check_prior(prior))
    alpha = prior_weight(epsilon, drawn)
    first, mass = binomial(n, p0)
    x = np.arange(first, first + len(mass))
    total = 0.0
    if first == 0:
        # Nobody says yes: by symmetry a no-record among n is a yes-record when all say yes.
        total += float(mass[0]) * float(_increase(np.array([n]), n, drawn, alpha, w)[0])
        x, mass = x[1:], mass[1:]
    return total + float(mass @ _increase(x, n, drawn, alpha, w)) if x.size else total


def _increase(
    x: np.ndarray[Any, np.dtype[np.int64]], n: int, drawn: int, alpha: float, w: float
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return Σ_{X*} (max(R, w) − w) P(X* | X) for each X ≥ 1, the record saying yes."""
    out = np.empty(x.size)
    theta = (x + alpha) / (n + 2 * alpha)
    sd = np.sqrt(drawn * theta * (1 - theta))
    reach = np.ceil(np.sqrt(2 * CUT) * sd + 2 * CUT / 3 + 2)
    low = np.maximum(0, np.floor(drawn * theta) - reach).astype(np.int64)
    high = np.minimum(drawn, np.ceil(drawn * theta) + reach).astype(np.int64)
    start = 0
    while start < x.size:
        stop = start + 1
        while stop < x.size and (stop + 1 - start) * (high[stop] - low[start] + 1) <= _BLOCK:
            stop += 1
        rows = slice(start, stop)
        ends = int(low[rows].min()), int(high[rows].max())
        out[rows] = _block(x[rows], n, drawn, alpha, w, *ends)
        start = stop
    return out


def _block(
    x: np.ndarray[Any, np.dtype[np.int64]],
    n: int,
    drawn: int,
    alpha: float,
    w: float,
    low: int,
    high: int,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    synthetic = np.arange(low, high + 1, dtype=np.float64)
    yes = np.log1p(1 / (x - 1 + alpha))[:, None]
    no = -np.log1p(1 / (n - x + alpha))[:, None]
    odds = np.log((x + alpha) / (n - x + alpha))[:, None]
    # P(X* | X), row by row from its largest term, so that the constant of log_choose drops out.
    log_mass = log_choose(drawn, low, high) + synthetic * odds
    log_mass -= log_mass.max(axis=1, keepdims=True)
    mass = np.exp(log_mass, out=log_mass)
    whole_mass = mass.sum(axis=1)
    shift = synthetic * yes + (drawn - synthetic) * no
    gain = np.expm1(np.minimum(shift, 700.0, out=shift), out=shift)
    np.maximum(gain, 0.0, out=gain)
    gain /= 1 + w * gain
    return np.asarray(w * (1 - w) * np.einsum("ij,ij->i", mass, gain) / whole_mass)


@dataclass(frozen=True, slots=True)
class RiskTable:
    """The expected increase in risk over shares p0 (down) and budgets ε (across)."""

    shares: tuple[float, ...]
    epsilons: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    n: int
    n_synthetic: int
    prior: float

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON-ready values, one object a cell."""
        return {
            "n": self.n,
            "n_synthetic": self.n_synthetic,
            "prior": self.prior,
            "cells": [
                {"p0": p0, "epsilon": epsilon, "expected_increase": value}
                for p0, row in zip(self.shares, self.values, strict=True)
                for epsilon, value in zip(self.epsilons, row, strict=True)
            ],
        }

    def _repr_html_(self) -> str:
        rows = [
            [f"{p0:g}", *(f"{value:.3g}" for value in row)]
            for p0, row in zip(self.shares, self.values, strict=True)
        ]
        header = ["p0 \\ ε", *(f"{epsilon:g}" for epsilon in self.epsilons)]
        return html_grid("Expected increase in risk", header, rows)

    def __repr__(self) -> str:
        return (
            f"RiskTable({len(self.shares)} shares × {len(self.epsilons)} budgets, n={self.n}, "
            f"n_synthetic={self.n_synthetic}, prior={self.prior:g})"
        )


def risk_table(
    shares: Sequence[float] = (0.001, 0.3, 0.5, 0.999),
    epsilons: Sequence[float] = (1000, 100, 10, 2, 0.2, 0.01),
    *,
    n: int = 1000,
    n_synthetic: int | None = None,
    prior: float = 0.5,
) -> RiskTable:
    """Return the expected increase over (p0, ε); as it stands, Table 1 of McClure and Reiter."""
    drawn = n if n_synthetic is None else n_synthetic
    values = tuple(
        tuple(
            expected_risk_increase(p0, epsilon=epsilon, n=n, n_synthetic=drawn, prior=prior)
            for epsilon in epsilons
        )
        for p0 in shares
    )
    return RiskTable(tuple(shares), tuple(epsilons), values, n, drawn, prior)

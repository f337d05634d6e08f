"""McClure and Reiter's simulation (2012, section 3), to be run again on invented data.

For each budget a few pairs (D, D*) are made: D of n yes/no answers with the true share p0, D* of
n_s from the synthesizer. Each pair has one record's R at the prior ½, the shift Λ that gives its R
and RR at every other prior, and the utility U. Figures 1–4 there are plots of these numbers.

The answers are invented, so nobody is protected here and a seed makes the figures reproducible.
Real data never pass through this file: its draws are NumPy's, not the exact ones of `noise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.synthetic.inference import utility
from discreet.synthetic.law import Synthesizer, whole
from discreet.synthetic.records import risk

__all__ = ["Run", "simulate"]

EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)


@dataclass(frozen=True, slots=True)
class Run:
    """One pair (D, D*): the risk of one record and the utility. `answer` is what it says."""

    epsilon: float
    replicate: int
    answer: str
    shift: float
    risk: float
    utility: float

    def to_dict(self) -> dict[str, Any]:
        """Return the run, JSON-ready."""
        return asdict(self)


def simulate(
    p0: float,
    epsilons: Sequence[float] = EPSILONS,
    *,
    replicates: int = 10,
    n: int = 1000,
    n_synthetic: int | None = None,
    seed: int = 2012,
) -> list[Run]:
    """Make `replicates` pairs (D, D*) for every budget, as in the paper, and measure each."""
    if not 0 < p0 < 1:
        raise InputError(f"p0 is {p0!r}; it must lie strictly between 0 and 1.")
    n = whole("n", n)
    drawn = n if n_synthetic is None else n_synthetic
    rng = np.random.default_rng(seed)
    runs = []
    for epsilon in epsilons:
        law = Synthesizer.of(epsilon, n_synthetic=drawn)
        alpha = float(law.alpha)
        for replicate in range(whole("replicates", replicates)):
            x = int(rng.binomial(n, p0))
            s = int(rng.binomial(drawn, (x + alpha) / (n + 2 * alpha)))
            original, synthetic = [n - x, x], [drawn - s, s]
            found = risk(original, synthetic, synthesizer=law)
            # One who says yes; if nobody does, one who says no.
            at = 1 if x else 0
            runs.append(
                Run(
                    float(epsilon),
                    replicate,
                    ("no", "yes")[at],
                    float(found.shift[at]),
                    float(found.absolute(0.5)[at]),
                    utility(original, synthetic, p0=p0, synthesizer=law),
                )
            )
    return runs

"""McClure and Reiter (2012): Table 1, their simulation, and Figures 1 to 4 from runs of our own.

For each budget a few pairs (D, D*) are made: D of n yes/no answers with the true share p0, D* from
the synthesizer. Each pair has one record's R at the prior ½, the shift Λ that gives its R and RR at
every other prior, and the utility U. The answers are invented, so nobody is protected here and a
seed makes the figures reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from discreet.charts import styled
from discreet.synthetic import Synthesizer, expected_risk_increase, risk, utility
from papers import Row

__all__ = ["Run", "figure_1", "figure_2", "figure_3", "figure_4", "rows", "simulate", "table_1"]

EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)
SHARES = (0.001, 0.3, 0.5, 0.999)
_ANSWERS = ["says yes", "says no"]
_SIZE = {"width": 420, "height": 300}


def table_1(n: int = 1000) -> dict[float, list[float]]:
    """Return Table 1: the expected increase in risk, a row for each true share p0."""
    return {
        p0: [expected_risk_increase(p0, epsilon=epsilon, n=n) for epsilon in EPSILONS]
        for p0 in SHARES
    }


def rows() -> Iterator[Row]:
    """Return Table 1, and the record at most risk."""
    printed = {
        0.001: (".125", ".036", ".0101", ".00372", ".000578", "3.13e-05"),
        0.3: (".00718", ".00702", ".00578", ".00328", ".000576", "3.13e-05"),
        0.5: (".00655", ".00643", ".00543", ".00321", ".000575", "3.13e-05"),
        0.999: (".0983", ".0350", ".0100", ".00372", ".000578", "3.13e-05"),
    }
    for share, values in table_1().items():
        yield Row(
            "Table 1",
            f"p₀ = {share:g}: expected increase in risk at ε = 1000, 100, 10, 2, .2, .01",
            " ".join(printed[share]),
            lambda v=values: " ".join(f"{x:.4g}" for x in v),
        )
    yield Row(
        "§3.2",
        "ε = 1000, nobody else has it, three drawn: R",
        ".88",
        lambda: f"{risk([1, 999], [3, 997], epsilon=1000).absolute(0.5)[0]:.2f}",
    )


@dataclass(frozen=True, slots=True)
class Run:
    """One pair (D, D*): the risk of one record and the utility. `answer` is what it says."""

    epsilon: float
    answer: str
    shift: float
    risk: float
    utility: float


def simulate(p0: float, *, replicates: int = 10, n: int = 1000, seed: int = 2012) -> list[Run]:
    """Make `replicates` pairs (D, D*) for every budget, as in the paper, and measure each."""
    rng = np.random.default_rng(seed)
    runs = []
    for epsilon in EPSILONS:
        law = Synthesizer.of(epsilon, n_synthetic=n)
        alpha = float(law.alpha)
        for _ in range(replicates):
            x = int(rng.binomial(n, p0))
            s = int(rng.binomial(n, (x + alpha) / (n + 2 * alpha)))
            original, synthetic = [n - x, x], [n - s, s]
            found = risk(original, synthetic, synthesizer=law)
            at = 1 if x else 0  # one who says yes; if nobody does, one who says no
            runs.append(
                Run(
                    float(epsilon),
                    ("no", "yes")[at],
                    float(found.shift[at]),
                    float(found.absolute(0.5)[at]),
                    utility(original, synthetic, p0=p0, synthesizer=law, prior=(1, 1)),
                )
            )
    return runs


def _budget() -> alt.Color:
    """Colours for budgets, in their order."""
    order = [f"{value:g}" for value in EPSILONS]
    return alt.Color("epsilon:N", title="ε", sort=order, scale=alt.Scale(scheme="viridis"))


def risk_against_utility(runs: Sequence[Run], p0: float) -> Any:
    """Draw R of one record against U, one point a pair (D, D*)."""
    found = [
        {"epsilon": f"{r.epsilon:g}", "R": r.risk, "U": r.utility, "record": f"says {r.answer}"}
        for r in runs
    ]
    shapes = alt.Scale(domain=_ANSWERS, range=["circle", "square"])
    points = (
        alt.Chart(alt.Data(values=found))
        .mark_point(filled=True, opacity=0.75, size=55)
        .encode(
            x=alt.X("U:Q", title="U: digits of squared error lost (0 = none)"),
            y=alt.Y("R:Q", title="R: belief in the true value, from 50 %", scale={"zero": False}),
            color=_budget(),
            shape=alt.Shape("record:N", scale=shapes),
        )
    )
    half = alt.Chart(alt.Data(values=[{"R": 0.5}])).mark_rule(strokeDash=[4, 4]).encode(y="R:Q")
    title = f"Risk against utility, true share {p0:g}"
    return styled((half + points).properties(**_SIZE), title)


def relative_against_absolute(runs: Sequence[Run], p0: float, priors: int = 1000) -> Any:
    """Draw RR against R over equally spaced priors, one line a pair (D, D*).

    The line is straight (RR = R + (1 − R) e^Λ), so its two ends are the whole of it.
    """
    found = []
    for number, run in enumerate(runs):
        growth = math.exp(run.shift)
        same = {"line": number, "epsilon": f"{run.epsilon:g}", "record": f"says {run.answer}"}
        for w in (1 / (priors + 1), priors / (priors + 1)):
            absolute = w * growth / (1 - w + w * growth)
            found.append(same | {"R": absolute, "RR": absolute / w})
    dashes = alt.Scale(domain=_ANSWERS, range=[[1, 0], [3, 3]])
    drawn = (
        alt.Chart(alt.Data(values=found), **_SIZE)
        .mark_line(opacity=0.8)
        .encode(
            x=alt.X("R:Q", title="R: belief in the true value"),
            y=alt.Y("RR:Q", title="RR: belief over prior", scale={"zero": False}),
            color=_budget(),
            strokeDash=alt.StrokeDash("record:N", scale=dashes),
            detail="line:N",
        )
    )
    return styled(drawn, f"Relative against absolute risk over all priors, true share {p0:g}")


def figure_1() -> Any:
    """Risk against utility where half say yes."""
    return risk_against_utility(simulate(0.5), 0.5)


def figure_2() -> Any:
    """Risk against utility where one in a thousand says yes."""
    return risk_against_utility(simulate(0.001), 0.001)


def figure_3() -> Any:
    """Relative against absolute risk where half say yes."""
    return relative_against_absolute(simulate(0.5), 0.5)


def figure_4() -> Any:
    """Relative against absolute risk where one in a thousand says yes."""
    return relative_against_absolute(simulate(0.001), 0.001)

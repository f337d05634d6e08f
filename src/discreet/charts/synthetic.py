"""Charts of synthetic data: risk against utility, RR against R, the risk map, the frontier.

The first two are Figures 1–4 of McClure and Reiter (2012), from runs of our own on invented data.
The risk map and the frontier of a real file describe its original: their titles say so, and they
belong on no page and in no report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from discreet.charts.style import styled

if TYPE_CHECKING:
    from discreet.synthetic.assessment import Assessment, Search
    from discreet.synthetic.experiment import Run

__all__ = ["frontier", "relative_against_absolute", "risk_against_utility", "risk_map"]

_WARNING = "Confidential: describes the original data"
_ANSWERS = ["says yes", "says no"]
_VERDICTS = ["yes", "no"]
_WIDTH, _HEIGHT = 420, 300


def _finished(
    chart: Any, title: str, description: str, subtitle: str | None = None, **size: int
) -> Any:
    """Give a chart its size, its description and the look of all charts."""
    return styled(chart.properties(description=description, **size), title, subtitle)


def _budget(values: Sequence[float]) -> Any:
    """Colour and shape for budgets: ordered, readable without colour."""
    order = [f"{value:g}" for value in sorted(set(values), reverse=True)]
    return alt.Color("epsilon:N", title="ε", sort=order, scale=alt.Scale(scheme="viridis"))


def risk_against_utility(runs: Sequence[Run], *, p0: float) -> Any:
    """R of one record against U, one point a pair (D, D*): Figures 1 and 2 of M&R."""
    rows = [
        {
            "epsilon": f"{run.epsilon:g}",
            "R": run.risk,
            "U": run.utility,
            "record": f"says {run.answer}",
        }
        for run in runs
    ]
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, opacity=0.75, size=55)
        .encode(
            x=alt.X("U:Q", title="U: digits of squared error lost (0 = none)"),
            y=alt.Y("R:Q", title="R: belief in the true value, from 50 %", scale={"zero": False}),
            color=_budget([run.epsilon for run in runs]),
            shape=alt.Shape(
                "record:N", scale=alt.Scale(domain=_ANSWERS, range=["circle", "square"])
            ),
            tooltip=[
                alt.Tooltip("epsilon:N", title="ε"),
                alt.Tooltip("R:Q", format=".4f"),
                alt.Tooltip("U:Q", format=".3f"),
                "record:N",
            ],
        )
    )
    half = alt.Chart(alt.Data(values=[{"R": 0.5}])).mark_rule(strokeDash=[4, 4]).encode(y="R:Q")
    return _finished(
        half + points,
        f"Risk against utility, true share {p0:g}",
        f"Belief R against lost digits U for budgets ε at a true share of {p0:g}.",
        width=_WIDTH,
        height=_HEIGHT,
    )


def relative_against_absolute(runs: Sequence[Run], *, p0: float, priors: int = 1000) -> Any:
    """RR against R over equally spaced priors, one line a pair (D, D*): Figures 3 and 4 of M&R.

    The line is straight (RR = R + (1 − R) e^Λ), so its two ends are the whole of it.
    """
    rows = []
    for number, run in enumerate(runs):
        growth = float(np.exp(run.shift))
        for w in (1 / (priors + 1), priors / (priors + 1)):
            absolute = w * growth / (1 - w + w * growth)
            rows.append(
                {
                    "line": number,
                    "epsilon": f"{run.epsilon:g}",
                    "R": absolute,
                    "RR": absolute / w,
                    "record": f"says {run.answer}",
                }
            )
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(opacity=0.8)
        .encode(
            x=alt.X("R:Q", title="R: belief in the true value"),
            y=alt.Y("RR:Q", title="RR: belief over prior", scale={"zero": False}),
            color=_budget([run.epsilon for run in runs]),
            strokeDash=alt.StrokeDash(
                "record:N", scale=alt.Scale(domain=_ANSWERS, range=[[1, 0], [3, 3]])
            ),
            detail="line:N",
            tooltip=[alt.Tooltip("epsilon:N", title="ε"), "record:N"],
        )
    )
    return _finished(
        lines,
        f"Relative against absolute risk over all priors, true share {p0:g}",
        f"RR against R for budgets ε at a true share of {p0:g}, one line a file.",
        width=_WIDTH,
        height=_HEIGHT,
    )


def risk_map(
    assessment: Assessment, *, priors: Sequence[float] | None = None, most: int = 40
) -> Any:
    """R of the riskiest cells (down) over the intruder's priors (across). Confidential."""
    w = np.linspace(0.02, 0.98, 25) if priors is None else np.asarray(priors, dtype=np.float64)
    found = assessment.risk
    worst = np.argsort(-np.where(found.at_risk, found.shift, -np.inf), kind="stable")
    worst = worst[: min(most, int(found.at_risk.sum()))]
    absolute, relative = found.absolute(w)[worst], found.relative(w)[worst]
    gained = float(np.abs(absolute - w).max()) or 1.0
    rows = []
    for i, cell in enumerate(worst.tolist()):
        label = str(cell)
        if assessment.cells is not None:
            label = " · ".join(assessment.cells.label(cell).values())
        rows += [
            {
                "rank": i,
                "cell": label,
                "records": int(found.records[cell]),
                "prior": round(float(p), 6),
                "R": float(absolute[i, j]),
                "RR": float(relative[i, j]),
                "gain": float(absolute[i, j] - p),
            }
            for j, p in enumerate(w)
        ]
    cells = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("prior:O", title="the intruder's prior", axis={"format": ".2f"}),
            y=alt.Y("cell:N", title="cell, riskiest first", sort={"field": "rank"}),
            color=alt.Color(
                "gain:Q",
                title="R − prior",
                scale=alt.Scale(scheme="purpleorange", domain=[-gained, 0, gained]),
            ),
            tooltip=[
                "cell:N",
                "records:Q",
                "prior:Q",
                alt.Tooltip("R:Q", format=".4f"),
                alt.Tooltip("RR:Q", format=".4f"),
            ],
        )
    )
    return _finished(
        cells,
        "Risk of every record, by cell and prior",
        "Belief gained (R minus prior) by cell and prior.",
        _WARNING,
        width=_WIDTH,
    )


def frontier(result: Search) -> Any:
    """The largest R among the candidates of each budget against their distance. Confidential."""
    rows = [
        {
            "epsilon": f"{row['epsilon']:g}",
            "order": row["epsilon"],
            "R": row["largest"],
            "distance": row["distance"],
            "verdict": "all inside"
            if row["inside"] == result.candidates
            else f"{row['inside']} of {result.candidates} inside",
            "acceptable": _VERDICTS[row["inside"] != result.candidates],
        }
        for row in result.rows
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("distance:Q", title="distance from the original shares (total variation)"),
        y=alt.Y("R:Q", title="largest R of any record, from 50 %", scale={"zero": False}),
        order="order:Q",
    )
    layers = (
        base.mark_line(color="#8c959f")
        + base.mark_point(filled=True, size=80).encode(
            color=alt.Color(
                "acceptable:N", scale=alt.Scale(domain=_VERDICTS, range=["#0072b2", "#d55e00"])
            ),
            shape=alt.Shape("acceptable:N", scale=alt.Scale(domain=_VERDICTS)),
            tooltip=[alt.Tooltip("epsilon:N", title="ε"), "R:Q", "distance:Q", "verdict:N"],
        )
        + base.mark_text(dy=-12).encode(text="epsilon:N")
    )
    return _finished(
        layers,
        "Risk and utility over the budget ε",
        "Largest risk against distance, one point a budget.",
        _WARNING,
        width=_WIDTH,
        height=_HEIGHT,
    )

"""Charts of a synthetic file's risk: by cell and prior, and over budgets.

Both describe the original data: their titles say so, and they belong on no page and in no report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import COLOURS, FAINT, rows_of, styled
from discreet.words import say

if TYPE_CHECKING:
    from discreet.synthetic import Assessment, Search

__all__ = ["frontier", "risk_map"]

_WIDTH, _HEIGHT = 420, 300


def risk_map(
    assessment: Assessment, *, priors: Sequence[float] | None = None, most: int = 40
) -> Any:
    """Draw R of the riskiest cells (down) over the intruder's priors (across). Confidential."""
    import numpy as np

    w = np.linspace(0.02, 0.98, 25) if priors is None else np.asarray(priors, dtype=np.float64)
    found, worst = assessment.risk, assessment.riskiest(most)
    absolute, relative = found.absolute(w)[worst], found.relative(w)[worst]
    gained = float(np.abs(absolute - w).max()) or 1.0
    rows = [
        {
            "rank": i,
            "cell": _label(assessment.label(cell)),
            "records": int(found.records[cell]),
            "prior": round(float(p), 6),
            "R": float(absolute[i, j]),
            "RR": float(relative[i, j]),
            "gain": float(absolute[i, j] - p),
        }
        for i, cell in enumerate(worst.tolist())
        for j, p in enumerate(w)
    ]
    gain = alt.Scale(scheme="purpleorange", domain=[-gained, 0, gained])
    by = {"field": "rank"}
    cells = (
        rows_of(rows)
        .mark_rect()
        .encode(
            x=alt.X("prior:O", title=say("charts.risk.prior"), axis={"format": ".2f"}),
            y=alt.Y("cell:N", title=say("charts.risk.cell"), sort=by),
            color=alt.Color("gain:Q", title=say("charts.risk.gain"), scale=gain),
            tooltip=[
                "cell:N",
                "records:Q",
                "prior:Q",
                alt.Tooltip("R:Q", format=".4f"),
                alt.Tooltip("RR:Q", format=".4f"),
            ],
        )
        .properties(width=_WIDTH, description=say("charts.risk.description"))
    )
    # A record is a straight line in the plane of R and RR (M&R, Figures 3 and 4): two ends draw it.
    ends = np.array([0.001, 0.999])
    lines = [
        {"rank": i, "cell": _label(assessment.label(cell)), "R": float(r), "RR": float(r / p)}
        for i, cell in enumerate(worst.tolist())
        for p, r in zip(ends, found.absolute(ends)[cell], strict=True)
    ]
    plane = (
        rows_of(lines)
        .mark_line()
        .encode(
            x=alt.X("R:Q", title=say("charts.risk.absolute"), scale={"domain": [0, 1]}),
            y=alt.Y("RR:Q", title=say("charts.risk.relative"), scale={"zero": False}),
            detail="rank:O",
            color=alt.Color("rank:Q", scale=alt.Scale(scheme="viridis"), legend=None),
            tooltip=["cell:N"],
        )
        .properties(width=_WIDTH, height=_HEIGHT)
    )
    both = alt.hconcat(cells, plane).resolve_scale(color="independent")
    return styled(both, say("charts.risk.title"), say("charts.confidential"))


def _label(cell: dict[str, str] | int) -> str:
    return " · ".join(cell.values()) if isinstance(cell, dict) else str(cell)


def frontier(result: Search) -> Any:
    """Draw the largest R of each budget's candidates against their distance. Confidential."""
    verdicts = [say("charts.frontier.yes"), say("charts.frontier.no")]
    rows = [
        {
            "epsilon": f"{row['epsilon']:g}",
            "order": row["epsilon"],
            "R": row["largest"],
            "distance": row["distance"],
            "verdict": _inside(row["inside"], result.candidates),
            "acceptable": verdicts[row["inside"] != result.candidates],
        }
        for row in result.rows
    ]
    base = rows_of(rows).encode(
        x=alt.X("distance:Q", title=say("charts.frontier.distance")),
        y=alt.Y(
            "R:Q",
            title=say("charts.frontier.largest", prior=100 * result.rows[0]["prior"]),
            scale={"zero": False},
        ),
        order="order:Q",
    )
    colours = alt.Scale(domain=verdicts, range=list(COLOURS[:2]))
    acceptable = say("charts.frontier.acceptable")
    layers = (
        base.mark_line(color=FAINT)
        + base.mark_point(filled=True, size=80).encode(
            color=alt.Color("acceptable:N", title=acceptable, scale=colours),
            shape=alt.Shape("acceptable:N", title=acceptable, scale=alt.Scale(domain=verdicts)),
            tooltip=[alt.Tooltip("epsilon:N", title="ε"), "R:Q", "distance:Q", "verdict:N"],
        )
        + base.mark_text(dy=-12).encode(text="epsilon:N")
    )
    chart = layers.properties(
        width=_WIDTH, height=_HEIGHT, description=say("charts.frontier.description")
    )
    return styled(chart, say("charts.frontier.title"), say("charts.confidential"))


def _inside(inside: int, candidates: int) -> str:
    if inside == candidates:
        return say("charts.frontier.all_inside")
    return say("charts.frontier.some_inside", inside=inside, candidates=candidates)

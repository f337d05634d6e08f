"""Charts of a synthetic file's risk: by cell and prior, over budgets, and before any data.

The first two describe the original data: their titles say so, and they belong on no page and in no
report. `region_spec` needs no data: it shows where the budget alone holds every record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import (
    COLOURS,
    FAINT,
    INK,
    Row,
    apart,
    bare,
    coloured,
    drawn,
    named,
    rows_of,
    share,
    styled,
)
from discreet.words import say

if TYPE_CHECKING:
    from discreet.synthetic import Assessment, Search
    from discreet.synthetic.assessment import Point, Region

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


def region_spec(
    epsilon: float, region: Region | None = None, low: float = 0.0, high: float = 1.0
) -> dict[str, Any]:
    """Return where every record of every file lies in R and RR, and what is not acceptable there.

    Dots are the most that someone may believe who starts at 1, 10, 50 and 90 %. No data are needed.
    """
    from discreet.synthetic.assessment import reachable
    from discreet.synthetic.records import worst_case

    area = reachable(epsilon, low, high)
    top = 1.08 * max(1.2, *(y for _, y in area))
    window = [(0.0, 0.0), (1.0, 0.0), (1.0, top), (0.0, top)]
    refused = [] if region is None else region.broken(window)
    dots = [
        {"R": one["posterior"], "RR": one["posterior"] / one["prior"], "prior": f"{prior:.0%}"}
        for prior in (0.01, 0.1, 0.5, 0.9)
        for one in worst_case(epsilon, [prior])
        if low <= prior <= high
    ]
    rows = {"reached": _corners([area]), "refused": _corners(refused), "dots": dots}
    return drawn(_region_shape(math.ceil(top) if top > 5 else round(top, 1)), rows)


def _corners(areas: Sequence[Sequence[Point]]) -> list[Row]:
    return [
        {"R": x, "RR": y, "part": part, "corner": corner}
        for part, area in enumerate(areas)
        for corner, (x, y) in enumerate(area)
    ]


@cache
def _region_shape(top: float) -> dict[str, Any]:
    x = alt.X("R:Q", title=say("charts.region.absolute"), **share())
    y = alt.Y("RR:Q", title=say("charts.region.relative"), scale=alt.Scale(domain=[0, top]))
    at: dict[str, Any] = {"x": x, "y": y}

    def area(name: str, colour: str) -> Any:
        filled = named(name).mark_line(
            filled=True,
            interpolate="linear-closed",
            fill=colour,
            fillOpacity=0.25,
            stroke=colour,
            clip=True,
        )
        return filled.encode(detail="part:N", order="corner:Q", **at)

    dots = named("dots").mark_point(filled=True, size=60, color=INK, opacity=1, clip=True)
    words = named("dots").mark_text(align="right", dx=-8, dy=10, color=INK)
    layers = area("refused", COLOURS[1]) + area("reached", COLOURS[0]) + dots.encode(**at)
    layers += words.encode(text="prior:N", **at)
    return bare(layers.properties(width="container", height=260), large=True)


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
    acceptable = say("charts.frontier.acceptable")
    layers = (
        base.mark_line(color=FAINT)
        + base.mark_point(filled=True, size=80).encode(
            color=apart(alt.Color, "acceptable", coloured(verdicts), title=acceptable),
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

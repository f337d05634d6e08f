"""Belief over the years, in the strengths that a series of releases has.

The shape is made once by Altair and only its rows change (`..._spec`), so that a page can follow a
hand; `belief_over_time` is the same as an Altair chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt

from discreet.charts.style import COLOURS, FAINT, MUTED, bare

__all__ = ["STRENGTHS", "belief_over_time", "belief_over_time_spec"]

Row = dict[str, Any]
STRENGTHS = ("generic", "curve", "exact")
_DASHES = ([1, 0], [7, 4], [2, 3])
_TITLES = {"posterior": "belief, at most", "difference": "belief after − before, at most"}


@lru_cache(maxsize=64)
def _shape(names: tuple[str, ...], per_year: int, about: str, start: float) -> dict[str, Any]:
    looks = [STRENGTHS.index(name) for name in names]
    times = "once a year" if per_year == 1 else f"{per_year:,} releases a year"
    x = alt.X(
        "years:Q",
        title=f"years, {times}",
        axis=alt.Axis(tickCount=6),
        scale=alt.Scale(zero=True, nice=False),
    )
    whole = alt.Scale(domain=[start, 1])
    y = alt.Y("value:Q", title=_TITLES[about], axis=alt.Axis(format="~%", tickCount=6), scale=whole)
    key = {
        "sort": list(names),
        "title": None,
        "legend": alt.Legend(
            orient="top", symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.4
        ),
    }
    colours = alt.Scale(domain=list(names), range=[COLOURS[i] for i in looks])
    dashes = alt.Scale(domain=list(names), range=[_DASHES[i] for i in looks])
    line = (
        alt.Chart(alt.NamedData(name="belief"))
        .mark_line(strokeWidth=2.4)
        .encode(
            x=x,
            y=y,
            color=alt.Color("name:N", scale=colours, **key),
            strokeDash=alt.StrokeDash("name:N", scale=dashes, **key),
        )
    )
    dots = (
        alt.Chart(alt.NamedData(name="passed"))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(x=x, y=y, color=alt.Color("name:N", scale=colours, **key))
    )
    place = alt.Y("limit:Q", scale=whole)
    limit = alt.Chart(alt.NamedData(name="limit")).encode(y=place)
    rule = limit.mark_rule(strokeDash=[4, 4], color=FAINT)
    word = limit.mark_text(align="right", dx=-2, dy=12, color=MUTED)
    layers = line + rule + word.encode(x=alt.value("width"), text="text:N") + dots
    chart = layers.properties(width="container", height=300)
    return bare(chart)


def belief_over_time_spec(
    rows: Sequence[Row],
    *,
    per_year: int,
    limit: float | None = None,
    about: str = "posterior",
    start: float = 0.0,
) -> dict[str, Any]:
    """Return belief over the years as Vega-Lite, one line a strength.

    Each row has `name` (the strength), `k` (releases so far), `value`, and `passes`: whether it is
    the first beyond the limit, which is marked by a dot.
    """
    names = tuple(name for name in STRENGTHS if any(row["name"] == name for row in rows))
    drawn = [row | {"years": row["k"] / per_year} for row in rows]
    limits = [] if limit is None else [{"limit": limit, "text": f"limit {100 * limit:.6g} %"}]
    shape = _shape(names, per_year, about, start)
    passed = [row for row in drawn if row["passes"]]
    return shape | {"datasets": {"belief": drawn, "passed": passed, "limit": limits}}


def belief_over_time(
    rows: Sequence[Row],
    *,
    per_year: int,
    limit: float | None = None,
    about: str = "posterior",
    start: float = 0.0,
) -> Any:
    """Draw belief over the years, one line a strength; the rows are those of the `..._spec`."""
    spec = belief_over_time_spec(rows, per_year=per_year, limit=limit, about=about, start=start)
    return alt.Chart.from_dict(spec | {"width": 460})

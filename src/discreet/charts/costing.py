"""Charts of what noise does to one count, for several budgets side by side.

The values shown are an illustration (`laws.illustrating`): the same places in each law, so that a
value moves and never jumps while a budget moves. The shape is made once, as in `tolerating`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import altair as alt

from discreet.charts.style import COLOURS, INK
from discreet.charts.tolerating import bare, filled
from discreet.laws.geometric import Geometric

__all__ = ["noisy_counts", "noisy_counts_data", "noisy_counts_spec"]

Row = dict[str, Any]
SHOWN = 40


def noisy_counts_data(
    laws: Mapping[str, Geometric | None], count: int, limit: int | None = None
) -> dict[str, list[Row]]:
    """Return what a true count could look like under each law; None stands for no noise."""
    rows: list[Row] = []
    for name, law in laws.items():
        noise = (0,) * SHOWN if law is None else law.illustrated(SHOWN)
        rows += [
            {"name": name, "published": count + value, "place": place / SHOWN}
            for place, value in enumerate(noise)
        ]
    border = [] if limit is None else [{"published": limit + 0.5}]
    return {"published": rows, "truth": [{"published": count}], "limit": border}


def _reach(rows: list[Row], count: int) -> float:
    """Return a round number that every value is within, so that the axis seldom changes."""
    farthest = max(1, *(abs(row["published"] - count) for row in rows))
    size = 10.0 ** math.floor(math.log10(farthest))
    return next(size * step for step in (1, 2, 5, 10) if size * step >= farthest)


@lru_cache(maxsize=128)
def _shape(names: tuple[str, ...], low: float, high: float) -> dict[str, Any]:
    x = alt.X(
        "published:Q",
        title="published count",
        scale=alt.Scale(domain=[low, high]),
        axis=alt.Axis(tickCount=7, tickMinStep=1, grid=False),  # a count has no halves
    )
    dots = (
        alt.Chart(alt.NamedData(name="published"))
        .mark_point(filled=True, size=34, opacity=0.75, clip=True)
        .encode(
            x=x,
            y=alt.Y("name:N", title=None, sort=list(names), axis=alt.Axis(grid=True)),
            yOffset=alt.YOffset("place:Q", scale=alt.Scale(domain=[-0.15, 1.15])),
            color=alt.Color(
                "name:N",
                scale=alt.Scale(domain=list(names), range=list(COLOURS[: len(names)])),
                legend=None,
            ),
        )
    )
    truth = alt.Chart(alt.NamedData(name="truth")).mark_rule(color=INK, strokeWidth=1.5)
    limit = alt.Chart(alt.NamedData(name="limit")).mark_rule(
        color=INK, strokeWidth=1.5, strokeDash=[6, 4]
    )
    chart = dots + truth.encode(x=x) + limit.encode(x=x)
    return bare(chart.properties(width="container", height=90 * len(names)))


def noisy_counts_spec(
    laws: Mapping[str, Geometric | None], count: int, limit: int | None = None
) -> dict[str, Any]:
    """Return the values that a true count could be published as, as Vega-Lite."""
    data = noisy_counts_data(laws, count, limit)
    rows = data["published"] + data["limit"]
    reach = _reach(rows, count)
    edge = 1.05 * reach  # a value at the end is seen whole
    return filled(_shape(tuple(laws), count - edge, count + edge), data)


def noisy_counts(laws: Mapping[str, Geometric | None], count: int, limit: int | None = None) -> Any:
    """Draw what a true count could be published as under each law, with a limit if there is one."""
    return alt.Chart.from_dict(noisy_counts_spec(laws, count, limit) | {"width": 420})

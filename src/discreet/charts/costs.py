"""A chart of what promises cost: budget, noise, and the chance of a wrong decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import COLOURS, INK, Row, rows_of, styled
from discreet.words import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.budgets import Costs

_SHAPES = {"above": "triangle-up", "below": "triangle-down", "rank": "circle"}


def cost_data(costs: Costs, names: Sequence[str] | None = None) -> dict[str, list[Row]]:
    """Return the bars, and the chances of a wrong decision, for each promise."""
    called = names or [one.name for one in costs]
    bars, chances = [], []
    for name, one in zip(called, costs, strict=True):
        bars.append({"name": name, "epsilon": one.epsilon, "rmse": one.errors["count"]["rmse"]})
        for switch in one.switch:
            row = {"name": name, "truth": switch.truth, "decision": switch.decision}
            chances.append({**row, "chance": switch.chance})
    return {"bars": bars, "chances": chances}


def cost_chart(costs: Costs, names: Sequence[str] | None = None, title: str = "") -> Any:
    """Draw ε, the error of a count and the chances of a wrong decision, a line for each promise."""
    data = cost_data(costs, names)
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=320))
    panels = []
    for key, label in (("epsilon", "ε"), ("rmse", say("charts.cost.rmse"))):
        base = rows_of(data["bars"]).encode(y=y, x=alt.X(f"{key}:Q", title=label))
        text = base.mark_text(align="left", dx=4, color=INK)
        number = text.encode(text=alt.Text(f"{key}:Q", format=".2f"))
        panels.append((base.mark_bar(color=COLOURS[0], height=12) + number).properties(width=200))
    if data["chances"]:
        x = alt.X("chance:Q", title=say("charts.cost.chance"), axis=alt.Axis(format="%"))
        kinds = {row["truth"]: row["decision"] for row in data["chances"]}
        seen: dict[str, int] = {}
        for decision in kinds.values():
            seen[decision] = seen.get(decision, 0) + 1
        colours = [COLOURS[i % len(COLOURS)] for count in seen.values() for i in range(count)]
        shapes = [_SHAPES[decision] for decision in kinds.values()]
        told: dict[str, Any] = {"title": say("charts.cost.truth"), "sort": None}
        colour = alt.Color("truth:N", scale=alt.Scale(domain=list(kinds), range=colours), **told)
        shape = alt.Shape("truth:N", scale=alt.Scale(domain=list(kinds), range=shapes), **told)
        points = rows_of(data["chances"]).properties(width=200).mark_point(filled=True, size=60)
        panels.append(points.encode(y=y, x=x, color=colour, shape=shape))
    return styled(alt.hconcat(*panels), title or say("charts.cost.title"))

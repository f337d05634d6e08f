"""Charts of a release: what noise does to one count, released values, what an account has spent.

The noisy counts are an illustration (`laws.mechanism`): the same places in each law, so that a
value moves and never jumps while a budget moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import (
    ABOVE,
    COLOURS,
    FAINT,
    INK,
    Row,
    apart,
    bare,
    coloured,
    drawn,
    lines,
    named,
    rows_of,
    share,
    styled,
    top_of,
    whole,
)
from discreet.laws.geometric import Geometric
from discreet.statements.presenter import quoted
from discreet.statements.tables import group_text
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases import Preview, Rehearsal

_SHOWN, _MOST_ERRORS = 40, 150
_GROUP = 1000
"""The size of the groups for which an error is drawn that depends on it."""
_MOST_NAMED, _NOTE_WIDTH = 10, 95
# Side by side, the second name would be cut off on a phone; and everywhere, if it is long.
_COLUMNS = alt.ExprRef("width < 360 ? 1 : 2")
_BESIDE = 22
_ERRORS = (0.001, 0.01, 0.1, 1, 10)


def noisy_counts_data(
    laws: Mapping[str, Geometric | None], count: int, limit: int | None = None
) -> dict[str, list[Row]]:
    """Return what a true count could look like under each law; None stands for no noise."""
    rows: list[Row] = []
    for name, law in laws.items():
        noise = (0,) * _SHOWN if law is None else law.illustrated(_SHOWN)
        rows += [
            {"name": name, "published": count + value, "place": place / _SHOWN}
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
def _counts_shape(names: tuple[str, ...], low: float, high: float) -> dict[str, Any]:
    x = alt.X(
        "published:Q",
        title=say("charts.counts.axis"),
        scale=alt.Scale(domain=[low, high]),
        axis=alt.Axis(tickCount=7, tickMinStep=1, grid=False),  # a count has no halves
    )
    dots = (
        named("published")
        .mark_point(filled=True, size=34, opacity=0.75, clip=True)
        .encode(
            x=x,
            y=alt.Y("name:N", title=None, sort=list(names), axis=alt.Axis(grid=True)),
            yOffset=alt.YOffset("place:Q", scale=alt.Scale(domain=[-0.15, 1.15])),
            color=apart(alt.Color, "name", coloured(names), legend=None),
        )
    )
    truth = named("truth").mark_rule(color=INK, strokeWidth=1.5)
    limit = named("limit").mark_rule(color=INK, strokeWidth=1.5, strokeDash=[6, 4])
    chart = dots + truth.encode(x=x) + limit.encode(x=x)
    return bare(chart.properties(width="container", height=90 * len(names)), large=True)


def noisy_counts_spec(
    laws: Mapping[str, Geometric | None], count: int, limit: int | None = None
) -> dict[str, Any]:
    """Return the values that a true count could be published as, as Vega-Lite."""
    data = noisy_counts_data(laws, count, limit)
    edge = 1.05 * _reach(data["published"] + data["limit"], count)  # the last value is seen whole
    return drawn(_counts_shape(tuple(laws), count - edge, count + edge), data)


def relative_error_spec(widths: Mapping[str, float]) -> dict[str, Any]:
    """Return how large the error is against the value that it is on, as Vega-Lite.

    `widths` are half widths of intervals, by the name of a statistic; a line of each says how large
    a value must be for its error to be one tenth of it, which a dashed line marks. Both axes grow
    tenfold from tick to tick: the error on a small value is larger than the value.
    """
    widths = {name: width for name, width in widths.items() if width > 0}
    low = math.floor(math.log10(min(widths.values(), default=1.0)))
    high = math.ceil(math.log10(max(widths.values(), default=1.0)) + 2)
    sizes = [10.0**power for power in range(low, high + 1)]
    rows = [
        {"name": name, "size": size, "error": width / size}
        for name, width in widths.items()
        for size in sizes
    ]
    shape = _error_shape(tuple(widths), sizes[0], sizes[-1])
    return drawn(shape, {"errors": rows, "tenth": [{"y": 0.1}]})


def _errors(lines: Sequence[Mapping[str, Any]]) -> tuple[list[Row], list[str]]:
    """Return the errors that can be drawn, and the names of the others.

    An error that depends on the size of a group is drawn for one size, which its name tells. What
    is told in ranks or scores, or depends on the value itself, is no length on this axis.
    """
    rows: list[Row] = []
    others: list[str] = []
    for line in lines:
        drawn = _error_of(line) if len(rows) < _MOST_ERRORS else None
        if drawn is None:
            others.append(str(line["statistic"]))
        else:
            rows.append(drawn | {"cells": line.get("cells", 1)})
    return rows, others


def _error_of(line: Mapping[str, Any]) -> Row | None:
    """Return the error of one line, by itself or for a size; None where it is no such number."""
    if line.get("half_width"):
        return {"cell": line["statistic"], "off": line["half_width"]}
    by = line.get("by", "rows")
    sizes = [
        one for one in line.get("assumed", ()) if one.get("half_width") and "of_value" not in one
    ]
    if not sizes:
        return None
    size = next((one for one in sizes if one[by] >= _GROUP), sizes[-1])
    cell = say("charts.errors.sized", name=line["statistic"], group=group_text(line, size[by]))
    return {"cell": cell, "off": size["half_width"]}


def error_spec(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how far off each statistic or margin may be as Vega-Lite; `lines` as in a preview."""
    rows, _ = _errors(lines)
    x = alt.X("off:Q", title=say("charts.errors.axis"))
    y = alt.Y("cell:N", title=None, sort=None, axis=alt.Axis(labelLimit=300))
    base = named("errors").encode(y=y, x=x)
    bars = base.mark_bar(color=COLOURS[0], height=9)
    text = base.mark_text(align="left", dx=4, color=INK).encode(
        text=alt.Text("off:Q", format=".3~s")
    )
    shape = bare((bars + text).properties(width="container", height=alt.Step(17)), large=True)
    return drawn(shape, {"errors": rows})


def error_chart(preview: Preview) -> Any:
    """Draw how far off statistics and margins of a release may be, before it is made.

    Below its title the picture names the statistics whose errors it cannot show.
    """
    lines = preview.to_dict()["accuracy"]
    chart = alt.Chart.from_dict(error_spec(lines) | {"width": 420})
    notes = [say("charts.errors.note", interval=preview.plan.spec.interval)]
    told = {line["statistic"] for line in lines}
    others = [*_errors(lines)[1], *(name for name in preview.plan.derived if name not in told)]
    if others:
        names = quoted(others[:_MOST_NAMED])
        more = len(others) - _MOST_NAMED
        names = say("charts.errors.and_more", names=names, more=more) if more > 0 else names
        notes += wrap(say("charts.errors.others", statistics=names), _NOTE_WIDTH)
    return styled(chart, say("charts.errors.title"), notes)


@lru_cache(maxsize=128)
def _error_shape(names: tuple[str, ...], low: float, high: float) -> dict[str, Any]:
    columns = 1 if max(map(len, names), default=0) > _BESIDE else _COLUMNS
    legend = alt.Legend(orient="top", columns=columns, labelLimit=alt.ExprRef("width"))
    lines = (
        named("errors")
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=alt.X(
                "size:Q",
                title=say("charts.error.size"),
                scale=alt.Scale(type="log", domain=[low, high]),
                axis=alt.Axis(format="~s", tickCount=5),
            ),
            y=alt.Y(
                "error:Q",
                title=say("charts.error.error"),
                scale=alt.Scale(type="log", domain=[_ERRORS[0], _ERRORS[-1]]),
                axis=alt.Axis(format=",~%", values=list(_ERRORS)),
            ),
            color=apart(alt.Color, "name", coloured(names), title=None, legend=legend),
        )
    )
    tenth = named("tenth").mark_rule(color=FAINT, strokeDash=[4, 4]).encode(y="y:Q")
    return bare((tenth + lines).properties(width="container", height=180), large=True)


def _with_intervals(base: Any) -> Any:
    y = alt.Y("cell:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    span = base.mark_rule(color=COLOURS[0], strokeWidth=2)
    point = base.mark_point(filled=True, size=45, color=COLOURS[0], opacity=1)
    x = alt.X("value:Q", title=say("charts.released.axis"))
    return span.encode(y=y, x=alt.X("low:Q"), x2="high:Q") + point.encode(x=x, y=y)


def released_chart(rows: Sequence[Mapping[str, Any]], *, title: str, interval: float) -> Any:
    """Draw released values with their intervals, in the order of the table.

    Each row has `cell` (its name), `value`, `low` and `high`.
    """
    chart = _with_intervals(rows_of(rows)).properties(width=360, height=alt.Step(17))
    return styled(chart, title, say("charts.released.interval", interval=interval))


def released_spec(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return released values with their intervals as Vega-Lite; rows as in `released_chart`."""
    chart = _with_intervals(named("released")).properties(width="container", height=alt.Step(22))
    return drawn(bare(chart, large=True), {"released": [dict(row) for row in rows]})


def belief_spent_spec(rows: Sequence[Mapping[str, Any]], limit: float | None) -> dict[str, Any]:
    """Return how sure someone may be after each charge as Vega-Lite.

    Each row has `charge` (its number, 0 for before the first), `value` and `when`; `limit` is what
    remains within the promise when all of it is spent.
    """
    axis = whole(0, max(row["charge"] for row in rows))
    x = alt.X("charge:Q", title=say("charts.account.entry"), axis=axis)
    top = top_of(max([limit or 0.0, *(row["value"] for row in rows)]))
    y = alt.Y("value:Q", title=say("charts.account.sure"), **share(top))
    line = named("spent").encode(x=x, y=y)
    steps = line.mark_line(interpolate="step-after", strokeWidth=2.2, color=COLOURS[0])
    dots = line.mark_point(filled=True, size=60, color=COLOURS[0], opacity=1)
    most = named("limit").encode(y="limit:Q")
    rule = most.mark_rule(strokeDash=[5, 3], color=FAINT)
    word = most.mark_text(align="left", dy=-7, color=INK).encode(
        x=alt.value(4), text=alt.Text("limit:Q", format=".1%")
    )
    shape = bare((rule + word + steps + dots).properties(width="container", height=180), large=True)
    limits = [] if limit is None else [{"limit": limit}]
    return drawn(shape, {"spent": [dict(row) for row in rows], "limit": limits})


def account_chart(rows: Sequence[Mapping[str, Any]], *, sign: str, cap: float | None) -> Any:
    """Draw what an account has spent, entry by entry, under its cap.

    Each row has `entry`, `spent`, `label` and `this` (whether it is the release shown).
    """
    kinds = [say("charts.account.others"), say("charts.account.this")]
    base = rows_of([{**row, "kind": kinds[bool(row["this"])]} for row in rows])
    top = max([float(row["spent"]) for row in rows] + ([] if cap is None else [cap])) or 1.0
    scale = alt.Scale(domain=[0, top * 1.15])
    at = {
        "x": alt.X("entry:O", title=say("charts.account.entry"), axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("spent:Q", title=say("charts.account.spent", sign=sign), scale=scale),
    }
    there = kinds if any(row["this"] for row in rows) else kinds[:1]
    colour = apart(alt.Color, "kind", coloured(there), title=None, legend=alt.Legend(**ABOVE))
    bars = base.mark_bar(size=26).encode(color=colour, **at)
    layers = [bars, base.mark_text(dy=-7, color=INK).encode(text="label:N", **at)]
    if cap is not None:
        label = say("charts.account.cap")
        limit = rows_of([{"cap": cap, "label": label}]).encode(y=alt.Y("cap:Q", scale=scale))
        word = limit.mark_text(align="left", dy=-6, color=INK)
        layers += [
            limit.mark_rule(color=FAINT, strokeDash=[5, 3]),
            word.encode(x=alt.value(4), text="label:N"),
        ]
    chart = alt.layer(*layers).properties(width=max(220, 60 * len(rows)), height=220)
    return styled(chart, say("charts.account.title"))


def rehearsal_chart(rehearsal: Rehearsal) -> Any:
    """Draw bias, noise and error by the limit of rows, one panel for each statistic."""
    parts = ("bias", "noise", "error")
    rows: list[Row] = [
        {"limit": one["limit"], "name": say(f"charts.rehearsal.{part}"), "size": one[part]}
        | {"statistic": one["statistic"]}
        for one in rehearsal.rows
        for part in parts
    ]
    x = alt.X("limit:O", title=say("charts.rehearsal.limit"), axis=alt.Axis(labelAngle=0))
    y = alt.Y("size:Q", title=say("charts.rehearsal.size"))
    panels = [
        lines([row for row in rows if row["statistic"] == name], x, y, "").properties(
            title=name, width=260, height=200
        )
        for name in dict.fromkeys(row["statistic"] for row in rows)
    ]
    return styled(alt.hconcat(*panels), say("charts.rehearsal.title"))

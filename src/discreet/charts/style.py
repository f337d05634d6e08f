"""One look for all charts: colours that the colour-blind tell apart, and how a chart is saved.

Colours are the Okabe–Ito palette. ε is never coloured as good or bad.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt

from discreet.errors import InputError

Row: TypeAlias = dict[str, Any]

INK = "#24292f"
MUTED = "#57606a"  # small text: six times as dark as the page
FAINT = "#8c959f"  # lines only
GRID = "#eaeef2"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


# Beside a chart, names are cut off where the reader's font is wider than the layout's.
ABOVE: dict[str, Any] = {"orient": "top", "columns": 1}


def styled(chart: Any, title: str, subtitle: str | list[str] | None = None) -> Any:
    """Give a finished chart its title and the common look."""
    heading = alt.TitleParams(
        title,
        subtitle=subtitle or [],
        anchor="start",
        fontSize=15,
        fontWeight=600,
        subtitleFontSize=12,
        subtitleColor=MUTED,
        color=INK,
        offset=12,
    )
    return (
        chart.properties(title=heading)
        .configure(font="Helvetica, Arial, sans-serif", background="white", padding=16)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            gridColor=GRID,
            domainColor=FAINT,
            tickColor=FAINT,
            labelFontSize=11,
            titleFontSize=12,
        )
        .configure_legend(labelColor=INK, titleColor=INK, titleFontWeight="normal")
        .configure_header(labelColor=INK, titleColor=INK, labelFontSize=12)
    )


def bare(chart: Any, *, large: bool = False) -> dict[str, Any]:
    """Return a chart's shape as Vega-Lite without a title: a page puts its words beside a chart.

    `large` is for charts that are dragged: larger labels, and next to no margin.
    """
    shape: dict[str, Any] = styled(chart, "").to_dict(validate=False)
    shape.pop("title", None)
    if large:
        shape["config"]["padding"] = 4
        for part in ("axis", "legend"):
            shape["config"][part] |= {"labelFontSize": 13, "titleFontSize": 13}
    return shape


def drawn(shape: Mapping[str, Any], rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Return a shape with the rows of its named data sets."""
    return {**shape, "datasets": {**shape.get("datasets", {}), **rows}}


def rows_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Begin a chart of some rows."""
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))


def named(name: str) -> alt.Chart:
    """Begin a chart of a data set whose rows come later."""
    return alt.Chart(alt.NamedData(name=name))


def share(top: float = 1.0, **axis: Any) -> dict[str, Any]:
    """Return the scale and the axis of a probability between 0 and `top`."""
    return {
        "scale": alt.Scale(domain=[0, top]),
        "axis": alt.Axis(**(axis or {"format": "~%", "tickCount": 6})),
    }


def top_of(largest: float) -> float:
    """Return where the axis of a probability ends: small ones on one to 100 % are a flat line.

    There are few ends, so that few shapes are drawn.
    """
    return next(end for end in (0.1, 0.2, 0.3, 0.5, 0.75, 1.0) if end == 1 or end >= 1.2 * largest)


def whole(first: int, last: int) -> alt.Axis:
    """Return an axis of whole numbers; where they are few, Vega would put ticks between them."""
    few = list(range(first, last + 1)) if last <= 10 else alt.Undefined
    return alt.Axis(format="d", values=few)


def apart(channel: Any, field: str, looks: Mapping[str, Any], **options: Any) -> Any:
    """Return a channel (a colour, a dash, a shape) in which each name of a field has its look."""
    scale = alt.Scale(domain=list(looks), range=list(looks.values()))
    return channel(f"{field}:N", scale=scale, **options)


def coloured(names: Iterable[str]) -> dict[str, str]:
    """Return the names with our colours, in their order."""
    return dict(zip(names, cycle(COLOURS), strict=False))


def lines(rows: list[Row], x: alt.X, y: alt.Y, title: str) -> alt.Chart:
    """Draw one line for each `name` of the rows, in their order."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    colour = apart(alt.Color, "name", coloured(names), title=title, sort=names)
    chart = alt.Chart(alt.Data(values=rows), width=460, height=300)
    return chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)


def limit_rule(value: float, axis: str, text: str = "") -> alt.LayerChart:
    """Draw a dashed line at a value of the axis `x` or `y`, with a label at its start."""
    place = {axis: alt.Y("y:Q") if axis == "y" else alt.X("x:Q")}
    base = rows_of([{axis: value, "text": text}])
    label = base.mark_text(align="left", dx=4, dy=-6, color=MUTED)
    rule = base.mark_rule(strokeDash=[4, 4], color=FAINT)
    return rule.encode(**place) + label.encode(text="text:N", **place)


def save(chart: Any, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart as PNG, SVG, JSON or HTML, by its ending; no browser and no network."""
    target, kind = Path(path), kind_of(path)
    own: dict[str, dict[str, Any]] = {"png": {"scale_factor": scale}, "html": {"inline": True}}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        chart.save(str(target), format=kind, **own.get(kind, {}))
    except OSError as error:
        raise InputError("errors.file_unwritable", file=target, why=error.strerror) from None
    return target


def kind_of(path: str | Path) -> str:
    """Return what a picture is written as, by its ending."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "json", "html"):
        raise InputError("charts.unknown_ending", file=Path(path).name)
    return kind

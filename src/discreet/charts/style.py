"""One look for all charts: colours that the colour-blind tell apart, and how a chart is saved.

Colours are the Okabe–Ito palette. ε is never coloured as good or bad.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from discreet.errors import InputError

__all__ = ["COLOURS", "FAINT", "GRID", "INK", "MUTED", "bare", "save", "styled"]

INK = "#24292f"
MUTED = "#57606a"  # small text: six times as dark as the page
FAINT = "#8c959f"  # lines only
GRID = "#eaeef2"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


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


def bare(chart: Any) -> dict[str, Any]:
    """Return a chart as Vega-Lite without a title: a page has its own words beside it."""
    shape: dict[str, Any] = styled(chart, "").to_dict(validate=False)
    shape.pop("title", None)
    return shape


def save(chart: Any, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart as PNG, SVG, JSON or HTML, by its ending; no browser and no network."""
    target = Path(path)
    kind = target.suffix.lower().lstrip(".")
    if kind not in ("png", "svg", "json", "html"):
        raise InputError(f"{target.name} must end in .png, .svg, .json or .html.")
    options: dict[str, Any] = {"scale_factor": scale} if kind == "png" else {}
    if kind == "html":
        options["inline"] = True
    target.parent.mkdir(parents=True, exist_ok=True)
    chart.save(str(target), format=kind, **options)
    return target

"""Charts for explaining: a hundred figures, belief before and after, and an account over time.

A function `..._data` gives the rows that a chart draws, for the table beside it. Filled against
outlined figures, and labels at the marks, so that nothing hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import altair as alt

from discreet.beliefs import Prior, explain
from discreet.beliefs.belief import Belief, Bounds, Sided
from discreet.beliefs.bounds import posterior as posterior_at
from discreet.charts.style import COLOURS, FAINT, INK, bare, styled
from discreet.errors import InputError
from discreet.rounding import percent

__all__ = [
    "account_chart",
    "before_after",
    "before_after_data",
    "before_after_spec",
    "icon_array",
    "icon_data",
    "icon_spec",
    "released_chart",
]

Row = dict[str, Any]
_PRIORS = tuple(i / 100 for i in range(1, 100))
# A head and shoulders, in the unit square that Vega scales.
_FIGURE = (
    "M0,-0.95A0.34,0.34 0 1,1 -0.001,-0.95Z"
    "M-0.62,0.95L-0.62,0.35A0.42,0.42 0 0,1 -0.2,-0.07L0.2,-0.07A0.42,0.42 0 0,1 0.62,0.35"
    "L0.62,0.95Z"
)
_KINDS = ("before", "more, at most", "others")


def icon_data(before: int, after: int, of: int = 100) -> list[Row]:
    """Return one row a figure: where it stands, and what it is marked for."""
    rows = []
    for place in range(of):
        kind = _KINDS[0] if place < before else _KINDS[1] if place < after else _KINDS[2]
        rows.append({"figure": place + 1, "row": place // 10, "column": place % 10, "kind": kind})
    return rows


def _named(before: int, after: int, of: int) -> tuple[list[Row], dict[str, str]]:
    """Return the figures, each with the name of its kind, and the names of the kinds there are."""
    rows = icon_data(before, after, of)
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind in _KINDS}
    names = {kind: f"{count} {kind}" for kind, count in counts.items() if count}
    return [row | {"label": names[row["kind"]]} for row in rows], names


def _figures(data: Any, names: Mapping[str, str], **legend: Any) -> Any:
    """Return figures in rows of ten, filled and outlined by their kind."""
    looks = dict(zip(_KINDS, (COLOURS[0], COLOURS[1], "transparent"), strict=True))
    lines = dict(zip(_KINDS, (COLOURS[0], COLOURS[1], FAINT), strict=True))
    hidden = alt.Axis(labels=False, ticks=False, domain=False, grid=False)
    domain = list(names.values())
    key = {"title": None, "sort": domain}
    return (
        alt.Chart(data, width=230, height=250)
        .mark_point(shape=_FIGURE, size=150, strokeWidth=1.4, opacity=1)
        .encode(
            x=alt.X("column:O", title=None, axis=hidden),
            y=alt.Y("row:O", title=None, axis=hidden),
            fill=alt.Fill(
                "label:N",
                scale=alt.Scale(domain=domain, range=[looks[kind] for kind in names]),
                legend=alt.Legend(symbolType="square", symbolSize=120, **legend),
                **key,
            ),
            stroke=alt.Stroke(
                "label:N",
                scale=alt.Scale(domain=domain, range=[lines[kind] for kind in names]),
                **key,
            ),
        )
    )


def icon_array(before: int, after: int, of: int = 100, title: str = "") -> Any:
    """Draw a hundred figures: those marked before, and those that may be marked after."""
    rows, names = _named(before, after, of)
    chart = _figures(alt.Data(values=rows), names, orient="right")
    return styled(chart, title or f"At most {after} in {of}, from {before}")


def before_after_data(
    guarantee: Any, *, confidence: float = 0.99, priors: Sequence[float] = _PRIORS
) -> list[Row]:
    """Return the bounds on belief at each prior of a strong adversary."""
    rows = []
    for p in priors:
        belief: Belief = explain(guarantee, Prior(p), confidence=confidence)
        if belief.posterior is not None:
            bounds = belief.posterior
            rows.append({"prior": p, "lower": bounds.lower, "upper": bounds.upper})
    return rows


def before_after(guarantee: Any, *, confidence: float = 0.99, marked: float = 0.5) -> Any:
    """Draw what anyone may come to believe against what they believed before, with one marked."""
    rows = before_after_data(guarantee, confidence=confidence)
    whole = alt.Scale(domain=[0, 1])
    x = alt.X("prior:Q", title="belief before", scale=whole, axis=alt.Axis(format="%"))
    y = alt.Y("upper:Q", title="belief after", scale=whole, axis=alt.Axis(format="%"))
    data = alt.Data(values=rows)
    band = alt.Chart(data).mark_area(color=COLOURS[0], opacity=0.18)
    edges = [alt.Chart(data).mark_line(color=COLOURS[0], strokeWidth=2)] * 2
    nothing = alt.Chart(alt.Data(values=[{"prior": 0, "upper": 0}, {"prior": 1, "upper": 1}]))
    spot = min(rows, key=lambda row: abs(row["prior"] - marked))
    label = {**spot, "label": f"{spot['prior']:.0%} → at most {percent(spot['upper'], 'up')}"}
    mark = alt.Chart(alt.Data(values=[label]))
    layers = [
        nothing.mark_line(color=FAINT, strokeDash=[4, 4]).encode(x=x, y=y),
        band.encode(x=x, y=alt.Y("lower:Q", scale=whole), y2="upper:Q"),
        edges[0].encode(x=x, y=y),
        edges[1].encode(x=x, y=alt.Y("lower:Q", scale=whole)),
        mark.mark_point(filled=True, size=70, color=COLOURS[1], opacity=1).encode(x=x, y=y),
        mark.mark_text(align="left", dx=8, dy=12, color=INK, fontWeight=600).encode(
            x=x, y=y, text="label:N"
        ),
    ]
    chart = alt.layer(*layers).properties(width=340, height=280)
    return styled(
        chart, "What may be believed afterwards", "between the lines; dashed: nothing learned"
    )


def account_chart(rows: Sequence[Mapping[str, Any]], *, sign: str, cap: float | None) -> Any:
    """Draw what an account has spent, entry by entry, under its cap.

    Each row has `entry`, `at` (a date), `spent` and `this` (whether it is the release shown).
    """
    data = alt.Data(values=[dict(row) for row in rows])
    x = alt.X("entry:O", title="charge", axis=alt.Axis(labelAngle=0))
    top = max([float(row["spent"]) for row in rows] + ([] if cap is None else [cap])) or 1.0
    scale = alt.Scale(domain=[0, top * 1.15])
    y = alt.Y("spent:Q", title=f"{sign} spent in all", scale=scale)
    kinds = ["earlier or later", "this release"]
    bars = (
        alt.Chart(data)
        .mark_bar(size=26)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(domain=kinds, range=list(COLOURS[:2]))
            ),
        )
    )
    labels = alt.Chart(data).mark_text(dy=-7, color=INK).encode(x=x, y=y, text="label:N")
    layers = [bars, labels]
    if cap is not None:
        rule = alt.Chart(alt.Data(values=[{"cap": cap, "label": f"cap {sign} = {cap:g}"}]))
        layers.append(
            rule.mark_rule(color=FAINT, strokeDash=[5, 3]).encode(y=alt.Y("cap:Q", scale=scale))
        )
        layers.append(
            rule.mark_text(align="left", dy=-6, color=INK).encode(
                x=alt.value(4), y=alt.Y("cap:Q", scale=scale), text="label:N"
            )
        )
    chart = alt.layer(*layers).properties(width=max(220, 60 * len(rows)), height=220)
    return styled(chart, "What the account has spent")


def released_chart(rows: Sequence[Mapping[str, Any]], *, title: str, interval: float) -> Any:
    """Draw released values with their intervals, in the order of the table.

    Each row has `cell` (its name), `value`, `low` and `high`.
    """
    data = alt.Data(values=[dict(row) for row in rows])
    y = alt.Y("cell:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    span = alt.Chart(data).mark_rule(color=COLOURS[0], strokeWidth=2)
    point = alt.Chart(data).mark_point(filled=True, size=45, color=COLOURS[0], opacity=1)
    x = alt.X("value:Q", title="released value, with its interval")
    layered = span.encode(y=y, x=alt.X("low:Q"), x2="high:Q") + point.encode(x=x, y=y)
    chart = layered.properties(width=360, height=alt.Step(17))
    return styled(chart, title, f"intervals hold with probability {interval:g} over the noise")


# -- the same for a page, which changes the rows of a shape that was made once


@lru_cache(maxsize=256)
def _icon_shape(names: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    figures = alt.NamedData(name="figures")
    return bare(_figures(figures, dict(names), orient="bottom", columns=3))


def icon_spec(before: int, after: int, of: int = 100) -> dict[str, Any]:
    """Return a hundred figures as Vega-Lite, for a narrow screen: the key below them."""
    rows, names = _named(before, after, of)
    return _icon_shape(tuple(names.items())) | {"datasets": {"figures": rows}}


@lru_cache(maxsize=1)
def _before_after_shape() -> dict[str, Any]:
    whole = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="~%", tickCount=6)
    x = alt.X("prior:Q", title="belief before", scale=whole, axis=axis)
    y = alt.Y("upper:Q", title="belief after", scale=whole, axis=axis)
    low = alt.Y("lower:Q", scale=whole)
    bounds = alt.Chart(alt.NamedData(name="bounds"))
    still = [{"prior": 0, "upper": 0}, {"prior": 1, "upper": 1}]
    nothing = alt.Chart(alt.Data(values=still))
    marked = alt.Chart(alt.NamedData(name="marked")).encode(x=x, y=y)
    layers = [
        nothing.mark_line(color=FAINT, strokeDash=[4, 4]).encode(x=x, y=y),
        bounds.mark_area(color=COLOURS[0], opacity=0.18).encode(x=x, y=low, y2="upper:Q"),
        bounds.mark_line(color=COLOURS[0], strokeWidth=2).encode(x=x, y=y),
        bounds.mark_line(color=COLOURS[0], strokeWidth=2).encode(x=x, y=low),
        marked.mark_point(filled=True, size=90, color=COLOURS[1], opacity=1),
    ]
    return bare(alt.layer(*layers).properties(width="container", height=280))


def before_after_spec(belief: Belief, marked: float | None) -> dict[str, Any]:
    """Return what anyone may come to believe against what they believed before, as Vega-Lite.

    The belief is one that a single bound on the privacy loss settles: in or not, or which of two
    values.
    """
    loss = belief.epsilon_prime
    if loss is None:
        raise InputError(
            "membership and value at once have no single bound to draw; choose one worry."
        )
    rows = []
    for p in (0.0, *_PRIORS, 1.0):
        bounds = Bounds(p, p) if p in (0.0, 1.0) else posterior_at(loss, p, belief.sided)
        rows.append({"prior": p, "lower": bounds.lower, "upper": bounds.upper})
    spots = [] if marked is None else [_spot(loss, marked, belief.sided)]
    return _before_after_shape() | {"datasets": {"bounds": rows, "marked": spots}}


def _spot(loss: float, p: float, sided: Sided) -> Row:
    upper = 1.0 if p >= 1 else posterior_at(loss, p, sided).upper
    return {"prior": p, "upper": upper}

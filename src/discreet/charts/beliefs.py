"""Charts of belief: a hundred figures, belief before and after, belief over many releases.

Filled against outlined figures, and labels at the marks, so that nothing depends on colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import altair as alt

from discreet.beliefs import Bounds, Prior, explain
from discreet.beliefs.belief import Belief
from discreet.beliefs.bounds import posterior
from discreet.charts.style import (
    ABOVE,
    COLOURS,
    FAINT,
    INK,
    MUTED,
    Row,
    apart,
    bare,
    drawn,
    limit_rule,
    lines,
    named,
    rows_of,
    share,
    styled,
    top_of,
)
from discreet.errors import InputError
from discreet.guarantees import PureDP
from discreet.laws import Gaussian, Laplace, Mechanism
from discreet.laws.mechanism import Noise
from discreet.promises import CONFIDENCE
from discreet.rounding import decimal_down, decimal_up, percent
from discreet.series import horizon
from discreet.words import say

_PRIORS = tuple(i / 100 for i in range(1, 100))

# -- a hundred figures

# A head and shoulders, in the unit square that Vega scales.
_FIGURE = (
    "M0,-0.95A0.34,0.34 0 1,1 -0.001,-0.95Z"
    "M-0.62,0.95L-0.62,0.35A0.42,0.42 0 0,1 -0.2,-0.07L0.2,-0.07A0.42,0.42 0 0,1 0.62,0.35"
    "L0.62,0.95Z"
)
_KINDS = {  # filling and line
    "before": (COLOURS[0], COLOURS[0]),
    "more": (COLOURS[1], COLOURS[1]),
    "others": ("transparent", FAINT),
}


def icon_data(before: int, after: int, of: int = 100) -> list[Row]:
    """Return one row a figure: where it stands, what it is marked for, and the label of that."""
    kinds = ["before"] * before + ["more"] * (after - before) + ["others"] * (of - after)
    labels = {kind: say(f"charts.icons.{kind}", count=kinds.count(kind)) for kind in _KINDS}
    return [
        {"figure": i + 1, "row": i // 10, "column": i % 10, "kind": kind, "label": labels[kind]}
        for i, kind in enumerate(kinds)
    ]


def icon_array(before: int, after: int, of: int = 100, title: str = "") -> Any:
    """Draw a hundred figures: those marked before, and those that may be marked after."""
    rows = icon_data(before, after, of)
    kinds = {row["label"]: row["kind"] for row in rows}
    fills, strokes = ({label: _KINDS[kinds[label]][i] for label in kinds} for i in (0, 1))
    hidden = alt.Axis(labels=False, ticks=False, domain=False, grid=False)
    key = {"title": None, "sort": list(kinds)}
    keyed = alt.Legend(symbolType="square", symbolSize=120, **ABOVE)
    chart = rows_of(rows).mark_point(shape=_FIGURE, size=150, strokeWidth=1.4, opacity=1)
    chart = chart.properties(width=230, height=250).encode(
        x=alt.X("column:O", title=None, axis=hidden),
        y=alt.Y("row:O", title=None, axis=hidden),
        fill=apart(alt.Fill, "label", fills, legend=keyed, **key),
        stroke=apart(alt.Stroke, "label", strokes, **key),
    )
    return styled(chart, title or say("charts.icons.title", before=before, after=after, of=of))


# -- belief before and after


def _nothing_learned(x: alt.X, y: alt.Y) -> Any:
    """Return the diagonal: belief after as before."""
    ends = [{"prior": end, "upper": end} for end in (0, 1)]
    return rows_of(ends).mark_line(color=FAINT, strokeDash=[4, 4]).encode(x=x, y=y)


def _band(bounds: alt.Chart, marked: alt.Chart, size: int, **axis: Any) -> list[Any]:
    """Return the layers of bounds on belief: the diagonal, a band with its edges, a mark, words."""
    x = alt.X("prior:Q", title=say("charts.belief.before"), **share(**axis))
    y = alt.Y("upper:Q", title=say("charts.belief.after"), **share(**axis))
    low = alt.Y("lower:Q", scale=alt.Scale(domain=[0, 1]))
    edge = bounds.mark_line(color=COLOURS[0], strokeWidth=2)
    spot = marked.mark_point(filled=True, size=size, color=COLOURS[1], opacity=1)
    word = marked.mark_text(align="left", dx=8, dy=12, color=INK, fontWeight=600)
    return [
        _nothing_learned(x, y),
        bounds.mark_area(color=COLOURS[0], opacity=0.18).encode(x=x, y=low, y2="upper:Q"),
        edge.encode(x=x, y=y),
        edge.encode(x=x, y=low),
        spot.encode(x=x, y=y),
        word.encode(x=x, y=y, text="label:N"),
    ]


def before_after_data(
    guarantee: Any,
    *,
    confidence: float | None = None,
    priors: Sequence[float] = _PRIORS,
    about: str | None = None,
) -> list[Row]:
    """Return the bounds on belief at each prior, as `explain` reads them, or `about` one thing."""
    rows = []
    for p in priors:
        prior = p if about is None else Prior.of(p, about)
        bounds = explain(guarantee, prior, confidence=confidence).posterior
        if bounds is not None:
            rows.append({"prior": p, "lower": bounds.lower, "upper": bounds.upper})
    return rows


def before_after(
    guarantee: Any,
    *,
    confidence: float | None = None,
    marked: float = 0.5,
    about: str | None = None,
) -> Any:
    """Draw what anyone may come to believe against what they believed before, with one marked."""
    rows = before_after_data(guarantee, confidence=confidence, about=about)
    spot = min(rows, key=lambda row: abs(row["prior"] - marked))
    before, after = f"{spot['prior']:.0%}", percent(spot["upper"], "up")
    mark = rows_of([spot | {"label": say("charts.belief.marked", before=before, after=after)}])
    layers = _band(rows_of(rows), mark, 70, format="%")
    return styled(
        alt.layer(*layers).properties(width=340, height=280),
        say("charts.belief.title"),
        say("charts.belief.subtitle"),
    )


@lru_cache(maxsize=1)
def _before_after_shape() -> dict[str, Any]:
    *layers, _ = _band(named("bounds"), named("marked"), 90)  # the page says it beside the chart
    return bare(alt.layer(*layers).properties(width="container", height=280))


def before_after_spec(belief: Belief, marked: float | None) -> dict[str, Any]:
    """Return what anyone may come to believe against what they believed before, as Vega-Lite.

    The belief is one that a single bound on the privacy loss settles: in or not, or which of two
    values.
    """
    loss = belief.epsilon_prime
    if loss is None:
        raise InputError("charts.two_steps")

    def at(p: float) -> Row:
        bounds = Bounds(p, p) if p in (0.0, 1.0) else posterior(loss, p, belief.sided)
        return {"prior": p, "lower": bounds.lower, "upper": bounds.upper}

    spots = [] if marked is None else [at(marked)]
    rows = [at(p) for p in (0.0, *_PRIORS, 1.0)]
    return drawn(_before_after_shape(), {"bounds": rows, "marked": spots})


def implied_posterior(choice: Any) -> Any:
    """Draw what any strong adversary may come to believe, against what they believed before."""
    rows = before_after_data(choice.guarantee, priors=[i / 200 for i in range(1, 200)])
    x = alt.X("prior:Q", title=say("charts.belief.before"), axis=alt.Axis(format="%"))
    y = alt.Y("upper:Q", title=say("charts.belief.at_most"), axis=alt.Axis(format="%"))
    note = rows_of([{"prior": 0.7, "upper": 0.64, "label": say("charts.belief.nothing")}])
    layers = [
        _nothing_learned(x, y),
        note.mark_text(color=MUTED, align="left", dx=6, dy=10).encode(x=x, y=y, text="label:N"),
        rows_of(rows).mark_line(color=COLOURS[0]).encode(x=x, y=y),
    ]
    return styled(
        alt.layer(*layers).properties(width=380, height=300),
        say("charts.belief.learned", epsilon=decimal_down(choice.epsilon, 4)),
        say("charts.belief.adversary"),
    )


# -- belief over many releases

_Strength: TypeAlias = Literal["generic", "curve", "exact"]
_STRENGTHS: dict[_Strength, list[int]] = {  # and how each is dashed
    "generic": [1, 0],
    "curve": [7, 4],
    "exact": [2, 3],
}


@lru_cache(maxsize=64)
def _over_time_shape(
    names: tuple[_Strength, ...], per_year: int, about: str, start: float, top: float
) -> dict[str, Any]:
    x = alt.X(
        "years:Q",
        title=say("charts.over_time.years", releases=per_year),
        axis=alt.Axis(tickCount=6),
        scale=alt.Scale(zero=True, nice=False),
    )
    whole, axis = alt.Scale(domain=[start, top]), alt.Axis(format="~%", tickCount=6)
    y = alt.Y("value:Q", title=say(f"charts.over_time.{about}"), axis=axis, scale=whole)
    looks = dict(zip(_STRENGTHS, COLOURS, strict=False))
    legend = alt.Legend(orient="top", symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.4)
    key = {"sort": list(names), "title": None, "legend": legend}
    colour = apart(alt.Color, "name", {name: looks[name] for name in names}, **key)
    dash = apart(alt.StrokeDash, "name", {name: _STRENGTHS[name] for name in names}, **key)
    limit = named("limit").encode(y=alt.Y("limit:Q", scale=whole))
    word = limit.mark_text(align="right", dx=-2, dy=12, color=MUTED)
    dots = named("passed").mark_point(filled=True, size=70, opacity=1)
    layers = [
        named("belief").mark_line(strokeWidth=2.4).encode(x=x, y=y, color=colour, strokeDash=dash),
        limit.mark_rule(strokeDash=[4, 4], color=FAINT),
        word.encode(x=alt.value("width"), text="text:N"),
        dots.encode(x=x, y=y, color=colour),
    ]
    return bare(alt.layer(*layers).properties(width="container", height=300))


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
    names = tuple(name for name in _STRENGTHS if any(row["name"] == name for row in rows))
    belief = [row | {"years": row["k"] / per_year} for row in rows]
    text = "" if limit is None else say("charts.over_time.limit", percent=100 * limit)
    limits = [] if limit is None else [{"limit": limit, "text": text}]
    passed = [row for row in belief if row["passes"]]
    top = top_of(max([limit or 0.0, start, *(row["value"] for row in rows)]))
    shape = _over_time_shape(names, per_year, about, start, top)
    return drawn(shape, {"belief": belief, "passed": passed, "limit": limits})


def series_data(
    mechanism: Mechanism, prior: float = 0.5, *, upto: int = 100, **how: Any
) -> list[Row]:
    """Return the posterior bound after k releases at every strength that the mechanism has.

    `how` goes on to `discreet.horizon` (confidence, sided).
    """
    how = {"confidence": CONFIDENCE, "sided": "two", **how, "upto": upto}
    found = {name: horizon(mechanism, prior, **how, strength=name) for name in _STRENGTHS}
    return [
        {"name": name, "k": step.k, "posterior": step.posterior}
        for name, series in found.items()
        if series.strength == name  # the exact bound is not proved for every mechanism
        for step in series.series
    ]


def series_chart(
    mechanism: Mechanism, prior: float = 0.5, *, limits: Iterable[float] = (), **how: Any
) -> Any:
    """Draw belief by the number of releases, a line for each strength, as `series_data` has it."""
    x = alt.X("k:Q", title=say("charts.series.releases"))
    scale = {"domain": [prior, 1]}
    y = alt.Y("posterior:Q", title=say("charts.series.posterior"), scale=scale)
    rows = series_data(mechanism, prior, **how)
    chart: Any = lines(rows, x, y, say("charts.series.strength"))
    for limit in limits:
        chart = chart + limit_rule(limit, "y", f"{decimal_up(limit, 4):g}")
    return styled(
        chart,
        say("charts.series.title", prior=f"{prior:.0%}"),
        say("charts.series.subtitle", confidence=how.get("confidence", CONFIDENCE)).splitlines(),
    )


# -- what an output says of one unit


def likelihood_data(laws: Mapping[str, Noise], points: int = 241) -> list[Row]:
    """Return how much likelier each output is with one unit more than without it, by law."""
    far = 4 * max(law.sd or 1.0 for law in laws.values())
    rows = []
    for name, law in laws.items():
        places: Iterable[float] = (far * (2 * i / (points - 1) - 1) for i in range(points))
        if law.whole_numbers:
            places = range(-math.ceil(far), math.ceil(far) + 1)
        for x in places:
            rows.append({"name": name, "x": x, "loss": law.log_density(x - 1) - law.log_density(x)})
    return rows


def likelihood_ratios(law: Any) -> Any:
    """Draw the likelihood ratio of Laplace-like noise, which is bounded, against Gaussian.

    `law` is noise; the other kind has the same standard deviation.
    """
    if not isinstance(law, Noise):
        raise InputError("charts.not_noise")
    spread, stated = law.sd or 1.0, law.guarantee()
    other = Gaussian(spread) if isinstance(stated, PureDP) else Laplace(math.sqrt(2) / spread)
    rows = likelihood_data({type(law).__name__: law, type(other).__name__: other})
    x = alt.X("x:Q", title=say("charts.likelihood.output"))
    y = alt.Y("loss:Q", title=say("charts.likelihood.loss"))
    chart: Any = lines(rows, x, y, say("charts.likelihood.noise"))
    limit = stated.epsilon if isinstance(stated, PureDP) else math.sqrt(2) / spread
    for sign in (1, -1):
        chart = chart + limit_rule(sign * limit, "y", f"{sign * limit:+.3g}")
    return styled(chart, say("charts.likelihood.title"), say("charts.likelihood.subtitle"))

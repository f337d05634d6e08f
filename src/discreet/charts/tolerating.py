"""Charts that follow a hand: what is tolerated, and what the budget allows, at every prior.

Notation. Across is belief before, pq; up is belief after: r*(p, q)·pq is tolerated, and under the
budget the posterior stays below K&R Theorem 1's bound. The two curves touch at the adversary that
binds.

Drawing is split in two, because a chart that is dragged changes its rows only: a function
`..._data` gives the rows of each named data set, a function `..._spec` puts them into the
Vega-Lite shape, which Altair makes once. `tolerated`, `profile_line` and `adversaries` are the
same as Altair charts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import altair as alt

from discreet.beliefs.one_prior import epsilon_for_ratio
from discreet.beliefs.prior import Prior
from discreet.budgets.choice import Choice
from discreet.charts.style import COLOURS, FAINT, INK, styled
from discreet.promises import Counterfactual
from discreet.promises.box import Box

__all__ = [
    "ALLOWED",
    "TOLERATED",
    "adversaries",
    "adversaries_data",
    "adversaries_spec",
    "bare",
    "filled",
    "profile_line",
    "profile_line_data",
    "profile_line_spec",
    "tolerated",
    "tolerated_data",
    "tolerated_spec",
]

Row = dict[str, Any]
Path = tuple[str, float]
TOLERATED, ALLOWED = "tolerated", "allowed by the budget"
_POINTS = 80
_TOP_RATIO, _TOP_EPSILON = 100.0, 4.0


def _path(box: Box) -> Path:
    """The line of priors that a tolerance is drawn along: its free prior, or the worst one."""
    if box.q_fixed and (box.q1 == 1 or not box.p_fixed):
        return "p", box.q1
    return "q", box.p1


def _priors(path: Path, top: float, choice: Choice) -> list[Prior]:
    """Priors along a line with pq up to `top`, dense towards 0, where profiles are steep.

    The one that binds is among them: profiles have their corners there.
    """
    along, fixed = path
    end = min(1.0, top / fixed)
    grid = [end * (i / _POINTS) ** 1.5 for i in range(1, _POINTS + 1)]
    binds = choice.binding.p if along == "p" else choice.binding.q
    if 0 < binds < end:
        grid = sorted({*grid, binds})
    return [Prior(x, fixed) if along == "p" else Prior(fixed, x) for x in grid]


def _curves(choice: Choice) -> list[tuple[str, Any, Path]]:
    parts = [part for _, part in choice.tolerance.leaves() if not isinstance(part, Counterfactual)]
    return [(str(place), part, _path(part.box)) for place, part in enumerate(parts, 1)]


def tolerated_data(choice: Choice, top: float = 1.0) -> dict[str, list[Row]]:
    """Return what is tolerated and what the budget allows, for beliefs before up to `top`."""
    lines: list[Row] = []
    single: list[Row] = []
    paths: dict[Path, str] = {}
    for name, part, path in _curves(choice):
        paths.setdefault(path, name)
        box = part.box
        if box.p_fixed and box.q_fixed:
            before = box.p1 * box.q1
            after = min(1.0, part.ratio_at(box.p1, box.q1) * before)
            single.append({"line": TOLERATED, "before": before, "after": after})
            continue
        for prior in _priors(path, top, choice):
            if box.contains(prior.p, prior.q):
                after = min(1.0, part.ratio_at(prior.p, prior.q) * prior.pq)
                lines.append(_row(TOLERATED, f"t{name}", prior.pq, after))
    for path, name in paths.items():
        lines.append(_row(ALLOWED, f"a{name}", 0.0, 0.0))
        for prior in _priors(path, top, choice):
            lines.append(_row(ALLOWED, f"a{name}", prior.pq, choice.posterior_at(prior)))
    return {"lines": lines, "points": single, "binding": _binding(choice)}


def _row(line: str, curve: str, before: float, after: float) -> Row:
    return {"line": line, "curve": curve, "before": before, "after": after}


def _binding(choice: Choice) -> list[Row]:
    """Where the two touch; a binding prior that is only approached lies at the axis."""
    p, q = choice.binding.p, choice.binding.q
    if not (p > 0 and q > 0) or math.isinf(choice.epsilon):
        return []
    prior = Prior(p, q)
    return [{"before": prior.pq, "after": choice.posterior_at(prior), "label": "binds"}]


@lru_cache(maxsize=64)
def _tolerated_shape(top: float, high: float) -> dict[str, Any]:
    x = alt.X(
        "before:Q",
        title="belief before",
        scale=alt.Scale(domain=[0, top], clamp=False),
        axis=alt.Axis(format="~%", tickCount=6),
    )
    y = alt.Y(
        "after:Q",
        title="belief after, at most",
        scale=alt.Scale(domain=[0, high]),
        axis=alt.Axis(format="~%", tickCount=6),
    )
    names = [TOLERATED, ALLOWED]
    legend = alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolSize=400)
    colour = alt.Color(
        "line:N",
        title=None,
        scale=alt.Scale(domain=names, range=[COLOURS[1], COLOURS[0]]),
        legend=legend,
    )
    dash = alt.StrokeDash(
        "line:N",
        title=None,
        scale=alt.Scale(domain=names, range=[[6, 4], [1, 0]]),
        legend=legend,
    )
    reach = min(top, high)
    still = [{"before": 0, "after": 0}, {"before": reach, "after": reach}]
    nothing = (
        alt.Chart(alt.Data(values=still))
        .mark_line(color=FAINT, strokeWidth=1, strokeDash=[2, 3])
        .encode(x=x, y=y)
    )
    lines = (
        alt.Chart(alt.NamedData(name="lines"))
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(x=x, y=y, color=colour, strokeDash=dash, detail="curve:N", order="before:Q")
    )
    single = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_point(filled=True, size=90, opacity=1, clip=True, color=COLOURS[1])
        .encode(x=x, y=y)
    )
    bound = alt.Chart(alt.NamedData(name="binding")).encode(x=x, y=y)
    ring = bound.mark_point(size=260, strokeWidth=2, color=INK, opacity=1, clip=True)
    word = bound.mark_text(dx=14, dy=14, align="left", color=INK, clip=True).encode(text="label:N")
    chart = (nothing + lines + single + ring + word).properties(width="container", height=340)
    return bare(chart)


def bare(chart: Any) -> dict[str, Any]:
    """Return a chart's shape without rows and title: the page puts words beside a chart."""
    shape: dict[str, Any] = styled(chart, "").to_dict(validate=False)
    shape.pop("title", None)
    config = shape["config"]
    config["padding"] = 4
    for part in ("axis", "legend"):
        config[part] |= {"labelFontSize": 13, "titleFontSize": 13}
    return shape


def filled(shape: dict[str, Any], rows: dict[str, list[Row]]) -> dict[str, Any]:
    """Return a shape with the rows of its named data sets."""
    out = copy(shape)
    out["datasets"] = {**out.get("datasets", {}), **rows}
    return out


def tolerated_spec(choice: Choice, top: float = 1.0, high: float = 1.0) -> dict[str, Any]:
    """Return belief before and after, tolerated and allowed, as Vega-Lite."""
    return filled(_tolerated_shape(top, high), tolerated_data(choice, top))


def tolerated(choice: Choice, top: float = 1.0, high: float = 1.0) -> Any:
    """Draw what is tolerated at each prior, and what the budget allows there."""
    return alt.Chart.from_dict(tolerated_spec(choice, top, high) | {"width": 420})


# -- the profile itself


def profile_line_data(choice: Choice, top: float = 1.0) -> dict[str, list[Row]]:
    """Return r* and the largest ε along each tolerance's free prior, and the budget."""
    rows: list[Row] = []
    for name, part, path in _curves(choice):
        for prior in _priors(path, top, choice):
            if not part.box.contains(prior.p, prior.q):
                continue
            ratio = part.ratio_at(prior.p, prior.q)
            largest = epsilon_for_ratio(prior.p, prior.q, ratio)
            row: Row = {"curve": name, "before": prior.pq}
            if ratio <= _TOP_RATIO:
                row["ratio"] = ratio
            if largest <= _TOP_EPSILON:
                row["epsilon"] = largest
            rows.append(row)
    budget = [] if math.isinf(choice.epsilon) else [{"epsilon": choice.epsilon}]
    return {"profile": rows, "budget": budget}


@lru_cache(maxsize=64)
def _profile_shape(top: float, key: str) -> dict[str, Any]:
    title, kind = {
        "ratio": ("r*: after ÷ before, at most", "log"),
        "epsilon": ("largest ε at this prior", "linear"),
    }[key]
    x = alt.X(
        "before:Q",
        title="belief before",
        scale=alt.Scale(domain=[0, top]),
        axis=alt.Axis(format="~%", tickCount=6),
    )
    y = alt.Y(f"{key}:Q", title=title, scale=alt.Scale(type=kind), axis=alt.Axis(tickCount=5))
    line = (
        alt.Chart(alt.NamedData(name="profile"))
        .mark_line(color=COLOURS[1], strokeWidth=2.5, strokeDash=[6, 4], clip=True)
        .encode(x=x, y=y, detail="curve:N", order="before:Q")
        .transform_filter(f"isValid(datum.{key})")
    )
    if key == "epsilon":
        rule = alt.Chart(alt.NamedData(name="budget")).encode(y=y)
        line = line + rule.mark_rule(color=COLOURS[0], strokeWidth=2)
    return bare(line.properties(width="container", height=150))


def profile_line_spec(choice: Choice, key: str = "ratio", top: float = 1.0) -> dict[str, Any]:
    """Return r* (`ratio`) or the largest ε (`epsilon`) along the prior, as Vega-Lite."""
    rows = profile_line_data(choice, top)
    if key == "ratio":
        rows.pop("budget")
    return filled(_profile_shape(top, key), rows)


def profile_line(choice: Choice, key: str = "ratio", top: float = 1.0) -> Any:
    """Draw r* or the largest ε along the prior."""
    return alt.Chart.from_dict(profile_line_spec(choice, key, top) | {"width": 420})


# -- both priors at once


def adversaries_data(
    choice: Choice, points: int = 24, edges: Sequence[float] = ()
) -> dict[str, list[Row]]:
    """Return the least r* and the largest ε at each adversary (p, q), cut off at 100 and 4.

    Adversaries that no condition speaks of have no row; a condition that fixes p or q is a strip.
    `edges` are values of pq along which a line is drawn.
    """
    parts = [part for _, part, _ in _curves(choice)]
    middles = [(i + 0.5) / points for i in range(points)]
    places = [(p, q) for p in middles for q in middles]
    for box in (part.box for part in parts):
        # A strip is drawn over the field; where both are fixed it is one cell.
        if box.p_fixed or box.q_fixed:
            places += [
                (p, q)
                for p in ([box.p1] if box.p_fixed else middles)
                for q in ([box.q1] if box.q_fixed else middles)
            ]
    half = 0.5 / points
    rows: list[Row] = []
    for p, q in places:
        asked = [part.ratio_at(p, q) for part in parts if part.box.contains(p, q)]
        if not asked:
            continue
        ratio = min(asked)
        largest = min(epsilon_for_ratio(p, q, ratio), _TOP_EPSILON)
        (p0, p1), (q0, q1) = ((max(0.0, x - half), min(1.0, x + half)) for x in (p, q))
        row = {"p0": p0, "p1": p1, "q0": q0, "q1": q1}
        rows.append(row | {"ratio": min(ratio, _TOP_RATIO), "epsilon": largest})
    bound = choice.binding
    spot = [] if math.isinf(choice.epsilon) else [{"p0": bound.p, "q0": bound.q, "label": "binds"}]
    # From (pq, 1) to (1, pq), evenly in log p: a hyperbola as steep as it is flat.
    lines = [
        {"edge": str(place), "p0": edge ** (1 - i / 40), "q0": edge ** (i / 40)}
        for place, edge in enumerate(edges)
        for i in range(41)
    ]
    return {"cells": rows, "spot": spot, "edges": lines}


@lru_cache(maxsize=4)
def _adversaries_shape(key: str) -> dict[str, Any]:
    label, kind, low, top = {
        "ratio": ("r*", "log", 1.0, _TOP_RATIO),
        "epsilon": ("largest ε", "linear", 0.0, _TOP_EPSILON),
    }[key]
    unit, plain = alt.Scale(domain=[0, 1]), alt.Axis(grid=False, format="~%", values=[0, 0.5, 1])
    cells = (
        alt.Chart(alt.NamedData(name="cells"))
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("p0:Q", title="p: is in the data", scale=unit, axis=plain),
            x2="p1:Q",
            y=alt.Y("q0:Q", title="q: has the value, if in", scale=unit, axis=plain),
            y2="q1:Q",
            color=alt.Color(
                f"{key}:Q",
                title=f"{label}, up to {top:g}",
                # Dark where little may be learned; one hue, so that no end looks good or bad.
                scale=alt.Scale(
                    type=kind, scheme="blues", reverse=True, domain=[low, top], clamp=True
                ),
                legend=alt.Legend(orient="top", gradientLength=180, titleLimit=260),
            ),
        )
    )
    edges = (
        alt.Chart(alt.NamedData(name="edges"))
        .mark_line(color=COLOURS[1], strokeWidth=2, strokeDash=[6, 4], clip=True)
        .encode(x="p0:Q", y="q0:Q", detail="edge:N", order="p0:Q")
    )
    spot = alt.Chart(alt.NamedData(name="spot")).encode(x="p0:Q", y="q0:Q")
    ring = spot.mark_point(size=160, strokeWidth=3, color=COLOURS[1], opacity=1)
    # The adversary that binds stands where it is darkest.
    word = spot.mark_text(dx=-12, dy=-10, align="right", color="white", fontWeight=600)
    chart = cells + edges + ring + word.encode(text="label:N")
    return bare(chart.properties(width="container", height=300))


def adversaries_spec(
    choice: Choice, key: str = "epsilon", points: int = 24, edges: Sequence[float] = ()
) -> dict[str, Any]:
    """Return r* or the largest ε over both priors as Vega-Lite, a heat map."""
    return filled(_adversaries_shape(key), adversaries_data(choice, points, edges))


def adversaries(choice: Choice, key: str = "epsilon", points: int = 48) -> Any:
    """Draw r* or the largest ε at every adversary (p, q), and the one that binds."""
    spec = adversaries_spec(choice, key, points) | {"width": 340, "height": 340}
    return alt.Chart.from_dict(spec)

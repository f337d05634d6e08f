"""Charts of promises: what is tolerated and allowed at every prior; what several of them cost.

Notation. Across is belief before, pq; up is belief after: r*(p, q)·pq is tolerated, and under the
budget the posterior stays below K&R Theorem 1's bound; of a promise on average, the chance of a
right guess stays below the trade-off curve's. The two curves touch at the adversary that binds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, cycle, islice
from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.beliefs import Prior
from discreet.beliefs.one_prior import epsilon_for_ratio
from discreet.budgets import Choice, choose
from discreet.charts.style import (
    COLOURS,
    FAINT,
    INK,
    Row,
    apart,
    bare,
    drawn,
    named,
    rows_of,
    share,
    styled,
)
from discreet.promises import Box, Counterfactual
from discreet.rounding import decimal_down
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Costs


Path = tuple[str, float]
_POINTS = 80
_TOP_RATIO, _TOP_EPSILON = 100.0, 4.0
_KINDS = {"ratio": ("log", 1.0, _TOP_RATIO), "epsilon": ("linear", 0.0, _TOP_EPSILON)}


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


# -- tolerated and allowed


def tolerated_data(choice: Choice, top: float = 1.0) -> dict[str, list[Row]]:
    """Return what is tolerated and what the budget allows, for beliefs before up to `top`."""
    asked, allowed = say("charts.tolerated.tolerated"), say("charts.tolerated.allowed")
    lines: list[Row] = []
    single: list[Row] = []
    paths: dict[Path, str] = {}

    def add(line: str, curve: str, before: float, after: float) -> None:
        lines.append({"line": line, "curve": curve, "before": before, "after": after})

    for name, part, path in _curves(choice):
        paths.setdefault(path, name)
        box = part.box
        if box.p_fixed and box.q_fixed:
            before = box.p1 * box.q1
            after = min(1.0, part.ratio_at(box.p1, box.q1) * before)
            single.append({"line": asked, "before": before, "after": after})
            continue
        for prior in _priors(path, top, choice):
            if box.contains(prior.p, prior.q):
                after = min(1.0, part.ratio_at(prior.p, prior.q) * prior.pq)
                add(asked, f"t{name}", prior.pq, after)
    for path, name in paths.items():
        add(allowed, f"a{name}", 0.0, 0.0)
        for prior in _priors(path, top, choice):
            add(allowed, f"a{name}", prior.pq, choice.allowed_at(prior))
    return {"lines": lines, "points": single, "binding": _binding(choice)}


def _binding(choice: Choice) -> list[Row]:
    """Where the two touch; a binding prior that is only approached lies at the axis."""
    p, q = choice.binding.p, choice.binding.q
    if not (p > 0 and q > 0) or math.isinf(choice.epsilon):
        return []
    prior, label = Prior(p, q), say("charts.binds")
    return [{"before": prior.pq, "after": choice.allowed_at(prior), "label": label}]


@lru_cache(maxsize=64)
def _tolerated_shape(top: float, high: float, *, average: bool) -> dict[str, Any]:
    after = say(f"charts.belief.{'right_at_most' if average else 'at_most'}")
    x = alt.X("before:Q", title=say("charts.belief.before"), **share(top))
    y = alt.Y("after:Q", title=after, **share(high))
    names = [say("charts.tolerated.tolerated"), say("charts.tolerated.allowed")]
    legend = alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolSize=400)
    key = {"title": None, "legend": legend}
    colours = dict(zip(names, (COLOURS[1], COLOURS[0]), strict=True))
    dashes = dict(zip(names, ([6, 4], [1, 0]), strict=True))
    reach = min(top, high)
    still = rows_of([{"before": end, "after": end} for end in (0, reach)])
    curves = named("lines").mark_line(strokeWidth=2.5, clip=True)
    single = named("points").mark_point(
        filled=True, size=90, opacity=1, clip=True, color=COLOURS[1]
    )
    bound = named("binding").encode(x=x, y=y)
    word = bound.mark_text(dx=14, dy=14, align="left", color=INK, clip=True)
    chart = alt.layer(
        still.mark_line(color=FAINT, strokeWidth=1, strokeDash=[2, 3]).encode(x=x, y=y),
        curves.encode(
            x=x,
            y=y,
            color=apart(alt.Color, "line", colours, **key),
            strokeDash=apart(alt.StrokeDash, "line", dashes, **key),
            detail="curve:N",
            order="before:Q",
        ),
        single.encode(x=x, y=y),
        bound.mark_point(size=260, strokeWidth=2, color=INK, opacity=1, clip=True),
        word.encode(text="label:N"),
    )
    return bare(chart.properties(width="container", height=340), large=True)


def tolerated_spec(choice: Choice, top: float = 1.0, high: float = 1.0) -> dict[str, Any]:
    """Return belief before and after, tolerated and allowed, as Vega-Lite."""
    return drawn(
        _tolerated_shape(top, high, average=choice.promise.on_average), tolerated_data(choice, top)
    )


def tolerated(choice: Choice, top: float = 1.0, high: float = 1.0) -> Any:
    """Draw what is tolerated at each prior, and what the budget allows there."""
    return alt.Chart.from_dict(tolerated_spec(choice, top, high) | {"width": 420})


# -- the profile along one prior


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
    x = alt.X("before:Q", title=say("charts.belief.before"), **share(top))
    scale, axis = alt.Scale(type=_KINDS[key][0]), alt.Axis(tickCount=5)
    y = alt.Y(f"{key}:Q", title=say(f"charts.profile.{key}"), scale=scale, axis=axis)
    line = (
        named("profile")
        .mark_line(color=COLOURS[1], strokeWidth=2.5, strokeDash=[6, 4], clip=True)
        .encode(x=x, y=y, detail="curve:N", order="before:Q")
        .transform_filter(f"isValid(datum.{key})")
    )
    if key == "epsilon":
        line = line + named("budget").encode(y=y).mark_rule(color=COLOURS[0], strokeWidth=2)
    return bare(line.properties(width="container", height=150), large=True)


def profile_line_spec(choice: Choice, key: str = "ratio", top: float = 1.0) -> dict[str, Any]:
    """Return r* (`ratio`) or the largest ε (`epsilon`) along the prior, as Vega-Lite."""
    rows = profile_line_data(choice, top)
    if key == "ratio":
        rows.pop("budget")
    return drawn(_profile_shape(top, key), rows)


def profile_data(tolerance: Any) -> list[Row]:
    """Return r* and the largest ε along the free prior of a tolerance with p or q fixed."""
    box = tolerance.box
    ends = (box.q0, box.q1) if box.p_fixed else (box.p0, box.p1)
    rows = []
    for x in _between(max(ends[0], 1e-3), ends[1]):
        p, q = (box.p1, x) if box.p_fixed else (x, box.q1)
        ratio = tolerance.ratio_at(p, q)
        rows.append({"prior": x, "ratio": ratio, "epsilon": epsilon_for_ratio(p, q, ratio)})
    return rows


def _between(low: float, high: float) -> list[float]:
    """Priors between the ends, denser towards the lower one, where profiles are steep."""
    even = [low + (high - low) * i / 399 for i in range(399)]
    steep = [low * (high / low) ** (i / 59) for i in range(59)]
    return sorted({*even, *steep, high})


def profile(tolerance: Any, title: str | None = None) -> Any:
    """Draw r* along the free prior, and under it the largest ε at each prior."""
    rows, choice = profile_data(tolerance), choose(tolerance)
    which = "q" if tolerance.box.p_fixed else "p"
    axis = alt.Axis(format="%")
    x = alt.X("prior:Q", title=say("charts.profile.prior", which=which), axis=axis)
    tops = {"ratio": _TOP_RATIO, "epsilon": 3 * choice.epsilon + 2}
    titles = {"ratio": say("charts.profile.fold"), "epsilon": say("charts.profile.epsilon")}
    upper, lower = (
        rows_of([row for row in rows if row[key] <= top and math.isfinite(row[key])])
        .mark_line(color=COLOURS[0])
        .encode(x=x, y=alt.Y(f"{key}:Q", title=titles[key]))
        for key, top in tops.items()
    )
    budget = {"y": choice.epsilon, "label": f"ε = {decimal_down(choice.epsilon, 4):.4f}"}
    rule = rows_of([budget]).encode(y="y:Q")
    label = rule.mark_text(align="left", dy=-8, color=COLOURS[1], fontWeight=600)
    below = (
        lower
        + rule.mark_rule(color=COLOURS[1], strokeDash=[5, 3])
        + label.encode(x=alt.value(6), text="label:N")
    )
    panels = (panel.properties(width=420, height=170) for panel in (upper, below))
    heading = title or say("charts.profile.title")
    return styled(alt.vconcat(*panels, spacing=18), heading, str(choice.tolerance))


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
    bound = {"p0": choice.binding.p, "q0": choice.binding.q, "label": say("charts.binds")}
    spot = [] if math.isinf(choice.epsilon) else [bound]
    # From (pq, 1) to (1, pq), evenly in log p: a hyperbola as steep as it is flat.
    lines = [
        {"edge": str(place), "p0": edge ** (1 - i / 40), "q0": edge ** (i / 40)}
        for place, edge in enumerate(edges)
        for i in range(41)
    ]
    return {"cells": rows, "spot": spot, "edges": lines}


@lru_cache(maxsize=4)
def _adversaries_shape(key: str) -> dict[str, Any]:
    kind, low, top = _KINDS[key]
    plain = share(grid=False, format="~%", values=[0, 0.5, 1])
    # Dark where little may be learned; one hue, so that no end looks good or bad.
    blues = alt.Scale(type=kind, scheme="blues", reverse=True, domain=[low, top], clamp=True)
    legend = alt.Legend(orient="top", gradientLength=180, titleLimit=260)
    title = say(f"charts.adversaries.{key}", top=top)
    cells = (
        named("cells")
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("p0:Q", title=say("charts.adversaries.p"), **plain),
            x2="p1:Q",
            y=alt.Y("q0:Q", title=say("charts.adversaries.q"), **plain),
            y2="q1:Q",
            color=alt.Color(f"{key}:Q", title=title, scale=blues, legend=legend),
        )
    )
    edges = (
        named("edges")
        .mark_line(color=COLOURS[1], strokeWidth=2, strokeDash=[6, 4], clip=True)
        .encode(x="p0:Q", y="q0:Q", detail="edge:N", order="p0:Q")
    )
    spot = named("spot").encode(x="p0:Q", y="q0:Q")
    ring = spot.mark_point(size=160, strokeWidth=3, color=COLOURS[1], opacity=1)
    # The adversary that binds stands where it is darkest.
    word = spot.mark_text(dx=-12, dy=-10, align="right", color="white", fontWeight=600)
    chart = cells + edges + ring + word.encode(text="label:N")
    return bare(chart.properties(width="container", height=300), large=True)


def adversaries_spec(
    choice: Choice, key: str = "epsilon", points: int = 24, edges: Sequence[float] = ()
) -> dict[str, Any]:
    """Return r* or the largest ε over both priors as Vega-Lite, a heat map."""
    return drawn(_adversaries_shape(key), adversaries_data(choice, points, edges))


# -- what promises cost


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
        colours = chain.from_iterable(
            islice(cycle(COLOURS), count) for count in Counter(kinds.values()).values()
        )
        told: dict[str, Any] = {"title": say("charts.cost.truth"), "sort": None}
        colour = apart(alt.Color, "truth", dict(zip(kinds, colours, strict=True)), **told)
        shapes = {truth: _SHAPES[decision] for truth, decision in kinds.items()}
        shape = apart(alt.Shape, "truth", shapes, **told)
        points = rows_of(data["chances"]).properties(width=200).mark_point(filled=True, size=60)
        panels.append(points.encode(y=y, x=x, color=colour, shape=shape))
    return styled(alt.hconcat(*panels), title or say("charts.cost.title"))

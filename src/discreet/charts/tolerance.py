"""Charts of tolerances and budgets, and K&R's Figures 1 to 5 from our own numbers.

A function `..._data` gives the rows that a chart draws, so that a test, a table beside the chart,
or another tool can have the numbers without the picture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from discreet.beliefs.one_prior import epsilon_for_ratio
from discreet.budgets import choose
from discreet.budgets.tradeoff import TradeOff, trade_off
from discreet.charts.style import COLOURS, FAINT, INK, MUTED, styled
from discreet.promises import PosteriorUnlessRatio, Ratio, priors
from discreet.rounding import decimal_down

__all__ = [
    "figure_1",
    "figure_2",
    "figure_2_rows",
    "figure_3",
    "figure_4",
    "figure_5",
    "implied_posterior",
    "implied_posterior_data",
    "map_data",
    "profile",
    "profile_data",
    "profile_map",
    "trade_off_chart",
]

Row = dict[str, Any]
_TOP_RATIO, _TOP_EPSILON = 100.0, 4.0


def _line(low: float, high: float, points: int = 400) -> np.ndarray:
    """Priors between the ends, dense towards 0, where profiles are steep."""
    low = max(low, 1e-3)
    if low == high:
        return np.array([low])
    return np.unique(np.concatenate([np.linspace(low, high, points), np.geomspace(low, high, 60)]))


def profile_data(tolerance: Any, name: str = "") -> list[Row]:
    """Return r* and the largest ε along the free prior of a tolerance with p or q fixed."""
    box = tolerance.box
    along = "q" if box.p_fixed else "p"
    ends = (box.q0, box.q1) if along == "q" else (box.p0, box.p1)
    rows = []
    for x in _line(*ends):
        p, q = (box.p1, float(x)) if along == "q" else (float(x), box.q1)
        ratio = tolerance.ratio_at(p, q)
        rows.append(
            {
                "name": name,
                "prior": float(x),
                "ratio": ratio,
                "epsilon": epsilon_for_ratio(p, q, ratio),
            }
        )
    return rows


def _finite(rows: list[Row], key: str) -> list[Row]:
    return [row for row in rows if math.isfinite(row[key])]


def profile(tolerance: Any, title: str = "What is tolerated, and what it allows") -> Any:
    """Draw r* along the free prior, and under it the largest ε at each prior."""
    rows = profile_data(tolerance)
    choice = choose(tolerance)
    which = "q" if tolerance.box.p_fixed else "p"
    x = alt.X("prior:Q", title=f"prior {which}", axis=alt.Axis(format="%"))
    upper = (
        alt.Chart(alt.Data(values=[row for row in rows if row["ratio"] <= _TOP_RATIO]))
        .mark_line(color=COLOURS[0])
        .encode(x=x, y=alt.Y("ratio:Q", title="posterior ÷ prior, at most"))
        .properties(width=420, height=170)
    )
    kept = [row for row in _finite(rows, "epsilon") if row["epsilon"] <= 3 * choice.epsilon + 2]
    lower = (
        alt.Chart(alt.Data(values=kept))
        .mark_line(color=COLOURS[0])
        .encode(x=x, y=alt.Y("epsilon:Q", title="largest ε at this prior"))
    )
    shown = f"ε = {decimal_down(choice.epsilon, 4):.4f}"
    rule = alt.Chart(alt.Data(values=[{"y": choice.epsilon, "label": shown}]))
    budget = rule.mark_rule(color=COLOURS[1], strokeDash=[5, 3]).encode(y="y:Q")
    label = rule.mark_text(align="left", dy=-8, color=COLOURS[1], fontWeight=600).encode(
        x=alt.value(6), y="y:Q", text="label:N"
    )
    below = (lower + budget + label).properties(width=420, height=170)
    return styled(alt.vconcat(upper, below, spacing=18), title, str(choice.tolerance))


def implied_posterior_data(choice: Any, q: float = 1.0) -> list[Row]:
    """Return the largest posterior at every prior under a chosen budget."""
    from discreet.beliefs import Prior, explain

    rows: list[Row] = []
    for p in np.linspace(0.005, 0.995, 199):
        belief = explain(choice.guarantee, Prior(float(p), q))
        if belief.posterior is not None:
            rows.append({"prior": float(p) * q, "posterior": belief.posterior.upper})
    return rows


def implied_posterior(choice: Any) -> Any:
    """Draw what any strong adversary may come to believe, against what they believed before."""
    x = alt.X("prior:Q", title="belief before", axis=alt.Axis(format="%"))
    y = alt.Y("posterior:Q", title="belief after, at most", axis=alt.Axis(format="%"))
    curve = alt.Chart(alt.Data(values=implied_posterior_data(choice))).mark_line(color=COLOURS[0])
    nothing = alt.Chart(
        alt.Data(values=[{"prior": 0, "posterior": 0}, {"prior": 1, "posterior": 1}])
    )
    line = nothing.mark_line(color=FAINT, strokeDash=[4, 4]).encode(x=x, y=y)
    note = (
        alt.Chart(alt.Data(values=[{"prior": 0.7, "posterior": 0.64, "label": "nothing learned"}]))
        .mark_text(color=MUTED, align="left", dx=6, dy=10)
        .encode(x=x, y=y, text="label:N")
    )
    shown = f"ε = {decimal_down(choice.epsilon, 4):.4f}"
    both = (line + note + curve.encode(x=x, y=y)).properties(width=380, height=300)
    return styled(both, f"What may be learned at {shown}", "someone who knows everyone else")


def map_data(tolerance: Any, points: int = 60) -> list[Row]:
    """Return r* and the largest ε on a grid of both priors, cut off at 100 and 4."""
    grid = (np.arange(points) + 0.5) / points
    rows = []
    for p in grid:
        for q in grid:
            ratio = tolerance.ratio_at(float(p), float(q))
            epsilon = epsilon_for_ratio(float(p), float(q), ratio)
            rows.append(
                {
                    "p": float(p),
                    "q": float(q),
                    "ratio": min(ratio, _TOP_RATIO),
                    "epsilon": min(epsilon, _TOP_EPSILON),
                }
            )
    return rows


def profile_map(tolerance: Any, title: str, points: int = 60) -> Any:
    """Draw r* and the largest ε over both priors, with the adversary that binds."""
    rows = map_data(tolerance, points)
    choice = choose(tolerance)
    half = 0.5 / points
    for row in rows:
        row |= {"p0": row["p"] - half, "p1": row["p"] + half}
        row |= {"q0": row["q"] - half, "q1": row["q"] + half}
    unit, bare = alt.Scale(domain=[0, 1]), alt.Axis(grid=False, format="%")
    panels = []
    for key, label, scale in (
        ("ratio", "r* (up to 100)", "log"),
        ("epsilon", "largest ε (up to 4)", "linear"),
    ):
        cells = (
            alt.Chart(alt.Data(values=rows))
            .mark_rect(stroke=None)
            .encode(
                x=alt.X("p0:Q", title="p: is in the data", scale=unit, axis=bare),
                x2="p1:Q",
                y=alt.Y("q0:Q", title="q: is sensitive, if in", scale=unit, axis=bare),
                y2="q1:Q",
                color=alt.Color(
                    f"{key}:Q", title=label, scale=alt.Scale(type=scale, scheme="viridis")
                ),
            )
            .properties(width=300, height=300)
        )
        if key == "epsilon":
            spot = {"p0": choice.binding.p, "q0": choice.binding.q, "label": "binds"}
            mark = alt.Chart(alt.Data(values=[spot]))
            dot = mark.mark_point(filled=True, size=90, color=COLOURS[1], opacity=1)
            text = mark.mark_text(align="right", dx=-8, dy=-8, color="white", fontWeight=600)
            at = {"x": "p0:Q", "y": "q0:Q"}
            cells = cells + dot.encode(**at) + text.encode(**at, text="label:N")
        panels.append(cells)
    joined = alt.hconcat(*panels).resolve_scale(color="independent")
    return styled(joined, title, str(tolerance))


def trade_off_chart(rows: Sequence[TradeOff], title: str = "What each tolerance costs") -> Any:
    """Draw budget, noise and the chance of crossing a limit for each tolerance."""
    names = [row.name for row in rows]
    y = alt.Y("name:N", title=None, sort=names)
    data = [row.to_dict() for row in rows]
    panels = []
    for key, label in (("epsilon", "ε"), ("sd", "standard deviation of a count")):
        base = alt.Chart(alt.Data(values=data)).encode(y=y, x=alt.X(f"{key}:Q", title=label))
        text = base.mark_text(align="left", dx=4, color=INK).encode(
            text=alt.Text(f"{key}:Q", format=".2f")
        )
        panels.append((base.mark_bar(color=COLOURS[0], height=12) + text).properties(width=200))
    chances = [
        {"name": row.name, "distance": str(distance), "chance": chance}
        for row in rows
        for distance, chance in row.crosses
    ]
    if chances:
        panels.append(
            alt.Chart(alt.Data(values=chances))
            .mark_point(filled=True, size=60)
            .encode(
                y=y,
                x=alt.X("chance:Q", title="chance of crossing", axis=alt.Axis(format="%")),
                color=alt.Color(
                    "distance:N", title="counts beyond", scale=alt.Scale(range=list(COLOURS))
                ),
            )
            .properties(width=200)
        )
    return styled(alt.hconcat(*panels), title)


def _pair(tolerances: Mapping[str, Any], title: str) -> Any:
    """Draw several profiles side by side: r* above, the largest ε below, one budget each.

    Faint behind them: the constant ratio alone, which allows less at low priors.
    """
    columns = []
    for i, (name, tolerance) in enumerate(tolerances.items()):
        rows = profile_data(tolerance, name)
        which = "q" if tolerance.box.p_fixed else "p"
        whole = alt.Scale(domain=[0, 1])
        x = alt.X("prior:Q", title=f"prior {which}", scale=whole, axis=alt.Axis(format="%"))
        choice = choose(tolerance)
        constant = profile_data(Ratio(tolerance.ratio, tolerance.box), name)
        top = (
            alt.Chart(alt.Data(values=[row for row in rows if row["ratio"] <= _TOP_RATIO]))
            .mark_line(color=COLOURS[i])
            .encode(x=x, y=alt.Y("ratio:Q", title="r*", scale=alt.Scale(type="log")))
            .properties(width=210, height=140, title=name)
        )
        kept = [row for row in _finite(rows, "epsilon") if row["epsilon"] <= _TOP_EPSILON]
        curve = (
            alt.Chart(alt.Data(values=kept))
            .mark_line(color=COLOURS[i])
            .encode(x=x, y=alt.Y("epsilon:Q", title="largest ε", scale=alt.Scale(domainMin=0)))
        )
        baseline = (
            alt.Chart(alt.Data(values=[row for row in constant if row["epsilon"] <= _TOP_EPSILON]))
            .mark_line(color=FAINT, strokeWidth=1)
            .encode(x=x, y="epsilon:Q")
        )
        shown = f"ε = {decimal_down(choice.epsilon, 4):.4f}"
        rule = alt.Chart(alt.Data(values=[{"y": choice.epsilon, "label": shown}]))
        text = rule.mark_text(align="right", dy=12, color=INK).encode(
            x=alt.value(205), y="y:Q", text="label:N"
        )
        below = (
            baseline + curve + rule.mark_rule(strokeDash=[4, 3], color=FAINT).encode(y="y:Q") + text
        )
        columns.append(alt.vconcat(top, below.properties(width=210, height=140)))
    faint = "faint: the constant ratio alone, without the posterior"
    return styled(alt.hconcat(*columns), title, faint)


def figure_1() -> Any:
    """K&R Figure 1: two agencies' profiles and the largest ε along them."""
    agencies = {
        "Agency 1: q = 1": PosteriorUnlessRatio(0.1, 3, priors(q=1)),
        "Agency 2: p = 0.05": PosteriorUnlessRatio(0.1, 3, priors(p=0.05)),
    }
    return _pair(agencies, "At most 10 % sure, unless threefold (K&R Figure 1)")


def figure_2_rows() -> tuple[TradeOff, ...]:
    """K&R Example 3: 4,012 births, a target of 6.0 per 1,000, true rates 0.25 to 2 above it."""
    limit = math.floor(4012 * 6.0 / 1000)
    distances = [math.floor(4012 * (6.0 + above) / 1000) - limit for above in (0.25, 0.5, 1, 2)]
    tolerances = {
        f"r = {r:g}, a = {a:g}": PosteriorUnlessRatio(a, r, priors(q=1))
        if a
        else Ratio(r, priors(q=1))
        for r in (1.2, 2, 5)
        for a in (0, 0.1, 0.25, 0.5)
    }
    return trade_off(tolerances, distances=distances)


def figure_2() -> Any:
    """K&R Figure 2: budget, noise and the chance of a wrong verdict for twelve profiles."""
    return trade_off_chart(figure_2_rows(), "Infant deaths against a target (K&R Figure 2)")


def figure_3() -> Any:
    """K&R Figure 3: three agencies that ask for at most 25 %, unless 1.5-, 3- or sixfold."""
    agencies = {
        f"Agency {i}: r = {r:g}": PosteriorUnlessRatio(0.25, r, priors(q=1))
        for i, r in enumerate((1.5, 3, 6), start=1)
    }
    return _pair(agencies, "Membership, q = 1 (K&R Figure 3)")


def figure_4() -> Any:
    """K&R Figure 4: a 5 % survey, at most 2.5, 15 or 30 % sure, unless threefold."""
    agencies = {
        f"Agency {i}: a = {a:g}": PosteriorUnlessRatio(a, 3, priors(p=0.05))
        for i, a in enumerate((0.025, 0.15, 0.3), start=1)
    }
    return _pair(agencies, "Values in a 5 % survey, p = 0.05 (K&R Figure 4)")


def figure_5(points: int = 60) -> Any:
    """K&R Figure 5: r* and ε over both priors for max{0.25/(pq), 3}."""
    return profile_map(PosteriorUnlessRatio(0.25, 3), "Both priors open (K&R Figure 5)", points)

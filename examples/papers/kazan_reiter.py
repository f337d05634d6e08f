"""Kazan and Reiter, *Prior-itizing Privacy*: the numbers of its examples, and Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from discreet import Costs, choose, cost
from discreet.charts import COLOURS, FAINT, INK, cost_chart, profile_data, styled
from discreet.laws import Geometric
from discreet.promises import PosteriorUnlessRatio, Ratio, priors
from papers import Row, rounded_down

__all__ = [
    "costs",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_5",
    "map_data",
    "rows",
]

_TOP_RATIO, _TOP_EPSILON = 100.0, 4.0


def _agency(tolerance: Any) -> str:
    choice = choose(tolerance)
    noise = choice.noise
    return f"{rounded_down(choice.epsilon)}; {noise['sd']:.2f}; {100 * noise['prob_exact']:.0f} %"


def _switch(posterior: float, ratio: float) -> str:
    tolerance = PosteriorUnlessRatio(posterior, ratio, priors(q=1))
    law = Geometric(choose(tolerance if posterior else Ratio(ratio, priors(q=1))).epsilon)
    chances = ", ".join(f"{law.prob_crosses(m):.2g}" for m in (1, 2, 4, 8))
    return f"{rounded_down(law.epsilon)}; {law.sd:.3f}; {chances}"


def rows() -> Iterator[Row]:
    """Return the numbers of the examples and tables."""
    for ratio, printed in (
        (1.5, "0.51; 2.74; 25 %"),
        (3, "1.30; 1.02; 57 %"),
        (6, "2.04; 0.59; 77 %"),
    ):
        yield Row(
            "Example 1, Table 4",
            f"at most 25 % sure, unless {ratio:g}-fold; q = 1: ε; s.d.; exact",
            printed,
            lambda r=ratio: _agency(PosteriorUnlessRatio(0.25, r, priors(q=1))),
        )
    for posterior, printed in (
        (0.025, "1.09; 1.24; 50 %"),
        (0.15, "1.21; 1.10; 54 %"),
        (0.3, "2.10; 0.56; 78 %"),
    ):
        yield Row(
            "Example 2, Table 5",
            f"at most {100 * posterior:g} % sure, unless threefold; p = 5 %: ε; s.d.; exact",
            printed,
            lambda a=posterior: _agency(PosteriorUnlessRatio(a, 3, priors(p=0.05))),
        )
    for p, printed in ((0.005, "1.63"), (0.0005, "3.94")):
        yield Row(
            "Example 2",
            f"the first of these, p = {100 * p:g} %: ε",
            printed,
            lambda p=p: rounded_down(choose(PosteriorUnlessRatio(0.025, 3, priors(p=p))).epsilon),
        )
    for ratio, posterior in ((5, 0.5), (2, 0.25), (1.2, 0)):
        yield Row(
            "Example 3",
            f"r = {ratio:g}, a = {posterior:g}: ε; s.d.; chance of a wrong verdict, four rates",
            "below 10 % for the nearest rate" if ratio == 5 else "Figure 2",
            lambda a=posterior, r=ratio: _switch(a, r),
            "it is exactly 10 %, not below" if ratio == 5 else "",
        )
    yield Row(
        "(33)",
        "at most 25 % sure, unless threefold, p and q free: ε, at (p, q)",
        "0.65",
        _both,
        "closed form ½ log((r−a)/(1−a)), ours; a grid gives .6506, above the truth",
    )
    yield Row(
        "constant",
        "at most threefold, p and q free: ε",
        "0.5503 by the authors' program",
        lambda: rounded_down(choose(Ratio(3)).epsilon),
        "a grid search errs upward",
    )
    yield Row(
        "(26)",
        "ratio 3 where p ≥ 0.8, q ≥ 0.5",
        "undefined",
        lambda: str(choose({"ratio": 3, "box": [0.8, 1, 0.5, 1], "sided": "one"}).epsilon),
        "p₀q₀ ≥ 1/r: any increase is allowed",
    )
    yield Row(
        "comparison",
        "one of four people is missing, at most 1/3 sure: ε at p = 1/4, q = 1",
        "0.41",
        lambda: rounded_down(choose(Ratio(4 / 3, priors(p=0.25, q=1)), sided="one").epsilon),
        "but “exactly one is missing” breaks assumption 2: a posterior of 0.43 is possible",
    )


def _both() -> str:
    choice = choose("max(0.25/(p*q), 3)")
    return f"{rounded_down(choice.epsilon)} at ({choice.binding.p:.3g}, {choice.binding.q:.3g})"


def figure_1() -> Any:
    """Two agencies' profiles and the largest ε along them."""
    agencies = {
        "Agency 1: q = 1": PosteriorUnlessRatio(0.1, 3, priors(q=1)),
        "Agency 2: p = 0.05": PosteriorUnlessRatio(0.1, 3, priors(p=0.05)),
    }
    return _profiles(agencies, "At most 10 % sure, unless threefold (K&R Figure 1)")


def figure_3() -> Any:
    """Three agencies that ask for at most 25 %, unless 1.5-, 3- or sixfold."""
    agencies = {
        f"Agency {i}: r = {r:g}": PosteriorUnlessRatio(0.25, r, priors(q=1))
        for i, r in enumerate((1.5, 3, 6), start=1)
    }
    return _profiles(agencies, "Membership, q = 1 (K&R Figure 3)")


def figure_4() -> Any:
    """A 5 % survey: at most 2.5, 15 or 30 % sure, unless threefold."""
    agencies = {
        f"Agency {i}: a = {a:g}": PosteriorUnlessRatio(a, 3, priors(p=0.05))
        for i, a in enumerate((0.025, 0.15, 0.3), start=1)
    }
    return _profiles(agencies, "Values in a 5 % survey, p = 0.05 (K&R Figure 4)")


def _profiles(tolerances: Mapping[str, PosteriorUnlessRatio], title: str) -> Any:
    """Draw profiles side by side: r* above, the largest ε below, one budget each.

    Faint behind them: the constant ratio alone, which allows less at low priors.
    """
    columns = []
    for colour, (name, tolerance) in zip(COLOURS, tolerances.items(), strict=False):
        which = "q" if tolerance.box.p_fixed else "p"
        whole = alt.Scale(domain=[0, 1])
        x = alt.X("prior:Q", title=f"prior {which}", scale=whole, axis=alt.Axis(format="%"))
        size = {"width": 210, "height": 140}
        ratio = alt.Y("ratio:Q", title="r*", scale=alt.Scale(type="log"))
        above = _curve(tolerance, "ratio", _TOP_RATIO).mark_line(color=colour)
        largest = alt.Y("epsilon:Q", title="largest ε", scale=alt.Scale(domainMin=0))
        curve = _curve(tolerance, "epsilon", _TOP_EPSILON).mark_line(color=colour)
        alone = Ratio(tolerance.ratio, tolerance.box)
        constant = _curve(alone, "epsilon", _TOP_EPSILON).mark_line(color=FAINT, strokeWidth=1)
        epsilon = choose(tolerance).epsilon
        spot = {"y": epsilon, "label": f"ε = {rounded_down(epsilon)}"}
        rule = alt.Chart(alt.Data(values=[spot])).encode(y="y:Q")
        label = rule.mark_text(align="right", dy=12, color=INK)
        below = (
            constant.encode(x=x, y="epsilon:Q")
            + curve.encode(x=x, y=largest)
            + rule.mark_rule(strokeDash=[4, 3], color=FAINT)
            + label.encode(x=alt.value(205), text="label:N")
        )
        upper = above.encode(x=x, y=ratio).properties(title=name, **size)
        columns.append(alt.vconcat(upper, below.properties(**size)))
    faint = "faint: the constant ratio alone, without the posterior"
    return styled(alt.hconcat(*columns), title, faint)


def _curve(tolerance: Any, key: str, top: float) -> alt.Chart:
    kept = [row for row in profile_data(tolerance) if row[key] <= top]
    return alt.Chart(alt.Data(values=kept))


def costs() -> tuple[Costs, list[str]]:
    """Return what twelve profiles cost (Example 3), and their names.

    4,012 births, a target of 6.0 per 1,000, true rates 0.25 to 2 from it.
    """
    profiles = [(r, a) for r in (1.2, 2, 5) for a in (0, 0.1, 0.25, 0.5)]
    box = priors(q=1)
    promises = [PosteriorUnlessRatio(a, r, box) if a else Ratio(r, box) for r, a in profiles]
    asked = {"denominator": 4012, "per": 1000, "target": 6.0, "away": (0.25, 0.5, 1, 2)}
    return cost(*promises, **asked), [f"r = {r:g}, a = {a:g}" for r, a in profiles]


def figure_2() -> Any:
    """Budget, noise and the chance of a wrong verdict for twelve profiles."""
    return cost_chart(*costs(), "Infant deaths against a target (K&R Figure 2)")


def map_data(tolerance: Any, points: int = 60) -> list[dict[str, float]]:
    """Return r* and the largest ε on a grid of both priors, cut off at 100 and 4."""
    middles = [(i + 0.5) / points for i in range(points)]
    found = []
    for p in middles:
        for q in middles:
            ratio = tolerance.ratio_at(p, q)
            epsilon = choose(Ratio(ratio, priors(p=p, q=q)), sided="one").epsilon
            kept = {"ratio": min(ratio, _TOP_RATIO), "epsilon": min(epsilon, _TOP_EPSILON)}
            found.append({"p": p, "q": q} | kept)
    return found


def figure_5(points: int = 60) -> Any:
    """r* and ε over both priors for max{0.25/(pq), 3}, with the adversary that binds."""
    tolerance = PosteriorUnlessRatio(0.25, 3)
    half = 0.5 / points
    cells = [
        {"ratio": row["ratio"], "epsilon": row["epsilon"]}
        | {f"{name}0": row[name] - half for name in "pq"}
        | {f"{name}1": row[name] + half for name in "pq"}
        for row in map_data(tolerance, points)
    ]
    unit, plain = alt.Scale(domain=[0, 1]), alt.Axis(grid=False, format="%")
    square = alt.Chart(alt.Data(values=cells), width=300, height=300).mark_rect(stroke=None)
    grid = square.encode(
        x=alt.X("p0:Q", title="p: is in the data", scale=unit, axis=plain),
        x2="p1:Q",
        y=alt.Y("q0:Q", title="q: is sensitive, if in", scale=unit, axis=plain),
        y2="q1:Q",
    )
    panels = [
        grid.encode(color=alt.Color(f"{key}:Q", title=label, scale=_viridis(kind)))
        for key, label, kind in (
            ("ratio", "r* (up to 100)", "log"),
            ("epsilon", "largest ε (up to 4)", "linear"),
        )
    ]
    binding = choose(tolerance).binding
    spot = [{"p0": binding.p, "q0": binding.q, "label": "binds"}]
    mark = alt.Chart(alt.Data(values=spot)).encode(x="p0:Q", y="q0:Q")
    word = mark.mark_text(align="right", dx=-8, dy=-8, color="white", fontWeight=600)
    dot = mark.mark_point(filled=True, size=90, color=COLOURS[1], opacity=1)
    both = alt.hconcat(panels[0], panels[1] + dot + word.encode(text="label:N"))
    joined = both.resolve_scale(color="independent")
    return styled(joined, "Both priors open (K&R Figure 5)", str(tolerance))


def _viridis(kind: str) -> alt.Scale:
    return alt.Scale(type=kind, scheme="viridis")

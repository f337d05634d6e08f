"""Kazan, Sharma, Zhang, Jiang and Yan: the numbers of its examples, and Figures 1 to 7.

Figure 3 here shows what belongs to δ = 10⁻⁶ and, beside it, the best δ: the print mixes them up.
Figures 4 and 5 show the paper's route and the tighter bounds for the same releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import altair as alt

from discreet import ZCDP, ApproxDP, PureDP, compose, explain, horizon, plan
from discreet.charts import COLOURS, limit_rule, lines, styled
from discreet.composition import loss_of
from discreet.laws import Gaussian, Geometric, RandomizedResponse
from papers import Row, rounded_down, rounded_up

__all__ = [
    "composition_data",
    "daily_data",
    "figure_1",
    "figure_2",
    "figure_3",
    "figure_4",
    "figure_5",
    "figure_6",
    "figure_7",
    "rows",
    "worst_prior_data",
]

Found = list[dict[str, Any]]
_METHODS = ("basic", "advanced", "optimal")
_WIDTH, _HEIGHT = 460, 300


def _posterior(each: Any, day: int, **how: Any) -> str:
    return rounded_up(horizon(each, 0.5, upto=day, **how).series[-1].posterior or math.nan)


def _difference(each: Any, day: int, **how: Any) -> str:
    return rounded_up(horizon(each, upto=day, **how).series[-1].difference)


def _passed(each: Any, **how: Any) -> str:
    return str(horizon(each, 0.5, **how).releases)


def _moved(each: Any, **how: Any) -> str:
    found = horizon(each, difference=0.98, about="membership", **how)
    return str(found.releases)


def rows() -> Iterator[Row]:
    """Return the numbers of the examples."""
    survey = ApproxDP(0.1, 1e-7)
    yield Row(
        "Example 1.1",
        "(0.1, 1e-7)-DP, from 50 %, at 99 %: belief after",
        "48 % to 52 %",
        lambda: _span(explain(survey, 0.5).posterior),
    )
    daily, noise, paper = ZCDP(0.01), Gaussian.of_rho(0.01), {"method": "paper"}
    for day, printed in ((7, "83 %"), (30, "96 %")):
        yield Row(
            "Example 4.1",
            f"0.01-zCDP a day, from 50 %, day {day}: belief, by their formula; Gaussian curve",
            printed,
            lambda d=day: f"{_posterior(daily, d, **paper)}; {_posterior(noise, d)}",
        )
    yield Row(
        "Example 4.1",
        "first day above 99 %: their formula; any zCDP; Gaussian curve; exact",
        "58",
        lambda: "; ".join(
            _passed(each, posterior=0.99, **how)
            for each, how in ((daily, paper), (daily, {}), (noise, {}), (noise, _EXACT))
        ),
    )
    for day, printed in ((7, "38 %"), (30, "67 %")):
        yield Row(
            "Example 4.1",
            f"day {day}: difference over all priors, by their formula",
            printed,
            lambda d=day: _difference(daily, d, **paper),
            "67 % is 16 → 84 %, not 19 → 81 %" if day == 30 else "",
        )
    yield Row(
        "Example 4.1",
        "first day with a difference above 98 %: the same four",
        "202",
        lambda: "; ".join(
            _moved(each, **how)
            for each, how in ((daily, paper), (daily, {}), (noise, {}), (noise, _EXACT))
        ),
    )
    limit = {"posterior": 0.8, "confidence": 0.95}
    for method, printed in (("basic", "28"), ("advanced", "51"), ("optimal", "96")):
        yield Row(
            "Figure 3",
            f"0.05-DP each, {method}: releases until 80 %, at δ = 1e-6; with δ free",
            printed,
            lambda m=method: "; ".join(
                _passed(PureDP(0.05), method=m, **limit, **point) for point in ({"delta": 1e-6}, {})
            ),
            "" if method == "basic" else "the print does not belong to δ = 1e-6",
        )
    yield Row(
        "Figure 3",
        "the same for geometric noise, exact",
        "–",
        lambda: _passed(Geometric(0.05), strength="exact", **limit),
    )
    year: dict[str, Any] = {
        "releases": 12,
        "difference": 0.2,
        "about": "membership",
        "confidence": 0.99,
    }
    point = {"delta_each": 1e-8, "delta_total": 1e-6}
    yield Row(
        "Example 4.2",
        "twelve releases, difference 20 %: ε each, optimal; basic",
        "0.135",
        lambda: "; ".join(
            rounded_down(plan(**year, **point, **how).budgets[0])
            for how in ({}, {"method": "basic"})
        ),
        "the gain is 0.3 %, not twofold",
    )
    yield Row(
        "Example 4.2",
        "δ of twelve (0.135, 1e-8) releases at ε = 0.81",
        "1e-6",
        lambda: f"{_delta_of_many(0.135, 1e-8, 12, 0.81):.1e}",
        "they are not (0.81, 1e-6)-DP",
    )
    yield Row(
        "Example 4.2",
        "ε each with δ free; geometric noise, exact",
        "–",
        lambda: "; ".join(
            rounded_down(plan(**year, **how).budgets[0])
            for how in ({"delta_each": 1e-8}, {"mechanism": "geometric", **_EXACT})
        ),
    )
    company = ApproxDP(1.8, 1e-5)
    for prior, printed in ((0.5, "86 %, +36 %, ×1.7"), (0.1, "40 %, +30 %, ×4.0")):
        yield Row(
            "Example 4.3",
            f"(1.8, 1e-5)-DP, at 95 %, from {100 * prior:g} %: belief; difference; ratio",
            printed,
            lambda p=prior: _three(explain(company, p, confidence=0.95)),
        )
    yield Row(
        "Example 4.3",
        "the worst prior; difference there; ratio towards p = 0",
        "29 %; 42 %; 6",
        lambda: _worst(explain(company, confidence=0.95)),
    )
    yield Row(
        "§4.4",
        "prior at which the ratio comes near e^ε",
        "p ≈ 1",
        lambda: f"p = {explain(company, confidence=0.95).worst_ratio.p:g}",
        "near 0, not 1",
    )


_EXACT: dict[str, Any] = {"strength": "exact"}


def _span(bounds: Any) -> str:
    return f"{rounded_down(100 * bounds.lower, 2)} % to {rounded_up(100 * bounds.upper, 2)} %"


def _three(belief: Any) -> str:
    return (
        f"{rounded_up(belief.posterior.upper)}; +{rounded_up(belief.difference.upper)}; "
        f"×{rounded_up(belief.ratio.upper)}"
    )


def _worst(belief: Any) -> str:
    difference, ratio = belief.worst_difference, belief.worst_ratio
    return f"{difference.p:.3f}; {rounded_up(difference.value)}; {rounded_up(ratio.value)}"


def _delta_of_many(epsilon: float, delta: float, times: int, total: float) -> float:
    """Return δ at a total ε of many (ε, δ)-DP releases, at worst.

    The worst of them lose all with probability δ each, and are randomized response otherwise.
    """
    answers = loss_of((RandomizedResponse(epsilon), times)).delta(total)
    return 1 - (1 - delta) ** times * (1 - answers)


def figure_1(epsilon: float = 1.0, delta: float = 1e-6) -> Any:
    """The (ε′, δ′)-probabilistic DP that (ε, δ)-DP implies."""
    found = []
    for i in range(1, 1 + round(-40 * math.log10(delta))):
        failure = min(1.0, delta * 10 ** (i / 40))
        if failure < 1:
            belief = explain(ApproxDP(epsilon, delta), 0.5, confidence=1 - failure)
            found.append({"failure": failure, "bound": belief.epsilon_prime})
    line = (
        alt.Chart(alt.Data(values=found), width=_WIDTH, height=_HEIGHT)
        .mark_line(strokeWidth=2, color=COLOURS[0])
        .encode(
            x=alt.X("failure:Q", title="δ′: how often the bound may fail", scale={"type": "log"}),
            y=alt.Y("bound:Q", title="ε′: the bound on the privacy loss"),
        )
    )
    rules = limit_rule(epsilon, "y", f"ε = {epsilon:g}") + limit_rule(delta, "x")
    return styled(line + rules, f"What ({epsilon:g}, {delta:g})-DP says about the privacy loss")


def composition_data(
    epsilon: float = 0.05, delta: float | None = 1e-6, *, upto: int = 150
) -> Found:
    """Return total ε, and the bound on belief at 95 % from 50 %, after k releases by theorem."""
    each = PureDP(epsilon)
    found = []
    for method in _METHODS:
        series = horizon(each, 0.5, upto=upto, confidence=0.95, method=method, delta=delta).series
        for step in series:
            total = None
            if delta is not None:
                total = compose([(each, step.k)], delta=delta, method=method).epsilon
            found.append(
                {
                    "name": method,
                    "k": step.k,
                    "epsilon": total,
                    "posterior": step.posterior,
                    "delta": "best δ" if delta is None else f"δ = {delta:g}",
                }
            )
    return found


def figure_2(epsilon: float = 0.05, delta: float = 1e-6, upto: int = 100) -> Any:
    """Total ε against the number of releases, by composition theorem."""
    chart = lines(
        composition_data(epsilon, delta, upto=upto),
        alt.X("k:Q", title="releases"),
        alt.Y("epsilon:Q", title=f"total ε at δ = {delta:g}"),
        "composition",
    )
    return styled(chart, f"What {epsilon:g}-DP releases add up to")


def figure_3(
    epsilon: float = 0.05, delta: float = 1e-6, *, limit: float = 0.8, upto: int = 150
) -> Any:
    """The bound on belief against the number of releases, as corrected."""
    found = composition_data(epsilon, delta, upto=upto) + composition_data(epsilon, None, upto=upto)
    chart = lines(
        found,
        alt.X("k:Q", title="releases"),
        alt.Y("posterior:Q", title="posterior, at most", scale={"domain": [0.5, 1]}),
        "composition",
    )
    return styled(
        chart.encode(strokeDash=alt.StrokeDash("delta:N")) + limit_rule(limit, "y", f"{limit:g}"),
        f"Belief after many {epsilon:g}-DP releases, from 50 %",
        "with probability 95 %",
    )


def daily_data(rho: float = 0.01, *, upto: int = 365) -> Found:
    """Return the bounds after k daily ρ-zCDP releases, by how they are read (Example 4.1)."""
    ways: list[tuple[str, Any, dict[str, Any]]] = [
        ("KSZ's route", ZCDP(rho), {"method": "paper"}),
        ("any zCDP release", ZCDP(rho), {}),
        ("Gaussian noise, curve", Gaussian.of_rho(rho), {}),
        ("Gaussian noise, exact", Gaussian.of_rho(rho), _EXACT),
    ]
    return [
        {"name": name, "k": step.k, "posterior": step.posterior, "difference": step.difference}
        for name, each, how in ways
        for step in horizon(each, 0.5, confidence=0.99, upto=upto, **how).series
    ]


def figure_4(rho: float = 0.01, *, limit: float = 0.99, upto: int = 150) -> Any:
    """The bound on belief against days, with the tighter readings beside it."""
    y = alt.Y("posterior:Q", title="posterior, at most", scale={"domain": [0.5, 1]})
    return _daily(daily_data(rho, upto=upto), y, limit, f"{rho:g}-zCDP, from 50 %")


def figure_5(rho: float = 0.01, *, limit: float = 0.98, upto: int = 365) -> Any:
    """The largest difference over all priors against days."""
    y = alt.Y("difference:Q", title="posterior − prior, at most", scale={"domain": [0, 1]})
    return _daily(daily_data(rho, upto=upto), y, limit, f"{rho:g}-zCDP, over all priors")


def _daily(found: Found, y: alt.Y, limit: float, of: str) -> Any:
    return styled(
        lines(found, alt.X("k:Q", title="days"), y, "read as")
        + limit_rule(limit, "y", f"{limit:g}"),
        f"Belief after daily releases of {of}",
        "with probability 99 %",
    )


def worst_prior_data(epsilon: float = 1.8, delta: float = 1e-5, failure: float = 0.05) -> Found:
    """Return the worst ratio and difference, for "in" or "not in", at each prior (§4.4)."""
    priors = [i / 400 for i in range(1, 400)]
    of_in = [explain(ApproxDP(epsilon, delta), p, confidence=1 - failure) for p in priors]
    return [
        {
            "prior": p,
            "ratio": max(one.ratio.upper, other.ratio.upper),
            "difference": max(one.difference.upper, other.difference.upper),
        }
        for p, one, other in zip(priors, of_in, reversed(of_in), strict=True)
    ]


def figure_6() -> Any:
    """The worst posterior over prior, for "in" or "not in", at each prior."""
    y = alt.Y("ratio:Q", title="posterior / prior, at most", scale={"type": "log"})
    return _by_prior(y)


def figure_7() -> Any:
    """The worst posterior minus prior, for "in" or "not in", at each prior."""
    y = alt.Y("difference:Q", title="|posterior − prior|, at most", scale={"zero": True})
    return _by_prior(y)


def _by_prior(y: alt.Y) -> Any:
    line = (
        alt.Chart(alt.Data(values=worst_prior_data()), width=_WIDTH, height=_HEIGHT)
        .mark_line(strokeWidth=2, color=COLOURS[0])
        .encode(x=alt.X("prior:Q", title="prior probability of being in"), y=y)
    )
    title = "The worst that (1.8, 1e-05)-DP allows, in or not in"
    return styled(line, title, "with probability 0.95")

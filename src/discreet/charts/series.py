"""Charts of beliefs over a series, and Figures 1 to 7 of KSZ from our own numbers.

A function `..._data` gives the rows that a chart draws. Figure 3 here shows what belongs to
δ = 10⁻⁶ and, beside it, the best δ: the print mixes them up. Figures 4 and 5 show the paper's route
and the tighter bounds for the same releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from discreet.beliefs import membership
from discreet.charts.style import COLOURS, FAINT, MUTED, styled
from discreet.composition import loss_of
from discreet.composition.curves import epsilon_prime
from discreet.guarantees import ZCDP, PureDP
from discreet.laws import Gaussian, Mechanism
from discreet.rounding import decimal_up
from discreet.series import horizon

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
    "series_chart",
    "series_data",
    "worst_prior_data",
]

Row = dict[str, Any]
_METHODS = ("basic", "advanced", "optimal")
_WIDTH, _HEIGHT = 460, 300


def _lines(
    rows: list[Row],
    x: alt.X,
    y: alt.Y,
    names: Sequence[str],
    title: str,
    *,
    dash: str | None = None,
) -> alt.Chart:
    """One line a name; told apart by colour and, where there are two kinds, by dashes."""
    colour = alt.Color(
        "name:N",
        title=title,
        sort=list(names),
        scale=alt.Scale(domain=list(names), range=list(COLOURS[: len(names)])),
    )
    chart = alt.Chart(alt.Data(values=rows), width=_WIDTH, height=_HEIGHT)
    encoded = chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    return encoded if dash is None else encoded.encode(strokeDash=alt.StrokeDash(f"{dash}:N"))


def _rule(value: float, axis: str, text: str = "") -> alt.LayerChart:
    data = alt.Data(values=[{axis: value, "text": text}])
    place = {axis: alt.Y(f"{axis}:Q")} if axis == "y" else {axis: alt.X(f"{axis}:Q")}
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 4], color=FAINT).encode(**place)
    label = alt.Chart(data).mark_text(align="left", dx=4, dy=-6, color=MUTED)
    return rule + label.encode(text="text:N", **place)


def figure_1(epsilon: float = 1.0, delta: float = 1e-6) -> Any:
    """The (ε', δ')-probabilistic DP that (ε, δ)-DP implies (KSZ Figure 1)."""
    rows = []
    for i in range(1, 1 + round(-40 * math.log10(delta))):
        failure = min(1.0, delta * 10 ** (i / 40))
        rows.append({"failure": failure, "bound": epsilon_prime(epsilon, delta, failure)})
    line = (
        alt.Chart(alt.Data(values=rows), width=_WIDTH, height=_HEIGHT)
        .mark_line(strokeWidth=2, color=COLOURS[0])
        .encode(
            x=alt.X("failure:Q", title="δ′: how often the bound may fail", scale={"type": "log"}),
            y=alt.Y("bound:Q", title="ε′: the bound on the privacy loss"),
        )
    )
    rules = _rule(epsilon, "y", f"ε = {epsilon:g}") + _rule(delta, "x")
    return styled(line + rules, f"What ({epsilon:g}, {delta:g})-DP says about the privacy loss")


def composition_data(
    epsilon: float = 0.05,
    delta: float | None = 1e-6,
    *,
    prior: float = 0.5,
    failure: float = 0.05,
    upto: int = 150,
) -> list[Row]:
    """Return total ε and the posterior bound after k releases, by composition theorem."""
    rows = []
    for method in _METHODS:
        for k in range(1, upto + 1):
            loss = loss_of((PureDP(epsilon), k), delta=delta, method=method)
            bound = loss.one_step(failure)
            rows.append(
                {
                    "name": method,
                    "k": k,
                    "epsilon": None if bound.point is None else bound.point[0],
                    "posterior": membership.posterior(bound.epsilon_prime, prior).upper,
                    "delta": "best δ" if delta is None else f"δ = {delta:g}",
                }
            )
    return rows


def figure_2(epsilon: float = 0.05, delta: float = 1e-6, upto: int = 100) -> Any:
    """Total ε against the number of releases, by composition theorem (KSZ Figure 2)."""
    rows = composition_data(epsilon, delta, upto=upto)
    chart = _lines(
        rows,
        alt.X("k:Q", title="releases"),
        alt.Y("epsilon:Q", title=f"total ε at δ = {delta:g}"),
        _METHODS,
        "composition",
    )
    return styled(chart, f"What {epsilon:g}-DP releases add up to")


def figure_3(
    epsilon: float = 0.05, delta: float = 1e-6, *, limit: float = 0.8, upto: int = 150
) -> Any:
    """The posterior bound against the number of releases (KSZ Figure 3, as corrected)."""
    rows = composition_data(epsilon, delta, upto=upto) + composition_data(epsilon, None, upto=upto)
    chart = _lines(
        rows,
        alt.X("k:Q", title="releases"),
        alt.Y("posterior:Q", title="posterior, at most", scale={"domain": [0.5, 1]}),
        _METHODS,
        "composition",
        dash="delta",
    )
    return styled(
        chart + _rule(limit, "y", f"{limit:g}"),
        f"Belief after many {epsilon:g}-DP releases, from 50 %",
        "with probability 95 %",
    )


def daily_data(
    rho: float = 0.01, *, prior: float = 0.5, confidence: float = 0.99, upto: int = 365
) -> list[Row]:
    """Return the bounds after k daily ρ-zCDP releases, by how they are read (KSZ Example 4.1)."""
    ways: list[tuple[str, Any, dict[str, Any]]] = [
        ("KSZ's route", ZCDP(rho), {"method": "paper"}),
        ("any zCDP release", ZCDP(rho), {}),
        ("Gaussian noise, curve", Gaussian.of_rho(rho), {}),
        ("Gaussian noise, exact", Gaussian.of_rho(rho), {"strength": "exact"}),
    ]
    rows = []
    for name, each, how in ways:
        found = horizon(each, prior, confidence=confidence, upto=upto, **how)
        rows += [
            {"name": name, "k": s.k, "posterior": s.posterior, "difference": s.difference}
            for s in found.series
        ]
    return rows


def figure_4(rho: float = 0.01, *, limit: float = 0.99, upto: int = 150) -> Any:
    """The posterior bound against days (KSZ Figure 4), with the tighter readings beside it."""
    return _daily(daily_data(rho, upto=upto), "posterior", limit, rho, [0.5, 1])


def figure_5(rho: float = 0.01, *, limit: float = 0.98, upto: int = 365) -> Any:
    """The largest difference over all priors against days (KSZ Figure 5)."""
    return _daily(daily_data(rho, upto=upto), "difference", limit, rho, [0, 1])


def _daily(rows: list[Row], key: str, limit: float, rho: float, domain: list[float]) -> Any:
    title = {"posterior": "posterior, at most", "difference": "posterior − prior, at most"}[key]
    chart = _lines(
        rows,
        alt.X("k:Q", title="days"),
        alt.Y(f"{key}:Q", title=title, scale={"domain": domain}),
        list(dict.fromkeys(row["name"] for row in rows)),
        "read as",
    )
    start = "from 50 %" if key == "posterior" else "over all priors"
    return styled(
        chart + _rule(limit, "y", f"{limit:g}"),
        f"Belief after daily releases of {rho:g}-zCDP, {start}",
        "with probability 99 %",
    )


def worst_prior_data(epsilon: float = 1.8, delta: float = 1e-5, failure: float = 0.05) -> list[Row]:
    """Return the worst ratio and difference, for "in" or "not in", at each prior (KSZ §4.4)."""
    bound = epsilon_prime(epsilon, delta, failure)
    rows = []
    for i in range(1, 400):
        p = i / 400
        rows.append(
            {
                "prior": p,
                "ratio": membership.ratio_either(bound, p),
                "difference": membership.difference_either(bound, p),
            }
        )
    return rows


def figure_6(epsilon: float = 1.8, delta: float = 1e-5, failure: float = 0.05) -> Any:
    """The worst posterior over prior, for "in" or "not in", at each prior (KSZ Figure 6)."""
    return _by_prior(worst_prior_data(epsilon, delta, failure), "ratio", epsilon, delta, failure)


def figure_7(epsilon: float = 1.8, delta: float = 1e-5, failure: float = 0.05) -> Any:
    """The worst posterior minus prior, for "in" or "not in", at each prior (KSZ Figure 7)."""
    rows = worst_prior_data(epsilon, delta, failure)
    return _by_prior(rows, "difference", epsilon, delta, failure)


def _by_prior(rows: list[Row], key: str, epsilon: float, delta: float, failure: float) -> Any:
    titles = {"ratio": "posterior / prior, at most", "difference": "|posterior − prior|, at most"}
    scale: dict[str, Any] = {"type": "log"} if key == "ratio" else {"zero": True}
    chart = (
        alt.Chart(alt.Data(values=rows), width=_WIDTH, height=_HEIGHT)
        .mark_line(strokeWidth=2, color=COLOURS[0])
        .encode(
            x=alt.X("prior:Q", title="prior probability of being in"),
            y=alt.Y(f"{key}:Q", title=titles[key], scale=scale),
        )
    )
    return styled(
        chart,
        f"The worst that ({epsilon:g}, {delta:g})-DP allows, in or not in",
        f"with probability {1 - failure:g}",
    )


def series_data(
    mechanism: Mechanism,
    prior: float = 0.5,
    *,
    upto: int = 100,
    confidence: float = 0.99,
    sided: str = "two",
) -> list[Row]:
    """Return the posterior bound after k releases at every strength that the mechanism has."""
    rows: list[Row] = []
    for strength in ("generic", "curve", "exact"):
        found = horizon(
            mechanism,
            prior,
            upto=upto,
            confidence=confidence,
            sided=sided,
            strength=strength,
        )
        if found.strength != strength:
            continue  # the exact bound is not proved for this mechanism
        rows += [{"name": strength, "k": s.k, "posterior": s.posterior} for s in found.series]
    return rows


def series_chart(
    mechanism: Mechanism,
    prior: float = 0.5,
    *,
    upto: int = 100,
    confidence: float = 0.99,
    sided: str = "two",
    limits: Iterable[float] = (),
) -> Any:
    """Belief against the number of releases, all strengths in one picture."""
    rows = series_data(mechanism, prior, upto=upto, confidence=confidence, sided=sided)
    names = list(dict.fromkeys(row["name"] for row in rows))
    chart: Any = _lines(
        rows,
        alt.X("k:Q", title="releases"),
        alt.Y("posterior:Q", title="posterior, at most", scale={"domain": [prior, 1]}),
        names,
        "strength",
    )
    for limit in limits:
        chart = chart + _rule(limit, "y", f"{decimal_up(limit, 4):g}")
    return styled(
        chart,
        f"Belief after many releases, from {prior:.0%}",
        [
            f"with probability {confidence:g}; a strong adversary",
            "generic and curve survive post-processing, exact holds for the output as released",
        ],
    )

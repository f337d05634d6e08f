"""The screen Series: belief over many releases, how many until a limit, and the budget of each.

One form asks both questions of the same series: with this budget, when is the limit passed
(`discreet.horizon`); and which budget keeps the limit to the end (`discreet.plan`). Long series are
looked at in some places only, and where a page should not take the time, the command is named.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse, Response

from discreet.errors import DiscreetError
from discreet.series import Horizon, Plan, horizon, plan
from discreet.series.planning import shown_down
from discreet.web.links import as_yaml, link, yaml_file
from discreet.web.percents import share
from discreet.web.problems import filled
from discreet.web.screens import REFUSED, How, page
from discreet.web.series_state import MECHANISMS, SeriesState
from discreet.web.series_words import (
    STRENGTHS,
    command_of,
    count_words,
    how_horizon,
    how_plan,
    passed_words,
    sentence_of,
    shown_up,
    time_words,
)

__all__ = ["Budgets", "SeriesAnswer", "beliefs", "budgets", "router"]

router = APIRouter()

_SHOWN_MOST = 5_000  # releases in the picture
_SEARCHED_MOST = 10_000  # releases until a limit
_POINTS = 60
# Mechanisms whose privacy loss has no closed form: each bound costs a convolution, and a wide one
# where there is much noise. So many points, and down to this budget.
_SLOW_POINTS = 16
_SLOW_PLAN_MOST = 1_000


class Reading(BaseModel):
    """One strength: when the limit is passed, and where belief stands at the end."""

    strength: str
    releases: int | None
    searched: int
    first_passed: str
    at_end: float
    method: str
    survives_post_processing: bool


class SeriesAnswer(BaseModel):
    """Belief over the series, in every strength that the releases have."""

    headline: str
    when: str
    sentence: str
    limit_word: str
    strengths: list[str]
    readings: list[Reading]
    lines: list[list[str]]
    steps: list[list[str]]
    notes: list[str]
    holds_with: float
    how: How
    chart: dict[str, Any]
    caption: str
    link: str
    yaml: str


class Share(BaseModel):
    """The budget of each release at one strength."""

    strength: str
    epsilon: float | None
    rho: float | None
    sd: float | None
    method: str


class Budgets(BaseModel):
    """The budget of each release that keeps the limit to the end."""

    headline: str
    each_of: str
    accuracy: str
    shares: list[Share]
    lines: list[list[str]]
    notes: list[str]
    how: How


def _look(state: SeriesState, strength: str, **how: Any) -> Horizon:
    """Ask `horizon` once; the answer is the one that the command gives."""
    return horizon(
        state.each(),
        **state.promise_keys(),
        confidence=share(state.confidence),
        sided=state.sided,
        strength=strength,  # type: ignore[arg-type]
        delta=state.delta,
        **how,
    )


def _strengths(state: SeriesState) -> tuple[str, ...]:
    """Name the strengths that the releases have; one that falls back on another costs as much."""
    from discreet.composition import loss_of

    if state.noise() is None:
        return STRENGTHS[:1]
    return STRENGTHS if loss_of((state.each(), state.releases)).exact_proved else STRENGTHS[:2]


@lru_cache(maxsize=64)
def beliefs(state: SeriesState) -> SeriesAnswer:
    """Return belief over time in the strengths that the releases have."""
    from discreet.charts.over_time import belief_over_time_spec

    shown = min(state.releases, _SHOWN_MOST)
    found: dict[str, tuple[Horizon, Horizon]] = {}
    slow = state.budget < (state.slow_below or 0.0)
    points = _POINTS if state.slow_below is None else _SLOW_POINTS
    for strength in STRENGTHS[:1] if slow else _strengths(state):
        # When the limit is passed needs no steps on the way there; the picture does.
        until = _look(state, strength, most=2, ceiling=_SEARCHED_MOST)
        if until.strength == strength:
            found[strength] = until, _look(state, strength, most=points, upto=shown)
    start = share(state.before) if state.about == "posterior" else 0.0
    rows = [
        {"name": name, "k": step.k, "value": value, "passes": step.k == until.releases}
        for name, (until, series) in found.items()
        for step, value in zip(series.series, _values(state, series), strict=True)
    ]
    before = [{"name": name, "k": 0, "value": start, "passes": False} for name in found]
    quoted = found["curve" if "curve" in found else "generic"][0]
    notes = _notes(state, shown, tuple(found), slow)
    picture = belief_over_time_spec(
        before + rows,
        per_year=state.per_year,
        limit=share(state.limit),
        about=state.about,
        start=start,
    )
    return SeriesAnswer(
        headline=count_words(quoted),
        when=passed_words(quoted, state.per_year),
        sentence=sentence_of(state, quoted),
        limit_word="% sure" if state.about == "posterior" else "percentage points",
        strengths=list(found),
        readings=[_reading(state, until, series) for until, series in found.values()],
        lines=[_line(state, until, series) for until, series in found.values()],
        steps=_steps(state, {name: series for name, (_, series) in found.items()}),
        notes=notes,
        holds_with=quoted.holds_with,
        how=how_horizon(state, quoted),
        chart=picture,
        caption=f"Belief over {state.years} years: {passed_words(quoted, state.per_year)}",
        link=link("/series", state.model_dump(exclude_defaults=True)),
        yaml=link("/series/series.yaml", state.model_dump(exclude_defaults=True)),
    )


def _values(state: SeriesState, series: Horizon) -> list[float]:
    if state.about == "difference":
        return [step.difference for step in series.series]
    return [step.posterior or 0.0 for step in series.series]


def _reading(state: SeriesState, until: Horizon, series: Horizon) -> Reading:
    return Reading(
        strength=until.strength,
        releases=until.releases,
        searched=until.searched,
        first_passed=passed_words(until, state.per_year),
        at_end=_values(state, series)[-1],
        method=until.method,
        survives_post_processing=until.survives_post_processing,
    )


def _line(state: SeriesState, until: Horizon, series: Horizon) -> list[str]:
    return [
        until.strength,
        f"not within {until.searched:,}" if until.releases is None else f"{until.releases:,}",
        "" if until.releases is None else time_words(until.releases, state.per_year),
        shown_up(_values(state, series)[-1]),
        "yes" if until.survives_post_processing else "no: the output as released",
    ]


def _steps(state: SeriesState, series: dict[str, Horizon]) -> list[list[str]]:
    """The figures of the picture, at some places that all strengths have."""
    common = sorted(set.intersection(*({s.k for s in one.series} for one in series.values())))
    places = sorted({common[round(i * (len(common) - 1) / 11)] for i in range(12)})
    values = {
        name: dict(zip((s.k for s in one.series), _values(state, one), strict=True))
        for name, one in series.items()
    }
    return [
        [f"{k:,}", time_words(k, state.per_year), *(shown_up(values[name][k]) for name in series)]
        for k in places
    ]


def _notes(state: SeriesState, shown: int, strengths: tuple[str, ...], slow: bool) -> list[str]:
    notes = []
    if shown < state.releases:
        notes.append(
            f"The picture ends after {shown:,} of {state.releases:,} releases; "
            "`discreet horizon --upto` goes further."
        )
    if state.noise() is None:
        notes.append("Only the promise is known, not the noise; a mechanism's own curve says more.")
    elif slow:
        notes.append(_takes_longer("horizon", state.horizon_flags()))
    elif "exact" not in strengths:
        notes.append(
            "The exact law is not quoted: that the worst contribution is the full one is not "
            "proved for this noise."
        )
    return notes


@lru_cache(maxsize=64)
def budgets(state: SeriesState) -> Budgets:
    """Return the budget of each release that keeps the limit to the end of the series."""
    flags = state.plan_flags()
    found: dict[str, Plan] = {}
    slow = state.slow_below is not None and state.releases > _SLOW_PLAN_MOST
    for strength in _strengths(state):
        if slow:
            break
        one = plan(**flags, strength=strength)  # type: ignore[arg-type]
        if one.strength == strength:
            found[strength] = one
        slow = one.budgets[0] < (state.slow_below or 0.0)
    if not found:
        found["generic"] = plan(**flags, strength="generic")
    quoted = found["curve" if "curve" in found else "generic"]
    sign = "ρ" if state.in_rho else "ε"
    notes = [quoted.accumulation.accumulates]
    if slow:
        notes.append(_takes_longer("plan", flags))
    return Budgets(
        headline=f"{sign} = {shown_down(quoted.budgets[0])}",
        each_of=f"each of {state.releases:,} releases" if state.releases > 1 else "the release",
        accuracy=quoted.accuracy.words,
        shares=[_share(one) for one in found.values()],
        lines=[
            [
                one.strength,
                shown_down(one.budgets[0]),
                _off_by(one.accuracy.sd),
                _off_by(one.accuracy.within_95),
            ]
            for one in found.values()
        ],
        notes=notes,
        how=how_plan(state, quoted),
    )


def _takes_longer(name: str, flags: dict[str, Any]) -> str:
    return (
        "The curve of this noise takes longer here than a page should; "
        f"`{command_of(name, flags)}` takes its time."
    )


def _share(one: Plan) -> Share:
    return Share(
        strength=one.strength,
        epsilon=one.per_release["epsilon"],
        rho=one.per_release["rho"],
        sd=one.accuracy.sd,
        method=one.method,
    )


def _off_by(width: float | None) -> str:
    from discreet.rounding import decimal_up

    return "" if width is None else f"{decimal_up(width, 2):,.6g}"


# -- addresses

Asked = Annotated[SeriesState, Query()]


@router.get("/api/series", responses=REFUSED)
def series_api(state: Asked) -> SeriesAnswer:
    """Belief over a series of releases, and when it passes a limit."""
    return beliefs(state)


@router.get("/api/series/plan", responses=REFUSED)
def plan_api(state: Asked) -> Budgets:
    """The budget of each release that keeps a limit over a series."""
    return budgets(state)


@router.get("/series/series.yaml", include_in_schema=False)
def series_yaml(state: Asked) -> Response:
    """The questions of the screen as a file that `horizon` and `plan` read."""
    said = {"horizon": state.horizon_flags(), "plan": state.plan_flags()}
    top = "discreet horizon --file series.yaml; discreet plan --file series.yaml"
    return yaml_file(as_yaml(said, top), "series.yaml")


@router.get("/series", include_in_schema=False)
def series_page(request: Request) -> HTMLResponse:
    """The screen; without JavaScript the form brings the same numbers."""
    form = filled(SeriesState, request.query_params, beliefs)
    shares, plan_problem = None, ""
    try:
        shares = None if form.problem else budgets(form.state)
    except DiscreetError as error:
        plan_problem = str(error)
    return page(
        request,
        "series.html",
        status=form.status,
        link=form.answer.link,
        yaml=form.answer.yaml,
        shown=form.shown,
        mechanisms=MECHANISMS,
        answer=form.answer,
        shares=shares,
        problem=form.problem,
        plan_problem=plan_problem,
    )

"""The screen Series: when belief passes a limit over many releases, and what each may spend.

One form asks both questions of the same series: with this budget, when is the limit passed
(`discreet.horizon`); and which budget keeps the limit to the end (`discreet.plan`). Long series are
looked at in some places only, and where a page should not take the time, the command is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse, Response

from discreet.errors import DiscreetError
from discreet.guarantees import stated
from discreet.laws.registry import by_budget, kind_of, names
from discreet.rounding import decimal_up
from discreet.series import Horizon, Plan, horizon, plan
from discreet.series.planning import shown_down
from discreet.statements.presenter import bound_text, time_text
from discreet.web.forms import Choice, Form, Number, Text, filled, percentage, share
from discreet.web.screens import REFUSED, How, as_yaml, command_of, how, yaml_file
from discreet.web.thread import Thread, link
from discreet.words import say

router = APIRouter()


class Noise(NamedTuple):
    """A way to make a release: its name, the sign of its budget, its Python expression."""

    label: str
    sign: str
    python: str


MECHANISMS: dict[str, Noise] = {
    **{
        name: Noise(f"{kind.label}, {kind.sign} each", kind.sign, kind.python)
        for name, kind in ((name, kind_of(name)) for name in names(planned=True))
    },
    "epsilon": Noise(say("web.series.any_epsilon"), "ε", "guarantees.PureDP({})"),
    "rho": Noise(say("web.series.any_rho"), "ρ", "guarantees.ZCDP({})"),
}


_PERCENT = Number(above=0, below=100, unit="percent")
_DELTA = Number(low=0, below=1, optional=True)


class SeriesForm(Form):
    """What the form of the screen says; probabilities are percentages, as people type them."""

    mechanism: Annotated[str, Choice(tuple(MECHANISMS))] = "gaussian"
    budget: Annotated[float, Number(above=0, high=1000)] = 0.01
    delta_each: Annotated[float | None, _DELTA] = None
    per_year: Annotated[int, Number(low=1, high=366, whole=True)] = 12
    years: Annotated[int, Number(low=1, high=100, whole=True)] = 10
    before: Annotated[float, _PERCENT] = 50.0
    about: Annotated[str, Choice(("posterior", "difference"))] = "posterior"
    limit: Annotated[float, _PERCENT] = 90.0
    confidence: Annotated[float, Number(above=0, high=100, unit="percent")] = 99.0
    sided: Annotated[str, Choice(("two", "one"))] = "two"
    delta: Annotated[float | None, Number(above=0, below=1, optional=True)] = None
    keeps: Annotated[str, Text(4_000)] = ""
    """A promise that the budgets keep in place of the limit."""
    unit_name: Annotated[str, Text(80)] = ""
    """What is protected, where it is no person or has a name."""

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Begin with the promise that came along: the same limit, and a twelfth of its budget.

        One that says more than a limit of this form is kept as it is.
        """
        keys, budget = thread.keys(), thread.budget()
        said: dict[str, Any] = {}
        beside = {"every_output", "confidence", "sided", "delta", "unit", "unit_name"}
        what = keys.keys() - beside
        if what == {"posterior", "p", "about"} and keys["about"] == "membership":
            said = {"before": percentage(keys["p"]), "limit": percentage(keys["posterior"])}
        elif what == {"difference", "about"} and keys["about"] == "membership":
            said = {"about": "difference", "limit": percentage(keys["difference"])}
        elif keys:
            said = {"keeps": thread.promise}
        said |= {"unit_name": thread.whom} if thread.whom else {}
        if keys.get("confidence"):
            said["confidence"] = percentage(keys["confidence"])
        each = shown_down(min(budget["epsilon"], 1e3) / 12) if budget.get("epsilon") else None
        if each is None or budget.get("delta"):
            return said
        sure = {"confidence": 100} if keys.get("every_output") else {}
        return said | sure | {"mechanism": "geometric", "budget": each, "years": 1}

    @property
    def sign(self) -> str:
        """The sign of the budget of each release: ε or ρ."""
        return MECHANISMS[self.mechanism].sign

    @property
    def releases(self) -> int:
        """How many releases the whole series has."""
        return self.per_year * self.years

    @property
    def noise(self) -> str | None:
        """The mechanism, or None where only a promise is known."""
        return None if self.mechanism in ("epsilon", "rho") else self.mechanism

    @property
    def local(self) -> bool:
        """Whether each person randomizes their own answer: then only values are protected."""
        return self.noise is not None and kind_of(self.noise).local

    @property
    def slow_below(self) -> float | None:
        """The budget below which bounds take long; None where the loss has a closed form."""
        return None if self.noise is None else kind_of(self.noise).slow_below

    def each(self) -> Any:
        """Return what one release is: a mechanism, or a promise."""
        if self.noise is not None:
            return by_budget(self.noise, self.budget)
        if self.mechanism == "rho":
            return stated(rho=self.budget)
        return stated(self.budget, self.delta_each)

    def horizon_flags(self) -> dict[str, Any]:
        """Return the flags of `discreet horizon` that ask this."""
        asked = {
            "mechanism": self.noise,
            "rho" if self.sign == "ρ" else "epsilon": self.budget,
            "delta_each": self.delta_each if self.mechanism == "epsilon" else None,
        }
        return _given(asked | self.promise_keys() | self._surely("delta"))

    def promise_keys(self) -> dict[str, Any]:
        """Return what is to be kept over the series, as the keys of a promise."""
        whom = {"unit_name": self.unit_name or None}
        if self.about == "posterior":
            prior = "q" if self.local else "prior"
            return _given({"posterior": share(self.limit), prior: share(self.before), **whom})
        about = None if self.local else "membership"
        return _given({"difference": share(self.limit), "about": about, **whom})

    def plan_flags(self) -> dict[str, Any]:
        """Return the flags of `discreet plan` that ask for the budget of each release."""
        kept = Thread.of({"promise": self.keeps}).keys()
        total = {"delta_total": kept.pop("delta", None) or self.delta}
        asked = {
            "releases": self.releases,
            **(kept or self.promise_keys()),
            "mechanism": self.noise,
            "budget": "rho" if self.mechanism == "rho" else None,
            "delta_each": self.delta_each if self.mechanism == "epsilon" else None,
        }
        return _given(asked | (total if kept else self._surely("delta_total")))

    def surely(self) -> dict[str, Any]:
        """Return how surely it is kept, as keys of a promise: with 100 %, for every output."""
        if self.confidence == 100:
            return {"every_output": True}
        return {"confidence": share(self.confidence)}

    def _surely(self, total: str) -> dict[str, Any]:
        sided = None if self.sided == "two" else self.sided
        return self.surely() | {"sided": sided, total: self.delta}


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


STRENGTHS = ("generic", "curve", "exact")
_SHOWN_MOST = 5_000  # releases in the picture
_SEARCHED_MOST = 10_000  # releases until a limit
_POINTS = 60
# Mechanisms whose privacy loss has no closed form: each bound costs a convolution, and a wide one
# where there is much noise. So many points, and down to this budget.
_SLOW_POINTS = 16
_SLOW_PLAN_MOST = 1_000


class SeriesAnswer(BaseModel):
    """Belief over the series, in every strength that the releases have."""

    headline: str
    when: str
    releases: int
    sentence: str
    limit_word: str
    strengths: list[str]
    lines: list[list[str]]
    steps: list[list[str]]
    notes: list[str]
    holds_with: float
    how: How
    chart: dict[str, Any]
    caption: str
    link: str
    yaml: str


class Budgets(BaseModel):
    """The budget of each release that keeps the limit to the end."""

    headline: str
    each_of: str
    accuracy: str
    lines: list[list[str]]
    notes: list[str]
    how: How


def _look(state: SeriesForm, strength: str, **how: Any) -> Horizon:
    """Ask `horizon` once; the answer is the one that the command gives."""
    return horizon(
        state.each(),
        **state.promise_keys(),
        **state.surely(),
        sided=state.sided,
        strength=strength,  # type: ignore[arg-type]
        delta=state.delta,
        **how,
    )


def _strengths(state: SeriesForm) -> tuple[str, ...]:
    """Name the strengths that the releases have; one that falls back on another costs as much."""
    from discreet.composition import loss_of

    if state.noise is None or "every_output" in state.surely():
        return STRENGTHS[:1]
    return STRENGTHS if loss_of((state.each(), state.releases)).exact_proved else STRENGTHS[:2]


@lru_cache(maxsize=64)
def beliefs(state: SeriesForm) -> SeriesAnswer:
    """Return belief over time in the strengths that the releases have."""
    from discreet.charts import belief_over_time_spec

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
        {"name": name, "k": k, "value": value, "passes": k == until.releases}
        for name, (until, series) in found.items()
        for k, value in _values(state, series).items()
    ]
    before = [{"name": name, "k": 0, "value": start, "passes": False} for name in found]
    quoted = found["curve" if "curve" in found else "generic"][0]
    notes = [*_notes(state, shown, tuple(found), slow), *filter(None, [quoted.rounding])]
    picture = belief_over_time_spec(
        before + rows,
        per_year=state.per_year,
        limit=share(state.limit),
        about=state.about,
        start=start,
    )
    headline, when = _passed(quoted, state.per_year)
    query = state.model_dump(exclude_defaults=True)
    return SeriesAnswer(
        headline=headline,
        when=when,
        releases=state.releases,
        sentence=" ".join((*_promise_kept(state), _sentence(state, quoted))),
        limit_word=say(f"web.series.limit_{state.about}"),
        strengths=list(found),
        lines=[_line(state, until, series) for until, series in found.values()],
        steps=_steps(state, {name: series for name, (_, series) in found.items()}),
        notes=notes,
        holds_with=quoted.holds_with,
        how=_how_horizon(state, quoted),
        chart=picture,
        caption=say("web.series.caption", years=state.years, passed=when),
        link=link("/series", query),
        yaml=link("/series/series.yaml", query),
    )


def _promise_kept(state: SeriesForm) -> Iterator[str]:
    """Say how many releases keep the promise that came along, beside the limit of the form."""
    kept = Thread.of({"promise": state.keeps}).keys()
    if kept and state.budget >= (state.slow_below or 0.0):
        found = horizon(state.each(), **kept, most=2, ceiling=_SEARCHED_MOST)
        first = found.searched + 1 if found.releases is None else found.releases
        yield say("web.series.promise_until", releases=first - 1)
        yield from filter(None, [found.rounding])


def _values(state: SeriesForm, series: Horizon) -> dict[int, float]:
    """Return what the limit is on after so many releases."""
    return {step.k: getattr(step, state.about) or 0.0 for step in series.series}


def _line(state: SeriesForm, until: Horizon, series: Horizon) -> list[str]:
    return [
        until.strength,
        say("web.series.not_within", searched=f"{until.searched:,}")
        if until.releases is None
        else f"{until.releases:,}",
        "" if until.releases is None else time_text(until.releases, state.per_year),
        bound_text(list(_values(state, series).values())[-1]),
        say(f"web.series.survives_{'yes' if until.survives_post_processing else 'no'}"),
    ]


def _steps(state: SeriesForm, series: dict[str, Horizon]) -> list[list[str]]:
    """The figures of the picture, at some places that all strengths have."""
    values = [_values(state, one) for one in series.values()]
    common = sorted(set.intersection(*map(set, values)))
    places = sorted({common[round(i * (len(common) - 1) / 11)] for i in range(12)})
    return [
        [f"{k:,}", time_text(k, state.per_year), *(bound_text(one[k]) for one in values)]
        for k in places
    ]


def _notes(state: SeriesForm, shown: int, strengths: tuple[str, ...], slow: bool) -> list[str]:
    notes = []
    if shown < state.releases:
        notes.append(say("web.series.cut", shown=f"{shown:,}", releases=f"{state.releases:,}"))
    if state.noise is None:
        notes.append(say("web.series.promise_only"))
    elif slow:
        command = command_of("horizon", state.horizon_flags())
        notes.append(say("web.series.takes_longer", command=command))
    elif "exact" not in strengths and "every_output" not in state.surely():
        notes.append(say("web.series.exact_unproved"))
    return notes


@lru_cache(maxsize=64)
def budgets(state: SeriesForm) -> Budgets:
    """Return the budget of each release that keeps the limit to the end of the series."""
    flags = state.plan_flags()
    found: dict[str, Plan] = {}
    slow = state.slow_below is not None and state.releases > _SLOW_PLAN_MOST
    for strength in STRENGTHS[:1] if "every_output" in flags else _strengths(state):
        if slow:
            break
        one = plan(**flags, strength=strength)  # type: ignore[arg-type]
        if one.strength == strength:
            found[strength] = one
        slow = one.budgets[0] < (state.slow_below or 0.0)
    if not found:
        found["generic"] = plan(**flags, strength="generic")
    quoted = found["curve" if "curve" in found else "generic"]
    kept = say(f"web.series.{'promise' if state.keeps else 'limit'}_kept")
    notes = [kept, quoted.accumulation.accumulates]
    if slow:
        notes.append(say("web.series.takes_longer", command=command_of("plan", flags)))
    return Budgets(
        headline=f"{state.sign} = {shown_down(quoted.budgets[0])}",
        each_of=say("web.series.each_of", releases=state.releases),
        accuracy=quoted.accuracy.words,
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
        how=_how_plan(state, quoted),
    )


def _off_by(width: float | None) -> str:
    return "" if width is None else f"{decimal_up(width, 2):,.6g}"


def _passed(found: Horizon, per_year: int) -> tuple[str, str]:
    """Return the first release that passes the limit, and when, as the command says it."""
    if found.releases is None:
        searched = f"{found.searched:,}"
        names = ("web.series.none_of", "web.series.none_passed")
        return say(names[0], searched=searched), say(names[1], searched=searched)
    time = time_text(found.releases, per_year)
    first = say("web.series.release", releases=found.releases)
    return first, say("web.series.passed", releases=found.releases, time=time)


def _sentence(state: SeriesForm, found: Horizon) -> str:
    """Return what is kept, until when, for whom, and how surely."""
    one = state.unit_name or say("subject.person")
    who = say(f"web.series.{'answers_known' if state.local else 'others_known'}", unit=one)
    who = say(f"web.series.who_{state.about}", who=who, before=state.before)
    kept = say(f"web.series.kept_{state.about}", limit=state.limit)
    if found.releases is None:
        said = say("web.series.kept_long", who=who, kept=kept, searched=f"{found.searched:,}")
    elif found.releases == 1:
        said = say("web.series.never_kept", kept=kept)
    else:
        said = say("web.series.kept_through", who=who, kept=kept, releases=found.releases - 1)
    return f"{said} {say('web.series.holds', holds=found.assumptions.probability)}"


def _how_horizon(state: SeriesForm, found: Horizon) -> How:
    """Return how the number of releases is computed."""
    each = MECHANISMS[state.mechanism].python.format(repr(state.budget))
    if state.mechanism == "epsilon" and state.delta_each:
        each = f"guarantees.ApproxDP({state.budget!r}, {state.delta_each!r})"
    keys = state.promise_keys() | state.surely()
    words = [each, *(f"{key}={value!r}" for key, value in keys.items())]
    words += [] if state.sided == "two" else ["sided='one'"]
    words += [] if state.delta is None else [f"delta={state.delta!r}"]
    return how(
        f"horizon_{state.about}",
        method=found.method,
        python=f"from discreet import guarantees, horizon, laws; horizon({', '.join(words)})",
        command=command_of("horizon", state.horizon_flags()),
    )


def _how_plan(state: SeriesForm, found: Plan) -> How:
    """Return how the budget of each release is computed."""
    flags = state.plan_flags()
    flat = not any(isinstance(value, list | dict) for value in flags.values())
    command = command_of("plan", flags) if flat else "discreet plan --file series.yaml"
    words = [repr(flags.pop("releases"))] + [f"{name}={value!r}" for name, value in flags.items()]
    return how(
        f"plan_{'promise' if state.keeps else state.about}",
        method=found.how,
        python=f"from discreet import plan; plan({', '.join(words)})",
        command=command,
    )


Asked = Annotated[SeriesForm, Query()]


@router.get("/api/series", responses=REFUSED)
def series_api(form: Asked) -> SeriesAnswer:
    """Belief over a series of releases, and when it passes a limit."""
    return beliefs(form)


@router.get("/api/series/plan", responses=REFUSED)
def plan_api(form: Asked) -> Budgets:
    """The budget of each release that keeps a limit over a series."""
    return budgets(form)


@router.get("/series/series.yaml", include_in_schema=False)
def series_yaml(form: Asked) -> Response:
    """The questions of the screen as a file that `horizon` and `plan` read."""
    said = {"horizon": form.horizon_flags(), "plan": form.plan_flags()}
    top = "discreet horizon --file series.yaml; discreet plan --file series.yaml"
    return yaml_file(as_yaml(said, top), "series.yaml")


@router.get("/series", include_in_schema=False)
def series_page(request: Request) -> HTMLResponse:
    """The screen; without JavaScript the form brings the same numbers."""
    found = filled(SeriesForm, request.query_params, beliefs)
    shares, plan_problem = None, ""
    try:
        shares = None if found.problem else budgets(found.form.state)
    except DiscreetError as error:
        plan_problem = str(error)
    more = {"mechanisms": MECHANISMS, "shares": shares, "plan_problem": plan_problem}
    return found.page(request, "series.html", **more)

"""The screen Explain: a published promise, and what it means to someone with a suspicion.

Two views of one promise: for whoever has to judge it (three audiences, pictures, known
deployments), and for one participant, on a phone (`/explain/me`). All sentences are those of
`discreet.reports`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse, Response

from discreet.beliefs import Belief, Prior, explain
from discreet.beliefs.guesses import right_guess
from discreet.guarantees import Adjacency, Guarantee, amount
from discreet.reports.sentences import (
    AUDIENCES,
    event_of,
    guarantee_text,
    not_protected,
    pure_against_approximate,
    sentence,
)
from discreet.reports.worries import Icons, answer
from discreet.statements.figures import counted, crowd_for, frequency, level, plain
from discreet.web.explain_words import how_belief, how_joining, pair, published, table_rows
from discreet.web.links import as_yaml, link, yaml_file
from discreet.web.percents import percentage, share
from discreet.web.problems import filled
from discreet.web.promises import KINDS, ExplainState, MeState, PromiseState
from discreet.web.screens import REFUSED, How, page

__all__ = ["Explained", "Mine", "explained", "mine", "router"]

router = APIRouter()


class Told(BaseModel):
    """What is said to one audience."""

    learned: str
    promise: str
    always: str
    not_protected: list[tuple[str, str]]


class Explained(BaseModel):
    """What a promise means for a belief, in numbers, words and pictures."""

    headline: str
    note: str
    posterior_lower: float | None
    posterior_upper: float | None
    holds_with: float
    told: dict[str, Told]
    lines: list[list[str]]
    others: list[list[str]]
    confidences: list[list[str]]
    joining: list[list[str]]
    assumptions: list[list[str]]
    published: list[str]
    icons: dict[str, Any] | None
    icons_caption: str
    curve: dict[str, Any]
    curve_caption: str
    how: How
    link: str
    yaml: str
    me: str


class Mine(BaseModel):
    """One participant's odds: suspected, and joining or staying out."""

    before: str
    after: str
    text: str
    icons: dict[str, Any]
    icons_caption: str
    without: str
    joined: str
    joining: str
    join_icons: dict[str, Any] | None
    join_caption: str
    promise: str
    always: str
    not_protected: list[tuple[str, str]]
    suspect_text: str
    how: How
    how_joining: How | None
    link: str


@lru_cache(maxsize=128)
def explained(state: ExplainState) -> Explained:
    """Return what the promise means at the belief before, for all audiences."""
    from discreet.charts import before_after_spec, icon_spec

    guarantee, confidence = state.guarantee(), share(state.confidence)
    prior = state.prior()

    def asked(at: Prior | float | None) -> Belief:
        return explain(guarantee, at, confidence=confidence, unit=state.unit)

    belief = asked(prior)
    # Membership and value at once have no single bound to draw: then the picture is membership.
    one_step = belief if prior is None or belief.epsilon_prime is not None else asked(prior.p)
    icons, icons_caption = None, ""
    if prior is not None and belief.posterior is not None:
        shown = _icons(prior.pq, belief.posterior.upper)
        icons, icons_caption = icon_spec(shown.before, shown.after), shown.text
    headline, note = _headline(belief)
    return Explained(
        headline=headline,
        note=note,
        posterior_lower=None if belief.posterior is None else belief.posterior.lower,
        posterior_upper=None if belief.posterior is None else belief.posterior.upper,
        holds_with=belief.holds_with,
        told={audience: _told(state, belief, audience) for audience in AUDIENCES},
        lines=table_rows(belief),
        others=[pair(asked(Prior(p, share(state.value)))) for p in (0.01, 0.1, 0.3, 0.5)],
        confidences=[
            [
                level(row.confidence),
                "no bound" if row.posterior is None else frequency(row.posterior, "up"),
                frequency(row.difference, "up"),
            ]
            for row in belief.at_confidence
        ],
        joining=_joining_rows(guarantee),
        assumptions=[[name.replace("_", "-"), said] for name, said in _said(belief)],
        published=[one.after for one in published(percentage(prior.p) if prior else 50.0)],
        icons=icons,
        icons_caption=icons_caption,
        curve=before_after_spec(one_step, None if one_step.prior is None else one_step.prior.pq),
        curve_caption=f"What may be believed that {event_of(one_step)}, against what was believed "
        "before: between the lines; dashed, nothing learned",
        how=how_belief(state, belief),
        link=link("/explain", state.kept()),
        yaml=link("/explain/explain.yaml", state.kept()),
        me=_me_link(state),
    )


def _said(belief: Belief) -> list[tuple[str, str]]:
    return list(belief.assumptions.to_dict().items())


def _icons(before: float, after: float) -> Icons:
    return Icons(counted(before, "down", 100), counted(after, "up", 100))


def _headline(belief: Belief) -> tuple[str, str]:
    sure = (
        "for every possible output"
        if belief.holds_with == 1
        else f"with probability {level(belief.holds_with)} over the noise"
    )
    if belief.prior is None or belief.posterior is None:
        crowd = crowd_for(belief.difference.upper)
        return frequency(belief.difference.upper, "up", crowd), f"more, from any belief; {sure}"
    crowd = crowd_for(belief.prior.pq, belief.posterior.upper)
    after = frequency(belief.posterior.upper, "up", crowd)
    return after, f"from {plain(belief.prior.pq, crowd)}; {sure}"


def _told(state: PromiseState, belief: Belief, audience: Any) -> Told:
    return Told(
        learned=sentence(belief, audience),
        promise=guarantee_text(state.guarantee(), audience, state.unit),
        always=pure_against_approximate(belief, audience),
        not_protected=list(not_protected(audience, _unit_kind(state.unit))),
    )


def _unit_kind(unit: str) -> str:
    """The last of "what is not protected" hangs on whether a whole person is the unit."""
    return "person" if unit in ("one person", "one user", "one member") else "record"


def _joining_rows(guarantee: Guarantee) -> list[list[str]]:
    """The other comparison, which add-remove alone has: data left out, data in."""
    if guarantee.adjacency is not Adjacency.ADD_REMOVE:
        return []
    rows = []
    for without in (0.01, 0.1, 0.3, 0.5):
        joined = right_guess(guarantee, without)
        crowd = crowd_for(without, joined)
        rows.append([plain(without, crowd), frequency(joined, "up", crowd)])
    return rows


def _me_link(state: ExplainState) -> str:
    shared = {name: value for name, value in state.kept().items() if name in _PROMISE}
    if state.before is not None and not state.every:
        shared["suspect"] = state.before
    return link("/explain/me", shared)


_PROMISE = frozenset(PromiseState.model_fields)


@lru_cache(maxsize=128)
def mine(state: MeState) -> Mine:
    """Return one participant's odds."""
    from discreet.charts import icon_spec

    guarantee = state.guarantee()
    prior = state.prior()
    belief = explain(guarantee, prior, confidence=share(state.confidence), unit=state.unit)
    worried = answer(belief, state.knows)
    after = 1.0 if belief.posterior is None else belief.posterior.upper
    crowd = crowd_for(prior.pq, after)
    told = _told(state, belief, "public")
    out = Mine(
        before=plain(prior.pq, crowd),
        after=frequency(after, "up", crowd),
        text=worried.text,
        icons=icon_spec(worried.icons.before, worried.icons.after),
        icons_caption=worried.icons.text,
        without="",
        joined="",
        joining="",
        join_icons=None,
        join_caption="",
        promise=told.promise,
        always=told.always,
        not_protected=told.not_protected,
        suspect_text=plain(share(state.suspect), 100),
        how=how_belief(state, belief),
        how_joining=None,
        link=link("/explain/me", state.kept()),
    )
    if guarantee.adjacency is not Adjacency.ADD_REMOVE:
        return out
    without = share(state.without)
    joined = right_guess(guarantee, without)
    crowd = crowd_for(without, joined)
    shown = _icons(without, joined)
    return out.model_copy(
        update={
            "without": plain(without, crowd),
            "joined": frequency(joined, "up", crowd),
            "join_icons": icon_spec(shown.before, shown.after),
            "join_caption": f"{shown.before} of 100 figures are marked for the chance with your "
            f"data left out, and {shown.after - shown.before} more, at most, with them in.",
            "how_joining": how_joining(state, without),
        }
    )


# -- addresses

Asked = Annotated[ExplainState, Query()]


@router.get("/api/explain", responses=REFUSED)
def explain_api(state: Asked) -> Explained:
    """What a promise means for someone's belief."""
    return explained(state)


@router.get("/api/explain/me", responses=REFUSED)
def me_api(state: Annotated[MeState, Query()]) -> Mine:
    """One participant's odds under a promise."""
    return mine(state)


@router.get("/explain/explain.yaml", include_in_schema=False)
def explain_yaml(state: Asked) -> Response:
    """The question of the screen as a file that `explain` reads."""
    text = as_yaml(state.flags(), "discreet explain --file explain.yaml")
    return yaml_file(text, "explain.yaml")


@router.get("/explain", include_in_schema=False)
def explain_page(request: Request) -> HTMLResponse:
    """The screen; without JavaScript the form brings the same numbers."""
    form = filled(ExplainState, request.query_params, explained)
    prior = form.state.prior()
    return page(
        request,
        "explain.html",
        status=form.status,
        link=form.answer.link,
        yaml=form.answer.yaml,
        shown=form.shown,
        kinds=KINDS,
        answer=form.answer,
        published=published(percentage(prior.p) if prior else 50.0),
        problem=form.problem,
    )


@router.get("/explain/me", include_in_schema=False)
def me_page(request: Request) -> HTMLResponse:
    """The participant's view."""
    form = filled(MeState, request.query_params, mine)
    return page(
        request,
        "me.html",
        status=form.status,
        link=form.answer.link,
        state=form.state,
        shown=form.shown,
        promised=amount(form.state.guarantee().to_dict(), "up", ""),
        answer=form.answer,
        problem=form.problem,
    )

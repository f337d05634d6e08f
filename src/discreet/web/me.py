"""The screen of one participant, on a phone: a worry, and the odds with and without joining.

It speaks of all that may be published under a promise; the report of a release also tells what is
out so far.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse

from discreet.beliefs import Prior, explain, join
from discreet.composition import loss_of
from discreet.guarantees import Adjacency
from discreet.reports.participant import joining_words
from discreet.reports.sentences import Icons, answer
from discreet.statements.tables import frequency, plain
from discreet.web.explain import KINDS, PERSONS, PromiseForm, how_belief, told
from discreet.web.forms import Choice, Number, filled, share
from discreet.web.screens import REFUSED, How, how, page
from discreet.web.thread import Thread, link, shown_to, withdrawal
from discreet.web.workfolder import folder_of
from discreet.words import say

__all__ = ["MeForm", "Mine", "mine", "router"]

router = APIRouter()
Knows = Literal["everyone else", "a hunch"]
_CROWD = 100


class MeForm(PromiseForm):
    """One participant's own worry about a promise."""

    suspect: Annotated[float, Number(above=0, high=100, unit="percent")] = 30.0
    about: Annotated[str, Choice(("being in", "a value"))] = "being in"
    knows: Annotated[Knows, Choice(("everyone else", "a hunch"))] = "everyone else"

    @property
    def you(self) -> bool:
        """Whether the reader is the unit: else it is one of theirs."""
        return self.unit in PERSONS

    def prior(self) -> Prior:
        """Return what they suspect: that I am in, or, knowing that, a value of mine."""
        suspected = share(self.suspect)
        central = self.adjacency == "add-remove"  # else everyone is known to be in
        return Prior(suspected) if central and self.about == "being in" else Prior(1.0, suspected)


class Mine(BaseModel):
    """One participant's odds: suspected, and joining or staying out."""

    before: str
    after: str
    text: str
    icons: dict[str, int]
    icons_caption: str
    happens: str
    thought: str
    join_icons: dict[str, int] | None
    join_caption: str
    promise: str
    always: str
    not_protected: list[tuple[str, str]]
    suspect_text: str
    how: How
    how_joining: How | None
    link: str


@lru_cache(maxsize=128)
def mine(state: MeForm) -> Mine:
    """Return one participant's odds."""
    prior = state.prior()
    belief = explain(state.guarantee(), prior, confidence=share(state.confidence), unit=state.unit)
    worried = answer(belief, state.knows, you=state.you)
    after = 1.0 if belief.posterior is None else belief.posterior.upper
    public = told(state, belief, "public")
    return Mine(
        before=plain(prior.pq, _CROWD),
        after=frequency(after, "up", _CROWD),
        text=worried.text,
        icons=worried.icons.to_dict(),
        icons_caption=worried.icons.text,
        promise=public.promise,
        always=public.always,
        not_protected=public.not_protected,
        suspect_text=plain(share(state.suspect), _CROWD),
        how=how_belief(state, belief, state.flags_at(prior)),
        link=link("/explain/me", state.kept()),
        **_joining(state),
    )


def _joining(state: MeForm) -> dict[str, Any]:
    """Return the chance of something bad with the data out and in; empty where it cannot be had."""
    texts = dict.fromkeys(("happens", "thought", "join_caption"), "")
    nothing: dict[str, Any] = texts | {"join_icons": None, "how_joining": None}
    guarantee, without = state.guarantee(), share(state.suspect)
    if guarantee.adjacency is not Adjacency.ADD_REMOVE:
        return nothing
    joined = loss_of(guarantee).right_guess(without)
    (believed,) = join(guarantee, without, confidence=share(state.confidence)).joined
    shown = Icons.showing(without, joined)
    words = joining_words("person" if state.you else "other", state.unit)
    words["before"] = plain(without, _CROWD)
    name = KINDS[state.kind].python
    python = (
        f"from discreet import {name}; from discreet.composition import "
        f"loss_of; loss_of({state.python}).right_guess({without!r})"
    )
    more = shown.after - shown.before
    return nothing | {
        "happens": _told("happens", joined, words),
        "thought": _told("thought", believed, words),
        "join_icons": shown.to_dict(),
        "join_caption": say("web.me.join_caption", before=shown.before, more=more),
        "how_joining": how("joining", python=python),
    }


def _told(name: str, most: float, words: dict[str, str]) -> str:
    return say(f"reports.participant.{name}", now=frequency(most, "up", _CROWD), **words)


def _promised(state: MeForm, thread: Thread) -> str:
    """Return the sentence of the promise that came along, if it is what the form is about."""
    keys, told = thread.keys(), shown_to(thread)
    begun = PromiseForm.model_validate(PromiseForm.begun(thread) if keys else {})
    same = (begun.kind, begun.numbers()) == (state.kind, state.numbers())
    under = keys.get("adjacency", "add-remove") == state.adjacency
    if told is None or not (keys and same and under):
        return say("web.me.some_promise")
    return told.sentence


@router.get("/api/explain/me", responses=REFUSED)
def me_api(form: Annotated[MeForm, Query()]) -> Mine:
    """One participant's odds under a promise."""
    return mine(form)


@router.get("/explain/me", include_in_schema=False)
def me_page(request: Request) -> HTMLResponse:
    """The participant's view; of a promise that was withdrawn nothing is told but that."""
    thread = Thread.of(request.query_params)
    ended = withdrawal(thread, folder_of(request))
    if ended is not None:
        return page(request, "problem.html", message=say("web.me.withdrawn", **ended))
    found = filled(MeForm, request.query_params, mine)
    # Some of its fields are not seen, so what is wrong with them is told above the form.
    problem = found.form.problem or found.problem
    promised = _promised(found.form.state, thread)
    more = {"promised": promised, "own": found.form.state.you}
    return found.page(request, "me.html", problem=problem, **more)

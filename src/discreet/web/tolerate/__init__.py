"""The screen Tolerate: sentences, or a curve that is dragged, and the largest budget for them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from discreet.web.examples import situations
from discreet.web.forms import Number, Text, filled
from discreet.web.screens import REFUSED, as_yaml, yaml_file
from discreet.web.sentences import (
    KINDS,
    Asked,
    Sentences,
    preset_links,
    sentences_page,
    with_sentences,
)
from discreet.web.thread import Thread, link
from discreet.web.tolerate.handles import farther, moved
from discreet.web.tolerate.view import FILE, HOME, Answer, answer

__all__ = ["TolerateForm", "router"]

router = APIRouter()
_MOVED = Number(low=-1e6, high=1e6, optional=True)


@with_sentences
class TolerateForm(Sentences):
    """What is tolerated, and which handle was moved where.

    `farther` asks for the next reach of the axes, by a hand that is beyond their end.
    """

    kinds = tuple(kind for kind in KINDS if kind != "epsilon")
    upto: Annotated[float | None, Number(above=0, high=1, optional=True)] = None
    handle: Annotated[str, Text(20)] = ""
    x: Annotated[float | None, _MOVED] = None
    y: Annotated[float | None, _MOVED] = None
    steps: Annotated[float | None, _MOVED] = None
    farther: bool = False
    frozen: Annotated[str, Text(4_000)] = ""
    freeze: bool = False
    thaw: bool = False

    def compared(self) -> str:
        """Return the promise to compare with: the one kept, this one if it is to be kept, none."""
        if self.freeze:
            return Thread.saying(tolerance=self.asked().to_mapping()).promise
        return "" if self.thaw else self.frozen

    def after_the_move(self) -> Asked:
        """Return the state after the handle was dragged or stepped, if one was."""
        asked = self.asked()
        if not self.handle:
            return asked
        dragged = self.x is not None or self.y is not None
        place = (self.x or 0.0, self.y or 0.0) if dragged else None
        return moved(asked, self.handle, place, int(self.steps or 0), self.upto)


@router.get(HOME, include_in_schema=False)
def tolerate_page(request: Request) -> Response:
    """The screen: sentences with blanks, the curve, the budget, what it implies."""
    found = filled(
        TolerateForm,
        request.query_params,
        lambda form: answer(form.asked(), form.upto, draw=False, frozen=form.compared()),
    )
    along = Thread.of(request.query_params)
    if not found.problem:
        mine = Thread.saying(tolerance=found.form.state.asked().to_mapping())
        along = along if along.promise == mine.promise else mine
    presets = [(about, link(HOME, state.to_query())) for _, state, about in preset_links()]
    return sentences_page(
        request,
        "tolerate.html",
        found,
        presets=presets,
        situations=situations(),
        thread=along,
        step="promise",
    )


@router.get(f"/api{HOME}", responses=REFUSED)
def tolerate_answer(form: Annotated[TolerateForm, Query()]) -> Answer:
    """What a tolerance comes to: budget, binding adversary, proof, implied posteriors, charts."""
    wanted = farther(form.upto) if form.farther else form.upto
    return answer(form.after_the_move(), wanted, frozen=form.compared())


@router.get(f"{HOME}/{FILE}", include_in_schema=False)
def tolerate_file(form: Annotated[TolerateForm, Query()]) -> Response:
    """The state as a tolerance file that `discreet choose` and a release spec accept."""
    return yaml_file(as_yaml(form.asked().to_mapping(), f"discreet choose --file {FILE}"), FILE)

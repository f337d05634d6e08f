"""The screen Tolerate: sentences, or a curve that is dragged, and the largest budget for them.

One function turns a state into everything the screen shows: the page renders it on the server, and
the script asks for it again while a handle moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from discreet.rounding import decimal_down, percent
from discreet.statements.presenter import assumption_rows, budget_text, decided_by, implied_table
from discreet.web.examples import situations
from discreet.web.forms import Number, Text, filled
from discreet.web.screens import REFUSED, How, as_yaml, command_of, how, unbroken, yaml_file
from discreet.web.sentences import (
    KINDS,
    Asked,
    Sentences,
    preset_links,
    sentences_page,
    with_sentences,
)
from discreet.web.thread import Thread, Told, link, shown_to
from discreet.web.tolerate.handles import Handle, axis, edges, farther, handles, map_handles, moved
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Choice

router = APIRouter()
HOME = "/tolerate"
FILE = "tolerance.yaml"


class Answer(BaseModel):
    """Everything that the screen shows for one state."""

    fields: dict[str, str]
    sentences: list[str]
    epsilon: float | None
    shown: str
    rounded: str
    holds: str
    binding: str
    certificate: str
    implied_header: list[str]
    implied: list[list[str]]
    noise: str
    warnings: list[str]
    question: str
    assumptions: list[list[str]]
    handles: list[Handle]
    map_handles: list[Handle]
    upto: float
    charts: dict[str, dict[str, Any]]
    how: dict[str, How]
    spoken: str
    link: str
    yaml: str
    cost: str
    release: str
    series: str
    explain: str
    approval: str
    frozen: str
    compared: list[list[str]]
    thread: Told | None


def answer(
    asked: Asked, wanted: float | None = None, *, draw: bool = True, frozen: str = ""
) -> Answer:
    """Return what a state comes to; `wanted` is how far the axis of belief before should reach.

    `frozen` is a promise to compare it with.
    Without `draw` the charts are only named: the page is there before anything can draw.
    """
    from discreet.budgets import choose

    mapping = asked.to_mapping()
    choice = choose(mapping)
    top, high = axis(asked, wanted)
    shown = budget_text(choice.epsilon)
    implied_header, implied = implied_table(choice)
    noise, third, state = choice.noise, choice.implied[2], asked.to_query() | {"frozen": frozen}
    thread = Thread.saying(tolerance=mapping)
    return Answer(
        fields=asked.fields(),
        sentences=[condition.sentence() for condition in asked.conditions],
        epsilon=choice.epsilon if math.isfinite(choice.epsilon) else None,
        shown=shown,
        rounded=say(
            "web.tolerate.rounded" if math.isfinite(choice.epsilon) else "web.tolerate.unlimited"
        ),
        holds=choice.assumptions.probability,
        binding=unbroken(decided_by(choice)),
        certificate=_proof(choice),
        implied_header=implied_header,
        implied=implied,
        noise=unbroken(
            say(
                "web.tolerate.noise",
                sd=noise["sd"],
                exact=100 * noise["prob_exact"],
                within=noise["half_width_95"],
            )
        ),
        warnings=list(choice.warnings),
        question=choice.question or "",
        assumptions=assumption_rows(choice.assumptions.to_dict()),
        handles=handles(asked, top, high),
        map_handles=map_handles(asked) if _mapped(asked) else [],
        upto=top,
        charts=_charts(asked, choice, top, high, draw),
        how=_how(asked, mapping, choice, shown),
        spoken=say(
            "web.tolerate.spoken",
            epsilon=shown,
            prior=percent(third["prior"], "up"),
            posterior=percent(third["posterior"], "up"),
        ),
        link=link(HOME, state),
        yaml=link(f"{HOME}/{FILE}", state),
        cost=link("/cost", state),
        release=thread.to("/release"),
        series=thread.to("/series"),
        explain=thread.to("/explain"),
        approval=thread.to("/approval"),
        frozen=frozen,
        compared=_compared(choice, frozen),
        thread=shown_to(thread, choice=choice),
    )


def _compared(choice: Choice, frozen: str) -> list[list[str]]:
    """Return the promise that was frozen and this one side by side, a line a measure."""
    from discreet.budgets import choose

    keys = Thread.of({"promise": frozen}).keys() if frozen else {}
    if not keys:
        return []
    pair = (choose(keys), choice)
    rows = [
        [say("web.tolerate.sentence"), *(one.promise.sentence() for one in pair)],
        [say("web.cost.budget"), *(budget_text(one.epsilon) for one in pair)],
        [say("web.cost.sd"), *(f"{one.noise['sd']:.3g}" for one in pair)],
    ]
    rows += [
        [
            unbroken(say("web.tolerate.from", prior=percent(row["prior"], "up"))),
            *(percent(one["posterior"], "up", 1) for one in (row, other)),
        ]
        for row, other in zip(*(one.implied for one in pair), strict=True)
    ]
    return rows


def _mapped(asked: Asked) -> bool:
    """Whether both priors are free somewhere, so that there is a map to show."""
    return any(condition.worry == "both" for condition in asked.conditions) and not asked.delta


def _charts(
    asked: Asked, choice: Choice, top: float, high: float, draw: bool
) -> dict[str, dict[str, Any]]:
    names = ["tolerated"]
    if _mapped(asked):
        names += ["map", "ratios"]
    elif any(condition.kind != "posterior" for condition in asked.conditions):
        names += ["ratio", "epsilon"]
    if not draw:
        return {name: {} for name in names}
    from discreet.charts import adversaries_spec, profile_line_spec, tolerated_spec

    specs = {
        "tolerated": lambda: tolerated_spec(choice, top, high),
        "map": lambda: adversaries_spec(choice, "epsilon"),
        "ratios": lambda: adversaries_spec(choice, "ratio", edges=edges(asked)),
        "ratio": lambda: profile_line_spec(choice, "ratio", top),
        "epsilon": lambda: profile_line_spec(choice, "epsilon", top),
    }
    return {name: specs[name]() for name in names}


def _proof(choice: Choice) -> str:
    proof = choice.certificate
    if math.isinf(proof.upper):
        return str(proof.method)
    lower = f"{decimal_down(proof.lower, 9):.9f}"
    name = "web.tolerate.proved" if proof.certified else "web.tolerate.not_proved"
    return say(name, lower=lower, gap=proof.upper - proof.lower, method=proof.method)


def _how(asked: Asked, mapping: Mapping[str, Any], choice: Choice, shown: str) -> dict[str, How]:
    number = shown if math.isfinite(choice.epsilon) else "float('inf')"
    promise, sure = f"discreet.PureDP({number})", ""
    flags: dict[str, Any] = {"epsilon": number, "prior": 0.3}
    if asked.delta:
        promise = f"discreet.ApproxDP({number}, {asked.delta!r})"
        sure = f", confidence={asked.confidence!r}, sided={asked.sided!r}"
        flags |= asked.promise()
    whole = "all" in mapping
    return {
        "budget": how(
            "budget_delta" if asked.delta else "budget",
            method=choice.certificate.method,
            python=f"discreet.choose({mapping!r}).epsilon",
            command=command_of("choose", {"file": FILE} if whole else mapping),
        ),
        "implied": how(
            "implied",
            python=f"discreet.explain({promise}, discreet.Prior(0.3){sure}).posterior.upper",
            command=command_of("explain", flags),
        ),
        "noise": how(
            "count_noise",
            python=f"from discreet.laws import Geometric; Geometric({number}).sd",
        ),
    }


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

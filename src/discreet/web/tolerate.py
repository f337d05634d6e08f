"""The screen Tolerate: sentences, or a curve that is dragged, and the largest budget for them.

One function turns a state into everything the screen shows: the page renders it on the server, and
the script asks for it again while a handle moves.

Handles on the curve and on the map: where each stands, what it says aloud, what it changes.

A handle belongs to one blank of one condition. The curve has belief before across and belief after
up, both as probabilities; a handle moves along one of the two. The map has p across and q up; what
a condition tolerates changes there along lines of equal pq, and a handle stands on such a line:

| blank  | its line on the map     | which is where                                        |
|--------|-------------------------|-------------------------------------------------------|
| after  | pq = after/fold         | the fold takes over from the belief after             |
| fold   | pq = 1/fold             | so many times the belief before is already certainty  |
| points | pq = 1 − points         | so many points more are already certainty             |
| before | p = before              | the one belief that the condition speaks of           |

Where both p and q are free the handle moves along the diagonal, else along the one that is free.
The browser tells where a handle was dragged to, or how many steps it was moved by the keyboard, and
the state that follows is made here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import InputError
from discreet.rounding import decimal_down, exact_text, percent
from discreet.statements.presenter import assumption_rows, budget_text, decided_by, implied_table
from discreet.web.examples import situations
from discreet.web.forms import Number, Text, filled
from discreet.web.screens import REFUSED, How, as_yaml, command_of, how, unbroken, yaml_file
from discreet.web.sentences import (
    KINDS,
    Asked,
    Condition,
    Sentences,
    preset_links,
    same_promise,
    sentences_page,
    suffix,
    with_sentences,
)
from discreet.web.thread import Thread, Told, link, shown_to
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Choice

router = APIRouter()
HOME = "/tolerate"
FILE = "tolerance.yaml"
# How far the axis of belief before may reach; that of belief after reaches further.
_REACHES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_FARTHEST_FOLD = 100.0
_MAP = "map."  # how the name of a handle on the map begins


# -- handles


class Handle(BaseModel):
    """A slider on a chart."""

    name: str
    label: str
    along: Literal["across", "up", "diagonal"]
    x: float
    y: float
    low: float
    high: float
    value: float
    text: str


def axis(asked: Asked, wanted: float | None = None) -> tuple[float, float]:
    """Return how far the two axes reach, so that every handle is seen; `wanted` if it can be."""
    needed = max((_needed(condition) for condition in asked.conditions), default=1.0)
    roomy = next((reach for reach in _REACHES if reach >= 1.6 * needed), 1.0)
    top = roomy if wanted is None else max(wanted, min(1.0, needed))
    top = next((reach for reach in _REACHES if reach >= top), 1.0)
    return top, min(1.0, 4 * top)


def farther(top: float | None) -> float | None:
    """Return the next reach of the axis of belief before."""
    return None if top is None else next((reach for reach in _REACHES if reach > top), 1.0)


def _needed(condition: Condition) -> float:
    p = condition.surely_in
    match condition.kind:
        case "posterior":
            return max(condition.before / 100 * p, condition.after / 400)
        case "unless":
            corner = condition.after / 100 / condition.fold
            return max(min(2 * corner, p), condition.after / 300)
        case "difference":
            return max(p, condition.points / 300)
        case _:
            return p


def handles(asked: Asked, top: float, high: float) -> list[Handle]:
    """Return the handles of all conditions on a curve that reaches to `top` and `high`."""
    return _named([_of(condition, top, high) for condition in asked.conditions])


def map_handles(asked: Asked) -> list[Handle]:
    """Return the handles of all conditions on the map of p and q."""
    return _named([_on_map(condition) for condition in asked.conditions])


def edges(asked: Asked) -> list[float]:
    """Return the values of pq along which the handles of the map that move both ways stand."""
    return [one.x * one.y for one in map_handles(asked) if one.along == "diagonal"]


def _named(found: list[list[Handle]]) -> list[Handle]:
    out: list[Handle] = []
    for place, ones in enumerate(found, 1):
        for one in ones:
            label = one.label
            if len(found) > 1:
                label = say("web.handle.of_condition", label=label, place=place)
            out.append(one.model_copy(update={"name": one.name + suffix(place), "label": label}))
    return out


def _of(condition: Condition, top: float, high: float) -> list[Handle]:
    """The handles of one condition on the curve."""
    p, after, fold = condition.surely_in, condition.after / 100, condition.fold

    def handle(blank: str, x: float, y: float, most: float) -> Handle:
        value = getattr(condition, blank)
        return Handle(
            name=blank,
            label=say(f"web.handle.{blank}"),
            along="across" if blank in ("before", "fold") else "up",
            x=x,
            y=y,
            low=1.0 if blank == "fold" else 0.0,
            high=most,
            value=value,
            text=say(f"web.handle.{blank}_is", value=value),
        )

    def slope(above: float) -> list[Handle]:
        """The handle on the slope, which stays at its height while it is dragged sideways."""
        y = (above + min(high, fold * min(top, p))) / 2
        return [handle("fold", y / fold, y, _FARTHEST_FOLD)] if y > above else []

    match condition.kind:
        case "posterior":
            before = condition.before / 100 * p
            return [
                handle("after", before, min(after, high), 100 * high),
                handle("before", before, 0.0, 100 * min(1.0, top / p)),
            ]
        case "unless":
            flat = min(after / fold, top) / 2
            return [handle("after", flat, min(after, high), 100 * high), *slope(after)]
        case "ratio":
            return slope(0.0)
        case "difference":
            x = 0.4 * min(top, p)
            y = min(high, x + condition.points / 100)
            return [handle("points", x, y, 100 * (high - x))]
        case _:
            return []


def _on_map(condition: Condition) -> list[Handle]:
    """The handles of one condition on the map; those of the curve say what is spoken."""
    p, before, fold = condition.surely_in, condition.before / 100, condition.fold
    lines = {
        "after": condition.after / 100 / fold,
        "fold": 1 / fold,
        "points": 1 - condition.points / 100,
    }
    out = []
    for handle in _of(condition, 1.0, 1.0):
        if condition.kind == "posterior":
            ways = {"in": ("across", before, 1.0), "both": ("across", before, 0.5)}
            ways["value"] = ("up", p, before)
        else:
            pq = min(1.0, lines[handle.name])
            ways = {"in": ("across", pq, 1.0), "both": ("diagonal", pq**0.5, pq**0.5)}
            ways["value"] = ("up", p, min(1.0, pq / p))
        if condition.kind != "posterior" or handle.name == "before":
            place = dict(zip(("along", "x", "y"), ways[condition.worry], strict=True))
            label = say("web.handle.on_map", label=handle.label)
            name = {"name": _MAP + handle.name, "label": label}
            out.append(handle.model_copy(update=name | place))
    return out


def moved(
    asked: Asked, name: str, place: tuple[float, float] | None, steps: int, wanted: float | None
) -> Asked:
    """Return the state after a handle was dragged to a place, or moved by steps of the keyboard."""
    on_map = name.startswith(_MAP)
    known = map_handles(asked) if on_map else handles(asked, *axis(asked, wanted))
    handle = next((one for one in known if one.name == name), None)
    if handle is None:
        raise InputError("web.handle.unknown")
    number = int(name[-1]) if name[-1].isdigit() else 1
    blank = name.removeprefix(_MAP).rstrip("0123456789")
    condition = asked.conditions[number - 1]
    if place is None:
        # A press of a key, or a pixel, is worth a round number.
        step = 0.1 if blank == "fold" or handle.high <= 25 else 0.5 if handle.high <= 60 else 1.0
        value = handle.value + max(-1000, min(1000, steps)) * step
    elif on_map:
        value = _dragged_on_map(condition, blank, place)
    else:
        value = _dragged(condition, blank, handle, place)
    blanks: dict[str, Any] = {blank: _kept(condition, blank, value)}
    rest = list(asked.conditions)
    rest[number - 1] = replace(condition, **blanks)
    return replace(asked, conditions=tuple(rest))


def _dragged(condition: Condition, blank: str, handle: Handle, place: tuple[float, float]) -> float:
    x, y = place
    match blank:
        case "fold":
            return y / max(x, 1e-6)  # at the height where the hand took it
        case "points":
            return 100 * (y - handle.x)
        case "before":
            return 100 * x / condition.surely_in
        case _:
            return 100 * y


def _dragged_on_map(condition: Condition, blank: str, place: tuple[float, float]) -> float:
    x, y = (min(1.0, max(1e-6, part)) for part in place)
    match blank:
        case "before":
            return 100 * (y if condition.worry == "value" else x)
        case "fold":
            return 1 / (x * y)
        case "points":
            return 100 * (1 - x * y)
        case _:
            return 100 * x * y * condition.fold


def _kept(condition: Condition, blank: str, value: float) -> float:
    """Round a value to what can be read, and keep it where a budget exists."""
    least, most = 0.1, 99.9
    if blank == "fold":
        least, most = 1.1, _FARTHEST_FOLD
    elif blank == "before":
        most = min(most, (condition.after - least) / condition.surely_in)
    elif condition.kind == "posterior":
        least += condition.before * condition.surely_in
    return round(min(max(value, least), most), 1)


# -- the screen


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
        sentences=[condition.sentence(asked.whom) for condition in asked.conditions],
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
                exact=exact_text(noise["prob_exact"]),
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
            "web.tolerate.spoken_average" if choice.promise.on_average else "web.tolerate.spoken",
            epsilon=shown,
            prior=percent(third["prior"], "up"),
            posterior=percent(_said_of(choice, third), "up"),
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


def _said_of(choice: Choice, row: Mapping[str, float]) -> float:
    """Return what is said aloud of a belief: what the promise limits."""
    if choice.promise.on_average:
        return choice.right_guess_at(row["prior"])
    return row["posterior"]


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
    single = "_one_output" if any(one.promise.on_average for one in pair) else ""
    rows += [
        [
            unbroken(say(f"web.tolerate.from{single}", prior=percent(row["prior"], "up"))),
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
    prior, flags = "0.3", {"epsilon": number, "prior": 0.3}
    if choice.promise.about == "value":
        prior, flags = "1, 0.3", flags | {"prior": 1, "value_prior": 0.3}
    if asked.delta:
        promise = f"discreet.ApproxDP({number}, {asked.delta!r})"
        sure = f", confidence={asked.confidence!r}, sided={asked.sided!r}"
        flags |= asked.promise()
    whole = "all" in mapping
    kind = "budget_delta" if asked.delta else "budget"
    if choice.promise.on_average:
        kind = "budget_average"
    return {
        "budget": how(
            kind,
            method=choice.certificate.method,
            python=f"discreet.choose({mapping!r}).epsilon",
            command=command_of("choose", {"file": FILE} if whole else mapping),
        ),
        "implied": how(
            "implied",
            python=f"discreet.explain({promise}, discreet.Prior({prior}){sure}).posterior.upper",
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
    # What the sentences cannot say goes along as it is, until one of them is typed.
    kept = along.promise and not found.form.state.model_fields_set
    if not found.problem and not kept:
        keys, asked = along.keys(), found.form.state.asked().to_mapping()
        same = bool(keys) and same_promise(keys, asked)  # then its account goes along
        along = replace(along if same else Thread(), promise=Thread.saying(tolerance=asked).promise)
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

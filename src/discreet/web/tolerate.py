"""Tolerate: from sentences, or from a curve that is dragged, to the largest budget that keeps them.

One function, `answer`, turns a state into everything the screen shows; the page renders it on the
server, and the script asks for it again while a handle moves.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import DiscreetError, InputError
from discreet.web.drafts import release_link
from discreet.web.handles import Handle, axis, edges, handles, map_handles, moved
from discreet.web.links import as_yaml, link, yaml_file
from discreet.web.promise_form import (
    KINDS,
    Asked,
    budget_text,
    parameters,
    preset_links,
    read,
)
from discreet.web.screens import REFUSED, How
from discreet.web.sentence_screens import Shown, asking_page

__all__ = ["Answer", "answer", "router"]

router = APIRouter()
_HOME = "/tolerate"
_FILE = "tolerance.yaml"
_LARGEST = (
    "the least, over every prior (p, q) that the sentences speak of, of the largest ε there: "
    "log((B + √(B² + 4AC)) / 2C) with A = p(1−q), B = 1−p, C = 1/r* − pq"
)


class Answer(BaseModel):
    """Everything that the screen shows for one state."""

    fields: dict[str, str]
    sentences: list[str]
    epsilon: float | None
    shown: str
    holds: str
    binding: str
    certificate: str
    certified: bool
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


def answer(asked: Asked, wanted: float | None = None, *, draw: bool = True) -> Answer:
    """Return what a state comes to; `wanted` is how far the axis of belief before should reach.

    Without `draw` the charts are only named: the page is there before anything can draw.
    """
    from discreet.budgets import choose
    from discreet.rounding import percent

    mapping = asked.to_mapping()
    choice = choose(mapping)
    top, high = axis(asked, wanted)
    bounded = math.isfinite(choice.epsilon)
    shown = budget_text(choice.epsilon)
    known_in = "posterior_known_in" in choice.implied[0]
    rows = [
        [percent(row["prior"], "up"), percent(row["posterior"], "up", 1)]
        + ([percent(row["posterior_known_in"], "up", 1)] if known_in else [])
        for row in choice.implied
    ]
    header = [
        "belief before",
        "after, at most",
        *(["after, if known to be in"] if known_in else []),
    ]
    noise = choice.noise
    state = asked.to_query()
    proof = choice.certificate
    third = choice.implied[2]
    return Answer(
        fields=asked.fields(),
        sentences=[condition.sentence() for condition in asked.conditions],
        epsilon=choice.epsilon if bounded else None,
        shown=shown,
        holds=choice.assumptions.probability,
        binding=_binding(choice),
        certificate=_proof(choice),
        certified=proof.certified,
        implied_header=header,
        implied=rows,
        noise=_unbroken(
            f"A count gets noise with a standard deviation of {noise['sd']:.2f}; it stays exact "
            f"{100 * noise['prob_exact']:.0f} % of the time, and 95 % are within "
            f"±{noise['half_width_95']}."
        ),
        warnings=list(choice.warnings),
        question=choice.question or "",
        assumptions=[
            [name.replace("_", " "), text] for name, text in choice.assumptions.to_dict().items()
        ],
        handles=handles(asked, top, high),
        map_handles=map_handles(asked) if _mapped(asked) else [],
        upto=top,
        charts=_charts(asked, choice, top, high, draw),
        how=_how(asked, mapping, choice, shown),
        spoken=(
            f"epsilon {shown}. Someone at {percent(third['prior'], 'up')} may become at most "
            f"{percent(third['posterior'], 'up')} sure."
        ),
        link=link(_HOME, state),
        yaml=link(f"{_HOME}/{_FILE}", state),
        cost=link("/cost", state),
        release=release_link({"tolerance": mapping}),
    )


def _mapped(asked: Asked) -> bool:
    """Whether both priors are free somewhere, so that there is a map to show."""
    return any(condition.worry == "both" for condition in asked.conditions) and not asked.delta


def _charts(
    asked: Asked, choice: Any, top: float, high: float, draw: bool
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


def _binding(choice: Any) -> str:
    """Say in words which adversary binds the budget."""
    from discreet.rounding import percent

    if math.isinf(choice.epsilon):
        return "Nobody: the tolerance bounds nothing."
    p, q = choice.binding.p, choice.binding.q
    who = f"someone who thinks there is a {_chance(p)} chance that the person is in the data"
    if p == 0:
        who = "someone who thinks there is an ever smaller chance that the person is in the data"
    elif p == 1:
        who = "someone who knows that the person is in the data"
    if q == 0:
        who += ", and an ever smaller chance of the sensitive value then"
    elif q < 1:
        who += f", and a {_chance(q)} chance of the sensitive value then"
    if choice.binding.name:
        who += f" ({choice.binding.name})"
    if not choice.binding.attained:
        return _unbroken(f"In the limit, {who}.")
    from discreet.beliefs import Prior

    after = percent(choice.posterior_at(Prior(p, q)), "up", 1)
    return _unbroken(f"{who[0].upper()}{who[1:]}: they may become {after} sure.")


def _unbroken(words: str) -> str:
    """Keep a number and its percent sign on one line."""
    return words.replace(" %", "\N{NO-BREAK SPACE}%")


def _chance(share: float) -> str:
    return f"{100 * share:.3g} %"


def _proof(choice: Any) -> str:
    from discreet.rounding import decimal_down

    proof = choice.certificate
    if math.isinf(proof.upper):
        return str(proof.method)
    gap = proof.upper - proof.lower
    said = "proved, by" if proof.certified else "not proved,"
    return (
        f"{decimal_down(proof.lower, 9):.9f} is at most {gap:.1g} below the largest safe ε: {said} "
        f"{proof.method}."
    )


def _how(asked: Asked, mapping: Mapping[str, Any], choice: Any, shown: str) -> dict[str, How]:
    source = "Kazan and Reiter, Theorem 2 and equation (13)"
    if asked.delta:
        source += "; then δ by the inverse of Theorem 3.9 of Kazan, Sharma, Zhang, Jiang and Yan"
    number = shown if shown != "unbounded" else "float('inf')"
    promise, sure, flags = f"discreet.PureDP({number})", "", ""
    if asked.delta:
        promise = f"discreet.ApproxDP({number}, {asked.delta!r})"
        sure = f", confidence={asked.confidence!r}, sided={asked.sided!r}"
        flags = f" --delta {asked.delta!r} --confidence {asked.confidence!r} --sided {asked.sided}"
    return {
        "budget": How(
            what="the budget",
            formula=f"ε is {_LARGEST}.",
            source=f"{source}. Here by {choice.certificate.method}.",
            python=f"discreet.choose({mapping!r}).epsilon",
            command=_command(mapping),
        ),
        "implied": How(
            what="what the budget allows at other priors",
            formula="posterior ≤ pq / (pq + e^(−2ε)(1−q)p + e^(−ε)(1−p)), rounded up",
            source="Kazan and Reiter, Theorem 1",
            python=f"discreet.explain({promise}, discreet.Prior(0.3){sure}).posterior.upper",
            command=f"discreet explain --epsilon {number} --prior 0.3{flags}",
        ),
        "noise": How(
            what="the noise of a count",
            formula="standard deviation 1/(√2 sinh(ε/2)); exact with probability tanh(ε/2)",
            source="Ghosh, Roughgarden and Sundararajan 2012; Kazan and Reiter, Definition 1",
            python=f"from discreet.laws import Geometric; Geometric({number}).sd",
            command=None,
        ),
    }


def _command(mapping: Mapping[str, Any]) -> str:
    if "all" in mapping:
        return f"discreet choose --file {_FILE}"
    words = ["discreet", "choose"]
    for name, value in mapping.items():
        words += [f"--{name.replace('_', '-')}", value if isinstance(value, str) else f"{value!r}"]
    return shlex.join(words)


def _wanted(given: Mapping[str, str]) -> float | None:
    text = given.get("upto", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= 1 else None


@router.get(_HOME, include_in_schema=False)
def tolerate(request: Request) -> Response:
    """The screen: sentences with blanks, the curve, the budget, what it implies."""
    given = dict(request.query_params)
    problem, found = "", None
    asked = Asked()
    try:
        asked = read(given)
        found = answer(asked, _wanted(given), draw=False)
    except DiscreetError as error:
        problem = str(error)
    kinds = {name: text for name, text in KINDS.items() if name != "epsilon"}
    presets = [(about, link(_HOME, state.to_query())) for _, state, about in preset_links()]
    shown = Shown("tolerate.html", _HOME, asked, found, problem, kinds)
    return asking_page(request, shown, presets=presets)


@router.get(
    f"/api{_HOME}",
    openapi_extra=parameters(
        more={
            "upto": ({"type": "number"}, "how far the axis of belief before should reach"),
            "handle": ({"type": "string"}, "the handle that was moved, such as after or map.fold2"),
            "x": ({"type": "number"}, "where it was dragged to: belief before, on the map p"),
            "y": ({"type": "number"}, "where it was dragged to: belief after, on the map q"),
            "steps": ({"type": "number"}, "or how many steps the keyboard moved it"),
        }
    ),
    responses=REFUSED,
)
def tolerate_answer(request: Request) -> Answer:
    """What a tolerance comes to: budget, binding adversary, proof, implied posteriors, charts."""
    given = dict(request.query_params)
    asked = read(given)
    wanted = _wanted(given)
    if given.get("handle"):
        place = None
        if "x" in given or "y" in given:
            place = _coordinate(given, "x"), _coordinate(given, "y")
        asked = moved(asked, given["handle"], place, int(_coordinate(given, "steps")), wanted)
    return answer(asked, wanted)


def _coordinate(given: Mapping[str, str], name: str) -> float:
    try:
        value = float(given.get(name) or 0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{name} must be a number.")
    return max(-1e6, min(1e6, value))


@router.get(f"{_HOME}/{_FILE}", include_in_schema=False)
def tolerate_file(request: Request) -> Response:
    """The state as a tolerance file that `discreet choose` and a release spec accept."""
    asked = read(dict(request.query_params))
    command = f"discreet choose --file {_FILE}"
    return yaml_file(as_yaml(asked.to_mapping(), command), _FILE)

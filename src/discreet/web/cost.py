"""Cost: what the noise of a budget does to a count, for several tolerances side by side.

Each sentence is a tolerance of its own here, or a budget from elsewhere. The noise is geometric;
the values shown are held fixed while the budget moves, an illustration and no release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import DiscreetError, InputError
from discreet.web.drafts import release_link
from discreet.web.links import as_yaml, link, yaml_file
from discreet.web.promise_form import (
    KINDS,
    Asked,
    Condition,
    budget_text,
    parameters,
    read,
)
from discreet.web.screens import REFUSED, How
from discreet.web.sentence_screens import Shown, asking_page

__all__ = ["Count", "Priced", "answer", "router"]

router = APIRouter()
_HOME = "/cost"
_FILE = "tolerances.yaml"
_SIZES = (10, 100, 1000)
_NAMES = "ABCD"
_FIRST = Asked(tuple(Condition("unless", after=25.0, fold=fold) for fold in (1.5, 3.0, 6.0)))
_MOST_COUNT = 1_000_000_000
_COUNTED = {"type": "integer", "minimum": 0, "maximum": _MOST_COUNT}


@dataclass(frozen=True, slots=True)
class Count:
    """The count that is looked at: its true value, a limit, how far one person moves it."""

    count: int = 26
    limit: int | None = 24
    rows: int = 1

    def to_query(self) -> dict[str, Any]:
        """Return what a link holds."""
        return {"count": self.count, "limit": self.limit, "rows": self.rows}


class Priced(BaseModel):
    """Everything that the screen shows for one state."""

    fields: dict[str, str]
    names: list[str]
    header: list[str]
    rows: list[list[str]]
    verdict: str
    shown: str
    charts: dict[str, dict[str, Any]]
    how: dict[str, How]
    spoken: str
    link: str
    yaml: str
    releases: list[str]


def answer(asked: Asked, count: Count, *, draw: bool = True) -> Priced:
    """Return what each tolerance of a state costs on one count; without `draw`, no chart yet."""
    from discreet.laws.geometric import Geometric

    names = list(_NAMES[: len(asked.conditions)])
    budgets = [_budget(name, one, asked) for name, one in zip(names, asked.conditions, strict=True)]
    laws = {
        name: None if math.isinf(epsilon) else Geometric(epsilon, count.rows)
        for name, epsilon in zip(names, budgets, strict=True)
    }
    rows = _rows(laws, budgets, count)
    state = asked.to_query() | count.to_query()
    least = min(zip(budgets, names, strict=True))[1]
    verdict = ""
    if len(names) > 1:
        verdict = f"Where all of them must hold, the smallest budget decides: {least}."
    said = [f"{name}: epsilon {cell}" for name, cell in zip(names, rows[0][1:], strict=True)]
    return Priced(
        fields=asked.fields(),
        names=names,
        header=["", *names],
        rows=rows,
        verdict=verdict,
        shown=_shown(count),
        charts={"counts": _chart(laws, count)} if draw else {},
        how=_how(budgets[0], count),
        spoken="; ".join(said),
        link=link(_HOME, state),
        yaml=link(f"{_HOME}/{_FILE}", state),
        releases=[_release(one, asked) for one in asked.conditions],
    )


def _release(condition: Condition, asked: Asked) -> str:
    """Return the link that takes one of the tolerances, or its budget, to a release."""
    if condition.kind == "epsilon":
        return release_link({"budget": {"epsilon": condition.epsilon}})
    return release_link({"tolerance": condition.to_mapping() | asked.promise()})


def _chart(laws: Mapping[str, Any], count: Count) -> dict[str, Any]:
    from discreet.charts import noisy_counts_spec

    return noisy_counts_spec(laws, count.count, count.limit)


def _budget(name: str, condition: Condition, asked: Asked) -> float:
    from discreet.budgets import choose

    if condition.kind == "epsilon":
        return condition.epsilon
    try:
        return choose(condition.to_mapping() | asked.promise()).epsilon
    except DiscreetError as error:
        raise InputError(f"{name}: {error}") from None


def _rows(laws: Mapping[str, Any], budgets: list[float], count: Count) -> list[list[str]]:
    """The table: a line a measure, a column a tolerance."""
    from discreet.budgets.tradeoff import distance_across

    found = list(laws.values())

    def line(name: str, cell: Any, exact: str) -> list[str]:
        return [name, *(exact if law is None else cell(law) for law in found)]

    shown = [budget_text(epsilon) for epsilon in budgets]
    rows = [
        ["budget ε", *shown],
        line("standard deviation", lambda law: f"{law.sd:.3g}", "0"),
        line("published exactly", lambda law: _percent(law.prob_exact), "100 %"),
    ]
    for size in _SIZES:
        rows.append(
            line(
                f"a count of {size:,}: 95 % within",
                lambda law, size=size: _within(law.half_width(0.95), size),
                "±0",
            )
        )
    if count.limit is not None:
        far = distance_across(count.count, count.limit)
        side = "at or below" if count.count > count.limit else "above"
        rows.append(
            line(
                f"a count of {count.count:,} published {side} {count.limit:,}",
                lambda law: _percent(law.prob_crosses(far)),
                "0 %",
            )
        )
    return rows


def _within(width: int, size: int) -> str:
    share = 100 * width / size
    digits = ",.0f" if share >= 1 else ".1g"
    return f"±{width:,} ({share:{digits}}\N{NO-BREAK SPACE}%)"


def _percent(share: float) -> str:
    if 0 < share < 1e-5:
        return "< 0.001\N{NO-BREAK SPACE}%"
    digits = ".1f" if share >= 0.0005 else ".1g"
    return f"{100 * share:{digits}}\N{NO-BREAK SPACE}%"


def _shown(count: Count) -> str:
    words = (
        f"Forty ways in which a true count of {count.count:,} (the line) could be published. They "
        "stay at the same places of the noise while the budget moves: an illustration, not a "
        "release, and nothing is drawn."
    )
    if count.limit is None:
        return words
    return f"{words} Dashed: the limit of {count.limit:,}."


def _how(epsilon: float, count: Count) -> dict[str, How]:
    from discreet.budgets.tradeoff import distance_across

    bounded = math.isfinite(epsilon)
    number = budget_text(epsilon) if bounded else "float('inf')"
    law = f"from discreet.laws import Geometric; Geometric({number}, {count.rows})"
    source = "Ghosh, Roughgarden and Sundararajan 2012; Kazan and Reiter, Definition 1"
    far = 1 if count.limit is None else distance_across(count.count, count.limit)
    return {
        "noise": How(
            what="the noise",
            formula=(
                "a whole number n is added with probability tanh(ε/2Δ) e^(−ε|n|/Δ); standard "
                "deviation 1/(√2 sinh(ε/2Δ)), exact with probability tanh(ε/2Δ), within ±t with "
                "probability 1 − 2e^(−ε(t+1)/Δ)/(1 + e^(−ε/Δ)); Δ is how far one person moves "
                "the count"
            ),
            source=source,
            python=f"{law}.half_width(0.95)  # A; also .sd and .prob_exact",
            command=None,
        ),
        "crossing": How(
            what="the chance of crossing a limit",
            formula="P(noise ≥ m) = e^(−εm/Δ)/(1 + e^(−ε/Δ)), m the distance to the other side",
            source="Kazan and Reiter, Example 3",
            python=f"{law}.prob_crosses({far})  # A",
            command=None,
        ),
    }


def _count(given: Mapping[str, str]) -> Count:
    first = Count()
    if not any(name in given for name in ("count", "limit", "rows")):
        return first
    limit = given.get("limit", "").strip()
    return Count(
        _whole("the true count", given.get("count", ""), first.count, 0),
        _whole("the limit", limit, 0, 0) if limit else None,
        _whole("how far one person moves a count", given.get("rows", ""), 1, 1),
    )


def _whole(name: str, text: str, default: int, low: int) -> int:
    text = text.strip()
    if not text:
        return default
    if not text.isdecimal() or len(text) > 12 or not low <= int(text) <= _MOST_COUNT:
        raise InputError(
            f"{name} is {text[:20]!r}; it must be a whole number from {low} to {_MOST_COUNT:,}."
        )
    return int(text)


@router.get(_HOME, include_in_schema=False)
def cost(request: Request) -> Response:
    """The screen: tolerances side by side, their noise, a count, a limit."""
    given = dict(request.query_params)
    problem, found = "", None
    asked, count = _FIRST, Count()
    try:
        asked = read(given, first=_FIRST, budgets=True)
        count = _count(given)
        found = answer(asked, count, draw=False)
    except DiscreetError as error:
        problem = str(error)
    shown = Shown("cost.html", _HOME, asked, found, problem, KINDS)
    return asking_page(request, shown, count=count, names=_NAMES)


@router.get(
    f"/api{_HOME}",
    openapi_extra=parameters(
        budgets=True,
        more={
            "count": (_COUNTED, "the true count"),
            "limit": (_COUNTED, "the limit that it is compared with"),
            "rows": (_COUNTED | {"minimum": 1}, "how far one person moves a count"),
        },
    ),
    responses=REFUSED,
)
def cost_answer(request: Request) -> Priced:
    """What each tolerance costs: budget, noise, the chance of crossing a limit, an illustration."""
    given = dict(request.query_params)
    return answer(read(given, first=_FIRST, budgets=True), _count(given))


@router.get(f"{_HOME}/{_FILE}", include_in_schema=False)
def cost_file(request: Request) -> Response:
    """The tolerances as a file: `discreet choose` names the one that binds.

    A budget alone becomes a file that `discreet explain` reads.
    """
    asked = read(dict(request.query_params), first=_FIRST, budgets=True)
    named = dict(zip(_NAMES, asked.conditions, strict=False))
    asking = {name: one for name, one in named.items() if one.kind != "epsilon"}
    if not asking:
        budget = min(one.epsilon for one in named.values())
        return yaml_file(
            as_yaml({"epsilon": budget}, "discreet explain --file budget.yaml"), "budget.yaml"
        )
    if len(asking) == 1:
        mapping = next(iter(asking.values())).to_mapping()
    else:
        mapping = {"groups": {name: one.to_mapping() for name, one in asking.items()}}
    text = as_yaml(mapping | asked.promise(), f"discreet choose --file {_FILE}")
    text += "".join(
        f"# {name} is a budget: epsilon {one.epsilon!r}\n"
        for name, one in named.items()
        if one.kind == "epsilon"
    )
    return yaml_file(text, _FILE)

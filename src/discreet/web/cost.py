"""The screen Cost: what the noise of a budget does to a count, for tolerances side by side.

Each sentence is a tolerance of its own here, or a budget from elsewhere; `discreet.cost` says what
it costs. The count is hypothetical, and both sides of its limit are shown. The values drawn are
held fixed while the budget moves, an illustration and no release.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from discreet.budgets import Cost, cost
from discreet.errors import DiscreetError, InputError
from discreet.guarantees import PureDP
from discreet.rounding import exact_text
from discreet.statements.presenter import budget_text, chance_text
from discreet.web.forms import Number, filled
from discreet.web.screens import REFUSED, How, as_yaml, how, yaml_file
from discreet.web.sentences import Asked, Condition, Sentences, sentences_page, with_sentences
from discreet.web.thread import Thread, link
from discreet.words import say

__all__ = ["CostForm", "Priced", "answer", "router"]

router = APIRouter()
_HOME = "/cost"
_FILE = "tolerances.yaml"
_SIZES = (10, 100, 1000)
_NAMES = "ABCD"
_MOST_COUNT = 1_000_000_000


@with_sentences
class CostForm(Sentences):
    """Tolerances to compare, and the count: its true value, a limit, how far one person moves it.

    A form that names a count and leaves out its limit has none.
    """

    first = Asked(tuple(Condition("unless", after=25.0, fold=fold) for fold in (1.5, 3.0, 6.0)))
    count: Annotated[int, Number(low=0, high=_MOST_COUNT, whole=True)] = 26
    limit: Annotated[int | None, Number(low=0, high=_MOST_COUNT, whole=True, optional=True)] = 24
    rows: Annotated[int, Number(low=1, high=_MOST_COUNT, whole=True)] = 1

    @property
    def compared_with(self) -> int | None:
        """The limit that the count is compared with."""
        said = self.model_fields_set
        return None if said & {"count", "rows"} and "limit" not in said else self.limit

    def count_query(self) -> dict[str, Any]:
        """Return what a link holds of the count."""
        return {"count": self.count, "limit": self.compared_with, "rows": self.rows}


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


def answer(form: CostForm, *, draw: bool = True) -> Priced:
    """Return what each tolerance of a form costs on one count; without `draw`, no chart yet."""
    asked = form.asked()
    names = list(_NAMES[: len(asked.conditions)])
    costs = [_cost(name, one, form) for name, one in zip(names, asked.conditions, strict=True)]
    rows = _rows(costs)
    state = asked.to_query() | form.count_query()
    least = min(zip((one.epsilon for one in costs), names, strict=True))[1]
    said = [
        say("web.cost.spoken", name=name, epsilon=cell)
        for name, cell in zip(names, rows[0][1:], strict=True)
    ]
    charts = {}
    if draw:
        from discreet.charts import noisy_counts_spec

        laws = {name: one.law for name, one in zip(names, costs, strict=True)}
        charts["counts"] = noisy_counts_spec(laws, form.count, form.compared_with)
    return Priced(
        fields=asked.fields(),
        names=names,
        header=["", *names],
        rows=rows,
        verdict=say("web.cost.smallest", name=least) if len(names) > 1 else "",
        shown=_shown(form),
        charts=charts,
        how=_how(costs[0], form),
        spoken="; ".join(said),
        link=link(_HOME, state),
        yaml=link(f"{_HOME}/{_FILE}", state),
        releases=[_release(one, asked) for one in asked.conditions],
    )


def _release(condition: Condition, asked: Asked) -> str:
    """Return the link that takes one of the tolerances, or its budget, to a release."""
    if condition.kind == "epsilon":
        return Thread.saying(budget={"epsilon": condition.epsilon}).to("/release")
    return Thread.saying(tolerance=condition.to_mapping() | asked.promise()).to("/release")


def _cost(name: str, condition: Condition, form: CostForm) -> Cost:
    """Return what one tolerance costs, where counts are as far from the limit as the one named."""
    limit, rows = form.compared_with, form.rows
    decision: dict[str, Any] = {}
    if limit is not None:
        # A quarter rounds to the limit itself, below, and to the next count above it.
        decision = {"target": float(limit), "away": [abs(form.count - limit) or 0.25]}
    try:
        what = (
            PureDP(condition.epsilon)
            if condition.kind == "epsilon"
            else condition.to_mapping() | form.asked().promise()
        )
        (found,) = cost(what, sensitivity=rows, **decision)
    except DiscreetError as error:
        raise InputError("web.cost.of_one", name=name, problem=str(error)) from None
    return found


def _rows(costs: list[Cost]) -> list[list[str]]:
    """The table: a line a measure, a column a tolerance."""
    counts = [one.errors["count"] for one in costs]
    rows = [
        [say("web.cost.budget"), *(budget_text(one.epsilon) for one in costs)],
        [say("web.cost.sd"), *(f"{one['rmse']:.3g}" for one in counts)],
        [say("web.cost.exact"), *(exact_text(one["prob_exact"]) for one in counts)],
        *(
            [
                say("web.cost.within", size=f"{size:,}"),
                *(_within(one["within_95"], size) for one in counts),
            ]
            for size in _SIZES
        ),
    ]
    for switches in zip(*(one.switch for one in costs), strict=True):
        first, limit = switches[0], costs[0].asked.limit
        name = "web.cost.below" if first.decision == "above" else "web.cost.above"
        said = say(name, count=f"{first.count:,}", limit=f"{limit:,}")
        rows.append([said, *(chance_text(one.chance) for one in switches)])
    return rows


def _within(width: int, size: int) -> str:
    if not width:
        return "±0"
    share = 100 * width / size
    digits = ",.0f" if share >= 1 else ".1g"
    return f"±{width:,} ({share:{digits}}\N{NO-BREAK SPACE}%)"


def _shown(form: CostForm) -> str:
    words = say("web.cost.shown", count=f"{form.count:,}")
    if form.compared_with is None:
        return words
    return f"{words} {say('web.cost.dashed', limit=f'{form.compared_with:,}')}"


def _how(first: Cost, form: CostForm) -> dict[str, How]:
    epsilon = first.epsilon
    number = budget_text(epsilon) if math.isfinite(epsilon) else "float('inf')"
    python = f"discreet.cost(discreet.PureDP({number}), sensitivity={form.rows}"
    crossing = f"{python})[0].law.prob_crosses(1)"
    if form.compared_with is not None:
        compared = f"target={form.compared_with}, away={list(first.asked.away)}"
        crossing = f"{python}, {compared})[0].switch[-1].chance"
    return {
        "noise": how("noise", python=f"{python})[0].errors['count']['within_95']  # A"),
        "crossing": how("crossing", python=f"{crossing}  # A"),
    }


@router.get(_HOME, include_in_schema=False)
def cost_page(request: Request) -> Response:
    """The screen: tolerances side by side, their noise, a count, a limit."""
    found = filled(CostForm, request.query_params, lambda form: answer(form, draw=False))
    return sentences_page(
        request, "cost.html", found, count=found.form.state.count_query(), names=_NAMES
    )


@router.get(f"/api{_HOME}", responses=REFUSED)
def cost_answer(form: Annotated[CostForm, Query()]) -> Priced:
    """What each tolerance costs: budget, noise, the chance of crossing a limit, an illustration."""
    return answer(form)


@router.get(f"{_HOME}/{_FILE}", include_in_schema=False)
def cost_file(form: Annotated[CostForm, Query()]) -> Response:
    """The tolerances as a file: `discreet choose` names the one that binds.

    A budget alone becomes a file that `discreet explain` reads.
    """
    asked = form.asked()
    named = dict(zip(_NAMES, asked.conditions, strict=False))
    budgets = {name: one.epsilon for name, one in named.items() if one.kind == "epsilon"}
    asking = {name: one.to_mapping() for name, one in named.items() if name not in budgets}
    if not asking:
        said = {"epsilon": min(budgets.values())}
        return yaml_file(as_yaml(said, "discreet explain --file budget.yaml"), "budget.yaml")
    mapping = next(iter(asking.values())) if len(asking) == 1 else {"groups": asking}
    text = as_yaml(mapping | asked.promise(), f"discreet choose --file {_FILE}")
    for name, epsilon in budgets.items():
        text += say("web.cost.is_budget", name=name, epsilon=repr(epsilon)) + "\n"
    return yaml_file(text, _FILE)

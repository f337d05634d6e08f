"""An OpenDP `Context` from a budget of ours: the same promise, spent with OpenDP's own queries.

    choice = discreet.choose(Ratio(3))
    context = discreet.to_opendp(choice, data, contributions=4)
    context.query().count().laplace().release()

| ours                       | OpenDP                                                            |
|----------------------------|-------------------------------------------------------------------|
| ε, (ε, δ), ρ               | `loss_of(epsilon=…, delta=…)`, `loss_of(rho=…)`                   |
| add-remove, replace, local | `unit_of` with `contributions=…`, `changes=…`, `local=True`       |
| a plan of K releases       | K queries, each with the budget of its release                    |
| one budget, no plan        | a privacy filter: queries of any size until it is spent           |

A plan is handed over release by release. OpenDP adds the releases up by basic composition, so the
total that it tells is the sum of their budgets; that all of them together keep the plan's tolerance
rests on the plan's own accounting, which may be tighter (`plan.how`).

Safe side. A budget is written down as the decimal that it prints; the double that OpenDP gets is
never above that decimal, for one budget as for every query of a plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.budgets import Choice
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, PureDP
from discreet.laws.checks import whole
from discreet.series import Plan

Promise: TypeAlias = PureDP | ApproxDP | ZCDP
Loss: TypeAlias = float | tuple[float, float]


def to_opendp(
    budget: Choice | Plan | Promise,
    data: Any,
    *,
    contributions: int = 1,
    identifier: str | None = None,
    releases: int | None = None,
    domain: Any = None,
    margins: Sequence[Any] | None = None,
) -> Any:
    """Return an OpenDP `Context` over the data with this budget, and not a hair more.

    `contributions` is the most rows (or, with an `identifier` column of a Polars frame, the number
    of people) that the protected unit may have. A plan gives as many queries as it has releases;
    for another budget `releases` splits it evenly, and without it the context is a filter.
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise InputError("noise.no_opendp") from None
    dp.enable_features("contrib")
    if isinstance(budget, Plan):
        if releases is not None:
            raise InputError("noise.releases_of_plan")
        each, adjacency = _each(budget)
    else:
        promise = budget.guarantee if isinstance(budget, Choice) else budget
        each, adjacency = [_loss(promise)], promise.adjacency
    unit = _unit(dp, adjacency, whole("contributions", contributions), identifier)
    rho = isinstance(budget, ZCDP) or (isinstance(budget, Plan) and budget.budget == "rho")

    def loss(amount: Loss) -> Any:
        epsilon, delta = amount if isinstance(amount, tuple) else (amount, None)
        return dp.loss_of(rho=epsilon) if rho else dp.loss_of(epsilon=epsilon, delta=delta)

    if isinstance(budget, Plan):
        return _planned(dp, data, unit, [loss(amount) for amount in each], domain, margins)
    even = None if releases is None else whole("releases", releases)
    return dp.Context.compositor(
        data, unit, loss(each[0]), split_evenly_over=even, domain=domain, margins=margins
    )


def _planned(
    dp: Any, data: Any, unit: Any, losses: list[Any], domain: Any, margins: Sequence[Any] | None
) -> Any:
    """Return a context whose queries, one a release, have exactly these losses.

    `Context.compositor` would scale weights by a search in doubles until they fit a total, and
    finds no order between pairs (ε, δ); the losses are known here, so they are handed over.
    """
    space = dp.domain_of(data, infer=True) if domain is None else domain
    for margin in margins or ():
        space = dp.with_margin(space, margin)
    metric, most = unit
    d_mids = [amount for _, amount in losses]
    accountant = dp.c.make_adaptive_composition(
        input_domain=space,
        input_metric=metric,
        output_measure=losses[0][0],
        d_in=most,
        d_mids=d_mids,
    )
    return dp.Context(accountant=accountant, queryable=accountant(data), d_in=most, d_mids=d_mids)


def _float(name: str, amount: float) -> float:
    """Return the largest double at or below both the amount and the decimal that it prints."""
    if math.isinf(amount):
        raise GuaranteeError("noise.unbounded", name=name)
    below = Fraction(amount) <= Fraction(repr(amount))
    return amount if below else math.nextafter(amount, 0.0)


def _loss(promise: Promise) -> Loss:
    if isinstance(promise, ZCDP):
        return _float("rho", promise.rho)
    if not isinstance(promise, PureDP | ApproxDP):
        raise GuaranteeError("noise.no_budget", promise=promise)
    epsilon = _float("epsilon", promise.epsilon)
    if isinstance(promise, ApproxDP) and promise.delta > 0:
        return epsilon, _float("delta", promise.delta)
    return epsilon


def _each(plan: Plan) -> tuple[list[Loss], Adjacency]:
    """Return what each release of a plan may spend, and the adjacency of all."""
    delta = plan.per_release["delta"] or 0.0
    if plan.budget == "rho":
        return [_loss(ZCDP(amount)) for amount in plan.budgets], plan.adjacency
    return [_loss(ApproxDP(amount, delta)) for amount in plan.budgets], plan.adjacency


def _unit(dp: Any, adjacency: Adjacency, most: int, identifier: str | None) -> Any:
    if adjacency is Adjacency.LOCAL:
        return dp.unit_of(local=True)
    if adjacency is Adjacency.REPLACE:
        return dp.unit_of(changes=most, identifier=identifier)
    return dp.unit_of(contributions=most, identifier=identifier)

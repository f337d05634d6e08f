"""What a release may spend: what its spec says, or what a promise leaves it.

A spec gives a budget in numbers, or makes a promise, or does neither: then the account's own
promises say how much there is. A promise speaks of everything charged to the account, so what it
allows is its limit there (`ledger.promises`), all of it, or the K-th part of a series. Whether that
much is still left is decided by the ledger, at the charge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import SpecError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, Guarantee, PureDP, stated
from discreet.ledger.amounts import Amount
from discreet.ledger.promises import register
from discreet.numerics import float_down
from discreet.promises import Promise, delta_in
from discreet.rounding import down

if TYPE_CHECKING:
    from discreet.ledger import Account
    from discreet.releases.spec import InFolder


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a release may spend, and the promise that comes with it."""

    budget: Guarantee
    promise: Promise | None = None


def allowance(spec: InFolder, account: Account | None) -> Allowance:
    """Return what a spec may spend on an account; None stands for one that is not open yet."""
    promise, adjacency = spec.promised(), Adjacency.of(spec.protect.adjacency)
    if spec.budget is not None:
        given = spec.budget
        return Allowance(stated(given.epsilon, given.delta, given.rho, adjacency=adjacency))
    if promise is None:
        return Allowance(_of_account(account, adjacency))
    delta = delta_in(spec.promise_keys or {})
    if account is None:
        return Allowance(_before_opening(promise, delta), promise)
    account.require(unit=spec.protect.unit, adjacency=adjacency.value)
    limit = register(promise, account).limit
    return Allowance(_guarantee(limit, adjacency, delta), promise)


def require_own(spec: InFolder) -> None:
    """Refuse a spec that says nothing of what it may spend, where no ledger is read."""
    if spec.budget is None and spec.promise_keys is None:
        raise SpecError("charge.nothing_asked_no_ledger")


def _of_account(account: Account | None, adjacency: Adjacency) -> Guarantee:
    if account is None:
        raise SpecError("charge.nothing_asked_unopened")
    if not account.promises:
        raise SpecError("charge.nothing_asked")
    limits = list(account.promises.values())
    least = limits[0]
    for limit in limits[1:]:
        least = least.least(limit)
    return _guarantee(least, adjacency, 0.0)


def _before_opening(promise: Promise, delta: float) -> Guarantee:
    from discreet.budgets import choose

    found = choose(promise, delta=delta).guarantee
    if math.isinf(found.epsilon):
        raise SpecError("charge.bounds_nothing")
    return found


def _guarantee(limit: Amount, adjacency: Adjacency, delta: float) -> Guarantee:
    """Return a limit as the budget of a release: ρ, or ε with the δ that the spec asks for."""
    if limit.rho is not None:
        return stated(rho=float_down(limit.rho), adjacency=adjacency)
    most = 0.0 if limit.delta is None else float_down(limit.delta)
    if delta > most:
        raise SpecError("charge.too_much_delta", delta=delta, most=most)
    return stated(float_down(limit.lead), delta, adjacency=adjacency)


def as_pure(budget: Guarantee) -> float:
    """Return the ε of pure DP that a budget pays for: a ρ pays for √2ρ."""
    if isinstance(budget, ZCDP):
        return down(math.sqrt(2 * budget.rho), 4)
    if isinstance(budget, PureDP | ApproxDP):
        return budget.epsilon
    raise SpecError("charge.not_as_epsilon", budget=budget)

"""A promise on an account: the fixed rectangle that everything charged must stay in.

Budgets that are chosen after looking at what was published may be steered. For a promise with a
confidence, the set of totals (Σε, Σδ) that keep it is no rectangle, and checking the realised total
against it is unsafe: a first release (0, small δ) whose rare output is followed by pure ε up to the
limit, and any other by more δ, passes every check and breaks the promise nearly twice as often as
allowed. So a promise becomes one rectangle when it is registered, at the account's cap on δ, and is
never derived again; a filter keeps every total inside it, whatever the spender looks at.

- pure: Σε ≤ E, the pure budget of the promise.
- basic: Σε ≤ E and Σδ ≤ D, D the cap on δ, E the largest ε for which (E, D)-DP keeps the promise.
- zcdp: Σρ ≤ R and Σδ ≤ D. With D > 0 the total is δ-approximate zCDP: its curve is that of ρ with D
  on top, and two steps follow from it by group privacy, point by point.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.budgets.keeping import Kept, kept, largest
from discreet.budgets.limits import Limits, limits_of
from discreet.composition.stated import loss_of_promise
from discreet.errors import PolicyError, ToleranceError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.promises.promise import Promise


class BoundsNothing(ToleranceError):
    """A promise that any budget keeps; none of them is the largest."""

    def __init__(self) -> None:
        super().__init__("budgets.bounds_nothing")


def on_account(promise: Promise, rule: str, delta: float) -> Promise:
    """Return the promise as an account of that rule keeps it: how surely is said by then."""
    settled = promise.settled(pure=rule == "pure" or (rule == "basic" and delta == 0))
    if rule == "zcdp" and settled.every_output:
        raise PolicyError("budgets.every_output_on_zcdp")
    return settled


def rectangle(promise: Promise, rule: str, delta: float) -> dict[str, float]:
    """Return the most that may be charged: {epsilon}, {epsilon, delta} or {rho, delta}.

    >>> from discreet.promises import promise_in
    >>> found = rectangle(promise_in({"posterior": 0.12, "p": 0.05, "q": 1}), "pure", 0.0)
    >>> round(found["epsilon"], 4)
    0.952
    """
    settled = on_account(promise, rule, delta)
    limits = limits_of(settled)
    if math.isinf(limits.pure) and not settled.on_average:
        raise BoundsNothing
    pure = rule == "pure" or (rule == "basic" and delta == 0)
    if settled.every_output or (pure and not settled.on_average):
        return {"epsilon": limits.pure} | ({} if rule == "pure" else {"delta": 0.0})
    at = _kept_at(settled, limits, rule, delta)
    try:
        found, _ = largest(at, 1.0 if math.isinf(limits.pure) else limits.pure)
    except ToleranceError:
        if at(0.0).kept:
            raise BoundsNothing from None
        raise ToleranceError("budgets.none_at_cap", delta=delta) from None
    if rule == "pure":
        return {"epsilon": found}
    return {"epsilon" if rule == "basic" else "rho": found, "delta": delta}


def holds(promise: Promise, rule: str, lead: float, delta: float) -> bool:
    """Whether everything within (lead, δ), lead an ε or a ρ, keeps a promise of an account.

    >>> from discreet.promises import promise_in
    >>> sure = promise_in({"ratio": 3, "about": "membership", "confidence": 0.99})
    >>> holds(sure, "basic", 1.0, 1e-6), holds(sure, "basic", 1.0, 1e-2)
    (True, False)
    """
    settled = on_account(promise, rule, delta)
    if delta >= 1 or (settled.every_output and delta > 0):
        return False
    return _kept_at(settled, limits_of(settled), rule, delta)(lead).kept


def _kept_at(promise: Promise, limits: Limits, rule: str, delta: float) -> Callable[[float], Kept]:
    """Return how a promise is kept by everything within (x, δ) of an account."""
    where = promise.adjacency

    def total(x: float) -> Guarantee:
        if rule == "pure":
            return PureDP(x, adjacency=where)
        if rule == "basic":
            return ApproxDP(x, delta, adjacency=where)
        if delta == 0:
            return ZCDP(x, adjacency=where)
        from discreet.composition.concentrated import ConcentratedLoss

        return ConcentratedLoss(x, lost=delta, adjacency=where).curve()

    def at(x: float) -> Kept:
        return kept(promise, limits, loss_of_promise(total(x)))

    return at

"""`choose`: a promise becomes the largest budget that keeps it.

For every output: the least ε* over the priors (K&R eq. 13), by a closed form where the worst prior
is known, else by the certified search (`limits`). With δ > 0: the largest ε for which (ε, δ)-DP
keeps the promise at its confidence over the same priors (`keeping`). On average: the largest ε for
which the best guess is right no more often than promised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.budgets.choice import Binding, Certificate, Choice
from discreet.budgets.limits import Limits, limits_of
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import ApproxDP, PureDP
from discreet.promises.keys import delta_in, promise_from
from discreet.promises.promise import Promise, PromiseLike
from discreet.rounding import up

__all__ = ["choose"]

_PAST_ROUNDING = 512  # ulps


def choose(
    promise: PromiseLike | None = None,
    *,
    delta: float | None = None,
    sensitivity: int = 1,
    **keys: Any,
) -> Choice:
    """Return the largest budget that keeps a promise.

    `promise` is a `Promise`, a tolerance such as `Ratio(3)`, a mapping with the keys of a promise
    file (which may carry `delta`), a formula in p and q, or a function of them. `keys` are the keys
    of a promise: all of them, or those that say how surely and of whom beside a promise.

    >>> choose("max(0.25/(p*q), 3)")
    Choice(epsilon=0.649641, binding p=1 q=0.0833333, branch and bound)
    >>> choose(posterior=0.12, p=0.05, about="membership").epsilon < 0.9521
    True
    """
    if delta is None:
        delta = delta_in(promise) if isinstance(promise, Mapping) else 0.0
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise InputError(f"delta is {delta!r}; it must be a probability below 1.")
    asked = promise_from(promise, keys)
    if delta == 0 and asked.confidence is not None:
        raise InputError(
            f"a confidence of {asked.confidence:g} was given without a delta; pure DP holds for "
            "every output. Give delta, or leave the confidence out (plan takes one without)."
        )
    if delta > 0 and asked.every_output:
        raise InputError(
            f"delta is {delta:g}, and the promise is for every output, which pure DP alone keeps; "
            "drop delta, or give a confidence."
        )
    settled = asked.settled(pure=delta == 0)
    limits = limits_of(settled)
    guarantee, certificate = _solved(settled, limits, delta)
    binding = limits.binding
    return Choice(
        promise=settled,
        guarantee=guarantee,
        binding=Binding(binding.p, binding.q, binding.attained, binding.name),
        certificate=certificate,
        sensitivity=sensitivity,
    )


def _solved(
    promise: Promise, limits: Limits, delta: float
) -> tuple[PureDP | ApproxDP, Certificate]:
    solved, where = limits.binding, promise.adjacency
    sure = (solved.certified, solved.reason)
    if delta == 0 and not promise.on_average:
        lower, upper = limits.pure, limits.pure_upper
        return PureDP(lower, adjacency=where), Certificate(lower, upper, solved.method, *sure)
    unbounded = math.inf in (limits.one or 0.0, limits.two or 0.0) and limits.pure == math.inf
    if unbounded and not promise.on_average:
        certificate = Certificate(math.inf, math.inf, solved.method, *sure)
        return ApproxDP(math.inf, delta, adjacency=where), certificate
    lower = _largest(promise, limits, delta)
    # What passes the raised limits breaks the promise. Bounds are rounded up on the way by some
    # ulps of the loss, and the bracket is a few ulps wide: the limits are lifted past both.
    upper = _largest(promise, _lifted(limits.raised()), delta) * (1 + 1e-14)
    if promise.on_average:
        certificate = Certificate(lower, upper, "trade-off curve of one step", True)
        if delta == 0:
            return PureDP(lower, adjacency=where), certificate
        return ApproxDP(lower, delta, adjacency=where), certificate
    steps = (
        "one step" if limits.two is None else "two" if limits.one is None else "one step and two"
    )
    method = f"{solved.method}; then KSZ Theorem 3.9 for {steps}"
    return ApproxDP(lower, delta, adjacency=where), Certificate(lower, upper, method, *sure)


def _lifted(limits: Limits) -> Limits:
    one = None if limits.one is None else up(limits.one, _PAST_ROUNDING)
    return replace(
        limits, one=one, two=None if limits.two is None else up(limits.two, _PAST_ROUNDING)
    )


def _largest(promise: Promise, limits: Limits, delta: float) -> float:
    from discreet.budgets.keeping import kept, largest
    from discreet.composition.stated import loss_of_promise

    def at(epsilon: float) -> Any:
        stated = ApproxDP(epsilon, delta, adjacency=promise.adjacency)
        return kept(promise, limits, loss_of_promise(stated))

    start = 1.0 if math.isinf(limits.pure) else limits.pure
    try:
        return largest(at, start)[0]
    except ToleranceError:
        if promise.on_average or at(0.0).kept:
            raise
        raise ToleranceError(
            f"no epsilon of zero or more keeps this promise at delta = {delta:g} with confidence "
            f"{promise.confidence:g}; lower delta, or accept a lower confidence or a wider promise."
        ) from None

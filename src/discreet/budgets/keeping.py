"""Whether a promise is kept by what is released: the losses against the limits, and how often.

Notation. A and B are the limits on the losses of one step and of two (`limits`), η the failure
probability that the promise allows, T and F the chances of a rise and a fall, as in
`composition.curves`.

- For every output: the release must be pure DP within the limits.
- With a confidence 1 − η, for a strong adversary, whatever is true of the unit:
  - where both steps count, T₁(A) + T₂(B) ≤ η one-sided, and two-sided
    T₁(A) + T₂(B) + F₁(A) + T₂(B) ≤ η: no share is fixed beforehand, and each has what the noise
    needs at the limits;
  - where one of them counts (a value of someone who is in; replace, local), the loss that is
    passed with probability η, or η/2 in each direction, must be within the limit;
  - where the value is known (q = 1) the same with KSZ's two-sided bound, whose two directions
    share η (their Theorem 3.9), and the exact law may be used.
- On average, for a guessed value: the chance that the best guess is right (`composition.guesses`).

`Kept.excess` is at most 0 where the promise is kept, and rises with the budget.

A promise on an account: the fixed rectangle that everything charged must stay in.

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
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from discreet.beliefs.prior import failure_of
from discreet.budgets.limits import Limits, limits_of
from discreet.composition.curves import Strength
from discreet.composition.loss import LossBound, PrivacyLoss
from discreet.composition.stated import loss_of_promise
from discreet.errors import GuaranteeError, PolicyError, ToleranceError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.numerics import narrow
from discreet.promises.promise import Promise, Sided
from discreet.rounding import up
from discreet.words import say

Rule: TypeAlias = Literal["pure", "basic", "zcdp"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Whether a promise is kept, by how much, and by which bound.

    `one` and `two` bound the losses of one step and of two, outside an event of probability
    `failure` (0: for every output).
    """

    excess: float
    failure: float
    strength: Strength
    survives: bool
    method: str
    one: float | None = None
    two: float | None = None
    point: tuple[float, float] | None = None
    note: str | None = None
    theorem: str | None = None

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.excess <= 0


def kept(
    promise: Promise,
    limits: Limits,
    loss: PrivacyLoss,
    *,
    strength: Strength | None = None,
) -> Kept:
    """Say whether what is released in all keeps a promise whose surety is settled."""
    if promise.on_average:
        return _on_average(promise, loss)
    if promise.every_output:
        return _every_output(limits, loss)
    if limits.one is None and limits.two is None:  # certain before, certain after
        return Kept(-math.inf, 0.0, "generic", True, say("budgets.kept.nothing_left"))
    alone = one_loss(promise, limits)
    if alone is None:
        return _both(limits, loss, failure_of(promise.confidence or 0.0), promise.sided, strength)
    steps, allowed = loss.steps(alone.steps), alone.strength(strength)
    try:
        found = steps.one_step(alone.failure, alone.sided, strength=allowed)
    except GuaranteeError:  # its δ is above what the confidence leaves
        method, note = say("budgets.kept.no_bound"), alone.note(strength)
        return Kept(math.inf, alone.in_all, "generic", True, method, note=note)
    return alone.judged(found, strength)


@dataclass(frozen=True, slots=True)
class OneLoss:
    """The one loss that a promise is about: how many steps apart, its limit, how often it may fail.

    `changed` says that it is the loss of two steps, of a value changed for another. `two_laws` says
    that the truth is one of the two that are compared: a value that is known, in or out, and nobody
    related. The exact law is proved for that alone, and so are the events of probabilistic DP.
    """

    steps: int
    limit: float
    failure: float
    sided: Sided
    changed: bool
    two_laws: bool
    in_all: float

    def strength(self, asked: Strength | None) -> Strength | None:
        """Return the strength to use: of more laws than two, the strongest is the curve."""
        return asked if self.two_laws or asked == "generic" else "curve"

    def note(self, asked: Strength | None) -> str | None:
        """Say where the exact bound was asked for and cannot be used."""
        return say("budgets.not_exact") if asked == "exact" and not self.two_laws else None

    def excess(self, loss: float) -> float:
        """Return by how much a loss passes the limit."""
        return -math.inf if math.isinf(self.limit) else loss - self.limit

    def judged(self, found: LossBound, asked: Strength | None) -> Kept:
        """Say whether a bound on the loss stays within the limit, and what it rests on."""
        loss = found.epsilon_prime
        return Kept(
            excess=self.excess(loss),
            failure=0.0 if found.failure == 0 else self.in_all,
            strength=found.strength,
            survives=found.survives,
            method=found.method,
            one=None if self.changed else loss,
            two=loss if self.changed else None,
            point=found.point,
            note=found.note or self.note(asked),
            theorem=found.theorem,
        )


def one_loss(promise: Promise, limits: Limits) -> OneLoss | None:
    """Return the one loss that counts under a confidence; None where two of them do."""
    failure = failure_of(promise.confidence or 0.0)
    if limits.one is not None and limits.two is not None:
        return None
    near, far = limits.steps
    if limits.value_known and limits.one is not None and near == 1:
        return OneLoss(near, limits.one, failure, promise.sided, False, True, failure)
    # Which of several values is the true one may be none of the two that are compared, so both
    # directions may fail at once. So it is with what related units have if this one is out.
    each = failure / 2 if promise.sided == "two" else failure
    if limits.one is not None:
        return OneLoss(near, limits.one, each, "one", False, False, failure)
    return OneLoss(far, limits.two or 0.0, each, "one", True, False, failure)


def _every_output(limits: Limits, loss: PrivacyLoss) -> Kept:
    """Pure DP within the limits; nothing else holds for every output."""
    near, far = (
        None if limit is None else loss.steps(m).pure()
        for limit, m in zip((limits.one, limits.two), limits.steps, strict=True)
    )
    excess = max(
        (
            -math.inf if math.isinf(limit) else found - limit
            for found, limit in ((near, limits.one), (far, limits.two))
            if found is not None and limit is not None
        ),
        default=-math.inf,
    )
    method = say("budgets.kept.pure")
    return Kept(excess, 0.0, "generic", True, method, near, far, (loss.pure(), 0.0))


def _both(
    limits: Limits, loss: PrivacyLoss, failure: float, sided: str, strength: Strength | None
) -> Kept:
    """One step and two at once: how often either passes its limit."""
    note = say("budgets.not_exact") if strength == "exact" else None

    A, B = limits.one or 0.0, limits.two or 0.0
    near, far = loss.steps(limits.steps[0]), loss.steps(limits.steps[1])
    shares: list[float] = []
    if not (math.isinf(A) and math.isinf(B)):
        # Two steps must not claim less than one, by whichever valid account of that.
        two = far.chance_of_rise(B, near)
        shares += [near.chance_of_rise(A), two]
        if sided == "two":
            # Of related units the truth may be further away than one step's law tells.
            wide = near if limits.steps[0] == 1 else far
            shares += [wide.chance_of_fall(A), two]
    chance = min(1.0, up(math.fsum(shares)))
    certain = chance == 0
    excess = math.log(chance) - math.log(failure) if chance > 0 else -math.inf
    # No output passes either limit: no probability of failing is split.
    method = say("budgets.kept.pure") if certain else near.described(_split(shares, excess <= 0))
    return Kept(
        excess=excess,
        failure=0.0 if certain else failure,
        strength=near.strength,
        survives=True,
        method=method,
        one=A,
        two=B,
        note=note,
        theorem=near.theorem,
    )


def _split(shares: list[float], kept: bool) -> str:
    """Say how the failure probability is split; with the shares, where they keep the promise."""
    said = say("budgets.kept.both")
    if not kept:
        return said
    own: dict[str, float] = dict(zip(("one", "two", "one_down", "two_down"), shares, strict=False))
    return f"{said}: {say(f'budgets.kept.shares_{len(shares)}', **own)}"


def _on_average(promise: Promise, loss: PrivacyLoss) -> Kept:
    """The chance that the best guess is right, against what is tolerated of it."""
    return Kept(
        excess=max(_passed(promise, loss)),
        failure=0.0,
        strength=loss.steps(promise.related).strength,
        survives=True,
        method=say("budgets.kept.on_average"),
    )


def binding_guess(promise: Promise, loss: PrivacyLoss) -> tuple[str | None, float]:
    """Return the group whose guess is nearest to what is tolerated, and its chance before."""
    passed = _passed(promise, loss)
    name, part = promise.parts[passed.index(max(passed))]
    return name, _guess_before(part)


def _passed(promise: Promise, loss: PrivacyLoss) -> list[float]:
    """How far the chance of a right guess passes what each part tolerates."""
    related, passed = loss.steps(promise.related), []
    for _, part in promise.parts:
        q = _guess_before(part)
        passed.append(related.right_guess(q) - part.ratio_at(1.0, q) * q)
    return passed


def _guess_before(part: Any) -> float:
    """The chance that the best guess is right before; a tolerance must name it."""
    if part.box.q_fixed:
        return float(part.box.q1)
    raise ToleranceError("budgets.guess_not_fixed")


def largest(
    excess: Callable[[float], Kept], start: float = 1.0, factor: float = 2.0
) -> tuple[float, Kept]:
    """Return the largest budget seen to keep a promise, and how it does.

    `excess` must rise with the budget. The bracket shrinks around the root until both ends are a
    few ulps apart; its lower end was seen to keep the promise. `factor` is how far from `start` the
    other end is looked for at first.
    """
    low, found, high = 0.0, None, start
    above = excess(high)
    while above.kept:
        low, found, high, factor = high, above, factor * high, min(2.0, factor**4)
        if high > 1e9:
            raise ToleranceError("budgets.none_is_largest")
        above = excess(high)
    while found is None:
        middle, factor = high / factor, min(2.0, factor**4)
        tried = excess(middle)
        if tried.kept:
            low, found = middle, tried
        elif middle < 1e-13 * start:
            raise ToleranceError("budgets.none_above_zero")
        else:
            high, above = middle, tried
    return narrow(excess, lambda kept: kept.excess, (low, found), (high, above))


class BoundsNothing(ToleranceError):
    """A promise that any budget keeps; none of them is the largest."""

    def __init__(self) -> None:
        super().__init__("budgets.bounds_nothing")


def rule_for(*, sure: bool, delta: float | None, rho: bool) -> Rule:
    """Return the rule of adding up for an account: in ρ, or if a promise has a confidence and no δ.

    What has to hold with a confidence gains nothing on a pure account.
    """
    if rho or (sure and not delta):
        return "zcdp"
    return "basic" if delta else "pure"


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

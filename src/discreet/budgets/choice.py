"""`choose`: a promise becomes the largest budget that keeps it, with the adversary that binds it.

For every output: the least ε* over the priors (K&R eq. 13), by a closed form where the worst prior
is known, else by the certified search (`limits`). With δ > 0: the largest ε for which (ε, δ)-DP
keeps the promise at its confidence over the same priors (`keeping`). On average: the largest ε for
which the best guess is right no more often than promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from discreet.beliefs import bounds
from discreet.beliefs.belief import Assumptions, assumptions_for
from discreet.beliefs.prior import Prior, failure_of
from discreet.budgets.alternatives import naive
from discreet.budgets.limits import GAP, Limits, limits_of
from discreet.errors import DiscreetError, InputError, ToleranceError
from discreet.frames import JsonReady, Tabular, columns_from, html_table
from discreet.guarantees import Adjacency, ApproxDP, PureDP, finite_or_null
from discreet.laws.geometric import Geometric
from discreet.laws.randomized_response import RandomizedResponse
from discreet.promises.keys import delta_in, promise_from
from discreet.promises.promise import CONFIDENCE, EVERY_OUTPUT, Promise, PromiseLike, Surety
from discreet.promises.shapes import Table
from discreet.promises.tolerance import Groups, Tolerance
from discreet.rounding import FIGURES, number, percent, up
from discreet.words import say

_SHOWN = (0.01, 0.1, 0.3, 0.5)
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
    of a promise: all of them, or those that say how surely and of whom beside a promise; beside a
    function also `monotone_p` and `monotone_q`, "increasing" or "decreasing", which it declares.

    >>> choose("max(0.25/(p*q), 3)")
    Choice(epsilon=0.649641, binding p=1 q=0.0833333, branch and bound)
    >>> choose(posterior=0.12, p=0.05, about="membership").epsilon < 0.9521
    True
    """
    if delta is None:
        delta = delta_in(promise) if isinstance(promise, Mapping) else 0.0
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise InputError("promises.delta", delta=delta)
    asked = promise_from(promise, keys)
    if delta == 0 and asked.confidence is not None:
        said = {"confidence": asked.confidence, "no_gain": say("budgets.no_gain")}
        raise InputError("budgets.confidence_without_delta", **said)
    if delta > 0 and asked.every_output:
        raise InputError("budgets.delta_with_every_output", delta=delta)
    settled = asked.settled(pure=delta == 0)
    limits = limits_of(settled)
    guarantee, certificate = _solved(settled, limits, delta)
    return Choice(
        promise=settled,
        guarantee=guarantee,
        binding=_binding(settled, limits, guarantee),
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
        certificate = Certificate(lower, upper, say("budgets.method.trade_off"), True)
        if delta == 0:
            return PureDP(lower, adjacency=where), certificate
        return ApproxDP(lower, delta, adjacency=where), certificate
    steps = "one_step" if limits.two is None else "two" if limits.one is None else "both"
    method = say(f"budgets.method.{steps}", first=solved.method)
    return ApproxDP(lower, delta, adjacency=where), Certificate(lower, upper, method, *sure)


def _binding(promise: Promise, limits: Limits, guarantee: PureDP | ApproxDP) -> Binding:
    if not promise.on_average:
        found = limits.binding
        return Binding(found.p, found.q, found.attained, found.name)
    from discreet.budgets.keeping import binding_guess
    from discreet.composition.stated import loss_of_promise

    name, before = binding_guess(promise, loss_of_promise(guarantee))
    return Binding(1.0, before, True, name)


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
            "budgets.no_epsilon", delta=delta, confidence=promise.confidence
        ) from None


def _without(said: dict[str, Any], name: str) -> dict[str, Any]:
    """Leave a name out where there is nothing to say."""
    return said if said[name] is not None else {k: v for k, v in said.items() if k != name}


@dataclass(frozen=True, slots=True)
class Binding(JsonReady):
    """The adversary that binds: their prior, and whether it is attained or only approached."""

    p: float
    q: float
    attained: bool
    name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the prior as JSON-ready values."""
        return _without(super(Binding, self).to_dict(), "name")


@dataclass(frozen=True, slots=True)
class Certificate(JsonReady):
    """lower ≤ largest safe ε ≤ upper, and how that is known; `epsilon` is the lower end."""

    lower: float
    upper: float
    method: str
    certified: bool
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON-ready values."""
        return _without(super(Certificate, self).to_dict(), "reason")


@dataclass(frozen=True, slots=True)
class Reading(JsonReady):
    """One way to read a promise about a value: how surely, the largest ε, what it does not say.

    The ways differ a lot in what they allow, so they are shown beside each other.
    """

    reading: str
    epsilon: float
    does_not_say: str


@dataclass(frozen=True)
class Choice(JsonReady, Tabular):
    """The largest budget that keeps a promise, the adversary that binds it, and the proof."""

    promise: Promise
    guarantee: PureDP | ApproxDP
    binding: Binding
    certificate: Certificate
    sensitivity: int = 1
    shows: ClassVar = (
        *("epsilon", "promise", "binding", "certificate", "guarantee", "implied", "noise"),
        *("alternatives", "confidence", "assumptions", "question", "readings", "warnings"),
    )

    @property
    def alternatives(self) -> dict[str, Any]:
        """The budget by a simpler rule, null where it has none."""
        return {"naive": finite_or_null(self.naive)}

    @property
    def tolerance(self) -> Tolerance:
        """What may be learned at the most."""
        return self.promise.tolerance

    @property
    def confidence(self) -> float | None:
        """How often it holds for each unit; None where it holds for every output."""
        return self.promise.confidence

    @property
    def epsilon(self) -> float:
        """The budget: never above the true maximum."""
        return self.guarantee.epsilon

    @cached_property
    def implied(self) -> tuple[dict[str, float], ...]:
        """What the budget allows at priors of 1, 10, 30 and 50 %, whatever the tolerance said."""
        boxes = [part.box for _, part in self.promise.parts]
        q = boxes[0].q1 if all(box.q_fixed and box.q1 == boxes[0].q1 for box in boxes) else 1.0
        free = any(not box.q_fixed for box in boxes)
        rows = []
        for prior in _SHOWN:
            if self.promise.about == "value":
                rows.append({"prior": prior, "posterior": self.posterior_at(Prior(1.0, prior))})
                continue
            row = {"prior": prior, "posterior": self.posterior_at(Prior(prior, q))}
            if free:
                row["posterior_known_in"] = self.posterior_at(Prior(1.0, prior))
            rows.append(row)
        return tuple(rows)

    def right_guess_at(self, before: float) -> float:
        """Return how often a guess of a value is right, on average, that was right so often before.

        It is what a promise on average limits; one output may tell more (`posterior_at`).
        """
        from discreet.composition.stated import loss_of_promise

        return loss_of_promise(self.guarantee).steps(self.promise.related).right_guess(before)

    def allowed_at(self, prior: Prior) -> float:
        """Return the most that is allowed at a prior, on average where the promise is."""
        if self.promise.on_average:
            return self.right_guess_at(prior.q)
        return self.posterior_at(prior)

    def posterior_at(self, prior: Prior) -> float:
        """Return how sure someone with this prior may become under the budget, rounded up.

        It is a bound for any single output, of a promise on average too. With δ > 0 it holds with
        the confidence of the promise, or 99 %, at this prior.
        """
        known_in = prior.p == 1 > prior.q
        stated = self.promise.with_dependent(self.guarantee, known_in=known_in)
        steps = bounds.steps_between(self.guarantee.adjacency)
        if isinstance(stated, ApproxDP) and stated.delta > 0 and math.isfinite(stated.epsilon):
            from discreet.beliefs.explaining import posterior_of

            failure = failure_of(self.confidence or CONFIDENCE)
            return posterior_of(stated, prior, failure, self.promise.sided)
        return min(1.0, up(prior.pq * bounds.ratio(stated.epsilon, prior, steps)[1]))

    @cached_property
    def noise(self) -> dict[str, Any]:
        """What the budget costs: geometric noise on one count, or answers that are replaced."""
        if math.isinf(self.epsilon):
            return {"mechanism": "none", "sd": 0.0, "prob_exact": 1.0, "half_width_95": 0}
        if self.guarantee.adjacency is Adjacency.LOCAL:
            true = RandomizedResponse(self.epsilon).prob_true
            name = "randomized-response"
            return {"mechanism": name, "sd": None, "prob_exact": true, "half_width_95": None}
        law = Geometric(self.epsilon, self.sensitivity)
        return {
            "mechanism": "geometric",
            "sd": law.sd,
            "prob_exact": law.prob_exact,
            "half_width_95": law.half_width(0.95),
        }

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before taking the number."""
        return tuple(_warnings(self))

    @cached_property
    def naive(self) -> float | None:
        """½ log of the least ratio tolerated: what one would take without a profile (K&R §2.3).

        Under replace and local, where two steps are one, it is log of it.
        """
        ratios = [part.least_ratio() for _, part in self.promise.parts]
        known = [ratio for ratio in ratios if ratio is not None]
        if not known or len(known) < len(ratios) or min(known) <= 1:
            return None
        return naive(min(known), self.guarantee.adjacency)

    @property
    def question(self) -> str | None:
        """What only the data holder can answer; None where nothing is assumed of the others."""
        return (
            say(f"budgets.question.{self.promise.unit.kind}", unit=self.promise.unit.name)
            if self.promise.every_output
            and self.promise.related == 1
            and self.promise.dependence is None
            else None
        )

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The same words read in the other ways of being sure, each with what it does not say."""
        promise = self.promise
        if promise.about != "value" or any(not part.box.q_fixed for _, part in promise.parts):
            return ()
        found = []
        for surety in (EVERY_OUTPUT, Surety("on_average")):
            try:
                epsilon = choose(replace(promise, surety=surety)).epsilon
            except DiscreetError:
                continue
            lacks = say(f"budgets.does_not_say.{surety.reading}")
            found.append(Reading(surety.reading, epsilon, lacks))
        return tuple(found)

    @property
    def assumptions(self) -> Assumptions:
        """What the promise rests on."""
        return assumptions_for(
            self.guarantee.adjacency,
            strong=not self.promise.every_output,
            unit=str(self.promise.unit),
            confidence=self.confidence,
            values_unknown=self.promise.about != "membership",
            on_average=self.promise.on_average,
        )

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what the budget allows at other priors."""
        return columns_from(self.implied)

    def _repr_html_(self) -> str:
        allowed = "; ".join(
            say(
                "budgets.row.allowed",
                before=row["prior"],
                after=percent(row["posterior"], "up", 1),
            )
            for row in self.implied
        )
        if self.promise.on_average:
            allowed = say("budgets.row.one_output", allowed=allowed)
        rows = [("promise", self.promise.sentence()), ("belief", allowed)]
        rows += [("proof", self.certificate.method)]
        if self.noise["sd"] is not None:
            rows += [(say("budgets.row.noise"), f"{self.noise['sd']:.3g}")]
        rows += [("warning", warning) for warning in self.warnings]
        return html_table(repr(self), rows + list(self.assumptions.to_dict().items()))

    def __repr__(self) -> str:
        limit = "" if self.binding.attained else ", in the limit"
        epsilon = number(self.epsilon, "down", FIGURES)
        return (
            f"Choice(epsilon={epsilon}, binding p={self.binding.p:g} q={self.binding.q:g}"
            f"{limit}, {self.certificate.method})"
        )


def _warnings(choice: Choice) -> Iterator[str]:
    if math.isinf(choice.epsilon):
        yield say("budgets.warning.bounds_nothing")
    parts = choice.promise.parts
    for _, part in parts:
        ratio = part.lasting_ratio()
        if ratio is None or part.box.p1 * part.box.q1 * ratio < 1:
            continue
        if choice.promise.sided == "one" or part.falls() is None:
            yield say("budgets.warning.certainty", prior=percent(1 / ratio, "up", 1), ratio=ratio)
            break
    if all(part.box.p_fixed and part.box.p1 < 1 for _, part in parts):
        yield say("budgets.warning.one_prior")
    if any(isinstance(part, Table) for _, part in parts):
        yield say("budgets.warning.table")
    if choice.promise.values_open:
        yield say("budgets.warning.values_open", unit=str(choice.promise.unit))
    if isinstance(choice.tolerance, Groups):
        named = [part for _, part in choice.tolerance.parts]
        if any(part != named[0] for part in named):
            yield say("budgets.warning.unequal_groups")
    width = choice.certificate.upper - choice.certificate.lower
    if not choice.certificate.certified:
        yield say("budgets.warning.not_certified", reason=choice.certificate.reason)
    elif width > GAP * max(1.0, choice.epsilon):
        yield say("budgets.warning.stopped_early", width=width)

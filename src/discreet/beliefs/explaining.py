"""`explain`: a guarantee or a mechanism, and a prior, become bounds on what may be learned.

Pure DP is K&R's Theorem 1: for every output, and any adversary whose beliefs about the others do
not depend on this one. Everything else speaks of a strong adversary and holds with a stated
probability: a bound on the privacy loss (`composition.loss`) becomes bounds on the belief in
membership, or, where the value is uncertain too, in both at once (`bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, cast, overload

from discreet.beliefs import bounds
from discreet.beliefs.belief import AtConfidence, Belief, Beliefs, Beyond, Bounds, assumptions_for
from discreet.beliefs.bounds import Choose, Learned, Point
from discreet.beliefs.prior import Prior, Priors, failure_of, listed
from discreet.composition.curves import Sided, Strength, check_sided
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.rounding import down, up
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.composition import LossBound, PrivacyLoss

#: What can be explained: a guarantee, a mechanism, the privacy loss of a plan, a `DpEvent`.
Explained: TypeAlias = Any

_GUARANTEES = (PureDP, ApproxDP, ProbabilisticDP, ZCDP, PrivacyCurve)
_CONFIDENCES = (0.99, 0.9999, 0.999999)
_PEOPLE = 1_000_000


@dataclass(frozen=True, slots=True)
class _Question:
    """All that was asked, so that it can be asked again at another confidence or strength."""

    guarantee: Guarantee
    loss: PrivacyLoss | None
    prior: Prior | None
    sided: Sided
    strength: Strength | None
    delta: float | None
    papers_route: bool
    sensitive_only: bool
    unit: str
    people: int
    about: str = "unsaid"
    together: bool = False

    @property
    def adjacency(self) -> Adjacency:
        return self.guarantee.adjacency

    @property
    def values_unknown(self) -> bool:
        """Whether the value is uncertain, so that two steps count."""
        asked = self.about in ("value", "both") if self.prior is None else self.prior.q < 1
        return asked and self.adjacency is Adjacency.ADD_REMOVE and not self.sensitive_only

    @property
    def told(self) -> str | None:
        """What the answer is about where neither a prior nor a promise says so."""
        central = self.adjacency is Adjacency.ADD_REMOVE and not self.sensitive_only
        said = self.prior is not None or self.about != "unsaid" or not central
        return None if said else say("beliefs.about_being_in")

    def bound(self, failure: float) -> LossBound:
        from discreet.composition import loss_of  # pure DP starts without it

        loss = self.loss
        if loss is None or self.strength == "generic":
            loss = loss_of(self.guarantee, method="paper" if self.papers_route else None)
        if self.delta is not None and not (self.strength == "exact" and loss.exact_proved):
            loss = loss.fixed(self.delta)
        if self.together and self.sided == "two":
            # What related units have may be neither of two laws: both directions may fail at once.
            found = loss.one_step(failure / 2, "one", strength=self.strength)
            return found if found.failure == 0 else replace(found, failure=failure)
        return loss.one_step(failure, self.sided, strength=self.strength)


class _Said(TypedDict, total=False):
    confidence: float | None
    sided: Sided | None
    strength: Strength | None
    delta: float | None
    method: str | None
    counts_sensitive_only: bool
    unit: str | None
    unit_name: str | None
    people: int


if TYPE_CHECKING:

    class BeliefAtPrior(Belief):
        """A belief with a prior, which has a posterior."""

        prior: Prior
        posterior: Bounds


@overload
def explain(guarantee: Explained, prior: Prior | float, **said: Unpack[_Said]) -> BeliefAtPrior: ...
@overload
def explain(guarantee: Explained, prior: None = None, **said: Unpack[_Said]) -> Belief: ...
@overload
def explain(guarantee: Explained, prior: Priors, **said: Unpack[_Said]) -> Beliefs: ...
def explain(
    guarantee: Explained,
    prior: Prior | float | Priors | None = None,
    *,
    confidence: float | None = None,
    sided: Sided | None = None,
    strength: Strength | None = None,
    delta: float | None = None,
    method: str | None = None,
    counts_sensitive_only: bool = False,
    unit: str | None = None,
    unit_name: str | None = None,
    people: int = _PEOPLE,
) -> Belief | Beliefs:
    """Return what an adversary may come to believe.

    `guarantee` is one of `discreet.guarantees`, a mechanism of `discreet.laws`, the privacy loss of
    a plan (`discreet.composition.loss_of`), a `DpEvent` of dp-accounting, or what `choose`, `plan`
    or `release` gave back. Those carry a promise, which says what is left out here: confidence,
    sides, unit, who depends on whom, and what a prior that is a number is about: the value (q, with
    p = 1), or being in (p, with q = 1), or whichever the promise leaves open; `note` says which.
    Without a prior the bounds are over all that the promise is about. Without a promise they are
    about being in, and the confidence is 0.99, which matters only where the bound cannot hold for
    every output. `delta` fixes one point of a curve (without it the best is taken);
    `method="paper"` is KSZ's own route for zCDP; `people` is the N of "up to N·δ' of N"; `unit` and
    `unit_name` are those of a promise, or `unit` is the name. For several priors (a list, a NumPy
    array, a column) there are as many beliefs, a table: `explain(g, [0.1, 0.5]).to_pandas()`.

    >>> belief = explain(PureDP(math.log(3)), 0.5)
    >>> round(belief.posterior.lower, 6), round(belief.posterior.upper, 6)
    (0.25, 0.75)
    >>> explain(ApproxDP(1.8, 1e-5), 0.1, confidence=0.95).posterior.upper < 0.4021
    True
    """
    promise = getattr(guarantee, "promise", None)
    if (several := listed(prior)) is not None:
        return Beliefs(
            explain(
                guarantee,
                one if isinstance(one, Prior) else Prior.of(one).p,
                confidence=confidence,
                sided=sided,
                strength=strength,
                delta=delta,
                method=method,
                counts_sensitive_only=counts_sensitive_only,
                unit=unit,
                unit_name=unit_name,
                people=people,
            )
            for one in several
        )
    about = "unsaid" if promise is None else promise.about
    known_in, read = about == "value", None
    if prior is not None:
        prior, read = Prior.beside(promise, cast("Prior | float", prior))
        known_in = prior.p == 1 > prior.q
    unit = spoken(unit, unit_name)
    confidence, sided, unit = as_promised(guarantee, confidence, sided, unit)
    check_sided(sided)
    if method not in (None, "paper"):
        raise InputError("beliefs.unknown_method", method=method)
    if confidence != 1:  # which pure DP alone can have
        failure_of(confidence)
    alike, loss = subject_of(guarantee)
    stated, loss = with_dependent(promise, alike, loss, known_in=known_in)
    if method == "paper" and not isinstance(stated, ZCDP):
        raise InputError("beliefs.paper_needs_zcdp")
    if isinstance(people, bool) or people < 1:
        raise InputError("beliefs.people", people=people)
    asked = _Question(
        guarantee=stated,
        loss=None if method == "paper" else loss,
        prior=prior,
        sided=sided,
        strength=strength,
        delta=delta,
        papers_route=method == "paper",
        sensitive_only=counts_sensitive_only,
        unit=unit,
        people=people,
        about=about,
        together=stated is not alike,
    )
    belief = _answered(asked, confidence)
    if stated is not alike and belief.holds_with == 1:
        belief = replace(belief, assumptions=belief.assumptions.with_dependence())
    told = " ".join(filter(None, (belief.note, read, asked.told)))
    return replace(belief, note=told or None)


def spoken(unit: str | None, unit_name: str | None) -> str | None:
    """Return what sentences call a unit: its name, else the usual one of its kind.

    >>> spoken("person", "one aircraft"), spoken("record", None), spoken("one visit", None)
    ('one aircraft', 'one record', 'one visit')
    """
    if unit_name is not None or unit is None:
        return unit_name
    usual = f"subject.{'any' if unit == 'partition' else unit}"
    return say(usual) if has(usual) else unit


def as_promised(
    subject: Explained, confidence: float | None, sided: Sided | None, unit: str | None
) -> tuple[float, Sided, str]:
    """Return what was said, or else what the subject's promise says, or else what is usual."""
    unit = unit or getattr(subject, "unit_name", None)
    if (promise := getattr(subject, "promise", None)) is not None:
        confidence = promise.confidence if confidence is None else confidence
        sided, unit = sided or promise.sided, unit or str(promise.unit)
    return 0.99 if confidence is None else confidence, sided or "two", unit or "one person"


def most_believed(total: Guarantee, prior: Prior, confidence: float) -> float:
    """Return the upper end of `explain(…).posterior`, for those who ask at many priors."""
    asked = _Question(total, None, prior, "two", None, None, False, False, "one person", _PEOPLE)
    return cast("Bounds", _answered(asked, confidence, alone=True).posterior).upper


def _answered(asked: _Question, confidence: float, *, alone: bool = False) -> Belief:
    """Return the belief: alone, or with what it is at other confidences."""
    stated = asked.guarantee
    if asked.values_unknown and isinstance(stated, ProbabilisticDP):
        # Two steps of probabilistic DP do not combine; those of the (ε, δ)-DP it implies do.
        asked = replace(asked, strength="generic")
    if isinstance(stated, PureDP) and (asked.loss is None or asked.strength == "generic"):
        return _pure(stated.epsilon, asked, "generic")
    if isinstance(stated, ApproxDP) and stated.delta == 0 and asked.loss is None:
        return _pure(stated.epsilon, asked, "generic")
    if alone:
        return _failing_with(asked, failure_of(confidence), confidence)
    return _with_confidence(asked, confidence)


def decomposition_of(belief: Belief) -> dict[str, float] | None:
    """Return the factors of the largest ratio under pure DP, where both worries are open."""
    prior, stated = belief.prior, belief.guarantee
    both = prior is not None and prior.p < 1 and prior.q < 1
    if not (both and isinstance(stated, PureDP) and stated.adjacency is Adjacency.ADD_REMOVE):
        return None
    membership, value = bounds.decomposed(stated.epsilon, cast("Prior", prior))
    return {"membership": membership, "value": value}


def posterior_of(guarantee: ApproxDP, prior: Prior, failure: float, sided: Sided) -> float:
    """Return the largest posterior that fails with probability at most δ'; the rest is left out.

    It is the upper end of `explain(…).posterior`, for those who ask at many priors.
    """
    from discreet.composition.curves import epsilon_prime

    if prior.q < 1 and guarantee.adjacency is Adjacency.ADD_REMOVE:
        point = (guarantee.epsilon, guarantee.delta)
        high = bounds.ratio_bounds(prior, point, bounds.two_steps(point), failure, sided)[1]
        return min(1.0, up(prior.pq * high))
    loss = epsilon_prime(guarantee.epsilon, guarantee.delta, failure, sided)
    return 1.0 if math.isinf(loss) else bounds.posterior(loss, prior.pq, sided).upper


def subject_of(subject: Explained) -> tuple[Guarantee, PrivacyLoss | None]:
    """Return the guarantee and, where a mechanism is known, its privacy loss."""
    if isinstance(subject, _GUARANTEES):
        return subject, None
    if type(subject).__module__.startswith("dp_accounting."):
        from discreet.composition.events import curve_of_event

        return curve_of_event(subject), None
    if isinstance(carried := getattr(subject, "guarantee", None), _GUARANTEES):
        return carried, None  # what `choose` or `release` gave back
    from discreet.composition import PrivacyLoss, loss_of

    if isinstance(subject, PrivacyLoss):
        largest = subject.pure()
        if largest < math.inf:
            return PureDP(largest, adjacency=subject.adjacency), subject
        return subject.curve(), subject
    if callable(getattr(subject, "guarantee", None)):
        return cast("Guarantee", subject.guarantee()), loss_of((subject, 1))
    if isinstance(planned := getattr(subject, "loss", None), PrivacyLoss):
        return subject_of(planned)  # what `plan` gave back
    if isinstance(subject, Mapping) and {"epsilon", "delta", "rho"} & subject.keys():
        raise GuaranteeError("beliefs.amounts_explained")
    raise GuaranteeError("beliefs.cannot_be_explained", kind=type(subject).__name__)


def with_dependent(
    promise: Any, stated: Guarantee, loss: PrivacyLoss | None, *, known_in: bool = False
) -> tuple[Guarantee, PrivacyLoss | None]:
    """Return both for a unit together with those that, by the promise, depend on it."""
    if promise is None:
        return stated, loss
    together = promise.with_dependent(stated, known_in=known_in)
    # The law of the loss is that of one unit alone, and tells nothing for every output.
    by_law = together is stated and not promise.every_output
    return together, loss if by_law else None


def _belief(
    asked: _Question,
    learned: Learned,
    bound: LossBound,
    *,
    strong: bool,
    epsilon_prime: float | None,
    note: str | None,
) -> Belief:
    """What was learned, with what was asked and what it follows from."""
    return Belief(
        guarantee=asked.guarantee,
        prior=asked.prior,
        posterior=learned.posterior,
        ratio=learned.ratio,
        difference=learned.difference,
        holds_with=1 - bound.failure,
        strength=bound.strength,
        survives_post_processing=bound.survives,
        worst_ratio=learned.worst_ratio,
        worst_difference=learned.worst_difference,
        sided=asked.sided if strong else "two",
        assumptions=assumptions_for(
            asked.adjacency,
            strong=strong,
            unit=asked.unit,
            values_unknown=strong and asked.values_unknown,
        ),
        method=bound.method,
        epsilon_prime=epsilon_prime,
        worst_ratio_not_in=learned.worst_ratio_not_in,
        worst_difference_not_in=learned.worst_difference_not_in,
        note=note,
        unit=asked.unit,
    )


def _pure(epsilon: float, asked: _Question, strength: Strength, note: str | None = None) -> Belief:
    """Beliefs under pure DP: K&R Theorem 1."""
    mirrored = not asked.values_unknown
    steps = bounds.steps_between(asked.adjacency, asked.sensitive_only)
    learned = bounds.under_pure(epsilon, asked.prior, steps, mirrored=mirrored)
    from discreet.composition.loss import LossBound

    bound = LossBound(epsilon, 0.0, strength, True, say("beliefs.method.theorem_1"))
    loss = epsilon if mirrored else None
    return _belief(asked, learned, bound, strong=False, epsilon_prime=loss, note=note)


def _with_confidence(asked: _Question, confidence: float) -> Belief:
    belief = _failing_with(asked, failure_of(confidence), confidence)
    if belief.holds_with == 1:
        return belief
    belief = replace(
        belief,
        at_confidence=tuple(_row(asked, level) for level in _CONFIDENCES),
        assumptions=assumptions_for(
            asked.adjacency,
            strong=True,
            unit=asked.unit,
            confidence=belief.holds_with,
            values_unknown=asked.values_unknown,
            survives=belief.survives_post_processing,
        ),
    )
    shown = belief.strength == "curve" and asked.strength is None and not asked.values_unknown
    if shown and asked.loss is not None and asked.loss.exact_proved:
        exact = _with_confidence(replace(asked, strength="exact", delta=None), confidence)
        belief = replace(belief, exact=exact)
    return belief


def _failing_with(asked: _Question, failure: float, confidence: float) -> Belief:
    """The bounds that fail with probability at most δ', or never."""
    bound = asked.bound(failure)
    loss, note = bound.epsilon_prime, bound.note
    if bound.failure == 0:
        return _pure(loss, asked, bound.strength, note)
    if not asked.values_unknown:
        learned = bounds.under_loss(loss, asked.prior, asked.sided)
        belief = _belief(asked, learned, bound, strong=True, epsilon_prime=loss, note=note)
    else:
        belief = _both(asked, failure, bound.note)
        largest = math.inf if asked.loss is None else asked.loss.pure()
        if largest < math.inf:
            # For every output, and against weaker adversaries too: preferred where no wider.
            certain = _pure(largest, asked, "generic")
            if certain.ratio.upper <= belief.ratio.upper:
                return certain
    return replace(
        belief,
        holds_with=confidence if bound.failure == failure else down(1 - bound.failure, 1),
        beyond=Beyond(asked.people, bound.failure * asked.people),
    )


def _row(asked: _Question, confidence: float) -> AtConfidence:
    """Return the bounds at one confidence, or none where δ does not allow it."""
    try:
        belief = _failing_with(asked, failure_of(confidence), confidence)
    except GuaranteeError:
        nothing = None if asked.prior is None else 1.0
        return AtConfidence(confidence, nothing, math.inf, 1.0)
    posterior = None if belief.posterior is None else belief.posterior.upper
    return AtConfidence(confidence, posterior, belief.ratio.upper, belief.difference.upper)


def _both(asked: _Question, failure: float, note: str | None) -> Belief:
    """Beliefs about membership and value at once: one step and two."""
    one, two, label = _steps(asked)

    def learned_from(one: Point | Choose) -> Learned:
        if asked.prior is not None:
            return bounds.under_steps(asked.prior, one, two, failure, asked.sided)
        near = None if asked.about == "value" else one
        return bounds.over_steps(near, two, failure, asked.sided)

    learned = learned_from(one)
    if asked.together and asked.sided == "two":
        # Of related units the truth may be further away than one step: falls reach further.
        learned = learned.falling_as(learned_from(two))
    from discreet.composition.loss import LossBound

    bound = LossBound(math.nan, failure, label, True, say("beliefs.method.two_steps"))
    if asked.strength == "exact":
        note = say("beliefs.exact_for_membership")
    return _belief(asked, learned, bound, strong=True, epsilon_prime=None, note=note)


def _steps(
    asked: _Question,
) -> tuple[Point | Choose, Point | Choose, Strength]:
    """Return the (ε, δ), or the choice of them, of one step and of two, and their strength."""
    stated = asked.guarantee
    if isinstance(stated, ProbabilisticDP):
        stated = stated.as_approx()
    if asked.loss is not None and asked.strength != "generic":
        # Two steps of the noise itself mostly lose less than two by the group property; both hold.
        curve, two = asked.loss.curve(), asked.loss.steps(2)
        group = curve.under(Adjacency.REPLACE).delta_at
        return (
            bounds.along(curve.delta_at),
            bounds.along(lambda epsilon: min(two.delta(epsilon), group(epsilon))),
            "curve",
        )
    match stated:
        case ApproxDP():
            point = (stated.epsilon, stated.delta)
            return point, bounds.two_steps(point), "generic"
        case ZCDP():
            from discreet.composition import zcdp_curve

            near = zcdp_curve(stated.rho)
            far = zcdp_curve(stated.under(Adjacency.REPLACE).rho)
            return bounds.along(near.delta_at), bounds.along(far.delta_at), "generic"
        case PrivacyCurve():
            far = stated.under(Adjacency.REPLACE)
            return bounds.along(stated.delta_at), bounds.along(far.delta_at), "curve"
    raise GuaranteeError("beliefs.no_bound_for_both", guarantee=stated)

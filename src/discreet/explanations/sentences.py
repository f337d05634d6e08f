"""Sentences from a belief, for three audiences. No mathematics: every figure is the belief's.

- public: frequencies ("at most 53 in 100"), one paragraph, the assumption one step away;
- technical: the interval, the measures, the theorem, the worst priors;
- regulator: unit, guarantee, what may be learned, how often it may fail, what is not promised.

Both comparisons are made: before and after the release, and joining or staying out. Figures are
rounded outward. The subject is the unit that is protected: "one visit", not "a person", where
visits are protected. The words are in the catalogue.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from discreet.beliefs.belief import AtConfidence, Belief
from discreet.errors import InputError
from discreet.explanations.figures import (
    chance,
    counted,
    crowd_for,
    decimals,
    frequency,
    level,
    plain,
    times,
    whole_up,
)
from discreet.explanations.joining import chance_if_joined
from discreet.guarantees import Adjacency, PureDP
from discreet.rounding import percent
from discreet.words import catalogue

__all__ = [
    "AUDIENCES",
    "Audience",
    "check_audience",
    "crowd_for",
    "event_of",
    "frequency",
    "public",
    "regulator",
    "sentence",
    "technical",
]

Audience: TypeAlias = Literal["public", "technical", "regulator"]
AUDIENCES: tuple[Audience, ...] = ("public", "technical", "regulator")


def sentence(belief: Belief, audience: Audience = "public") -> str:
    """Return what may be learned, in words for the audience."""
    writers = {"public": public, "technical": technical, "regulator": regulator}
    return writers[check_audience(audience)](belief)


def check_audience(audience: str) -> Audience:
    """Return the audience, or say which there are."""
    for known in AUDIENCES:
        if audience == known:
            return known
    raise InputError(f"audience is {audience!r}; it must be one of: {', '.join(AUDIENCES)}.")


def event_of(belief: Belief) -> str:
    """Return what the belief is about, with the unit as its subject."""
    say = catalogue().say
    known_in = belief.prior is not None and belief.prior.p == 1 and belief.prior.q < 1
    if belief.guarantee.adjacency is not Adjacency.ADD_REMOVE or known_in:
        return say("event.sensitive", unit=belief.unit)
    if belief.prior is not None and belief.prior.q < 1:
        return say("event.in_and_sensitive", unit=belief.unit)
    return say("event.in_data", unit=belief.unit)


def public(belief: Belief) -> str:
    """One paragraph in frequencies; no symbol, no Greek."""
    say = catalogue().say
    parts = [_bound(belief)]
    if belief.holds_with == 1:
        parts.append(say("public.certain"))
    else:
        parts.append(say("public.may_fail", chance=chance(belief.holds_with)))
    assumes = "assumes_weak" if belief.holds_with == 1 else "assumes_strong"
    parts.append(say(f"public.{assumes}", unit=belief.unit))
    return " ".join(parts + _joining(belief))


def _bound(belief: Belief) -> str:
    say, event = catalogue().say, event_of(belief)
    if belief.prior is None or belief.posterior is None:
        crowd = crowd_for(belief.difference.upper)
        points = f"{counted(belief.difference.upper, 'up', crowd):,}"
        parts = [say("public.all_priors", event=event, points=points, crowd=f"{crowd:,}")]
        if belief.ratio.upper < 1000:
            parts.append(say("public.all_priors_ratio", times=times(belief.ratio.upper)))
        return " ".join(parts)
    crowd = crowd_for(belief.prior.pq, belief.posterior.upper)
    parts = [
        say(
            "public.before_after",
            before=plain(belief.prior.pq, crowd),
            event=event,
            after=frequency(belief.posterior.upper, "up", crowd),
        )
    ]
    if belief.sided == "two" and counted(belief.posterior.lower, "down", crowd) > 0:
        parts.append(say("public.at_least", lower=frequency(belief.posterior.lower, "down", crowd)))
    return " ".join(parts)


def _joining(belief: Belief) -> list[str]:
    """The other comparison: with the unit in, against without it; add-remove alone has it."""
    if belief.guarantee.adjacency is not Adjacency.ADD_REMOVE or belief.prior is None:
        return []
    without = belief.prior.pq
    joined = chance_if_joined(belief.guarantee, without)
    crowd = crowd_for(without, joined)
    return [
        catalogue().say(
            "public.join",
            unit=belief.unit,
            without=plain(without, crowd),
            joined=frequency(joined, "up", crowd),
        )
    ]


def technical(belief: Belief) -> str:
    """The interval, the measures, the theorem and the worst priors."""
    say = catalogue().say
    out = [
        say(
            "technical.under",
            guarantee=str(belief.guarantee),
            adjacency=belief.guarantee.adjacency.value,
        )
        + _technical_bound(belief),
        say(
            "technical.worst",
            ratio_p=f"{belief.worst_ratio.p:.3g}",
            ratio=times(belief.worst_ratio.value),
            difference_p=f"{belief.worst_difference.p:.3g}",
            difference=decimals(belief.worst_difference.value, "up"),
        ),
        *_technical_joining(belief),
        say("technical.holds", probability=belief.assumptions.probability),
        say("technical.by", method=belief.method, strength=belief.strength),
        say("technical.adversary", adversary=belief.assumptions.adversary),
        say("technical.later", post_processing=belief.assumptions.post_processing),
    ]
    if belief.exact is not None and belief.exact.posterior is not None:
        out.append(say("technical.exact", upper=decimals(belief.exact.posterior.upper, "up")))
    if belief.note:
        out.append(say("technical.note", note=belief.note))
    return " ".join(out)


def _technical_bound(belief: Belief) -> str:
    say, event = catalogue().say, event_of(belief)
    ratio, difference = times(belief.ratio.upper), decimals(belief.difference.upper, "up")
    if belief.prior is None or belief.posterior is None:
        return say("technical.all_priors", event=event, ratio=ratio, difference=difference)
    upper = decimals(belief.posterior.upper, "up")
    if belief.sided == "two":
        lower = decimals(belief.posterior.lower, "down")
        span = say("technical.span_two", lower=lower, upper=upper)
    else:
        span = say("technical.span_one", upper=upper)
    return say(
        "technical.with_prior",
        event=event,
        p=f"{belief.prior.p:g}",
        q=f"{belief.prior.q:g}",
        span=span,
        ratio=ratio,
        difference=difference,
    )


def _technical_joining(belief: Belief) -> list[str]:
    if belief.guarantee.adjacency is not Adjacency.ADD_REMOVE or belief.prior is None:
        return []
    say, without = catalogue().say, belief.prior.pq
    shown = f"{without:g}"
    joined = decimals(chance_if_joined(belief.guarantee, without), "up")
    out = [say("technical.join", without=shown, joined=joined)]
    if isinstance(belief.guarantee, PureDP):
        from discreet.beliefs.bounds import counterfactual_upper

        believed = decimals(counterfactual_upper(belief.guarantee.epsilon, without), "up")
        out.append(say("technical.counterfactual", without=shown, joined=believed))
    return out


def regulator(belief: Belief) -> str:
    """Unit, guarantee, what may be learned, how often it may fail, what is not promised."""
    say = catalogue().say
    out = [
        say(
            "regulator.unit",
            unit=belief.unit,
            guarantee=str(belief.guarantee),
            adjacency=belief.guarantee.adjacency.value,
        ),
        _bound(belief),
    ]
    if belief.holds_with == 1:
        out.append(say("regulator.certain"))
    else:
        out.append(say("regulator.confident", confidence=level(belief.holds_with)))
    if belief.beyond is not None:
        people, up_to = f"{belief.beyond.people:,}", whole_up(belief.beyond.up_to)
        out.append(say("regulator.beyond", people=people, up_to=up_to))
    if belief.at_confidence:
        rows = ", ".join(_at(row) for row in belief.at_confidence)
        out.append(say("regulator.by_confidence", rows=rows))
    rests = belief.assumptions
    out += [
        say("regulator.adversary", adversary=rests.adversary),
        say("regulator.independence", independence=rests.independence),
        say("regulator.later", post_processing=rests.post_processing),
        say("regulator.not_promised"),
    ]
    return " ".join(out)


def _at(row: AtConfidence) -> str:
    say, shown = catalogue().say, level(row.confidence)
    if row.posterior is None:
        difference = percent(row.difference, "up", 1)
        return say("regulator.at_difference", level=shown, difference=difference)
    posterior = frequency(row.posterior, "up")
    return say("regulator.at_posterior", level=shown, posterior=posterior)

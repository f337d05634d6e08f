"""What else is to be explained: a kind of promise, pure against approximate, a series after k of K,
and what is not protected. Three audiences each; the words are in the catalogue.
"""

from __future__ import annotations

import math

from discreet.beliefs.belief import Belief
from discreet.errors import InputError
from discreet.explanations.figures import (
    chance,
    crowd_for,
    decimals,
    frequency,
    level,
    number,
    plain,
    times,
    whole_up,
)
from discreet.explanations.sentences import Audience, check_audience
from discreet.guarantees import Guarantee
from discreet.words import catalogue

__all__ = [
    "guarantee_text",
    "neighbours",
    "not_protected",
    "pure_against_approximate",
    "series_text",
]


def guarantee_text(
    guarantee: Guarantee, audience: Audience = "public", unit: str = "one person"
) -> str:
    """Return what a promise says, before any prior is named."""
    epsilon = getattr(guarantee, "epsilon", None)
    values = {
        **neighbours(guarantee.adjacency, unit),
        "unit": unit,
        "guarantee": str(guarantee),
        "adjacency": guarantee.adjacency.value,
        "epsilon": "" if epsilon is None else number(epsilon, "up"),
        "factor": ""
        if epsilon is None
        else times(math.exp(epsilon) if epsilon < 700 else math.inf),
        "delta": _given(guarantee, "delta"),
        "rho": _given(guarantee, "rho"),
    }
    return catalogue().say(f"kind.{guarantee.kind}.{check_audience(audience)}", **values)


def neighbours(adjacency: str, unit: str) -> dict[str, str]:
    """Return how sentences speak of two neighbouring data sets: `alike` and `changes`."""
    say = catalogue().say
    return {
        "alike": say(f"adjacency.{adjacency}.alike", unit=unit),
        "changes": say(f"adjacency.{adjacency}.changes"),
    }


def _given(guarantee: Guarantee, name: str) -> str:
    value = getattr(guarantee, name, None)
    return "" if value is None else number(value, "up")


def pure_against_approximate(belief: Belief, audience: Audience = "public") -> str:
    """Return whether the promise holds always, and if not, how many it leaves out."""
    key, say = f"pure_against_approximate.{check_audience(audience)}", catalogue().say
    if belief.holds_with == 1 or belief.beyond is None:
        return say(f"{key}_pure")
    loss = belief.epsilon_prime
    return say(
        f"{key}_approximate",
        unit=belief.unit,
        chance=chance(belief.holds_with),
        holds_with=level(belief.holds_with),
        epsilon_prime="∞" if loss is None else number(loss, "up"),
        people=f"{belief.beyond.people:,}",
        up_to=whole_up(belief.beyond.up_to),
    )


def not_protected(
    audience: Audience = "public", unit: str = "person", *, unpromised: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return what the promise does not cover, as (name, sentence), the most asked-for first.

    `unpromised` says that the same data also gave a file without a promise.
    """
    said, texts = check_audience(audience), catalogue()
    topics = texts.names("not_protected.order")
    if unpromised:
        topics = ("unpromised", *topics)
    found = [
        (texts.say(f"not_protected.{topic}.name"), texts.say(f"not_protected.{topic}.{said}"))
        for topic in topics
    ]
    if unit in texts.names("not_protected.other_units"):
        name = texts.say("not_protected.other_units.name")
        found.append((name, texts.say(f"not_protected.other_units.{unit}")))
    return tuple(found)


def series_text(
    so_far: Belief, at_end: Belief, k: int, total: int, audience: Audience = "public"
) -> str:
    """Return where a series stands after k of its releases, and where it will end.

    Both beliefs are about everything published up to then, from the same prior.
    """
    if not 1 <= k <= total:
        raise InputError(f"release {k} of {total} is none of the series; k runs from 1 to {total}.")
    if so_far.prior is None or so_far.prior != at_end.prior:
        raise InputError("both beliefs of a series must start from the same prior; give it.")
    if so_far.posterior is None or at_end.posterior is None:
        raise InputError("a belief without a posterior cannot be followed; give a prior.")
    prior, now, end = so_far.prior.pq, so_far.posterior.upper, at_end.posterior.upper
    key = f"series.{check_audience(audience)}"
    if audience == "technical":
        shown = {
            "before": f"{prior:g}",
            "now": decimals(now, "up"),
            "end": decimals(end, "up"),
        }
    else:
        crowd = crowd_for(prior, now, end)
        shown = {
            "before": plain(prior, crowd),
            "now": frequency(now, "up", crowd),
            "end": frequency(end, "up", crowd),
        }
    return catalogue().say(key, k=f"{k:,}", total=f"{total:,}", method=f"{at_end.method}.", **shown)

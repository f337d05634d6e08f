"""Sentences from a belief, for three audiences. No mathematics: every figure is the belief's.

- public: frequencies ("at most 53 in 100"), one paragraph, the assumption one step away;
- technical: the interval, the measures, the theorem, the worst priors;
- regulator: unit, guarantee, what may be learned, how often it may fail, what is not promised.

Both comparisons are made: before and after the release, and joining or staying out (the form that a
study of 963 people found the clearest: Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles 2023).
Beside them: what a guarantee says, pure against approximate, a series after k of K, and what is not
protected. Figures are rounded outward. The subject is the unit that is protected: "one visit", not
"a person", where visits are protected.

A worry ("they already suspect it", "they know everyone else but me") is a prior; its answer is the
bound on belief, in words and as a hundred figures. Under pure DP a hunch and full knowledge of the
others end at the same bound (K&R Theorem 1 at q = 1 is KSZ's strong adversary). Where a bound holds
only with a probability, it is proved for someone who knows all the rest, and the answer says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from discreet.beliefs import Belief, Prior, explain, join
from discreet.beliefs.belief import AtConfidence
from discreet.beliefs.explaining import Explained
from discreet.composition import loss_of
from discreet.errors import InputError
from discreet.frames import JsonReady, html_table
from discreet.guarantees import Adjacency, Guarantee, PureDP
from discreet.promises.unit import PERSON, Unit
from discreet.reports.verifier import NEARLY
from discreet.rounding import FIGURES, number, percent
from discreet.statements.tables import (
    chance,
    counted,
    crowd_for,
    decimals,
    frequency,
    level,
    many,
    membership_open,
    plain,
    times,
    values_open,
    whole_up,
)
from discreet.words import catalogue, say

if TYPE_CHECKING:
    from discreet.promises import Promise

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
    raise InputError("reports.unknown_audience", audience=audience, known=", ".join(AUDIENCES))


def event_of(belief: Belief, *, you: bool = False) -> str:
    """Return what the belief is about, with the unit as its subject, or the reader."""
    name = _event(belief.prior, belief.guarantee.adjacency, belief.about_values)
    return say(f"{'reports.you' if you else 'event'}.{name}", unit=belief.unit)


def event_at(prior: Prior, adjacency: Adjacency, unit: str) -> str:
    """Return what a belief that starts from a prior is about."""
    return say(f"event.{_event(prior, adjacency)}", unit=unit)


def _event(prior: Prior | None, adjacency: Adjacency, about_values: bool = False) -> str:
    if adjacency is not Adjacency.ADD_REMOVE:  # everyone is in
        return "sensitive"
    if prior is not None and prior.p == 1 and prior.q < 1:
        return "sensitive_known_in"
    both = about_values if prior is None else prior.q < 1
    return "in_and_sensitive" if both else "in_data"


def public(belief: Belief) -> str:
    """One paragraph in frequencies; no symbol, no Greek."""
    assumes = "assumes_weak" if belief.holds_with == 1 else "assumes_strong"
    if belief.assumptions.dependent:
        assumes = "assumes_dependent"
    rests = say(f"reports.public.{assumes}", unit=belief.unit)
    return " ".join([_bound(belief), surely(belief.holds_with), rests, *_joining(belief)])


def surely(holds_with: float) -> str:
    """Return how often a bound may fail, for everyone."""
    if holds_with == 1:
        return say("reports.public.certain")
    return say("reports.public.may_fail", chance=chance(holds_with))


def _bound(belief: Belief) -> str:
    event = event_of(belief)
    if belief.prior is None or belief.posterior is None:
        crowd = crowd_for(belief.difference.upper)
        points = many(belief.difference.upper, "up", crowd)
        parts = [say("reports.public.all_priors", event=event, points=points, crowd=f"{crowd:,}")]
        if belief.ratio.upper < 1000:
            parts.append(say("reports.public.all_priors_ratio", times=times(belief.ratio.upper)))
        return " ".join(parts)
    crowd = crowd_for(belief.prior.pq, belief.posterior.upper)
    shown = _in_one_crowd(before=belief.prior.pq, after=belief.posterior.upper)
    parts = [say("reports.public.before_after", event=event, **shown)]
    if belief.sided == "two" and (lower := many(belief.posterior.lower, "down", crowd)) != "0":
        least = say("frequency.of", count=lower, crowd=f"{crowd:,}")
        parts.append(say("reports.public.at_least", lower=least))
    return " ".join(parts)


def _joining(belief: Belief) -> list[str]:
    """The other comparison: with the unit in, against without it; add-remove alone has it."""
    if belief.guarantee.adjacency is not Adjacency.ADD_REMOVE or belief.prior is None:
        return []
    without = belief.prior.pq
    shown = _in_one_crowd(before=without, joined=loss_of(belief.guarantee).right_guess(without))
    said = [say("reports.public.join", unit=belief.unit, **shown)]
    return said if belief.holds_with == 1 else [*said, say("reports.public.join_counts_all")]


def technical(belief: Belief) -> str:
    """The interval, the measures, the theorem and the worst priors."""
    out = [
        say(
            "reports.technical.under",
            guarantee=str(belief.guarantee),
            adjacency=belief.guarantee.adjacency.value,
        )
        + _technical_bound(belief),
        say(
            "reports.technical.worst"
            if belief.value_prior is None
            else "reports.technical.worst_at_value",
            ratio_p=f"{belief.worst_ratio.p:.3g}",
            ratio=times(belief.worst_ratio.value),
            difference_p=f"{belief.worst_difference.p:.3g}",
            difference=decimals(belief.worst_difference.value, "up"),
        ),
        *_technical_joining(belief),
        say("reports.technical.holds", probability=belief.assumptions.probability),
        say("reports.technical.by", method=belief.method, strength=belief.strength),
        say("reports.technical.adversary", adversary=belief.assumptions.adversary),
        say("reports.technical.later", post_processing=belief.assumptions.post_processing),
    ]
    if belief.exact is not None and belief.exact.posterior is not None:
        out.append(
            say("reports.technical.exact", upper=decimals(belief.exact.posterior.upper, "up"))
        )
    if belief.note:
        out.append(say("reports.technical.note", note=belief.note))
    return " ".join(out)


def _technical_bound(belief: Belief) -> str:
    event = event_of(belief)
    ratio, difference = times(belief.ratio.upper), decimals(belief.difference.upper, "up")
    if belief.prior is None or belief.posterior is None:
        return say("reports.technical.all_priors", event=event, ratio=ratio, difference=difference)
    upper = decimals(belief.posterior.upper, "up")
    if belief.sided == "two":
        lower = decimals(belief.posterior.lower, "down")
        span = say("reports.technical.span_two", lower=lower, upper=upper)
    else:
        span = say("reports.technical.span_one", upper=upper)
    return say(
        "reports.technical.with_prior",
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
    without = belief.prior.pq
    shown = f"{without:g}"
    joined = decimals(loss_of(belief.guarantee).right_guess(without), "up")
    out = [say("reports.technical.join", without=shown, joined=joined)]
    if isinstance(belief.guarantee, PureDP):
        believed = decimals(join(belief.guarantee, without).joined[0], "up")
        out.append(say("reports.technical.counterfactual", without=shown, joined=believed))
    return out


def regulator(belief: Belief) -> str:
    """Unit, guarantee, what may be learned, how often it may fail, what is not promised."""
    out = [
        say(
            "reports.regulator.unit",
            unit=belief.unit,
            guarantee=str(belief.guarantee),
            adjacency=belief.guarantee.adjacency.value,
        ),
        _bound(belief),
    ]
    if belief.holds_with == 1:
        out.append(say("reports.regulator.certain"))
    else:
        out.append(say("reports.regulator.confident", confidence=level(belief.holds_with)))
    if belief.beyond is not None:
        people, up_to = f"{belief.beyond.people:,}", whole_up(belief.beyond.up_to)
        out.append(say("reports.regulator.beyond", people=people, up_to=up_to))
    if belief.at_confidence:
        rows = ", ".join(_at(row) for row in belief.at_confidence)
        out.append(say("reports.regulator.by_confidence", rows=rows))
    rests = belief.assumptions
    out += [
        say("reports.regulator.adversary", adversary=rests.adversary),
        say("reports.regulator.independence", independence=rests.independence),
        say("reports.regulator.later", post_processing=rests.post_processing),
        say("reports.regulator.not_promised"),
    ]
    return " ".join(out)


def _at(row: AtConfidence) -> str:
    shown = level(row.confidence)
    if row.posterior is None:
        difference = percent(row.difference, "up", 1)
        return say("reports.regulator.at_difference", level=shown, difference=difference)
    posterior = frequency(row.posterior, "up")
    return say("reports.regulator.at_posterior", level=shown, posterior=posterior)


# -- beside the belief


def guarantee_text(
    guarantee: Guarantee, audience: Audience = "public", unit: str = "one person"
) -> str:
    """Return what a promise says, before any prior is named."""
    given = {name: getattr(guarantee, name, None) for name in ("epsilon", "delta", "rho")}
    epsilon, even = given["epsilon"], loss_of(guarantee).right_guess(0.5)
    values = {
        **{name: "" if x is None else number(x, "up", FIGURES) for name, x in given.items()},
        "changes": say(f"adjacency.{guarantee.adjacency.value}.changes"),
        "looks": looks_text(even <= NEARLY, guarantee.adjacency.value, unit),
        "unit": unit,
        "guarantee": str(guarantee),
        "adjacency": guarantee.adjacency.value,
        "factor": times(math.exp(epsilon) if epsilon is not None and epsilon < 700 else math.inf),
    }
    return say(f"reports.kind.{guarantee.kind}.{check_audience(audience)}", **values)


def looks_text(alike: bool, adjacency: str, unit: str) -> str:
    """Return how alike it looks, for everyone, whatever is true of the unit."""
    said = "alike" if alike else "apart"
    return say(f"reports.looks.{said}", who=say(f"adjacency.{adjacency}.{said}", unit=unit))


def pure_against_approximate(belief: Belief, audience: Audience = "public") -> str:
    """Return whether the promise holds always, and if not, how many it leaves out."""
    key = f"reports.pure_against_approximate.{check_audience(audience)}"
    if belief.holds_with == 1 or belief.beyond is None:
        return say(f"{key}_pure")
    loss = belief.epsilon_prime
    return say(
        f"{key}_approximate",
        unit=belief.unit,
        chance=chance(belief.holds_with),
        holds_with=level(belief.holds_with),
        epsilon_prime="∞" if loss is None else number(loss, "up", FIGURES),
        people=f"{belief.beyond.people:,}",
        up_to=whole_up(belief.beyond.up_to),
    )


def not_protected(
    audience: Audience = "public",
    unit: str = "person",
    *,
    name: str | None = None,
    promises: Sequence[Promise] | None = None,
    unpromised: bool = False,
) -> tuple[tuple[str, str], ...]:
    """Return what the promise does not cover, as (name, sentence), the most asked-for first.

    `unit` is the kind of unit, and `name` what sentences call it.
    `promises` are those in force, if it is about an account: where none of them limits what is
    learned of being in the data, or of values (`Promise.membership_open`, `values_open`), that is
    said. `unpromised` says that the same data
    also gave a file without a promise.
    """
    said, texts = check_audience(audience), catalogue()
    topics = texts.names("reports.not_protected.order")
    if promises is not None and values_open(promises):
        topics = ("values", *topics)
    if promises is not None and membership_open(promises):
        topics = ("membership", *topics)
    if unpromised:
        topics = ("unpromised", *topics)
    found = [
        (
            texts.say(f"reports.not_protected.{topic}.name"),
            texts.say(f"reports.not_protected.{topic}.{said}"),
        )
        for topic in topics
    ]
    others = "reports.not_protected.other_units"
    whole = unit == "household" or (unit == "person" and name not in (None, str(PERSON)))
    told = "named" if whole else unit
    if told in texts.names(others):
        said_of = texts.say(f"{others}.{told}", unit=name or str(Unit.of(unit)))
        found.append((texts.say(f"{others}.name"), said_of))
    return tuple(found)


def series_text(
    so_far: Belief, at_end: Belief, k: int, total: int, audience: Audience = "public"
) -> str:
    """Return where a series stands after k of its releases, and where it will end.

    Both beliefs are about everything published up to then, from the same prior.
    """
    if not 1 <= k <= total:
        raise InputError("reports.series.no_such_release", k=k, total=total)
    if so_far.prior is None or so_far.prior != at_end.prior:
        raise InputError("reports.series.other_prior")
    if so_far.posterior is None or at_end.posterior is None:
        raise InputError("reports.series.no_posterior")
    before, now, end = so_far.prior.pq, so_far.posterior.upper, at_end.posterior.upper
    place = {"k": k, "total": total}
    if check_audience(audience) == "public":
        when = say("reports.series.when_series", total=total)
        grown = growth_text(so_far, at_end.guarantee, end, when)
        return f"{say('reports.series.place', **place)} {grown}"
    shown = {"now": decimals(now, "up"), "end": decimals(end, "up"), "before": f"{before:g}"}
    if audience == "regulator":
        shown = _in_one_crowd(before=before, now=now, end=end)
    return say(f"reports.series.{audience}", method=f"{at_end.method}.", **place, **shown)


def growth_text(so_far: Belief, total: Guarantee, end: float, when: str) -> str:
    """Return how far a belief can grow by now, and, once `total` is spent, to `end`; and joining.

    `when` names that end.
    """
    parts = [grows_text(so_far, end, when)]
    if total.adjacency is Adjacency.ADD_REMOVE and so_far.prior is not None:
        before = so_far.prior.pq
        now, later = (loss_of(one).right_guess(before) for one in (so_far.guarantee, total))
        shown = _in_one_crowd(before=before, now=now, end=later)
        parts.append(say("reports.series.joins", unit=so_far.unit, when=when, **shown))
    return " ".join(parts)


def grows_text(so_far: Belief, end: float, when: str) -> str:
    """Return how far a belief can grow by now, and to `end` when that comes."""
    if so_far.prior is None or so_far.posterior is None:
        raise InputError("reports.series.no_posterior")
    shown = _in_one_crowd(before=so_far.prior.pq, now=so_far.posterior.upper, end=end)
    return say("reports.series.grows", event=event_of(so_far), when=when, **shown)


def _in_one_crowd(before: float, **most: float) -> dict[str, str]:
    """A belief and bounds as frequencies of the same crowd."""
    crowd = crowd_for(before, *most.values())
    shown = {name: frequency(bound, "up", crowd) for name, bound in most.items()}
    return {"before": plain(before, crowd)} | shown


# -- one person's worry


Knows: TypeAlias = Literal["everyone else", "a hunch"]
_FIGURES = 100


@dataclass(frozen=True, slots=True)
class Icons(JsonReady):
    """A hundred figures: so many marked for the belief before, so many more for after, at most."""

    before: int
    after: int
    of: int = _FIGURES

    @classmethod
    def showing(cls, before: float, after: float) -> Icons:
        """Return the figures of two probabilities, rounded outward."""
        return cls(counted(before, "down", _FIGURES), counted(after, "up", _FIGURES))

    @property
    def text(self) -> str:
        """What the figures show, for those who do not see them."""
        return say(
            "reports.worry.icons",
            after_count=str(self.after),
            before_count=str(self.before),
            more=str(self.after - self.before),
            crowd=str(self.of),
        )


@dataclass(frozen=True, slots=True)
class Worry(JsonReady):
    """A suspicion, and how far a release can take it."""

    belief: Belief
    knows: Knows
    icons: Icons
    text: str

    def __repr__(self) -> str:
        return f"Worry(from {self.icons.before} to at most {self.icons.after} in {self.icons.of})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), [("in words", self.text), ("figures", self.icons.text)])


def worry(
    guarantee: Explained,
    suspicion: float,
    *,
    knows: Knows = "everyone else",
    value: float = 1.0,
    confidence: float = 0.99,
    unit: str = "one person",
) -> Worry:
    """Return how far a suspicion can grow under a promise.

    `suspicion` is how sure they are already that the unit is in the data, `value` how sure they are
    of its sensitive value if it is in.

    >>> from discreet.guarantees import PureDP
    >>> worry(PureDP(0.5), 0.3)
    Worry(from 30 to at most 42 in 100)
    """
    if knows not in ("everyone else", "a hunch"):
        raise InputError("reports.worry.unknown_knowledge", knows=knows)
    belief = explain(guarantee, Prior(suspicion, value), confidence=confidence, unit=unit)
    return answer(belief, knows)


def answer(belief: Belief, knows: Knows = "everyone else", *, you: bool = False) -> Worry:
    """Put a belief as a worry and its answer; `you` says that the reader is the unit."""
    if belief.prior is None or belief.posterior is None:
        raise InputError("reports.worry.no_prior")
    before, after = belief.prior.pq, belief.posterior.upper
    who = "hunch" if knows == "a hunch" else "knows_everyone_else"
    shown = _in_one_crowd(before=before, after=after)
    parts = [
        say(f"reports.{'you' if you else 'worry'}.{who}", unit=belief.unit),
        say("reports.worry.says", event=event_of(belief, you=you), **shown),
    ]
    if belief.holds_with < 1:
        parts.append(surely(belief.holds_with))
    if knows == "a hunch":
        strong = belief.holds_with < 1
        parts.append(say(f"reports.worry.{'proved_for_strong' if strong else 'same'}"))
        if belief.guarantee.adjacency is Adjacency.ADD_REMOVE and not strong:
            kind = "you" if you else "public"
            parts.append(say(f"reports.{kind}.assumes_weak", unit=belief.unit))
    return Worry(belief, knows, Icons.showing(before, after), " ".join(parts))

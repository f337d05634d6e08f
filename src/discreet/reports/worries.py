"""A person's own worry: "they already suspect it", "they know everyone else but me".

The worry is a prior; the answer is the bound on belief under a promise, in words and as a hundred
figures. Under pure DP a hunch and full knowledge of the others end at the same bound (K&R Theorem 1
at q = 1 is KSZ's strong adversary). Where a bound holds only with a probability, it is proved for
someone who knows all the rest, and the answer says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from discreet.beliefs import Belief, Prior, explain
from discreet.beliefs.explaining import Explained
from discreet.errors import InputError
from discreet.frames import JsonReady, html_table
from discreet.guarantees import Adjacency
from discreet.reports.sentences import event_of
from discreet.statements.figures import chance, counted, crowd_for, frequency, plain
from discreet.words import say

Knows: TypeAlias = Literal["everyone else", "a hunch"]
_FIGURES = 100


@dataclass(frozen=True, slots=True)
class Icons(JsonReady):
    """A hundred figures: so many marked for the belief before, so many more for after, at most."""

    before: int
    after: int
    of: int = _FIGURES

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


def answer(belief: Belief, knows: Knows = "everyone else") -> Worry:
    """Put a belief as a worry and its answer."""
    if belief.prior is None or belief.posterior is None:
        raise InputError("reports.worry.no_prior")
    before, after = belief.prior.pq, belief.posterior.upper
    crowd = crowd_for(before, after)
    who = "reports.worry.hunch" if knows == "a hunch" else "reports.worry.knows_everyone_else"
    parts = [
        say(who, unit=belief.unit),
        say(
            "reports.worry.says",
            before=plain(before, crowd),
            event=event_of(belief),
            after=frequency(after, "up", crowd),
        ),
    ]
    if belief.holds_with < 1:
        parts.append(say("reports.public.may_fail", chance=chance(belief.holds_with)))
    if knows == "a hunch" and belief.guarantee.adjacency is Adjacency.ADD_REMOVE:
        weak = (
            "reports.public.assumes_weak"
            if belief.holds_with == 1
            else "reports.worry.proved_for_strong"
        )
        parts.append(say(weak, unit=belief.unit))
    icons = Icons(counted(before, "down", _FIGURES), counted(after, "up", _FIGURES))
    return Worry(belief, knows, icons, " ".join(parts))

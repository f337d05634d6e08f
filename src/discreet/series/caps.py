"""Under a cap: how many more releases fit, and what a δ may cost.

Releases left are added up as a filter adds them, by plain sums. pure: Σε ≤ cap; basic: Σε and Σδ;
zCDP: Σρ. Sums of this kind may be spent as one goes, on budgets chosen after looking at what was
published; tighter accounting is for a plan fixed in advance (`horizon`). Numbers are compared as
exact fractions, so repeated small releases never slip past.

Advice on δ. (0, δ)-DP is kept by publishing each person's full record with probability δ: no record
need be protected at all as long as that is rare. So of n people up to nδ may be exposed outright,
in expectation, and a δ near 1/n allows one person's record to be published on every occasion (Dwork
and Roth 2014, §2.3, who ask for δ far below 1/n; Kasiviswanathan and Smith 2014 for Bayesian
adversaries). δ is neither the probability that something is learned nor the failure probability δ'
of a belief bound, which may be larger by far: see `discreet.composition.curves`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import GuaranteeError
from discreet.frames import JsonReady
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.laws.checks import whole
from discreet.rounding import decimal_up
from discreet.words import catalogue, say

_SAFE = 1e-2  # of one person, in expectation, over everything


def releases_left(cap: Guarantee, each: Guarantee, spent: Guarantee | None = None) -> int | None:
    """Return how many more releases like `each` fit under the cap; None if they cost nothing.

    >>> releases_left(PureDP(1.0), PureDP(0.1), spent=PureDP(0.35))
    6
    """
    stated = [cap, each] if spent is None else [cap, each, spent]
    if len({g.adjacency for g in stated}) > 1:
        raise GuaranteeError("series.cap_under_another_adjacency")
    names = _names(cap)
    limits = []
    for name in names:
        room = _amount(cap, name) - (Fraction(0) if spent is None else _amount(spent, name))
        cost = _amount(each, name)
        if cost > 0 or room < 0:
            limits.append(max(0, room // cost) if cost > 0 else 0)
    for g in stated[1:]:
        extra = [n for n in ("epsilon", "delta", "rho") if n not in names and _amount(g, n) > 0]
        if extra:
            raise GuaranteeError("series.cap_does_not_count", stated=g, spends=extra[0], cap=cap)
    return min(limits) if limits else None


def _names(cap: Guarantee) -> tuple[str, ...]:
    match cap:
        case PureDP():
            return ("epsilon",)
        case ApproxDP():
            return ("epsilon", "delta")
        case ZCDP():
            return ("rho",)
    raise GuaranteeError("series.no_cap", kind=type(cap).__name__)


def _amount(stated: Guarantee, name: str) -> Fraction:
    """The exact value of a float, read as the decimal that was written."""
    return Fraction(repr(float(getattr(stated, name, 0.0))))


@dataclass(frozen=True, slots=True)
class DeltaAdvice(JsonReady):
    """What a δ may cost among so many people, and a δ that costs next to nothing."""

    people: int
    delta: float
    exposed: float
    advised: float
    verdict: str
    sentences: tuple[str, ...]
    sources: tuple[str, ...]


def advice_on_delta(people: int, delta: float) -> DeltaAdvice:
    """Return what δ allows at worst among `people`, over everything it was summed over.

    >>> advice_on_delta(1_000_000, 1e-6).verdict
    'too large'
    """
    whole("people", people)
    ApproxDP(0.0, delta)
    exposed, advised = people * delta, min(1e-6, _SAFE / people)
    if delta == 0:
        verdict = "none"
        sentences = [say("series.delta.none", advised=advised, people=people)]
    else:
        large = "large" if delta > advised else "small enough"
        verdict = "too large" if exposed >= 0.5 else large
        shown = decimal_up(exposed, 4)
        sentences = [
            say("series.delta.at_worst", delta=delta, exposed=shown, people=people),
            say("series.delta.advised", advised=advised),
            say("series.delta.is_not"),
        ]
    sources = catalogue().names("series.delta.sources")
    return DeltaAdvice(people, delta, exposed, advised, verdict, tuple(sentences), sources)

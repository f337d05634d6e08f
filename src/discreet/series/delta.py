"""Advice on δ: what it may cost, and what it never means.

(0, δ)-DP is kept by publishing each person's full record with probability δ: no record need be
protected at all as long as that is rare. So of n people up to nδ may be exposed outright, in
expectation, and a δ near 1/n allows one person's record to be published on every occasion (Dwork
and Roth 2014, §2.3, who ask for δ far below 1/n; Kasiviswanathan and Smith 2014 for Bayesian
adversaries). δ is neither the probability that something is learned nor the failure probability δ'
of a belief bound, which may be larger by far: see `discreet.beliefs.loss_bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.guarantees import ApproxDP
from discreet.rounding import decimal_up

__all__ = ["DeltaAdvice", "advice_on_delta"]

_SAFE = 1e-2  # of one person, in expectation, over everything


@dataclass(frozen=True, slots=True)
class DeltaAdvice:
    """What a δ may cost among so many people, and a δ that costs next to nothing."""

    people: int
    delta: float
    exposed: float
    advised: float
    verdict: str
    sentences: tuple[str, ...]
    sources: tuple[str, ...] = (
        "Dwork and Roth 2014, The Algorithmic Foundations of Differential Privacy, §2.3",
        "Kasiviswanathan and Smith 2014, On the 'Semantics' of Differential Privacy",
        "Kazan, Sharma, Zhang, Jiang and Yan, Interpreting Differential Privacy in Terms of "
        "Disclosure Risk, §3.4",
    )

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as JSON-ready values."""
        out = {name: getattr(self, name) for name in self.__slots__}
        return out | {"sentences": list(self.sentences), "sources": list(self.sources)}


def advice_on_delta(people: int, delta: float) -> DeltaAdvice:
    """Return what δ allows at worst among `people`, over everything it was summed over.

    >>> advice_on_delta(1_000_000, 1e-6).verdict
    'too large'
    """
    if isinstance(people, bool) or people < 1:
        raise InputError(f"people is {people!r}; it must be a whole number, 1 or more.")
    ApproxDP(0.0, delta)
    exposed = people * delta
    advised = min(1e-6, _SAFE / people)
    if exposed >= 0.5:
        verdict = "too large"
    elif delta > advised:
        verdict = "large"
    else:
        verdict = "small enough"
    if delta == 0:
        words: tuple[str, ...] = (
            f"No delta is promised. Where one is, at most {advised:g} keeps the records that it "
            f"may expose among {people:,} people below one in a hundred such data sets.",
        )
        return DeltaAdvice(people, delta, 0.0, advised, "none", words)
    words = (
        f"At worst, delta = {delta:g} lets the records of {decimal_up(exposed, 4):g} of {people:,} "
        "people be published outright, in expectation, and still keeps the promise.",
        f"A delta of at most {advised:g} keeps that below one person in a hundred such data sets.",
        "Delta is not the chance that something is learned, and a belief bound that may fail with "
        "probability 0.01 does not make a delta of 0.01 harmless.",
    )
    return DeltaAdvice(people, delta, exposed, advised, verdict, words)

"""Nobody becomes more than a sure, r*(p, q) = a/(pq); or so unless belief grows at most r-fold.

`PosteriorUnlessRatio` is in pq alone, asks for the posterior below s = a/r and for the ratio above,
so its worst prior is at the kink pq = a/r or at a corner (K&R Theorems 4 and 5, and their profile
(33), whose closed form is new here).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from discreet.beliefs.one_prior import (
    CANCELLED,
    EVERYTHING,
    Range,
    epsilon_range,
    range_for_posterior,
)
from discreet.errors import ToleranceError
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.formula import Binary, Call, Expression, Number, Variable
from discreet.promises.shapes.ratio import constant_ratio
from discreet.promises.tolerance import Key, Solved, Tolerance, Wording, check_ratio, share
from discreet.words import say

PRODUCT = Binary("*", Variable("p"), Variable("q"))
_NORMAL, _LARGEST = sys.float_info.min, sys.float_info.max


def per_product(share: float, p: float, q: float) -> float:
    """Return share/(pq), the largest double where it is larger; p = 0 and q = 0 are limits."""
    if share == 0:
        return 0.0
    product = p * q
    if product >= _NORMAL:
        return share / product
    if p == 0 or q == 0:
        return math.inf
    try:
        return float(Fraction(share) / (Fraction(p) * Fraction(q)))
    except OverflowError:
        return _LARGEST


def percent(share: float) -> str:
    """Return a share as people write it, with every digit."""
    return f"{100 * share:.10g} %"


def _limit(posterior: Any) -> float:
    return share("posterior", posterior, "promises.rule.above_zero", lambda a: a > 0)


@dataclass(frozen=True, slots=True)
class Posterior(Tolerance):
    """Nobody becomes more than `posterior` sure; every prior in the box must be below it."""

    keys = (
        Key("posterior", metavar="A", spellings=("--posterior", "--posterior-limit")),
        Key("unless_ratio", metavar="R"),
    )

    posterior: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        a = _limit(self.posterior)
        object.__setattr__(self, "posterior", a)
        highest = self.box.p1 * self.box.q1
        reached = highest >= a
        if highest < _NORMAL:  # rounded, or 0
            reached = Fraction(self.box.p1) * Fraction(self.box.q1) >= Fraction(a)
        if reached:
            self._refuse("posterior_reached", self.box, posterior=a, highest=highest)

    @staticmethod
    def _refuse(why: str, box: Box, **values: Any) -> NoReturn:
        """Say which prior to fix: that of the value where all are known to be in, say."""
        if box.p0 == 1 or box.q0 == 1:
            why, values = f"{why}_about", values | {"name": "q" if box.p0 == 1 else "p"}
        raise ToleranceError(f"promises.{why}", **values)

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return a posterior alone, or with `unless_ratio`."""
        if "unless_ratio" in given:
            return PosteriorUnlessRatio(given["posterior"], given["unless_ratio"], box)
        _limit(given["posterior"])
        if box.p1 * box.q1 == 1:
            cls._refuse("posterior_alone", box)
        return cls(given["posterior"], box)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"posterior": self.posterior} | self.box.to_mapping()

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return per_product(self.posterior, p, q)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Binary("/", Number(self.posterior), PRODUCT)

    def closed_form(self) -> Solved:
        """Fact 2 of `shapes`."""
        p, q = self.box.p1, self.box.q1
        return _solved(range_for_posterior(p, q, self.posterior), p, q, "largest_prior")

    def least_ratio(self) -> float:
        """Return the ratio at the largest prior."""
        return self.posterior / (self.box.p1 * self.box.q1)

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        return words.fill("promises.sentence.posterior", after=percent(self.posterior))

    def __str__(self) -> str:
        return say("promises.short.posterior", posterior=100 * self.posterior, box=self.box)


@dataclass(frozen=True, slots=True)
class PosteriorUnlessRatio(Tolerance):
    """Nobody becomes more than `posterior` sure unless their belief grows at most `ratio`-fold."""

    posterior: float
    ratio: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        a = share("posterior", self.posterior, "promises.rule.zero_or_more", lambda a: a >= 0)
        object.__setattr__(self, "posterior", a)
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        own = {"posterior": self.posterior, "unless_ratio": self.ratio}
        return own | self.box.to_mapping()

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return max(per_product(self.posterior, p, q), self.ratio)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Call("max", (Binary("/", Number(self.posterior), PRODUCT), Number(self.ratio)))

    def closed_form(self) -> Solved:
        """Fact 3 of `shapes`: the kink at pq = a/r."""
        name = "K&R (15), (16), (33)"
        posterior, ratio, box = self.posterior, self.ratio, self.box
        if posterior >= 1:
            return _solved(EVERYTHING, box.p1, box.q1, "posterior_of_one")
        if math.isinf(ratio) or _product(box.p0, box.q0, ratio) >= posterior:
            return constant_ratio(ratio, box, name)
        if _product(box.p1, box.q1, ratio) <= posterior:
            return Posterior(posterior, box).closed_form()
        D = (ratio - 1) / ratio
        C = (1 - posterior) / ratio
        if _product(box.p1, box.q0, ratio) <= posterior:  # the kink lies on the edge p = p1
            p = box.p1
            q = _on_kink(posterior, ratio, p, box.q0, box.q1)
            A, B = (p * ratio - posterior) / ratio, 1 - p
            found = epsilon_range(A, B, C, D, error_A=CANCELLED)
        elif box.q0 * (ratio + 1) <= 1:  # on the edge q = q0, where the ratio binds at the far end
            return constant_ratio(ratio, box, name)
        else:
            q = box.q0
            p = _on_kink(posterior, ratio, q, box.p0, box.p1)
            A, B = p * (1 - q), (ratio * q - posterior) / (ratio * q)
            found = epsilon_range(A, B, C, D, error_B=CANCELLED)
        return Solved(*found, p, q, p > 0 and q > 0, say("promises.method.closed_form", by=name))

    def least_ratio(self) -> float:
        """Return the ratio."""
        return self.ratio

    def lasting_ratio(self) -> float:
        """Return the ratio."""
        return self.ratio

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        fold = f"{self.ratio:g}"
        return words.fill("promises.sentence.unless", after=percent(self.posterior), fold=fold)

    def __str__(self) -> str:
        values = {"posterior": 100 * self.posterior, "ratio": self.ratio, "box": self.box}
        return say("promises.short.unless", **values)


def _solved(epsilon: Range, p: float, q: float, method: str) -> Solved:
    return Solved(*epsilon, p, q, p > 0 and q > 0, say(f"promises.method.{method}"))


def _on_kink(posterior: float, ratio: float, other: float, low: float, high: float) -> float:
    """Return the prior with which the other one makes pq = a/r, rounded within its ends."""
    exact = Fraction(posterior) / (Fraction(ratio) * Fraction(other))
    return min(max(float(exact), low), high)


def _product(p: float, q: float, ratio: float) -> Fraction:
    """Return pqr exactly: that of two tiny priors is no double."""
    return Fraction(p) * Fraction(q) * Fraction(ratio)

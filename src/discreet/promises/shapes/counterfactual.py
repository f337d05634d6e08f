"""Wood et al.'s counterfactual: the odds if a person joins, against those if they do not.

It compares worlds, not times: a unit that is in with one that is out, through two steps, so ε is
½ log R (log R where the statistic counts the sensitive ones alone: one step).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.promises.box import Box
from discreet.promises.tolerance import Key, Solved, Tolerance, Wording, check_ratio
from discreet.rounding import down, up
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Counterfactual(Tolerance):
    """The odds if a person joins are at most `ratio` times the odds if they do not."""

    keys = (Key("counterfactual", metavar="R"), Key("counts_sensitive_only", bool))
    own_priors = True
    guessable = False

    ratio: float
    counts_sensitive_only: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return it from `counterfactual` and `counts_sensitive_only`."""
        return cls(given["counterfactual"], given.get("counts_sensitive_only", False))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        own: dict[str, Any] = {"counterfactual": self.ratio}
        return own | ({"counts_sensitive_only": True} if self.counts_sensitive_only else {})

    def closed_form(self) -> Solved:
        """Return ½ log R, or log R."""
        share = 1.0 if self.counts_sensitive_only else 0.5
        epsilon = share * math.log1p(self.ratio - 1)
        method = say("promises.method.counterfactual")
        return Solved(down(epsilon), up(epsilon), 1.0, 0.0, False, method)

    def counts(self, central: bool) -> tuple[bool, bool]:
        """Two steps count, or one where the statistic counts the sensitive ones alone."""
        one = self.counts_sensitive_only
        return (one, not one) if central else (True, False)

    def scale(self, central: bool) -> float:
        """Return 1 where ε is log R in any case."""
        return 1.0 if central or self.counts_sensitive_only else 2.0

    def where_all_are_in(self) -> Tolerance:
        """Return it as it is: it speaks of every prior."""
        return self

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        return words.fill("promises.sentence.counterfactual", fold=f"{self.ratio:g}")

    def __str__(self) -> str:
        return say("promises.short.counterfactual", ratio=self.ratio)

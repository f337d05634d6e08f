"""A shape of tolerance from outside the package: belief covers at most a share of the way to 1.

"Nobody who thinks that the chance is s comes to think that it is more than s + c(1 − s)": a
posterior of at most s + c(1 − s), so r*(p, q) = 1 + c(1 − pq)/(pq).
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.promises import EVERY_PRIOR, Box, Key, Tolerance, Wording, shape
from discreet.promises.formula import Expression, parse
from discreet.promises.tolerance import share


@shape
@dataclass(frozen=True, slots=True)
class PartOfTheWay(Tolerance):
    """Belief covers at most the share `part_of_the_way` of what is missing to certainty."""

    keys = (Key("part_of_the_way", metavar="C", help="Belief covers at most C of the way to 1."),)

    part_of_the_way: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        found = share(
            "part_of_the_way", self.part_of_the_way, "promises.rule.above_zero", lambda c: c > 0
        )
        object.__setattr__(self, "part_of_the_way", found)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return parse(f"1 + {self.part_of_the_way!r}*(1 - p*q)/(p*q)")

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        percent = f"{100 * self.part_of_the_way:g} %"
        return f"{words.nobody} comes more than {percent} nearer to certainty that {words.event}"

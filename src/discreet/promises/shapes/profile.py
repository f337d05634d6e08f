"""A profile written as a formula in p and q."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.formula import Expression, parse
from discreet.promises.tolerance import Key, Tolerance, Wording
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Formula(Tolerance):
    """A profile written as a formula in p and q.

    >>> Formula("max(0.25/(p*q), 3)").ratio_at(0.5, 0.5)
    3.0
    """

    keys = (Key("profile", str, metavar="FORMULA"),)

    text: str
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        parse(self.text)
        object.__setattr__(self, "text", self.text.strip())

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return it from `profile`."""
        return cls(given["profile"], box)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"profile": self.text} | self.box.to_mapping()

    def expression(self) -> Expression:
        """Return the tree of the formula."""
        return parse(self.text)

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        return words.fill("promises.sentence.formula", formula=self.text)

    def __str__(self) -> str:
        return say("promises.short.formula", formula=self.text, box=self.box)

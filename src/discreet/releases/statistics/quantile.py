"""A quantile, chosen among the multiples of the resolution within the bounds.

Quantile at α = a/b: the score of the multiple j is
    u_j = −|(b−a)·#(y < j) − a·#(y > j)|       (Smith 2011),
which is highest where a share α lies below. A row changes it by at most max(a, b−a), up or down, so
a selection loses twice that. One choice a group: a unit with r_g rows in group g loses
2·max(a, b−a)·r_g/s there, and the sum over its groups is bounded as the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from discreet.errors import SpecError
from discreet.noise.standalone import ranks
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Number, Tally
from discreet.releases.statistics.base import (
    SIZES,
    Answer,
    Bounded,
    ColumnName,
    Measured,
    Noisy,
    Part,
    ScriptLines,
    decimal,
    register,
)
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced

__all__ = ["MOST_CANDIDATES", "Quantile"]

MOST_CANDIDATES = 10_001
"""The most values that one is chosen among."""


@register("quantile")
class Quantile(Bounded):
    """A value that about a share `at` of the rows lie below; chosen among the multiples."""

    quantile: ColumnName
    at: float

    @field_validator("at", mode="before")
    @classmethod
    def _inside(cls, at: object) -> object:
        if at in ("min", "max") or (isinstance(at, (int, float)) and not 0 < at < 1):
            raise SpecError("releases.spec.quantile_extreme", at=at)
        return at

    @property
    def share(self) -> Fraction:
        """α = a/b."""
        return decimal(self.at)

    @property
    def size(self) -> int:
        """The most that one row changes a score: max(a, b−a)."""
        return max(self.share.numerator, self.share.denominator - self.share.numerator)

    def check_multiples(self, number: Number) -> None:
        """Refuse more multiples than one is chosen among."""
        if number.size > MOST_CANDIDATES:
            raise SpecError(
                "releases.statistics.many_multiples",
                statistic=self.name,
                size=number.size,
                most=MOST_CANDIDATES,
            )

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values."""
        return (Tally(self.measure_name("choice"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One choice in each group, which the rows of a unit fill one after the other."""
        replaced = contribution.l1() // contribution.total
        full, rest = divmod(contribution.total, contribution.rows_per_group)
        deep = [contribution.rows_per_group] * full + ([rest] if rest else [])
        changes = [replaced * self.size * rows for rows in deep]
        return (Part.of_choice("choice", changes, self.number.resolution, monotone=False),)

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of every multiple, a list a group."""
        return [ranks(counts, self.share) for counts in measured[self.measure_name(part)]]

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The value chosen in each group; its error is one of rank, so it has no interval."""
        low, step = self.number.low, self.number.resolution
        return [[Answer((), (low + j) * step, None, None)] for j in noisy["choice"].values]

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """The share of rows by which the rank may be off: a score counts b times a row."""
        off = calls["choice"].score_within(self.number.size, interval) / self.share.denominator
        sizes = [{"rows": n, "rank_share": min(1.0, off / n)} for n in SIZES]
        return {"candidates": self.number.size, "assumed": sizes}

    def explain(self) -> str:
        """Say which quantile it is."""
        return say(
            "releases.explain.quantile", column=self.quantile, at=self.at, step=self.resolution
        )

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Tally, and choose."""
        number = self.number
        yield f"tallied = tally(kept, len(cells), {number.script}, {number.size}, {number.low})"
        yield "for key, cell in zip(cells, tallied, strict=True):"
        yield f"    place = {lines.drawn('choice')}(ranks(cell, {lines.fraction(self.share)}))"
        yield f"    {lines.add(f'({number.low} + place) * {lines.fraction(number.resolution)}')}"

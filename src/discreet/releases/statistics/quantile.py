"""A quantile, chosen among the multiples of the resolution within the bounds.

Quantile at α = a/b of n values: the score of the multiple c is
    u(c) = −max(0, b·#(y < c) − a·n, a·n − b·#(y ≤ c)),
b times the number of ranks by which c misses the share α. It is 0 if and only if c is an
α-quantile, however many values tie; since every value is clipped and rounded to a multiple, one
always is.

Sensitivity. Write n = L + E + G for the values below, at and above c. The second and the third term
are
    (b−a)·L − a·E − a·G     and     a·G − (b−a)·L − (b−a)·E,
so a row that is added or removed moves each of them by at most max(a, b−a), and the largest of
three numbers moves by no more than they do: r rows move u(c) by at most max(a, b−a)·r. Replacing r
rows by s others moves each term by at most (b−a)·s + a·r, or with r and s exchanged, so by at most
b·max(r, s). Where there are groups the old rows may lie in others than the new ones: a group then
moves by max(a, b−a)·(r + s) at most, and the sum over all groups by 2·max(a, b−a) times the rows.

Scores rise and fall, so a selection loses twice what a score moves: with r_g rows in group g,
2·max(a, b−a)·r_g/s there, and the sum over the groups is bounded as the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from pydantic import BeforeValidator

from discreet.errors import SpecError
from discreet.guarantees import Adjacency
from discreet.noise.standalone import ranks
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Tally
from discreet.releases.statistics.base import (
    Bounded,
    ColumnName,
    Measured,
    Proportion,
    ScriptLines,
    register,
)
from discreet.releases.statistics.values import Answer, Noisy, Part, decimal, sizes_told

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced

MOST_CANDIDATES = 10_001
"""The most values that one is chosen among."""


def _share(at: object) -> object:
    if at in ("min", "max", 0, 1):
        raise SpecError("releases.spec.quantile_extreme", at=at)
    if isinstance(at, (int, float)) and not 0 < at < 1:
        raise SpecError("releases.spec.quantile_share", at=at)
    return at


Share: TypeAlias = Annotated[Proportion, BeforeValidator(_share)]
"""A share of the rows, strictly between 0 and 1."""


@register("quantile")
class Quantile(Bounded):
    """A value that about a share `at` of the rows lie below; chosen among the multiples."""

    most_multiples: ClassVar[int] = MOST_CANDIDATES

    quantile: ColumnName
    at: Share

    @property
    def typical(self) -> bool:
        """Of the rows that are kept."""
        return True

    @property
    def share(self) -> Fraction:
        """α = a/b."""
        return decimal(self.at)

    def size(self, adjacency: Adjacency) -> int:
        """The most that each row of a unit moves a score, by what a neighbour is."""
        a, b = self.share.as_integer_ratio()
        if adjacency is not Adjacency.REPLACE:
            return max(a, b - a)
        return 2 * max(a, b - a) if self.by else b

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values."""
        return (Tally(self.measure_name("choice"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One choice in each group, which the rows of a unit fill one after the other."""
        changes = [self.size(contribution.adjacency) * rows for rows in contribution.filled]
        return (Part.of_choice("choice", changes, self.number.resolution, monotone=False),)

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of every multiple, a list a group."""
        return [ranks(counts, self.share) for counts in measured[self.measure_name(part)]]

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The value chosen in each group; its error is one of rank, so it has no interval."""
        low, step = self.number.low, self.number.resolution
        return [[Answer((), (low + j) * step, None, None)] for j in noisy["choice"].values]

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """By how many ranks more than the best candidate the value may miss the share.

        The best one misses it by none. A score counts b times a rank; as a share of the rows it is
        told for assumed sizes alone, for the size of a group is not public.
        """
        off = calls["choice"].score_within(self.number.size, interval) / self.share.denominator
        sizes = [{"rows": n, "rank_share": min(1.0, off / n)} for n in sizes_told()]
        return {"candidates": self.number.size, "ranks": off, "assumed": sizes}

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Tally, and choose."""
        number = self.number
        yield f"tallied = tally(kept, len(cells), {number.script}, {number.size}, {number.low})"
        yield "for key, cell in zip(cells, tallied, strict=True):"
        yield f"    place = {lines.drawn('choice')}(ranks(cell, {lines.fraction(self.share)}))"
        yield f"    {lines.add(f'({number.low} + place) * {lines.fraction(number.resolution)}')}"

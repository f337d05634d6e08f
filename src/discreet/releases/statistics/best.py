"""The best of some public candidates, by count or by revenue.

By count: u_j = #(y = j). By revenue (McSherry and Talwar 2007; Dwork and Roth 2014, §3.4, the
pumpkin auction): u_j = price_j · #(bid ≥ price_j), bids above the cap left out, in multiples of the
common step of the prices. Adding a row only raises scores, so a selection loses the change once;
replacing a unit is a removal and an addition, and it loses twice that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from discreet.errors import SpecError
from discreet.noise.standalone import revenues
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Bins, Labels, Measure, Steps, Tally
from discreet.releases.models import Closed, as_tuple
from discreet.releases.statistics.base import ColumnName, Measured, ScriptLines, Statistic, register
from discreet.releases.statistics.quantile import MOST_CANDIDATES
from discreet.releases.statistics.values import Answer, Noisy, Part, decimal
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced


class Grid(Closed):
    """Candidates from … to … in steps."""

    start: float = Field(alias="from")
    to: float
    step: float = Field(gt=0)


@register("best")
class Best(Statistic):
    """The best of some public candidates, by the exponential mechanism.

    `score: count` is the most common value of a column; `score: revenue` the price that, if it were
    asked of everyone who bid at least that much, would earn the most.
    """

    best: str = Field(min_length=1, description="What is being chosen, in a word.")
    score: Literal["count", "revenue"]
    of: ColumnName
    cap: float | None = Field(default=None, gt=0, description="Bids above it are left out.")
    candidates: Grid | Annotated[tuple[str | float, ...], BeforeValidator(as_tuple)]

    @model_validator(mode="after")
    def _scored(self) -> Best:
        if self.score == "revenue" and self.cap is None:
            raise SpecError("releases.spec.revenue_cap")
        if self.score == "count" and (self.cap is not None or isinstance(self.candidates, Grid)):
            raise SpecError("releases.spec.count_candidates")
        if not isinstance(self.candidates, Grid):
            if len(self.candidates) < 2 or len(set(self.candidates)) != len(self.candidates):
                raise SpecError("releases.spec.candidates_differ")
            wanted = str if self.score == "count" else float
            if not all(isinstance(candidate, wanted) for candidate in self.candidates):
                raise SpecError("releases.spec.candidates_type")
        return self

    @cached_property
    def prices(self) -> tuple[Fraction, ...]:
        """What each candidate earns from one row: 1 by count."""
        given = self.candidates
        if self.score == "count":
            return (Fraction(1),) * self.field.size
        if not isinstance(given, Grid):
            prices = sorted(decimal(float(price)) for price in given)
        else:
            start, stop, step = decimal(given.start), decimal(given.to), decimal(given.step)
            count = math.floor((stop - start) / step) + 1 if stop >= start else 0
            if not 2 <= count <= MOST_CANDIDATES:
                said = {"low": given.start, "high": given.to, "step": given.step, "count": count}
                raise SpecError(
                    "releases.statistics.candidates_count",
                    statistic=self.name,
                    most=MOST_CANDIDATES,
                    **said,
                )
            prices = [start + place * step for place in range(count)]
        if prices[0] < 0 or prices[-1] > decimal(self.cap or 0):
            raise SpecError("releases.statistics.candidates_cap", statistic=self.name, cap=self.cap)
        return tuple(prices)

    @cached_property
    def step(self) -> Fraction:
        """The common step of the prices; scores are whole multiples of it."""
        step = Fraction(1, math.lcm(*(price.denominator for price in self.prices)))
        if self.prices[-1] / step >= 2**53:
            raise SpecError("releases.statistics.candidates_digits", statistic=self.name)
        return step

    @cached_property
    def multiples(self) -> list[int]:
        """The prices in multiples of their step."""
        return [int(price / self.step) for price in self.prices]

    @cached_property
    def field(self) -> Labels | Steps | Bins:
        """The candidate that a row is for, or the highest that a bid reaches."""
        given = self.candidates
        if self.score == "count":
            return Labels(self.of, tuple(map(str, given)))
        cap = float(self.cap or 0)
        if isinstance(given, Grid):
            return Steps(self.of, given.start, given.step, len(self.prices), cap)
        # A little slack below each price: 0.29 as a double is a hair below 29 hundredths.
        slack = float(self.step) / 1_000_000
        return Bins(self.of, (*(float(price) - slack for price in self.prices), cap + slack))

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of a candidate that is text."""
        return (self.of,) if self.score == "count" else ()

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the candidates."""
        return (Tally(self.measure_name("choice"), self.field),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One choice."""
        changes = [contribution.l1(max(self.multiples))]
        return (Part.of_choice("choice", changes, self.step, monotone=True),)

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of every candidate."""
        (counts,) = measured[self.measure_name(part)]
        return [list(counts) if self.score == "count" else revenues(counts, self.multiples)]

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The candidate chosen."""
        (place,) = noisy["choice"].values
        if isinstance(self.field, Labels):
            return [[Answer((self.field.labels[place],), None, None, None)]]
        return [[Answer((), self.prices[place], None, None)]]

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """How far below the best the chosen score may be."""
        call, step, size = calls["choice"], float(self.step), self.field.size
        lead = call.scale * math.log(max(1, size - 1))
        return {
            "score_within": call.score_within(size, interval) * step,
            "candidates": size,
            "lead_for_even_odds": lead * step,
            "lead_in_units": lead / max(call.asked.part.changes),
        }

    def explain(self) -> str:
        """Say what is chosen, and by what."""
        if self.score == "count":
            return say("releases.explain.best_count", column=self.of)
        return say("releases.explain.best_revenue", what=self.best, column=self.of, cap=self.cap)

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Tally, and choose."""
        drawn = lines.drawn("choice")
        yield f"tallied = tally(kept, len(cells), {self.field.script}, {self.field.size})"
        yield "for key, cell in zip(cells, tallied, strict=True):"
        if isinstance(self.field, Labels):
            yield f"    place = {drawn}(cell)"
            yield f"    chosen = {list(self.field.labels)!a}[place]"
            yield f"    {lines.add('None', f'{self.of!a}: chosen')}"
            return
        yield f"    prices = {self.multiples!r}"
        yield f"    place = {drawn}(revenues(cell, prices))"
        yield f"    {lines.add(f'prices[place] * {lines.fraction(self.step)}')}"

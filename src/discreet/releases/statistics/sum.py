"""The sum of a column, in whole multiples of its resolution."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.releases.statistics.base import Added, Bounded, ColumnName, ScriptLines, register


@register("sum")
class Sum(Bounded, Added):
    """The sum of a column, clipped and in whole multiples of its resolution."""

    sum: ColumnName

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Add up, and add noise."""
        yield f"field = {self.number.script}"
        yield f"noisy = {lines.drawn('sum')}(sums(kept, len(cells), field))"
        yield lines.each
        yield f"    {lines.add(f'value * {lines.fraction(self.number.resolution)}')}"

"""How many rows, or how many units, there are in each group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from discreet.releases.statistics.base import Added, ScriptLines, register


@register("count")
class Count(Added):
    """How many rows, or how many units."""

    count: Literal["rows", "units"]

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Count, and add noise."""
        yield f"noisy = {lines.drawn('count')}(counts(kept, len(cells)))"
        yield lines.each
        yield f"    {lines.add('value')}"

"""An engine from outside the package: lines of JSON in a file, counted in plain Python."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines import register_engine
from discreet.releases.engines.base import Column, Counting, Found, KeySet, Query


class Rows:
    """Rows in memory, every value a text; it counts rows and refuses the rest."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.columns: dict[str, Column] = dict.fromkeys(rows[0], "text")

    def measure(self, query: Query) -> dict[str, Any]:
        """Bound contributions, count, and return every measure by its name."""
        if any(measure != Counting(measure.name) for measure in query.measures):
            raise SpecError("this engine counts rows and nothing else; use another one.")
        cells = query.cells or KeySet((), ((),))
        place = {key: i for i, key in enumerate(cells.keys)}
        units: dict[Any, list[tuple[float, int]]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            key = tuple(row[name] for name in cells.columns)
            unit = tuple(row[name] for name in query.unit) or number
            if key in place and (not query.unit or None not in unit):
                rank = float(row[query.priority]) if query.priority else random.random()  # noqa: S311
                units[unit].append((rank, place[key]))
        counts = [0] * len(place)
        for ranked in units.values():
            for cell in _bounded(sorted(ranked), query):
                counts[cell] += 1
        return {measure.name: list(counts) for measure in query.measures}

    def missing(self, texts: Collection[str], numbers: Collection[str]) -> str | None:
        """Return a column that has a null."""
        return next((name for name in texts if any(r[name] is None for r in self.rows)), None)

    def find_keys(
        self, unit: tuple[str, ...], by: tuple[str, ...], contribution: Contribution
    ) -> Found:
        """Refuse: keys have to be listed in the spec."""
        raise SpecError("this engine does not find keys; list them in the spec.")

    def reveal(self, found: Found, places: Sequence[int]) -> KeySet:
        """Refuse: nothing was found."""
        raise SpecError("this engine does not find keys; list them in the spec.")

    def close(self) -> None:
        """Let go of the rows."""
        self.rows = []


def _bounded(ranked: list[tuple[float, int]], query: Query) -> list[int]:
    """Keep the first groups of one unit, the first rows in each, and the first of those."""
    if not query.unit:
        return [cell for _, cell in ranked]
    most = query.contribution
    groups = list(dict.fromkeys(cell for _, cell in ranked))[: most.groups]
    seen: dict[int, int] = defaultdict(int)
    kept = []
    for _, cell in ranked:
        seen[cell] += 1
        if cell in groups and seen[cell] <= most.rows_per_group:
            kept.append(cell)
    return kept[: most.rows]


def file_in(source: str) -> str:
    """Return the file that a source names."""
    return source.removeprefix("lines://")


@register_engine("lines", example="lines://visits.jsonl", file=file_in)
def open_lines(source: str, path_of: Callable[[str], Path]) -> Rows:
    """Open lines of JSON by their URL."""
    lines = path_of(file_in(source)).read_text().splitlines()
    return Rows([json.loads(line) for line in lines])

"""An engine added from outside the package: lines of JSON in a file, counted in plain Python.

With the priorities given it must return what DuckDB returns, number for number; and a release from
its source goes the whole way, from the spec to the files.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from discreet.errors import SpecError
from discreet.ledger import Ledger
from discreet.releases import Release, release
from discreet.releases.contributions import Contribution
from discreet.releases.engines import ENGINES, opened, register_engine
from discreet.releases.engines.base import Column, Counting, Found, KeySet, Query
from discreet.releases.engines.duckdb import DuckDB


class Rows:
    """Rows in memory, every value a text; it counts rows and refuses the rest."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.columns: dict[str, Column] = dict.fromkeys(rows[0], "text")

    def measure(self, query: Query) -> dict[str, Any]:
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
        return next((name for name in texts if any(r[name] is None for r in self.rows)), None)

    def find_keys(
        self, unit: tuple[str, ...], by: tuple[str, ...], contribution: Contribution
    ) -> Found:
        raise SpecError("this engine does not find keys; list them in the spec.")

    def reveal(self, found: Found, places: Sequence[int]) -> KeySet:
        raise SpecError("this engine does not find keys; list them in the spec.")

    def close(self) -> None:
        self.rows = []


def _bounded(ranked: list[tuple[float, int]], query: Query) -> list[int]:
    """Keep the best groups of one unit, the best rows in each, and of those the best."""
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


def open_lines(source: str, path_of: Callable[[str], Path]) -> Rows:
    """Open lines of JSON by their URL."""
    lines = path_of(source.removeprefix("lines://")).read_text().splitlines()
    return Rows([json.loads(line) for line in lines])


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Register the engine for the time of a test."""
    with patch.dict(ENGINES):
        register_engine("lines", example="lines://visits.jsonl")(open_lines)
        yield


def _people() -> list[dict[str, Any]]:
    draw = random.Random(7)  # noqa: S311
    return [
        {"person": f"p{draw.randrange(40)}", "county": draw.choice("nsew"), "luck": str(i)}
        for i in draw.sample(range(10_000), 500)
    ]


def test_it_counts_what_duckdb_counts() -> None:
    rows = _people()
    query = Query(
        unit=("person",),
        cells=KeySet(("county",), (("n",), ("s",), ("west",))),
        contribution=Contribution(rows=3, groups=2, rows_per_group=2),
        measures=(Counting("count"),),
        priority="luck",
    )
    table = pa.Table.from_pylist([row | {"luck": int(row["luck"])} for row in rows])
    assert Rows(rows).measure(query) == DuckDB.of(table).measure(query)


def test_a_release_is_made_from_its_source(tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").write_text("\n".join(map(json.dumps, _people())))
    book = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    book.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=None,
        approver="tester",
        reason="test",
    )
    spec = {
        "account": "people",
        "purpose": "an engine of our own",
        "source": "lines://people.jsonl",
        "protect": {"unit": "person", "column": "person", "rows": 3, "groups": 2},
        "budget": {"epsilon": 300.0},
        "statistics": [{"count": "rows", "by": ["county"], "keys": {"county": ["n", "s", "west"]}}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    made = release(spec, folder=tmp_path)
    assert isinstance(made, Release)
    counts = [int(value or 0) for value in made.table.columns["value"]]
    assert 0 < sum(counts[:2]) <= 120 + 6
    assert counts[2] in range(-3, 4)
    assert (tmp_path / "out" / made.release_id / "table.csv").is_file()


def test_a_scheme_that_nobody_registered_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"spark://table, lines://visits\.jsonl"):
        opened("oracle://t", tmp_path.joinpath)

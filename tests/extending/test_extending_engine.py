"""An engine added from outside the package (`toy_engine.py`): lines of JSON, counted in Python.

With the priorities given it must return what DuckDB returns, number for number; and a release from
its source goes the whole way, from the spec to the files.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
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
from discreet.releases.engines.base import Counting, KeySet, Query
from discreet.releases.engines.duckdb import DuckDB

with patch.dict(ENGINES):  # other tests see the engines of the package alone
    from toy_engine import Rows, file_in, open_lines


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Register the engine for the time of a test."""
    with patch.dict(ENGINES):
        register_engine("lines", example="lines://visits.jsonl", file=file_in)(open_lines)
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

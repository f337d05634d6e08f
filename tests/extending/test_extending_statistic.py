"""Statistics added from outside the package: a file, a registration, and a real release.

`portion` (`toy_statistic.py`) is one of its own: measures, sensitivity, answer, accuracy, words.
`quartiles` is made of others: three quantiles, each measured and paid for, and put in order after
the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import pyarrow as pa
import pytest

from discreet.errors import SpecError
from discreet.ledger import Ledger
from discreet.releases import Preview, Release, json_schema, load, release
from discreet.releases.statistics import KINDS, Quantile, Statistic, register
from discreet.releases.statistics.base import Bounded, ColumnName
from discreet.releases.statistics.values import Result

with patch.dict(KINDS):  # other tests see the statistics of the package alone
    from toy_statistic import Portion


class Quartiles(Bounded):
    """Three quantiles, in order."""

    quartiles: ColumnName

    def tables(self) -> tuple[Statistic, ...]:
        common = self.model_dump(exclude={"quartiles", "name", "weight"})
        common |= {"quantile": self.quartiles, "weight": (self.weight or 1.0) / 3}
        return tuple(
            Quantile(**common, at=at, name=f"{self.name}_{at}") for at in (0.25, 0.5, 0.75)
        )

    def finished(self, results: Sequence[Result]) -> Sequence[Result]:
        cells = zip(*(result.rows for result in results), strict=True)
        ordered = [
            sorted((row for (row,) in cell), key=lambda row: row.value or 0) for cell in cells
        ]
        return [
            replace(result, rows=[[cell[place]] for cell in ordered])
            for place, result in enumerate(results)
        ]


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    """Register both for the time of a test."""
    with patch.dict(KINDS):
        register("portion")(Portion)
        register("quartiles")(Quartiles)
        yield


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
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
    return {
        "account": "people",
        "purpose": "statistics of our own",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": 400.0},
        "statistics": [
            {"portion": "colour", "value": "red", "by": ["county"], "keys": {"county": ["n", "s"]}},
            {"quartiles": "age", "bounds": [0, 100], "resolution": 1, "name": "age"},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


PEOPLE = pa.table(
    {
        "person": [f"p{i}" for i in range(400)],
        "county": ["n" if i % 2 else "s" for i in range(400)],
        "colour": ["red" if i % 4 in (0, 1, 3) else "blue" for i in range(400)],
        "age": [float(i // 4) for i in range(400)],
    }
)


def test_they_are_released_for_real(spec: dict[str, Any], tmp_path: Path) -> None:
    """At ε = 400 a count or a rank is off by 2 or more with probability below 1e-30."""
    made = release(spec, data=PEOPLE, folder=tmp_path)
    assert isinstance(made, Release)
    assert made.spent["epsilon"] == 400.0
    names, counties, values = (made.table.columns[k] for k in ("statistic", "county", "value"))
    assert list(names) == ["portion_colour_1"] * 2 + ["age_0.25", "age_0.5", "age_0.75"]
    assert list(counties) == ["n", "s", None, None, None]
    portions, ages = [float(v or 0) for v in values[:2]], [float(v or 0) for v in values[2:]]
    assert portions == pytest.approx([1.0, 0.5], abs=0.02)
    assert ages == sorted(ages)
    assert ages == pytest.approx([25, 50, 75], abs=2)
    stored = (tmp_path / "out" / made.release_id / "statement.md").read_text()
    assert "portion_colour_1" in stored


def test_spec_schema_prices_and_forms_know_them(spec: dict[str, Any], tmp_path: Path) -> None:
    jsonschema.validate(spec, json_schema())
    assert load(load(spec).to_dict()).hash == load(spec).hash
    shown = release(spec, data=PEOPLE, folder=tmp_path, dry_run=True)
    assert isinstance(shown, Preview)
    assert [c["part"] for c in shown.to_dict()["calls"]] == ["hits", "all"] + ["choice"] * 3
    assert len(shown.to_dict()["accuracy"][0]["assumed"]) == 3
    assert [(f.name, f.takes) for f in Portion.form()] == [("portion", "column"), ("value", "text")]
    with pytest.raises(SpecError, match=r"statistic 1\.value is missing"):
        load(spec | {"statistics": [{"portion": "colour"}]})
    with pytest.raises(SpecError, match=r"there are: .*, portion, quartiles"):
        load(spec | {"statistics": [{"fraction": "colour"}]})


def test_a_kind_is_registered_once() -> None:
    with pytest.raises(TypeError, match="'portion' must be a field of Portion, and new"):
        register("portion")(Portion)

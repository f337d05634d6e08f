"""Releases whose connection to the ledger is lost at seeded points: the promise of the kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]


@pytest.mark.slow
def test_twenty_lost_connections_lose_no_charge_and_charge_nothing_twice() -> None:
    """The script fails on any broken promise; it says what each loss left."""
    pytest.importorskip("psycopg", reason="psycopg, PostgreSQL's driver, is not installed")
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.cuts", "--cuts", "20", "--seed", "20261115", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=HOME,
    )
    if ran.returncode == 2:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr
    left = json.loads(ran.stdout)["left"]
    # Connections are made again, so that every release is completed, and charged once.
    assert left["complete"] == 20
    assert sum(count for what, count in left.items() if what.startswith("cut: ")) >= 12
    assert left["sessions ended"] == 2

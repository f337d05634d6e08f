"""Releases killed at seeded moments: no output without a charge, no chain broken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.soak  # kills at a few steps of every story: test_a_sample_of_the_campaign_survives
def test_twenty_kills_lose_releases_and_never_a_charge() -> None:
    """The script fails on any broken promise; it says what each kill left."""
    ran = subprocess.run(
        [sys.executable, str(SOAK), "--kills", "20", "--seed", "20261115", "--json"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert sum(found["left"].values()) == 20
    # Half of the kills fall right before or after a step that matters, so each kind is there.
    assert set(found["left"]) == {
        "nothing charged",
        "charged, nothing stored",
        "files stored",
        "complete",
    }

"""Many processes on one ledger, and processes that are killed: no charge is lost, no cap passed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Amount, Ledger

SPENDERS = Path(__file__).with_name("spenders.py")
Opened = Callable[..., Ledger]


def run(*args: object) -> Any:
    done = subprocess.run(
        [sys.executable, str(SPENDERS), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.slow
def test_32_processes_spend_all_of_the_cap_and_no_more(opened: Opened, url: str) -> None:
    ledger = opened(cap=PureDP(1.0))
    found = run("many", url, 32, 6, 0.01)
    assert found["failed"] == []
    assert len(found["got"]) == len(set(found["got"])) == 100
    assert found["refused"] == 32 * 6 - 100
    assert ledger.spent("clinic") == Amount.of(epsilon=1.0)
    kinds = [entry.kind for entry in ledger.entries("clinic")]
    assert (kinds.count("reserve"), kinds.count("commit")) == (100, 100)
    recorded = {e.release_id for e in ledger.entries("clinic") if e.kind == "reserve"}
    assert recorded == set(found["got"])
    assert ledger.unfinished("clinic") == []
    assert ledger.verify().verified


@pytest.mark.slow
def test_spenders_killed_at_20_moments_lose_no_acknowledged_charge(
    opened: Opened, url: str
) -> None:
    ledger = opened(cap=PureDP(1000.0))
    told = run("killed", url, 20261115, 20)
    assert len(told) == 20
    reserved = {line.split()[1] for lines in told for line in lines if "reserved" in line}
    stored = {line.split()[1] for lines in told for line in lines if "stored" in line}
    assert len(reserved) >= 20
    entries = ledger.entries("clinic")
    in_chain = {e.release_id for e in entries if e.kind == "reserve"}
    assert reserved <= in_chain
    # At most the one that was being written when the process died was recorded and not told.
    assert len(in_chain - reserved) <= 20
    assert stored <= {e.release_id for e in entries if e.kind == "commit"}
    assert ledger.spent("clinic") == Amount.of(epsilon=0.001).times(len(in_chain))
    unfinished = {e.release_id for e in ledger.unfinished("clinic")}
    assert unfinished == in_chain - {e.release_id for e in entries if e.kind == "commit"}
    assert len(unfinished) <= 20
    assert ledger.verify().verified
    Ledger.open(url).reserve("clinic", PureDP(0.1), purpose="p", who="w", spec_hash="s")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_transaction_that_dies_leaves_no_trace_and_no_lock(
    opened: Opened, url: str, where: str
) -> None:
    ledger = opened()
    head = ledger.head
    assert run("inside", url, where) == signal.SIGKILL
    assert ledger.head == head
    assert ledger.verify().verified
    ledger.reserve("clinic", PureDP(0.1), purpose="p", who="w", spec_hash="s")

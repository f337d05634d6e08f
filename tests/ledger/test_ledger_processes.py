"""Many processes on one ledger, and processes that are killed: no charge is lost, no cap passed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Amount, Ledger
from servers import PostgreSQL

SPENDERS = Path(__file__).with_name("spenders.py")
Opened = Callable[..., Ledger]
# How many processes, and how many charges of 0.01 each of them tries.
MANY = pytest.mark.parametrize(
    ("many", "each"), [(8, 15), pytest.param(32, 6, marks=pytest.mark.soak)]
)


def run(*args: object) -> Any:
    done = subprocess.run(
        [sys.executable, str(SPENDERS), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert _but_waiting(done.stderr) == []
    return json.loads(done.stdout)


def _but_waiting(said: str) -> list[str]:
    """What was said but that the ledger is waited for, as it may be where many meet."""
    return [line for line in said.splitlines() if "trying again" not in line]


@pytest.mark.slow
@MANY
def test_processes_spend_all_of_the_cap_and_no_more(
    opened: Opened, url: str, many: int, each: int
) -> None:
    ledger = opened(cap=PureDP(1.0))
    found = run("many", url, many, each, 0.01)
    assert found["failed"] == []
    assert len(found["got"]) == len(set(found["got"])) == 100
    assert found["refused"] == many * each - 100
    assert ledger.spent("clinic") == Amount.of(epsilon=1.0)
    kinds = [entry.kind for entry in ledger.entries("clinic")]
    assert (kinds.count("reserve"), kinds.count("commit")) == (100, 100)
    recorded = {e.release_id for e in ledger.entries("clinic") if e.kind == "reserve"}
    assert recorded == set(found["got"])
    assert ledger.unfinished("clinic") == []
    assert ledger.verify().verified


@pytest.mark.slow
def test_8_processes_never_pass_a_promise(opened: Opened, url: str) -> None:
    """The cap is far above what 5 % to 12 % allows, which is 0.952."""
    ledger = opened(promise={"posterior": 0.12, "p": 0.05, "q": 1}, cap=None)
    ledger.grant("clinic", add=PureDP(100.0), approver="B", reason="by mistake")
    found = run("many", url, 8, 15, 0.01)
    assert found["failed"] == []
    assert (len(found["got"]), found["refused"]) == (95, 8 * 15 - 95)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.95)
    assert [one.kept for one in ledger.promises("clinic")] == [True]
    assert ledger.verify().verified


@pytest.mark.slow
def test_8_processes_with_the_same_promise_register_it_once(opened: Opened, url: str) -> None:
    ledger = opened(cap=None)
    found = run("promising", url, 8, 15, 0.01)
    assert found["failed"] == []
    assert (len(found["got"]), found["refused"]) == (95, 8 * 15 - 95)
    kinds = [entry.kind for entry in ledger.entries("clinic")]
    assert kinds[:3] == ["open", "promise", "reserve"]
    assert kinds.count("promise") == 1
    assert ledger.verify().verified


@pytest.mark.slow
@MANY
def test_hosts_go_on_after_the_server_crashed_and_came_back(
    own_postgres: PostgreSQL, tmp_path: Path, many: int, each: int
) -> None:
    """The server stops at once, without a checkpoint, while all of them are at work."""
    database = own_postgres.database()
    url = own_postgres.url(database)
    ledger = Ledger.open(url)
    ledger.open_account(
        "clinic", unit="person", adjacency="add-remove", filter="pure", cap=PureDP(1.0),
        approver="a", reason="b",
    )  # fmt: skip
    with subprocess.Popen(
        [sys.executable, str(SPENDERS), "many", url, str(many), str(each), "0.01", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as hosts:
        until = time.monotonic() + 240
        while len(ledger.entries("clinic")) < 60 and time.monotonic() < until:
            time.sleep(0.02)
        amid = len(ledger.entries("clinic"))
        own_postgres.restart()
        told, words = hosts.communicate(timeout=300)
    assert (hosts.returncode, _but_waiting(words)) == (0, [])
    found = json.loads(told)
    assert 60 <= amid < 200, "the server was to be restarted amid the work"
    assert found["failed"] == []
    # The cap is used up and not passed: nobody was charged twice for what was tried twice.
    assert len(found["got"]) == len(set(found["got"])) == 100
    assert found["refused"] == many * each - 100
    assert ledger.spent("clinic") == Amount.of(epsilon=1.0)
    entries = ledger.entries("clinic")
    charged = [e.release_id for e in entries if e.kind == "reserve"]
    assert sorted(map(str, charged)) == sorted(found["got"])
    # Every output, on whichever host, was charged and recorded.
    stored = {e.release_id: e.output_hash for e in entries if e.kind == "commit"}
    outputs = {path.name: path.read_text() for path in tmp_path.glob("host-*/*")}
    assert outputs == stored
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

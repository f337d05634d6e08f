"""Where the ledgers of these tests lie. A database added beside SQLite is added to KINDS."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hands import Hand

from discreet.guarantees import PureDP
from discreet.ledger import Ledger

KINDS = ("sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres")))
# Files that hold the two databases to the same contract. The others are about what is decided and
# said above a database: on PostgreSQL they run in `make soak`.
CONTRACT = ("contract", "file", "migrations", "postgresql", "processes", "verification")

# Processes that share one promise spend all that it allows, and no more, where they register it.
AGAIN = "test_8_processes_never_pass_a_promise"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        asked = getattr(getattr(item, "callspec", None), "params", {})
        again = item.name.startswith(AGAIN) or not item.path.stem.endswith(CONTRACT)
        if asked.get("url") == "postgresql" and again:
            item.add_marker(pytest.mark.soak)


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return str(request.getfixturevalue("postgres_url"))


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(url: str, clock: Clock) -> Ledger:
    return Ledger.open(url, clock=clock)


@pytest.fixture
def opened(ledger: Ledger) -> Callable[..., Ledger]:
    def make(name: str = "clinic", **terms: object) -> Ledger:
        given: dict[str, object] = {
            "unit": "person",
            "adjacency": "add-remove",
            "filter": "pure",
            "cap": PureDP(1.0),
            "approver": "A. Curator",
            "reason": "review",
        }
        ledger.open_account(name, **(given | terms))  # type: ignore[arg-type]
        return ledger

    return make


@pytest.fixture
def full(opened: Callable[..., Ledger]) -> Ledger:
    """A ledger with every kind of entry, and a period."""
    said = {"purpose": "a täble", "who": "ci"}
    ledger = opened(cap=PureDP(2.0), period="month", period_cap=PureDP(1.0))
    entry = ledger.reserve("clinic", PureDP(0.1), spec_hash="5" * 64, **said)
    ledger.commit(str(entry.release_id), "a" * 64)
    ledger.charge("clinic", PureDP(0.2), release_id="elsewhere", **said)
    ledger.grant("clinic", add=PureDP(0.5), approver="B", reason="more")
    plan = ledger.register_plan("clinic", [(PureDP(0.1), 2)], PureDP(0.2), **said)
    slot = ledger.next_slot(plan, "first")
    ledger.commit(slot.release_id, "b" * 64)
    ledger.next_slot(plan)
    return ledger


@pytest.fixture
def hand(url: str) -> Hand:
    """Someone with a database tool and every right."""
    return Hand(url)

"""Where the ledgers of these tests lie. A database added beside SQLite is added to KINDS."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger

KINDS = ("sqlite",)


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:///{tmp_path / 'ledger.db'}"


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

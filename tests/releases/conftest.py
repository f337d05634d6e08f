"""What the tests of releases share: a small spec, its ledger, its data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger


@pytest.fixture
def spec() -> dict[str, Any]:
    """A spec that a test may change: counts by county, ε = 1."""
    return {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": 1.0},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": {"county": ["north", "south", "west"]}}
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


@pytest.fixture
def people() -> pa.Table:
    """Forty people, three rows each, nobody in the west."""
    rows = [
        (f"p{i}", "north" if (i + j) % 3 else "south", 10.0 * j)
        for i in range(40)
        for j in range(3)
    ]
    person, county, cost = zip(*rows, strict=True)
    return pa.table({"person": list(person), "county": list(county), "cost": list(cost)})


@pytest.fixture
def account(tmp_path: Path) -> Callable[..., Ledger]:
    """Open an account in the test's folder."""

    def opened(**terms: Any) -> Ledger:
        ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
        said = {
            "unit": "person",
            "adjacency": "add-remove",
            "filter": "pure",
            "cap": PureDP(100.0),
            "approver": "tester",
            "reason": "test",
        } | terms
        ledger.open_account("people", **said)
        return ledger

    return opened

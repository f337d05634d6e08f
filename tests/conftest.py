"""What tests of every room may ask for, and what Hypothesis does in all of them.

On a busy machine, or with more code to take constants from, a strategy may be slow or filter much;
neither is a fault of what is tested.
"""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["servers", "browsers", "sharing"]

settings.register_profile(
    "steady", suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def private_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A private folder of its own for each test: work in progress, and heads that were seen."""
    folder = tmp_path_factory.getbasetemp() / "state" / str(next(_NUMBERS))
    monkeypatch.setenv("DISCREET_STATE", str(folder))
    return folder


_NUMBERS = count()

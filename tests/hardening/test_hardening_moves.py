"""A ledger is moved and the process killed: one of the two places can be charged, not both."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.supervised import KILL, Event, NotHere, supervised

from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Amount, Ledger

pytestmark = pytest.mark.xdist_group("forks")
HALF = PureDP(0.5)


def _built(folder: Path) -> list[str]:
    """A ledger with half of its cap spent; return where it is, and where it is moved to."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    places = [f"sqlite:///{folder / name}" for name in ("old.db", "new.db")]
    ledger = Ledger.open(places[0])
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("people", cap=PureDP(1.0), approver="a", reason="b", **terms)  # type: ignore[arg-type]
    ledger.charge("people", HALF, purpose="before", who="tests")
    return places


def _moved(places: list[str]) -> None:
    Ledger.open(places[0]).copy(places[1], move=True)


def _charged(place: str) -> bool:
    try:
        Ledger.open(place).charge("people", HALF, purpose="after", who="tests")
    except DiscreetError:
        return False
    return True


@pytest.mark.parametrize("first", [0, 1], ids=["the old one first", "the new one first"])
def test_killed_at_any_step_of_a_move_no_cap_is_passed(
    first: int, tmp_path: Path, private_state: Path
) -> None:
    folder = tmp_path / "ledgers"
    try:
        whole = supervised(partial(_moved, _built(folder)), [folder])
    except NotHere as why:
        pytest.skip(str(why))
    assert whole.error is None, whole.said
    steps = range(1 + first, len(whole.events) + 1, 2)
    assert len(steps) > 10
    for step in steps:
        places = _built(folder)

        def kill(event: Event, step: int = step) -> int | None:
            return KILL if event.number == step else None

        assert supervised(partial(_moved, places), [folder], kill).killed
        order = places[::-1] if first else places
        charged = [place for place in order if _charged(place)]
        assert len(charged) == 1, (step, whole.events[step - 1])
        left = Ledger.open(charged[0])
        assert left.verify().verified
        assert left.spent("people") == Amount.of(epsilon=1)

"""A sample of the fault campaign, and the faults that it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forked import clinic

from discreet.errors import InputError, InternalError
from discreet.ledger import Ledger
from discreet.releases import outputs, release

pytestmark = pytest.mark.xdist_group("forks")


SAMPLE = "--json --jobs 1 --every 220 --only kills power full"


def _ledger(folder: Path) -> Ledger:
    return Ledger.open(f"sqlite:///{folder / 'ledger.db'}")


def test_a_folder_that_was_half_removed_goes_with_the_next_run(
    tmp_path: Path, private_state: Path
) -> None:
    """Killed while it tidied up, after the files were shown: nothing but a lock was left."""
    spec = clinic(tmp_path, 40)
    made = release(spec, folder=tmp_path).to_dict()["release_id"]
    left = private_state / "work" / _ledger(tmp_path).id / made
    left.mkdir()
    (left / "lock").touch()
    said: list[str] = []
    release(spec, folder=tmp_path, confirm=True, say=said.append)
    assert not left.exists()
    assert not any(made in line for line in said)


@pytest.mark.parametrize("call", ["mkdir", "symlink_to"])
def test_no_room_for_work_is_said_before_anything_is_charged(
    call: str, tmp_path: Path, private_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = clinic(tmp_path, 40)
    release(spec, folder=tmp_path)
    before = _ledger(tmp_path).head
    whole = getattr(Path, call)

    def full(path: Path, *given: Any, **named: Any) -> Any:
        below = path if call == "mkdir" else path.parent
        if below.parent.parent.name == "work":
            raise OSError(28, "No space left on device")
        return whole(path, *given, **named)

    monkeypatch.setattr(Path, call, full)
    with pytest.raises(InputError, match="Nothing was charged"):
        release(spec, folder=tmp_path, confirm=True)
    assert _ledger(tmp_path).head == before
    work = private_state / "work" / _ledger(tmp_path).id
    assert [path.name for path in work.iterdir()] == ["lock"]


def test_files_that_cannot_be_written_are_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs, "synchronise", full)
    with pytest.raises(InternalError, match=r"could not be written: No space.*stays spent"):
        release(clinic(tmp_path, 40), folder=tmp_path)


def test_what_cannot_be_shown_is_shown_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = clinic(tmp_path, 40)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(outputs.Work, "show", full)
        with pytest.raises(InternalError, match="is made and recorded, but could not be moved"):
            release(spec, folder=tmp_path)
    assert os.listdir(tmp_path / "out") == []
    release(spec, folder=tmp_path, confirm=True)
    entries = _ledger(tmp_path).entries("people")
    assert {e.release_id for e in entries if e.kind == "reserve"} == set(
        os.listdir(tmp_path / "out")
    )


def test_a_sample_of_the_campaign_survives() -> None:
    """Every kind of fault that needs no server, at a few places of each story."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.campaign", *SAMPLE.split()],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    if "not tried" in ran.stderr:
        pytest.skip(ran.stderr.strip().splitlines()[-1])
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["total"]["tried"] == told["total"]["survived"] >= 20
    assert {"killed", "disk full", "power cut, all lost"} <= set(told["kinds"])

"""A series in operation: each slot of a plan is published once, however often a job is run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
import typer
import yaml
from typer.testing import CliRunner

from discreet.cli import release as release_command
from discreet.errors import BudgetExceeded, DataError, InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import Preview, Release, Repeat, outputs, release

Opened = Callable[..., Ledger]


@pytest.fixture
def ledger(account: Opened) -> Ledger:
    return account()


@pytest.fixture
def plan(ledger: Ledger) -> str:
    return ledger.register_plan(
        "people", [(PureDP(1.0), 3)], PureDP(3.0), purpose="three months", who="tester"
    )


@pytest.fixture
def run(spec: dict[str, Any], people: pa.Table, tmp_path: Path) -> Callable[..., Any]:
    def released(**more: Any) -> Any:
        given: dict[str, Any] = {"data": people, "folder": tmp_path} | more
        return release(spec, **given)

    return released


def shown(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def test_the_same_key_finds_the_stored_release_and_draws_nothing(
    run: Callable[..., Any], ledger: Ledger, plan: str, tmp_path: Path
) -> None:
    first = run(plan_id=plan, key="2026-01")
    assert isinstance(first, Release)
    head, said = ledger.head, []
    for _ in range(3):
        again = run(plan_id=plan, key="2026-01", say=said.append)
        assert isinstance(again, Repeat)
        assert again.release_id == first.release_id
        assert (again.files, again.statement) == (first.files, first.statement)
        assert (again.spent, again.remaining) == (first.spent, first.remaining)
        assert again.to_dict()["repeated"] is True
        assert again.to_dict()["accuracy"] == first.to_dict()["accuracy"]
    assert ledger.head == head
    assert "nothing was drawn and nothing charged" in said[-1]
    second = run(plan_id=plan, key="2026-02")
    assert second.release_id != first.release_id
    assert shown(tmp_path / "out") == {first.release_id, second.release_id}
    assert "\n" not in repr(again)


def test_a_key_of_another_spec_or_of_no_plan_is_refused(
    run: Callable[..., Any], spec: dict[str, Any], plan: str
) -> None:
    run(plan_id=plan, key="2026-01")
    with pytest.raises(InputError, match="registered plan"):
        run(key="2026-01")
    spec["purpose"] = "another table"
    with pytest.raises(PolicyError, match="was used for another spec"):
        run(plan_id=plan, key="2026-01")


@pytest.mark.parametrize("step", ["draw", "store", "commit", "publish"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_slot_cut_off_anywhere_is_published_once_by_the_next_run(
    run: Callable[..., Any],
    ledger: Ledger,
    plan: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    when: str,
) -> None:
    place: Any = {
        "draw": release.__globals__,
        "commit": Ledger,
        "store": outputs,
        "publish": outputs,
    }[step]

    class Cut(BaseException):
        pass

    def cut_off(real: Callable[..., Any]) -> Callable[..., Any]:
        def fatal(*given: Any, **named: Any) -> Any:
            if when == "after":
                real(*given, **named)
            raise Cut

        return fatal

    with monkeypatch.context() as patched:
        if isinstance(place, dict):
            patched.setitem(place, step, cut_off(place[step]))
        else:
            patched.setattr(place, step, cut_off(getattr(place, step)))
        with pytest.raises(Cut):
            run(plan_id=plan, key="2026-01")
    before = ledger.plan(plan)
    made = run(plan_id=plan, key="2026-01")
    after = ledger.plan(plan)
    assert after.outputs == before.outputs | after.outputs
    assert list(after.outputs) == [1]
    assert after.releases[1] == made.release_id
    assert shown(tmp_path / "out") == {made.release_id}
    assert outputs.hash_of(tmp_path / "out" / made.release_id) == after.outputs[1]
    assert not list((tmp_path / "out").glob(".*.whole"))
    # Files that were whole were not drawn a second time.
    drawn_twice = len(after.taken) == 2
    assert drawn_twice == (
        (step, when) in {("draw", "before"), ("draw", "after"), ("store", "before")}
    )
    assert isinstance(made, Release if drawn_twice else Repeat)
    assert ledger.verify().verified
    assert ledger.spent("people").epsilon == 3


def test_of_two_draws_of_one_slot_only_the_recorded_one_is_shown(
    run: Callable[..., Any],
    ledger: Ledger,
    plan: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second job with the same key draws and records while the first is still drawing."""
    other: list[Any] = []
    real = release.__globals__["draw"]

    def meanwhile(*given: Any, **named: Any) -> Any:
        monkeypatch.setitem(release.__globals__, "draw", real)
        other.append(run(plan_id=plan, key="2026-01"))
        return real(*given, **named)

    monkeypatch.setitem(release.__globals__, "draw", meanwhile)
    mine = run(plan_id=plan, key="2026-01")
    assert isinstance(other[0], Release)
    assert isinstance(mine, Repeat)
    assert mine.release_id == other[0].release_id
    assert shown(tmp_path / "out") == {mine.release_id}
    assert not list((tmp_path / "out").glob(".*.whole"))
    # Asked again, the key still names the draw that was recorded, not the one taken last.
    assert run(plan_id=plan, key="2026-01").release_id == mine.release_id


def test_without_a_key_the_loser_of_two_draws_is_told_and_nothing_of_it_is_left(
    run: Callable[..., Any],
    ledger: Ledger,
    plan: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = release.__globals__["draw"]

    def meanwhile(*given: Any, **named: Any) -> Any:
        monkeypatch.setitem(release.__globals__, "draw", real)
        run(plan_id=plan)
        return real(*given, **named)

    monkeypatch.setitem(release.__globals__, "draw", meanwhile)
    with pytest.raises(PolicyError, match="published once"):
        run(plan_id=plan)
    assert shown(tmp_path / "out") == set(ledger.plan(plan).releases.values())
    assert not list((tmp_path / "out").glob(".*.whole"))


def test_a_draw_left_by_a_host_that_was_overtaken_is_removed_unseen(
    run: Callable[..., Any],
    spec: dict[str, Any],
    people: pa.Table,
    plan: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two hosts with folders of their own: one dies before its commit, the other goes on."""

    class Cut(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "commit", die)
        with pytest.raises(Cut):
            run(plan_id=plan, key="2026-01")
    (left,) = outputs.stored(tmp_path / "out")
    elsewhere = spec | {"output": "second host"}
    made = release(elsewhere, data=people, folder=tmp_path, plan_id=plan, key="2026-01")
    assert isinstance(made, Release)
    said: list[str] = []
    with pytest.raises(PolicyError, match="another spec"):  # its output folder is part of a spec
        run(plan_id=plan, key="2026-01", say=said.append)
    assert any(left in line and "drawn again since; it is removed" in line for line in said)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_key_released_on_another_host_is_found_without_its_files(
    spec: dict[str, Any], people: pa.Table, ledger: Ledger, plan: str, tmp_path: Path
) -> None:
    spec["ledger"] = f"sqlite:///{tmp_path / 'ledger.db'}"
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    made = release(spec, data=people, folder=one, plan_id=plan, key="2026-01")
    said: list[str] = []
    found = release(spec, data=people, folder=two, plan_id=plan, key="2026-01", say=said.append)
    assert isinstance(made, Release)
    assert isinstance(found, Repeat)
    assert (found.release_id, found.files, found.statement) == (made.release_id, (), None)
    assert found.spent == made.spent
    assert "not in this output folder" in said[-1]


def test_files_that_were_changed_are_not_given_out_again(
    run: Callable[..., Any], plan: str
) -> None:
    made = run(plan_id=plan, key="2026-01")
    made.statement.write_text("better words")
    with pytest.raises(PolicyError, match="not those that were recorded"):
        run(plan_id=plan, key="2026-01")


def test_bad_data_leave_the_slot_to_be_drawn_again(
    spec: dict[str, Any], people: pa.Table, plan: str, ledger: Ledger, tmp_path: Path
) -> None:
    spec["nulls"] = "refuse"
    holes = people.set_column(0, "person", pa.array([None, *people["person"].to_pylist()[1:]]))
    with pytest.raises(DataError, match="slot 1 of the plan may be drawn again"):
        release(spec, data=holes, folder=tmp_path, plan_id=plan, key="2026-01")
    release(spec, data=people, folder=tmp_path, plan_id=plan, key="2026-01")
    assert list(ledger.plan(plan).outputs) == [1]


# -- the dry run


def test_a_dry_run_says_what_would_be_refused_and_writes_nothing(
    run: Callable[..., Any], spec: dict[str, Any], ledger: Ledger, plan: str
) -> None:
    head = ledger.head
    for more in ({}, {"plan_id": plan}, {"plan_id": plan, "key": "2026-01"}):
        fine = run(dry_run=True, **more)
        assert isinstance(fine, Preview)
        assert fine.refused is None
        assert fine.to_dict()["refused"] is None
    spec["budget"] = {"epsilon": 1.5}
    slot = run(dry_run=True, plan_id=plan)
    assert isinstance(slot.refused, PolicyError)
    assert slot.to_dict()["refused"]["exit_code"] == 4
    assert isinstance(run(dry_run=True, plan_id="nobody").refused, PolicyError)
    spec["budget"] = {"epsilon": 98.0}
    over = run(dry_run=True)
    assert isinstance(over.refused, BudgetExceeded)
    assert any("would be refused" in note for note in over.notes)
    assert ledger.head == head


def test_a_dry_run_holds_the_tolerance_against_the_whole_account(
    run: Callable[..., Any], spec: dict[str, Any], ledger: Ledger
) -> None:
    del spec["budget"]
    spec["tolerance"] = {"ratio": 3}
    assert run(dry_run=True).refused is None
    run()
    assert isinstance(run(dry_run=True).refused, BudgetExceeded)


def _cli(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(release_command.command)
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_command_line_repeats_a_key_and_gives_a_dry_run_its_exit_code(
    spec: dict[str, Any], people: pa.Table, ledger: Ledger, plan: str, tmp_path: Path
) -> None:
    file = tmp_path / "spec.yaml"
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    file.write_text(yaml.safe_dump(spec | {"source": "people.csv"}))
    job = (file, "--plan", plan, "--next", "--key", "2026-01", "--json")
    first, again = _cli(*job), _cli(*job)
    assert first.exit_code == again.exit_code == 0, again.output
    said = json.loads(again.stdout)
    assert said["release_id"] == json.loads(first.stdout)["release_id"]
    assert said["repeated"] is True
    assert {"release_id", "spent", "remaining", "files", "statement"} <= set(said)
    assert "Released before as" in _cli(*job[:-1]).stdout
    assert _cli(file, "--dry-run", "--plan", plan, "--next").exit_code == 0
    file.write_text(yaml.safe_dump(spec | {"source": "people.csv", "budget": {"epsilon": 99}}))
    over = _cli(file, "--dry-run", "--json")
    assert isinstance(over.exception, BudgetExceeded)
    assert json.loads(over.stdout)["refused"]["exit_code"] == 3
    assert isinstance(_cli(file, "--key", "2026-01").exception, InputError)

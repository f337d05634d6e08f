"""A series in operation: each slot of a plan is published once, however often a job is run."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
import typer
import yaml
from typer.testing import CliRunner

import discreet
from discreet.cli import ledger as ledger_command
from discreet.cli import release as release_command
from discreet.errors import BudgetExceeded, DataError, InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Amount, Charge, Ledger, Part
from discreet.ledger.plans import LostRelease, composed, equal_part
from discreet.promises.keys import promise_in
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
        # A job does with it what it did with the release.
        assert again.table == first.table
        assert again.to_pandas().equals(first.to_pandas())
        assert again._repr_html_().count("<tr") == first._repr_html_().count("<tr")
        assert again.series == first.series
        assert (again.promise, again.unit_name) == (first.promise, first.unit_name)
        beliefs = [discreet.explain(one, 0.3).posterior for one in (first, again)]
        assert beliefs[1].upper == pytest.approx(beliefs[0].upper)
        told = [one.to_dict() | {"repeated": None} for one in (first, again)]
        assert told[0] == told[1]
    assert ledger.head == head
    assert "nothing was drawn and nothing charged" in said[-1]
    second = run(plan_id=plan, key="2026-02")
    assert second.release_id != first.release_id
    assert shown(tmp_path / "out") == {first.release_id, second.release_id}
    assert "\n" not in repr(again)
    assert again.report().files


@pytest.mark.parametrize("planned", [True, False])
def test_a_repeat_whose_files_are_elsewhere_is_refused(
    run: Callable[..., Any],
    ledger: Ledger,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    planned: bool,
) -> None:
    """It ended with exit code 0 and no files, which a job takes for something to publish."""
    how = {"key": "2026-01"} | ({"plan_id": request.getfixturevalue("plan")} if planned else {})
    first = run(**how)
    head, kept = ledger.head, tmp_path / "kept"
    (tmp_path / "out" / first.release_id).rename(kept)
    look = run(**how, dry_run=True)
    with pytest.raises(PolicyError, match="never drawn twice") as refused:
        run(**how)
    for one in (look.refused, refused.value):
        assert isinstance(one, PolicyError)
        assert one.exit_code == 4
        assert f"Copy the folder {first.release_id}" in str(one.next)
    assert ledger.head == head
    kept.rename(tmp_path / "out" / first.release_id)
    assert run(**how).files == first.files


def test_nobody_waits_for_a_run_that_ended(
    run: Callable[..., Any], people: pa.Table, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same key waited half a minute for a run that had failed on its data."""
    said: list[str] = []

    def failing(*_: Any, **__: Any) -> Any:
        raise DataError("releases.plan.no_groups", column="region")

    with monkeypatch.context() as patched:
        patched.setitem(release.__globals__, "draw", failing)
        for how in ({"plan_id": plan, "key": "2026-01"}, {"plan_id": plan, "key": "2026-02"}):
            with pytest.raises(DataError):
                run(**how)
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waits"))
    for key in ("2026-01", "2026-01", "2026-02"):
        with pytest.raises(LostRelease):
            run(plan_id=plan, key=key, say=said.append)
    assert said == []
    assert isinstance(run(plan_id=plan, key="2026-01", retry=True), Release)


def test_a_slot_is_taken_though_the_promise_it_was_planned_under_was_withdrawn(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account(cap=None, promise={"ratio": 9.0})
    (promise,) = ledger.promises("people")
    each = equal_part(ledger.account("people"), 3)
    said = {"purpose": "three months", "who": "tester"}
    plan = ledger.register_plan(
        "people",
        [(each, 3)],
        ledger.account("people").promise(Amount.of(epsilon=each.epsilon).times(3)),
        **said,
    )
    ledger.withdraw("people", promise.registered.id, approver="B", reason="law")
    bare = {key: value for key, value in spec.items() if key not in ("budget", "tolerance")}
    made = release(bare, data=people, folder=tmp_path, plan_id=plan, key="2026-01")
    assert made.spent["epsilon"] == each.epsilon


def test_nobody_is_asked_about_a_release_that_is_stored(
    run: Callable[..., Any], ledger: Ledger, plan: str
) -> None:
    asked: list[Preview] = []
    first = run(plan_id=plan, key="2026-01", before_charge=asked.append)
    assert [look.spent["epsilon"] for look in asked] == [1.0]
    again = run(plan_id=plan, key="2026-01", before_charge=asked.append)
    assert again.release_id == first.release_id
    assert len(asked) == 1
    notes = " ".join(run(plan_id=plan, key="2026-01", dry_run=True).notes)
    assert "a run shows the stored release" in notes
    assert "would take slot" not in notes

    def declined(look: Preview) -> None:
        raise KeyboardInterrupt

    head = ledger.head
    for more in ({}, {"plan_id": plan, "key": "2026-02"}):
        with pytest.raises(KeyboardInterrupt):
            run(before_charge=declined, **more)
    assert ledger.head == head


def test_a_spec_without_numbers_spends_what_its_slot_has_paid_for(
    spec: dict[str, Any], people: pa.Table, ledger: Ledger, tmp_path: Path
) -> None:
    """A plan is registered with rounded figures, which no promise gives exactly."""
    paid = ledger.register_plan(
        "people", [(PureDP(0.0457), 12)], PureDP(12 * 0.0457), purpose="a year", who="tester"
    )
    spec |= {"tolerance": {"ratio": 3}, "series": {"releases": 12}}
    del spec["budget"]
    given: dict[str, Any] = {"data": people, "folder": tmp_path}
    alone = release(spec, dry_run=True, **given)
    assert alone.spent["epsilon"] > 0.0457
    shown = release(spec, dry_run=True, plan_id=paid, **given)
    assert shown.spent["epsilon"] == 0.0457
    made = release(spec, plan_id=paid, **given)
    assert made.spent["epsilon"] == 0.0457
    spec["budget"] = {"epsilon": 0.01}
    del spec["tolerance"], spec["series"]
    assert release(spec, plan_id=paid, **given).spent["epsilon"] == 0.01


def test_a_key_of_another_spec_or_of_no_plan_is_refused(
    run: Callable[..., Any], spec: dict[str, Any], plan: str
) -> None:
    run(plan_id=plan, key="2026-01")
    with pytest.raises(PolicyError, match=r"has a plan, .* may be meant for"):
        run(key="2026-01")
    spec["purpose"] = "another table"
    with pytest.raises(PolicyError, match="was used for another spec"):
        run(plan_id=plan, key="2026-01")


class Cut(BaseException):
    """The end of the process."""


def _cut_off(monkeypatch: pytest.MonkeyPatch, step: str, when: str) -> None:
    """Let the next run end before or after a step."""
    place: Any = {"commit": Ledger, "store": outputs.Work, "show": outputs.Work}.get(step)
    real = release.__globals__["draw"] if place is None else getattr(place, step)

    def fatal(*given: Any, **named: Any) -> Any:
        if when == "after":
            real(*given, **named)
        raise Cut

    if place is None:
        monkeypatch.setitem(release.__globals__, "draw", fatal)
    else:
        monkeypatch.setattr(place, step, fatal)


@pytest.mark.parametrize("step", ["draw", "store", "commit", "show"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_slot_that_was_cut_off_is_spent_and_drawn_once(
    run: Callable[..., Any],
    ledger: Ledger,
    plan: str,
    tmp_path: Path,
    private_state: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    when: str,
) -> None:
    monkeypatch.setattr("discreet.releases.charge.PATIENCE", 0.0)
    with monkeypatch.context() as patched:
        _cut_off(patched, step, when)
        with pytest.raises(Cut):
            run(plan_id=plan, key="2026-01")
    recorded = ledger.plan(plan).releases.get(1)
    if recorded is None:
        with pytest.raises(LostRelease, match=r"Slot 1 .* is spent"):
            run(plan_id=plan, key="2026-01")
        made = run(plan_id=plan, key="2026-01", retry=True)
        assert isinstance(made, Release)
        assert ledger.plan(plan).releases == {2: made.release_id}
    else:
        assert (step, when) in {("commit", "after"), ("show", "before"), ("show", "after")}
        made = run(plan_id=plan, key="2026-01")
        assert isinstance(made, Repeat)
        assert made.release_id == recorded
        assert len(made.files) == 4
    assert {path.name for path in (tmp_path / "out").iterdir()} == {made.release_id}
    assert not list(private_state.rglob("table.csv"))
    assert run(plan_id=plan, key="2026-01", retry=True).release_id == made.release_id
    assert ledger.verify().verified
    assert ledger.spent("people").epsilon == 3


def test_a_spec_without_a_budget_is_told_what_became_of_its_slot(
    run: Callable[..., Any], spec: dict[str, Any], plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked for a budget, which the slot had paid for, with exit code 2."""
    monkeypatch.setattr("discreet.releases.charge.PATIENCE", 0.0)
    del spec["budget"]
    with monkeypatch.context() as patched:
        _cut_off(patched, "draw", "before")
        with pytest.raises(Cut):
            run(plan_id=plan, key="2026-01")
    with pytest.raises(LostRelease, match=r"Slot 1 .* is spent") as lost:
        run(plan_id=plan, key="2026-01")
    assert lost.value.exit_code == 4
    assert isinstance(run(plan_id=plan, key="2026-01", dry_run=True).refused, LostRelease)
    made = run(plan_id=plan, key="2026-01", retry=True)
    assert made.spent["epsilon"] == 1.0
    assert isinstance(run(plan_id=plan), Release)
    for key in (None, "2026-02"):
        with pytest.raises(BudgetExceeded, match="All 3 releases"):
            run(plan_id=plan, key=key)
    with pytest.raises(PolicyError, match="not registered"):
        run(plan_id="nobody")
    assert run(plan_id=plan, key="2026-01").release_id == made.release_id


def test_a_stored_release_is_found_before_the_data_are_opened(
    run: Callable[..., Any], spec: dict[str, Any], plan: str
) -> None:
    """The file of a month may be gone when its job is run again."""
    spec["source"] = "gone.csv"
    made = run(plan_id=plan, key="2026-01")
    assert run(plan_id=plan, key="2026-01", data=None).release_id == made.release_id
    with pytest.raises(InputError, match=r"gone\.csv"):
        run(plan_id=plan, key="2026-02", data=None)


# -- a key without a plan


def test_a_key_of_its_own_charges_once(
    run: Callable[..., Any], spec: dict[str, Any], ledger: Ledger
) -> None:
    made, head = run(key="2026-01"), ledger.head
    said: list[str] = []
    look = run(key="2026-01", dry_run=True)
    assert look.refused is None
    assert "charges nothing" in look.outlook.paid
    assert look.outlook.remaining_after == look.remaining
    again = run(key="2026-01", data=None, say=said.append)
    assert isinstance(again, Repeat)
    assert (again.release_id, again.slot, again.files) == (made.release_id, None, made.files)
    assert "nothing charged" in said[-1]
    assert "slot" not in repr(again)
    assert (ledger.head, ledger.spent("people").epsilon) == (head, 1)
    # Another occasion is another charge, and nobody is asked whether it is meant.
    assert isinstance(run(key="2026-02"), Release)
    with pytest.raises(PolicyError, match="already released 2 times"):
        run()
    spec["purpose"] = "another table"
    for more in ({}, {"retry": True}, {"dry_run": True}):
        found = run(key="2026-01", **more).refused if "dry_run" in more else None
        if found is None:
            with pytest.raises(PolicyError, match="was used for another spec") as refused:
                run(key="2026-01", **more)
            found = refused.value
        assert found.exit_code == 4
    assert ledger.spent("people").epsilon == 2
    assert ledger.verify().verified


def test_a_key_is_found_again_where_the_ledger_was_moved_to(
    spec: dict[str, Any], people: pa.Table, ledger: Ledger, tmp_path: Path
) -> None:
    """What the spec says of the ledger's place, and of the folder, is nothing that it releases."""
    given: dict[str, Any] = {"data": people, "folder": tmp_path, "key": "2026-01"}
    made = release(spec, **given)
    assert ledger.copy(f"sqlite:///{tmp_path / 'new.db'}", move=True).verified
    spec["ledger"] = "sqlite:///new.db"
    again = release(spec, **given)
    assert isinstance(again, Repeat)
    assert (again.release_id, len(again.files)) == (made.release_id, 4)
    with pytest.raises(PolicyError, match="its files are not in") as refused:
        release(spec | {"output": "other"}, **given)
    assert made.release_id in str(refused.value)
    for other in (
        {"source": "other.csv"},
        {"budget": {"epsilon": 0.5}},
        {"budget": None, "promise": {"ratio": 3}},
        {"statistics": [{"count": "units"}]},
        {"protect": spec["protect"] | {"rows": 7}},
    ):
        with pytest.raises(PolicyError, match="was used for another spec"):
            release(spec | other, **given)
    assert Ledger.open(f"sqlite:///{tmp_path / 'new.db'}").spent("people").epsilon == 1


@pytest.mark.parametrize("step", ["draw", "commit", "show"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_key_of_its_own_that_was_cut_off_is_spent(
    run: Callable[..., Any],
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    when: str,
) -> None:
    monkeypatch.setattr("discreet.releases.charge.PATIENCE", 0.0)
    with monkeypatch.context() as patched:
        _cut_off(patched, step, when)
        with pytest.raises(Cut):
            run(key="2026-01")
    charged = ledger.entries("people")
    if (step, when) in {("commit", "after"), ("show", "before"), ("show", "after")}:
        made = run(key="2026-01")
        assert isinstance(made, Repeat)
        assert len(made.files) == 4
        assert ledger.spent("people").epsilon == 1
    else:
        with pytest.raises(LostRelease, match="Its charge is spent") as lost:
            run(key="2026-01")
        assert (lost.value.exit_code, ledger.entries("people")) == (4, charged)
        assert "--retry" in str(lost.value.flags)
        with pytest.raises(PolicyError, match=r"charged 1 time .* 1 run was interrupted"):
            run()
        made = run(key="2026-01", retry=True)
        assert isinstance(made, Release)
        assert ledger.spent("people").epsilon == 2
    assert run(key="2026-01", retry=True).release_id == made.release_id
    assert ledger.verify().verified


def test_however_often_a_run_is_killed_one_charge_has_one_draw(
    run: Callable[..., Any],
    ledger: Ledger,
    tmp_path: Path,
    private_state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed at the rename, again and again, a slot must not give a second draw to average."""
    monkeypatch.setattr("discreet.releases.charge.PATIENCE", 0.0)
    plan = ledger.register_plan("people", [PureDP(1.0)], PureDP(1.0), purpose="one", who="tester")
    drawn: list[Any] = []
    real = release.__globals__["draw"]

    def counted(*given: Any, **named: Any) -> Any:
        drawn.append(real(*given, **named))
        return drawn[-1]

    monkeypatch.setitem(release.__globals__, "draw", counted)
    with monkeypatch.context() as patched:
        _cut_off(patched, "commit", "before")
        for more in ({"key": "2026-01"}, {}) * 3:
            with pytest.raises((Cut, PolicyError, BudgetExceeded)):
                run(plan_id=plan, **more)
            assert not list((tmp_path / "out").iterdir())
            assert private_state.stat().st_mode & 0o077 == 0
            assert len(list(private_state.rglob("table.csv"))) <= 1
    assert len(drawn) == 1


def test_what_lies_in_the_private_folder_is_shown_only_if_the_ledger_recorded_it(
    run: Callable[..., Any],
    ledger: Ledger,
    plan: str,
    tmp_path: Path,
    private_state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def left() -> Path:
        with monkeypatch.context() as patched:
            _cut_off(patched, "show", "before")
            with pytest.raises(Cut):
                run(plan_id=plan)
        (found,) = (private_state / "work" / ledger.id).glob("?" * 26)
        return found

    said: list[str] = []
    forged = left()
    (forged / "files" / "table.csv").write_text("value\n1000000\n")
    made = run(confirm=True, say=said.append)
    assert any("not those that the ledger recorded" in line for line in said)
    assert shown(tmp_path / "out") == {made.release_id}
    # A link to the recorded bytes: what it leads to may change once its hash was taken.
    table = left() / "files" / "table.csv"
    table.rename(tmp_path / "kept.csv")
    table.symlink_to(tmp_path / "kept.csv")
    again = run(confirm=True)
    assert shown(tmp_path / "out") == {made.release_id, again.release_id}
    # A planted folder with the name of a release does not keep later ones from being made.
    planted = left()
    (tmp_path / "out" / planted.name).mkdir()
    (tmp_path / "out" / planted.name / "table.csv").write_text("planted")
    (private_state / "work" / ledger.id / ("0" * 26)).symlink_to(tmp_path)
    assert isinstance(run(confirm=True), Release)
    assert not list(private_state.rglob("table.csv"))
    assert (tmp_path / "spec").parent.is_dir()


def test_two_runs_on_one_key_make_one_draw(
    run: Callable[..., Any], plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second job with the same key, while the first is drawing, waits and then finds it."""
    monkeypatch.setattr("discreet.releases.charge.PATIENCE", 0.0)
    real = release.__globals__["draw"]
    refused: list[Exception] = []

    def meanwhile(*given: Any, **named: Any) -> Any:
        with pytest.raises(LostRelease) as told:
            run(plan_id=plan, key="2026-01")
        refused.append(told.value)
        return real(*given, **named)

    with monkeypatch.context() as patched:
        patched.setitem(release.__globals__, "draw", meanwhile)
        mine = run(plan_id=plan, key="2026-01")
    assert isinstance(mine, Release)
    assert len(refused) == 1
    assert run(plan_id=plan, key="2026-01").release_id == mine.release_id
    assert shown(tmp_path / "out") == {mine.release_id}


def test_a_key_released_on_another_host_is_refused_without_its_files(
    spec: dict[str, Any], people: pa.Table, ledger: Ledger, plan: str, tmp_path: Path
) -> None:
    spec["ledger"] = f"sqlite:///{tmp_path / 'ledger.db'}"
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    made = release(spec, data=people, folder=one, plan_id=plan, key="2026-01")
    assert isinstance(made, Release)
    with pytest.raises(PolicyError, match=f"{made.release_id}, and its files are not in"):
        release(spec, data=people, folder=two, plan_id=plan, key="2026-01")


def test_files_that_were_changed_are_not_given_out_again(
    run: Callable[..., Any], plan: str
) -> None:
    made = run(plan_id=plan, key="2026-01")
    made.statement.write_text("better words")
    with pytest.raises(PolicyError, match="not those that were recorded"):
        run(plan_id=plan, key="2026-01")


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


def test_key_and_slot_are_told_of_every_release(run: Callable[..., Any], plan: str) -> None:
    """They were told only of one that was found again."""

    def told(**more: Any) -> list[Any]:
        said = run(**more).to_dict()
        return [said[name] for name in ("repeated", "key", "slot")]

    for more in ({"dry_run": True}, {}):
        assert told(**more) == [False, None, None]
        assert told(plan_id=plan, **more) == [False, None, 1]
    for more in ({"dry_run": True}, {}):
        assert told(plan_id=plan, key="2026-02", **more) == [False, "2026-02", 2]
    for more in ({"dry_run": True}, {}):
        assert told(plan_id=plan, key="2026-02", **more) == [True, "2026-02", 2]
        run(plan_id=plan, key="2026-03")
        assert told(key="alone", **more)[1:] == ["alone", None]
    assert told(key="alone", dry_run=True) == [True, "alone", None]


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
    app.command()(release_command.release)
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
    dry = _cli(file, "--dry-run", "--plan", plan, "--next")
    assert dry.exit_code == 0
    first, *rest = dry.stdout.splitlines()
    # It began with what it "would spend", and said far below that nothing more is charged.
    assert first.startswith("It would take slot 2 of 3")
    assert "nothing more is charged" in first
    assert "nothing more is charged" not in " ".join(rest)
    stored = _cli(file, "--dry-run", "--plan", plan, "--next", "--key", "2026-01")
    assert "charges nothing" in stored.stdout.splitlines()[0]
    file.write_text(yaml.safe_dump(spec | {"source": "people.csv", "budget": {"epsilon": 99}}))
    over = _cli(file, "--dry-run", "--json")
    assert isinstance(over.exception, BudgetExceeded)
    assert json.loads(over.stdout)["refused"]["exit_code"] == 3
    beside = _cli(file, "--key", "2026-01").exception
    assert isinstance(beside, PolicyError)
    assert "--next" in str(beside.flags)


def test_the_ledger_shows_of_how_many_a_release_is_one_and_who_was_said_to_charge_it(
    spec: dict[str, Any], people: pa.Table, ledger: Ledger, tmp_path: Path
) -> None:
    file = tmp_path / "spec.yaml"
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    planned = spec | {"source": "people.csv", "series": {"releases": 6}}
    file.write_text(yaml.safe_dump(planned))

    def shown() -> str:
        words = ["show", "--ledger", ledger.url, "--account", "people"]
        return CliRunner().invoke(ledger_command.app, words).stdout

    assert "charged as one of" not in shown()
    for made in (1, 2):
        done = _cli(file, "--yes", "--who", "monthly job")
        assert done.exit_code == 0, done.output
        assert f"  test: charged as one of 6 releases, {made} made\n" in shown()
    who = {one.said["who"] for one in ledger.entries("people") if one.kind == "reserve"}
    assert who == {"monthly job"}
    lost = {"purpose": "test", "who": "cut off", "spec_hash": None, "releases": 6}
    ledger.reserve("people", PureDP(1.0), **lost)  # type: ignore[arg-type]
    assert "charged as one of 6 releases, 2 made" in shown()


def test_a_plan_of_a_ledger_that_is_not_there(
    spec: dict[str, Any], people: pa.Table, plan: str, tmp_path: Path
) -> None:
    """A mistyped path is told as such; the plan may well be registered."""
    away = spec | {"ledger": "sqlite:///mistyped.db"}
    for key in (None, "2026-01"):
        with pytest.raises(PolicyError, match=r"There is no ledger at .*mistyped\.db"):
            release(away, data=people, folder=tmp_path, plan_id=plan, key=key, say=print)
    assert not (tmp_path / "mistyped.db").exists()


def test_a_ledger_behind_its_stored_releases_is_refused(
    run: Callable[..., Any],
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backup = (tmp_path / "ledger.db").read_bytes()
    run()
    (tmp_path / "ledger.db").write_bytes(backup)
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "another user"))
    with pytest.raises(PolicyError, match="restored from an older copy"):
        run()
    assert len(ledger.restore(approver="a", reason="b", output=tmp_path / "out")) == 1
    run()


def test_a_preview_takes_what_a_release_takes() -> None:
    """All but what only a run needs."""
    taken = [set(inspect.signature(verb).parameters) for verb in (release, discreet.preview)]
    assert taken[0] - taken[1] == {"dry_run", "say", "progress", "before_charge", "who"}


def test_next_alone_takes_the_only_plan_with_a_free_slot(
    run: Callable[..., Any], ledger: Ledger, plan: str
) -> None:
    first = run(next_slot=True, key="2026-01")
    assert first.series == {"plan_id": plan, "slot": 1, "of": 3, "free": 2}
    foreseen = run(next_slot=True, dry_run=True)
    assert any(
        "slot 2 of 3" in note and "nothing more is charged" in note for note in foreseen.notes
    )
    run(next_slot=True)
    run(next_slot=True)
    with pytest.raises(PolicyError, match="no plan with a free slot"):
        run(next_slot=True)
    assert run(next_slot=True, key="2026-01").release_id == first.release_id  # by its key
    ledger.grant("people", add=PureDP(9.0), approver="A", reason="more")
    for purpose in ("one", "another"):
        ledger.register_plan("people", [PureDP(1.0)], PureDP(1.0), purpose=purpose, who="tester")
    with pytest.raises(InputError, match="several plans with free slots"):
        run(next_slot=True)


def test_a_dry_run_of_a_slot_says_that_it_adds_nothing_to_what_is_used(
    run: Callable[..., Any], ledger: Ledger
) -> None:
    """It said "With this release 100 % of it is used", though the plan had been charged."""
    promise = promise_in({"posterior": 0.25, "unless_ratio": 3, "adjacency": "add-remove"})
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("paid", **terms, promise=promise, approver="tester", reason="test")
    each = equal_part(ledger.account("paid"), 12)
    parts = [Part(Charge(each), 12)]
    total, *_ = composed(ledger.account("paid"), parts, None, None)
    plan = ledger.register_plan("paid", parts, total, purpose="a year", who="tester")
    ledger.next_slot(plan)
    changes = {"account": "paid", "budget": {"epsilon": each.epsilon}}  # type: ignore[attr-defined]
    look = run(changes=changes, next_slot=True, dry_run=True)
    assert look.refused is None
    (told,) = (note for note in look.notes if note.startswith("Promise: "))
    assert "100 % of it is used, with slot 2 of 12 of plan" in told
    assert "paid for: this adds nothing" in told
    assert not any("With this release" in note for note in look.notes)


@pytest.mark.parametrize("by_id", [False, True])
def test_a_used_up_plan_proposes_only_what_the_account_would_take(
    run: Callable[..., Any], ledger: Ledger, spec: dict[str, Any], *, by_id: bool
) -> None:
    """It proposed another plan, or a release of its own, where both are refused."""
    kind, slots = (BudgetExceeded, "are taken") if by_id else (PolicyError, "no plan with a free")

    def refusal(account: str, plan: str) -> str:
        asked: dict[str, Any] = {"changes": {"account": account}, "next_slot": True}
        asked |= {"plan_id": plan} if by_id else {}
        with pytest.raises(kind, match=slots) as refused:
            run(**asked)
        if by_id:
            assert str(run(**asked, dry_run=True).refused) == str(refused.value)
        return refused.value.on_the_command_line

    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    terms |= {"approver": "tester", "reason": "test"}
    promise = promise_in({"posterior": 0.25, "unless_ratio": 3, "adjacency": "add-remove"})
    for name, limit, said in (
        ("promising", {"promise": promise}, "becomes more than 25 % sure"),
        ("capped", {"cap": PureDP(0.5)}, "Nothing is left of the cap of account 'capped', ε = 0.5"),
        ("roomy", {"cap": PureDP(9.0)}, "Register a"),
    ):
        ledger.open_account(name, **terms, **limit)
        spent = equal_part(ledger.account(name), 1) if name != "roomy" else PureDP(1.0)
        plan = ledger.register_plan(name, [spent], spent, purpose="one", who="tester")
        ledger.next_slot(plan)
        told = refusal(name, plan)
        assert said in told
        assert ("Neither another plan nor a release fits" in told) == (name != "roomy")
        assert ("Register a" in told) == (name == "roomy")


def test_the_command_that_opens_an_account_lets_the_release_fit(
    run: Callable[..., Any], spec: dict[str, Any]
) -> None:
    """It asked for ε = 1 and proposed a promise that allows 0.95."""
    with pytest.raises(PolicyError) as refused:
        run(confirm=True)
    command = shlex.split(refused.value.on_the_command_line.split("asks for): ")[1])
    flags = dict(pairwise(command[3:]))
    flags = {name: flags[name] for name in flags if name.startswith("--")}
    Ledger.open(flags["--ledger"]).open_account(
        flags["--account"],
        unit=flags["--unit"],
        adjacency=flags["--adjacency"],
        filter=flags["--filter"],
        cap=Amount.of(epsilon=float(flags["--epsilon"])),
        approver="A",
        reason="R",
    )
    assert isinstance(run(confirm=True), Release)

"""The commands `release` and `init`, and the bundled example."""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from discreet.cli import release as release_command
from discreet.errors import BudgetExceeded, InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import load, preview, release

CLINIC = Path(__file__).parents[2] / "examples" / "clinic"


def _run(command: Callable[..., None], *arguments: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, its data made, its account open."""
    folder = tmp_path_factory.mktemp("clinic")
    for name in ("counties.csv", "release.yaml"):
        shutil.copy(CLINIC / name, folder / name)
    runpy.run_path(str(CLINIC / "generate.py"))["main"]([str(folder), "500"])
    Ledger.open(f"sqlite:///{folder / 'ledger.db'}").open_account(
        "clinic-patients",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(2.0),
        approver="tester",
        reason="test",
    )
    return folder


def test_the_example_is_the_same_every_time(tmp_path: Path) -> None:
    made = runpy.run_path(str(CLINIC / "generate.py"))
    places = made["counties"](CLINIC)
    first, second = made["visits"](300, places), made["visits"](300, places)
    assert first == second
    rows = len(first["patient_id"])
    per_patient = [first["patient_id"].count(p) for p in set(first["patient_id"]) - {None}]
    assert rows > 400
    assert max(per_patient) > 5
    assert None in first["cost"]


def test_a_dry_run_and_then_the_release(clinic: Path) -> None:
    spec = str(clinic / "release.yaml")
    dry = _run(release_command.release, spec, "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    said = json.loads(dry.stdout)
    assert said["spent"]["epsilon"] == pytest.approx(1.29928298)
    assert said["release_id"] is None
    assert said["files"] == []

    plain = _run(release_command.release, spec, "--dry-run")
    # In the figures of its promise, as in the ledger afterwards: six would seem to pass it.
    assert "Would spend ε = 1.29928298413026; remaining now: ε = 2." in plain.stdout
    assert "off by at most" in plain.stdout

    made = _run(release_command.release, spec, "--json")
    assert made.exit_code == 0, made.output
    said = json.loads(made.stdout)
    assert {"release_id", "spent", "remaining", "files", "statement"} <= set(said)
    assert all(Path(path).is_absolute() and Path(path).is_file() for path in said["files"])
    assert said["statement"].endswith("statement.md")

    for flags in ((), ("--yes",), ("--dry-run",), ("--dry-run", "--yes")):
        refused = _run(release_command.release, spec, *flags)
        assert isinstance(refused.exception, BudgetExceeded)  # no yes overrides it


@pytest.mark.parametrize(
    ("flags", "error"), [(["--plan", "x"], InputError), (["--next"], PolicyError)]
)
def test_a_plan_needs_next_and_next_a_plan(
    clinic: Path, flags: list[str], error: type[Exception]
) -> None:
    ran = _run(release_command.release, str(clinic / "release.yaml"), *flags)
    assert isinstance(ran.exception, error)


def test_init_writes_a_spec_that_can_be_read_and_leaves_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    ran = _run(release_command.init, str(path), "--json")
    assert json.loads(ran.stdout) == {"file": str(path)}
    spec = load(path)
    assert [entry.name for entry in spec.named()] == ["count_rows_1", "sum_amount_2"]
    again = _run(release_command.init, str(path))
    assert isinstance(again.exception, InputError)
    assert path.read_text() == release_command.TEMPLATE


def test_every_statistic_that_init_comments_out_can_be_read(tmp_path: Path) -> None:
    lines = release_command.TEMPLATE.splitlines()
    text = "\n".join(line.replace("# - {", "  - {") for line in lines)
    (tmp_path / "release.yaml").write_text(text.replace("# series:", "series:"))
    assert len(load(tmp_path / "release.yaml").named()) == 7


def test_the_pumpkin_auction_example(tmp_path: Path) -> None:
    """The auction of Dwork and Roth §3.4 as a spec: four bidders, prices in cents up to 100."""
    folder = CLINIC.parent / "clinic"
    asked: dict[str, Any] = yaml.safe_load((folder / "auction.yaml").read_text())
    shutil.copy(folder / "bids.csv", tmp_path / "bids.csv")
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "bidders",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(5.0),
        approver="tester",
        reason="test",
    )
    made = release(asked, folder=tmp_path)
    assert made.spent["epsilon"] == pytest.approx(1.0986, abs=1e-4)
    ((_, value, *_),) = made.table.rows()  # type: ignore[union-attr]
    assert value is not None
    assert 0 <= float(value) <= 100


def test_how_to_declare_a_file_is_told_by_check_and_the_dry_run_alone(tmp_path: Path) -> None:
    """A job repeated it with every release, and the keys of every file."""
    (tmp_path / "d.csv").write_text("id,g\n1,a\n2,b\n")
    (tmp_path / "keys.csv").write_text("g\na\nb\n")
    spec = {
        "account": "a",
        "purpose": "p",
        "source": "d.csv",
        "protect": {"unit": "person", "column": "id", "rows": 1},
        "budget": {"epsilon": 1},
        "statistics": [{"count": "rows", "by": ["g"], "keys": {"g": "keys.csv"}}],
        "ledger": "sqlite:///l.db",
        "output": "out",
    }
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump(spec))
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": None}
    book = Ledger.open(f"sqlite:///{tmp_path / 'l.db'}")
    book.open_account("a", **terms, approver="tester", reason="test")
    seen = _run(release_command.check, str(file)).stdout
    dry = _run(release_command.release, str(file), "--dry-run").stdout
    made = _run(release_command.release, str(file))
    assert made.exit_code == 0, made.output
    short = ("is taken to be in UTF-8", "count as missing.", "Public keys are not compared")
    for told in (*short, "declare what is different: source: {", "keys.csv has 2 keys for 'g'"):
        assert told in seen
        assert told in dry
        assert (told in made.stderr) is (told in short)


@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_what_warns_is_said_where_nobody_is_asked(
    clinic: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    own = shutil.copytree(clinic, tmp_path / "own", ignore=shutil.ignore_patterns("*.db", "out"))
    spec = str(own / "release.yaml")
    foreseen = _run(release_command.release, spec, "--dry-run").stdout.splitlines()
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": None}
    promise = load(spec).promised()
    Ledger.open(f"sqlite:///{own / 'ledger.db'}").open_account(
        "clinic-patients", **terms, promise=promise, approver="tester", reason="test"
    )
    made = _run(release_command.release, spec, *flags)
    assert made.exit_code == 0, made.output
    assert "Public keys are not compared with the data" in made.stderr
    assert "No further release fits under this promise" in made.stderr
    assert "nothing was spent" not in made.stderr
    part = _run(release_command.release, spec, "--dry-run", "--set", "budget.epsilon=0.7").stdout
    assert "No further release fits" not in part
    # What it would spend did not seem to pass the cap of the account that was opened for it.
    assert foreseen[0].split(";")[0] == "Would spend ε = 1.29928298413026"
    # Nor did its prices, rounded up to fewer figures, seem to be more than it would spend.
    prices = [float(line.rsplit(" ", 1)[1]) for line in foreseen[2:4]]
    assert sum(prices) == pytest.approx(1.29928298413026, abs=1e-13)
    assert "Spent ε = 1.29928298413026; remaining: ε = 0." in made.stdout


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_it_asks_before_the_first_charge(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    own = shutil.copytree(clinic, tmp_path / "own", ignore=shutil.ignore_patterns("*.db", "out"))
    book = Ledger.open(f"sqlite:///{own / 'ledger.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(2.0)}
    book.open_account("clinic-patients", **terms, approver="tester", reason="test")
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(release_command, "at_terminal", lambda: True)
    monkeypatch.setattr(release_command.typer, "confirm", confirm)
    before = len(list(book.entries()))
    more = ("--set", "tolerance=null", "--set", "budget.epsilon=0.01")
    done = _run(release_command.release, str(own / "release.yaml"), *more)
    assert done.exit_code == (0 if answer else 1)
    assert (len(list(book.entries())) > before) == answer
    assert len(asked) == 1
    assert "Would spend ε = 0.01" in asked[0]
    assert "count_rows_1: off by at most" in asked[0]


def test_a_dry_run_and_its_release_are_refused_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a spec that was released before the dry run said nothing, and the release wanted a yes."""
    (tmp_path / "visits.csv").write_text("person,x\n" + "".join(f"p{i},1\n" for i in range(9)))
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1.0),
        approver="tester",
        reason="test",
    )
    spec = {
        "account": "people",
        "purpose": "test",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 0.4},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    file = tmp_path / "spec.yaml"
    file.write_text(json.dumps(spec))
    ended = []
    for flags in (("--key", "a"), (), ("--yes",), (), ("--yes",)):
        dry = _run(release_command.release, str(file), "--dry-run", "--json", *flags)
        made = _run(release_command.release, str(file), "--json", *flags)
        codes = [getattr(one.exception, "exit_code", one.exit_code) for one in (dry, made)]
        assert codes[0] == codes[1], flags
        said = json.loads(dry.stdout)
        assert (said["refused"] or {"exit_code": 0})["exit_code"] == codes[0]
        ended.append(codes[0])
        if codes[0] == 4:
            assert said["refused"]["message"] == made.exception.message  # type: ignore[union-attr]
            assert "--yes" in said["refused"]["next"]
            assert said["remaining_after"]["epsilon"] == pytest.approx(0.2)  # with a yes
            assert sum("already released 1 time" in note for note in said["notes"]) == 1
            monkeypatch.setattr(release_command, "at_terminal", lambda: True)
            assert _run(release_command.release, str(file), "--dry-run").exit_code == 0  # it asks
            monkeypatch.undo()
            assert preview(file).refused is not None
            assert preview(file, confirm=True).refused is None
            assert preview(file, confirm=lambda _: False).refused is None  # nobody was asked
    assert ended == [0, 4, 0, 3, 3]

"""Failures: one JSON object under --json, the message on standard error, the exit code as ever."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from discreet.cli import _COMMANDS, _app, loaded, main
from discreet.errors import DataError, InternalError
from discreet.guarantees import PureDP, side_by_side
from discreet.ledger import Ledger
from discreet.promises.keys import promise_keys
from discreet.words import catalogue

SECRET = "SECRETvalue"  # noqa: S105

FAILURES = {
    "unknown flag": (["choose", "--nonsense", "1"], 2, "usage", "--nonsense"),
    "no number": (["choose", "--ratio", "x"], 2, "usage", "--ratio"),
    "unknown command": (["chose"], 2, "usage", "chose"),
    "missing flag": (["ledger", "show"], 2, "usage", "--ledger"),
    "missing argument": (["release"], 2, "usage", "argument"),
    "no promise": (["choose"], 2, "input", "nothing is promised yet"),
    "bad promise": (["choose", "--ratio", "0.5"], 2, "tolerance", "0.5"),
    "no budget": (["explain"], 2, "input", "exactly one of"),
    "no file": (["release", "no-such-file.yaml"], 2, "spec", "no-such-file.yaml"),
    "no account": (["ledger", "show", "--ledger", "URL", "--account", "a"], 4, "policy", "open"),
    "no ledger": (
        [
            "ledger",
            "charge",
            "--ledger",
            "URL",
            "--account",
            "a",
            "--epsilon",
            "1",
            "--purpose",
            "x",
        ],
        4,
        "policy",
        "There is no ledger at",
    ),
}


def _run(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    out, err = capsys.readouterr()
    return caught.value.code, out, err


def _opened(url, account):
    Ledger.open(url).open_account(
        account,
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1.0),
        approver="tester",
        reason="test",
    )


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_json_object(name, capsys, tmp_path):
    given, exit_code, kind, words = FAILURES[name]
    given = [word.replace("URL", f"sqlite:///{tmp_path / 'l.db'}") for word in given]
    code, out, err = _run(capsys, [*given, "--json"])
    assert code == exit_code
    assert list(json.loads(out)) == ["error"]
    error = json.loads(out)["error"]
    assert set(error) == {"code", "message", "next"}
    assert error["code"] == kind
    assert words in error["message"]
    assert error["message"] in err
    plain, nothing, said = _run(capsys, given)
    assert (plain, nothing) == (exit_code, "")
    assert error["message"] in said


def test_an_unexpected_fault_says_no_value(capsys, monkeypatch):
    def broken(*_, **__):
        raise KeyError(SECRET)

    monkeypatch.setattr("discreet.budgets.choose", broken)
    code, out, err = _run(capsys, ["choose", "--ratio", "3", "--json"])
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (InternalError.exit_code, "internal")
    assert "KeyError" in error["message"]
    assert SECRET not in out + err


def test_no_line_of_any_help_is_cut(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    group = get_command(loaded("ledger"))
    every = [[], *([name] for name in _COMMANDS), *(["ledger", name] for name in group.commands)]
    for words in every:
        code, out, _ = _run(capsys, [*words, "--help"])
        assert (code or 0, "Usage:" in out) == (0, True)
        lines = [line for line in out.splitlines() if not line.startswith("Usage:")]
        assert [line for line in lines if line.endswith(("…", "..."))] == [], words
        assert max(map(len, lines)) <= 80


def test_without_arguments_there_is_help(capsys):
    code, _, err = _run(capsys, [])
    assert code == 2
    assert "Commands:" in err


def test_a_check_that_did_not_pass_is_no_error(capsys, tmp_path):
    url = f"sqlite:///{tmp_path / 'l.db'}"
    _opened(url, "a")
    given = ["ledger", "verify", "--ledger", url, "--head", "0" * 64, "--json"]
    code, out, _ = _run(capsys, given)
    assert code == 1
    assert json.loads(out)["verified"] is False


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text("person,county\na,north\n")
    said = {
        "account": "people",
        "purpose": "test",
        "source": "data.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 2.0},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(said))
    _opened(f"sqlite:///{tmp_path / 'ledger.db'}", "people")
    return tmp_path / "spec.yaml"


def test_a_refused_dry_run_says_so_once(capsys, spec):
    code, out, err = _run(capsys, ["release", str(spec), "--dry-run"])
    assert code == 3
    message = err.removeprefix("discreet: ").strip()
    assert (out + err).count(message) == 1
    assert "Would spend ε = 2; remaining now: ε = 1." in out
    code, out, _ = _run(capsys, ["release", str(spec), "--dry-run", "--json"])
    assert code == 3
    refused = json.loads(out)["refused"]  # one object, the preview
    assert refused["exit_code"] == 3
    code, out, _ = _run(capsys, ["release", str(spec), "--yes", "--json"])
    assert refused == {"exit_code": code} | json.loads(out)["error"]
    assert refused["code"] == "over-budget"
    assert "discreet ledger grant" in refused["next"]


def test_what_cannot_be_spent_is_one_figure_and_shows_no_accuracy(capsys, spec):
    """It said to spend 0.952009 where 0.952008 was allowed, and how exact that would be."""
    said = yaml.safe_load(spec.read_text()) | {"account": "promised"}
    del said["budget"]
    spec.write_text(yaml.safe_dump(said))
    of = ["--ledger", f"sqlite:///{spec.parent / 'ledger.db'}", "--account", "promised"]
    asked = ["--posterior", "0.12", "--prior", "0.05", "--approver", "a", "--reason", "b"]
    assert not _run(capsys, ["ledger", "open", *of, *asked])[0]
    whole = _run(capsys, ["release", str(spec), "--dry-run"])[1]
    assert "Accuracy:" in whole
    assert not _run(capsys, ["ledger", "charge", *of, "--epsilon", "0.6", "--purpose", "x"])[0]
    code, out, err = _run(capsys, ["release", str(spec), "--dry-run"])
    assert code == 3
    assert "Accuracy:" not in out
    assert "not so much is left" in out
    would = re.search(r"Would spend (ε = [0-9.]+); remaining now: ε = 0\.352008\.", out)
    needs = re.search(r"It allows (ε = [0-9.]+) for .* this needs (ε = [0-9.]+);", err)
    assert would is not None
    assert needs is not None
    assert {would[1], needs[1], needs[2]} == {would[1]}
    assert "a single charge of ε = 0.352008 would fit" in err


def test_what_is_spent_to_the_end_of_a_promise_is_one_figure_everywhere(capsys, spec):
    """It was 0.405466 where the release was made, and 0.40546510810816 in the ledger's list."""
    said = yaml.safe_load(spec.read_text()) | {"promise": {"ratio": 1.5, "about": "membership"}}
    del said["budget"]
    spec.write_text(yaml.safe_dump(said))  # its limit is below the cap of the account
    of = ["--ledger", f"sqlite:///{spec.parent / 'ledger.db'}", "--account", "people"]
    told = [_run(capsys, ["release", str(spec), *more])[1] for more in (["--dry-run"], ["--yes"])]
    told.append(_run(capsys, ["ledger", "show", *of])[1])
    told.append(_run(capsys, ["release", str(spec), "--dry-run"])[2])
    [written] = spec.parent.glob("out/*/statement.md")
    told.append(written.read_text())
    reported = ["report", written.parent.name, "--output", str(spec.parent / "out"), "--json"]
    folder = written.parent / "report"
    assert not _run(capsys, reported)[0]
    told += [(folder / name).read_text() for name in ("report.html", "statement.md")]
    for text in told:
        assert set(re.findall(r"\b0\.4054\d*", text)) == {"0.40546510810816"}


def test_an_error_after_the_charge_says_what_stays_spent(capsys, spec, monkeypatch):
    from discreet.releases.engines.sql import SQLEngine

    def failing(*_):
        raise DataError("engines.duckdb.schema_fault", doing="read the rows")

    monkeypatch.setattr(SQLEngine, "measure", failing)
    given = ["release", str(spec), "--yes", "--json", "--set", "budget.epsilon=0.5"]
    code, out, _ = _run(capsys, given)
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (2, "data")
    (charged,) = Ledger.open(f"sqlite:///{spec.parent / 'ledger.db'}").unfinished("people")
    assert error["release_id"] == charged.release_id
    assert error["spent"] == {"epsilon": 0.5, "delta": None, "rho": None}
    assert "new charge" in error["next"]


def test_a_number_of_a_column_without_a_type_is_a_warning(capsys, spec):
    (spec.parent / "data.csv").write_text("person,category\na,north\n")
    statistic = "{sum: category, bounds: [0, 1], resolution: 1}"
    asked = [str(spec), "--set", f"statistics=[{statistic}]", "--set", "budget.epsilon=0.5"]
    for given in (["check", *asked], ["release", *asked, "--dry-run"]):
        said = json.loads(_run(capsys, [*given, "--json"])[1])
        (warning,) = said["warnings"]
        assert "'category' has no declared type" in warning
        assert warning not in said["notes"]
        assert f"Warning: {warning}" in _run(capsys, given)[1].splitlines()[:3]
    typed = "source={path: data.csv, types: {category: number}}"
    said = json.loads(_run(capsys, ["check", *asked, "--set", typed, "--json"])[1])
    assert said["warnings"] == []
    assert "Column 'category' has no declared type" in _run(capsys, ["release", *asked])[2]
    both = f"statistics=[{statistic}, {statistic.replace('category', 'other')}]"
    (warning,) = json.loads(_run(capsys, ["check", *asked, "--set", both, "--json"])[1])["warnings"]
    assert warning.startswith("Columns 'category', 'other' have no declared type")
    assert "types: {category: number, other: number}" in warning


def test_that_another_account_was_charged_for_the_same_data_is_told_once(capsys, spec):
    _opened(f"sqlite:///{spec.parent / 'ledger.db'}", "others")
    given = ["release", str(spec), "--set", "budget.epsilon=0.5", "--set"]
    assert "also charged" not in _run(capsys, [*given, "account=others"])[2]
    code, _, err = _run(capsys, [*given, "account=people"])
    assert (code or 0, err.count("also charged to 'others'")) == (0, 1)


def test_a_picture_that_cannot_be_written_is_refused_in_words(capsys, spec):
    asked = ["release", str(spec), "--dry-run", "--set", "budget.epsilon=0.5", "--png"]
    code, _, err = _run(capsys, [*asked, str(spec / "error.png")])  # the spec is no folder
    assert (code, "error.png cannot be written" in err) == (2, True)
    # An ending that is not known is told before anything is computed, or refused for other reasons.
    late = ["audit", str(spec.with_name("none.yaml")), "--chart", "audit.bmp"]
    assert "no known ending" in _run(capsys, late)[2]


@pytest.mark.parametrize(("spent", "limit"), [(1.2992829, 1.2992829), (1.29928291, 1.29928292)])
def test_what_fits_is_never_shown_as_passing(spent, limit):
    texts = side_by_side({"epsilon": spent}, {"epsilon": limit})
    shown = [float(text.removeprefix("ε = ")) for text in texts]
    assert (shown[0] <= shown[1]) == (spent <= limit)
    assert shown[0] >= spent
    assert shown[1] <= limit


def _commands(group, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from _commands(command, (*path, name))
        else:
            yield "_".join((*path, name)), command


def test_every_flag_has_its_help_and_every_help_its_flag():
    texts = catalogue("en").entry("help")
    used = set()
    for name, command in _commands(get_command(_app)):
        assert command.help, name
        for one in command.params:
            text = one.help or ""
            assert text or one.name == "help", (name, one.name)
            assert "{" not in text, (name, one.name)
            shown = one.metavar or getattr(one.type, "name", "")
            assert not shown.startswith("_"), (name, one.name)  # `<_share>` is no word
            for section in (name, "shared", "promise"):
                if one.name in texts.get(section, {}):
                    used.add((section, one.name))
                    break
            if "promise" in texts and one.name in texts["promise"]:
                used.add(("promise", one.name))
    every = {(section, key) for section, keys in texts.items() for key in keys}
    assert every == used


def test_every_key_of_a_promise_is_a_flag():
    (choose,) = (command for name, command in _commands(get_command(_app)) if name == "choose")
    flags = {one.name for one in choose.params}
    assert promise_keys() - flags == {"all", "groups", "values_known"}  # for files alone


def test_a_misspelt_command_is_told_with_the_nearest(capsys):
    code, _, err = _run(capsys, ["relase"])
    assert code == 2
    assert "Did you mean 'release'" in err


@pytest.mark.parametrize("flag", ["--epsilon", "--rho"])
def test_a_budget_for_plan_is_sent_to_the_ledger(capsys, flag):
    code, out, err = _run(capsys, ["plan", flag, "2", "--releases", "12", "--json"])
    assert code == 2
    assert "discreet ledger plan" in err
    assert "discreet ledger plan" in json.loads(out)["error"]["next"]
    assert "ledger plan" not in _run(capsys, ["plan", "--nothing", "2"])[2]


def test_a_release_that_is_named_without_its_place_is_not_said_to_be_none(capsys):
    """An id alone does not say where the release is; a text that is no id names no release."""
    code, _, err = _run(capsys, ["table", "0123456789abcdefghjkmnpqrs"])
    assert code == 2
    assert "--ledger URL" in err
    code, _, err = _run(capsys, ["table", "no/such/folder"])
    assert code == 2
    assert "neither a folder" in err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["choose", "--ratio", "1,5"], "with a point: 1.5."),
        (["explain", "--epsilon", "0,5"], "with a point: 0.5."),
        (["choose", "--posterior", "12,5 %", "--p", "5%"], "with a point: 12.5 %."),
        (["choose", "--ratio", "3", "--box", "0", "0,5", "0", "1"], "with a point: 0.5."),
        (["choose", "--ratio", "1,000"], "Write 1000;"),
        (["choose", "--ratio", "300%"], "without a unit or a percent sign."),
        (["choose", "--ratio", "much"], "'much' is not a number. Write a plain number"),
    ],
)
def test_a_number_with_a_comma_is_told_how_it_is_written(capsys, given, says):
    code, _, err = _run(capsys, given)
    assert code == 2
    assert says in err
    code, out, _ = _run(capsys, [*given, "--json"])
    assert says in json.loads(out)["error"]["message"]


def test_help_of_compose_lists_every_mechanism(capsys):
    _, out, _ = _run(capsys, ["compose", "--help"])
    for name in ("gaussian", "geometric", "laplace", "exponential", "randomized-response"):
        assert name in out

"""The page about the ledger is run, from top to bottom."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet import explain
from discreet.cli import main
from discreet.cli.ledger import app
from discreet.ledger import Amount, Ledger

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"


def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    steps = re.compile(r"```python\n(.*?)```|^    discreet ledger ([^\n]*)$", re.M | re.S)
    for python, command in steps.findall(PAGE.read_text()):
        if python:
            exec(compile(python, str(PAGE), "exec"), {})  # noqa: S102  (our own page)
        else:
            done = CliRunner().invoke(app, shlex.split(command))
            assert done.exit_code == 0, (command, done.output, done.exception)
        ran += 1
    assert ran == 9
    ledger = Ledger.open("sqlite:///ledger.db")
    assert ledger.verify().verified
    assert ledger.spent("clinic") == Amount.of(epsilon=0.95)
    [promise] = ledger.made_promises("clinic")
    assert promise.kept
    assert promise.withdrawn
    assert promise.withdrawn["approver"] == "B. Board"
    # What several accounts spent together, as the page has it; names may also have commas between.
    (words,) = re.findall(r"`discreet (compose [^`]*)`", " ".join(PAGE.read_text().split()))
    total, _ = ledger.together(["clinic", "survey"])
    for command in (words, words.replace("clinic survey", "clinic,survey")):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*shlex.split(command), "--json"])
        found = json.loads(capsys.readouterr().out)
        assert ended.value.code in (0, None)
        assert found["epsilon"] == total.epsilon
        assert [one["account"] for one in found["accounts"]] == ["clinic", "survey"]
    assert explain(total, 0.3).posterior is not None

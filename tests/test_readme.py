"""The README and the demo, followed literally."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# `discreet serve` runs until it is ended; tests/web starts it as a person would.
COMMANDS = re.findall(r"^    (discreet (?!serve).+)$", README, flags=re.MULTILINE)


def test_the_two_commands_come_first():
    first = README.index("make demo")
    assert first < README.index("make test") < README.index("```python")


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(line, capsys):
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(line)[1:])
    assert not caught.value.code
    assert capsys.readouterr().out


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()


def test_every_command_of_the_table_exists(capsys):
    for name in set(re.findall(r"`discreet ([a-z]+)`", README)):
        with pytest.raises(SystemExit) as caught:
            main([name, "--help"])
        assert not caught.value.code, name
    capsys.readouterr()


@pytest.mark.slow
def test_the_demo_goes_the_whole_way(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), str(tmp_path / "demo")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = {path.name for path in (tmp_path / "demo").rglob("*") if path.is_file()}
    assert {"learned.png", "tolerated.png", "ledger.db", "table.csv", "table.parquet"} <= made
    assert {"release.json", "statement.md", "report.html", "verify.py"} <= made
    assert "Everything lies in" in done.stdout.splitlines()[-1]

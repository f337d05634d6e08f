"""The page on the papers: every command of its table runs, and shows what the table says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from papers.all import FIGURES

from discreet.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("<!-- commands -->") : PAGE.index("<!-- end of commands -->")]
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)` \| (.+?) \|$", TABLE, re.M)
SHOWN = [(command, shows) for *_, command, shows in ROWS]


def test_every_line_of_the_table_is_read() -> None:
    lines = [line for line in TABLE.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - 1  # and the header
    assert len(ROWS) > 50
    for paper in ("K&R", "KSZ", "M&R", "Intro"):
        assert sum(paper in where for where, *_ in ROWS) > 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, with the data that they make."""
    where = tmp_path_factory.mktemp("papers")
    shutil.copytree(ROOT / "examples", where / "examples")
    made = where / "examples" / "synthetic"
    subprocess.run([sys.executable, "make_patients.py"], cwd=made, check=True, capture_output=True)
    return where


@pytest.mark.parametrize(("command", "shows"), [row for row in SHOWN if row[0][:8] == "discreet"])
def test_the_command_shows_it(command: str, shows: str, folder: Path) -> None:
    said, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as way_out:
            main(shlex.split(command)[1:])
    finally:
        os.chdir(before)
    assert way_out.value.code in (None, 0, 1), said.getvalue()
    assert shows in said.getvalue().replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("command", "shows"), [row for row in SHOWN if row[0][:8] != "discreet"])
def test_what_is_not_a_command_is_an_example(command: str, shows: str) -> None:
    script = command.split()[1]
    assert (ROOT / script).exists()
    assert shows == "no command of its own yet" or any(name.startswith(shows) for name in FIGURES)

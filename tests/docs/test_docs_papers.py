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
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.synthetic import synthesize

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("<!-- commands -->") : PAGE.index("<!-- end of commands -->")]
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)` \| (.+?) \|$", TABLE, re.M)
SHOWN = [(command, shows) for *_, command, shows in ROWS]


def test_every_line_of_the_table_is_read() -> None:
    lines = [line for line in TABLE.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - 1  # and the header
    assert len(ROWS) > 50
    for paper, items in DOCUMENTS.items():
        named = "|".join(where for where, *_ in ROWS if paper in where)
        missing = [item for item in items if not _names(named, item)]
        assert not missing, (paper, missing)


# Every numbered definition, result, example, figure and table; the sections of the introduction.
DOCUMENTS = {
    "K&R": [
        *(f"Definition {n}" for n in (1, 2, 3)),
        *(f"Lemma {n}" for n in (1, 2, 3)),
        *(f"Theorem {n}" for n in (1, 2, 3, 4, 5)),
        *(f"Corollary {n}" for n in (1, 2)),
        *(f"Example {n}" for n in (1, 2, 3)),
        *(f"Figure {n}" for n in (1, 2, 3, 4, 5)),
        *(f"Table {n}" for n in (3, 4, 5)),
        *("C.1", "C.2", "C.3", "D.1", "D.2", "(33)", "(42)", "assumption 2", "set S"),
    ],
    "KSZ": [
        *(f"Definition {n}" for n in ("2.1", "2.2", "2.4", "2.6")),
        *(f"Theorem {n}" for n in ("2.3", "2.5", "2.7", "2.8", "2.9", "3.1", "3.2", "3.3")),
        *(f"Theorem {n}" for n in ("3.5", "3.9", "A.2")),
        *(f"Corollary {n}" for n in ("3.6", "3.8", "3.10", "3.11", "3.12")),
        *(f"Example {n}" for n in ("1.1", "4.1", "4.2", "4.3", "A.1")),
        *(f"Figure {n}" for n in (1, 2, 3, 4, 5, 6, 7)),
        "Lemma 3.4",
    ],
    "M&R": [
        *("Theorem 1", "Table 1", "Appendix A", "Appendix B", "§2.2", "§4"),
        *(f"Figure {n}" for n in (1, 4)),
        *(f"({n})" for n in (2, 3, 4, 5, 6, 8, 9, 12)),
    ],
    "Intro": [
        *("counting queries", "noisy counting", "Gaussian and Laplace noise", "formal definition"),
        *("randomized response", "sensitivity", "counting users", "impressions", "min and max"),
        *("exponential mechanism", "composing queries", "privacy budget", "protect records"),
        *("protect partitions", "Bayesian aside", "log 3"),
    ],
}


def _names(text: str, item: str) -> bool:
    """Say whether a text names an item, alone ("Figure 3") or in a list ("Figures 1, 3 and 4")."""
    kind, _, number = item.rpartition(" ")
    plural = {"Corollary": "Corollaries"}.get(kind, f"{kind}s")
    lists = rf"{plural} [^|]*?(?<![\d.]){re.escape(number)}(?!\.?\d)"
    alone = re.escape(item) + r"(?!\.?\d)"
    return re.search(alone, text) is not None or (bool(kind) and re.search(lists, text) is not None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, with the data that they make."""
    where = tmp_path_factory.mktemp("papers")
    shutil.copytree(ROOT / "examples", where / "examples")
    made = where / "examples" / "synthetic"
    subprocess.run([sys.executable, "make_patients.py"], cwd=made, check=True, capture_output=True)
    Ledger.open(f"sqlite:///{made / 'ledger.db'}").open_account(
        "patients",
        unit="person",
        adjacency="replace",
        filter="pure",
        cap=PureDP(4.0, adjacency="replace"),
        approver="tester",
        reason="test",
    )
    file = synthesize(made / "patients.yaml")
    (made / "out" / str(file.release_id)).rename(made / "made")
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
    assert any(name.startswith(shows) for name in FIGURES)

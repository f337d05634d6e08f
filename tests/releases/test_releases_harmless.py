"""What a spec or a key says stays a text: no formula in a table, no markup in a statement."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli import main
from discreet.errors import InputError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import Release, load, release
from discreet.releases.tables import Table
from discreet.statements.tables import flat
from discreet.synthetic import synthesize

FORMULAS = ["=cmd|' /C calc'!A0", "+1+cmd", "-x", "@SUM(1)", "\t=1", "\rx", "'quoted", " =1", "＝1"]
NUMBERS = ["-3", "+49", "plain", "1e5"]
MARKUP = '<img src="http://evil.example/a.png"> ![x](http://evil.example/b.png) [y](javascript:1) \\[z](http://evil.example)'


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "acc](http://evil.example)",
        unit="person",
        unit_name=f"one {MARKUP[:40]}",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(100.0),
        approver="a",
        reason="r",
    )
    (tmp_path / "data.csv").write_text("person,k\na,=1\n", encoding="utf-8")
    return {
        "account": "acc](http://evil.example)",
        "purpose": MARKUP,
        "source": "data.csv",
        "protect": {
            "unit": "person",
            "name": f"one {MARKUP[:40]}",
            "column": "person",
            "rows": 1,
        },
        "budget": {"epsilon": 1.0},
        "sensitive": MARKUP,
        "statistics": [
            {
                "count": "rows",
                "by": ["k"],
                "keys": {"k": [*FORMULAS, *NUMBERS]},
                "name": "[n](http://evil.example)<b>",
            }
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


def _made(spec: dict[str, Any], folder: Path) -> tuple[Release, Path]:
    made = release(spec, folder=folder)
    assert isinstance(made, Release)
    return made, folder / "out" / made.release_id


def test_no_cell_of_a_table_is_a_formula(spec: dict[str, Any], tmp_path: Path) -> None:
    """One apostrophe taken away gives the key back; Parquet and JSON have it as it is."""
    made, where = _made(spec, tmp_path)
    with (where / "table.csv").open(encoding="utf-8", newline="") as lines:
        cells = [row["k"] for row in csv.DictReader(lines)]
    assert cells == [*(f"'{text}" for text in FORMULAS), *NUMBERS]
    keys = [*FORMULAS, *NUMBERS]
    assert pq.read_table(where / "table.parquet")["k"].to_pylist() == keys
    assert made.table.to_dict()["k"] == keys


@given(st.lists(st.text("=+-@'\t\r 1x", max_size=5), min_size=1))
def test_the_apostrophe_can_be_taken_away_again(texts: list[str]) -> None:
    table = Table({"k": texts, "value": ["-1.5"] * len(texts)}).to_csv()
    rows = list(csv.reader(io.StringIO(table, newline="")))[1:]
    assert [row[0].removeprefix("'") for row in rows] == texts
    assert all(row[1] == "-1.5" for row in rows)


def _active(text: str) -> list[str]:
    """Return what a reader of Markdown would make HTML, a link or an image of."""
    return re.findall(r"<[a-zA-Z!/]|(?<!\\)(?:\\\\)*\[[^]]*(?<!\\)\]\(|://|www\.", text)


def test_no_markup_of_a_spec_is_active_in_its_statement(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    made, where = _made(spec, tmp_path)
    assert _active((where / "statement.md").read_text(encoding="utf-8")) == []
    report = made.report()
    said = (report.folder / "statement.md").read_text(encoding="utf-8")
    (own,) = _active(said)  # our own link, to a file beside it
    assert own.endswith("participant.html](")
    assert said.count("](participant.html)") == 1
    page = (report.folder / "report.html").read_text(encoding="utf-8")
    assert '<img src="http://evil' not in page


def test_no_markup_of_a_synthetic_spec_is_active(spec: dict[str, Any], tmp_path: Path) -> None:
    spec = {name: value for name, value in spec.items() if name not in ("statistics", "sensitive")}
    more = {"columns": ["k"], "keys": {"k": ["a", "b"]}, "n_synthetic": 3}
    made = synthesize(spec | more, folder=tmp_path)
    words = (tmp_path / "out" / str(made.release_id) / "statement.md").read_text(encoding="utf-8")
    assert _active(words) == []


@given(st.text("\\[]()!<>a:/w.|", max_size=30))
def test_flat_leaves_no_link_active(text: str) -> None:
    assert _active(flat(text)) == []
    assert "\n" not in flat(f"a\n{text}")


@pytest.mark.parametrize("where", ["epsilon", "rho", "delta"])
def test_a_whole_number_beyond_all_floats_is_refused(where: str) -> None:
    from discreet.guarantees import ZCDP, ApproxDP

    made = {"epsilon": PureDP, "rho": ZCDP, "delta": lambda x: ApproxDP(1.0, x)}[where]
    for value in (10**400, -(10**400)):
        with pytest.raises(InputError, match="beyond 1e308"):
            made(value)


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": {"epsilon": 10**400}},
        {"budget": {"rho": 10**400}},
        {"interval": 10**400},
        {"statistics": [{"sum": "x", "bounds": [0, 10**400], "resolution": 1}]},
        {"statistics": [{"sum": "x", "bounds": [0, 1], "resolution": 10**400}]},
        {"statistics": [{"quantile": "x", "at": 10**400, "bounds": [0, 1], "resolution": 1}]},
        {"statistics": [{"count": "rows", "weight": 10**400}]},
        {"statistics": [{"histogram": "x", "edges": [0, 10**400]}]},
        {"protect": {"unit": "person", "column": "p", "rows": 10**400}},
    ],
    ids=str,
)
def test_a_spec_with_such_a_number_is_refused(changes: dict[str, Any]) -> None:
    spec = {
        "account": "a",
        "purpose": "p",
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///l.db",
        "output": "o",
    }
    with pytest.raises(SpecError):
        load(spec | changes)


MOVES = "\x1b[2J\x1b]0;x\x07\r\x9b1A\u202e\n  verified"


def test_no_text_of_a_release_moves_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key that was found, or a folder that was passed on, may hold what a terminal obeys."""
    table = {"statistic": ["n"], MOVES: [MOVES], "value": ["1"]}
    said = {"release_id": MOVES, "account": "a", "spent": {"epsilon": 1}, "table": table}
    (tmp_path / "release.json").write_text(json.dumps(said))
    for flags in ((), ("--json",), ("--across", MOVES), ("--across", "no" + MOVES, "--json")):
        with pytest.raises(SystemExit):
            main(["table", str(tmp_path), *flags])
        shown = capsys.readouterr()
        for text in (shown.out, shown.err):
            assert all(c.isprintable() or c == "\n" for c in text)
        if "--json" not in flags:
            assert not any(line.startswith("  verified") for line in shown.out.splitlines())
        elif shown.out and "rows" in (told := json.loads(shown.out)):
            assert told["rows"] == [["n", MOVES, "1"]]

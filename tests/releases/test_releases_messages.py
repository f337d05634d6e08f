"""Messages that led people astray: each says now what is wrong, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.words import catalogue

WHO = {"unit": "person", "column": "id"}


def _spec(source: str, statistic: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "account": "a",
        "purpose": "p",
        "source": source,
        "protect": {"unit": "person", "column": "id", "rows": 1},
        "budget": {"epsilon": 1.0},
        "statistics": [statistic or {"count": "rows"}],
        "ledger": "sqlite:///l.db",
        "output": "out",
    }


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("id;x\n1;2\n", "separated by semicolons"),
        ("id\tx\n1\t2\n", "separated by tabs"),
        ("", "no header line"),
        ("ID,x\n1,2\n", "no column 'id', but it has 'ID'"),
        ("Id,id,x\n1,1,2\n", "differ in upper and lower case"),
    ],
)
def test_a_header_that_does_not_fit_is_explained(written: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(written)
    with pytest.raises(DiscreetError, match=says):
        discreet.preview(_spec("d.csv"), folder=tmp_path)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "d.db")).execute("create table visits (id int)").close()
    with pytest.raises(DiscreetError, match="no table 'visit'"):
        discreet.preview(_spec("duckdb:///d.db?table=visit"), folder=tmp_path)
    discreet.preview(_spec("duckdb:///d.db?table=visits"), folder=tmp_path)


@pytest.mark.parametrize(
    ("statistic", "says"),
    [
        ({"quantile": "x", "at": 50, "bounds": [0, 1], "resolution": 1}, "50 % is written 0.5"),
        ({"sum": "x", "bounds": 5, "resolution": 1}, "it must be a list"),
        ({"sum": "x", "bounds": [0, 1, 2], "resolution": 1}, "at most 2 entries"),
        ({"count": "rows", "by": 5}, "it must be a list"),
        ({"count": "rows", "within": {"error": 1e-4}}, "What would fit: count_rows_1 within 3"),
    ],
)
def test_a_wrong_value_is_explained(statistic: dict[str, Any], says: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,x\n1,2\n")
    with pytest.raises(DiscreetError, match=says) as refused:
        discreet.preview(_spec("d.csv", statistic), folder=tmp_path)
    assert "tuple" not in str(refused.value)


def test_a_second_run_is_confirmed_by_true_and_python_hears_of_no_flag(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,x\n1,2\n")
    Ledger.open(f"sqlite:///{tmp_path / 'l.db'}").open_account(
        "a",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(9.0),
        approver="a",
        reason="b",
    )
    discreet.release(_spec("d.csv"), folder=tmp_path)
    with pytest.raises(DiscreetError) as refused:
        discreet.release(_spec("d.csv"), folder=tmp_path)
    assert "--" not in str(refused.value)
    discreet.release(_spec("d.csv"), folder=tmp_path, confirm=True)


def test_nulls_are_described_in_one_way() -> None:
    said = str(catalogue().entry("statements.bias.nulls"))
    assert "without a unit or a key is left out" in said
    assert "without a value adds nothing" in said
    docs = Path(__file__).parents[2] / "docs" / "spec.md"
    for text in (docs, catalogue().folder / "release.yaml"):
        line = next(x for x in text.read_text().splitlines() if "nulls" in x and "drop" in x)
        assert "left out" in line
        assert "without a value" in line
        assert "adds nothing" in line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"purpose": None, "purpse": "p"}, "purpse is not a key of a spec; the nearest is purpose"),
        ({"protect": {"unit": "person", "column": "id", "row": 1}}, "the nearest is rows"),
        ({"statistics": [{"count": "rows", "sets": [["a"]]}]}, "statistic 1.sets is not a key"),
        ({"interval": 95}, "so 95 % is 0.95"),
        ({"zzz": 1}, "see docs/spec.md"),
        ({"statistics": [{"rate": {"of": "x", "per": 1}}]}, "rate.of is not a key of a spec; see"),
        ({"budget": None}, "no ledger is read here. Make a dry run of the release"),
        ({"tolerance": {"posterior": 0.2}}, 'for a single run, with changes={"tolerance": None}'),
        ({"promise": {"posterior": 0.2}}, 'with changes={"promise": None}'),
    ],
)
def test_a_slip_is_met_with_what_was_probably_meant(change: dict[str, Any], says: str) -> None:
    spec = {key: value for key, value in (_spec("d.csv") | change).items() if value is not None}
    with pytest.raises(DiscreetError) as refused:
        discreet.check(spec)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("let.late", {"let": {"late": "{}"}}),
        ("where", {"where": "{}"}),
        ("n.where", {"statistics": [{"count": "rows", "name": "n", "where": "{}"}]}),
        ("per_unit.f", {"protect": WHO, "per_unit": {"f": {"any": "{}"}}}),
        ("let.m", {"protect": WHO, "per_unit": {"f": "count"}, "let": {"m": "f > 0 and {}"}}),
    ],
)
@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("dep_dely > 60", "no column 'dep_dely'; the nearest is 'dep_delay'"),
        ("CARRIER = 'UA'", "no column 'CARRIER'; the nearest is 'carrier'"),
        ("carrier = UA", "no column 'UA'; check its name. If it is a text, write it in quotes"),
    ],
)
def test_a_formula_is_named_by_its_key_and_a_column_by_the_nearest(
    key: str, change: dict[str, Any], formula: str, says: str, tmp_path: Path
) -> None:
    if key == "let.m":  # It sees features and not the columns that they are made of.
        formula, says = "g > 0", "no column 'g'"
    spec = _spec("d.csv") | json.loads(json.dumps(change).replace("{}", formula))
    (tmp_path / "d.csv").write_text("id,dep_delay,carrier\n1,2,UA\n")
    columns: Any = {"id": "text", "dep_delay": "number", "carrier": "text"}
    for refuse in (
        lambda: discreet.preview(spec, folder=tmp_path),
        lambda: discreet.check(spec, columns=columns),
    ):
        with pytest.raises(DiscreetError) as refused:
            refuse()
        assert str(refused.value).startswith(f"{key}: ")
        assert says in str(refused.value)


def test_a_file_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError) as refused:
        discreet.preview(_spec(str(tmp_path / "nope.csv")), folder=tmp_path)
    assert str(refused.value).count("nope.csv") == 1
    with pytest.raises(DiscreetError) as refused:
        discreet.preview(_spec("nope.csv"), folder=tmp_path)
    assert str(tmp_path / "nope.csv") in str(refused.value)

"""Tables that people open: pivoted right, readable by spreadsheets, with nothing to compute."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cli import main
from discreet.errors import InputError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release
from discreet.releases.sheets import (
    Sheet,
    notes,
    release_workbook,
    spreadsheet_csv,
    tidy,
    wide,
    workbook,
)
from discreet.releases.tables import Table
from discreet.reports.stored import read_release
from discreet.synthetic import synthesize
from discreet.synthetic.files import read as read_synthetic
from soaking import examples

NS = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
SAID: dict[str, Any] = {
    "table": {
        "statistic": ["visits", "visits", "visits", "visits", "total"],
        "county": ["north", "north", "(all)", "(all)", None],
        "age": ["young", "old", "young", "old", None],
        "value": ["1", "-2.5", "3", "4", "9"],
        "interval_low": ["0", "-3", "2", "3", "8"],
        "interval_high": ["2", "-2", "4", "5", "10"],
    },
    "spec": {"labels": {"visits": "Visits", "young": "Young people"}},
}


OWN = {
    "county": {"name": "County", "keys": {"north": "North"}},
    "age": {"keys": {"old": "Old people"}},
    "north": "nobody",
    "young": "Young people",
}


def test_a_column_has_labels_of_its_own_for_keys_that_others_have() -> None:
    """Texts by key alone called the 1 of one column by the name of another column's 1."""
    said = SAID | {"spec": {"labels": OWN}}
    assert tidy(said).header[1:3] == ("County", "age")
    assert tidy(said).rows[1][:3] == ("visits", "North", "Old people")
    shown = wide(said, statistic="visits")
    assert shown.header == ("statistic", "County", "Young people", "Old people")
    assert [row[1] for row in shown.rows] == ["North", "(all)"]


def cells_of(book: bytes, number: int) -> dict[str, tuple[str, str, bool]]:
    """The cells of a sheet: the kind, the text, and whether it is bold (odd styles are)."""
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        assert archive.testzip() is None
        root = ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))  # noqa: S314
    assert not root.findall(".//s:f", NS)  # no formula anywhere
    found = {}
    for cell in root.findall(".//s:c", NS):
        kind = cell.get("t", "n")
        held = cell.find("s:is/s:t", NS) if kind == "inlineStr" else cell.find("s:v", NS)
        assert held is not None
        found[str(cell.get("r"))] = (kind, held.text or "", int(cell.get("s", 0)) % 2 == 1)
    return found


def test_the_keys_of_a_column_stand_side_by_side() -> None:
    found = wide(SAID)
    assert found.intervals[0] == ("0.0 to 2.0", "-3.0 to -2.0", None)
    assert found.shown[0] == ("Visits", "north", "1.0", "-2.5", None)
    assert replace(found, intervals=(), even=()) == Sheet(
        "Wide",
        ("statistic", "county", "Young people", "old", "value"),
        (
            ("Visits", "north", "1", "-2.5", None),
            ("Visits", "(all)", "3", "4", None),
            ("total", None, None, None, "9"),
        ),
        2,
    )
    by_county = wide(SAID, "county")
    assert by_county.header == ("statistic", "age", "north", "(all)", "value")
    with pytest.raises(InputError, match="county, age"):
        wide(SAID, "sex")


MIXED: dict[str, Any] = {
    "table": {
        "statistic": ["jobs", "jobs", "deciles", "deciles", "mean", "cut/jobs/rows"],
        "sex": ["f", "m", None, None, "f", None],
        "at": [None, None, "0.1", "0.9", None, None],
        "value": ["1", "2", "30", "90", "55.5", "7"],
    },
    "cut": [{"name": "cut/jobs/rows"}],
}


def test_quantiles_keep_their_shares_apart_and_what_was_cut_is_no_row() -> None:
    """Shares became the columns, all other numbers one column `value`, and cut/… stood below."""
    found = wide(MIXED)
    assert found.header == ("statistic", "at", "f", "m", "value")
    assert found.rows == (
        ("jobs", None, "1", "2", None),
        ("deciles", "0.1", None, None, "30"),
        ("deciles", "0.9", None, None, "90"),
        ("mean", None, "55.5", None, None),
    )
    assert len(tidy(MIXED).rows) == 6  # as it is stored


def test_one_statistic_makes_a_table_with_its_own_columns() -> None:
    assert wide(MIXED, statistic="jobs").header == ("statistic", "f", "m")
    assert wide(MIXED, statistic="deciles").rows == (("deciles", "30", "90"),)
    assert wide(MIXED, statistic="cut/jobs/rows").rows == (("cut/jobs/rows", "7"),)
    assert tidy(MIXED, "mean").header == ("statistic", "sex", "value")
    assert tidy(MIXED, "mean").rows == (("mean", "f", "55.5"),)
    with pytest.raises(InputError, match="jobs, deciles, mean"):
        wide(MIXED, statistic="means")
    with pytest.raises(InputError, match="called 'sex'"):
        wide(MIXED, "sex", "deciles")


def test_the_command_line_shows_one_statistic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = MIXED | {"release_id": "x", "account": "a", "spent": {"epsilon": 1}, "spec": {}}
    (tmp_path / "release.json").write_text(json.dumps(told))
    with pytest.raises(SystemExit):
        main(["table", str(tmp_path), "--wide", "--statistic", "deciles", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["columns"] == ["statistic", "0.1", "0.9"]
    assert shown["rows"] == [["deciles", "30", "90"]]


def test_the_command_line_says_that_only_so_many_rows_of_a_unit_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Totals were shown like those of all rows."""

    def told(bounds: dict[str, Any], *more: str) -> Any:
        own = {"unit_name": "one person", "plan": {"contributions": bounds}}
        said = MIXED | {"release_id": "x", "account": "a", "spent": {"epsilon": 1}, "spec": {}}
        (tmp_path / "release.json").write_text(json.dumps(said | own))
        with pytest.raises(SystemExit) as ended:
            main(["table", str(tmp_path), *more])
        assert not ended.value.code
        return capsys.readouterr().out

    low = {"of": "rows", "values": "low"}
    jobs = {"rows": 4, "groups": 2, "left_out": low | {"of": "groups"}}
    bounds = {"jobs": jobs, "mean": {"rows": 6, "groups": 1, "left_out": low}}
    assert "\nOf one person, at most 6 rows count, in at most 2 groups. What is" in told(bounds)
    one = told(bounds, "--statistic", "mean", "--json")
    (note,) = json.loads(one)["notes"]
    assert note.startswith("Of one person, at most 6 rows count. What is beyond is left out")
    units = {"jobs": {"rows": 1, "groups": 1, "left_out": low | {"of": "units"}}}
    assert "\nOf one person, at most 1 group counts. What is beyond" in told(units)
    # Where nothing is left out, and of a release of a version before, nothing is said.
    for nothing in ({"jobs": jobs | {"left_out": None}}, {"jobs": {"rows": 4, "groups": 1}}):
        assert "Of one person" not in told(nothing)


def test_shares_are_numbers_in_every_frame_and_groups_called_at_are_texts() -> None:
    """They were texts in Parquet and Polars, and numbers to whoever read the CSV file."""
    table = Table(MIXED["table"])
    assert table.to_columns()["at"][2:4] == [0.1, 0.9]
    assert table.to_arrow().schema.field("at").type == pa.float64()
    assert table.to_polars()["at"].dtype == pl.Float64
    for keys in (["home", "away"], ["1", "2"]):
        groups = Table({"statistic": ["n", "n"], "at": keys, "value": ["1", "2"]})
        assert groups.to_columns()["at"] == keys
        assert groups.to_arrow().schema.field("at").type == pa.string()


def test_a_workbook_has_numbers_as_numbers_texts_as_texts_and_totals_in_bold() -> None:
    book = workbook([tidy(SAID), wide(SAID)])
    assert book == workbook([tidy(SAID), wide(SAID)])
    cells = cells_of(book, 2)
    assert cells["A1"] == ("inlineStr", "statistic", True)
    assert cells["D2"] == ("n", "-2.5", False)
    assert cells["B3"] == ("inlineStr", "(all)", True)
    assert cells["C3"] == ("n", "3", True)
    assert "C4" not in cells
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        listed = ElementTree.fromstring(archive.read("[Content_Types].xml"))  # noqa: S314
        parts = {one.get("PartName", "")[1:] for one in listed} - {""}
        assert parts <= set(archive.namelist())
        assert set(archive.namelist()) - parts == {
            "[Content_Types].xml", "_rels/.rels", "xl/_rels/workbook.xml.rels"
        }  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(texts=st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_any_text_is_a_text(texts: list[str]) -> None:
    """What XML cannot hold is replaced; nothing else changes, and nothing can be computed."""
    rows = tuple((text, "1") for text in texts)
    sheet = Sheet("t", ("a", "b"), rows, 1)
    cells = cells_of(workbook([sheet]), 1)
    for number, text in enumerate(texts, start=2):
        kind, held, _ = cells[f"A{number}"]
        assert kind == "inlineStr"
        if all(c >= " " and c != "\ufffe" and c != "\uffff" for c in text) and "_x" not in text:
            assert held == text
    read = list(csv.reader(io.StringIO(spreadsheet_csv(sheet).decode("utf-8-sig"), newline="")))
    for (text, _), (held, *_) in zip(rows, read[1:], strict=True):
        assert held in (text, f"'{text}")
        assert not held.lstrip().startswith(("=", "@"))


def test_what_looks_like_an_escape_stays_as_it_is() -> None:
    sheet = Sheet("t", ("a", "b"), (("_x000D_", "12345678901234567"),), 1)
    cells = cells_of(workbook([sheet]), 1)
    assert cells["A2"][1] == "_x005F_x000D_"  # as programs write the text _x000D_
    assert cells["B2"] == ("inlineStr", "12345678901234567", False)


def test_the_twin_is_what_a_wide_table_shows() -> None:
    table = SAID["table"] | {"published": ["1", "0", "3", "4", None]}
    assert wide(SAID | {"table": table}).rows[0] == ("Visits", "north", "1", "0", None)
    assert wide(SAID | {"table": table}).rows[2][-1] == "9"


MEANS: dict[str, Any] = {
    "table": {
        "statistic": ["n", "n", "m", "m", "m", "m", "s", "s"],
        "sex": ["f", "m"] * 4,
        "region": [None, None, "north", "north", "west", "west", None, None],
        "value": ["3", "12", "12.5", "12.4837", "0", "46.9328125", "0.5", "0.25"],
        "interval_low": ["1", "2", "3", "12.1234", "0", "41.9999901", "0", "0.2"],
        "interval_high": ["1", "2", "30", "12.6", "100", "50.0000001", "1", "0.3"],
    },
    "spec": {
        "account": "a",
        "purpose": "p",
        "protect": {"unit": "person", "column": "u", "rows": 1},
        "budget": {"epsilon": 1},
        "ledger": "sqlite:///l.db",
        "output": "out",
        "statistics": [
            {"name": "n", "count": "rows", "by": ["sex"], "keys": {"sex": ["f", "m"]}},
            {"name": "m", "mean": "x", "bounds": [0, 100], "resolution": 0.1},
            {"name": "s", "share": {"of": "n", "among": {"count": "rows", "name": "all"}}},
        ],
    },
}


def test_a_value_that_tells_nothing_is_marked_in_every_table() -> None:
    """Wide tables and workbooks showed a mean of 0 like any other: its interval was 0 to 100."""
    found = wide(MEANS, "sex")
    assert found.header == ("statistic", "region", "note", "f", "m")
    assert [row[2] for row in found.shown] == [
        *(None, None), "interval tells nothing: f", "interval tells nothing: f"
    ]  # fmt: skip
    assert [row[3] for row in tidy(MEANS).rows].count("interval tells nothing") == 2
    assert wide(MEANS, "sex", statistic="n").header == ("statistic", "f", "m")
    assert b"m;west;interval tells nothing: f;0,000;46,933" in spreadsheet_csv(found, ";", ",")
    told = {"purpose": "p", "release_id": "x", "made": "t", "unit_name": "one person"}
    told |= {"spent": {"epsilon": 1}, "interval": 0.9, "explanations": {}, "cut": []}
    lines = [text for what, text in notes(MEANS | told).rows if what == "Interval tells nothing"]
    assert len(lines) == 2
    assert "m: 1 value has the interval from 0 to 100" in str(lines[0])
    book = release_workbook(MEANS | told, "sex")
    assert cells_of(book, 2)["C5"] == ("inlineStr", "interval tells nothing: f", False)
    assert "interval tells nothing" in {text for _, text, _ in cells_of(book, 1).values()}


def test_numbers_of_a_statistic_are_shown_with_as_many_decimals() -> None:
    """Means stood as 12.5, 12.4837, 0 and 46.9328125 in one column; what was released stays."""
    means = [row[-3:] for row in tidy(MEANS).shown if row[0] == "m"]
    assert means == [
        ("12.500", "3.000", "30.000"),
        ("12.484", "12.123", "12.600"),
        ("0.000", "0.000", "100.000"),
        ("46.933", "41.999", "50.001"),
    ]
    assert [row[-3] for row in tidy(MEANS).shown if row[0] == "n"] == ["3", "12"]
    assert [row[-3] for row in tidy(MEANS).rows][2:6] == MEANS["table"]["value"][2:6]
    assert b",46.9328125," in spreadsheet_csv(tidy(MEANS))
    book = workbook([tidy(MEANS)])
    assert cells_of(book, 1)["E7"] == ("n", "46.9328125", False)
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        assert '<c r="E7" s="6">' in sheet
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))  # noqa: S314
    kept = styles.findall("s:cellXfs/s:xf", NS)[6].get("numFmtId")
    formats = {n.get("numFmtId"): n.get("formatCode") for n in styles.iter(f"{{{NS['s']}}}numFmt")}
    assert formats[kept] == "0.000"
    odd = MEANS | {
        "table": MEANS["table"] | {"value": ["1e3", "1/3", "1", "2", "3", "4", "5", "6"]}
    }
    assert tidy(odd).shown[0][4] == "1e3"


def test_csv_for_spreadsheets_has_a_mark_and_the_signs_that_are_asked_for() -> None:
    text = spreadsheet_csv(wide(SAID), ";", ",")
    assert text.startswith(b"\xef\xbb\xbfstatistic;county;Young people;old;value\r\n")
    assert b"Visits;north;1,0;-2,5;\r\n" in text
    assert spreadsheet_csv(wide(SAID), "tab").count(b"\t") == 16
    for separator, decimal in ((",", ","), ("|", "."), (";", "·")):
        with pytest.raises(InputError, match="do not go together"):
            spreadsheet_csv(wide(SAID), separator, decimal)


def test_shares_of_quantiles_are_numbers_in_spreadsheets_too() -> None:
    """They kept a decimal point beside values with a comma, and were texts in workbooks."""
    assert b"deciles;;0,1;30\r\n" in spreadsheet_csv(tidy(MIXED), ";", ",")
    assert b"deciles;0,9;;;90\r\n" in spreadsheet_csv(wide(MIXED), ";", ",")
    apart = spreadsheet_csv(wide(MIXED, statistic="deciles"), ";", ",")
    assert apart.decode("utf-8-sig") == "statistic;0,1;0,9\r\ndeciles;30;90\r\n"
    assert b"deciles,,0.1,30\r\n" in spreadsheet_csv(tidy(MIXED))
    book = workbook([tidy(MIXED), wide(MIXED)])
    assert cells_of(book, 1)["C4"][:2] == ("n", "0.1")
    assert cells_of(book, 2)["B4"][:2] == ("n", "0.9")
    labelled = MIXED | {"spec": {"labels": {"0.1": "one in ten", "at": "share"}}}
    assert b"deciles;;one in ten;30\r\ndeciles;;0,9;90\r\n" in spreadsheet_csv(
        tidy(labelled), ";", ","
    )
    assert cells_of(workbook([tidy(labelled)]), 1)["C4"][:2] == ("inlineStr", "one in ten")
    groups = {"statistic": ["n", "n"], "at": ["0.5", "1.5 km"], "value": ["1", "2"]}
    assert b"n;0.5;1\r\n" in spreadsheet_csv(tidy({"table": groups}), ";", ",")
    assert cells_of(workbook([tidy({"table": groups})]), 1)["B2"][:2] == ("inlineStr", "0.5")


def test_notes_say_what_is_protected_and_what_intervals_leave_out(
    spec: dict[str, Any], people: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account()
    made = release(spec, data=people, folder=tmp_path)
    said = read_release(made.statement.parent)
    told = dict(notes(said).rows)
    assert told["Protected unit"] == "one person"
    assert told["Release"] == made.release_id
    assert "How many rows there are" in str(told["count_rows_1"])
    assert any("noise alone" in str(text) for _, text in notes(said).rows)
    assert len(cells_of(workbook([tidy(said), wide(said), notes(said)]), 3)) > 12


def test_synthetic_records_are_no_formulas_either(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open_account(
        "people", unit="record", adjacency="replace", filter="pure",
        cap=PureDP(9.0, adjacency="replace"), approver="a", reason="b",
    )  # fmt: skip
    asked = {
        "account": "people", "purpose": "p", "ledger": "sqlite:///ledger.db", "output": "out",
        "protect": {"unit": "record", "adjacency": "replace"}, "budget": {"epsilon": 2.0},
        "columns": ["answer"], "n_synthetic": 60, "keys": {"answer": ["=1+1", "no", "'quoted"]},
    }  # fmt: skip
    data = pa.table({"answer": ["=1+1", "no", "'quoted"] * 20})
    made = synthesize(asked, data=data, folder=tmp_path)
    folder = tmp_path / "out" / str(made.release_id)
    written = (folder / "table.csv").read_text()
    texts = {row[0] for row in list(csv.reader(io.StringIO(written)))[1:]}
    assert texts <= {"'=1+1", "no", "''quoted"}
    assert set(made.to_columns()["answer"]) <= {"=1+1", "no", "'quoted"}
    assert read_synthetic(folder).counts.sum() == len(made.to_columns()["answer"])


@pytest.mark.parametrize(
    "forged",
    ["=cmd|' /C calc'!A0", "1</v></c><c t='str'><f>1+1</f><v>1", "\x1b[2J", "1e9999", "nan", 3],
)
@pytest.mark.parametrize("column", ["value", "interval_low"])
def test_a_number_that_is_none_is_written_nowhere(
    column: str, forged: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever passes a folder on can write what they like where a number stands."""
    table = SAID["table"] | {column: ["1", forged, "3", "4", "9"]}
    told = SAID | {"table": table, "release_id": "x", "account": "a", "spent": {"epsilon": 1}}
    (tmp_path / "release.json").write_text(json.dumps(told))
    made = [tmp_path / "table.csv", tmp_path / "table.xlsx"]
    for flags in ((), ("--csv", str(made[0])), ("--xlsx", str(made[1]))):
        with pytest.raises(SystemExit) as end:
            main(["table", str(tmp_path), *flags])
        assert end.value.code == 2
    assert not any(path.exists() for path in made)
    assert "\x1b" not in "".join(capsys.readouterr())


def test_of_two_files_none_is_left_if_one_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = SAID | {"release_id": "x", "account": "a", "spent": {"epsilon": 1}, "purpose": "p"}
    told |= {"made": "m", "unit_name": "u", "interval": 0.95, "explanations": {}}
    (tmp_path / "release.json").write_text(json.dumps(told))
    files = [tmp_path / "table.csv", tmp_path / "nowhere" / "table.xlsx"]
    for kept in (None, b"earlier"):
        if kept is not None:
            files[0].write_bytes(kept)
        with pytest.raises(SystemExit) as end:
            main(["table", str(tmp_path), "--csv", str(files[0]), "--xlsx", str(files[1])])
        assert end.value.code == 2
        assert "table.xlsx cannot be written" in capsys.readouterr().err
        assert (files[0].read_bytes() if files[0].exists() else None) == kept


def test_a_table_wider_than_a_workbook_has_its_long_sheet_alone() -> None:
    size = 2**14
    keys = [str(key) for key in range(size)]
    said = {"purpose": "p", "release_id": "r", "made": "m", "unit_name": "u", "interval": 0.95}
    said |= {"spent": {"epsilon": 1}, "explanations": {}, "table": {"statistic": ["n"] * size}}
    said["table"] |= {"k": keys, "value": ["1"] * size}
    with zipfile.ZipFile(io.BytesIO(release_workbook(said))) as book:
        assert sum("worksheets" in name for name in book.namelist()) == 2
    with pytest.raises(InputError, match="16,385 columns"):
        release_workbook(said, "k")

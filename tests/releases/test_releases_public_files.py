"""Public files beside a spec: keys, numbers and joined tables, as spreadsheets write them.

Of protected data, what is written otherwise counts as missing: a refusal would tell of a row. Of
public data it is refused, since nothing may be published as noise where a file was misread.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import check
from discreet.errors import DiscreetError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import preview, release
from discreet.releases.spec import load

HEAD = "Nr;Kreis;Kosten\n"
ROWS = "".join(f"p{i};{'Köln' if i % 3 else 'Bonn'};{i}\n" for i in range(3000))


def _made(spec: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger = Ledger.open(spec["ledger"])
    ledger.open_account("people", cap=PureDP(1.0), approver="A", reason="b", **terms)
    rows: list[dict[str, Any]] = release(spec, folder=folder).table.to_arrow().to_pylist()
    return rows


def _spec(folder: Path, **changes: Any) -> dict[str, Any]:
    (folder / "visits.csv").write_text(HEAD + ROWS, encoding="utf-8")
    source = {"path": "visits.csv", "delimiter": ";", "decimal": ",", "encoding": "utf-8"}
    return {
        "account": "people",
        "purpose": "test",
        "source": source,
        "protect": {"unit": "person", "column": "Nr", "rows": 1},
        "budget": {"epsilon": 1.0},
        "statistics": [{"count": "rows", "by": ["Kreis"], "keys": {"Kreis": "keys.csv"}}],
        "ledger": f"sqlite:///{folder / 'ledger.db'}",
        "output": str(folder / "out"),
    } | changes


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_keys_are_read_with_the_sign_that_the_header_shows(
    sign: str, encoding: str, tmp_path: Path
) -> None:
    text = f"Kreis{sign}Einwohner\nKöln{sign}1084831\nBonn{sign}331885\n"
    (tmp_path / "keys.csv").write_text(text, encoding=encoding)
    rows = _made(_spec(tmp_path), tmp_path)
    assert [row["Kreis"] for row in rows] == ["Köln", "Bonn"]
    # 2,000 and 1,000 rows; noise beyond 40 has probability below 1e-17.
    assert [round(row["value"], -2) for row in rows] == [2000, 1000]


def test_the_dry_run_lists_keys_as_they_were_read(tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("Kreis;x\nKöln;1\nBonn;2\nDüren;3\nUnna;4\n")
    notes = preview(_spec(tmp_path), folder=tmp_path).notes
    assert "keys.csv has 4 keys for 'Kreis': Köln, Bonn, Düren, …." in notes


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("Kreis\nKöln\n".encode("cp1252"), "line 2 of the public file keys.csv is not in UTF-8"),
        ("Größe\nKöln\n".encode("cp1252"), "line 1 of the public file keys.csv is not in UTF-8"),
        (b"Kreis;x\nBonn;1\nUnna\n", "line 3 of the public file keys.csv does not have the 2"),
        (b'Kreis\n"Bonn\n', "line 2 of the public file keys.csv does not have the 1 column"),
    ],
)
def test_keys_that_cannot_be_read_are_refused(written: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_bytes(written)
    with pytest.raises(SpecError, match=why) as told:
        preview(_spec(tmp_path), folder=tmp_path)
    assert told.value.next


def _rate(folder: Path, numbers: str) -> dict[str, Any]:
    (folder / "keys.csv").write_text("Kreis\nKöln\nBonn\n", encoding="utf-8")
    (folder / "per.csv").write_text(numbers, encoding="utf-8")
    count = {"count": "rows", "by": ["Kreis"], "keys": {"Kreis": "keys.csv"}, "name": "n"}
    return _spec(folder, statistics=[count, {"rate": {"events": "n", "per": "per.csv"}}])


@pytest.mark.parametrize(
    "numbers",
    [
        *("1000\nBonn;500", "1.000,0\nBonn;500,00", "1000,0\nBonn;500"),
        *("1'000\nBonn;500", "1\N{RIGHT SINGLE QUOTATION MARK}000\nBonn;500", "1 000\nBonn;500.0"),
    ],
)
def test_rates_are_per_numbers_as_they_are_written(numbers: str, tmp_path: Path) -> None:
    rows = _made(_rate(tmp_path, f"Kreis;Leute\nKöln;{numbers}\n"), tmp_path)
    rates = [row["value"] for row in rows if row["statistic"] != "n"]
    assert [round(rate, 0) for rate in rates] == [2, 2]  # 2,000 per 1,000, 1,000 per 500


@pytest.mark.parametrize("per", [{"path": "per.csv", "delimiter": ";"}, [1, 2]])
def test_what_a_rate_is_per_is_told(per: Any, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="per must be a number, a mapping from keys to numbers"):
        load(_spec(tmp_path, statistics=[{"rate": {"events": "n", "per": per}}]), folder=tmp_path)


def test_a_point_that_may_stand_between_thousands_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"264\.638, which may be 264638") as told:
        preview(_rate(tmp_path, "Kreis;Leute\nKöln;264.638\nBonn;33188\n"), folder=tmp_path)
    assert told.value.next
    # Beside a number with two points it is no decimal.
    preview(_rate(tmp_path, "Kreis;Leute\nKöln;1.084.831\nBonn;331.885\n"), folder=tmp_path)


def _joined(folder: Path, written: bytes, **how: Any) -> dict[str, Any]:
    (folder / "table.csv").write_bytes(written)
    join = {"source": {"path": "table.csv", "delimiter": ";", **how}, "by": "Kreis", "public": True}
    sizes = {"size": "bin(Leute, [0, 300000, 500000])"}
    counted = [{"count": "rows", "by": ["size"]}]
    return _spec(folder, join=[join], let=sizes, statistics=counted)


@pytest.mark.parametrize(
    ("rows", "how", "why"),
    [
        ("Köln;1084831\nBonn;331885\n", {"encoding": "windows-1252"}, None),
        ("Köln;1084831\nBonn;331885\n", {}, "line 2 of the public file table.csv is not in UTF-8"),
        ("Bonn;331885\nUnna\n", {}, "line 3 of the public file table.csv does not have the 2"),
        ("Unna;1.084.831\nBonn;331.885\n", {}, "not written as the numbers of the others"),
        ("Unna;264.638\nBonn;331.885\n", {}, "may be 264638 or less than 265"),
        ("Unna;264.638\nBonn;331.885\n", {"decimal": "."}, None),
        ("Unna;1.084.831\nBonn;331.885\n", {"decimal": ","}, None),
        ("Unna;5\nBonn;k.A.\n", {"types": {"Leute": "number"}}, "not written as its type says"),
        ("Unna;5\nBonn;k.A.\n", {}, "a number was expected, and this is a text"),
        ("Unna;5\nBonn;k.A.\n", {"nulls": "k.A."}, None),
        ("Unna;\nBonn;5\n", {}, None),
    ],
)
def test_a_public_table_is_read_whole_or_refused(
    rows: str, how: dict[str, Any], why: str | None, tmp_path: Path
) -> None:
    spec = _joined(tmp_path, f"Kreis;Leute\n{rows}".encode("cp1252"), **how)
    if why is None:
        preview(spec, folder=tmp_path)
        return
    with pytest.raises(DiscreetError, match=why):
        preview(spec, folder=tmp_path)


def test_a_public_table_is_looked_up_by_a_column_with_a_type(tmp_path: Path) -> None:
    """As a number its key is 5, and as it is written 05."""
    (tmp_path / "table.csv").write_text("zone,Leute\n05,7\n", encoding="utf-8")
    types = {"zone": "integer", "Leute": "number"}
    join = {"source": {"path": "table.csv", "types": types}, "by": "zone", "public": True}
    spec = _spec(tmp_path, join=[join], statistics=[{"count": "rows", "where": "Leute > 1"}])
    (tmp_path / "visits.csv").write_text("Nr;zone\n1;5\n", encoding="utf-8")
    spec["source"]["types"] = {"zone": "integer"}
    preview(spec, folder=tmp_path)
    (tmp_path / "table.csv").write_text("zone,Leute\n05,7\nsix,8\n,9\n", encoding="utf-8")
    with pytest.raises(SpecError, match="a value of zone that is not written as its type says"):
        preview(spec, folder=tmp_path)


def test_a_public_table_with_days_and_truths_stays_as_it_was(tmp_path: Path) -> None:
    spec = _joined(tmp_path, b"Kreis;Leute;since;town\nBonn;5;1969-08-01;true\n")
    spec["where"] = "since < '1970-01-01' and town"
    preview(spec, folder=tmp_path)


def test_letters_need_an_encoding_where_the_header_does_not_show_it(tmp_path: Path) -> None:
    """In Windows-1252 no row of Köln would be found, and the table is noise there."""
    (tmp_path / "keys.csv").write_text("Kreis\nKöln\nBonn\n", encoding="utf-8")
    spec = _spec(tmp_path)
    assert preview(spec, folder=tmp_path).warnings == ()
    spec["source"] = {"path": "visits.csv", "delimiter": ";"}
    (warning,) = preview(spec, folder=tmp_path).warnings
    assert "'Köln' are found only if it is in UTF-8" in warning
    (tmp_path / "keys.csv").write_text("Kreis\nBonn\n", encoding="utf-8")
    assert preview(spec, folder=tmp_path).warnings == ()


def test_a_column_that_features_replaced_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("Kreis\nBonn\n", encoding="utf-8")
    spec = _spec(tmp_path, per_unit={"dear": {"any": "Kosten > 10"}})
    spec["source"]["types"] = {"Kosten": "number"}
    del spec["protect"]["rows"]
    with pytest.raises(
        SpecError,
        match=r"'Kreis' is a column of the rows before per_unit; .* the columns Nr, dear\.",
    ):
        preview(spec, folder=tmp_path)
    assert load(spec, folder=tmp_path)


@pytest.mark.parametrize(
    ("keys", "counts"),
    [(["18", "19"], [60, 40]), (["18.0", "19"], [60, 40]), (["18", "18.0"], [0, 60])],
)
def test_whole_keys_are_found_in_a_column_of_numbers(
    keys: list[str], counts: list[int], tmp_path: Path
) -> None:
    """They were compared as 18.0, and "18" was noise around 0. No row counts in two cells."""
    data = pa.table({"Nr": range(100), "age": [18.0] * 60 + [19.0] * 40})
    by_age = {"count": "rows", "by": ["age"], "keys": {"age": keys}}
    spec = _spec(tmp_path, statistics=[by_age], source=None, budget={"epsilon": 50.0})
    ledger = Ledger.open(spec["ledger"])
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("people", cap=PureDP(50.0), approver="A", reason="b", **terms)
    made = release(spec, data=data, folder=tmp_path)
    # At ε = 50 noise is 0 but with probability below 1e-20.
    assert [row["value"] for row in made.table.to_arrow().to_pylist()] == counts


def test_what_is_wrong_with_a_joined_file_names_it(tmp_path: Path) -> None:
    spec = _joined(tmp_path, b"Kreis;Leute\nBonn;5\n")
    spec["join"][0]["source"] = "table.csv"
    with pytest.raises(SpecError, match=r"join: 'table.csv': the columns .* semicolons") as told:
        preview(spec, folder=tmp_path)
    assert "delimiter: ';'" in str(told.value.next)


def test_a_joined_file_that_is_not_there_is_said_to_be_the_joined_one(tmp_path: Path) -> None:
    """Of a spec with two sources, "source is 'table.csv'; there is no such file" names neither."""
    spec = _joined(tmp_path, b"Kreis;Leute\nBonn;5\n")
    (tmp_path / "table.csv").unlink()
    columns: Any = {"Nr": "number", "Kreis": "text"}
    for refuse in (preview, partial(check, columns=columns)):
        with pytest.raises(SpecError, match=r"^the table that join names: .*no such file"):
            refuse(spec, folder=tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_key_that_no_row_of_a_joined_table_has_is_told_before_the_charge(
    kind: str, tmp_path: Path
) -> None:
    """Such a key is misspelt as a rule; it was published as noise around 0, without a word."""
    table = pa.table({"Kreis": ["Bonn", "Unna"], "Land": ["NW", "BY"], "Leute": [5, 6]})
    if kind == "csv":
        (tmp_path / "table.csv").write_text("Kreis,Land,Leute\nBonn,NW,5\nUnna,BY,6\n")
    else:
        pq.write_table(table, tmp_path / "table.parquet")
    join = {"source": f"table.{kind}", "by": "Kreis", "public": True}
    columns: Any = {"Nr": "number", "Kreis": "text"}

    def told(keys: list[str], by: str = "Land", **more: Any) -> list[list[str]]:
        counted = [{"count": "rows", "by": [by], "keys": {by: keys}}]
        spec = _spec(tmp_path, join=[join], statistics=counted, **more)
        looks = preview(spec, folder=tmp_path), check(spec, columns=columns, folder=tmp_path)
        return [[w for w in one.to_dict()["warnings"] if "no row of" in w] for one in looks]

    for (line,) in told(["NW", "BW", "by"]):
        assert line.startswith("Column Land comes from table.")
        assert "has the keys 'BW', 'by'. No row of the data can have them" in line
    assert told(["NW", "BY"]) == [[], []]
    assert told(["nowhere"], by="Kreis") == [[], []]  # a column of the data, which nobody looks at
    assert told(["nowhere"], by="own", let={"own": "lower(Land)"}) == [[], []]


MIXED = "N{n};{year};{model};{seats}\n"
PLANES = [("1999", "EMB-145XR", "55"), ("2004", "A320-214", "182"), ("2001", "737-824", "149")]


@pytest.mark.parametrize(
    ("models", "used", "why"),
    [
        (["150", "230"], "model in ('150', 'A320-214')", None),
        (["150", "230"], "model > 100", "was expected, and this is a"),
        (["150", "2,5"], "model = '150'", "not written as the numbers of the others"),
        (["150", "1.084.831"], "model = '150'", "not written as the numbers of the others"),
        (["150", "1\N{NO-BREAK SPACE}000"], "model = '150'", "not written as the numbers"),
        (["150", "2,5"], "seats > 100", None),  # model is not used
        (["150", "1.084.831"], "seats > 100", None),
        (["150"] * 4, "model = '150'", "not written as the numbers of the others"),
        (["150"] * 3, "model = '150'", "not written as the numbers of the others"),  # half and half
    ],
)
def test_a_column_of_texts_may_hold_some_that_look_like_numbers(
    models: list[str], used: str, why: str | None, tmp_path: Path
) -> None:
    """Of 3,322 models of aircraft 4 are numbers, and the file was refused for them."""
    planes = PLANES + [("2000", model, "7") for model in models]
    lines = [
        MIXED.format(n=n, year=year, model=model, seats=seats)
        for n, (year, model, seats) in enumerate(planes)
    ]
    (tmp_path / "planes.csv").write_text("Kreis;year;model;seats\n" + "".join(lines))
    source = {"path": "planes.csv", "delimiter": ";", "decimal": "."}
    join = {"source": source, "by": "Kreis", "public": True}
    spec = _spec(tmp_path, join=[join], statistics=[{"count": "rows", "where": used}])
    (tmp_path / "header.csv").write_text((tmp_path / "visits.csv").read_text())
    declared = spec | {"source": spec["source"] | {"types": {"Nr": "text", "Kreis": "text"}}}
    for look in (
        lambda: preview(spec, folder=tmp_path),
        lambda: check(declared, folder=tmp_path),
        lambda: check(spec, folder=tmp_path, header=tmp_path / "header.csv"),
    ):
        if why is None:
            look()
            continue
        with pytest.raises(DiscreetError, match=why):
            look()


def test_every_column_that_a_join_names_is_judged(tmp_path: Path) -> None:
    spec = _joined(tmp_path, b"Kreis;Leute;old\nBonn;5;1\nUnna;6;2,5\nTrier;7;3\n", decimal=".")
    preview(spec, folder=tmp_path)
    spec["join"][0]["columns"] = ["Leute", "old"]
    with pytest.raises(SpecError, match="in column 'old'"):
        preview(spec, folder=tmp_path)


def test_the_keys_of_a_lookup_table_are_its_values_listed_once(tmp_path: Path) -> None:
    """A table that is joined repeats its groups by nature, and was refused as a list of keys."""
    (tmp_path / "land.csv").write_text(
        "Kreis,Land\nTrier,RLP\nKöln,NRW\nMainz,RLP\nBonn,NRW\n", encoding="utf-8"
    )
    by_land = {"count": "rows", "by": ["Land"], "keys": {"Land": "land.csv"}}
    join = {"source": "./land.csv", "by": "Kreis", "public": True}
    rows = _made(_spec(tmp_path, join=join, statistics=[by_land]), tmp_path)
    assert [row["Land"] for row in rows] == ["RLP", "NRW"]
    assert abs(float(rows[1]["value"]) - 3000) < 40
    # Elsewhere a value that is listed twice may be a mistake.
    other = {"count": "rows", "by": ["Land"], "keys": {"Land": "copy.csv"}}
    (tmp_path / "copy.csv").write_bytes((tmp_path / "land.csv").read_bytes())
    with pytest.raises(SpecError, match="twice; list each once"):
        check(_spec(tmp_path, join=join, statistics=[other]), folder=tmp_path)
    by_kreis = {"count": "rows", "by": ["Kreis"], "keys": {"Kreis": "land.csv"}}
    (tmp_path / "land.csv").write_text("Kreis\nKöln\nKöln\n", encoding="utf-8")
    with pytest.raises(SpecError, match="twice; list each once"):
        check(_spec(tmp_path, statistics=[by_kreis]), folder=tmp_path)

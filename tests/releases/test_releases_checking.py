"""A spec without its data: checked, started from a file's columns, changed at run time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import yaml

import discreet
from discreet.cli import main
from discreet.errors import DataError, DiscreetError, PolicyError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases.checking import proposed_unit
from discreet.releases.spec import load

SPEC: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "source": "visits.csv",
    "protect": {"unit": "person", "column": "person", "rows": 2},
    "budget": {"epsilon": 1.0},
    "statistics": [
        {"count": "rows", "by": ["g"], "keys": {"g": ["a", "b"]}},
        {"sum": "x", "bounds": [0, 9], "resolution": 1},
    ],
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "release.yaml"
    path.write_text(yaml.safe_dump(SPEC))
    return path


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as out:
        main(list(words))
    return int(out.value.code or 0), capsys.readouterr().out


def test_a_check_needs_neither_data_nor_ledger_and_leaves_nothing(spec: Path) -> None:
    found = discreet.check(spec)
    assert (found.basis, list(found.columns)) == ("assumed", ["person", "g", "x"])
    assert found.spent == {"epsilon": 1.0, "delta": None, "rho": None}
    assert found.to_pandas()["statistic"].tolist() == ["count_rows_1", "sum_x_2"]
    assert [path.name for path in spec.parent.iterdir()] == ["release.yaml"]


def test_a_check_says_how_a_csv_file_is_taken_to_be_written(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A decimal comma that was declared wrongly makes every number a missing one."""
    spec.write_text(
        yaml.safe_dump(SPEC | {"source": {"path": "visits.csv", "delimiter": ";", "decimal": ","}})
    )
    code, out = _run(capsys, "check", str(spec))
    assert code == 0
    assert "numbers like 1234,5" in out
    assert any("1234,5" in note for note in discreet.check(spec).to_dict()["notes"])


def test_a_check_costs_what_the_release_would(spec: Path) -> None:
    (spec.parent / "visits.csv").write_text("person,g,x\n1,a,3\n")
    assert discreet.check(spec).plan.to_dict() == discreet.preview(spec).plan.to_dict()


def test_a_check_says_for_which_account_a_promise_with_a_confidence_is_priced(spec: Path) -> None:
    """A release prices it in ε or ρ by the filter of its account, which a check does not read."""
    promise = {"ratio": 3, "confidence": 0.99}
    given = SPEC | {"budget": None, "promise": promise}
    assert "the filter pure" in discreet.check(given).to_dict()["notes"][0]
    assert "the filter zcdp" in discreet.check(given | {"mechanism": "gaussian"}).notes[0]
    for sure in (given | {"promise": {"ratio": 3, "every_output": True}}, SPEC):
        assert not any("ledger" in note for note in discreet.check(sure).notes)


LET = SPEC | {
    "let": {"band": "bin(x, [0, 5, 9])", "old": "band = '5-9' and town = 'Lisbon'"},
    "where": "kept = home",
    "statistics": [{"count": "rows", "by": ["band", "old"]}, {"count": "rows"}],
}
READ = ["person", "x", "town", "kept", "home"]


@pytest.mark.parametrize("source", ["visits.csv", "visits.parquet"])
@pytest.mark.parametrize("some", [{}, {"x": "integer"}, {"x": "integer", "home": "text"}])
def test_a_check_asks_for_the_columns_that_derived_ones_are_made_of(
    source: str, some: dict[str, str]
) -> None:
    """A derived column was taken for one of the data: with types, check refused its name."""
    if source == "visits.csv" and some:
        some = some | {"home": "text"}  # two columns without a type cannot be compared
    found = discreet.check(LET | {"source": {"path": source, "types": some}})
    assert list(found.columns) == READ
    assert found.columns["x"] == some.get("x", "untyped")
    kinds = {"person": "integer", "x": "integer", "town": "text", "kept": "text", "home": "text"}
    known = discreet.check(LET, columns=kinds)
    assert found.plan.to_dict() == known.plan.to_dict()


def test_types_are_held_against_the_formulas_of_a_csv_file() -> None:
    declared = {"x": "text", "home": "text"}
    with pytest.raises(SpecError, match=r"let\.band"):
        discreet.check(LET | {"source": {"path": "visits.csv", "types": declared}})


def test_a_check_opens_public_tables_and_takes_protected_ones_as_they_are_said(
    tmp_path: Path,
) -> None:
    (tmp_path / "towns.csv").write_text("town,region\nLisbon,south\n")
    join = [
        {"source": "towns.csv", "by": "town", "public": True},
        {"source": "stays.csv", "by": "person", "rows": 2, "columns": ["ward"]},
    ]
    keys = {"region": ["south"], "ward": ["a", "b"]}
    asked = SPEC | {
        "source": {"path": "visits.csv", "types": {"person": "integer"}},
        "join": join,
        "statistics": [{"count": "rows", "by": ["region", "ward"], "keys": keys}],
    }
    with pytest.raises(SpecError, match=r"stays\.csv"):
        discreet.check(asked, columns={"person": "integer", "town": "text"}, folder=tmp_path)
    found = discreet.check(asked, folder=tmp_path)
    assert list(found.columns) == ["person", "town"]
    (tmp_path / "wards.csv").write_text("ward,beds\na,3\n")
    asked["join"] = [*join, {"source": "wards.csv", "by": "ward", "public": True}]
    assert list(discreet.check(asked, folder=tmp_path).columns) == ["person", "town"]


def test_a_header_is_compared_and_no_row_is_read(spec: Path, tmp_path: Path) -> None:
    header = tmp_path / "header.csv"
    header.write_text("person,g,x\n")
    assert discreet.check(spec, header=header).basis == "header"
    header.write_text("person,g,y\n")
    with pytest.raises(DataError, match="no column 'x'"):
        discreet.check(spec, header=header)
    with pytest.raises(DataError, match="numbers"):
        discreet.check(spec, columns={"person": "text", "g": "text", "x": "moment"})


def test_a_check_refuses_what_a_release_would(spec: Path) -> None:
    with pytest.raises(PolicyError):
        discreet.check(spec, changes={"statistics.1.keys": {}})
    with pytest.raises(SpecError, match="below the upper"):
        discreet.check(spec, changes={"statistics.2.bounds": [9, 0]})


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("budget.epsilon", 0.5, lambda spec: spec.budget.epsilon == 0.5),
        ("protect.rows", 7, lambda spec: spec.protect.rows == 7),
        ("statistics.2.weight", 3.0, lambda spec: spec.statistics[1].weight == 3.0),
        ("series.releases", 4, lambda spec: spec.series.releases == 4),
        ("interval", 0.9, lambda spec: spec.interval == 0.9),
        ("statistics.2", {"count": "rows"}, lambda spec: spec.statistics[1].kind == "count"),
    ],
)
def test_a_key_is_set_by_its_path(spec: Path, key: str, value: object, found: Any) -> None:
    assert found(load(spec, changes={key: value}))
    assert load(spec, changes={key: value}).changes == {key: value}
    assert found(load(load(spec), changes={key: value}))
    assert load(spec).changes == {}
    twice = load(load(spec, changes={key: value}), changes={"purpose": "again"})
    assert twice.changes == {key: value, "purpose": "again"}


def test_null_leaves_out_a_key_that_is_there(spec: Path) -> None:
    """Also where a spec may not have null; one that is not known stays refused."""
    declared = load(spec, changes={"source": {"path": "visits.csv", "types": {"cost": "number"}}})
    assert load(declared, changes={"source.types": None}).source.types == {}
    with pytest.raises(SpecError, match="purpose"):
        load(spec, changes={"purpose": None})
    with pytest.raises(SpecError, match="rowz"):
        load(spec, changes={"protect.rowz": None})


@pytest.mark.parametrize("key", ["statistics.0.weight", "statistics.3", "purpose.x", "", "a..b"])
def test_a_path_that_leads_nowhere_is_refused(spec: Path, key: str) -> None:
    with pytest.raises(SpecError):
        load(spec, changes={key: 1})


def test_what_was_set_at_run_time_is_recorded(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(5.0),
        approver="a",
        reason="b",
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "november.csv").write_text("person,g,x\n1,a,3\n2,b,4\n")
    monkeypatch.chdir(elsewhere)
    words = ["release", str(spec), "--source", "november.csv", "--set", "budget.epsilon=5e-1"]
    code, out = _run(capsys, *words, "--json")
    assert code == 0
    said = json.loads(out)
    assert said["spent"]["epsilon"] == 0.5
    stored = json.loads((Path(said["statement"]).parent / "release.json").read_text())
    assert stored["set"] == {"budget.epsilon": 0.5, "source": None}
    assert stored["spec"]["budget"] == {"epsilon": 0.5}
    code, _ = _run(capsys, "release", str(spec), "--set", "budget.epsilon", "--json")
    assert code == 2


def test_the_command_line_names_flags_for_what_check_cannot_know(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec.write_text(yaml.safe_dump(SPEC | {"budget": None}))
    for words, says in {
        (): "--dry-run, which reads the ledger",
        ("--set", "budget.epsilon=1", "--set", "tolerance.posterior=0.2"): "--set tolerance=null",
    }.items():
        with pytest.raises(SystemExit):
            main(["check", str(spec), *words])
        assert says in capsys.readouterr().err
    given = ["--set", "budget.epsilon=1", "--source", "november.csv", "--json"]
    code, out = _run(capsys, "check", str(spec), *given)
    assert (code, json.loads(out)["spent"]["epsilon"]) == (0, 1.0)


def test_a_table_of_a_database_is_listed_and_checked_by_its_url(
    spec: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A URL was read as a path: its slashes were lost."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("visits.db") as database:
        database.execute("create table visits as select 1 as patient, 'a' as g, 2 as x")
    url = f"duckdb:///{tmp_path / 'visits.db'}?table=visits"
    code, out = _run(capsys, "init", "new.yaml", "--from", url, "--json")
    assert code == 0
    assert [one["name"] for one in json.loads(out)["columns"]] == ["patient", "g", "x"]
    assert yaml.safe_load(Path("new.yaml").read_text())["source"] == url
    code, out = _run(capsys, "check", str(spec), "--header", url)
    assert code == 2
    changed = {**SPEC, "protect": {"unit": "person", "column": "patient", "rows": 2}}
    spec.write_text(yaml.safe_dump(changed))
    code, out = _run(capsys, "check", str(spec), "--header", url, "--json")
    assert (code, json.loads(out)["basis"]) == (0, "header")


def test_init_lists_the_columns_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text('person,"odd\nname",cost\n1,SECRET,3\n')
    code, out = _run(capsys, "init", "--from", "visits.csv", "--json")
    assert code == 0
    names = [one["name"] for one in json.loads(out)["columns"]]
    written = (tmp_path / "release.yaml").read_text()
    assert "SECRET" not in written + out
    assert all(json.dumps(name) in written for name in names)
    assert yaml.safe_load(written)["source"] == "visits.csv"


@pytest.mark.parametrize(
    "columns",
    [
        {"person": "text", "cost": "number"},
        {"Größe in cm": "number", "and": "text"},
        {"person": "integer", "at": "moment", "group": "text"},
        {"person": "integer", "name": "text"},
        {"ok": "truth"},
        {"person": "integer", "odd\n`name": "number"},
        {"person": "text"},
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_examples_of_a_written_spec_are_of_columns_that_are_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    columns: dict[str, str],
    suffix: str,
) -> None:
    """There was no example of `where`, `let` or `types`, and those of a template have others."""
    monkeypatch.chdir(tmp_path)
    values = {"text": ["a"], "number": [1.5], "integer": [1], "truth": [True]}
    at = pa.array([0], pa.timestamp("us"))
    table = pa.table({n: values.get(kind, at) for n, kind in columns.items()})
    name = f"d.{suffix}"
    pacsv.write_csv(table, name) if suffix == "csv" else pq.write_table(table, name)
    assert _run(capsys, "init", "--from", name)[0] == 0
    written = (tmp_path / "release.yaml").read_text()
    said = {
        key: re.search(rf"^# ({key}: .*)$", written, re.M) for key in ("source", "where", "let")
    }
    examples = {key: yaml.safe_load(found[1])[key] for key, found in said.items() if found}
    assert ("source" in examples) == (suffix == "csv")
    assert {"where", "let"} <= examples.keys()
    spec = {
        "account": "a",
        "purpose": "p",
        "source": name,
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1.0},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///l.db",
        "output": "out",
    } | examples
    discreet.preview(spec, folder=tmp_path)
    code, _ = _run(capsys, "init", "plain.yaml")
    plain = (tmp_path / "plain.yaml").read_text()
    for key in ("source", "where", "let"):
        plain = re.sub(rf"^{key}:.*\n", "", plain, flags=re.M)
        plain = re.sub(rf"^# {key}: ", f"{key}: ", plain, flags=re.M)
    (tmp_path / "plain.yaml").write_text(plain)
    assert (code, _run(capsys, "check", "plain.yaml")[0]) == (0, 0)


def test_init_proposes_how_a_file_is_written_and_who_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Semicolons in the header line were recognised and refused, with nowhere to name them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "besuche.csv").write_text("Patient-ID;Kosten\n1,5;SECRET\n")
    code, out = _run(capsys, "init", "german.yaml", "--from", "besuche.csv", "--json")
    written = (tmp_path / "german.yaml").read_text()
    spec = yaml.safe_load(written)
    assert code == 0
    assert [one["name"] for one in json.loads(out)["columns"]] == ["Patient-ID", "Kosten"]
    written_as = {"delimiter": ";", "decimal": ",", "thousands": "."}
    assert spec["source"] == {"path": "besuche.csv"} | written_as
    assert "the header line does not show the encoding" in written
    assert spec["protect"]["column"] == "Patient-ID"
    assert "discreet release german.yaml" in written
    assert "SECRET" not in written + out


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("d.csv", "in UTF-8, with ',' between columns, numbers like 1234.5"),
        (
            {"path": "d.csv", "delimiter": ";", "decimal": ",", "encoding": "latin-1"},
            "in LATIN-1, with ';' between columns, numbers like 1234,5 or 1.234,5",
        ),
        ("d.parquet", None),
    ],
)
def test_a_dry_run_says_how_a_csv_file_is_taken_to_be_written(
    source: Any, said: str | None
) -> None:
    spec = SPEC | {"source": source}
    columns = {"person": "text", "g": "text", "x": "number"}
    notes = " ".join(discreet.check(spec, columns=columns).plan.as_written)
    assert (said or "") in notes
    assert ("dates like 2026-01-31" in notes) == (said is not None)


@pytest.mark.parametrize(
    "name",
    [
        *("Patienten-Nr", "PatientenID", "Versichertennummer", "Kunden-Nr.", "Person-Nummer"),
        *("Identifiant", "id_patient", "numéro de patient", "Paciente", "id_usuario", "person"),
    ],
)
def test_the_column_of_a_person_is_proposed_in_other_languages(name: str) -> None:
    assert proposed_unit(["Kosten", name, "Ort"]) == name


@pytest.mark.parametrize("name", ["Landkreis", "Kosten", "personal", "Patientenzahl", "Nr", "idea"])
def test_no_other_column_is_proposed(name: str) -> None:
    assert proposed_unit([name]) is None


def test_a_spec_begins_with_no_column_that_the_file_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "v.csv").write_text("Patienten-Nr;Kosten\n", "utf-8")
    (tmp_path / "w.csv").write_text("a,amount per region\n", "utf-8")
    for name in ("v", "w"):
        spec = tmp_path / f"{name}.yaml"
        assert _run(capsys, "init", str(spec), "--from", str(tmp_path / f"{name}.csv"))[0] == 0
        said = yaml.safe_load(spec.read_text("utf-8"))
        assert said["statistics"] == [{"count": "rows"}]
        assert said["protect"].get("column") == ("Patienten-Nr" if name == "v" else None)
    assert _run(capsys, "check", str(tmp_path / "v.yaml"))[0] == 0
    assert _run(capsys, "check", str(tmp_path / "w.yaml"))[0] == 2


def test_that_keys_are_not_compared_with_the_data_is_told_where_there_are_keys() -> None:
    columns = {"person": "text", "g": "text", "x": "number"}
    grouped = SPEC | {"statistics": [{"count": "rows", "by": ["g"], "keys": {"g": ["65+"]}}]}
    assert "misspelt" in " ".join(discreet.check(grouped, columns=columns).plan.as_written)
    found = {"count": "rows", "by": ["g"], "keys": {"discover": {"delta": 1e-6}}}
    for alone in ({"count": "rows"}, found):
        spec = SPEC | {"budget": {"epsilon": 1, "delta": 1e-5}, "statistics": [alone]}
        assert "misspelt" not in " ".join(discreet.check(spec, columns=columns).plan.as_written)


def test_bounds_are_told_as_they_are_read_where_decimals_have_a_comma() -> None:
    """In YAML 10.000 is ten."""
    spec = SPEC | {"source": {"path": "d.csv", "delimiter": ";", "decimal": ","}}
    bounds = {"bounds": [0, 10.000], "resolution": 1}
    spec |= {
        "statistics": [
            *({kind: "x"} | bounds for kind in ("mean", "sum", "variance", "median")),
            {"sum": "x", "bounds": [0, 2.5], "resolution": 0.5, "name": "capped"},
        ]
    }
    columns = {"person": "text", "g": "text", "x": "number"}
    told = discreet.check(spec, columns=columns).plan.as_written
    read = "Its bounds are read as: x from 0 to 10; x from 0 to 2.5."  # not a line for each
    assert told[1] == f"Numbers in the spec itself have a decimal point. {read}"
    assert len(told) == 2
    plain = discreet.check(spec | {"source": "d.csv"}, columns=columns).plan.as_written
    assert len(plain) == 1


def test_doctor_finds_what_is_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = _run(capsys, "doctor", "--json")
    said = json.loads(out)
    assert (code, said["works"]) == (0, True)
    parts = {one["part"]: one["works"] for one in said["checks"]}
    assert parts["noise, Geometric"] is parts["DuckDB counts"] is parts["opendp"] is True
    assert "pytest" not in parts
    code, out = _run(capsys, "doctor", "--ledger", "oracle://x", "--json")
    assert (code, json.loads(out)["works"]) == (1, False)


def test_the_self_test_finds_a_sampler_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.noise import samplers

    assert all(works for _, works, _ in samplers.self_test())
    true = samplers.add_noise
    monkeypatch.setattr(
        samplers, "add_noise", lambda law, zeros: [n // 2 for n in true(law, zeros)]
    )
    assert not any(works for _, works, _ in samplers.self_test())


def test_only_what_is_not_declared_of_a_csv_file_is_asked_for() -> None:
    columns = {"person": "text", "g": "text", "x": "number"}
    written: dict[str, Any] = {"path": "d.csv", "delimiter": ";", "decimal": ","}
    for more, asked in (
        ({}, "declare what is different: source: {path: …, encoding: windows-1252, types:"),
        ({"encoding": "utf-8"}, "source: {path: …, types: {day: '%d.%m.%Y'}}."),
        ({"encoding": "utf-8", "types": {"x": "number"}}, "count as missing."),
    ):
        source = written | more
        (note, *_) = discreet.check(SPEC | {"source": source}, columns=columns).plan.as_written
        assert asked in note


def test_dates_that_are_declared_are_told_as_they_are_written(tmp_path: Path) -> None:
    types = {"day": "%d.%m.%Y", "cost": "number"}
    spec = {
        "account": "a",
        "purpose": "p",
        "source": {"path": "d.csv", "types": types},
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1.0},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///l.db",
        "output": "out",
    }
    (note,) = discreet.check(spec, columns={"day": "date", "cost": "number"}).plan.as_written
    assert "dates like 31.01.2026." in note


@pytest.mark.parametrize(
    ("table", "join", "why"),
    [
        ("g,ward,beds\na,north,1\n", {"columns": ["beds"]}, "no column 'ward'"),
        ("g,ward,x\na,north,1\n", {}, "both tables have a column 'x'"),
        ("g,ward\na,north\na,south\n", {}, "several rows for the same g"),
        ("g,ward\na,north\n", {"source": "visits.csv"}, "is the protected source"),
    ],
)
def test_a_join_that_a_release_refuses_is_refused_by_a_check(
    table: str, join: dict[str, Any], why: str, tmp_path: Path
) -> None:
    (tmp_path / "wards.csv").write_text(table)
    (tmp_path / "visits.csv").write_text("person,g,x\n1,a,3\n")
    count = {"count": "rows", "by": ["ward"], "keys": {"ward": ["north"]}}
    asked = {"source": "wards.csv", "by": "g", "public": True} | join
    spec = SPEC | {"statistics": [count], "join": asked}
    for tried in (
        lambda: discreet.preview(spec, folder=tmp_path),
        lambda: discreet.check(spec, folder=tmp_path, header=tmp_path / "visits.csv"),
    ):
        with pytest.raises(DiscreetError, match=why):
            tried()


def test_a_feature_may_have_the_name_of_its_column(tmp_path: Path) -> None:
    """The columns behind it were looked for without end."""
    features = {"cost": {"sum": "cost", "bounds": [0, 10]}, "ward": {"any": "ward = 'a'"}}
    mean = {"mean": "cost", "bounds": [0, 100], "resolution": 1, "where": "ward"}
    asked = {"per_unit": features, "let": {"half": "cost/2"}, "statistics": [mean]}
    protect = {"unit": "person", "column": "person"}
    found = discreet.check(SPEC | asked | {"protect": protect}, folder=tmp_path)
    assert {"cost", "ward"} <= {*found.columns}


@pytest.mark.parametrize("path", ["visits.csv", "visits.parquet"])
@pytest.mark.parametrize("types", [{}, {"cost": "number"}, {"cost": "number", "person": "text"}])
def test_types_are_not_taken_for_all_columns_there_are(path: str, types: dict[str, str]) -> None:
    """A column that only an unused feature or formula reads was said not to be there."""
    asked = {
        "source": {"path": path, "types": types},
        "protect": {"unit": "person", "column": "person"},
        "per_unit": {"seen": {"any": "ward = 'a'"}, "spent": {"max": "cost"}},
        "let": {"late": "day > '2026-01-01'", "much": "spent > 3"},
        "statistics": [{"count": "units", "by": ["much"]}],
    }
    assert {*discreet.check(SPEC | asked).columns} == {"person", "ward", "cost", "day"}


def test_one_label_for_the_keys_of_several_columns_is_told() -> None:
    """The labels of one column's 0 and 1 stood in the tables of another, and nothing said so."""
    keys = {"sex": ["0", "1"], "union": ["0", "1"]}
    asked: dict[str, Any] = {
        "account": "a",
        "purpose": "b",
        "source": "x.csv",
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1},
        "statistics": [{"count": "rows", "by": [*keys], "keys": keys}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }

    def told(labels: dict[Any, Any]) -> list[str]:
        notes = discreet.check(asked | {"labels": labels}).notes
        return [note for note in notes if note.startswith("labels: ")]

    (note,) = told({0: "out", "union": "Union"})
    assert note.startswith("labels: '0' is a key of sex, union, and is called 'out' in each.")
    assert note.endswith("labels: {sex: {keys: {'0': NAME}}}.")
    assert told({"union": {"name": "Union", "keys": {0: "out"}}, "0": "female"}) == []
    with pytest.raises(SpecError, match=r"labels\.sex\.keys\.0 is 1: it must be text"):
        told({"sex": {"keys": {0: 1}}})

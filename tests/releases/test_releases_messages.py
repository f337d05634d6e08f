"""Messages that led people astray: each says now what is wrong, and what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases.spec import json_schema
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
        (
            {"statistics": [{"rate": {"of": "x", "per": 1}}]},
            "The keys here are: events, per, times",
        ),
        ({"version": 1}, "see docs/spec.md"),
        ({"protect": WHO | {"columns": "id", "rows": 1}}, "the nearest is column."),
        ({"source": {"file": "d.csv"}}, "The keys here are: decimal, delimiter, encoding"),
        ({"source": {"path": "d.csv", "types": {"a": "nubmer"}}}, "'nubmer' is no type"),
        ({"source": {"path": "d.csv", "types": {"a": "nubmer"}}}, "The nearest is 'number'."),
        ({"source": ["d.csv"]}, 'source is ["d.csv"]: it must be text. Write it like this: source'),
        ({"source": ["x://me:pw@h/d?password=pw"]}, 'source is ["x://h/d?password="]: it must'),
        ({"mechanism": "guassian"}, "mechanism is 'guassian'; releases"),
        ({"mechanism": "guassian"}, "The nearest is 'gaussian'."),
        ({"statistics": [{"cuont": "rows"}]}, "no statistic 'cuont'"),
        ({"statistics": [{"cuont": "rows"}]}, "The nearest is 'count'."),
        ({"statistics": [{"count": "row"}]}, "The nearest is 'rows'."),
        ({"statistics": [{"count": "patients"}]}, "count: units, for the number of units"),
        ({"statistics": [{"count": "rows", "by": "ward"}]}, "Write it like this: by: [ward]."),
        ({"statistics": [{"sum": "x"}]}, "Write it like this: bounds: [0, 500]."),
        ({"statistics": [{"sum": "x", "bounds": [5], "resolution": 1}]}, "bounds is [5]: it must"),
        (
            {"statistics": [{"sum": "x", "bounds": [0, 5, 1, 5], "resolution": 1}]},
            "a decimal is written with a point",
        ),
        (
            {"statistics": [{"count": "rows", "by": ["ward"], "keys": {"wrad": ["a"]}}]},
            "'wrad', which is not in by, nor in margins ('ward')",
        ),
        ({"protect": "person"}, "protect is 'person': it must have keys of its own. Write it like"),
        (
            {"join": [{"source": "s.csv", "by": "a", "public": "x"}]},
            "join.1.public is 'x': it must",
        ),
        ({"let": {"a": 5}}, "let.a is 5: it must be text. Write it like this: let: {"),
        ({"budget": {"epsilon": "0,5"}}, "A decimal is written with a point: 0.5."),
        ({"budget": {"epsilon": "1,000"}}, "Write 1000; a decimal has a point."),
        ({"interval": "95 %"}, "Write it as a share: 0.95."),
        ({"nulls": "refuse"}, "nulls: refuse is no longer"),
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
    assert "nulls: nulls" not in str(refused.value)
    assert "mechanism: mechanism" not in str(refused.value)


@pytest.mark.parametrize(
    ("promise", "says"),
    [
        ({"ratio": "1,5"}, "A decimal is written with a point: 1.5."),
        ({"ratio": 3, "about": "membershp"}, "The nearest is 'membership'."),
        ({"ratio": 3, "box": 0.5}, "box is 0.5; it must be a list, such as [0, 0.1, 0, 1]."),
        ({"all": 3}, "all is 3; it must be a list, such as [{ratio: 3}, {difference: 0.2}]."),
        ({"groups": {"a": 3}}, "a promise is 3; it must have keys of its own"),
        ({"preset": "threfold"}, "The nearest is 'threefold'."),
        ({"ratio": 3, "sampled": 5}, "Write it like this: sampled: {units: 500"),
        ({"posterior": 0.25}, "Fix the prior (p: 0.05 for"),
    ],
)
def test_a_promise_in_a_spec_is_refused_with_keys_and_no_flag(
    promise: dict[str, Any], says: str
) -> None:
    spec = {key: value for key, value in _spec("d.csv").items() if key != "budget"}
    with pytest.raises(DiscreetError) as refused:
        discreet.check(spec | {"promise": promise})
    assert says in refused.value.on_the_command_line
    assert "--" not in refused.value.on_the_command_line


def test_every_key_that_must_be_there_has_an_example() -> None:
    schema = json_schema()
    for model in (schema, *schema["$defs"].values()):
        for key in model.get("required", ()):
            assert catalogue().has(f"releases.examples.{key}") or key in {
                "column",  # with that of the key above it
                "unit",
            }
    for kind in ("protect_unit", "weight_by_column"):
        assert catalogue().has(f"releases.examples.{kind}")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("a:\n\tb: 1\n", "line 2, column 1: there is a tab"),
        ("a: {b: 1\nc: 2\n", "line 1, column 4: the bracket that opens here"),
        ("a: [b, c\nd: 2\n", "line 1, column 4: the bracket that opens here"),
        ("a: 1\na: 2\n", "the key 'a' a second time, line 2, column 1"),
        ('a: "b\n', "line 1, column 4: the quotation mark"),
        ("a: b: c\n", "line 1, column 5: there is a colon"),
        ("a: 1\nb:2\nc: 3\n", "line 2, column 1: this line has no colon and space"),
        ("a:\n    b: 1\n  c: 2\n", "line 3, column 3: this line is not indented"),
        ("a: @b\n", "line 1, column 4: a text cannot begin"),
        ("a: *b\n", "line 1, column 4: a text cannot begin"),
        ('a: "C:\\data"\n', "a backslash has a meaning"),
        ("a: 'b' c\n", "a text goes on after its closing quotation mark"),
        ("a: 1\n---\nb: 1\n", "line 2, column 1: a line --- begins"),
        ("a: 2026-02-30\n", "line 1, column 4: this date or number"),
        ("a: b\x01\n", "cannot be printed"),
        ("budget: {epsilon: 0,5}\n", "column 19: 0,5 is not a number. A decimal is written"),
    ],
)
def test_a_fault_in_yaml_is_told_with_its_place_and_in_our_words(
    written: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(written)
    with pytest.raises(DiscreetError) as refused:
        discreet.check(tmp_path / "s.yaml")
    assert says in str(refused.value)
    for jargon in ("token", "stream", "scalar", "<block", "expected", "mapping"):
        assert jargon not in str(refused.value)


@pytest.mark.parametrize("thing", [5, None, [1], b"x", object()])
def test_what_is_no_spec_is_refused_as_such(thing: Any) -> None:
    for function in (discreet.release, discreet.preview, discreet.check, discreet.audit):
        with pytest.raises(DiscreetError, match="a spec was expected"):
            function(thing)
    with pytest.raises(DiscreetError, match="a spec was expected"):
        discreet.synthesize(thing)
    with pytest.raises(DiscreetError, match="There is no attack"):
        discreet.attack([thing])  # type: ignore[arg-type]


def test_data_as_a_spec_and_a_spec_as_data_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,x\n1,2\n")
    with pytest.raises(DiscreetError, match="a file of data by its name") as refused:
        discreet.release(tmp_path / "d.csv")
    assert "discreet init" in refused.value.on_the_command_line
    with pytest.raises(DiscreetError, match="which looks like a spec"):
        discreet.preview(_spec("m.yaml"), folder=tmp_path)


def test_a_dry_run_that_nothing_says_the_budget_of_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,x\n1,2\n")
    spec = {key: value for key, value in _spec("d.csv").items() if key != "budget"}
    with pytest.raises(DiscreetError, match="account 'a' is not open yet") as refused:
        discreet.preview(spec, folder=tmp_path)
    assert "--set budget.epsilon=1" in refused.value.on_the_command_line
    assert discreet.preview(spec, folder=tmp_path, changes={"budget": {"epsilon": 1}})


def test_a_ledger_that_is_the_name_of_a_file_is_told_as_a_url(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="Write sqlite:///ledger"):
        Ledger.open("ledger.db")
    with pytest.raises(DiscreetError) as refused:
        Ledger.open("me:secret@host/db")
    assert "secret" not in str(refused.value)


def test_an_account_that_is_used_up_is_not_told_to_ask_for_less(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,x\n1,2\n")
    terms: Any = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    why = {"approver": "a", "reason": "b"}
    book = Ledger.open(f"sqlite:///{tmp_path / 'l.db'}")
    book.open_account("a", cap=PureDP(1.0), **terms, **why)
    spec = _spec("d.csv")
    half = spec | {"budget": {"epsilon": 0.75}}
    discreet.release(half, folder=tmp_path)
    with pytest.raises(DiscreetError, match="Ask for less"):
        discreet.release(half, folder=tmp_path, confirm=True)
    discreet.release(spec | {"budget": {"epsilon": 0.25}}, folder=tmp_path)
    with pytest.raises(DiscreetError, match="Asking for less does not help"):
        discreet.release(half, folder=tmp_path, confirm=True)


def test_rows_that_an_if_takes_by_a_missing_value_are_hinted_at(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,x\n1,2\n")
    spec = _spec("d.csv") | {"let": {"g": "if(x > 1, 'a', 'b')"}}
    for notes in (discreet.check(spec).to_dict()["notes"], _notes(spec, tmp_path)):
        assert any("where x is missing" in note for note in notes)
    tested = spec | {"where": "x is not null"}
    for notes in (discreet.check(tested).to_dict()["notes"], _notes(tested, tmp_path)):
        assert not any("is missing" in note for note in notes)


def test_a_hint_names_every_column_whose_missing_values_an_if_takes(tmp_path: Path) -> None:
    """Of nested ones it named the outer column alone, and the others took the last value still."""
    (tmp_path / "d.csv").write_text("id,poor,age,s x\n1,2,3,f\n")
    nested = "if(poor = 1, 'poor', if(age > 17 and `s x` = 'f', 'a', if(age > 64, 'b', 'c')))"
    spec = _spec("d.csv") | {"let": {"g": nested}}
    for notes in (discreet.check(spec).to_dict()["notes"], _notes(spec, tmp_path)):
        (hint,) = (note for note in notes if "is missing" in note)
        assert "where poor or age or s x is missing" in hint
        line = re.search(r'write where: "(.*)"\.$', hint)
        assert line is not None
    partly = spec | {"where": "poor is not null"}
    (hint,) = (one for one in discreet.check(partly).to_dict()["notes"] if "is missing" in one)
    assert "where age or s x is missing" in hint
    assert not any("is missing" in note for note in _notes(spec | {"where": line[1]}, tmp_path))
    # What an outer `if` tests is not missing in what it chooses from.
    known = spec | {"let": {"g": "if(age is null, 'none', if(age > 17, 'a', 'b'))"}}
    assert not any("is missing" in note for note in _notes(known, tmp_path))


def test_a_column_and_its_level_are_hinted_at_with_a_hierarchy_that_works(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,airport\n1,JFK\n")
    (tmp_path / "s.csv").write_text("airport,state\nJFK,NY\nLAX,CA\n")
    keys = {"airport": ["JFK", "LAX"], "state": ["NY", "CA"]}
    by = [{"count": "rows", "by": [one], "keys": {one: keys[one]}} for one in keys]
    join = {"source": "s.csv", "by": "airport", "public": True, "columns": ["state"]}
    margins = {"count": "rows", "margins": [["airport"], ["state"]]}
    for statistics in (by, [margins | {"keys": keys}]):
        spec = _spec("d.csv") | {"join": [join], "statistics": statistics}
        for notes in (
            discreet.check(spec, folder=tmp_path).to_dict()["notes"],
            _notes(spec, tmp_path),
        ):
            assert any("hierarchy: {airport: {state: s.csv}}" in note for note in notes)
    margins |= {"hierarchy": {"airport": {"state": "s.csv"}}, "keys": {"airport": keys["airport"]}}
    assert not any("hierarchy" in note for note in _notes(_spec("d.csv", margins), tmp_path))


def _notes(spec: dict[str, Any], folder: Path) -> list[str]:
    found: list[str] = discreet.preview(spec, folder=folder).to_dict()["notes"]
    return found


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

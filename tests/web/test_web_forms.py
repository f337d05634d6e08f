"""A spec as a form and back: nothing is lost, nothing is guessed, nobody is told off too early."""

from __future__ import annotations

import re
from contextlib import suppress
from html import escape, unescape
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from discreet.cli.release import TEMPLATE
from discreet.errors import DiscreetError, SpecError
from discreet.releases import load
from discreet.releases.checking import proposed_unit
from discreet.releases.statistics.base import KINDS, ColumnName, Grouped, Proportion
from discreet.web.release.spec_form import (
    draft_of,
    form_of,
    kinds,
    mapping_of,
    missing,
    own_fields,
    readable,
    start,
    written,
)
from discreet.web.thread import Thread
from soaking import examples

HTML = {"Accept": "text/html"}
QUICK = settings(derandomize=True, deadline=None, max_examples=examples(150))

texts = st.text(min_size=1, max_size=12)
words = st.text("abc,\"' =+@\t\n65;:#{}[]é", min_size=1, max_size=8)
numbers = st.one_of(
    st.integers(1, 10**6), st.floats(1e-9, 1e9, allow_nan=False), st.sampled_from([1e-6, 0.1])
)


def _share(**more: Any) -> st.SearchStrategy[dict[str, Any]]:
    weighted = st.fixed_dictionaries({}, optional={"name": texts, "weight": numbers})
    within = st.fixed_dictionaries({"within": st.fixed_dictionaries({"error": numbers})})
    return st.tuples(st.fixed_dictionaries(more), st.one_of(weighted, within)).map(
        lambda pair: pair[0] | pair[1]
    )


@st.composite
def grouped(draw: st.DrawFn, **more: Any) -> dict[str, Any]:
    entry = draw(_share(**more))
    by = draw(st.lists(words, max_size=2, unique=True))
    if by:
        entry["by"] = by
        if draw(st.booleans()):
            entry["keys"] = {"discover": {"delta": draw(st.floats(1e-9, 0.5))}}
        else:
            listed = st.lists(words, min_size=1, max_size=3, unique=True)
            entry["keys"] = {c: draw(st.one_of(listed, st.just("keys.csv"))) for c in by}
    return entry


bounds = {"bounds": st.just([0, 2.5]), "resolution": numbers}
statistics = st.one_of(
    grouped(count=st.sampled_from(["rows", "units"])),
    grouped(sum=words, **bounds),
    grouped(quantile=words, at=st.floats(0.01, 0.99), **bounds),
    grouped(histogram=words, edges=st.just([0, 1, 2.5])),
    grouped(randomized=words, answers=st.just(["yes", "no, never"]), keep=st.just(0.75)),
    _share(best=words, score=st.just("count"), of=words, candidates=st.just(["1", "b, c"])),
    _share(
        best=words,
        score=st.just("revenue"),
        of=words,
        cap=st.just(100),
        candidates=st.one_of(st.just({"from": 0, "to": 9.5, "step": 0.5}), st.just([1.0, 2.5])),
    ),
)
tolerances = st.sampled_from(
    [
        {"ratio": 3},
        {"posterior": 0.25, "unless_ratio": 3, "about": "membership", "every_output": True},
        {"posterior": 0.25, "unless_ratio": 3, "about": "value"},
        {"profile": "max(0.25/(p*q), 3)"},
        {"box": [0, 0.1, 0, 1], "ratio": 2.5, "sided": "one"},
        {"all": [{"ratio": 3}, {"difference": 0.2, "q": 1}], "delta": 1e-6, "confidence": 0.9},
    ]
)
units = st.one_of(
    st.just({"unit": "record"}),
    st.fixed_dictionaries(
        {
            "unit": st.just("person"),
            "column": st.one_of(words, st.lists(words, min_size=1, max_size=2)),
            "rows": st.integers(1, 9),
        },
        optional={"groups": st.integers(1, 9), "adjacency": st.sampled_from(["replace"])},
    ),
)


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    entries = draw(st.lists(statistics, min_size=1, max_size=3))
    for place, entry in enumerate(entries):
        entry["name"] = f"{entry.get('name', '')}{place}"
    spec: dict[str, Any] = {
        "account": draw(texts),
        "purpose": draw(texts),
        "source": draw(texts),
        "protect": draw(units),
        "statistics": entries,
        "ledger": draw(texts),
        "output": draw(texts),
    }
    if draw(st.booleans()):
        spec["tolerance"] = draw(tolerances)
    else:
        spec["budget"] = draw(st.sampled_from([{"epsilon": 0.1, "delta": 1e-9}, {"rho": 2}]))
    more = {"interval": 0.9, "series": {"releases": 12}, "nulls": "drop", "sensitive": "x = 1"}
    for name in draw(st.sets(st.sampled_from(sorted(more)))):
        spec[name] = more[name]
    if draw(st.booleans()):
        spec["about"] = {"name": draw(texts), "curators": ["A", "B"]}
    return spec


@QUICK
@given(specs())
def test_a_spec_survives_the_form_and_the_yaml(spec: dict[str, Any]) -> None:
    before = load(spec)
    values = mapping_of(form_of(spec))
    after = load(values)
    # What a tolerance leaves out by default may be left out of it.
    same = {k: v for k, v in (before.tolerance or {}).items() if v is not False}
    assert (after.tolerance or {}) == same
    assert after.model_copy(update={"tolerance": None}) == before.model_copy(
        update={"tolerance": None}
    )
    assert load(readable(written(values)) or {}) == after


@pytest.mark.parametrize("text", ["\x85", "a\u2028b", " \u2029", "a\nb", "ü"])
def test_line_breaks_of_any_kind_come_back(text: str) -> None:
    spec = {"account": text, "output": text, "statistics": [{"count": "rows", "name": text}]}
    assert mapping_of(form_of(spec)) == spec
    assert readable(written(spec)) == spec


def test_the_template_is_a_form_throughout() -> None:
    spec = yaml.safe_load(TEMPLATE)
    form = form_of(spec)
    assert mapping_of(form) == spec
    assert not [name for name in form if name.endswith("yaml") or name == "rest"]


def test_an_empty_field_is_a_key_left_out() -> None:
    form = form_of(yaml.safe_load(TEMPLATE))
    form["protect.groups"] = "  "
    form["tolerance.about"] = ""
    values = mapping_of(form)
    assert "groups" not in values["protect"]
    assert "about" not in values["tolerance"]


def test_an_older_word_for_membership_is_read() -> None:
    spec = yaml.safe_load(TEMPLATE)
    spec["tolerance"] = {"ratio": 3, "values_known": True}
    assert form_of(spec)["tolerance.about"] == "membership"


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("protect.rows", "many", "protect.rows is 'many'"),
        ("statistics.2.bounds", "0", "bounds"),
        ("interval", "nan", "interval is 'nan'"),
        ("mechanism", "magic", "mechanism is 'magic'"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_spec(field: str, typed: str, said: str) -> None:
    form = form_of(yaml.safe_load(TEMPLATE)) | {field: typed}
    with pytest.raises(SpecError) as refused:
        load(mapping_of(form))
    assert said in str(refused.value)


def test_a_key_may_hold_a_comma_a_quote_or_a_formula() -> None:
    entry = {"count": "rows", "by": ["x"], "keys": {"x": ["a, b", 'say "c"', "=1+1", "-5"]}}
    form = form_of({"statistics": [entry]})
    assert form["statistics.1.keys.x"] == '"a, b", "say ""c""", =1+1, -5'
    assert mapping_of(form)["statistics"] == [entry]


def test_what_the_columns_of_a_csv_file_are_has_a_field() -> None:
    source = {
        "path": "a.csv",
        "delimiter": ";",
        "types": {"cost": "number", "day, or night": "text", "Tag": "%d.%m.%Y"},
    }
    form = form_of({"source": source})
    assert form["source.types"] == 'cost: number, "day, or night: text", Tag: %d.%m.%Y'
    assert mapping_of(form)["source"] == source
    timed = source | {"types": {"at": "%d.%m.%Y %H:%M:%S", "a:b": "text"}}
    assert mapping_of(form_of({"source": timed}))["source"] == timed
    for typed in ("cost", "cost: number, day", "cost:", ": number"):
        assert "source.types" in draft_of(form | {"source.types": typed}).problems


def test_what_has_no_field_stays_in_yaml() -> None:
    entry = {"count": "rows", "by": ["x"], "keys": {"x": [" a space before it"]}}
    form = form_of({"statistics": [entry], "about": {"name": "A"}})
    assert yaml.safe_load(form["statistics.1.yaml"]) == entry
    assert yaml.safe_load(form["rest"]) == {"about": {"name": "A"}}
    assert mapping_of(form) == {"statistics": [entry], "about": {"name": "A"}}


def test_nothing_is_missing_in_a_whole_spec_and_much_in_a_new_one() -> None:
    assert missing(yaml.safe_load(TEMPLATE)) == []
    said = " ".join(missing(start("visits.csv", Thread())))
    assert "account" in said
    assert "column that names" in said
    entry = {"sum": "", "by": ["county", ["odd"]]}
    found = missing(
        start("visits.csv", Thread()) | {"statistics": [entry, "odd", {"mean": 1, "sum": 2}]}
    )
    assert {"statistic 1: fill in “Column”", "statistic 1: fill in “Bounds”"} <= set(found)
    assert "statistic 1: the public keys of county" in found


ODD_KEYS = [
    "account",
    "protect",
    "column",
    "rows",
    "tolerance",
    "budget",
    "statistics",
    "count",
    "by",
    "keys",
    "discover",
    "within",
    "candidates",
    "series",
    "releases",
    "interval",
]
odd = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(ODD_KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@QUICK
@given(odd)
def test_no_values_however_odd_break_the_form(values: Any) -> None:
    if not isinstance(values, dict):
        values = {"statistics": values}
    form = form_of(values)
    assert all(isinstance(text, str) for text in form.values())
    assert all(isinstance(words, str) for words in missing(values))
    with suppress(DiscreetError):
        mapping_of(form)


# -- fields that statistics ask for


@pytest.mark.parametrize("kind", kinds())
def test_a_statistic_asks_for_its_own_fields(client: Any, kind: str) -> None:
    page = client.post("/release/look", data={"which": "form", "add": kind}).text
    for name, one in own_fields(kind).items():
        assert f'name="statistics.1.{name}"' in page
        assert escape(one.label) in page
    asks = 'name="statistics.1.by"' in page
    sets = any(one.takes == "sets" for one in own_fields(kind).values())  # they name its groups
    assert asks == ("by" in kinds()[kind].model_fields and not sets)
    wanted = [one for one in own_fields(kind).values() if one.required and not one.options]
    assert all(f"fill in “{one.label}”" in page for one in wanted)


def test_a_statistic_from_elsewhere_has_a_form_without_any_change(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(Grouped):
        odd: ColumnName
        part: Proportion = 0.5
        whole: bool = False
        grid: dict[str, float] = Field(default_factory=dict)

    monkeypatch.setitem(KINDS, "odd", Odd)
    Odd.kind = "odd"
    entry = {"odd": "cost", "part": 0.12, "whole": True, "grid": {"from": 1.0, "to": 2.5}}
    form = form_of({"statistics": [entry]})
    assert form["statistics.1.part"] == "12 %"
    assert form["statistics.1.grid"] == "{from: 1.0, to: 2.5}"
    assert mapping_of(form) == {"statistics": [entry]}
    page = client.post("/release/look", data=form | {"which": "form"}).text
    assert '<option value="odd" selected>' in page
    assert re.search(r'type="checkbox" name="statistics.1.whole"[^>]* checked', page)
    wrong = draft_of(form | {"statistics.1.grid": "{from: 1", "statistics.1.part": "12"})
    assert set(wrong.problems) == {"statistics.1.grid", "statistics.1.part"}


def test_a_list_of_public_keys_is_shown_and_a_file_of_data_is_not(client: Any) -> None:
    (client.folder / "data.csv").write_text("person,county\nSecret,North\n", encoding="utf-8")
    (client.folder / "counties.csv").write_text("county\nNorth\nSouth\n", encoding="utf-8")
    entry = {"count": "rows", "by": ["county"], "keys": {"county": "counties.csv"}}
    spec = {"source": "data.csv", "statistics": [entry]}
    page = client.get("/release", params={"spec": written(spec)}, headers=HTML).text
    assert "2 public keys: North, South" in page
    (client.folder / "more.csv").write_text("county,name\nNorth,Secret\n", encoding="utf-8")
    for name in ("more.csv", "data.csv"):
        entry["keys"] = {"county": name}
        page = client.get("/release", params={"spec": written(spec)}, headers=HTML).text
        assert not re.search(r"\d public key", page)
        assert "Secret" not in page


@pytest.mark.parametrize(
    ("columns", "unit"),
    [
        (["county", "patient_id", "cost"], "patient_id"),
        (["Person", "age"], "Person"),
        (["valid", "grid", "paid"], None),
        (["Ware", "customer no"], "customer no"),
    ],
)
def test_a_column_that_names_a_person_is_proposed(columns: list[str], unit: str | None) -> None:
    assert proposed_unit(columns) == unit
    assert start("a.csv", Thread(), columns)["protect"].get("column") == unit


def test_keys_that_the_spec_itself_says_are_not_asked_for(client: Any) -> None:
    (client.folder / "visits.csv").write_text("person,Alter\n1,20\n")
    values = {
        "account": "a",
        "purpose": "b",
        "source": {"path": "visits.csv", "types": {"Alter": "number"}},
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "promise": {"ratio": 3, "about": "membership", "every_output": True},
        "statistics": [{"count": "rows", "by": ["Altersgruppe"]}],
        "ledger": "sqlite:///ledger.db",
        "output": "out/",
        "let": {"Altersgruppe": "bin(Alter, [0, 18, 65])"},
    }
    assert missing(values) == []
    assert "statistic 1: the public keys of Altersgruppe" in missing(values | {"let": {}})
    assert "statistic 1: the public keys of Altersgruppe" in missing(values | {"let": [1]})
    shown = client.get("/release", params={"spec": written(values)}, headers=HTML)
    assert shown.status_code == 200, shown.text
    assert "would spend" in shown.text
    known = load(values, folder=client.folder).named()[0].keys["Altersgruppe"]
    hint = re.search(r'id="h-statistics.1.keys.Altersgruppe">([^<]*)<', shown.text)
    assert hint is not None
    assert unescape(hint[1]).startswith(f"{len(known)} public keys: {known[0]}, {known[1]}")


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("Lörrach; Tübingen", ["Lörrach", "Tübingen"]),
        ("Lörrach;Tübingen, Ulm", ["Lörrach", "Tübingen", "Ulm"]),
        ('"Lörrach; Stadt"; "a, b",c', ["Lörrach; Stadt", "a, b", "c"]),
        ('5" pipe; 6" pipe', ['5" pipe', '6" pipe']),
        ('a "b"; "c ""d"";"', ['a "b"', 'c "d";']),
    ],
)
def test_public_values_are_read_with_commas_or_semicolons(typed: str, keys: list[str]) -> None:
    form = {"statistics.1.kind": "count", "statistics.1.by": "Kreis; Jahr"}
    (entry,) = mapping_of(form | {"statistics.1.keys.Kreis": typed})["statistics"]
    assert entry["by"] == ["Kreis", "Jahr"]
    assert entry["keys"] == {"Kreis": keys}
    again = form_of({"statistics": [entry]})
    assert "statistics.1.yaml" not in again
    assert mapping_of(again)["statistics"] == [entry]

"""The spec: what is read, what is refused, in one sentence; the schema that is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from discreet.errors import DiscreetError, PolicyError, SpecError
from discreet.releases import Spec, json_schema, load
from discreet.releases import spec as spec_module

DESIGN = """
account: clinic-patients
purpose: monthly open data
source: visits.parquet
protect:
  unit: person
  column: patient_id
  adjacency: add-remove
  rows: 4
  groups: 2
  rows_per_group: 2
tolerance:
  posterior: 0.25
  unless_ratio: 3
  values_known: true
  every_output: true
statistics:
  - count: rows
    by: [county, age_band]
    keys: {county: counties.csv, age_band: [0-17, 18-64, 65+]}
  - {sum: cost, bounds: [0, 500], resolution: 0.01, by: [c], keys: {c: counties.csv}, weight: 2}
mechanism: auto
nulls: drop
interval: 0.95
ledger: sqlite:///ledger.db
output: out/
"""


def _published() -> dict[str, Any]:
    path = Path(spec_module.__file__).with_name("spec.schema.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_published_schema_is_the_one_of_the_classes() -> None:
    assert _published() == json_schema()


def test_the_spec_of_the_design_is_read_and_fits_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(DESIGN)
    spec = load(path)
    assert [entry.name for entry in spec.named()] == ["count_rows_1", "sum_cost_2"]
    assert spec.path("out/") == tmp_path / "out"
    assert spec.ledger_url == f"sqlite:///{tmp_path / 'ledger.db'}"
    jsonschema.validate(yaml.safe_load(DESIGN), _published())


ALL = {
    "account": "a",
    "purpose": "p",
    "protect": {"unit": "partition", "column": ["who", "day"], "rows": 3, "adjacency": "replace"},
    "budget": {"epsilon": 1, "delta": 1e-6},
    "series": {"releases": 12},
    "statistics": [
        {"count": "units", "by": ["k"], "keys": {"discover": {"delta": 1e-7}}},
        {"mean": "x", "bounds": [-1, 1], "resolution": 0.5, "name": "m", "weight": 3},
        {"variance": "x", "bounds": [-1, 1], "resolution": 0.5},
        {"quantile": "x", "at": 0.5, "bounds": [0, 10], "resolution": 1},
        {"histogram": "x", "edges": [0, 1, 2.5]},
        {
            "best": "price",
            "score": "revenue",
            "of": "bid",
            "cap": 100,
            "candidates": {"from": 0, "to": 100, "step": 1},
        },
        {"best": "colour", "score": "count", "of": "colour", "candidates": ["red", "blue"]},
        {"randomized": "answer", "answers": ["yes", "no"], "keep": 0.75},
        {"sum": "x", "bounds": [0, 1], "resolution": 1, "within": {"error": 5, "confidence": 0.9}},
    ],
    "mechanism": "gaussian",
    "nulls": "drop",
    "interval": 0.9,
    "ledger": "sqlite:///l.db",
    "output": "o",
    "sensitive": "diagnosis = 'X'",
    "about": {"name": "n", "curators": ["c"], "region": "r"},
}


def test_every_statistic_reads_back_from_what_is_written() -> None:
    jsonschema.validate(ALL, _published())
    spec = load(ALL)
    again = load(yaml.safe_load(spec.to_yaml()))
    assert again.to_dict() == spec.to_dict()
    assert again.hash == spec.hash
    assert again.named() == spec.named()


def test_the_hash_changes_with_every_word() -> None:
    base = load(ALL)
    assert load(ALL | {"purpose": "q"}).hash != base.hash
    assert load(ALL | {"interval": 0.95}).hash != base.hash


@pytest.mark.parametrize(
    ("with_secret", "without"),
    [
        ("postgresql://me:{}@host/db?table=t", "postgresql://host/db?table=t"),
        ("postgresql://host/db?password={}&table=t", "postgresql://host/db?table=t"),
        ("postgresql://host/db?sslpassword={}&table=t", "postgresql://host/db?table=t"),
    ],
)
@pytest.mark.parametrize("key", ["source", "ledger", "join"])
def test_the_hash_helps_nobody_to_guess_a_password(
    key: str, with_secret: str, without: str
) -> None:
    def hashed(url: str) -> str:
        given = {"source": url, "by": "person", "rows": 1} if key == "join" else url
        return load(ALL | {key: given}).hash

    assert {hashed(with_secret.format(word)) for word in ("one", "two")} == {hashed(without)}


def _with(**changes: Any) -> dict[str, Any]:
    plain = {
        "account": "a",
        "purpose": "p",
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///l.db",
        "output": "o",
    }
    return {k: v for k, v in (plain | changes).items() if v is not None}


def _statistic(**entry: Any) -> dict[str, Any]:
    return _with(statistics=[entry])


BAD: list[tuple[dict[str, Any], str]] = [
    (_with(colour="red"), "colour is not a key"),
    (_with(account=None), "account is missing"),
    (_with(account=7), "account is 7"),
    (_with(tolerance={"ratio": 2}), "either a promise"),
    (_with(promise={"ratio": 2}), "either a promise"),
    (_with(budget=None, tolerance={"ratio": 2}, promise={"ratio": 2}), "two names for one thing"),
    (_with(publication={"name": "x"}, about={"name": "x"}), "old name of publication"),
    (_with(budget={"epsilon": 1, "rho": 1}), "either epsilon"),
    (_with(budget={"epsilon": 0}), "greater than 0"),
    (_with(budget={"epsilon": float("nan")}), "budget.epsilon"),
    (_with(budget={"epsilon": float("inf")}), "finite"),
    (_with(interval=1), "interval is 1"),
    (_with(statistics=[]), "at least 1"),
    (_with(statistics=["count"]), "exactly one of the keys"),
    (_with(statistics=[{}]), "exactly one of the keys"),
    (_with(statistics=[{"count": "rows", "sum": "x"}]), "exactly one of the keys"),
    (_with(protect={"unit": "person"}), "needs column"),
    (_with(protect={"unit": "person", "column": "c"}), "needs rows"),
    (_with(protect={"unit": "record", "rows": 3}), "a record is one row"),
    (_with(protect={"unit": "household"}), "unit household needs column"),
    (_with(protect={"unit": "family"}), "protect.unit is 'family'"),
    (_with(protect={"unit": "person", "column": "c", "rows": 0}), "it must be 1 or more"),
    (_with(protect={"unit": "person", "column": "c", "rows": True}), "protect.rows"),
    (_with(weights="w"), "survey weights need public bounds"),
    (_statistic(count="rows", survey_weight="w"), "survey weights need public bounds"),
    (_statistic(min="x"), "the value of one person"),
    (_statistic(max="x", bounds=[0, 1]), "the value of one person"),
    (_with(nulls="refuse"), "nulls: drop, or leave it out"),
    (_with(nulls="refuse"), "pay for a count"),
    (_statistic(quantile="x", at=0, bounds=[0, 1], resolution=1), "the value of one person"),
    (_statistic(quantile="x", at=1.0, bounds=[0, 1], resolution=1), "the value of one person"),
    (_statistic(quantile="x", at="max", bounds=[0, 1], resolution=1), "the value of one person"),
    (_statistic(sum="x", bounds=[1, 0], resolution=1), "must be below"),
    (_statistic(sum="x", bounds=[0, float("inf")], resolution=1), "finite"),
    (_statistic(sum="x", bounds=[0, 1]), "resolution is missing"),
    (_statistic(count="rows", weight=0), "greater than 0"),
    (_statistic(count="rows", weight=1, within={"error": 1}), "either a weight"),
    (_statistic(histogram="x", edges=[1, 1]), "edges must rise"),
    (_statistic(count="rows", by=["k"], keys={"k": [True]}), "in quotes"),
    (_statistic(count="rows", by=["k"], keys={"k": [1.5]}), "in quotes"),
    (_statistic(count="rows", by=["k"], keys={"k": ["a", "a"]}), "listed twice"),
    (_statistic(count="rows", by=["k"], keys={"k": []}), "empty"),
    (_statistic(count="rows", by=["k", "k"], keys={"k": ["a"]}), "by names a column twice"),
    (_statistic(count="rows", keys={"k": ["a"]}), "not in by"),
    (_statistic(count="rows", keys={"discover": {"delta": 0.1}}), "nothing to discover"),
    (_statistic(best="p", score="revenue", of="b", candidates=[1.0, 2.0]), "needs a cap"),
    (_statistic(best="p", score="count", of="b", candidates=["a"]), "two or more"),
    (_statistic(best="p", score="count", of="b", candidates=[1.0, 2.0]), "quotes"),
    (_statistic(randomized="a", answers=["y", "n"], keep=0.5), "carry no information"),
    (
        _with(statistics=[{"count": "rows", "name": "n"}, {"count": "units", "name": "n"}]),
        "two stat",
    ),
]


@pytest.mark.parametrize(("mapping", "said"), BAD, ids=[said[:30] for _, said in BAD])
def test_what_breaks_a_rule_is_refused_in_one_sentence(mapping: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(mapping)
    message = str(refused.value)
    assert said in message
    assert message.endswith(".")
    assert "\n" not in message
    assert "pydantic" not in message
    assert refused.value.exit_code == 2


def test_groups_without_keys_are_refused_by_policy() -> None:
    with pytest.raises(PolicyError, match="has no keys") as refused:
        load(_statistic(count="rows", by=["county"]))
    assert refused.value.exit_code == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("account: !!python/object:os.system x", "types are refused"),
        ("account: !!python/name:os.system", "types are refused"),
        ("a: 1\na: 2\n", "a second time, line 2, column 1. Keep one"),
        ("[1, 2]", "has no keys"),
        ("a: [", "line 1, column 5: a value or a closing bracket is missing"),
        ("", "has no keys"),
    ],
)
def test_only_plain_yaml_is_read(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(DiscreetError, match=said):
        load(path)


def test_a_spec_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load(tmp_path / "none.yaml")
    (tmp_path / "s.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not UTF-8"):
        load(tmp_path / "s.yaml")


def test_a_spec_is_frozen() -> None:
    spec = load(_with())
    assert isinstance(spec, Spec)
    with pytest.raises(ValueError, match="frozen"):
        spec.purpose = "other"


def test_a_date_in_yaml_stays_the_text_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        yaml.safe_dump(_with()).replace(
            "count: rows", "count: rows\n  by: [d]\n  keys: {d: [2026-01-31]}"
        )
    )
    entry = load(path).named()[0]
    assert entry.keys == {"d": ("2026-01-31",)}  # type: ignore[union-attr]

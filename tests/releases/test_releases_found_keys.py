"""Keys that are found and paid for within a release, column by column: of margins above all.

What is found is public afterwards, so for each list that may be found all must hold as for public
keys: sensitivities, the price, exact sums. The charge is fixed before a key is found.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releases.test_releases_margins import check_sums
from tests.soaking import chequered, examples

from discreet import release, report
from discreet.auditing import audit
from discreet.auditing.path import PRIORITY, opened
from discreet.errors import DiscreetError
from discreet.guarantees import ApproxDP
from discreet.ledger import Amount, Ledger
from discreet.releases import drawing
from discreet.releases.drawing import passes, query_of
from discreet.releases.engines.base import KeySet
from discreet.releases.pipeline import Release, preview
from discreet.releases.planning import Plan, plan_of
from discreet.releases.spec import load
from discreet.releases.statistics.margins import ALL

AGES, SEXES = ["young", "old"], ["f", "m"]
FIND = {"discover": {"delta": 1e-6, "most": 40}}
COUNT: dict[str, Any] = {
    "count": "rows",
    "margins": {"up_to": 2, "of": ["county", "age", "sex"]},
    "keys": {"county": FIND, "age": AGES, "sex": SEXES},
    "name": "visits",
}
COLUMNS: dict[str, Any] = {
    "person": "text",
    "county": "text",
    "age": "text",
    "sex": "text",
    "cost": "number",
}
COMMON = ["c1", "c2", "c3", "c4", "c5"]


@pytest.fixture
def visits() -> pa.Table:
    """Five counties with hundreds of people, ten with one, and one that is named like a sum."""
    chance = np.random.default_rng(5)
    size = 3000
    county = [*chance.choice([*COMMON, ALL], size - 10).tolist(), *(f"rare {i}" for i in range(10))]
    return pa.table(
        {
            "person": [f"p{i}" for i in range(size)],
            "county": county,
            "age": chance.choice([*AGES, "unknown"], size).tolist(),
            "sex": chance.choice(SEXES, size).tolist(),
            "cost": chance.uniform(0, 100, size),
        }
    )


def asked(spec: dict[str, Any], *statistics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return spec | {"statistics": list(statistics)} | changes


def rows_of(made: Release, name: str = "visits") -> list[dict[str, str]]:
    with (made.statement.parent / "table.csv").open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["statistic"] == name]


def _verified(folder: Path) -> bool:
    return not subprocess.run([sys.executable, "-I", str(folder / "verify.py")]).returncode


def paid(plan: Plan) -> dict[str, Fraction]:
    """What the calls of a plan cost together, by the kinds of noise: ε, ρ and δ."""
    found = {"epsilon": Fraction(0), "rho": Fraction(0), "delta": Fraction(0)}
    for call in plan.pricing.calls:
        if call.asked.keys:
            found["delta"] += Fraction(repr(call.asked.delta))
        if call.rho is not None:
            found["rho"] += Fraction(repr(call.rho))
        else:
            found["epsilon"] += Fraction(repr(call.epsilon))
    return found


BUDGETS = [
    ({"epsilon": 2.0, "delta": 1e-5}, "basic"),
    ({"rho": 0.5}, "zcdp"),
    ({"epsilon": 8.0, "delta": 1e-3}, "basic"),
]


@pytest.mark.parametrize(
    ("price", "statistic"),
    chequered(
        BUDGETS,
        [
            COUNT,
            COUNT | {"count": "units", "twin": True},
            {k: v for k, v in COUNT.items() if k != "count"}
            | {"sum": "cost", "bounds": [0, 100], "resolution": 0.5},
        ],
    ),
)
def test_keys_are_found_and_the_margins_of_them_add_up(
    spec: dict[str, Any],
    visits: pa.Table,
    account: Callable[..., Ledger],
    tmp_path: Path,
    statistic: dict[str, Any],
    price: tuple[dict[str, float], str],
) -> None:
    budget, rule = price
    account(filter=rule, cap=None)
    told = asked(spec, statistic, budget=budget)
    before = preview(told, data=visits, folder=tmp_path)
    made = release(told, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    assert made.spent == before.spent
    rows = rows_of(made)
    found = {row["county"] for row in rows}
    assert found == {ALL, *COMMON}  # a key with 500 units is not missed, but for one in 10^20
    for column in ("value", "published") if "twin" in statistic else ("value",):
        check_sums({(r["county"], r["age"], r["sex"]): Fraction(r[column]) for r in rows})
    stored = json.loads((made.statement.parent / "release.json").read_text())
    parts = [call["part"] for call in stored["plan"]["calls"]]
    assert parts[0] == "keys/county"
    assert stored["plan"]["calls"][0]["threshold"] > 1
    assert sum(line["cells"] for line in stored["plan"]["accuracy"]) == len(rows)
    for text in (stored["explanations"]["visits"], made.statement.read_text()):
        assert "Rows with other keys are left out, of totals too" in text
    assert all(paid(made.plan)[name] <= paid(before.plan)[name] for name in paid(made.plan))


def test_the_numbers_are_those_of_the_rows_with_found_keys(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """At ε = 10,000 noise is next to none: the chance of any is below 1e-40."""
    account(filter="basic", cap=None)
    told = asked(spec, COUNT, budget={"epsilon": 40_000.0, "delta": 1e-6})
    made = release(told, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    counted = [row for row in visits.to_pylist() if row["county"] != ALL and row["age"] in AGES]
    for row in rows_of(made):
        inside = [
            one
            for one in counted
            if all(row[name] in (ALL, one[name]) for name in ("county", "age", "sex"))
        ]
        missed = sum(one["county"].startswith("rare") for one in inside)
        assert len(inside) - missed - 0.01 < float(row["value"]) < len(inside) + 0.01


# ---------------------------------------------------------------------- the price


@pytest.mark.parametrize(("budget", "_rule"), [*BUDGETS, ({"epsilon": 1.0}, "basic")])
def test_whatever_is_found_costs_what_was_charged(
    spec: dict[str, Any], budget: dict[str, float], _rule: str
) -> None:
    """For every number of keys the plan can be made, and its calls cost no more than before."""
    two = COUNT | {"keys": {"county": FIND, "age": FIND, "sex": SEXES}}
    plain = {"count": "units", "name": "people"}
    plan = plan_of(load(asked(spec, two, plain, budget=budget)), COLUMNS)
    before = paid(plan)
    county, age = plan.searches
    for sizes in ((1, 1), (1, 40), (2, 3), (7, 11), (39, 1), (40, 40)):
        keys = {
            search: KeySet(search.sought.columns, tuple((f"{i}",) for i in range(size)))
            for search, size in zip((county, age), sizes, strict=True)
        }
        after = plan.with_keys(keys)
        assert after.pricing.charges == plan.pricing.charges
        assert all(paid(after)[name] <= before[name] for name in before)
        assert all(paid(after)[name] >= before[name] * (1 - Fraction(1, 10**9)) for name in before)
        others = [call for call in after.pricing.calls if call.asked.statistic == "people"]
        assert others == [c for c in plan.pricing.calls if c.asked.statistic == "people"]
        assert after.to_dict()["accuracy"]


def test_the_dry_run_tells_the_error_for_numbers_of_keys(spec: dict[str, Any]) -> None:
    most = COUNT | {"keys": COUNT["keys"] | {"county": {"discover": {"delta": 1e-6, "most": 300}}}}
    plan = plan_of(load(asked(spec, most, budget={"rho": 0.5})), COLUMNS)
    lines = plan.accuracy()
    assert [line["keys"] for line in lines[::7]] == [{"county": n} for n in (10, 100, 300)]
    assert lines[1]["statistic"] == "visits: county, if 10 keys of county are found"
    assert [line["cells"] for line in lines if ": county, age," in line["statistic"]] == [
        20,
        200,
        600,
    ]
    public = COUNT | {"keys": COUNT["keys"] | {"county": [str(i) for i in range(100)]}}
    alone = plan_of(load(asked(spec, public, budget={"rho": 0.5})), COLUMNS).accuracy()
    for line, other in zip(lines[7:14], alone, strict=True):  # half of the budget finds the keys
        assert line["half_width"] == pytest.approx(other["half_width"] * 2**0.5, rel=0.02)


def test_statistics_that_seek_the_same_keys_pay_once(spec: dict[str, Any]) -> None:
    units = COUNT | {"count": "units", "name": "people", "margins": [["county", "age"]]}
    units |= {"keys": {"county": FIND, "age": AGES}}
    grouped = {"count": "rows", "by": ["county"], "keys": {"county": FIND}, "name": "plain"}
    plan = plan_of(load(asked(spec, COUNT, units, grouped, budget={"rho": 0.5})), COLUMNS)
    assert len(plan.searches) == 1
    assert [c.asked.statistic for c in plan.pricing.calls if c.asked.keys] == ["visits"]
    assert plan.pricing.charges[1] == ApproxDP(plan.pricing.calls[0].epsilon or 0, 1e-6)


# ---------------------------------------------------------------------- sensitivity


TEXTS: dict[str, Any] = dict.fromkeys(("person", "county", "age"), "text")
Visit = tuple[str, str, str]
VISITS = st.tuples(st.sampled_from("uvw"), st.sampled_from("ABC"), st.sampled_from("xy"))


@settings(derandomize=True, deadline=None, max_examples=examples(25))
@given(
    visits=st.lists(VISITS, max_size=9),
    found=st.sets(st.sampled_from("ABCD"), min_size=1),
    rows=st.integers(1, 3),
    groups=st.integers(1, 3),
    what=st.sampled_from(["rows", "units"]),
    seed=st.integers(0, 99),
)
def test_no_unit_moves_a_margin_by_more_whatever_keys_are_found(
    visits: list[Visit], found: set[str], rows: int, groups: int, what: str, seed: int
) -> None:
    """Every neighbour, by the engine: one unit of three gone, the others' priorities the same."""
    statistic = {"count": what, "margins": {"up_to": 2, "of": ["county", "age"]}, "name": "n"}
    statistic |= {"keys": {"county": FIND, "age": ["x", "y"]}}
    spec = {
        "account": "a",
        "purpose": "p",
        "protect": {"unit": "person", "column": "person", "rows": rows, "groups": groups},
        "budget": {"rho": 0.5},
        "statistics": [statistic],
        "ledger": "sqlite:///l.db",
        "output": "o",
    }
    plan = plan_of(load(spec), TEXTS)
    (search,) = plan.searches
    plan = plan.with_keys({search: KeySet(("county",), tuple((key,) for key in sorted(found)))})
    chance = random.Random(seed)  # noqa: S311
    data = [
        dict(zip(("person", "county", "age"), visit, strict=True)) | {PRIORITY: chance.random()}
        for visit in visits
    ]
    full, units = _measured(plan, data)
    for person in {row["person"] for row in data}:
        others, without = _measured(plan, [row for row in data if row["person"] != person])
        for name, call in plan.calls("n").items():
            part = call.asked.part
            moved = [abs(a - b) for a, b in zip(full[name], others[name], strict=True)]
            assert sum(moved) <= part.l1
            assert sum(m**2 for m in moved) <= part.l2_squared
        assert units - without <= plan.searches[search].asked.part.l1


def _measured(plan: Plan, rows: list[dict[str, Any]]) -> tuple[dict[str, list[int]], int]:
    """Every margin before noise, and how many units all keys have, of rows with priorities."""
    empty = {"person": None, "county": None, "age": None, PRIORITY: 0.5}
    (group,), (search,) = passes(plan.statistics), plan.searches
    with opened(rows or [empty], TEXTS) as engine:
        measured = engine.measure(query_of(plan, group, PRIORITY))
        units = engine.find_keys(("person",), ("county",), search.contribution).units
    found = {name: group[0].statistic.numbers(name, measured) for name in plan.calls("n")}
    return found, sum(units)


# ---------------------------------------------------------------------- what may be found


def test_no_key_is_found(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """A table without rows, and with what is made of it; the rest is released."""
    account(filter="zcdp", cap=Amount.of(rho=0.5, delta=1e-6))
    rare = visits.set_column(1, "county", pa.array([f"rare {i}" for i in range(len(visits))]))
    told = asked(
        spec,
        COUNT | {"twin": True},
        {"share": {"of": "visits", "among": ["county"]}, "name": "share"},
        {"count": "units", "name": "people"},
        budget={"rho": 0.5},
        cut={"weight": 0.1},
    )
    made = release(told, data=rare, folder=tmp_path)
    assert isinstance(made, Release)
    names = set(made.table.columns["statistic"])
    assert "people" in names
    assert not names & {"visits", "share"}
    assert [line["statistic"] for line in made.plan.accuracy()][:1] != ["visits"]
    folder = report(made.release_id, ledger=load(told, folder=tmp_path).ledger_url).folder
    assert _verified(folder)


def test_so_many_keys_are_kept_and_the_fullest_ones(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(filter="basic", cap=None)
    counties = ["large"] * 1500 + ["middle"] * 1000 + ["small"] * 500
    data = visits.set_column(1, "county", pa.array(counties))
    find = {"discover": {"delta": 1e-6, "most": 2}}
    told = asked(
        spec,
        COUNT | {"keys": COUNT["keys"] | {"county": find}},
        {"count": "units", "by": ["county", "sex"], "keys": {"county": find, "sex": SEXES}},
        budget={"epsilon": 4.0, "delta": 1e-5},
    )
    made = release(told, data=data, folder=tmp_path)
    assert isinstance(made, Release)
    assert {row["county"] for row in rows_of(made)} == {ALL, "large", "middle"}
    plain = rows_of(made, "count_units_2")
    assert [(row["county"], row["sex"]) for row in plain] == [
        (county, sex) for county in ("large", "middle") for sex in SEXES
    ]


PLACES = "county,state,land\nc1,east,one\nc2,east,one\nc3,west,two\nc4,,two\nrare 1,west,two\n"


def test_levels_above_keys_that_are_found(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """What has no place in the file is left out, as what has too few units."""
    account(filter="zcdp", cap=None)
    (tmp_path / "places.csv").write_text(PLACES)
    file = {"county": {"state": "places.csv"}, "state": {"land": "places.csv"}}
    levels = COUNT | {"hierarchy": file, "margins": [["county", "age"]], "twin": True}
    levels |= {"keys": {"county": FIND, "age": AGES}}
    told = asked(spec, levels, budget={"rho": 2.0})
    before = preview(told, data=visits, folder=tmp_path)
    assert before.plan.accuracy()[-1]["keys"] == {"county": 4}
    made = release(told, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    rows = rows_of(made)
    found = {row["county"]: row for row in rows if row["county"] != ALL}
    assert set(found) == {"c1", "c2", "c3"}
    assert (found["c3"]["state"], found["c3"]["land"]) == ("west", "two")
    for column in ("value", "published"):
        for age in AGES:
            own = [row for row in rows if row["age"] == age]
            leaves = sum(Fraction(row[column]) for row in own if row["county"] != ALL)
            lands = [row for row in own if row["state"] == ALL and row["land"] != ALL]
            (whole,) = [row for row in own if row["land"] == ALL]
            assert leaves == sum(Fraction(row[column]) for row in lands) == Fraction(whole[column])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"keys": {"discover": {"delta": 1e-6}}}, "column by column"),
        ({"margins": [{"of": ["county"], "within": {"error": 5}}]}, "within cannot be kept"),
        ({"twin": {"total": 9}}, "no public total"),
        ({"twin": {"zeros": [{"age": "young"}]}}, "no public zeros"),
        ({"hierarchy": {"county": "state"}}, "no file says which"),
        (
            {"twin": True, "keys": {"county": {"discover": {"delta": 1e-6, "most": 30_000}}}},
            "cells",
        ),
        ({"keys": {"county": {"discover": {"delta": 2.0}}}}, "it is a probability"),
        ({"keys": {"county": {"discover": {"delta": 1e-6, "known": ["a"]}}}}, "is not a key"),
    ],
)
def test_what_cannot_be_known_before_is_refused(
    spec: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    said = COUNT | changes
    if "keys" in changes and "county" in changes["keys"]:
        said |= {"keys": COUNT["keys"] | changes["keys"]}
    if isinstance(said["margins"], list):
        said |= {"keys": {"county": FIND}}
    with pytest.raises(DiscreetError, match=words) as caught:
        plan_of(load(asked(spec, said, budget={"rho": 0.5})), COLUMNS)
    assert caught.value.exit_code == 2


# ---------------------------------------------------------------------- reports and attacks


def test_the_report_says_what_was_paid_and_left_out(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(filter="zcdp", cap=None)
    told = asked(spec, COUNT, budget={"rho": 0.5})
    made = release(told, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    folder = report(made.release_id, ledger=load(told, folder=tmp_path).ledger_url).folder
    facts = json.loads((folder / "statement.json").read_text())
    bases = {one["what"]: one["kind"] for one in facts["bases"]}
    assert bases["keys of county"] == "paid"
    assert bases["keys of age"] == bases["keys of sex"] == "public"
    assert "suppression" in {one["kind"] for one in facts["biases"]}
    assert _verified(folder)


SMALL = {
    "count": "rows",
    "margins": [["county", "sex"]],
    "keys": {"county": {"discover": {"delta": 0.01, "most": 8}}, "sex": SEXES},
    "name": "visits",
}


# Keys are found as those are that test_auditing_sound.py attacks, and of their margins
# test_no_unit_moves_a_margin_by_more_whatever_keys_are_found bounds what a unit changes.
@pytest.mark.soak
@pytest.mark.parametrize("budget", [{"epsilon": 2.0, "delta": 0.01}, {"rho": 0.5}])
def test_an_audit_passes(spec: dict[str, Any], budget: dict[str, float]) -> None:
    """A right release fails with probability 1e-9 at most."""
    told = asked(spec, SMALL, budget=budget)
    found = audit(told, trials=100, failure_probability=1e-9, draws=2)
    assert found.passed, found
    assert "sensitivity" in {check.name for check in found.checks}


@pytest.mark.slow
def test_keys_that_are_not_paid_for_are_caught(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: every key in the data is published, whatever its noisy number."""
    honest = drawing.with_noise

    def shows_all(call: Any, numbers: Any, progress: Any = None) -> list[int]:
        noisy = honest(call, numbers, progress)
        if not call.asked.keys:
            return noisy
        return [max(number, call.threshold) for number in noisy]

    monkeypatch.setattr(drawing, "with_noise", shows_all)
    told = asked(spec, SMALL, budget={"epsilon": 2.0, "delta": 0.01})
    assert not audit(told, trials=100, draws=1).passed

"""Margins from a spec to files: they add up, are as sensitive as said, and survive attacks."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, count, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.soaking import examples, soaked

from discreet import release
from discreet.auditing import audit
from discreet.charts import error_spec
from discreet.errors import BudgetExceeded, DiscreetError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.noise import add_noise
from discreet.releases import drawing
from discreet.releases.contributions import Contribution
from discreet.releases.pipeline import Release, preview
from discreet.releases.planning import plan_of
from discreet.releases.spec import load
from discreet.releases.statistics.margins import ALL, Margins

KEYS = {"county": ["n", "s", "e", "w"], "age": ["young", "old", "older"], "sex": ["f", "m"]}
PAIRS = {"up_to": 2, "of": ["county", "age", "sex"]}
COUNT = {"count": "rows", "margins": PAIRS, "keys": KEYS, "name": "visits"}
SUM = {"sum": "cost", "bounds": [0, 100], "resolution": 0.25, "margins": PAIRS, "keys": KEYS}
COLUMNS = {"person": "text", "county": "text", "age": "text", "sex": "text", "cost": "number"}


@pytest.fixture
def visits() -> pa.Table:
    chance = np.random.default_rng(3)
    size = 400
    drawn = {name: chance.choice(keys, size).tolist() for name, keys in KEYS.items()}
    drawn["county"][0], drawn["age"][1] = "elsewhere", None
    people = [f"p{i}" for i in chance.integers(0, 150, size)]
    return pa.table({"person": people, **drawn, "cost": chance.uniform(-5, 120, size)})


def asked(spec: dict[str, Any], statistic: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return spec | {"statistics": [statistic]} | changes


def cells(made: Release) -> dict[tuple[str, ...], Fraction]:
    """The published values by county, age and sex, from the file."""
    with (made.statement.parent / "table.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {tuple(row[name] for name in KEYS): Fraction(row["value"]) for row in rows}


def check_sums(table: dict[tuple[str, ...], Fraction]) -> None:
    """Every cell that is summed over a column is the sum of the cells below it."""
    compared = 0
    for key, value in table.items():
        for place in [i for i, part in enumerate(key) if part == ALL]:
            below = [
                other
                for other in table
                if other[place] != ALL
                and all(
                    a == b for i, (a, b) in enumerate(zip(key, other, strict=True)) if i != place
                )
            ]
            if below:
                compared += 1
                assert sum(table[other] for other in below) == value
    assert compared


@pytest.mark.parametrize("statistic", [COUNT, SUM, COUNT | {"count": "units"}])
@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        ({"epsilon": 1.0}, "pure"),
        ({"rho": 0.5}, "zcdp"),
        ({"epsilon": 1.0, "delta": 1e-6}, "basic"),
    ],
)
def test_a_release_adds_up(
    spec: dict[str, Any],
    visits: pa.Table,
    account: Callable[..., Ledger],
    tmp_path: Path,
    statistic: dict[str, Any],
    budget: dict[str, float],
    rule: str,
) -> None:
    account(filter=rule, cap=None)
    made = release(asked(spec, statistic, budget=budget), data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    table = cells(made)
    sizes = {name: len(keys) for name, keys in KEYS.items()}
    pairs = [a * b for a, b in combinations(sizes.values(), 2)]
    assert len(table) == 1 + sum(sizes.values()) + sum(pairs)
    check_sums(table)
    stored = json.loads((made.statement.parent / "release.json").read_text())
    values = [Fraction(value) for value in stored["table"]["value"]]
    assert values == list(table.values())
    for low, value, high, error in zip(
        *(stored["table"][n] for n in ("interval_low", "value", "interval_high", "std_error")),
        strict=True,
    ):
        assert Fraction(low) < Fraction(value) < Fraction(high)
        assert Fraction(error) > 0
    errors = [line["half_width"] for line in made.plan.accuracy()]
    assert abs(float(table[(ALL,) * 3]) - _truth(statistic, visits)) < 8 * max(errors)


def _truth(statistic: dict[str, Any], visits: pa.Table) -> float:
    """What the total is before noise: two rows of a person at most, in known groups."""
    seen: dict[str, list[tuple[str, float]]] = {}
    for row in visits.to_pylist():
        if all(row[name] in keys for name, keys in KEYS.items()):
            group = "-".join(row[name] for name in KEYS)
            seen.setdefault(row["person"], []).append((group, min(100, max(0, row["cost"]))))
    if "sum" in statistic:
        return sum(
            min(2, len(rows)) * np.mean([cost for _, cost in rows]) for rows in seen.values()
        )
    if statistic["count"] == "units":
        return sum(min(2, len({group for group, _ in rows})) for rows in seen.values())
    return sum(min(2, len(rows)) for rows in seen.values())


def test_values_are_near_the_truth_where_noise_is_small(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """At ε = 100 for each row there is no noise; the chance of any is below 1e-40."""
    account(cap=None)
    protect = {"unit": "person", "column": "person", "rows": 400}
    changed = asked(spec, COUNT, protect=protect, budget={"epsilon": 40_000.0})
    made = release(changed, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    for key, value in cells(made).items():
        rows = [
            row
            for row in visits.to_pylist()
            if all(row[name] in keys for name, keys in KEYS.items())
            and all(part in (ALL, row[name]) for name, part in zip(KEYS, key, strict=True))
        ]
        assert abs(value - len(rows)) < 0.01


# ---------------------------------------------------------------------- sensitivity


def _tables(bounds: Contribution, shape: tuple[int, ...]) -> Iterator[np.ndarray[Any, Any]]:
    """Every table that one unit can add to the finest cells."""
    size = int(np.prod(shape))
    for counts in product(range(bounds.rows_per_group + 1), repeat=size):
        if sum(counts) <= bounds.rows and sum(map(bool, counts)) <= bounds.groups:
            yield np.array(counts).reshape(shape)


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(
    rows=st.integers(1, 4),
    groups=st.integers(1, 4),
    deep=st.integers(1, 3),
    shape=st.sampled_from([(2, 2), (3, 2), (2, 3), (1, 4)]),
    replace=st.booleans(),
    most=st.integers(1, 2),
)
def test_sensitivities_are_never_passed_and_attained(
    rows: int, groups: int, deep: int, shape: tuple[int, ...], replace: bool, most: int
) -> None:
    adjacency = "replace" if replace else "add-remove"
    bounds = Contribution.of(rows, groups, deep, adjacency=adjacency, grouped=True)
    keys = {f"c{i}": [str(k) for k in range(size)] for i, size in enumerate(shape)}
    sets = {"up_to": most, "of": list(keys)}
    entry = Margins.model_validate({"count": "rows", "margins": sets, "keys": keys, "name": "n"})
    units = list(_tables(bounds, shape))
    for margin in (*entry.design.measurable, *entry.design.wider):
        gone = tuple(i for i in range(len(shape)) if f"c{i}" not in margin)
        seen = np.unique([unit.sum(axis=gone).ravel() for unit in units], axis=0)
        if replace:
            seen = (seen[:, None, :] - seen[None, :, :]).reshape(-1, seen.shape[1])
        together = bounds.gathered(entry.design.gathered(margin))
        assert np.abs(seen).sum(axis=1).max() <= together.l1()
        assert (seen**2).sum(axis=1).max() <= together.l2_squared()
        room = entry.design.cells(margin) >= (2 if replace else 1) * together.total
        if room:  # enough cells for a unit, or for two, to be in different ones
            assert np.abs(seen).sum(axis=1).max() == together.l1()
            assert (seen**2).sum(axis=1).max() == together.l2_squared()


class _Places:
    """Counties in states, as a file would say."""

    def __init__(self, states: tuple[int, ...]) -> None:
        self.states = states

    def keys(self, name: str, column: str) -> tuple[str, ...]:
        return tuple(f"county {i}" for i in range(len(self.states)))

    def parents(self, name: str, child: str, parent: str) -> dict[str, str]:
        return {f"county {i}": f"state {s}" for i, s in enumerate(self.states)}


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(
    rows=st.integers(1, 3),
    groups=st.integers(1, 3),
    deep=st.integers(1, 2),
    states=st.sampled_from([(0, 0, 1), (0, 1, 1, 1), (0, 0, 0)]),
    what=st.sampled_from(["rows", "units", (0, 3), (-2, 3), (1, 2)]),
    replace=st.booleans(),
)
def test_every_call_of_a_tree_pays_for_every_neighbour(
    rows: int, groups: int, deep: int, states: tuple[int, ...], what: Any, replace: bool
) -> None:
    """All that one unit can add to counties, states and the whole, against what is charged for."""
    adjacency = "replace" if replace else "add-remove"
    bounds = Contribution.of(rows, groups, deep, adjacency=adjacency, grouped=True)
    said: dict[str, Any] = {"count": what}
    if isinstance(what, tuple):
        said = {"sum": "cost", "bounds": what, "resolution": 1}
    elif what == "units":
        bounds = bounds.once_per_group()
    levels = {
        "margins": [["county"]],
        "hierarchy": {"county": "state"},
        "keys": {"county": "p.csv"},
    }
    entry = Margins.model_validate(said | levels | {"name": "n"}).resolved(_Places(states))
    ends = what if isinstance(what, tuple) else (1, 1)
    units = {
        tuple(n * end for n, end in zip(unit, chosen, strict=True))
        for unit in map(np.ravel, _tables(bounds, (len(states),)))
        for chosen in product(ends, repeat=len(states))
    }
    counties = np.array(sorted(units))
    levels_of = {
        "county": counties,
        "state": np.stack(
            [counties[:, [s == k for s in states]].sum(axis=1) for k in sorted({*states})], axis=1
        ),
        ALL: counties.sum(axis=1, keepdims=True),
    }
    for part in entry.parts(bounds):
        seen = np.unique(levels_of[part.name], axis=0)
        if replace:
            seen = (seen[:, None, :] - seen[None, :, :]).reshape(-1, seen.shape[1])
        assert np.abs(seen).sum(axis=1).max() <= part.l1
        assert (seen**2).sum(axis=1).max() <= part.l2_squared


def test_each_call_pays_for_what_a_unit_may_add(spec: dict[str, Any]) -> None:
    protect = {"unit": "person", "column": "person", "rows": 4, "groups": 4, "rows_per_group": 1}
    plan = plan_of(load(asked(spec, COUNT, protect=protect, budget={"rho": 0.5})), COLUMNS)
    calls = {call.asked.part.name: call for call in plan.pricing.calls}
    assert calls["county, age"].asked.part.l1 == 4
    assert (
        calls["county, age"].asked.part.l2_squared == 8
    )  # two sexes: two rows in each of two cells
    assert calls["age, sex"].asked.part.l2_squared == 16
    assert sum(call.rho or 0 for call in calls.values()) == pytest.approx(0.5, rel=1e-12)
    assert sum(Fraction(repr(call.rho)) for call in calls.values()) <= Fraction(1, 2)


# ---------------------------------------------------------------------- attacks and planted faults

SMALL = {
    "count": "rows",
    "margins": [["county"], ["sex"]],
    "keys": {"county": ["n", "s"], "sex": ["f", "m"]},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget",
    # In epsilon, tables are measured as those are that test_auditing_sound.py attacks.
    [pytest.param({"epsilon": 1.0}, marks=pytest.mark.soak), {"rho": 0.5}],
)
@pytest.mark.usefixtures("brief_audits")
def test_an_audit_passes(spec: dict[str, Any], budget: dict[str, float]) -> None:
    """A right release fails with probability 1e-9 at most."""
    trials, draws = (200, 2) if soaked() else (100, 1)
    found = audit(
        asked(spec, SMALL, budget=budget), trials=trials, failure_probability=1e-9, draws=draws
    )
    assert found.passed, found


BINARY = [f"c{i}" for i in range(5)]
UNLISTED = {
    "count": "rows", "margins": {"up_to": 2, "of": BINARY}, "name": "n",
    "keys": {name: ["0", "1"] for name in BINARY},
}  # fmt: skip


@pytest.mark.usefixtures("brief_audits")
@pytest.mark.parametrize("twin", [False, True])
def test_a_table_that_is_not_listed_may_be_measured_and_is_not_published(
    spec: dict[str, Any], account: Callable[..., Ledger], tmp_path: Path, twin: bool
) -> None:
    """All pairs of five columns are read from the one table of 32 cells."""
    account(cap=PureDP(1000.0))
    chance = np.random.default_rng(5)
    drawn = {name: chance.integers(0, 2, 300) for name in BINARY}
    texts = {name: [str(x) for x in column] for name, column in drawn.items()}
    data = pa.table({"person": [f"p{i}" for i in range(300)], **texts})
    spec = asked(spec, UNLISTED | {"twin": twin}, budget={"epsilon": 300.0})
    spec["protect"] |= {"rows": 1}
    made = release(spec, data=data, folder=tmp_path)
    assert [call["part"] for call in made.to_dict()["calls"]] == [", ".join(BINARY)]
    table = made.table.to_columns()
    assert len(table["value"]) == 1 + 5 * 2 + 10 * 4
    for at, value in enumerate(table["value"]):
        kept = np.ones(300, dtype=bool)
        for name in BINARY:
            kept &= (table[name][at] == ALL) | (np.array(texts[name]) == table[name][at])
        assert abs(float(value) - kept.sum()) < 0.01
        assert table["interval_low"][at] is not None
    if twin:
        twins = zip(table["value"], table["published"], strict=True)
        assert all(abs(float(value) - float(twin)) <= 3 for value, twin in twins)
        return
    columns: dict[str, Any] = {"person": "text"} | dict.fromkeys(BINARY, "text")
    assert plan_of(load(spec), columns).calls("n").keys() == {", ".join(BINARY)}
    loud = spec | {"budget": {"epsilon": 2.0}}
    assert audit(loud, trials=500, failure_probability=1e-3, draws=1).passed


def test_of_both_ways_to_spend_a_delta_the_one_with_smaller_errors_is_taken(
    spec: dict[str, Any],
) -> None:
    """By the errors of what is published: one call with little noise may serve many cells."""
    columns: dict[str, Any] = {"person": "text"} | dict.fromkeys(BINARY, "text")
    for delta in (1e-9, 1e-6, 1e-4, 1e-2):
        errs, used = {}, ""
        for mechanism in ("geometric", "gaussian", "auto"):
            budget = {"epsilon": 1.0, "delta": delta}
            plan = plan_of(load(asked(spec, UNLISTED, budget=budget, mechanism=mechanism)), columns)
            off = sum(row["cells"] * row["sd"] ** 2 for row in plan.accuracy())
            used = next(iter(plan.calls("n").values())).mechanism
            errs[mechanism] = off
        assert errs["auto"] == min(errs.values()), (delta, used)


@pytest.mark.slow
def test_noise_used_for_two_margins_is_caught(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same draw for every margin: two margins' difference then has no noise at all."""
    calls, noise = count(), [0, 0]

    def reused(law: Any, values: list[int], **more: Any) -> list[int]:
        if len(values) != 2 or next(calls) % 2 == 0:
            noise[:] = add_noise(law, [0] * len(values))
        return [a + b for a, b in zip(values, noise, strict=True)]

    monkeypatch.setattr(drawing, "add_noise", reused)
    # In ρ both are measured; in ε the table of both columns would be.
    small = asked(spec, SMALL, budget={"rho": 0.5})
    found = audit(small, trials=200, failure_probability=1e-3, draws=1)
    assert not found.passed
    assert "fresh" in {check.name for check in found.checks if not check.passed}


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"margins": [["county", "county"], ["age", "sex"]]}, "names a column twice"),
        ({"by": ["county"]}, "take the place of by"),
        ({"margins": [[]], "keys": {}}, "name no column"),
        ({"margins": [], "keys": {}}, "name no column"),
        ({"sum": "cost"}, "not both"),
        ({"count": None}, "not both"),
        ({"bounds": [0, 1]}, "a count takes neither"),
        ({"keys": KEYS | {"sex": ["f", ALL]}}, "rename the key"),
        ({"keys": KEYS | {"region": ["r"]}}, "not in by, nor in margins"),
        ({"keys": {"discover": {"delta": 1e-6}}}, "column by column"),
        ({"within": {"error": 5.0}}, "give within to the ones that need it"),
    ],
)
def test_what_cannot_be_done_is_refused(
    spec: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    said = {k: v for k, v in (COUNT | changes).items() if v is not None}
    with pytest.raises(DiscreetError, match=words) as caught:
        plan_of(load(asked(spec, said)), COLUMNS)
    assert caught.value.exit_code == 2


def test_more_combinations_than_can_be_numbered(spec: dict[str, Any]) -> None:
    names = [f"c{i}" for i in range(20)]
    keys = {name: [str(key) for key in range(10)] for name in names}
    many = {"count": "rows", "margins": {"up_to": 1, "of": names}, "keys": keys}
    columns = COLUMNS | dict.fromkeys(names, "text")
    with pytest.raises(DiscreetError, match=f"at most {2**60:,}"):
        plan_of(load(asked(spec, many)), columns)


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 1.0},
        {"rho": 0.5},
        # Split in one of the two ways above.
        pytest.param({"epsilon": 1.0, "delta": 1e-6}, marks=pytest.mark.soak),
    ],
)
def test_chosen_margins_stay_within_what_is_wanted(
    spec: dict[str, Any], budget: dict[str, float]
) -> None:
    """The budget is the same; what the chosen cells gain, the others pay."""

    def planned(*sets: Any) -> dict[str, float]:
        entry = COUNT | {"margins": [*sets]}
        plan = plan_of(load(asked(spec, entry, budget=budget)), COLUMNS)
        spent = [call.rho or call.epsilon or 0 for call in plan.pricing.calls]
        assert sum(spent) <= max(budget.values()) * (1 + 1e-12)
        return {line["statistic"]: line["half_width"] for line in plan.accuracy()}

    plain = planned(["county", "age"], ["sex", "age"], ["county", "sex"])
    wanted = 0.88 * plain["visits: county, age"]
    one = {"of": ["county", "age"], "within": {"error": wanted, "confidence": 0.95}}
    found = planned(one, ["sex", "age"], ["county", "sex"])
    assert 0.9 * wanted < found["visits: county, age"] <= wanted
    assert found["visits: county, sex"] > plain["visits: county, sex"]
    # In ε the one table of all three columns is best as long as nothing is wanted; two tables
    # together are never so near.
    other = plain["visits: age, sex"] if "rho" in budget else 0.95 * found["visits: age, sex"]
    two = {"of": ["age", "sex"], "within": {"error": other, "confidence": 0.95}}
    both = planned(one, two, ["county", "sex"])
    assert both["visits: county, age"] <= wanted
    assert both["visits: age, sex"] <= other
    easy = {"of": ["county", "age"], "within": {"error": 1e6}}
    assert planned(easy, ["sex", "age"], ["county", "sex"]) == plain
    impossible = {"of": ["county", "age"], "within": {"error": wanted / 5}}
    with pytest.raises(BudgetExceeded, match="no split keeps the margin county, age") as caught:
        planned(impossible, ["sex", "age"])
    assert caught.value.exit_code == 3


def test_keys_have_to_be_public(spec: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="'sex'"):
        load(asked(spec, COUNT | {"keys": {k: v for k, v in KEYS.items() if k != "sex"}}))


def test_keys_that_were_paid_for_before(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """A release that finds keys makes them public; its table is the file of keys of the next."""
    account(filter="basic", cap=None)
    find = {"count": "units", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}}
    first = release(asked(spec, find, budget={"epsilon": 20.0}), data=visits, folder=tmp_path)
    assert isinstance(first, Release)
    file = (first.statement.parent / "table.csv").relative_to(tmp_path)
    entry = COUNT | {"keys": KEYS | {"county": str(file)}}
    made = release(asked(spec, entry), data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    # About fifty people in each county, noise of scale 0.2: each is found but for 1e-20.
    assert {key[0] for key in cells(made)} == {ALL, *KEYS["county"]}
    check_sums(cells(made))


def test_a_dry_run_tells_the_error_of_every_margin(
    spec: dict[str, Any], visits: pa.Table, tmp_path: Path
) -> None:
    found = preview(asked(spec, COUNT), data=visits, folder=tmp_path).to_dict()
    lines = {line["statistic"]: line for line in found["accuracy"]}
    assert list(lines) == [
        "visits: (all)",
        "visits: county",
        "visits: age",
        "visits: sex",
        "visits: county, age",
        "visits: county, sex",
        "visits: age, sex",
    ]
    assert lines["visits: county, age"]["cells"] == 12
    assert all(line["half_width"] > 1.9 * line["sd"] > 0 for line in lines.values())
    html = preview(asked(spec, COUNT), data=visits, folder=tmp_path)._repr_html_()
    assert all(f"<td>{name}</td>" in html for name in lines)
    drawn = error_spec(found["accuracy"])["datasets"]["errors"]
    widths = {name: line["half_width"] for name, line in lines.items()}
    assert {row["cell"]: row["off"] for row in drawn} == widths


def test_before_units_are_counted_it_is_said_that_totals_may_count_one_again(
    spec: dict[str, Any], visits: pa.Table, tmp_path: Path
) -> None:
    units = asked(spec, COUNT | {"count": "units"})
    for groups, again in ((2, True), (1, False)):
        wanted = units | {"protect": units["protect"] | {"rows": 4, "groups": groups}}
        notes = preview(wanted, data=visits, folder=tmp_path).to_dict()["notes"]
        assert any("up to 2 times in a total" in note for note in notes) is again
    notes = preview(asked(spec, COUNT), data=visits, folder=tmp_path).to_dict()["notes"]
    assert not any("times in a total" in note for note in notes)


def test_keys_from_a_file(spec: dict[str, Any], visits: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "counties.csv").write_text("county\n" + "\n".join(KEYS["county"]) + "\n")
    inline = preview(asked(spec, COUNT), data=visits, folder=tmp_path)
    by_file = COUNT | {"keys": KEYS | {"county": "counties.csv"}}
    from_file = preview(asked(spec, by_file), data=visits, folder=tmp_path)
    assert inline.plan.accuracy() == from_file.plan.accuracy()


# ---------------------------------------------------------------------- hierarchies

PLACES = "county,state,region\nn,up,land\ns,down,land\ne,up,land\nw,isle,sea\n"
BY_STATE = COUNT | {
    "margins": [["county", "age"], ["state", "sex"]],
    "keys": KEYS | {"county": "places.csv"},
    "hierarchy": {"county": "state", "state": "region"},
}


def test_levels_of_a_hierarchy_add_up(
    spec: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(filter="zcdp", cap=None)
    (tmp_path / "places.csv").write_text(PLACES)
    changed = asked(spec, BY_STATE, budget={"rho": 0.5})
    made = release(changed, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    with (made.statement.parent / "table.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    columns = ("region", "state", "county", "age", "sex")
    table = {tuple(row[name] for name in columns): Fraction(row["value"]) for row in rows}
    assert len(table) == len(rows)

    def level(*given: str) -> dict[tuple[str, ...], Fraction]:
        """The rows of one margin: those with a key in the given columns, and what is above them."""
        above = {"county": ("state", "region"), "state": ("region",)}
        named = {*given, *(name for one in given for name in above.get(one, ()))}
        return {
            key: value
            for key, value in table.items()
            if {name for name, part in zip(columns, key, strict=True) if part != ALL} == named
        }

    total = table[(ALL,) * 5]
    counties, states = level("county", "age"), level("state", "age")
    assert [len(counties), len(states), len(level("region", "age"))] == [12, 9, 6]
    for one in (counties, states, level("region", "age"), level("age"), level("state", "sex")):
        assert sum(one.values()) == total
    for key, value in states.items():
        below = [v for k, v in counties.items() if k[1] == key[1] and k[3:] == key[3:]]
        assert sum(below) == value
    assert {key[:3] for key in counties} == {
        ("land", "up", "n"),
        ("land", "down", "s"),
        ("land", "up", "e"),
        ("sea", "isle", "w"),
    }
    assert not level("county", "sex")
    lines_told = [line["statistic"] for line in made.plan.accuracy()]
    assert "visits: region, sex" in lines_told


def test_parents_from_a_file_of_their_own(
    spec: dict[str, Any], visits: pa.Table, tmp_path: Path
) -> None:
    (tmp_path / "places.csv").write_text(PLACES)
    beside = preview(asked(spec, BY_STATE), data=visits, folder=tmp_path).plan.accuracy()
    hierarchy = {"county": {"state": "places.csv"}, "state": {"region": "places.csv"}}
    own = BY_STATE | {"keys": KEYS, "hierarchy": hierarchy}
    assert preview(asked(spec, own), data=visits, folder=tmp_path).plan.accuracy() == beside


@pytest.mark.parametrize(
    ("changes", "places", "words"),
    [
        ({"keys": KEYS}, PLACES, "no file says which"),
        ({"hierarchy": {"county": "state", "sex": "age"}}, PLACES, "one above the other"),
        ({"hierarchy": {"county": "state", "state": "county"}}, PLACES, "one above the other"),
        ({}, PLACES.replace("isle", ALL), "rename the key"),
        ({}, PLACES.replace("w,isle,sea", "w,,sea"), "no 'state' stands beside"),
        ({}, PLACES.replace("e,up,land", "e,up,sea"), "two values of 'region'"),
        ({}, PLACES.replace("region", "zone"), "region"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused(
    spec: dict[str, Any], tmp_path: Path, changes: dict[str, Any], places: str, words: str
) -> None:
    (tmp_path / "places.csv").write_text(places)
    with pytest.raises(DiscreetError, match=words) as caught:
        plan_of(load(asked(spec, BY_STATE | changes), folder=tmp_path), COLUMNS)
    assert caught.value.exit_code == 2

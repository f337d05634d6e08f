"""The twin: whole numbers, none negative, that add up; near the estimate; made of it alone."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.releases.test_releases_adding_up import designs, matrix, sampled, up_to
from tests.soaking import examples

from discreet import release
from discreet.auditing import audit
from discreet.errors import DiscreetError
from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.ledger import Ledger
from discreet.releases.adding_up import Design, Margin, Spread, Tree
from discreet.releases.drawing import completed
from discreet.releases.pipeline import Release
from discreet.releases.planning import plan_of
from discreet.releases.spec import load
from discreet.releases.statistics import margins as margins_module
from discreet.releases.statistics.margins import ALL, Margins
from discreet.releases.tables import BESIDE, Table
from discreet.releases.twin import _nearest, simulated, twin_of

KEYS = {"county": ["n", "s", "e", "w"], "age": ["young", "old", "older"], "sex": ["f", "m"]}
COLUMNS = {"person": "text", "county": "text", "age": "text", "sex": "text", "cost": "number"}
COUNT = {
    "count": "rows",
    "margins": {"up_to": 2, "of": ["county", "age", "sex"]},
    "keys": KEYS,
    "name": "visits",
    "twin": True,
}


def estimated(design: Design, truth: Any, sd: float, chance: Any) -> dict[Margin, Any]:
    """Return an estimate of a table from noise of that size on its margins."""
    noise = {m: Spread(sd**2) for m in design._tops(design.measurable)}
    tables = {
        m: matrix(design, m).astype(int) @ truth + np.rint(chance.normal(0, sd, design.cells(m)))
        for m in noise
    }
    combined = design.combined({m: t.astype(int) for m, t in tables.items()}, noise, 6)
    return {m: table / 1e6 for m, table in combined.items()}


@settings(derandomize=True, deadline=None, max_examples=examples(120))
@given(st.data())
def test_it_is_whole_and_not_negative_and_adds_up(data: st.DataObject) -> None:
    design = data.draw(designs())
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    truth = chance.poisson(data.draw(st.sampled_from([0.2, 3.0, 1000.0])), design.finest_size)
    values = estimated(design, truth, data.draw(st.sampled_from([0.5, 5.0])), chance)
    total = data.draw(st.none() | st.integers(0, 500))
    empty = chance.random(design.finest_size) < 0.3
    empty[0] = False
    found = twin_of(design, values, total=total, empty=empty)
    assert found.keys() == values.keys()
    wanted = max(0, round(values[()][0])) if total is None else total
    assert found[()] == [wanted]
    for margin, numbers in found.items():
        assert all(type(number) is int and number >= 0 for number in numbers)
        assert sum(numbers) == wanted
        known = matrix(design, margin) @ ~empty == 0
        assert not np.array(numbers)[known].any()
        for fine in found:
            if set(design.wide(margin)) < set(design.wide(fine)):
                below = {m: np.zeros(design.cells(m), dtype=int) for m in (margin,)}
                at = dict(zip(design.finest(fine), design.finest(margin), strict=True))
                for place, number in enumerate(found[fine]):
                    below[margin][at[place]] += number
                assert below[margin].tolist() == numbers


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(st.data())
def test_the_projection_is_the_nearest_table(data: st.DataObject) -> None:
    """Against a solver of constrained problems that knows nothing of margins."""
    design = data.draw(designs().filter(lambda d: d.finest_size <= 20))
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    truth = chance.poisson(2.0, design.finest_size)
    values = estimated(design, truth, 3.0, chance)
    total = float(max(0, round(values[()][0])))
    places = {m: design.finest(m) for m in values}
    maps = {m: matrix(design, m) for m in values}

    def off(x: Any) -> float:
        return sum(
            float(((maps[m] @ x - v) ** 2).sum()) / design.gathered(m) for m, v in values.items()
        )

    found = _nearest(design, values, places, total, design.finest_size)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, abs=1e-6)
    best = minimize(
        off,
        np.full(design.finest_size, total / design.finest_size),
        bounds=[(0, None)] * design.finest_size,
        constraints={"type": "eq", "fun": lambda x: x.sum() - total},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert off(found) <= off(best.x) * (1 + 1e-3) + 1e-2


def test_rounding_keeps_margins_near() -> None:
    """Of a table without negative numbers, no margin moves by more than a few units."""
    design = up_to(2, (6, 5, 4))
    chance = np.random.default_rng(8)
    truth = chance.gamma(0.5, 20, design.finest_size)
    values = {m: matrix(design, m) @ truth for m in design.published}
    found = twin_of(design, values)
    for margin, numbers in found.items():
        assert np.abs(np.array(numbers) - values[margin]).max() <= 1.6


def test_a_small_table_has_no_negative_people_and_less_error() -> None:
    """Where counts are small the twin is biased upward in cells that are empty, and less off."""
    design = up_to(2, (6, 5, 2))
    chance = np.random.default_rng(9)
    truth = np.where(
        chance.random(design.finest_size) < 0.6, 0, chance.poisson(4, design.finest_size)
    )
    fine = ("a0", "a1")
    true = matrix(design, fine) @ truth
    errors, twins = [], []
    for _ in range(60):
        values = estimated(design, truth, 4.0, chance)
        errors.append(values[fine] - true)
        twins.append(np.array(twin_of(design, values)[fine]) - true)
    assert np.mean(np.square(twins)) < np.mean(np.square(errors))
    assert np.mean(np.array(twins)[:, true == true.min()]) > 0


@pytest.mark.parametrize("pure", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_its_simulated_intervals_cover_the_truth(pure: bool) -> None:
    """Releases of a table of which half the cells are empty and most others small.

    90 numbers each, by a fixed seed, with intervals from 199 simulated releases.
    """
    design = up_to(2, (6, 5, 4))
    shares, *_ = design.split(dict.fromkeys(design.measurable, 1.0), 2 if pure else 1)
    laws = {
        m: Geometric(s) if pure else DiscreteGaussian(math.sqrt(1 / s)) for m, s in shares.items()
    }
    noise = {m: Spread.of(law) for m, law in laws.items()}
    errors = design.errors(noise)
    chance = np.random.default_rng(21)
    size = design.finest_size
    truth = np.where(chance.random(size) < 0.5, 0, chance.geometric(0.3, size))
    true = {m: np.bincount(design.finest(m), truth, design.cells(m)) for m in design.measurable}
    covered: list[float] = []
    narrower: list[float] = []
    for _ in range(examples(20) // 2):
        tables = {
            m: true[m].astype(int) + sampled(law, design.cells(m), chance)
            for m, law in laws.items()
        }
        values = {m: v / 1e6 for m, v in design.combined(tables, noise, 6).items()}
        found = {m: np.array(numbers) for m, numbers in twin_of(design, values).items()}
        widths = simulated(design, found, noise, 0.95)
        for margin, numbers in found.items():
            covered += (np.abs(numbers - true[margin]) <= widths[margin]).tolist()
            narrower += (widths[margin] / errors[margin].half_width(0.95)[0]).tolist()
    assert np.mean(covered) >= 0.93
    assert np.mean(narrower) < 1


def test_a_tree_has_a_twin_as_well() -> None:
    states = np.sort(np.random.default_rng(1).integers(0, 5, 60))
    states[:5] = range(5)
    tree = Tree(("state", "county"), (np.zeros(5, dtype=np.int64), np.sort(states)))
    design = Design({"sex": 2}, ((), ("state",), ("county", "sex")), tree)
    chance = np.random.default_rng(2)
    values = estimated(design, chance.poisson(1.0, 120), 2.0, chance)
    found = twin_of(design, values)
    county = np.array(found["county", "sex"]).reshape(60, 2).sum(axis=1)
    state = np.bincount(tree.parents[1], county, minlength=5)
    assert state.tolist() == found["state",]


# ---------------------------------------------------------------------- in a release


@pytest.fixture
def visits() -> pa.Table:
    chance = np.random.default_rng(3)
    drawn = {name: chance.choice(keys, 60).tolist() for name, keys in KEYS.items()}
    people = [f"p{i}" for i in range(60)]
    return pa.table({"person": people, **drawn, "cost": chance.uniform(0, 120, 60)})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"twin": {"total": 60, "zeros": [{"age": "young", "sex": ["m"]}]}},
        {"count": None, "sum": "cost", "bounds": [0, 100], "resolution": 0.5},
    ],
)
def test_a_release_with_a_twin(
    spec: dict[str, Any],
    visits: pa.Table,
    account: Callable[..., Ledger],
    tmp_path: Path,
    changes: dict[str, Any],
) -> None:
    account(cap=None)
    entry = {k: v for k, v in (COUNT | changes).items() if v is not None}
    made = release(spec | {"statistics": [entry]}, data=visits, folder=tmp_path)
    assert isinstance(made, Release)
    with (made.statement.parent / "table.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    table = {tuple(row[name] for name in KEYS): Fraction(row["published"]) for row in rows}
    step = Fraction(1, 2) if "sum" in entry else Fraction(1)
    assert all(value >= 0 and (value / step).denominator == 1 for value in table.values())
    total = table[(ALL,) * 3]
    for place in range(3):
        single = [v for k, v in table.items() if k[place] != ALL and k.count(ALL) == 2]
        pairs = [v for k, v in table.items() if k[place] == ALL and k.count(ALL) == 1]
        assert sum(single) == sum(pairs) == total
    for row in rows:
        low, number, high = (float(row[f"published{end}"]) for end in ("_low", "", "_high"))
        assert 0 <= low <= number <= high
    before = {name: v for name, v in made.table.columns.items() if name not in BESIDE}
    assert completed(made.plan, Table(before)) == made.table  # everyone can do it again
    assert made.report().folder.is_dir()
    if isinstance(entry["twin"], dict):
        assert total == 60
        assert table[ALL, "young", "m"] == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"twin": {"zeros": [{"age": "ancient"}]}}, "'ancient'"),
        ({"twin": {"zeros": [{"height": "tall"}]}}, "'height'"),
        ({"twin": {"zeros": [{"sex": ["f", "m"]}]}}, "leave no cell"),
        ({"twin": {"total": -1}}, "total"),
        ({"count": None, "sum": "cost", "bounds": [-1, 9], "resolution": 1}, "no negative numbers"),
        ({"keys": KEYS | {"county": [str(i) for i in range(20_000)]}}, "120,000 cells"),
    ],
)
def test_what_has_no_twin_is_refused(
    spec: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    entry = {k: v for k, v in (COUNT | changes).items() if v is not None}
    with pytest.raises(DiscreetError, match=words) as caught:
        plan_of(load(spec | {"statistics": [entry]}), COLUMNS)
    assert caught.value.exit_code == 2


@pytest.mark.slow
def test_a_twin_made_from_the_data_is_caught(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers before noise behind the twin show in the table, whatever the values do."""
    entry = COUNT | {"margins": [["sex"]], "keys": {"sex": ["f", "m"]}}
    seen: dict[str, list[int]] = {}
    numbers = Margins.numbers

    def watched(self: Margins, part: str, measured: Any) -> list[int]:
        seen[part] = numbers(self, part, measured)
        return seen[part]

    def told(design: Design, values: Any, **known: Any) -> dict[Margin, list[int]]:
        return {(): [sum(seen["sex"])], ("sex",): seen["sex"]}

    monkeypatch.setattr(Margins, "numbers", watched)
    monkeypatch.setattr(margins_module, "twin_of", told)
    found = audit(spec | {"statistics": [entry]}, trials=200, failure_probability=1e-3, draws=1)
    assert not found.passed
    assert math.isfinite(found.epsilon_lower)

"""Shares, rates and changes: in range, covered as stated, and from released numbers alone."""

from __future__ import annotations

import json
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

from discreet.errors import PolicyError, SpecError
from discreet.guarantees import PureDP
from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.ledger import Ledger
from discreet.numerics import normal_tail
from discreet.releases import check, preview, release
from discreet.releases.quotients import (
    Spread,
    beyond,
    difference,
    error_of_quotient,
    quotient,
)
from discreet.releases.tables import RESERVED
from discreet.reports.verifier import examined
from discreet.statements.presenter import accuracy_lines
from soaking import chequered, examples

scales = st.floats(0.3, 30)
factors = st.floats(0, 3)


def mass(spread: Spread) -> tuple[np.ndarray, np.ndarray]:
    """The places and probabilities of noise with step 1, but for less than 1e-12."""
    far = math.ceil(spread.scale * (9 if spread.law is DiscreteGaussian else 32)) + 2
    n = np.arange(-far, far + 1)
    weight = np.exp(
        -(n**2) / (2 * spread.scale**2)
        if spread.law is DiscreteGaussian
        else -np.abs(n) / spread.scale
    )
    return n, weight / weight.sum()


def spread_of(gaussian: bool, scale: float) -> Spread:
    return Spread(DiscreteGaussian if gaussian else Geometric, scale, 1.0)


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(
    kinds=st.tuples(st.booleans(), st.booleans()),
    one=scales,
    other=scales,
    factor=factors,
    t=st.floats(0, 120),
    alpha=st.floats(1e-4, 0.5),
)
def test_what_is_beyond_the_noise_is_as_rare_as_said(
    kinds: tuple[bool, bool], one: float, other: float, factor: float, t: float, alpha: float
) -> None:
    """By brute force over both laws: P(|N − factor·M| ≥ t) ≤ α wherever it is said."""
    first, second = spread_of(kinds[0], one), spread_of(kinds[1], other)
    if beyond(t, first, second, factor, alpha):
        (n, p), (m, q) = mass(first), mass(second)
        far = np.abs(n[:, None] - factor * m[None, :]) >= t
        assert float((p[:, None] * q[None, :])[far].sum()) <= alpha + 1e-11


@pytest.mark.parametrize("scale", [0.2, 0.5, 0.9, 1.3, 2.0, 7.5, 40.0])
def test_a_discrete_gaussian_is_within_one_of_a_gaussian(scale: float) -> None:
    n, p = mass(spread_of(True, scale))
    below = np.cumsum(p)
    line = np.array([1 - normal_tail(x / scale) for x in (*n, n[-1] + 1)])
    # Sums of doubles are off by about 1e-15 each.
    assert (line[:-1] <= below + 1e-12).all()
    assert (below <= line[1:] + 1e-12).all()


@pytest.mark.parametrize("scale", [0.2, 0.9, 3.0, 25.0])
def test_geometric_noise_is_rounded_laplace_noise_or_zero(scale: float) -> None:
    n = np.arange(1, 60)
    rounded = np.exp(-n / scale) * math.sinh(1 / (2 * scale))
    law = Geometric(1 / scale)
    exact = np.array([law.tail(int(k)) - law.tail(int(k) + 1) for k in n])
    assert exact == pytest.approx(rounded / math.cosh(1 / (2 * scale)), rel=1e-9, abs=1e-300)


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(
    above=st.integers(-60, 400),
    below=st.integers(-40, 300),
    kinds=st.tuples(st.booleans(), st.booleans()),
    one=scales,
    other=scales,
    most=st.sampled_from([None, 1]),
)
def test_intervals_are_in_range_around_the_value_and_hold_every_possible_quotient(
    above: int, below: int, kinds: tuple[bool, bool], one: float, other: float, most: int | None
) -> None:
    first, second = spread_of(kinds[0], one), spread_of(kinds[1], other)
    value, low, high = quotient(Fraction(above), first, Fraction(below), second, 0.9, most)
    assert low >= 0
    assert high is None if most is None and below <= 0 else True
    assert most is None or (high is not None and high <= most)
    if value is not None:
        assert low <= value
        assert high is None or value <= high
    # A grid as oracle: no quotient that the noise could explain lies outside.
    for theta in np.linspace(0, most or 6, 121):
        if not beyond(abs(above - theta * below), first, second, float(theta), 1 - 0.9):
            assert low <= Fraction(float(theta)) * (1 + Fraction(1, 10**9))
            assert high is None or Fraction(float(theta)) <= high * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("part", "whole"), [(30, 100), (100, 100), (3, 8)])
def test_intervals_cover_the_share_as_often_as_stated(
    gaussian: bool, part: int, whole: int
) -> None:
    """The exact coverage, over both laws: at least 95 %, and not much more where it is smooth."""
    spread = spread_of(gaussian, 3.0)
    n, p = mass(spread)
    near = np.abs(n) <= (18 if gaussian else 40)
    n, p = n[near], p[near]
    missed = 0.0
    for a, pa_ in zip(n, p, strict=True):
        for b, pb in zip(n, p, strict=True):
            _, low, high = quotient(
                Fraction(part + int(a)), spread, Fraction(whole + int(b)), spread, 0.95, 1
            )
            inside = high is not None and low * whole <= part <= high * whole
            missed += (not inside) * float(pa_ * pb)
    assert missed + 2 * (1 - float(p.sum())) <= 0.05  # what lies farther counts as missed
    if (part, whole) == (30, 100):
        assert missed >= 0.015


@pytest.mark.parametrize("gaussian", [False, True])
def test_differences_are_covered_as_stated(gaussian: bool) -> None:
    one, other = spread_of(gaussian, 8.0), spread_of(gaussian, 20.0)
    width = float(difference(one, other, 0.95))
    (n, p), (m, q) = mass(one), mass(other)
    outside = np.abs(n[:, None] - m[None, :]) > width
    missed = float((p[:, None] * q[None, :])[outside].sum())
    assert 0.035 <= missed <= 0.05


def test_laws_are_those_of_the_release() -> None:
    """The scale of a stored call is that of the law that was drawn from."""
    assert DiscreteGaussian(2.0).half_width(0.95) <= spread_of(True, 2.0).reaches(0.05)
    assert Geometric(0.5).half_width(0.95) <= spread_of(False, 2.0).reaches(0.05) + 1e-9


VISITS = {
    "count": "rows", "by": ["county"], "keys": {"county": ["north", "south"]}, "name": "visits"
}  # fmt: skip
ILL = {
    "count": "rows", "by": ["county", "ill"], "name": "ill",
    "keys": {"county": ["north", "south"], "ill": ["yes", "no"]},
}  # fmt: skip


TABLES = {"count": "rows", "margins": [["county", "ill"]], "keys": ILL["keys"], "name": "tables"}


@pytest.fixture
def visits() -> pa.Table:
    """A thousand people, one visit each: 60 % in the north, of which a quarter are ill."""
    return pa.table(
        {
            "person": [f"p{i}" for i in range(1000)],
            "county": ["north" if i % 10 < 6 else "south" for i in range(1000)],
            "ill": ["yes" if i % 4 == 0 else "no" for i in range(1000)],
            "age": list(range(1000)),
        }
    )


@pytest.fixture
def asked(spec: dict[str, Any]) -> dict[str, Any]:
    return spec | {
        "protect": {"unit": "record"},
        "budget": {"epsilon": 4.0},
        "statistics": [VISITS, ILL],
    }


def rows_of(made: Any, name: str) -> dict[tuple[str, ...], tuple[float | None, ...]]:
    table = made.table.columns
    groups = [n for n in table if n not in RESERVED]
    found = {}
    for at, statistic in enumerate(table["statistic"]):
        if statistic == name:
            key = tuple(table[g][at] for g in groups if table[g][at] is not None)
            found[key] = tuple(
                None if table[n][at] is None else float(table[n][at])
                for n in ("value", "interval_low", "interval_high")
            )
    return found


def test_a_release_has_shares_rates_and_changes(
    asked: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(unit="record")
    first = release(asked, data=visits, folder=tmp_path)
    (tmp_path / "people.csv").write_text("county,people\nnorth,6000\nsouth,2000\n")
    asked["statistics"] = [
        VISITS,
        ILL,
        {"share": {"of": "ill", "among": "visits"}, "name": "share"},
        {"rate": {"events": "visits", "per": "people.csv", "times": 1000}, "name": "rate"},
        {"rate": {"events": "ill", "per": "visits"}, "name": "each"},
        {"rate": {"events": "visits", "per": {"north": 6000, "south": 2000}}, "name": "listed"},
        {"change": {"of": "visits", "against": first.release_id}, "name": "change"},
        {"change": {"of": "ill", "against": f"out/{first.release_id}", "as": "ratio"}, "name": "x"},
    ]
    made = release(asked, data=visits, folder=tmp_path, confirm=True)
    assert made.spent["epsilon"] == 4.0
    assert {call["statistic"] for call in made.to_dict()["calls"]} == {"visits", "ill"}
    counts, parts = rows_of(made, "visits"), rows_of(made, "ill")
    for key, (value, low, high) in rows_of(made, "share").items():
        assert value is not None
        assert low is not None
        assert high is not None
        assert value == pytest.approx((parts[key][0] or 0) / (counts[key[:1]][0] or 1), rel=1e-5)
        assert 0 <= low <= value <= high <= 1
    for key, row in rows_of(made, "rate").items():
        people = {"north": 6, "south": 2}[key[0]]
        assert row == pytest.approx([(x or 0) / people for x in counts[key]], rel=1e-5)
    assert rows_of(made, "listed").keys() == counts.keys()
    assert rows_of(made, "each").keys() == parts.keys()
    before = rows_of(first, "visits")
    for key, (value, low, high) in rows_of(made, "change").items():
        assert value == (counts[key][0] or 0) - (before[key][0] or 0)
        assert low is not None
        assert high is not None
        # Scale 0.5 twice: true changes are zero, and 95 % intervals of about ±2.
        assert high - low < 8
    assert len(rows_of(made, "x")) == 4
    stored = json.loads((made.statement.parent / "release.json").read_text())
    assert "0 to 1" in stored["explanations"]["share"]


def test_a_dry_run_says_how_far_off_they_may_be(
    asked: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(unit="record")
    first = release(asked, data=visits, folder=tmp_path)
    (tmp_path / "people.csv").write_text("county,people\nnorth,6000\nsouth,2000\n")
    asked["statistics"] = [
        VISITS,
        ILL,
        {"share": {"of": "ill", "among": "visits"}, "name": "share"},
        {"rate": {"events": "visits", "per": "people.csv", "times": 1000}, "name": "rate"},
        {"rate": {"events": "ill", "per": "visits"}, "name": "each"},
        {"change": {"of": "visits", "against": first.release_id}, "name": "change"},
        {"change": {"of": "visits", "against": first.release_id, "as": "ratio"}, "name": "x"},
    ]
    shown = preview(asked, data=visits, folder=tmp_path)
    said = {row["statistic"]: row for row in shown.to_dict()["accuracy"]}
    noise = spread_of(False, 0.5)
    for size in said["share"]["assumed"]:
        whole, far = Fraction(size["rows"]), []
        for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
            _, low, high = quotient(share * whole, noise, whole, noise, 0.95, most=1)
            far.append(max(share - low, (1 if high is None else high) - share))
        assert size["half_width"] == pytest.approx(float(max(far)), rel=1e-5)
    for name in ("each", "x"):
        for size in said[name]["assumed"]:
            found = error_of_quotient(noise, Fraction(size["rows"]), noise, 0.95)
            assert (size["half_width"], size["of_value"]) == found
    assert len(said["each"]["assumed"]) >= 2
    made = release(asked, data=visits, folder=tmp_path, confirm=True)
    # The south has fewer people: its rate has the wider interval, and that one is told.
    for name in ("rate", "change"):
        ends = [(high or 0) - (low or 0) for _, low, high in rows_of(made, name).values()]
        assert said[name]["half_width"] == pytest.approx(max(ends) / 2, rel=0.3)
    lines = accuracy_lines(shown.to_dict())
    assert any(line.startswith("share: off by at most 0.") for line in lines)
    # Whether rows are left out decides what a group of 1,000 rows is.
    counted = "The rows of a group are those that count: the ones that are left after the limits."
    assert lines.count(counted) == (shown.to_dict()["cut"] != [])
    mean = {"mean": "age", "bounds": [0, 100], "resolution": 1}
    limited = {"unit": "person", "column": "person", "rows": 2}
    spec = asked | {"statistics": [mean], "protect": limited}
    found = preview(spec, data=visits, folder=tmp_path).to_dict()
    assert accuracy_lines(found).count(counted) == 1


@pytest.mark.parametrize("what", [("units", "units"), ("rows", "units"), ("units", "rows")])
def test_after_per_unit_groups_are_parts_of_all_units(
    asked: dict[str, Any], account: Callable[..., Ledger], tmp_path: Path, what: tuple[str, str]
) -> None:
    """Each unit is one row, so that none is lost; such a share was refused."""
    account(cap=None)
    visits = pa.table({"person": ["a", "a", "b", "c"], "ill": ["no", "yes", "no", "no"]})
    asked |= {
        "budget": {"epsilon": 200.0},
        "protect": {"unit": "person", "column": "person"},
        "per_unit": {"ever": {"any": "ill = 'yes'"}, "last": {"max": "ill"}},
        "statistics": [
            {"count": what[0], "by": ["last"], "keys": {"last": ["yes", "no"]}, "name": "some"},
            {"count": what[1], "name": "all"},
            {"share": {"of": "some", "among": "all"}, "name": "share"},
        ],
    }
    assert check(asked).plan.cut() == []  # nor is there anything that limits cut
    made = rows_of(release(asked, data=visits, folder=tmp_path), "share")
    assert {key: value for key, (value, *_) in made.items()} == {
        ("yes",): pytest.approx(1 / 3),
        ("no",): pytest.approx(2 / 3),
    }
    del asked["per_unit"]
    asked["protect"]["rows"] = 1
    asked["statistics"][0] |= {"by": ["ill"], "keys": {"ill": ["yes", "no"]}}
    with pytest.raises(SpecError, match="no part of the other"):
        preview(asked, data=visits, folder=tmp_path)


def test_a_key_with_no_number_beside_it_is_announced(
    asked: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """Its value was empty, and nothing said so: not the check, the dry run or the statement."""
    account(unit="record")
    first = release(asked, data=visits, folder=tmp_path)
    wider = {"county": ["north", "south", "west", "east", "centre", "isles"]}
    (tmp_path / "people.csv").write_text("county,people\nnorth,6000\nsouth,2000\nwest,3000\n")
    (tmp_path / "ages.csv").write_text('age,people\n"[0, 500)",9\n')
    asked["statistics"] = [
        VISITS | {"keys": wider},
        {"count": "rows", "by": ["county"], "keys": VISITS["keys"], "name": "some"},
        {"histogram": "age", "edges": [0, 500, 1000], "name": "ages"},
        {"count": "rows", "name": "all"},
        {"rate": {"events": "visits", "per": "people.csv"}, "name": "file"},
        {"rate": {"events": "visits", "per": {"north": 1, "isles": 2}}, "name": "listed"},
        {"rate": {"events": "visits", "per": 7.0}, "name": "one"},
        {"rate": {"events": "visits", "per": "all"}, "name": "whole"},
        {"share": {"of": "visits", "among": "some"}, "name": "share"},
        {"change": {"of": "visits", "against": first.release_id}, "name": "change"},
        {"rate": {"events": "ages", "per": "ages.csv"}, "name": "by age"},
    ]
    wanted = {
        "file": "file: people.csv has no number for 3 keys (east; centre; isles), so their values",
        "listed": "listed: per has no number for 4 keys (south; west; east; …)",
        "share": "share: some has no number for 4 keys",
        "change": f"change: {first.release_id} has no number for 4 keys",
        "by age": "by age: ages.csv has no number for 1 key ([500, 1000]), so its value is empty.",
    }
    kinds = {"county": "text", "age": "integer"}
    checked = check(asked, columns=kinds, folder=tmp_path).to_dict()["warnings"]
    seen = preview(asked, data=visits, folder=tmp_path)
    for said in (checked, seen.warnings):
        assert len(said) == len(wanted)
        assert all(any(text in line for line in said) for text in wanted.values())
    made = release(asked, data=visits, folder=tmp_path, confirm=True)
    stored = json.loads((made.statement.parent / "release.json").read_text())
    for name, text in wanted.items():
        assert text in stored["explanations"][name]
        assert text.split(" (")[0] in made.statement.read_text()
        assert any(value is None for value, *_ in rows_of(made, name).values())


def test_a_statistic_in_place_is_released_and_charged(
    asked: dict[str, Any], visits: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(unit="record")
    inline = {k: v for k, v in VISITS.items() if k != "name"}
    asked["statistics"] = [ILL, {"share": {"of": "ill", "among": inline}, "name": "part"}]
    made = release(asked, data=visits, folder=tmp_path)
    assert {call["statistic"] for call in made.to_dict()["calls"]} == {"ill", "part/among"}
    assert len(rows_of(made, "part")) == 4
    assert len(rows_of(made, "part/among")) == 2


@pytest.mark.parametrize(
    ("derived", "says"),
    [
        ({"share": {"of": "ill", "among": "all"}}, "no statistic called 'all'.*ill"),
        ({"share": {"of": "ill", "among": "ill"}}, "same noise"),
        ({"share": {"of": "visits", "among": "ill"}}, "has groups"),
        ({"share": {"of": "mean", "among": "visits"}}, "'mean' is no count"),
        ({"share": {"of": "ill", "among": "visits"}, "weight": 2}, "costs nothing"),
        ({"rate": {"events": "ill", "per": {"north": 3}}}, "exactly one column"),
        ({"rate": {"events": "visits", "per": "people.csv"}}, "must have the columns county"),
        ({"rate": {"events": "visits", "per": "zero.csv"}}, "positive number"),
        ({"rate": {"events": "visits", "per": "huge.csv"}}, "positive number"),
        ({"change": {"of": "visits", "against": "nowhere"}}, "no release in 'nowhere'"),
        ({"change": {"of": "visits", "against": "earlier"}}, "has no count, histogram or sum"),
        ({"share": {"of": "tables", "among": "visits"}}, "made of several noisy numbers"),
        # A change is a difference; both were refused for what is not known of a quotient.
        ({"change": {"of": "tables", "against": "nowhere"}}, "noise of a change is not known"),
        ({"change": {"of": "mean", "against": "earlier"}}, "sum, and a change takes only those"),
        ({"share": {"of": "ill", "among": ["county"]}}, "Name a statistic with margins"),
        ({"share": {"of": "tables", "among": ["county", "ill"]}}, "one that another contains"),
        (
            {"share": {"of": "tables", "among": ["age"]}},
            r"'share_tables_5': .*Add \[age\] to",
        ),
    ],
)
def test_what_cannot_be_made_is_refused_before_the_charge(
    derived: dict[str, Any], says: str, asked: dict[str, Any], visits: pa.Table, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("region,people\nnorth,6000\n")
    (tmp_path / "zero.csv").write_text("county,people\nnorth,0\n")
    # Exactly computed, 1e999999999 would fill the memory; no number like it is taken.
    (tmp_path / "huge.csv").write_text("county,people\nnorth,1e4000\n")
    (tmp_path / "earlier").mkdir()
    call = {"statistic": "visits", "mechanism": "geometric", "scale": 1.0}
    table = {"statistic": ["visits"], "county": ["north"], "value": ["1e4000"]}
    table |= {"interval_low": ["0"], "interval_high": ["1"]}
    said = {"table": table, "plan": {"calls": [call]}}
    (tmp_path / "earlier" / "release.json").write_text(json.dumps(said))
    mean = {"mean": "age", "bounds": [0, 1], "resolution": 1, "name": "mean"}
    asked["statistics"] = [VISITS, ILL, mean, TABLES, derived]
    with pytest.raises(SpecError, match=says):
        preview(asked, data=visits, folder=tmp_path)


def test_numbers_from_the_protected_file_are_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("person,county,ill\na,north,yes\n")
    asked |= {"source": "v.csv"}
    asked["statistics"] = [VISITS, {"rate": {"events": "visits", "per": "v.csv"}}]
    with pytest.raises(PolicyError, match="protected source"):
        preview(asked, folder=tmp_path)


@pytest.mark.parametrize(("margins", "size"), chequered([False, True], [100, 1000]))
def test_the_error_foretold_of_a_share_holds_for_every_share(
    asked: dict[str, Any], visits: pa.Table, margins: bool, size: int
) -> None:
    """Two hundred thousand draws of both noises: 5 % has a standard deviation of 0.05 %."""
    tables = dict(TABLES) | {"margins": [["county", "ill"], ["county"]]}
    apart = [VISITS, ILL, {"share": {"of": "ill", "among": "visits"}, "name": "share"}]
    inside = [tables, {"share": {"of": "tables", "among": ["county"]}, "name": "share"}]
    asked |= {"budget": {"epsilon": 0.4}, "statistics": inside if margins else apart}
    shown = preview(asked, data=visits).to_dict()
    (told,) = (row for row in shown["accuracy"] if row["statistic"] == "share")
    (foretold,) = (one["half_width"] for one in told["assumed"] if one["rows"] == size)
    chance = np.random.default_rng(11)

    def noise(call: dict[str, Any]) -> Any:
        p = -np.expm1(-1 / call["scale"])
        return chance.geometric(p, 200_000) - chance.geometric(p, 200_000)

    calls = {call["statistic"]: call for call in shown["calls"]}
    for share in (0.0, 0.02, 0.1, 0.5, 0.9, 0.98, 1.0):
        if margins:  # cells are measured, and their sum is the whole
            above, rest = (n + noise(calls["tables"]) for n in (size * share, size * (1 - share)))
            below = above + rest
        else:
            above, below = size * share + noise(calls["ill"]), size + noise(calls["visits"])
        off = np.abs(np.clip(above, 0, below) / below - share)
        assert np.mean((off > foretold) | (below <= 0)) <= 0.053, share


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(
    kinds=st.tuples(st.booleans(), st.booleans()),
    one=scales,
    other=st.floats(0.3, 10),
    below=st.integers(1, 400),
    theta=st.floats(0, 50),
)
def test_the_error_foretold_of_a_quotient_holds_for_every_quotient(
    kinds: tuple[bool, bool], one: float, other: float, below: int, theta: float
) -> None:
    """By brute force over both laws: |A/B − θ| is above it in at most 5 % of cases."""
    first, second = spread_of(kinds[0], one), spread_of(kinds[1], other)
    found = error_of_quotient(first, Fraction(below), second, 0.95)
    if found is None:
        return
    (n, p), (m, q) = mass(first), mass(second)
    above, whole = theta * below + n[:, None], below + m[None, :]
    published = whole > 0
    value = np.maximum(above, 0) / np.where(published, whole, 1)
    missed = published & (np.abs(value - theta) > (found[0] + found[1] * theta) * (1 + 1e-9))
    assert float((p[:, None] * q[None, :])[missed].sum()) <= 0.05 + 1e-11


SPENT = {"sum": "spent", "bounds": [0, 5000], "resolution": 1, "name": "spent"}
POOR = {"sum": "poor", "bounds": [0, 1], "resolution": 1, "name": "poor"}


def test_what_is_divided_by_a_sum_is_told_by_the_sum(
    asked: dict[str, Any], account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """A sum is no number of rows: an error of 50 was foretold where one of 500 was common."""
    account(cap=PureDP(2.0), unit="record")
    many = 4000
    data = pa.table(
        {
            "person": [f"p{i}" for i in range(many)],
            "spent": [i % 2 * 3200 for i in range(many)],
            "poor": [int(i % 5 == 0) for i in range(many)],
        }
    )
    asked |= {"budget": {"epsilon": 0.9}, "ledger": "sqlite:///ledger.db"}
    asked["statistics"] = [
        SPENT,
        SPENT | {"where": "poor = 1", "name": "theirs"},
        POOR,
        {"rate": {"events": "spent", "per": "poor"}, "name": "each"},
        {"share": {"of": "theirs", "among": "spent"}, "name": "share"},
        {"count": "units", "name": "people"},
        {"rate": {"events": "spent", "per": "people", "times": 10}, "name": "ten"},
    ]
    shown = preview(asked, data=data, folder=tmp_path)
    said = {row["statistic"]: row for row in shown.to_dict()["accuracy"]}
    calls = {call["statistic"]: call for call in shown.to_dict()["calls"]}
    chance = np.random.default_rng(3)

    def drawn(name: str) -> Any:
        call = calls[name]
        p = -np.expm1(-call["resolution"] / call["scale"])
        both = chance.geometric(p, (2, 200_000))
        return (both[0] - both[1]) * call["resolution"]

    for name, denominators in {"each": [100, 1000], "ten": [100, 1000], "share": None}.items():
        sizes = said[name]["assumed"]
        assert said[name]["by"] == "denominator"
        assert denominators in (None, [size["denominator"] for size in sizes])
        for size in sizes:
            for quotient_ in (0.0, 0.3, 1.0) if name == "share" else (0.0, 2.0, 500.0, 8000.0):
                whole = size["denominator"]
                over, under = {"each": ("spent", "poor"), "ten": ("spent", "people")}.get(
                    name, ("theirs", "spent")
                )
                times = 10 if name == "ten" else 1
                above = np.maximum(quotient_ * whole + drawn(over), 0)
                below = whole + drawn(under)
                value = np.where(below > 0, above / np.where(below > 0, below, 1), np.inf)
                value = np.minimum(value, 1) if name == "share" else value * times
                far = size["half_width"] + size.get("of_value", 0.0) * quotient_ * times
                # The standard deviation of a share of 5 % in 200,000 draws is 0.05 %.
                assert np.mean(np.abs(value - quotient_ * times) > far) <= 0.053
    lines = accuracy_lines(shown.to_dict())
    (line,) = (one for one in lines if one.startswith("each"))
    assert "plus 1.5 % of the value where the denominator is 1,000" in line
    (line,) = (one for one in lines if one.startswith("share"))
    assert "in a group" not in line
    made = release(asked, data=data, folder=tmp_path)
    found = examined(made.report().folder, None, None).answer()
    assert found["problems"] == []


def test_the_error_of_a_rate_of_cells_of_margins_is_that_of_the_cells(
    asked: dict[str, Any], visits: pa.Table
) -> None:
    """Per a public number; it was told as 0."""
    tables = dict(TABLES) | {"margins": [["county", "ill"], ["county"]]}
    asked["statistics"] = [tables, {"rate": {"events": "tables", "per": 10}, "name": "rate"}]
    said = {row["statistic"]: row for row in preview(asked, data=visits).to_dict()["accuracy"]}
    cells = max(row["half_width"] for name, row in said.items() if name != "rate")
    assert said["rate"]["half_width"] == pytest.approx(cells / 10, rel=1e-6)


def test_alone_there_is_nothing_to_make_it_from(asked: dict[str, Any], visits: pa.Table) -> None:
    asked["statistics"] = [{"share": {"of": "a", "among": "b"}}]
    with pytest.raises(SpecError, match="none of those is released"):
        preview(asked, data=visits)


@pytest.mark.parametrize("levels", [False, True])
def test_shares_of_cells_of_one_table(
    asked: dict[str, Any],
    visits: pa.Table,
    account: Callable[..., Ledger],
    tmp_path: Path,
    levels: bool,
) -> None:
    """Persons with several rows: cells of margins are of the same rows, two statistics are not."""
    account(cap=PureDP(1000.0))
    asked["protect"] = {"unit": "person", "column": "person", "rows": 2}
    asked["budget"] = {"epsilon": 500.0}
    tables = dict(TABLES)
    if levels:
        (tmp_path / "places.csv").write_text("county,land\nnorth,up\nsouth,up\n")
        keys = ILL["keys"] | {"county": "places.csv"}
        tables |= {"hierarchy": {"county": "land"}, "keys": keys}
    share = {"share": {"of": "tables", "among": ["county"]}, "name": "part"}
    tables["margins"] = [["county", "ill"], ["county"]]
    rate = {"rate": {"events": "tables", "per": 10}, "name": "rate"}
    asked["statistics"] = [tables, share, rate]
    made = release(asked, data=visits, folder=tmp_path)
    rows = rows_of(made, "part")
    assert len(rows) == 4
    (told,) = (row for row in made.plan.accuracy() if row["statistic"] == "part")
    at = {size["rows"]: size["half_width"] for size in told["assumed"]}
    for _, low, high in () if levels else rows.values():  # of wholes of 400 and 600
        assert at[1000] * 0.5 <= ((high or 0) - (low or 0)) / 2 <= at[100] * 1.5
    for key, (value, low, high) in rows.items():
        assert value == pytest.approx(0.25 if "yes" in key else 0.75, abs=0.05)
        assert 0 <= (low or 0) <= (value or 0) <= (high or 0) <= 1
    assert len(rows_of(made, "rate")) == len(rows_of(made, "tables"))
    asked["statistics"] = [VISITS, ILL, {"share": {"of": "ill", "among": "visits"}}]
    with pytest.raises(SpecError, match="each by itself"):
        preview(asked, data=visits, folder=tmp_path)
    # Nobody has more rows than are kept, publicly known: then nothing is chosen.
    preview(asked | {"cut": {"rows": 2}}, data=visits, folder=tmp_path)


def test_a_mean_of_yes_and_no_is_a_share_between_its_bounds(
    spec: dict[str, Any], account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """Deviations are taken from ½, which halves the noise of the sum, and no mean is below zero."""
    account(cap=PureDP(1000.0))
    people = pa.table({"person": [f"p{i}" for i in range(40)], "ill": [i % 2 for i in range(40)]})
    spec["protect"] |= {"rows": 1}
    spec["statistics"] = [
        {"mean": "ill", "bounds": [0, 1], "resolution": 1, "name": "ill", "weight": 1},
        {"variance": "ill", "bounds": [0, 1], "resolution": 1, "name": "spread"},
    ]
    spec["budget"] = {"epsilon": 0.2}
    made = release(spec, data=people, folder=tmp_path)
    calls = {(c["statistic"], c["part"]): c for c in made.to_dict()["calls"]}
    assert (calls["ill", "sum"]["l1"], calls["ill", "sum"]["resolution"]) == (0.5, 0.5)
    assert calls["spread", "squares"]["l1"] == 0.25
    value, low, high = rows_of(made, "ill")[()]
    assert 0 <= (low or 0) <= (value or 0) <= (high or 1) <= 1
    spec["budget"] = {"epsilon": 400.0}
    made = release(spec, data=people, folder=tmp_path)
    assert rows_of(made, "ill")[()][0] == pytest.approx(0.5, abs=0.02)
    assert rows_of(made, "spread")[()][0] == pytest.approx(0.25, abs=0.02)

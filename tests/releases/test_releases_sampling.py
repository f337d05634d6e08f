"""A release from a secret sample: whole units, drawn by the release, charged as it costs."""

from __future__ import annotations

import json
import math
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.ledger.amounts import Amount
from discreet.releases import Preview, Release, preview, release
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Query
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.rows import sampled as drawn_of
from discreet.releases.spec import Spec

UNITS = 4000
VISITS = pa.table({"person": [f"p{i}" for i in range(UNITS) for _ in range(2)]})


def _spec(**changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "sample": {"rate": 0.25},
        "budget": {"epsilon": 1.0},
        "statistics": [{"count": "rows"}, {"count": "units"}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


def _opened(folder: Path, **changes: Any) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
    ledger.open_account("people", **(terms | changes), approver="tester", reason="test")
    return ledger


def test_what_is_charged_is_what_it_costs_everyone(tmp_path: Path) -> None:
    ledger = _opened(tmp_path)
    tried = preview(_spec(), data=VISITS, folder=tmp_path)
    assert isinstance(tried, Preview)
    told = next(note for note in tried.notes if "secret sample" in note)
    inside = math.log1p(math.expm1(1.0) / 0.25)
    assert f"{math.ceil(100_000 * inside) / 100_000:.5f}" in told
    made = release(_spec(), data=VISITS, folder=tmp_path)
    assert isinstance(made, Release)
    spent = float(ledger.account("people").spent.epsilon)
    assert 1 - 1e-9 < spent <= 1  # all that the cap allows, and not a digit more
    said = json.loads((Path(made.statement).parent / "release.json").read_text())
    calls = sum(call["epsilon"] for call in said["plan"]["calls"])
    assert calls == pytest.approx(inside)
    rows, units = (int(row["value"]) for row in made.to_arrow().to_pylist())
    # Binomial(4000, 1/4): 10 standard deviations, and noise of scale 2; below 1e-20.
    assert abs(units - UNITS / 4) < 10 * math.sqrt(UNITS * 3 / 16) + 100
    assert abs(rows - 2 * units) < 300


REPLACE = {"unit": "person", "column": "person", "rows": 2, "adjacency": "replace"}


@pytest.mark.parametrize(
    ("changes", "inside"),
    [
        ({"budget": {"epsilon": 1.0}}, "ε = 2.06346"),
        ({"budget": {"epsilon": 1.0, "delta": 1e-6}, "mechanism": "gaussian"}, "δ = 4e-06"),
        ({"budget": {"rho": 0.5}}, "ε = 2.06346"),
    ],
)
def test_a_sample_of_fixed_size(tmp_path: Path, changes: dict[str, Any], inside: str) -> None:
    """A quarter of 4,000 units: the charge is the budget, and on the sample more is spent."""
    given = changes["budget"]
    cap = Amount.of(rho=0.5, delta=1e-6) if "rho" in given else Amount.of(epsilon=1, delta=1e-6)
    kind = "zcdp" if "rho" in given else "basic"
    ledger = _opened(tmp_path, adjacency="replace", filter=kind, cap=cap)
    asked = _spec(protect=REPLACE, sample={"units": 1000, "of": UNITS}, **changes)
    (note,) = [
        note for note in preview(asked, data=VISITS, folder=tmp_path).notes if "1000" in note
    ]
    assert inside in note
    made = release(asked, data=VISITS, folder=tmp_path)
    assert isinstance(made, Release)
    assert made.spent["epsilon"] <= 1
    assert made.spent["epsilon"] == pytest.approx(1)
    assert (made.spent["delta"] or 0.0) <= given.get("delta", 0.0)
    if "rho" in given:
        assert 0 <= ledger.account("people").spent.rho <= 0.5
    rows, units = (int(row["value"]) for row in made.to_arrow().to_pylist())
    # Noise of a standard deviation below 8; beyond 150 it is below 1e-20.
    assert abs(units - 1000) < 150
    assert abs(rows - 2000) < 150


def test_a_frame_with_empty_places_draws_no_more_of_those_who_are_there() -> None:
    """1,000 of 16,000 places, 4,000 of them taken: hypergeometric, Hoeffding below 1e-12."""
    spec = Spec.model_validate(_spec(protect=REPLACE, sample={"units": 1000, "of": 16000}))
    rows = Query((), None, Contribution(rows=1), (Counting("rows"),))
    seen = []
    for _ in range(2):
        with closing(DuckDB.of(VISITS)) as engine:
            drawn = drawn_of(engine, spec)
            first, again = (drawn.measure(rows)["rows"][0] for _ in range(2))
            assert first == again
            assert int(first) % 2 == 0
            seen.append(int(first) // 2)
    limit = math.sqrt(1000 * math.log(2e12) / 2)
    assert all(abs(count - 250) <= limit for count in seen)


def test_units_are_drawn_whole_independently_and_anew() -> None:
    """Hoeffding: each limit is passed with probability below 1e-12."""
    query = Query((), None, Contribution(rows=1), (Counting("rows"),))
    seen = []
    for _ in range(3):
        with closing(DuckDB.of(VISITS)) as engine:
            drawn = engine.sampled(("person",), Fraction(1, 4))
            first, again = (drawn.measure(query)["rows"][0] for _ in range(2))
            assert first == again  # every pass sees the same sample
            assert int(first) % 2 == 0  # both rows of a person, or none
            seen.append(int(first) // 2)
    limit = math.sqrt(UNITS * math.log(2e12) / 2)
    assert all(abs(count - UNITS / 4) <= limit for count in seen)
    assert len(set(seen)) > 1  # equal three times with probability below 1e-3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"protect": {"unit": "record"}}, "no column"),
        (
            {"protect": {"unit": "person", "column": "person", "rows": 2, "adjacency": "replace"}},
            "add-remove",
        ),
        ({"sample": {"units": 5, "of": 20}}, "replace"),
        ({"sample": {"units": 20, "of": 20}}, "fewer units"),
        ({"sample": {"units": 5}}, "fewer units"),
        ({"sample": {"rate": 0.1, "units": 5, "of": 20}}, "fewer units"),
        ({"sample": {}}, "fewer units"),
        (
            {
                "budget": None,
                "tolerance": {
                    "posterior": 0.12,
                    "q": 1,
                    "sampled": {"units": 5, "of": 100, "source": "the survey's plan"},
                },
            },
            "counted once",
        ),
        ({"sample": {"rate": 0}}, "greater than 0"),
        ({"sample": {"rate": 1}}, "less than 1"),
    ],
)
def test_what_is_not_proved_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DiscreetError, match=says):
        preview(_spec(**changes), data=VISITS, folder=tmp_path)


def test_units_without_a_name_cannot_be_drawn(tmp_path: Path) -> None:
    table = pa.table({"person": [0.5, 1.5]})
    with pytest.raises(DiscreetError, match="neither whole numbers nor texts"):
        preview(_spec(), data=table, folder=tmp_path)


def test_the_statement_says_for_whom(tmp_path: Path) -> None:
    _opened(tmp_path)
    made = release(_spec(), data=VISITS, folder=tmp_path)
    assert isinstance(made, Release)
    found = made.report()
    text = "\n".join(Path(path).read_text() for path in found.files if str(path).endswith(".md"))
    assert "known to have been drawn" in text
    assert "50 % becomes at most 73.2 %" in text
    assert "50 % becomes at most 88.8 %" in text  # 1/(1 + e^{-2.06346})

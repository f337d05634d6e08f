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
from discreet.releases import Preview, Release, preview, release
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Query
from discreet.releases.engines.duckdb import DuckDB

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
    assert f"{math.ceil(1000 * inside) / 1000:.3f}" in told
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
        ({"budget": {"rho": 0.1}}, "pure"),
        ({"budget": {"epsilon": 1.0, "delta": 1e-6}}, "pure"),
        ({"protect": {"unit": "record"}}, "no column"),
        (
            {"protect": {"unit": "person", "column": "person", "rows": 2, "adjacency": "replace"}},
            "add-remove",
        ),
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
        (
            {
                "statistics": [
                    {"count": "rows", "by": ["person2"], "keys": {"discover": {"delta": 1e-6}}}
                ]
            },
            "found in the data",
        ),
    ],
)
def test_what_is_not_proved_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    table = VISITS.append_column("person2", VISITS["person"])
    with pytest.raises(DiscreetError, match=says):
        preview(_spec(**changes), data=table, folder=tmp_path)


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

"""Samples: what an audit and an attack say of a release that is made from some of the units."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.auditing import attack, audit, checks
from discreet.composition.sampling import before_sampling
from discreet.guarantees import PureDP
from discreet.releases import load

RATE = {"sample": {"rate": 0.1}}
FIXED = {"sample": {"units": 300, "of": 2000}, "adjacency": "replace"}
ALPHA = 1e-6  # how often a check of a right sample fails, at most


def _spec(sample: dict[str, Any], adjacency: str = "add-remove") -> Any:
    protect = {"unit": "person", "column": "person", "rows": 1, "adjacency": adjacency}
    return load(
        {
            "account": "people",
            "purpose": "test",
            "source": "data.parquet",
            "protect": protect,
            "sample": sample,
            "budget": {"epsilon": 1.0},
            "statistics": [{"count": "rows"}],
            "ledger": "sqlite:///ledger.db",
            "output": "out",
        }
    )


@pytest.mark.parametrize("asked", [RATE, FIXED], ids=["rate", "fixed"])
def test_a_sample_is_drawn_as_often_as_is_said(asked: dict[str, Any]) -> None:
    found = checks.sample(_spec(**asked), ALPHA)
    assert found.passed
    assert "take every unit as drawn" in found.found


def _some_rows(engine: Any, _: Any) -> Any:
    """Return about a tenth of the rows, of whichever unit they are."""
    rows = engine._source
    drawn = engine._reading.dialect.draw(30) < 2**30 // 10
    return engine.derived(rows.filter(drawn), engine._columns)


FAULTS: dict[str, Any] = {
    "everyone is drawn": lambda engine, _: engine,
    "twice as many": lambda engine, spec: engine.sampled(spec.protect.column, Fraction(1, 5)),
    "some of the rows": _some_rows,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sample_that_is_not_as_said_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "sampled", FAULTS[fault])
    assert not checks.sample(_spec(**RATE), ALPHA).passed


def test_a_secret_that_is_used_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.releases.engines import expressions

    monkeypatch.setattr(expressions.secrets, "token_hex", lambda size: "5a" * size)
    assert not checks.sample(_spec(**RATE), ALPHA).passed


def test_an_audit_says_what_it_takes_a_sample_for(brief_audits: None) -> None:
    found = audit(_spec(**RATE), trials=100, draws=1)
    assert found.passed
    (told,) = (check for check in found.checks if check.name == "sample")
    assert told.passed


def test_an_attack_is_on_those_who_were_drawn() -> None:
    """Its noise is that of the sample, which is less than the charge alone would need."""
    shown = attack("averaging", spec=_spec(**RATE), repeats=3)
    inside = before_sampling(PureDP(1.0), 0.1).epsilon
    assert math.isclose(shown.release.budget, inside, rel_tol=1e-9)
    assert inside > 2.8

"""Planted faults: each is caught by the audit at a false-alarm rate of 1e-3, within 20 seconds.

A fault is planted in the real path by replacing one function of it. The statistical ones must show
in a test of fresh trials (or in beliefs), not only in a check.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ibis
import numpy as np
import pytest

from discreet.auditing import Audit, audit
from discreet.guarantees import PureDP
from discreet.noise import add_noise, discrete_gaussian, discrete_laplace, noisy_max
from discreet.releases import drawing, pricing
from discreet.releases.contributions import Contribution
from discreet.releases.engines import expressions
from discreet.releases.engines.base import KeySet, Query, Summing
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.pricing import Pricing

pytestmark = pytest.mark.slow

KEYS = {"county": ["north", "south", "west"]}
COUNT = {"count": "rows", "by": ["county"], "keys": KEYS}
SUM = {"sum": "cost", "bounds": [0, 100], "resolution": 1, "by": ["county"], "keys": KEYS}


def spec(*statistics: dict[str, Any], rows: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "person", "rows": rows},
        "budget": {"epsilon": 0.5},
        "statistics": list(statistics),
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


@pytest.fixture
def attacked() -> Callable[..., Audit]:
    def run(asked: dict[str, Any], trials: int = 400) -> Audit:
        start = time.process_time()
        found = audit(asked, trials=trials, failure_probability=1e-3, draws=1)
        assert time.process_time() - start < 20
        assert not found.passed
        return found

    return run


def shown(found: Audit) -> bool:
    """Whether the attack itself broke the promise, whatever the checks say."""
    return any(test.broken for test in found.tests)


def failed(found: Audit) -> set[str]:
    return {check.name for check in found.checks if not check.passed}


def test_half_the_noise(monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]) -> None:
    monkeypatch.setattr(
        drawing, "add_noise", lambda law, v, **more: discrete_laplace(v, law.scale / 2)
    )
    found = attacked(spec(COUNT))
    assert shown(found)
    assert found.epsilon_lower > 2
    assert not all(belief.passed for belief in found.beliefs)


@pytest.mark.soak  # a promise in rho that is broken: test_our_release_with_the_l2_of_one_group
def test_half_the_gaussian_noise(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    monkeypatch.setattr(
        drawing, "add_noise", lambda law, v, **more: discrete_gaussian(v, law.sigma / 2)
    )
    found = attacked(spec(COUNT, budget={"rho": 0.1}), trials=1200)
    assert shown(found)


def test_half_the_noise_of_a_choice(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    monkeypatch.setattr(
        drawing, "noisy_max", lambda scores, scale, law: noisy_max(scores, scale / 2, law=law)
    )
    best = {"best": "answer", "score": "count", "of": "answer", "candidates": ["yes", "no"]}
    assert shown(attacked(spec(best)))


def test_sensitivity_of_a_row_instead_of_a_person(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    monkeypatch.setattr(Contribution, "l1", lambda self, size=1: size)
    found = attacked(spec(COUNT, rows=4))
    assert shown(found)
    assert "sensitivity" in failed(found)


def test_no_clipping(monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]) -> None:
    right = DuckDB.measure

    def unclipped(self: DuckDB, query: Query) -> Any:
        wide = tuple(
            replace(m, field=replace(m.field, low=-(10**6), high=10**6))
            if isinstance(m, Summing)
            else m
            for m in query.measures
        )
        return right(self, replace(query, measures=wide))

    monkeypatch.setattr(DuckDB, "measure", unclipped)
    found = attacked(spec(SUM))
    assert shown(found)
    assert found.worst == "beyond the bounds"
    assert "sensitivity" in failed(found)


def test_a_cap_shared_between_persons(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    def first_of_the_group(rows: Any, *others: Any, **more: Any) -> Any:
        numbered = rows.mutate(_place=ibis.row_number().over(group_by="_group"))
        return numbered.filter(numbered["_place"] < 6).drop("_place")

    monkeypatch.setattr(expressions, "bounded", first_of_the_group)
    monkeypatch.setattr(expressions, "_WIDEST", 0)
    found = attacked(spec(SUM))
    assert shown(found)
    assert "sensitivity" in failed(found)


def test_noise_reused_by_all_cells(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    def once(law: Any, values: Any, **more: Any) -> list[int]:
        (noise,) = add_noise(law, [0])
        return [value + noise for value in values]

    monkeypatch.setattr(drawing, "add_noise", once)
    found = attacked(spec(COUNT))
    assert shown(found)
    assert "fresh" in failed(found)


def test_noise_reused_by_all_releases(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    kept: dict[Any, list[int]] = {}

    def drawn_once(law: Any, values: Any, **more: Any) -> list[int]:
        noise = kept.setdefault((len(values), law), add_noise(law, [0] * len(values)))
        return [value + n for value, n in zip(values, noise, strict=True)]

    monkeypatch.setattr(drawing, "add_noise", drawn_once)
    found = attacked(spec(COUNT))
    assert shown(found)
    assert "fresh" in failed(found)


def test_an_empty_cell_is_dropped(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    right = drawing._answered

    def without_empty(plan: Any, engine: Any, group: Any, *others: Any) -> Any:
        query = drawing.query_of(plan, group)
        counts = engine.measure(query)[query.measures[0].name]
        cells = query.cells
        kept = tuple(key for key, count in zip(cells.keys, counts, strict=True) if count)
        fewer = [replace(one, cells=KeySet(cells.columns, kept)) for one in group]
        return right(plan, engine, fewer, *others)

    monkeypatch.setattr(drawing, "_answered", without_empty)
    found = attacked(spec(COUNT))
    assert shown(found)
    assert "cells" in failed(found)


def test_a_threshold_for_one_row_where_a_person_has_eight(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    right = DuckDB.find_keys

    class Rows:
        """Counts rows, where the threshold is made for units."""

        def once_per_group(self) -> Contribution:
            return Contribution(rows=8, groups=1, rows_per_group=8)

    monkeypatch.setattr(
        DuckDB, "find_keys", lambda self, unit, by, contribution: right(self, unit, by, Rows())
    )
    count = {"count": "rows", "by": ["drug"], "keys": {"discover": {"delta": 1e-3}}}
    asked = spec(count, rows=8)
    asked["protect"] |= {"groups": 1}
    found = attacked(asked)
    assert shown(found)
    assert "sensitivity" in failed(found)


def test_sums_in_doubles(monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]) -> None:
    right = expressions._aggregates

    def in_doubles(table: Any, query: Any, columns: Any, reading: Any) -> Any:
        sums = right(table, query, columns, reading)
        fields = expressions.fields_of(query)
        for measure in query.measures:
            if isinstance(measure, Summing):
                place = columns[fields.index(measure.field)]
                sums[measure.name] = (place + measure.field.low).cast("float64").sum()
        return sums

    monkeypatch.setattr(expressions, "_aggregates", in_doubles)
    large = {"sum": "cost", "bounds": [0, 2**51 - 1], "resolution": 1}
    found = attacked(spec(large, rows=4, budget={"epsilon": 2.0}), trials=100)
    assert "sensitivity" in failed(found)


def test_a_floating_point_sampler(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    source = np.random.default_rng(7)

    def rounded(law: Any, values: Any, **more: Any) -> list[int]:
        drawn = source.laplace(0, law.scale, len(values))
        return [int(v) + round(x) for v, x in zip(values, drawn, strict=True)]

    monkeypatch.setattr(drawing, "add_noise", rounded)
    found = attacked(spec(COUNT), trials=100)
    assert "support" in failed(found)


def test_a_charge_for_half_the_statistics(
    monkeypatch: pytest.MonkeyPatch, attacked: Callable[..., Audit]
) -> None:
    right = pricing.price

    def half(asked: Any, budget: Any, mechanism: Any) -> Pricing:
        made = right(asked, budget, mechanism)
        return replace(made, charges=(PureDP(made.calls[0].epsilon or 0.0),))

    monkeypatch.setattr(pricing, "price", half)
    found = attacked(spec(COUNT, SUM), trials=100)
    assert "charge" in failed(found)

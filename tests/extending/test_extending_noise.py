"""Noise added from outside the package (`toy_noise.py`) that releases draw, by its name alone."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet import Ledger, check, release
from discreet.errors import SpecError
from discreet.laws import Geometric, names, register, registry
from discreet.noise import add_noise
from discreet.releases.script import opendp_script

with patch.dict(registry.KINDS):  # other tests see the mechanisms of the package alone
    names()
    from toy_noise import Doubled

    KIND = registry.KINDS["doubled"]

COUNT = {"count": "rows", "name": "visits", "by": ["g"], "keys": {"g": ["a", "b"]}}


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    names()
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    register(KIND)


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    rows = "".join(f"{i},{'ab'[i % 2]},{i % 10}\n" for i in range(2_000))
    (tmp_path / "d.csv").write_text("id,g,x\n" + rows)
    book = Ledger.open(f"sqlite:///{tmp_path}/l.db")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": None}
    book.open_account("people", **terms, approver="A. Curator", reason="a test")
    return {
        "account": "people",
        "purpose": "noise of our own",
        "source": str(tmp_path / "d.csv"),
        "protect": {"unit": "person", "column": "id", "rows": 1},
        "budget": {"epsilon": 1.0},
        "mechanism": "doubled",
        "statistics": [COUNT],
        "ledger": f"sqlite:///{tmp_path}/l.db",
        "output": str(tmp_path / "out"),
    }


def test_its_law_is_that_of_two_geometric_noises() -> None:
    law, one = Doubled(2.0), Geometric(0.5)
    far = range(-200, 201)
    for t in (-3, 0, 1, 4, 11):
        tail = math.fsum(math.exp(one.log_density(n)) * one.tail(t - n) for n in far)
        assert law.tail(t) == pytest.approx(tail, rel=1e-9)
    drawn = np.array(add_noise(law, [0] * 4_000))
    # by Dvoretzky, Kiefer and Wolfowitz this fails once in 10^9
    reach = math.sqrt(math.log(2e9) / 8_000)
    assert all(abs((drawn <= x).mean() - law.cdf(x)) <= reach for x in range(-30, 31))


def test_a_release_draws_it(spec: dict[str, Any]) -> None:
    spec["statistics"] = [
        COUNT,
        {"count": "rows", "name": "low", "where": "x < 5", "by": ["g"], "keys": COUNT["keys"]},
        {"share": {"of": "low", "among": "visits"}},
        {"count": "rows", "name": "all", "margins": [["g"]], "keys": COUNT["keys"], "twin": True},
        {"quantiles": {"of": "x", "at": [0.5], "bounds": [0, 9], "resolution": 1}},
    ]
    made = release(spec | {"cut": {"rows": 1}}, confirm=True)
    calls = made.to_dict()["calls"]
    noisy = [call for call in calls if call["mechanism"] == "doubled"]
    assert {"visits", "low", "all"} <= {call["statistic"] for call in noisy}
    for call in noisy:
        scale = Fraction(call["scale"]) / Fraction(call["resolution"])
        assert Fraction(call["l1"]) / scale <= Fraction(call["epsilon"])
        assert call["sd"] == pytest.approx(Doubled(float(scale)).sd * call["resolution"])
    (table,) = (file for file in made.files if file.suffix == ".csv")
    with table.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["statistic"] == "visits"]
    width = Doubled(float(noisy[0]["scale"])).covers(0.95)
    assert [int(r["interval_high"]) - int(r["value"]) for r in rows] == [width] * 2
    assert "doubled noise" in Path(made.statement).read_text(encoding="utf-8").lower()


def test_what_it_cannot_do_is_refused(spec: dict[str, Any]) -> None:
    assert check(spec).to_dict()["mechanism"] == "doubled noise, as the spec asks."
    with pytest.raises(SpecError, match="cannot be written as a script"):
        opendp_script(spec)
    with pytest.raises(SpecError, match="releases draw noise of: auto, geometric, doubled"):
        check(spec | {"mechanism": "tripled"})

"""Joining or staying out: the odds of a belief in both worlds, against laws that are summed up."""

from __future__ import annotations

import contextlib
import io
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import ZCDP, ApproxDP, PureDP, join
from discreet.cli import main
from discreet.composition import loss_of
from discreet.errors import GuaranteeError, InputError
from discreet.laws import Gaussian, Geometric
from discreet.numerics import normal_tail
from soaking import examples


def odds(p: float) -> float:
    return p / (1 - p)


@settings(deadline=None, max_examples=examples(60))
@given(st.floats(0.01, 3), st.floats(0.001, 0.999), st.integers(0, 4))
def test_no_output_passes_the_bound(epsilon: float, out: float, others: int) -> None:
    """A count of two kinds of people: one joins as the one or as the other, every output seen."""
    (joined,) = join(PureDP(epsilon), out).joined
    law = Geometric(epsilon)
    for first in range(-30, 31):
        for second in range(-30, 31):
            # in one kind or in the other, with `others` people of each kind beside
            one = law.log_density(first - others - 1) + law.log_density(second - others)
            two = law.log_density(first - others) + law.log_density(second - others - 1)
            believed = odds(out) * math.exp(one - two)
            assert believed <= odds(joined) * (1 + 1e-9)
    assert odds(joined) == pytest.approx(odds(out) * math.exp(2 * epsilon), rel=1e-6)


def test_equation_42_and_its_one_step_forms() -> None:
    assert join(PureDP(0.5), 0.5).joined[0] == pytest.approx(math.e / (1 + math.e))
    alone = join(PureDP(0.5), 0.5, counts_sensitive_only=True)
    replaced = join(PureDP(0.5, adjacency="replace"), 0.5)
    assert alone.joined == replaced.joined
    assert alone.odds == pytest.approx(math.exp(0.5))
    assert alone.holds_with == 1
    assert join(PureDP(0.5), [0.0, 1.0]).joined == (0.0, 1.0)


@pytest.mark.parametrize("sigma", [3.0, 10.0])
@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_gaussian_noise_passes_the_bound_as_seldom_as_said(
    sigma: float, times: int, confidence: float
) -> None:
    """Two steps apart the loss is N(μ²/2, μ²) with μ = 2√k/σ."""
    mu = 2 * math.sqrt(times) / sigma
    found = {
        "law": join(loss_of((Gaussian(sigma), times)), 0.2, confidence=confidence),
        "zcdp": join(ZCDP(times / (2 * sigma**2)), 0.2, confidence=confidence),
    }
    for one in found.values():
        assert one.holds_with == confidence
        assert normal_tail((math.log(one.odds) - mu**2 / 2) / mu) <= 1 - confidence
    assert found["law"].odds <= found["zcdp"].odds


def test_delta_gives_a_wider_bound_than_none_and_a_series_a_narrower_one_than_adding_up() -> None:
    assert join(ApproxDP(0.5, 1e-6)).odds > join(PureDP(0.5)).odds
    assert join(loss_of((Geometric(0.1), 30))).odds < join(PureDP(3.0)).odds
    with pytest.raises(GuaranteeError):
        join(ApproxDP(0.5, 0.1), confidence=0.99)


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(InputError):
        join(PureDP(0.5), [])
    with pytest.raises(InputError):
        join(PureDP(0.5), 1.5)
    with pytest.raises(GuaranteeError):
        join("0.5")


def test_the_table_and_the_command() -> None:
    table = join(ZCDP(0.01))
    assert list(table.to_columns()) == ["without", "joined"]
    assert repr(table) == "Joining(odds at most ×2.46, 0.01-zCDP)"
    assert "99 %" in table.text
    assert "probability" not in join(PureDP(1)).text
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit):
        main(["explain", "--epsilon", "0.1", "--mechanism", "geometric", "--times", "12",
              "--prior", "0.3", "--join", "--json"])  # fmt: skip
    joining: dict[str, Any] = json.loads(said.getvalue())["joining"]
    assert set(joining) == {"odds", "holds_with", "rows", "text"}
    assert 0.3 in [row["without"] for row in joining["rows"]]
    assert all(row["joined"] > row["without"] for row in joining["rows"])

"""Charts that follow a hand: the rows keep the promise, and Vega-Lite can draw them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budgets import choose
from discreet.charts import (
    adversaries_data,
    adversaries_spec,
    noisy_counts_data,
    noisy_counts_spec,
    profile_line_data,
    profile_line_spec,
    relative_error_spec,
    tolerated,
    tolerated_data,
    tolerated_spec,
)
from discreet.laws import Geometric
from discreet.promises import PRESETS, Difference, PosteriorUnlessRatio, Ratio, priors
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(40))
boxes = st.one_of(
    st.builds(lambda p: priors(p=p), st.floats(0.01, 1)),
    st.just(priors(q=1)),
    st.just(priors()),
)
tolerances = st.one_of(
    st.builds(PosteriorUnlessRatio, st.floats(0.01, 0.9), st.floats(1.05, 20), boxes),
    st.builds(Ratio, st.floats(1.05, 20), boxes),
    st.builds(Difference, st.floats(0.01, 0.9), boxes),
)


@FAST
@given(tolerances, st.sampled_from([0.05, 0.2, 1.0]))
def test_what_the_budget_allows_is_tolerated_wherever_both_are_drawn(
    tolerance: Any, top: float
) -> None:
    rows = tolerated_data(choose(tolerance), top)["lines"]
    asked = {row["before"]: row["after"] for row in rows if row["line"] == "tolerated"}
    allowed = {
        row["before"]: row["after"] for row in rows if row["line"] == "allowed by the budget"
    }
    assert asked
    for before, after in asked.items():
        assert before <= top * (1 + 1e-12)
        assert allowed[before] <= after * (1 + 1e-12)


@FAST
@given(tolerances)
def test_no_adversary_has_less_than_the_budget(tolerance: Any) -> None:
    choice = choose(tolerance)
    cells = adversaries_data(choice, 6)["cells"]
    for row in [*cells, *profile_line_data(choice)["profile"]]:
        if "epsilon" in row and row["epsilon"] < 4:
            # both are rounded down, each by a few ulps of its own
            assert row["epsilon"] >= choice.epsilon * (1 - 1e-12)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_drawn(name: str) -> None:
    choice = choose(PRESETS[name].tolerance)
    for spec in (
        tolerated_spec(choice, 0.5, 1.0),
        profile_line_spec(choice, "ratio"),
        profile_line_spec(choice, "epsilon"),
        adversaries_spec(choice, "epsilon", 4),
        adversaries_spec(choice, "ratio", 4),
    ):
        assert "NaN" not in json.dumps(spec, allow_nan=False)
        drawn = vl_convert.vegalite_to_vega(spec | {"width": 300})
        # every named data set is there under its name, so that its rows can be exchanged
        assert set(spec["datasets"]) <= {one["name"] for one in drawn["data"]}


def test_only_rows_change_while_a_handle_moves() -> None:
    one, other = (
        tolerated_spec(choose(PosteriorUnlessRatio(a, 3, priors(q=1))), 0.5, 1.0)
        for a in (0.2, 0.3)
    )
    assert one.pop("datasets") != other.pop("datasets")
    assert one == other


def test_the_two_touch_at_the_adversary_that_binds() -> None:
    choice = choose(PosteriorUnlessRatio(0.25, 3, priors(q=1)))
    (spot,) = tolerated_data(choice)["binding"]
    assert spot["before"] == pytest.approx(1 / 12, rel=1e-9)
    assert spot["after"] == pytest.approx(0.25, rel=1e-9)
    assert "binds" in json.dumps(tolerated(choice).to_dict(validate=False))


def test_a_limit_of_priors_and_an_unbounded_budget_have_no_spot() -> None:
    assert tolerated_data(choose(Ratio(3)))["binding"] == []
    free = choose(PosteriorUnlessRatio(1.0, 3, priors(q=1)))
    assert math.isinf(free.epsilon)
    assert tolerated_data(free)["binding"] == []
    assert profile_line_data(free)["budget"] == []


def test_counts_are_drawn_around_the_truth_on_a_round_axis() -> None:
    laws = {"A": Geometric(0.5), "B": None}
    data = noisy_counts_data(laws, 26, 24)
    assert {row["published"] for row in data["published"] if row["name"] == "B"} == {26}
    assert data["limit"] == [{"published": 24.5}]
    spec = noisy_counts_spec(laws, 26, 24)
    assert vl_convert.vegalite_to_vega(spec | {"width": 300})["data"]
    scale = json.dumps(spec)
    assert '"domain": [15.5, 36.5]' in scale  # ten each way, and room to see the ends


def test_a_tolerance_at_one_prior_is_a_strip_of_the_map_and_lines_follow_pq() -> None:
    found = adversaries_data(choose({"posterior": 0.12, "p": 0.07}), 10, edges=[0.25])
    cells = found["cells"]
    assert len(cells) == 10
    for cell in cells:
        assert (cell["p0"], cell["p1"]) == pytest.approx((0.02, 0.12))
    # Where the value is nearly certain, 7 % may become 12 %: less than twice as much.
    assert cells[-1]["ratio"] == pytest.approx(0.12 / (0.07 * 0.95))
    for row in found["edges"]:
        assert row["p0"] * row["q0"] == pytest.approx(0.25)
    assert (found["edges"][0]["q0"], found["edges"][-1]["p0"]) == (1.0, 1.0)


def test_an_error_above_its_value_is_drawn_as_large_as_it_is() -> None:
    widths = {"margins_rows_1: Altersgruppe, Geschlecht": 2.28, "total": 40.0}
    spec = relative_error_spec(widths)
    for row in spec["datasets"]["errors"]:
        assert row["error"] == pytest.approx(widths[row["name"]] / row["size"])
    assert max(row["error"] for row in spec["datasets"]["errors"]) > 1
    assert {row["size"] for row in spec["datasets"]["errors"]} == {1, 10, 100, 1_000, 10_000}
    (drawn,) = (layer for layer in spec["layer"] if layer["data"]["name"] == "errors")
    assert drawn["encoding"]["y"]["scale"] == {"type": "log", "domain": [0.001, 10]}
    assert drawn["mark"]["clip"]
    svg = vl_convert.vegalite_to_svg(spec | {"width": 330})
    assert "1,000%" in svg
    assert all(f">{name}<" in svg for name in widths)  # no name is cut off

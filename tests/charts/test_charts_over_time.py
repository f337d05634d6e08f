"""Belief over time and the page's figures: the rows that are drawn, and pictures that render."""

from __future__ import annotations

import json
import re
from pathlib import Path

import altair as alt
import pytest

from discreet.beliefs import explain
from discreet.charts import (
    before_after_data,
    before_after_spec,
    belief_over_time_spec,
    save,
)
from discreet.errors import InputError
from discreet.guarantees import ZCDP, PureDP

ROWS = [
    {"name": name, "k": k, "value": 0.5 + k * step, "passes": k == 24}
    for name, step in (("generic", 0.01), ("exact", 0.005))
    for k in (0, 12, 24)
]


def test_years_and_dots_are_those_of_the_rows() -> None:
    spec = belief_over_time_spec(ROWS, per_year=12, limit=0.7, start=0.5)
    assert [row["years"] for row in spec["datasets"]["belief"]] == [0, 1, 2] * 2
    assert {row["k"] for row in spec["datasets"]["passed"]} == {24}
    assert spec["datasets"]["limit"][0]["limit"] == 0.7
    assert belief_over_time_spec(ROWS, per_year=12)["datasets"]["limit"] == []
    assert "title" not in spec


def test_a_picture_renders(tmp_path: Path) -> None:
    spec = belief_over_time_spec(ROWS, per_year=1, limit=0.7, about="difference")
    chart = alt.Chart.from_dict(spec | {"width": 460})
    assert save(chart, tmp_path / "over.png", scale=1).stat().st_size > 4000


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ZCDP(0.1)])
def test_the_band_is_what_explain_says_at_each_prior(guarantee: PureDP | ZCDP) -> None:
    spec = before_after_spec(explain(guarantee, 0.3), 0.3)
    drawn = {row["prior"]: row for row in spec["datasets"]["bounds"]}
    for row in before_after_data(guarantee):
        for key in ("lower", "upper"):
            assert drawn[row["prior"]][key] == pytest.approx(row[key], rel=1e-9)
    assert drawn[0.0]["upper"] == 0
    assert drawn[1.0]["lower"] == 1


def test_two_steps_have_no_single_band() -> None:
    from discreet.beliefs import Prior

    with pytest.raises(InputError, match="no single bound"):
        before_after_spec(explain(PureDP(1.0), Prior(0.3, 0.5)), 0.3)


def test_small_beliefs_are_not_drawn_as_a_flat_line() -> None:
    rows = [row | {"value": row["value"] / 10} for row in ROWS]
    largest = max(row["value"] for row in rows)
    text = json.dumps(belief_over_time_spec(rows, per_year=12, limit=0.05))
    (top,) = {float(end) for end in re.findall(r'"domain": \[0(?:\.0)?, ([\d.]+)\]', text)}
    assert largest < top <= 3 * largest

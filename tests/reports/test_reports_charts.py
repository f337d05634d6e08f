"""The charts as a set: one look, and the figures that explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.charts import (
    COLOURS,
    GRID,
    INK,
    MUTED,
    account_chart,
    before_after,
    before_after_data,
    icon_array,
    icon_data,
    profile,
    released_chart,
    save,
    series_chart,
)
from discreet.guarantees import ZCDP, PureDP
from discreet.laws import Gaussian
from discreet.promises import PosteriorUnlessRatio, priors


def rows_of(spec: Any) -> list[dict[str, Any]]:
    """Every row of data in a chart's specification, however it is nested."""
    found: list[dict[str, Any]] = []
    if isinstance(spec, dict):
        values = spec.get("data", {}).get("values") if isinstance(spec.get("data"), dict) else None
        found += values or []
        for key, part in spec.items():
            if key != "data":
                found += rows_of(part)
    elif isinstance(spec, list):
        for part in spec:
            found += rows_of(part)
    return found


# -- one look


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_texts_and_marks_stand_out_from_the_page() -> None:
    assert contrast(INK, "#ffffff") >= 4.5
    assert contrast(MUTED, "#ffffff") >= 4.5
    for colour in COLOURS[:3]:
        assert contrast(colour, "#ffffff") >= 3
    for drawn in ("#3fa0dd", "#f0883e"):  # the same marks on a dark screen
        assert contrast(drawn, "#0d1117") >= 3


def test_every_chart_has_the_common_look() -> None:
    charts = [
        icon_array(30, 62),
        before_after(PureDP(1.0)),
        series_chart(Gaussian(20.0), upto=3),
        profile(PosteriorUnlessRatio(0.25, 3, priors(q=1))),
    ]
    for chart in charts:
        spec = chart.to_dict()
        assert spec["title"]["anchor"] == "start"
        assert spec["config"]["axis"]["gridColor"] == GRID


# -- the figures that explain


def test_a_hundred_figures() -> None:
    rows = icon_data(30, 62)
    kinds = [row["kind"] for row in rows]
    assert len(rows) == 100
    assert (kinds.count("before"), kinds.count("more"), kinds.count("others")) == (
        30,
        32,
        38,
    )
    shown = {row["label"] for row in rows_of(icon_array(30, 62).to_dict())}
    assert shown == {"30 before", "32 more, at most", "38 others"}
    assert {row["kind"] for row in icon_data(0, 100)} == {"more"}


@pytest.mark.parametrize("stated", [PureDP(1.1), ZCDP(0.05)])
def test_belief_before_and_after_is_that_of_explain(stated: Any) -> None:
    from discreet.beliefs import explain

    for row in before_after_data(stated, priors=(0.1, 0.5, 0.9)):
        belief = explain(stated, row["prior"]).posterior
        assert belief is not None
        assert (row["lower"], row["upper"]) == (belief.lower, belief.upper)


def test_they_are_pictures(tmp_path: Path) -> None:
    entry = {"entry": "1", "spent": 0.5, "label": "0.5", "this": True}
    cell = {"cell": "north", "value": 3.0, "low": 1.0, "high": 5.0}
    charts = {
        "icons": icon_array(1, 4),
        "account": account_chart([entry], sign="ε", cap=None),
        "released": released_chart([cell], title="Counts", interval=0.95),
    }
    for name, chart in charts.items():
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
            path = save(chart, tmp_path / f"{name}.{kind}", scale=1.0)
            assert path.read_bytes().startswith(start)

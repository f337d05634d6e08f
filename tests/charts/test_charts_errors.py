"""The errors of a dry run in a picture: what is a length is drawn, and what is not is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.charts import error_chart, error_spec
from discreet.releases import preview

DATA = pa.table(
    {
        "person": [f"p{n}" for n in range(9)],
        "county": ["north", "south", "west"] * 3,
        "cost": [10.0 * n for n in range(9)],
    }
)
TENTHS = {"of": "cost", "at": [0.1, 0.9], "bounds": [0, 100], "resolution": 1}
SPEC: dict[str, Any] = {
    "account": "people",
    "purpose": "test",
    "protect": {"unit": "person", "column": "person", "rows": 2},
    "budget": {"epsilon": 4.0},
    "statistics": [
        {"count": "rows", "name": "n"},
        {"mean": "cost", "bounds": [0, 100], "resolution": 1, "name": "average"},
        {"quantiles": TENTHS, "name": "tenths"},
        {"best": "most", "score": "count", "of": "county", "candidates": ["north", "south"]},
        {"count": "rows", "by": ["county"], "keys": {"county": ["north"]}, "name": "by county"},
        {"rate": {"events": "by county", "per": "n"}, "name": "part"},
    ],
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}


def test_the_picture_of_a_dry_run_shows_means_and_names_what_it_cannot_show(tmp_path: Path) -> None:
    """Of a count, a mean and quantiles it showed the count alone, without a word."""
    look = preview(SPEC, data=DATA, folder=tmp_path)
    lines = {line["statistic"]: line for line in look.to_dict()["accuracy"]}
    drawn = error_chart(look).to_dict()
    (rows,) = (own for own in drawn["datasets"].values() if own and "cell" in own[0])
    off = {row["cell"]: row["off"] for row in rows}
    (size,) = (one for one in lines["average"]["assumed"] if one["rows"] == 1000)
    assert off == {
        "n": lines["n"]["half_width"],
        "average, in a group of 1,000 rows": size["half_width"],
        "by county": lines["by county"]["half_width"],
    }
    said = " ".join(drawn["title"]["subtitle"])
    assert "Not in this picture: “tenths”, “best_most_4”, “part”." in said
    counts = SPEC | {"statistics": [{"count": "rows", "name": "n"}]}
    whole = error_chart(preview(counts, data=DATA, folder=tmp_path)).to_dict()
    assert "Not in this picture" not in str(whole["title"])


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ([{"weights": 100, "half_width": 3.0}, {"weights": 1000, "half_width": 1.0}], 1.0),
        ([{"weights": 500, "half_width": 2.0}], 2.0),
        ([{"weights": 1000, "half_width": 2.0, "of_value": 0.1}], None),
        ([], None),
    ],
)
def test_an_error_that_depends_on_a_size_is_drawn_for_one(
    sizes: list[dict[str, float]], shown: float | None
) -> None:
    line = {"statistic": "mean", "interval": 0.95, "assumed": sizes, "by": "weights"}
    rows = error_spec([line])["datasets"]["errors"]
    assert [row["off"] for row in rows] == ([] if shown is None else [shown])


def test_of_very_many_margins_those_that_are_not_drawn_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the 151st on they were left out without a word."""
    monkeypatch.setattr("discreet.charts.releases._MOST_ERRORS", 2)
    monkeypatch.setattr("discreet.charts.releases._MOST_NAMED", 2)
    many = [{"count": "rows", "name": f"n{place}"} for place in range(5)]
    look = preview(SPEC | {"statistics": many}, data=DATA, folder=tmp_path)
    said = " ".join(error_chart(look).to_dict()["title"]["subtitle"])
    assert "Not in this picture: “n2”, “n3” and 1 other." in said

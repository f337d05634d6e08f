"""A sample of the data-dependence campaign: only the noisy values tell two neighbours apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.neighbours import STATISTICS, Case, cases, neighbours

from discreet.releases.statistics import KINDS

# Some that have differed before somewhere, and some of each kind.
CHOSEN = {
    ("csv", "county", "empty"),
    ("csv", "cost", "1e400"),
    ("csv", "person", "a line break"),
    ("csv", "county", "no UTF-8"),
    ("pandas, objects", "county", "a whole number"),
    ("pandas, objects", "cost", "an object"),
    ("Parquet", "cost", "infinity"),
    ("Parquet", "person", "null"),
}


def _sample() -> list[list[Case]]:
    chosen = []
    for first, *others in cases():
        kept = [case for case in others if (case.how, case.column, case.name) in CHOSEN]
        chosen += [[first, *kept]] if kept else []
    return chosen


def test_the_sample_is_of_the_campaign() -> None:
    there = {(case.how, case.column, case.name) for family in cases() for case in family}
    assert there >= CHOSEN
    assert len(there) > 700


def test_every_kind_of_statistic_is_in_the_campaign() -> None:
    """But a change against an earlier release, which is made of published numbers alone."""
    used = {kind for kind in KINDS for one in STATISTICS if kind in one}
    assert used == set(KINDS) - {"change"}


def test_two_refusals_are_no_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"protect": {"rows": 1}, "statistics": [{"count": "nothing"}]}
    monkeypatch.setattr("benchmarks.neighbours.SPECS", {"rows": refused})
    with pytest.raises(RuntimeError, match="rows"):
        next(neighbours(iter(_sample()), tmp_path / "here", timed=False))


@pytest.mark.filterwarnings("ignore")
def test_neighbours_are_not_told_apart(tmp_path: Path) -> None:
    found = list(neighbours(iter(_sample()), tmp_path / "here", timed=False))
    assert len(found) == len(CHOSEN)
    assert [(one.how, one.column, one.name, one.differs) for one in found if one.differs] == []

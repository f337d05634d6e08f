"""The figures of KSZ from our own numbers: right values in the data, and pictures that render."""

from __future__ import annotations

import pytest

from discreet.charts import save, series
from discreet.laws import Gaussian, Laplace


def first_above(rows: list[dict[str, object]], name: str, key: str, limit: float) -> int:
    return next(r["k"] for r in rows if r["name"] == name and r[key] > limit)  # type: ignore[operator,return-value]


def test_figure_3_has_the_corrected_values() -> None:
    fixed = series.composition_data(0.05, 1e-6, upto=60)
    at = [first_above(fixed, name, "posterior", 0.8) for name in ("basic", "advanced", "optimal")]
    assert at == [28, 26, 45]
    free = series.composition_data(0.05, None, upto=140)
    at = [first_above(free, name, "posterior", 0.8) for name in ("basic", "advanced", "optimal")]
    assert at == [28, 49, 134]


def test_figures_4_and_5_have_the_values_of_example_4_1() -> None:
    rows = series.daily_data(upto=120)
    names = ("KSZ's route", "any zCDP release", "Gaussian noise, curve", "Gaussian noise, exact")
    assert [first_above(rows, name, "posterior", 0.99) for name in names] == [58, 79, 97, 112]


def test_figures_6_and_7_are_symmetric_and_worst_where_the_paper_says() -> None:
    rows = series.worst_prior_data()
    for left, right in zip(rows, reversed(rows), strict=True):
        assert left["ratio"] == pytest.approx(right["ratio"])
        assert left["difference"] == pytest.approx(right["difference"])
    worst = max(rows, key=lambda r: r["difference"])
    assert min(worst["prior"], 1 - worst["prior"]) == pytest.approx(0.289, abs=2e-3)
    assert worst["difference"] == pytest.approx(0.422, abs=1e-3)
    assert max(r["ratio"] for r in rows) < 6.052


def test_a_series_shows_only_the_strengths_there_are() -> None:
    assert {r["name"] for r in series.series_data(Gaussian(7.0), upto=5)} == {
        "generic",
        "curve",
        "exact",
    }
    assert {r["name"] for r in series.series_data(Laplace(0.1), upto=3)} == {"generic", "curve"}


@pytest.mark.parametrize("number", range(1, 8))
def test_every_figure_is_a_picture(number: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    chart = getattr(series, f"figure_{number}")()
    path = save(chart, tmp_path / "figure.png", scale=1.0)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_series_chart_is_a_picture(tmp_path) -> None:  # type: ignore[no-untyped-def]
    chart = series.series_chart(Gaussian.of_rho(0.01), upto=120, limits=[0.99])
    path = save(chart, tmp_path / "series.svg")
    assert "generic" in path.read_text()

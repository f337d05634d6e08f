"""Charts of a promise and of a series: the rows that are drawn, and pictures that come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import choose
from discreet.charts import (
    before_after_data,
    implied_posterior,
    profile,
    profile_data,
    save,
    series_chart,
    series_data,
)
from discreet.errors import InputError
from discreet.laws import Gaussian, Laplace
from discreet.promises import Posterior, PosteriorUnlessRatio, priors


def test_profile_data_has_its_least_epsilon_where_it_binds() -> None:
    tolerance = PosteriorUnlessRatio(0.25, 3, priors(q=1))
    least = min(profile_data(tolerance), key=lambda row: float(row["epsilon"]))
    choice = choose(tolerance)
    assert least["epsilon"] == pytest.approx(choice.epsilon, abs=2e-2)
    assert least["epsilon"] >= choice.epsilon
    assert least["prior"] == pytest.approx(1 / 12, abs=5e-3)


def test_implied_posterior_rises_and_keeps_the_tolerance() -> None:
    choice = choose(Posterior(0.12, priors(p=0.05)))
    rows = implied_posterior(choice).to_dict()["layer"][2]["data"]["values"]
    assert all(row["upper"] >= row["prior"] for row in rows)
    at_5 = next(row for row in rows if abs(row["prior"] - 0.05) < 1e-9)
    assert at_5["upper"] == pytest.approx(0.12, abs=1e-9)
    assert rows[9:10] == before_after_data(choice.guarantee, priors=[0.05])


def test_a_series_shows_only_the_strengths_there_are() -> None:
    gaussian = series_data(Gaussian(7.0), upto=5)
    assert {r["name"] for r in gaussian} == {"generic", "curve", "exact"}
    assert {r["name"] for r in series_data(Laplace(0.1), upto=3)} == {"generic", "curve"}


def test_they_are_pictures(tmp_path: Path) -> None:
    series = series_chart(Gaussian.of_rho(0.01), upto=120, limits=[0.99])
    assert "generic" in save(series, tmp_path / "series.svg").read_text()
    chart = profile(PosteriorUnlessRatio(0.25, 3, priors(q=1)))
    assert save(chart, tmp_path / "new" / "c.png").read_bytes().startswith(b"\x89PNG")
    assert save(chart, tmp_path / "c.svg").read_text().startswith("<svg")
    with pytest.raises(InputError, match="must end in"):
        save(chart, tmp_path / "c.pdf")

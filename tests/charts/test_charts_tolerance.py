"""K&R's figures: the plotted numbers, and that a picture comes out."""

import pytest

from discreet import choose
from discreet.charts import save
from discreet.charts import tolerance as charts
from discreet.errors import InputError
from discreet.promises import Posterior, PosteriorUnlessRatio, priors


def test_profile_data_has_its_least_epsilon_where_it_binds():
    tolerance = PosteriorUnlessRatio(0.25, 3, priors(q=1))
    rows = charts.profile_data(tolerance)
    least = min(rows, key=lambda row: row["epsilon"])
    choice = choose(tolerance)
    assert least["epsilon"] == pytest.approx(choice.epsilon, abs=2e-2)
    assert least["epsilon"] >= choice.epsilon
    assert least["prior"] == pytest.approx(1 / 12, abs=5e-3)


def test_figure_2_rows():
    rows = {row.name: row for row in charts.figure_2_rows()}
    assert len(rows) == 12
    bold = rows["r = 5, a = 0.5"]
    assert (round(bold.epsilon, 4), round(bold.sd, 3)) == (2.1972, 0.530)
    assert [distance for distance, _ in bold.crosses] == [1, 2, 4, 8]
    assert bold.crosses[0][1] == pytest.approx(0.1)
    shy = rows["r = 1.2, a = 0"]
    assert [round(chance, 4) for _, chance in shy.crosses] == [0.4545, 0.3788, 0.2630, 0.1269]


def test_map_data_is_cut_off_and_holds_the_minimum():
    rows = charts.map_data(PosteriorUnlessRatio(0.25, 3), points=24)
    assert max(row["ratio"] for row in rows) <= 100
    assert max(row["epsilon"] for row in rows) == 4
    least = min(rows, key=lambda row: row["epsilon"])
    assert least["p"] > 0.95
    assert 0.6496 <= least["epsilon"] < 0.7


def test_implied_posterior_rises_and_keeps_the_tolerance():
    choice = choose(Posterior(0.12, priors(p=0.05)))
    rows = charts.implied_posterior_data(choice)
    assert all(row["posterior"] >= row["prior"] for row in rows)
    at_5 = next(row for row in rows if abs(row["prior"] - 0.05) < 1e-9)
    assert at_5["posterior"] == pytest.approx(0.12, abs=1e-9)


@pytest.mark.parametrize("name", ["figure_1", "figure_2", "figure_3", "figure_4", "figure_5"])
def test_figures_are_whole_specifications(name):
    spec = getattr(charts, name)().to_dict()
    assert spec["title"]["text"]
    assert "hconcat" in spec


def test_saved_as_a_picture(tmp_path):
    chart = charts.profile(PosteriorUnlessRatio(0.25, 3, priors(q=1)))
    assert save(chart, tmp_path / "new" / "c.png").read_bytes().startswith(b"\x89PNG")
    assert save(chart, tmp_path / "c.svg").read_text().startswith("<svg")
    with pytest.raises(InputError, match="must end in"):
        save(chart, tmp_path / "c.pdf")

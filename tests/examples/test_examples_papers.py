"""The papers computed again: the numbers that their figures draw, and that each is a picture."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from papers import kazan_reiter, kazan_sharma, mcclure_reiter
from papers.all import FIGURES

from discreet.charts import GRID, save
from discreet.promises import PosteriorUnlessRatio

Figures = dict[str, Callable[[], Any]]
EXAMPLES = Path(__file__).parents[2] / "examples"


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


def drawn(chart: Any) -> list[dict[str, Any]]:
    return rows_of(chart.to_dict())


def labels(chart: Any) -> list[str]:
    """The budgets written on a chart; a rule and its label share their data."""
    found = [str(row["label"]) for row in drawn(chart) if "label" in row]
    return list(dict.fromkeys(label for label in found if label.startswith("ε")))


def test_every_figure_of_the_three_papers_is_there() -> None:
    for paper, count in (("kazan-reiter", 5), ("kazan-sharma", 7), ("mcclure-reiter", 4)):
        assert [f"{paper}-{i + 1}" for i in range(count)] == [
            name for name in FIGURES if name.startswith(paper)
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        # The dearest is drawn by test_the_pictures_are_current too.
        pytest.param(name, marks=[pytest.mark.soak] * (name == "kazan-reiter-5"))
        for name in FIGURES
    ],
)
def test_every_figure_is_a_picture_with_the_common_look(
    figures: Figures, name: str, tmp_path: Path
) -> None:
    chart = figures[name]()
    spec = chart.to_dict(validate=False)
    assert spec["title"]["text"]
    assert spec["title"]["anchor"] == "start"
    assert spec["config"]["axis"]["gridColor"] == GRID
    assert save(chart, tmp_path / "figure.png", scale=1.0).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("**/*.py")), ids=lambda path: path.stem)
def test_examples_import_what_everyone_may(path: Path) -> None:
    """Of Discreet they take names of `discreet` and of a room's `__all__`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "discreet":
            module = import_module(str(node.module))
            assert str(node.module).count(".") <= 1, ast.unparse(node)
            assert {name.name for name in node.names} <= set(module.__all__), ast.unparse(node)


# -- Kazan and Reiter


def test_profiles_draw_the_budgets_of_the_examples(figures: Figures) -> None:
    """Budgets rounded down, as the reference values have them."""
    shown = {n: labels(figures[f"kazan-reiter-{n}"]()) for n in (1, 3, 4)}
    assert shown[3] == ["ε = 0.5108", "ε = 1.2992", "ε = 2.0368"]  # 1.29928, 2.03688: down
    assert [float(label[4:]) for label in shown[4]] == pytest.approx([1.09, 1.21, 2.10], abs=6e-3)
    assert len(shown[1]) == 2


def test_twelve_profiles_cost_what_example_3_says() -> None:
    costs, names = kazan_reiter.costs()
    rows = dict(zip(names, costs, strict=True))
    assert len(rows) == 12
    bold = rows["r = 5, a = 0.5"]
    assert round(bold.epsilon, 4) == 2.1972
    assert round(bold.errors["count"]["rmse"], 3) == 0.530
    crosses = {name: [one.chance for one in row.switch[:4]] for name, row in rows.items()}
    assert [one.distance for one in bold.switch[:4]] == [1, 2, 4, 8]
    assert crosses["r = 5, a = 0.5"][0] == pytest.approx(0.1)
    assert rows["r = 2, a = 0.25"].epsilon == pytest.approx(0.8473, abs=1e-4)
    two = [0.3, 0.1286, 0.0236, 8.0e-4]
    assert crosses["r = 2, a = 0.25"] == pytest.approx(two, abs=1e-4)
    shy = [0.4545, 0.3788, 0.2630, 0.1269]
    assert [round(chance, 4) for chance in crosses["r = 1.2, a = 0"]] == shy


def test_the_map_is_cut_off_and_holds_the_minimum() -> None:
    rows = kazan_reiter.map_data(PosteriorUnlessRatio(0.25, 3), points=24)
    assert max(row["ratio"] for row in rows) <= 100
    assert max(row["epsilon"] for row in rows) == 4
    least = min(rows, key=lambda row: row["epsilon"])
    assert least["p"] > 0.95
    assert 0.6496 <= least["epsilon"] < 0.7
    spots = [row for row in drawn(kazan_reiter.figure_5(24)) if row.get("label") == "binds"]
    assert (spots[0]["p0"], spots[0]["q0"]) == pytest.approx((1, 1 / 12), abs=1e-6)


# -- Kazan, Sharma, Zhang, Jiang and Yan


def first_above(rows: list[dict[str, Any]], name: str, key: str, limit: float) -> int:
    return next(int(r["k"]) for r in rows if r["name"] == name and r[key] > limit)


def test_figure_1_starts_and_ends_where_the_theorem_does() -> None:
    rows = [row for row in drawn(kazan_sharma.figure_1()) if "bound" in row]
    for row in rows:
        failure, epsilon, delta = row["failure"], 1.0, 1e-6
        if delta < failure < 1:
            truth = math.log(failure * math.exp(epsilon) + delta) - math.log(failure - delta)
            assert row["bound"] == pytest.approx(truth, rel=1e-9)
    assert rows[-1]["bound"] == pytest.approx(1.0, abs=1e-5)


def test_figure_2_draws_what_composes() -> None:
    rows = drawn(kazan_sharma.figure_2(upto=60))
    at = {(row["name"], row["k"]): row["epsilon"] for row in rows if "epsilon" in row}
    for k in (1, 10, 60):
        assert at["basic", k] == pytest.approx(0.05 * k, abs=1e-9)
        assert at["optimal", k] <= at["basic", k] + 1e-12
    printed = 60 * 0.05 * math.expm1(0.05) + math.sqrt(2 * 60 * 0.05**2 * math.log(1e6))
    assert at["advanced", 60] == pytest.approx(printed, rel=1e-9)


def test_figure_3_has_the_corrected_values() -> None:
    methods = ("basic", "advanced", "optimal")
    fixed = kazan_sharma.composition_data(0.05, 1e-6, upto=60)
    assert [first_above(fixed, name, "posterior", 0.8) for name in methods] == [28, 26, 45]
    free = kazan_sharma.composition_data(0.05, None, upto=140)
    assert [first_above(free, name, "posterior", 0.8) for name in methods] == [28, 49, 134]


def test_figures_4_and_5_have_the_values_of_example_4_1() -> None:
    rows = kazan_sharma.daily_data(upto=120)
    names = ("KSZ's route", "any zCDP release", "Gaussian noise, curve", "Gaussian noise, exact")
    assert [first_above(rows, name, "posterior", 0.99) for name in names] == [58, 79, 97, 112]


def test_figures_6_and_7_are_symmetric_and_worst_where_the_paper_says() -> None:
    rows = kazan_sharma.worst_prior_data()
    for left, right in zip(rows, reversed(rows), strict=True):
        assert left["ratio"] == pytest.approx(right["ratio"])
        assert left["difference"] == pytest.approx(right["difference"])
    worst = max(rows, key=lambda r: float(r["difference"]))
    assert min(worst["prior"], 1 - worst["prior"]) == pytest.approx(0.289, abs=2e-3)
    assert worst["difference"] == pytest.approx(0.422, abs=1e-3)
    assert max(r["ratio"] for r in rows) < 6.052


# -- McClure and Reiter

# "cut": the print cuts the last digit off instead of rounding.
TABLE_1 = {
    0.001: [".125", ".036 cut", ".0101", ".00372 cut", ".000578", "3.13e-05 cut"],
    0.3: [".00718", ".00702", ".00578", ".00328 cut", ".000576", "3.13e-05 cut"],
    0.5: [".00655", ".00643", ".00543 cut", ".00321 cut", ".000575 cut", "3.13e-05 cut"],
    0.999: [".0983 cut", ".0350 cut", ".0100", ".00372", ".000578", "3.13e-05 cut"],
}


def test_table_1_in_all_24_cells() -> None:
    table = mcclure_reiter.table_1()
    assert list(table) == list(TABLE_1)
    for p0, printed in TABLE_1.items():
        for value, cell in zip(table[p0], printed, strict=True):
            digits, _, how = cell.partition(" ")
            unit = Decimal((0, (1,), int(Decimal(digits).as_tuple().exponent)))
            nearest = Decimal(value).quantize(unit, rounding=ROUND_HALF_EVEN)
            assert Decimal(value).quantize(
                unit, rounding=ROUND_DOWN if how else ROUND_HALF_EVEN
            ) == Decimal(digits)
            assert (nearest != Decimal(digits)) == bool(how)


def test_the_simulation_is_reproducible_and_follows_the_paper() -> None:
    runs = mcclure_reiter.simulate(0.001, replicates=3)
    assert runs == mcclure_reiter.simulate(0.001, replicates=3)
    assert len(runs) == 18
    assert max(abs(run.risk - 0.5) for run in runs if run.epsilon == 0.01) < 0.001
    assert {run.answer for run in runs} <= {"yes", "no"}


@pytest.mark.parametrize("p0", [0.5, 0.001])
def test_figures_1_to_4_draw_the_runs(p0: float) -> None:
    runs = mcclure_reiter.simulate(p0, replicates=2)
    points = [row for row in drawn(mcclure_reiter.risk_against_utility(runs, p0)) if "U" in row]
    assert [(row["R"], row["U"]) for row in points] == [(run.risk, run.utility) for run in runs]
    # At the prior one half, RR = R + (1 − R) e^Λ is 2R.
    for run in runs:
        assert 2 * run.risk == pytest.approx(run.risk + (1 - run.risk) * math.exp(run.shift))
    lines = drawn(mcclure_reiter.relative_against_absolute(runs, p0))
    assert len(lines) == 2 * len(runs)
    assert lines[0]["R"] / lines[0]["RR"] == pytest.approx(1 / 1001)
    growth = np.exp(runs[0].shift)
    assert lines[1]["RR"] == pytest.approx(lines[1]["R"] + (1 - lines[1]["R"]) * growth)

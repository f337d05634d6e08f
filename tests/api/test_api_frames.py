"""Results that are tables: pandas, Polars, Arrow, HTML, JSON, one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.errors import InputError
from discreet.frames import Tabular

ONE = discreet.PureDP(1.0)
ENDS = ("lower", "upper")


@pytest.fixture
def spec() -> dict[str, Any]:
    """Counts by county, ε = 1."""
    return {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": 1.0},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": {"county": ["north", "south", "west"]}},
            {"sum": "cost", "bounds": [0, 20], "resolution": 1},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


@pytest.fixture
def rows() -> dict[str, list[Any]]:
    """Forty people, three rows each."""
    every = [(i, j) for i in range(40) for j in range(3)]
    return {
        "person": [f"p{i}" for i, _ in every],
        "county": ["north" if (i + j) % 3 else "south" for i, j in every],
        "cost": [10.0 * j for _, j in every],
    }


@pytest.fixture
def people(rows: dict[str, list[Any]]) -> pa.Table:
    """The rows as Arrow."""
    return pa.table(rows)


@pytest.fixture
def account(tmp_path: Path) -> discreet.Ledger:
    """An open account in the test's folder."""
    ledger = discreet.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=discreet.PureDP(100.0),
        approver="tester",
        reason="test",
    )
    return ledger


@pytest.fixture
def results(spec, people, account, tmp_path) -> dict[str, Tabular]:
    """One result of every kind that is a table."""
    return {
        "beliefs": discreet.explain(ONE, [0.1, 0.5]),
        "choice": discreet.choose({"ratio": 3}),
        "composition": discreet.compose([(ONE, 3)], delta=1e-6),
        "deployments": discreet.deployments(),
        "horizon": discreet.horizon(discreet.PureDP(0.1), ratio=3),
        "plan": discreet.plan({"ratio": 3}, releases=4),
        "preview": discreet.preview(spec, data=people, folder=tmp_path),
        "release": discreet.release(spec, data=people, folder=tmp_path),
        "sheet": account.show("people"),
    }


def test_results_are_tables(results):
    for name, result in results.items():
        columns = {key: list(values) for key, values in result.to_columns().items()}
        rows = len(next(iter(columns.values())))
        assert rows, name
        assert result.to_pandas().shape == (rows, len(columns)), name
        assert result.to_polars().columns == list(columns), name
        assert result.to_arrow().num_rows == rows, name
        assert pa.table(result).column_names == list(columns), name
        assert pl.DataFrame(result).height == rows, name  # through the capsule


def test_results_show_themselves(results):
    for name, result in results.items():
        assert "\n" not in repr(result), name
        assert result._repr_html_().startswith("<table>"), name
        json.dumps(result.to_dict(), allow_nan=False)


def test_tables_have_the_columns_that_people_need_first(results):
    """A table of beliefs had 37 columns, one of an account its hashes: wider than any screen."""
    names = {name: list(result.to_columns()) for name, result in results.items()}
    bounds = [f"{what}.{end}" for what in ("posterior", "ratio", "difference") for end in ENDS]
    assert names["beliefs"] == ["prior.p", "prior.q", *bounds, "holds_with", "strength"]
    assert not [name for name in names["sheet"] if name.endswith(("hash", "previous"))]
    assert max(map(len, names.values())) <= 17
    for name, result in results.items():
        header, *lines = result._repr_html_().split("</tr>")
        assert header.count("<th>") <= 13, name
        for place in range(header.count("<th>")):  # no column of a view is empty
            assert any(line.split("</td>")[place] != "<td>" for line in lines[:-1]), name
    every = results["beliefs"].to_dict()["beliefs"][0]
    assert {"assumptions", "worst_prior", "guarantee"} <= set(every)
    assert "previous" in results["sheet"].to_dict()["entries"][0]


def test_a_preview_tells_the_accuracy_of_every_statistic(spec, people, account, tmp_path):
    """Means and quantiles had no number in its table."""
    bounds = {"bounds": [0, 20], "resolution": 1}
    quantiles = {"of": "cost", "at": [0.5, 0.9], **bounds}
    spec["statistics"] += [{"mean": "cost", **bounds}, {"quantiles": quantiles}]
    shown = discreet.preview(spec, data=people, folder=tmp_path)
    rows = shown._repr_html_().split("</tr><tr>")[1:]
    assert len(rows) == len(spec["statistics"])
    assert all("off by at most" in row for row in rows)


def test_a_released_table_has_the_types_of_its_file(spec, people, account, tmp_path):
    made = discreet.release(spec, data=people, folder=tmp_path)
    stored = pd.read_parquet(next(path for path in made.files if path.suffix == ".parquet"))
    pd.testing.assert_frame_equal(made.to_arrow().to_pandas(), stored)
    assert made.to_pandas()["value"].dtype == float
    # Also where all of them are missing.
    assert made.to_pandas()["published"].isna().all()
    for table in (made, made.table):
        assert table.to_pandas()["published"].dtype == float
        assert table.to_polars()["published"].dtype == pl.Float64
    assert made.to_pandas()["county"].isna().sum() == 1  # the sum has no group


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, iter])
def test_several_priors(make):
    found = discreet.explain(ONE, make([0.1, 0.5]))
    assert isinstance(found, discreet.Beliefs)
    assert [belief.prior.p for belief in found] == [0.1, 0.5]
    assert found[1] == discreet.explain(ONE, 0.5)
    assert found.to_columns()["posterior.upper"] == [one.posterior.upper for one in found]


def test_a_pair_of_numbers_may_be_one_prior_or_two():
    with pytest.raises(InputError, match=r"Prior\(0.5, 0.1\) for one .* \[0.5, 0.1\] for two"):
        discreet.explain(ONE, (0.5, 0.1))
    assert len(discreet.explain(ONE, (0.5, 0.1, 0.3))) == 3
    assert len(discreet.explain(ONE, (discreet.Prior(0.5), discreet.Prior(0.1)))) == 2


def test_several_priors_with_values():
    found = discreet.explain(ONE, [discreet.Prior(0.1, 0.5), 0.2])
    assert found[0] == discreet.explain(ONE, discreet.Prior(0.1, 0.5))


@pytest.mark.parametrize("prior", ["0.1", [[0.1]], [0.1, 2.0], [None], True, np.array([[0.1]])])
def test_priors_that_are_none(prior: Any):
    with pytest.raises(InputError, match="prior probability"):
        discreet.explain(ONE, prior)


def test_one_number_of_numpy_is_a_prior():
    assert discreet.explain(ONE, np.float32(0.5)) == discreet.explain(ONE, 0.5)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_what_is_missing_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    form = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow"}[library]
    with pytest.raises(InputError, match=f"needs {library}, which is not installed. Install"):
        getattr(discreet.deployments(), form)()


def test_a_preview_is_a_dry_run(spec, people, account, tmp_path):
    shown = discreet.preview(spec, data=people, folder=tmp_path)
    dry = discreet.release(spec, data=people, folder=tmp_path, dry_run=True)
    assert isinstance(shown, discreet.Preview)
    assert shown.to_dict() == dry.to_dict()
    assert account.show("people").account.spent.floats("up")["epsilon"] == 0


def test_a_release_writes_its_report(spec, people, account, tmp_path):
    made = discreet.release(spec, data=people, folder=tmp_path)
    written = made.report(note="checked")
    assert isinstance(written, discreet.Report)
    assert written.html.is_file()
    assert "checked" in written.html.read_text(encoding="utf-8")


def test_what_one_verb_gives_back_the_next_takes():
    choice = discreet.choose({"posterior": 0.12, "p": 0.05, "about": "membership"})
    assert discreet.plan(choice, releases=12).promise == choice.promise
    assert discreet.plan(choice, 1).budgets[0] == pytest.approx(choice.epsilon)
    assert discreet.explain(choice, 0.05).posterior.upper <= 0.12 + 1e-12
    together = discreet.compose([(choice, 12)])
    assert together.epsilon == pytest.approx(12 * choice.epsilon)
    assert discreet.explain(together, 0.05).posterior.upper > 0.12

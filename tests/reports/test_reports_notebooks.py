"""The tutorials run from the first cell to the last, and results show themselves in them."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from stories import BASE, opened, people

import discreet
from discreet.guarantees import PureDP
from discreet.laws import Gaussian

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path: Path, tmp_path: Path) -> None:
    nbclient, nbformat = import_module("nbclient"), import_module("nbformat")
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        assert not cell.get("outputs"), "a tutorial is kept without outputs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the kernel's own libraries have to say
        client = nbclient.NotebookClient(
            notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
        )
        done = client.execute()
    shown = [out for cell in done.cells for out in cell.get("outputs", [])]
    assert any("text/html" in out.get("data", {}) for out in shown)
    assert not any(out["output_type"] == "error" for out in shown)


def test_results_show_themselves_as_tables(tmp_path: Path) -> None:
    opened(tmp_path)
    made = discreet.release(BASE | {"budget": {"epsilon": 0.5}}, data=people(), folder=tmp_path)
    results: list[Any] = [
        discreet.choose({"ratio": 3}),
        discreet.explain(PureDP(0.5), 0.3),
        discreet.plan(12, difference=0.2, mechanism="gaussian"),
        discreet.horizon(Gaussian(5.0), 0.5, upto=10),
        made,
    ]
    for result in results:
        html = result._repr_html_()
        assert html.startswith("<table><caption>")
        assert html.endswith("</table>")
        assert html.count("<tr>") >= 2

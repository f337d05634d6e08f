"""A report of every kind of spec fits its schema, and its verifier finds nothing wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from forging import verified_alone
from stories import BASE, COUNT, made, opened

from discreet.guarantees import ApproxDP
from discreet.reports.facts import statement_schema
from discreet.reports.folder import report

KEYS = {"county": ["north", "south", "west"]}
BOUNDS: dict[str, Any] = {"bounds": [0, 30], "resolution": 1}
MEAN: dict[str, Any] = {"mean": "cost", **BOUNDS}
SPECS: dict[str, dict[str, Any]] = {
    "cut": {"cut": {"weight": 0.1}, "statistics": [COUNT, MEAN, {"sum": "cost", **BOUNDS}]},
    "cut by bounds": {"cut": {"weight": 0.1, "rows": 12}, "statistics": [MEAN]},
    "a sample": {"sample": {"rate": 0.5}},
    "rows chosen": {
        "protect": BASE["protect"] | {"rows": {"choose": [1, 2, 3], "weight": 0.1}},
    },
    "formulas": {
        "where": "cost >= 0",
        "let": {"dear": "bin(cost, [0, 10, 20])"},
        "statistics": [{"count": "rows", "by": ["dear"]}, {"count": "units", "where": "cost > 5"}],
    },
    "features of a unit": {
        "protect": {"unit": "person", "column": "person"},
        "per_unit": {"visits": "count", "spent": {"sum": "cost", **BOUNDS}},
        "statistics": [{"mean": "spent", "bounds": [0, 90], "resolution": 1}],
    },
    "margins": {
        "statistics": [
            {"count": "rows", "margins": {"of": ["county"], "up_to": 1}, "keys": KEYS, "twin": True}
        ]
    },
    "keys found": {
        "statistics": [{"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}}]
    },
    "no key found": {
        "where": "cost < 0",
        "statistics": [{"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}}],
    },
    "numbers": {
        "statistics": [
            {"variance": "cost", **BOUNDS},
            {"histogram": "cost", "edges": [0, 10, 20, 30]},
            {"quantile": "cost", "at": 0.5, **BOUNDS},
            {"median": "cost", **BOUNDS},
            {
                "quantiles": {"of": "cost", "at": [0.25, 0.75], **BOUNDS},
                "by": ["county"],
                "keys": KEYS,
            },
        ]
    },
    "made of others": {
        "statistics": [
            COUNT | {"name": "visits"},
            {
                "count": "rows",
                "margins": {"of": ["county"], "up_to": 1},
                "keys": KEYS,
                "name": "all",
            },
            {"share": {"of": "all", "among": []}},
            {"rate": {"events": "visits", "per": 100, "times": 1000}},
        ]
    },
    "weights and a choice": {
        "statistics": [
            {"count": "rows", "weight_by": "cost", "bounds": [0, 30]},
            {"best": "county", "score": "count", "of": "county", "candidates": KEYS["county"]},
        ]
    },
}


@pytest.mark.parametrize("name", SPECS)
def test_the_report_of_every_kind_of_spec_agrees(name: str, tmp_path: Path) -> None:
    delta = "discover" in str(SPECS[name])
    more: dict[str, Any] = {"filter": "basic", "cap": ApproxDP(3.0, 1e-5)} if delta else {}
    opened(tmp_path, **more)
    budget = {"epsilon": 1.0} | ({"delta": 1e-6} if delta else {})
    kept = made(tmp_path, BASE | {"budget": budget} | SPECS[name])
    found = report(kept.release_id, ledger=kept.ledger)
    jsonschema.Draft202012Validator(statement_schema()).validate(found.statement.to_dict())
    code, said = verified_alone(found.folder, "--ledger", str(tmp_path / "ledger.db"))
    assert code == 0, said


def test_a_report_shows_even_decimals_and_no_others(tmp_path: Path) -> None:
    """Means stood with any number of decimals; rounded ones were taken for changed ones."""
    opened(tmp_path)
    asked = BASE | {
        "budget": {"epsilon": 1.0},
        "statistics": [MEAN | {"by": ["county"], "keys": KEYS}],
    }
    kept = made(tmp_path, asked)
    found = report(kept.release_id, ledger=kept.ledger)
    page = found.folder / "report.html"
    text = page.read_text(encoding="utf-8")
    table = text.split("What was released", 1)[1].split("</table>", 1)[0]
    cells = re.findall(r'<td class="figure">(-?[0-9.]+)<small>([0-9.]+) to ([0-9.]+)<', table)
    assert len(cells) >= 2
    assert len({len(x.partition(".")[2]) for cell in cells for x in cell}) == 1
    (value, *_), *_ = cells
    page.write_text(text.replace(f">{value}<small>", f">{value}0<small>"), encoding="utf-8")
    _, said = verified_alone(found.folder)
    assert "WRONG the released numbers in report.html are those of the table" in said


def test_of_a_unit_whose_rows_become_one_no_row_is_said_to_be_left_out(tmp_path: Path) -> None:
    opened(tmp_path)
    shape = SPECS["features of a unit"] | {"where": "cost >= 0", "let": {"much": "spent > 9"}}
    kept = made(tmp_path, BASE | {"budget": {"epsilon": 1.0}} | shape)
    found = report(kept.release_id, ledger=kept.ledger)
    assert "bounding" not in {one["kind"] for one in found.statement.to_dict()["biases"]}
    files = [found.folder / name for name in ("statement.md", "report.html", "registry.yaml")]
    for path in (*files, kept.folder / "statement.md"):
        text = " ".join(path.read_text(encoding="utf-8").replace("&gt;", ">").split())
        for wrong in ("decided at random", "chosen at random", "come out low", "1 row in all"):
            assert wrong not in text, path.name
        assert "become one row" in text
        assert "Only rows with cost >= 0 count. “visits” is count(rows) over all rows" in text
        assert (
            "“spent” is sum(cost) over all rows of a unit, each value clipped to 0 to 30." in text
        )
        assert "“much” stands for spent > 9." in text


def test_a_report_tells_which_rows_count(tmp_path: Path) -> None:
    opened(tmp_path)
    kept = made(tmp_path, BASE | {"budget": {"epsilon": 1.0}} | SPECS["formulas"])
    found = report(kept.release_id, ledger=kept.ledger)
    for name in ("statement.md", "report.html", "registry.yaml"):
        text = " ".join((found.folder / name).read_text(encoding="utf-8").split())
        text = text.replace("&gt;", ">").replace("\\[", "[").replace("\\]", "]")
        assert "Only rows with cost >= 0 count." in text, name
        assert "only rows with cost > 5 count." in text, name
        assert "“dear” stands for bin(cost, [0, 10, 20])." in text, name
    statement = found.folder / "statement.json"
    statement.write_text(statement.read_text().replace("cost >= 0", "cost >= 1"))
    code, said = verified_alone(found.folder)
    assert code == 1
    assert "WRONG the statement tells which rows count" in said

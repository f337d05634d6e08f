"""The table of expected risk, from the command: before any data, and as the paper prints it."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.errors import InputError
from discreet.guarantees import Adjacency, PureDP
from discreet.ledger import Ledger
from discreet.synthetic import Synthesizer, expected_risk, risk, synthesize

SPEC: dict[str, Any] = {
    "account": "patients",
    "purpose": "test",
    "source": "nothing.csv",
    "protect": {"unit": "person", "column": "id", "rows": 1, "adjacency": "replace"},
    "budget": {"epsilon": 1000},
    "columns": ["yes"],
    "keys": {"yes": ["n", "y"]},
    "n_synthetic": 1000,
    "n": 1000,
    "ledger": "sqlite:///ledger.db",
    "output": "out/",
}


def test_table_1_of_mcclure_and_reiter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(json.dumps(SPEC))
    with pytest.raises(SystemExit) as way_out:
        main(["assess", "spec.yaml", "--expected", "--share", "0.5", "--json"])
    assert way_out.value.code in (0, None)
    (row,) = json.loads(capsys.readouterr().out)["expected"]
    assert round(row["increase"], 5) == 0.00655
    with pytest.raises(SystemExit):
        main(["assess", "spec.yaml", "--expected", "--share", "0.5"])
    assert "on average (a fall counts as 0)" in capsys.readouterr().out  # E[max(R − w, 0)]
    assert not Path("ledger.db").exists()  # nothing was opened, and the source is not there


def test_the_rise_grows_with_the_budget() -> None:
    found = expected_risk(SPEC, [1, 10, 100], [0.1], [0.2, 0.5]).to_columns()
    for start in (0, 3):
        rises = found["increase"][start : start + 3]
        assert rises == sorted(rises)
        assert rises[0] > 0


def test_the_blur_is_that_of_the_file() -> None:
    """The double sum over originals and files, by the risk of the synthesizer that draws them."""
    small: dict[str, Any] = {"n": 6, "n_synthetic": 4, "budget": {"epsilon": 8}}
    spec = SPEC | small | {"protect": SPEC["protect"] | {"rows": 3}}
    law = Synthesizer.of(8, n_synthetic=4, records=3)
    total = 0.0
    for x, s in product(range(7), range(5)):
        share = (x + law.alphas[1]) / (6 + law.alphas.sum())
        chance = math.comb(6, x) * 0.3**x * 0.7 ** (6 - x)
        chance *= math.comb(4, s) * share**s * (1 - share) ** (4 - s)
        found = risk([6 - x, x], [4 - s, s], synthesizer=law).absolute(0.5)
        total += chance * max(0.0, float(found[1] if x else found[0]) - 0.5)
    (row,) = expected_risk(spec, shares=[0.3]).expected
    assert row["increase"] == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"n": None}, "no public n"), ({"budget": None, "tolerance": {"ratio": 3}}, "in numbers")],
)
def test_what_it_needs(changes: dict[str, Any], says: str) -> None:
    keys = {k: v for k, v in (SPEC | changes).items() if v is not None}
    with pytest.raises(InputError, match=says):
        expected_risk(keys)


def test_without_a_region_nobody_is_said_to_be_inside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"p{place},{'ny'[place >= 900]}" for place in range(1000)]
    Path("data.csv").write_text("\n".join(["id,yes", *rows]) + "\n")
    Path("spec.yaml").write_text(json.dumps(SPEC | {"source": "data.csv"}))
    cap = PureDP(2000.0, adjacency=Adjacency.REPLACE)
    terms = {"unit": "person", "adjacency": "replace", "filter": "pure"}
    ledger = Ledger.open("sqlite:///ledger.db")
    ledger.open_account("patients", cap=cap, approver="A", reason="test", **terms)
    made = synthesize("spec.yaml")
    file = str(next(Path("out").glob(f"{made.release_id}/*.csv")))
    told = []
    for region in ((), ("--region", "RR <= 1000")):
        with pytest.raises(SystemExit):
            main(["assess", "spec.yaml", "--candidate", file, *region])
        told.append("".join(capsys.readouterr()))
    assert "No region given." in told[0]
    assert ["fall outside" in text for text in told] == [False, True]

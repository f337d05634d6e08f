"""The whole way: charge, draw, store, commit; what is refused, and when."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.cli import main
from discreet.errors import BudgetExceeded, DataError, InputError, PolicyError, SpecError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.ledger import Amount, Ledger
from discreet.releases import Preview, Release, drawing, outputs, release

Opened = Callable[..., Ledger]


def _made(spec: dict[str, Any], data: Any, folder: Path, **more: Any) -> Release:
    made = release(spec, data=data, folder=folder, confirm=lambda _: True, **more)
    assert isinstance(made, Release)
    return made


def _rows(made: Release) -> list[dict[str, str]]:
    table = next(path for path in made.files if path.name == "table.csv")
    with table.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_release_is_charged_stored_and_committed(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    made = _made(spec | {"budget": {"epsilon": 50.0}}, people, tmp_path)
    assert [path.name for path in made.files] == [
        "release.json",
        "statement.md",
        "table.csv",
        "table.parquet",
    ]
    assert all(path.parent == tmp_path / "out" / made.release_id for path in made.files)
    assert len(made.release_id) == 26
    assert made.spent == {"epsilon": 50.0, "delta": None, "rho": None}
    assert made.remaining == {"epsilon": 50.0, "delta": None, "rho": None}
    reserved, committed = ledger.entries("people")[-2:]
    assert (reserved.kind, committed.kind) == ("reserve", "commit")
    assert reserved.release_id == committed.release_id == made.release_id
    assert committed.output_hash == outputs.hash_of(made.statement.parent)
    assert made.head == ledger.head
    assert ledger.verify(made.head).verified
    # 40 people keep 2 of 3 rows each. ε = 50 for a sensitivity of 2: off by one or more in any of
    # three cells with probability below 1e-10.
    counts = {row["county"]: int(row["value"]) for row in _rows(made)}
    assert counts["north"] + counts["south"] == 80
    assert counts["west"] == 0


def test_the_stored_release_says_everything(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    made = _made(spec, people, tmp_path)
    stored = json.loads((made.statement.parent / "release.json").read_text())
    assert stored["release_id"] == made.release_id
    assert stored["spent"] == made.spent
    assert stored["table"] == {name: list(v) for name, v in made.table.columns.items()}
    assert stored["plan"]["calls"][0]["l1"] == 2.0
    assert stored["learned"]["rows"][0]["prior"] == 0.01
    assert stored["unit_name"] == "one person"
    arrow = pq.read_table(made.statement.parent / "table.parquet")
    numbers = ["value", "std_error", "interval_low", "interval_high", "published"]
    assert arrow.column_names == ["statistic", "county", *numbers]
    assert arrow["value"].to_pylist() == [float(row["value"]) for row in _rows(made)]
    words = made.statement.read_text()
    for needed in (made.release_id, "one person", "ε = 1", stored["head"], "not protected"):
        assert needed in words


def test_the_statement_says_what_was_taken_as_sensitive(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    plain = _made(spec, people, tmp_path).statement.read_text()
    worded = spec | {"sensitive": "diagnosis\n  = 'X'", "purpose": "another"}
    words = _made(worded, people, tmp_path).statement.read_text()
    assert "sensitive" not in plain
    assert "- **Taken as sensitive**: diagnosis = 'X'\n" in words


def test_values_lie_in_their_intervals_and_cells_in_order(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    keys = {"county": ["west", "north"]}
    spec["statistics"] = [
        {"count": "rows", "by": ["county"], "keys": keys, "name": "visits"},
        {"sum": "cost", "bounds": [0, 20], "resolution": 0.25, "by": ["county"], "keys": keys},
        {"count": "units"},
        {"mean": "cost", "bounds": [0, 20], "resolution": 0.25},
        {"variance": "cost", "bounds": [0, 20], "resolution": 0.25},
        {"histogram": "cost", "edges": [0, 5, 15, 25]},
        {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 5},
        {"best": "county", "score": "count", "of": "county", "candidates": ["north", "south"]},
    ]
    rows = _rows(_made(spec, people, tmp_path))
    assert [(row["statistic"], row["county"]) for row in rows][:5] == [
        ("visits", "west"),
        ("visits", "north"),
        ("sum_cost_2", "west"),
        ("sum_cost_2", "north"),
        ("count_units_3", ""),
    ]
    assert len(rows) == 2 + 2 + 1 + 1 + 1 + 3 + 1 + 1
    for row in rows:
        if row["interval_low"]:
            assert float(row["interval_low"]) <= float(row["value"]) <= float(row["interval_high"])
    sums = [float(row["value"]) for row in rows if row["statistic"].startswith("sum")]
    assert all((value / 0.25).is_integer() for value in sums)
    assert [row["cost"] for row in rows if row["statistic"].startswith("hist")] == [
        "[0, 5)",
        "[5, 15)",
        "[15, 25]",
    ]
    assert rows[-1]["county"] in ("north", "south")


def test_with_much_budget_every_statistic_is_right(account: Opened, tmp_path: Path) -> None:
    """ε = 900,000: the widest noise has scale 0.012, and shows with probability below 1e-30."""
    account(unit="record", cap=PureDP(1e6))
    data = pd.DataFrame(
        {"x": [1.0, 2.0, 3.0, 10.0], "bid": [1.0, 1.0, 1.0, 3.0], "yes": ["y", "y", "y", "n"]}
    )
    auction = {"from": 0, "to": 100, "step": 0.01}
    spec = {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "record"},
        "budget": {"epsilon": 900_000.0},
        "statistics": [
            {"count": "rows"},
            {"count": "units"},
            {"sum": "x", "bounds": [0, 5], "resolution": 0.5},
            {"mean": "x", "bounds": [0, 10], "resolution": 1},
            {"variance": "x", "bounds": [0, 10], "resolution": 1},
            {"quantile": "x", "at": 0.75, "bounds": [0, 10], "resolution": 1},
            {"histogram": "x", "edges": [0, 2, 11]},
            {
                "best": "price",
                "score": "revenue",
                "of": "bid",
                "cap": 100,
                "candidates": auction,
                "weight": 100,
            },
            {"randomized": "yes", "answers": ["y", "n"], "keep": 0.75},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    values = [row["value"] for row in _rows(_made(spec, data, tmp_path))]
    assert values[:5] == ["4", "4", "11", "4", "12.5"]
    # At most three quarters lie below and at least three quarters at or below 3 … 10.
    assert 3 <= int(values[5]) <= 10
    assert values[6:] == ["1", "3", "1", "4", "0"]


def test_empty_cells_are_kept_and_rows_outside_are_nobodys_business(
    spec: dict[str, Any], account: Opened, tmp_path: Path
) -> None:
    account()
    data = pa.table({"person": ["a", "b", "c"], "county": ["secret-county", "north", None]})
    made = _made(spec | {"budget": {"epsilon": 90.0}}, data, tmp_path)
    assert [(row["county"], row["value"]) for row in _rows(made)] == [
        ("north", "1"),
        ("south", "0"),
        ("west", "0"),
    ]
    for path in made.files:
        assert b"secret-county" not in path.read_bytes()


def test_a_dry_run_reads_no_row_and_spends_nothing(
    spec: dict[str, Any], account: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = account()
    (tmp_path / "t.csv").write_text("person,county,cost\nnot,a,number\nragged\n")
    spec["source"] = "t.csv"
    spec["statistics"] += [
        {"mean": "cost", "bounds": [0, 20], "resolution": 0.25},
        {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 1},
    ]
    head = ledger.head
    preview = release(spec, folder=tmp_path, dry_run=True)
    assert isinstance(preview, Preview)
    assert ledger.head == head
    assert not (tmp_path / "out").exists()
    said = preview.to_dict()
    assert said["spent"]["epsilon"] == 1.0
    assert said["remaining"]["epsilon"] == 100.0
    assert said["accuracy"][0]["half_width"] > 0
    assert [size["rows"] for size in said["accuracy"][1]["assumed"]] == [100, 1000]
    assert said["accuracy"][1]["only_bounds"] == 10
    widths = [size["half_width"] for size in said["accuracy"][1]["assumed"]]
    assert widths == sorted(widths, reverse=True)
    json.dumps(said, allow_nan=False)


def test_a_dry_run_tells_errors_for_the_size_of_group_that_is_expected(
    spec: dict[str, Any], account: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were told for 10,000 and 100,000 rows, where groups have 3,000."""
    account()
    (tmp_path / "t.csv").write_text("person,county,cost\n")
    cost: dict[str, Any] = {"bounds": [0, 20], "resolution": 0.25}
    total = {"sum": "cost", **cost, "name": "s"}
    statistics = [
        *({one: "cost", **cost, "name": one} for one in ("mean", "variance", "median")),
        {"quantile": "cost", "at": 0.5, **cost, "name": "quantile"},
        total,
        {"rate": {"events": "s", "per": {"count": "rows"}}, "name": "rate"},
    ]
    spec |= {"source": "t.csv", "statistics": statistics, "budget": {"epsilon": 0.1}}

    def lines(size: int | None) -> dict[str, Any]:
        look = discreet.preview(spec, folder=tmp_path, size=size)
        return {line["statistic"]: line for line in look.to_dict()["accuracy"]}

    usual = lines(None)
    for size in (10, 1_000, 3_000, 100_000):
        told = lines(size)
        assert told["s"] == usual["s"]  # of a sum no size is asked
        for name in ("mean", "variance", "rate"):
            widths = {one["rows"]: one for one in usual[name]["assumed"] if "rows" in one}
            found = told[name]["assumed"]
            if not found:
                assert told[name]["only_bounds"] == size
            if size in widths:
                assert found == [widths[size]]
        for name, key in (("median", "interval_assumed"), ("quantile", "assumed")):
            assert [one["rows"] for one in told[name][key]] == [size]
    near, far = (lines(size)["mean"]["assumed"][0]["half_width"] for size in (3_000, 10_000))
    assert near > far > 0
    (tmp_path / "s.json").write_text(json.dumps(spec))
    with pytest.raises(SystemExit):
        main(["release", str(tmp_path / "s.json"), "--dry-run", "--size", "3000"])
    out = capsys.readouterr().out
    assert re.search(r"mean: off by at most [\d.]+ in a group of 3,000 rows, with", out)
    assert "10,000" not in out
    for wrong in (0, True, 10**10):
        with pytest.raises(InputError, match="whole number from 1"):
            discreet.preview(spec, folder=tmp_path, size=wrong)
    with pytest.raises(SystemExit) as ended:
        main(["release", str(tmp_path / "s.json"), "--size", "3000"])
    assert ended.value.code == 2


def test_the_accuracy_of_a_dry_run_is_the_interval_of_the_release(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    preview = release(spec, data=people, folder=tmp_path, dry_run=True)
    width = preview.to_dict()["accuracy"][0]["half_width"]
    for row in _rows(_made(spec, people, tmp_path)):
        assert float(row["interval_high"]) - float(row["value"]) == width


def test_a_dry_run_without_an_account_names_the_command(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    preview = release(spec, data=people, folder=tmp_path, dry_run=True)
    assert isinstance(preview, Preview)
    assert any("discreet ledger open" in note for note in preview.notes)
    with pytest.raises(PolicyError, match="open_account"):
        _made(spec, people, tmp_path)
    assert not (tmp_path / "ledger.db").exists()


def test_a_second_run_says_so_first_and_is_charged(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    said: list[str] = []
    release(spec, data=people, folder=tmp_path)
    head = ledger.head
    with pytest.raises(PolicyError, match="already released 1 time"):
        release(spec, data=people, folder=tmp_path, say=said.append)
    with pytest.raises(PolicyError, match="Nothing was spent"):
        release(spec, data=people, folder=tmp_path, confirm=lambda _: False)
    assert ledger.head == head
    assert said == []  # the refusal says it, once
    release(spec, data=people, folder=tmp_path, confirm=True, say=said.append)
    assert "new charge" in said[0]
    again = _made(spec, people, tmp_path)
    assert again.remaining["epsilon"] == 97.0
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_over_budget_is_refused_before_anything_is_read(
    spec: dict[str, Any], account: Opened, tmp_path: Path
) -> None:
    ledger = account(cap=PureDP(1.5))
    (tmp_path / "t.csv").write_text("person,county\na,north\n")
    spec["source"] = "t.csv"
    spec["budget"] = {"epsilon": 2.0}
    head = ledger.head
    with pytest.raises(BudgetExceeded, match="needs") as refused:
        release(spec, folder=tmp_path)
    assert refused.value.exit_code == 3
    assert ledger.head == head
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"unit": "record"}, "unit"),
        ({"adjacency": "replace", "cap": PureDP(9, adjacency="replace")}, "adjacency"),
        ({"filter": "zcdp", "cap": ZCDP(9.0)}, None),
    ],
)
def test_an_account_of_another_kind_is_refused_by_policy(
    terms: dict[str, Any],
    said: str | None,
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
) -> None:
    account(**terms)
    if said is None:
        assert _made(spec, people, tmp_path).spent["epsilon"] == 1.0
        return
    with pytest.raises(PolicyError, match=said):
        _made(spec, people, tmp_path)


def test_rho_is_refused_on_a_pure_account_and_taken_on_a_zcdp_one(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    spec["budget"] = {"rho": 0.5}
    account()
    with pytest.raises(PolicyError):
        _made(spec, people, tmp_path)


def test_a_release_in_rho(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account(filter="zcdp", cap=Amount.of(rho=1.0, delta=1e-5))
    spec["budget"] = {"rho": 0.25}
    spec["statistics"] += [
        {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 1},
        {"count": "units", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}},
    ]
    made = _made(spec, people, tmp_path)
    assert made.spent["rho"] == pytest.approx(0.25)
    assert made.spent["delta"] == 1e-6
    assert made.remaining["rho"] == pytest.approx(0.75)
    mechanisms = {call["mechanism"] for call in made.to_dict()["calls"]}
    assert mechanisms == {"gaussian", "exponential", "geometric"}
    assert "with probability" in made.statement.read_text()
    # Two charges, of ρ and of (ε, δ), are explained together.
    belief = discreet.explain(made, 0.1)
    assert 0.1 < belief.posterior.upper < 1
    assert belief.posterior.upper >= discreet.explain(ZCDP(0.24), 0.1).posterior.upper


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_release_is_explained_with_its_guarantee_and_its_promise(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path, dry_run: bool
) -> None:
    account(unit_name="one patient")
    del spec["budget"]
    spec["protect"]["name"] = "one patient"
    spec |= {"tolerance": {"ratio": 3.0, "about": "value"}, "series": {"releases": 2}}
    made: Any = release(spec, data=people, folder=tmp_path, dry_run=dry_run)
    found = discreet.explain(made, 0.3)
    assert found.prior == discreet.Prior(1, 0.3)
    assert found.unit == "one patient"
    assert found.guarantee == PureDP(made.spent["epsilon"])
    assert discreet.join(made).unit == "one patient"
    spec["budget"] = {"epsilon": 0.1}
    del spec["tolerance"], spec["series"]
    bare = discreet.preview(spec, data=people, folder=tmp_path)
    assert discreet.explain(bare, 0.3).unit == "one patient"


def test_an_epsilon_and_delta_release(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account(filter="basic", cap=ApproxDP(5.0, 1e-5))
    spec["budget"] = {"epsilon": 1.0, "delta": 1e-6}
    made = _made(spec, people, tmp_path)
    assert made.spent["epsilon"] == 1.0


def test_keys_are_found_if_enough_units_have_them_and_else_never_leave(
    spec: dict[str, Any], account: Opened, tmp_path: Path
) -> None:
    """ε = 40: τ is 2 for one key a unit, and 60 units are found with probability 1 − 1e-9 or more;
    a key of one unit is published with probability at most δ = 1e-9.
    """
    account(filter="basic", cap=ApproxDP(100.0, 1e-5))
    data = pa.table(
        {
            "person": [f"p{i}" for i in range(121)],
            "county": ["north"] * 60 + ["south"] * 60 + ["hermitage"],
        }
    )
    spec["protect"] = {"unit": "person", "column": "person", "rows": 1}
    spec["budget"] = {"epsilon": 80.0}
    spec["statistics"] = [
        {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-9}}},
        {"count": "units", "by": ["county"], "keys": {"discover": {"delta": 1e-9}}},
    ]
    made = _made(spec, data, tmp_path)
    assert [(row["county"], row["value"]) for row in _rows(made)] == [
        ("north", "60"),
        ("south", "60"),
    ] * 2
    assert made.spent == {"epsilon": 80.0, "delta": 1e-9, "rho": None}
    for path in (*made.files, tmp_path / "ledger.db"):
        assert b"hermitage" not in path.read_bytes()


TOLERANCE = {
    "posterior": 0.25,
    "unless_ratio": 3,
    "values_known": True,
    "every_output": True,
}


@pytest.mark.parametrize(
    ("budget", "changes", "match"),
    [
        ({"epsilon": 1e-320}, {}, "too large for a number"),
        ({"epsilon": 1.0}, {"at": 1e-320}, "too large for a number"),
        ({"epsilon": 1e-9}, {"resolution": 1e-200, "bounds": [0, 1e-190]}, r"wider than 2\^52"),
        ({"epsilon": 1.0}, {"resolution": 1.7e308}, "beyond 1e308"),
        ({"epsilon": 1e-9}, {"resolution": 1e300, "bounds": [0, 1e305]}, "beyond 1e308"),
    ],
)
def test_noise_that_could_not_be_drawn_or_stored_is_refused_before_the_charge(
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
    budget: dict[str, float],
    changes: dict[str, Any],
    match: str,
) -> None:
    ledger = account()
    kind = "quantile" if "at" in changes else "sum"
    wide = {kind: "cost", "bounds": [0, 10], "resolution": 1.0} | changes
    spec |= {"budget": budget, "statistics": [wide]}
    for dry_run in (True, False):
        with pytest.raises(InputError, match=match):
            release(spec, data=people, folder=tmp_path, dry_run=dry_run)
    assert [entry.kind for entry in ledger.entries("people")] == ["open"]


def test_a_tolerance_becomes_the_budget_and_holds_for_the_whole_account(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    del spec["budget"]
    spec["tolerance"] = TOLERANCE
    made = _made(spec, people, tmp_path)
    assert made.spent["epsilon"] == pytest.approx(1.29928298)
    # What is promised is never stated smaller than it is, nor what is left larger.
    assert "**This release spends** ε = 1.29928298413026\n" in made.statement.read_text()
    left = float(made.statement.read_text().split("**Remaining**: ε = ")[1].split()[0])
    assert left <= made.remaining["epsilon"] < left + 1e-3
    with pytest.raises(BudgetExceeded, match="would break a promise"):
        _made(spec, people, tmp_path)


def test_a_series_spends_its_share_until_the_tolerance_is_used_up(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    del spec["budget"]
    spec |= {"tolerance": TOLERANCE, "series": {"releases": 3}}
    for _ in range(3):
        assert _made(spec, people, tmp_path).spent["epsilon"] == pytest.approx(1.29928298 / 3)
    with pytest.raises(BudgetExceeded):
        _made(spec, people, tmp_path)


def test_a_tolerance_with_confidence_is_kept_on_a_basic_account(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account(filter="basic", cap=ApproxDP(5.0, 1e-5))
    del spec["budget"]
    spec["tolerance"] = {"difference": 0.2, "delta": 1e-6, "confidence": 0.99}
    made = _made(spec, people, tmp_path)
    assert made.spent["delta"] in (None, 1e-6)
    with pytest.raises(BudgetExceeded):
        _made(spec, people, tmp_path)


def test_a_registered_plan_is_released_slot_by_slot(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    plan = ledger.register_plan(
        "people", [PureDP(1.0)] * 2, PureDP(2.0), purpose="two months", who="tester"
    )
    for _ in range(2):
        made = _made(spec, people, tmp_path, plan_id=plan)
        assert made.remaining["epsilon"] == 98.0
    with pytest.raises((PolicyError, BudgetExceeded)):
        _made(spec, people, tmp_path, plan_id=plan)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"protect": {"unit": "person", "column": "nobody", "rows": 1}}, DataError, "no column"),
        ({"statistics": [{"histogram": "gone", "edges": [0, 1]}]}, DataError, "no column"),
        (
            {"statistics": [{"count": "rows", "by": ["county"], "keys": {"county": "no.csv"}}]},
            SpecError,
            "cannot be read",
        ),
        (
            {
                "statistics": [
                    {"mean": "cost", "bounds": [0, 1], "resolution": 1, "within": {"error": 1}}
                ]
            },
            SpecError,
            "within is for counts",
        ),
        ({"source": None}, SpecError, "source is missing"),
        ({"mechanism": "gaussian"}, SpecError, "cannot keep pure DP"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_charge(
    change: dict[str, Any],
    error: type[Exception],
    said: str,
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
) -> None:
    ledger = account()
    head = ledger.head
    data = None if "source" in change else people
    asked = {k: v for k, v in (spec | change).items() if v is not None}
    with pytest.raises(error, match=said):
        release(asked, data=data, folder=tmp_path)
    assert ledger.head == head


def test_keys_from_a_file_keep_their_order_and_text(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    (tmp_path / "keys.csv").write_text(
        'county,code\n"west",1\nnorth,2\nnorth ,3\n', encoding="utf-8"
    )
    spec["statistics"][0]["keys"] = {"county": "keys.csv"}
    rows = _rows(_made(spec, people, tmp_path))
    assert [row["county"] for row in rows] == ["west", "north", "north "]


def test_an_output_folder_that_cannot_be_made_is_refused_before_the_charge(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    (tmp_path / "out").write_text("a file in the way")
    head = ledger.head
    with pytest.raises(InputError, match="cannot be made"):
        release(spec, data=people, folder=tmp_path)
    assert ledger.head == head


def test_files_that_the_ledger_did_not_record_are_removed_by_the_next_run(
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
    private_state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = account()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "commit", crash)
        with pytest.raises(KeyboardInterrupt):
            release(spec, data=people, folder=tmp_path)
    (lost,) = ledger.unfinished("people")
    assert list(private_state.rglob("table.csv"))  # only the ledger knows whether it was recorded
    said: list[str] = []
    _made(spec, people, tmp_path, say=said.append)
    assert any(str(lost.release_id) in line and "stays spent" in line for line in said)
    assert not list(private_state.rglob("table.csv"))
    said.clear()
    _made(spec, people, tmp_path, say=said.append)
    assert not any(str(lost.release_id) in line for line in said)  # it is told once


def test_a_crash_before_the_files_leaves_the_charge_and_is_told(
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = account()

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(drawing, "add_noise", crash)
        with pytest.raises(KeyboardInterrupt):
            release(spec, data=people, folder=tmp_path)
    assert ledger.remaining("people").floats("down")["epsilon"] == 99.0  # type: ignore[union-attr]
    assert not list((tmp_path / "out").iterdir())
    said: list[str] = []
    _made(spec, people, tmp_path, say=said.append)
    assert any("Its charge stays spent" in line for line in said)


def test_noise_is_drawn_only_after_the_charge_is_durable(
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account()
    order: list[str] = []
    true_draw, true_open = drawing.add_noise, Ledger.reserve

    def draw(*values: Any, **more: Any) -> Any:
        order.append("draw")
        return true_draw(*values, **more)

    def reserve(*values: Any, **more: Any) -> Any:
        entry = true_open(*values, **more)
        order.append("reserve")
        return entry

    monkeypatch.setattr(drawing, "add_noise", draw)
    monkeypatch.setattr(Ledger, "reserve", reserve)
    _made(spec, people, tmp_path)
    assert order == ["reserve", "draw"]


def test_progress_is_told(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    told: list[tuple[str, int, int]] = []
    _made(spec, people, tmp_path, progress=lambda *now: told.append(now))
    assert ("bounding and aggregating", 1, 1) in told
    assert ("drawing noise for count_rows_1", 3, 3) in told


def test_a_frame_of_any_kind_comes_back_as_arrow(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    made = _made(spec, people.to_pandas(), tmp_path)
    frame = made.table.to_arrow().to_pandas()
    assert list(frame["county"]) == ["north", "south", "west"]
    assert "<table" in made._repr_html_()
    assert made.release_id in repr(made)
    assert os.sep not in repr(made)

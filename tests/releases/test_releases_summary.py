"""Summaries: the spec that is written from public facts, and what comes back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.cli import main
from discreet.errors import BudgetExceeded, InputError, PolicyError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.promises import Ratio
from discreet.releases.sheets import tidy, wide
from discreet.releases.summary import SHARES, summary_spec

PROTECT = {"unit": "person", "column": ["person"], "rows": 1}
DATA = pa.table(
    {
        "person": list(range(1000)),
        "age": [None if i % 10 == 0 else float(i % 100) for i in range(1000)],
        "sex": ["f" if i % 3 else "m" for i in range(990)] + ["x"] * 10,
    }
)
KNOWN = {"age": {"bounds": [0, 120], "resolution": 1}, "sex": {"keys": ["f", "m"]}}


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger.open(url).open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1000.0),
        approver="a",
        reason="b",
    )
    return url


def _summed(ledger: str, tmp_path: Path, **more: Any) -> Any:
    asked = {"budget": {"epsilon": 900.0}, "write": "summary.yaml"} | more
    return discreet.summarize(
        None,
        more.pop("columns", KNOWN),
        data=DATA,
        account="people",
        protect=PROTECT,
        ledger=ledger,
        folder=tmp_path,
        **{key: value for key, value in asked.items() if key != "columns"},
    )


def test_a_summary_is_one_release_with_what_every_column_has(ledger: str, tmp_path: Path) -> None:
    made = _summed(ledger, tmp_path)
    told = made.to_columns()
    names = zip(told["column"], told["what"], told["label"], strict=True)
    value = dict(zip(names, told["value"], strict=True))
    assert value[None, "rows", None] == value[None, "units", None] == 1000
    assert (value["age", "present", None], value["age", "missing", None]) == (900, 100)
    assert (value["sex", "keys", "f"], value["sex", "keys", "m"]) == (660, 330)
    assert value["sex", "missing", None] == 10
    ages = sorted(age for age in DATA["age"].to_pylist() if age is not None)
    for share in SHARES:
        # Ten rows have each value; what a choice misses, at most half of one for each level above.
        found = value["age", "quantiles", f"{share:g}"]
        below, upto = sum(age < found for age in ages), sum(age <= found for age in ages)
        assert max(below - share * 900, share * 900 - upto) <= 10
    charges = [e for e in Ledger.open(ledger).entries("people") if e.cost]
    assert len(charges) == 1
    assert made.to_dict()["spent"]["epsilon"] == 900.0


@pytest.mark.parametrize(("column", "counts"), [("age", 2), ("sex", 3)])
def test_what_is_missing_has_an_interval_for_the_noise_in_all_counts(
    ledger: str, tmp_path: Path, column: str, counts: int
) -> None:
    """It was a difference of noisy counts, printed as if it were exact."""
    made = _summed(ledger, tmp_path, budget={"epsilon": 0.3})
    (one,) = [told for told in made.columns if told["column"] == column]
    (row,) = [row for row in one["rows"] if row["what"] == "missing"]
    within = row["interval_high"] - row["value"]
    assert row["value"] - row["interval_low"] == within
    # All counts have the same share of the budget: noise by their law, added by convolution.
    (scale,) = {c.scale for c in made.release.plan.pricing.calls if c.asked.part.name == "count"}
    x = np.arange(-2000, 2001)
    one_law = np.exp(-np.abs(x) / scale) * math.tanh(1 / (2 * scale))
    law = one_law
    for _ in range(counts - 1):
        law = np.convolve(law, one_law)
    middle = len(law) // 2
    held = law[middle - int(within) : middle + int(within) + 1].sum()
    assert 0.95 <= held < 0.96


def test_keys_that_nearly_no_row_has_are_asked_about(ledger: str, tmp_path: Path) -> None:
    """The noise was blamed on the budget, and the rows were said to be missing."""
    wrong = {"sex": {"keys": ["F", "M"]}, "age": KNOWN["age"]}
    made = _summed(ledger, tmp_path, columns=wrong, budget={"epsilon": 20.0})
    (said,) = made.unclear
    assert "sex: nearly all rows have no listed key" in said
    right = _summed(ledger, tmp_path, write="right.yaml", budget={"epsilon": 20.0})
    assert not any("listed key" in line for line in right.unclear)


def test_the_spec_that_is_written_is_the_one_that_ran(ledger: str, tmp_path: Path) -> None:
    made = _summed(ledger, tmp_path)
    assert yaml.safe_load((tmp_path / "summary.yaml").read_text()) == made.spec.to_dict()
    with pytest.raises(InputError, match="already exists"):
        _summed(ledger, tmp_path, budget={"epsilon": 1.0})
    with pytest.raises(BudgetExceeded):  # the same spec may run again, as far as there is budget
        _summed(ledger, tmp_path, confirm=True)
    assert (tmp_path / "summary.yaml").exists()


def test_what_a_dry_run_wrote_does_not_stop_the_run(ledger: str, tmp_path: Path) -> None:
    """The file that the dry run had written was in the way of the very same spec."""
    how: dict[str, Any] = {"budget": {"epsilon": 1.0}}
    _summed(ledger, tmp_path, dry_run=True, **how)
    written = (tmp_path / "summary.yaml").read_bytes()
    _summed(ledger, tmp_path, dry_run=True, **how)
    _summed(ledger, tmp_path, **how)
    with pytest.raises(PolicyError, match="already released 1 time"):  # it is asked about
        _summed(ledger, tmp_path, **how)
    assert (tmp_path / "summary.yaml").read_bytes() == written
    (tmp_path / "summary.yaml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="already exists"):
        _summed(ledger, tmp_path, **how)


def test_a_dry_run_spends_nothing_and_the_cap_holds(ledger: str, tmp_path: Path) -> None:
    assert _summed(ledger, tmp_path, dry_run=True, write=None).spent["epsilon"] == 900.0
    assert Ledger.open(ledger).spent("people").lead == 0
    with pytest.raises(BudgetExceeded):
        _summed(ledger, tmp_path, budget={"epsilon": 1001.0})
    assert not (tmp_path / "summary.yaml").exists()  # nothing ran, and it may be tried again
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        _summed(ledger, tmp_path, write="nowhere/summary.yaml")
    assert Ledger.open(ledger).spent("people").lead == 0
    with pytest.raises(PolicyError):
        _summed(f"sqlite:///{tmp_path / 'other.db'}", tmp_path, write=None)


def test_the_same_summary_again_needs_a_yes(ledger: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"budget": {"epsilon": 1.0}, "write": None}
    _summed(ledger, tmp_path, **how)
    with pytest.raises(PolicyError, match="already released"):
        _summed(ledger, tmp_path, **how)
    _summed(ledger, tmp_path, confirm=True, **how)


def test_a_dry_run_on_the_command_line_tells_the_accuracy_and_writes_what_it_would_run(
    ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("person,age,sex\n1,2,f\n")
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(KNOWN))
    words = ["summarize", "people.csv", "--columns", "known.yaml", "--account", "people"]
    words += ["--ledger", ledger, "--unit-column", "person", "--rows", "1", "--epsilon", "1"]
    for write in ([], ["--write", "asked.yaml"]):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--dry-run", *write])
        assert not ended.value.code
        out = capsys.readouterr().out
        accuracy = out.split("Accuracy:")[1]
        assert all(name in accuracy for name in ("rows", "quantiles of age", "keys of sex"))
        assert ("asked.yaml" in out) is bool(write)
    assert not (tmp_path / "summary.yaml").exists()
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    out, err = capsys.readouterr()
    assert "At most 1 row of each unit is counted" in out
    # Nobody is asked here, and a log keeps what a person would have seen.
    for told in ("taken to be in UTF-8", "Public keys are not"):
        assert err.count(told) == 1
    assert "no declared type" not in err  # by its bounds it is a number
    assert discreet.check(tmp_path / "asked.yaml").spent["epsilon"] == 1.0


def test_a_summary_publishes_what_was_cut_where_it_is_asked_by_a_flag(
    ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dry run said to add cut to the spec, and a summary is made from flags."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 100},f\n" * (1 + i % 3) for i in range(300))
    (tmp_path / "people.csv").write_text(f"person,age,sex\n{rows}")
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(KNOWN))
    words = ["summarize", "people.csv", "--columns", "known.yaml", "--account", "people"]
    words += ["--ledger", ledger, "--unit-column", "person", "--rows", "2", "--epsilon", "300"]

    def told(*more: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert not ended.value.code
        return capsys.readouterr().out

    dry = told("--dry-run")
    assert "To publish that number, add --cut 0.05. Then the dry run tells" in dry
    assert "to the spec" not in dry
    assert "is published with an error of up to" in told("--dry-run", "--cut", "0.05")
    made = told("--cut", "0.5")
    assert "100 (100 to 100): units with rows that rows leaves out" in made
    assert yaml.safe_load((tmp_path / "summary.yaml").read_text())["cut"]["weight"] == 0.5
    said = json.loads(told("--cut", "0.5", "--json", "--yes"))
    assert {one["units"] for one in said["cut"] if one["about"] == "rows"} == {100}


def test_a_summary_leaves_room_for_what_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It named `series`, a key of specs, which this command did not take."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("person,age,sex\n1,2,f\n")
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(KNOWN))
    of = ["--ledger", "sqlite:///l.db", "--account", "people"]
    asked = ["--posterior", "0.12", "--prior", "0.05"]

    def told(*words: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--json"])
        assert not ended.value.code
        return dict(json.loads(capsys.readouterr().out))

    told("ledger", "open", *of, *asked, "--approver", "a", "--reason", "b")
    words = ["summarize", "people.csv", "--columns", "known.yaml", "--unit-column", "person"]
    words += ["--rows", "1", *of, *asked, "--dry-run"]
    whole = told(*words)
    [note] = [note for note in whole["notes"] if note.startswith("No further release fits")]
    assert "--releases K" in note
    parts = told(*words, "--releases", "4")
    assert parts["spent"]["epsilon"] == pytest.approx(whole["spent"]["epsilon"] / 4)
    assert parts["promises"][0]["fits_again"] == 3
    budget = told(
        *words[: words.index("--posterior")], "--epsilon", "0.8", "--releases", "4", "--dry-run"
    )
    assert budget["spent"]["epsilon"] == pytest.approx(0.2)


def test_tables_for_readers_have_words_for_every_key(ledger: str, tmp_path: Path) -> None:
    _summed(ledger, tmp_path)
    (stored,) = tmp_path.glob("out/*/release.json")
    for sheet in (shape(json.loads(stored.read_text())) for shape in (tidy, wide)):
        assert "any number" in {cell for row in sheet.rows for cell in row}
        assert "1e+300" not in repr(sheet)


@pytest.mark.parametrize("bounds", [[3, 1], [2, 2], [-1.7e308, 1.7e308]])
def test_bounds_that_are_none_are_refused(bounds: list[float]) -> None:
    with pytest.raises(SpecError, match="column 'age'"):
        summary_spec("d.csv", {"age": {"bounds": bounds}}, "a", PROTECT, "l", "out", {})


@pytest.mark.parametrize(
    "known", [{}, {"bounds": [0, 1], "keys": ["a"]}, {"resolution": 1}, {"bound": [0, 1]}]
)
def test_a_column_needs_bounds_or_keys(known: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="column 'age'"):
        summary_spec("d.csv", {"age": known}, "a", PROTECT, "l", "out", {})


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e7))
def test_a_resolution_that_is_not_given_has_some_hundred_steps(low: float, span: float) -> None:
    asked = summary_spec(
        "d.csv", {"x": {"bounds": [low, low + span]}}, "a", PROTECT, "l", "out", {}
    )
    step = asked["statistics"][-1]["quantiles"]["resolution"]
    assert 190 <= span / step <= 510
    assert f"{step:e}"[0] in "125"


def test_a_summary_without_a_promise_uses_that_of_the_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It asked for an ε, while a release of such a spec takes the account's promise."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 90}\n" for i in range(30))
    (tmp_path / "few.csv").write_text(f"person,age\n{rows}")
    (tmp_path / "known.yaml").write_text("age: {bounds: [0, 120]}")
    words = ["summarize", "few.csv", "--columns", "known.yaml", "--account", "people"]
    words += ["--ledger", "sqlite:///l.db", "--unit-column", "person", "--rows", "1", "--json"]
    book = Ledger.open("sqlite:///l.db")
    approved = {"approver": "a", "reason": "b"}
    book.open_account("people", unit="person", adjacency="add-remove", promise=Ratio(3), **approved)
    with pytest.raises(SystemExit) as ended:
        main([*words, "--releases", "2", "--dry-run"])
    said = json.loads(capsys.readouterr().out)
    assert not ended.value.code
    cap = book.account("people").cap
    assert cap is not None
    assert said["spent"]["epsilon"] == pytest.approx(float(cap.epsilon) / 2)


def test_a_summary_says_which_numbers_the_noise_hides(
    ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of thirty rows at a small budget every count may be 0, and every quantile may be any."""
    assert _summed(ledger, tmp_path).unclear == ()
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 90},{'fm'[i % 2]}\n" for i in range(30))
    (tmp_path / "few.csv").write_text(f"person,age,sex\n{rows}")
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(KNOWN))
    words = ["summarize", "few.csv", "--columns", "known.yaml", "--account", "people"]
    words += ["--ledger", ledger, "--unit-column", "person", "--rows", "1", "--epsilon", "0.01"]
    words += ["--write", "few.yaml"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    out = capsys.readouterr().out
    missing = [line for line in out.splitlines() if " missing " in line]
    assert ["or no listed key" in line for line in missing] == [False, True]
    counts, quantiles = (line for line in out.splitlines() if line.startswith("Warning: "))
    assert "The noise is as large as the number in" in counts  # almost surely in all five
    assert "The intervals of 5 quantiles tell nothing" in quantiles
    assert "usually nearer" in quantiles


@pytest.mark.parametrize("written", ["people.csv", {"path": "people.csv", "encoding": "latin-1"}])
def test_a_column_with_bounds_is_declared_a_number(
    ledger: str, tmp_path: Path, written: str | dict[str, str]
) -> None:
    """A dry run warned that it had no type, which a summary cannot be given."""
    (tmp_path / "people.csv").write_text("person,age,sex\n1,2,f\n")
    how: dict[str, Any] = {"folder": tmp_path, "budget": {"epsilon": 1.0}, "dry_run": True}
    looked = discreet.summarize(
        written, KNOWN, account="people", protect=PROTECT, ledger=ledger, **how
    )
    assert not [said for said in looked.to_dict()["warnings"] if "no declared type" in said]
    own = {"path": "people.csv", "types": {"age": "integer"}}
    for source, types in ((written, {"age": "number"}), (own, own["types"])):
        spec = summary_spec(source, KNOWN, "people", PROTECT, ledger, "out", {})
        assert spec["source"]["types"] == types
    assert summary_spec("a.parquet", KNOWN, "people", PROTECT, ledger, "out", {})["source"] == (
        "a.parquet"
    )


def test_the_keys_of_a_column_are_listed_where_another_is_given(
    ledger: str, tmp_path: Path
) -> None:
    """It said to see the page of a release's spec, which has no keys of a column."""
    with pytest.raises(SpecError, match=r"type is not a key of a column\. A number has bounds"):
        _summed(ledger, tmp_path, columns={"age": {"type": "number"}}, write=None)

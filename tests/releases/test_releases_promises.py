"""Promises and releases: a promise binds everything charged to the account, by whatever way."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet import choose
from discreet.cli import main
from discreet.errors import (
    BudgetExceeded,
    InputError,
    PolicyError,
    SpecError,
    ToleranceError,
)
from discreet.guarantees import ApproxDP, PureDP
from discreet.ledger import BrokenPromise, Ledger
from discreet.promises import promise_in
from discreet.releases import Preview, Release, load, release
from discreet.synthetic import synthesize
from discreet.words import say

Opened = Callable[..., Ledger]
TWELVE_FROM_FIVE = {"posterior": 0.12, "p": 0.05, "about": "membership"}
LIMIT = 0.952008814476


def _made(spec: dict[str, Any], people: pa.Table, folder: Path, **how: Any) -> Release:
    made = release(spec, data=people, folder=folder, confirm=lambda _: True, **how)
    assert isinstance(made, Release)
    return made


def _preview(spec: dict[str, Any], people: pa.Table, folder: Path) -> Preview:
    found = release(spec, data=people, folder=folder, dry_run=True)
    assert isinstance(found, Preview)
    return found


def _promising(spec: dict[str, Any], promise: dict[str, Any], **more: Any) -> dict[str, Any]:
    return (
        {key: value for key, value in spec.items() if key != "budget"}
        | {"tolerance": promise}
        | more
    )


def _opened(tmp_path: Path, **terms: Any) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    said = {"unit": "person", "adjacency": "add-remove", "filter": "pure"} | terms
    ledger.open_account("people", approver="a", reason="r", **said)
    return ledger


class TestTheThirdCharge:
    """Two releases use up 12 % from 5 %; a third is refused by whatever way it comes."""

    @pytest.fixture
    def used(
        self, spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
    ) -> Ledger:
        ledger = account()  # a cap of 100, which is not what refuses
        for _ in range(2):
            _made(_promising(spec, TWELVE_FROM_FIVE, series={"releases": 2}), people, tmp_path)
        return ledger

    def test_from_a_spec_with_a_budget(
        self, used: Ledger, spec: dict[str, Any], people: pa.Table, tmp_path: Path
    ) -> None:
        with pytest.raises(BrokenPromise, match="12 % sure") as refused:
            _made(spec | {"budget": {"epsilon": 0.1}}, people, tmp_path)
        assert refused.value.exit_code == 3
        assert "ledger withdraw" in refused.value.on_the_command_line
        assert "series" in str(refused.value)

    def test_from_the_ledger(self, used: Ledger) -> None:
        with pytest.raises(BrokenPromise):
            used.charge("people", PureDP(0.1), purpose="elsewhere", who="me")

    def test_from_a_plan(self, used: Ledger) -> None:
        with pytest.raises(BrokenPromise):
            used.register_plan("people", [(PureDP(0.01), 2)], PureDP(0.02), purpose="x", who="me")

    def test_from_synthesis(self, used: Ledger, people: pa.Table, tmp_path: Path) -> None:
        spec = {
            "account": "people",
            "purpose": "file",
            "protect": {"unit": "person", "column": "person", "rows": 1},
            "budget": {"epsilon": 0.1},
            "columns": ["county"],
            "keys": {"county": ["north", "south"]},
            "n_synthetic": 10,
            "ledger": "sqlite:///ledger.db",
            "output": "out",
        }
        with pytest.raises(BrokenPromise):
            synthesize(spec, data=people, folder=tmp_path)

    def test_from_the_command_line(self, used: Ledger, tmp_path: Path) -> None:
        words = ["ledger", "charge", "--ledger", used.url, "--account", "people"]
        done = subprocess.run(
            [sys.executable, "-m", "discreet", *words, "--epsilon", "0.1"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 3
        assert "12 % sure" in done.stderr

    def test_a_dry_run_says_so(
        self, used: Ledger, spec: dict[str, Any], people: pa.Table, tmp_path: Path
    ) -> None:
        found = _preview(spec | {"budget": {"epsilon": 0.1}}, people, tmp_path)
        assert isinstance(found.refused, BrokenPromise)
        assert found.to_dict()["refused"]["exit_code"] == 3
        assert {one["fits_again"] for one in found.to_dict()["promises"]} == {None}

    def test_a_larger_cap_does_not_help_and_a_withdrawal_does(
        self, used: Ledger, spec: dict[str, Any], people: pa.Table, tmp_path: Path
    ) -> None:
        used.grant("people", add=PureDP(5.0), approver="a", reason="r")
        with pytest.raises(BrokenPromise):
            _made(spec | {"budget": {"epsilon": 0.1}}, people, tmp_path)
        (standing,) = used.promises("people")
        with pytest.raises(PolicyError):
            used.withdraw("people", standing.registered.id, approver="", reason="r")
        used.withdraw("people", standing.registered.id, approver="a", reason="board decision")
        made = _made(spec | {"budget": {"epsilon": 0.1}}, people, tmp_path)
        words = made.statement.read_text()
        assert "withdrawn" in words
        assert "board decision" in words


def test_a_tolerance_asks_for_all_that_the_promise_allows(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    made = _made(_promising(spec, TWELVE_FROM_FIVE), people, tmp_path)
    assert made.spent["epsilon"] == pytest.approx(LIMIT)
    (standing,) = ledger.promises("people")
    assert standing.kept
    assert standing.fits_again == 0
    assert standing.left < 1e-9
    assert standing.reached == (0.05, pytest.approx(0.12))
    assert standing.reached[1] <= 0.12 + 1e-12


def test_where_something_is_spent_already_it_says_what_fits(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    ledger.charge("people", PureDP(0.5), purpose="before", who="me")
    with pytest.raises(BrokenPromise, match=r"ε = 0\.452008 would fit"):
        _made(_promising(spec, TWELVE_FROM_FIVE), people, tmp_path)


def test_twelve_months_make_one_promise(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    ledger = account()
    written = [
        {"posterior": 0.12, "p": 0.05, "q": 1},
        {"posterior": 0.12, "p": 0.05, "values_known": True, "every_output": True},
        {"posterior": 0.12, "p": 0.05, "about": "membership"},
    ]
    for month in range(12):
        _made(
            _promising(spec, written[month % 3], series={"releases": 12}, purpose=f"month {month}"),
            people,
            tmp_path,
        )
    assert len(ledger.promises("people")) == 1
    with pytest.raises(BudgetExceeded):
        _made(_promising(spec, written[0], series={"releases": 12}), people, tmp_path)


def test_a_spec_with_neither_uses_the_promise_of_its_account(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    _opened(tmp_path, promise=promise_in(TWELVE_FROM_FIVE))
    bare = {key: value for key, value in spec.items() if key != "budget"}
    made = _made(bare | {"series": {"releases": 4}}, people, tmp_path)
    assert made.spent["epsilon"] == pytest.approx(LIMIT / 4)
    assert "12 % sure" in made.statement.read_text()
    assert "- **Planned**: one of 4 releases, each" in made.statement.read_text()


def test_a_spec_with_neither_needs_an_account_with_a_promise(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    bare = {key: value for key, value in spec.items() if key != "budget"}
    with pytest.raises(SpecError, match="makes no promise"):
        _made(bare, people, tmp_path)


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    "promise", [{"ratio": 3, "p": 1, "q": 0.5, "sided": "one"}, {"difference": 1}]
)
def test_a_promise_that_bounds_nothing_is_refused_in_a_sentence(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path, promise: dict[str, Any], opened: bool
) -> None:
    if opened:
        _opened(tmp_path, cap=PureDP(1.0))
    with pytest.raises((SpecError, ToleranceError), match="limits nothing") as refused:
        _made(_promising(spec, promise), people, tmp_path)
    assert refused.value.exit_code == 2


def test_twelve_typed_for_twelve_percent_is_told(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    with pytest.raises(ToleranceError, match=r"12 % is 0\.12"):
        _preview(_promising(spec, TWELVE_FROM_FIVE | {"posterior": 12}), people, tmp_path)


@pytest.mark.parametrize(("key", "value"), [("unit", "person"), ("adjacency", "replace")])
def test_whom_it_protects_is_said_under_protect_alone(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path, key: str, value: str
) -> None:
    with pytest.raises(SpecError, match="under protect"):
        _preview(_promising(spec, TWELVE_FROM_FIVE | {key: value}), people, tmp_path)


def test_a_confidence_is_paid_for_as_the_account_adds_it_up_best(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    """Before the account was open, a confidence needed a delta, with which noise is wider."""
    sure = {"ratio": 3, "confidence": 0.99}

    def found(promise: dict[str, Any], **more: Any) -> tuple[float, str]:
        seen = _preview(_promising(spec, promise, **more), people, tmp_path)
        filters = [word for note in seen.notes for word in note.split("--filter ")[1:]]
        return seen.plan.accuracy()[0]["half_width"], filters[0].split()[0]

    year = {"series": {"releases": 12}}
    (every, first), (with_delta, _) = (
        found({"ratio": 3}, **year),
        found(sure | {"delta": 1e-6}, **year),
    )
    (half, rule), (drawn, same) = found(sure, **year), found(sure, mechanism="gaussian", **year)
    assert (first, rule, same) == ("pure", "zcdp", "zcdp")
    assert half == drawn < 0.7 * min(every, with_delta)
    # One count alone is better off with all of the pure budget.
    assert found(sure) == found({"ratio": 3})
    # What is wanted fits under one of the two budgets.
    wanted = [spec["statistics"][0] | {"within": {"error": 1.2 * half, "confidence": 0.95}}]
    assert found(sure, statistics=wanted, **year)[1] == "zcdp"
    with pytest.raises(BudgetExceeded):
        found({"ratio": 3}, statistics=wanted, **year)


def test_a_dry_run_says_how_much_of_the_promise_it_takes(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    found = _preview(_promising(spec, TWELVE_FROM_FIVE), people, tmp_path)  # not open yet
    (row,) = found.to_dict()["promises"]
    assert row["id"] is None
    assert row["share_used"] == pytest.approx(1.0)
    assert row["fits_again"] == 0
    assert any("series" in note for note in found.notes)
    assert "--posterior 0.12 --p 0.05 --about membership" in found.notes[-1]
    ledger = account()
    monthly = _promising(spec, TWELVE_FROM_FIVE, series={"releases": 12})
    (row,) = _preview(monthly, people, tmp_path).to_dict()["promises"]
    assert (row["id"], row["fits_again"]) == (None, 11)
    _made(monthly, people, tmp_path)
    (row,) = _preview(monthly, people, tmp_path).to_dict()["promises"]
    assert row["id"] == ledger.promises("people")[0].registered.id
    assert row["share_used"] == pytest.approx(2 / 12)
    assert row["fits_again"] == 10


def test_what_fits_again_counts_the_cap_of_the_account(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    sure = TWELVE_FROM_FIVE | {"confidence": 0.99, "delta": 1e-6}
    monthly = _promising(spec, sure, series={"releases": 12})
    (row,) = _preview(monthly, people, tmp_path).to_dict()["promises"]
    assert row["fits_again"] == 11  # not open yet: the cap follows from the promise
    account(cap=PureDP(0.5))
    third = _promising(spec, TWELVE_FROM_FIVE, series={"releases": 3})
    found = _preview(third, people, tmp_path)
    (row,) = found.to_dict()["promises"]
    assert (row["kept"], row["fits_again"]) == (True, 0)
    alone = spec | {"budget": {"epsilon": 0.3}}
    _made(third, people, tmp_path)
    found = _preview(alone | {"budget": {"epsilon": 0.1}}, people, tmp_path)
    assert any("0 more like it would fit" in note for note in found.notes)
    told = "No other release like this one fits: the cap, or another promise, leaves ε = 0.08266"
    assert any(note.startswith(told) for note in found.notes)


@pytest.mark.parametrize(
    ("promise", "protect"),
    [
        ({"all": [TWELVE_FROM_FIVE, {"posterior": 0.12, "q": 0.05, "about": "value"}]}, {}),
        ({"groups": {"others": {"ratio": 2}, "staff": {"ratio": 3}}}, {}),
        ({"table": "table.csv", "box": [0.1, 0.5, 1, 1]}, {}),
        ({"ratio": 3, "sampled": {"units": 5, "of": 100, "source": "the plan"}}, {}),
        ({"all": [{"ratio": 3, "q": 0.1}, {"ratio": 2}]}, {"adjacency": "replace"}),
        ({"ratio": 3, "box": [0, 0.5, 0, 1]}, {"name": "one patient"}),
        ({"posterior": 0.12, "prior": 0.05}, {}),
    ],
    ids=lambda one: next(iter(one), "person"),
)
def test_the_command_that_opens_an_account_makes_the_promise_of_the_spec(
    spec: dict[str, Any],
    promise: dict[str, Any],
    protect: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever other promise lies in the folder."""
    monkeypatch.chdir(tmp_path)
    Path("promise.yaml").write_text("ratio: 7\n")
    Path("table.csv").write_text("p,q,ratio\n0.1,1,3\n0.5,1,1.5\n")
    Path("d.csv").write_text("person,county,cost\n1,north,1\n")
    asked = _promising(spec, promise, source="d.csv")
    asked["protect"] |= protect
    Path("release.yaml").write_text(json.dumps(asked))
    look = release("release.yaml", dry_run=True)
    assert isinstance(look, Preview)
    (row,) = look.to_dict()["promises"]
    command = shlex.split(look.notes[-1].split("discreet ", 1)[1])
    command[command.index("NAME")], command[command.index("WHY")] = "A. Curator", "test"
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert not ended.value.code
    (kept,) = Ledger.open("sqlite:///ledger.db").promises("people")
    assert kept.sentence == row["sentence"]
    asks = load("release.yaml").promised()
    assert asks is not None
    assert kept.registered.id == asks.settled(pure=True).id
    assert "This holds for every possible output" in row["sentence"]


def test_a_promise_that_was_set_beside_its_file_is_not_said_to_be_in_it(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    file = tmp_path / "release.yaml"
    file.write_text(json.dumps(_promising(spec, {"ratio": 3})))
    several = {"all": [{"ratio": 2}, {"difference": 0.1}]}
    look = release(file, data=people, dry_run=True, changes={"tolerance": several})
    assert isinstance(look, Preview)
    assert "--file FILE" in look.notes[-1]
    look = release(_promising(spec, several), data=people, folder=tmp_path, dry_run=True)
    assert isinstance(look, Preview)
    assert "--file FILE" in look.notes[-1]


def test_with_delta_the_whole_box_is_kept(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    """0.1.0 kept q = 1 alone and released at 1.0984, where a threefold ratio allows ½ log 3."""
    account(filter="basic", cap=ApproxDP(5.0, 1e-6))
    made = _made(
        _promising(spec, {"ratio": 3, "delta": 1e-6, "confidence": 0.99}), people, tmp_path
    )
    assert made.spent["epsilon"] <= math.log(3) / 2
    assert made.spent["epsilon"] > 0.99 * math.log(3) / 2
    stored = json.loads((made.statement.parent / "release.json").read_text())
    for row in stored["learned"]["rows"]:
        assert row["value"] <= 3 * row["prior"] * (1 + 1e-9)


def test_a_unit_is_called_by_its_own_name(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    _opened(tmp_path, unit_name="one aircraft", promise=promise_in(TWELVE_FROM_FIVE))
    spec["protect"]["name"] = "one aircraft"
    words = _made(spec | {"budget": {"epsilon": 0.1}}, people, tmp_path).statement.read_text()
    assert "one aircraft is in the data" in words
    assert "person is" not in words
    spec["protect"]["name"] = "one ship"
    with pytest.raises(PolicyError, match="one aircraft"):
        _made(spec | {"budget": {"epsilon": 0.1}}, people, tmp_path)


def test_the_prior_of_the_promise_has_a_row_in_its_place(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    account()
    made = _made(_promising(spec, TWELVE_FROM_FIVE), people, tmp_path)
    rows = [line for line in made.statement.read_text().splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| 5 % | 12 % |")  # between 1 % and 10 %


def test_every_prior_of_several_promises_has_a_row(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    """And what each is about is said of each."""
    account()
    value = {"posterior": 0.2, "q": 0.08, "about": "value"}
    made = _made(_promising(spec, {"all": [TWELVE_FROM_FIVE, value]}), people, tmp_path)
    text = made.statement.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert [row.split()[1] for row in rows[1:7]] == ["1", "5", "8", "10", "30", "50"]
    assert rows[3].startswith("| 8 % | 12.9 % | 20 % |")
    assert "is in the data with the sensitive value" not in text
    assert (
        "about whether one person is in the data, and about a value of one person, known to be in"
        in " ".join(text.split())
    )


def test_a_plain_budget_is_told_in_beliefs_before_it_is_spent(
    spec: dict[str, Any], people: pa.Table, account: Opened, tmp_path: Path
) -> None:
    spec["budget"] = {"epsilon": 1.0}
    # e·0.1/(e·0.1 + 0.9) = 23.2 %, rounded up; first without an account, then on one that is open.
    for _ in range(2):
        notes = _preview(spec, people, tmp_path).notes
        (told,) = (note for note in notes if "No promise is made" in note)
        assert "from 10 % to 24 %" in told
        assert "This holds for every possible output" in told
        if "is not open" in " ".join(notes):
            account()
    promised = _preview(_promising(spec, TWELVE_FROM_FIVE), people, tmp_path)
    assert not any("No promise is made" in note for note in promised.notes)


def test_keys_that_cost_a_delta_are_told_with_it_everywhere(
    spec: dict[str, Any],
    people: pa.Table,
    account: Opened,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    account(filter="basic", cap=ApproxDP(4.0, 1e-5))
    spec |= {"budget": {"epsilon": 1.0}}
    spec["statistics"] = [
        {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}}
    ]
    shown = _preview(spec, people, tmp_path)
    (told,) = (note for note in shown.notes if "No promise is made" in note)
    assert told.endswith(say("statements.learned.confident", unit="one person", level="99 %"))
    made = _made(spec, people, tmp_path)
    assert "does not keep ε for every possible output" in shown.to_dict()["mechanism"]
    text = made.statement.read_text()
    assert "it keeps ε for every possible output" not in text
    header, _, first, second = text[text.index("| statistic |") :].splitlines()[:4]
    place = header.split(" | ").index("δ")
    cells = [row.split(" | ")[place].strip() for row in (first, second)]
    assert sorted(cells) == ["", "1e-06"]
    (tmp_path / "spec.json").write_text(json.dumps(spec | {"source": "people.csv"}))
    (tmp_path / "people.csv").write_text(",".join(people.column_names) + "\n")
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "spec.json")])
    said = capsys.readouterr().out
    prices = [line.split("ε = ")[1] for line in said.splitlines() if "  ε = " in line]
    assert sorted(prices) == ["0.5", "0.5, δ = 1e-06"]


def test_a_spec_takes_what_choose_gave_back(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    choice = choose(**TWELVE_FROM_FIVE)
    for given in (choice, choice.promise, choice.promise.to_dict()):
        for key in ("tolerance", "promise"):
            found = load(_promising(spec, {}) | {"tolerance": None, key: given}, folder=tmp_path)
            assert found.promised() == choice.promise
    shown = release(
        _promising(spec, choice.promise.to_dict()), data=people, folder=tmp_path, dry_run=True
    )
    assert isinstance(shown, Preview)
    assert "--sentence" not in " ".join(shown.notes)


MEMBERS = {"ratio": 6, "about": "membership"}
SURE = MEMBERS | {"confidence": 0.99}
GUESSES = {"ratio": 2, "about": "value", "q": 0.05, "on_average": True}
FOUND = {"keys": {"county": {"discover": {"delta": 1e-5}}}}
TIMES = {"series": {"releases": 3}}


@pytest.mark.parametrize(
    "more",
    [
        {"tolerance": MEMBERS},
        {"tolerance": SURE},
        {"tolerance": SURE | {"delta": 1e-6}},
        {"tolerance": SURE | {"delta": 1e-6}} | TIMES,
        {"tolerance": SURE | {"delta": 1e-6}, "mechanism": "gaussian"},
        {"tolerance": {"ratio": 6, "confidence": 0.99, "delta": 1e-6}},
        {"tolerance": SURE, "mechanism": "gaussian"} | TIMES,
        {"tolerance": GUESSES},
        {"tolerance": GUESSES | {"delta": 1e-6}},
        {"tolerance": {"all": [MEMBERS, {"difference": 0.3}], "confidence": 0.99, "delta": 1e-5}},
        {"tolerance": MEMBERS} | FOUND | TIMES,
        {"tolerance": SURE} | FOUND,
        {"tolerance": SURE, "mechanism": "gaussian"} | FOUND | TIMES,
        {"tolerance": SURE | {"delta": 1e-4}} | FOUND | TIMES,
        {"tolerance": GUESSES} | FOUND,
        {"budget": {"epsilon": 1.0}} | FOUND | TIMES,
        {"budget": {"epsilon": 1.0, "delta": 1e-6}},
        {"budget": {"rho": 0.1}},
        {"budget": {"rho": 0.1}} | FOUND | TIMES,
    ],
    ids=lambda more: json.dumps(more),
)
@pytest.mark.parametrize("how", ["command", "call"])
def test_an_account_that_is_opened_as_the_dry_run_says_takes_the_release(
    how: str, more: dict[str, Any], spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    """With a δ in the promise the command named the filter pure, which never changes."""
    (counted,) = spec["statistics"]
    counts = [counted | {"keys": more.get("keys", counted["keys"])}]
    own = {key: value for key, value in more.items() if key != "keys"}
    asked = {key: value for key, value in spec.items() if key != "budget"} | own
    file = tmp_path / "spec.yaml"
    file.write_text(json.dumps(asked | {"statistics": counts}), encoding="utf-8")
    with pytest.raises(PolicyError) as refused:
        release(file, data=people)
    said = refused.value.on_the_command_line if how == "command" else str(refused.value)
    if how == "command":
        command = said[said.index("discreet ledger open") :].replace("NAME", "a")
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert not ended.value.code, command
    else:
        exec(said[said.index("from discreet.ledger import") :], {})  # noqa: S102
    for _ in range(more.get("series", {}).get("releases", 1)):
        release(file, data=people, confirm=True)


def test_found_keys_under_a_promise_for_every_output_are_refused_before_an_account_is_opened(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    """The dry run priced them; the command that it named was refused."""
    (counted,) = spec["statistics"]
    asked = _promising(spec, MEMBERS | {"every_output": True}, statistics=[counted | FOUND])
    with pytest.raises(SpecError, match=r"every output.*List the keys"):
        _preview(asked, people, tmp_path)


def test_a_delta_on_a_pure_account_asks_for_another_account(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    _opened(tmp_path, promise=SURE)
    with pytest.raises(SpecError, match=r"never changes.*another account"):
        _made(_promising(spec, SURE | {"delta": 1e-6}), people, tmp_path)


@pytest.mark.parametrize("where", ["delta", "promise"])
def test_a_pure_account_is_not_opened_with_a_delta(where: str, tmp_path: Path) -> None:
    """The δ was dropped in silence."""
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    asked: dict[str, Any] = {"promise": SURE, "delta": 1e-6}
    if where == "promise":
        asked = {"promise": SURE | {"delta": 1e-6}}
    who = {"approver": "a", "reason": "r"}
    with pytest.raises(InputError, match="has no δ"):
        ledger.open_account("people", filter="pure", **asked, **who)
    flags = ["--ratio", "6", "--confidence", "0.99", "--delta", "1e-6", "--filter", "pure"]
    words = ["--ledger", ledger.url, "--account", "people", "--approver", "a", "--reason", "r"]
    with pytest.raises(SystemExit) as ended:
        main(["ledger", "open", *words, *flags])
    assert ended.value.code == 2
    opened = ledger.open_account("people", **asked, **who)
    assert opened.filter == "basic"
    assert opened.cap is not None
    assert opened.cap.to_dict()["delta"] == 1e-6


def test_a_choice_with_a_delta_opens_an_account_that_has_it(tmp_path: Path) -> None:
    chosen = choose(SURE, delta=1e-6)
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    cap = ledger.open_account("people", promise=chosen, approver="a", reason="r").cap
    assert cap is not None
    assert cap.to_dict("down")["epsilon"] == pytest.approx(chosen.epsilon, rel=1e-9)


def test_what_remains_is_what_the_cap_and_the_promises_leave(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    """After a grant the whole of it was told to remain, where the promise left nothing."""
    ledger = _opened(tmp_path, promise=TWELVE_FROM_FIVE)
    _made(_promising(spec, TWELVE_FROM_FIVE), people, tmp_path)
    ledger.grant("people", add=PureDP(5.0), approver="a", reason="r")
    found = _preview(spec, people, tmp_path)
    assert found.remaining is not None
    assert found.remaining["epsilon"] < 1e-9
    account = ledger.account("people")
    assert account.to_dict()["remaining"] == found.remaining
    assert ledger.entries("people")[-1].to_dict()["remaining"] == found.remaining
    (promise,) = account.promises
    ledger.withdraw("people", promise, approver="a", reason="r")
    freed = _preview(spec, people, tmp_path).remaining
    assert freed is not None
    assert freed["epsilon"] == pytest.approx(5.0)

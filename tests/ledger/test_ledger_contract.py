"""What every ledger does, whatever database it lies in: the suite is given a URL, no more."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet.errors import BrokenPromise, BudgetExceeded, InputError, PolicyError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, Guarantee, PureDP
from discreet.ledger import Amount, Charge, Ledger, OverBudget, Part
from discreet.ledger.plans import LostRelease
from discreet.ledger.store import Rows

SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}
CHARGED = {"purpose": "a table", "who": "ci"}
Opened = Callable[..., Ledger]


# -- accounts


def test_a_ledger_that_is_not_there_says_the_command_that_opens_the_account(ledger: Ledger) -> None:
    for use in (
        lambda: ledger.account("clinic", unit="record", adjacency="replace", filter="zcdp"),
        lambda: ledger.reserve("clinic", PureDP(0.1), **SAID),
        lambda: ledger.charge("clinic", PureDP(0.1), **CHARGED),
        lambda: ledger.show("clinic"),
        lambda: ledger.unfinished("clinic"),
        lambda: ledger.grant("clinic", add=PureDP(1), approver="a", reason="b"),
        lambda: ledger.register_plan("clinic", [PureDP(0.1)], PureDP(0.1), **CHARGED),
    ):
        with pytest.raises(PolicyError, match=r"open_account\('clinic'"):
            use()
    with pytest.raises(PolicyError) as refused:
        ledger.account("clinic", unit="record", adjacency="replace", filter="zcdp")
    flags = "--unit record --adjacency replace --filter zcdp --posterior 0.12 --q 0.05 "
    assert flags in refused.value.on_the_command_line
    assert "--" not in str(refused.value)
    for by_name in (
        lambda: ledger.commit("x", "h"),
        lambda: ledger.next_slot("x"),
        lambda: ledger.plan("x"),
        lambda: ledger.reserve("clinic", PureDP(0.1), plan_id="x", **SAID),
    ):
        with pytest.raises(PolicyError, match=f"There is no ledger at {re.escape(ledger.url)}"):
            by_name()
    with pytest.raises(InputError, match="There is no ledger"):
        ledger.verify()
    assert ledger.accounts() == []
    assert ledger.entries() == []


def test_another_account_of_the_same_ledger_is_not_open_either(opened: Opened) -> None:
    ledger = opened("clinic")
    with pytest.raises(PolicyError, match=r"'other people' is not open") as refused:
        ledger.reserve("other people", PureDP(0.1), **SAID)
    assert "--account 'other people'" in refused.value.on_the_command_line


def test_what_python_says_of_an_account_that_is_not_open_opens_it(opened: Opened) -> None:
    """It named flags of the command line, and a misspelt name was not met with the right one."""
    ledger = opened("clinic-patients")
    for number, more in enumerate(
        (
            {},
            {"adjacency": "replace"},
            {"filter": "basic"},
            {"filter": "basic", "cap": Amount.of(epsilon=0.5)},
            {"filter": "zcdp", "cap": Amount.of(rho=0.5, delta=1e-6), "unit_name": "one aircraft"},
            {"promise": {"ratio": 3.0}},
        )
    ):
        name = str(number) * 6
        with pytest.raises(PolicyError, match="is not open") as refused:
            ledger.account(name, **more)  # type: ignore[arg-type]
        said = str(refused.value)
        assert "--" not in said
        assert "Did you mean" not in said
        call = re.search(
            r"(from discreet\.ledger .*)Ledger\.open\(.*?\)(\.open_account\(.*\))", said
        )
        assert call is not None
        exec(f"{call[1]}ledger{call[2]}", {"ledger": ledger})  # noqa: S102
        assert ledger.account(name).name == name
    for use in (ledger.show, ledger.account):
        with pytest.raises(PolicyError, match=r"Did you mean 'clinic-patients'\?"):
            use("clinic-patient")


def test_the_terms_of_an_account_are_those_it_was_opened_with(opened: Opened, url: str) -> None:
    opened("clinic", unit="partition", adjacency="replace", filter="zcdp", cap=None)
    account = Ledger.open(url).account("clinic")
    assert (account.unit, account.adjacency, account.filter) == ("partition", "replace", "zcdp")
    assert account.cap is None
    assert account.remaining is None


def test_an_account_is_opened_once(opened: Opened) -> None:
    ledger = opened("clinic")
    with pytest.raises(PolicyError, match="already open"):
        opened("clinic", filter="zcdp", cap=ZCDP(1.0))
    assert ledger.account("clinic").filter == "pure"
    assert ledger.verify().entries == 2


@pytest.mark.parametrize(("approver", "reason"), [("", "why"), ("who", ""), (" ", "w"), ("", "")])
def test_opening_and_granting_take_an_approver_and_a_reason(
    opened: Opened, approver: str, reason: str
) -> None:
    with pytest.raises(PolicyError, match="approver and a reason"):
        opened("clinic", approver=approver, reason=reason)
    ledger = opened("clinic")
    with pytest.raises(PolicyError, match="approver and a reason"):
        ledger.grant("clinic", add=PureDP(1.0), approver=approver, reason=reason)
    assert ledger.verify().entries == 2


@pytest.mark.parametrize(
    "terms",
    [
        {"unit": "aircraft"},
        {"unit_name": "two\nlines \a"},
        {"delta": 1e-6},
        {"promise": {"ratio": 3}, "delta": 1e-6},
        {"promise": lambda p, q: 3.0},
        {"promise": {"posterior": 1, "p": 0.05}, "cap": None},
        {"adjacency": "swap"},
        {"filter": "rdp"},
        {"cap": PureDP(math.inf)},
        {"period": "month"},
        {"period": "fortnight", "period_cap": PureDP(0.1)},
        {"period_cap": PureDP(0.1)},
        {"name": ""},
        {"name": " clinic"},
        {"name": "two\nlines"},
        {"name": "x" * 101},
        {"name": "lone \ud800 surrogate"},
        {"reason": "bell \a"},
    ],
)
def test_terms_that_make_no_sense_are_refused(opened: Opened, terms: dict[str, object]) -> None:
    with pytest.raises(InputError):
        opened(**terms)


def test_a_grant_raises_the_cap_and_stands_in_the_chain(opened: Opened) -> None:
    ledger = opened()
    ledger.charge("clinic", PureDP(1.0), **CHARGED)
    account = ledger.grant("clinic", add=PureDP(0.5), approver="B. Board", reason="second year")
    assert account.cap == Amount.of(epsilon=1.5)
    assert ledger.remaining("clinic") == Amount.of(epsilon=0.5)
    entry = ledger.entries("clinic")[-1]
    assert (entry.kind, entry.said["approver"]) == ("grant", "B. Board")
    ledger.charge("clinic", PureDP(0.5), **CHARGED)
    with pytest.raises(OverBudget):
        ledger.charge("clinic", PureDP(1e-9), **CHARGED)


def test_there_is_no_cap_to_raise_where_there_is_none(opened: Opened) -> None:
    ledger = opened(cap=None)
    with pytest.raises(PolicyError, match="no lifetime cap"):
        ledger.grant("clinic", add=PureDP(1.0), approver="a", reason="b")
    with pytest.raises(InputError, match="does not fit the filter"):
        ledger.grant("clinic", add=ZCDP(1.0), approver="a", reason="b")


# -- one release


def test_a_reservation_is_charged_named_and_found_by_another_reader(
    opened: Opened, url: str
) -> None:
    ledger = opened()
    entry = ledger.reserve("clinic", PureDP(0.25), **SAID)
    assert entry.release_id is not None
    assert len(entry.release_id) == 26
    assert set(entry.release_id) <= set(string.ascii_lowercase + string.digits)
    other = Ledger.open(url)
    assert other.spent("clinic") == entry.spent == Amount.of(epsilon=0.25)
    assert other.remaining("clinic") == entry.remaining == Amount.of(epsilon=0.75)
    assert [e.release_id for e in other.unfinished("clinic")] == [entry.release_id]
    assert other.head == entry.hash
    found = other.entries("clinic")[-1]
    for name, said in SAID.items():
        assert found.said[name] == said


def test_a_committed_release_is_finished(opened: Opened) -> None:
    ledger = opened()
    first = ledger.reserve("clinic", PureDP(0.1), **SAID)
    second = ledger.reserve("clinic", PureDP(0.1), **SAID)
    done = ledger.commit(str(first.release_id), "a" * 64)
    assert done.output_hash == "a" * 64
    assert ledger.unfinished("clinic") == [second]
    assert ledger.spent("clinic") == Amount.of(epsilon=0.2)


def test_what_is_unfinished_may_be_looked_for_among_the_latest_entries(opened: Opened) -> None:
    ledger = opened()
    first = ledger.reserve("clinic", PureDP(0.1), **SAID)
    second = ledger.reserve("clinic", PureDP(0.1), **SAID)
    third = ledger.reserve("clinic", PureDP(0.1), **SAID)
    ledger.commit(str(second.release_id), "a" * 64)  # open, three reservations, one output
    found = [ledger.unfinished("clinic", latest=latest) for latest in (1, 2, 3, 4, 5, 99)]
    assert found == [[], [third], [third], [first, third], [first, third], [first, third]]
    for wrong in (0, -1):
        with pytest.raises(InputError, match="1 or more"):
            ledger.unfinished("clinic", latest=wrong)


@pytest.mark.parametrize("name", ["Clinic", "ｃlinic", "CLINIC"])
def test_an_account_that_reads_like_an_open_one_is_refused(opened: Opened, name: str) -> None:
    """A population with two accounts by a slip of the keyboard would have two caps."""
    ledger = opened()
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
    with pytest.raises(PolicyError, match="easily confused with 'clinic', which is open"):
        ledger.open_account(name, **terms, approver="me", reason="a slip")
    assert [account.name for account in ledger.accounts()] == ["clinic"]


def test_what_is_said_to_fit_fits(opened: Opened) -> None:
    """Printed figures of what is left are rounded down: who types them in is not refused again."""
    ledger = opened()
    ledger.charge("clinic", PureDP(0.123456451), **{k: SAID[k] for k in ("purpose", "who")})
    with pytest.raises(OverBudget, match=r"single charge of ε = 0\.876543 would fit"):
        ledger.charge("clinic", PureDP(1.0), **{k: SAID[k] for k in ("purpose", "who")})
    ledger.charge("clinic", PureDP(0.876543), **{k: SAID[k] for k in ("purpose", "who")})


def test_a_slot_taken_without_an_output_is_unfinished(opened: Opened) -> None:
    ledger = opened()
    plan = ledger.register_plan(
        "clinic", [(PureDP(0.1), 3)], PureDP(0.3), purpose="monthly", who="me"
    )
    alone = ledger.reserve("clinic", PureDP(0.1), **SAID)
    lost = ledger.next_slot(plan, "2026-01")
    drawn = ledger.next_slot(plan, "2026-01", retry=True)
    assert (lost.number, drawn.number) == (1, 2)
    begun = ledger.next_slot(plan, "2026-02")
    assert ledger.unfinished("clinic") == [alone, lost.entry, drawn.entry, begun.entry]
    ledger.commit(drawn.release_id, "a" * 64)
    assert ledger.unfinished("clinic") == [alone, lost.entry, begun.entry]
    # The plan, a reservation, three takings, an output: looked at from the newest.
    found = [len(ledger.unfinished("clinic", latest=latest)) for latest in (1, 2, 3, 4, 5)]
    assert found == [0, 1, 1, 2, 3]


def test_a_charge_for_something_without_a_guarantee_is_marked(opened: Opened) -> None:
    ledger = opened()
    ledger.reserve("clinic", PureDP(0.1), guaranteed=False, **SAID)
    ledger.reserve("clinic", PureDP(0.1), **SAID)
    assert [e.guaranteed for e in ledger.entries("clinic")] == [True, False, True]
    assert ledger.entries("clinic")[1].to_dict()["guaranteed"] is False
    assert ledger.verify().verified


def test_an_output_is_stored_once(opened: Opened) -> None:
    ledger = opened()
    name = str(ledger.reserve("clinic", PureDP(0.1), **SAID).release_id)
    done = ledger.commit(name, "a" * 64)
    assert ledger.commit(name, "a" * 64) == done
    with pytest.raises(PolicyError, match="drawn once"):
        ledger.commit(name, "b" * 64)
    assert ledger.head == done.hash


def test_an_output_without_a_reservation_is_refused(opened: Opened) -> None:
    ledger = opened()
    made = ledger.charge("clinic", PureDP(0.1), **CHARGED)
    for name in ("nobody", str(made.release_id)):
        with pytest.raises(PolicyError, match="not reserved"):
            ledger.commit(name, "a" * 64)


def test_a_release_made_elsewhere_is_charged_once_under_its_name(opened: Opened) -> None:
    ledger = opened()
    ledger.charge("clinic", PureDP(0.1), release_id="2026-q1", output_hash="f" * 64, **CHARGED)
    with pytest.raises(PolicyError, match="was charged on"):
        ledger.charge("clinic", PureDP(0.1), release_id="2026-q1", **CHARGED)
    with pytest.raises(InputError, match="release_id"):
        ledger.charge("clinic", PureDP(0.1), release_id="../../etc", **CHARGED)
    assert ledger.unfinished("clinic") == []
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)


def test_a_release_made_elsewhere_is_found_again_by_the_hash_of_its_output(opened: Opened) -> None:
    ledger, output = opened(), {"output_hash": "f" * 64}
    opened("hospital")
    first = ledger.charge("clinic", PureDP(0.1), release_id="q1", **output, **CHARGED)
    assert ledger.charge("clinic", PureDP(0.1), release_id="q1", **output, **CHARGED) == first
    ledger.charge("clinic", PureDP(0.1), release_id="q2", **CHARGED)
    for account, epsilon, release_id, other in (
        ("clinic", 0.1, "q1", {"output_hash": "e" * 64}),  # another draw
        ("clinic", 0.2, "q1", output),
        ("hospital", 0.1, "q1", output),
        ("clinic", 0.1, "q2", {}),  # of two draws nobody could tell
    ):
        with pytest.raises(PolicyError, match="nothing was charged now") as refused:
            ledger.charge(account, PureDP(epsilon), release_id=release_id, **other, **CHARGED)
        assert "--" not in str(refused.value)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.2)
    assert ledger.spent("hospital") == Amount.of(epsilon=0)


def test_over_budget_says_needs_spent_cap_left_and_what_fits(opened: Opened) -> None:
    ledger = opened()
    ledger.reserve("clinic", PureDP(0.7), **SAID)
    head = ledger.head
    with pytest.raises(OverBudget) as caught:
        ledger.reserve("clinic", PureDP(0.4), **SAID)
    error = caught.value
    assert error.exit_code == 3
    assert isinstance(error, BudgetExceeded)
    assert error.needs == Amount.of(epsilon=0.4)
    assert error.spent == Amount.of(epsilon=0.7)
    assert error.cap == Amount.of(epsilon=1.0)
    assert error.left == Amount.of(epsilon=0.3)
    assert error.fits == Charge(PureDP(0.3))
    for words in (
        "needs ε = 0.4",
        "spent ε = 0.7",
        "cap ε = 1;",
        "left ε = 0.3",
        "ε = 0.3 would fit",
    ):
        assert words in str(error)
    assert ledger.head == head
    ledger.reserve("clinic", error.fits, **SAID)
    with pytest.raises(OverBudget, match="nothing of this kind fits"):
        ledger.reserve("clinic", PureDP(1e-300), **SAID)


def test_each_coordinate_has_its_own_cap(opened: Opened) -> None:
    ledger = opened(filter="basic", cap=ApproxDP(1.0, 1e-6))
    ledger.charge("clinic", ApproxDP(0.1, 9e-7), **CHARGED)
    with pytest.raises(OverBudget, match="δ = 2e-07"):
        ledger.charge("clinic", ApproxDP(0.1, 2e-7), **CHARGED)
    ledger.charge("clinic", PureDP(0.9), **CHARGED)
    with pytest.raises(OverBudget):
        ledger.charge("clinic", PureDP(1e-9), **CHARGED)


def test_where_no_delta_is_left_that_is_what_is_said(opened: Opened) -> None:
    """It said that nothing fits and that asking for less does not help."""
    ledger = opened(filter="zcdp", cap=Amount.of(rho=1.0))
    for charge in (ApproxDP(0.1, 1e-6), [ZCDP(0.1), ApproxDP(0.1, 1e-6)]):
        with pytest.raises(OverBudget, match="no δ is left") as refused:
            ledger.charge("clinic", charge, **CHARGED)
        assert "does not help" not in str(refused.value.flags)
    promise = {"difference": 0.2, "confidence": 0.99}
    opened("promised", filter="zcdp", cap=None, promise=promise)
    ledger.charge("promised", ZCDP(0.001), **CHARGED)
    with pytest.raises(BrokenPromise, match="too little δ") as broken:
        ledger.charge("promised", ApproxDP(0.01, 1e-6), **CHARGED)
    assert "series" not in str(broken.value)
    ledger.charge("clinic", PureDP(0.1), **CHARGED)
    with pytest.raises(OverBudget, match="nothing of this kind fits"):
        ledger.charge("clinic", [ZCDP(1.0), PureDP(0.1)], **CHARGED)


def test_a_zcdp_account_takes_every_kind(opened: Opened) -> None:
    ledger = opened(filter="zcdp", cap=Amount.of(rho=1.0, delta=1e-6))
    ledger.charge("clinic", ZCDP(0.1), **CHARGED)
    ledger.charge("clinic", PureDP(0.2), **CHARGED)
    ledger.charge("clinic", Charge(PureDP(0.2), "exponential"), **CHARGED)
    ledger.charge("clinic", ApproxDP(0.2, 1e-7), **CHARGED)
    ledger.charge("clinic", [ZCDP(0.1), ApproxDP(0.2, 1e-7)], **CHARGED)
    assert ledger.spent("clinic") == Amount.of(rho=0.265, delta=2e-7)


def test_without_a_lifetime_cap_spending_is_counted_and_the_absence_said(opened: Opened) -> None:
    ledger = opened(cap=None)
    ledger.charge("clinic", PureDP(1e6), **CHARGED)
    sheet = ledger.show("clinic")
    assert "no lifetime cap" in repr(sheet.account)
    said = sheet.to_dict()
    assert "no lifetime cap" in said["note"]
    assert said["remaining"]["unbounded"] is True
    assert said["cap"]["unbounded"] is True
    assert said["entries"][-1]["remaining"]["unbounded"] is True
    assert said["spent"] == {"epsilon": 1e6, "delta": None, "rho": None}


@pytest.mark.parametrize("guarantee", [ZCDP(0.1), ApproxDP(0.1, 1e-9)])
def test_what_the_filter_cannot_take_is_refused_and_not_written(
    opened: Opened, guarantee: Guarantee
) -> None:
    ledger = opened()
    head = ledger.head
    with pytest.raises(PolicyError, match="cannot take"):
        ledger.reserve("clinic", guarantee, **SAID)
    assert ledger.head == head


def test_another_adjacency_or_unit_is_refused(opened: Opened) -> None:
    ledger = opened()
    with pytest.raises(PolicyError, match="opened with adjacency 'add-remove'"):
        ledger.reserve("clinic", PureDP(0.1, adjacency=Adjacency.REPLACE), **SAID)
    with pytest.raises(PolicyError, match="opened with unit 'person'"):
        ledger.reserve("clinic", PureDP(0.1), unit="record", **SAID)
    ledger.reserve("clinic", PureDP(0.1), unit="person", **SAID)


def test_words_are_needed_and_kept_to_a_line(opened: Opened) -> None:
    ledger = opened()
    for said in ({"purpose": ""}, {"who": " "}, {"spec_hash": ""}, {"purpose": "x" * 1001}):
        with pytest.raises(InputError):
            ledger.reserve("clinic", PureDP(0.1), **(SAID | said))
    with pytest.raises(InputError, match="cannot be printed"):
        ledger.reserve("clinic", PureDP(0.1), **(SAID | {"purpose": "a\x00b"}))
    assert ledger.verify().entries == 2


def test_a_mechanism_is_a_line_of_text_too() -> None:
    for bad in ("", "two\nlines", "lone \ud800", "x" * 101):
        with pytest.raises(InputError, match="mechanism"):
            Charge(PureDP(0.1), bad)
        with pytest.raises(InputError):
            Part(Charge(PureDP(0.1)), 1, bad * 10)


def test_a_ledger_is_found_after_the_process_changed_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("sqlite:///here.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.open_account(
        "a",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=None,
        approver="a",
        reason="b",
    )
    assert (tmp_path / "here.db").exists()
    assert ledger.url == "sqlite:///here.db"


def test_tiny_charges_never_slip_past_the_cap(opened: Opened) -> None:
    """In doubles 1 + 1e-17 is 1, and would be for ever."""
    ledger = opened(cap=Amount.of(epsilon=1.0))
    ledger.charge("clinic", PureDP(1.0), **CHARGED)
    for _ in range(3):
        with pytest.raises(OverBudget):
            ledger.charge("clinic", PureDP(1e-17), **CHARGED)
    ledger.grant("clinic", add=PureDP(2e-17), approver="a", reason="b")
    ledger.charge("clinic", PureDP(1e-17), **CHARGED)
    ledger.charge("clinic", PureDP(1e-17), **CHARGED)
    with pytest.raises(OverBudget):
        ledger.charge("clinic", PureDP(5e-324), **CHARGED)
    assert ledger.spent("clinic").to_dict()["epsilon"] > 1.0


# -- periods and clocks


def test_a_period_limits_pace_and_the_lifetime_cap_is_the_promise(
    opened: Opened, clock: Callable[[], datetime]
) -> None:
    ledger = opened(cap=PureDP(0.5), period="month", period_cap=PureDP(0.2))
    ledger.charge("clinic", PureDP(0.2), **CHARGED)
    with pytest.raises(OverBudget, match="cap of month 2026-01") as caught:
        ledger.charge("clinic", PureDP(0.1), **CHARGED)
    assert caught.value.left == Amount.of(epsilon=0.0)
    clock.now = datetime(2026, 2, 1, tzinfo=UTC)  # type: ignore[attr-defined]
    ledger.charge("clinic", PureDP(0.2), **CHARGED)
    clock.now = datetime(2026, 3, 1, tzinfo=UTC)  # type: ignore[attr-defined]
    with pytest.raises(OverBudget, match="lifetime cap"):
        ledger.charge("clinic", PureDP(0.2), **CHARGED)
    ledger.charge("clinic", PureDP(0.1), **CHARGED)
    assert ledger.verify().verified


@pytest.mark.parametrize(
    ("period", "inside", "outside"),
    [
        ("day", datetime(2026, 1, 15, 23, 59, tzinfo=UTC), datetime(2026, 1, 16, tzinfo=UTC)),
        ("week", datetime(2026, 1, 18, 23, 59, tzinfo=UTC), datetime(2026, 1, 19, tzinfo=UTC)),
        ("quarter", datetime(2026, 3, 31, 23, 59, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)),
        ("year", datetime(2026, 12, 31, 23, 59, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_periods_are_those_of_the_calendar_in_utc(
    opened: Opened, clock: Callable[[], datetime], period: str, inside: datetime, outside: datetime
) -> None:
    ledger = opened(period=period, period_cap=PureDP(0.1))
    ledger.charge("clinic", PureDP(0.1), **CHARGED)
    clock.now = inside  # type: ignore[attr-defined]
    with pytest.raises(OverBudget):
        ledger.charge("clinic", PureDP(0.1), **CHARGED)
    clock.now = outside  # type: ignore[attr-defined]
    ledger.charge("clinic", PureDP(0.1), **CHARGED)


def test_a_clock_set_back_does_not_open_the_month_again(
    opened: Opened, clock: Callable[[], datetime]
) -> None:
    ledger = opened(period="month", period_cap=PureDP(0.2))
    clock.now = datetime(2026, 2, 1, tzinfo=UTC)  # type: ignore[attr-defined]
    entry = ledger.reserve("clinic", PureDP(0.2), **SAID)
    clock.now = datetime(2026, 1, 20, tzinfo=UTC)  # type: ignore[attr-defined]
    with pytest.raises(PolicyError, match="The clock shows 2026-01-20"):
        ledger.charge("clinic", PureDP(0.1), **CHARGED)
    # An output is recorded all the same, at the last entry's time; it spends nothing.
    done = ledger.commit(str(entry.release_id), "a" * 64)
    assert done.at == entry.at
    # A named person may say that it was the earlier clock that was wrong.
    ledger.grant("clinic", add=PureDP(0.0), approver="a", reason="the clock was a month ahead")
    ledger.charge("clinic", PureDP(0.1), **CHARGED)
    assert ledger.verify().verified


def test_clocks_that_differ_by_minutes_do_not_matter(
    opened: Opened, clock: Callable[[], datetime]
) -> None:
    ledger = opened()
    first = ledger.charge("clinic", PureDP(0.1), **CHARGED)
    clock.now -= timedelta(minutes=5)  # type: ignore[attr-defined]
    second = ledger.charge("clinic", PureDP(0.1), **CHARGED)
    assert second.at == first.at
    assert ledger.verify().verified


# -- plans


def test_a_plan_is_charged_in_full_before_its_first_draw(opened: Opened) -> None:
    ledger = opened(filter="basic", cap=ApproxDP(1.0, 1e-5))
    plan_id = ledger.register_plan(
        "clinic",
        [(PureDP(0.1), 12)],
        ApproxDP(0.9, 1e-6),
        method="optimal",
        **CHARGED,
    )
    assert ledger.spent("clinic") == Amount.of(epsilon=0.9, delta=1e-6)
    for number in range(1, 13):
        slot = ledger.next_slot(plan_id)
        assert (slot.number, slot.of, slot.stored) == (number, 12, False)
        assert slot.charge == Charge(PureDP(0.1))
        ledger.commit(slot.release_id, f"{number:064d}")
    assert ledger.spent("clinic") == Amount.of(epsilon=0.9, delta=1e-6)
    with pytest.raises(BudgetExceeded, match="All 12 releases"):
        ledger.next_slot(plan_id)
    assert ledger.unfinished("clinic") == []
    plan = ledger.plan(plan_id)
    assert (plan.slots, len(plan.outputs), plan.method) == (12, 12, "optimal")


def test_a_plan_over_budget_is_not_registered(opened: Opened) -> None:
    ledger = opened()
    head = ledger.head
    with pytest.raises(OverBudget):
        ledger.register_plan("clinic", [(PureDP(0.1), 12)], PureDP(1.2), **CHARGED)
    assert ledger.head == head


def test_a_total_below_one_of_its_parts_is_refused(opened: Opened) -> None:
    ledger = opened()
    with pytest.raises(PolicyError, match="less than one of its releases"):
        ledger.register_plan("clinic", [(PureDP(0.1), 12)], PureDP(0.09), **CHARGED)
    for parts in ([], [(PureDP(0.1), 0)], [(PureDP(0.1), 1.5)]):
        with pytest.raises(InputError):
            ledger.register_plan("clinic", parts, PureDP(0.1), **CHARGED)
    with pytest.raises(InputError, match="times is True"):
        Part(Charge(PureDP(0.1)), True)


def test_a_slot_that_was_taken_is_spent(opened: Opened) -> None:
    ledger = opened()
    plan_id = ledger.register_plan("clinic", [(PureDP(0.1), 2)], PureDP(0.2), **CHARGED)
    first, second = ledger.next_slot(plan_id), ledger.next_slot(plan_id)
    assert (first.number, second.number) == (1, 2)
    with pytest.raises(BudgetExceeded, match="All 2 releases"):
        ledger.next_slot(plan_id)
    ledger.commit(second.release_id, "a" * 64)
    ledger.commit(first.release_id, "b" * 64)
    assert ledger.plan(plan_id).releases == {1: first.release_id, 2: second.release_id}
    assert ledger.verify().verified


def test_a_key_finds_its_stored_release_and_a_lost_one_is_refused(opened: Opened) -> None:
    ledger = opened()
    plan_id = ledger.register_plan("clinic", [(PureDP(0.1), 4)], PureDP(0.4), **CHARGED)
    january = ledger.next_slot(plan_id, "2026-01")
    february = ledger.next_slot(plan_id, "2026-02")
    assert (january.number, february.number) == (1, 2)
    head = ledger.head
    for _ in range(3):
        with pytest.raises(LostRelease, match="retry") as lost:
            ledger.next_slot(plan_id, "2026-01")
        assert "--retry" in lost.value.on_the_command_line
    assert ledger.head == head
    assert ledger.next_slot(plan_id, "2026-01", retry=True).number == 3
    ledger.commit(february.release_id, "f" * 64)
    head = ledger.head
    for retry in (False, True):
        found = ledger.next_slot(plan_id, "2026-02", retry=retry)
        assert found.stored
        assert (found.release_id, found.output_hash) == (february.release_id, "f" * 64)
    assert ledger.head == head
    assert ledger.next_slot(plan_id).number == 4
    with pytest.raises(BudgetExceeded):
        ledger.next_slot(plan_id, "2026-04")


def test_a_reservation_on_a_plan_takes_a_slot_that_covers_it(opened: Opened) -> None:
    ledger = opened()
    opened("school")
    plan_id = ledger.register_plan(
        "clinic", [(PureDP(0.1), 1), (Charge(PureDP(0.2), "geometric"), 1)], PureDP(0.3), **CHARGED
    )
    with pytest.raises(PolicyError, match=r"covers 0\.1-DP"):
        ledger.reserve("clinic", PureDP(0.2), plan_id=plan_id, **SAID)
    with pytest.raises(PolicyError, match="belongs to account 'clinic'"):
        ledger.reserve("school", PureDP(0.1), plan_id=plan_id, **SAID)
    with pytest.raises(PolicyError, match="opened with unit"):
        ledger.reserve("clinic", PureDP(0.1), plan_id=plan_id, unit="record", **SAID)
    entry = ledger.reserve("clinic", PureDP(0.1), plan_id=plan_id, **SAID)
    assert (entry.kind, entry.slot) == ("slot", 1)
    ledger.commit(str(entry.release_id), "a" * 64)
    with pytest.raises(PolicyError, match="by the mechanism 'geometric'"):
        ledger.reserve("clinic", PureDP(0.2), plan_id=plan_id, **SAID)
    geometric = Charge(PureDP(0.2), "geometric")
    assert ledger.reserve("clinic", geometric, plan_id=plan_id, **SAID).slot == 2
    assert ledger.spent("clinic") == Amount.of(epsilon=0.3)


def test_a_plan_of_gaussian_releases_may_be_charged_as_a_point_of_its_curve(
    opened: Opened,
) -> None:
    ledger = opened(filter="basic", cap=ApproxDP(3.0, 1e-5))
    part = (Charge(ZCDP(0.01), "gaussian"), 12)
    plan_id = ledger.register_plan("clinic", [part], ApproxDP(2.0, 1e-6), method="curve", **CHARGED)
    entry = ledger.reserve("clinic", Charge(ZCDP(0.01), "gaussian"), plan_id=plan_id, **SAID)
    assert entry.slot == 1
    with pytest.raises(PolicyError, match=r"covers 0\.01-zCDP"):
        ledger.reserve("clinic", Charge(ZCDP(0.02), "gaussian"), plan_id=plan_id, **SAID)


@pytest.mark.parametrize(
    ("slot", "asked", "covered"),
    [
        (PureDP(0.5), PureDP(0.5), True),
        (PureDP(0.5), [PureDP(0.25), PureDP(0.25)], True),
        (PureDP(0.5), [PureDP(0.25), PureDP(0.26)], False),
        (PureDP(0.5), ZCDP(1e-9), False),
        (PureDP(0.5), ApproxDP(0.1, 1e-9), False),
        (ApproxDP(0.5, 1e-9), PureDP(0.5), True),
        (ApproxDP(0.5, 1e-9), ZCDP(1e-9), False),
        (ZCDP(0.125), PureDP(0.5), True),
        (ZCDP(0.125), PureDP(0.51), False),
        (ZCDP(0.125), Charge(PureDP(1.0), "exponential"), True),
        (ZCDP(0.125), ApproxDP(0.1, 1e-9), False),
    ],
)
def test_a_slot_covers_what_its_own_promise_covers(
    opened: Opened, slot: Guarantee, asked: object, covered: bool
) -> None:
    ledger = opened(filter="zcdp", cap=None)
    plan_id = ledger.register_plan("clinic", [slot], slot, **CHARGED)
    if covered:
        assert ledger.reserve("clinic", asked, plan_id=plan_id, **SAID).slot == 1  # type: ignore[arg-type]
    else:
        with pytest.raises(PolicyError, match="covers"):
            ledger.reserve("clinic", asked, plan_id=plan_id, **SAID)  # type: ignore[arg-type]


def test_an_unregistered_plan_is_refused(opened: Opened) -> None:
    ledger = opened()
    for use in (
        lambda: ledger.next_slot("nobody"),
        lambda: ledger.plan("nobody"),
        lambda: ledger.reserve("clinic", PureDP(0.1), plan_id="nobody", **SAID),
    ):
        with pytest.raises(PolicyError, match="not registered"):
            use()


# -- words and numbers


def test_everything_shown_is_ready_for_json(opened: Opened) -> None:
    import json

    ledger = opened(filter="zcdp", cap=Amount.of(rho=1.0, delta=1e-6))
    ledger.reserve("clinic", [ZCDP(0.1), ApproxDP(0.1, 1e-9)], **SAID)
    sheet = ledger.show("clinic")
    text = json.dumps(sheet.to_dict() | ledger.verify().to_dict(), allow_nan=False)
    assert json.loads(text)["spent"] == {"epsilon": None, "delta": 1e-9, "rho": 0.105}
    for thing in (sheet, ledger, ledger.verify(), sheet.account, *sheet.entries):
        assert "\n" not in repr(thing)
    assert re.fullmatch(r"[0-9a-f]{64}", sheet.head)


def test_an_account_needs_no_more_in_python_than_on_the_command_line(ledger: Ledger) -> None:
    from discreet import choose

    choice = choose(posterior=0.12, p=0.05, about="membership")
    approved = {"approver": "A", "reason": "test"}
    found = ledger.open_account("by promise", promise=choice, **approved)
    assert (found.unit, found.adjacency.value, found.filter.value) == (
        "person",
        "add-remove",
        "pure",
    )
    for name, cap, rule in (
        ("pure cap", PureDP(1.0), "pure"),
        ("basic cap", ApproxDP(1.0, 1e-6), "basic"),
        ("rho cap", ZCDP(0.5), "zcdp"),
    ):
        assert ledger.open_account(name, cap=cap, **approved).filter.value == rule
    with pytest.raises(InputError, match="filter has to be given"):
        ledger.open_account("neither", **approved)
    # What fills a cap is never shown as more than the cap.
    ledger.reserve("by promise", PureDP(found.cap.floats("down")["epsilon"]), **SAID)
    shown = re.findall(r"ε = ([0-9.]+)", repr(ledger.account("by promise")))
    assert float(shown[0]) <= float(shown[1])


def test_a_url_that_is_none_or_a_database_that_is_not_supported_is_refused() -> None:
    for url in ("ledger.db", "", "://", "mysql://host/db", "sqlite://", "sqlite:///:memory:"):
        with pytest.raises(InputError):
            Ledger.open(url)
    with pytest.raises(InputError) as caught:
        Ledger.open("oracle://me:hidden@host/db")
    assert "hidden" not in str(caught.value)


# -- what is looked up at once


def test_what_is_foreseen_is_what_would_be_asked(full: Ledger, opened: Opened) -> None:
    opened("another")
    store, entries = full._store, full.entries()
    releases = {entry.release_id for entry in entries} | {"unknown"}
    heads = [entries[0].hash, entries[-1].hash, "0" * 64]
    for account, release in [
        *((name, "unknown") for name in ("clinic", "another", "nobody")),
        *((None, release) for release in releases if release),
    ]:

        def compare(rows: Rows, account=account, release=release) -> int:  # type: ignore[no-untyped-def]
            rows.foresee(4, account, release)
            assert rows.held(heads) == set(heads[:2])
            known = dict(rows.known)
            for question, answer in known.items():
                rows.known.clear()
                kind, *of = question
                if kind in ("find", "all"):
                    asked = getattr(rows, kind)(**dict(of))
                elif kind == "seq":
                    asked = rows.numbered(of).get(of[0])
                elif kind == "holds":
                    asked = rows.held(of) == set(of)
                else:
                    asked = getattr(rows, kind)(*of)
                assert (asked, question) == (answer, question)
            return len(known)

        assert store.read(compare) >= 8

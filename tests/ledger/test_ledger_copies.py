"""Ledgers copied and moved, and accounts that hold the same person."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from discreet.beliefs import Prior, explain
from discreet.cli import main
from discreet.composition import compose, loss_of, zcdp_epsilon
from discreet.composition.curves import epsilon_prime
from discreet.errors import InputError, PolicyError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.ledger import Amount, Ledger
from discreet.promises import promise_in

WHO = {"approver": "a", "reason": "b"}


def _opened(url: str, name: str = "people", rule: str = "pure", **more: str) -> Ledger:
    book = Ledger.open(url)
    caps = {
        "pure": Amount.of(epsilon=5.0),
        "basic": Amount.of(epsilon=5.0, delta=0.1),
        "zcdp": Amount.of(rho=5.0, delta=0.1),
    }
    asked = {"unit": "person", "adjacency": "add-remove"} | more
    book.open_account(name, **asked, filter=rule, cap=caps[rule], **WHO)
    return book


def _charge(book: Ledger, guarantee: PureDP | ApproxDP | ZCDP, account: str = "people") -> None:
    book.charge(account, guarantee, purpose="p", who="w")


def test_a_backup_is_the_same_chain_and_the_ledger_goes_on(tmp_path: Path, url: str) -> None:
    book = _opened(url)
    _charge(book, PureDP(0.5))
    copy = f"sqlite:///{tmp_path / 'copy.db'}"
    found = book.copy(copy)
    assert found.verified
    assert found.head == book.head == Ledger.open(copy).head
    assert [e.said for e in Ledger.open(copy).entries()] == [e.said for e in book.entries()]
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0
    _charge(book, PureDP(0.5))
    with pytest.raises(PolicyError, match="older copy"):
        _charge(Ledger.open(copy), PureDP(0.5))


def test_a_ledger_that_was_moved_is_charged_at_its_new_place_only(tmp_path: Path, url: str) -> None:
    book = _opened(url)
    new = f"sqlite:///{tmp_path / 'new.db'}"
    assert book.copy(new, move=True).verified
    for refused in (lambda: _charge(book, PureDP(0.5)), lambda: book.show("people"), book.verify):
        with pytest.raises(PolicyError, match="was moved"):
            refused()
    _charge(Ledger.open(new), PureDP(0.5))
    assert Ledger.open(new).spent("people") == Amount.of(epsilon=0.5)


def test_nothing_is_copied_over_something_or_from_nothing(tmp_path: Path) -> None:
    book = _opened(f"sqlite:///{tmp_path / 'ledger.db'}")
    (tmp_path / "there.db").write_bytes(b"something")
    with pytest.raises(InputError, match="already"):
        book.copy(f"sqlite:///{tmp_path / 'there.db'}", move=True)
    assert (tmp_path / "there.db").read_bytes() == b"something"
    with pytest.raises(InputError):
        Ledger.open(f"sqlite:///{tmp_path / 'none.db'}").copy(f"sqlite:///{tmp_path / 'x.db'}")
    assert book.verify().verified


def test_an_altered_ledger_is_not_copied(tmp_path: Path) -> None:
    book = _opened(f"sqlite:///{tmp_path / 'ledger.db'}")
    _charge(book, PureDP(0.5))
    with sqlite3.connect(tmp_path / "ledger.db") as raw:
        for (name,) in raw.execute("select name from sqlite_master where type = 'trigger'"):
            raw.execute(f'drop trigger "{name}"')
        raw.execute("update discreet_entries set body = replace(body, '0.5', '0.4') where seq = 2")
    raw.close()
    with pytest.raises(PolicyError, match="not copied"):
        book.copy(f"sqlite:///{tmp_path / 'copy.db'}", move=True)
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize(
    ("charges", "total"),
    [
        ({"pure": [PureDP(0.5)], "pure-2": [PureDP(0.25)]}, PureDP(0.75)),
        ({"pure": [PureDP(0.5)], "basic": [ApproxDP(0.25, 0.01)]}, ApproxDP(0.75, 0.01)),
        ({"zcdp": [ZCDP(0.5)], "zcdp-2": [ZCDP(0.25)]}, ZCDP(0.75)),
    ],
)
def test_the_losses_of_accounts_add_up_under_the_widest_filter(
    tmp_path: Path, charges: dict[str, list[PureDP | ApproxDP | ZCDP]], total: object
) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    for name, all_of in charges.items():
        book = _opened(url, name, name.split("-")[0])
        for one in all_of:
            _charge(book, one, name)
    found, accounts = book.together([*charges, *charges])
    assert found == total
    assert [one.name for one in accounts] == list(charges)


def test_epsilon_and_rho_of_accounts_add_up_to_the_better_of_both_sums(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    _charge(_opened(url, "a", "pure"), PureDP(1.13), "a")
    book = _opened(url, "b", "zcdp")
    _charge(book, ZCDP(0.02), "b")
    curve, _ = book.together(["a", "b"])
    summed = 1.13 + zcdp_epsilon(0.02, 1e-6)
    assert compose([curve], delta=1e-6).epsilon == pytest.approx(summed, rel=1e-9)
    with pytest.raises(SystemExit):
        main(["compose", "--ledger", url, "--accounts", "a", "b", "--delta", "1e-6", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["method"], told["epsilon"]) == ("basic", pytest.approx(summed, rel=1e-12))
    assert told["others"]["curve"] == zcdp_epsilon(0.02 + 1.13**2 / 2, 1e-6)
    assert book.together(["b"])[0] == ZCDP(0.02)


def test_beside_rho_each_account_adds_half_the_square_of_its_own_epsilon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was half the square of their sum, which is larger; without ρ they are that sum still."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    for name, epsilon in (("a", 0.5), ("b", 0.75)):
        book = _opened(url, name, "pure")
        _charge(book, PureDP(epsilon / 2), name)
        _charge(book, PureDP(epsilon / 2), name)
    book = _opened(url, "c", "zcdp")
    _charge(book, ZCDP(0.125), "c")
    total = 0.5**2 / 2 + 0.75**2 / 2 + 0.125

    def told(*words: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main(["compose", "--ledger", url, "--accounts", "a", "b", "c", *words])
        assert ended.value.code in (0, None)
        out = capsys.readouterr().out
        return dict(json.loads(out)) if "--json" in words else {"said": out}

    assert f"{total:g}-zCDP" in told()["said"]
    found = told("--delta", "1e-6", "--json")
    best = min(
        inside + zcdp_epsilon(0.125 + rest, 1e-6)
        for inside, rest in ((0, total - 0.125), (0.75, 0.125), (1.25, 0))
    )
    assert best <= found["epsilon"] <= best * (1 + 1e-12)
    curve, _ = book.together(["a", "b", "c"])
    assert compose([curve], delta=1e-6).epsilon == pytest.approx(best, rel=1e-9)
    # No account is more than an ε that was chosen as one went: no composition of realised ones.
    assert book.together(["a", "b"])[0] == PureDP(1.25)


def test_compose_says_what_may_be_believed_after_the_sum_and_whether_promises_cover_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It printed a sum in ρ alone, from which `explain` concludes far more than from its parts."""
    urls = [f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db")]
    sure = promise_in({"posterior": 0.25, "prior": 0.1, "about": "membership"})
    often = promise_in({"posterior": 0.4, "prior": 0.05, "about": "membership", "confidence": 0.99})
    for url, rule, promise in zip(urls, ("pure", "zcdp"), (sure, often), strict=True):
        asked = {"unit": "person", "adjacency": "add-remove", "filter": rule, "promise": promise}
        Ledger.open(url).open_account("people", **asked, **WHO)
    _charge(Ledger.open(urls[0]), PureDP(1.0))
    _charge(Ledger.open(urls[1]), ZCDP(0.1))

    def told(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["compose", *words])
        assert ended.value.code in (0, None)
        return capsys.readouterr().out

    both = [word for url in urls for word in ("--ledger", url)]
    both += ["--accounts", *(f"people@{url}" for url in urls)]
    found = json.loads(told(*both, "--json"))
    loss = loss_of(PureDP(1.0), ZCDP(0.1))
    assert found["beliefs"]["holds_with"] == 0.99
    for row in found["beliefs"]["at"]:
        for name, prior in (
            ("membership", Prior(row["prior"])),
            ("value", Prior(1.0, row["prior"])),
        ):
            assert row[name] == explain(loss, prior).posterior.upper
            assert row[name] < explain(ZCDP(0.6), prior).posterior.upper
    kept = [one["kept_by_sum"] for account in found["accounts"] for one in account["promises"]]
    assert kept == [False, True]  # for every output, and with the confidence
    said = told(*both)
    assert [said.count(words) for words in ("goes BEYOND it", "stays within it")] == [1, 1]
    assert "Nobody promised the sum" in said
    assert "ε = 1\n" in said
    assert "δ = 0, ρ = 0.1\n" in said
    assert all(line in said for line in ("38.34 %", "confidence of 99 %", *found["assumptions"]))
    alone = ["--ledger", urls[0], "--accounts", "people"]
    assert "for every output" in told(*alone)
    assert "goes BEYOND it" not in told(*alone)
    assert "goes BEYOND it" in told(*alone, "--add", "epsilon=0.5")
    assert "with a confidence of 99 %" in told(*alone, "--add", "mechanism=gaussian,sigma=8")
    assert "with a confidence of 99.9 %" in told("--rho", "0.1", "--confidence", "0.999")
    assert "believed" not in told("--rho", "0.1")


@pytest.mark.parametrize("rho", [0.01, 0.1, 1.07308, 4.0])
@pytest.mark.parametrize("sided", ["one", "two"])
def test_no_point_of_its_curve_bounds_a_pure_rho_better_than_its_own_tail(
    rho: float, sided: str
) -> None:
    """What `explain` has of a ρ is the least over δ already, and no smaller one is valid there."""
    own = explain(ZCDP(rho), 0.05, sided=sided).epsilon_prime
    assert own is not None
    along = (
        epsilon_prime(zcdp_epsilon(rho, delta), delta, 0.01, sided)
        for delta in (0.01 * (k / 4000) for k in range(1, 4000))
    )
    assert own <= min(along) <= own + 1e-6


def test_approximate_losses_in_rho_carry_their_delta(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    _charge(_opened(url, "a", "basic"), ApproxDP(1.0, 0.01), "a")
    book = _opened(url, "b", "zcdp")
    _charge(book, ZCDP(0.25), "b")
    curve, _ = book.together(["a", "b"])
    # 0.01-approximate 0.75-zCDP: never below the conversion of ρ alone, and never below 0.01.
    assert curve.delta_at(30.0) == pytest.approx(0.01, rel=1e-6)  # type: ignore[attr-defined]
    assert curve.delta_at(1.0) > 0.01 + math.exp(-30)  # type: ignore[attr-defined]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_accounts_of_two_ledgers_add_up(
    tmp_path: Path, adjacency: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two agencies, each with a ledger of its own; and one that is known by its report alone."""
    urls = [f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db")]
    one, two = (_opened(url, "people", adjacency=adjacency) for url in urls)
    other = _opened(urls[1], "visitors", adjacency=adjacency)
    for book, epsilon in ((one, 0.5), (two, 0.25)):
        book.charge("people", PureDP(epsilon, adjacency=adjacency), purpose="x", who="y")
    other.charge("visitors", PureDP(0.125, adjacency=adjacency), purpose="x", who="y")
    with pytest.raises(InputError, match="Several of the ledgers have an account") as several:
        one.together(["people"], two)
    assert all(f"people@{url}" in str(several.value.next) for url in urls)
    both = [f"people@{url}" for url in urls]
    total, accounts = one.together([*both, "visitors", both[0]], two)
    assert total == PureDP(0.875, adjacency=adjacency)
    assert [account.name for account in accounts] == ["people", "people", "visitors"]
    copy = f"sqlite:///{tmp_path / 'copy.db'}"
    one.copy(copy)
    with pytest.raises(InputError, match="copies of one"):
        one.together(["people"], Ledger.open(copy))
    ledgers = [word for url in urls for word in ("--ledger", url)]
    with pytest.raises(SystemExit) as ended:
        main(["compose", *ledgers, "--accounts", *both, "--add", "epsilon=0.125", "--json"])
    assert ended.value.code in (0, None)
    assert json.loads(capsys.readouterr().out)["epsilon"] == pytest.approx(0.875)


def test_a_flag_that_takes_one_value_is_given_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last one would win, and nobody would be told of the other."""
    urls = [f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db")]
    for url in urls:
        _opened(url, "people")
    for words in (
        ["ledger", "show", "--ledger", urls[0], "--ledger", urls[1]],
        ["ledger", "verify", f"--ledger={urls[0]}", f"--ledger={urls[1]}"],
        ["choose", "--ratio", "3", "--ratio", "9"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert "given twice" in capsys.readouterr().err


def test_accounts_of_different_units_are_not_added_up(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    _opened(url, "a")
    book = _opened(url, "b", unit="record")
    with pytest.raises(InputError, match="different units"):
        book.together(["a", "b"])


def test_an_account_that_is_not_there_is_not_opened_to_be_added_up(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    _opened(url, "customers")
    book = _opened(url, "employees")
    with pytest.raises(InputError, match="no account 'nosuch'") as none:
        book.together(["customers", "nosuch"])
    assert str(none.value.next).startswith("Its accounts are: 'customers', 'employees'. ")
    assert "repeat --ledger" in str(none.value.flags)
    assert "--add" in str(none.value.flags)
    with pytest.raises(InputError, match="The nearest is 'customers'"):
        book.together(["customer"])

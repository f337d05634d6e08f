"""Promises of an account: the cap follows from them, and nothing charged ever passes one."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ledger_cli import APPROVED, Discreet
from test_ledger_verification import rewrite, rows_of

from discreet.beliefs.bounds import ratio_bounds, two_steps
from discreet.beliefs.prior import Prior
from discreet.budgets.keeping import holds, kept, rectangle
from discreet.budgets.limits import limits_of
from discreet.composition import loss_of
from discreet.errors import InputError, PolicyError, ToleranceError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, PureDP
from discreet.ledger import Amount, BrokenPromise, Charge, Foreseen, Ledger, OverBudget
from discreet.ledger.entries import canonical, digest
from discreet.ledger.promises import Registered, reached
from discreet.ledger.store import Row
from discreet.ledger.verification import recomputed
from discreet.promises import Formula, Posterior, Promise, Ratio, Surety, priors, promise_in
from discreet.promises.keys import promise_from
from discreet.promises.promise import name_of
from discreet.rounding import number as figures
from soaking import examples

SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}
CHARGED = {"purpose": "a table", "who": "ci"}
TWELVE: dict[str, Any] = {"posterior": 0.12, "p": 0.05, "q": 1}
"""Nobody at 5 % may become more than 12 % sure: ε = 0.952."""
Opened = Callable[..., Ledger]


@pytest.fixture
def discreet(url: str) -> Discreet:
    return Discreet(url)


def lead(ledger: Ledger, name: str = "clinic") -> float:
    cap = ledger.account(name).cap
    assert cap is not None
    return float(cap.lead)


# -- the cap that follows


def largest(works: Callable[[Any], bool], high: float = 4.0) -> mpmath.mpf:
    """The largest x that works, by bisection in forty digits."""
    low, top = mpmath.mpf(0), mpmath.mpf(high)
    assert works(low + mpmath.mpf("1e-12"))
    assert not works(top)
    for _ in range(120):
        middle = (low + top) / 2
        low, top = (middle, top) if works(middle) else (low, middle)
    return low


def odds(p: str) -> mpmath.mpf:
    return mpmath.log(mpmath.mpf(p) / (1 - mpmath.mpf(p)))


def near(found: float, true: mpmath.mpf, within: float = 1e-12) -> bool:
    """Never above the truth, and not far below."""
    return bool(true * (1 - within) <= mpmath.mpf(found) <= true)


@mpmath.workdps(40)
def test_a_pure_account_gets_the_cap_that_the_promise_leaves(opened: Opened) -> None:
    ledger = opened(cap=None, promise=TWELVE)
    assert near(lead(ledger), odds("0.12") - odds("0.05"))
    opened("both", cap=None, promise=Ratio(3))
    assert near(lead(ledger, "both"), mpmath.log(3) / 2)
    assert ledger.account("both").cap == ledger.account("both").promises[Promise(Ratio(3)).settled(
        pure=True
    ).id]  # fmt: skip


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-4])
@mpmath.workdps(40)
def test_a_basic_account_gets_the_epsilon_that_its_delta_leaves(
    opened: Opened, delta: float
) -> None:
    """Membership by KSZ's Theorem 3.9, inverted; both priors by how often either loss is passed."""
    ledger = opened(filter="basic", cap=None, promise=TWELVE, delta=delta)
    eta, d, most = mpmath.mpf("0.01"), mpmath.mpf(delta), odds("0.12") - odds("0.05")
    true = mpmath.log(((eta - d) * mpmath.exp(most) - d) / eta)
    assert near(lead(ledger), true)
    assert ledger.account("clinic").cap == Amount.of(epsilon=lead(ledger), delta=delta)

    opened("both", filter="basic", cap=None, promise=Ratio(3), delta=delta)
    A, B = mpmath.log(3) / 2, mpmath.log(3)

    def failing(e: Any) -> Any:
        if 2 * e >= B:
            return mpmath.inf
        z, top = mpmath.exp(e), mpmath.exp(A)
        rise = d / (1 - mpmath.exp(e - A))
        fall = d * (top * (1 + z) - z) / (top - z)
        return rise + fall + 2 * d * (1 + z) / (1 - mpmath.exp(2 * e - B))

    found = lead(ledger, "both")
    assert near(found, largest(lambda e: failing(e) <= eta, 0.6))
    # And the beliefs themselves, whatever the prior, with shares of the failure of their own.
    one = (found, delta)
    for p, q in itertools.product([1e-6, 0.01, 0.3, 0.9, 1.0], repeat=2):
        low, high = ratio_bounds(Prior(p, q), one, two_steps(one), 0.01)
        assert high <= 3 * (1 + 1e-9)
        assert low >= (1 - 1e-9) / 3


@mpmath.workdps(40)
def test_a_zcdp_account_gets_the_rho_that_is_proved(opened: Opened) -> None:
    """One-sided: P(L > x) ≤ exp(−(x−ρ)²/4ρ) for one step, with 4ρ for two."""
    eta, most = mpmath.mpf("0.01"), odds("0.12") - odds("0.05")
    one_sided = TWELVE | {"sided": "one", "confidence": 0.99}
    ledger = opened(filter="zcdp", cap=None, promise=one_sided)

    def tail(x: Any, rho: Any) -> Any:
        return mpmath.exp(-((x - rho) ** 2) / (4 * rho)) if x > rho else mpmath.mpf(1)

    assert near(lead(ledger), largest(lambda r: tail(most, r) <= eta, 1.0), 1e-9)
    opened("both", filter="zcdp", cap=None, promise=Promise(Ratio(3), sided="one"))
    A, B = mpmath.log(3) / 2, mpmath.log(3)
    true = largest(lambda r: tail(A, r) + tail(B, 4 * r) <= eta, 0.2)
    assert near(lead(ledger, "both"), true, 1e-9)
    # No Gaussian release may pass it more often, and a δ leaves less.
    rho = lead(ledger)
    assert mpmath.erfc((most - rho) / mpmath.sqrt(4 * rho)) / 2 < eta
    opened("lost", filter="zcdp", cap=None, promise=one_sided, delta=1e-4)
    assert lead(ledger, "lost") < rho
    assert ledger.account("lost").cap == Amount.of(rho=lead(ledger, "lost"), delta=1e-4)


@mpmath.workdps(40)
def test_a_zcdp_account_with_a_delta_is_read_by_its_curve(opened: Opened) -> None:
    """The tight conversion of ρ, with δ on top, at every point of a fine grid."""
    eta, most, lost = mpmath.mpf("0.01"), odds("0.12") - odds("0.05"), mpmath.mpf("1e-4")
    keys = TWELVE | {"confidence": 0.99, "sided": "one"}
    ledger = opened(filter="zcdp", cap=None, promise=keys, delta=1e-4)

    def delta(rho: Any, epsilon: Any) -> Any:
        best = min(
            mpmath.exp(t * ((1 + t) * rho - epsilon) - t * mpmath.log1p(1 / t) - mpmath.log1p(t))
            for t in (mpmath.mpf(n) / 8 for n in range(20, 160))
        )
        return lost + (1 - lost) * best

    def works(rho: Any) -> bool:
        grid = (most * n / 200 for n in range(100, 200))
        return any(delta(rho, e) <= eta * (1 - mpmath.exp(e - most)) for e in grid)

    rho = lead(ledger)
    assert works(mpmath.mpf(rho) * (1 - mpmath.mpf("1e-3")))
    assert not works(mpmath.mpf(rho) * (1 + mpmath.mpf("1e-6")))


@mpmath.workdps(40)
def test_on_average_a_guess_is_right_no_more_often(opened: Opened) -> None:
    guess = {"posterior": 0.12, "q": 0.05, "about": "value", "on_average": True}
    ledger = opened(cap=None, promise=guess)
    assert near(lead(ledger), mpmath.log(mpmath.mpf("0.12") / mpmath.mpf("0.05")))
    # Of ρ: the largest that some order of Rényi's divergence forbids for the bit "guessed right".
    opened("rho", filter="zcdp", cap=None, promise=guess)
    t, k = mpmath.mpf("0.12"), mpmath.mpf("0.05")

    def forbids(b: Any) -> Any:
        both = t**b * k ** (1 - b) + (1 - t) ** b * (1 - k) ** (1 - b)
        return mpmath.log(both) / (b * (b - 1))

    orders = [mpmath.mpf(n) / 100 for n in (*range(101, 4000), *range(-4000, 0))]
    best = max(orders, key=forbids)
    fine = [best + mpmath.mpf(n) / 100_000 for n in range(-1000, 1001)]
    assert near(lead(ledger, "rho"), max(map(forbids, fine)) * (1 + mpmath.mpf("1e-9")), 1e-6)
    for name, limit in (("clinic", PureDP(lead(ledger))), ("rho", ZCDP(lead(ledger, "rho")))):
        ledger.charge(name, limit, **CHARGED)
        with pytest.raises(BrokenPromise):
            ledger.charge(name, type(limit)(1e-9), **CHARGED)


@given(
    ratio=st.floats(1.05, 20),
    confidence=st.floats(0.5, 0.9999),
    sided=st.sampled_from(["one", "two"]),
    about=st.sampled_from(["membership", "value", "both"]),
    delta=st.floats(1e-12, 1e-5),
    related=st.integers(1, 3),
)
@settings(derandomize=True, deadline=None, max_examples=examples(60))
def test_a_limit_holds_and_nothing_larger_does(
    ratio: float, confidence: float, sided: str, about: str, delta: float, related: int
) -> None:
    keys = {"ratio": ratio, "confidence": confidence, "sided": sided, "about": about}
    promise = promise_in(keys | {"related": related})
    for rule, d in (("basic", delta), ("zcdp", 0.0), ("zcdp", delta)):
        try:
            found = rectangle(promise, rule, d)
        except ToleranceError:
            assert not holds(promise, rule, 1e-9, d)
            continue
        most = found["epsilon" if rule == "basic" else "rho"]
        assert holds(promise, rule, most, d)
        assert holds(promise, rule, most / 2, d)
        assert not holds(promise, rule, most * (1 + 1e-9), d)


def test_of_a_cap_and_a_promise_the_smaller_counts_and_both_are_shown(discreet: Discreet) -> None:
    flags = ("--posterior", 0.12, "--prior", 0.05, *APPROVED)
    low = discreet.json("open", "--account", "low", "--epsilon", 0.5, *flags)
    assert low["cap"]["epsilon"] == 0.5
    assert low["promises"][0]["limit"]["epsilon"] == pytest.approx(0.952, abs=1e-4)
    high = discreet.json("open", "--account", "high", "--epsilon", 2, *flags)
    assert high["cap"]["epsilon"] == high["promises"][0]["limit"]["epsilon"]
    assert high["cap_given"]["epsilon"] == 2
    code, words = discreet("open", "--account", "said", "--epsilon", 2, *flags)
    assert code == 0
    assert "cap given is ε = 2" in words
    assert "0.952008" in words
    rho = discreet.json("open", "--account", "rho", "--rho", 0.01, "--delta", 1e-9, *flags)
    assert rho["cap"] == {"epsilon": None, "delta": 1e-9, "rho": 0.01}
    both = discreet.json(
        "open", "--account", "both", "--epsilon", 5, "--delta", 1e-6, "--ratio", 3, *APPROVED
    )
    assert (both["filter"], both["cap"]["delta"]) == ("basic", 1e-6)
    assert both["cap"]["epsilon"] < math.log(3) / 2


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("--filter", "zcdp", "--ratio", "3", "--every-output"), 4, "adds up ρ"),
        (
            ("--filter", "basic", "--delta", "1e-6", "--ratio", "3", "--every-output"),
            2,
            "every output",
        ),
        (("--filter", "basic", "--ratio", "3"), 2, "the δ that may be spent"),
        (("--filter", "basic", "--ratio", "3", "--delta", "0.5"), 2, "No budget keeps"),
        (("--posterior", "1", "--prior", "0.05"), 2, "limits nothing"),
        (("--no-cap", "--filter", "pure", "--ratio", "3"), 2, "that it has no cap"),
        (("--ratio", "3", "--adjacency", "replace", "--prior", "0.05"), 2, "does not protect"),
        (("--ratio", "3", "--unit", "family"), 2, "unit is"),
    ],
)
def test_promises_that_an_account_cannot_make(
    discreet: Discreet, flags: tuple[str, ...], code: int, words: str
) -> None:
    got, said = discreet("open", "--account", "a", *flags, *APPROVED)
    assert got == code, said
    assert words in said
    assert len(said.strip().splitlines()) == 1


def test_a_python_function_binds_no_account(opened: Opened) -> None:
    ledger = opened()
    with pytest.raises(InputError, match="Python function"):
        ledger.reserve("clinic", PureDP(0.1), promise=_function(), **SAID)
    with pytest.raises(InputError, match="Python function"):
        opened("other", cap=None, promise=lambda p, q: 3.0)
    assert [e.kind for e in ledger.entries()] == ["begin", "open"]


def _function() -> Promise:
    from discreet.promises import promised

    return promised(lambda p, q: 3.0)


def test_a_promise_of_another_adjacency_is_refused(opened: Opened) -> None:
    ledger = opened()
    replaced = Promise(Ratio(3), adjacency=Adjacency.REPLACE)
    with pytest.raises(PolicyError, match="same adjacency"):
        ledger.reserve("clinic", PureDP(0.1), promise=replaced, **SAID)
    with pytest.raises(PolicyError, match="same adjacency"):
        opened("other", promise=replaced)


@pytest.mark.parametrize(
    "promise",
    [
        {"ratio": 3},
        {"posterior": 0.12, "q": 0.05},
        {"posterior": 0.12, "q": 0.05, "on_average": True, "answers": 20},
        {"table": [[1, 0, math.inf], [1, 0.5, 3], [1, 1, 3]], "box": [1, 1, 0, 1]},
        {"groups": {"men": {"ratio": 3}, "women": {"ratio": 2}}},
    ],
)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_every_promise_is_read_back_as_it_was(
    opened: Opened, url: str, adjacency: str, promise: dict[str, Any]
) -> None:
    keys = dict(promise)
    if adjacency == "add-remove" and "on_average" in keys:
        keys["about"] = "value"
    ledger = opened(adjacency=adjacency, cap=None, promise=keys, unit_name="one aircraft")
    (standing,) = Ledger.open(url).promises("clinic")
    asked = promise_in(keys | {"adjacency": adjacency}).settled(pure=True)
    found = standing.registered.promise(ledger.account("clinic"))
    assert (found.tolerance, found.surety, found.id) == (asked.tolerance, asked.surety, asked.id)
    assert standing.registered.id == asked.id
    assert "one aircraft" in standing.sentence
    assert ledger.verify().verified
    json.dumps(ledger.show("clinic").to_dict(), allow_nan=False)
    json.dumps([made.to_dict() for made in ledger.made_promises("clinic")], allow_nan=False)


def test_a_formula_that_would_be_refused_if_it_were_typed_now_is_kept(opened: Opened) -> None:
    """An account is bound by what it promised when a comma between digits was two numbers."""
    ledger = opened(cap=None, promise=Promise(Formula("max(3,2/p)")))
    (standing,) = ledger.promises("clinic")
    assert "max(3,2/p)" in standing.sentence
    ledger.charge("clinic", PureDP(0.1), purpose="test", who="me")
    assert ledger.verify().verified


# -- nothing charged passes it


def every_way(ledger: Ledger, epsilon: float) -> dict[str, Callable[[], object]]:
    charge = PureDP(epsilon)
    return {
        "reserve": lambda: ledger.reserve("clinic", charge, **SAID),
        "charge": lambda: ledger.charge("clinic", charge, **CHARGED),
        "plan": lambda: ledger.register_plan("clinic", [charge], charge, **CHARGED),
        "check": lambda: ledger.check("clinic", charge),
    }


@pytest.mark.parametrize("granted", [False, True])
def test_every_way_of_charging_refuses_what_would_break_a_promise(
    opened: Opened, granted: bool, url: str
) -> None:
    ledger = opened(cap=None, promise=TWELVE)
    if granted:
        ledger.grant("clinic", add=PureDP(5.0), approver="B", reason="by mistake")
    ledger.reserve("clinic", PureDP(0.5), **SAID)
    head, (promise,) = ledger.head, ledger.promises("clinic")
    for use in every_way(ledger, 0.46).values():
        with pytest.raises(BrokenPromise) as caught:
            use()
        assert (caught.value.exit_code, caught.value.code) == (3, "promise")
        assert "discreet ledger" not in str(caught.value)
        words = caught.value.on_the_command_line
        for said in (
            promise.registered.id,
            promise.sentence,
            "spent ε = 0.5",
            "this needs ε = 0.46",
            f"left under it: ε = {figures(promise.left, 'down', 6)}",
            f"a single charge of ε = {figures(promise.left, 'down', 6)} would fit",
            "discreet ledger withdraw",
        ):
            assert said in words
    assert ledger.head == head
    cli = Discreet(url)
    code, words = cli("charge", "--account", "clinic", "--epsilon", 0.46)
    assert (code, promise.registered.id in words) == (3, True)
    assert cli("plan", "--account", "clinic", "--epsilon", 0.23, "--releases", 2)[0] == 3
    # What is said to fit fits, exactly once.
    ledger.charge("clinic", PureDP(promise.left), **CHARGED)
    with pytest.raises(BrokenPromise, match="nothing of this kind fits"):
        ledger.charge("clinic", PureDP(1e-300), **CHARGED)
    assert ledger.verify().verified


def test_a_promise_that_comes_with_a_release_binds_from_then_on(opened: Opened) -> None:
    ledger = opened(cap=PureDP(10.0))
    twelve = promise_in(TWELVE)
    foreseen = ledger.check("clinic", PureDP(0.4), promise=twelve)
    assert isinstance(foreseen, Foreseen)
    (one,) = foreseen.promises
    assert one.to_dict()["id"] is None
    assert (one.kept, one.fits_again) == (True, 1)
    assert one.share_used == pytest.approx(0.4 / 0.952, abs=1e-3)
    assert [e.kind for e in ledger.entries("clinic")] == ["open"]

    ledger.reserve("clinic", PureDP(0.4), promise=twelve, **SAID)
    ledger.reserve("clinic", PureDP(0.4), promise=twelve, **SAID)
    kinds = [e.kind for e in ledger.entries("clinic")]
    assert kinds == ["open", "promise", "reserve", "reserve"]
    with pytest.raises(BrokenPromise):
        ledger.charge("clinic", PureDP(0.4), **CHARGED)
    # A promise that everything charged has passed already is not made.
    head = ledger.head
    with pytest.raises(BrokenPromise, match=r"cannot be made"):
        ledger.reserve("clinic", PureDP(0.01), promise=Promise(Ratio(1.5)), **SAID)
    assert ledger.head == head
    assert ledger.verify().verified


def test_a_plan_and_its_slots_make_promises_too(opened: Opened) -> None:
    ledger = opened(cap=PureDP(10.0))
    parts, total = [(PureDP(0.1), 3)], PureDP(0.3)
    with pytest.raises(BrokenPromise):
        ledger.register_plan("clinic", parts, total, promise=Promise(Ratio(1.5)), **CHARGED)
    plan_id = ledger.register_plan("clinic", parts, total, promise=promise_in(TWELVE), **CHARGED)
    asked = {"account": "clinic", "charge": PureDP(0.1)}
    for taken in (
        lambda: ledger.next_slot(plan_id, promise=Promise(Ratio(1.5)), **asked),
        lambda: ledger.reserve(
            "clinic", PureDP(0.1), plan_id=plan_id, promise=Promise(Ratio(1.5)), **SAID
        ),
        lambda: ledger.check("clinic", PureDP(0.1), plan_id=plan_id, promise=Promise(Ratio(1.5))),
    ):
        with pytest.raises(BrokenPromise, match=r"already beyond|cannot be made"):
            taken()
    slot = ledger.next_slot(plan_id, promise=Promise(Ratio(2)), **asked)
    ledger.commit(slot.release_id, "a" * 64)
    assert len(ledger.promises("clinic")) == 2
    foreseen = ledger.check("clinic", PureDP(0.1), plan_id=plan_id, promise=Promise(Ratio(2)))
    assert [one.kept for one in foreseen.promises] == [True, True]
    # The rest of ½ log 2 is left, of either kind.
    with pytest.raises(BrokenPromise):
        ledger.charge("clinic", PureDP(0.05), **CHARGED)
    assert ledger.verify().verified


def test_a_plan_charged_by_its_curve_is_refused_in_words_too(opened: Opened) -> None:
    """Its slots are of ρ, which has no cost on a basic account."""
    ledger = opened(filter="basic", cap=ApproxDP(3.0, 1e-5))
    part = (Charge(ZCDP(0.01), "gaussian"), 12)
    plan_id = ledger.register_plan("clinic", [part], ApproxDP(2.0, 1e-6), **CHARGED)
    with pytest.raises(BrokenPromise, match=r"already beyond|cannot be made"):
        ledger.reserve("clinic", part[0], plan_id=plan_id, promise=Promise(Ratio(3)), **SAID)


def test_equal_promises_written_differently_are_one(opened: Opened) -> None:
    ledger = opened(cap=PureDP(10.0))
    for keys in (
        {"posterior": 0.12, "p": 0.05, "about": "membership"},
        {"q": 1, "p": 0.05, "posterior": 0.12},
        {"posterior": 0.12, "box": [0.05, 0.05, 1, 1]},
        {"posterior": 0.12, "p": 0.05, "values_known": True, "every_output": True},
        {"posterior": 0.12, "p": 0.05, "q": 1.0, "sided": "two", "unit_name": "one patient"},
    ):
        ledger.reserve("clinic", PureDP(0.01), promise=promise_in(keys), **SAID)
    assert [e.kind for e in ledger.entries("clinic")].count("promise") == 1
    opened("twice", cap=None, promise=[TWELVE, Posterior(0.12, priors(p=0.05, q=1))])
    assert len(ledger.promises("twice")) == 1


def test_two_promises_both_bind_and_what_fits_fits_both(opened: Opened) -> None:
    ledger = opened(cap=PureDP(10.0))
    ledger.reserve("clinic", PureDP(0.1), promise=promise_in(TWELVE), **SAID)
    ledger.reserve("clinic", PureDP(0.1), promise=Promise(Ratio(2)), **SAID)
    tighter = min(ledger.promises("clinic"), key=lambda one: one.left)
    with pytest.raises(BrokenPromise, match=tighter.registered.id):
        ledger.charge("clinic", PureDP(0.2), **CHARGED)
    fits = re.escape(figures(tighter.left, "down", 6))
    with pytest.raises(BrokenPromise, match=f"a single charge of ε = {fits} would fit"):
        ledger.charge("clinic", PureDP(5.0), **CHARGED)
    account = ledger.withdraw("clinic", tighter.registered.id, approver="B", reason="a mistake")
    assert len(account.promises) == 1
    ledger.charge("clinic", PureDP(0.5), **CHARGED)
    with pytest.raises(BrokenPromise):
        ledger.charge("clinic", PureDP(0.5), **CHARGED)


def test_a_cap_below_the_promise_still_refuses_as_a_cap(opened: Opened) -> None:
    ledger = opened(cap=PureDP(0.3), promise=TWELVE)
    with pytest.raises(OverBudget):
        ledger.charge("clinic", PureDP(0.4), **CHARGED)
    with pytest.raises(BrokenPromise, match=r"a single charge of ε = 0\.3 would fit"):
        ledger.charge("clinic", PureDP(1.0), **CHARGED)


def test_a_period_opens_a_cap_again_and_no_promise(opened: Opened, clock: Any) -> None:
    from datetime import timedelta

    ledger = opened(cap=None, promise=TWELVE, period="month", period_cap=PureDP(0.5))
    for _ in range(2):
        ledger.charge("clinic", PureDP(0.4), **CHARGED)
        with pytest.raises(OverBudget):
            ledger.charge("clinic", PureDP(0.12), **CHARGED)
        clock.now += timedelta(days=31)
    with pytest.raises(BrokenPromise):
        ledger.charge("clinic", PureDP(0.4), **CHARGED)


def test_a_promise_without_delta_takes_none_on_a_basic_account(opened: Opened) -> None:
    ledger = opened(filter="basic", cap=ApproxDP(3.0, 1e-5))
    every = promise_in(TWELVE | {"every_output": True})
    ledger.reserve("clinic", PureDP(0.1), promise=every, **SAID)
    with pytest.raises(BrokenPromise):
        ledger.charge("clinic", ApproxDP(0.1, 1e-12), **CHARGED)
    ledger.charge("clinic", PureDP(0.1), **CHARGED)


def test_an_every_output_promise_is_none_of_a_zcdp_account(opened: Opened) -> None:
    ledger = opened(filter="zcdp", cap=ZCDP(1.0))
    with pytest.raises(PolicyError, match="adds up ρ") as caught:
        ledger.reserve(
            "clinic", ZCDP(0.001), promise=promise_in(TWELVE | {"every_output": True}), **SAID
        )
    assert caught.value.exit_code == 4
    assert [e.kind for e in ledger.entries("clinic")] == ["open"]


# -- withdrawals and grants


def test_a_promise_ends_by_a_withdrawal_with_approver_and_reason(discreet: Discreet) -> None:
    at = ("--account", "clinic")
    opening = discreet.json("open", *at, "--posterior", 0.12, "--prior", 0.05, *APPROVED)
    (promise,) = opening["promises"]
    discreet.json("grant", *at, "--epsilon", 5, *APPROVED)
    of = ("withdraw", *at, "--promise", promise["id"])
    for some in ((), ("--approver", "A"), ("--reason", "B")):
        code, words = discreet(*of, *some)
        assert (code, "approver and a reason" in words) == (4, True)
    code, words = discreet("withdraw", *at, "--promise", "0" * 16, *APPROVED)
    assert (code, "has no promise" in words) == (2, True)
    assert discreet("charge", *at, "--epsilon", 1)[0] == 3
    found = discreet.json(*of, *APPROVED)
    assert found["promises"] == []
    assert found["entries"][0]["promise_id"] == promise["id"]
    assert discreet("charge", *at, "--epsilon", 1)[0] == 0
    assert discreet(*of, *APPROVED)[0] == 2
    assert discreet("withdraw", "--account", "other", "--promise", "x", *APPROVED)[0] == 4
    assert discreet.json("verify")["verified"] is True


def test_what_became_of_every_promise_can_be_told(opened: Opened, clock: Any) -> None:
    ledger = opened(cap=None, promise=[TWELVE, Ratio(2)])
    first, second = ledger.made_promises("clinic")
    ledger.grant("clinic", add=PureDP(5.0), approver="B", reason="more")
    ledger.charge("clinic", PureDP(0.3), **CHARGED)
    ledger.withdraw("clinic", second.registered.id, approver="C", reason="a mistake")
    ledger.charge("clinic", PureDP(0.5), **CHARGED)
    kept, gone = ledger.made_promises("clinic")
    assert kept.registered == first.registered
    assert (kept.kept, kept.withdrawn) == (True, None)
    assert gone.withdrawn is not None
    assert (gone.withdrawn["approver"], gone.withdrawn["reason"]) == ("C", "a mistake")
    assert gone.kept  # when it ended
    assert (kept.exceeded, gone.exceeded) == (None, True)  # by what is charged now
    # Made again, it binds again, and by what is spent by now it cannot be.
    with pytest.raises(BrokenPromise, match=r"already beyond|cannot be made"):
        ledger.reserve("clinic", PureDP(0.01), promise=Promise(Ratio(2)), **SAID)
    assert ledger.verify().verified


def test_show_keeps_the_limit_of_a_withdrawn_promise_and_says_what_is_beyond_it(
    discreet: Discreet,
) -> None:
    at = ("--account", "clinic")
    opening = discreet.json("open", *at, "--posterior", 0.12, "--prior", 0.05, *APPROVED)
    (promise,) = opening["promises"]
    discreet.json("withdraw", *at, "--promise", promise["id"], *APPROVED)
    assert "it allowed ε = 0.952008" in discreet("show", *at)[1]
    assert "What is out now" not in discreet("show", *at)[1]
    discreet.json("grant", *at, "--epsilon", 5, *APPROVED)
    discreet.json("charge", *at, "--epsilon", 1)
    beyond = "What is out now goes beyond what it allowed (ε = 1 of ε = 0.952008)."
    assert beyond in discreet("show", *at)[1]
    shown = discreet.json("show", *at), discreet.json("show")["accounts"][0]
    for said in shown:
        (one,) = said["withdrawn"]
        assert (one["id"], one["exceeded"]) == (promise["id"], True)


def test_a_grant_of_delta_that_a_promise_cannot_stand_is_refused(discreet: Discreet) -> None:
    at = ("--account", "a")
    discreet.json("open", *at, "--filter", "basic", "--delta", 1e-6, "--ratio", 3, *APPROVED)
    for more in (1e-6, 1e-3, 0.5, 0.9999999):
        code, words = discreet("grant", *at, "--delta", more, *APPROVED)
        assert (code, "would no longer hold" in words) == (4, True)
    # ε may be granted: the promise still binds.
    code, words = discreet("grant", *at, "--epsilon", 1, *APPROVED)
    assert (code, "still bind" in words) == (0, True)
    code, words = discreet("charge", *at, "--epsilon", 1)
    assert (code, "would break a promise" in words) == (3, True)
    (promise,) = discreet.json("show", *at)["promises"]
    discreet.json("withdraw", *at, "--promise", promise["id"], *APPROVED)
    found = discreet.json("grant", *at, "--delta", 1e-6, *APPROVED)
    assert found["cap"]["delta"] == 2e-6


@pytest.mark.parametrize("rule", ["basic", "zcdp"])
def test_a_limit_follows_the_cap_where_the_promise_stands_it(opened: Opened, rule: str) -> None:
    """A δ of 1e-30 more costs less than the last digit of ε."""
    ledger = opened(filter=rule, cap=None, promise=TWELVE | {"confidence": 0.9}, delta=1e-30)
    before = ledger.account("clinic")
    ((name, limit),) = before.promises.items()
    more = Amount.of(delta=1e-30)
    after = ledger.grant("clinic", add=more, approver="B", reason="more")
    assert after.cap is not None
    assert after.cap.delta == Decimal("2E-30") == after.promises[name].delta
    assert after.promises[name].lead == limit.lead
    assert ledger.account("clinic") == after
    assert ledger.verify().verified
    assert ledger.made_promises("clinic")[0].registered.limit == after.promises[name]
    ledger.charge("clinic", ApproxDP(1e-3, 2e-30), **CHARGED)
    with pytest.raises(BrokenPromise):
        ledger.charge("clinic", ApproxDP(0.0, 1e-30), **CHARGED)


def test_a_promise_for_every_output_minds_no_grant_of_delta(opened: Opened) -> None:
    ledger = opened(filter="basic", cap=ApproxDP(3.0, 1e-5))
    every = promise_in(TWELVE | {"every_output": True})
    ledger.reserve("clinic", PureDP(0.1), promise=every, **SAID)
    before = ledger.account("clinic").promises
    ledger.grant("clinic", add=Amount.of(delta=1e-5), approver="B", reason="more")
    assert ledger.account("clinic").promises == before
    assert ledger.verify().verified


# -- what is shown


def test_show_says_where_the_account_stands(discreet: Discreet) -> None:
    at = ("--account", "clinic")
    opening = discreet.json(
        "open", *at, "--posterior", 0.12, "--prior", 0.05, "--unit", "household", "--unit-name",
        "one household of up to 4", *APPROVED,
    )  # fmt: skip
    assert opening["unit_name"] == "one household of up to 4"
    assert discreet("charge", *at, "--epsilon", 0.3)[0] == 4  # a person is another unit
    discreet.json("charge", *at, "--epsilon", 0.3, "--unit", "household")
    (found,) = discreet.json("show", *at)["promises"]
    assert set(found) >= {"id", "sentence", "kept", "left", "limit", "share_used", "fits_again"}
    assert found["kept"] is True
    assert "one household of up to 4" in found["sentence"]
    assert found["left"] == pytest.approx(0.652, abs=1e-4)
    assert found["left"] + 0.3 <= found["limit"]["epsilon"]
    assert found["fits_again"] == 2
    prior, most = found["reached"]
    assert (prior, most) == (0.05, pytest.approx(0.0663, abs=1e-4))
    code, words = discreet("show", *at)
    assert code == 0
    for said in (found["id"], found["sentence"], "2 more like the last release", "32 % used"):
        assert said in words
    (listed,) = discreet.json("show")["accounts"]
    assert listed["promises"][0]["id"] == found["id"]
    assert found["sentence"] in discreet("show")[1]


def test_what_fits_again_counts_the_cap_and_is_told_in_figures_that_agree(
    discreet: Discreet,
) -> None:
    """The last of four shares was said to fit where the cap left less, and where it seemed not."""
    at = ("--account", "clinic")
    discreet.json("open", *at, "--posterior", 0.12, "--prior", 0.05, "--epsilon", 0.9, *APPROVED)
    limit = discreet.json("show", *at)["promises"][0]["limit"]["epsilon"]
    each = math.floor(limit / 4 * 1e12) / 1e12
    for _ in range(3):
        discreet.json("charge", *at, "--epsilon", each)
    (one,) = discreet.json("show", *at)["promises"]
    assert one["left"] >= each
    assert one["fits_again"] == 0
    ledger = Ledger.open(discreet.url)
    assert [row.fits_again for row in ledger.promises("clinic")] == [0]
    room = f"of which the cap leaves ε = {math.floor((0.9 - 3 * each) * 1e6) / 1e6:g}"
    assert f"{room}: 0 more like the last release" in discreet("show", *at)[1]
    discreet.json("grant", *at, "--epsilon", 1, *APPROVED)
    words = discreet("show", *at)[1]
    assert "of which" not in words
    left = re.search(r"left ε = ([\d.]+): 1 more like the last release", words)
    costs = re.findall(r"charge +ε = ([\d.]+)", words)
    assert left is not None
    assert len(costs) == 3
    assert all(each <= float(cost) <= float(left[1]) for cost in costs)
    (whole,) = re.findall(r"^  left +ε = ([\d.]+)$", words, re.MULTILINE)
    assert float(whole) >= float(costs[0])


def test_what_fits_again_counts_every_promise(discreet: Discreet) -> None:
    at = ("--account", "clinic")
    discreet.json("open", *at, "--posterior", 0.12, "--prior", 0.05, *APPROVED)
    stricter = promise_in(TWELVE | {"posterior": 0.08})
    Ledger.open(discreet.url).reserve("clinic", PureDP(0.3), promise=stricter, **SAID)
    found = discreet.json("show", *at)["promises"]
    assert [one["fits_again"] for one in found] == [0, 0]
    assert ", of which another promise leaves ε = " in discreet("show", *at)[1]


def test_show_says_who_approved_and_who_charged_and_the_cap_at_the_opening(
    discreet: Discreet,
) -> None:
    at = ("--account", "clinic")
    discreet.json("open", *at, "--filter", "pure", "--epsilon", 1, *APPROVED)
    discreet.json("charge", *at, "--epsilon", 0.25, "--who", "ci")
    discreet.json("grant", *at, "--epsilon", 0.5, "--approver", "B. Board", "--reason", "more")
    rows = [re.split(" {2,}", line.strip()) for line in discreet("show", *at)[1].splitlines()]
    told = {cells[2]: cells for cells in rows if len(cells) > 2}
    assert told["open"][3:5] == ["cap ε = 1", f"{APPROVED[1]} (approved)"]
    assert "ci (charged)" in told["charge"]
    assert "B. Board (approved)" in told["grant"]
    discreet.json("open", "--account", "free", "--filter", "pure", "--no-cap", *APPROVED)
    assert " no cap " in discreet("show", "--account", "free")[1]


def test_promises_with_confidences_are_said_not_to_hold_jointly(discreet: Discreet) -> None:
    flags = ("--filter", "zcdp", "--ratio", 3, "--confidence", 0.99)
    discreet.json("open", "--account", "a", *flags, *APPROVED)
    ledger = Ledger.open(discreet.url)
    other = Promise(Ratio(4), Surety("confidence", 0.999))
    ledger.reserve("a", ZCDP(1e-4), promise=other, **SAID)
    assert "do not all hold at once" in discreet("show", "--account", "a")[1]


# -- the spender who steers


@pytest.mark.parametrize("T", [0.55, 0.952, 2.0])
def test_a_realised_total_may_be_steered_and_a_rectangle_not(T: float, tmp_path: Any) -> None:
    """Two releases: the second is chosen by what the first gave, and every check passes.

    The first is (0, δ₁) with a rare output; after it comes pure ε up to the limit, after any other
    output δ up to the limit. Every output is enumerated, under both laws.
    """
    eta, tiny = 0.01, 1e-7
    p = 0.05
    posterior = 1 / (1 + math.exp(-(math.log(p / (1 - p)) + T)))
    keys = {"posterior": posterior, "p": p, "q": 1, "confidence": 1 - eta, "sided": "one"}
    promise = promise_in(keys)
    limits = limits_of(promise)
    assert limits.one is not None
    most = limits.one

    def realised(epsilon: float, delta: float) -> bool:
        total = ApproxDP(epsilon, delta)
        return kept(promise, limits, loss_of(total)).kept

    # What each step may spend if the realised total is what is checked.
    E = most + math.log1p(-tiny / eta) - 1e-9
    D = eta * -math.expm1(-most) * (1 - 1e-9) - tiny
    assert realised(0.0, tiny)
    assert realised(E, tiny)
    assert realised(0.0, tiny + D)

    # First release: the rare output has a loss that just makes up for what E lacks.
    l1 = most - E + 1e-9
    x = tiny / -math.expm1(-l1)
    first = {"rare": (x, x * math.exp(-l1)), "else": (1 - x, 1 - x * math.exp(-l1))}
    l0 = math.log(first["else"][0] / first["else"][1])
    # After "else": an output whose loss, with that of "else", is just above the limit.
    l2 = most - l0 + 1e-9
    y = D / -math.expm1(-l2)
    share = 1 / (1 + math.exp(-E))
    second = {
        "rare": [(share, 1 - share), (1 - share, share)],
        "else": [(y, y * math.exp(-l2)), (1 - y, 1 - y * math.exp(-l2))],
    }
    # Each step is what it is charged as.
    assert variation(list(first.values())) <= tiny * (1 + 1e-6)
    assert variation(second["else"]) <= D * (1 + 1e-6)
    assert max(abs(math.log(a / b)) for a, b in second["rare"]) <= E * (1 + 1e-12)
    passed = math.fsum(
        a * b
        for name, (a, c) in first.items()
        for b, d in second[name]
        if math.log(a * b) - math.log(c * d) > most
    )
    assert 0.0162 <= passed <= 0.0188

    # An account has one rectangle, made at its cap on δ: whatever that is, one step is refused.
    for number, cap in enumerate((1e-6, 0.3 * D, 0.999 * D)):
        ledger = Ledger.open(f"sqlite:///{tmp_path}/{number}.db")
        ledger.open_account(
            "clinic", unit="person", adjacency="add-remove", filter="basic", promise=promise,
            delta=cap, approver="a", reason="b",
        )  # fmt: skip
        ledger.grant("clinic", add=PureDP(100.0), approver="a", reason="the cap is not what binds")
        ledger.charge("clinic", ApproxDP(0.0, tiny), **CHARGED)
        steps = (PureDP(E), ApproxDP(0.0, D))
        assert any(refuses(ledger, step) for step in steps)


def refuses(ledger: Ledger, step: PureDP | ApproxDP) -> bool:
    try:
        ledger.check("clinic", step)
    except BrokenPromise:
        return True
    return False


def variation(law: list[tuple[float, float]]) -> float:
    return math.fsum(abs(a - b) for a, b in law) / 2


# -- the chain


@pytest.fixture
def promising(opened: Opened) -> Ledger:
    """A ledger with promises that are kept, widened and withdrawn."""
    ledger = opened(filter="basic", cap=None, promise=TWELVE | {"confidence": 0.9}, delta=1e-30)
    ledger.grant("clinic", add=Amount.of(epsilon=5.0), approver="B", reason="more")
    ledger.charge("clinic", PureDP(0.5), **CHARGED)
    ledger.reserve("clinic", PureDP(0.01), promise=Promise(Ratio(4)), **SAID)
    name = list(ledger.account("clinic").promises)[-1]
    ledger.grant("clinic", add=Amount.of(delta=1e-30), approver="B", reason="more")
    ledger.withdraw("clinic", name, approver="C", reason="a mistake")
    ledger.charge("clinic", PureDP(0.25), **CHARGED)
    return ledger


def place(rows: list[Row], kind: str, nth: int = 0) -> int:
    return [n for n, row in enumerate(rows) if row.repeated["kind"] == kind][nth]


@pytest.mark.parametrize(
    ("kind", "nth", "change", "words"),
    [
        ("promise", 0, lambda s: s["promise"]["limit"].update(epsilon="5"), "leave the account"),
        ("promise", 0, lambda s: s["promise"].update(id="0" * 16), "does not follow"),
        ("promise", 0, lambda s: s["promise"]["keys"].update(posterior=0.5), "does not follow"),
        ("promise", 0, lambda s: s["promise"]["keys"].update(table="/etc/passwd"), "not follow"),
        ("promise", 0, lambda s: s["standing"].pop("promises"), "leave the account"),
        ("promise", 1, lambda s: s.update(promise=None), "does not follow"),
        ("withdraw", 0, lambda s: s.update(promise_id="0" * 16), "does not follow"),
        ("withdraw", 0, lambda s: s.update(promise_id=7), "does not follow"),
        ("grant", 1, lambda s: s["add"].update(delta="1"), "leave the account"),
        ("charge", 1, lambda s: s["standing"].pop("promises"), "leave the account"),
    ],
)
def test_a_promise_that_was_tampered_with_is_found(
    promising: Ledger, kind: str, nth: int, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    rows = rows_of(promising)
    assert recomputed(rows).verified
    found = recomputed(rewrite(rows, place(rows, kind, nth), change))
    assert any(words in problem for problem in found.problems), found.problems


def renumbered(rows: list[Row]) -> list[Row]:
    """The chain with its numbers and hashes written anew, as someone careful would."""
    out, before = [], "0" * 64
    own: dict[str, tuple[int, str]] = {}
    for seq, row in enumerate(rows, 1):
        said = json.loads(row.body) | {"seq": seq, "previous": before}
        if "account" in said:
            number, last = own.get(said["account"], (0, "0" * 64))
            said |= {"account_seq": number + 1, "account_previous": last}
            own[said["account"]] = (number + 1, digest(canonical(said)))
        body = canonical(said)
        before = digest(body)
        out.append(Row(seq, row.repeated, body, before))
    return out


def test_a_promise_removed_or_registered_twice_is_found(promising: Ledger) -> None:
    rows = rows_of(promising)
    assert recomputed(renumbered(rows)).verified
    at = place(rows, "promise")
    found = recomputed(renumbered(rows[:at] + rows[at + 1 :]))
    assert any("leave the account" in problem for problem in found.problems)
    found = recomputed(renumbered(rows[: at + 1] + rows[at:]))
    assert found.problems == (f"entry {at + 2}: registers a promise a second time",)
    out = place(rows, "withdraw")
    found = recomputed(renumbered(rows[: out + 1] + rows[out:]))
    assert any("does not follow" in problem for problem in found.problems)


def test_a_charge_beyond_a_promise_is_found(opened: Opened) -> None:
    """Someone lowers the limit everywhere, consistently: then the charges break it."""
    ledger = opened(cap=PureDP(10.0))
    ledger.reserve("clinic", PureDP(0.5), promise=promise_in(TWELVE), **SAID)
    old = next(iter(ledger.account("clinic").promises.values())).stored()["epsilon"]
    lower = [Row(r.seq, r.repeated, r.body.replace(old, "0.4"), r.hash) for r in rows_of(ledger)]
    (problem,) = recomputed(renumbered(lower)).problems
    assert "breaks a promise of the account" in problem


def test_a_slot_beyond_a_promise_is_found(opened: Opened) -> None:
    ledger = opened(cap=PureDP(10.0))
    plan_id = ledger.register_plan("clinic", [(PureDP(0.1), 3)], PureDP(0.3), **CHARGED)
    asked = {"account": "clinic", "charge": PureDP(0.1)}
    ledger.next_slot(plan_id, promise=Promise(Ratio(2)), **asked)
    rows = rows_of(ledger)
    old = next(iter(ledger.account("clinic").promises.values())).stored()["epsilon"]
    lower = [Row(r.seq, r.repeated, r.body.replace(old, "0.2"), r.hash) for r in rows]
    (problem,) = recomputed(renumbered(lower)).problems
    assert "is taken beyond a promise" in problem


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_whatever_is_put_into_a_promise_the_fold_goes_on(promising: Ledger) -> None:
    rows = rows_of(promising)
    at = place(rows, "promise")
    deep: Any = {"ratio": 3}
    for _ in range(250):
        deep = {"all": [deep]}
    for value in (None, 7, -1e300, "x", "inf", [], {}, [[]], {"x": 1}, True, deep, "9" * 500):
        for path in (
            ("promise",), ("promise", "id"), ("promise", "keys"), ("promise", "limit"),
            ("promise", "keys", "posterior"), ("promise", "keys", "p"),
            ("promise", "limit", "epsilon"), ("promise", "limit", "delta"), ("standing",),
            ("standing", "promises"), ("account",),
        ):  # fmt: skip

            def change(said: dict[str, Any], path: Any = path, value: Any = value) -> None:
                *to, last = path
                for step in to:
                    said = said[step]
                said[last] = value

            assert not recomputed(rewrite(rows, at, change)).verified


def test_nothing_is_spent_where_a_promise_has_no_entry(
    promising: Ledger, hand: Any, url: str
) -> None:
    """The last entry speaks of a promise that nobody registered; its hash fits."""
    rows = rows_of(promising)
    other = "f" * 16
    body = rows[-1].body.replace(
        '"promises":{', f'"promises":{{"{other}":{{"delta":"0","epsilon":"1"}},'
    )
    with hand.past_the_guards():
        hand.execute(
            "UPDATE discreet_entries SET body = :body, hash = :hash WHERE seq = :seq",
            body=body, hash=digest(body), seq=rows[-1].seq,
        )  # fmt: skip
    with pytest.raises(PolicyError, match=r"was changed|lacks an entry"):
        promising.charge("clinic", PureDP(5.0), **CHARGED)
    with pytest.raises(PolicyError, match=r"was changed|lacks an entry"):
        promising.show("clinic")
    assert not promising.verify().verified


def test_a_promise_that_was_recorded_as_a_list_of_one_can_still_be_read(tmp_path: Path) -> None:
    """Such a list had a name of its own once, the hash of its keys; now it is the one in it."""
    account = Ledger.open(f"sqlite:///{tmp_path}/ledger.db").open_account(
        "a",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1.0),
        approver="A",
        reason="R",
    )
    keys = {"all": [{"ratio": 3.0}], "every_output": True}
    stored = {"id": name_of(keys), "keys": keys, "limit": {"epsilon": "0.5"}}
    assert Registered.restored(stored, account).promise(account).tolerance == Ratio(3)
    with pytest.raises(PolicyError, match="does not match its keys"):
        Registered.restored(stored | {"id": "0" * 16}, account)


def test_a_promise_that_comes_too_late_does_not_lead_to_another_account(opened: Opened) -> None:
    ledger = opened(cap=PureDP(9.0))
    ledger.reserve("clinic", PureDP(2.0), **SAID)
    with pytest.raises(BrokenPromise, match="cannot be made on account") as refused:
        ledger.reserve("clinic", PureDP(0.1), promise=promise_in(TWELVE), **SAID)
    assert "no way out if it is about the same people" in str(refused.value)


@pytest.mark.parametrize(
    ("confidence", "total"), [({}, PureDP(0.5)), ({"confidence": 0.99}, ZCDP(0.001))]
)
def test_what_is_reached_counts_units_that_depend_on_each_other(
    confidence: dict[str, Any], total: Any
) -> None:
    """It was told of one unit alone: 8 % where the promise of 40 % is nearly used up."""
    keys = {"posterior": 0.4, "p": 0.05, "about": "membership", **confidence}
    alone, three = (reached(promise_from(None, {**keys, "related": k}), total) for k in (1, 3))
    assert alone is not None
    assert three is not None
    # Two groups of three that share a unit are five steps apart.
    if not confidence:
        odds = 0.05 / 0.95 * math.exp(5 * 0.5)
        assert three == (0.05, pytest.approx(odds / (1 + odds), rel=1e-9))
    assert three[1] > 1.2 * alone[1]

"""The ledger against a model of a few lines: whatever is done in whatever order, both agree."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from discreet.errors import BudgetExceeded, InputError, PolicyError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.ledger import Amount, BrokenPromise, Charge, Ledger
from discreet.ledger.promises import register
from discreet.promises import Promise, promise_in
from soaking import examples

TENTHS = st.integers(0, 12).map(lambda n: n / 10)
DELTAS = st.sampled_from([0.0, 1e-7, 3e-7])
FILTERS = ("pure", "basic", "zcdp")
SAID = {"purpose": "a table", "who": "ci"}
PROMISES = st.sampled_from(
    [
        promise_in({"posterior": 0.12, "p": 0.05, "q": 1, "confidence": 0.9}),
        promise_in({"ratio": 4}),
        promise_in({"ratio": 8, "about": "value", "every_output": True}),
        promise_in({"posterior": 0.3, "q": 0.1, "about": "value", "on_average": True}),
    ]
)


def exact(x: float) -> Fraction:
    return Fraction(repr(x))


def modelled(kind: str, rule: str, x: float, d: float) -> tuple[Fraction, Fraction] | None:
    """What a charge adds to (ε or ρ, δ); None where the filter cannot take it."""
    e, delta = exact(x), exact(d) if kind == "approx" else Fraction(0)
    if kind == "zcdp":
        return (e, delta) if rule == "zcdp" else None
    if rule == "pure":
        return None if delta else (e, delta)
    if rule == "basic":
        return e, delta
    return (e * e / (8 if kind == "exponential" else 2), delta)


def charge_of(kind: str, x: float, d: float) -> Charge:
    if kind == "zcdp":
        return Charge(ZCDP(x))
    if kind == "approx":
        return Charge(ApproxDP(x, d))
    return Charge(PureDP(x), "exponential" if kind == "exponential" else None)


class Spending(RuleBasedStateMachine):
    """One account of a random filter; charges, outputs, grants, plans, promises, withdrawals."""

    reserved = Bundle("reserved")
    plans = Bundle("plans")
    slots = Bundle("slots")
    kinds = st.sampled_from(["pure", "approx", "zcdp", "exponential"])

    @initialize(name=st.sampled_from(FILTERS), cap=st.integers(5, 30), capped=st.booleans())
    def begin(self, name: str, cap: int, capped: bool) -> None:
        self.folder = tempfile.mkdtemp()
        self.url = f"sqlite:///{self.folder}/ledger.db"
        self.rule = name
        lead = "rho" if name == "zcdp" else "epsilon"
        limit = Amount.of(**({lead: cap / 10} | ({} if name == "pure" else {"delta": 1e-6})))
        self.ledger = Ledger.open(self.url)
        self.ledger.open_account(
            "a",
            unit="person",
            adjacency="add-remove",
            filter=name,
            cap=limit if capped else None,
            approver="a",
            reason="b",
        )
        self.cap = (exact(cap / 10), exact(1e-6)) if capped else None
        self.spent = (Fraction(0), Fraction(0))
        self.entries = 2
        self.open: set[str] = set()
        self.slots_left: dict[str, int] = {}
        self.promises: dict[str, tuple[Fraction, Fraction]] = {}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            assert Ledger.open(self.url).verify().verified
            shutil.rmtree(self.folder)

    def within(self, cost: tuple[Fraction, Fraction], limit: tuple[Fraction, Fraction]) -> bool:
        after = [s + c for s, c in zip(self.spent, cost, strict=True)]
        return all(a <= b for a, b in zip(after, limit, strict=True))

    def allowed(self, cost: tuple[Fraction, Fraction]) -> bool:
        limits = [*self.promises.values(), *([] if self.cap is None else [self.cap])]
        return all(self.within(cost, limit) for limit in limits)

    def limit_of(self, promise: Promise) -> tuple[str, tuple[Fraction, Fraction]]:
        one = register(promise, self.ledger.account("a"))
        return one.id, (Fraction(one.limit.lead), Fraction(one.limit.delta or 0))

    def spend(self, cost: tuple[Fraction, Fraction]) -> None:
        self.spent = (self.spent[0] + cost[0], self.spent[1] + cost[1])
        self.entries += 1

    def expected(self, cost: tuple[Fraction, Fraction] | None) -> type[Exception] | None:
        if cost is None:
            return PolicyError
        return None if self.allowed(cost) else BudgetExceeded

    @rule(kind=kinds, x=TENTHS, d=DELTAS)
    def charge(self, kind: str, x: float, d: float) -> None:
        cost = modelled(kind, self.rule, x, d)
        refusal = self.expected(cost)
        if refusal is not None:
            with pytest.raises(refusal):
                self.ledger.charge("a", charge_of(kind, x, d), **SAID)
            return
        assert cost is not None
        self.ledger.charge("a", charge_of(kind, x, d), **SAID)
        self.spend(cost)

    @rule(x=TENTHS, promise=PROMISES)
    def promise(self, x: float, promise: Promise) -> None:
        """A release that makes a promise: both are written, or neither."""
        cost = modelled("pure", self.rule, x / 10, 0.0)
        assert cost is not None
        if self.rule == "zcdp" and promise.every_output:
            with pytest.raises(PolicyError, match="adds up ρ"):
                self.ledger.charge("a", PureDP(x / 10), promise=promise, **SAID)
            return
        name, limit = self.limit_of(promise)
        limit = self.promises.get(name, limit)
        broken = [each for each in (*self.promises.values(), limit) if not self.within(cost, each)]
        if broken or not self.allowed(cost):
            with pytest.raises(BrokenPromise if broken else BudgetExceeded):
                self.ledger.charge("a", PureDP(x / 10), promise=promise, **SAID)
            return
        self.ledger.charge("a", PureDP(x / 10), promise=promise, **SAID)
        self.spend(cost)
        self.entries += name not in self.promises
        self.promises[name] = limit

    @rule(which=st.integers(0, 3))
    def withdraw(self, which: int) -> None:
        name = dict(enumerate(self.promises)).get(which)
        if name is None:
            with pytest.raises(InputError, match="has no promise"):
                self.ledger.withdraw("a", "0" * 16, approver="a", reason="b")
            return
        self.ledger.withdraw("a", name, approver="a", reason="b")
        del self.promises[name]
        self.entries += 1

    @rule(add=st.sampled_from([1e-7, 1e-30]))
    def grant_delta(self, add: float) -> None:
        """A promise whose ε or ρ leans on the cap on δ keeps it where it is, unless by a hair."""
        amount = Amount.of(delta=add)
        if self.cap is None or self.rule == "pure":
            with pytest.raises((PolicyError, InputError)):
                self.ledger.grant("a", add=amount, approver="a", reason="b")
            return
        raised = (self.cap[0], self.cap[1] + exact(add))
        if add > 1e-9 and any(delta for _, delta in self.promises.values()):
            with pytest.raises(PolicyError, match="would no longer hold"):
                self.ledger.grant("a", add=amount, approver="a", reason="b")
            return
        try:
            self.ledger.grant("a", add=amount, approver="a", reason="b")
        except PolicyError:
            assert any(delta for _, delta in self.promises.values())
            return
        self.cap = raised
        self.promises = {
            name: (most, raised[1] if delta else delta)
            for name, (most, delta) in self.promises.items()
        }
        self.entries += 1

    @rule(target=reserved, x=TENTHS)
    def reserve(self, x: float) -> object:
        cost = modelled("pure", self.rule, x, 0.0)
        assert cost is not None
        if not self.allowed(cost):
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve("a", PureDP(x), spec_hash="s", **SAID)
            return multiple()
        entry = self.ledger.reserve("a", PureDP(x), spec_hash="s", **SAID)
        self.spend(cost)
        self.open.add(str(entry.release_id))
        return str(entry.release_id)

    @rule(release_id=consumes(reserved))
    def commit(self, release_id: str) -> None:
        self.ledger.commit(release_id, "o" * 64)
        self.open.discard(release_id)
        self.entries += 1
        self.ledger.commit(release_id, "o" * 64)

    @rule(add=TENTHS)
    def grant(self, add: float) -> None:
        lead = "rho" if self.rule == "zcdp" else "epsilon"
        amount = Amount.of(**{lead: add})
        if self.cap is None:
            with pytest.raises(PolicyError):
                self.ledger.grant("a", add=amount, approver="a", reason="b")
            return
        self.ledger.grant("a", add=amount, approver="a", reason="b")
        self.cap = (self.cap[0] + exact(add), self.cap[1])
        self.entries += 1

    @rule(target=plans, x=TENTHS, times=st.integers(1, 3))
    def register(self, x: float, times: int) -> object:
        each = modelled("pure", self.rule, x, 0.0)
        assert each is not None
        total, parts = [PureDP(x)] * times, [(PureDP(x), times)]
        cost = (each[0] * times, each[1] * times)
        if not self.allowed(cost):
            with pytest.raises(BudgetExceeded):
                self.ledger.register_plan("a", parts, total, **SAID)
            return multiple()
        plan_id = self.ledger.register_plan("a", parts, total, **SAID)
        self.spend(cost)
        self.slots_left[plan_id] = times
        return plan_id

    @rule(target=slots, plan_id=plans)
    def take(self, plan_id: str) -> object:
        if not self.slots_left[plan_id]:
            with pytest.raises(BudgetExceeded):
                self.ledger.next_slot(plan_id)
            return multiple()
        slot = self.ledger.next_slot(plan_id)
        assert slot.number == slot.of - self.slots_left[plan_id] + 1
        self.slots_left[plan_id] -= 1
        self.entries += 1
        self.open.add(slot.release_id)
        return slot.release_id

    @rule(release_id=consumes(slots))
    def store(self, release_id: str) -> None:
        self.ledger.commit(release_id, "p" * 64)
        self.entries += 1
        self.open.remove(release_id)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "folder"):
            return
        ledger = self.ledger
        account = ledger.account("a")
        lead = account.spent.rho if self.rule == "zcdp" else account.spent.epsilon
        assert lead is not None
        assert Fraction(lead) == self.spent[0]
        assert Fraction(account.spent.delta or 0) == self.spent[1]
        assert self.promises == {
            name: (Fraction(limit.lead), Fraction(limit.delta or 0))
            for name, limit in account.promises.items()
        }
        assert all(one.kept for one in ledger.promises("a"))
        assert {str(e.release_id) for e in ledger.unfinished("a")} == self.open
        assert len(ledger.entries()) == self.entries


TestSpending = pytest.mark.slow(Spending.TestCase)
TestSpending.settings = settings(
    derandomize=True, deadline=None, max_examples=examples(20), stateful_step_count=25
)

"""What charges cost under each filter, and what each refuses."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, PolicyError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.ledger import Account, Amount, Charge, Filter, Ledger
from discreet.ledger.plans import Part, check_total, composed, equal_part
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(200))
budgets = st.floats(min_value=0, max_value=1e6)
deltas = st.floats(min_value=0, max_value=1)


def fractions(amount: Amount) -> dict[str, Fraction]:
    names = ("epsilon", "delta", "rho")
    each = {name: getattr(amount, name) for name in names}
    return {name: Fraction(value) for name, value in each.items() if value is not None}


def printed(x: float) -> Fraction:
    return Fraction(repr(x))


@given(budgets, deltas)
@FAST
def test_costs_are_those_of_the_theorems(x: float, d: float) -> None:
    pure, approx, concentrated = PureDP(x), ApproxDP(x, d), ZCDP(x)
    e, delta = printed(x), printed(d)
    assert fractions(Filter.PURE.cost(pure)) == {"epsilon": e}
    assert fractions(Filter.BASIC.cost(pure)) == {"epsilon": e, "delta": 0}
    assert fractions(Filter.BASIC.cost(approx)) == {"epsilon": e, "delta": delta}
    assert Filter.BASIC.cost(ProbabilisticDP(x, d)) == Filter.BASIC.cost(approx)
    assert fractions(Filter.ZCDP.cost(concentrated)) == {"rho": e, "delta": 0}
    assert fractions(Filter.ZCDP.cost(pure)) == {"rho": e * e / 2, "delta": 0}
    assert fractions(Filter.ZCDP.cost(approx)) == {"rho": e * e / 2, "delta": delta}
    exponential = Charge(pure, "exponential")
    assert fractions(Filter.ZCDP.cost(exponential)) == {"rho": e * e / 8, "delta": 0}
    assert fractions(Filter.PURE.cost(exponential)) == {"epsilon": e}


def test_the_exponential_discount_is_for_pure_dp_alone() -> None:
    charge = Charge(ApproxDP(1.0, 1e-6), "exponential")
    assert fractions(Filter.ZCDP.cost(charge))["rho"] == Fraction(1, 2)


def test_a_release_of_several_calls_costs_their_sum() -> None:
    parts = [ZCDP(0.25), Charge(PureDP(2.0), "exponential"), ApproxDP(1.0, 1e-9)]
    expected = {"rho": Fraction(1, 4) + Fraction(1, 2) + Fraction(1, 2), "delta": printed(1e-9)}
    assert fractions(Filter.ZCDP.cost(parts)) == expected
    assert fractions(Filter.ZCDP.cost(iter(parts))) == expected


@pytest.mark.parametrize(
    ("rule", "guarantee"),
    [
        (Filter.PURE, ZCDP(0.1)),
        (Filter.PURE, ApproxDP(0.1, 1e-9)),
        (Filter.PURE, ProbabilisticDP(0.1, 1e-9)),
        (Filter.BASIC, ZCDP(0.1)),
    ],
)
def test_what_a_filter_cannot_take_is_refused(rule: Filter, guarantee: Guarantee) -> None:
    with pytest.raises(PolicyError, match=f"{rule.value!r} of this account cannot take"):
        rule.cost(guarantee)


def test_what_a_pure_account_cannot_take_is_decided_and_not_sent_to_a_second_account() -> None:
    with pytest.raises(PolicyError, match="no ε bounds such a release for every output") as pure:
        Filter.PURE.cost(ZCDP(0.1))
    told = str(pure.value.flags)
    assert "decide" in told
    assert "discreet compose --ledger URL --accounts" in told
    # An account may be pure and promise something with a probability.
    assert "promise of every output" not in f"{pure.value} {told}"
    with pytest.raises(PolicyError, match="one ε for each δ") as basic:
        Filter.BASIC.cost(ZCDP(0.1))
    assert "discreet compose --rho" in str(basic.value.flags)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("pure", "pure takes no charge in ρ or with δ"),
        ("basic", "basic takes no charge in ρ"),
        ("zcdp", "its δ is 0 unless one is given"),
    ],
)
def test_the_command_that_opens_an_account_says_that_its_filter_is_for_good(
    rule: str, said: str, tmp_path: Path
) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    opened = {"cap": PureDP(1.0), "approver": "a", "reason": "r"}
    for name in ("clinic", "clinics"):  # without a ledger, and beside a name that is alike
        with pytest.raises(PolicyError) as refused:
            ledger.account("klinik" if name == "clinic" else "clinic", filter=rule)
        for text in (refused.value.next, refused.value.flags):
            assert f"The filter of an account never changes, and {said}" in str(text)
        if name == "clinic":
            ledger.open_account("clinics", unit="person", filter="pure", **opened)  # type: ignore[arg-type]


def test_an_unbounded_guarantee_or_a_whole_curve_cannot_be_charged() -> None:
    with pytest.raises(InputError, match="unbounded"):
        Charge(PureDP(math.inf))
    with pytest.raises(PolicyError, match="one point"):
        Charge(PrivacyCurve("mine", lambda _: 0.0))
    with pytest.raises(InputError, match="empty"):
        Filter.PURE.cost([])


@given(st.sampled_from(list(Filter)), st.sampled_from(["pure", "approx", "zcdp", "exponential"]))
@FAST
def test_a_charge_is_read_back_as_it_was(rule: Filter, kind: str) -> None:
    charge = {
        "pure": Charge(PureDP(0.3, adjacency=Adjacency.REPLACE)),
        "approx": Charge(ApproxDP(0.3, 1e-7)),
        "zcdp": Charge(ZCDP(0.3), "gaussian"),
        "exponential": Charge(PureDP(0.3), "exponential"),
    }[kind]
    assert Charge.from_dict(charge.to_dict()) == charge


@given(
    st.sampled_from(["pure", "exponential", "approx", "zcdp"]),
    st.sampled_from(list(Filter)),
    st.floats(min_value=0, max_value=100),
    st.floats(min_value=0, max_value=1e-3),
)
@FAST
def test_what_would_fit_fits_and_is_the_largest(
    kind: str, rule: Filter, left: float, delta: float
) -> None:
    asked = {
        "pure": Charge(PureDP(200.0)),
        "exponential": Charge(PureDP(2000.0), "exponential"),
        "approx": Charge(ApproxDP(200.0, 1e-4)),
        "zcdp": Charge(ZCDP(1e5)),
    }[kind]
    try:
        rule.cost(asked)
    except PolicyError:
        return
    lead = "rho" if rule is Filter.ZCDP else "epsilon"
    rest = {lead: left} | ({} if rule is Filter.PURE else {"delta": delta})
    cap = Amount.of(**rest)
    fits = rule.fitting(asked, cap)
    if fits is None:
        assert left == 0 or (kind == "approx" and delta == 0)
        return
    assert rule.cost(fits).within(cap)
    value = getattr(fits.guarantee, "rho", None) or getattr(fits.guarantee, "epsilon", 0.0)
    bigger = math.nextafter(math.nextafter(value, math.inf), math.inf)
    more: Guarantee = (
        ZCDP(bigger)
        if isinstance(fits.guarantee, ZCDP)
        else ApproxDP(bigger, fits.guarantee.delta)
        if isinstance(fits.guarantee, ApproxDP)
        else PureDP(bigger)
    )
    if bigger > 1e-150:  # below, squares are smaller than the smallest double's and all fit
        assert not rule.cost(Charge(more, fits.mechanism)).within(cap)


@given(budgets, deltas, st.sampled_from(list(Filter)))
@FAST
def test_charges_made_from_an_amount_cost_at_least_it(x: float, d: float, rule: Filter) -> None:
    lead = "rho" if rule is Filter.ZCDP else "epsilon"
    amount = Amount.of(**({lead: x} | ({} if rule is Filter.PURE else {"delta": d})))
    assert rule.cost(rule.charges(amount, Adjacency.ADD_REMOVE)) == amount


def account(rule: str, cap: Guarantee | Amount | None = None) -> Account:
    return Account.opened("a", unit="person", adjacency="add-remove", filter=rule, cap=cap)


@pytest.mark.parametrize(
    ("rule", "cap"),
    [
        ("pure", ZCDP(1.0)),
        ("pure", ApproxDP(1.0, 1e-6)),
        ("basic", ZCDP(1.0)),
        ("zcdp", PureDP(1.0)),
        ("zcdp", ApproxDP(1.0, 1e-6)),
        ("basic", Amount.of(delta=1e-6)),
    ],
)
def test_a_cap_in_other_coordinates_is_refused(rule: str, cap: Guarantee | Amount) -> None:
    with pytest.raises(InputError, match="does not fit the filter"):
        account(rule, cap)


def test_a_name_in_a_message_is_a_name_and_no_enumeration() -> None:
    one = account("pure", PureDP(1.0))
    with pytest.raises(PolicyError) as refused:
        one.cost([Charge(PureDP(0.1, adjacency=Adjacency.REPLACE))])
    assert "has 'replace';" in str(refused.value)
    assert "<" not in str(refused.value)
    assert repr(Filter.ZCDP) == "'zcdp'"


def test_a_cap_under_another_adjacency_is_refused() -> None:
    with pytest.raises(PolicyError, match="same adjacency"):
        account("pure", PureDP(1.0, adjacency=Adjacency.REPLACE))


@given(st.lists(st.tuples(budgets, deltas), min_size=1, max_size=10))
@FAST
def test_totals_are_never_below_the_sums(spent: list[tuple[float, float]]) -> None:
    basic, concentrated = account("basic"), account("zcdp")
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    for x, d in spent:
        basic = basic.after(basic.cost(ApproxDP(x, d)), moment)
        concentrated = concentrated.after(concentrated.cost(ZCDP(x)), moment)
    total = basic.total
    assert isinstance(total, PureDP | ApproxDP)
    assert printed(total.epsilon) >= sum(printed(x) for x, _ in spent)
    delta = total.delta if isinstance(total, ApproxDP) else 0.0
    assert printed(delta) >= min(Fraction(1), sum(printed(d) for _, d in spent))
    assert isinstance(concentrated.total, ZCDP)
    assert printed(concentrated.total.rho) >= sum(printed(x) for x, _ in spent)


def test_the_total_of_a_zcdp_account_with_delta_is_a_curve_above_the_gaussian() -> None:
    """A Gaussian of ρ that fails with probability δ is δ-approximate ρ-zCDP: a known truth."""
    rho, delta = 0.3, 1e-5
    one = account("zcdp")
    spent = one.cost([ZCDP(rho), ApproxDP(0.0, delta)])
    total = one.after(spent, datetime(2026, 1, 1, tzinfo=UTC)).total
    assert isinstance(total, PrivacyCurve)
    with mpmath.workdps(50):
        mu = mpmath.sqrt(2 * mpmath.mpf(rho))
        for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0, 6.0):
            gaussian = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
                -mu / 2 - epsilon / mu
            )
            truth = mpmath.mpf(delta) + (1 - mpmath.mpf(delta)) * gaussian
            assert truth <= total.at(epsilon).delta <= 1
    assert total.at(20.0).delta < 1.01 * delta


@given(st.floats(1e-3, 20), st.floats(1e-9, 0.5), st.floats(0.01, 1), st.integers(1, 500))
@FAST
def test_the_largest_equal_part_is_never_refused(
    epsilon: float, delta: float, share: float, releases: int
) -> None:
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "basic"}
    account = Account.opened("a", **terms, cap=ApproxDP(epsilon, delta))
    each = equal_part(account, releases, delta * share)
    parts = [Part(Charge(each), releases)]
    cost = account.cost(composed(account, parts, delta * share, None)[0])
    check_total(account, parts, cost)
    assert account.cap is not None
    assert cost.within(account.cap)
    assert each.to_dict()["epsilon"] >= epsilon / releases * (1 - 1e-12)

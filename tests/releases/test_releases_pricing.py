"""Prices: shares never add up to more than the budget, and buy what they say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition.concentrated import zcdp_delta
from discreet.errors import BudgetExceeded, SpecError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.releases.pricing import Asked, Priced, price, share
from discreet.releases.statistics.base import Within
from discreet.releases.statistics.values import Part
from soaking import examples

checked = settings(derandomize=True, deadline=None, max_examples=examples(100))


def _part(l1: int, square: int, form: Any = "numbers") -> Part:
    return Part("count", form, Fraction(l1), Fraction(square))


parts = st.builds(
    lambda l1, c, form: _part(l1 * c, l1 * c * c, form),
    st.integers(1, 50),
    st.integers(1, 1000),
    st.sampled_from(["numbers", "choice"]),
)
asked_lists = st.lists(
    st.builds(
        lambda part, weight: Asked("s", part, Fraction(repr(weight))),
        parts,
        st.floats(0.01, 100),
    ),
    min_size=1,
    max_size=8,
)


def _decimal(amount: float) -> Fraction:
    return Fraction(repr(amount))


def _epsilon_lost(call: Priced) -> Fraction:
    return call.asked.part.l1 / Fraction(call.scale)


def _rho_lost(call: Priced) -> Fraction:
    if call.mechanism == "geometric":
        return _epsilon_lost(call) ** 2 / 2
    return call.asked.part.l2_squared / (2 * Fraction(call.scale) ** 2)


@checked
@given(asked_lists, st.floats(1e-6, 100))
def test_what_is_drawn_loses_no_more_epsilon_than_is_charged(
    asked: list[Asked], epsilon: float
) -> None:
    found = price(asked, PureDP(epsilon), "auto")
    lost = sum((_epsilon_lost(call) for call in found.calls), Fraction(0))
    (charge,) = found.charges
    assert charge == PureDP(epsilon)
    assert lost <= _decimal(epsilon)
    assert lost >= _decimal(epsilon) * (1 - Fraction(1, 10**12))
    weights = sum(a.weight for a in asked)
    for call in found.calls:
        assert float(_epsilon_lost(call)) == pytest.approx(
            epsilon * float(call.asked.weight / weights), rel=1e-9
        )


@pytest.mark.parametrize("mechanism", ["auto", "geometric", "gaussian"])
@checked
@given(asked=asked_lists, rho=st.floats(1e-8, 10))
def test_what_is_drawn_loses_no_more_rho_than_is_charged(
    mechanism: str, asked: list[Asked], rho: float
) -> None:
    found = price(asked, ZCDP(rho), mechanism)
    assert found.charges == (ZCDP(rho),)
    assert sum((_rho_lost(call) for call in found.calls), Fraction(0)) <= _decimal(rho)


@checked
@given(asked=asked_lists, epsilon=st.floats(0.01, 10), exponent=st.integers(3, 12))
def test_what_is_drawn_stays_within_epsilon_and_delta(
    asked: list[Asked], epsilon: float, exponent: int
) -> None:
    delta = 10.0**-exponent
    found = price(asked, ApproxDP(epsilon, delta), "gaussian")
    rho = float(sum((_rho_lost(call) for call in found.calls), Fraction(0)))
    assert zcdp_delta(rho, epsilon) <= delta
    assert found.charges == (ApproxDP(epsilon, delta),)


def test_auto_takes_the_kind_with_less_error_and_says_why() -> None:
    few = [Asked("s", _part(1, 1), Fraction(1))]
    many = [Asked(f"s{i}", _part(20, 20), Fraction(1)) for i in range(20)]
    budget = ApproxDP(1.0, 1e-6)
    assert {c.mechanism for c in price(few, budget, "auto").calls} == {"geometric"}
    best = price(many, budget, "auto")
    assert {c.mechanism for c in best.calls} == {"gaussian"}
    assert "discrete Gaussian" in best.why
    other = price(many, budget, "geometric")
    assert best.calls[0].sd < other.calls[0].sd
    assert price(few, budget, "auto").calls[0].sd < price(few, budget, "gaussian").calls[0].sd


def test_pure_dp_is_never_kept_by_gaussian_noise() -> None:
    with pytest.raises(SpecError, match="cannot keep pure DP"):
        price([Asked("s", _part(1, 1), Fraction(1))], PureDP(1.0), "gaussian")


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.integers(1, 100),
    st.floats(0.5, 1000),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.sampled_from(["epsilon", "rho"]),
)
def test_a_wanted_accuracy_is_bought_at_its_least_price(
    l1: int, error: float, confidence: float, currency: str
) -> None:
    asked = Asked("s", _part(l1, l1 * l1), Fraction(1), Within(error=error, confidence=confidence))
    budget: Guarantee = PureDP(1e4) if currency == "epsilon" else ZCDP(1e6)
    found = price([asked], budget, "auto")
    (call,) = found.calls
    assert call.half_width(confidence) <= error
    (charge,) = found.charges
    cost = charge.epsilon if isinstance(charge, PureDP) else charge.rho  # type: ignore[union-attr]
    cheaper: Guarantee = PureDP(cost * 0.99) if currency == "epsilon" else ZCDP(cost * 0.99)
    with pytest.raises(BudgetExceeded):
        price([asked], cheaper, "auto")


def test_what_cannot_be_afforded_names_what_would_fit() -> None:
    asked = [
        Asked("visits", _part(4, 8), Fraction(1), Within(error=5, confidence=0.95)),
        Asked("costs", _part(4, 8), Fraction(1)),
    ]
    with pytest.raises(BudgetExceeded, match="visits within") as refused:
        price(asked, PureDP(0.5), "auto")
    message = str(refused.value)
    assert refused.value.exit_code == 3
    assert "needs epsilon" in message
    assert "this release has 0.5" in message
    error = float(message.split("visits within ")[1].split(" ")[0])
    again = [Asked("visits", _part(4, 8), Fraction(1), Within(error=error)), asked[1]]
    assert price(again, PureDP(0.5), "auto").calls[0].half_width(0.95) <= error


def test_the_rest_is_split_after_what_is_wanted_is_bought() -> None:
    wanted = Asked("a", _part(1, 1), Fraction(1), Within(error=10, confidence=0.95))
    others = [Asked(f"s{i}", _part(1, 1), Fraction(i)) for i in (1, 3)]
    found = price([wanted, *others], PureDP(2.0), "auto")
    first, second, third = (float(_epsilon_lost(call)) for call in found.calls)
    assert third == pytest.approx(3 * second)
    assert first + second + third == pytest.approx(2.0)


@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_the_threshold_of_keys_is_the_formulas(keys: int, epsilon: float, delta: float) -> None:
    asked = Asked("s", _part(keys, keys), Fraction(1), None, delta, keys)
    found = price([asked], PureDP(epsilon), "auto")
    (call,) = found.calls
    assert found.charges == (ApproxDP(epsilon, delta),)
    b = keys / epsilon
    formula = 1 + math.ceil(b * math.log(keys / (delta * (1 + math.exp(-1 / b)))))
    assert call.threshold is not None
    assert formula <= call.threshold <= formula + 1
    # A key of one unit is published with probability P(1 + N ≥ τ); over all its keys at most δ.
    assert keys * call.law.tail(call.threshold - 1) <= delta


def test_keys_on_a_budget_of_rho_enter_as_epsilon_and_delta() -> None:
    keys = Asked("s", _part(2, 2), Fraction(1), None, 1e-6, 2)
    count = Asked("s", _part(2, 2), Fraction(3))
    found = price([keys, count], ZCDP(0.2), "auto")
    rho, paid = found.charges
    assert isinstance(rho, ZCDP)
    assert isinstance(paid, ApproxDP)
    assert paid.delta == 1e-6
    assert rho.rho + paid.epsilon**2 / 2 <= 0.2 + 1e-15
    assert rho.rho == pytest.approx(0.15)


@checked
@given(st.floats(1e-6, 100), st.integers(1, 1000))
def test_the_shares_of_a_series_never_add_up_to_more(epsilon: float, releases: int) -> None:
    for whole in (PureDP(epsilon), ZCDP(epsilon)):
        part = share(whole, releases)
        amount = part.epsilon if isinstance(part, PureDP) else part.rho  # type: ignore[union-attr]
        assert _decimal(amount) * releases <= _decimal(epsilon)
        assert amount * releases == pytest.approx(epsilon)
    both = share(ApproxDP(epsilon, 1e-6), releases)
    assert isinstance(both, ApproxDP)
    assert _decimal(both.delta) * releases <= _decimal(1e-6)


def test_half_widths_of_wide_gaussian_noise_hold() -> None:
    asked = Asked("s", _part(10**7, 10**14), Fraction(1))
    (call,) = price([asked], ZCDP(0.5), "auto").calls
    width = call.half_width(0.95)
    assert width / call.scale == pytest.approx(1.959964, rel=1e-4)

"""Plans: KSZ Example 4.2 and its errata; the budget, put back, keeps the promise."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import choose
from discreet.beliefs.prior import failure_of
from discreet.budgets.limits import limits_of
from discreet.composition.walk import WalkLoss
from discreet.errors import BudgetExceeded, GuaranteeError, InputError, ToleranceError
from discreet.guarantees import ZCDP, ApproxDP, PureDP, stated
from discreet.laws import Gaussian, Geometric
from discreet.laws.mechanism import Budget
from discreet.ledger import Account, Filter, Ledger
from discreet.ledger.promises import derived_cap
from discreet.promises import Promise, promise_in
from discreet.series import plan
from discreet.series.planning import shown_down
from losses import bound_of
from soaking import examples

YEAR = {"difference": 0.2, "releases": 12, "about": "membership", "confidence": 0.99}
GEOMETRIC = {"mechanism": "geometric", "strength": "exact"}
GAUSSIAN = {"mechanism": "gaussian", "strength": "exact"}


@pytest.mark.parametrize(
    ("how", "printed"),
    [
        ({"delta_total": 1e-6, "delta_each": 1e-8}, "0.0677"),
        ({"delta_total": 1e-6, "delta_each": 1e-8, "method": "basic"}, "0.0675"),
        ({"delta_each": 1e-8}, "0.0856"),
        ({"delta_each": 1e-8, "sided": "one"}, "0.0899"),
        (GEOMETRIC, "0.0901"),
        (GEOMETRIC | {"sided": "one"}, "0.1013"),
    ],
)
def test_example_4_2_in_epsilon(how: dict[str, object], printed: str) -> None:
    found = plan(**YEAR, **how)  # type: ignore[arg-type]
    assert shown_down(found.budgets[0], 4 if printed[2] != "0" else 3) == printed
    assert found.per_release["epsilon"] == found.budgets[0]
    assert found.per_release["delta"] == how.get("delta_each", 0.0)


@pytest.mark.parametrize(
    ("how", "rho"),
    [
        (GAUSSIAN, 0.00403),
        (GAUSSIAN | {"sided": "one"}, 0.00442),
        ({"mechanism": "gaussian"}, 0.00323),
        ({"mechanism": "gaussian", "sided": "one"}, 0.00350),
    ],
)
def test_example_4_2_in_rho(how: dict[str, object], rho: float) -> None:
    found = plan(**YEAR, **how)  # type: ignore[arg-type]
    assert found.per_release["rho"] == pytest.approx(rho, abs=5e-6)
    assert found.per_release["epsilon"] is None
    assert found.sigma == pytest.approx(1 / math.sqrt(2 * found.budgets[0]), rel=1e-9)


def test_example_4_2_errata() -> None:
    """Twelve (0.135, 1e-8) releases are not (0.81, 1e-6)-DP; δ would be 9.0e-3."""
    delta = WalkLoss(0.135, 12, 1e-8).delta(0.81)
    assert delta == pytest.approx(9.0e-3, rel=0.01)
    better = plan(**YEAR, delta_total=1e-6, delta_each=1e-8).budgets[0]  # type: ignore[arg-type]
    basic = plan(**YEAR, delta_total=1e-6, delta_each=1e-8, method="basic").budgets[0]  # type: ignore[arg-type]
    assert 1 < better / basic < 1.004  # not twofold


def parts_of(found, mechanism: str | None):  # type: ignore[no-untyped-def]
    law = {
        None: lambda x: (
            ApproxDP(x, found.per_release["delta"]) if found.per_release["delta"] else PureDP(x)
        ),
        "geometric": Geometric,
        "gaussian": Gaussian.of_rho,
    }[mechanism]
    make = ZCDP if found.budget == "rho" and mechanism is None else law
    return [(make(x), 1) for x in found.budgets]


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(
    st.floats(0.02, 0.9),
    st.integers(1, 30),
    st.sampled_from([None, "geometric", "gaussian"]),
    st.sampled_from(["epsilon", "rho"]),
    st.sampled_from(["one", "two"]),
    st.sampled_from([0.9, 0.99, 0.9999]),
    st.sampled_from([None, "exact"]),
)
def test_the_budget_put_back_keeps_the_tolerance(
    difference: float,
    releases: int,
    mechanism: str | None,
    budget: str,
    sided: str,
    confidence: float,
    strength: str | None,
) -> None:
    found = plan(
        releases,
        difference=difference,
        about="membership",
        mechanism=mechanism,
        budget=budget if mechanism is None else None,  # type: ignore[arg-type]
        sided=sided,  # type: ignore[arg-type]
        confidence=confidence,
        strength=strength if mechanism else None,  # type: ignore[arg-type]
    )
    make = {(part, 1) for part, _ in parts_of(found, mechanism)}.pop()[0]
    back = bound_of([(make, releases)], failure_of(confidence), sided, strength=found.strength)
    assert math.tanh(back.epsilon_prime / 4) <= difference
    # and it is the largest: a millionth more breaks it
    more = type(make)(*_scaled(make, 1 + 1e-6))
    beyond = bound_of([(more, releases)], failure_of(confidence), sided, strength=found.strength)
    assert math.tanh(beyond.epsilon_prime / 4) > difference * (1 - 1e-9)


def _scaled(part, factor: float) -> tuple[float, ...]:  # type: ignore[no-untyped-def]
    match part:
        case Gaussian():
            return (part.sigma / math.sqrt(factor), part.sensitivity)
        case ZCDP():
            return (part.rho * factor,)
        case ApproxDP():
            return (part.epsilon * factor, part.delta)
    return (part.epsilon * factor,)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(st.floats(0.1, 5), min_size=1, max_size=8),
    st.sampled_from(["epsilon", "rho"]),
    st.floats(0.05, 0.6),
)
@example([3.385982141370901, 0.1879447047866819, *[1.0] * 6], "epsilon", 0.05)
@example(
    [1.0, 1.0, 1.0962538426804083, 1.0, 4.099841264858505, 3.1547882805429315, 1.0, 0.4225401],
    "epsilon",
    0.29624959678037655,
)
def test_weighted_splits_keep_it_too(weights: list[float], budget: str, difference: float) -> None:
    found = plan(
        weights=weights,
        budget=budget,  # type: ignore[arg-type]
        difference=difference,
        about="membership",
        confidence=0.99,
    )
    assert len(found.budgets) == len(weights)
    for x, w in zip(found.budgets, weights, strict=True):
        assert x == pytest.approx(w / weights[0] * found.budgets[0], rel=1e-9)
    back = bound_of(parts_of(found, None), 0.01)
    assert math.tanh(back.epsilon_prime / 4) <= difference


def test_growing_splits() -> None:
    found = plan(6, growth=1.5, budget="rho", difference=0.3)
    steps = [b / a for a, b in zip(found.budgets, found.budgets[1:], strict=False)]
    assert steps == pytest.approx([1.5] * 5)
    equal = plan(6, budget="rho", difference=0.3)
    assert sum(found.budgets) == pytest.approx(sum(equal.budgets))  # ρ adds up, however it is split


@pytest.mark.parametrize(
    ("keys", "loss"),
    [
        ({"difference": 0.2}, 4 * math.atanh(0.2)),
        ({"ratio": 3.0}, math.log(3)),
        ({"posterior": 0.75, "p": 0.5}, math.log(3)),
        ({"ratio": 1.5, "p": 0.5}, math.log(2)),  # down, 50 % → 33.3 %
        ({"ratio": 1.5, "p": 0.5, "sided": "one"}, math.log(3)),  # 50 % → 75 %
        ({"difference": 0.2, "ratio": 1.2}, math.log(1.2)),
        ({"ratio": 3.0, "p": 0.5}, math.log(5)),  # down, 50 % → 16.7 %; up, to 100 %
        ({"ratio": 3.0, "p": 0.5, "sided": "one"}, math.inf),
    ],
)
def test_what_a_promise_about_membership_allows(keys: dict[str, Any], loss: float) -> None:
    promise: Promise = promise_in(keys | {"about": "membership"})
    limits = limits_of(promise)
    assert limits.one == pytest.approx(loss)
    assert limits.two is None
    json.dumps(promise.to_dict(), allow_nan=False)


def test_pure_plans_without_confidence_hold_for_every_output() -> None:
    known = plan(1, ratio=3.0, about="membership")
    assert known.budgets[0] == pytest.approx(math.log(3), rel=1e-9)
    found = plan(1, ratio=3.0)
    assert found.budgets[0] == pytest.approx(math.log(3) / 2, rel=1e-9)
    for one in (known, found):
        assert one.promise.every_output
        assert one.holds_with == 1
        assert "every possible output" in one.assumptions.probability
    sure = plan(1, ratio=3.0, mechanism="gaussian")
    assert sure.promise.confidence == sure.holds_with == 0.99
    assert "99 %" in sure.promise.sentence()


@pytest.mark.parametrize("mechanism", [None, "geometric", "laplace", "gaussian"])
@pytest.mark.parametrize("unit", ["person", "partition"])
def test_json(mechanism: str | None, unit: str) -> None:
    found = plan(12, difference=0.2, mechanism=mechanism, unit=unit, period="month")  # type: ignore[arg-type]
    out = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    for key in ("per_release", "total"):
        assert set(out[key]) >= {"epsilon", "delta", "rho"}
    assert out["accuracy"]["sd"] > 0
    assert isinstance(out["method"], str)
    assert found._repr_html_().startswith("<table>")
    assert "\n" not in repr(found)
    assert out["accumulation"]["accumulates"] != out["accumulation"]["does_not_accumulate"]
    assert ("month" in out["accumulation"]["accumulates"]) is (unit == "partition")


def test_what_a_plan_does_not_carry_over_to_a_table_and_to_an_account_is_said() -> None:
    """±31 of one count stood beside ±393 in a dry run, and ρ 0.0142 beside an account's 0.0115."""
    found = plan(12, ratio=3, sensitivity=2)
    assert "one number alone, which one unit changes by at most 2" in found.accuracy.words
    assert found.note is None
    by_law = plan(12, ratio=3, confidence=0.99, mechanism="gaussian")
    assert "charged one by one, or as a plan of ε or ρ, and each may spend less" in str(by_law.note)
    assert by_law.budgets[0] > plan(12, ratio=3, confidence=0.99, budget="rho").budgets[0]


def test_a_mechanism_ignores_delta_of_each_and_says_so() -> None:
    found = plan(12, difference=0.2, mechanism="gaussian", delta_each=1e-8)
    assert found.note is not None
    assert "was not used" in found.note


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"releases": 12}, "nothing is promised yet"),
        ({"releases": 12, "posterior": 0.3}, "Fix the prior"),
        ({"releases": 12, "posterior": 0.2, "prior": 0.3}, "the priors in question reach 0.3"),
        ({"releases": 12, "difference": 0.0}, "above 0 and at most 1"),
        ({"releases": 12, "difference": 1.0}, "every change"),
        ({"releases": 12, "ratio": 0.5}, "must be above 1"),
        ({"releases": 12, "ratio": 1}, "at 1 nothing may be learned"),
        ({"releases": 0, "difference": 0.2}, "whole number"),
        ({"difference": 0.2}, "How many releases"),
        ({"releases": 3, "difference": 0.2, "weights": [1.0, 2.0]}, "one for each"),
        ({"difference": 0.2, "weights": [1.0, -2.0]}, "a weight is"),
        ({"difference": 0.2, "weights": [1.0], "growth": 2.0}, "Choose one"),
        ({"releases": 3, "difference": 0.2, "growth": 0.0}, "growth factor"),
        ({"releases": 300, "difference": 0.2, "growth": 2.0}, "nearer 1"),
        ({"releases": 12, "difference": 0.2, "delta_each": 0.01}, "give away 0.12"),
        ({"releases": 12, "difference": 0.2, "delta_total": 0.02}, "needs a smaller one"),
        (YEAR | {"delta_total": 1e-8, "delta_each": 1e-8}, "delta alone passes it"),
        (YEAR | {"about": "both", "delta_total": 1e-8, "delta_each": 1e-8}, "delta alone passes"),
        (YEAR | {"about": "value", "delta_total": 1e-8, "delta_each": 1e-8}, "delta alone passes"),
        ({"releases": 12, "difference": 0.2, "mechanism": "magic"}, "mechanism is"),
        ({"releases": 12, "difference": 0.2, "mechanism": "gaussian", "budget": "epsilon"}, "not"),
        ({"releases": 12, "difference": 0.2, "unit": "house"}, "unit is"),
        (
            {"releases": 2, "difference": 0.2, "mechanism": "geometric", "sensitivity": 1.9},
            "sensitivity is 1.9",
        ),
        ({"releases": 2, "difference": 0.2, "delta_total": 0, "delta_each": 1e-8}, "none of each"),
        ({"releases": 12, "difference": math.nan}, "difference is"),
        (YEAR | {"confidence": 1.0}, "strictly between 0 and 1"),
        (YEAR | {"on_average": True}, "holds in one of these ways"),
        ({"releases": 2, "ratio": 3, "every_output": True, "delta_each": 1e-8}, "pure DP alone"),
        ({"releases": 2, "ratio": 3, "every_output": True, "budget": "rho"}, "pure DP alone"),
        ({"releases": 2, "ratio": 3, "mechanism": "geometric", "strength": "exact"}, "confidence"),
        ({"releases": 2, "ratio": 3, "prior": 0.1, "adjacency": "replace"}, "prior of the value"),
        (
            {
                "releases": 2,
                "ratio": 3,
                "mechanism": "randomized-response",
                "adjacency": "add-remove",
            },
            "stated under 'local'",
        ),
        ({"releases": "2", "ratio": 3}, "releases is '2'"),
        ({"releases": 2, "difference": 1e-4, "delta_each": 0.004}, "delta alone passes it"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises((InputError, ToleranceError, GuaranteeError), match=words) as caught:
        plan(**arguments)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mechanism", ["geometric", "gaussian", "laplace"])
def test_few_bounds_are_asked_for(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bisection to 4e-15 takes some fifty; a smooth bound needs far fewer, and no side is lost."""
    from discreet.series import planning

    asked: list[float] = []
    ask = planning.kept

    def counted(*parts: Any, **how: Any) -> Any:
        found = ask(*parts, **how)
        asked.append(found.excess)
        return found

    monkeypatch.setattr(planning, "kept", counted)
    found = plan(**YEAR, mechanism=mechanism)  # type: ignore[arg-type]
    assert len(asked) <= 30
    allowed = limits_of(found.promise).one
    assert found.epsilon_prime <= allowed
    assert allowed - found.epsilon_prime < 1e-12


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        ({"confidence": 0.99}, {}),
        ({"confidence": 0.99}, {"mechanism": "gaussian"}),
        ({"confidence": 0.95}, {"delta_each": 1e-6}),
        ({"confidence": 0.99, "adjacency": "replace", "q": 0.05}, {}),
        ({"on_average": True, "about": "value", "q": 0.05}, {}),
    ],
)
def test_what_an_account_allows_a_release_is_taken_by_it_and_no_more(
    keys: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    """A plan said 0.04687 for each of twelve; the account of the same promise refused it."""
    prior = {} if "q" in keys else {"p": 0.05, "about": "membership"}
    asked = {"posterior": 0.12, **prior, **keys}
    found = plan(asked, 12, **more)
    account = found.on_account
    assert account is not None
    assert found.to_dict()["on_account"] == account
    for said, fits in ((found.per_release, False), (account, True)):
        amounts = {name: said[name] for name in ("epsilon", "delta", "rho")}
        each = stated(**amounts, adjacency=found.adjacency)
        book = Ledger.open(f"sqlite:///{tmp_path / str(fits)}.db")
        delta = {"delta": 12e-6} if more.get("delta_each") else {}
        terms = {"unit": "person", "adjacency": found.adjacency.value, "filter": account["filter"]}
        why = {"approver": "a", "reason": "r"}
        book.open_account("a", **terms, promise=found.promise, **delta, **why)
        with nullcontext() if fits else pytest.raises(BudgetExceeded):
            for _ in range(12):
                book.charge("a", each, purpose="p", who="w")
    (left,) = book.promises("a")
    assert left.left < 1e-9


PROMISES: tuple[dict[str, Any], ...] = (
    {"ratio": 3},
    {"ratio": 3, "about": "membership"},
    {"posterior": 0.12, "p": 0.05, "about": "membership"},
    {"difference": 0.2, "about": "value"},
    {"ratio": 2, "about": "value", "q": 0.05, "on_average": True},
)


@given(
    asked=st.sampled_from(PROMISES),
    confidence=st.sampled_from([0.9, 0.99, 0.999]),
    delta=st.sampled_from([None, 1e-9, 1e-6, 3e-5]),
    each=st.booleans(),
    budget=st.sampled_from(["epsilon", "rho"]),
    releases=st.integers(1, 60),
)
@settings(max_examples=examples(40), deadline=None, derandomize=True)
def test_a_release_of_the_account_that_a_plan_tells_fits_as_often_as_planned(
    asked: dict[str, Any],
    confidence: float,
    delta: float | None,
    each: bool,
    budget: Budget,
    releases: int,
) -> None:
    """The δ of the plan was ignored: an account that has it refused the last of the releases."""
    promise = asked if "on_average" in asked else asked | {"confidence": confidence}
    how: dict[str, Any] = {"budget": budget}
    if delta is not None:
        how["delta_each" if each else "delta_total"] = delta / releases if each else delta
    found = plan(promise, releases, **how)
    account = found.on_account
    if account is None:
        return
    at = account["cap"]["delta"] or None
    if delta is not None and not each:
        assert at == delta
    if budget == "epsilon":
        assert account["filter"] == Filter.needed(None, at, [found.promise])
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove"}
    opened = Account.opened("a", **terms, filter=account["filter"], cap=None)
    cap = derived_cap(opened, [found.promise], at)
    assert cap.to_dict("down") == account["cap"]
    amounts = {name: account[name] for name in ("epsilon", "delta", "rho")}
    cost = opened.cost(stated(**amounts)).times(releases)
    assert cost.within(cap)
    assert float(cost.lead) == pytest.approx(float(cap.lead), rel=1e-9)


def test_for_every_output_an_account_allows_what_is_planned() -> None:
    assert plan(12, posterior=0.12, p=0.05).on_account is None
    assert plan(12, ratio=3, confidence=0.99, budget="rho").on_account is None


@pytest.mark.parametrize("releases", [1, 3, 7, 12, 52])
@pytest.mark.parametrize("asked", [{"ratio": 3}, {"posterior": 0.12, "p": 0.05}])
def test_a_total_is_never_above_the_budget_that_its_plan_keeps(
    asked: dict[str, float], releases: int
) -> None:
    choice = choose(**asked)
    found = plan(choice, releases=releases)
    sum_of = Fraction(found.per_release["epsilon"]) * releases
    assert sum_of <= Fraction(found.total["epsilon"]) <= Fraction(choice.epsilon)

"""An OpenDP context has our budget and unit, and never a hair more; with the real OpenDP."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, PureDP
from discreet.noise.context import _unit
from discreet.promises import Difference, PosteriorUnlessRatio, Ratio
from soaking import examples

dp = import_module("opendp.prelude")
stable = settings(derandomize=True, deadline=None, max_examples=examples(40))
DATA = [1, 2, 3, 4]


def _decimal(amount: float) -> Fraction:
    """A budget as an account has it: the decimal that it prints, or the double, if that is less."""
    return min(Fraction(amount), Fraction(repr(amount)))


@pytest.mark.parametrize(
    "tolerance", [Ratio(3), PosteriorUnlessRatio(0.25, 3), Difference(0.2)], ids=str
)
def test_a_choice_is_a_filter_with_its_epsilon(tolerance: Any) -> None:
    choice = discreet.choose(tolerance)
    context = discreet.to_opendp(choice, DATA, contributions=3)
    assert context.d_in == 3
    assert str(context.accountant.output_measure) == "MaxDivergence"
    assert str(context.accountant.input_metric) == "SymmetricDistance()"
    assert Fraction(context.d_out) <= _decimal(choice.epsilon)
    assert context.d_out == pytest.approx(choice.epsilon, rel=1e-15)


def test_the_filter_lets_exactly_the_budget_through() -> None:
    choice = discreet.choose(Ratio(3))
    context = discreet.to_opendp(choice, DATA)
    context.query(epsilon=choice.epsilon * 0.9).count().laplace().release()
    with pytest.raises(dp.OpenDPException, match="filter is now exhausted"):
        context.query(epsilon=choice.epsilon * 0.2).count().laplace().release()


@pytest.mark.parametrize(
    ("adjacency", "metric"),
    [("add-remove", "SymmetricDistance()"), ("replace", "ChangeOneDistance()")],
)
def test_the_unit_follows_the_adjacency(adjacency: str, metric: str) -> None:
    choice = discreet.choose(Ratio(3), adjacency=adjacency)
    context = discreet.to_opendp(choice, DATA, contributions=2)
    assert (str(context.accountant.input_metric), context.d_in) == (metric, 2)


def test_a_local_promise_is_a_local_unit() -> None:
    context = discreet.to_opendp(
        PureDP(1.0, adjacency="local"), True, domain=dp.atom_domain(T=bool)
    )
    assert str(context.accountant.input_metric) == "DiscreteDistance()"


def test_delta_and_rho_go_over_as_such() -> None:
    both = discreet.to_opendp(ApproxDP(1.0, 1e-7), DATA)
    assert str(both.accountant.output_measure) == "Approximate(MaxDivergence)"
    assert both.d_out == (1.0, pytest.approx(1e-7, rel=1e-15))
    assert Fraction(both.d_out[1]) <= Fraction("1e-7")
    rho = discreet.to_opendp(ZCDP(0.125), DATA, releases=4)
    assert str(rho.accountant.output_measure) == "ZeroConcentratedDivergence"
    assert len(rho.d_mids) == 4
    assert sum(map(Fraction, rho.d_mids)) <= Fraction(1, 8)
    # The noise of one such query: sigma = sqrt(1/(2 rho)), and no less.
    scale = rho.query().count().gaussian().param()
    assert scale >= math.sqrt(1 / (2 * 0.125 / 4)) * (1 - 1e-12)


PLANS: dict[str, dict[str, Any]] = {
    "pure": {},
    "approximate": {"delta_each": 1e-8, "delta_total": 1e-6},
    "unequal": {"delta_each": 1e-8, "delta_total": 1e-6, "growth": 1.2},
    "weights": {"weights": [1, 2, 3, 4], "releases": None},
    "gaussian": {"mechanism": "gaussian"},
    "zcdp": {"budget": "rho"},
    "replaced": {"adjacency": "replace"},
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_gives_each_query_the_budget_of_its_release(kind: str) -> None:
    how = {"releases": 12} | PLANS[kind]
    plan = discreet.plan(how.pop("releases"), difference=0.2, **how)
    context = discreet.to_opendp(plan, DATA)
    assert len(context.d_mids) == plan.releases
    for got, has in zip(context.d_mids, plan.budgets, strict=True):
        epsilon, delta = got if isinstance(got, tuple) else (got, 0.0)
        assert Fraction(epsilon) <= _decimal(has)
        assert epsilon == pytest.approx(has, rel=1e-14)
        assert Fraction(delta) <= _decimal(plan.per_release["delta"] or 0.0)
    measure = "ZeroConcentratedDivergence" if plan.budget == "rho" else "MaxDivergence"
    assert measure in str(context.accountant.output_measure)
    if kind == "replaced":
        return  # OpenDP counts under its symmetric distance only
    for _ in plan.budgets:
        query = context.query().count()
        (query.gaussian() if plan.budget == "rho" else query.laplace()).release()
    with pytest.raises(ValueError, match="exhausted"):
        context.query()


@stable
@given(st.floats(1e-6, 20))
def test_no_double_is_above_the_decimal(epsilon: float) -> None:
    context = discreet.to_opendp(PureDP(epsilon), DATA)
    assert Fraction(context.d_out) <= min(Fraction(epsilon), Fraction(repr(epsilon)))
    assert context.d_out >= math.nextafter(epsilon, 0)


def test_an_identifier_names_the_unit() -> None:
    """A frame with identifiers needs the one Polars that an OpenDP was built for; the unit not."""
    metric, most = _unit(dp, Adjacency.ADD_REMOVE, 2, "person")
    assert "person" in str(metric)
    assert most == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"budget": PureDP(math.inf)}, "unbounded"),
        ({"budget": ApproxDP(math.inf, 0.1)}, "unbounded"),
        ({"budget": PureDP(1.0), "contributions": 0}, "contributions"),
        ({"budget": PureDP(1.0), "releases": 0}, "releases"),
    ],
)
def test_what_is_no_budget_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises((GuaranteeError, InputError), match=says):
        discreet.to_opendp(arguments.pop("budget"), DATA, **arguments)


def test_a_plan_says_itself_how_many() -> None:
    with pytest.raises(InputError, match="plan has its own number"):
        discreet.to_opendp(discreet.plan(3, difference=0.2), DATA, releases=3)


def test_a_curve_is_no_budget() -> None:
    curve = discreet.PrivacyCurve("c", lambda epsilon: 0.0)
    with pytest.raises(GuaranteeError, match="not a budget of a Context"):
        discreet.to_opendp(curve, DATA)  # type: ignore[arg-type]

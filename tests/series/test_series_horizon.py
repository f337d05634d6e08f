"""Horizons: every value of KSZ §4.2 and its errata; monotone, finite, refused where due."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import rounding
from discreet.composition.curves import epsilon_prime
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import Gaussian, Geometric, Laplace, RandomizedResponse
from discreet.promises import Promise, Ratio
from discreet.series import horizon, horizons
from losses import bound_of
from soaking import thinned

DAILY = ZCDP(0.01)
DAILY_NOISE = Gaussian.of_rho(0.01)


@pytest.mark.parametrize(
    ("each", "how", "posterior_99", "difference_98"),
    [
        (DAILY, {"method": "paper"}, 58, 202),
        (DAILY, {}, 79, 246),
        (DAILY_NOISE, {}, 97, 294),
        (DAILY_NOISE, {"strength": "exact"}, 112, 326),
    ],
    ids=["paper", "any zCDP", "Gaussian curve", "Gaussian exact"],
)
def test_example_4_1(each, how, posterior_99: int, difference_98: int) -> None:  # type: ignore[no-untyped-def]
    assert horizon(each, 0.5, posterior_limit=0.99, **how).releases == posterior_99
    same = horizon(each, posterior=0.99, p=0.5, about="membership", confidence=0.99, **how)
    assert same.releases == posterior_99
    found = horizon(each, difference_limit=0.98, about="membership", **how)
    assert found.releases == difference_98
    same = horizon(each, difference=0.98, about="membership", confidence=0.99, **how)
    assert same.releases == difference_98
    assert found.series[-2].difference <= 0.98 < found.series[-1].difference


@pytest.mark.parametrize(
    ("method", "delta", "sided", "releases"),
    [
        ("basic", 1e-6, "two", 28),
        ("advanced", 1e-6, "two", 26),  # worse than basic; 51 in print is another δ
        ("optimal", 1e-6, "two", 45),  # 96 in print is another δ
        ("basic", None, "two", 28),
        ("advanced", None, "two", 49),
        ("tanh", None, "two", 54),
        ("optimal", None, "two", 134),
        (None, None, "two", 134),
        ("advanced", None, "one", 51),
        ("tanh", None, "one", 56),
        ("optimal", None, "one", 144),
    ],
)
def test_figure_3(method: str | None, delta: float | None, sided: str, releases: int) -> None:
    found = horizon(
        PureDP(0.05),
        0.5,
        posterior_limit=0.8,
        confidence=0.95,
        method=method,
        delta=delta,
        sided=sided,  # type: ignore[arg-type]
    )
    assert found.releases == releases


@pytest.mark.parametrize(
    ("strength", "sided", "releases"),
    [("exact", "two", 174), ("exact", "one", 186), (None, "two", 134)],
)
def test_figure_3_for_geometric_noise(strength, sided, releases: int) -> None:  # type: ignore[no-untyped-def]
    found = horizon(
        Geometric(0.05), 0.5, posterior_limit=0.8, confidence=0.95, strength=strength, sided=sided
    )
    assert found.releases == releases
    assert found.survives_post_processing is (strength is None)


def test_the_series_has_the_contracts_keys() -> None:
    out = json.loads(json.dumps(horizon(DAILY, 0.5, posterior_limit=0.9).to_dict()))
    assert [step["k"] for step in out["series"]] == list(range(1, out["releases"] + 1))
    assert set(out["series"][0]) == {"k", "posterior", "difference"}
    assert out["mechanism"] is None
    assert "Gaussian" in horizon(DAILY_NOISE, 0.5, upto=2).to_dict()["mechanism"]
    assert horizon(DAILY, 0.5, upto=2)._repr_html_().startswith("<table>")
    assert horizon(DAILY, difference_limit=0.3).series[0].posterior is None
    longer = horizon(DAILY, 0.5, posterior_limit=0.9, upto=100)
    assert len(longer.series) == 100
    assert longer.releases == out["releases"]


def test_passing_is_strictly_greater() -> None:
    found = horizon(
        PureDP(0.25), 0.5, difference_limit=math.tanh(2 * 0.25 / 4) + 1e-12, method="basic"
    )
    assert found.releases == 3


def test_nothing_passes() -> None:
    never = horizon(PureDP(0.5), 0.5, posterior_limit=1.0)
    assert never.releases is None
    assert never.to_dict()["releases"] is None
    silent = horizon(PureDP(0.0), difference_limit=0.5)
    assert silent.releases is None
    assert silent.series[-1].difference == 0
    short = horizon(DAILY, 0.5, posterior_limit=0.99, upto=10)
    assert short.releases is None
    assert short.searched == 10


def test_delta_of_each_release_runs_out() -> None:
    found = horizon(ApproxDP(0.001, 1e-3), 0.5, posterior_limit=0.9999, method="basic")
    assert found.releases == 10  # 10 · 1e-3 leaves no room below 0.01
    assert found.series[-1].posterior == 1.0


@pytest.mark.parametrize("k", [1, 2, 5])
def test_what_each_release_may_give_away_is_counted(k: int) -> None:
    """Of (ε, δ)-DP releases, δ each gives all away: no bound may forget it."""
    for delta in (1e-12, 1e-4, 1e-3):
        bound = bound_of([(ApproxDP(0.1, delta), k)], 0.01)
        assert bound.failure == 0.01
        # One release alone is exactly Theorem 3.9; more cannot tell less.
        assert bound.epsilon_prime >= epsilon_prime(0.1, delta, 0.01) * (1 - 1e-12)


def test_probabilistic_releases_add_up() -> None:
    found = horizon(ProbabilisticDP(0.5, 1e-4), 0.5, posterior_limit=0.9)
    assert found.releases == math.floor(math.log(9) / 0.5) + 1
    assert not found.survives_post_processing


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.floats(0.01, 0.4), st.floats(0.001, 0.2), st.sampled_from(["one", "two"]))
def test_bounds_only_grow_and_strength_orders_them(
    epsilon: float, failure: float, sided: str
) -> None:
    confidence = 1 - failure
    common = {"upto": 25, "confidence": confidence, "sided": sided}
    basic = horizon(PureDP(epsilon), 0.3, method="basic", **common)  # type: ignore[arg-type]
    optimal = horizon(PureDP(epsilon), 0.3, **common)  # type: ignore[arg-type]
    exact = horizon(Geometric(epsilon), 0.3, strength="exact", **common)  # type: ignore[arg-type]
    advanced = horizon(PureDP(epsilon), 0.3, method="advanced", **common)  # type: ignore[arg-type]
    tanh = horizon(PureDP(epsilon), 0.3, method="tanh", **common)  # type: ignore[arg-type]
    for found in (basic, optimal, exact, advanced, tanh):
        values = [step.difference for step in found.series]
        assert values == sorted(values)
    for e, o, b, a, t in zip(
        exact.series, optimal.series, basic.series, advanced.series, tanh.series, strict=True
    ):
        slack = 1 + 1e-7
        assert e.epsilon_prime <= o.epsilon_prime * slack
        assert o.epsilon_prime <= b.epsilon_prime * slack
        assert o.epsilon_prime <= t.epsilon_prime * slack <= a.epsilon_prime * slack * slack


@pytest.mark.parametrize("k", [1, 10, 1_000, 100_000, 1_000_000])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 50.0])
def test_extremes_are_finite_and_monotone(epsilon: float, k: int) -> None:
    for each in (PureDP(epsilon), Geometric(epsilon), ZCDP(epsilon), Gaussian.of_rho(epsilon)):
        bounds = [
            bound_of([(each, times)], failure).epsilon_prime
            for times in (k, k + 1)
            for failure in (0.05, 1e-9)
        ]
        assert all(0 < x < math.inf for x in bounds)
        assert bounds[0] <= bounds[1]
        assert bounds[0] <= bounds[2] * (1 + 1e-9)


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12])
def test_tiny_deltas(delta: float) -> None:
    for each in (PureDP(0.01), ApproxDP(0.01, delta / 1e7), Geometric(0.01), ZCDP(1e-4)):
        for k in (10, 10_000):
            value = bound_of([(each, k)], 0.01, delta=delta).epsilon_prime
            assert 0 < value < math.inf


def test_long_horizons_are_found() -> None:
    found = horizon(PureDP(1e-9), 0.5, posterior_limit=0.99)
    assert found.releases is None
    assert found.searched == 1_000_000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: horizon(DAILY), "No limit"),
        (lambda: horizon(DAILY, posterior_limit=0.9), "Give the prior"),
        (lambda: horizon(DAILY, 0.5, posterior_limit=1.5), "so 1.5 % is 0.015"),
        (lambda: horizon(DAILY, 0.5, posterior_limit=math.nan), "posterior is nan"),
        (lambda: horizon(DAILY, 0.5, posterior_limit=0.4), "may learn nothing"),
        (lambda: horizon(DAILY, 1.5, upto=3), "above 0 and at most at 1"),
        (lambda: horizon(PureDP(0.1, adjacency="local"), 0.5, upto=3), "prior of the value as q"),
        (lambda: horizon(ZCDP(0.1), ratio=3, every_output=True), "pure DP alone"),
        (
            lambda: horizon(PureDP(0.1, adjacency="replace"), Ratio(3)),
            "stated under 'replace', not 'add-remove'",
        ),
        (
            lambda: horizon(PureDP(0.1), Promise(Ratio(3), adjacency="replace")),
            "stated under 'add-remove', not 'replace'",
        ),
        (
            lambda: horizon(
                Geometric(0.1), ratio=3, adjacency="replace", spent=PureDP(0.1), confidence=0.9
            ),
            "stated under 'add-remove', not 'replace'",
        ),
        (lambda: horizon(DAILY, 0.5, upto=0), "upto is"),
        (lambda: horizon(DAILY, 0.5, upto=5, method="optimal"), "must be left out"),
        (lambda: horizon(PureDP(1.0), 0.5, upto=5, method="paper"), "needs zCDP"),
        (lambda: horizon(PureDP(1.0), 0.5, upto=5, method="best"), "must be one of"),
        (lambda: horizon(ApproxDP(1.0, 0.02), 0.5, upto=5), "spends more delta"),
        (lambda: horizon(object(), 0.5, upto=5), "neither a guarantee"),
        (
            lambda: bound_of([(PureDP(1.0), 1), (PureDP(1.0, adjacency="replace"), 1)], 0.01),
            "different adjacencies",
        ),
        (lambda: bound_of([(PureDP(1.0), 1), (Laplace(1.0), 1)], 0.01), "mixes guarantees"),
        (
            lambda: bound_of([(PureDP(1.0), 1), (PrivacyCurve("c", lambda e: 0.0), 1)], 0.01),
            "of one kind",
        ),
        (
            lambda: bound_of([(PureDP(1.0), 1), (ZCDP(1.0), 1)], 0.01, method="optimal"),
            "of one kind",
        ),
        (lambda: bound_of([], 0.01), "empty"),
    ],
)
def test_refusals(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((InputError, GuaranteeError), match=words) as caught:
        call()
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.floats(0.05, 0.8), st.sampled_from([0.0, 1e-6, 1e-3])), min_size=2, max_size=7
    ),
    st.sampled_from([0.01, 0.1]),
    st.sampled_from(["one", "two"]),
)
def test_unequal_promises_against_all_outcomes(
    promises: list[tuple[float, float]], failure: float, sided: str
) -> None:
    """Every pattern of worst-case losses, one by one: never below the truth, and close to it."""
    kept = math.prod(1 - delta for _, delta in promises)
    outcomes = [(0.0, 1.0)]
    for epsilon, _ in promises:
        up_ = math.exp(epsilon) / (1 + math.exp(epsilon))
        outcomes = [
            (loss + sign * epsilon, p * (up_ if sign > 0 else 1 - up_))
            for loss, p in outcomes
            for sign in (1, -1)
        ]

    def delta_at(e: float) -> float:
        rest = math.fsum(p * -math.expm1(e - loss) for loss, p in outcomes if loss > e)
        return 1 - kept * (1 - rest)

    places = {max(0.0, loss) for loss, _ in outcomes}  # a curve linear in e^ε bends only here
    truth = min(
        epsilon_prime(e, delta_at(e), failure, sided) for e in places if delta_at(e) < failure
    )
    ours = bound_of([(ApproxDP(*promise), 1) for promise in promises], failure, sided).epsilon_prime
    assert ours >= truth * (1 - 1e-9)
    assert ours <= truth * (1 + 1e-3)


PARTS = [
    Gaussian.of_rho(0.01),
    Geometric(0.05, 1),
    RandomizedResponse(0.2),
    Laplace(0.2),
    PureDP(0.05),
    ApproxDP(0.05, 1e-6),
    ZCDP(0.01),
]


@pytest.mark.parametrize(
    ("each", "strength", "limit"),
    thinned(product(PARTS, ["generic", "curve", "exact"], [0.6, 0.8, 0.95]), 2),
)
def test_a_glance_finds_what_a_walk_finds(each: Any, strength: Any, limit: float) -> None:
    how: dict[str, Any] = {"posterior_limit": limit, "strength": strength, "confidence": 0.95}
    local = isinstance(each, RandomizedResponse)  # which protects an answer, not that one was given
    how |= {"q": 0.5} if local else {"prior": 0.5}
    walked = horizon(each, **how)
    seen = horizon(each, most=9, **how)
    assert seen.releases == walked.releases
    assert seen.strength == walked.strength
    assert seen.series[0].k == 1
    assert seen.series[-1].k == seen.releases
    assert len(seen.series) <= 11
    at = {step.k: step for step in walked.series}
    for step in seen.series:
        assert step.posterior == pytest.approx(at[step.k].posterior, rel=1e-6)


def test_a_glance_stops_where_it_is_told_to() -> None:
    found = horizon(ZCDP(1e-9), 0.5, posterior_limit=0.99, most=5, ceiling=400)
    assert (found.releases, found.searched) == (None, 400)
    assert [step.k for step in found.series][-1] == 400
    some = horizon(ZCDP(0.01), 0.5, posterior_limit=0.99, upto=200, most=5)
    assert some.releases == 79
    assert {1, 78, 79, 200} <= {step.k for step in some.series}
    with pytest.raises(InputError, match="most is 0"):
        horizon(ZCDP(0.01), upto=5, most=0)


@pytest.mark.parametrize("each", [Laplace(0.1), Laplace(1.0), DAILY_NOISE, Geometric(0.05)])
def test_a_search_that_is_pointed_somewhere_finds_what_one_from_nothing_finds(each: Any) -> None:
    found = horizon(each, 0.5, posterior_limit=0.9, upto=150, most=12, confidence=0.99)
    for step in found.series:
        alone = bound_of([(each, step.k)], 0.01).epsilon_prime
        assert step.epsilon_prime == pytest.approx(alone, rel=1e-7)


@pytest.mark.parametrize(
    ("promise", "most"),
    [({"p": 0.1, "about": "membership"}, 32), ({"p": 0.5, "q": 0.1}, 120)],
)
def test_a_picture_of_ten_years_costs_few_transforms(promise, most) -> None:
    """The first release that passes, and sixteen points of 3,650 releases, as the page asks."""
    from discreet.composition.grid import loss

    horizons._bound.cache_clear()
    loss._window.cache_clear()
    how = {"posterior": 0.5, "confidence": 0.99, "strength": "curve", **promise}
    until = horizon(Laplace(0.05), most=2, ceiling=10_000, **how)
    found = horizon(Laplace(0.05), most=16, upto=3650, **how)
    series = found.series
    assert loss._window.cache_info().misses <= most
    assert until.releases == found.releases
    assert [step.k for step in series][-1] == 3650


@pytest.mark.parametrize("releases", [1, 3, 12, 52])
@pytest.mark.parametrize("confidence", [None, 0.99])
def test_a_budget_that_is_shown_rounded_up_is_named_where_it_passes_alone(
    releases: int, confidence: float | None
) -> None:
    """The ε of a slot, typed from what a plan prints, was kept for one release fewer."""
    limit: dict[str, Any] = {"posterior": 0.25, "unless_ratio": 3}
    kind: Any = PureDP if confidence is None else ZCDP
    limit |= {} if confidence is None else {"confidence": confidence}
    budget: Any = "epsilon" if confidence is None else "rho"
    most = discreet.plan(releases=releases, budget=budget, **limit).budgets[0]
    shown = rounding.number(most, "up", 6)
    typed = kind(float(shown))
    found = horizon(typed, **limit)
    assert float(shown) > most
    assert found.releases == releases
    less = rounding.number(most, "down", 6).rstrip("0")
    assert found.rounding is not None
    assert (shown in found.rounding, f"= {less} each" in found.rounding) == (True, True)
    assert f"kept for {releases} release" in found.rounding
    assert horizon(kind(float(less)), **limit).releases == releases + 1
    # With all digits, or far from the limit, rounding explains nothing.
    assert horizon(kind(1.5 * most), **limit).rounding is None
    assert horizon(kind(most), **limit).rounding is None

"""Membership and value at once: against three laws that are known completely."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior, bounds, explain
from discreet.beliefs.bounds import along, best_split, ratio_bounds, two_steps, worst_priors
from discreet.budgets.keeping import rectangle
from discreet.composition.curves import best_point, epsilon_prime
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.laws import Gaussian, Geometric
from discreet.promises import promise_in
from discreet.rounding import percent
from soaking import examples

fixed = settings(derandomize=True, deadline=None, max_examples=examples(300))
Law = list[float]


def hockey_stick(a: Law, b: Law, epsilon: float) -> float:
    return sum(max(0.0, x - math.exp(epsilon) * y) for x, y in zip(a, b, strict=True))


def delta_between(a: Law, b: Law, epsilon: float) -> float:
    return max(hockey_stick(a, b, epsilon), hockey_stick(b, a, epsilon))


@st.composite
def laws(draw: st.DrawFn, count: int) -> list[Law]:
    """Some laws on the same few outputs: alike on most, far apart on rare ones."""
    size = draw(st.integers(2, 6))
    out = []
    for _ in range(count):
        logs = draw(st.lists(st.floats(-12, 0), min_size=size, max_size=size))
        weights = [math.exp(x) for x in logs]
        out.append([w / sum(weights) for w in weights])
    return out


def chance(law: Law, event: list[bool]) -> float:
    return sum(p for p, happens in zip(law, event, strict=True) if happens)


@pytest.mark.slow
@fixed
@given(
    laws(3),
    st.floats(0.01, 3),
    st.floats(0.01, 1),
    st.floats(0.01, 1),
    st.floats(0.001, 0.9),
    st.sampled_from(["one", "two"]),
    st.sampled_from([None, 0.1, 0.5, 0.9]),
)
def test_the_bound_fails_no_more_often_than_stated(
    three: list[Law],
    epsilon: float,
    p: float,
    q: float,
    failure: float,
    sided: str,
    split: float | None,
) -> None:
    sensitive, other, absent = three
    delta = max(delta_between(sensitive, absent, epsilon), delta_between(other, absent, epsilon))
    assume(delta < 0.5 * failure)
    point = (epsilon, delta * (1 + 1e-9))
    prior = Prior(p, q)
    low, high = ratio_bounds(prior, point, two_steps(point), failure, sided, split=split)
    r = [
        1 / (p * q + (1 - q) * p * y / x + (1 - p) * z / x)
        for x, y, z in zip(sensitive, other, absent, strict=True)
    ]
    outside = [value > high * (1 + 1e-9) or value < low * (1 - 1e-9) for value in r]
    for truth in three:
        assert chance(truth, outside) <= failure * (1 + 1e-9)


@fixed
@given(laws(2), st.floats(0, 3), st.floats(0.001, 0.9), st.sampled_from(["one", "two"]))
def test_theorem_3_9_against_known_laws(
    two: list[Law], epsilon: float, failure: float, sided: str
) -> None:
    inside, outside = two
    delta = delta_between(inside, outside, epsilon) * (1 + 1e-9)
    assume(delta < failure)
    bound = epsilon_prime(epsilon, delta, failure, sided)
    curve = best_point(
        lambda e: delta_between(inside, outside, e) * (1 + 1e-9), failure, sided
    ).epsilon_prime
    assert curve <= bound * (1 + 1e-6) + 1e-9
    losses = [math.log(x / y) for x, y in zip(inside, outside, strict=True)]
    for limit in (bound, curve):
        slack = limit + 1e-9
        far = [x > slack or (sided == "two" and x < -slack) for x in losses]
        for truth in two:
            assert chance(truth, far) <= failure * (1 + 1e-9)


@fixed
@given(st.floats(0.01, 1), st.floats(0.01, 0.99), st.floats(0.01, 3), st.floats(1e-9, 1e-4))
def test_the_best_split_is_best(p: float, q: float, epsilon: float, delta: float) -> None:
    prior, point = Prior(p, q), (epsilon, delta)
    best = ratio_bounds(prior, point, two_steps(point), 0.05, "one")[1]
    for i in range(101):
        other = ratio_bounds(prior, point, two_steps(point), 0.05, "one", split=i / 100)[1]
        assert best <= other * (1 + 1e-12)
    assert 0 <= best_split(prior, point, two_steps(point), 0.05) <= 1


@fixed
@given(st.floats(0.01, 0.99), st.floats(0.01, 2), st.floats(0.01, 1))
def test_without_delta_it_is_theorem_1_of_kazan_and_reiter(
    q: float, epsilon: float, p: float
) -> None:
    prior = Prior(p, q)
    low, high = ratio_bounds(prior, (epsilon, 0.0), two_steps((epsilon, 0.0)), 0.01)
    true_low, true_high = bounds.ratio(epsilon, prior)
    assert high == pytest.approx(true_high, rel=1e-12)
    assert low == pytest.approx(true_low, rel=1e-12)


@fixed
@given(st.floats(0.02, 0.98), st.floats(0.05, 2), st.floats(0.01, 1))
def test_no_prior_is_worse_than_the_worst(q: float, epsilon: float, p: float) -> None:
    point = (epsilon, 1e-7)
    (_, ratio), (_, difference) = worst_priors(q, point, two_steps(point), 0.01)
    high = ratio_bounds(Prior(p, q), point, two_steps(point), 0.01, split=0.5)[1]
    assert high <= ratio * (1 + 1e-9)
    assert p * q * (high - 1) <= difference * (1 + 1e-9)


@fixed
@given(
    st.one_of(st.floats(1e-290, 1e-3), st.floats(0.01, 0.99)),
    st.floats(0.05, 800),
    st.sampled_from([0.0, 1e-200, 1e-3, 0.4]),
    st.one_of(st.floats(1e-9, 1e-3), st.floats(0.01, 1)),
)
def test_the_worst_is_the_worst_where_a_term_is_dropped(
    q: float, epsilon: float, delta: float, p: float
) -> None:
    point = (epsilon, delta)
    (_, ratio), (_, difference) = worst_priors(q, point, two_steps(point), 0.01)
    high = ratio_bounds(Prior(p, q), point, two_steps(point), 0.01, split=0.5)[1]
    assert high <= ratio * (1 + 1e-9)
    assert p * q * (high - 1) <= difference * (1 + 1e-9)
    assert 0 <= difference <= 1


def test_curves_are_tighter_than_one_point() -> None:
    from discreet.composition import loss_of

    loss = loss_of((Gaussian.of_rho(0.05), 1))
    curve = loss.curve()
    prior = Prior(0.2, 0.3)
    best = ratio_bounds(prior, along(curve.delta_at), along(curve.under("replace").delta_at), 0.01)[
        1
    ]
    for delta in (1e-3, 1e-4, 1e-6):
        point = (loss.epsilon(delta), delta)
        assert best <= ratio_bounds(prior, point, two_steps(point), 0.01)[1]


@pytest.mark.parametrize("stated", [ApproxDP(1.0, 1e-6), ZCDP(0.05), Gaussian(4.0)])
def test_explain_uses_it_for_a_strong_adversary_only(stated: object) -> None:
    belief = explain(stated, Prior(0.2, 0.3))
    assert belief.holds_with == 0.99
    assert belief.epsilon_prime is None
    assert "strong adversary" in belief.assumptions.adversary
    assert "which value" in belief.assumptions.adversary
    known = explain(stated, 0.06)
    assert known.posterior is not None
    assert belief.posterior is not None
    assert belief.posterior.upper > known.posterior.upper  # two steps tell more than one


def test_counting_the_sensitive_alone_needs_one_step_only() -> None:
    stated = ApproxDP(1.0, 1e-6)
    narrow = explain(stated, Prior(0.2, 0.3), counts_sensitive_only=True)
    assert narrow.ratio.upper == pytest.approx(explain(stated, 0.06).ratio.upper)


def test_a_pure_mechanism_keeps_the_bound_for_every_output() -> None:
    belief = explain(Geometric(0.5), Prior(0.2, 0.3))
    assert belief.holds_with == 1.0
    assert belief.ratio.upper == pytest.approx(
        explain(PureDP(0.5), Prior(0.2, 0.3)).ratio.upper, rel=1e-12
    )


@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_laws_as_far_apart_as_the_promise_allows(
    order: tuple[int, ...], epsilon: float, sided: str
) -> None:
    """One rare output, each law above the one before by all that (ε, δ) allows.

    Its probability is set against failure probabilities around it, in whichever of the three worlds
    it is likeliest: a bound that forgets a world, or a step, is found out.
    """
    delta = 1e-5
    for i, j in itertools.product(range(-8, 9), range(14)):
        chain = [delta * 10 ** (i / 4)]
        for _ in range(2):
            chain.append(math.exp(epsilon) * chain[-1] + delta)
        if chain[-1] > 0.2:
            continue
        sensitive, other, absent = three = [[chain[k], 1 - chain[k]] for k in order]
        apart = max(delta_between(x, absent, epsilon) for x in (sensitive, other))
        point, failure = (epsilon, apart * (1 + 1e-9)), chain[-1] * 1.3 ** (1 - j)
        if not point[1] < failure < 1:
            continue
        for p, q, split in itertools.product((0.05, 0.9), (0.05, 0.999), (None, 0.5)):
            bounds = ratio_bounds(Prior(p, q), point, two_steps(point), failure, sided, split=split)
            outside = [
                not bounds[0] * (1 - 1e-9) <= value <= bounds[1] * (1 + 1e-9)
                for x, y, z in zip(sensitive, other, absent, strict=True)
                for value in [1 / (p * q + (1 - q) * p * y / x + (1 - p) * z / x)]
            ]
            assert max(chance(truth, outside) for truth in three) <= failure * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_both_directions_may_fail_at_once(epsilon: float) -> None:
    """Two rare outputs, one for each direction: their failures add up."""
    delta, orders = 1e-5, list(itertools.permutations(range(3)))
    for up_order, down_order, i, j in itertools.product(orders, orders, range(-4, 5), range(8)):
        chain = [delta * 10 ** (i / 3)]
        for _ in range(2):
            chain.append(math.exp(epsilon) * chain[-1] + delta)
        three = [
            [chain[a], chain[b], 1 - chain[a] - chain[b]]
            for a, b in zip(up_order, down_order, strict=True)
        ]
        sensitive, other, absent = three
        apart = max(delta_between(x, absent, epsilon) for x in (sensitive, other))
        point, failure = (epsilon, apart * (1 + 1e-9)), 2 * chain[-1] * 1.2**-j
        if not point[1] < failure < 0.5:
            continue
        p, q = 0.5, 0.999
        low, high = ratio_bounds(Prior(p, q), point, two_steps(point), failure)
        outside = [
            not low * (1 - 1e-9) <= value <= high * (1 + 1e-9)
            for x, y, z in zip(*three, strict=True)
            for value in [1 / (p * q + (1 - q) * p * y / x + (1 - p) * z / x)]
        ]
        assert max(chance(truth, outside) for truth in three) <= failure * (1 + 1e-9)


@pytest.mark.parametrize(("before", "after"), [(0.01, 0.2), (0.05, 0.2), (0.1, 0.3), (0.15, 0.5)])
def test_a_promise_about_a_value_that_is_used_up_reads_as_it_was_made(
    before: float, after: float
) -> None:
    """The bound beside 20 % was 20.1 %: 0.2000000136, with a share lost on a step not taken."""
    keys = {"posterior": after, "q": before, "about": "value", "confidence": 0.99}
    rho = rectangle(promise_in(keys), "zcdp", 0.0)["rho"]
    found = explain(ZCDP(rho), Prior(1.0, before), confidence=0.99).posterior
    assert found is not None
    assert found.upper >= after * (1 - 1e-9)
    assert percent(found.upper, "up", 1) == f"{100 * after:.1f} %"

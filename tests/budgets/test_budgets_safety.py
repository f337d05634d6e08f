"""A chosen budget keeps its tolerance exactly, in 50 digits, at any prior."""

import math
from itertools import pairwise

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet import choose
from discreet.beliefs import Prior, bounds
from discreet.beliefs.one_prior import epsilon_for_ratio, range_for_posterior
from discreet.errors import ToleranceError
from discreet.guarantees import Adjacency
from discreet.promises import Box, Difference, Posterior, PosteriorUnlessRatio, Ratio
from soaking import examples

mp.mp.dps = 60
stable = settings(derandomize=True, deadline=None, max_examples=examples(300))
exponents = st.floats(-12, 0)
probabilities = exponents.map(lambda x: min(1.0, 10.0**x)) | st.floats(1e-12, 1.0)
ratios = st.floats(-12, 12).map(lambda x: 1 + 10.0**x)


def bound(epsilon, p, q):
    """K&R Theorem 1, from exact copies of the doubles."""
    e, p, q = mp.mpf(epsilon), mp.mpf(p), mp.mpf(q)
    return 1 / (p * q + mp.exp(-2 * e) * (1 - q) * p + mp.exp(-e) * (1 - p))


@stable
@given(probabilities, probabilities, ratios)
def test_one_prior_is_safe_and_tight(p, q, r):
    epsilon = epsilon_for_ratio(p, q, r)
    if math.isinf(epsilon):
        assert mp.mpf(p) * mp.mpf(q) * mp.mpf(r) >= 1
        return
    assert bound(epsilon, p, q) <= mp.mpf(r)
    # Tight: a slightly larger budget breaks it, unless 1/r − pq has no digits left.
    slack = mp.mpf(1) / mp.mpf(r) - mp.mpf(p) * mp.mpf(q)
    if slack * mp.mpf(r) > mp.mpf(10) ** -6:
        assert bound(epsilon * (1 + 1e-8), p, q) > mp.mpf(r)


@stable
@given(probabilities, probabilities, st.floats(1e-13, 0.999999))
def test_one_posterior_is_safe(p, q, a):
    assume(p * q < a)
    epsilon = range_for_posterior(p, q, a).lower
    assert bound(epsilon, p, q) * mp.mpf(p) * mp.mpf(q) <= mp.mpf(a)


@st.composite
def boxes(draw):
    p = sorted((draw(probabilities), draw(probabilities)))
    q = sorted((draw(probabilities), draw(probabilities)))
    if draw(st.booleans()):
        p[0] = 0.0
    if draw(st.booleans()):
        q[0] = 0.0
    if draw(st.booleans()):
        p[1] = 1.0
    return Box(p[0], p[1], q[0], q[1])


@st.composite
def shapes(draw):
    box = draw(boxes())
    kind = draw(st.sampled_from(["ratio", "posterior", "unless", "difference"]))
    if kind == "ratio":
        return Ratio(draw(ratios), box)
    if kind == "unless":
        return PosteriorUnlessRatio(draw(st.floats(0, 1)), draw(ratios), box)
    if kind == "difference":
        return Difference(draw(st.floats(1e-9, 1)), box)
    highest = box.p1 * box.q1
    assume(highest < 0.999)
    return Posterior(highest + (1 - highest) * draw(st.floats(1e-6, 1)), box)


def exact_ratio(tolerance, p, q):
    """r*(p, q) in 60 digits."""
    s = mp.mpf(p) * mp.mpf(q)
    match tolerance:
        case Ratio(ratio, _):
            return mp.mpf(ratio)
        case Posterior(a, _):
            return mp.mpf(a) / s
        case PosteriorUnlessRatio(a, r, _):
            return max(mp.mpf(a) / s, mp.mpf(r))
        case Difference(b, _):
            return 1 + mp.mpf(b) / s
    raise AssertionError


@stable
@given(shapes(), st.floats(0, 1), st.floats(0, 1))
def test_a_chosen_budget_keeps_every_prior(tolerance, x, y):
    try:
        choice = choose(tolerance)
    except ToleranceError:  # no budget above 0 keeps it: nothing is promised
        return
    box = tolerance.box
    priors = [(box.p0 + x * (box.p1 - box.p0), box.q0 + y * (box.q1 - box.q0))]
    priors += [(p, q) for p in (box.p0, box.p1) for q in (box.q0, box.q1)]
    priors.append((choice.binding.p, choice.binding.q))
    for p, q in priors:
        p, q = min(max(p, box.p0, 1e-12), box.p1), min(max(q, box.q0, 1e-12), box.q1)
        if math.isinf(choice.epsilon):
            assert 1 / (mp.mpf(p) * mp.mpf(q)) <= exact_ratio(tolerance, p, q)
        else:
            assert bound(choice.epsilon, p, q) <= exact_ratio(tolerance, p, q)


@stable
@given(shapes())
def test_certificate_holds_at_the_binding_prior(tolerance):
    """The infimum lies at or below `upper`: at the binding prior, more than that breaks it."""
    try:
        choice = choose(tolerance, sided="one")
    except ToleranceError:
        return
    assert choice.certificate.lower == choice.epsilon
    assert choice.certificate.lower <= choice.certificate.upper
    if math.isinf(choice.epsilon) or not choice.binding.attained:
        return
    p, q = choice.binding.p, choice.binding.q
    if not math.isinf(choice.certificate.upper):
        beyond = choice.certificate.upper * (1 + 1e-9)
        assert bound(beyond, p, q) >= exact_ratio(tolerance, p, q) * (1 - mp.mpf(10) ** -15)


@stable
@given(st.floats(0, 30), probabilities, probabilities, st.sampled_from(list(Adjacency)))
def test_bounds_round_outward(epsilon, p, q, adjacency):
    low, high = bounds.ratio(epsilon, Prior(p, q), bounds.steps_between(adjacency))
    if adjacency is Adjacency.ADD_REMOVE:
        true_high, true_low = bound(epsilon, p, q), bound(-epsilon, p, q)
    else:
        s, e = mp.mpf(p) * mp.mpf(q), mp.mpf(epsilon)
        true_high = 1 / (s + mp.exp(-e) * (1 - s))
        true_low = 1 / (s + mp.exp(e) * (1 - s))
    assert mp.mpf(low) <= true_low
    assert true_high <= mp.mpf(high)
    assert high <= float(true_high) * (1 + 1e-13)


@stable
@given(st.floats(1e-9, 20), probabilities, st.booleans())
def test_worst_priors_are_worst(epsilon, q, sensitive_only):
    steps = bounds.steps_between(Adjacency.ADD_REMOVE, sensitive_only)
    p, worst = bounds.worst_difference(epsilon, q, steps)
    _, worst_ratio = bounds.worst_ratio(epsilon, q, steps)
    assert 0 <= p <= 1
    for k in range(1, 40):
        prior = Prior(k / 40, q)
        high = bounds.ratio(epsilon, prior, steps)[1]
        assert prior.pq * (high - 1) <= worst * (1 + 1e-12) + 1e-15
        assert high <= worst_ratio * (1 + 1e-12)


@stable
@given(st.floats(1e-6, 8), probabilities, probabilities)
def test_parts_multiply_to_at_least_the_whole(epsilon, p, q):
    """K&R eq. 5: the bounds of inclusion and value together cover the bound of both at once."""
    whole = bounds.ratio(epsilon, Prior(p, q))[1]
    inclusion, value = bounds.ratio(epsilon, Prior(p))[1], bounds.ratio(epsilon, Prior(1.0, q))[1]
    assert whole <= inclusion * value * (1 + 1e-13)


@stable
@given(st.floats(0, 8), st.floats(1e-9, 1 - 1e-9), st.booleans())
def test_counterfactual_odds(epsilon, without, sensitive_only):
    joined = bounds.counterfactual_upper(epsilon, without, 1 if sensitive_only else 2)
    factor = mp.exp((1 if sensitive_only else 2) * mp.mpf(epsilon))
    odds = factor * mp.mpf(without) / (1 - mp.mpf(without))
    assert mp.mpf(joined) >= odds / (1 + odds) or joined == 1.0


def test_facts_about_the_bound():
    """At fixed r, ε rises in q; in p it falls below q = 1/(r+1) and rises above."""
    for r in (1.5, 3.0, 20.0):
        for p in (0.1, 0.5, 0.9):
            row = [epsilon_for_ratio(p, q / 50, r) for q in range(1, 51)]
            assert all(a <= b * (1 + 1e-12) for a, b in pairwise(row))
        for q, falls in ((0.5 / (r + 1), True), (min(0.99, 2 / (r + 1)), False)):
            column = [epsilon_for_ratio(p / 50, q, r) for p in range(1, 51)]
            pairs = list(pairwise(column))
            if falls:
                assert all(b <= a * (1 + 1e-12) for a, b in pairs)
            else:
                assert all(a <= b * (1 + 1e-12) for a, b in pairs)


def test_refuses_what_cannot_be():
    with pytest.raises(ToleranceError, match="above 1"):
        epsilon_for_ratio(0.5, 0.5, 1.0)

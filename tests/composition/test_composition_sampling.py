"""Releases from a secret sample: enumerated exactly, and never below dp-accounting."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.sampling import amplified, before_sampling
from discreet.errors import DiscreetError, InputError
from discreet.guarantees import ApproxDP, ProbabilisticDP, PureDP
from discreet.laws import DiscreteGaussian, Gaussian, Geometric, Laplace
from soaking import examples

exact = settings(derandomize=True, deadline=None, max_examples=examples(120))


def hockey_stick(P: dict[int, float], Q: dict[int, float], epsilon: float) -> float:
    return sum(max(0.0, P[o] - math.exp(epsilon) * Q[o]) for o in P)


def counted(count: int, epsilon: float) -> dict[int, float]:
    """The law of a noisy count that is cut to −20 … 24."""
    a = math.exp(-epsilon)

    def tail(k: int) -> float:  # P(noise at least k)
        return a**k / (1 + a) if k > 0 else 1 - a ** (1 - k) / (1 + a)

    law = {o: (1 - a) / (1 + a) * a ** abs(o - count) for o in range(-19, 24)}
    return law | {-20: tail(20 + count), 24: tail(24 - count)}


def poisson(flags: tuple[int, ...], rate: float, epsilon: float) -> dict[int, float]:
    """The law of the noisy count of a Poisson sample, over all samples."""
    n = len(flags)
    law: dict[int, float] = {}
    for drawn in product((0, 1), repeat=n):
        chance = math.prod(rate if d else 1 - rate for d in drawn)
        count = sum(f for f, d in zip(flags, drawn, strict=True) if d)
        for o, p in counted(count, epsilon).items():
            law[o] = law.get(o, 0.0) + chance * p
    return law


def fixed(flags: tuple[int, ...], size: int, epsilon: float) -> dict[int, float]:
    """The law of the noisy count of a sample of fixed size."""
    drawn = list(combinations(flags, size))
    law: dict[int, float] = {}
    for sample in drawn:
        for o, p in counted(sum(sample), epsilon).items():
            law[o] = law.get(o, 0.0) + p / len(drawn)
    return law


@exact
@given(st.floats(0.1, 2), st.floats(0.05, 0.95), st.floats(0, 2), st.integers(0, 3))
def test_a_poisson_sample_is_within_the_curve_both_ways(
    epsilon: float, rate: float, at: float, others: int
) -> None:
    without = poisson((1,) * others, rate, epsilon)
    with_one = poisson((1,) * (others + 1), rate, epsilon)
    claimed = amplified(Geometric(epsilon), rate)
    for P, Q in ((with_one, without), (without, with_one)):
        assert hockey_stick(P, Q, at) <= claimed.delta(at) + 1e-9
    ratios = [abs(math.log(with_one[o] / without[o])) for o in range(-19, 24)]
    pure = amplified(PureDP(epsilon), rate).epsilon
    assert max(ratios) <= pure + 1e-9
    if others == 0:  # attained
        assert max(ratios) == pytest.approx(pure, abs=1e-9)


@exact
@given(st.floats(0.1, 2), st.integers(1, 4), st.floats(0, 2))
def test_a_sample_of_fixed_size_is_within_the_curve(epsilon: float, size: int, at: float) -> None:
    one, other = fixed((1, 1, 0, 0, 1), size, epsilon), fixed((1, 1, 0, 0, 0), size, epsilon)
    claimed = amplified(loss_of(Geometric(epsilon), adjacency="replace"), size / 5)
    for P, Q in ((one, other), (other, one)):
        assert hockey_stick(P, Q, at) <= claimed.delta(at) + 1e-9


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_never_below_dp_accounting(rate: float) -> None:
    accounting = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    cases = [
        (Gaussian(1.3), pld.from_gaussian_mechanism(1.3, sampling_prob=rate)),
        (Laplace(0.7), pld.from_laplace_mechanism(1 / 0.7, sampling_prob=rate)),
        (DiscreteGaussian(1.5), pld.from_discrete_gaussian_mechanism(1.5, sampling_prob=rate)),
    ]
    assert accounting is not None
    for law, oracle in cases:
        ours = amplified(law, rate)
        for delta in (1e-3, 1e-6):
            least = oracle.get_epsilon_for_delta(delta)
            # the oracle rounds its losses up to a grid of 1e-4
            assert ours.epsilon(delta) >= least - 2e-4
            assert ours.epsilon(delta) <= least + 2e-3 + 0.02 * least


@exact
@given(st.floats(1e-3, 900), st.floats(1e-4, 1), st.floats(1e-9, 0.5))
def test_what_a_sample_may_spend_costs_no_more(epsilon: float, rate: float, delta: float) -> None:
    for budget in (PureDP(epsilon), ApproxDP(epsilon, delta)):
        inside = before_sampling(budget, rate)
        cost = amplified(inside, rate)
        assert cost.epsilon <= epsilon
        assert cost.epsilon >= epsilon * (1 - 1e-9)
        assert getattr(cost, "delta", 0.0) <= delta * (1 + 1e-12)


def test_two_steps_are_those_of_the_amplified_curve() -> None:
    """Enumerated: two units go. Amplifying the loss of two steps would claim too little."""
    epsilon, rate, at = 1.0, 0.5, 0.3
    near, far = poisson((), rate, epsilon), poisson((1, 1), rate, epsilon)
    truth = max(hockey_stick(near, far, at), hockey_stick(far, near, at))
    assert truth <= amplified(Geometric(epsilon), rate).steps(2).delta(at)


@pytest.mark.parametrize(
    ("release", "rate", "says"),
    [
        (PureDP(1), 0, "at most 1"),
        (PureDP(1), 1.5, "at most 1"),
        (PureDP(1), True, "at most 1"),
        (PureDP(1, adjacency="local"), 0.5, "local"),
        (ProbabilisticDP(1, 0.1), 0.5, "probabilistic"),
    ],
)
def test_what_has_no_rule_is_refused(release: object, rate: float, says: str) -> None:
    with pytest.raises(DiscreetError, match=says):
        amplified(release, rate)


@pytest.mark.parametrize("rate", [5e-324, 1e-320, 1e-300, 0.0, 1.5, math.nan, True])
def test_a_rate_at_which_nobody_is_drawn_is_refused_and_not_searched_for(rate: float) -> None:
    with pytest.raises(InputError, match="chance of being drawn"):
        before_sampling(PureDP(1.0), rate)
    assert before_sampling(PureDP(1.0), 1e-12).epsilon > 20

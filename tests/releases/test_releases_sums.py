"""Weighted sums of integer noise: their intervals against exact convolutions of the laws."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.soaking import examples

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.releases.quotients import Sum

Law = Geometric | DiscreteGaussian
Term = tuple[Law, int, int]
"""A law, its factor in whole numbers, and how many such terms there are."""


def atoms(law: Law, factor: int) -> NDArray[np.float64]:
    """The probabilities of factor·N at −reach…reach, of a law by its tails alone."""
    reach = 1
    while law.tail(reach) > 1e-13:
        reach += 1
    found = np.zeros(2 * reach * factor + 1)
    for n in range(-reach, reach + 1):
        size = abs(n)
        found[(n + reach) * factor] = law.tail(size) - law.tail(size + 1)
    return found


def exact(terms: list[Term]) -> NDArray[np.float64]:
    """The probabilities of |X| = 0, 1, 2, …, by adding up every combination."""
    found = np.ones(1)
    for law, factor, times in terms:
        for _ in range(times):
            found = np.convolve(found, atoms(law, factor))
    middle = len(found) // 2
    folded = found[middle:].copy()
    folded[1:] += found[:middle][::-1]
    return folded


laws = st.one_of(
    st.floats(0.3, 9).map(Geometric),
    st.floats(0.15, 6).map(DiscreteGaussian),
)
some = st.lists(st.tuples(laws, st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=4)


def of(terms: list[Term], unit: float = 1.0) -> Sum:
    parts = [(law, np.array([factor * unit]), np.array([times])) for law, factor, times in terms]
    return Sum(parts)


@settings(derandomize=True, deadline=None, max_examples=examples(240))
@given(terms=some, confidence=st.floats(0.5, 0.999), unit=st.sampled_from([1.0, 1 / 7, 3.3]))
def test_an_interval_covers_and_is_no_wider_than_it_must(
    terms: list[Term], confidence: float, unit: float
) -> None:
    covered = np.cumsum(exact(terms))
    law = of(terms, unit)
    largest = max(factor for _, factor, _ in terms) * unit
    fine = 0.01 * max(law.sd, largest / 2)
    width = law.half_width(confidence)
    assert covered[min(math.floor(width / unit), len(covered) - 1)] >= confidence - 1e-11
    # Narrower by 2δ and the reach of the smoothing, it would not cover but for what is left out.
    inner = math.floor((width - 3 * fine) / unit * (1 - 1e-5))
    if inner >= 0:
        assert covered[min(inner, len(covered) - 1)] < confidence + 2.1e-3 * (1 - confidence)


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(terms=some)
def test_its_standard_deviation_is_that_of_the_law(terms: list[Term]) -> None:
    folded = exact(terms)
    second = float(folded @ np.arange(len(folded)) ** 2)
    assert math.isclose(of(terms).sd, math.sqrt(second), rel_tol=1e-5, abs_tol=1e-5)


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(terms=some, level=st.sampled_from([1e-2, 1e-5]))
def test_its_reach_is_not_passed(terms: list[Term], level: float) -> None:
    folded = exact(terms)
    reach = of(terms)._reach(level)
    assert folded[math.ceil(reach) :].sum() <= level


def test_many_small_terms_are_as_good_as_normal() -> None:
    """What makes a large table: a thousand terms, of which the strongest tell where φ is small."""
    factors = np.linspace(0.001, 0.05, 500)
    law = Sum([(DiscreteGaussian(20.0), factors, np.full(500, 3.0))])
    assert math.isclose(law.half_width(0.95) / law.sd, 1.959964 + 0.01, rel_tol=2e-3)


def test_sums_that_are_alike_are_told_so() -> None:
    one = Sum([(Geometric(1.0), np.array([0.5, 0.25]), np.array([1.0, 3.0]))])
    same = Sum([(Geometric(1.0), np.array([-0.25, 0.5]), np.array([3.0, 1.0]))])
    other = Sum([(Geometric(1.0), np.array([0.5, 0.251]), np.array([1.0, 3.0]))])
    assert one.alike == same.alike != other.alike

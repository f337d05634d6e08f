"""Two noisy cells: an adversary who knows everyone else learns all that K&R Theorem 1 allows.

A person adds 1 to the first cell (in S), to the second (not in S), or nothing (absent). Since
f(n−1)/f(n) is e^ε for n ≥ 1 and e^-ε otherwise, the likelihoods of the three are in ratio
e^±ε : e^±ε : 1, with the signs of what the two cells show.
"""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior
from discreet.beliefs import bounds as pure
from discreet.laws import Geometric
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(200))
PRIORS, BUDGETS = st.floats(0.001, 1.0), st.floats(0.01, 8.0)


def ratios(epsilon: float, p: float, q: float) -> list[float]:
    """Posterior over prior of "in, and in S", for each of the four that the cells may show."""
    found = []
    for first, second in product((1, -1), repeat=2):
        likely = math.exp(first * epsilon)
        average = p * q * likely + p * (1 - q) * math.exp(second * epsilon) + (1 - p)
        found.append(likely / average)
    return found


@FAST
@given(BUDGETS, PRIORS, PRIORS)
def test_the_bound_on_the_ratio_is_reached_and_never_passed(
    epsilon: float, p: float, q: float
) -> None:
    low, high = pure.ratio(epsilon, Prior(p, q))
    assert max(ratios(epsilon, p, q)) == pytest.approx(high, rel=1e-12)
    assert min(ratios(epsilon, p, q)) >= low * (1 - 1e-12)


def test_the_four_ratios_are_those_of_every_output() -> None:
    epsilon, p, q = 0.8, 0.3, 0.2
    law = Geometric(epsilon)

    def f(n: int) -> float:
        return law.tail(n) - law.tail(n + 1)

    prior = {(1, 0): p * q, (0, 1): p * (1 - q), (0, 0): 1 - p}
    known = ratios(epsilon, p, q)
    for x, y in product(range(-12, 13), repeat=2):
        like = {added: f(x - added[0]) * f(y - added[1]) for added in prior}
        r = like[1, 0] / sum(prior[added] * like[added] for added in prior)
        assert min(abs(r / one - 1) for one in known) < 1e-6

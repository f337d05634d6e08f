"""A promise with ε = 0 still gives away its δ, wherever it stands in the list."""

import itertools

import pytest

from discreet import ApproxDP, compose
from discreet.composition.theorems import given_away, worst_case


@pytest.mark.parametrize("delta_zero", [1e-3, 2e-3])
def test_delta_of_a_promise_without_epsilon_is_kept(delta_zero):
    promises = [(0.1, 1e-3, 1), (0.0, delta_zero, 5)]
    for order in itertools.permutations(promises):
        loss = worst_case(list(order))
        assert loss is not None
        # Nothing but what is given away remains at a very large ε, and all of it does.
        assert loss.delta(50.0) >= given_away(promises) * (1 - 1e-12)
        assert loss.delta(50.0) <= given_away(promises) * (1 + 1e-9) + 1e-15


def test_order_does_not_matter():
    zero, some = ApproxDP(0, 1e-3), ApproxDP(0.1, 1e-3)
    first = compose([some, *[zero] * 5], delta=0.01)
    last = compose([*[zero] * 5, some], delta=0.01)
    assert first.epsilon == pytest.approx(last.epsilon, rel=1e-9)
    # At δ below 6e-3 nothing finite can be promised: the six δ alone add up to more.
    alone = 1 - (1 - 1e-3) ** 6
    assert first.epsilon > 0
    assert compose([some, *[zero] * 5], delta=alone * 1.01).epsilon <= 0.1 + 1e-9

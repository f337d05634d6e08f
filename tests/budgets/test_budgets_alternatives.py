"""Lee and Clifton's ε: a public population, one person left out, who is it?"""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budgets import lee_clifton
from discreet.budgets.alternatives import reached
from discreet.errors import InputError
from soaking import examples

ABSENT, YEARS = [1, 2, 3, 10], [1, 2, 3, 4]
people = st.lists(st.integers(-20, 20).map(float), min_size=3, max_size=7)


@pytest.mark.parametrize(
    ("values", "statistic", "epsilon"),
    [(YEARS, "mean", 0.34), (ABSENT, "mean", 0.3829), (ABSENT, "median", 1.62)],
)
def test_the_examples_from_0_34_to_1_62(values: list[int], statistic: str, epsilon: float) -> None:
    found = lee_clifton(values, 1 / 3, statistic)
    assert found.epsilon == pytest.approx(epsilon, abs=3e-3)
    assert found.ours == pytest.approx(math.log(3 / 2))


def test_the_counterexample() -> None:
    """K&R's comparison value 0.41 does not keep 1/3 where exactly one is missing."""
    found = lee_clifton([1, -1, -1, -1], 1 / 3, "sum")
    assert (found.sensitivity, found.contrast) == (1, 2)
    assert found.ours_reaches == pytest.approx(3 / 7)
    assert found.epsilon == pytest.approx(math.log(3 / 2) / 2)


@settings(deadline=None, max_examples=examples(60))
@given(people, st.floats(0.02, 0.97), st.sampled_from(["mean", "median", "sum", "max", "variance"]))
def test_the_posterior_is_kept_and_differences_are_the_largest(
    values: list[float], share: float, statistic: str
) -> None:
    posterior = 1 / len(values) + share * (1 - 1 / len(values))
    try:
        found = lee_clifton(values, posterior, statistic)
    except InputError:
        return  # the statistic does not depend on who is missing
    n = len(values)
    from discreet.budgets.alternatives import _STATISTICS

    value = _STATISTICS[statistic]
    sets = {
        size: [value(rest) for rest in itertools.combinations(values, size)]
        for size in (n - 1, n - 2)
    }
    spread = max(abs(a - b) for a, b in itertools.product(sets[n - 1], repeat=2))
    assert found.contrast == pytest.approx(spread)
    seen = [value(values[:i] + values[i + 1 :]) for i in range(n)]
    scale = found.sensitivity / found.epsilon if found.epsilon else math.inf
    worst = reached(seen, scale) if math.isfinite(scale) else 1 / n
    assert worst <= posterior * (1 + 1e-9)
    low, high = min(seen), max(seen)
    for i in range(101):  # no output between or beyond tells more
        output = low - spread + (high - low + 2 * spread) * i / 100
        weights = [math.exp(-abs(output - one) / scale) for one in seen]
        assert max(weights) / sum(weights) <= worst * (1 + 1e-9)


def test_what_cannot_be_compared_is_refused() -> None:
    for values, posterior, statistic in (
        ([1, 2], 0.6, "mean"),
        (ABSENT, 0.25, "mean"),
        (ABSENT, 0.5, "mode"),
        ([1, 1, 1], 0.5, "mean"),
        ([1, 2, math.nan], 0.5, "mean"),
    ):
        with pytest.raises(InputError):
            lee_clifton(values, posterior, statistic)
    assert lee_clifton(ABSENT, 0.5, lambda rest: rest[0] * 2.0).contrast > 0

"""The two-cell adversary against brute force over outputs, and against K&R Theorem 1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.laws.two_cells import TwoCells

FAST = settings(derandomize=True, deadline=None, max_examples=200)
priors = st.floats(0.001, 1.0)
budgets = st.floats(0.01, 8.0)


def _bound(epsilon, p, q):
    return 1 / (p * q + math.exp(-2 * epsilon) * (1 - q) * p + math.exp(-epsilon) * (1 - p))


@FAST
@given(budgets, priors, priors)
def test_the_ratio_never_passes_theorem_1_and_reaches_it(epsilon, p, q):
    law = TwoCells(epsilon, p, q)
    upper, lower = _bound(epsilon, p, q), _bound(-epsilon, p, q)
    for truth in ("in-S", "not-in-S", "absent"):
        ratios = [o.ratio for o in law.outcomes(truth) if o.probability > 0]
        assert max(ratios) <= upper * (1 + 1e-12)
        assert min(ratios) >= lower * (1 - 1e-12)
        assert max(ratios) == pytest.approx(upper, rel=1e-12)


@FAST
@given(budgets, priors, priors)
def test_beliefs_are_a_martingale(epsilon, p, q):
    law = TwoCells(epsilon, p, q).predictive()
    assert sum(o.probability for o in law) == pytest.approx(1, abs=1e-12)
    assert sum(o.probability * o.ratio for o in law) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("truth", ["in-S", "not-in-S", "absent"])
def test_against_bayes_over_all_outputs(truth):
    epsilon, p, q = 0.8, 0.3, 0.2
    a = math.exp(-epsilon)

    def f(n):
        return (1 - a) / (1 + a) * a ** abs(n)

    add = {"in-S": (1, 0), "not-in-S": (0, 1), "absent": (0, 0)}
    prior = {"in-S": p * q, "not-in-S": p * (1 - q), "absent": 1 - p}
    found: dict[float, float] = {}
    for x in range(-60, 61):
        for y in range(-60, 61):
            like = {t: f(x - i) * f(y - j) for t, (i, j) in add.items()}
            r = like["in-S"] / sum(prior[t] * like[t] for t in add)
            key = round(r, 9)
            found[key] = found.get(key, 0.0) + like[truth]
    exact = TwoCells(epsilon, p, q).outcomes(truth)
    assert len(found) == len({round(o.ratio, 9) for o in exact}) == 4
    for outcome in exact:
        assert found[round(outcome.ratio, 9)] == pytest.approx(outcome.probability, abs=1e-12)


def test_bad_priors_and_truths_are_refused():
    with pytest.raises(InputError):
        TwoCells(1.0, 0.0, 0.5)
    with pytest.raises(InputError):
        TwoCells(1.0, 0.5, math.nan)
    with pytest.raises(InputError):
        TwoCells(1.0, 0.5, 0.5).outcomes("elsewhere")

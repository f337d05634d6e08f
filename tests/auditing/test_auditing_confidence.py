"""Clopper–Pearson against SciPy's beta quantiles, and against its own promise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.auditing.claims import at_least, at_most
from discreet.errors import InputError
from soaking import examples


@st.composite
def counted(draw: st.DrawFn) -> tuple[int, int]:
    trials = draw(st.integers(1, 20_000))
    return draw(st.integers(0, trials)), trials


@settings(derandomize=True, deadline=None, max_examples=examples(80))
@given(counted(), st.sampled_from([1e-9, 1e-6, 1e-3, 0.05, 0.4]))
def test_bounds_are_those_of_the_beta_law_and_on_the_safe_side(
    seen: tuple[int, int], alpha: float
) -> None:
    hits, trials = seen
    low = stats.beta.ppf(alpha, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.isf(alpha, hits + 1, trials - hits) if hits < trials else 1.0
    assert at_least(hits, trials, alpha) == pytest.approx(low, rel=1e-8, abs=1e-300)
    assert at_most(hits, trials, alpha) == pytest.approx(high, rel=1e-8)
    if hits:
        tail = stats.binom.sf(hits - 1, trials, at_least(hits, trials, alpha))
        assert tail <= alpha * (1 + 1e-9)
    if hits < trials:
        tail = stats.binom.cdf(hits, trials, at_most(hits, trials, alpha))
        assert tail <= alpha * (1 + 1e-9)


@pytest.mark.parametrize("q", [0.003, 0.1, 0.5, 0.97])
def test_the_bound_is_wrong_as_rarely_as_it_says(q: float) -> None:
    trials, alpha = 200, 0.05
    wrong = sum(
        stats.binom.pmf(hits, trials, q)
        for hits in range(trials + 1)
        if at_least(hits, trials, alpha) > q
    )
    assert wrong <= alpha


@pytest.mark.parametrize(
    ("hits", "trials", "alpha"),
    [(1, 2, math.nan), (1, 2, 0.0), (1, 2, 1.0), (3, 2, 0.1), (-1, 2, 0.1), (0, 0, 0.1)],
)
def test_what_cannot_be_is_refused(hits: int, trials: int, alpha: float) -> None:
    with pytest.raises(InputError):
        at_least(hits, trials, alpha)
    with pytest.raises(InputError):
        at_most(hits, trials, alpha)

"""Equal two-point releases against the binomial sum at 60 digits, and over all contributions."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import pytest
from composition_truths import atoms_delta, two_point
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.walk import WalkLoss
from discreet.errors import GuaranteeError, InputError
from discreet.laws import Geometric, Laplace, RandomizedResponse
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(120))
steps = st.floats(-6, 1.7).map(lambda t: 10.0**t)
times = st.sampled_from([1, 2, 3, 7, 30, 100])
losts = st.sampled_from([0.0, 1e-8, 0.01])


def _true(step, k, lost, epsilon):
    walked = atoms_delta(two_point(step, k), epsilon)
    kept = (1 - mp.mpf(lost)) ** k
    return 1 - kept * (1 - walked) if lost else walked


@FAST
@given(steps, times, losts, st.floats(0, 1))
def test_delta_for_every_real_epsilon(step, k, lost, share):
    epsilon = share * k * step
    true = _true(step, k, lost, epsilon)
    found = mp.mpf(WalkLoss(step, k, lost).delta(epsilon))
    assert found >= min(true, 1) * (1 - mp.mpf(10) ** -50)
    if true > mp.mpf(10) ** -300:
        assert found <= true * (1 + mp.mpf(10) ** -11)


@FAST
@given(steps, times, losts, st.floats(-250, -0.05).map(lambda t: 10.0**t))
def test_epsilon_is_safe_and_no_smaller_one_is(step, k, lost, delta):
    epsilon = WalkLoss(step, k, lost).epsilon(delta)
    if math.isinf(epsilon):
        assert 1 - (1 - mp.mpf(lost)) ** k >= delta * (1 - mp.mpf(10) ** -12)
        return
    assert _true(step, k, lost, epsilon) <= delta * (1 + mp.mpf(10) ** -50)
    if epsilon > 0:
        assert _true(step, k, lost, epsilon * (1 - 1e-9)) > delta * (1 - mp.mpf(10) ** -9)


def test_a_million_releases_any_epsilon_any_delta_are_finite_and_monotone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in (1e-6, 1e-3, 0.05, 1.0, 50.0):
            loss = loss_of((Geometric(step), 1_000_000))
            found = [loss.epsilon(delta) for delta in (1e-300, 1e-50, 1e-6, 0.01)]
            exact = [loss.exact_epsilon(delta) for delta in (1e-300, 1e-50, 1e-6, 0.01)]
            for values in (found, exact):
                assert all(math.isfinite(e) and e <= step * 1e6 * (1 + 1e-12) for e in values)
                assert values == sorted(values, reverse=True)
            deltas = [loss.delta(x * step * 1e6) for x in (0, 1e-4, 0.01, 0.5, 1)]
            assert deltas == sorted(deltas, reverse=True)


def test_extremes_agree_with_a_normal_law_of_the_same_moments():
    # k = 10⁶, ε₀ = 1e-3: the walk is normal to five digits
    from discreet.composition.gaussian import GaussianLoss

    walk = WalkLoss(1e-3, 10**6)
    assert walk.epsilon(1e-6) == pytest.approx(GaussianLoss(0.5).epsilon(1e-6), rel=1e-4)


def test_365_releases_have_the_known_epsilon():
    loss = loss_of((Geometric(0.05), 365))
    assert loss.epsilon(1e-6) == pytest.approx(4.6134483458, abs=1e-9)
    assert atoms_delta(two_point(0.05, 365), loss.epsilon(1e-6)) <= mp.mpf("1e-6")


def _exposed(step, j, m, sided):
    """P(|L_j| > mε₀), by adding up the law."""
    law = {round(loss / mp.mpf(step)): p for loss, p in two_point(step, j).items()}
    return mp.fsum(p for n, p in law.items() if n > m or (sided == "two" and n < -m))


@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize("step", [0.01, 0.05, 0.5, 3.0])
def test_the_last_two_contributions_are_the_worst_of_all(step, sided):
    for k in (1, 2, 3, 8, 21):
        for m in range(k + 1):
            worst = max(_exposed(step, j, m, sided) for j in range(k + 1))
            last = max(_exposed(step, j, m, sided) for j in (k - 1, k))
            assert worst <= last * (1 + mp.mpf(10) ** -40)


@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize(("step", "k"), [(0.05, 40), (0.5, 11), (2.0, 6), (0.01, 25)])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3, 1e-9])
def test_exact_epsilon_is_the_least_over_all_contributions(step, k, delta, sided):
    found = loss_of((Geometric(step), k)).exact_epsilon(delta, sided)
    m = round(found / step)
    assert found >= m * mp.mpf(step)
    assert all(_exposed(step, j, m, sided) <= delta for j in range(k + 1))
    if m > 0:
        assert any(_exposed(step, j, m - 1, sided) > delta for j in range(k + 1))


def test_fewer_releases_can_be_worse_on_the_lattice_but_horizons_are_monotone():
    # k = 187 alone would pass where 186 fails; with the maximum it never does.
    series = [
        x.exact_epsilon(0.05, "one")
        for x in (loss_of((Geometric(0.05), k)) for k in range(150, 230))
    ]
    assert series == sorted(series)
    assert _exposed(0.05, 187, 27, "one") < _exposed(0.05, 186, 27, "one")


@pytest.mark.parametrize(("sided", "day"), [("two", 174), ("one", 186)])
def test_figure_3_with_the_exact_law(sided, day):
    limit = math.log(4)  # logit .8
    series = [
        x.exact_epsilon(0.05, sided)
        for x in (loss_of((Geometric(0.05), k)) for k in range(1, day + 1))
    ]
    assert next(k for k, e in enumerate(series, 1) if e > limit) == day


def test_randomized_response_has_the_same_loss():
    a, b = loss_of((RandomizedResponse(0.3), 20)), loss_of((Geometric(0.3), 20))
    assert a.epsilon(1e-6) == b.epsilon(1e-6)
    assert (a.adjacency.value, b.adjacency.value) == ("local", "add-remove")


def test_where_the_maximum_is_not_proved_the_exact_bound_is_refused():
    for plan in ([(Laplace(0.1), 3)], [(Geometric(0.1), 3), (Geometric(0.2), 3)]):
        loss = loss_of(*plan)
        assert not loss.exact_proved
        with pytest.raises(GuaranteeError, match="not proved"):
            loss.exact_epsilon(0.01)


@pytest.mark.parametrize("value", [math.nan, -0.1, 1.1, "x"])
def test_bad_probabilities_are_refused(value):
    loss = loss_of((Geometric(0.1), 3))
    with pytest.raises(InputError):
        loss.epsilon(value)
    with pytest.raises(InputError):
        loss.exact_epsilon(value)
    with pytest.raises(InputError):
        loss.exact_epsilon(0.1, "three")

"""zCDP: the loss directly, the paper's route, the tight conversion; KSZ Example 4.1."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs.bounds import differences, posterior
from discreet.composition.concentrated import on_the_loss, papers_route
from discreet.composition.curves import best_point, epsilon_prime
from soaking import examples

fixed = settings(derandomize=True, deadline=None, max_examples=examples(200))
rhos = st.floats(1e-10, 1e4)
failures = st.floats(1e-15, 0.5)
sides = st.sampled_from(["one", "two"])


def failure_at(rho: float, x: mp.mpf, sided: str) -> mp.mpf:
    chernoff = mp.e ** (-((x - rho) ** 2) / (4 * mp.mpf(rho)))
    return chernoff * (1 + mp.e**-x) if sided == "two" else chernoff


@fixed
@given(rhos, failures, sides)
def test_on_the_loss_solves_its_equation_from_above(rho: float, failure: float, sided: str) -> None:
    with mp.workdps(60):
        ours = mp.mpf(on_the_loss(rho, failure, sided))
        assert ours > rho
        assert failure_at(rho, ours, sided) <= failure
        assert failure_at(rho, ours * (1 - mp.mpf(10) ** -13), sided) > failure


@fixed
@given(st.floats(1e-4, 50), st.floats(1e-9, 0.4), sides)
def test_the_papers_route_is_valid_and_no_tighter(rho: float, failure: float, sided: str) -> None:
    ours = papers_route(rho, failure, sided)
    assert ours >= on_the_loss(rho, failure, sided) * (1 - 1e-12)
    # Brute force over δ in steps of log δ: the search misses nothing.
    for i in range(1, 200):
        delta = failure * math.exp(-i * 0.15)
        epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
        assert ours <= epsilon_prime(epsilon, delta, failure, sided) * (1 + 1e-9)


@pytest.mark.parametrize("rho", [0.001, 0.07, 0.79, 5.0])
@pytest.mark.parametrize("sided", ["one", "two"])
def test_the_tight_conversion_through_theorem_3_9_gives_the_same(rho: float, sided: str) -> None:
    """Canonne, Kamath and Steinke (2020, Prop. 12), minimised here by brute force over α."""

    def delta_at(epsilon: float) -> float:
        low, high = -20.0, 15.0
        f = lambda t: (  # noqa: E731
            math.exp(t) * ((1 + math.exp(t)) * rho - epsilon)
            + (1 + math.exp(t)) * -math.log1p(math.exp(-t))
            - t
        )
        for _ in range(200):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, b) if f(a) < f(b) else (a, high)
        return min(1.0, math.exp(f(low)))

    found = best_point(delta_at, 0.01, sided).epsilon_prime
    assert found == pytest.approx(on_the_loss(rho, 0.01, sided), rel=1e-9)


@pytest.mark.parametrize(("day", "belief", "rise"), [(7, 0.830, 0.377), (30, 0.963, 0.672)])
def test_example_4_1_papers_route(day: int, belief: float, rise: float) -> None:
    bound = papers_route(0.01 * day, 0.01)
    assert posterior(bound, 0.5).upper == pytest.approx(belief, abs=5e-4)
    assert differences(bound, None).upper == pytest.approx(rise, abs=5e-4)


@pytest.mark.parametrize(
    ("route", "first_99", "first_98"), [(papers_route, 58, 202), (on_the_loss, 79, 246)]
)
def test_example_4_1_days(route, first_99: int, first_98: int) -> None:  # type: ignore[no-untyped-def]
    over = [posterior(route(0.01 * k, 0.01), 0.5).upper > 0.99 for k in (first_99 - 1, first_99)]
    assert over == [False, True]
    over = [differences(route(0.01 * k, 0.01), None).upper > 0.98 for k in (first_98 - 1, first_98)]
    assert over == [False, True]


def test_example_4_1_errata_67_percent_is_16_to_84() -> None:
    bound = papers_route(0.3, 0.01)
    worst = 1 / (1 + math.exp(bound / 2))
    assert (round(worst, 2), round(posterior(bound, worst).upper, 2)) == (0.16, 0.84)


@pytest.mark.parametrize("rho", [1e-300, 1e-12, 1e6])
def test_extremes(rho: float) -> None:
    values = [on_the_loss(rho, f, s) for f in (0.5, 1e-9, 1e-300) for s in ("one", "two")]
    assert all(math.isfinite(v) and v > rho for v in values)
    assert on_the_loss(0.0, 0.01) == 0.0
    assert 5e3 < on_the_loss(5e3, 1.0) < 5e3 * (1 + 1e-12)

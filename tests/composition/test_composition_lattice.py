"""Equal discrete Gaussian releases against exact sums: never below, close, and quick everywhere."""

from __future__ import annotations

import math
import time

import mpmath as mp
import numpy as np
import pytest
from composition_truths import gaussian_delta
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.grid import lattice
from discreet.composition.grid.ingredients import DiscreteNormal
from discreet.laws import DiscreteGaussian, Geometric
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(40))


def _convolved(sigma: float, k: int) -> list[mp.mpf]:
    """P(M = m) for m = −reach … reach, by convolving the law of one noise with itself."""
    reach = math.ceil(18 * sigma) + 2
    weights = [
        mp.exp(-(mp.mpf(n) ** 2) / (2 * mp.mpf(sigma) ** 2)) for n in range(-reach, reach + 1)
    ]
    total = mp.fsum(weights)
    one = [w / total for w in weights]
    law = [mp.mpf(1)]
    for _ in range(k):
        longer = [mp.mpf(0)] * (len(law) + 2 * reach)
        for i, p in enumerate(law):
            for j, q in enumerate(one):
                longer[i + j] += p * q
        law = longer
    return law


def _delta(law: list[mp.mpf], sigma: float, k: int, epsilon: float) -> mp.mpf:
    middle, e, square = len(law) // 2, mp.mpf(epsilon), mp.mpf(sigma) ** 2
    losses = ((k + 2 * (i - middle)) / (2 * square) for i in range(len(law)))
    pairs = zip(losses, law, strict=True)
    return mp.fsum(p * (1 - mp.exp(e - loss)) for loss, p in pairs if loss > e)


@pytest.mark.parametrize(
    ("sigma", "k"),
    [
        *[(0.05, 1), (0.05, 4), (0.15, 1), (0.15, 5), (0.18, 2), (0.22, 3), (0.3, 7), (0.5, 6)],
        *[(0.9, 4), (1.4, 3), (1.999, 2), (2.0, 2), (2.3, 3), (4.0, 2)],
    ],
)
def test_never_below_the_sum_over_all_noises(sigma, k):
    law, loss = _convolved(sigma, k), loss_of((DiscreteGaussian(sigma), k))
    middle, sd = k / (2 * sigma**2), math.sqrt(k) / sigma
    for at in [0.0, 0.3 * middle, middle, middle + sd / 3, middle + sd, middle + 4 * sd]:
        found = mp.mpf(loss.delta(at))
        assert found >= _delta(law, sigma, k, at)
        near = _delta(law, sigma, k, at * (1 - 1e-14))  # places are rounded down a little
        assert found <= near * (1 + mp.mpf(10) ** -7) + mp.mpf(10) ** -12
    for delta in (1e-2, 1e-6, 1e-10):
        epsilon = loss.epsilon(delta)
        assert _delta(law, sigma, k, epsilon) <= delta
        if epsilon > 0:
            assert _delta(law, sigma, k, epsilon - 1e-8 * max(1.0, epsilon)) > delta


@pytest.mark.parametrize(("sigma", "k"), [(2000.0, 1), (2.5, 800_000), (300.0, 60), (1e4, 1)])
@pytest.mark.parametrize("away", [-0.7, 0.2, 1.5, 5.0, 20.0])
def test_the_integral_is_never_below_the_sum(sigma, k, away):
    s = np.longdouble(sigma) * np.sqrt(np.longdouble(k))
    norm = np.exp(-(np.arange(-12 * s, 12 * s).round() ** 2) / (2 * s * s)).sum()
    for offset in (0.0, 0.1, 0.5, 0.9):  # where ε lies between two losses
        start = np.floor(away * s)
        x = start + np.longdouble(offset)
        epsilon = float((k + 2 * x) / (2 * np.longdouble(sigma) ** 2))
        if epsilon < 0:
            continue
        x = np.longdouble(epsilon) * np.longdouble(sigma) ** 2 - np.longdouble(k) / 2
        m = np.arange(np.floor(x) + 1, np.floor(x) + 14 * s, dtype=np.longdouble)
        square = np.longdouble(sigma) ** 2
        true = (np.exp(-m * m / (2 * s * s)) * -np.expm1((x - m) / square)).sum() / norm
        found = lattice._integrated(DiscreteNormal(sigma, k), epsilon)
        assert found >= true * (1 - 1e-13)
        assert found <= true * (1 + (1e-5 if away < 10 else 1e-4))


@FAST
@given(
    st.floats(math.log(0.05), math.log(1e4)).map(math.exp),
    st.floats(0, math.log(1e6)).map(lambda x: round(math.exp(x))),
    st.floats(-40, -1),
)
def test_between_gaussian_noise_and_what_zcdp_gives(sigma, k, log_delta):
    """δ is below what ρ promises, and for large σ just above that of Gaussian noise."""
    delta = math.exp(log_delta)
    loss = loss_of((DiscreteGaussian(sigma), k))
    epsilon = loss.epsilon(delta)
    promised = loss_of((DiscreteGaussian(sigma).guarantee(), k)).epsilon(delta)
    assert 0 <= epsilon <= promised * (1 + 1e-9) + 1e-9
    assert loss.delta(epsilon) <= delta * (1 + 1e-12)
    if sigma > 30:
        assert epsilon >= 0.999 * _gaussian(k / (2 * sigma**2), delta) - 1 / sigma**2


def _gaussian(rho: float, delta: float) -> float:
    low, high = 0.0, rho + math.sqrt(-4 * rho * math.log(delta)) + 1
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(rho, middle) > delta else (low, middle)
    return low


def test_windows_and_integral_meet(monkeypatch):
    """At s = 2000 the law is summed one way below and the other way above."""
    at = [0.0, 1e-4, 1.3e-3, 2.7e-3]
    integral = [loss_of(DiscreteGaussian(2000.0)).delta(e) for e in at]
    monkeypatch.setattr(lattice, "_FINE", math.inf)
    assert integral == pytest.approx([loss_of(DiscreteGaussian(2000.0)).delta(e) for e in at], 1e-8)


@pytest.mark.parametrize("sigma", [0.05, 0.11, 0.15, 0.2, 0.3, 0.5, 1.9, 30.0, 1e4])
@pytest.mark.parametrize("k", [1, 5, 365, 10**6])
def test_quick_at_every_strength_of_noise(sigma, k):
    """A single release with σ = 0.15 took 76 seconds; it takes milliseconds."""
    loss_of((Geometric(0.1), 2)).epsilon(1e-6)  # NumPy is loaded
    started = time.process_time()
    assert loss_of((DiscreteGaussian(sigma), k)).epsilon(1e-6) > 0
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize("times", [1, 7])
def test_several_small_scales_are_not_stuck(times):
    """Nearly all outputs have one loss, the others lie far off: windows must not creep there."""
    parts = [(DiscreteGaussian(0.15 + 0.01 * i), times) for i in range(5)]
    started = time.process_time()
    loss = loss_of(*parts)
    epsilon = loss.epsilon(1e-6)
    assert time.process_time() - started < 5.0
    middle = sum(times / (2 * part.sigma**2) for part, _ in parts)
    assert (
        middle - 1e-3 <= epsilon <= loss_of(*((p.guarantee(), k) for p, k in parts)).epsilon(1e-6)
    )

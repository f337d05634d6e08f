"""How often a loss passes a limit: never below the truth of any law, and of the worst it is exact.

Oracles: random and worst-case laws in fractions, normal laws from mpmath.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.concentrated import zcdp_curve
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import Gaussian, Geometric, Laplace
from losses import chance_of_fall, chance_of_rise
from soaking import examples

stable = settings(derandomize=True, deadline=None, max_examples=examples(100))
Law = list[Fraction]


def hockey_stick(one: Law, two: Law, z: Fraction) -> Fraction:
    return sum((max(a - z * b, Fraction(0)) for a, b in zip(one, two, strict=True)), Fraction(0))


@st.composite
def laws(draw: st.DrawFn) -> list[Law]:
    """Four laws on a few points: in and sensitive, in and not, out, and some other value."""
    points = draw(st.integers(2, 5))
    found = []
    for _ in range(4):
        masses = draw(st.lists(st.integers(0, 60), min_size=points, max_size=points))
        masses[0] += 1
        found.append([Fraction(m, sum(masses)) for m in masses])
    return found


def passing(truth: Law, one: Law, two: Law, limit: Fraction) -> Fraction:
    """How often one/two > limit, when `truth` is."""
    return sum((t for t, a, b in zip(truth, one, two, strict=True) if a > limit * b), Fraction(0))


@stable
@given(laws(), st.floats(0, 3), st.floats(0.001, 4))
def test_never_below_the_truth(found: list[Law], epsilon: float, over: float) -> None:
    sensitive, _, out, _ = found
    z = Fraction(math.exp(epsilon))
    near = [(law, out) for law in found if law is not out]
    inside = [law for law in found if law is not out]
    far = list(itertools.combinations(inside, 2))

    def delta_of(pairs: list[tuple[Law, Law]], at: float) -> float:
        e = Fraction(math.exp(at)) * (1 - Fraction(1, 2**50))
        worst = max(max(hockey_stick(a, b, e), hockey_stick(b, a, e)) for a, b in pairs)
        return min(1.0, float(worst) * (1 + 1e-12))

    x = epsilon + over
    limit = Fraction(math.exp(x)) * (1 + Fraction(1, 2**50))
    curves = [
        PrivacyCurve("laws", lambda e, pairs=pairs: delta_of(pairs, e))  # type: ignore[misc]
        for pairs in (near, far)
    ]
    one = ApproxDP(epsilon, delta_of(near, math.log(z)))
    for subject in (one, curves[0]):
        rise, fall = chance_of_rise(subject, x), chance_of_fall(subject, x)
        for truth in found:
            assert passing(truth, sensitive, out, limit) <= rise
            assert passing(truth, out, sensitive, limit) <= fall
    two = chance_of_rise(curves[1], x, curves[0])
    by_steps = chance_of_rise(one.steps(2), x)
    for truth, other in itertools.product(found, inside[1:]):
        for a, b in ((sensitive, other), (other, sensitive)):
            assert passing(truth, a, b, limit) <= two
            assert passing(truth, a, b, limit) <= by_steps


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.01])
@pytest.mark.parametrize("over", [0.1, 1.0, 3.0])
def test_the_worst_laws_reach_it(epsilon: float, delta: float, over: float) -> None:
    """Of (ε, δ) alone nothing smaller is true: three laws on a few points, at 40 digits."""
    with mp.workdps(40):
        z, x, d = mp.exp(epsilon), mp.exp(mp.mpf(epsilon + over)), mp.mpf(delta)
        subject = ApproxDP(epsilon, delta)
        rise = [
            x * d / (x - z),
            z * d / (x - z) + d,
            d / (x - z),
        ]  # P1 = e^x Q, P2 as far as it may
        fall = [d / (x - z), z * x * d / (x - z) + d, x * d / (x - z)]
        for masses in (rise, fall):
            if max(masses) >= 0.3:
                continue
            for inside in masses[:2]:
                out = masses[2]
                for a, b in (
                    (inside, out),
                    (out, inside),
                    (1 - inside, 1 - out),
                    (1 - out, 1 - inside),
                ):
                    assert a - z * b <= d * (1 + mp.mpf(10) ** -30)  # it is (ε, δ)-DP
        for bound, masses in ((chance_of_rise, rise), (chance_of_fall, fall)):
            value = bound(subject, epsilon + over)
            assert min(1, max(masses)) <= value * (1 + mp.mpf(10) ** -15)
            assert value <= max(masses) * (1 + 1e-12)


@pytest.mark.parametrize("mu", [0.05, 0.3, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("x", [0.1, 0.5, 1.0, 2.0, 5.0])
def test_gaussian_noise(mu: float, x: float) -> None:
    """In at μ, at −μ, out at 0, or any value between: one step, two, and falls."""
    with mp.workdps(30):
        m = mp.mpf(mu)
        noise = Gaussian(1 / mu)
        near, far = loss_of((noise, 1)), loss_of((noise.steps(2), 1))
        rise, fall = chance_of_rise(near, x), chance_of_fall(near, x)
        two = chance_of_rise(far, x, near)
        concentrated = ZCDP(mu * mu / 2)
        for t in (1, 0.5, 0, -0.5, -1):
            truth = m * t
            # log P1/Q = μy − μ²/2 and log P1/P2 = 2μy
            above = mp.ncdf(truth - (x + m * m / 2) / m)
            below = mp.ncdf((-x + m * m / 2) / m - truth)
            assert above <= min(rise, chance_of_rise(concentrated, x))
            assert below <= min(fall, chance_of_fall(concentrated, x))
            assert mp.ncdf(truth - x / (2 * m)) <= min(
                two, chance_of_rise(concentrated.steps(2), x)
            )


@stable
@given(
    st.sampled_from(["pure", "approximate", "zcdp", "curve", "geometric", "gaussian", "laplace"]),
    st.floats(0.02, 1.5),
    st.floats(1e-9, 0.05),
    st.floats(0.01, 6),
    st.floats(1.01, 3),
)
def test_smaller_further_out_and_larger_with_the_budget(
    kind: str, budget: float, delta: float, x: float, factor: float
) -> None:
    def subject(b: float, d: float = delta) -> Any:
        return {
            "pure": lambda: PureDP(b),
            "approximate": lambda: ApproxDP(b, d),
            "zcdp": lambda: ZCDP(b / 10),
            "curve": lambda: zcdp_curve(b / 10),
            "geometric": lambda: loss_of((Geometric(b), 5)),
            "gaussian": lambda: loss_of((Gaussian.of_rho(b / 10), 2)),
            "laplace": lambda: loss_of((Laplace(b), 2)),
        }[kind]()

    slack = 1 + 1e-6  # a search along a curve stops somewhere near its best point
    for bound in (chance_of_rise, chance_of_fall):
        here = bound(subject(budget), x)
        assert 0 <= here <= 1
        assert bound(subject(budget), x * factor) <= here * slack
        assert here <= bound(subject(budget * factor), x) * slack
        if kind == "approximate":
            assert here <= bound(subject(budget, delta * factor), x) * slack
        assert chance_of_rise(subject(budget), x) <= chance_of_fall(subject(budget), x) * slack


@pytest.mark.parametrize("x", [0.0, 1e-300, -1.0])
def test_no_room(x: float) -> None:
    for subject in (ZCDP(0.1), loss_of((Geometric(0.1), 3)), ApproxDP(0.1, 1e-6), PureDP(0.1)):
        assert chance_of_rise(subject, x) == chance_of_fall(subject, x) == 1.0


def test_certain_cases() -> None:
    for bound in (chance_of_rise, chance_of_fall):
        assert bound(PureDP(0.5), 0.5) == 0.0
        assert bound(PureDP(0.5), 0.4999) == 1.0
        assert bound(ApproxDP(0.5, 0.0), 0.5) == 0.0
        assert bound(ApproxDP(0.5, 0.1), math.inf) == 0.0
        assert bound(loss_of((Geometric(0.1), 5)), 0.5000001) == 0.0
        assert bound(ApproxDP(800.0, 0.1), 900.0) <= 1.0
        assert bound(ZCDP(0.0), 1e-9) == 0.0
        stated = ProbabilisticDP(0.5, 1e-3)
        assert bound(stated, 1.0) == bound(stated.as_approx(), 1.0)

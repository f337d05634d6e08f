"""How far belief may fall: K&R's lower bound by brute force over boxes, at 40 digits."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_drawn import boxes

from discreet.budgets import choose
from discreet.promises import Box, Difference, Promise, Ratio, priors
from discreet.promises.shapes.difference import difference_falls
from discreet.promises.shapes.ratio import ratio_falls
from soaking import examples

stable = settings(derandomize=True, deadline=None, max_examples=examples(80))
abouts = st.sampled_from(["membership", "value", "both"])
SHARES = [mp.mpf(n) / 24 for n in range(25)]


def grid(box: Box, extra: tuple[float, float]) -> list[tuple[mp.mpf, mp.mpf]]:
    ps = [box.p0 + s * (box.p1 - box.p0) for s in SHARES]
    qs = [box.q0 + s * (box.q1 - box.q0) for s in SHARES]
    return [(p, q) for p in ps for q in qs] + [(mp.mpf(extra[0]), mp.mpf(extra[1]))]


def remains(p: mp.mpf, q: mp.mpf, epsilon: float) -> mp.mpf:
    """The least posterior over prior at ε: K&R Theorem 1 with −ε for ε."""
    u = mp.exp(mp.mpf(epsilon))
    return 1 / (p * q + u * u * (1 - q) * p + u * (1 - p))


@stable
@given(abouts.flatmap(boxes), st.floats(1.001, 60))
def test_ratios(box: Box, ratio: float) -> None:
    with mp.workdps(40):
        found = ratio_falls(ratio, box)
        if math.isinf(found.lower):
            assert box.p0 == box.q0 == 1  # who is sure of it cannot doubt it
            return
        assert found.lower <= found.upper <= found.lower * (1 + 1e-13) + 1e-300
        at = (found.p, found.q)
        assert all(remains(p, q, found.lower) * ratio >= 1 for p, q in grid(box, at))
        assert remains(mp.mpf(found.p), mp.mpf(found.q), found.upper) * ratio <= 1 + 1e-12


@stable
@given(abouts.flatmap(boxes), st.floats(1e-6, 1))
def test_differences(box: Box, difference: float) -> None:
    with mp.workdps(40):
        found = difference_falls(difference, box)

        def falls(p: mp.mpf, q: mp.mpf, epsilon: float) -> mp.mpf:
            return p * q * (1 - remains(p, q, epsilon))

        at = (found.p, found.q)
        if math.isinf(found.lower):
            assert all(falls(p, q, 200.0) <= difference for p, q in grid(box, at))
            return
        assert found.lower <= found.upper <= found.lower * (1 + 1e-13) + 1e-300
        assert all(falls(p, q, found.lower) <= difference for p, q in grid(box, at))
        assert box.p0 <= found.p <= box.p1
        assert box.q0 * (1 - 1e-15) <= found.q <= box.q1 * (1 + 1e-15)
        assert falls(mp.mpf(found.p), mp.mpf(found.q), found.upper) >= difference * (1 - 1e-9)


@stable
@given(abouts.flatmap(boxes), st.floats(1.01, 20), st.floats(1e-3, 0.9))
def test_choices_keep_both_directions(box: Box, ratio: float, difference: float) -> None:
    """Two-sided is the least of K&R's budget and of what falls allow; one-sided has K&R's alone."""
    for tolerance, fall in (
        (Ratio(ratio, box), ratio_falls(ratio, box)),
        (Difference(difference, box), difference_falls(difference, box)),
    ):
        up = choose(Promise(tolerance, sided="one")).epsilon
        both = choose(Promise(tolerance)).epsilon
        assert both == min(up, fall.lower)


def test_known_values() -> None:
    """At (.5, 1) belief may grow threefold to certainty, and fall to a sixth: log 5."""
    assert choose(ratio=3, p=0.5, q=1).epsilon == pytest.approx(math.log(5), rel=1e-14)
    assert choose(ratio=3, p=0.5, q=1, sided="one").epsilon == math.inf
    found = choose(difference=0.2, p=1, q=0.9)
    # 90 % may fall to 70 %: odds of 9 to 7/3, two steps
    assert found.epsilon == pytest.approx(math.log(9 / (7 / 3)) / 2, rel=1e-14)
    assert choose(difference=0.2, p=1, q=0.9, sided="one").epsilon == math.inf
    assert choose(difference=0.2).epsilon == pytest.approx(math.log(1.2 / 0.8), rel=1e-14)
    assert choose(ratio=3).epsilon == pytest.approx(math.log(3) / 2, rel=1e-14)
    # posterior limits and profiles speak of increases alone
    assert choose(posterior=0.9, unless_ratio=3, p=0.5, q=1).epsilon == math.inf
    assert choose("3", sided="two").epsilon == pytest.approx(math.log(3) / 2, abs=1e-6)
    assert choose(profile="3", p=0.5, q=1).epsilon == math.inf


def test_the_command_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    from discreet.cli import main

    for line, epsilon in (
        ("--difference .2 --p 1 --q .9", math.log(27 / 7) / 2),
        ("--ratio 3 --p .5 --q 1", math.log(5)),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["choose", *line.split(), "--json"])
        assert not caught.value.code
        out = json.loads(capsys.readouterr().out)
        assert out["epsilon"] == pytest.approx(epsilon, rel=1e-12)
        assert "fall" in out["certificate"]["method"]
        assert "up or down" in out["promise"]["sentence"]


@pytest.mark.parametrize("ratio", [1e50, 1e99, 1e101, 1e150, 1e200, 1e308])
def test_ratios_beyond_use(ratio: float) -> None:
    """Two steps at q = ½, p = 1 ask for u² ≤ 2r̃ − 1 and no more; nothing overflows."""
    found = ratio_falls(ratio, Box(1, 1, 0.5, 0.5))
    assert 50 < found.lower <= mp.log(2 * mp.mpf(ratio) - 1) / 2
    assert choose(Promise(Ratio(ratio, Box(1, 1, 0.5, 0.5)))).epsilon == found.lower


def test_no_limit() -> None:
    assert ratio_falls(math.inf, Box()).lower == math.inf
    assert ratio_falls(3, Box(1, 1, 1, 1))[:4] == (math.inf, math.inf, 1, 1)
    assert difference_falls(0.5, priors(p=0.5, q=1)).lower == math.inf
    assert difference_falls(math.nextafter(0.5, 0), priors(p=0.5, q=1)).lower < 40


@pytest.mark.parametrize("small", [1e-300, 1e-18, 1e-12])
def test_small_budgets_keep_their_digits(small: float) -> None:
    found = difference_falls(small, Box())
    assert found.lower == pytest.approx(2 * small, rel=1e-12)  # log((1 + b)/(1 − b))
    assert 0 < found.lower <= found.upper
    near = ratio_falls(1 + max(small, 2**-50), Box())
    assert near.lower == pytest.approx(math.log1p(max(small, 2**-50)) / 2, rel=1e-3)

"""The certificate of the search on a table of profiles: it holds, it is tight, and it is cheap.

The truth is found by zooming grids that solve Theorem 1 by bisection, and then stated at thirty
digits at the prior they end at. A grid errs upward, so `lower` must not exceed it, and a zoom to
1e-13 leaves it close enough for `upper` to be held to eleven digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from discreet import choose
from discreet.budgets import finding
from discreet.budgets import search as searching
from discreet.budgets.finding import look
from discreet.budgets.search import search, search_monotone
from discreet.budgets.structure import reciprocal
from discreet.promises import Box, Formula, Function
from discreet.promises.formula import parse, walk

Profile = Callable[[np.ndarray, np.ndarray], np.ndarray]


def largest(p: np.ndarray, q: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    low, high = np.zeros_like(p), np.ones_like(p)
    for _ in range(60):
        u = (low + high) / 2
        kept = p * q + u * u * (1 - q) * p + u * (1 - p) >= 1 / ratio
        low, high = np.where(kept, low, u), np.where(kept, u, high)
    return np.where(p * q * ratio >= 1, np.inf, -np.log(high))


def least(ratio: Profile, box: Box) -> tuple[float, float, float]:
    """The least ε_i on the box and where it is, 0 standing for a limit."""
    p0, p1, q0, q1 = (max(x, 1e-30) for x in (box.p0, box.p1, box.q0, box.q1))
    ends = (p0, p1, q0, q1)
    for _ in range(15):
        p, q = (
            axis.ravel() for axis in np.meshgrid(np.linspace(p0, p1, 41), np.linspace(q0, q1, 41))
        )
        k = int(np.argmin(largest(p, q, ratio(p, q))))
        p_at, q_at = float(p[k]), float(q[k])
        wide_p, wide_q = (p1 - p0) / 20, (q1 - q0) / 20
        p0, p1 = max(ends[0], p_at - wide_p), min(ends[1], p_at + wide_p)
        q0, q1 = max(ends[2], q_at - wide_q), min(ends[3], q_at + wide_q)
    with mp.workdps(30):
        x, y, r = mp.mpf(p_at), mp.mpf(q_at), mp.mpf(float(ratio(np.array(p_at), np.array(q_at))))
        A, B, C = x * (1 - y), 1 - x, 1 / r - x * y
        return float(mp.log((B + mp.sqrt(B * B + 4 * A * C)) / (2 * C))), p_at, q_at


# formula, the same in NumPy, box, and how many boxes the proof may take: what it took, and a third
TABLE: list[tuple[str, Profile, Box, int]] = [
    ("max(0.25/(p*q), 3)", lambda p, q: np.maximum(0.25 / (p * q), 3), Box(), 50),
    ("max(0.25/(p*q), 3)", lambda p, q: np.maximum(0.25 / (p * q), 3), Box(0, 1, 1, 1), 50),
    ("max(0.25/(p*q), 3)", lambda p, q: np.maximum(0.25 / (p * q), 3), Box(0, 1, 0.4, 0.4), 50),
    ("max(0.025/(p*q), 3)", lambda p, q: np.maximum(0.025 / (p * q), 3), Box(0.05, 0.05), 50),
    ("1 + 0.2/(p*q)", lambda p, q: 1 + 0.2 / (p * q), Box(), 390),
    ("1 + 0.2/(p*q)", lambda p, q: 1 + 0.2 / (p * q), Box(0, 1, 1, 1), 390),
    ("1 + 0.2/(p*q)", lambda p, q: 1 + 0.2 / (p * q), Box(0.1, 0.3, 0.1, 0.9), 390),
    ("2 + (p - 0.3)**2", lambda p, q: 2 + (p - 0.3) ** 2, Box(0, 1, 0.7, 0.7), 27),
    (
        "2 + 8*((p-0.4)**2 + (q-0.3)**2)",
        lambda p, q: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2),
        Box(),
        1050,
    ),
    ("2 + 9*(q-0.3)**2", lambda p, q: 2 + 9 * (q - 0.3) ** 2, Box(0.3, 0.3), 390),
    ("exp(1 - p) + log(2 + q)", lambda p, q: np.exp(1 - p) + np.log(2 + q), Box(), 450),
    (
        "max(0.3/(p*q), 3 - 1.5*p)",
        lambda p, q: np.maximum(0.3 / (p * q), 3 - 1.5 * p),
        Box(),
        630,
    ),
    ("1 + 0.2*sqrt(1/(p*q))", lambda p, q: 1 + 0.2 * np.sqrt(1 / (p * q)), Box(), 390),
    ("2 + (p*q)**2 - 0.5*(p+q)", lambda p, q: 2 + (p * q) ** 2 - 0.5 * (p + q), Box(), 480),
    ("2 + sqrt(q)", lambda p, q: 2 + np.sqrt(q), Box(0.3, 0.3), 27),
    ("50 - 40*p*q", lambda p, q: 50 - 40 * p * q, Box(0.01, 0.5, 0.01, 0.5), 50),
    ("0.9999/(p*q)", lambda p, q: 0.9999 / (p * q), Box(0.1, 0.3, 0.1, 0.3), 50),
    ("2 + 1/(0.5 + p - p)", lambda p, q: 4 + 0 * p, Box(0.1, 1, 0.5, 0.5), 370),
    (
        "1.5 + q if p > 0.2 else 3 - p",
        lambda p, q: np.where(p > 0.2, 1.5 + q, 3 - p),
        Box(),
        335,
    ),
    (
        "2.1 if p < 0.3 else 2 + (q - 0.6)**2",
        lambda p, q: np.where(p < 0.3, 2.1, 2 + (q - 0.6) ** 2),
        Box(0, 1, 0.5, 1),
        190,
    ),
]


@pytest.mark.parametrize(("text", "ratio", "box", "effort"), TABLE)
def test_the_certificate_holds_is_tight_and_cheap(
    text: str, ratio: Profile, box: Box, effort: int
) -> None:
    found = search(parse(text), box)
    epsilon, _, _ = least(ratio, box)
    assert found.lower <= epsilon
    assert found.upper >= epsilon * (1 - 1e-11)
    # 1e-9 and 1e-7 are promised; what is aimed at is a fifth of that.
    line = box.p_fixed or box.q_fixed
    assert 0 <= found.upper - found.lower <= (2.1e-10 if line else 2.1e-8) * found.upper
    p_at, q_at = (np.array([max(x, 1e-15)]) for x in (found.p, found.q))
    assert float(largest(p_at, q_at, ratio(p_at, q_at))[0]) == pytest.approx(epsilon, rel=1e-7)
    assert 0 < found.boxes <= effort


UP, DOWN = "increasing", "decreasing"
MONOTONE: list[tuple[Profile, Box, str, str, int]] = [
    (lambda p, q: np.maximum(0.25 / (p * q), 3), Box(), DOWN, DOWN, 1280),
    (lambda p, q: 2 + p + q, Box(), UP, UP, 1450),
    (lambda p, q: 4 + p - q, Box(0.1, 0.9, 0.1, 0.9), UP, DOWN, 1070),
    (lambda p, q: 4 - p + q, Box(0.1, 0.9, 0.1, 0.9), DOWN, UP, 1070),
    (lambda p, q: 3 - p, Box(0, 1, 0.6, 0.6), DOWN, UP, 370),
    (lambda p, q: 3 - q * q, Box(0.5, 0.5, 0.1, 0.8), UP, DOWN, 370),
]


@pytest.mark.parametrize(("ratio", "box", "in_p", "in_q", "effort"), MONOTONE)
def test_a_monotone_function_is_proved_too(
    ratio: Profile, box: Box, in_p: str, in_q: str, effort: int
) -> None:
    found = search_monotone(Function(ratio, box, monotone_p=in_p, monotone_q=in_q))
    epsilon, _, _ = least(ratio, box)
    assert found.lower <= epsilon
    assert found.upper >= epsilon * (1 - 1e-11)
    line = box.p_fixed or box.q_fixed
    assert 0 < found.upper - found.lower <= (2.1e-10 if line else 2.1e-8) * found.upper
    assert 0 < found.boxes <= effort


def test_a_monotone_function_that_bounds_nothing() -> None:
    function = Function(
        lambda p, q: 2 / (p * q), Box(0.1, 1, 0.1, 1), monotone_p=DOWN, monotone_q=DOWN
    )
    found = search_monotone(function)
    assert (found.lower, found.upper) == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("ratio", "box"),
    [
        (lambda p, q: np.maximum(0.25 / (p * q), 3), Box()),
        (lambda p, q: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2), Box()),
        (lambda p, q: 2 + 30 * (p - 0.013) ** 2 + (q - 0.7) ** 2, Box(0, 0.5, 0.2, 0.9)),
        (lambda p, q: 3 + p - q, Box(0.2, 0.7, 0.3, 0.3)),
        (lambda p, q: 1 + 1e-3 * np.abs(np.log(p * 1e4)) + q, Box(0, 1, 0.5, 1)),
        (lambda p, q: 3 + np.abs(np.log(q * 1e5)), Box(0.5, 1, 0, 1)),
    ],
)
def test_looking_finds_the_worst_prior(ratio: Profile, box: Box) -> None:
    found = look(Function(ratio, box))
    epsilon, _, _ = least(ratio, box)
    assert found.upper == pytest.approx(epsilon, rel=5e-5)
    assert found.lower == pytest.approx(found.upper * (1 - 1e-6), rel=1e-12)
    assert box.p0 <= found.p <= box.p1
    assert box.q0 <= found.q <= box.q1


def test_looking_finer_than_the_first_grid() -> None:
    """Twelve grids, each a sixth of the one before, end at the tip of a cone."""

    def ratio(p: float, q: float) -> float:
        return 1.2 + 3 * abs(p - 0.2345678) + 3 * abs(q - 0.7654321)

    found = look(Function(ratio))
    assert (found.p, found.q) == pytest.approx((0.2345678, 0.7654321), abs=1e-6)


def test_looking_asks_no_more_than_it_must() -> None:
    asked: list[tuple[float, float]] = []

    def ratio(p: float, q: float) -> float:
        asked.append((p, q))
        return 3 + p

    look(Function(ratio, Box(0.1, 0.5, 0.2, 0.8)))
    assert len(asked) == 96**2 + 11 * 24**2
    assert all(0.1 <= p <= 0.5 and 0.2 <= q <= 0.8 for p, q in asked)
    asked.clear()
    look(Function(ratio))
    assert asked[0] == (1e-100, 1e-100)  # a prior of 0 is a limit
    # The worst prior has p = 1 and q → 0: q keeps its orders of magnitude, p loses them.
    assert len(asked) == 144**2 + 11 * 24 * 36
    for k in (0, 1):
        assert min(x[k] for x in asked if x[k] > 1e-100) == pytest.approx(1e-12)
    asked.clear()
    look(Function(ratio, Box(0, 0.5, 0.2, 0.8)))  # only p is open
    assert min(q for _, q in asked) == 0.2
    assert min(p for p, _ in asked if p > 1e-100) == pytest.approx(1e-12)
    assert max(p for p, _ in asked) <= 0.5


def test_each_look_spans_four_steps_of_the_last_to_either_side() -> None:
    asked: list[tuple[float, float]] = []

    def ratio(p: float, q: float) -> float:
        asked.append((p, q))
        return 1.2 + 3 * abs(p - 0.4) + 3 * abs(q - 0.6)

    look(Function(ratio, Box(0.1, 0.9, 0.2, 0.8)))
    grids = [asked[: 96**2]]
    grids += [asked[k : k + 24**2] for k in range(96**2, len(asked), 24**2)]
    assert len(grids) == 12
    for k in (0, 1):
        spans = [max(x[k] for x in grid) - min(x[k] for x in grid) for grid in grids]
        for points, wide, narrow in zip([96, *[24] * 10], spans[:-1], spans[1:], strict=True):
            assert narrow == pytest.approx(8 / points * wide, rel=1e-4)


def test_an_open_line_has_magnitudes_up_to_its_end() -> None:
    line = finding._and_magnitudes(np.linspace(0, 0.5, 5), 4)
    assert line[:5].tolist() == [0, 0.125, 0.25, 0.375, 0.5]
    assert np.allclose(np.log(line[5:]), np.linspace(math.log(1e-12), math.log(0.5), 4))


THEOREM_1 = f"(p*q + {math.exp(-2)!r}*(1-q)*p + {math.exp(-1)!r}*(1-p))"


class TestGivingUp:
    """Where all priors bind no box can go. It must then stop, stay below, and say how far."""

    flat = f"1/{THEOREM_1}"
    ridge = f"(1 + max(p*q - 0.1, 0.1 - p*q))/{THEOREM_1}"

    @pytest.mark.parametrize("text", [flat, ridge])
    def test_fewer_boxes_prove_less_but_never_too_much(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        widths = []
        for most in (5_000, 50_000):
            parts = sum(1 for _ in walk(reciprocal(parse(text))))
            monkeypatch.setattr(finding, "MOST_WORK", most * parts)
            found = search(parse(text), Box(0.2, 0.8, 0.2, 0.8))
            assert found.boxes <= most
            assert found.lower <= 1.0 + 1e-15
            assert 1 - 1e-12 <= found.upper <= 1 + 1e-4
            widths.append(found.upper - found.lower)
        assert 1e-7 < widths[1] < widths[0] < 0.7

    def test_the_warning_says_how_far(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(finding, "MOST_WORK", 60_000)
        choice = choose(Formula(self.flat, Box(0.2, 0.8, 0.2, 0.8)))
        width = choice.certificate.upper - choice.certificate.lower
        (said,) = (warning for warning in choice.warnings if "stopped" in warning)
        assert f"stopped {width:.1g} below" in said
        assert choice.certificate.certified is False

    def test_patience_gives_up_digits_before_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A curved ridge needs many boxes: after some, six digits will do."""
        text = f"(1 + 10*(p*q - 0.1)**2)/{THEOREM_1}"
        monkeypatch.setattr(searching, "_PATIENCE", 2_000)
        soon = search(parse(text), Box())
        assert 0 < soon.upper - soon.lower <= 1e-6 * soon.upper
        assert soon.lower <= 1.0
        monkeypatch.setattr(searching, "_PATIENCE", 10**9)
        late = search(parse(text), Box(0.3, 1, 0.3, 1))
        assert late.upper - late.lower <= 2.1e-8 * late.upper
        assert late.lower <= 1.0
        assert soon.boxes > 2_000

"""Tolerances that come down to a ratio of 1 at p = q = 1, where nothing is left to learn.

There 1 − 1/r and 1/r − pq vanish together. The truth is Theorem 1 of Kazan and Reiter solved for ε
at fifty digits, at priors up to 1e-12 from certainty, where doubles have no digits left of either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from discreet import choose
from discreet.budgets import proving, reciprocals
from discreet.budgets import search as searching
from discreet.budgets.finding import Search
from discreet.budgets.search import search, search_monotone
from discreet.budgets.structure import reciprocal
from discreet.errors import ToleranceError
from discreet.promises import Box, Function
from discreet.promises.formula import evaluate, parse

Ratio = Callable[[Any, Any], Any]
LIMITS: list[tuple[str, Ratio, float, tuple[float, float]]] = [
    # along p = 1, 1 − u² = (1 − W)/(1 − q): a constant, or its limit as q → 1 or q → 0
    ("3/(1 + 2*p*q)", lambda p, q: 3 / (1 + 2 * p * q), math.log(3) / 2, (1, 1)),
    ("2 - p*q", lambda p, q: 2 - p * q, math.log(2) / 2, (1, 0)),
    ("(p*q)**-0.5", lambda p, q: 1 / mp.sqrt(p * q), math.log(2) / 2, (1, 1)),
    ("2/(p*q + sqrt(p*q))", lambda p, q: 2 / (p * q + mp.sqrt(p * q)), math.log(2), (1, 1)),
    ("3/(1 + p + q)", lambda p, q: 3 / (1 + p + q), math.log(1.5) / 2, (1, 1)),
    ("4 - p - 2*q", lambda p, q: 4 - p - 2 * q, math.log(3) / 2, (1, 0)),
    # along q = 1, where 1 − u = (1 − W)/(1 − p)
    ("5/(4 + p) if q == 1 else inf", lambda p, q: 5 / (4 + p), math.log(1.25), (1, 1)),
]


def truth(p: Any, q: Any, ratio: Ratio) -> Any:
    p, q = mp.mpf(p), mp.mpf(q)
    A, B, C = p * (1 - q), 1 - p, 1 / ratio(p, q) - p * q
    return mp.log((B + mp.sqrt(B * B + 4 * A * C)) / (2 * C)) if C > 0 else mp.inf


@pytest.mark.parametrize(("text", "ratio", "epsilon", "at"), LIMITS)
def test_the_budget_is_the_limit_and_is_proved(
    text: str, ratio: Ratio, epsilon: float, at: tuple[float, float]
) -> None:
    choice = choose(text)
    lower, upper = choice.certificate.lower, choice.certificate.upper
    assert choice.certificate.certified
    assert choice.epsilon == lower <= epsilon <= upper * (1 + 1e-15)
    assert upper - lower <= 2.1e-8 * upper
    assert (choice.binding.p, choice.binding.q) == at
    assert choice.binding.attained is False
    near = [1 - mp.mpf(10) ** -k for k in range(1, 13)]
    with mp.workdps(50):
        for x in [mp.mpf(1), *near, mp.mpf("0.5"), mp.mpf("1e-9")]:
            others = [mp.mpf(1)] if "q == 1" in text else [mp.mpf(1), *near[::3], mp.mpf("0.3")]
            for y in others:
                if x * y < 1:
                    assert lower <= truth(x, y, ratio)


def test_it_is_quick() -> None:
    assert search(parse("3/(1 + 2*p*q)"), Box()).boxes < 1000
    assert search(parse("3/(1 + p + q)"), Box()).boxes < 10_000


@pytest.mark.parametrize("text", ["1 + (1 - p*q)**2", "1 + (1 - p)**2 + (1 - q)**2"])
def test_one_that_falls_faster_than_the_room_that_is_left_is_refused(text: str) -> None:
    """Its slope at certainty is 0, so ε_i comes down to 0 there."""
    with pytest.raises(ToleranceError, match=r"p = 1, q = 1 .* ratio of 1 or less"):
        choose(text)


@pytest.mark.parametrize(
    "tolerance",
    [
        Function(lambda p, q: 2 - p * q, monotone_p="decreasing", monotone_q="decreasing"),
    ],
)
def test_what_cannot_be_proved_there_is_refused_as_that(tolerance: Any) -> None:
    with pytest.raises(ToleranceError) as refused:
        choose(tolerance)
    said = str(refused.value)
    assert "p = 1, q = 1" in said
    assert "ratio of 1" in said
    assert "--box" in refused.value.on_the_command_line


def test_without_certainty_among_the_priors_a_function_is_proved() -> None:
    box = Box(0, 1, 0, 0.9)
    found = search_monotone(
        Function(lambda p, q: 2 - p * q, box, monotone_p="decreasing", monotone_q="decreasing")
    )
    assert 0 < found.lower <= math.log(2) / 2 <= found.upper * (1 + 1e-12)


def test_an_opaque_function_is_looked_at_beside_certainty() -> None:
    choice = choose(Function(lambda p, q: 3 / (1 + 2 * p * q)))
    assert choice.epsilon == pytest.approx(math.log(3) / 2, rel=1e-4)
    assert choice.certificate.certified is False


class TestNearCertainty:
    def near(self, text: str, piece: Box, slopes: str = "pq") -> tuple[Any, Search]:
        state = Search()
        W = reciprocals.OfFormula(reciprocal(parse(text)))
        return proving.near_certainty(W, piece, slopes, state), state

    @pytest.mark.parametrize(
        ("text", "piece"),
        [
            ("2 - p*q", Box(0, 1, 0, 0.999999)),
            ("2 - p*q", Box(0, 0.999999, 0, 1)),
            ("2.000001 - p*q", Box()),
            ("1.000000000000009 - 0*p", Box()),
            ("0.999999999999991 + 0*p", Box()),
        ],
    )
    def test_only_where_the_ratio_is_one(self, text: str, piece: Box) -> None:
        found, state = self.near(text, piece)
        assert found is None
        assert state.upper == math.inf

    def test_limits_of_both_directions_are_offered(self) -> None:
        (boxes, enclosed), state = self.near("4/(1 + p + 2*q)", Box())
        # W_p = 1/4, W_q = 1/2
        assert state.upper == pytest.approx(min(-math.log(0.75), -math.log(0.5) / 2), rel=1e-14)
        assert state.upper >= -mp.log(mp.mpf("0.75"))
        assert (state.p, state.q) == (1.0, 1.0)
        assert len(boxes) == len(enclosed.low) == len(enclosed.high)
        _, state = self.near("8/(1 + 6*p + q)", Box())
        assert state.upper == pytest.approx(-math.log(7 / 8) / 2, rel=1e-14)
        _, state = self.near("8/(1 + 6*p + q)", Box(0, 1, 1, 1), "p")
        assert state.upper == pytest.approx(-math.log(1 - 6 / 8), rel=1e-14)

    def test_a_slope_of_one_or_more_binds_nothing(self) -> None:
        found, state = self.near("3 - p - q", Box())
        assert found is not None
        assert state.upper == math.inf

    def test_the_boxes_end_at_certainty_and_shrink_tenfold(self) -> None:
        (boxes, _), _ = self.near("2 - p*q", Box(0.95, 1, 0, 1))
        assert set(boxes.p1) == set(boxes.q1) == {1.0}
        assert (boxes.p0[0], boxes.q0[0]) == (1.0, 1.0)
        assert np.allclose(1 - boxes.q0[1:], 10.0 ** -np.arange(1, 14), rtol=1e-3)
        assert boxes.p0[1] == 0.95
        assert (boxes.p0[2:] == boxes.q0[2:]).all()

    def test_what_is_proved_lies_inside_one_on_which_it_falls(self) -> None:
        """W = (1 + 2pq)/3, so G falls along p = 1 where 1 − u² < 2/3, that is below ½ log 3."""
        near, _ = self.near("3/(1 + 2*p*q)", Box(1, 1, 0, 1), "q")
        below, above = math.log(3) / 2 - 1e-9, math.log(3) / 2 + 1e-9
        assert proving.certain_from(*near, below) == (1.0, pytest.approx(0.9))
        # Above it only the point itself, at which nothing can be learned, is safe.
        assert proving.certain_from(*near, above) == (1.0, 1.0)

    def test_both_directions_must_fall(self) -> None:
        """W = (1 + p + q)/3: G falls in q below ½ log 1.5, in p below log 1.5."""
        near, _ = self.near("3/(1 + p + q)", Box())
        for target, proved in ((0.2, True), (0.21, False), (0.41, False)):
            p, q = proving.certain_from(*near, target)
            assert (p < 1 and q < 1) == proved
        near, _ = self.near("3/(1 + p + q)", Box(0, 1, 1, 1), "p")
        for target, proved in ((0.21, True), (0.4, True), (0.41, False)):
            assert (proving.certain_from(*near, target)[0] < 1) == proved


class TestPlenty:
    def test_a_budget_that_is_plenty_is_not_searched_further(self) -> None:
        """2/(pq) bounds nothing, which a function cannot say of itself near p = 0."""
        found = search_monotone(
            Function(lambda p, q: 2 / (p * q), monotone_p="decreasing", monotone_q="decreasing")
        )
        assert 5 < found.lower < found.upper
        assert found.boxes < 400_000

    def test_a_smaller_one_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(searching, "_PATIENCE", 100)
        found = search_monotone(
            Function(lambda p, q: 3 - p * p - q / 2, Box(), "decreasing", "decreasing")
        )
        assert found.upper - found.lower <= 1e-6
        assert found.boxes > 100


class TestLostPoints:
    def test_a_root_in_two_factors_is_proved_along_rays(self) -> None:
        """Intervals of it are wider than it is: no box beside the corner falls for sure."""
        choice = choose("1/((p*q)**0.25*(p*q)**0.25)")
        with mp.workdps(40):
            assert choice.epsilon <= mp.log(2) / 2
        assert choice.epsilon == pytest.approx(math.log(2) / 2, rel=3e-8)
        assert choice.certificate.certified

    def test_a_point_without_digits_is_looked_at_once(self) -> None:
        found = search(parse("1/((p*q)**0.25*(p*q)**0.25)"), Box(0.0, 1.0, 0.0, 1.0))
        assert found.boxes < 10_000


@pytest.mark.parametrize(
    "text",
    [
        "max((0.55/(p*q) if p*q > 0.932 else 9), 1+0.13*(1-p)+1.85531*(1-q))",
        "max((0.3/(p*q) if p*q > 0.8 else 5), 1+0.2*(1-p)+0.9*(1-q))",
        "max((0.5 if p > 0.9 else 4), 1+0.13*(1-p)+1.8*(1-q), 0.4/(p*q))",
    ],
)
def test_a_part_that_is_above_one_at_certainty_proves_nothing_beside_it(text):
    """Along rays from p = q = 1 G rises from 0 only where W is 1 there; a/(pq), a < 1, is not."""
    found = search(parse(text), Box(0, 1, 0, 1))
    u = math.exp(-found.lower)
    for i in range(1, 400):
        for q in (1.0, 0.999, 0.97):
            p = 0.75 + i / 1600
            kept = p * q + u * u * (1 - q) * p + u * (1 - p)
            assert evaluate(parse(text), p, q) * kept >= 1 - 1e-9 * (1 - p * q) - 1e-15

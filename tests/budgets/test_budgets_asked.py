"""What a search asks of a formula, and what a complete proof leaves open."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from discreet.budgets import finding, proving, reciprocals
from discreet.budgets import search as searching
from discreet.budgets.enclosures import Boxes
from discreet.budgets.finding import Search
from discreet.budgets.search import search
from discreet.budgets.structure import reciprocal
from discreet.errors import FormulaError
from discreet.promises import Box, Function
from discreet.promises.formula import parse


def boxes(*rows: tuple[float, float, float, float]) -> Boxes:
    return Boxes(*(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


class Listening:
    """Passes a formula's W on, and keeps what was asked of it."""

    def __init__(self, text: str) -> None:
        self.inner = reciprocals.OfFormula(reciprocal(parse(text)))
        self.asked: list[tuple[int, str]] = []

    def over(self, some: Boxes, slopes: str):
        self.asked.append((len(some), slopes))
        return self.inner.over(some, slopes)

    def at(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return self.inner.at(p, q)

    @property
    def parts(self) -> int:
        return self.inner.parts


class TestWhatIsAsked:
    @pytest.mark.parametrize(
        ("piece", "slopes"),
        [
            (Box(0.1, 0.9, 0.2, 0.8), "pq"),
            (Box(0.1, 0.9, 0.3, 0.3), "p"),
            (Box(0.3, 0.3, 0.2, 0.8), "q"),
        ],
    )
    def test_slopes_along_every_free_prior_and_no_other(self, piece: Box, slopes: str) -> None:
        """A slope that is left out counts as 0: one too few would prove what is not so."""
        W, state = Listening("2 + (p - 0.4)**2 + (q - 0.5)**2"), Search()
        list(searching._search_piece(W, piece, ((0.3, 0.3), (0.3, 0.3)), state, 2e-8))
        assert {asked for _, asked in W.asked} == {"", slopes}
        # Every box of every level is counted, and no point that was only tried.
        assert state.boxes == sum(many for many, asked in W.asked if asked == slopes)
        if slopes == "pq":  # which takes more than one level
            assert state.boxes > max(many for many, asked in W.asked if asked == slopes)

    @pytest.mark.parametrize("text", ["0.9999/(p*q)", "2 + (p - 0.2)**2 + (q - 0.25)**2"])
    def test_patience_is_for_each_piece_anew(self, text: str) -> None:
        """Boxes of the pieces before it leave a piece its digits, also where ε is plenty."""
        box, at = Box(0.1, 0.3, 0.1, 0.3), (0.3, 0.1)
        alone, state = Search(), Search(boxes=10**7)
        first, later = (
            max(searching._search_piece(Listening(text), box, (at, at), each, 2e-8))
            for each in (alone, state)
        )
        assert first == later
        assert state.lower == math.inf
        assert state.boxes == 10**7 + alone.boxes

    def test_a_formula_gives_the_slopes_it_is_asked_for(self) -> None:
        W, some = reciprocals.OfFormula(parse("2 + p + q")), boxes((0.1, 0.2, 0.3, 0.4))
        for slopes, has in (("pq", (True, True)), ("p", (True, False)), ("", (False, False))):
            at, _ = W.over(some, slopes)
            assert (at.slope_p is not None, at.slope_q is not None) == has

    def test_no_slopes_while_an_undefined_box_is_followed(self) -> None:
        W = Listening("2 + 1/(q - 0.5)**2")
        with pytest.raises(FormulaError, match=r"q = 0\.5 "):
            proving.refuse_undefined(W, boxes((0.2, 0.4, 0.1, 0.9)))
        assert {asked for _, asked in W.asked} == {""}

    def test_every_undefined_box_is_followed(self) -> None:
        """The last one only looks singular; the one before it is."""
        W = reciprocals.OfFormula(parse("2 + 1/(p - 0.5)**2"))
        fine = (0.6, 0.9, 0.1, 0.2)
        with pytest.raises(FormulaError, match=r"p = 0\.5"):
            proving.refuse_undefined(W, boxes((0.4, 0.7, 0.1, 0.2), fine))
        proving.refuse_undefined(W, boxes(fine, fine))

    def test_a_ratio_below_one_is_its_reciprocal_still(self) -> None:
        at = (np.array([0.3]), np.array([0.3]))
        assert reciprocals.OfFunction(Function(lambda p, q: 0.5)).at(*at) == [2.0]
        assert reciprocals.OfFunction(Function(lambda p, q: 1.0)).at(*at) == [1.0]


class TestWidths:
    @pytest.mark.parametrize(
        ("text", "box", "relative"),
        [
            ("2 + (p - 0.4)**2 + (q - 0.5)**2", Box(0.1, 0.9, 0.2, 0.8), 2e-8),
            ("2 + (p - 0.4)**2 + (q - 0.5)**2", Box(0.1, 0.9, 0.2, 0.2), 2e-10),
            ("2 + (p - 0.4)**2 + (q - 0.5)**2", Box(0.2, 0.2, 0.1, 0.9), 2e-10),
            ("1.00001 + (p - 0.4)**2", Box(0.1, 0.9, 0.2, 0.2), 2e-10),
        ],
    )
    def test_a_complete_proof_leaves_what_was_aimed_at(self, text, box, relative) -> None:
        found = search(parse(text), box)
        assert found.upper - found.lower == pytest.approx(relative * found.upper + 4e-14, rel=1e-2)

    def test_constants_leave_nothing_but_rounding(self) -> None:
        found = search(parse("3 if p < 0.5 else 4"), Box())
        assert 0 < found.upper - found.lower < 1e-14

    def test_what_bounds_nothing_has_no_width(self) -> None:
        found = search(parse("2/(p*q) if p < 0.5 else 1.5/(p*q)"), Box())
        assert (found.lower, found.upper) == (math.inf, math.inf)

    def test_where_no_prior_was_found_that_binds_one_is_still_looked_for(self) -> None:
        """All priors but a disc that the first grid steps over are bound by nothing."""
        text, box = "max(1.5, 1e6*((p - 0.37)**2 + (q - 0.41)**2))", Box(0.2, 0.8, 0.2, 0.8)
        assert (
            finding.coarse_look(reciprocals.OfFormula(reciprocal(parse(text))), box)[0] == math.inf
        )
        found = search(parse(text), box)
        with mp.workdps(50):
            # A u² + B u = C at the middle of the disc, where the ratio is 1.5
            p, q = mp.mpf(0.37), mp.mpf(0.41)
            A, B, C = p * (1 - q), 1 - p, 1 / mp.mpf("1.5") - p * q
            middle = mp.log((B + mp.sqrt(B * B + 4 * A * C)) / (2 * C))
        assert found.lower <= found.upper <= middle
        assert (found.p, found.q) == pytest.approx((0.37, 0.41), abs=0.002)

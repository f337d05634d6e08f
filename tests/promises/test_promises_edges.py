"""Tolerances at their edges: powers and conditions enclosed, formulas that overflow, words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.budgets.enclosures import Boxes, enclose
from discreet.budgets.structure import pieces, reciprocal
from discreet.errors import FormulaError, InputError, ToleranceError
from discreet.promises import (
    AllOf,
    Box,
    Counterfactual,
    Difference,
    Formula,
    Function,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Table,
    priors,
)
from discreet.promises.formula import evaluate, parse

BOXES = [
    (0.1, 0.3, 0.2, 0.9),
    (0.5, 0.5, 0.4, 0.6),
    (0.2, 0.8, 1.0, 1.0),
    (0.45, 0.55, 0.3, 0.31),
]


def boxes() -> Boxes:
    return Boxes(*(np.array(column) for column in zip(*BOXES, strict=True)))


@pytest.mark.parametrize(
    "text",
    [
        "(p - q)**0 + 2",
        "p**0.5 + q**1.5",
        "(p + q)**-0.5",
        "(p + 1)**-3",
        "(1.5 - p)**-2",
        "(p - 2)**-3",
        "(p - 2)**3 + 9",
        "2 if p < 0.3 and q < 0.5 else 3 + p",
        "2 if p < 0.3 or q < 0.5 else 3 + p",
        "2 if not p < 0.3 else 3 + p",
        "2 if not (p < 0.3 and q > 0.2) else 3",
        "2 if p != 0.5 else 3",
        "2 if p == 0.5 else 3",
        "2 if p > q else 3",
        "2 if p >= q else 3 - q",
        "2 if p <= q else 3",
        "exp(-p) + log(1 + q) + sqrt(p*q)",
        "min(p, q, 0.5) + max(p, q)",
        "2 if p*q > 0.1 and p + q < 1 else 3",
    ],
)
def test_values_and_slopes_are_enclosed(text: str) -> None:
    expression = parse(text)
    found, undefined = enclose(expression, boxes())
    assert not undefined.any()
    for k, (p0, p1, q0, q1) in enumerate(BOXES):
        ps, qs = np.linspace(p0, p1, 9), np.linspace(q0, q1, 9)
        values = np.array([[evaluate(expression, p, q) for q in qs] for p in ps])
        assert found.low[k] <= values.min()
        assert values.max() <= found.high[k]
        for span, axis, line in ((found.slope_p, 0, ps), (found.slope_q, 1, qs)):
            if line[0] == line[-1]:
                continue
            low, high = (
                (0.0, 0.0)
                if span is None
                else (float(np.broadcast_to(end, len(BOXES))[k]) for end in span)
            )
            steps = np.diff(values, axis=axis) / (line[1] - line[0])
            assert low <= steps.min() + 1e-9
            assert steps.max() <= high + 1e-9


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("(p - 0.2)**0.5", (0.1, 0.3, 0.2, 0.9)),
        ("(p - 0.2)**-1.5", (0.1, 0.3, 0.2, 0.9)),
        ("(p - 0.2)**-2", (0.1, 0.3, 0.2, 0.9)),
        ("log(p - 0.2)", (0.1, 0.3, 0.2, 0.9)),
        ("sqrt(p - 0.2)", (0.1, 0.3, 0.2, 0.9)),
        ("1/(p - 0.2)", (0.1, 0.3, 0.2, 0.9)),
    ],
)
def test_where_there_may_be_no_value_it_says_so(text: str, box: tuple[float, ...]) -> None:
    some = Boxes(*(np.array([end, end + 0.4 if k < 2 else end]) for k, end in enumerate(box)))
    _, undefined = enclose(parse(text), some)
    assert undefined.tolist() == [True, False]


class TestFormulas:
    def test_what_is_too_large_for_a_number_is_infinite(self) -> None:
        assert evaluate(parse("(p*1e200)**3"), 1.0, 1.0) == math.inf
        assert evaluate(parse("exp(1000*p)"), 1.0, 1.0) == math.inf
        assert Formula("exp(1000*p)").ratio_at(1.0, 1.0) == math.inf

    @pytest.mark.parametrize(
        "text",
        [
            "sqrt(p - 1)",
            "log(p - 1)",
            "(p - 1)**0.5",
            "min(1/(p - q), 2)",
            "1/(p - q)",
            "min(exp(2000*p) - exp(2000*q), 2)",
            "2 if exp(2000*p) - exp(2000*q) < 1 else 3",
        ],
    )
    def test_no_value_is_refused_with_the_prior(self, text: str) -> None:
        with pytest.raises(FormulaError) as refused:
            Formula(text).ratio_at(0.5, 0.5)
        assert "0.5" in str(refused.value)

    @pytest.mark.parametrize(
        ("text", "p", "q", "value"),
        [
            ("2 if p < 0.3 and q < 0.5 else 3", 0.2, 0.2, 2),
            ("2 if p < 0.3 and q < 0.5 else 3", 0.2, 0.7, 3),
            ("2 if p < 0.3 or q < 0.5 else 3", 0.9, 0.2, 2),
            ("2 if p < 0.3 or q < 0.5 else 3", 0.9, 0.9, 3),
            ("2 if not p < 0.3 else 3", 0.2, 0.2, 3),
            ("2 if not p < 0.3 else 3", 0.4, 0.2, 2),
            ("2 if p != 0.3 else 3", 0.3, 0.2, 3),
            ("2 if p >= 0.3 else 3", 0.3, 0.2, 2),
            ("2 if p > 0.3 else 3", 0.3, 0.2, 3),
        ],
    )
    def test_conditions(self, text: str, p: float, q: float, value: float) -> None:
        assert Formula(text).ratio_at(p, q) == value
        # On each piece of the box the comparison is gone, and the value is the same.
        for part, piece in pieces(parse(text), Box()):
            if piece.p0 < p < piece.p1 and piece.q0 < q < piece.q1:
                assert evaluate(part, p, q) == value

    @pytest.mark.parametrize(
        "text",
        [
            "p**2 + exp(q) + sqrt(p)",
            "min(2, p) + max(p, q)",
            "3 if p*q < 0.3 else 2 + p",
            "0/(p + 1) + 3",
            "3/(1 + p)",
            "(2 if p*q < 0.3 else 3)*max(p, 1)",
            "max(2 + p, sqrt(1 + q)**2)",
            "exp(p)/sqrt(q)",
            "(p*q)**-0.5",
            "(p - 2)**-1 + 3",
            "min(p, q)/max(1, p)",
            "(2 if p < 0.5 else 3)/(1 + q)",
            "max(log(2 + p), log(3 + q))",
            "max(3 - p, 4 - q)/(2 - q)",
            "-1*p + 4",
        ],
    )
    def test_a_reciprocal_is_one(self, text: str) -> None:
        e = parse(text)
        inverse = reciprocal(e)
        for p in (0.1, 0.5, 1.0):
            for q in (0.2, 0.9):
                assert evaluate(inverse, p, q) == pytest.approx(1 / evaluate(e, p, q))

    def test_at_one_prior_there_is_one_piece(self) -> None:
        e = parse("2 + p*q")
        assert pieces(e, Box(0.5, 0.5, 0.25, 0.25)) == [(e, Box(0.5, 0.5, 0.25, 0.25))]

    def test_a_condition_on_both_priors_stays(self) -> None:
        """It changes along no axis, so no cut decides it, and `not` turns what is left of it."""
        e = parse("2 if not (p < 0.3 or p + q < 1) else 3")
        found = pieces(e, Box())
        assert {(piece.p0, piece.p1) for _, piece in found} == {(0, 0.3), (0.3, 1), (0.3, 0.3)}
        for p, q in ((0.2, 0.9), (0.3, 0.6), (0.3, 0.9), (0.7, 0.2), (0.7, 0.4)):
            assert {
                evaluate(part, p, q)
                for part, piece in found
                if (piece.p0 < p < piece.p1 or p == piece.p0 == piece.p1)
                and piece.q0 <= q <= piece.q1
            } == {evaluate(e, p, q)}

    def test_the_reciprocal_of_nothing(self) -> None:
        assert evaluate(reciprocal(parse("0/(p + 1)")), 0.5, 0.5) == math.inf


class TestShapes:
    def test_each_says_its_profile_twice_the_same(self) -> None:
        box = Box(0.1, 0.4, 0.2, 0.9)
        for shape in (
            Ratio(3, box),
            Posterior(0.5, box),
            PosteriorUnlessRatio(0.25, 3, box),
            Difference(0.2, box),
            Formula("3 + p", box),
        ):
            for p, q in ((0.1, 0.2), (0.4, 0.9), (0.3, 0.5)):
                assert evaluate(shape.expression(), p, q) == pytest.approx(shape.ratio_at(p, q))
            assert str(box) in str(shape)

    def test_words(self) -> None:
        def worry(p: float, q: float) -> float:
            return 3.0

        assert "worry(p, q)" in str(Function(worry))
        assert "4 times the odds" in str(Counterfactual(4))
        assert str(Ratio(3) & Ratio(2)).count("; and ") == 1
        assert str(Groups((("staff", Ratio(2)),))).startswith("for staff: belief grows")

    def test_empty_combinations_are_refused(self) -> None:
        with pytest.raises(ToleranceError, match="no tolerance was given"):
            AllOf(())
        with pytest.raises(ToleranceError, match="groups is empty"):
            Groups(())
        with pytest.raises(ToleranceError, match="same name"):
            Groups((("a", Ratio(2)), ("a", Ratio(3))))

    def test_a_function_without_a_number(self) -> None:
        with pytest.raises(ToleranceError, match=r"no number at p = 0\.5, q = 0\.25"):
            Function(lambda p, q: math.nan).ratio_at(0.5, 0.25)
        with pytest.raises(ToleranceError, match="no number at p = 0, q = 1"):
            Function(lambda p, q: q / p).ratio_at(0.0, 1.0)
        with pytest.raises(ToleranceError, match="cannot be written to a file"):
            Function(lambda p, q: 3).to_mapping()

    def test_boxes(self) -> None:
        for end in (True, "0.1", None):
            with pytest.raises(InputError, match="must be numbers"):
                Box(end)
        with pytest.raises(InputError, match="outside the box"):
            priors(p=0.9, box=Box(0, 0.5, 0, 1))

    def test_a_table_outside_its_cells(self) -> None:
        table = Table(((0.1, 1, 10), (0.5, 1, 3), (1, 1, 2)), Box(0.1, 0.6, 1, 1))
        with pytest.raises(ToleranceError, match="outside the table"):
            table.ratio_at(0.05, 1.0)
        assert [box for box, _ in table.cells()] == [Box(0.1, 0.5, 1, 1), Box(0.5, 0.6, 1, 1)]
        beyond = Table(((0.1, 1, 10), (0.5, 1, 3), (1, 1, 2)), Box(0.6, 0.9, 1, 1))
        assert [box for box, _ in beyond.cells()] == [Box(0.6, 0.9, 1, 1)]

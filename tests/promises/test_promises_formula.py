"""The formula language: what it reads, what it refuses, and that enclosures enclose."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.budgets.enclosures import Boxes, enclose
from discreet.budgets.structure import in_product_only, pieces, reciprocal
from discreet.errors import FormulaError
from discreet.promises import Formula
from discreet.promises.box import Box
from discreet.promises.formula import evaluate, parse
from soaking import examples

stable = settings(derandomize=True, deadline=None, max_examples=examples(250))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("max(0.25/(p*q), 3) if p*q < 0.2 else 1.5", 2.5 * 2),
        ("-p + 3", 2.5),
        ("2**3", 8),
        ("min(p, q, 1)", 0.1),
        ("log(exp(2))", 2),
        ("sqrt(4) if not p < q else 1", 2),
        ("inf if 0.1 <= q <= 0.2 else 2", math.inf),
        ("3 if p == 0.5 and q != 0.5 or p > 1 else 2", 3),
        ("+p", 0.5),
        ("exp(800)", math.inf),
    ],
)
def test_values(text, value):
    assert evaluate(parse(text), 0.5, 0.1) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("p q", "cannot be read"),
        ("max(", "cannot be read"),
        ("r + 1", "name 'r' is not allowed"),
        ("__import__('os')", "not a function"),
        ("p.real", "not allowed"),
        ("[1, 2][0]", "not allowed"),
        ("lambda: 1", "not allowed"),
        ("'3'", "not allowed"),
        ("True", "not allowed"),
        ("1j", "not allowed"),
        ("p**q", "exponent"),
        ("p < 0.5", "true or false"),
        ("3 if p else 2", "comparison is needed"),
        ("1 + (p < q)", "number is needed"),
        ("log(p, q)", "exactly one"),
        ("max()", "at least one"),
        ("max(1, key=2)", "not a function"),
        ("p is q", "compares with"),
        ("1" * 400, "too large"),
        ("p + " * 600 + "p", "characters"),
        ("(" * 100 + "p" + ")" * 100 + "+" + "-" * 90 + "p", "nested"),
        ("f'{p}'", "not allowed"),
        ("(p := 1)", "not allowed"),
    ],
)
def test_refusals(text, says):
    with pytest.raises(FormulaError, match=says):
        parse(text)


@stable
@given(
    st.text(max_size=80) | st.text(alphabet="pq0123456789.+-*/()<>=, minaxlogesrtf", max_size=60)
)
def test_any_text_is_read_or_refused(text):
    try:
        parse(text)
    except FormulaError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("text", ["1/(p-0.5)", "log(p-1)", "sqrt(q-1)", "inf - inf"])
def test_no_value_is_said(text):
    with pytest.raises(FormulaError, match="no value at"):
        evaluate(parse(text), 0.5, 0.5)


# Random formulas: every value at a point inside a box lies in the box's enclosure, and every
# difference between two points in the box is within the enclosed slopes.
numbers = st.floats(0.05, 3).map(lambda x: repr(round(x, 3)))
leaves = numbers | st.sampled_from(["p", "q", "p*q", "(1-p)", "(p-q)"])


def _combine(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda t: f"({t[0]} + {t[1]})"),
        pair.map(lambda t: f"({t[0]} - {t[1]})"),
        pair.map(lambda t: f"({t[0]} * {t[1]})"),
        pair.map(lambda t: f"({t[0]} / (0.1 + {t[1]}**2))"),
        pair.map(lambda t: f"max({t[0]}, {t[1]})"),
        pair.map(lambda t: f"min({t[0]}, {t[1]})"),
        inner.map(lambda t: f"exp(-({t})**2)"),
        inner.map(lambda t: f"sqrt(({t})**2 + 0.01)"),
        inner.map(lambda t: f"log(1 + ({t})**2)"),
        inner.map(lambda t: f"({t})**3"),
        inner.map(lambda t: f"(0.2 + ({t})**2)**-1.5"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if p < q else {t[1]} + {t[2]})"),
        pair.map(lambda t: f"({t[0]} if {t[1]} > 0.5 and p*q <= 0.3 else 2)"),
    )


formulas = st.recursive(leaves, _combine, max_leaves=8)
units = st.floats(0, 1)


@stable
@given(formulas, units, units, units, units, units, units, units, units)
def test_enclosures_enclose(text, a, b, c, d, x, y, v, w):
    expression = parse(text)
    p0, p1, q0, q1 = min(a, b), max(a, b), min(c, d), max(c, d)
    boxes = Boxes(*(np.array([end]) for end in (p0, p1, q0, q1)))
    out, undefined = enclose(expression, boxes)
    assert not undefined[0]
    at, to = (
        (min(p1, p0 + s * (p1 - p0)), min(q1, q0 + t * (q1 - q0))) for s, t in ((x, y), (v, w))
    )
    here, there = evaluate(expression, *at), evaluate(expression, *to)
    for value in (here, there):
        assert out.low[0] <= value <= out.high[0]
    low, high = 0.0, 0.0
    for slope, step in ((out.slope_p, to[0] - at[0]), (out.slope_q, to[1] - at[1])):
        if slope is not None and step != 0:
            ends = sorted((float(slope[0][-1]) * step, float(slope[1][-1]) * step))
            low, high = low + ends[0], high + ends[1]
    rounding = 1e-9 * max(1.0, abs(here), abs(there))
    assert low - rounding <= there - here <= high + rounding


@stable
@given(formulas, st.floats(1e-6, 1), st.floats(1e-6, 1))
@example("(1.0 if q > 0.5 and p*q <= 0.3 else 2)", 0.5, 1.0)
def test_pieces_and_reciprocal_keep_the_value(text, p, q):
    expression = parse(f"1.5 + ({text})**2")
    value = evaluate(expression, p, q)
    if in_product_only(expression):
        return  # only the worst edges are kept
    held = [
        part
        for part, box in pieces(expression, Box())
        if (box.p0 <= p <= box.p1 and box.q0 <= q <= box.q1)
        # of a piece on which it depends on pq alone, too
        or (in_product_only(part) and (box.p_fixed or box.q_fixed))
    ]
    assert any(evaluate(part, p, q) == pytest.approx(value, rel=1e-12) for part in held)
    assert evaluate(reciprocal(expression), p, q) == pytest.approx(1 / value, rel=1e-12)


def test_undefined_boxes_are_found():
    boxes = Boxes(*(np.array(end) for end in ([0.4, 0.0], [0.6, 0.1], [0.1, 0.0], [0.2, 1.0])))
    assert enclose(parse("1/(p-0.5)"), boxes)[1].tolist() == [True, False]
    assert enclose(parse("1/(p*q)"), boxes)[1].tolist() == [False, False]
    assert enclose(parse("log(p)"), boxes)[1].tolist() == [False, False]
    assert enclose(parse("sqrt(p-0.5)"), boxes)[1].tolist() == [True, True]


def test_formula_round_trip_and_equality():
    formula = Formula("  max(0.25/(p*q), 3) ")
    assert formula == Formula("max(0.25/(p*q), 3)")
    assert formula.ratio_at(1, 1) == 3

"""Formulas on which the search hung, gave up or was far off: each is answered, soon, and safely."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from benchmarks.hostile import measure
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import choose
from discreet.beliefs.one_prior import epsilon_for_ratio
from discreet.budgets import enclosures, finding, proving, reciprocals
from discreet.budgets.enclosures import Boxes, _multiply, at_points, enclose
from discreet.budgets.search import search
from discreet.budgets.structure import branches, on_rays, pieces, reciprocal
from discreet.errors import ToleranceError
from discreet.promises import Box, Formula
from discreet.promises.formula import Number, evaluate, parse
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(200))
WHOLE = (0.0, 1.0, 0.0, 1.0)
HALF_LOG = {c: -math.log1p(-c) / 2 for c in (0.3, 0.92)}

#: Formula, box, budget: from its closed form, or at the prior that binds it.
ANSWERED = [
    ("1 + 0.62*max(1-p, 1-q)", WHOLE, math.log(1.62) / 2),
    ("max(2 - p*q, 3 - 2*p)", WHOLE, math.log(2) / 2),
    ("1 + sqrt(1 - p*q)", WHOLE, math.log(2) / 2),
    ("1 + 0.3*(1-p*q)/(p*q)", WHOLE, HALF_LOG[0.3]),
    ("1 + 0.92*(1-p*q)/(p*q)", WHOLE, HALF_LOG[0.92]),
    ("1 + 1.0*(1-p*q)/(p*q)", WHOLE, math.inf),
    ("1 + 1.3*(1-p*q)/(p*q)", WHOLE, math.inf),
    ("(1 + 1.0*(1-p*q)/(p*q) + 3)/2", WHOLE, None),
    ("1/(p*q) + 1e-9", WHOLE, math.inf),
    ("1/(p*q)**1 + 0.2*p", WHOLE, math.inf),
    ("3 if p**2 != 0.2 else 1.1", (0.0, 1.0, 0.4, 0.4), epsilon_for_ratio(0.2**0.5, 0.4, 1.1)),
    (
        "(1.1+p if p**2+q**2 == 0.7 else max(.66/(p*q),3.33))",
        (4e-5, 4e-5, 0.0, 1.0),
        epsilon_for_ratio(4e-5, math.sqrt(0.7 - 1.6e-9), 1.1 + 4e-5),
    ),
    ("1.4 if p == q else 2", WHOLE, None),
    ("1.5 if p**2 == 2 else 3", WHOLE, math.log(3) / 2),  # on no prior
    ("1.3 if p**2 == q**3 else 2 - p*q", WHOLE, None),
    ("min(3, 1.52 + ((p**2+q**2-.83)/5e-6)**2)", WHOLE, None),
    ("2 if q/p < 0.5 else (1.5 if p-q > 0.3 else 3)", WHOLE, None),
    ("3.1/(1+1.2*p*q) if p*q**2 >= 1 else 1+2.9*sqrt(1-p*q)", WHOLE, None),
]


@pytest.mark.parametrize(("text", "ends", "epsilon"), ANSWERED)
def test_it_is_answered_soon_and_tightly(text, ends, epsilon):
    started = time.process_time()
    choice = choose(Formula(text, Box(*ends)))
    assert time.process_time() - started < 1
    proof = choice.certificate
    assert proof.certified
    assert proof.lower == proof.upper or proof.upper - proof.lower <= 1e-6
    if epsilon is not None:
        assert proof.lower == pytest.approx(epsilon, abs=1e-6)
        assert proof.lower <= epsilon * (1 + 1e-14)


def test_a_bowl_without_width_in_a_strip_of_few_doubles():
    """Lines beyond it never came farther away, and filled the memory."""
    low = 0.9
    high = math.nextafter(math.nextafter(low, 1.0), 1.0)
    middle = math.nextafter(low, 1.0)
    for sides in ((middle, middle), (low, middle)):
        assert enclosures.outward((low, high), sides, 8).tolist() == [low, middle, high]
    text = (
        "((3.0+8*((p-0.4988)**2+(q-1.70201/2)**2) if p+q <= 0.3 else 1+0.93*(1-p*q)/(p*q))"
        " if (p**2 < 0.6 or (1-p == 0.1 or q/p < 0.7))"
        " else (1.8-1.4*q/2 + 1+0.88014*(1-p)+0.9*(1-q))/2)"
    )
    choice = choose(text)
    assert 0 < choice.epsilon < 1


@pytest.mark.parametrize("text", ["1 + 1/(1-log(p*q))", "1 + sqrt(1-p)", "1 + sqrt(1-q)"])
def test_a_true_refusal_is_soon(text):
    """The ratio comes down to 1 where there is something to learn."""
    started = time.process_time()
    with pytest.raises(ToleranceError, match="ratio of 1 or less"):
        choose(text)
    assert time.process_time() - started < 1


terms = st.tuples(
    st.integers(-6, 6).map(lambda n: Fraction(n, 4)), st.integers(-3, 2), st.integers(-3, 2)
)


@STEADY
@given(st.lists(terms, min_size=1, max_size=5), st.sampled_from(["", " + exp(p)", " + log(p)"]))
def test_what_asks_nothing_is_above_every_certainty(sum_of, more):
    """A formula that is said to ask nothing is at least 1/(pq) at every prior."""
    text = " + ".join(f"({float(c)!r})*p**({i})*q**({j})" for c, i, j in sum_of)
    if reciprocal(parse(f"{text} + 1/(p*q){more}")) != Number(0.0):
        return
    priors = [Fraction(n, 16) for n in (1, 2, 5, 11, 15, 16)] + [Fraction(1, 10**6)]
    for p in priors:
        for q in priors:
            least = sum(c * p**i * q**j for c, i, j in sum_of)
            assert least >= 0


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("2/(p*q) - 1/p", True),
        ("1/(p*q) + 1.5*p - p*q", True),
        ("sqrt(2)/(p*q)", True),
        ("1/(p*q) + p - 1.01*p*q", False),
        ("1/(p*q) - 1e-9*(1-p)", False),
        ("1/(p*q) + log(p-0.5) - log(p-0.5)", False),  # has no value everywhere
        ("1/(p*q) + (p-q)/(p-q)", False),
        ("0.999999999999/(p*q)", False),
    ],
)
def test_which_formulas_ask_nothing(text, nothing):
    assert (reciprocal(parse(text)) == Number(0.0)) is nothing


def test_a_search_that_meets_its_limit_says_so(monkeypatch):
    monkeypatch.setattr(finding, "MOST_WORK", 20_000)
    choice = choose("min(3, 1.52 + ((p**2+q**2-.83)/5e-6)**2)")
    assert choice.certificate.certified is False
    assert "met its limit" in choice.certificate.reason
    assert choice.certificate.lower <= 0.2201926 <= choice.certificate.upper
    assert any("larger one may be too" in warning for warning in choice.warnings)


def test_random_hostile_formulas_are_safe():
    """`python -m benchmarks.hostile` tries thousands."""
    tally = measure(seed=7, many=examples(240))
    assert tally.unsafe == []
    assert tally.false == []
    assert tally.wrong == []
    assert tally.answers > 0.6 * len(tally.seconds)


CORNERS = [
    "1 + 0.62*max(1-p, 1-q)",
    "max(2 - p*q, 3 - 2*p)",
    "min(1 + 0.7*(1-p) + 0.2*(1-q), 1 + 0.5*max(1-p, 0.5*(1-q)))",
    "1 + 0.4*(1-p*q)/(p*q)",
    "3/(1 + p + q)",
    "1 + 0.3*sqrt(1-p*q)",
    "max(1 + 0.2*sqrt(1-p*q), 1 + 0.4*(1-p))",
]


@pytest.mark.parametrize("text", CORNERS)
@pytest.mark.parametrize("first", ["p", "q"])
def test_rays_are_the_formula_near_certainty(text, first):
    e = parse(text)
    rng = random.Random(1)  # noqa: S311
    for _ in range(50):
        t, s = 10 ** rng.uniform(-6, -0.3), rng.random()
        p, q = (1 - t, 1 - s * t) if first == "p" else (1 - s * t, 1 - t)
        assert evaluate(on_rays(e, first), t, s) == pytest.approx(evaluate(e, p, q), rel=1e-12)


@pytest.mark.parametrize("text", CORNERS)
def test_what_rays_prove_holds_at_fifty_digits(text):
    found = search(parse(text), Box())
    code = compile(text, "formula", "eval")
    with mp.workdps(50):
        u = mp.exp(-mp.mpf(found.lower))
        for exponent in range(1, 30):
            for share in (0, 0.01, 0.3, 0.5, 0.7, 0.99, 1):
                for p, q in ((1, share), (share, 1)):
                    p, q = (1 - mp.mpf(x) * mp.mpf(10) ** -exponent for x in (p, q))
                    names = {"p": p, "q": q, "sqrt": mp.sqrt, "max": max, "min": min}
                    asked = eval(code, {"__builtins__": {}}, names)  # noqa: S307
                    allowed = p * q + u * u * (1 - q) * p + u * (1 - p)
                    assert asked * allowed >= 1 - mp.mpf(10) ** -45


def test_rays_do_not_prove_too_much():
    """At the limit ½ log(1/(1−c)) along p = 1 the rays rise no more."""
    W = reciprocal(parse("1 + 0.4*(1-p*q)/(p*q)"))
    limit = -math.log1p(-0.4) / 2
    for target, holds in ((limit * (1 - 1e-7), True), (limit * (1 + 1e-7), False)):
        assert proving._rises(W, "q", 0.02, True, target, [1e9]) is holds


def test_the_formula_for_each_answer_to_its_comparisons():
    def test(text):
        return parse(f"1 if {text} else 2").test

    found = branches(parse("1.4 if p == q else (2 if p*q < 0.1 else 3 - p)"), Box())
    assert found == [
        ((test("p == q"),), parse("1.4")),
        ((test("p*q < 0.1"),), parse("2")),
        ((test("p*q >= 0.1"),), parse("3 - p")),
    ]
    assert branches(parse("3 - p"), Box()) == [((), parse("3 - p"))]
    assert branches(parse("2 if p + q > 2 else 3"), Box()) == [((), parse("3"))]


spans = st.tuples(
    st.one_of(st.sampled_from([0.0, 1.0, -1.0, -0.0, 5e-324]), st.floats(-1e3, 1e3)),
    st.one_of(st.sampled_from([0.0, 1.0, -1.0, 5e-324]), st.floats(-1e3, 1e3)),
).map(sorted)


@STEADY
@given(spans, spans)
def test_products_of_spans_hold_every_product(x, y):
    low, high = _multiply(np.array([x]).T, np.array([y]).T)
    exact = [Fraction(a) * Fraction(b) for a in x for b in y]
    assert Fraction(float(low[0])) <= min(exact)
    assert Fraction(float(high[0])) >= max(exact)


@STEADY
@given(spans, st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-1e3, 1e3)))
def test_products_with_a_number_hold_every_product(x, factor):
    low, high = _multiply(np.array([x]).T, np.full((2, 1), factor))
    exact = [Fraction(a) * Fraction(factor) for a in x]
    assert Fraction(float(low[0])) <= min(exact)
    assert Fraction(float(high[0])) >= max(exact)
    if 0 in exact and factor != 0 and min(exact) == 0:
        assert low[0] == 0


@STEADY
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_sums_are_exact_or_rounded_outward(a, b):
    at = Boxes(*(np.array([1.0]) for _ in range(4)))
    found, _ = enclose(parse(f"({a!r}) + ({b!r})*p"), at)
    exact = Fraction(a) + Fraction(b)
    assert Fraction(float(found.low[0])) <= exact <= Fraction(float(found.high[0]))
    assert found.high[0] - found.low[0] <= 8 * math.ulp(max(abs(a), abs(b)))


SIDES = ["p", "1-p", "p**2", "2*p+q", "p-q", "q/p", "p*q**2", "p**2+q**2", "sqrt(p)-log(q)"]


@STEADY
@given(
    st.sampled_from(SIDES),
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.floats(-0.5, 2.5),
    st.floats(1e-6, 1),
    st.lists(st.floats(1e-6, 1), min_size=8, max_size=8),
)
def test_pieces_and_branches_have_the_answers_of_the_formula(side, op, number, q, points):
    """Every prior is in a piece and a branch that has the formula's value there."""
    e, box = parse(f"2 if {side} {op} {number} else 3"), Box(0, 1, q, q)
    parts = [(*each, piece) for whole, piece in pieces(e, box) for each in branches(whole, piece)]
    for p in points:
        held = [
            evaluate(part, p, q)
            for within, part, piece in parts
            if piece.p0 <= p <= piece.p1 and all(at_points(test, p, q) for test in within)
        ]
        assert evaluate(e, p, q) in held


@STEADY
@given(
    st.sampled_from(
        [("2 - p*q", "p + q < 1.1"), ("1.3 + p**2", "q/p >= 0.7"), ("3 - q", "p**2 + q**2 == 0.7")]
    ),
    st.tuples(*[st.floats(0.05, 0.9)] * 2),
    st.floats(1e-6, 0.1),
    st.floats(0.05, 1.2),
)
def test_what_a_multiplier_proves_holds_within_the_comparison(given_text, at, width, target):
    """Boxes across the line of a comparison: G ≥ 0 wherever it holds, at fifty digits."""
    text, condition = given_text
    test = parse(f"1 if {condition} else 2").test
    W = reciprocals.OfFormula(reciprocal(parse(text)), (test,))
    box = Boxes(*(np.array([x]) for x in (at[0], at[0] + width, at[1], at[1] + width)))
    enclosed, _ = enclose(W.expression, box)
    w = W.over(enclosures.centres_of(box), "")[0].high
    if not proving.slope_bound(w, box, enclosed, target, proving.line_of(test, box, "pq"))[0]:
        return
    rng = random.Random(3)  # noqa: S311
    with mp.workdps(50):
        u = mp.exp(-mp.mpf(target))
        for _ in range(60):
            p, q = (mp.mpf(x) + rng.random() * mp.mpf(width) for x in at)
            if test.op == "==":  # the prior of the circle on this line, if it lies in the box
                if not 0.7 - p * p > 0 or not at[1] <= mp.sqrt(0.7 - p * p) <= at[1] + width:
                    continue
                q = mp.sqrt(mp.mpf(0.7) - p * p)
            elif not eval(condition, {}, {"p": p, "q": q}):  # noqa: S307
                continue
            asked = eval(text, {}, {"p": p, "q": q})  # noqa: S307
            assert asked * (p * q + u * u * (1 - q) * p + u * (1 - p)) >= 1 - mp.mpf(10) ** -40


def test_a_multiplier_proves_what_boxes_alone_do_not():
    """The least value where p + q <= 1 lies on the line, and no box across it sees that."""
    text, test = "2 + 20*(1 - p - q)", parse("1 if p + q <= 1 else 2").test
    W = reciprocals.OfFormula(reciprocal(parse(text)), (test,))
    box = Boxes(*(np.array([x]) for x in (0.499, 0.501, 0.499, 0.501)))
    enclosed, _ = enclose(W.expression, box)
    w = W.over(enclosures.centres_of(box), "")[0].high
    best = min(epsilon_for_ratio(0.499 + 1e-4 * i, 0.501 - 1e-4 * i, 2.0) for i in range(21))
    across = proving.line_of(test, box, "pq")
    for share, alone, with_it in ((0.9, True, True), (0.99, False, True), (1.01, False, False)):
        assert proving.slope_bound(w, box, enclosed, share * best)[0] == alone
        assert proving.slope_bound(w, box, enclosed, share * best, across)[0] == with_it


def test_a_piece_that_is_hardly_worse_counts():
    """It may be worse than the best by less than the tolerance, and that is proved of it alone."""
    found = search(parse("min(2, 2 - 1e-10 + p)"), Box(0, 1, 1, 1))
    with mp.workdps(40):
        assert found.lower <= mp.log(2 - mp.mpf(1e-10))


def test_a_comparison_that_changes_at_certainty_is_decided():
    assert choose("3 if p**2 <= 1 else 1.1").epsilon == pytest.approx(math.log(3) / 2, rel=1e-12)
    found = choose("3 if p**2 < 1 else 1 + 0.5*max(1-p, 1-q)")
    assert found.certificate.certified
    assert found.epsilon == pytest.approx(math.log(1.5) / 2, rel=1e-6)

"""Tolerances that mean no good: below 1, below 0, in percent, too small for a double, or a lie.

Whatever is certified here is tried by brute force against Theorem 1 of Kazan and Reiter, in plain
floats or in fifty digits; nothing is shared with the code under test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import choose
from discreet.beliefs.one_prior import range_for_posterior, range_for_ratio
from discreet.budgets import reciprocals
from discreet.budgets.enclosures import Boxes, enclose
from discreet.budgets.finding import look
from discreet.budgets.search import search, search_monotone
from discreet.budgets.structure import pieces, reciprocal
from discreet.errors import DiscreetError, FormulaError, InputError, ToleranceError
from discreet.promises import (
    Box,
    Difference,
    Formula,
    Function,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Table,
)
from discreet.promises.formula import evaluate, parse
from discreet.promises.promise import promised
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(200))
ULP = 2.0**-52
NEXT = math.nextafter(0.5, 1)  # to 0.5
LEAST = math.ulp(0.0)


def most(epsilon: Any, p: Any, q: Any) -> Any:
    """The largest ratio of posterior to prior, by Theorem 1, in fifty digits."""
    with mp.workdps(50):
        e, p, q = mp.mpf(epsilon), mp.mpf(p), mp.mpf(q)
        return 1 / (p * q + mp.exp(-2 * e) * (1 - q) * p + mp.exp(-e) * (1 - p))


def rising(tolerance: Any) -> Any:
    """What `closed_form` or the search finds: how far belief may rise, and nothing else."""
    found = tolerance.closed_form()
    if found is not None:
        return found
    if isinstance(tolerance, Function):
        declared = tolerance.monotone_p and tolerance.monotone_q
        return (search_monotone if declared else look)(tolerance)
    return search(tolerance.expression(), tolerance.box)


BELOW_ONE = [
    "min(3, -1/(p*q))",
    "3 if p < 0.5 else -2-p",
    "3 if p*q < 0.5 else -2-p",
    "3 if p + q < 1.5 else -p",
    "3 if p*q < 0.5 else -2",
    "-3",
    "-3-p",
    "-1/(p*q)",
    "-1e-320/p",
    "3/(0-p)",
    "max(-1/(p*q), -2)",
    "(p-2)**3",
    "(p-2)**-1",
    "(-2)**3*p",
    "0",
    "0*p",
    "0/(p + 1)",
    "sqrt(p)*0/q",
    "p*q/1e300",
    "-inf",
    "-inf*p",
    "min(3, -inf)",
    "3 + min(p, -inf)",
    "3 - exp(1000*p)",
    "3 - 1/p",
    "3 + log(p)",
    "1 + sqrt(1-p)",
    "0.5 + p/2",
]


class TestBelowOne:
    """A tolerated ratio of 1 or less, 0 and negative ones among them: no budget keeps it."""

    @pytest.mark.parametrize("text", BELOW_ONE)
    def test_no_formula_is_read_as_asking_for_nothing(self, text: str) -> None:
        with pytest.raises(ToleranceError, match=r"p = .*q = .*"):
            choose(text)

    @pytest.mark.parametrize("text", ["-3-p", "3 - exp(1000*p)", "-1/(p*q)", "0*p", "-3"])
    @pytest.mark.parametrize(
        "box", [Box(0.5, 0.5, 0.5, 0.5), Box(0.5, NEXT, 0.5, NEXT), Box(0.2, 0.2, 0, 1)]
    )
    def test_nor_on_a_small_box(self, text: str, box: Box) -> None:
        with pytest.raises(ToleranceError, match=r"p = 0\.[25], q = "):
            choose(Formula(text, box))

    @pytest.mark.parametrize("text", ["1/(0*p)", "3/(0*p)", "3/max(p - 2, 0)"])
    def test_a_formula_without_a_value_asks_for_something(self, text: str) -> None:
        with pytest.raises(FormulaError, match="no value near"):
            choose(text)

    @pytest.mark.parametrize("value", [-math.inf, -2.0, 0.0, 0.5, 1.0])
    @pytest.mark.parametrize("words", [(None, None), ("increasing", "decreasing")])
    @pytest.mark.parametrize("box", [Box(), Box(0.1, 0.5, 0.2, 0.2), Box(0, LEAST, 0, LEAST)])
    def test_no_function_either(self, value: float, words: Any, box: Box) -> None:
        function = Function(lambda p, q: value, box, *words)
        with pytest.raises(ToleranceError, match="ratio of 1 or less"):
            choose(function)

    def test_a_table_with_one_is_refused_when_it_is_made(self) -> None:
        for ratio in (1.0, 0.0, -3.0, -math.inf):
            with pytest.raises(ToleranceError, match="above 1"):
                Table(((0, 1, 10), (1, 1, ratio)), Box(0, 1, 1, 1))

    @STEADY
    @given(st.floats(-1e6, 1e6).map(lambda x: round(x, 9)), st.floats(0.1, 1), st.floats(0.1, 1))
    def test_the_reciprocal_of_a_ratio_is_never_negative(self, x: float, p: float, q: float):
        for text in (
            f"{x} + p",
            f"min({x}, q + 1)",
            f"max({x}, 0-q)",
            f"({x})*p/q",
            f"{x} if p < q else 0-q",
            f"{x}/(p*q)",
            f"({x})**3/p",
        ):
            e = parse(text)
            ratio, inverse = evaluate(e, p, q), evaluate(reciprocal(e), p, q)
            nothing = inverse == 0 and ratio >= 1 / (p * q)
            expected = 1 / ratio if ratio > 0 else math.inf
            assert nothing or inverse == pytest.approx(expected, rel=1e-12)
            at = Boxes(*(np.array([end]) for end in (p, p, q, q)))
            found, undefined = enclose(reciprocal(e), at)
            assert not undefined[0]
            assert 0 <= found.low[0] <= inverse <= found.high[0]

    @pytest.mark.parametrize("text", ["(1e-200)**3/(p*q)", "(1e-200)**3/p", "exp(-1000)/(p*q)"])
    def test_what_rounds_to_nothing_is_nothing(self, text: str) -> None:
        with pytest.raises(ToleranceError, match="1 or less"):
            choose(text)

    def test_a_jump_to_infinity_has_no_slope(self) -> None:
        some = Boxes(*(np.array(end) for end in ([0.4, 0.6, 0.1], [0.6, 0.9, 0.4], [1.0], [1.0])))
        found, undefined = enclose(reciprocal(parse("p - 0.5")), some, slopes="p")
        assert not undefined.any()
        assert found.high.tolist()[::2] == [math.inf, math.inf]
        assert found.low[2] == math.inf
        assert found.slope_p is not None
        assert found.slope_p[0].tolist()[::2] == [-math.inf, -math.inf]
        assert found.slope_p[1].tolist()[::2] == [math.inf, math.inf]
        assert found.slope_p[1][1] == pytest.approx(-1 / 0.4**2)


class TestProbabilities:
    @pytest.mark.parametrize(
        ("make", "name"),
        [
            (lambda x: Posterior(x, Box(0.05, 0.05, 1, 1)), "posterior"),
            (lambda x: PosteriorUnlessRatio(x, 3), "posterior"),
            # It was told that a posterior alone fits not every prior.
            (lambda x: x == 1 or promised({"posterior": x}), "posterior"),
            (Difference, "difference"),
        ],
    )
    def test_percent_are_not_probabilities(self, make: Callable[[Any], Any], name: str) -> None:
        with pytest.raises(ToleranceError) as refused:
            make(12)
        assert f"{name} is 12; it is a probability, so 12 % is 0.12." in str(refused.value)
        for wrong in (1.5, math.nextafter(1, 2), 100, 150, math.inf, 10**400, -0.1, math.nan):
            with pytest.raises(ToleranceError, match=name):
                make(wrong)
        with pytest.raises(ToleranceError) as refused:
            make(150)
        assert "%" not in str(refused.value)
        make(1)

    def test_numbers_too_large_for_a_double_are_refused(self) -> None:
        with pytest.raises(ToleranceError, match="too large"):
            Ratio(10**400)
        with pytest.raises(InputError, match="between 0 and 1"):
            Box(0, 10**400)
        with pytest.raises(ToleranceError, match="row 1"):
            Table.from_rows([[10**400, 1, 3]])


class TestFloor:
    """Constants and boxes of one ulp are treated as everything else is."""

    @pytest.mark.parametrize(
        "text", ["1.0000000000000002", "1.0000000000000002 + 0*p", "1 + 1e-16"]
    )
    @pytest.mark.parametrize("box", [Box(), Box(0.5, NEXT, 0.5, NEXT), Box(0.5, 0.5, 0.5, 0.5)])
    def test_next_to_one(self, text: str, box: Box) -> None:
        with pytest.raises(ToleranceError, match=r"above 1|1 or less"):
            choose(Formula(text, box))

    @pytest.mark.parametrize("excess", [1e-13, 1e-12, 1e-9])
    @pytest.mark.parametrize("box", [Box(), Box(0.5, NEXT, 0.5, NEXT), Box(0.5, 0.5, 0.5, 0.5)])
    def test_a_little_above_one(self, excess: float, box: Box) -> None:
        for text in (f"1 + {excess}", f"1 + {excess} + 0*p"):
            found = search(parse(text), box)
            assert 0 < found.lower <= found.upper
            p, q = (found.p or 1e-300), (found.q or 1e-300)
            assert most(found.lower, p, q) <= evaluate(parse(text), p, q)

    @pytest.mark.parametrize("text", ["1.2 if p > 0.5 else 9", "1.2 + p if p > 0.5 else 9 + p"])
    def test_of_an_interval_of_one_ulp_no_end_is_lost(self, text: str) -> None:
        """Its middle rounds to an end, where the comparison may have the other answer."""
        at_end = rising(Formula(text, Box(NEXT, NEXT, 0.25, 0.25)))
        for low in (0.5, 0.25):
            assert rising(Formula(text, Box(low, NEXT, 0.25, 0.25))).lower <= at_end.upper

    @pytest.mark.parametrize(
        ("p", "q", "a"), [(0.7, 0.3, 0.21), (0.01, 0.47, 0.0047), (0.01, 0.99, 0.0099)]
    )
    def test_a_threshold_at_the_end_of_a_box_is_met(self, p: float, q: float, a: float) -> None:
        """a/p may round to the other side of q."""
        assert p * q == a
        for op in ("<=", ">=", "=="):
            text = f"1.5 if p*q {op} {a} else 9"
            parts = pieces(parse(text), Box(p, p, 0.01, q))
            at_q = [part for part, box in parts if box.q0 <= q == box.q1]
            assert {evaluate(part, p, q) for part in at_q} >= {1.5}
            found, at_end = (
                rising(Formula(text, Box(p, p, 0.01, q))),
                rising(Ratio(1.5, Box(p, p, q, q))),
            )
            assert found.lower <= at_end.upper

    def test_a_box_that_cannot_be_cut_is_not_cut_for_ever(self) -> None:
        found = search(parse("1/(p*q) - 1e-13 + 0*sqrt(p)"), Box(0.5, NEXT, 0.5, NEXT))
        assert found.boxes < 100_000
        assert 0 < found.lower <= found.upper


TINY = [1e-300, 1e-200, 1e-160, 1e-310, LEAST]


def profile(shape: Any, p: Any, q: Any) -> Any:
    """r*(p, q) of the shapes below, in as many digits as are set."""
    match shape:
        case Ratio(ratio, _):
            return mp.mpf(ratio)
        case Posterior(a, _):
            return mp.mpf(a) / (p * q)
        case PosteriorUnlessRatio(a, ratio, _):
            return max(mp.mpf(a) / (p * q), mp.mpf(ratio))
        case Difference(b, _):
            return 1 + mp.mpf(b) / (p * q)
        case Formula("1 + 0.2/(p*q)", _):
            return 1 + mp.mpf(0.2) / (p * q)
        case Formula(_, _):
            return mp.mpf(0.12) / (p * q)
    raise AssertionError


class TestTooSmallForADouble:
    @pytest.mark.parametrize("x", TINY)
    @pytest.mark.parametrize("a", [0.12, 1e-5, 1e-300, 0.999])
    @pytest.mark.parametrize("shared", ["both", "p", "q"])
    def test_a_posterior(self, x: float, a: float, shared: str) -> None:
        p, q = {"both": (x, x), "p": (x, 0.25), "q": (1.0, x)}[shared]
        if mp.mpf(p) * mp.mpf(q) >= a:
            return
        found = range_for_posterior(p, q, a)
        with mp.workdps(1200):
            e, s = mp.mpf(found.lower), mp.mpf(p) * mp.mpf(q)
            assert 0 < e < mp.inf
            S = s + mp.exp(-2 * e) * (1 - mp.mpf(q)) * mp.mpf(p) + mp.exp(-e) * (1 - mp.mpf(p))
            assert s <= mp.mpf(a) * S
            e = mp.mpf(found.upper)
            S = s + mp.exp(-2 * e) * (1 - mp.mpf(q)) * mp.mpf(p) + mp.exp(-e) * (1 - mp.mpf(p))
            assert s >= mp.mpf(a) * S
        assert found.upper <= found.lower * (1 + 1e-13)
        for shape in (Posterior(a, Box(p, p, q, q)), PosteriorUnlessRatio(a, 3, Box(p, p, q, q))):
            assert rising(shape).lower == pytest.approx(found.lower, rel=1e-13)

    @pytest.mark.parametrize("x", TINY)
    def test_every_shape_has_a_ratio_there(self, x: float) -> None:
        box = Box(x, x, x, x)
        for shape in (
            Posterior(0.12, box),
            PosteriorUnlessRatio(0.12, 3, box),
            Difference(0.2, box),
        ):
            assert 3 < shape.ratio_at(x, x) < math.inf
            assert 1e100 < shape.ratio_at(x, 0.5) < math.inf
        assert PosteriorUnlessRatio(0, 3, box).ratio_at(x, x) == 3
        assert PosteriorUnlessRatio(0, 3).ratio_at(0, 1) == 3
        assert Posterior(1e-300, Box(1e-305, 1e-305, 0.5, 0.5)).ratio_at(1e-305, 0.5) == (
            pytest.approx(2e5)
        )
        assert Difference(0.2).ratio_at(0, 1) == math.inf

    @pytest.mark.parametrize("x", TINY)
    @pytest.mark.parametrize(
        "tolerance",
        [
            lambda box: Ratio(3, box),
            lambda box: Ratio(1.79e308, box),
            lambda box: Posterior(0.12, box),
            lambda box: PosteriorUnlessRatio(0.12, 3, box),
            lambda box: PosteriorUnlessRatio(1e-300, 1e300, box),
            lambda box: PosteriorUnlessRatio(0, 3, box),
            lambda box: Difference(0.2, box),
            lambda box: Formula("0.12/(p*q)", box),
            lambda box: Formula("max(0.12/(p*q), 3)", box),
            lambda box: Formula("1 + 0.2/(p*q)", box),
        ],
    )
    def test_a_budget_that_is_certified_keeps_it(self, x: float, tolerance: Any) -> None:
        for box in (Box(x, x, x, x), Box(0, x, 0, x), Box(1, 1, x, x), Box(x, x, 0.01, 0.1)):
            shape = tolerance(box)
            found = rising(shape)
            with mp.workdps(1200):
                p, q = mp.mpf(box.p1), mp.mpf(box.q1)
                asked = profile(shape, p, q)
                e = mp.mpf(found.lower)
                assert e > 0
                S = p * q + mp.exp(-2 * e) * (1 - q) * p + mp.exp(-e) * (1 - p)
                assert asked * S >= 1

    def test_the_kink_is_inside_the_box(self) -> None:
        box = Box(5e-301, 1e-300, 5e-301, 1e-300)
        found = rising(PosteriorUnlessRatio(1e-300, 1e300, box))
        assert box.contains(found.p, found.q)

    def test_a_posterior_that_is_reached_is_refused_by_what_is_so(self) -> None:
        with pytest.raises(ToleranceError, match="already that sure"):
            Posterior(1e-310, Box(1e-155, 1e-154, 1e-156, 1e-155))
        Posterior(LEAST, Box(1e-162, 1e-162, 3e-162, 3e-162))  # 3e-324 rounds up to it

    @STEADY
    @given(st.floats(1e300, 1.79e308), st.floats(-324, -290), st.booleans())
    def test_huge_ratios(self, ratio: float, exponent: float, certain: bool) -> None:
        p, q = (1.0 if certain else 0.5), 10.0**exponent
        found = range_for_ratio(p, q, ratio)
        with mp.workdps(700):
            e, u, v = mp.mpf(found.lower), mp.mpf(p), mp.mpf(q)
            if math.isinf(found.lower):
                assert u * v * mp.mpf(ratio) >= 1
                return
            S = u * v + mp.exp(-2 * e) * (1 - v) * u + mp.exp(-e) * (1 - u)
            assert mp.mpf(ratio) * S >= 1


class TestDeclarations:
    @pytest.mark.parametrize("word", ["banana", "Increasing", "", 1, True, ["increasing"]])
    @pytest.mark.parametrize("name", ["monotone_p", "monotone_q"])
    def test_only_three_words_are_known(self, name: str, word: Any) -> None:
        with pytest.raises(InputError, match=f"{name} is .*'increasing', 'decreasing' or None"):
            Function(lambda p, q: 3.0, **{name: word})

    def test_a_number_is_no_function(self) -> None:
        with pytest.raises(InputError, match="function of p and q"):
            Function(3.0)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("function", "in_p", "in_q"),
        [
            (lambda p, q: 3 - p, "increasing", "decreasing"),
            (lambda p, q: 3 + p, "decreasing", "decreasing"),
            (lambda p, q: 3 - p + q, "decreasing", "decreasing"),
            (lambda p, q: 3 - p + q, "decreasing", None),
            (lambda p, q: 3 + (p - 0.4) ** 2, "increasing", "increasing"),
            (lambda p, q: 3 - q, None, "increasing"),
            (lambda p, q: 9 if p < 1e-7 else 3, "increasing", "increasing"),
            (lambda p, q: 3 if p < 1e-7 else math.inf, "decreasing", "increasing"),
        ],
    )
    def test_a_lie_is_refused_with_two_priors(self, function: Any, in_p: Any, in_q: Any) -> None:
        profile = Function(function, monotone_p=in_p, monotone_q=in_q)
        if in_p and (in_p, in_q) != ("decreasing", None):
            with pytest.raises(ToleranceError, match="was declared"):
                search_monotone(profile)
        elif in_q is None:
            assert look(profile).upper < math.inf
            return
        with pytest.raises(ToleranceError) as refused:
            choose(profile)
        said = str(refused.value)
        for word, name in ((in_p, "p"), (in_q, "q")):
            assert (f"{word} in {name}" in said) == (word is not None)
        assert said.count("at p = ") == 2
        assert "formula" in said

    @pytest.mark.parametrize("box", [Box(0.2, 0.4, 0.5, 0.5), Box(0.5, 0.5, 0.2, 0.4)])
    def test_along_an_edge_it_is_looked_at_more_closely(self, box: Box) -> None:
        def with_a_tooth(p: float, q: float) -> float:
            x = q if box.p_fixed else p
            return 4 - x + (0.1 if 0.3 < x < 0.3004 else 0)

        profile = Function(with_a_tooth, box, "decreasing", "decreasing")
        with pytest.raises(ToleranceError, match="was declared"):
            search_monotone(profile)

    def test_a_lie_between_the_lines_is_seen_where_the_search_comes_by(self) -> None:
        """Two corners of a box tell, if the grid did not."""
        W = reciprocals.OfFunction(
            Function(
                lambda p, q: 3.0 if p < 0.123456 else 3.5,
                monotone_p="decreasing",
                monotone_q="decreasing",
            )
        )
        one = Boxes(*(np.array([end]) for end in (0.1234, 0.1235, 0.5, 0.6)))
        with pytest.raises(ToleranceError, match=r"3 at p = 0\.1234, q = .*3\.5 at|3\.5 at .*3 at"):
            W.over(one, "pq")

    def test_rounding_is_no_lie(self) -> None:
        profile = Function(
            lambda p, q: 3.0 * (0.1 * p) / (0.1 * p),
            monotone_p="increasing",
            monotone_q="decreasing",
        )
        assert rising(profile).lower == pytest.approx(math.log(3) / 2, rel=1e-6)

    @pytest.mark.parametrize("box", [Box(0, 1e-200), Box(1e-250, 1e-200, 0.5, 0.5)])
    def test_no_prior_outside_the_box_is_asked_for(self, box: Box) -> None:
        def inside(p: float, q: float) -> float:
            assert box.contains(p, q), (p, q)
            return 3.0

        for words in ((None, None), ("increasing", "increasing")):
            assert rising(Function(inside, box, *words)).lower > 0

    def test_looking_divides_by_nothing(self) -> None:
        for box in (Box(), Box(0, LEAST, 0, LEAST), Box(0, 1e-310), Box(0, 0.5, 0, 0.5)):
            for value in (math.inf, 1e-320, 1e308, 3.0):
                try:
                    found = look(Function(lambda p, q, value=value: value, box))
                except ToleranceError:
                    assert value < 1
                else:
                    assert value > 1
                    assert box.p0 <= found.p <= box.p1
                    assert box.q0 <= found.q <= box.q1


class TestAtCertainty:
    def test_a_root_that_ends_there_has_a_value_there(self) -> None:
        found = rising(Formula("1 + sqrt(1 - p*q)"))
        assert found.lower <= math.log(2) / 2 <= found.upper * (1 + 1e-15)
        assert found.lower == pytest.approx(math.log(2) / 2, rel=3e-8)
        with mp.workdps(50):
            for a in (1e-9, 0.3, 0.9, 0.999, 1 - 1e-9, 1):
                for b in (1e-9, 0.5, 0.99, 1 - 1e-12):
                    asked = 1 + mp.sqrt(1 - mp.mpf(a) * mp.mpf(b))
                    assert most(found.lower, a, b) <= asked

    def test_a_kink_there_is_not_given_the_slope_of_one_side(self) -> None:
        """The slope of one side alone would be 0, and with it the budget."""
        choice = choose("1 + 0.62*max(1-p, 1-q)")
        assert choice.certificate.certified
        assert choice.epsilon == pytest.approx(math.log(1.62) / 2, rel=1e-7)
        assert choice.epsilon <= math.log(1.62) / 2

    def test_exact_sums_and_products_are_left_alone(self) -> None:
        one = Boxes(*(np.array([end]) for end in (0.5, 1.0, 0.25, 1.0)))
        for text, low, high in (
            ("1 - p*q", 0.0, None),
            ("1 - p", 0.0, 0.5),
            ("(1 - p)*(1 - q)", 0.0, None),
            ("1000 - 1000*p*q", 0.0, None),
        ):
            found, _ = enclose(parse(text), one)
            assert found.low[0] == low
            assert high is None or found.high[0] == high

    @STEADY
    @given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(0.01, 1), st.floats(0.01, 1))
    def test_others_are_rounded_outward(self, a: float, b: float, p: float, q: float) -> None:
        at = Boxes(*(np.array([end]) for end in (p, p, q, q)))
        for text in (f"({a}) + ({b})*p", f"({a})*p - ({b})*q", "p*q", "1 - p*q", "p + q"):
            found, _ = enclose(parse(text), at)
            x, y, u, v = mp.mpf(a), mp.mpf(b), mp.mpf(p), mp.mpf(q)
            with mp.workdps(80):
                exact = {
                    "p*q": u * v, "1 - p*q": 1 - u * v, "p + q": u + v
                }.get(text, x + y * u if "+ (" in text else x * u - y * v)  # fmt: skip
                assert mp.mpf(float(found.low[0])) <= exact <= mp.mpf(float(found.high[0]))


# ---- whatever is certified holds

numbers = st.sampled_from(
    ["0.2", "0.5", "1", "1.2", "1.5", "2", "3", "7", "-0.5", "-2", "0", "inf"]
)
leaf = st.one_of(numbers, st.sampled_from(["p", "q", "p*q", "0.3/(p*q)", "1/p", "(1 - q)"]))


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    test = st.tuples(
        st.sampled_from(["p", "q", "p*q", "p + q", "p - q"]),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        st.sampled_from(["0.1", "0.25", "0.5", "1", "q"]),
    ).map(" ".join)
    return st.one_of(
        *(pair.map(lambda t, op=op: f"({t[0]} {op} {t[1]})") for op in "+-*/"),
        *(pair.map(lambda t, f=f: f"{f}({t[0]}, {t[1]})") for f in ("min", "max")),
        inner.map(lambda t: f"({t})**2"),
        st.tuples(inner, test, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    )


grammar = st.recursive(leaf, _grown, max_leaves=6)
# Some start well above 1, or no budget would be certified for most.
profiles = st.one_of(
    grammar,
    grammar.map(lambda text: f"1.5 + ({text})**2"),
    grammar.map(lambda text: f"max({text}, 1.3)"),
    st.tuples(grammar, grammar).map(lambda t: f"max({t[0]}, 1.3) if p > 0.4 else {t[1]}"),
)
lines = np.unique(
    np.concatenate(
        [np.linspace(0.02, 1, 50), np.geomspace(1e-9, 1, 19), [0.1, 0.25, 0.5, 1 - 1e-6]]
    )
)
whole, part = Box(), Box(0.25, 0.75, 0.1, 1.0)


def broken(text: str, box: Box, epsilon: float) -> list[tuple[float, float, float]]:
    """The priors at which Theorem 1 leaves room for more than the formula tolerates."""
    e, u = parse(text), math.exp(-epsilon)
    out = []
    for p, q in itertools.product(lines.tolist(), repeat=2):
        if box.contains(p, q):
            try:
                ratio = evaluate(e, p, q)
            except FormulaError:  # it has no value there, so nothing is asked
                continue
            bound = 1 / (p * q + u * u * (1 - q) * p + u * (1 - p))
            if bound > ratio * (1 + 1e-9) or (ratio <= 1 and p * q < 1):
                out.append((p, q, ratio))
    return out


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(profiles, st.sampled_from([whole, part, Box(0, 1, 1, 1), Box(0.5, 0.5, 0, 1)]))
@example("min(3, -1/(p*q))", whole)
@example("3 if p < 0.5 else -2-p", whole)
@example("3 - 5*p if p > 0.5 else 2", part)
@example("(3 if q != 1 else 0-p)", Box(0, 1, 1, 1))
@example("max(0.3/(p*q), 1.3)/(0 - 1)", part)
def test_no_prior_breaks_what_is_certified(text: str, box: Box) -> None:
    try:
        choice = choose(Formula(text, box))
    except DiscreetError:  # refused in a sentence
        return
    proof = choice.certificate
    # Intervals cannot tell what q*(0.2/q) is at the open end 0, nor what inf/inf is.
    at_open_end = min(choice.binding.p, choice.binding.q) < 1e-6
    assert proof.certified or at_open_end or math.isinf(proof.upper)
    assert choice.epsilon > 0
    assert not broken(text, box, choice.epsilon)

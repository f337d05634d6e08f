"""Each step of the certified search alone: what it proves is true, and it proves what it can.

Truth is Theorem 1 of Kazan and Reiter at fifty digits, or solved by bisection on a grid; nothing is
shared with the formulas under test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.budgets import enclosures, finding, proving, reciprocals
from discreet.budgets.enclosures import Boxes, Enclosure
from discreet.budgets.finding import Search
from discreet.budgets.structure import reciprocal
from discreet.errors import FormulaError, ToleranceError
from discreet.promises import Box, Function
from discreet.promises.formula import parse
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(120))
ends = st.floats(0.001, 1.0)


def boxes(*rows: tuple[float, float, float, float]) -> Boxes:
    return Boxes(*(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


def least_share(p, q, u):
    return p * q + u * u * (1 - q) * p + u * (1 - p)


def truth(p: float, q: float, w) -> mp.mpf:
    """ε with S(p, q; e^{-ε}) = w, at fifty digits; ∞ where pq ≥ w."""
    with mp.workdps(50):
        p, q, w = mp.mpf(p), mp.mpf(q), mp.mpf(w)
        if p * q >= w:
            return mp.inf
        A, B, C = p * (1 - q), 1 - p, w - p * q
        return mp.log((B + mp.sqrt(B * B + 4 * A * C)) / (2 * C))


@st.composite
def one_box(draw) -> tuple[float, float, float, float]:
    p0, p1 = sorted((draw(ends), draw(ends)))
    q0, q1 = sorted((draw(ends), draw(ends)))
    return draw(st.sampled_from([0.0, p0])), p1, draw(st.sampled_from([0.0, q0])), q1


def inside(box, many: int = 9):
    p0, p1, q0, q1 = box
    p, q = np.meshgrid(np.linspace(p0, p1, many), np.linspace(q0, q1, many))
    return p.ravel(), q.ravel()


@dataclass(frozen=True)
class Fixed:
    """W that is what a test says it is, box for box; boxes beyond have the last one's."""

    low: list[float]
    high: list[float]
    undefined: list[bool]

    def over(self, boxes: Boxes, slopes: str) -> tuple[Enclosure, np.ndarray]:
        low, high, undefined = (
            np.array([some[min(i, len(some) - 1)] for i in range(len(boxes))])
            for some in (self.low, self.high, self.undefined)
        )
        half = np.full((2, len(boxes)), 0.5)
        return Enclosure(np.array([low, high]), half, half, sign=1), undefined

    def at(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.full(len(p), 1.0)


class TestOnePrior:
    @STEADY
    @given(ends, ends, st.floats(0.001, 0.999))
    def test_the_vector_formula_is_the_true_one(self, p: float, q: float, w: float) -> None:
        many = finding.epsilon_of(np.array([w]), np.array([p]), np.array([q]))
        if abs(w - p * q) > 1e-3:
            assert float(many[0]) == pytest.approx(float(truth(p, q, w)), rel=1e-12)

    @STEADY
    @given(st.floats(0.001, 0.9), ends, st.floats(-14, -4))
    def test_small_budgets_keep_their_digits(self, p: float, q: float, x: float) -> None:
        w = 1 - 10**x
        many = finding.epsilon_of(np.array([w]), np.array([p]), np.array([q]))
        assert float(many[0]) == pytest.approx(float(truth(p, q, w)), rel=1e-13, abs=0)

    def test_a_step_down_is_not_made_from_a_ratio_of_one_or_less(self) -> None:
        below = reciprocals.just_below(np.array([0.5, 1.0, 1.5]))
        assert below.tolist() == [math.nextafter(0.5, 0), 1.0, 1.5]

    def test_what_has_no_value_is_not_offered(self) -> None:
        state = Search()
        one = np.array([0.5, 0.6])
        fixed = Fixed(low=[0.9, 0.5], high=[0.9, 0.5], undefined=[False, True])
        epsilon = finding.offer(fixed, one, one, state)[1]
        assert math.isinf(epsilon[1])
        assert (state.p, state.q) == (0.5, 0.5)
        assert state.upper == pytest.approx(float(truth(0.5, 0.5, 0.9)), rel=1e-13)

    def test_no_room_is_zero_and_no_bound_is_infinite(self) -> None:
        p, q = np.array([0.5, 0.5, 0.5, 1.0]), np.array([0.5, 0.5, 1.0, 1.0])
        w = np.array([1.0, 1.5, 0.5, 1.0])
        assert finding.epsilon_of(w, p, q).tolist() == [0.0, 0.0, math.inf, math.inf]


class TestCornerBound:
    @STEADY
    @given(one_box(), st.floats(0.01, 0.9999))
    def test_it_lies_below_every_prior_and_meets_a_corner(self, box, w: float) -> None:
        bound = float(proving.corner_bound(np.array([w]), boxes(box))[0])
        p, q = inside(box, 4)
        least = min(truth(a, b, w) for a, b in zip(p, q, strict=True))
        assert bound <= least
        if w < 0.99 and least < 20:
            assert bound == pytest.approx(float(least), rel=1e-9)

    @STEADY
    @given(ends, st.floats(-14, -3), st.booleans())
    def test_it_stays_below_where_one_over_r_and_pq_cancel(self, p, x, tight) -> None:
        """1/r − pq has few digits left here, and one that is too small makes ε too large."""
        q = 1 - 10**x
        w = p if tight else p * q * (1 + 2 * 2.0**-52)
        bound = float(proving.corner_bound(np.array([w]), boxes((p, p, q, q)))[0])
        assert bound <= truth(p, q, w)

    @STEADY
    @given(ends, ends, st.floats(-14, -3))
    def test_a_function_is_enclosed_where_they_cancel(self, p, q, x) -> None:
        a = 1 - 10**x
        function = Function(
            lambda p, q: a / (p * q), monotone_p="decreasing", monotone_q="decreasing"
        )
        at, _ = reciprocals.OfFunction(function).over(boxes((p, p, q, q)), "")
        with mp.workdps(50):
            exact = 1 / mp.mpf(a / (p * q))
            assert mp.mpf(float(at.low[0])) <= exact <= mp.mpf(float(at.high[0]))
            assert float(at.high[0]) <= float(exact) * (1 + 1e-15)
            assert float(at.low[0]) >= float(exact) * (1 - 1e-15)

    def test_a_ratio_of_nothing_leaves_nothing_and_warns_of_nothing(self) -> None:
        assert proving.corner_bound(np.array([math.inf]), boxes((0, 1, 0, 1))).tolist() == [0.0]

    def test_a_ratio_below_one_leaves_nothing(self) -> None:
        assert proving.corner_bound(np.array([1.7]), boxes((0.2, 0.4, 0.1, 0.3))).tolist() == [0.0]


def flat(*slopes: float, high: float = 0.4) -> Enclosure:
    """W with these bounds of its slopes: p low, p high, q low, q high."""
    a, b, c, d = ([x] for x in slopes)
    spans = ([[0.0], [high]], [a, b], [c, d])
    return Enclosure(*(np.array(span, dtype=float) for span in spans), sign=1)


class TestSlopes:
    @STEADY
    @given(one_box(), ends, ends, st.floats(-1, 1), st.floats(-1, 1))
    @example((0.2, 0.4, 0.05, 0.1), 0.5, 1.0, 0.0, 0.0)  # steepest at the larger u
    def test_they_hold_and_are_met(self, box, x: float, y: float, a: float, b: float) -> None:
        u0, u1 = sorted((x, y))
        along_p, along_q = proving.slopes(
            boxes(box), flat(a, a, b, b), np.array([u0]), np.array([u1])
        )
        p, q = inside(box, 21)
        ups, downs, lefts, rights = [], [], [], []
        for u in np.linspace(u0, u1, 21):
            in_p = q + u * u * (1 - q) - u - a  # ∂S/∂p − ∂W/∂p
            in_q = p - u * u * p - b
            ups.append(in_p.max())
            downs.append(in_p.min())
            rights.append(in_q.max())
            lefts.append(in_q.min())
        for (low, high), least, most in (
            (along_p, min(downs), max(ups)),
            (along_q, min(lefts), max(rights)),
        ):
            assert float(low[0]) <= least
            assert most <= float(high[0])
            # between two lines of the grid a parabola falls by no more than a quarter step squared
            assert float(low[0]) >= least - 1e-3 * (u1 - u0) ** 2 - 1e-12
            assert float(high[0]) <= most + 1e-12

    def test_slopes_left_out_are_zero(self) -> None:
        some = boxes((0.2, 0.4, 0.1, 0.3))
        without = Enclosure(np.array([[0.0], [1.0]]), None, None, sign=1)
        u = np.array([0.6])
        for ours, theirs in zip(
            proving.slopes(some, without, u, u),
            proving.slopes(some, flat(0, 0, 0, 0), u, u),
            strict=True,
        ):
            assert [float(x[0]) for x in ours] == [float(x[0]) for x in theirs]


class TestSlopeBound:
    @STEADY
    @given(one_box(), st.floats(0.01, 3), st.floats(-0.5, 0.5), st.floats(-0.5, 0.5), ends)
    def test_what_it_proves_is_true_and_it_proves_what_is_clear(self, box, target, a, b, w) -> None:
        """W = w + a (p − centre) + b (q − centre), whose slopes are known exactly."""
        p0, p1, q0, q1 = box
        u = math.exp(-target)
        proved = bool(proving.slope_bound(np.array([w]), boxes(box), flat(a, a, b, b), target)[0])
        middle_p, middle_q = (p0 + p1) / 2, (q0 + q1) / 2
        p, q = inside(box, 15)
        G = least_share(p, q, u) - (w + a * (p - middle_p) + b * (q - middle_q))
        if proved:
            assert G.min() >= -1e-15
        ps, qs = inside(box, 41)
        along_p = np.abs(qs + u * u * (1 - qs) - u - a).max() * (p1 - p0) / 2
        along_q = np.abs(ps * (1 - u * u) - b).max() * (q1 - q0) / 2
        clear = least_share(middle_p, middle_q, u) - w - along_p - along_q
        if clear > 1e-12:
            assert proved
        if clear < -1e-12:
            assert not proved

    @STEADY
    @given(one_box(), st.floats(0.01, 3), st.floats(-2, 2), st.floats(-2, 2))
    def test_it_proves_up_to_the_last_w_and_no_further(self, box, target, a, b) -> None:
        p0, p1, q0, q1 = box
        u = math.exp(-target)
        # Both slopes of G are linear in the other prior, so they are largest at an end.
        along_p = max(abs(q + u * u * (1 - q) - u - a) for q in (q0, q1)) * (p1 - p0) / 2
        along_q = max(abs(p * (1 - u * u) - b) for p in (p0, p1)) * (q1 - q0) / 2
        last = least_share((p0 + p1) / 2, (q0 + q1) / 2, u) - along_p - along_q

        def proved(w: float) -> bool:
            return bool(proving.slope_bound(np.array([w]), boxes(box), flat(a, a, b, b), target)[0])

        assert proved(last - 1e-12)
        assert not proved(last + 1e-12)

    @STEADY
    @given(one_box(), st.booleans(), st.floats(0.01, 3), st.floats(-20, 20), st.floats(-20, 20))
    def test_not_one_digit_further(self, box, point, target, a, b) -> None:
        """Next above the last w of exact arithmetic nothing is proved, steep or flat."""
        p0, p1, q0, q1 = box
        if point:
            p0, q0 = p1, q1
        with mp.workdps(50):
            u = mp.exp(-mp.mpf(target))
            ps, qs = (mp.mpf(p0), mp.mpf(p1)), (mp.mpf(q0), mp.mpf(q1))
            along_p = max(abs(q + u * u * (1 - q) - u - a) for q in qs) * (ps[1] - ps[0]) / 2
            along_q = max(abs(p * (1 - u * u) - b) for p in ps) * (qs[1] - qs[0]) / 2
            middle_p, middle_q = (mp.mpf(p0 + p1)) / 2, (mp.mpf(q0 + q1)) / 2
            last = least_share(middle_p, middle_q, u) - along_p - along_q
        w = math.nextafter(float(last), math.inf)
        w = w if w > last else math.nextafter(w, math.inf)
        some = boxes((p0, p1, q0, q1))
        assert not proving.slope_bound(np.array([w]), some, flat(a, a, b, b), target)[0]

    def test_an_unknown_slope_proves_nothing(self) -> None:
        point = boxes((0.5, 0.5, 0.5, 0.5))
        unknown = flat(-math.inf, math.inf, -math.inf, math.inf)
        assert not proving.slope_bound(np.array([0.1]), point, unknown, 0.1)[0]


class TestCollapse:
    @STEADY
    @given(one_box(), st.floats(-0.6, 0.6), st.floats(-0.6, 0.6), st.floats(0.2, 0.9))
    def test_the_face_that_is_left_holds_the_least(self, box, a, b, w) -> None:
        p0, p1, q0, q1 = box
        width = abs(a) * (p1 - p0) / 2 + abs(b) * (q1 - q0) / 2
        if not 0.02 < w - width < w + width < 0.98:
            return
        p, q = inside(box)
        values = w + a * (p - (p0 + p1) / 2) + b * (q - (q0 + q1) / 2)
        epsilon = finding.epsilon_of(values, p, q)
        upper = float(epsilon.min())
        if math.isinf(upper):
            return
        enclosed = flat(a, a, b, b, high=w + width)
        bound = proving.corner_bound(enclosed.high, boxes(box))
        known = np.array([False])
        left = proving.collapse(boxes(box), enclosed, bound, known, upper)
        (l0, l1, m0, m1) = (float(x[0]) for x in (left.p0, left.p1, left.q0, left.q1))
        assert p0 <= l0 <= l1 <= p1
        assert q0 <= m0 <= m1 <= q1
        assert (l0, l1) in {(p0, p1), (p0, p0), (p1, p1)}
        assert (m0, m1) in {(q0, q1), (q0, q0), (q1, q1)}
        held = (p >= l0) & (p <= l1) & (q >= m0) & (q <= m1)
        assert epsilon[held].min() <= upper * (1 + 1e-12)

    @STEADY
    @given(st.floats(1e-9, 30), st.floats(0, 1))
    def test_the_range_of_u_holds_every_epsilon_between_bound_and_upper(self, upper, share) -> None:
        seen = []

        def listen(boxes, enclosed, u0, u1):
            seen.append((float(u0[0]), float(u1[0])))
            return slopes(boxes, enclosed, u0, u1)

        slopes, bound = proving.slopes, upper * share
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(proving, "slopes", listen)
            box = boxes((0.2, 0.4, 0.1, 0.3))
            proving.collapse(box, flat(0, 0, 0, 0), np.array([bound]), np.array([False]), upper)
        with mp.workdps(40):
            (u0, u1) = seen[0]
            assert u0 <= mp.exp(-mp.mpf(upper)) <= u0 * (1 + 1e-11)
            assert u1 * (1 - 1e-11) <= mp.exp(-mp.mpf(bound)) <= u1 <= 1

    def test_at_a_slope_of_zero_one_face_is_as_good_as_the_other(self) -> None:
        at = proving.collapse(
            boxes((0.2, 0.4, 0.1, 0.3)),
            flat(-9, -9, 9, 9),
            np.array([0.5]),
            np.array([False]),
            0.5,
        )
        assert [float(x[0]) for x in (at.p0, at.p1, at.q0, at.q1)] == [0.2, 0.2, 0.3, 0.3]

    def test_each_sign_of_each_slope(self) -> None:
        """With W steep enough its own slope decides; G = S − W falls where W rises."""
        box = (0.2, 0.4, 0.1, 0.3)
        none, upper = np.array([False]), 2.0
        bound = np.array([0.1])

        def left(*slopes: float, undefined: bool = False) -> tuple[float, ...]:
            at = proving.collapse(boxes(box), flat(*slopes), bound, none | undefined, upper)
            return tuple(float(x[0]) for x in (at.p0, at.p1, at.q0, at.q1))

        assert left(5, 5, 5, 5) == (0.4, 0.4, 0.3, 0.3)
        assert left(-5, -5, -5, -5) == (0.2, 0.2, 0.1, 0.1)
        assert left(5, 5, -5, -5) == (0.4, 0.4, 0.1, 0.1)
        assert left(-5, 5, -5, 5) == box
        assert left(5, 5, 5, 5, undefined=True) == box
        assert left(-5, -5, -5, -5, undefined=True) == box


class TestNearCertainty:
    """W = 1 at p = q = 1 is taken for what intervals say of that point, and of nothing else."""

    ULP = 2.0**-52
    EVERYWHERE = Box(0.0, 1.0, 0.0, 1.0)

    def found(self, **W: list[Any]) -> Any:
        given = {"low": [1.0, 0.5], "high": [1.0], "undefined": [False]} | W
        return proving.near_certainty(Fixed(**given), self.EVERYWHERE, "pq", Search())

    @pytest.mark.parametrize(
        "W",
        [
            {},
            {"high": [1 + 16 * ULP]},
            {"low": [1 - 4 * ULP], "high": [1 + 4 * ULP]},
            {"undefined": [False, True, False]},
        ],
        ids=["exactly", "sixteen ulps", "between", "undefined farther off"],
    )
    def test_there(self, W: dict[str, list[Any]]) -> None:
        near, enclosed = self.found(**W)
        assert (float(near.p0[0]), float(near.q0[0])) == (1.0, 1.0)
        assert len(near) == len(enclosed.low) == 14 - sum(W.get("undefined", []))

    @pytest.mark.parametrize(
        "W",
        [
            {"high": [1 + 17 * ULP]},
            {"high": [1.5]},
            {"low": [1 + ULP, 0.5], "high": [1 + 2 * ULP]},
            {"low": [0.5], "high": [1 - ULP]},
            {"undefined": [True]},
        ],
        ids=["too far above", "could be anything", "above", "below", "no value"],
    )
    def test_not_there(self, W: dict[str, list[Any]]) -> None:
        assert self.found(**W) is None


def area(some: Boxes) -> float:
    return float(((some.p1 - some.p0) * (some.q1 - some.q0)).sum())


class TestCutting:
    @pytest.mark.parametrize("many", [1, 3, 40, 300])
    def test_children_cover_their_parents_and_no_more(self, many: int) -> None:
        rng = np.random.default_rng(many)
        x = np.sort(rng.uniform(0, 1, (2, many)), axis=0)
        y = np.sort(rng.uniform(0, 1, (2, many)), axis=0)
        parents = Boxes(x[0], x[1], y[0], y[1])
        children = enclosures.cut(parents)
        assert area(children) == pytest.approx(area(parents), rel=1e-12)
        assert len(children) % many == 0
        each = len(children) // many
        # Few boxes are cut fine; a level does at least a fair piece of work, and not much more.
        assert each == {1: 256, 3: 81, 40: 9, 300: 9}[many]
        for k in range(many):
            mine = slice(k * each, (k + 1) * each)
            p0, p1, q0, q1 = (getattr(children, end)[mine] for end in ("p0", "p1", "q0", "q1"))
            assert (p0.min(), p1.max()) == (x[0, k], x[1, k])
            assert (q0.min(), q1.max()) == (y[0, k], y[1, k])
            assert (p0 < p1).all()
            assert (q0 < q1).all()
            sides = math.isqrt(each)
            assert np.allclose(p1 - p0, (x[1, k] - x[0, k]) / sides)
            assert np.allclose(q1 - q0, (y[1, k] - y[0, k]) / sides)
            assert len(set(zip(p0, q0, strict=True))) == each

    def test_segments_and_points(self) -> None:
        mixed = boxes(
            (0.1, 0.2, 0.5, 0.5), (0.3, 0.3, 0.1, 0.9), (0.4, 0.4, 0.6, 0.6), (0, 1, 0, 1)
        )
        children = enclosures.cut(mixed)
        share = 256 // 4
        along_p = (children.p0 < children.p1) & (children.q0 == children.q1)
        along_q = (children.p0 == children.p1) & (children.q0 < children.q1)
        points = (children.p0 == children.p1) & (children.q0 == children.q1)
        whole = (children.p0 < children.p1) & (children.q0 < children.q1)
        assert (along_p.sum(), along_q.sum(), points.sum()) == (share, share, 1)
        assert whole.sum() == math.isqrt(share) ** 2
        some = children[along_p]
        assert (some.p1 - some.p0).sum() == pytest.approx(0.1)
        assert (some.p0.min(), some.p1.max(), set(some.q0)) == (0.1, 0.2, {0.5})
        some = children[along_q]
        assert (some.q0.min(), some.q1.max(), set(some.p0)) == (0.1, 0.9, {0.3})
        assert (some.q1 - some.q0).sum() == pytest.approx(0.8)
        assert area(children[whole]) == pytest.approx(1)

    def test_nothing_is_cut_from_nothing(self) -> None:
        empty = boxes((0, 1, 0, 1))[np.array([False])]
        assert len(enclosures.cut(empty)) == 0

    def test_the_last_line_is_the_end_itself(self) -> None:
        low, high = np.array([0.1, 0.7]), np.array([0.7, 0.9])
        lines = enclosures.grid(low, high, 3)
        assert lines.shape == (2, 4)
        assert (lines[:, 0] == low).all()
        assert (lines[:, -1] == high).all()
        assert np.allclose(np.diff(lines), ((high - low) / 3)[:, None])
        assert np.allclose(enclosures.ends(0.2, 0.8, 3), [0.2, 0.4, 0.6, 0.8])
        assert enclosures.ends(0.2, 0.8, 1).tolist() == [0.8]
        assert np.allclose(enclosures.ends(0.2, 0.8, 2), [0.2, 0.5, 0.8])

    @STEADY
    @given(one_box(), st.floats(0, 1), st.floats(0, 1))
    def test_around_the_best_prior_all_is_covered(self, box, x: float, y: float) -> None:
        piece = Box(*box)
        p, q = box[0] + x * (box[1] - box[0]), box[2] + y * (box[3] - box[2])
        some = enclosures.around_best(piece, p, q)
        assert area(some) == pytest.approx((box[1] - box[0]) * (box[3] - box[2]), abs=1e-12)
        assert (some.p0.min(), some.p1.max()) == box[:2]
        assert (some.q0.min(), some.q1.max()) == box[2:]
        assert len({*zip(some.p0, some.q0, strict=True)}) == len(some)
        flat_, wide = piece.p_fixed or piece.q_fixed, (some.p1 - some.p0).max()
        near = (some.p0 <= p) & (p <= some.p1) & (some.q0 <= q) & (q <= some.q1)
        assert near.any()
        if not flat_:
            smallest = (some.p1 - some.p0)[near].min()
            assert smallest <= min(2.01e-6, wide)

    def test_a_piece_smaller_than_the_first_step_is_one_box(self) -> None:
        some = enclosures.around_best(Box(0.5, 0.500000001, 0.25, 0.250000001), 0.5, 0.25)
        assert [float(x) for x in (*some.p0, *some.p1, *some.q0, *some.q1)] == [
            0.5, 0.500000001, 0.25, 0.250000001
        ]  # fmt: skip

    def test_the_middle_of_boxes(self) -> None:
        at = enclosures.centres_of(boxes((0.2, 0.4, 0.1, 0.5)))
        assert [float(x[0]) for x in (at.p0, at.p1, at.q0, at.q1)] == pytest.approx(
            [0.3, 0.3, 0.3, 0.3]
        )

    def test_taking_some(self) -> None:
        keep = np.array([True, False, True])
        whole = Enclosure(
            np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([[0.0, 0, 0], [1, 1, 1]]), None, sign=2
        )
        some = whole[keep]
        assert some.low.tolist() == [1, 3]
        assert some.high.tolist() == [4, 6]
        assert some.slope_p is not None
        assert [end.tolist() for end in some.slope_p] == [[0, 0], [1, 1]]
        assert some.slope_q is None
        assert some.sign == 2


class TestBest:
    def test_only_a_smaller_one_is_taken(self) -> None:
        state = Search()
        state.offer(np.array([0.9, 0.4]), np.array([0.1, 0.2]), np.array([0.3, 0.5]))
        assert (state.upper, state.p, state.q) == (0.4, 0.2, 0.5)
        state.offer(np.array([0.4]), np.array([0.7]), np.array([0.7]))
        assert (state.upper, state.p, state.q) == (0.4, 0.2, 0.5)
        assert state.lower == math.inf

    def test_one_that_is_nothing_is_refused_by_its_prior(self) -> None:
        with pytest.raises(ToleranceError) as refused:
            Search().offer(np.array([3e-14]), np.array([0.25]), np.array([0.75]))
        said = str(refused.value)
        assert "p = 0.25, q = 0.75" in said
        assert "ratio of 1 or less" in said
        assert "--box" in refused.value.on_the_command_line
        Search().offer(np.array([4e-14]), np.array([0.25]), np.array([0.75]))

    def test_offered_priors_bound_w_and_epsilon(self) -> None:
        W = reciprocals.OfFormula(reciprocal(parse("2 + p + 1/(q - 0.5)")))
        p, q = np.array([0.1, 0.1]), np.array([0.9, 0.5])
        state = Search()
        high, epsilon = finding.offer(W, p, q, state)
        w = 1 / (2.1 + 1 / 0.4)
        assert high[0] == pytest.approx(w)
        assert high[0] >= w
        assert epsilon[0] == pytest.approx(float(truth(0.1, 0.9, w)))
        assert epsilon[0] >= truth(0.1, 0.9, w)
        assert epsilon[1] == math.inf
        assert (state.upper, state.p, state.q) == (epsilon[0], 0.1, 0.9)

    def test_the_centres_and_the_corners_of_the_least_are_tried(self) -> None:
        W = reciprocals.OfFormula(reciprocal(parse("2 + p + q")))
        some = boxes((0.1, 0.3, 0.2, 0.4), (0.5, 0.7, 0.6, 0.8))
        tried: list[tuple[float, float]] = []

        class Listening:
            def over(self, boxes, slopes):
                tried.extend(zip(boxes.p0, boxes.q0, strict=True))
                assert slopes == ""
                return W.over(boxes, slopes)

        w = finding.offer_points(Listening(), some, 1, Search())
        assert np.allclose(w, [1 / 2.5, 1 / 3.3])
        corners = [(0.5, 0.6), (0.5, 0.8), (0.7, 0.6), (0.7, 0.8)]
        assert np.allclose(sorted(tried), sorted([(0.2, 0.3), (0.6, 0.7), *corners]))


class TestSettling:
    def settled(self, text: str, some: Boxes, upper: float, relative: float = 1e-8) -> float:
        W = reciprocals.OfFormula(reciprocal(parse(text)))
        enclosed, _ = W.over(some, "pq")
        bound = proving.corner_bound(enclosed.high, some)
        state = Search(upper=upper, p=0.5, q=0.5)
        return proving.settle(W, some, enclosed, bound, state, relative)

    def test_it_proves_more_than_the_corners_do_and_stays_below(self) -> None:
        lines = np.linspace(0.4, 0.6, 201)
        some = Boxes(
            np.repeat(lines[:-1], 200),
            np.repeat(lines[1:], 200),
            np.tile(lines[:-1], 200),
            np.tile(lines[1:], 200),
        )
        least = min(truth(p, q, 1 / (3 - p + q)) for p in (0.4, 0.5, 0.6) for q in (0.4, 0.5, 0.6))
        found = self.settled("3 - p + q", some, float(least))
        corners = float(
            proving.corner_bound(
                reciprocals.OfFormula(reciprocal(parse("3 - p + q"))).over(some, "")[0].high, some
            ).min()
        )
        assert corners < found <= least
        # It doubles the gap until the boxes prove it, so half of it was not enough.
        assert found >= float(least) - 2 * (float(least) - corners)

    def test_where_the_corners_are_all_it_has_they_are_the_answer(self) -> None:
        wide = boxes((0.1, 0.9, 0.1, 0.9))
        W = reciprocals.OfFormula(reciprocal(parse("3 - p + q")))
        corner = float(proving.corner_bound(W.over(wide, "")[0].high, wide)[0])
        assert self.settled("3 - p + q", wide, corner + 0.3) == corner


class TestUndefined:
    def refuse(self, text: str, *some) -> None:
        proving.refuse_undefined(reciprocals.OfFormula(reciprocal(parse(text))), boxes(*some))

    def test_a_true_singularity_is_named(self) -> None:
        with pytest.raises(FormulaError) as refused:
            self.refuse("2 + 1/(p - 0.5)**2", (0.1, 0.3, 0, 1), (0.4, 0.9, 0.2, 0.3))
        said = str(refused.value)
        assert "near p = 0.5, q = 0." in said
        assert "division by zero" in said
        assert "condition" in said
        assert "--box" in refused.value.on_the_command_line

    def test_one_that_only_looked_so_is_let_go(self) -> None:
        """x − x may be 0 by interval arithmetic on a wide box, and is far from it on small ones."""
        text = "2 + 1/(1.2 + p - p)"
        wide = boxes((0.0, 1.0, 1.0, 1.0))
        W = reciprocals.OfFormula(reciprocal(parse("2 + 1/(0.5 + p - p)")))
        assert W.over(wide, "")[1].any()
        proving.refuse_undefined(W, wide)
        self.refuse(text, (0.0, 1.0, 0.5, 0.5))


class TestReciprocals:
    @pytest.mark.parametrize("in_p", ["increasing", "decreasing"])
    @pytest.mark.parametrize("in_q", ["increasing", "decreasing"])
    def test_a_monotone_function_is_enclosed_by_two_corners(self, in_p: str, in_q: str) -> None:
        a, b = (1 if x == "increasing" else -1 for x in (in_p, in_q))

        def ratio(p: float, q: float) -> float:
            return 5 + a * p + 2 * b * q

        W = reciprocals.OfFunction(Function(ratio, monotone_p=in_p, monotone_q=in_q))
        some = boxes((0.1, 0.3, 0.2, 0.6), (0.5, 0.5, 0.7, 0.9))
        at, undefined = W.over(some, "pq")
        assert not undefined.any()
        for k, box in enumerate([(0.1, 0.3, 0.2, 0.6), (0.5, 0.5, 0.7, 0.9)]):
            p, q = inside(box)
            values = 1 / ratio(p, q)
            assert at.low[k] == pytest.approx(values.min(), rel=1e-15)
            assert at.high[k] == pytest.approx(values.max(), rel=1e-15)
        for slope in (at.slope_p, at.slope_q):
            assert slope is not None
            assert slope[0].tolist() == [-math.inf] * 2
            assert slope[1].tolist() == [math.inf] * 2
        assert at.sign == 1

    def test_at_one_prior(self) -> None:
        seen = []

        def ratio(p: float, q: float) -> float:
            seen.append((p, q))
            return 4.0 if p > 0.5 else -2.0 if q > 0.5 else 0.0

        W = reciprocals.OfFunction(Function(ratio))
        p, q = np.array([0.75, 0.25, 0.25, 0.0]), np.array([0.25, 0.75, 0.25, 0.0])
        assert W.at(p, q).tolist() == [0.25, math.inf, math.inf, math.inf]
        assert seen[-1] == (1e-100, 1e-100)
        formula = reciprocals.OfFormula(reciprocal(parse("2 + 1/(p - q)")))
        assert formula.at(p[:1], q[:1])[0] == pytest.approx(1 / 4)
        assert np.isnan(reciprocals.OfFormula(parse("sqrt(p - q)")).at(p[1:2], q[1:2])[0])

"""Enclosures: bounds of a formula, and of its slopes, over many boxes of priors at once.

Notation. For a box P × Q of priors the enclosure of f holds an interval that contains f(p, q) for
every (p, q) in it, and intervals that contain the slopes ∂f/∂p and ∂f/∂q where they exist. Slopes
of `min` and `max` are enclosed by both sides', which bounds every Lipschitz step; across a jump
that may lie inside the box nothing is claimed (−∞, ∞).

Interval arithmetic after Moore; every result is rounded outward by one unit in the last place (two
for log, exp and powers, which the C library does not round correctly), so the bounds are proofs. A
sum that a double holds is left as it is, and so is a product with 0 or 1: √(1 − pq) has a value at
p = q = 1. One array operation serves all boxes of a search level.

A box is `undefined` where the formula may have no value in it: a denominator that may be 0, a
logarithm or root that may be negative. A denominator or logarithm that reaches 0 only on the
face p = 0 or q = 0 is fine: those priors are limits, not members.

Boxes of priors are cut about the worst prior of a piece, and level by level.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.promises.box import Box
from discreet.promises.formula import (
    Binary,
    Call,
    Compare,
    Conditional,
    Expression,
    Inverse,
    Logical,
    Number,
    Power,
    Variable,
)

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Span: TypeAlias = Array  # two rows: lower ends, upper ends
_INF = np.float64(np.inf)
_ZERO: Span = np.zeros((2, 1))
_ONE: Span = np.ones((2, 1))
_SIDES: Span = np.array([[-_INF], [_INF]])
_UPWARD: Span = np.array([[0.0], [_INF]])
_AT_LEAST_0: Span = np.array([[0.0], [-_INF]])
_THIN = 1e-3
ENDS = ("p0", "p1", "q0", "q1")
_BINARY: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "min": lambda *x: functools.reduce(np.minimum, x),
    "max": lambda *x: functools.reduce(np.maximum, x),
}  # fmt: skip
_COMPARISONS: dict[str, Callable[..., Array]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Boxes:
    """Many boxes of priors: arrays of their ends."""

    p0: Array
    p1: Array
    q0: Array
    q1: Array

    def __len__(self) -> int:
        return len(self.p0)

    def __getitem__(self, keep: Mask | NDArray[np.int64]) -> Boxes:
        return Boxes(self.p0[keep], self.p1[keep], self.q0[keep], self.q1[keep])


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Bounds of values and slopes over boxes; a slope of None is zero."""

    span: Span
    slope_p: Span | None
    slope_q: Span | None
    sign: int  # by its form: 2 positive but on the faces p = 0, q = 0; 1 never negative; 0 unknown

    @property
    def low(self) -> Array:
        """Lower bounds of the values."""
        return np.asarray(self.span[0])

    @property
    def high(self) -> Array:
        """Upper bounds of the values."""
        return np.asarray(self.span[1])

    @property
    def slopes(self) -> tuple[Span, Span]:
        """Bounds of the slopes in p and in q."""
        p, q = (_ZERO if slope is None else slope for slope in (self.slope_p, self.slope_q))
        return p, q

    def each(self, change: Callable[[Span], Span]) -> Enclosure:
        """Return the same with other columns."""
        p, q = (None if x is None else change(x) for x in (self.slope_p, self.slope_q))
        return Enclosure(change(self.span), p, q, self.sign)

    def __getitem__(self, keep: Mask) -> Enclosure:
        return self.each(lambda x: x[:, keep])


def enclose(expression: Expression, boxes: Boxes, *, slopes: str = "pq") -> tuple[Enclosure, Mask]:
    """Return bounds of the formula over each box, and where it may be undefined.

    `slopes` names the directions in which slopes are wanted; in others they are left out.
    """
    evaluator = _Evaluator(boxes, slopes)
    with np.errstate(all="ignore"):
        out = evaluator.value(expression)
    many = len(boxes)  # a constant has one column for all
    out = out.each(lambda x: x if x.shape[1] == many else np.repeat(x, many, axis=1))
    return out, evaluator.undefined


def truth(test: Expression, box: Box) -> bool | None:
    """Say whether a test holds on a whole box, or on none of it; None if that is not proved."""
    may_hold, may_fail = tested(test, Boxes(*(np.array([getattr(box, end)]) for end in ENDS)))
    return None if may_hold[0] and may_fail[0] else bool(may_hold[0])


def tested(test: Expression, boxes: Boxes) -> tuple[Mask, Mask]:
    """Return on which boxes a test may hold, and on which it may fail."""
    evaluator = _Evaluator(boxes, "")
    with np.errstate(all="ignore"):
        may_hold, may_fail = evaluator.truth(test)
    return may_hold | evaluator.undefined, may_fail | evaluator.undefined


def at_points(e: Expression, p: Array, q: Array) -> Array:
    """Return values at priors, to rounding and not beyond; NaN where there is none."""
    match e:
        case Number(value):
            return np.float64(value)  # type: ignore[return-value]
        case Variable(name):
            return p if name == "p" else q
        case Binary(op, left, right):
            return _BINARY[op](at_points(left, p, q), at_points(right, p, q))
        case Power(base, exponent):
            return np.power(at_points(base, p, q), exponent)
        case Inverse(argument):
            x = at_points(argument, p, q)
            return np.where(x <= 0, np.inf, 1 / x)
        case Call(function, arguments):
            return _FUNCTIONS[function](*(at_points(part, p, q) for part in arguments))
        case Conditional(test, then, otherwise):
            return np.where(
                at_points(test, p, q), at_points(then, p, q), at_points(otherwise, p, q)
            )
        case Compare(op, left, right):
            return _COMPARISONS[op](at_points(left, p, q), at_points(right, p, q))
        case Logical("not", (argument,)):
            return np.logical_not(at_points(argument, p, q))
        case Logical(op, arguments):
            pick: Callable[..., Array] = np.logical_and if op == "and" else np.logical_or
            return functools.reduce(pick, (at_points(part, p, q) for part in arguments))


def _out(x: Span, steps: int = 1) -> Span:
    for _ in range(steps):
        x = np.nextafter(x, _SIDES)
    return x


def _sum(x: Span, y: Span) -> Span:
    """Return x + y, a step to the side where rounding has changed an end."""
    total = x + y
    # of the larger of the two the difference is exact (Dekker's fast two-sum)
    exact = (total - x == y) & (total - y == x)
    out = np.where(exact, total, np.nextafter(total, _SIDES))
    return np.where(np.isnan(out), _SIDES, out)  # ∞ − ∞ says nothing


def _add(x: Span | None, y: Span | None) -> Span | None:
    """Add slopes, of which None is 0."""
    if x is None or y is None:
        return y if x is None else x
    out = _out(x + y)
    return np.where(np.isnan(out), _SIDES, out)


def _minus(x: Span) -> Span:
    return -x[::-1]


def _multiply(x: Span, y: Span) -> Span:
    if x.size == 2 and x[0, 0] == x[1, 0]:
        return _scaled(y, float(x[0, 0]))
    if y.size == 2 and y[0, 0] == y[1, 0]:
        return _scaled(x, float(y[0, 0]))
    ends = x[:, None] * y  # 0·∞ is NaN: the other ends bound it, or there is nothing but 0
    ends = ends.reshape(4, -1)
    signs = (np.sign(x)[:, None] * np.sign(y)).reshape(4, -1)
    low, high = np.fmin.reduce(ends), np.fmax.reduce(ends)
    below, above = np.nextafter(low, -_INF), np.nextafter(high, _INF)
    # rounding never passes 0
    low = np.where(signs.min(axis=0) >= 0, np.fmax(below, 0.0), below)
    return np.array([low, np.where(signs.max(axis=0) <= 0, np.fmin(above, 0.0), above)])


def _multiply_positive(x: Span, y: Span) -> Span:
    """Ends times ends, and rounding never passes 0; 0·∞ may be anything."""
    ends = x * y
    plain = (x == 1) | (y == 1) | (((x == 0) | (y == 0)) & (ends == 0))
    out = np.where(plain, ends, np.nextafter(ends, _UPWARD))
    return np.where(np.isnan(out), _UPWARD, out)


def _scaled(x: Span, factor: float) -> Span:
    """The span times a number; a factor 0 or 1, and an end at 0, leave no rounding."""
    if factor == 0:
        return _ZERO
    x = x if factor > 0 else x[::-1]
    if abs(factor) == 1:
        return x * factor
    return np.where(x == 0, 0.0, _out(x * factor))


def _times(x: Span, y: Span | None) -> Span | None:
    return None if y is None else _multiply(x, y)


def _reciprocal(x: Span, positive: bool = False) -> Span:
    """1/x where x does not change sign; an end at 0 gives ∞, a change of sign everything."""
    out = 1 / x[::-1]
    if positive:
        return np.nextafter(out, _UPWARD)
    out = np.where(x[::-1] == 0, _SIDES, out)
    return _out(np.where((x[0] < 0) & (x[1] > 0), _SIDES, out))


def _hull(x: Span | None, y: Span | None) -> Span | None:
    if x is None and y is None:
        return None
    a, b = _ZERO if x is None else x, _ZERO if y is None else y
    return np.array([np.minimum(a[0], b[0]), np.maximum(a[1], b[1])])


def _select(mask: Mask, x: Span | None, y: Span | None) -> Span | None:
    if x is None and y is None:
        return None
    return np.where(mask, _ZERO if x is None else x, _ZERO if y is None else y)


class _Evaluator:
    """One evaluation over many boxes; collects where it is undefined."""

    def __init__(self, boxes: Boxes, slopes: str) -> None:
        self.boxes = boxes
        self.undefined: Mask = np.zeros(len(boxes), dtype=bool)
        # A zero in a box that is thin and on a face is taken to be on the face itself.
        self.on_face: Mask = ((boxes.p0 == 0) & (boxes.p1 <= _THIN)) | (
            (boxes.q0 == 0) & (boxes.q1 <= _THIN)
        )
        self.possible: Mask = np.ones(len(boxes), dtype=bool)
        self.along_p = _ONE if "p" in slopes else None
        self.along_q = _ONE if "q" in slopes else None

    def value(self, e: Expression) -> Enclosure:
        match e:
            case Number(value):
                sign = 2 if value > 0 else int(value == 0)
                return Enclosure(np.full((2, 1), value), None, None, sign)
            case Variable("p"):
                return Enclosure(np.array([self.boxes.p0, self.boxes.p1]), self.along_p, None, 2)
            case Variable(_):
                return Enclosure(np.array([self.boxes.q0, self.boxes.q1]), None, self.along_q, 2)
            case Binary(op, left, right):
                return self.binary(op, self.value(left), self.value(right))
            case Power(base, exponent):
                return self.power(self.value(base), exponent)
            case Inverse(argument):
                return _inverse(self.value(argument))
            case Call("min" | "max" as function, arguments):
                out = self.value(arguments[0])
                for argument in arguments[1:]:
                    out = _extreme(function, out, self.value(argument))
                return out
            case Call(function, (argument,)):
                return self.apply(function, self.value(argument))
            case Conditional(test, then, otherwise):
                return self.conditional(test, then, otherwise)
            case _:  # pragma: no cover - see the words
                raise AssertionError("the parser lets no truth value stand for a number")

    def binary(self, op: str, x: Enclosure, y: Enclosure) -> Enclosure:
        positive = x.sign > 0 and y.sign > 0
        if op == "-":
            y, op, positive = replace(y.each(_minus), sign=0), "+", False
        if op == "+":
            span = _sum(x.span, y.span)
            if positive:
                span = np.maximum(span, 0.0)
            slope_p, slope_q = _add(x.slope_p, y.slope_p), _add(x.slope_q, y.slope_q)
            return Enclosure(span, slope_p, slope_q, max(x.sign, y.sign) if positive else 0)
        multiply = _multiply_positive if positive else _multiply
        if op == "*":
            return Enclosure(
                multiply(x.span, y.span),
                _add(_times(y.span, x.slope_p), _times(x.span, y.slope_p)),
                _add(_times(y.span, x.slope_q), _times(x.span, y.slope_q)),
                min(x.sign, y.sign),
            )
        if y.sign < 2:
            self.refuse_zero(y.span)
        inverse = _reciprocal(y.span, y.sign > 0)
        ratio = multiply(x.span, inverse)
        less = _minus(ratio)
        return Enclosure(
            ratio,
            _times(inverse, _add(x.slope_p, _times(less, y.slope_p))),
            _times(inverse, _add(x.slope_q, _times(less, y.slope_q))),
            x.sign if positive else 0,
        )

    def refuse_zero(self, x: Span) -> None:
        low, high = x
        touches = (low <= 0) & (high >= 0)
        one_sided = (low >= 0) | (high <= 0)
        self.undefined |= self.possible & touches & ~(self.on_face & one_sided & (low < high))

    def refuse_negative(self, x: Span, zero: bool) -> None:
        low, _ = x
        outside = (low < 0) if zero else (low < 0) | ((low == 0) & ~self.on_face)
        self.undefined |= self.possible & outside

    def power(self, x: Enclosure, exponent: float) -> Enclosure:
        if exponent == 0:
            return self.value(Number(1.0))
        base = x.span
        whole = exponent == int(exponent) if np.isfinite(exponent) else False
        if not whole:
            if x.sign < 2:
                self.refuse_negative(base, zero=exponent > 0)
            base = np.maximum(base, _AT_LEAST_0)
        elif exponent < 0 and x.sign < 2:
            self.refuse_zero(base)
        span = _power(base, exponent)
        if whole and exponent < 0 and x.sign < 1:
            span = np.where((base[0] < 0) & (base[1] > 0), _SIDES, span)
        if x.sign > 0:
            span = np.maximum(span, 0.0)
        if x.slope_p is None and x.slope_q is None:
            return Enclosure(span, None, None, x.sign)
        factor = _scaled(_power(base, exponent - 1), exponent)
        return Enclosure(span, _times(factor, x.slope_p), _times(factor, x.slope_q), x.sign)

    def apply(self, function: str, x: Enclosure) -> Enclosure:
        above = x.span if x.sign > 0 else np.maximum(x.span, _AT_LEAST_0)
        if function == "exp":
            span, sign = np.maximum(_out(np.exp(x.span), 2), 0.0), 2
            factor = span
        elif function == "log":
            if x.sign < 2:
                self.refuse_negative(x.span, zero=False)
            span, sign = _out(np.log(above), 2), 0
            factor = _reciprocal(above, positive=True)
        else:
            if x.sign < 1:
                self.refuse_negative(x.span, zero=True)
            span, sign = np.maximum(_out(np.sqrt(above)), _AT_LEAST_0), max(x.sign, 1)
            factor = _reciprocal(2 * span, positive=True)
        return Enclosure(span, _times(factor, x.slope_p), _times(factor, x.slope_q), sign)

    def conditional(self, test: Expression, then: Expression, otherwise: Expression) -> Enclosure:
        may_hold, may_fail = self.truth(test)
        possible = self.possible
        self.possible = possible & may_hold
        x = self.value(then)
        self.possible = possible & may_fail
        y = self.value(otherwise)
        self.possible = possible
        both = may_hold & may_fail
        known = np.where(may_hold, x.span, y.span)
        span = np.where(both, _hull(x.span, y.span), known)  # type: ignore[arg-type]
        slope_p = slope_q = None  # a jump may lie in the box
        if self.along_p is not None:
            slope_p = _select(both, _SIDES, _select(may_hold, x.slope_p, y.slope_p))
        if self.along_q is not None:
            slope_q = _select(both, _SIDES, _select(may_hold, x.slope_q, y.slope_q))
        return Enclosure(span, slope_p, slope_q, min(x.sign, y.sign))

    def truth(self, e: Expression) -> tuple[Mask, Mask]:
        """Return where the test may hold, and where it may fail."""
        match e:
            case Compare(op, left, right):
                x, y = self.value(left), self.value(right)
                return _compare(op, x, y)
            case Logical("not", (argument,)):
                may_hold, may_fail = self.truth(argument)
                return may_fail, may_hold
            case Logical(op, arguments):
                pairs = [self.truth(argument) for argument in arguments]
                may_hold, may_fail = pairs[0]
                for hold, fail in pairs[1:]:
                    if op == "and":
                        may_hold, may_fail = may_hold & hold, may_fail | fail
                    else:
                        may_hold, may_fail = may_hold | hold, may_fail & fail
                return may_hold, may_fail
            case _:  # pragma: no cover - see the words
                raise AssertionError("the parser lets no number stand for a truth value")


def _compare(op: str, x: Enclosure, y: Enclosure) -> tuple[Mask, Mask]:
    if op in (">", ">="):
        x, y, op = y, x, {">": "<", ">=": "<="}[op]
    if op == "<":
        return x.low < y.high, x.high >= y.low
    if op == "<=":
        return x.low <= y.high, x.high > y.low
    equal = (x.low <= y.high) & (y.low <= x.high)
    differ = ~((x.low == x.high) & (y.low == y.high) & (x.low == y.low))
    return (equal, differ) if op == "==" else (differ, equal)


def _inverse(x: Enclosure) -> Enclosure:
    """1/x where x is above 0, ∞ elsewhere: falling everywhere, with a jump where x passes 0."""
    above = x.span[::-1] > 0
    span = np.where(above, np.maximum(_out(1 / x.span[::-1]), 0.0), _INF)
    minus = _minus(_multiply_positive(span, span))

    def slope(steep: Span | None) -> Span | None:
        return None if steep is None else np.where(above[1], _multiply(minus, steep), _SIDES)

    return Enclosure(span, slope(x.slope_p), slope(x.slope_q), 1)


def _extreme(function: str, x: Enclosure, y: Enclosure) -> Enclosure:
    if function == "max":
        span, sign = np.maximum(x.span, y.span), max(x.sign, y.sign)
        first, second = x.low >= y.high, y.low >= x.high
    else:
        span, sign = np.minimum(x.span, y.span), min(x.sign, y.sign)
        first, second = x.high <= y.low, y.high <= x.low
    # At one prior that is on the kink, either side's slope may be the one that counts.
    first, second = first & ~second, second & ~first

    def slope(a: Span | None, b: Span | None) -> Span | None:
        return _select(first, a, _select(second, b, _hull(a, b)))

    return Enclosure(span, slope(x.slope_p, y.slope_p), slope(x.slope_q, y.slope_q), sign)


def _power(base: Span, exponent: float) -> Span:
    """Powers of ends that a whole exponent may take to either side of 0."""
    if exponent == 1:
        return base
    at = base * base if exponent == 2 else np.power(base, exponent)
    span = _out(np.array([np.minimum(at[0], at[1]), np.maximum(at[0], at[1])]), 2)
    ends = base if exponent > 0 else base[::-1]  # 1 to any power is 1
    span = np.where((ends == 1) & (base[0] >= 0), 1.0, span)
    even = exponent == int(exponent) and int(exponent) % 2 == 0 if np.isfinite(exponent) else False
    if even and exponent > 0:
        return np.array([np.where((base[0] < 0) & (base[1] > 0), 0.0, span[0]), span[1]])
    return span


_AT_ONCE = 256  # an array operation costs about the same for one box as for this many
NEAR = {1: 1e-11, 2: 1e-8}  # the first cut beside the best prior, by dimension
SMOOTH = {1: 4e-6, 2: 3e-5}  # the same where ε_i is smooth there: its square counts
ACROSS = {1: 16, 2: 8}  # lines across a bowl, by dimension
_FARTHER = 1.2  # how much farther apart each line beyond a bowl is than the one before


def cut(boxes: Boxes, least: int = 3) -> Boxes:
    """Cut boxes along both sides, segments along their length, and leave points alone.

    Few boxes are cut fine and many coarsely, so that every level does a fair piece of work.
    """
    share = _AT_ONCE // max(1, len(boxes))
    segments, sides = max(8, share), max(least, math.isqrt(share))
    wide_p, wide_q = boxes.p0 < boxes.p1, boxes.q0 < boxes.q1
    groups = []
    for p_is_wide, q_is_wide in ((True, True), (True, False), (False, True), (False, False)):
        chosen = (wide_p == p_is_wide) & (wide_q == q_is_wide)
        if not chosen.any():
            continue
        some = boxes[chosen]
        many = sides if p_is_wide and q_is_wide else segments
        p = grid(some.p0, some.p1, many if p_is_wide else 1)
        q = grid(some.q0, some.q1, many if q_is_wide else 1)
        columns = q.shape[1] - 1
        i, j = np.divmod(np.arange((p.shape[1] - 1) * columns), columns)
        groups.append([p[:, i], p[:, i + 1], q[:, j], q[:, j + 1]])
    if not groups:
        return boxes
    ends = [np.concatenate([group[k].ravel() for group in groups]) for k in range(4)]
    return Boxes(*ends)


def grid(low: Array, high: Array, parts: int) -> Array:
    """Return lines that cut each of some spans into equal parts."""
    steps = np.arange(parts + 1) / parts
    out = low[:, None] + (high - low)[:, None] * steps
    out[:, -1] = high
    return out


def ends(low: float, high: float, parts: int) -> Array:
    """Return lines that cut a span into equal parts, or its end alone."""
    return low + (high - low) * (np.arange(parts + 1) / parts) if parts > 1 else np.array([high])


def around_best(piece: Box, p: float, q: float, smooth: bool = False) -> Boxes:
    """Cut a piece into boxes that shrink towards a prior, fourfold at each step.

    On both sides of a kink, or of a smooth minimum, ε_i is then monotone on most boxes, and those
    around it are too small to matter: one level proves most profiles.
    """
    dimension = 1 if piece.p_fixed or piece.q_fixed else 2
    steps = (SMOOTH if smooth else NEAR)[dimension] * 4.0 ** np.arange(24)
    axes = []
    for low, high, at in ((piece.p0, piece.p1, p), (piece.q0, piece.q1, q)):
        lines = np.concatenate([at - steps, at + steps])
        lines = lines[(lines > low) & (lines < high)]
        axes.append(np.unique(np.concatenate([[low], lines, [high]])))
    return cross(*axes)


def outward(ends: tuple[float, float], sides: tuple[float, float], many: int) -> Array:
    """Return lines across the sides of a bowl, and ever farther apart beyond them."""
    (low, high), (start, stop) = ends, sides
    if low == high:
        return np.array([low])
    step = (stop - start) / many
    lines = [low, *(start + step * i for i in range(many)), stop, high]
    away = step
    # of a piece of a few doubles the bowl may have no width
    while step > 0 and (start - away > low or stop + away < high):
        lines += [start - away, stop + away]
        step *= _FARTHER
        away += step
    return np.array(sorted({x for x in lines if low <= x <= high}))


def cross(p: Array, q: Array) -> Boxes:
    """Return the boxes between lines; one line is a side of no length."""
    (p0, p1), (q0, q1) = ((x[:-1], x[1:]) if len(x) > 1 else (x, x) for x in (p, q))
    return Boxes(
        np.repeat(p0, len(q0)), np.repeat(p1, len(q0)), np.tile(q0, len(p0)), np.tile(q1, len(p0))
    )


def sizes(boxes: Boxes) -> Array:
    """Return the longer side of each box."""
    return np.maximum(boxes.p1 - boxes.p0, boxes.q1 - boxes.q0)


def centres_of(boxes: Boxes) -> Boxes:
    """Return the centres, as boxes of no size."""
    p, q = (boxes.p0 + boxes.p1) / 2, (boxes.q0 + boxes.q1) / 2
    return Boxes(p, p, q, q)


def uncut(low: Array, high: Array) -> Mask:
    """Say where no double lies between two ends."""
    return np.asarray(np.nextafter(low, math.inf) >= high)

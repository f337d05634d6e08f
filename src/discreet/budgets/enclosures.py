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
"""

from __future__ import annotations

import functools
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
Span: TypeAlias = tuple[Array, Array]
_INF = np.float64(np.inf)
_ZERO: Span = (np.zeros(1), np.zeros(1))
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

    low: Array
    high: Array
    slope_p: Span | None
    slope_q: Span | None
    sign: int  # by its form: 2 positive but on the faces p = 0, q = 0; 1 never negative; 0 unknown


def enclose(expression: Expression, boxes: Boxes, *, slopes: str = "pq") -> tuple[Enclosure, Mask]:
    """Return bounds of the formula over each box, and where it may be undefined.

    `slopes` names the directions in which slopes are wanted; in others they are left out.
    """
    evaluator = _Evaluator(boxes, slopes)
    with np.errstate(all="ignore"):
        out = evaluator.value(expression)
    if len(out.low) != len(boxes):  # a constant on some branch
        shape = len(boxes)
        out = replace(
            out, low=np.broadcast_to(out.low, shape), high=np.broadcast_to(out.high, shape)
        )
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
            return np.full(1, value)
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


def _out(low: Array, high: Array, steps: int = 1) -> Span:
    for _ in range(steps):
        low, high = np.nextafter(low, -_INF), np.nextafter(high, _INF)
    return low, high


def _sum(x: Span, y: Span) -> Span:
    low, high = _sum_end(x[0], y[0], -_INF), _sum_end(x[1], y[1], _INF)
    # ∞ − ∞ says nothing
    return np.where(np.isnan(low), -_INF, low), np.where(np.isnan(high), _INF, high)


def _sum_end(a: Array, b: Array, side: np.float64) -> Array:
    """Return a + b, a step to the side where rounding has changed it."""
    total = a + b
    # of the larger of the two the difference is exact (Dekker's fast two-sum)
    exact = (total - a == b) & (total - b == a)
    return np.where(exact, total, np.nextafter(total, side))


def _add(x: Span | None, y: Span | None) -> Span | None:
    if x is None:
        return y
    if y is None:
        return x
    return _sum(x, y)


def _negate(x: Span | None) -> Span | None:
    return None if x is None else (-x[1], -x[0])


def _multiply(x: Span, y: Span, positive: bool = False) -> Span:
    if positive:  # ends times ends, and rounding never passes 0; 0·∞ may be anything
        low, high = np.fmax(x[0] * y[0], 0.0), x[1] * y[1]
        above = np.nextafter(np.where(np.isnan(high), _INF, high), _INF)
        return np.nextafter(low, 0.0), np.where(_kept(x[1], y[1]), high, above)
    for a, b in ((x, y), (y, x)):
        if b[0] is b[1] and len(b[0]) == 1:
            return _scaled(a, float(b[0][0]))
    (a0, a1), (b0, b1) = x, y
    ends = (a0 * b0, a0 * b1, a1 * b0, a1 * b1)
    # 0·∞ at an end is NaN: the other ends bound it, or there is nothing but 0
    low = np.fmin(np.fmin(ends[0], ends[1]), np.fmin(ends[2], ends[3]))
    high = np.fmax(np.fmax(ends[0], ends[1]), np.fmax(ends[2], ends[3]))
    below, above = _out(low, high)
    up_a, down_a, up_b, down_b = a0 >= 0, a1 <= 0, b0 >= 0, b1 <= 0
    zero = (up_a & down_a) | (up_b & down_b)
    no_less, no_more = (up_a & up_b) | (down_a & down_b), (up_a & down_b) | (down_a & up_b)
    return (
        np.where(no_less | zero, np.fmax(below, 0.0), below),
        np.where(no_more | zero, np.fmin(above, 0.0), above),
    )


def _scaled(x: Span, factor: float) -> Span:
    """The span times a number; a factor 0 or 1, and an end at 0, leave no rounding."""
    if factor == 0:
        return _ZERO
    low, high = x if factor > 0 else (x[1], x[0])
    if abs(factor) == 1:
        return low * factor, high * factor
    below, above = _out(low * factor, high * factor)
    return np.where(low == 0, 0.0, below), np.where(high == 0, 0.0, above)


def _kept(a: Array, b: Array) -> Mask:
    """Say where a product is exact because of a factor 0 or 1 (the other one finite)."""
    plain = (a == 1) | (b == 1) | (((a == 0) | (b == 0)) & np.isfinite(a) & np.isfinite(b))
    return np.asarray(plain)


def _times(x: Span, y: Span | None) -> Span | None:
    return None if y is None else _multiply(x, y)


def _reciprocal(x: Span, positive: bool = False) -> Span:
    """1/x where x does not change sign; an end at 0 gives ∞, a change of sign everything."""
    low, high = x
    if positive:
        return np.nextafter(1 / high, 0.0), np.nextafter(1 / low, _INF)
    crosses = (low < 0) & (high > 0)
    above = np.where(low == 0, _INF, 1 / low)
    below = np.where(high == 0, -_INF, 1 / high)
    return _out(np.where(crosses, -_INF, below), np.where(crosses, _INF, above))


def _hull(x: Span | None, y: Span | None) -> Span | None:
    if x is None and y is None:
        return None
    a, b = x or _ZERO, y or _ZERO
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def _select(mask: Mask, x: Span | None, y: Span | None) -> Span | None:
    if x is None and y is None:
        return None
    a, b = x or _ZERO, y or _ZERO
    return np.where(mask, a[0], b[0]), np.where(mask, a[1], b[1])


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
        one = np.ones(1)
        self.along_p: Span | None = (one, one) if "p" in slopes else None
        self.along_q: Span | None = (one, one) if "q" in slopes else None

    def value(self, e: Expression) -> Enclosure:
        match e:
            case Number(value):
                constant = np.full(1, value)
                return Enclosure(
                    constant, constant, None, None, 2 if value > 0 else int(value == 0)
                )
            case Variable("p"):
                return Enclosure(self.boxes.p0, self.boxes.p1, self.along_p, None, 2)
            case Variable(_):
                return Enclosure(self.boxes.q0, self.boxes.q1, None, self.along_q, 2)
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
        span_x, span_y = (x.low, x.high), (y.low, y.high)
        positive = x.sign > 0 and y.sign > 0
        if op in "+-":
            if op == "-":
                span_y, positive = (-y.high, -y.low), False
                y = Enclosure(*span_y, _negate(y.slope_p), _negate(y.slope_q), 0)
            low, high = _sum(span_x, span_y)
            if positive:
                low = np.maximum(low, 0.0)
            slope_p, slope_q = _add(x.slope_p, y.slope_p), _add(x.slope_q, y.slope_q)
            return Enclosure(low, high, slope_p, slope_q, max(x.sign, y.sign) if positive else 0)
        if op == "*":
            low, high = _multiply(span_x, span_y, positive)
            return Enclosure(
                low,
                high,
                _add(_times(span_y, x.slope_p), _times(span_x, y.slope_p)),
                _add(_times(span_y, x.slope_q), _times(span_x, y.slope_q)),
                min(x.sign, y.sign),
            )
        if y.sign < 2:
            self.refuse_zero(span_y)
        inverse = _reciprocal(span_y, y.sign > 0)
        ratio = _multiply(span_x, inverse, positive)
        minus = (-ratio[1], -ratio[0])
        return Enclosure(
            *ratio,
            _times(inverse, _add(x.slope_p, _times(minus, y.slope_p))),
            _times(inverse, _add(x.slope_q, _times(minus, y.slope_q))),
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
        low, high = x.low, x.high
        whole = exponent == int(exponent) if np.isfinite(exponent) else False
        if not whole:
            if x.sign < 2:
                self.refuse_negative((low, high), zero=exponent > 0)
            low = np.maximum(low, 0.0)
        elif exponent < 0 and x.sign < 2:
            self.refuse_zero((low, high))
        span = _power(low, high, exponent)
        if whole and exponent < 0:
            crosses = (low < 0) & (high > 0)
            span = (np.where(crosses, -_INF, span[0]), np.where(crosses, _INF, span[1]))
        steep = _power(low, high, exponent - 1)
        factor = _scaled(steep, exponent)
        if x.sign > 0:
            span = (np.maximum(span[0], 0.0), span[1])
        return Enclosure(*span, _times(factor, x.slope_p), _times(factor, x.slope_q), x.sign)

    def apply(self, function: str, x: Enclosure) -> Enclosure:
        if function == "exp":
            span = _out(np.exp(x.low), np.exp(x.high), 2)
            span, sign = (np.maximum(span[0], 0.0), span[1]), 2
            factor = span
        elif function == "log":
            if x.sign < 2:
                self.refuse_negative((x.low, x.high), zero=False)
            low = np.maximum(x.low, 0.0)
            span, sign = _out(np.log(low), np.log(x.high), 2), 0
            factor = _reciprocal((low, x.high), positive=True)
        else:
            if x.sign < 1:
                self.refuse_negative((x.low, x.high), zero=True)
            span = _out(np.sqrt(np.maximum(x.low, 0.0)), np.sqrt(x.high))
            span, sign = (np.maximum(span[0], 0.0), span[1]), max(x.sign, 1)
            factor = _reciprocal((2 * span[0], 2 * span[1]), positive=True)
        return Enclosure(*span, _times(factor, x.slope_p), _times(factor, x.slope_q), sign)

    def conditional(self, test: Expression, then: Expression, otherwise: Expression) -> Enclosure:
        may_hold, may_fail = self.truth(test)
        possible = self.possible
        self.possible = possible & may_hold
        x = self.value(then)
        self.possible = possible & may_fail
        y = self.value(otherwise)
        self.possible = possible
        both = may_hold & may_fail
        low = np.where(both, np.minimum(x.low, y.low), np.where(may_hold, x.low, y.low))
        high = np.where(both, np.maximum(x.high, y.high), np.where(may_hold, x.high, y.high))
        nothing: Span = (np.full(1, -_INF), np.full(1, _INF))  # a jump may lie in the box
        slope_p = slope_q = None
        if self.along_p is not None:
            slope_p = _select(both, nothing, _select(may_hold, x.slope_p, y.slope_p))
        if self.along_q is not None:
            slope_q = _select(both, nothing, _select(may_hold, x.slope_q, y.slope_q))
        return Enclosure(low, high, slope_p, slope_q, min(x.sign, y.sign))

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
    above = x.low > 0
    low = np.where(x.high > 0, np.fmax(np.nextafter(1 / x.high, -_INF), 0.0), _INF)
    high = np.where(above, np.nextafter(1 / x.low, _INF), _INF)
    minus = _negate(_multiply((low, high), (low, high), positive=True)) or _ZERO
    nothing: Span = (np.full(1, -_INF), np.full(1, _INF))

    def slope(span: Span | None) -> Span | None:
        return None if span is None else _select(above, _multiply(minus, span), nothing)

    return Enclosure(low, high, slope(x.slope_p), slope(x.slope_q), 1)


def _extreme(function: str, x: Enclosure, y: Enclosure) -> Enclosure:
    if function == "max":
        low, high = np.maximum(x.low, y.low), np.maximum(x.high, y.high)
        first, second = x.low >= y.high, y.low >= x.high
    else:
        low, high = np.minimum(x.low, y.low), np.minimum(x.high, y.high)
        first, second = x.high <= y.low, y.high <= x.low

    def slope(a: Span | None, b: Span | None) -> Span | None:
        return _select(first, a, _select(second, b, _hull(a, b)))

    # At one prior that is on the kink, either side's slope may be the one that counts.
    first, second = first & ~second, second & ~first
    sign = max(x.sign, y.sign) if function == "max" else min(x.sign, y.sign)
    return Enclosure(low, high, slope(x.slope_p, y.slope_p), slope(x.slope_q, y.slope_q), sign)


def _power(low: Array, high: Array, exponent: float) -> Span:
    if exponent == 1:
        return low, high
    at_low, at_high = np.power(low, exponent), np.power(high, exponent)
    span = _out(np.minimum(at_low, at_high), np.maximum(at_low, at_high), 2)
    first, last = (low, high) if exponent > 0 else (high, low)  # 1 to any power is 1
    span = (
        np.where((first == 1) & (low >= 0), 1.0, span[0]),
        np.where((last == 1) & (low >= 0), 1.0, span[1]),
    )
    even = exponent == int(exponent) and int(exponent) % 2 == 0 if np.isfinite(exponent) else False
    if even and exponent > 0:
        crosses = (low < 0) & (high > 0)
        return np.where(crosses, 0.0, span[0]), span[1]
    return span

"""What a formula's form tells before any search.

- `reciprocal`: W = 1/r* as a formula, which is never negative. Where r* = a/(pq) it is pq/a, which
  has no pole at p = 0. Where r* ≥ 1/(pq) it asks for a posterior of at most 1 or more, which is
  nothing: 0 stands for it. Where r* ≤ 0 no budget keeps it, as where r* ≤ 1: ∞ stands for it.
- `in_product_only`: whether p and q occur only as the product pq.
- `on_rays`: the formula on rays that leave p = q = 1.
- `on_curves`: an equation such as p² + q² = 0.7 holds on a curve; the formula on it and off it.
- `pieces`: a box cut where the formula compares p, q (or, where one of them is fixed, pq) with a
  number. On each piece the comparison has one answer and is gone, so steps, and profiles that are
  finite on a line or at a point only, become continuous formulas on boxes, segments and points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from discreet.errors import FormulaError
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
    evaluate,
    is_constant,
    walk,
)

__all__ = ["in_product_only", "on_curves", "on_rays", "pieces", "reciprocal"]

_NEAR = 4 * 2.0**-52  # the rounding of a threshold a/p, relative
_TRUE = Logical("and", ())
_FALSE = Logical("or", ())
_T = Variable("p")  # the length of a ray


def _positive(e: Expression) -> bool:
    """Say whether the form alone shows that e has a value above 0 at every prior."""
    match e:
        case Number(value):
            return value > 0
        case Variable(_) | Call("exp", _):
            return True
        case Binary("+" | "*" | "/", left, right):
            return _positive(left) and _positive(right)
        case Power(base, _):
            return _positive(base)
        case Call("min" | "max" | "sqrt", arguments):
            return all(map(_positive, arguments))
        case Conditional(_, then, otherwise):
            return _positive(then) and _positive(otherwise)
        case _:
            return False


def reciprocal(e: Expression) -> Expression:
    """Return a formula for 1/e, ∞ where e ≤ 0, turned inside out as far as signs allow."""
    out = _inverted(e)
    return Number(0.0) if _asks_nothing(out) or _adds_to_nothing(e) else out


def _adds_to_nothing(e: Expression) -> bool:
    """Say whether e is a sum of c/(pq), c ≥ 1, and of what is never negative."""
    match e:
        case Binary("+", left, right):
            both = ((left, right), (right, left))
            return any(reciprocal(a) == Number(0.0) and _positive(b) for a, b in both)
        case _:
            return False


def _asks_nothing(w: Expression) -> bool:
    """Say whether w is c·pq with c ≤ 1: no belief can break a bound on the ratio of 1/w."""
    exponents, others = _monomial(w)
    if exponents != {"p": 1.0, "q": 1.0} or not all(map(is_constant, others)):
        return False
    try:
        return 0 < evaluate(w, 1.0, 1.0) <= 1
    except FormulaError:  # a divisor that is too small for a double
        return False


def _inverted(e: Expression) -> Expression:
    match e:
        case Number(value):
            return Number(1 / value if value > 0 else math.inf)
        case Binary("/", Number(0.0), _):
            return Number(math.inf)
        case Binary("/", left, right) if _positive(left) and _positive(right):
            return Binary("/", right, left)
        case Power(base, exponent) if exponent < 0 and _positive(base):
            return Power(base, -exponent)
        case Call("max" | "min" as function, arguments):
            other = "min" if function == "max" else "max"
            return Call(other, tuple(reciprocal(argument) for argument in arguments))
        case Conditional(test, then, otherwise):
            return Conditional(test, reciprocal(then), reciprocal(otherwise))
        case _:
            return Inverse(e)


def _rebuilt(e: Expression, part: Callable[[Expression], Expression]) -> Expression:
    """Return the formula with something else in the place of each of its parts."""
    match e:
        case Binary(op, left, right):
            return Binary(op, part(left), part(right))
        case Compare(op, left, right):
            return Compare(op, part(left), part(right))
        case Power(base, exponent):
            return Power(part(base), exponent)
        case Inverse(argument):
            return Inverse(part(argument))
        case Call(function, arguments):
            return Call(function, tuple(map(part, arguments)))
        case Logical(op, arguments):
            return Logical(op, tuple(map(part, arguments)))
        case Conditional(test, then, otherwise):
            return Conditional(part(test), part(then), part(otherwise))
        case _:
            return e


def on_rays(e: Expression, first: str) -> Expression:
    """Return the formula on rays that leave p = q = 1, in t (its p) and s (its q).

    `first` falls to 1 − t, the other prior to 1 − st. What can be is written as c + tX: its slope
    along a ray is X + t∂X/∂t, so that a kink that runs into the corner is one of X, away from it.
    """
    parts = _from_corner(e, first)
    if parts is None:
        return _rebuilt(e, lambda part: on_rays(part, first))
    return _plus(Number(parts[0]), _by(_T, parts[1]))


def _from_corner(e: Expression, first: str) -> tuple[float, Expression] | None:
    """Return c and X, if the form gives them."""
    match e:
        case Number(value):
            return value, Number(0.0)
        case Variable(name):
            return 1.0, Number(-1.0) if name == first else _by(Number(-1.0), Variable("q"))
        case Binary(op, left, right):
            a, b = _from_corner(left, first), _from_corner(right, first)
            if a is None or b is None or (op == "/" and b[0] == 0):
                return None
            if op in "+-":
                sign = 1.0 if op == "+" else -1.0
                return a[0] + sign * b[0], _plus(a[1], _by(Number(sign), b[1]))
            if op == "*":
                crossed = _plus(_by(Number(a[0]), b[1]), _by(Number(b[0]), a[1]))
                return a[0] * b[0], _plus(crossed, _by(_T, _by(a[1], b[1])))
            ratio, whole = a[0] / b[0], _plus(Number(b[0]), _by(_T, b[1]))
            return ratio, Binary("/", _plus(a[1], _by(Number(-ratio), b[1])), whole)
        case Inverse(argument):
            inner = _from_corner(argument, first)
            if inner is None or inner[0] <= 0:
                return None
            whole = _plus(Number(inner[0]), _by(_T, inner[1]))
            return 1 / inner[0], _by(Number(-1 / inner[0]), _by(inner[1], Inverse(whole)))
        case Call("min" | "max" as function, arguments):
            parts = [_from_corner(argument, first) for argument in arguments]
            found = [part for part in parts if part is not None]
            if len(found) < len(parts) or len({c for c, _ in found}) > 1:
                return None
            return found[0][0], Call(function, tuple(slope for _, slope in found))
        case _:
            return None


def _plus(a: Expression, b: Expression) -> Expression:
    return b if a == Number(0.0) else a if b == Number(0.0) else Binary("+", a, b)


def _by(a: Expression, b: Expression) -> Expression:
    if Number(0.0) in (a, b):
        return Number(0.0)
    return b if a == Number(1.0) else a if b == Number(1.0) else Binary("*", a, b)


def in_product_only(e: Expression) -> bool:
    """Say whether p and q occur only as powers of pq.

    >>> from discreet.promises.formula import parse
    >>> in_product_only(parse("max(0.25/p/q, 3)")), in_product_only(parse("3 - p + p*q"))
    (True, False)
    """
    match e:
        case Variable(_):
            return False
        case Binary("*" | "/", _, _) | Power(_, _):
            exponents, others = _monomial(e)
            return exponents["p"] == exponents["q"] and all(map(in_product_only, others))
        case Binary(_, left, right) | Compare(_, left, right):
            return in_product_only(left) and in_product_only(right)
        case Call(_, arguments) | Logical(_, arguments):
            return all(map(in_product_only, arguments))
        case Conditional(test, then, otherwise):
            return all(map(in_product_only, (test, then, otherwise)))
        case _:
            return True


def _monomial(e: Expression, sign: float = 1.0) -> tuple[dict[str, float], list[Expression]]:
    """Return the exponents of p and q in a product, and its other factors."""
    match e:
        case Variable(name):
            return {"p": 0.0, "q": 0.0} | {name: sign}, []
        case Binary("*" | "/" as op, left, right):
            a, rest_a = _monomial(left, sign)
            b, rest_b = _monomial(right, sign if op == "*" else -sign)
            return {name: a[name] + b[name] for name in a}, rest_a + rest_b
        case Power(base, exponent):
            exponents, rest = _monomial(base, sign * exponent)
            return exponents, rest
        case _:
            return {"p": 0.0, "q": 0.0}, [e]


def pieces(e: Expression, box: Box) -> list[tuple[Expression, Box]]:
    """Return the formula on the pieces of the box on which its comparisons are decided.

    A piece is closed: its formula is continued to the ends that belong to a neighbour, so the
    least value over the piece is the infimum over the part of the box that it stands for.
    """
    out = []
    for p0, p1 in _cuts(e, "p", box):
        at_p = _decide(e, "p", p0, p1)
        for q0, q1 in _cuts(at_p, "q", box):
            at_q = _decide(at_p, "q", q0, q1)
            out.extend(_edges(at_q, Box(p0, p1, q0, q1)))
    return out


def _edges(e: Expression, box: Box) -> list[tuple[Expression, Box]]:
    """Cut along pq where one of the two is fixed, or may be: the worst edges of a box."""
    if box.p_fixed and box.q_fixed:
        return [(e, box)]
    if not (box.p_fixed or box.q_fixed):
        if is_constant(e) or not in_product_only(e):
            return [(e, box)]
        # At a given product the bound on r rises in p: q = q0 as far as it goes, then p = p1.
        edges = [Box(box.p1, box.p1, box.q0, box.q1)]
        if box.q0 > 0:
            edges.append(Box(box.p0, box.p1, box.q0, box.q0))
        return [piece for edge in edges for piece in _edges(e, edge)]
    name, fixed = ("q", box.p1) if box.p_fixed else ("p", box.q1)
    out = []
    for low, high in _cuts(e, name, box, fixed):
        part = Box(box.p0, box.p1, low, high) if name == "q" else Box(low, high, box.q0, box.q1)
        out.append((_decide(e, name, low, high, fixed), part))
    # a/p may round to the other side of an end at which pq meets a: there the formula is asked.
    for end in sorted({box.q0, box.q1} if name == "q" else {box.p0, box.p1}):
        if any(_meets(end, part, name, fixed) for part in walk(e)):
            here = Box(box.p1, box.p1, end, end) if name == "q" else Box(end, end, box.q1, box.q1)
            out.append((Number(evaluate(e, here.p1, here.q1)), here))
    return out


def _meets(end: float, e: Expression, name: str, fixed: float) -> bool:
    """Say whether a comparison of pq changes so near to an end that rounding hides the side."""
    if not isinstance(e, Compare) or _threshold(e, name, 0.0) is not None:
        return False
    threshold = _threshold(e, name, fixed)
    return threshold is not None and end > 0 and abs(threshold - end) <= _NEAR * end


def _cuts(e: Expression, name: str, box: Box, fixed: float = 0.0) -> list[tuple[float, float]]:
    """Return points and open intervals of one axis between which the comparisons change."""
    low, high = (box.p0, box.p1) if name == "p" else (box.q0, box.q1)
    found = {_threshold(part, name, fixed) for part in walk(e) if isinstance(part, Compare)}
    inside = sorted(x for x in found if x is not None and low <= x <= high)
    if not inside:
        return [(low, high)]
    ends = sorted({low, *inside, high})
    spans = [(a, b) for a, b in pairwise(ends) if a < b]
    return spans + [(x, x) for x in inside if x > 0]


def _threshold(e: Compare, name: str, fixed: float) -> float | None:
    """Return where the comparison changes along an axis; None if it is not one that we can cut."""
    side, number = (e.left, e.right) if is_constant(e.right) else (e.right, e.left)
    if not is_constant(number) or not _is_along(side, name, fixed):
        return None
    value = evaluate(number, 1.0, 1.0)
    return value if isinstance(side, Variable) else value / fixed


def _is_along(side: Expression, name: str, fixed: float) -> bool:
    if side == Variable(name):
        return True
    product = (Binary("*", Variable("p"), Variable("q")), Binary("*", Variable("q"), Variable("p")))
    return fixed > 0 and side in product


def _decide(e: Expression, name: str, low: float, high: float, fixed: float = 0.0) -> Expression:
    """Return the formula with the comparisons along an axis answered for (low, high)."""

    def answer(e: Compare) -> bool | None:
        threshold = _threshold(e, name, fixed)
        if threshold is None or low < threshold < high:
            return None
        # An interval's inside lies wholly on one side; its middle may round to an end.
        above = 1 if (low < high and threshold <= low) or threshold < low else 0
        below = 1 if (low < high and high <= threshold) or high < threshold else 0
        a, b = (above, below) if is_constant(e.right) else (below, above)
        return {
            "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b
        }[e.op]  # fmt: skip

    return _answered(e, answer)


def _answered(e: Expression, answer: Callable[[Compare], bool | None]) -> Expression:
    """Return the formula without the comparisons that have an answer."""

    def inside(part: Expression) -> Expression:
        return _answered(part, answer)

    match e:
        case Compare(_, _, _):
            holds = answer(e)
            return e if holds is None else _TRUE if holds else _FALSE
        case Logical("not", (argument,)):
            inner = inside(argument)
            if inner in (_TRUE, _FALSE):
                return _FALSE if inner == _TRUE else _TRUE
            return Logical("not", (inner,))
        case Logical(op, arguments):
            neutral, decisive = (_TRUE, _FALSE) if op == "and" else (_FALSE, _TRUE)
            inner_parts = [*map(inside, arguments)]
            if decisive in inner_parts:
                return decisive
            left_over = tuple(part for part in inner_parts if part != neutral)
            return Logical(op, left_over) if left_over else neutral
        case Conditional(test, then, otherwise):
            decided = inside(test)
            if decided in (_TRUE, _FALSE):
                return inside(then if decided == _TRUE else otherwise)
            return Conditional(decided, inside(then), inside(otherwise))
        case _:
            return _rebuilt(e, inside)


def on_curves(e: Expression) -> list[tuple[Expression | None, Expression]]:
    """Return the formula where no equation in it holds (None), and on the curve of each that may.

    A curve is given as the difference of the sides of its equation.
    """
    equal = {"==": True, "!=": False}
    found = dict.fromkeys(
        (part.left, part.right)
        for part in walk(e)
        if isinstance(part, Compare) and part.op in equal
    )
    off = _answered(e, lambda c: not equal[c.op] if c.op in equal else None)
    out: list[tuple[Expression | None, Expression]] = [(None, off)]
    for sides in found:

        def answer(c: Compare, sides: tuple[Expression, Expression] = sides) -> bool | None:
            return equal[c.op] if c.op in equal and (c.left, c.right) == sides else None

        on = _answered(e, answer)
        if on != off:
            out.append((Binary("-", *sides), on))
    return out

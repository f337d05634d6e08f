"""What a formula's form tells before any search.

- `reciprocal`: W = 1/r* as a formula, which is never negative. Where r* = a/(pq) it is pq/a, which
  has no pole at p = 0. Where r* ≥ 1/(pq) it asks for a posterior of at most 1 or more, which is
  nothing: 0 stands for it. Where r* ≤ 0 no budget keeps it, as where r* ≤ 1: ∞ stands for it.
- `in_product_only`: whether p and q occur only as the product pq.
- `pieces`: a box cut where the formula compares p, q (or, where one of them is fixed, pq) with a
  number. On each piece the comparison has one answer and is gone, so steps, and profiles that are
  finite on a line or at a point only, become continuous formulas on boxes, segments and points.
"""

from __future__ import annotations

import math
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

__all__ = ["in_product_only", "pieces", "reciprocal"]

_NEAR = 4 * 2.0**-52  # the rounding of a threshold a/p, relative
_TRUE = Logical("and", ())
_FALSE = Logical("or", ())


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
    return Number(0.0) if _asks_nothing(out) else out


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
    match e:
        case Compare(op, left, right):
            threshold = _threshold(e, name, fixed)
            if threshold is None or low < threshold < high:
                return e
            # An interval's inside lies wholly on one side; its middle may round to an end.
            above = 1 if (low < high and threshold <= low) or threshold < low else 0
            below = 1 if (low < high and high <= threshold) or high < threshold else 0
            a, b = (above, below) if is_constant(right) else (below, above)
            holds = {
                "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b
            }[op]  # fmt: skip
            return _TRUE if holds else _FALSE
        case Logical("not", (argument,)):
            inner = _decide(argument, name, low, high, fixed)
            if inner in (_TRUE, _FALSE):
                return _FALSE if inner == _TRUE else _TRUE
            return Logical("not", (inner,))
        case Logical(op, arguments):
            neutral, decisive = (_TRUE, _FALSE) if op == "and" else (_FALSE, _TRUE)
            inner_parts = [_decide(argument, name, low, high, fixed) for argument in arguments]
            if decisive in inner_parts:
                return decisive
            left_over = tuple(part for part in inner_parts if part != neutral)
            return Logical(op, left_over) if left_over else neutral
        case Conditional(test, then, otherwise):
            decided = _decide(test, name, low, high, fixed)
            branches = [_decide(branch, name, low, high, fixed) for branch in (then, otherwise)]
            if decided in (_TRUE, _FALSE):
                return branches[0 if decided == _TRUE else 1]
            return Conditional(decided, *branches)
        case Binary(op, left, right):
            parts = (_decide(part, name, low, high, fixed) for part in (left, right))
            return Binary(op, *parts)
        case Power(base, exponent):
            return Power(_decide(base, name, low, high, fixed), exponent)
        case Call(function, arguments):
            return Call(
                function, tuple(_decide(part, name, low, high, fixed) for part in arguments)
            )
        case _:
            return e

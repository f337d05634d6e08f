"""What a formula's form tells before any search.

- `reciprocal`: W = 1/r* as a formula, which is never negative. Where r* = a/(pq) it is pq/a, which
  has no pole at p = 0. Where r* ≥ 1/(pq) it asks for a posterior of at most 1 or more, which is
  nothing: 0 stands for it. Where r* ≤ 0 no budget keeps it, as where r* ≤ 1: ∞ stands for it.
- `guarded`: a condition that keeps what is under a root, or divides, from falling below 0. In
  `1.5 + sqrt(p - q) if p > q else 2` the root has a value wherever it counts. Boxes that the line
  p = q crosses cannot tell: over them p − q may be negative. So its guard is written into the
  formula, max(p − q, 0), which changes nothing where the condition holds. A condition a > b keeps
  an argument if that is c(a − b), c > 0, plus what is never negative, as sums of products with
  exact numbers; or a product of such arguments and of what is never negative.
- `in_product_only`: whether p and q occur only as the product pq.
- `on_rays`: the formula on rays that leave p = q = 1.
- `pieces`: a box cut where a comparison changes along one prior: p or 1 − p² with a number, where
  q is fixed also pq or p + q. On each piece the comparison has one answer and is gone: steps, and
  profiles that are finite on a line or at a point only, become continuous formulas on boxes,
  segments and points. A threshold that no double holds gets a strip of a few doubles, on which
  either answer counts.
- `branches`: what is left compares both priors, as in p² + q² < 0.7. Each answer is a formula
  without the comparison, on the priors at which it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from discreet.budgets.enclosures import truth
from discreet.errors import FormulaError
from discreet.numerics import bracket
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

Within: TypeAlias = tuple[Compare, ...]
_Product: TypeAlias = frozenset[tuple[Expression, Fraction]]  # what is multiplied, how often
_Sum: TypeAlias = dict[_Product, Fraction]  # products, and how often each occurs
_NEAR = 8 * 2.0**-52  # how far from a threshold its comparison is surely decided, relative
_EQUATIONS = ("==", "!=")
_LEAST = 1e-150  # thresholds below are not looked for
_PRODUCT = (Binary("*", Variable("p"), Variable("q")), Binary("*", Variable("q"), Variable("p")))
_CERTAIN = frozenset((Variable(name), Fraction(-1)) for name in "pq")  # 1/(pq)
_FAR_DOWN = (1e-3, 2e-3)  # a prior at which few formulas ask for nothing
_MOST = 12  # formulas that a minimum inside another one is spread out to
OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_TRUE = Logical("and", ())
_FALSE = Logical("or", ())
_ABOVE_0 = Number(5e-324)  # the least number above 0
_T = Variable("p")  # the length of a ray


def positive(e: Expression) -> bool:
    """Say whether the form alone shows that e has a value above 0 at every prior."""
    match e:
        case Number(value):
            return value > 0
        case Variable(_) | Call("exp", _):
            return True
        case Binary("+" | "*" | "/", left, right):
            return positive(left) and positive(right)
        case Power(base, _):
            return positive(base)
        case Call("min" | "max" | "sqrt", arguments):
            return all(map(positive, arguments))
        case Conditional(_, then, otherwise):
            return positive(then) and positive(otherwise)
        case _:
            return False


def defined(e: Expression) -> bool:
    """Say whether the form alone shows that e has a value at every prior."""
    match e:
        case Number(_) | Variable(_):
            return True
        case Binary("/", left, right):
            return defined(left) and positive(right)
        case Binary(_, left, right):
            return defined(left) and defined(right)
        case Power(base, exponent):
            return positive(base) or (exponent >= 0 and exponent % 1 == 0 and defined(base))
        case Call("sqrt" | "log", (argument,)):
            return positive(argument)
        case Call(_, arguments):
            return all(map(defined, arguments))
        case _:
            return False


def reciprocal(e: Expression) -> Expression:
    """Return a formula for 1/e, ∞ where e ≤ 0, turned inside out as far as signs allow."""
    return Number(0.0) if _asks_nothing(e) else _inverted(e)


def _asks_nothing(e: Expression) -> bool:
    """Say whether the form shows that e ≥ 1/(pq): no belief can break such a bound on the ratio.

    e − 1/(pq) is a sum of products of what is above 0. One with more of p and of q is the smaller
    one, so whatever is taken off may be taken from one with as much of the rest, and less of them.
    """
    try:
        if evaluate(e, *_FAR_DOWN) * math.prod(_FAR_DOWN) < 1 - 1e-9 or not defined(e):
            return False
    except FormulaError:  # a divisor that is too small for a double
        return False
    terms = _added(_sum_of(e), {_CERTAIN: Fraction(1)}, Fraction(-1))
    if not all(positive(atom) for term in terms for atom, _ in term):
        return False
    above = {term: times for term, times in terms.items() if times > 0}
    for term, times in terms.items():
        lacks = -times
        for larger in [other for other in above if lacks > 0 and _is_above(other, term)]:
            taken = min(lacks, above[larger])
            above[larger] -= taken
            lacks -= taken
        if lacks > 0:
            return False
    return True


def _is_above(one: _Product, other: _Product) -> bool:
    """Say whether a product is not below another at any prior: it has less of p and of q.

    It may have more of a number above 1, such as exp(1).
    """
    return all(
        times > 0
        if isinstance(atom, Variable)
        else times < 0 and is_constant(atom) and evaluate(atom, 1.0, 1.0) > 1 + 1e-12
        for atom, times in _times(other, one, -1)
    )


def _inverted(e: Expression) -> Expression:
    match e:
        case Number(value):
            return Number(1 / value if value > 0 else math.inf)
        case Binary("/", Number(0.0), _):
            return Number(math.inf)
        case Binary("/", left, right) if positive(left) and positive(right):
            return Binary("/", right, left)
        case Power(base, exponent) if exponent < 0 and positive(base):
            return Power(base, -exponent)
        case Call("max" | "min" as function, arguments):
            other = "min" if function == "max" else "max"
            return Call(other, tuple(reciprocal(argument) for argument in arguments))
        case Conditional(test, then, otherwise):
            return Conditional(test, reciprocal(then), reciprocal(otherwise))
        case _:
            return Inverse(e)


def _sum_of(e: Expression) -> _Sum:
    """Return a sum of products: how often each occurs. What is neither stands for itself."""
    match e:
        case Number(value) if math.isfinite(value):
            return {frozenset(): Fraction(value)} if value else {}
        case Binary("+" | "-" as op, left, right):
            return _added(_sum_of(left), _sum_of(right), Fraction(1 if op == "+" else -1))
        case Binary("*", left, right):
            return _product(_sum_of(left), _sum_of(right))
        case Binary("/", left, right):
            return _product(_sum_of(left), _raised(right, -1.0))
        case Power(base, exponent):
            return _raised(base, exponent)
        case _:
            return {frozenset({(e, Fraction(1))}): Fraction(1)}


def _raised(base: Expression, exponent: float) -> _Sum:
    """Return a power as a sum of products, with no more cancelled than there is for certain."""
    found = _sum_of(base)
    if exponent == 2:
        return _product(found, found)
    if len(found) == 1:
        ((product, times),) = found.items()
        whole, simple = exponent % 1 == 0, all(positive(atom) for atom, _ in product)
        if simple and times > 0 and (times == 1 or (whole and abs(exponent) < 9)):
            raised = frozenset((a, n * Fraction(exponent)) for a, n in product if exponent)
            return {raised: Fraction(times ** int(exponent)) if whole else times}
    return {frozenset({(Power(base, exponent), Fraction(1))}): Fraction(1)}


def _added(a: _Sum, b: _Sum, times: Fraction) -> _Sum:
    out = {k: a.get(k, Fraction(0)) + times * b.get(k, Fraction(0)) for k in {*a, *b}}
    return {k: x for k, x in out.items() if x}


def _product(a: _Sum, b: _Sum) -> _Sum:
    out: _Sum = {}
    for k, x in a.items():
        for m, y in b.items():
            out = _added(out, {_times(k, m): x * y}, Fraction(1))
    return out


def _times(a: _Product, b: _Product, sign: int = 1) -> _Product:
    """Return the product of two products, or with −1 their ratio."""
    both = dict(a)
    for atom, n in b:
        both[atom] = both.get(atom, Fraction(0)) + sign * n
    return frozenset((atom, n) for atom, n in both.items() if n)


def rebuilt(e: Expression, part: Callable[[Expression], Expression]) -> Expression:
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


def guarded(e: Expression) -> Expression:
    """Return the formula with every guard written into the arguments that it keeps."""
    match e:
        case Conditional(test, then, otherwise):
            then, otherwise = guarded(then), guarded(otherwise)
            for known in _known(test, True):
                then = _kept_in(then, known)
            for known in _known(test, False):
                otherwise = _kept_in(otherwise, known)
            return Conditional(test, then, otherwise)
        case _:
            return rebuilt(e, guarded)


def _known(test: Expression, holds: bool) -> Iterator[Compare]:
    """Yield comparisons that hold wherever the test does, or wherever it does not."""
    match test:
        case Compare(op, left, right):
            op = op if holds else OPPOSITE[op]
            if op in ("<", "<="):
                yield Compare(">" + op[1:], right, left)
            elif op in (">", ">="):
                yield Compare(op, left, right)
        case Logical("not", (argument,)):
            yield from _known(argument, not holds)
        case Logical(op, arguments) if (op == "and") == holds:
            for argument in arguments:
                yield from _known(argument, holds)


def _kept_in(e: Expression, test: Compare) -> Expression:
    strict = test.op == ">"
    match e:
        case Call("sqrt", (argument,)) if _keeps(test, argument):
            return Call("sqrt", (Call("max", (argument, Number(0.0))),))
        case Power(base, exponent) if exponent % 1 and exponent > 0 and _keeps(test, base):
            return Power(Call("max", (base, Number(0.0))), exponent)
        case Power(base, exponent) if exponent < 0 and strict and _keeps(test, base):
            return Power(Call("max", (base, _ABOVE_0)), exponent)
        case Binary("/", left, right) if strict and _keeps(test, right):
            return Binary("/", _kept_in(left, test), Call("max", (right, _ABOVE_0)))
        case _:
            return rebuilt(e, lambda part: _kept_in(part, test))


def _keeps(test: Compare, argument: Expression) -> bool:
    """Say whether the argument is not below 0 where the test holds, and above 0 if it is strict."""
    match argument:
        case Binary("*", left, right):
            for one, other in ((left, right), (right, left)):
                if _keeps(test, one) and (positive(other) or _keeps(test, other)):
                    return True
    apart, found = _sum_of(Binary("-", test.left, test.right)), _sum_of(argument)
    for term, times in apart.items():
        share = found.get(term, Fraction(0)) / times
        if share > 0:
            rest = _added(found, apart, -share)
            if all(x > 0 and all(positive(atom) for atom, _ in k) for k, x in rest.items()):
                return True
    return False


def on_rays(e: Expression, first: str) -> Expression:
    """Return the formula on rays that leave p = q = 1, in t (its p) and s (its q).

    `first` falls to 1 − t, the other prior to 1 − st. What can be is written as c + tX: its slope
    along a ray is X + t∂X/∂t, so that a kink that runs into the corner is one of X, away from it.
    """
    parts = _from_corner(e, first)
    if parts is None:
        return rebuilt(e, lambda part: on_rays(part, first))
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
    if not any(isinstance(part, Compare) for part in walk(e)):
        return [piece for part in _least_of(e) for piece in _edges(part, box)]
    out = []
    for p0, p1 in _cuts(e, "p", box):
        at_p = _decide(e, "p", p0, p1)
        for q0, q1 in _cuts(at_p, "q", box):
            for part in _least_of(_decide(at_p, "q", q0, q1)):
                out.extend(_edges(part, Box(p0, p1, q0, q1)))
    return out


def _least_of(e: Expression) -> list[Expression]:
    """Return formulas whose least one e is: the least over a box is the least of theirs.

    What rises with a minimum is the minimum of what it makes of each part.
    """
    match e:
        case Call("min", arguments):
            return [part for argument in arguments for part in _least_of(argument)]
        case Call("max", arguments):
            parts = [*map(_least_of, arguments)]
            many = math.prod(map(len, parts))
            return [Call("max", each) for each in product(*parts)] if many <= _MOST else [e]
        case Binary("+", left, right):
            a, b = _least_of(left), _least_of(right)
            pairs = [*product(a, b)]
            return [Binary("+", *each) for each in pairs] if len(pairs) <= _MOST else [e]
        case Binary("/" | "*" as op, left, Number(value)) if value > 0:
            return [Binary(op, part, Number(value)) for part in _least_of(left)]
        case _:
            return [e]


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
    if not any(isinstance(part, Compare) for part in walk(e)):
        return [(e, box)]
    name, fixed = ("q", box.p1) if box.p_fixed else ("p", box.q1)
    out = []
    for low, high in _cuts(e, name, box, fixed):
        part = Box(box.p0, box.p1, low, high) if name == "q" else Box(low, high, box.q0, box.q1)
        out += [(least, part) for least in _least_of(_decide(e, name, low, high, fixed))]
    return out


def _cuts(e: Expression, name: str, box: Box, fixed: float = 0.0) -> list[tuple[float, float]]:
    """Return points and open intervals of one axis between which the comparisons change."""
    low, high = (box.p0, box.p1) if name == "p" else (box.q0, box.q1)
    found: dict[tuple[float, float], bool] = {}
    for part in walk(e):
        at = _threshold(part, name, fixed) if isinstance(part, Compare) else None
        if at is not None and at[0] <= high and low <= at[1]:
            exact = at[0] == at[1] > 0 or part.op in _EQUATIONS  # type: ignore[union-attr]
            found[at[0], at[1]] = exact or found.get((at[0], at[1]), False)
    strips = sorted(found)
    spans = zip([low, *(a for a, _ in strips)], [*(b for _, b in strips), high], strict=True)
    cut = [(max(low, a), min(high, b)) for a, b in spans if max(low, a) < min(high, b)]
    alone = [strip for strip in strips if found[strip] and low <= strip[0] and strip[1] <= high]
    return (cut or [(low, high)]) + [strip for strip in alone if low < high]


@lru_cache(maxsize=512)
def _threshold(e: Compare, name: str, fixed: float) -> tuple[float, float, int] | None:
    """Return between which priors a comparison changes along an axis, and 1 if its side rises.

    The two are one prior where that is exact. None if the comparison does not change just once;
    the other prior is `fixed`, or 0 where it is not.
    """
    side, number = (e.left, e.right) if is_constant(e.right) else (e.right, e.left)
    if not is_constant(number):
        return None
    value = evaluate(number, 1.0, 1.0)
    if value <= 0 and positive(side):
        return -1.0, -1.0, 1
    if side == Variable(name) or (fixed == 1 and side in _PRODUCT):
        return value, value, 1
    rises = _rises(side, name, fixed)
    if not rises:
        return None

    def at(x: float) -> tuple[float, float]:
        return (x, fixed or 1.0) if name == "p" else (fixed or 1.0, x)

    def below(x: float) -> bool:
        return (evaluate(side, *at(x)) - value) * rises < 0

    def surely(op: str, x: float) -> bool:
        p, q = at(x)
        return truth(Compare(op, side, number), Box(p, p, q, q)) is True

    before, beyond = ("<", ">") if rises > 0 else (">", "<")
    try:
        if not below(_LEAST):
            return None
        low, high = bracket(below, _LEAST, 1.0) if not below(1.0) else (1.0, 1.0)
    except FormulaError:
        return None
    if high == low and surely(before, 1.0):
        return 2.0, 2.0, rises
    # A few steps to either side the answer is proved, and with it on all that lies beyond.
    low, high = low * (1 - _NEAR), min(1.0, high * (1 + _NEAR))
    if not surely(before, low):
        return None
    if high == 1 and surely("==", 1.0):
        return 1.0, 1.0, rises
    return (low, high, rises) if high == 1 or surely(beyond, high) else None


def _rises(e: Expression, name: str, fixed: float) -> int | None:
    """Say whether e rises (1) or falls (-1) in a prior, or is constant (0); None if neither."""
    match e:
        case Number(_):
            return 0
        case Variable(other):
            return 1 if other == name else 0 if fixed else None
        case Binary("+" | "-" as op, left, right):
            a, b = _rises(left, name, fixed), _rises(right, name, fixed)
            return _agreed([a, b if op == "+" or b is None else -b])
        case Binary("*" | "/" as op, left, right) if positive(left) and positive(right):
            a, b = _rises(left, name, fixed), _rises(right, name, fixed)
            return _agreed([a, b if op == "*" or b is None else -b])
        case Power(base, exponent) if positive(base):
            inner = _rises(base, name, fixed)
            return None if inner is None else inner * ((exponent > 0) - (exponent < 0))
        case Call(_, arguments):
            return _agreed([_rises(argument, name, fixed) for argument in arguments])
        case _:
            return None


def _agreed(ways: list[int | None]) -> int | None:
    found = {way for way in ways if way != 0}
    return found.pop() if len(found) == 1 else None if found else 0


def _decide(e: Expression, name: str, low: float, high: float, fixed: float = 0.0) -> Expression:
    """Return the formula with the comparisons along an axis answered for (low, high)."""

    def answer(e: Compare) -> bool | None:
        threshold = _threshold(e, name, fixed)
        if threshold is None:
            return None
        first, last, rises = threshold
        if (low, high) == (first, last):
            if low < high and e.op not in _EQUATIONS:
                return None
            above = below = False
        else:
            above = first <= low if low < high else last < low
            below = high <= last if low < high else high < first
            if above == below:
                return None
        a, b = (above, below) if is_constant(e.right) == (rises > 0) else (below, above)
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
            return rebuilt(e, inside)


def branches(e: Expression, box: Box, most: int = 32) -> list[tuple[Within, Expression]]:
    """Return the formula for each answer to its comparisons, with those that hold there.

    That an equation does not hold says nothing: there are such priors beside each that it holds
    at. Beyond so many branches the comparisons that are left stay in the formula.
    """
    least = _least_of(e)
    if len(least) > 1:
        return [each for part in least for each in branches(part, box, most)]
    test = next((part for part in walk(e) if isinstance(part, Compare)), None)
    if test is None or most < 2:
        return [((), e)]
    known, out = truth(test, box), []
    if test.left == test.right:
        known = test.op in ("<=", ">=", "==")
    for holds in (True, False) if known is None else (known,):
        part = _answered(e, lambda c, holds=holds: holds if c == test else None)  # type: ignore[misc]
        where = Compare(test.op if holds else OPPOSITE[test.op], test.left, test.right)
        free = known is not None or where.op == "!="
        out += [
            (within if free else (where, *within), rest)
            for within, rest in branches(part, box, most if known is not None else most // 2)
        ]
    return out

"""Guards: a condition that keeps what is under a root, or divides, from falling below 0.

In `1.5 + sqrt(p - q) if p > q else 2` the root has a value wherever it counts. Boxes that the line
p = q crosses cannot tell: over them p − q may be negative. So its guard is written into the
formula, max(p − q, 0), which changes nothing where the condition holds.

A condition a > b keeps an argument if that is c(a − b), c > 0, plus what is never negative, as sums
of products with exact numbers; or a product of such arguments and of what is never negative.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from discreet.budgets.structure import OPPOSITE, positive, rebuilt
from discreet.promises.formula import (
    Binary,
    Call,
    Compare,
    Conditional,
    Expression,
    Logical,
    Number,
    Power,
)

_Sum: TypeAlias = dict[frozenset[tuple[Expression, int]], Fraction]
_ABOVE_0 = Number(5e-324)  # the least number above 0


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
    for product, times in apart.items():
        share = found.get(product, Fraction(0)) / times
        if share > 0:
            rest = _added(found, apart, -share)
            if all(x > 0 and all(positive(atom) for atom, _ in k) for k, x in rest.items()):
                return True
    return False


def _sum_of(e: Expression) -> _Sum:
    """Return a sum of products: how often each occurs. What is neither stands for itself."""
    match e:
        case Number(value) if math.isfinite(value):
            return {frozenset(): Fraction(value)} if value else {}
        case Binary("+" | "-" as op, left, right):
            return _added(_sum_of(left), _sum_of(right), Fraction(1 if op == "+" else -1))
        case Binary("*", left, right):
            return _product(_sum_of(left), _sum_of(right))
        case Binary("/", left, Number(value)) if value and math.isfinite(value):
            return {k: x / Fraction(value) for k, x in _sum_of(left).items()}
        case Power(base, 2.0):
            return _product(_sum_of(base), _sum_of(base))
        case _:
            return {frozenset({(e, 1)}): Fraction(1)}


def _added(a: _Sum, b: _Sum, times: Fraction) -> _Sum:
    out = {k: a.get(k, Fraction(0)) + times * b.get(k, Fraction(0)) for k in {*a, *b}}
    return {k: x for k, x in out.items() if x}


def _product(a: _Sum, b: _Sum) -> _Sum:
    out: _Sum = {}
    for k, x in a.items():
        for m, y in b.items():
            both = frozenset((Counter(dict(k)) + Counter(dict(m))).items())
            out = _added(out, {both: x * y}, Fraction(1))
    return out

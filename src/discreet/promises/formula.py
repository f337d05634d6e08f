"""A formula in p and q, read by an allow-listing parser.

    max(0.25/(p*q), 3) if p*q < 0.2 else 1.5

Allowed: numbers, `inf`, the names p and q, + - * / **, comparisons (also chained), and/or/not,
`a if c else b`, and the functions min, max, log, exp, sqrt. A power needs a number as exponent.
Python's own parser makes the tree; every node that is not on the list is refused, and nothing is
ever evaluated but the nodes defined here.

`Expression` trees are frozen values. They are evaluated at a point here, and over whole boxes of
priors in `enclosures`.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from discreet.errors import FormulaError

_LONGEST = 2_000
_DEEPEST = 60
FUNCTIONS = ("min", "max", "log", "exp", "sqrt")
_NAMES = ", ".join(FUNCTIONS)
_COMMA = re.compile(r"(?<![\w.])\d+,\d+(?:[eE][-+]?\d+)?(?![\w.])")
_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Variable:
    """p or q."""

    name: str


@dataclass(frozen=True, slots=True)
class Binary:
    """Left op right, op one of + - * /."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Power:
    """Base ** exponent, the exponent a number."""

    base: Expression
    exponent: float


@dataclass(frozen=True, slots=True)
class Call:
    """One of the functions, applied."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Left op right, a truth value."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical:
    """`and`, `or` or `not` of truth values."""

    op: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then` where the test holds, `otherwise` elsewhere."""

    test: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Inverse:
    """1/x where x is above 0, and ∞ elsewhere; not written by people, see `structure`."""

    argument: Expression


Expression: TypeAlias = (
    Number | Variable | Binary | Power | Call | Compare | Logical | Conditional | Inverse
)
_TRUTH = (Compare, Logical)


def parse(text: str) -> Expression:
    """Return the tree of a formula, or say what in it is not allowed.

    >>> evaluate(parse("max(0.25/(p*q), 3)"), 0.5, 0.1)
    5.0
    """
    if not isinstance(text, str) or not text.strip():
        raise FormulaError("promises.formula_empty")
    return _parsed(text)


@lru_cache(maxsize=128)
def _parsed(text: str) -> Expression:
    if len(text) > _LONGEST:
        raise FormulaError("promises.formula_long", characters=len(text), most=_LONGEST)
    tree = tree_of(text)
    if tree is None:
        raise FormulaError("promises.formula_unreadable", formula=_short(text))
    expression = _convert(tree, 0)
    if isinstance(expression, _TRUTH):
        raise FormulaError("promises.formula_comparison", formula=_short(text))
    return expression


def refuse_comma(text: object) -> None:
    """Refuse a formula as it is typed where a comma may stand in a decimal: 0,25 is two numbers.

    One that was registered is kept as it was read then.
    """
    found = _COMMA.search(text) if isinstance(text, str) else None
    if found is not None:
        point, apart = (found[0].replace(",", sign) for sign in (".", ", "))
        said = {"part": found[0], "formula": _short(found.string), "point": point, "apart": apart}
        raise FormulaError("promises.formula_comma", **said)


def tree_of(text: str) -> ast.expr | None:
    """Return the tree of an expression, or None; Python's own remarks on it are left out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _convert(node: ast.expr, depth: int) -> Expression:
    if depth > _DEEPEST:
        raise FormulaError("promises.formula_deep", most=_DEEPEST)

    def number(child: ast.expr) -> Expression:
        out = _convert(child, depth + 1)
        if isinstance(out, _TRUTH):
            raise FormulaError("promises.formula_wants_number", part=_short(ast.unparse(child)))
        return out

    def truth(child: ast.expr) -> Expression:
        out = _convert(child, depth + 1)
        if not isinstance(out, _TRUTH):
            raise FormulaError("promises.formula_wants_test", part=_short(ast.unparse(child)))
        return out

    match node:
        case ast.Constant(value=bool() | str() | bytes() | None | complex()):
            pass
        case ast.Constant(value=value) if isinstance(value, (int, float)):
            try:
                return Number(float(value))
            except OverflowError:
                raise FormulaError("promises.formula_number_large") from None
        case ast.Name(id="inf"):
            return Number(math.inf)
        case ast.Name(id="p" | "q" as name):
            return Variable(name)
        case ast.Name(id=name):
            raise FormulaError("promises.formula_name", name=name, functions=_NAMES)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = number(operand)
            if isinstance(inner, Number):
                return Number(-inner.value)
            return Binary("-", Number(0.0), inner)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return number(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Logical("not", (truth(operand),))
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            exponent = number(right)
            if not is_constant(exponent):
                raise FormulaError("promises.formula_exponent", part=_short(ast.unparse(right)))
            return Power(number(left), evaluate(exponent, 1.0, 1.0))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            return Binary(_BINARY[type(op)], number(left), number(right))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            if any(type(op) not in _COMPARE for op in ops):
                raise FormulaError("promises.formula_compares")
            sides = [number(left), *(number(right) for right in rights)]
            parts = tuple(
                Compare(_COMPARE[type(op)], sides[i], sides[i + 1]) for i, op in enumerate(ops)
            )
            return parts[0] if len(parts) == 1 else Logical("and", parts)
        case ast.BoolOp(op=op, values=values):
            name = "and" if isinstance(op, ast.And) else "or"
            return Logical(name, tuple(truth(value) for value in values))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Conditional(truth(test), number(body), number(orelse))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            many = name in ("min", "max")
            if len(arguments) < 1 or (not many and len(arguments) != 1):
                need = "promises.formula_takes_some" if many else "promises.formula_takes_one"
                raise FormulaError(need, name=name, given=len(arguments))
            return Call(name, tuple(number(argument) for argument in arguments))
        case ast.Call():
            part = _short(ast.unparse(node.func))
            raise FormulaError("promises.formula_call", part=part, functions=_NAMES)
        case _:
            pass
    part = _short(ast.unparse(node))
    raise FormulaError("promises.formula_not_allowed", part=part, functions=_NAMES)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside this one."""
    match expression:
        case Binary(_, left, right) | Compare(_, left, right):
            return left, right
        case Power(base, _):
            return (base,)
        case Inverse(argument):
            return (argument,)
        case Call(_, arguments) | Logical(_, arguments):
            return arguments
        case Conditional(test, then, otherwise):
            return test, then, otherwise
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield this expression and everything inside it."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def is_constant(expression: Expression) -> bool:
    """Say whether neither p nor q occurs."""
    return not any(isinstance(part, Variable) for part in walk(expression))


def evaluate(expression: Expression, p: float, q: float) -> float:
    """Return the value at one prior; refuse where there is none (division by zero, log of ≤ 0)."""
    try:
        value = _at(expression, p, q)
    except (ZeroDivisionError, ValueError, OverflowError):
        value = math.nan
    if math.isnan(value):
        raise FormulaError("promises.formula_no_value", p=p, q=q)
    return value


def _at(e: Expression, p: float, q: float) -> float:
    match e:
        case Number(value):
            return value
        case Variable(name):
            return p if name == "p" else q
        case Binary(op, left, right):
            x, y = _at(left, p, q), _at(right, p, q)
            if op == "+":
                return x + y
            if op == "-":
                return x - y
            if op == "*":
                return x * y
            return x / y
        case Power(base, exponent):
            return _power(_at(base, p, q), exponent)
        case Inverse(argument):
            x = _at(argument, p, q)
            return x if math.isnan(x) else 1 / x if x > 0 else math.inf
        case Call("min", arguments):
            return _extreme(min, arguments, p, q)
        case Call("max", arguments):
            return _extreme(max, arguments, p, q)
        case Call(function, (argument,)):
            return _apply(function, _at(argument, p, q))
        case Conditional(test, then, otherwise):
            return _at(then if _holds(test, p, q) else otherwise, p, q)
        case _:  # pragma: no cover - the parser puts no truth value here
            raise ValueError("not a number")


def _power(x: float, exponent: float) -> float:
    try:
        return math.pow(x, exponent)  # a root of a negative number is a ValueError
    except OverflowError:
        return math.inf


def _extreme(pick: object, arguments: tuple[Expression, ...], p: float, q: float) -> float:
    values = [_at(argument, p, q) for argument in arguments]
    if any(map(math.isnan, values)):
        return math.nan
    return min(values) if pick is min else max(values)


def _apply(function: str, x: float) -> float:
    if function == "sqrt":
        return math.sqrt(x)
    if function == "log":
        return math.log(x)
    return math.exp(x) if x < 709.7 else math.inf


def _holds(e: Expression, p: float, q: float) -> bool:
    match e:
        case Compare(op, left, right):
            x, y = _at(left, p, q), _at(right, p, q)
            if math.isnan(x) or math.isnan(y):
                raise ValueError("nan")
            return {
                "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y
            }[op]  # fmt: skip
        case Logical("and", arguments):
            return all(_holds(argument, p, q) for argument in arguments)
        case Logical("or", arguments):
            return any(_holds(argument, p, q) for argument in arguments)
        case Logical("not", (argument,)):
            return not _holds(argument, p, q)
        case _:  # pragma: no cover - the parser puts no number here
            raise AssertionError("not a truth value")

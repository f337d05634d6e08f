"""The acceptable region in the plane of relative and absolute risk, and who falls outside it.

Notation. R the posterior probability of a record's true value, RR = R/w its ratio to the prior w
(McClure and Reiter 2012, section 4). A region is written as rules, all of which must hold:

    RR <= 10 if R <= 0.1; RR <= 1.05 if R >= 0.9

Every comparison is linear in R and RR (`RR <= 10 - 90*R` is one too). A rule without `if` always
applies, `and` joins comparisons on either side, rules are separated by `;` or new lines. The text
is read by a parser that knows these words only; nothing of it is ever executed.

Exactness. All priors of one record lie on the line RR = R + (1 − R) e^Λ (`records.py`), along which
a comparison that is linear in R and RR is linear in R: it holds on an interval. So the priors at
which a record breaks a rule form intervals with closed-form ends, and "over all priors" needs no
grid. A shift Λ > 0 is also judged a little larger than computed, so that rounding does not accept.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.errors import FormulaError, InputError
from discreet.numerics import bracket
from discreet.promises.formula import tree_of
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import NDArray

Point: TypeAlias = tuple[float, float]
_SLACK = 1e-12
_MOST_EPSILON = 700.0


@dataclass(frozen=True, slots=True)
class _Linear:
    """The form a·R + b·RR + c."""

    a: float
    b: float
    c: float

    def scaled(self, factor: float) -> _Linear:
        return _Linear(self.a * factor, self.b * factor, self.c * factor)

    def plus(self, other: _Linear) -> _Linear:
        return _Linear(self.a + other.a, self.b + other.b, self.c + other.c)

    def at(self, R: float, RR: float) -> float:
        return self.a * R + self.b * RR + self.c


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The statement `form ≤ 0`, or `form < 0` if strict."""

    form: _Linear
    strict: bool

    def negated(self) -> _Comparison:
        return _Comparison(self.form.scaled(-1), not self.strict)

    def holds(self, R: NDArray[np.float64], RR: NDArray[np.float64]) -> NDArray[np.bool_]:
        value = self.form.a * R + self.form.b * RR + self.form.c
        return np.asarray(value < 0 if self.strict else value <= 0)


@dataclass(frozen=True, slots=True)
class _Rule:
    require: tuple[_Comparison, ...]
    when: tuple[_Comparison, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """An acceptable region, from a formula or from thresholds.

    Keep it secret: whoever knows it can try values of a record until one fits (M&R, section 4).

    >>> region = Region.parse("RR <= 10 if R <= 0.1; RR <= 1.05 if R >= 0.9")
    >>> region.contains(R=0.05, RR=9.0), region.contains(R=0.95, RR=1.2)
    (True, False)
    """

    rules: tuple[_Rule, ...]

    @classmethod
    def parse(cls, text: str) -> Region:
        """Read rules such as `RR <= 10 if R <= 0.1; RR <= 1.05 if R >= 0.9`."""
        if not isinstance(text, str):
            raise FormulaError("synthetic.region.not_text")
        if len(text) > 4000:
            raise FormulaError("synthetic.region.too_long")
        plain = text.replace("≤", "<=").replace("≥", ">=").replace("×", "*").replace("−", "-")
        pieces = [piece.strip() for piece in plain.replace("\n", ";").split(";")]
        rules = tuple(_rule(piece) for piece in pieces if piece)
        if not rules:
            raise FormulaError("synthetic.region.no_rule")
        return cls(rules)

    @classmethod
    def thresholds(cls, *, absolute: float | None = None, relative: float | None = None) -> Region:
        """Return the region R ≤ absolute and RR ≤ relative; either may be left out."""
        rules = []
        for name, form, value, low, high in (
            ("absolute", _Linear(1, 0, 0), absolute, 0.0, 1.0),
            ("relative", _Linear(0, 1, 0), relative, 1.0, math.inf),
        ):
            if value is None:
                continue
            if math.isnan(value) or not low <= value <= high:
                kind = "between" if high < math.inf else "or_more"
                span = say(f"synthetic.region.{kind}", low=low, high=high)
                raise InputError("synthetic.region.bad_limit", name=name, value=value, span=span)
            limit = form.plus(_Linear(0, 0, -value))
            rules.append(_Rule((_Comparison(limit, strict=False),), ()))
        if not rules:
            raise InputError("synthetic.region.no_limit")
        return cls(tuple(rules))

    def contains(self, R: Any, RR: Any) -> Any:
        """Say whether (R, RR) is acceptable, for numbers or for arrays of one shape."""
        absolute, relative = np.broadcast_arrays(
            np.asarray(R, dtype=np.float64), np.asarray(RR, dtype=np.float64)
        )
        inside = np.ones(absolute.shape, dtype=bool)
        for rule in self.rules:
            applies = _all(rule.when, absolute, relative)
            inside &= ~applies | _all(rule.require, absolute, relative)
        return bool(inside) if inside.ndim == 0 else inside

    def outside(
        self, shift: NDArray[np.float64], low: float = 0.0, high: float = 1.0
    ) -> list[list[tuple[float, float]]]:
        """Return, for each shift Λ, the intervals of priors in [low, high] that break a rule.

        0 and 1 stand for priors as near to them as one likes; they are not priors themselves.
        """
        _check_range(low, high)
        raised = np.where(shift > 0, shift + _SLACK * (1 + shift), shift)
        found: list[list[tuple[float, float]]] = [[] for _ in shift]
        for judged in (shift, raised):
            for rule in self.rules:
                for broken in rule.require:
                    constraints = (*rule.when, broken.negated())
                    lower, upper, some = _solve(constraints, judged, low, high)
                    for i in np.flatnonzero(some):
                        found[i].append((float(lower[i]), float(upper[i])))
        return [_merge(intervals) for intervals in found]

    def broken(self, area: Sequence[Point]) -> list[list[Point]]:
        """Return the parts of a convex area of points (R, RR) that break a rule, each convex."""
        found = []
        for rule in self.rules:
            for required in rule.require:
                part = list(area)
                for comparison in (*rule.when, required.negated()):
                    part = _clipped(part, comparison.form)
                if any(required.form.at(*point) > 0 for point in part) or (
                    part and required.strict
                ):
                    found.append(part)
        return found

    def covers(self, epsilon: float, low: float = 0.0, high: float = 1.0) -> bool:
        """Whether every record of every file of an ε-DP synthesizer stays inside, for these priors.

        No data are needed: |Λ| ≤ ε, so the points of all records and priors lie in `reachable`. A
        rule that is only touched at the end of its `if` counts as broken.
        """
        return not self.broken(reachable(epsilon, low, high))

    def largest_epsilon(self, low: float = 0.0, high: float = 1.0) -> float | None:
        """Return the largest ε whose files all stay inside, rounded down; None if there is none.

        It is infinite where any file would.

        >>> round(Region.parse("RR <= 4").largest_epsilon(), 6)
        1.386294
        """
        if not self.covers(0.0, low, high):
            return None
        if self.covers(_MOST_EPSILON, low, high):
            return math.inf
        kept, _ = bracket(lambda e: self.covers(e, low, high), 0.0, _MOST_EPSILON, relative=1e-13)
        return kept

    def __repr__(self) -> str:
        # The rules are secret, and a repr ends in logs.
        return f"Region({len(self.rules)} rules, kept secret)"


def reachable(epsilon: float, low: float = 0.0, high: float = 1.0) -> list[Point]:
    """Return the corners of all (R, RR) that |Λ| ≤ ε can lead to, for priors in [low, high].

    RR = R + (1 − R) e^Λ gives a triangle, and R = w·RR cuts it at the two priors.
    """
    _check_range(low, high)
    most = math.exp(min(epsilon, _MOST_EPSILON)) * (1 + _SLACK)
    area: list[Point] = [(0.0, 1 / most), (1.0, 1.0), (0.0, most)]
    for form in (_Linear(-1.0, low, 0.0), _Linear(1.0, -high, 0.0)):
        area = _clipped(area, form)
    return area


def _clipped(area: Sequence[Point], form: _Linear) -> list[Point]:
    """Return the part of a convex area where a form is at most 0, with its edge."""
    out: list[Point] = []
    for (x, y), (u, v) in zip(area, (*area[1:], *area[:1]), strict=True):
        here, there = form.at(x, y), form.at(u, v)
        if here <= 0:
            out.append((x, y))
        if here < 0 < there or there < 0 < here:
            part = here / (here - there)
            out.append((x + part * (u - x), y + part * (v - y)))
    return out


def _check_range(low: float, high: float) -> None:
    if math.isnan(low) or math.isnan(high) or not 0 <= low < high <= 1:
        raise InputError("synthetic.region.bad_range", low=low, high=high)


def _all(
    comparisons: tuple[_Comparison, ...], R: NDArray[np.float64], RR: NDArray[np.float64]
) -> NDArray[np.bool_]:
    result = np.ones(R.shape, dtype=bool)
    for comparison in comparisons:
        result &= comparison.holds(R, RR)
    return result


def _solve(
    constraints: tuple[_Comparison, ...], shift: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the interval of priors where all constraints hold, for each Λ, and whether it is one.

    With g = e^Λ, R = wg/N and RR = g/N where N = (1 − w) + wg > 0. So a·R + b·RR + c, times N, is
    (a g + c(g − 1)) w + (b g + c), linear in w; divided by max(g, 1) nothing overflows.
    """
    at = np.clip(np.where(np.isnan(shift), 0.0, shift), -1e6, 1e6)
    scale = np.maximum(at, 0.0)
    g, one = np.exp(at - scale), np.exp(-scale)
    lower = np.full(at.shape, low)
    upper = np.full(at.shape, high)
    lower_open = np.full(at.shape, low == 0.0)
    upper_open = np.full(at.shape, high == 1.0)
    possible = ~np.isnan(shift)
    for constraint in constraints:
        form, strict = constraint.form, constraint.strict
        slope = form.a * g + form.c * (g - one)
        start = form.b * g + form.c * one
        flat = slope == 0
        possible &= ~flat | (start < 0 if strict else start <= 0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = np.where(flat, 0.0, -start / slope)
        falling, rising = ~flat & (slope < 0), ~flat & (slope > 0)
        lower_open = np.where(falling & (root == lower), lower_open | strict, lower_open)
        lower_open = np.where(falling & (root > lower), strict, lower_open)
        lower = np.where(falling, np.maximum(lower, root), lower)
        upper_open = np.where(rising & (root == upper), upper_open | strict, upper_open)
        upper_open = np.where(rising & (root < upper), strict, upper_open)
        upper = np.where(rising, np.minimum(upper, root), upper)
    touching = (lower == upper) & ~lower_open & ~upper_open
    return lower, upper, possible & ((lower < upper) | touching)


def _merge(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _rule(text: str) -> _Rule:
    require, separator, when = text.partition(" if ")
    if " if " in when:
        raise FormulaError("synthetic.region.two_ifs")
    return _Rule(_comparisons(require), _comparisons(when) if separator else ())


def _comparisons(text: str) -> tuple[_Comparison, ...]:
    tree = tree_of(text)
    if tree is None:
        raise FormulaError("synthetic.region.unreadable")
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return tuple(comparison for part in parts for comparison in _compared(part))


def _compared(node: ast.expr) -> list[_Comparison]:
    if not isinstance(node, ast.Compare):
        raise FormulaError("synthetic.region.no_comparison")
    terms = [_linear(term) for term in (node.left, *node.comparators)]
    made = []
    for left, operator, right in zip(terms, node.ops, terms[1:], strict=False):
        gap = left.plus(right.scaled(-1))
        if gap.a == 0 and gap.b == 0:
            raise FormulaError("synthetic.region.neither")
        if isinstance(operator, (ast.LtE, ast.Lt)):
            made.append(_Comparison(gap, isinstance(operator, ast.Lt)))
        elif isinstance(operator, (ast.GtE, ast.Gt)):
            made.append(_Comparison(gap.scaled(-1), isinstance(operator, ast.Gt)))
        else:
            raise FormulaError("synthetic.region.bad_comparison")
    return made


def _linear(node: ast.expr) -> _Linear:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        try:
            value = float(node.value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise FormulaError("synthetic.region.too_large")
        return _Linear(0.0, 0.0, value)
    if isinstance(node, ast.Name) and node.id in ("R", "RR"):
        return _Linear(1.0, 0.0, 0.0) if node.id == "R" else _Linear(0.0, 1.0, 0.0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _linear(node.operand)
        return inner.scaled(-1) if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        return _combined(node.op, _linear(node.left), _linear(node.right))
    raise FormulaError("synthetic.region.unknown_word")


def _combined(op: ast.operator, left: _Linear, right: _Linear) -> _Linear:
    def constant(form: _Linear) -> bool:
        return form.a == 0 and form.b == 0

    if isinstance(op, ast.Add):
        return left.plus(right)
    if isinstance(op, ast.Sub):
        return left.plus(right.scaled(-1))
    if isinstance(op, ast.Mult) and constant(left):
        return right.scaled(left.c)
    if isinstance(op, ast.Mult) and constant(right):
        return left.scaled(right.c)
    if isinstance(op, ast.Div) and constant(right) and right.c != 0:
        return left.scaled(1 / right.c)
    raise FormulaError("synthetic.region.not_linear")

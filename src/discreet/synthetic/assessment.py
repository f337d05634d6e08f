"""A candidate judged, record by record; and the largest budget whose candidates are acceptable.

McClure and Reiter (2012, section 4) propose to look at R and RR of every record together, over a
range of intruders' priors, and to accept a file if all stay in a region. Two warnings come with it:

- the region must stay secret, and so must the results: both describe the original data;
- a file that was *chosen* by such a check no longer satisfies differential privacy, whatever made
  it: the choice looked at the data. `search` keeps its candidates in memory for that reason.

Over all priors the judgement is exact (see below); over a list of priors it is made at each.

The acceptable region in the plane of relative and absolute risk, and who falls outside it.

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
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from discreet.errors import FormulaError, InputError
from discreet.frames import Tabular, columns_from, html_grid
from discreet.guarantees import finite_or_null
from discreet.numerics import bracket
from discreet.promises.formula import tree_of
from discreet.synthetic.cells import Cells, Distances, distances, half_sum
from discreet.synthetic.law import Synthesizer, as_counts, draw_copies, utility, whole
from discreet.synthetic.records import (
    Confidential,
    Intruder,
    RecordRisk,
    check_prior,
    risk,
    seen_by,
)
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Point: TypeAlias = tuple[float, float]
_Form: TypeAlias = tuple[float, float, float]
_SLACK = 1e-12
_MOST_EPSILON = 700.0


class _Comparison(NamedTuple):
    """The statement a·R + b·RR + c ≤ 0, or < 0 if strict; `form` is (a, b, c)."""

    form: _Form
    strict: bool

    def negated(self) -> _Comparison:
        a, b, c = self.form
        return _Comparison((-a, -b, -c), not self.strict)

    def holds(self, R: NDArray[np.float64], RR: NDArray[np.float64]) -> NDArray[np.bool_]:
        value = _at(self.form, R, RR)
        return np.asarray(value < 0 if self.strict else value <= 0)


class _Rule(NamedTuple):
    require: tuple[_Comparison, ...]
    when: tuple[_Comparison, ...]


def _at(form: _Form, R: Any, RR: Any) -> Any:
    return form[0] * R + form[1] * RR + form[2]


@dataclass(frozen=True, slots=True, eq=False)
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
        try:
            with np.errstate(all="ignore"):  # what overflows is refused
                rules = tuple(_rule(piece) for piece in pieces if piece)
        except RecursionError:
            raise FormulaError("synthetic.region.unreadable") from None
        if not rules:
            raise FormulaError("synthetic.region.no_rule")
        return cls(rules)

    @classmethod
    def thresholds(cls, *, absolute: float | None = None, relative: float | None = None) -> Region:
        """Return the region R ≤ absolute and RR ≤ relative; either may be left out."""
        rules = []
        for name, (a, b), value, low, high in (
            ("absolute", (1, 0), absolute, 0.0, 1.0),
            ("relative", (0, 1), relative, 1.0, math.inf),
        ):
            if value is None:
                continue
            if math.isnan(value) or not low <= value <= high:
                kind = "between" if high < math.inf else "or_more"
                span = say(f"synthetic.region.{kind}", low=low, high=high)
                raise InputError("synthetic.region.bad_limit", name=name, value=value, span=span)
            rules.append(_Rule((_Comparison((a, b, -value), strict=False),), ()))
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

    def check_met(
        self, priors: ArrayLike | None = None, span: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        """Refuse priors at which an intruder who learns nothing is outside already.

        Then no budget is small enough. The error has no number: the region is secret, and errors
        end in logs.
        """
        if priors is None:
            met = not any(self.outside(np.zeros(1), *span))
        else:
            met = bool(np.all(self.contains(check_prior(priors), 1.0)))
        if not met:
            raise InputError("synthetic.region_never_met")

    def broken(self, area: Sequence[Point]) -> list[list[Point]]:
        """Return the parts of a convex area of points (R, RR) that break a rule, each convex."""
        found = []
        for rule in self.rules:
            for required in rule.require:
                part = list(area)
                for comparison in (*rule.when, required.negated()):
                    part = _clipped(part, comparison.form)
                if any(_at(required.form, *point) > 0 for point in part) or (
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
    for form in ((-1.0, low, 0.0), (1.0, -high, 0.0)):
        area = _clipped(area, form)
    return area


def _clipped(area: Sequence[Point], form: _Form) -> list[Point]:
    """Return the part of a convex area where a form is at most 0, with its edge."""
    out: list[Point] = []
    for (x, y), (u, v) in zip(area, (*area[1:], *area[:1]), strict=True):
        here, there = _at(form, x, y), _at(form, u, v)
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
    return np.asarray(np.all([one.holds(R, RR) for one in comparisons], axis=0))


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
        (a, b, c), strict = constraint
        slope = a * g + c * (g - one)
        start = b * g + c * one
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
        gap = left - right
        if not np.isfinite(gap).all():
            raise FormulaError("synthetic.region.too_large")
        if not gap[:2].any():
            raise FormulaError("synthetic.region.neither")
        if not isinstance(operator, (ast.LtE, ast.Lt, ast.GtE, ast.Gt)):
            raise FormulaError("synthetic.region.bad_comparison")
        a, b, c = (gap if isinstance(operator, (ast.LtE, ast.Lt)) else -gap).tolist()
        made.append(_Comparison((a, b, c), isinstance(operator, (ast.Lt, ast.Gt))))
    return made


def _linear(node: ast.expr) -> NDArray[np.float64]:
    """Return (a, b, c) of an expression a·R + b·RR + c."""
    match node:
        case ast.Name(id="R" | "RR"):
            return np.array([node.id == "R", node.id == "RR", 0], dtype=np.float64)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if abs(value) > sys.float_info.max:
                raise FormulaError("synthetic.region.too_large")
            return np.array([0.0, 0.0, float(value)])
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return _linear(node.operand) * (-1 if isinstance(node.op, ast.USub) else 1)
        case ast.BinOp():
            left, right = _linear(node.left), _linear(node.right)
            if isinstance(node.op, ast.Mult) and not left[:2].any():
                left, right = right, left
            match node.op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult() if not right[:2].any():
                    return left * float(right[2])
                case ast.Div() if not right[:2].any() and right[2] != 0:
                    return left / float(right[2])
            raise FormulaError("synthetic.region.not_linear")
    raise FormulaError("synthetic.region.unknown_word")


# -- a candidate judged

_SHOWN = (0.01, 0.1, 0.5, 0.9)
_BLOCK = 2_000_000
_MOST_FOR_UTILITY = 200_000


@dataclass(frozen=True, slots=True)
class Outside:
    """A cell whose records leave the region, and the intervals of priors at which they do.

    Of a list of priors, an interval runs over those of the list that lie in it.
    """

    cell: int
    records: int
    priors: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment(Tabular):
    """The judgement of one candidate. Confidential."""

    risk: RecordRisk
    candidate: NDArray[np.int64]
    cells: Cells | None
    acceptable: bool | None
    outside: tuple[Outside, ...]
    shown: tuple[float, ...]
    intruders: tuple[dict[str, Any], ...]

    @property
    def epsilon(self) -> float | None:
        """The budget of the file; None where its law is only known as a likelihood."""
        return None if self.risk.law is None else self.risk.law.epsilon

    @property
    def distances(self) -> Distances | None:
        """How far the candidate is from the original; None where columns are not known."""
        if self.cells is None:
            return None
        return distances(self.risk.records, self.candidate, self.cells)

    def lost(self) -> list[dict[str, Any]] | None:
        """U of M&R for each level of each column: digits of squared error that the file loses.

        None where the law of the file is not known, or the data are so large that it takes long.
        """
        law, cells, s, x = self.risk.law, self.cells, self.candidate, self.risk.records
        if law is None or cells is None or x.sum() > _MOST_FOR_UTILITY:
            return None
        return [
            {
                "column": column,
                "level": level,
                "lost": utility(x, s, cell=cells.select({column: level}).tolist(), synthesizer=law),
            }
            for column, levels in cells.levels.items()
            for level in levels
            if 0 < cells.select({column: level}).size < cells.size
        ]

    @property
    def records_outside(self) -> int:
        """How many records leave the region at some prior."""
        return sum(found.records for found in self.outside)

    def to_dict(self, most: int = 20) -> dict[str, Any]:
        """Return the judgement, JSON-ready, with the `most` worst cells."""
        gap, worst = self.distances, self.riskiest(most).tolist()
        half = self.risk.absolute(0.5)
        return {
            "confidential": say("synthetic.confidential"),
            "caution": say("synthetic.caution"),
            "epsilon": self.epsilon,
            "acceptable": self.acceptable,
            "risk": {
                "records": int(self.risk.records.sum()),
                "cells": int(self.risk.at_risk.sum()),
                "alternatives": self.risk.alternatives,
                "largest_shift": finite_or_null(self.risk.largest_shift),
                **({"unbounded": True} if math.isinf(self.risk.largest_shift) else {}),
                "priors": [self._at(prior) for prior in self.shown],
                "records_outside": self.records_outside,
                "cells_outside": len(self.outside),
                "outside": [
                    {
                        "cell": self.label(found.cell),
                        "records": found.records,
                        "priors": [{"lower": low, "upper": high} for low, high in found.priors],
                    }
                    for found in self.outside[:most]
                ],
                "worst": [
                    {
                        "cell": self.label(cell),
                        "records": int(self.risk.records[cell]),
                        "from_half": float(half[cell]),
                    }
                    for cell in worst
                ],
                "intruders": [dict(one) for one in self.intruders],
            },
            "utility": None if gap is None else {**gap.to_dict(), "lost": self.lost()},
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the largest and average risk at each prior. Confidential."""
        return columns_from(self._at(prior) for prior in self.shown)

    def _at(self, prior: float) -> dict[str, float]:
        occupied = self.risk.at_risk
        absolute = self.risk.absolute(prior)[occupied]
        records = self.risk.records[occupied]
        return {
            "prior": prior,
            "largest": float(absolute.max()),
            "largest_relative": float(self.risk.relative(prior)[occupied].max()),
            "average": float(absolute @ records / records.sum()),
        }

    def riskiest(self, most: int) -> NDArray[np.int64]:
        """Return the cells whose records are most at risk, the worst first."""
        shift = np.where(self.risk.at_risk, self.risk.shift, -math.inf)
        worst = np.argsort(-shift, kind="stable")[: min(most, int(self.risk.at_risk.sum()))]
        return worst.astype(np.int64)

    def label(self, cell: int) -> dict[str, str] | int:
        """Return the levels of a cell by column, or its number where columns are not known."""
        return cell if self.cells is None else self.cells.label(cell)

    def _repr_html_(self) -> str:
        return _table(self, [self._at(prior) for prior in self.shown], ".4g")

    def __repr__(self) -> str:
        verdict = {True: "acceptable", False: "unacceptable", None: "no_region"}[self.acceptable]
        outside = f"{self.records_outside} {say('synthetic.assessment.records_outside')}"
        return f"Assessment({say(f'synthetic.assessment.{verdict}')}, {outside})"


def _table(result: Assessment | Search, rows: Sequence[Mapping[str, Any]], form: str) -> str:
    """Return a table for a notebook that says that it is confidential."""
    header = [
        name if name == "epsilon" else say(f"synthetic.assessment.{name}") for name in rows[0]
    ]
    figures = [[format(value, form) for value in row.values()] for row in rows]
    return html_grid(f"{result!r}. {say('synthetic.confidential')}", header, figures)


def assess_counts(
    original: ArrayLike,
    candidate: ArrayLike,
    *,
    region: Region | str | None = None,
    priors: Sequence[float] | None = None,
    prior_range: tuple[float, float] = (0.0, 1.0),
    known: Sequence[str] = (),
    intruders: Mapping[str, Any] | None = None,
    cells: Cells | None = None,
    **how: Any,
) -> Assessment:
    """Judge a candidate against its original, both counted over the same cells.

    `region` is what is acceptable; `priors` the intruder's priors to judge it at, or `prior_range`
    an interval of them, judged exactly (all priors, if neither is given). `known` names the columns
    that the intruder knows of the target. `intruders` are more of them, by name: what each knows
    and believes (`identification.Intruder`). `how` goes on to `risk`: the law of the candidate, the
    `alternatives`, and `sampled`, the chance that the intruder gives the target to be in the data.
    """
    accepted = Region.parse(region) if isinstance(region, str) else region
    if (known or intruders) and cells is None:
        raise InputError("synthetic.known_without_cells")
    if accepted is not None:
        accepted.check_met(priors, prior_range)
    groups = cells.groups(known) if known and cells is not None else None
    found = risk(original, candidate, groups=groups, **how)
    s = as_counts("candidate", candidate)
    views: tuple[dict[str, Any], ...] = ()
    if intruders and cells is not None:
        if found.law is None:
            raise InputError("synthetic.no_law")
        declared = [Intruder.of(name, given) for name, given in intruders.items()]
        views = tuple(seen_by(one, found.records, s, cells, found.law) for one in declared)
    outside: tuple[Outside, ...] = ()
    at = None if priors is None else np.sort(check_prior(list(priors)))
    if accepted is not None:
        outside = tuple(
            _over_range(found, accepted, prior_range)
            if at is None
            else _at_points(found, accepted, at)
        )
    return Assessment(
        found,
        s,
        cells,
        None if accepted is None else not outside,
        outside,
        _SHOWN if priors is None or len(priors) > 20 else tuple(priors),
        views,
    )


def _over_range(found: RecordRisk, region: Region, span: tuple[float, float]) -> Iterator[Outside]:
    intervals = region.outside(found.shift, *span)
    for cell in np.flatnonzero(found.at_risk).tolist():
        if intervals[cell]:
            yield Outside(cell, int(found.records[cell]), tuple(intervals[cell]))


def _at_points(found: RecordRisk, region: Region, priors: NDArray[np.float64]) -> Iterator[Outside]:
    occupied = np.flatnonzero(found.at_risk)
    step = max(1, _BLOCK // priors.size)
    for start in range(0, occupied.size, step):
        block = occupied[start : start + step]
        part = RecordRisk(found.shift[block], found.records[block], found.alternatives)
        broken = ~region.contains(part.absolute(priors), part.relative(priors))
        for i in np.flatnonzero(broken.any(axis=1)).tolist():
            # Runs of neighbouring priors, so that a thousand do not become a thousand lines.
            ends = np.flatnonzero(np.diff(broken[i].astype(np.int8), prepend=0, append=0))
            at = tuple(
                (float(priors[a]), float(priors[b - 1])) for a, b in ends.reshape(-1, 2).tolist()
            )
            yield Outside(int(block[i]), int(part.records[i]), at)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Search(Confidential, Tabular):
    """What became of the candidates of each budget. Confidential; nothing of it is written.

    `chosen` is the first candidate of the largest acceptable budget, one row of counts a copy.
    """

    shows: ClassVar = ("epsilon", "acceptable", "candidates", "risk", "utility")

    rows: tuple[dict[str, Any], ...]
    epsilon: float | None
    candidates: int
    chosen: NDArray[np.int64] | None = None
    synthesizer: Synthesizer | None = None

    @property
    def acceptable(self) -> bool:
        """Whether the candidates of some budget all stayed inside."""
        return self.epsilon is not None

    @property
    def risk(self) -> dict[str, Any]:
        """What was found at each budget."""
        return {"budgets": self.rows}

    @property
    def utility(self) -> float | None:
        """The distance from the original at the chosen budget."""
        chosen = (row["distance"] for row in self.rows if row["epsilon"] == self.epsilon)
        return next(chosen, None)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what was found at each budget. Confidential."""
        return columns_from(self.rows)

    def _repr_html_(self) -> str:
        return _table(self, self.rows, "g")

    def __repr__(self) -> str:
        best = "none" if self.epsilon is None else f"{self.epsilon:g}"
        return f"Search(largest acceptable epsilon: {best}, of {len(self.rows)})"


def search(
    original: ArrayLike,
    epsilons: Sequence[float],
    *,
    region: Region | str | None,
    n_synthetic: int,
    candidates: int = 10,
    copies: int = 1,
    records: int = 1,
    weights: Sequence[int] | None = None,
    **how: Any,
) -> Search:
    """Draw candidates at each budget, in memory, and find the largest whose candidates all pass.

    `how` goes on to `assess_counts` (priors, prior_range, alternatives, known, cells). Nothing is
    written and nothing is charged here; to write the chosen file every candidate has to be charged,
    and the file carries no guarantee (`assess` with `no_guarantee`).
    """
    x = as_counts("original", original)
    if not epsilons:
        raise InputError("synthetic.no_epsilons")
    if region is None:
        raise InputError("synthetic.no_region")
    whole("candidates", candidates)
    # The risk is shown at the largest prior that is judged; of a range, at its middle.
    shown = max(how.get("priors") or [sum(how.get("prior_range", (0.0, 1.0))) / 2])
    drawn: dict[str, Any] = {"n_synthetic": n_synthetic, "copies": copies, "records": records}
    rows, best = [], Search((), None, candidates)
    for epsilon in sorted(set(epsilons)):
        law = Synthesizer.of(epsilon, cells=x.size, weights=weights, **drawn)
        files = [draw_copies(law, x) for _ in range(candidates)]
        counted = [file.sum(axis=0) for file in files]
        judged = [assess_counts(x, s, region=region, synthesizer=law, **how) for s in counted]
        inside = sum(bool(one.acceptable) for one in judged)
        rows.append(
            {
                "epsilon": float(epsilon),
                "inside": inside,
                "records_outside": max(one.records_outside for one in judged),
                "largest": max(float(np.nanmax(one.risk.absolute(shown))) for one in judged),
                "prior": shown,
                "distance": fmean(half_sum(x / x.sum() - s / s.sum()) for s in counted),
            }
        )
        if inside == candidates:
            best = Search((), float(epsilon), candidates, files[0], law)
    return replace(best, rows=tuple(rows))

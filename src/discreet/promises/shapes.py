"""Tolerances: how far belief may move, for which priors.

Notation. A tolerance is a risk profile r*(p, q) (K&R §2.3), the largest ratio of posterior to prior
that is tolerated at each prior in its box; outside the box nothing is asked for.

| shape                        | r*(p, q)       | in words                                     |
|------------------------------|----------------|----------------------------------------------|
| `Ratio(r)`                   | r              | nobody's belief grows more than r-fold       |
| `Posterior(a)`               | a/(pq)         | nobody becomes more than a sure              |
| `PosteriorUnlessRatio(a, r)` | max{a/(pq), r} | … unless their belief grows at most r-fold   |
| `Difference(b)`              | 1 + b/(pq)     | nobody's belief grows by more than b         |
| `Formula(text)`              | as written     |                                              |
| `Function(f)`                | f(p, q)        |                                              |
| `Table(rows)`                | from a grid    | the least ratio around, see `table`          |

`Counterfactual(R)` compares worlds, not times: the odds if a person joins are at most R times the
odds if they do not. `AllOf` asks for several at once; `Groups` keeps the name of each adversary or
group, so that the one that binds can be named.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from discreet.errors import InputError, ToleranceError
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.formula import (
    Binary,
    Call,
    Expression,
    Number,
    Variable,
    evaluate,
    parse,
)

__all__ = [
    "AllOf",
    "Counterfactual",
    "Difference",
    "Formula",
    "Function",
    "Groups",
    "Posterior",
    "PosteriorUnlessRatio",
    "Ratio",
    "Tolerance",
    "check_ratio",
    "leaves",
    "priors",
]

_PQ = Binary("*", Variable("p"), Variable("q"))
_NORMAL, _LARGEST = sys.float_info.min, sys.float_info.max
Monotone: TypeAlias = Literal["increasing", "decreasing"]


def priors(*, p: float | None = None, q: float | None = None, box: Box | None = None) -> Box:
    """Return the box with p or q fixed, or the box given; all priors if nothing is said.

    >>> str(priors(q=1))
    '0 < p ≤ 1, q = 1'
    """
    out = box or EVERY_PRIOR
    for name, value in (("p", p), ("q", q)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise InputError(
                f"{name} is fixed at {value!r}; a prior probability lies above 0 and at most at 1."
            )
        low, high = (out.p0, out.p1) if name == "p" else (out.q0, out.q1)
        if not low <= value <= high:
            raise InputError(
                f"{name} is fixed at {value:g}, outside the box, which allows {low:g} to {high:g}. "
                "Drop one of the two."
            )
        ends = {f"{name}0": float(value), f"{name}1": float(value)}
        out = replace(out, **ends)
    return out


def _number(name: str, value: float, rule: str, holds: Callable[[float], bool]) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise ToleranceError(f"{name} is {value!r}; it must be a number {rule}.")
    try:
        number = float(value)
    except OverflowError:
        raise ToleranceError(f"{name} is too large for a number; it must be {rule}.") from None
    if not holds(number):
        raise ToleranceError(f"{name} is {number:g}; it must be {rule}.")
    return number


def _share(name: str, value: float, rule: str, holds: Callable[[float], bool]) -> float:
    """Return a probability; of one that was typed in percent say how it is written."""
    number = _number(name, value, rule, holds)
    if not number <= 1:
        percent = f", so {number:g} % is {number / 100:g}" if number <= 100 else ""
        raise ToleranceError(
            f"{name} is {number:g}; it is a probability{percent}. Give one of at most 1."
        )
    return number


def _per_product(share: float, p: float, q: float) -> float:
    """Return share/(pq), the largest double where it is larger; p = 0 and q = 0 are limits."""
    if share == 0:
        return 0.0
    product = p * q
    if product >= _NORMAL:
        return share / product
    if p == 0 or q == 0:
        return math.inf
    try:
        return float(Fraction(share) / (Fraction(p) * Fraction(q)))
    except OverflowError:
        return _LARGEST


def check_ratio(value: float) -> float:
    """Return a ratio above 1, or say why no other will do."""
    return _number("ratio", value, "above 1 (at 1 nothing at all may be learned)", lambda r: r > 1)


class Tolerance(ABC):
    """What all tolerances share: `&` asks for both, and `to_mapping` writes one to a file.

    A shape of your own has a `box`, `ratio_at(p, q)` and `expression()`, the profile as a formula:
    from that a budget is found, and proved, without a closed form.
    """

    __slots__ = ()

    def __and__(self, other: Tolerance) -> AllOf:
        return AllOf((self, other))

    @abstractmethod
    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""


@dataclass(frozen=True, slots=True)
class Ratio(Tolerance):
    """Nobody's belief grows more than `ratio`-fold."""

    ratio: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return self.ratio

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Number(self.ratio)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"ratio": self.ratio} | self.box.to_mapping()

    def __str__(self) -> str:
        return f"belief grows at most {self.ratio:g}-fold ({self.box})"


@dataclass(frozen=True, slots=True)
class Posterior(Tolerance):
    """Nobody becomes more than `posterior` sure; every prior in the box must be below it."""

    posterior: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        a = _share("posterior", self.posterior, "above 0 and at most 1", lambda a: a > 0)
        object.__setattr__(self, "posterior", a)
        highest = self.box.p1 * self.box.q1
        reached = highest >= a
        if highest < _NORMAL:  # rounded, or 0
            reached = Fraction(self.box.p1) * Fraction(self.box.q1) >= Fraction(a)
        if reached:
            raise ToleranceError(
                f"posterior is {a:g}, but the priors in question reach {highest:g}: someone who is "
                "already that sure may not learn anything at all, so the budget would be 0. Fix a "
                "prior below it (--p), restrict the priors (--box), or add --unless-ratio."
            )

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return _per_product(self.posterior, p, q)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Binary("/", Number(self.posterior), _PQ)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"posterior": self.posterior} | self.box.to_mapping()

    def __str__(self) -> str:
        return f"nobody becomes more than {100 * self.posterior:.4g} % sure ({self.box})"


@dataclass(frozen=True, slots=True)
class PosteriorUnlessRatio(Tolerance):
    """Nobody becomes more than `posterior` sure unless their belief grows at most `ratio`-fold."""

    posterior: float
    ratio: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        a = _share("posterior", self.posterior, "0 or more and at most 1", lambda a: a >= 0)
        object.__setattr__(self, "posterior", a)
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return max(_per_product(self.posterior, p, q), self.ratio)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Call("max", (Binary("/", Number(self.posterior), _PQ), Number(self.ratio)))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        own = {"posterior": self.posterior, "unless_ratio": self.ratio}
        return own | self.box.to_mapping()

    def __str__(self) -> str:
        return (
            f"nobody becomes more than {100 * self.posterior:.4g} % sure unless their belief "
            f"grows at most {self.ratio:g}-fold ({self.box})"
        )


@dataclass(frozen=True, slots=True)
class Difference(Tolerance):
    """Nobody's belief grows by more than `difference` (0.2 is twenty percentage points)."""

    difference: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        b = _share("difference", self.difference, "above 0 and at most 1", lambda b: b > 0)
        object.__setattr__(self, "difference", b)

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return 1 + _per_product(self.difference, p, q)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Binary("+", Number(1.0), Binary("/", Number(self.difference), _PQ))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"difference": self.difference} | self.box.to_mapping()

    def __str__(self) -> str:
        return f"belief grows by at most {100 * self.difference:.4g} percentage points ({self.box})"


@dataclass(frozen=True, slots=True)
class Counterfactual(Tolerance):
    """The odds if a person joins are at most `ratio` times the odds if they do not."""

    ratio: float
    counts_sensitive_only: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    @property
    def box(self) -> Box:
        """Every prior."""
        return EVERY_PRIOR

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        out: dict[str, Any] = {"counterfactual": self.ratio}
        if self.counts_sensitive_only:
            out["counts_sensitive_only"] = True
        return out

    def __str__(self) -> str:
        return f"odds if one joins are at most {self.ratio:g} times the odds if one does not"


@dataclass(frozen=True, slots=True)
class Formula(Tolerance):
    """A profile written as a formula in p and q.

    >>> Formula("max(0.25/(p*q), 3)").ratio_at(0.5, 0.5)
    3.0
    """

    text: str
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        parse(self.text)
        object.__setattr__(self, "text", self.text.strip())

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return evaluate(self.expression(), p, q)

    def expression(self) -> Expression:
        """Return the tree of the formula."""
        return parse(self.text)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"profile": self.text} | self.box.to_mapping()

    def __str__(self) -> str:
        return f"the ratio is at most {self.text} ({self.box})"


@dataclass(frozen=True, slots=True)
class Function(Tolerance):
    """A profile given as a Python function of p and q.

    A declared monotonicity in both p and q makes the answer certified: the least value on a box is
    then at one of its corners. Without it the search can only look, not prove. A constant function
    is both, "increasing" and "decreasing".

    The declaration is the caller's word. It is compared with some thousand priors and with every
    corner that the search meets, and a function that breaks it there is refused; between them
    nothing is known, and the budget is certified for a function that is monotone as declared.
    """

    function: Callable[[float, float], float]
    box: Box = EVERY_PRIOR
    monotone_p: Monotone | None = None
    monotone_q: Monotone | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"the profile is {self.function!r}; it must be a function of p and q. For a "
                "constant write Ratio, for a text Formula."
            )
        for name in ("monotone_p", "monotone_q"):
            word = getattr(self, name)
            if word is not None and word not in get_args(Monotone):
                raise InputError(
                    f"{name} is {word!r}; it must be 'increasing', 'decreasing' or None, for not "
                    "known."
                )

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        try:
            value = float(self.function(p, q))
        except (ArithmeticError, TypeError, ValueError):
            value = math.nan
        if math.isnan(value):
            raise ToleranceError(
                f"the function has no number at p = {p:g}, q = {q:g}; it must give a ratio at "
                "every prior of its box."
            )
        return value

    def to_mapping(self) -> dict[str, Any]:
        """Refuse: a Python function has no place in a file."""
        raise ToleranceError(
            "a Python function cannot be written to a file; write it as a formula or a table."
        )

    def __str__(self) -> str:
        name = getattr(self.function, "__name__", "a function")
        return f"the ratio is at most {name}(p, q) ({self.box})"


@dataclass(frozen=True, slots=True)
class AllOf(Tolerance):
    """Several tolerances that must all hold."""

    parts: tuple[Tolerance, ...]

    def __post_init__(self) -> None:
        flat: list[Tolerance] = []
        for part in self.parts:
            flat.extend(part.parts if isinstance(part, AllOf) else (part,))
        if not flat:
            raise ToleranceError("no tolerance was given; say what may be learned at the most.")
        object.__setattr__(self, "parts", tuple(flat))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"all": [part.to_mapping() for part in self.parts]}

    def __str__(self) -> str:
        return "; and ".join(str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Groups(Tolerance):
    """One tolerance for each named adversary or group of people; all must hold."""

    parts: tuple[tuple[str, Tolerance], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if not names:
            raise ToleranceError("groups is empty; name at least one, with its tolerance.")
        if len(set(names)) < len(names):
            raise ToleranceError("two groups have the same name; give each its own.")

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"groups": {name: part.to_mapping() for name, part in self.parts}}

    def __str__(self) -> str:
        return "; and ".join(f"for {name}: {part}" for name, part in self.parts)


def leaves(tolerance: Tolerance) -> Iterator[tuple[str | None, Any]]:
    """Yield the single tolerances inside a combination, each with the name of its group."""
    match tolerance:
        case AllOf(parts):
            for part in parts:
                yield from leaves(part)
        case Groups(named):
            for name, part in named:
                for inner, leaf in leaves(part):
                    yield (name if inner is None else f"{name}: {inner}"), leaf
        case _:
            yield None, tolerance

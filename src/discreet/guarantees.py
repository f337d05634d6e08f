"""What a release promises, as frozen values, with the adjacency it is stated under.

Notation. M is the release, D and D' two neighbouring data sets, P and Q the laws of M(D) and M(D').

- `PureDP(ε)`: P(S) ≤ e^ε Q(S) for every event S.
- `ApproxDP(ε, δ)`: P(S) ≤ e^ε Q(S) + δ.
- `ProbabilisticDP(ε, δ)`: outside an event of probability δ, under either law, the likelihood ratio
  lies in [e^-ε, e^ε]. It implies (ε, δ)-DP; (ε, δ)-DP implies it only for larger parameters, and it
  does not survive post-processing.
- `ZCDP(ρ)`: the Rényi divergence of order α is at most ρα, for every α > 1.
- `PrivacyCurve`: the whole function δ(ε) of a mechanism; each point is an (ε, δ)-DP promise.

Adjacency: `add-remove` (one unit's data are there or not), `replace` (one unit's data are changed),
`local` (each person randomizes their own answer before it leaves them; the same mathematics as
`replace`, with a data set of one).

Several steps. Data sets that are m neighbours apart are told apart no better than by mε (pure),
m²ρ (zCDP; Bun and Steinke 2016, Prop. 1.9), (mε, δ(e^{mε}−1)/(e^ε−1)) (approximate; Vadhan 2017,
Lemma 2.2). Replacing a unit is removing one and adding another: two steps of add-remove are one of
replace. No step leads back: `under` refuses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, TypeAlias

from discreet.errors import GuaranteeError, InputError
from discreet.reading import like
from discreet.rounding import FIGURES, number, up
from discreet.words import say

__all__ = [
    "ZCDP",
    "Adjacency",
    "ApproxDP",
    "Guarantee",
    "Named",
    "PrivacyCurve",
    "ProbabilisticDP",
    "PureDP",
    "amount",
    "figures_added",
    "figures_apart",
    "finite_or_null",
    "of_kind",
    "parameters",
    "side_by_side",
    "stated",
]


CRUMB = 1e-12  # of ε or ρ: what rounding may leave over of a limit
_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
_SIDES: tuple[Literal["up", "down"], ...] = ("up", "down")


class Named(StrEnum):
    """One of a few things that have names; in a message it is its name, in quotes."""

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the one of that name, or say which names there are."""
        try:
            return cls(name)
        except ValueError:
            known = [one.value for one in cls]
            said = {"known": ", ".join(known), "like": like(name, known)}
            what = cls.__name__.lower()
            raise InputError("guarantees.unknown", what=what, name=name, **said) from None


class Adjacency(Named):
    """Which data sets are neighbours."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"
    LOCAL = "local"


def _check(name: str, value: float, *, low: float = 0.0, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError("guarantees.not_a_number", name=name, value=value)
    try:
        value = float(value)
    except OverflowError:
        raise InputError("guarantees.too_large", name=name) from None
    if math.isnan(value):
        raise InputError("guarantees.nan", name=name, low=low)
    if not low <= value <= high:
        if math.isinf(high):
            raise InputError("guarantees.below", name=name, value=value, low=low)
        raise InputError("guarantees.outside", name=name, value=value, low=low, high=high)
    return value


def finite_or_null(value: float | None) -> float | None:
    """Return None for an infinite value: JSON has no Infinity."""
    return None if value is None or math.isinf(value) else value


def parameters(
    epsilon: float | None = None, delta: float | None = None, rho: float | None = None
) -> dict[str, Any]:
    """Return `{epsilon, delta, rho}`, null for what does not apply; an infinity says `unbounded`.

    >>> parameters(epsilon=math.inf)
    {'epsilon': None, 'delta': None, 'rho': None, 'unbounded': True}
    """
    values = {"epsilon": epsilon, "delta": delta, "rho": rho}
    out: dict[str, Any] = {name: finite_or_null(value) for name, value in values.items()}
    if any(value is not None and math.isinf(value) for value in values.values()):
        out["unbounded"] = True
    return out


def amount(
    said: Mapping[str, Any],
    side: Literal["up", "down"],
    nothing: str,
    figures: int = FIGURES,
) -> str:
    """Return `{epsilon, delta, rho}` as people write it; spending rounded up, the rest down.

    >>> amount({"epsilon": 0.5, "delta": 1e-6, "rho": None}, "up", "nothing")
    'ε = 0.5, δ = 1e-06'
    >>> amount({"epsilon": 1e-16, "delta": 1e-16}, "down", "nothing")
    'ε = 0, δ = 1e-16'
    """

    def told(name: str) -> str:
        # What rounding left over of a limit is nothing to spend; a δ may be so small.
        crumb = side == "down" and name != "delta" and said[name] < CRUMB
        return number(0.0 if crumb else said[name], side, figures)

    found = [
        f"{sign} = {told(name)}" for name, sign in _SIGNS.items() if said.get(name) is not None
    ]
    return ", ".join(found) or nothing


def side_by_side(spent: Mapping[str, Any], limit: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is spent and what limits it, with figures enough that they do not contradict.

    >>> side_by_side({"epsilon": 1.2992831}, {"epsilon": 1.2992832})
    ('ε = 1.2992831', 'ε = 1.2992832')
    """
    figures = figures_apart(spent, limit)
    return amount(spent, "up", "", figures), amount(limit, "down", "", figures)


def figures_apart(
    spent: Mapping[str, Any], *limits: Mapping[str, Any], least: int = FIGURES
) -> int:
    """Return how many figures it takes until nothing that is within its limit seems to pass it.

    What is spent is rounded up and a limit down, so that one that is spent to the last digit
    would seem to be passed.
    """
    both = ((spent.get(n), limit.get(n)) for limit in limits for n in ("epsilon", "delta", "rho"))
    within = [(x, y) for x, y in both if x is not None and y is not None and x <= y]

    def fits(figures: int) -> bool:
        texts = ((number(x, "up", figures), number(y, "down", figures)) for x, y in within)
        return all(float(x.replace(",", "")) <= float(y.replace(",", "")) for x, y in texts)

    return next(filter(fits, range(least, 17)), 17)


def figures_added(spent: Mapping[str, Any], left: Mapping[str, Any], cap: Mapping[str, Any]) -> int:
    """Return how many figures of a cap it takes until what is spent and left seems to add up to it.

    Its parts may be smaller, and then have more decimals. Where the cap does not limit what is
    left, nothing adds up, and none are needed for that.

    >>> cap, left = {"epsilon": 1.6263813}, {"epsilon": 0.8631906}
    >>> figures_added({"epsilon": 0.7631907}, left, cap)
    7
    """
    parts = {}
    for name, whole in added(spent, left).items():
        most = cap.get(name)
        if most is not None and math.isfinite(most) and math.isclose(whole, most, rel_tol=1e-9):
            sums = (_shown(spent[name], side) + _shown(left[name], "down") for side in _SIDES)
            parts[name] = next((float(x) for x in sums if x <= Decimal(repr(most))), 0.0)
    return max(figures_apart(spent, cap), figures_apart(parts, cap))


def _shown(x: float, side: Literal["up", "down"]) -> Decimal:
    return Decimal(number(x, side, FIGURES).replace(",", ""))


def added(spent: Mapping[str, Any], left: Mapping[str, Any]) -> dict[str, float]:
    """Return the cap of which so much is spent and so much is left."""
    names = [n for n in _SIGNS if None not in (spent.get(n), left.get(n))]
    return {n: spent[n] + left[n] for n in names}


def _figures(x: float, side: Literal["up", "down"]) -> str:
    return f"{x:g}" if math.isinf(x) else number(x, side, FIGURES).replace(",", "")


@dataclass(frozen=True, slots=True, repr=False)
class _Stated(ABC):
    """A guarantee stated under an adjacency."""

    adjacency: Adjacency = field(default=Adjacency.ADD_REMOVE, kw_only=True)
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))
        for name, value in self._values().items():
            high = 1.0 if name == "delta" else math.inf
            object.__setattr__(self, name, _check(name, value, high=high))

    @abstractmethod
    def steps(self, m: int) -> _Stated:
        """Return what holds between data sets that are m neighbours apart."""

    def under(self, adjacency: str) -> Self:
        """Restate under another adjacency where a theorem allows; refuse otherwise."""
        target = Adjacency.of(adjacency)
        if target == self.adjacency:
            return self
        two = self.steps(2)
        central = (self.adjacency, target) == (Adjacency.ADD_REMOVE, Adjacency.REPLACE)
        if not central or not isinstance(two, type(self)):
            raise GuaranteeError(
                "guarantees.no_way", stated=self, has=self.adjacency.value, asked=target.value
            )
        return replace(two, adjacency=target)

    def _values(self) -> dict[str, float]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in _SIGNS if name in self.__dataclass_fields__}

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON-ready values."""
        stated = {"kind": self.kind, "adjacency": self.adjacency.value}
        return parameters(**self._values()) | stated

    def __repr__(self) -> str:
        values = "".join(f"{name}={value!r}, " for name, value in self._values().items())
        return f"{type(self).__name__}({values}adjacency={self.adjacency.value!r})"

    def said(self, side: Literal["up", "down"] = "up") -> str:
        """Return it as people write it, its numbers rounded to a side: a promise is rounded up."""
        figures = [_figures(value, side) for value in self._values().values()]
        numbers = f"({', '.join(figures)})" if len(figures) > 1 else "".join(figures)
        return say(f"guarantees.said.{self.kind}", numbers=numbers)

    def __str__(self) -> str:
        return self.said()


@dataclass(frozen=True, slots=True, repr=False)
class PureDP(_Stated):
    """ε-differential privacy.

    >>> PureDP(1.0).under("replace")
    PureDP(epsilon=2.0, adjacency='replace')
    """

    epsilon: float
    kind: ClassVar[str] = "pure"

    def steps(self, m: int) -> PureDP:
        """Return what holds between data sets that are m neighbours apart."""
        return self if m == 1 else replace(self, epsilon=m * self.epsilon)


@dataclass(frozen=True, slots=True, repr=False)
class ApproxDP(_Stated):
    """(ε, δ)-differential privacy."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approximate"

    def steps(self, m: int) -> ApproxDP:
        """Return what holds between data sets that are m neighbours apart."""
        if m == 1:
            return self
        delta = _delta_of_steps(self.epsilon, self.delta, m)
        return replace(self, epsilon=m * self.epsilon, delta=delta)


@dataclass(frozen=True, slots=True, repr=False)
class ProbabilisticDP(_Stated):
    """(ε, δ)-probabilistic differential privacy. Not preserved by post-processing."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "probabilistic"

    def as_approx(self) -> ApproxDP:
        """Return the (ε, δ)-DP that it implies with the same parameters (KSZ Cor. 3.12)."""
        return ApproxDP(self.epsilon, self.delta, adjacency=self.adjacency)

    def steps(self, m: int) -> ProbabilisticDP | ApproxDP:
        """Return what holds m neighbours apart: of the (ε, δ)-DP that it implies, beyond one.

        The exceptional events of two steps need not combine.
        """
        return self if m == 1 else self.as_approx().steps(m)


@dataclass(frozen=True, slots=True, repr=False)
class ZCDP(_Stated):
    """ρ-zero-concentrated differential privacy."""

    rho: float
    kind: ClassVar[str] = "concentrated"

    def steps(self, m: int) -> ZCDP:
        """Return what holds between data sets that are m neighbours apart."""
        return self if m == 1 else replace(self, rho=m * m * self.rho)


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyCurve(_Stated):
    """The whole curve δ(ε) of a mechanism: for every real ε an upper bound of its δ.

    `delta_at` must be non-increasing and never below the true δ(ε), for *both* orders of the
    neighbours (where adding and removing differ, the larger of the two).
    """

    name: str
    delta_at: Callable[[float], float]
    kind: ClassVar[str] = "curve"

    def at(self, epsilon: float) -> ApproxDP:
        """Return the point of the curve at ε."""
        delta = min(1.0, max(0.0, self.delta_at(_check("epsilon", epsilon))))
        return ApproxDP(epsilon, delta, adjacency=self.adjacency)

    def steps(self, m: int) -> PrivacyCurve:
        """Return what holds between data sets that are m neighbours apart, point by point."""
        if m == 1:
            return self
        return replace(self, delta_at=lambda epsilon: self.at(epsilon / m).steps(m).delta)

    def to_dict(self) -> dict[str, Any]:
        """Return what can be said of a function: its name and adjacency."""
        return super(PrivacyCurve, self).to_dict() | {"name": self.name}

    def __repr__(self) -> str:
        return f"PrivacyCurve({self.name!r}, adjacency={self.adjacency.value!r})"

    def __str__(self) -> str:
        return repr(self)


def _delta_of_steps(epsilon: float, delta: float, m: int) -> float:
    """δ(e^{mε}−1)/(e^ε−1) = δ Σ e^{jε}, rounded up, at most 1."""
    if delta == 0:
        return 0.0
    if m * epsilon > 700:
        return 1.0
    grown = m if epsilon == 0 else math.expm1(m * epsilon) / math.expm1(epsilon)
    return min(1.0, up(delta * grown))


Guarantee: TypeAlias = PureDP | ApproxDP | ProbabilisticDP | ZCDP | PrivacyCurve


def stated(
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    *,
    adjacency: str = Adjacency.ADD_REMOVE,
) -> PureDP | ApproxDP | ZCDP:
    """Return the guarantee that has these parameters: ρ alone, or ε with or without a δ.

    >>> stated(0.5, 1e-6), stated(0.5, 0.0)
    (ApproxDP(epsilon=0.5, delta=1e-06, adjacency='add-remove'),
     PureDP(epsilon=0.5, adjacency='add-remove'))
    """
    where = Adjacency.of(adjacency)
    if (epsilon is None) == (rho is None) or (rho is not None and delta):
        raise InputError("guarantees.one_budget")
    if rho is not None:
        return ZCDP(rho, adjacency=where)
    assert epsilon is not None  # noqa: S101  (one of the two is given)
    if not delta:
        return PureDP(epsilon, adjacency=where)
    return ApproxDP(epsilon, delta, adjacency=where)


def of_kind(kind: str, said: Mapping[str, Any], *, adjacency: str) -> Guarantee:
    """Return a guarantee of a kind that has parameters, as `to_dict` writes it."""
    known = {one.kind: one for one in (PureDP, ApproxDP, ProbabilisticDP, ZCDP)}
    if kind not in known:
        raise InputError("guarantees.unknown_kind", kind=kind, known=", ".join(known))
    own = known[kind]
    values = {name: said[name] for name in _SIGNS if name in own.__dataclass_fields__}
    return own(**values, adjacency=Adjacency.of(adjacency))

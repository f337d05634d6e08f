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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, TypeAlias

from discreet.errors import GuaranteeError, InputError
from discreet.rounding import number, up

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
    "finite_or_null",
    "parameters",
]


_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


class Named(StrEnum):
    """One of a few things that have names."""

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the one of that name, or say which names there are."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(one.value for one in cls)
            what = cls.__name__.lower()
            raise InputError(f"{what} is {name!r}; it must be one of: {known}.") from None


class Adjacency(Named):
    """Which data sets are neighbours."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"
    LOCAL = "local"


def _check(name: str, value: float, *, low: float = 0.0, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name} is {value!r}; it must be a number.")
    if math.isnan(value):
        raise InputError(f"{name} is NaN; it must be a number, {low:g} or more.")
    if not low <= value <= high:
        span = f"{low:g} or more" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise InputError(f"{name} is {value:g}; it must be {span}.")
    return float(value)


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
    figures: int | None = 5,
) -> str:
    """Return `{epsilon, delta, rho}` as people write it; spending rounded up, the rest down.

    Without a number of figures, every digit is shown.

    >>> amount({"epsilon": 0.5, "delta": 1e-6, "rho": None}, "up", "nothing")
    'ε = 0.5, δ = 1e-06'
    """

    def shown(x: float) -> str:
        if figures is not None:
            return number(x, side, figures)
        return repr(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(x)

    found = [
        f"{sign} = {shown(said[name])}"
        for name, sign in _SIGNS.items()
        if said.get(name) is not None
    ]
    return ", ".join(found) or nothing


def _figures(x: float, side: Literal["up", "down"]) -> str:
    return f"{x:g}" if math.isinf(x) else number(x, side, 6).replace(",", "")


@dataclass(frozen=True, slots=True)
class _Stated:
    """A guarantee stated under an adjacency."""

    adjacency: Adjacency = field(default=Adjacency.ADD_REMOVE, kw_only=True)
    kind: ClassVar[str]

    def _check_adjacency(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    def _same_or_refuse(self, adjacency: Adjacency) -> None:
        raise GuaranteeError(
            f"{self} is stated under {self.adjacency.value!r}; no theorem leads from there to "
            f"{adjacency.value!r}. State the guarantee under {adjacency.value!r} from the "
            "sensitivity of the mechanism itself."
        )


@dataclass(frozen=True, slots=True)
class PureDP(_Stated):
    """ε-differential privacy.

    >>> PureDP(1.0).under("replace")
    PureDP(epsilon=2.0, adjacency='replace')
    """

    epsilon: float
    kind: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        self._check_adjacency()
        object.__setattr__(self, "epsilon", _check("epsilon", self.epsilon))

    def under(self, adjacency: str) -> PureDP:
        """Restate under another adjacency where a theorem allows; refuse otherwise."""
        target = Adjacency.of(adjacency)
        if target == self.adjacency:
            return self
        if (self.adjacency, target) != (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
            self._same_or_refuse(target)
        return replace(self.steps(2), adjacency=target)

    def steps(self, m: int) -> PureDP:
        """Return what holds between data sets that are m neighbours apart."""
        return self if m == 1 else replace(self, epsilon=m * self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON-ready values."""
        return parameters(epsilon=self.epsilon) | _stated(self)

    def __repr__(self) -> str:
        return f"PureDP(epsilon={self.epsilon!r}, adjacency={self.adjacency.value!r})"

    def said(self, side: Literal["up", "down"] = "up") -> str:
        """Return it as people write it, its numbers rounded to a side: a promise is rounded up."""
        return f"{_figures(self.epsilon, side)}-DP"

    def __str__(self) -> str:
        return self.said()


@dataclass(frozen=True, slots=True)
class ApproxDP(_Stated):
    """(ε, δ)-differential privacy."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        self._check_adjacency()
        object.__setattr__(self, "epsilon", _check("epsilon", self.epsilon))
        object.__setattr__(self, "delta", _check("delta", self.delta, high=1.0))

    def under(self, adjacency: str) -> ApproxDP:
        """Restate under another adjacency where a theorem allows; refuse otherwise."""
        target = Adjacency.of(adjacency)
        if target == self.adjacency:
            return self
        if (self.adjacency, target) != (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
            self._same_or_refuse(target)
        return replace(self.steps(2), adjacency=target)

    def steps(self, m: int) -> ApproxDP:
        """Return what holds between data sets that are m neighbours apart."""
        if m == 1:
            return self
        delta = _delta_of_steps(self.epsilon, self.delta, m)
        return replace(self, epsilon=m * self.epsilon, delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON-ready values."""
        return parameters(epsilon=self.epsilon, delta=self.delta) | _stated(self)

    def __repr__(self) -> str:
        return (
            f"ApproxDP(epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"adjacency={self.adjacency.value!r})"
        )

    def said(self, side: Literal["up", "down"] = "up") -> str:
        """Return it as people write it, its numbers rounded to a side: a promise is rounded up."""
        return f"({_figures(self.epsilon, side)}, {_figures(self.delta, side)})-DP"

    def __str__(self) -> str:
        return self.said()


@dataclass(frozen=True, slots=True)
class ProbabilisticDP(_Stated):
    """(ε, δ)-probabilistic differential privacy. Not preserved by post-processing."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "probabilistic"

    def __post_init__(self) -> None:
        self._check_adjacency()
        object.__setattr__(self, "epsilon", _check("epsilon", self.epsilon))
        object.__setattr__(self, "delta", _check("delta", self.delta, high=1.0))

    def as_approx(self) -> ApproxDP:
        """Return the (ε, δ)-DP that it implies with the same parameters (KSZ Cor. 3.12)."""
        return ApproxDP(self.epsilon, self.delta, adjacency=self.adjacency)

    def steps(self, m: int) -> ProbabilisticDP | ApproxDP:
        """Return what holds m neighbours apart: of the (ε, δ)-DP that it implies, beyond one."""
        return self if m == 1 else self.as_approx().steps(m)

    def under(self, adjacency: str) -> ProbabilisticDP:
        """Refuse any other adjacency: the exceptional events of two steps need not combine."""
        target = Adjacency.of(adjacency)
        if target != self.adjacency:
            self._same_or_refuse(target)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON-ready values."""
        return parameters(epsilon=self.epsilon, delta=self.delta) | _stated(self)

    def __repr__(self) -> str:
        return (
            f"ProbabilisticDP(epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"adjacency={self.adjacency.value!r})"
        )

    def said(self, side: Literal["up", "down"] = "up") -> str:
        """Return it as people write it, its numbers rounded to a side: a promise is rounded up."""
        return f"({_figures(self.epsilon, side)}, {_figures(self.delta, side)})-probabilistic DP"

    def __str__(self) -> str:
        return self.said()


@dataclass(frozen=True, slots=True)
class ZCDP(_Stated):
    """ρ-zero-concentrated differential privacy."""

    rho: float
    kind: ClassVar[str] = "concentrated"

    def __post_init__(self) -> None:
        self._check_adjacency()
        object.__setattr__(self, "rho", _check("rho", self.rho))

    def under(self, adjacency: str) -> ZCDP:
        """Restate under another adjacency where a theorem allows; refuse otherwise."""
        target = Adjacency.of(adjacency)
        if target == self.adjacency:
            return self
        if (self.adjacency, target) != (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
            self._same_or_refuse(target)
        return replace(self.steps(2), adjacency=target)

    def steps(self, m: int) -> ZCDP:
        """Return what holds between data sets that are m neighbours apart."""
        return self if m == 1 else replace(self, rho=m * m * self.rho)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON-ready values."""
        return parameters(rho=self.rho) | _stated(self)

    def __repr__(self) -> str:
        return f"ZCDP(rho={self.rho!r}, adjacency={self.adjacency.value!r})"

    def said(self, side: Literal["up", "down"] = "up") -> str:
        """Return it as people write it, its numbers rounded to a side: a promise is rounded up."""
        return f"{_figures(self.rho, side)}-zCDP"

    def __str__(self) -> str:
        return self.said()


@dataclass(frozen=True, slots=True)
class PrivacyCurve(_Stated):
    """The whole curve δ(ε) of a mechanism: for every real ε an upper bound of its δ.

    `delta_at` must be non-increasing and never below the true δ(ε), for *both* orders of the
    neighbours (where adding and removing differ, the larger of the two).
    """

    name: str
    delta_at: Callable[[float], float]
    kind: ClassVar[str] = "curve"

    def __post_init__(self) -> None:
        self._check_adjacency()

    def at(self, epsilon: float) -> ApproxDP:
        """Return the point of the curve at ε."""
        delta = min(1.0, max(0.0, self.delta_at(_check("epsilon", epsilon))))
        return ApproxDP(epsilon, delta, adjacency=self.adjacency)

    def under(self, adjacency: str) -> PrivacyCurve:
        """Restate under replace by the group property, point by point; refuse any other step."""
        target = Adjacency.of(adjacency)
        if target == self.adjacency:
            return self
        if (self.adjacency, target) != (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
            self._same_or_refuse(target)
        return replace(self.steps(2), adjacency=target)

    def steps(self, m: int) -> PrivacyCurve:
        """Return what holds between data sets that are m neighbours apart, point by point."""
        if m == 1:
            return self
        return replace(self, delta_at=lambda epsilon: self.at(epsilon / m).steps(m).delta)

    def to_dict(self) -> dict[str, Any]:
        """Return what can be said of a function: its name and adjacency."""
        return parameters() | _stated(self) | {"name": self.name}

    def __repr__(self) -> str:
        return f"PrivacyCurve({self.name!r}, adjacency={self.adjacency.value!r})"


def _delta_of_steps(epsilon: float, delta: float, m: int) -> float:
    """δ(e^{mε}−1)/(e^ε−1) = δ Σ e^{jε}, rounded up, at most 1."""
    if delta == 0:
        return 0.0
    if m * epsilon > 700:
        return 1.0
    grown = m if epsilon == 0 else math.expm1(m * epsilon) / math.expm1(epsilon)
    return min(1.0, up(delta * grown))


Guarantee: TypeAlias = PureDP | ApproxDP | ProbabilisticDP | ZCDP | PrivacyCurve


def _stated(guarantee: _Stated) -> dict[str, Any]:
    return {"kind": guarantee.kind, "adjacency": guarantee.adjacency.value}

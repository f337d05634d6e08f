"""Exact amounts of budget, and what a release costs on an account: the sum under its filter.

Notation. An amount has up to three coordinates, ε, δ and ρ; None where one does not apply.

A charge is read as the decimal that it prints: 0.1 is one tenth, as the person who wrote it meant,
and not the double next to it. Sums and squares of decimals are finite decimals, so they are kept
exactly (the context below traps any rounding): a million charges drift by nothing, ten charges of
0.1 fill a cap of 1 and not one more fits. The double that carries a decimal lies within half a unit
in the last place of it, a relative 1.1e-16; budgets are rounded down by sixteen units when they are
recommended (`discreet.rounding`), which covers it.

Doubles come back only at the edge: what was spent is rounded up, what is left is rounded down.

Filters: the rules of adding up where budgets are chosen after seeing the earlier releases.

- pure: Σε ≤ cap. Takes ε-DP.
- basic: Σε and Σδ within their caps. Takes ε-DP and (ε, δ)-DP.
- zcdp: Σρ and Σδ within their caps. Takes ρ-zCDP as ρ, ε-DP as ε²/2, the exponential mechanism as
  ε²/8, and (ε, δ)-DP as δ-approximate ε²/2.

Theorems: Rogers, Roth, Ullman and Vadhan 2016 (ε and δ); Whitehouse, Ramdas, Rogers and Wu 2023
(ρ). Optimal and curve accounting of what was *realised* is not a filter: at a cap of (1, 1e-3) an
adaptive spender reaches δ near 2e-3 that way. Nor is the smallest of several rules, taken
afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from discreet.errors import InputError, PolicyError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    Named,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
    amount,
    figures_added,
    figures_apart,
    of_kind,
    parameters,
    stated,
)
from discreet.laws import Exponential
from discreet.numerics import exact, float_down, float_up, root_down
from discreet.promises import Promise
from discreet.reading import line
from discreet.words import say

# From 1e616 (the square of the largest double) to 1e-648 (of the smallest) there are 1,300 digits.
EXACT = Context(
    prec=4_000,
    Emax=9_999_999,
    Emin=-9_999_999,
    traps=[Clamped, Inexact, InvalidOperation, Overflow],
)
ZERO = Decimal(0)
_NAMES = ("epsilon", "delta", "rho")


def _text(x: Decimal) -> str:
    """Return the one way in which this decimal is written in an entry."""
    short = x.normalize(EXACT)
    return format(short, "f") if -20 < short.adjusted() < 20 else str(short)


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact amount of budget, coordinate by coordinate.

    >>> tenth = Amount.of(epsilon=0.1)
    >>> tenth.plus(tenth).plus(tenth)
    Amount(epsilon=0.3)
    """

    epsilon: Decimal | None = None
    delta: Decimal | None = None
    rho: Decimal | None = None

    @classmethod
    def of(
        cls,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
    ) -> Amount:
        """Return the amount that these numbers print as; each finite and not negative."""
        given = {"epsilon": epsilon, "delta": delta, "rho": rho}
        found = {name: value for name, value in given.items() if value is not None}
        for name, value in found.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError("ledger.not_a_number", name=name, value=value)
            if math.isnan(value):
                raise InputError("ledger.nan", name=name)
            if not 0 <= value < math.inf:
                raise InputError("ledger.not_finite", name=name, value=value)
            if name == "delta" and value > 1:
                raise InputError("ledger.delta_above_one", value=value)
        return cls(**{name: exact(value) for name, value in found.items()})

    @property
    def lead(self) -> Decimal:
        """The coordinate that is not δ: ε, or ρ."""
        return self.rho if self.rho is not None else self.epsilon or ZERO

    def coordinates(self) -> dict[str, Decimal]:
        """Return the coordinates that apply, by name."""
        return {n: value for n in _NAMES if (value := getattr(self, n)) is not None}

    def _with(self, other: Amount, operation: Callable[[Decimal, Decimal], Decimal]) -> Amount:
        theirs = other.coordinates()
        return Amount(**{n: operation(v, theirs[n]) for n, v in self.coordinates().items()})

    def least(self, other: Amount) -> Amount:
        """Return the smaller of both in every coordinate."""
        return self._with(other, min)

    def plus(self, other: Amount) -> Amount:
        """Return the exact sum; both must have the same coordinates."""
        return self._with(other, EXACT.add)

    def minus(self, other: Amount) -> Amount:
        """Return what is left of this after the other, never below zero."""
        return self._with(other, lambda mine, theirs: max(ZERO, EXACT.subtract(mine, theirs)))

    def times(self, count: int) -> Amount:
        """Return this amount so many times over, exactly."""
        many = Decimal(count)
        return Amount(**{n: EXACT.multiply(v, many) for n, v in self.coordinates().items()})

    def within(self, cap: Amount) -> bool:
        """Whether no coordinate passes the cap's."""
        theirs = cap.coordinates()
        return all(v <= theirs[n] for n, v in self.coordinates().items())

    def floats(self, side: Literal["up", "down"]) -> dict[str, float]:
        """Return the coordinates as doubles, rounded to a side."""
        rounded = float_up if side == "up" else float_down
        return {name: rounded(value) for name, value in self.coordinates().items()}

    def to_dict(self, side: Literal["up", "down"] = "up") -> dict[str, Any]:
        """Return `{epsilon, delta, rho}` as doubles: spending rounded up, what is left down."""
        return parameters(**self.floats(side))

    def stored(self) -> dict[str, str]:
        """Return the exact decimals as text, the form that an entry keeps."""
        return {name: _text(value) for name, value in self.coordinates().items()}

    @classmethod
    def restored(cls, stored: Mapping[str, str]) -> Amount:
        """Read back what `stored` wrote."""
        return cls(**{name: Decimal(text) for name, text in stored.items()})

    def limit_text(self) -> str:
        """Say a cap or what is left of it, rounded down: never more than there is."""
        return amount(self.floats("down"), "down", "")

    def beside(self, cap: Amount, *others: Amount) -> tuple[str, str]:
        """Say what is spent and its cap, with figures enough that they do not contradict.

        What is spent passes no `others` either, other limits that are shown of the same account.
        """
        spent, most = self.floats("up"), cap.floats("down")
        for limit in filter(self.within, (cap, *others)):
            # What is within a limit may pass it once it is rounded up, and is the limit then.
            spent = {name: min(x, limit.floats("down")[name]) for name, x in spent.items()}
        figures = figures_apart(spent, most, *(limit.floats("down") for limit in others))
        left = cap.minus(self).floats("down") if self.within(cap) else {}
        return amount(spent, "up", "", figures), amount(
            most, "down", "", figures_added(spent, left, most)
        )

    def needed_beside(self, spent: Amount, cap: Amount) -> dict[str, str]:
        """Say what a charge needs, what is spent and the cap: one amount in the same figures."""
        (needs, most), (used, limit) = self.beside(cap), spent.beside(cap)
        return {"needs": needs, "spent": used, "cap": max(most, limit, key=len)}

    def __str__(self) -> str:
        return amount(self.floats("up"), "up", "")

    def __repr__(self) -> str:
        return f"Amount({', '.join(f'{n}={_text(v)}' for n, v in self.coordinates().items())})"


EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class Charge:
    """One mechanism call to be charged: what it promises, and the mechanism where that matters.

    `mechanism="exponential"` with ε-DP costs ε²/8 on a zCDP account instead of ε²/2.
    """

    guarantee: Guarantee
    mechanism: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.guarantee, PrivacyCurve):
            raise PolicyError("ledger.charge_curve", guarantee=self.guarantee.name)
        if self.guarantee.to_dict().get("unbounded"):
            raise InputError("ledger.charge_unbounded")
        if self.mechanism is not None:
            line("mechanism", self.mechanism, 100)

    def to_dict(self) -> dict[str, Any]:
        """Return the charge as JSON-ready values."""
        said = self.guarantee.to_dict()
        return said if self.mechanism is None else said | {"mechanism": self.mechanism}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Charge:
        """Read back what `to_dict` wrote."""
        guarantee = of_kind(said["kind"], said, adjacency=said["adjacency"])
        return cls(guarantee, said.get("mechanism"))


Chargeable: TypeAlias = Guarantee | Charge | Iterable[Guarantee | Charge]


def charges(of: Chargeable) -> tuple[Charge, ...]:
    """Return one release's charges as a tuple, whatever form they came in; never empty."""
    if isinstance(of, Charge):
        return (of,)
    if isinstance(of, Guarantee):
        return (Charge(of),)
    found = tuple(part if isinstance(part, Charge) else Charge(part) for part in of)
    if not found:
        raise InputError("ledger.charge_empty")
    return found


class Filter(Named):
    """The rule by which an account adds up, fixed when it is opened."""

    PURE = "pure"
    BASIC = "basic"
    ZCDP = "zcdp"

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Which of ε, δ and ρ this filter adds up."""
        return {
            Filter.PURE: ("epsilon",),
            Filter.BASIC: ("epsilon", "delta"),
            Filter.ZCDP: ("rho", "delta"),
        }[self]

    @classmethod
    def needed(
        cls,
        cap: Guarantee | Amount | None,
        delta: float | None = None,
        promises: Iterable[Promise] = (),
    ) -> str:
        """Return the filter for a cap and a δ, or for promises alone, where none is named."""
        from discreet.budgets.keeping import rule_for

        sure = cap is None and any(promise.confidence is not None for promise in promises)
        rho = getattr(cap, "rho", None) is not None
        return rule_for(sure=sure, delta=delta or getattr(cap, "delta", None), rho=rho)

    @property
    def zero(self) -> Amount:
        """Nothing spent."""
        return Amount(**dict.fromkeys(self.coordinates, ZERO))

    def limit(self, of: Guarantee | Amount, *, lead: bool = True) -> Amount:
        """Read a cap: a guarantee or an amount in this filter's coordinates; what is left out is 0.

        A cap must say ε, or ρ; what a cap is raised by (`lead=False`) may be δ alone.
        """
        amount = of if isinstance(of, Amount) else _plain(of)
        given = amount.coordinates()
        if (lead and self.coordinates[0] not in given) or not {*given} <= {*self.coordinates}:
            names = " and ".join(self.coordinates)
            raise InputError("ledger.cap_coordinates", of=of, value=self.value, names=names)
        return Amount(**{n: given.get(n, ZERO) for n in self.coordinates})

    def cost(self, of: Chargeable) -> Amount:
        """Return what these charges cost under this filter, exactly; refuse what it cannot take."""
        total = self.zero
        for charge in charges(of):
            total = total.plus(self._one(charge))
        return total

    def _one(self, charge: Charge) -> Amount:
        g = charge.guarantee
        delta = Fraction(exact(getattr(g, "delta", 0.0)))
        if isinstance(g, ZCDP) and self is Filter.ZCDP:
            lead = Fraction(exact(g.rho))
        elif isinstance(g, PureDP | ApproxDP | ProbabilisticDP) and (
            self is not Filter.PURE or delta == 0
        ):
            lead = Fraction(exact(g.epsilon))
            if self is Filter.ZCDP:
                chosen = charge.mechanism == EXPONENTIAL and isinstance(g, PureDP)
                lead = lead**2 / (Exponential.rho_divisor if chosen else 2)
        else:
            if self is Filter.BASIC:
                raise PolicyError("ledger.basic_cannot_take", g=g)
            fitting = "zcdp" if isinstance(g, ZCDP) else "basic"
            raise PolicyError("ledger.pure_cannot_take", g=g, fitting=fitting)
        values = (EXACT.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (lead, delta))
        return Amount(**dict(zip(self.coordinates, values, strict=False)))

    def charges(self, amount: Amount, adjacency: Adjacency) -> tuple[Charge, ...]:
        """Return charges that cost this amount, rounded up to doubles."""
        numbers = amount.floats("up")
        delta = numbers.get("delta", 0.0)
        if self is not Filter.ZCDP:
            return (Charge(stated(numbers["epsilon"], delta, adjacency=adjacency)),)
        concentrated = Charge(ZCDP(numbers["rho"], adjacency=adjacency))
        failing = (Charge(ApproxDP(0.0, delta, adjacency=adjacency)),) if delta else ()
        return (concentrated, *failing)

    def fitting(self, of: Chargeable, left: Amount) -> Charge | None:
        """Return the largest single charge of the same kind that still fits, rounded down.

        None where nothing is left, or no δ for one that needs it, or the release has several.
        """
        first, *more = charges(of)
        g, rho = first.guarantee, left.rho
        if more or not left.lead or (isinstance(g, ZCDP) and rho is None):
            return None
        numbers = {"epsilon": float_down(left.lead), "rho": float_down(left.lead)}
        if rho is not None:
            divisor = Exponential.rho_divisor if first.mechanism == EXPONENTIAL else 2
            numbers["epsilon"] = root_down(rho * divisor)
        delta = getattr(g, "delta", 0.0)
        numbers["delta"] = min(delta, float_down(left.delta or ZERO))
        if delta and not numbers["delta"]:
            return None
        return Charge(of_kind(g.kind, numbers, adjacency=g.adjacency), first.mechanism)


def lacks_delta(cost: Amount, left: Amount) -> bool:
    """Whether what keeps a cost from fitting is its δ, though some ε or ρ is left."""
    return bool(left.lead) and (cost.delta or ZERO) > (left.delta or ZERO)


def said_to_fit(fits: Charge | None, *, delta: bool = False) -> str:
    """Say which single charge would still fit; if none does, whether for want of a δ."""
    if fits is None:
        return say("ledger.no_delta_left" if delta else "ledger.nothing_fits")
    charge = amount(fits.guarantee.to_dict(), "down", say("ledger.nothing"))
    return say("ledger.would_fit", charge=charge)


def _plain(guarantee: Guarantee) -> Amount:
    if isinstance(guarantee, PrivacyCurve):
        raise InputError("ledger.cap_curve")
    return Amount.of(**{name: getattr(guarantee, name, None) for name in _NAMES})

"""What a release costs on an account: the sum of its charges, under the account's filter.

Notation. ε, δ, ρ of one charge; Σ over everything charged to the account so far, this included.

The rules and their theorems are those of `discreet.composition.filters`: `pure` adds up ε, `basic`
ε and δ, `zcdp` ρ and δ. Here they meet amounts: exact decimals in the filter's coordinates, caps in
the same ones, and the largest charge that still fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.composition.filters import cost
from discreet.errors import GuaranteeError, InputError, PolicyError
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
    of_kind,
    stated,
)
from discreet.laws import Exponential
from discreet.ledger.amounts import ZERO, Amount, exact_ratio
from discreet.numerics import float_down, root_down
from discreet.reading import line
from discreet.words import say

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
        if any(math.isinf(x) for x in _numbers(self.guarantee)):
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
    if isinstance(of, (PureDP, ApproxDP, ProbabilisticDP, ZCDP, PrivacyCurve)):
        return (Charge(of),)
    found = tuple(part if isinstance(part, Charge) else Charge(part) for part in of)
    if not found:
        raise InputError("ledger.charge_empty")
    return found


def _numbers(guarantee: Guarantee) -> tuple[float, ...]:
    names = ("epsilon", "delta", "rho")
    return tuple(getattr(guarantee, name) for name in names if hasattr(guarantee, name))


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

    @property
    def zero(self) -> Amount:
        """Nothing spent."""
        return Amount(**dict.fromkeys(self.coordinates, ZERO))

    def limit(self, of: Guarantee | Amount, *, lead: bool = True) -> Amount:
        """Read a cap: a guarantee or an amount in this filter's coordinates; what is left out is 0.

        A cap must say ε, or ρ; what a cap is raised by (`lead=False`) may be δ alone.
        """
        amount = of if isinstance(of, Amount) else _plain(of)
        given = {n for n in ("epsilon", "delta", "rho") if getattr(amount, n) is not None}
        leading, *rest = self.coordinates
        if (lead and leading not in given) or not given <= {leading, *rest}:
            names = " and ".join(self.coordinates)
            raise InputError("ledger.cap_coordinates", of=of, value=self.value, names=names)
        return self.zero.plus(Amount(**{n: getattr(amount, n) or ZERO for n in self.coordinates}))

    def cost(self, of: Chargeable) -> Amount:
        """Return what these charges cost under this filter, exactly; refuse what it cannot take."""
        total = self.zero
        for charge in charges(of):
            total = total.plus(self._one(charge))
        return total

    def _one(self, charge: Charge) -> Amount:
        g = charge.guarantee
        subject: Guarantee | Exponential = g
        if charge.mechanism == EXPONENTIAL and isinstance(g, PureDP) and g.epsilon > 0:
            subject = Exponential(g.epsilon)
        try:
            lead, delta = cost(self.value, subject)
        except GuaranteeError:
            fitting = "'zcdp'" if isinstance(g, ZCDP) else "'basic' or 'zcdp'"
            raise PolicyError(
                "ledger.filter_cannot_take", value=self.value, g=g, fitting=fitting
            ) from None
        values = (exact_ratio(lead), exact_ratio(delta))
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
        if more:
            return None
        g, adjacency = first.guarantee, first.guarantee.adjacency
        if not (left.epsilon or left.rho):
            return None
        if isinstance(g, ZCDP) and left.rho is not None:
            return Charge(ZCDP(float_down(left.rho), adjacency=adjacency))
        if isinstance(g, (ZCDP, PrivacyCurve)):
            return None
        if left.epsilon is not None:
            epsilon = float_down(left.epsilon)
        else:
            bounded_range = first.mechanism == EXPONENTIAL
            epsilon = root_down((left.rho or ZERO) * (8 if bounded_range else 2))
        if isinstance(g, PureDP):
            return Charge(PureDP(epsilon, adjacency=adjacency), first.mechanism)
        delta = min(g.delta, float_down(left.delta)) if left.delta is not None else 0.0
        if g.delta and not delta:
            return None
        return Charge(type(g)(epsilon, delta, adjacency=adjacency), first.mechanism)


def said_to_fit(fits: Charge | None) -> str:
    """Say which single charge would still fit."""
    if fits is None or isinstance(fits.guarantee, PrivacyCurve):
        return say("ledger.nothing_fits")
    charge = amount(fits.guarantee.to_dict(), "down", say("ledger.nothing"))
    return say("ledger.would_fit", charge=charge)


def _plain(guarantee: Guarantee) -> Amount:
    if isinstance(guarantee, PureDP):
        return Amount.of(epsilon=guarantee.epsilon)
    if isinstance(guarantee, ZCDP):
        return Amount.of(rho=guarantee.rho)
    if isinstance(guarantee, PrivacyCurve):
        raise InputError("ledger.cap_curve")
    return Amount.of(epsilon=guarantee.epsilon, delta=guarantee.delta)

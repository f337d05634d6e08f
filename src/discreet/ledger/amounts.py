"""Exact amounts of budget: what was charged, capped, spent and left.

Notation. An amount has up to three coordinates, ε, δ and ρ; None where one does not apply.

A charge is read as the decimal that it prints: 0.1 is one tenth, as the person who wrote it meant,
and not the double next to it. Sums and squares of decimals are finite decimals, so they are kept
exactly (the context below traps any rounding): a million charges drift by nothing, ten charges of
0.1 fill a cap of 1 and not one more fits. The double that carries a decimal lies within half a unit
in the last place of it, a relative 1.1e-16; budgets are rounded down by sixteen units when they are
recommended (`discreet.rounding`), which covers it.

Doubles come back only at the edge: what was spent is rounded up, what is left is rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import InputError
from discreet.guarantees import amount, parameters, side_by_side
from discreet.numerics import exact, float_down, float_up

# From 1e616 (the square of the largest double) to 1e-648 (of the smallest) there are 1,300 digits.
EXACT = Context(
    prec=4_000,
    Emax=9_999_999,
    Emin=-9_999_999,
    traps=[Clamped, Inexact, InvalidOperation, Overflow],
)
ZERO = Decimal(0)
_NAMES = ("epsilon", "delta", "rho")


def exact_ratio(x: Fraction) -> Decimal:
    """Return a ratio as a decimal, exactly; it must have finitely many digits.

    >>> exact_ratio(Fraction(1, 8))
    Decimal('0.125')
    """
    return EXACT.divide(Decimal(x.numerator), Decimal(x.denominator))


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
        found: dict[str, Decimal] = {}
        for name, value in given.items():
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError("ledger.not_a_number", name=name, value=value)
            if math.isnan(value):
                raise InputError("ledger.nan", name=name)
            if not 0 <= value < math.inf:
                raise InputError("ledger.not_finite", name=name, value=value)
            if name == "delta" and value > 1:
                raise InputError("ledger.delta_above_one", value=value)
            found[name] = exact(value)
        return cls(**found)

    @property
    def lead(self) -> Decimal:
        """The coordinate that is not δ: ε, or ρ."""
        return self.rho if self.rho is not None else self.epsilon or ZERO

    def coordinates(self) -> dict[str, Decimal]:
        """Return the coordinates that apply, by name."""
        return self._each()

    def least(self, other: Amount) -> Amount:
        """Return the smaller of both in every coordinate."""
        theirs = other._each()
        return Amount(**{n: min(v, theirs[n]) for n, v in self._each().items()})

    def _each(self) -> dict[str, Decimal]:
        return {n: value for n in _NAMES if (value := getattr(self, n)) is not None}

    def plus(self, other: Amount) -> Amount:
        """Return the exact sum; both must have the same coordinates."""
        theirs = other._each()
        return Amount(**{n: EXACT.add(v, theirs[n]) for n, v in self._each().items()})

    def times(self, count: int) -> Amount:
        """Return this amount so many times over, exactly."""
        return Amount(**{n: EXACT.multiply(v, Decimal(count)) for n, v in self._each().items()})

    def minus(self, other: Amount) -> Amount:
        """Return what is left of this after the other, never below zero."""
        theirs = other._each()
        return Amount(
            **{n: max(ZERO, EXACT.subtract(v, theirs[n])) for n, v in self._each().items()}
        )

    def within(self, cap: Amount) -> bool:
        """Whether no coordinate passes the cap's."""
        theirs = cap._each()
        return all(v <= theirs[n] for n, v in self._each().items())

    def floats(self, side: Literal["up", "down"]) -> dict[str, float]:
        """Return the coordinates as doubles, rounded to a side."""
        rounded = float_up if side == "up" else float_down
        return {name: rounded(value) for name, value in self._each().items()}

    def to_dict(self, side: Literal["up", "down"] = "up") -> dict[str, Any]:
        """Return `{epsilon, delta, rho}` as doubles: spending rounded up, what is left down."""
        return parameters(**self.floats(side))

    def stored(self) -> dict[str, str]:
        """Return the exact decimals as text, the form that an entry keeps."""
        return {name: _text(value) for name, value in self._each().items()}

    @classmethod
    def restored(cls, stored: Mapping[str, str]) -> Amount:
        """Read back what `stored` wrote."""
        return cls(**{name: Decimal(text) for name, text in stored.items()})

    def limit_text(self) -> str:
        """Say a cap or what is left of it, rounded down: never more than there is."""
        return amount(self.floats("down"), "down", "")

    def beside(self, cap: Amount) -> tuple[str, str]:
        """Say what is spent and its cap, with figures enough that they do not contradict."""
        spent, most = self.floats("up"), cap.floats("down")
        if self.within(cap):
            # What is within a cap may pass it once it is rounded up, and is the cap then.
            spent = {name: min(x, most[name]) for name, x in spent.items()}
        return side_by_side(spent, most)

    def __str__(self) -> str:
        return amount(self.floats("up"), "up", "")

    def __repr__(self) -> str:
        return f"Amount({', '.join(f'{n}={_text(v)}' for n, v in self._each().items())})"

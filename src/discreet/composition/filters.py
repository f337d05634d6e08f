"""Filters: how budgets chosen as one goes add up, under a rule fixed beforehand.

Notation. ε, δ, ρ of one release, chosen after seeing the earlier ones; Σ over all of them.

- pure: Σε ≤ cap. Takes ε-DP.
- basic: Σε and Σδ within their caps. Takes ε-DP and (ε, δ)-DP.
- zcdp: Σρ and Σδ within their caps. Takes ρ-zCDP as ρ, ε-DP as ε²/2, the exponential mechanism as
  ε²/8, and (ε, δ)-DP as δ-approximate ε²/2.

Theorems: Rogers, Roth, Ullman and Vadhan 2016 (ε and δ); Whitehouse, Ramdas, Rogers and Wu 2023
(ρ). Optimal and curve accounting of what was *realised* is not a filter: at a cap of (1, 1e-3) an
adaptive spender reaches δ near 2e-3 that way. Nor is the smallest of several rules, taken
afterwards.

Sums are exact: a double is read as the decimal that it prints, so that ten times 0.1 is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet.errors import BudgetExceeded, GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, ProbabilisticDP, PureDP
from discreet.laws import Exponential, Mechanism
from discreet.rounding import number

__all__ = ["Filter", "basic", "cost", "pure", "spend", "zcdp"]

Kind: TypeAlias = Literal["pure", "basic", "zcdp"]
#: (ε or ρ, δ), exact.
Cost: TypeAlias = tuple[Fraction, Fraction]


def _exact(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def _cap(name: str, value: float) -> Fraction:
    if not isinstance(value, int | float) or math.isnan(value) or not 0 <= value < math.inf:
        raise InputError(f"the cap on {name} is {value!r}; it must be 0 or more, and finite.")
    return _exact(value)


@dataclass(frozen=True, slots=True)
class Filter:
    """A rule, its caps, and what has been spent; `spend` returns the next state."""

    kind: Kind
    cap: Cost
    spent: Cost = (Fraction(0), Fraction(0))

    @property
    def left(self) -> tuple[float, float]:
        """What may still be spent, (ε or ρ, δ), rounded down."""
        first, second = (c - s for c, s in zip(self.cap, self.spent, strict=True))
        return _floor(first), _floor(second)

    def __repr__(self) -> str:
        spent, cap = (tuple(float(x) for x in pair) for pair in (self.spent, self.cap))
        return f"Filter({self.kind!r}, spent={spent}, cap={cap})"


def pure(epsilon: float) -> Filter:
    """Return a filter that caps Σε.

    >>> account = pure(1.0)
    >>> for _ in range(10):
    ...     account = spend(account, PureDP(0.1))
    >>> account.left
    (0.0, 0.0)
    """
    return Filter("pure", (_cap("epsilon", epsilon), Fraction(0)))


def basic(epsilon: float, delta: float) -> Filter:
    """Return a filter that caps Σε and Σδ."""
    return Filter("basic", (_cap("epsilon", epsilon), _cap("delta", delta)))


def zcdp(rho: float, delta: float = 0.0) -> Filter:
    """Return a filter that caps Σρ, and Σδ of δ-approximate releases."""
    return Filter("zcdp", (_cap("rho", rho), _cap("delta", delta)))


def cost(kind: Kind, of: Guarantee | Mechanism) -> Cost:
    """Return what a release costs under a rule, or refuse what the rule does not cover."""
    stated = of.guarantee() if isinstance(of, Mechanism) else of
    if isinstance(stated, ProbabilisticDP):
        stated = stated.as_approx()
    if isinstance(stated, ZCDP) and kind == "zcdp":
        return _exact(stated.rho), Fraction(0)
    if isinstance(stated, PureDP | ApproxDP):
        epsilon = _exact(stated.epsilon)
        delta = _exact(stated.delta) if isinstance(stated, ApproxDP) else Fraction(0)
        if kind == "zcdp":
            return epsilon**2 / (8 if isinstance(of, Exponential) else 2), delta
        if kind == "basic" or delta == 0:
            return epsilon, delta
    fitting = "zcdp" if isinstance(stated, ZCDP) else "basic"
    raise GuaranteeError(
        f"a {kind!r} filter does not cover {stated!r}; restate the release, or open the account "
        f"with the filter {fitting!r}."
    )


def spend(state: Filter, of: Guarantee | Mechanism) -> Filter:
    """Return the filter after the release; refuse if a cap would be passed."""
    needs = cost(state.kind, of)
    after = (state.spent[0] + needs[0], state.spent[1] + needs[1])
    for name, total, need, spent, cap in zip(
        ("rho" if state.kind == "zcdp" else "epsilon", "delta"),
        after,
        needs,
        state.spent,
        state.cap,
        strict=True,
    ):
        if total > cap:
            raise BudgetExceeded(
                f"the release needs {name} {number(float(need), 'up', 6)}; spent "
                f"{number(float(spent), 'up', 6)} of {number(float(cap), 'down', 6)}, so "
                f"{number(_floor(cap - spent), 'down', 6)} is left and would fit."
            )
    return replace(state, spent=after)


def _floor(value: Fraction) -> float:
    nearest = float(value)
    return nearest if _exact(nearest) <= value else math.nextafter(nearest, -math.inf)

"""`compose`: many releases, one guarantee, and which theorem gave it.

Parts are promises (`PureDP`, `ApproxDP`, `ZCDP`, …) or mechanisms of `discreet.laws`, each with how
often. What is known of all parts decides which theorems apply:

| parts                          | methods                                        |
|--------------------------------|------------------------------------------------|
| promises ε or (ε, δ)           | basic, advanced, tanh, optimal, paper          |
| mechanisms with such a promise | these, and the curve of the mechanisms         |
| ρ, or ρ among others           | curve: ρ adds, the tight conversion; paper     |
| Gaussian mechanisms            | curve: their exact one; paper                  |

Without a method the smallest valid ε is returned. What the others give is in `others`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.composition import theorems
from discreet.composition.concentrated import ConcentratedLoss, zcdp_paper_epsilon
from discreet.composition.loss import PrivacyLoss, check_delta, first_below
from discreet.composition.plans import loss_of
from discreet.errors import GuaranteeError, InputError
from discreet.frames import Tabular
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
    finite_or_null,
    parameters,
)
from discreet.laws import Exponential, Mechanism
from discreet.laws.checks import whole

__all__ = ["METHODS", "Composition", "compose"]

Part: TypeAlias = Guarantee | Mechanism
METHODS = ("basic", "advanced", "tanh", "optimal", "curve", "paper")

_THEOREMS = {
    "basic": "basic composition: the epsilons and the deltas add",
    "advanced": "advanced composition (Dwork, Rothblum and Vadhan 2010; KSZ Theorem 2.8)",
    "tanh": "advanced composition with eps*tanh(eps/2) (Kairouz, Oh and Viswanath 2015)",
    "optimal": "optimal composition of the worst cases (Kairouz, Oh and Viswanath 2015)",
}
_CHOSEN_AS_ONE_GOES = "holds also for budgets chosen after seeing earlier releases"
_FIXED_PLAN = "holds for a plan fixed before the first release"


@dataclass(frozen=True, slots=True)
class Composition(Tabular):
    """One guarantee for many releases; `others` maps a method to its ε (None: does not apply)."""

    guarantee: Guarantee
    epsilon: float
    delta: float
    method: str
    theorem: str
    others: dict[str, float | None] = field(hash=False)
    assumptions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        rho = self.guarantee.rho if isinstance(self.guarantee, ZCDP) else None
        return parameters(self.epsilon, self.delta, rho) | {
            "method": self.method,
            "theorem": self.theorem,
            "others": {name: finite_or_null(value) for name, value in self.others.items()},
            "guarantee": self.guarantee.to_dict(),
            "assumptions": list(self.assumptions),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the epsilon by every method that was tried."""
        return {"method": list(self.others), "epsilon": list(self.others.values())}

    def __repr__(self) -> str:
        return (
            f"Composition(epsilon={self.epsilon:.6g}, delta={self.delta:g}, method={self.method!r})"
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts as each theorem needs them."""

    parts: tuple[tuple[Guarantee, Mechanism | None, int], ...]
    adjacency: Adjacency

    @property
    def promises(self) -> list[theorems.Promise] | None:
        """(ε, δ, k) of every part; None if one of them promises only ρ or a curve."""
        found = []
        for guarantee, _, k in self.parts:
            if isinstance(guarantee, ZCDP | PrivacyCurve):
                return None
            found.append((guarantee.epsilon, getattr(guarantee, "delta", 0.0), k))
        return found

    @property
    def mechanisms(self) -> list[tuple[Mechanism, int]] | None:
        """The mechanisms; None if one of the parts is a promise without one."""
        known = [(mechanism, k) for _, mechanism, k in self.parts if mechanism is not None]
        return known if len(known) == len(self.parts) else None

    @property
    def lost(self) -> float:
        """The sum of the δ that the promises come with."""
        return math.fsum(k * getattr(g, "delta", 0.0) for g, _, k in self.parts)


def compose(
    parts: Iterable[Part | tuple[Part, int]],
    *,
    delta: float | None = None,
    method: str | None = None,
    adjacency: str | None = None,
) -> Composition:
    """Return one guarantee for all parts, at a total δ, by a named theorem or the best one.

    Without `delta` the δ of the parts add up, and for pure DP it is 0. `adjacency` restates
    mechanisms, whose sensitivity is then the one under it; promises carry their own.

    >>> compose([(PureDP(0.1), 100)], delta=1e-6).method
    'optimal'
    """
    plan = _plan(parts, adjacency)
    total = plan.lost if delta is None else check_delta(delta)
    if method is not None and method not in METHODS:
        raise InputError(f"method is {method!r}; it must be one of: {', '.join(METHODS)}.")
    found = _all(plan, total)
    if method is None:
        valid = [(name, value) for name, value in found.items() if name != "paper"]
        chosen = _smallest([(name, value) for name, value in valid if value is not None])
        if chosen is None:
            raise GuaranteeError(
                f"delta is {total:g}, below the {plan.lost:g} that the parts give away together; "
                "give a larger delta."
            )
    elif (value := found[method]) is None:
        raise GuaranteeError(_why_not(method, plan, total))
    else:
        chosen = (method, value)
    return _result(plan, total, chosen[0], chosen[1], found)


def _result(
    plan: _Plan, delta: float, method: str, epsilon: float, others: dict[str, float | None]
) -> Composition:
    guarantee: Guarantee
    if math.isinf(epsilon):
        rho = _rho(plan)
        if rho is None or plan.lost:
            raise GuaranteeError(
                f"at delta = {delta:g} no epsilon holds; give a larger delta than {plan.lost:g}."
            )
        guarantee = ZCDP(rho, adjacency=plan.adjacency)
    elif delta == 0:
        guarantee = PureDP(epsilon, adjacency=plan.adjacency)
    else:
        guarantee = ApproxDP(epsilon, delta, adjacency=plan.adjacency)
    held = _CHOSEN_AS_ONE_GOES if method == "basic" else _FIXED_PLAN
    return Composition(
        guarantee=guarantee,
        epsilon=epsilon,
        delta=delta,
        method=method,
        theorem=_theorem(plan, method),
        others=others,
        assumptions=(f"adjacency {plan.adjacency.value}", held),
    )


def _plan(parts: Iterable[Part | tuple[Part, int]], adjacency: str | None) -> _Plan:
    found: list[tuple[Guarantee, Mechanism | None, int]] = []
    for part in parts:
        of, k = part if isinstance(part, tuple) else (part, 1)
        whole("times", k)
        carried = getattr(of, "guarantee", None)  # of what `choose` and `compose` gave back
        if isinstance(carried, Guarantee):
            of = carried
        if isinstance(of, Mechanism):
            guarantee: Guarantee = of.guarantee()
            if adjacency is not None:
                guarantee = replace(guarantee, adjacency=Adjacency.of(adjacency))
            found.append((guarantee, of, k))
        elif isinstance(of, ProbabilisticDP):
            found.append((of.as_approx(), None, k))
        elif isinstance(of, PureDP | ApproxDP | ZCDP | PrivacyCurve):
            found.append((of, None, k))
        else:
            raise InputError(
                f"a {type(of).__name__} is neither a guarantee nor a mechanism of discreet.laws; "
                "give those, or pairs of one and how often it is used."
            )
    if not found:
        raise InputError("there is nothing to compose; give at least one release.")
    neighbours = {guarantee.adjacency for guarantee, _, _ in found}
    if len(neighbours) > 1:
        names = " and ".join(sorted(a.value for a in neighbours))
        raise GuaranteeError(
            f"the parts are stated under different adjacencies ({names}); state all of them under "
            "one, for example with guarantee.under('replace')."
        )
    return _Plan(tuple(found), neighbours.pop())


def _all(plan: _Plan, delta: float) -> dict[str, float | None]:
    """Return the ε of every method, None where it does not apply."""
    found: dict[str, float | None] = dict.fromkeys(METHODS)
    promises = plan.promises
    if promises is not None:
        rules: dict[str, Callable[[Sequence[theorems.Promise], float], float | None]] = {
            "basic": theorems.basic,
            "advanced": theorems.advanced,
            "tanh": theorems.tanh_form,
            "optimal": theorems.optimal,
            "paper": theorems.paper,
        }
        found |= {name: rule(promises, delta) for name, rule in rules.items()}
    curve = _curve(plan)
    if curve is not None:
        found["curve"] = curve.epsilon(delta)
    elif any(isinstance(guarantee, PrivacyCurve) for guarantee, _, _ in plan.parts):
        found["curve"] = _on_curve(plan, delta)
    rho = _rho(plan)
    if promises is None and rho is not None and plan.lost == 0:
        found["paper"] = zcdp_paper_epsilon(rho, delta)
    return found


def _curve(plan: _Plan) -> PrivacyLoss | None:
    """The privacy loss of the mechanisms, or what the sum of ρ says of it."""
    if plan.mechanisms is not None:
        return loss_of(*plan.mechanisms, adjacency=plan.adjacency)
    rho = _rho(plan)
    if plan.promises is not None or rho is None:
        return None
    return ConcentratedLoss(rho, plan.lost, plan.adjacency, f"{rho:g}-zCDP")


def _rho(plan: _Plan) -> float | None:
    """Σρ, a pure ε as ε²/2, an exponential mechanism as ε²/8; None with a curve among the parts."""
    total = Fraction(0)
    for guarantee, mechanism, k in plan.parts:
        if isinstance(guarantee, PrivacyCurve):
            return None
        if isinstance(guarantee, ZCDP):
            total += k * Fraction(guarantee.rho)
        else:
            share = 8 if isinstance(mechanism, Exponential) else 2
            total += k * Fraction(guarantee.epsilon) ** 2 / share
    value = float(total)
    return value if Fraction(value) >= total else math.nextafter(value, math.inf)


def _on_curve(plan: _Plan, delta: float) -> float:
    curve, _, times = plan.parts[0]
    if not isinstance(curve, PrivacyCurve) or len(plan.parts) > 1 or times > 1:
        raise GuaranteeError(
            "a curve alone does not say what it costs together with other uses; compose the "
            "mechanisms or the events behind it."
        )
    high = 1.0
    while curve.delta_at(high) > delta:
        high *= 2
        if high > 1e9:
            return math.inf
    return 0.0 if curve.delta_at(0.0) <= delta else first_below(curve.delta_at, delta, 0.0, high)


def _smallest(valid: list[tuple[str, float]]) -> tuple[str, float] | None:
    """The smallest ε; a simpler theorem wins a tie."""
    best: tuple[str, float] | None = None
    for name, value in valid:
        if best is None or value < best[1] * (1 - 1e-12):
            best = (name, value)
    return best


def _theorem(plan: _Plan, method: str) -> str:
    if method == "curve":
        if plan.mechanisms is not None:
            return "the privacy loss of the mechanisms themselves"
        return "rho adds; tight conversion (Canonne, Kamath and Steinke 2020)"
    if method == "paper":
        if plan.promises is None:
            return "rho + 2 sqrt(rho log(1/delta)) (KSZ Example 4.1)"
        return "optimal composition on the printed rungs (KSZ Theorem 2.8)"
    return _THEOREMS[method]


def _why_not(method: str, plan: _Plan, delta: float) -> str:
    if plan.promises is None and method != "curve":
        return (
            f"method {method!r} composes promises (epsilon, delta), and one of the parts promises "
            "only rho or a curve; use method 'curve'."
        )
    if method == "curve":
        return (
            "method 'curve' needs to know the mechanism of every part; name it, or use 'optimal'."
        )
    if method == "paper":
        return "method 'paper' composes equal promises only; use 'optimal'."
    return (
        f"method {method!r} does not apply at delta = {delta:g}: the parts give away {plan.lost:g} "
        "together; give a larger delta."
    )

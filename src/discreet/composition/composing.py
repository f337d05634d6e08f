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
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from discreet.composition.loss import check_delta
from discreet.composition.plans import Part, Releases
from discreet.composition.theorems import METHODS, THEOREMS
from discreet.errors import GuaranteeError, InputError
from discreet.frames import Tabular
from discreet.guarantees import ZCDP, Guarantee, finite_or_null, parameters, stated
from discreet.words import say


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

    >>> from discreet.guarantees import PureDP
    >>> compose([(PureDP(0.1), 100)], delta=1e-6).method
    'optimal'
    """
    releases = Releases.of(parts, adjacency)
    total = releases.lost if delta is None else check_delta(delta)
    if method is not None and method not in METHODS:
        raise InputError("composition.method_unknown", method=method, known=", ".join(METHODS))
    found = {name: theorem.epsilon(releases, total) for name, theorem in THEOREMS.items()}
    if method is None:
        method = _smallest(found)
        if method is None:
            raise GuaranteeError("composition.delta_below_parts", delta=total, lost=releases.lost)
    epsilon = found[method]
    if epsilon is None:
        _refuse(method, releases, total)
    return Composition(
        guarantee=_guarantee(releases, epsilon, total),
        epsilon=epsilon,
        delta=total,
        method=method,
        theorem=THEOREMS[method].words(releases),
        others=found,
        assumptions=(
            say("composition.assumes.adjacency", adjacency=releases.adjacency.value),
            say("composition.assumes.as_one_goes")
            if THEOREMS[method].as_one_goes
            else say("composition.assumes.fixed_plan"),
        ),
    )


def _guarantee(releases: Releases, epsilon: float, delta: float) -> Guarantee:
    where = releases.adjacency
    if math.isinf(epsilon):
        rho = releases.rho
        if rho is None or releases.lost:
            raise GuaranteeError("composition.no_epsilon", delta=delta, lost=releases.lost)
        return stated(rho=rho, adjacency=where)
    return stated(epsilon, delta, adjacency=where)


def _smallest(found: dict[str, float | None]) -> str | None:
    """The method with the smallest ε; a simpler theorem wins a tie."""
    best: tuple[str, float] | None = None
    for name, value in found.items():
        if value is None or THEOREMS[name].for_the_record:
            continue
        if best is None or value < best[1] * (1 - 1e-12):
            best = (name, value)
    return None if best is None else best[0]


def _refuse(method: str, releases: Releases, delta: float) -> NoReturn:
    if releases.promises is None and method != "curve":
        raise GuaranteeError("composition.needs_promises", method=method)
    if method in ("curve", "paper"):
        raise GuaranteeError(f"composition.{method}_does_not_apply")
    raise GuaranteeError(
        "composition.does_not_apply", method=method, delta=delta, lost=releases.lost
    )

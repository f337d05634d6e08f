"""Filters: what a release costs where budgets are chosen as one goes, under a fixed rule.

Notation. ε, δ, ρ of one release, chosen after seeing the earlier ones; Σ over all of them.

- pure: Σε ≤ cap. Takes ε-DP.
- basic: Σε and Σδ within their caps. Takes ε-DP and (ε, δ)-DP.
- zcdp: Σρ and Σδ within their caps. Takes ρ-zCDP as ρ, ε-DP as ε²/2, the exponential mechanism as
  ε²/8, and (ε, δ)-DP as δ-approximate ε²/2.

Theorems: Rogers, Roth, Ullman and Vadhan 2016 (ε and δ); Whitehouse, Ramdas, Rogers and Wu 2023
(ρ). Optimal and curve accounting of what was *realised* is not a filter: at a cap of (1, 1e-3) an
adaptive spender reaches δ near 2e-3 that way. Nor is the smallest of several rules, taken
afterwards.

Costs are exact: a double is read as the decimal that it prints, so that ten times 0.1 is 1. The
account that adds them up, and its caps, are in `discreet.ledger`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from discreet.errors import GuaranteeError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, ProbabilisticDP, PureDP
from discreet.laws.mechanism import Mechanism
from discreet.numerics import exact

Rule: TypeAlias = Literal["pure", "basic", "zcdp"]
#: (ε or ρ, δ), exact.
Cost: TypeAlias = tuple[Fraction, Fraction]


def cost(rule: Rule, of: Guarantee | Mechanism) -> Cost:
    """Return what a release costs under a rule, or refuse what the rule does not cover.

    >>> cost("zcdp", PureDP(1.0))
    (Fraction(1, 2), Fraction(0, 1))
    """
    stated = of.guarantee() if isinstance(of, Mechanism) else of
    if isinstance(stated, ProbabilisticDP):
        stated = stated.as_approx()
    if isinstance(stated, ZCDP) and rule == "zcdp":
        return Fraction(exact(stated.rho)), Fraction(0)
    if isinstance(stated, PureDP | ApproxDP):
        epsilon = Fraction(exact(stated.epsilon))
        delta = Fraction(exact(stated.delta)) if isinstance(stated, ApproxDP) else Fraction(0)
        if rule == "zcdp":
            return epsilon**2 / (of.rho_divisor if isinstance(of, Mechanism) else 2), delta
        if rule == "basic" or delta == 0:
            return epsilon, delta
    fitting = "zcdp" if isinstance(stated, ZCDP) else "basic"
    raise GuaranteeError("composition.not_covered", rule=rule, stated=stated, fitting=fitting)

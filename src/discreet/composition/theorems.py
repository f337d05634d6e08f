"""The composition theorems, for promises (εⱼ, δⱼ) of which no mechanism is known.

- basic (Dwork et al. 2006): ε = Σεⱼ, δ = Σδⱼ; also for budgets chosen as one goes. With ρ among
  the parts, Σεⱼ is added to what ρ needs at δ − Σδⱼ (`concentrated`).
- advanced (KSZ Thm 2.8(2); Dwork, Rothblum and Vadhan 2010), for δ > Σδⱼ:
      ε = Σεⱼ(e^{εⱼ}−1) + √(2 Σεⱼ² log 1/(δ−Σδⱼ)).
- tanh (Kairouz, Oh and Viswanath 2015, Thm 3.5): with 1−δ = (1−δ̃) Π(1−δⱼ),
      ε = Σεⱼ tanh(εⱼ/2) + √(2 Σεⱼ² log 1/δ̃).
- optimal: the worst case of each promise is a two-point law that gives everything away with
  probability δⱼ (ibid., and Murtagh and Vadhan 2016), and the worst cases are composed: by the
  binomial law if all are equal, for every real ε (`walk`), on a grid otherwise (`grid`).
- paper: as KSZ print it, equal promises on the rungs (k−2ℓ)ε₀ only.

- curve: the privacy loss of the mechanisms themselves; of ρ, the tight conversion.

All but basic hold for a plan fixed before the first draw. Each returns the ε for a given total δ,
rounded up, or None where the theorem does not apply. `THEOREMS` lists each once: what can be asked
for as a method, what `others` has, and what a series of releases can be added up by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from discreet.composition.concentrated import ConcentratedLoss, zcdp_paper_epsilon
from discreet.composition.loss import PrivacyLoss
from discreet.composition.stated import CurveLoss, loss_of_promise
from discreet.composition.walk import WalkLoss
from discreet.errors import GuaranteeError
from discreet.guarantees import Adjacency, PrivacyCurve
from discreet.rounding import down, up
from discreet.words import say

if TYPE_CHECKING:
    from discreet.composition.totals import Releases

#: ε, δ, and how often.
Promise: TypeAlias = tuple[float, float, int]


def _sum(values: list[float]) -> float:
    total = math.fsum(values)
    return up(total, 2) if len(values) > 1 and total > 0 else total


def _sum_of_deltas(promises: Sequence[Promise]) -> float:
    return math.fsum(k * delta for _, delta, k in promises)


def given_away(promises: Sequence[Promise]) -> float:
    """1 − Π(1−δⱼ), rounded up: the least total δ there can be."""
    if any(delta == 1 for _, delta, _ in promises):
        return 1.0
    logs = math.fsum(k * math.log1p(-delta) for _, delta, k in promises)
    return up(-math.expm1(logs)) if logs < 0 else 0.0


def basic(promises: Sequence[Promise], delta: float) -> float | None:
    """Σε, if δ covers Σδ (a sum that is off by rounding alone counts as covered)."""
    if _sum_of_deltas(promises) > delta * (1 + 1e-12):
        return None
    return _sum([k * epsilon for epsilon, _, k in promises])


def _concentration(promises: Sequence[Promise], drift: list[float], left: float) -> float | None:
    if not 0 < left < 1:
        return None
    squares = math.fsum(k * epsilon * epsilon for epsilon, _, k in promises)
    return up(math.fsum(drift) + math.sqrt(-2 * squares * math.log(left)))


def advanced(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the printed form of advanced composition."""
    drift = [k * e * (math.expm1(e) if e < 700 else math.inf) for e, _, k in promises]
    return _concentration(promises, drift, down(delta - _sum_of_deltas(promises), 8))


def tanh_form(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the tighter form, with ε tanh(ε/2) for the drift."""
    lost = given_away(promises)
    if lost >= delta:
        return None
    drift = [k * e * math.tanh(e / 2) for e, _, k in promises]
    return _concentration(promises, drift, down((delta - lost) / (1 - lost), 8))


def advanced_delta(promises: Sequence[Promise], *, printed: bool) -> Callable[[float], float]:
    """Return δ(ε) of advanced composition: the printed or the tanh form, undone for δ; rounded up.

    With the drift d = Σε(e^ε−1) or Σε tanh(ε/2) and v = Σε², δ̃ = e^{-(ε−d)²/2v}; δ = Σδ + δ̃ in the
    printed form, 1 − (1−δ̃)Π(1−δⱼ) in the other.
    """
    drift = math.fsum(
        k * e * ((math.expm1(e) if e < 700 else math.inf) if printed else math.tanh(e / 2))
        for e, _, k in promises
    )
    squares = math.fsum(k * e * e for e, _, k in promises)
    lost = up(_sum_of_deltas(promises), 8) if printed else given_away(promises)

    def delta_at(epsilon: float) -> float:
        if epsilon <= drift:
            return 1.0
        walked = math.exp(-((epsilon - drift) ** 2) / (2 * squares)) if squares > 0 else 0.0
        total = lost + walked if printed else lost + (1 - lost) * walked
        # The exponent loses what its square has of relative error; ε and d may nearly cancel.
        slack = 64 * 2.0**-52 * (1 + (epsilon - drift) * (epsilon + drift) / max(squares, 1e-300))
        return min(1.0, up(total) * (1 + slack)) if total > 0 else 0.0

    return delta_at


def worst_case(
    promises: Sequence[Promise], adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> PrivacyLoss | None:
    """Return the privacy loss of the worst releases that keep the promises; None if all ε are 0."""
    pairs = [(epsilon, k) for epsilon, _, k in promises if epsilon > 0]
    if not pairs:
        return None
    name = say("composition.worst_case")
    if len({(epsilon, delta) for epsilon, delta, _ in promises}) == 1:
        epsilon, delta, _ = promises[0]
        times = sum(k for _, k in pairs)
        return WalkLoss(epsilon, times, delta, adjacency, name, exact_proved=False)
    from discreet.composition.grid import worst_cases  # which loads NumPy

    return worst_cases(pairs, given_away(promises), adjacency, name)


def optimal(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the smallest ε that the promises imply at that δ."""
    loss = worst_case(promises)
    if loss is None:
        return 0.0 if given_away(promises) <= delta else None
    found = loss.epsilon(delta)
    return found if math.isfinite(found) else None


def paper(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the smallest rung (k−2ℓ)ε₀ that suffices; equal promises only, as KSZ print it."""
    loss = worst_case(promises)
    return loss.rung_epsilon(delta) if isinstance(loss, WalkLoss) else None


def _advanced_account(
    name: str, promises: Sequence[Promise], adjacency: Adjacency
) -> PrivacyLoss | None:
    """The theorem as a whole curve δ(ε): it is stated as ε(δ), and undone in closed form."""
    delta_at = advanced_delta(promises, printed=name == "advanced")
    return CurveLoss(PrivacyCurve(_short(name), delta_at, adjacency=adjacency))


def _basic(releases: Releases, delta: float) -> float | None:
    """Return Σε; with ρ among the parts, the least that some or all of the ε give beside it."""
    if releases.promises is not None:
        return basic(releases.promises, delta)
    beside = [loss.epsilon(delta) for theorem, loss in releases.with_rho() if theorem]
    return least if (least := min(beside, default=math.inf)) < math.inf else None


def _curve(releases: Releases, delta: float) -> float | None:
    """Return the ε of the mechanisms' own loss, of the sum of ρ, or of a curve alone."""
    if releases.mechanisms is not None:
        return releases.loss().epsilon(delta)
    rho = releases.rho
    if rho is not None:
        if releases.promises is not None:
            return None
        where = releases.adjacency
        return ConcentratedLoss(rho, releases.lost, where, f"{rho:g}-zCDP").epsilon(delta)
    (first, times), *more = releases.stated
    if more or times > 1:
        raise GuaranteeError("composition.curve_alone")
    return loss_of_promise(first).epsilon(delta)


def _paper(releases: Releases, delta: float) -> float | None:
    promises, rho = releases.promises, releases.rho
    if promises is not None:
        return paper(promises, delta)
    return None if rho is None or releases.lost else zcdp_paper_epsilon(rho, delta)


def _of_promises(
    rule: Callable[[Sequence[Promise], float], float | None], releases: Releases, delta: float
) -> float | None:
    promises = releases.promises
    return None if promises is None else rule(promises, delta)


def _no_account(promises: Sequence[Promise], adjacency: Adjacency) -> PrivacyLoss | None:
    return None


@dataclass(frozen=True, slots=True)
class Theorem:
    """A composition theorem.

    `epsilon` is its ε at a total δ, None where it does not apply; `account` the privacy loss that
    it gives a series of promises. `as_one_goes`: it holds for budgets chosen after seeing earlier
    releases. `for_the_record`: it reproduces what was printed, and is not chosen by itself.
    """

    name: str
    epsilon: Callable[[Releases, float], float | None]
    account: Callable[[Sequence[Promise], Adjacency], PrivacyLoss | None] = _no_account
    in_series: bool = True
    as_one_goes: bool = False
    for_the_record: bool = False

    def words(self, releases: Releases) -> str:
        """Say what the theorem is, and where it is from."""
        if self.name == "curve" and any(isinstance(g, PrivacyCurve) for g, _ in releases.stated):
            return say("composition.theorem.curve.given")
        if self.name in ("basic", "curve", "paper"):
            known = releases.mechanisms if self.name == "curve" else releases.promises
            return say(f"composition.theorem.{self.name}.{'rho' if known is None else 'known'}")
        return say(f"composition.theorem.{self.name}.known")


THEOREMS = {
    theorem.name: theorem
    for theorem in (
        Theorem("basic", _basic, as_one_goes=True),
        Theorem(
            "advanced", partial(_of_promises, advanced), partial(_advanced_account, "advanced")
        ),
        Theorem("tanh", partial(_of_promises, tanh_form), partial(_advanced_account, "tanh")),
        Theorem("optimal", partial(_of_promises, optimal), worst_case),
        Theorem("curve", _curve, in_series=False),
        Theorem("paper", _paper, for_the_record=True),
    )
}
METHODS = tuple(THEOREMS)
IN_SERIES = tuple(name for name, theorem in THEOREMS.items() if theorem.in_series)


def _short(name: str) -> str:
    return say(f"composition.theorem.{name}.short")


def described(name: str, method: str) -> str:
    """Return the words for a bound that rests on a theorem.

    >>> described("basic", "pure DP")
    'basic composition; pure DP'
    """
    return say("composition.by_theorem", theorem=_short(name), method=method)

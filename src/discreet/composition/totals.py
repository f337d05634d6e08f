"""The one door: from the parts of a fixed plan to the privacy loss of all of it.

A part is a promise (`PureDP`, `ApproxDP`, `ZCDP`, …) or a mechanism of `discreet.laws`, and how
often it is used. This is the one place that decides how parts are added up:

- mechanisms only: by the law of their losses;
- ρ only: Σρ;
- probabilistic DP only: the exceptional events add up, Σε and Σδ;
- ρ among ε and (ε, δ): Σρ with ε²/2 for each ε; and basic composition of the largest ε with the
  others' ρ. At every point the smallest holds;
- other promises: by the composition theorem that was asked for, or by the optimal one and the plain
  sum, of which the smaller holds at every point.

With `strength="generic"`, or a theorem by name, mechanisms count by what they promise. `delta`
fixes one point (ε, δ) of each account; without it the whole curve is used. Seen from data sets that
are m neighbours apart, the same parts add up to the loss of m steps; `nonnegative` says that no
contribution has negative values, so that two steps of Gaussian noise are 2ρ and not 4ρ.

Laws. The representation is chosen by what the plan holds:

- Gaussian releases only: one normal law (`gaussian`);
- one two-point law, k times: a binomial walk (`walk`);
- anything else that has a loss distribution of its own: one grid for all (`grid`);
- where only the promise of a mechanism is known, its worst case takes its place, and what zCDP
  gives for the whole plan is used where it is smaller; a discrete Gaussian whose sensitivity is not
  1, or whose σ is beyond any grid, has zCDP alone.

Which contribution. The loss is that of the worst change within the sensitivity. For log-concave
noise a larger shift of one value dominates a smaller one. For Laplace noise a shift by ε in one
value dominates shifts by ε₁ + ε₂ = ε in two: with g(E) = 1 − δ(E) = e^{E/2 − max(|E|, ε)/2} and S₂
= ½ at ±ε₂ and density ¼ between, the claim is ∫ e^{−(|E−l|−ε₁)⁺/2} S₂(dl) ≥ 1 for |E| ≤ ε, which
holds with equality at E = ±ε and can only grow inside. So for sensitivity in L1 one value is the
worst case; the geometric law is tested to behave alike. The Gaussian loss depends on the L2 length
alone.

`compose`: many releases, one guarantee, and which theorem gave it.

Parts are promises (`PureDP`, `ApproxDP`, `ZCDP`, …) or mechanisms of `discreet.laws`, each with how
often. What is known of all parts decides which theorems apply:

| parts                          | methods                                        |
|--------------------------------|------------------------------------------------|
| promises ε or (ε, δ)           | basic, advanced, tanh, optimal, paper          |
| mechanisms with such a promise | these, and the curve of the mechanisms         |
| ρ, or ρ among others           | curve: ρ adds, the tight conversion; paper     |
| ρ among others                 | basic: the ε add to the conversion of ρ        |
| Gaussian mechanisms            | curve: their exact one; paper                  |

Without a method the smallest valid ε is returned. What the others give is in `others`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias, Unpack

from discreet.composition import theorems
from discreet.composition.concentrated import BesideLoss, ConcentratedLoss, ZCDPLoss
from discreet.composition.curves import Bound, Sided, Strength
from discreet.composition.gaussian import GaussianLoss
from discreet.composition.loss import LossBound, PrivacyLoss, check_delta
from discreet.composition.stated import PointLoss, loss_of_promise
from discreet.composition.theorems import METHODS, THEOREMS
from discreet.composition.walk import WalkLoss
from discreet.composition.worded import Worded, release_in
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
from discreet.guarantees import (
    stated as as_stated,
)
from discreet.laws.checks import whole
from discreet.laws.mechanism import Mechanism, NormalLoss, TwoPoint
from discreet.numerics import double_above
from discreet.rounding import up
from discreet.words import say

Part: TypeAlias = Guarantee | Mechanism
#: The theorem that an account comes from, None for laws and for ρ; and the account.
Account: TypeAlias = tuple[str | None, PrivacyLoss]
_PROMISES = (PureDP, ApproxDP, ProbabilisticDP, ZCDP, PrivacyCurve)
_SPLITS = 8  # of ε beside ρ: the largest alone, the two largest, …; and all


def guarantee_of(part: Part) -> Guarantee:
    """Return what one release promises: the part itself, or the guarantee of the mechanism."""
    if isinstance(part, _PROMISES):
        return part
    if isinstance(part, Mechanism):
        return part.guarantee()
    raise GuaranteeError("composition.not_a_release", kind=type(part).__name__)


@dataclass(frozen=True, slots=True)
class Releases:
    """A fixed plan: its parts and how often each is used, and how they are added up."""

    parts: tuple[tuple[Part, int], ...]
    method: str | None = None
    strength: Strength | None = None
    delta: float | None = None
    nonnegative: bool = False
    asked: Adjacency | None = None

    @classmethod
    def of(cls, parts: Iterable[Part | tuple[Part, int]], adjacency: str | None = None) -> Releases:
        """Return the plan of the given parts, equal ones put together in the order of first use."""
        counts: dict[Part, int] = {}
        for part in parts:
            of, times = part if isinstance(part, tuple) and len(part) == 2 else (part, 1)
            if isinstance(carried := getattr(of, "guarantee", None), _PROMISES):
                of = carried  # of what `choose` or `compose` gave back
            guarantee_of(of)  # refuses what is no release
            counts[of] = counts.get(of, 0) + whole("times", times)
        asked = None if adjacency is None else Adjacency.of(adjacency)
        return cls(tuple(counts.items()), asked=asked)

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in theorems.IN_SERIES:
            known = ", ".join(theorems.IN_SERIES)
            raise InputError("composition.method_unknown", method=self.method, known=known)
        if not self.parts:
            raise InputError("composition.empty")
        names = sorted({self._adjacency_of(part).value for part, _ in self.parts})
        if len(names) > 1:
            raise GuaranteeError("composition.different_adjacencies", names=" and ".join(names))

    def _adjacency_of(self, part: Part) -> Adjacency:
        """A promise carries its own; a mechanism's sensitivity is under the one asked for."""
        stated = guarantee_of(part).adjacency
        if self.asked is None or not isinstance(part, Mechanism):
            return stated
        if stated is Adjacency.LOCAL and self.asked is Adjacency.ADD_REMOVE:
            raise GuaranteeError("composition.answers_only")
        return self.asked

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of all."""
        return self._adjacency_of(self.parts[0][0])

    @property
    def name(self) -> str:
        """What is released, in one phrase."""
        phrases = [f"{k} x {part!r}" if k > 1 else repr(part) for part, k in self.parts[:3]]
        if len(self.parts) <= 3:
            return ", ".join(phrases)
        return say("composition.and_more", named=", ".join(phrases), more=len(self.parts) - 3)

    @property
    def stated(self) -> list[tuple[Guarantee, int]]:
        """What each part promises."""
        return [(guarantee_of(part), times) for part, times in self.parts]

    @property
    def promises(self) -> list[theorems.Promise] | None:
        """(ε, δ, k) of every part; None if one of them promises only ρ or a curve."""
        found = []
        for stated, k in self.stated:
            if isinstance(stated, ZCDP | PrivacyCurve):
                return None
            found.append((stated.epsilon, _delta(stated), k))
        return found

    @property
    def mechanisms(self) -> list[tuple[Mechanism, int]] | None:
        """The mechanisms; None if one of the parts is a promise without one."""
        known = [(part, k) for part, k in self.parts if isinstance(part, Mechanism)]
        return known if len(known) == len(self.parts) else None

    @property
    def by_law(self) -> bool:
        """Whether the laws of the mechanisms are added up, and not what they promise."""
        laws = self.mechanisms is not None
        return laws and self.strength != "generic" and self.method is None

    @property
    def lost(self) -> float:
        """The sum of the δ that the promises come with."""
        return math.fsum(k * _delta(stated) for stated, k in self.stated)

    @property
    def rho(self) -> float | None:
        """Σρ, a pure ε as ε²/2 or as its mechanism has it; None with a curve among the parts."""
        found = self._rhos()
        return None if found is None else double_above(sum((rho for rho, _ in found), Fraction(0)))

    def _rhos(self) -> list[tuple[Fraction, Fraction]] | None:
        """ρ of all uses of each part, and their ε, 0 where only ρ is promised."""
        found = []
        for part, k in self.parts:
            stated = guarantee_of(part)
            if isinstance(stated, PrivacyCurve):
                return None
            if isinstance(stated, ZCDP):
                found.append((k * Fraction(stated.rho), Fraction(0)))
            else:
                divisor = part.rho_divisor if isinstance(part, Mechanism) else 2
                epsilon = Fraction(stated.epsilon)
                found.append((k * epsilon**2 / divisor, k * epsilon))
        return found

    def with_rho(self) -> Iterator[Account]:
        """Return the loss by Σρ, and by the largest ε beside the ρ of the rest.

        With ε = jε₀ outside and (k−j)ε₀²/2 inside, ρ + 2√(ρ log 1/δ) + jε₀ is concave in j: all or
        none of equal parts are outside, and those with the largest ε²/2 for their ε go first.
        """
        if (found := self._rhos()) is None:
            return
        lost = min(1.0, up(self.lost, 2))
        inside, outside = sum((rho for rho, _ in found), Fraction(0)), Fraction(0)

        def rest() -> ConcentratedLoss:
            rho = double_above(inside)
            if self.by_law or lost:
                return ConcentratedLoss(rho, lost, self.adjacency, self.name)
            return ZCDPLoss(rho, 0.0, self.adjacency, self.name)

        yield None, rest()
        stated = sorted((pair for pair in found if pair[1]), key=lambda pair: -pair[0] / pair[1])
        for number, (rho, epsilon) in enumerate(stated, 1):
            inside, outside = inside - rho, outside + epsilon
            if number in (*range(_SPLITS), len(stated)):
                yield "basic", BesideLoss(rest(), double_above(outside))

    def loss(self, m: int = 1) -> PlannedLoss:
        """Return the privacy loss of m steps.

        At a fixed δ each account is the point (ε, δ) of its curve; further steps go from there.
        """
        if self.delta is None:
            return PlannedLoss(self, tuple(self._accounts(m)))
        near = tuple(self._accounts(1))
        if self.strength == "exact" and m == 1 and all(loss.exact_proved for _, loss in near):
            return PlannedLoss(self, near)
        points = ((theorem, loss.at(self.delta)) for theorem, loss in near)
        return PlannedLoss(
            self, tuple((name, PointLoss(p).steps(m)) for name, p in points if p is not None)
        )

    def _accounts(self, m: int) -> Iterator[Account]:
        kinds = {isinstance(part, Mechanism) for part, _ in self.parts}
        if len(kinds) > 1:
            raise GuaranteeError("composition.mixed_kinds")
        apart = replace(self, parts=tuple((self._apart(part, m), k) for part, k in self.parts))
        if apart.by_law:
            yield from apart._accounts_of_laws()
            return
        stated = apart.stated
        if all(isinstance(g, ZCDP) for g, _ in stated):
            if self.method not in (None, "paper"):
                raise InputError("composition.method_for_rho", method=self.method)
            rhos = [g.rho * k for g, k in stated if isinstance(g, ZCDP)]
            alone = len(stated) == stated[0][1] == 1
            rho = rhos[0] if alone else up(math.fsum(rhos), 2)
            yield None, ZCDPLoss(rho, 0.0, self.adjacency, f"{rho:g}-zCDP", self.method == "paper")
        elif self.method == "paper":
            raise InputError("composition.paper_needs_rho")
        elif any(isinstance(g, ProbabilisticDP) for g, _ in stated):
            if not all(isinstance(g, ProbabilisticDP) for g, _ in stated):
                raise GuaranteeError("composition.mixed_probabilistic")
            yield None, PointLoss(ProbabilisticDP(*self._sums(apart), adjacency=self.adjacency))
        elif isinstance(stated[0][0], PrivacyCurve) and len(stated) == stated[0][1] == 1:
            yield None, loss_of_promise(stated[0][0])
        else:
            yield from self._by_theorem(apart)

    def _by_theorem(self, apart: Releases) -> Iterator[Account]:
        promises = apart.promises
        if promises is None:
            if apart.rho is None or self.method not in (None, "basic"):
                odd = next(g for g, _ in apart.stated if isinstance(g, ZCDP | PrivacyCurve))
                raise GuaranteeError("composition.cannot_be_added", stated=odd)
            yield from (one for one in apart.with_rho() if self.method in (None, one[0]))
            return
        alone = len(promises) == promises[0][2] == 1
        # A worst case that was put on a grid may be rounded further than the plain sum.
        names = ("optimal", "basic") if self.method in (None, "optimal") else (self.method,)
        for name in names:
            if name == "basic":
                point = ApproxDP(*self._sums(apart), adjacency=self.adjacency)
                yield None if alone else name, PointLoss(point)
            elif name != "optimal" or not (alone or any(e == 0 for e, _, _ in promises)):
                account = theorems.THEOREMS[name].account(promises, self.adjacency)
                if account is not None:
                    yield name, account

    @staticmethod
    def _sums(apart: Releases) -> tuple[float, float]:
        """Σε and Σδ, rounded up where there is something to add."""
        promises = apart.promises or []
        if len(promises) == promises[0][2] == 1:
            return promises[0][:2]
        epsilon = up(math.fsum(epsilon * k for epsilon, _, k in promises), 2)
        return epsilon, min(1.0, up(math.fsum(delta * k for _, delta, k in promises), 2))

    def _apart(self, part: Part, m: int) -> Part:
        if m == 1:
            return part
        if m == 2 and self.nonnegative:
            if isinstance(part, ZCDP):
                return replace(part, rho=2 * part.rho)
            if isinstance(part, Mechanism):
                return part.two_steps_nonnegative()
        return part.steps(m)

    def _accounts_of_laws(self) -> Iterator[Account]:
        plan, where, name = self.mechanisms or [], self.adjacency, self.name
        losses = [mechanism.loss for mechanism, _ in plan]
        each = zip(losses, plan, strict=True)
        rhos = [k * loss.rho for loss, (_, k) in each if isinstance(loss, NormalLoss)]
        if len(rhos) == len(plan):
            yield None, GaussianLoss(up(math.fsum(rhos), 8), where, name)
            return
        if len(plan) == 1 and isinstance(losses[0], TwoPoint):
            yield None, WalkLoss(losses[0].epsilon, plan[0][1], adjacency=where, name=name)
            return
        from discreet.composition.grid import on_grid  # which loads NumPy

        if (found := on_grid(plan, where, name)) is not None:
            yield None, found
        if found is None or any(loss is None for loss in losses):
            # On a grid nothing is worse than the sum of ε.
            yield from (one for one in self.with_rho() if found is None or one[0] is None)


def _delta(stated: Guarantee) -> float:
    return stated.delta if isinstance(stated, ApproxDP | ProbabilisticDP) else 0.0


@dataclass(frozen=True, slots=True)
class PlannedLoss(PrivacyLoss):
    """The privacy loss of a plan: valid accounts of it, of which the best holds at every point.

    There is none where a fixed δ is below what the releases spend.
    """

    releases: Releases
    accounts: tuple[Account, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """What is released, in one phrase."""
        return self.releases.name

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        """The adjacency of all releases."""
        return self.releases.adjacency

    @property
    def strength(self) -> Strength:  # type: ignore[override]
        """Generic where a theorem or a promise is all that is used."""
        theorem, loss = self.accounts[0] if self.accounts else ("basic", None)
        return "generic" if theorem is not None or loss is None else loss.strength

    @property
    def exact_proved(self) -> bool:  # type: ignore[override]
        """Whether the maximum over contributions is proved."""
        return (only := self._only) is not None and only.exact_proved

    @property
    def _only(self) -> PrivacyLoss | None:
        return self.accounts[0][1] if len(self.accounts) == 1 else None

    @property
    def _losses(self) -> Sequence[PrivacyLoss]:
        return [loss for _, loss in self.accounts]

    def steps(self, m: int) -> PlannedLoss:
        """Return the loss of the same parts, each seen from m neighbours away."""
        return self if m == 1 else self.releases.loss(m)

    def fixed(self, delta: float) -> PlannedLoss:
        """Return each account as the point of its curve at δ."""
        points = tuple((name, loss.fixed(delta)) for name, loss in self.accounts)
        return replace(self, accounts=points)

    def largest(self) -> float:
        """The least of the largest."""
        return min((loss.largest() for loss in self._losses), default=math.inf)

    def pure(self) -> float:
        """The least ε of the plan as pure DP."""
        return min((loss.pure() for loss in self._losses), default=math.inf)

    def _at_infinity(self) -> float:
        return min((loss.delta(math.inf) for loss in self._losses), default=1.0)

    def _delta(self, epsilon: float) -> float:
        return min((loss.delta(epsilon) for loss in self._losses), default=1.0)

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε ≥ 0 with δ(ε) ≤ delta; never below the truth, inf if none is."""
        return min((loss.epsilon(delta) for loss in self._losses), default=math.inf)

    def _epsilon(self, delta: float) -> float:
        return self.epsilon(delta)

    def _exact_epsilon(self, delta_prime: float, sided: Sided) -> float:
        if self._only is None:
            return super(PlannedLoss, self)._exact_epsilon(delta_prime, sided)
        return self._only.exact_epsilon(delta_prime, sided)

    def _bounded(self, failure: float, sided: str, strength: Strength | None) -> LossBound:
        found: LossBound | None = None
        refused = GuaranteeError("composition.no_account", delta=self.releases.delta or 0.0)
        for theorem, loss in self.accounts:
            try:
                bound = loss.one_step(failure, sided, strength=strength)
            except GuaranteeError as error:  # more δ was spent than the failure leaves
                refused = error
                continue
            if found is None or bound.epsilon_prime < found.epsilon_prime:
                found = bound if theorem is None else _by(theorem, bound)
        if found is None:
            raise refused
        return found

    def _chance(self, x: float, bound: Bound, least: PrivacyLoss | None) -> float:
        below = least._losses if isinstance(least, PlannedLoss) else [least]
        return min(
            (loss._chance(x, bound, one) for loss in self._losses for one in below), default=1
        )

    def _right_guess(self, kappa: float) -> float:
        return min((loss.right_guess(kappa) for loss in self._losses), default=1.0)

    def described(self, method: str) -> str:
        """Return the words for a bound, with the theorem that its first account comes from."""
        theorem = self.theorem
        return method if theorem is None else theorems.described(theorem, method)

    @property
    def theorem(self) -> str | None:
        """The composition theorem of the first account; None for laws and for ρ."""
        return self.accounts[0][0] if self.accounts else "basic"


def _by(theorem: str, bound: LossBound) -> LossBound:
    words = theorems.described(theorem, bound.method)
    return replace(bound, strength="generic", method=words, theorem=theorem)


def loss_of(
    *parts: Part | tuple[Part, int],
    adjacency: str | None = None,
    method: str | None = None,
    strength: Strength | None = None,
    delta: float | None = None,
    nonnegative: bool = False,
) -> PlannedLoss:
    """Return the privacy loss of a plan: each part a promise or a mechanism, or one and how often.

    `adjacency` restates mechanisms, whose sensitivity is then the one under it.

    >>> from discreet.laws import Geometric
    >>> round(loss_of((Geometric(0.05), 365)).epsilon(1e-6), 6)
    4.613448
    """
    plan = Releases.of(parts, adjacency)
    return Releases(plan.parts, method, strength, delta, nonnegative, plan.asked).loss()


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
    parts: Iterable[Part | tuple[Part, int]] = (),
    *,
    delta: float | None = None,
    method: str | None = None,
    adjacency: str | None = None,
    times: int = 1,
    **one: Unpack[Worded],
) -> Composition:
    """Return one guarantee for all parts, at a total δ, by a named theorem or the best one.

    Without `delta` the δ of the parts add up, and for pure DP it is 0. `adjacency` restates
    mechanisms, whose sensitivity is then the one under it; promises carry their own. A release that
    is made `times` times may be given by the words of the command line: `epsilon` (with
    `delta_each`), `rho`, or a `mechanism` with one of these, `sigma` or `scale`.

    >>> from discreet.guarantees import PureDP
    >>> compose([(PureDP(0.1), 100)], delta=1e-6).method
    'optimal'
    >>> compose(epsilon=0.1, times=100, delta=1e-6) == compose([(PureDP(0.1), 100)], delta=1e-6)
    True
    """
    if isinstance(parts, str | bytes | Mapping) or not isinstance(parts, Iterable):
        raise InputError("composition.not_a_list", kind=type(parts).__name__)
    if one or times != 1:
        mine = None if one.get("mechanism") else adjacency
        parts = [*parts, (release_in(one, mine), times)]
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
            if THEOREMS[method].as_one_goes and releases.promises is not None
            else say("composition.assumes.fixed_plan"),
        ),
    )


def _guarantee(releases: Releases, epsilon: float, delta: float) -> Guarantee:
    where = releases.adjacency
    if math.isinf(epsilon):
        rho = releases.rho
        if rho is None or releases.lost:
            raise GuaranteeError("composition.no_epsilon", delta=delta, lost=releases.lost)
        return as_stated(rho=rho, adjacency=where)
    return as_stated(epsilon, delta, adjacency=where)


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
    mixed = method == "basic" and any(theorem for theorem, _ in releases.with_rho())
    if releases.promises is None and method != "curve" and not mixed:
        raise GuaranteeError("composition.needs_promises", method=method)
    if method in ("curve", "paper"):
        raise GuaranteeError(f"composition.{method}_does_not_apply")
    raise GuaranteeError(
        "composition.does_not_apply", method=method, delta=delta, lost=releases.lost
    )

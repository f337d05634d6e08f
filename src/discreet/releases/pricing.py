"""What a release may spend, what it costs, call by call, and how accurate each call is.

Allowance. A spec gives a budget in numbers, or makes a promise, or does neither: then the account's
own promises say how much there is. A promise speaks of everything charged to the account, so what
it allows is its limit there (`ledger.promises`), all of it, or the K-th part of a series. Whether
that much is still left is decided by the ledger, at the charge.

Notation. A release makes k mechanism calls with weights w_i; W = Σw_i.

Currency. A budget in ε is split as ε_i = ε·w_i/W and the calls compose by adding up (pure DP). A
budget in ρ is split as ρ_i = ρ·w_i/W and adds up as zCDP. A budget (ε, δ) may be spent either way:
as ε, or through the largest ρ whose tight conversion stays within (ε, δ) (Canonne, Kamath and
Steinke 2020). `mechanism: auto` takes the way with less error: the geometric mean over the calls of
the standard deviation (calls that make one estimate together count once, with its error). Shares
are rounded down, so that they never add up to more than the budget.

A wanted accuracy (`within`) is bought first, at its price; what is left is split by weight.
Keys that are paid for take their share in ε, and their δ on top.

Sample (`rows.Sample`), drawn with the chance γ. What the release spends on the sample, (ε₀, δ₀),
costs everyone of whom it is not known whether they were drawn ε = log(1 + γ(e^ε₀ − 1)) and γδ₀,
which is what is charged (`composition.sampling`; Balle, Barthe and Gaboardi 2018, Theorems 8 and
9). The budget of a spec is what is charged. Gaussian noise is amplified at that point of its curve:
ρ is such that its δ at ε₀ is δ₀. A sample has no ρ of its own, so a budget in ρ is spent as the
pure ε = √2ρ, which an account in ρ counts as ε²/2 = ρ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from discreet.budgets.keeping import Rule
from discreet.composition.concentrated import zcdp_delta
from discreet.composition.sampling import amplified, before_sampling
from discreet.errors import BudgetExceeded, SpecError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, Guarantee, PureDP, stated
from discreet.laws.calibration import gaussian_scale, laplace_scale
from discreet.laws.geometric import Geometric
from discreet.laws.mechanism import Budget as Currency
from discreet.laws.mechanism import WholeNoise
from discreet.laws.registry import released_law, released_laws, usual_noise
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount
from discreet.ledger.promises import register
from discreet.numerics import bracket, float_down, float_up
from discreet.promises import Promise, delta_in
from discreet.releases.statistics.base import Within
from discreet.releases.statistics.values import Part, decimal
from discreet.rounding import down, up
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.releases.spec import InFolder, Spec

SELECTIONS = ("permute-and-flip", "exponential")
"""The mechanisms of choices; those of noise on numbers are the laws that releases can draw."""


def allowance(spec: InFolder, account: Account | None) -> Guarantee:
    """Return the most that a spec may spend; None is an account that is not open yet."""
    promise, adjacency = spec.promised(), Adjacency.of(spec.protect.adjacency)
    if spec.budget is not None:
        given = spec.budget
        return stated(given.epsilon, given.delta, given.rho, adjacency=adjacency)
    if promise is None:
        return _of_account(account, spec)
    delta = delta_in(spec.promise_keys or {})
    if account is None:
        return _before_opening(promise, delta)
    account.require(unit=spec.protect.unit, adjacency=adjacency.value)
    return _guarantee(register(promise, account).limit, adjacency, delta)


def allowances(spec: Spec, account: Account | None, asked: Sequence[Asked]) -> list[Guarantee]:
    """Return the most that a spec may spend, in each way that its account could add it up.

    An account that is not open has no filter yet: what has to hold with a confidence alone can be
    paid for in ε or in ρ, whichever gives less error. A δ of the promise decides. Keys that are
    found need their δ on the account, and its promise is worked out at that δ.
    """
    promise, delta = spec.promised(), delta_in(spec.promise_keys or {})
    for_keys = delta_of(asked)
    if promise is not None and promise.every_output and for_keys:
        raise SpecError("charge.keys_for_every_output", delta=float(for_keys))
    if account is not None or promise is None or delta:
        return [allowance(spec, account)]
    times = 1 if spec.series is None else spec.series.releases
    at = Amount.of(epsilon=0.0, delta=min(1.0, float_up(for_keys * times)))
    rules: tuple[Rule, ...] = ("basic",) if for_keys else ()
    if promise.confidence is not None:
        in_epsilon = rules or ("pure",)
        rules = (*in_epsilon, "zcdp") if "epsilon" in _spends(spec.mechanism) else ("zcdp",)
    if not rules:
        return [allowance(spec, account)]
    return [allowance(spec, new_account(spec, rule, at)) for rule in rules]


def new_account(spec: InFolder, rule: str, at: Amount) -> Account:
    """Return an account as it would be opened for the promise of a spec, at a cap on δ.

    What it may spend beside δ follows from the promise and is not said yet.
    """
    new = Account.opened(spec.account, **spec.protect.terms, filter=rule, cap=None)
    return replace(new, cap=replace(new.filter.zero, delta=at.delta)) if at.delta else new


def require_own(spec: InFolder) -> None:
    """Refuse a spec that says nothing of what it may spend, where no ledger is read."""
    if spec.budget is None and spec.promise_keys is None:
        raise SpecError("charge.nothing_asked_no_ledger")


def _of_account(account: Account | None, spec: InFolder) -> Guarantee:
    adjacency = Adjacency.of(spec.protect.adjacency)
    if account is None:
        raise SpecError("charge.nothing_asked_unopened", account=spec.account)
    if not account.promises:
        raise SpecError("charge.nothing_asked")
    return _guarantee(reduce(Amount.least, account.promises.values()), adjacency, 0.0)


def _before_opening(promise: Promise, delta: float) -> Guarantee:
    from discreet.budgets import choose

    found = choose(promise, delta=delta).guarantee
    if math.isinf(found.epsilon):
        raise SpecError("charge.bounds_nothing")
    return found


def _guarantee(limit: Amount, adjacency: Adjacency, delta: float) -> Guarantee:
    """Return a limit as the budget of a release: ρ, or ε with the δ that the spec asks for."""
    if limit.rho is not None:
        return stated(rho=float_down(limit.rho), adjacency=adjacency)
    most = 0.0 if limit.delta is None else float_down(limit.delta)
    if delta > most:
        text = "no_delta_on_pure" if limit.delta is None else "too_much_delta"
        raise SpecError(f"charge.{text}", delta=delta, most=most)
    return stated(float_down(limit.lead), delta, adjacency=adjacency)


def as_pure(budget: Guarantee) -> float:
    """Return the ε of pure DP that a budget pays for: a ρ pays for √2ρ."""
    if isinstance(budget, ZCDP):
        return down(math.sqrt(2 * budget.rho), 4)
    if isinstance(budget, PureDP | ApproxDP):
        return budget.epsilon
    raise SpecError("charge.not_as_epsilon", budget=budget)


@dataclass(frozen=True, slots=True)
class Asked:
    """One call to be priced.

    One that finds keys pays `delta` for them; `keys` is how many of them a unit may have. Both are
    0 for any other.
    """

    statistic: str
    part: Part
    weight: Fraction
    within: Within | None = None
    delta: float = 0.0
    keys: int = 0

    def weight_in(self, currency: Currency) -> Fraction:
        """Its weight where a budget is spent in that currency."""
        shares = self.part.shares
        return self.weight if shares is None else self.weight * shares[currency]


@dataclass(frozen=True)
class Priced:
    """One call with its mechanism, scale and price."""

    asked: Asked
    mechanism: str
    scale: float
    epsilon: float | None
    rho: float | None

    @cached_property
    def law(self) -> WholeNoise:
        """The law of the noise, in multiples of the resolution; its scale is exactly this one."""
        return released_laws()[self.mechanism].of_scale(self.scale)

    @property
    def sd(self) -> float:
        """Standard deviation of the noise, in multiples; for a choice, its scale."""
        return (self.law.sd or 0.0) if self.asked.part.form == "numbers" else self.scale

    def half_width(self, confidence: float) -> int:
        """The whole t that the noise stays within with that probability, in multiples."""
        return self.law.covers(confidence)

    def score_within(self, candidates: int, confidence: float) -> float:
        """How far below the best the chosen score is at most, with that probability.

        s·log(n/β) with β = 1 − confidence (McSherry and Talwar 2007, Thm 6; permute-and-flip is
        never worse).
        """
        return self.scale * math.log(candidates / (1 - confidence))

    @property
    def threshold(self) -> int | None:
        """The least noisy count of units at which a key is published.

        Geometric noise of scale s reaches t with the probability e^{−t/s}/(1 + e^{−1/s}), so a key
        of one unit, which may have G of them, is published with the probability δ/G at most.
        """
        keys, delta = self.asked.keys, self.asked.delta
        if not keys:
            return None
        level = math.log(keys / (delta * (1 + math.exp(-1 / self.scale)))) * self.scale
        return 1 + math.ceil(level * (1 + 1e-12) + 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return the call as JSON-ready values."""
        part = self.asked.part
        said: dict[str, Any] = {
            "statistic": self.asked.statistic,
            "part": part.name,
            "mechanism": self.mechanism,
            "l1": float(part.l1 * part.resolution),
            "l2": math.sqrt(part.l2_squared) * float(part.resolution),
            "scale": self.scale * float(part.resolution),
            "resolution": float(part.resolution),
            "epsilon": self.epsilon,
            "rho": self.rho,
        }
        if self.asked.keys:
            said |= {"delta": self.asked.delta, "threshold": self.threshold}
        if part.form == "numbers":
            said["sd"] = self.sd * float(part.resolution)
        return said


@dataclass(frozen=True, slots=True)
class Pricing:
    """The price of a whole release."""

    charges: tuple[Guarantee, ...]
    calls: tuple[Priced, ...]
    why: str

    @property
    def spread(self) -> float:
        """The mean logarithm of the standard deviations: how wide the noise is, over all calls.

        Calls that make one estimate together count once, with the error of what is published.
        """
        found: dict[str | int, list[float]] = {}
        for place, call in enumerate(self.calls):
            blurs = call.asked.part.blurs
            times = 1.0 if blurs is None else blurs["epsilon" if call.rho is None else "rho"]
            one = place if blurs is None else call.asked.statistic
            found.setdefault(one, []).append(math.log(max(call.sd * times, 1e-300)))
        return math.fsum(math.fsum(logs) / len(logs) for logs in found.values()) / max(
            len(found), 1
        )

    def of(self, statistic: str) -> dict[str, Priced]:
        """Return the calls of one statistic by part, without those that find its keys."""
        return {
            call.asked.part.name: call
            for call in self.calls
            if call.asked.statistic == statistic and not call.asked.keys
        }

    def split_again(self, statistic: str, parts: Sequence[Part]) -> Pricing:
        """Return it with other calls of one statistic, at most for what those before cost.

        Each part has its share of that. What is charged stays, and covers it.
        """
        own = list(self.of(statistic).values())
        first = own[0]
        currency: Currency = "epsilon" if first.rho is None else "rho"
        mechanism = "auto" if first.mechanism in SELECTIONS else first.mechanism
        amount = sum((decimal(getattr(call, currency)) for call in own), Fraction(0))
        calls = [call for call in self.calls if call not in own]
        for part in parts:
            part_of = (part.shares or {}).get(currency, Fraction(0))
            if part_of:
                asked = replace(first.asked, part=part)
                calls.append(_priced(asked, _below(amount * part_of), currency, mechanism))
        return replace(self, calls=tuple(calls))


def delta_of(asked: Iterable[Asked]) -> Fraction:
    """Return the δ that is paid for keys in all."""
    return sum((decimal(one.delta) for one in asked), Fraction(0))


def _below(exact: Fraction) -> float:
    """Return a float at or below a rational, also as the decimal that it prints."""
    nearest = exact.numerator / exact.denominator
    while Fraction(nearest) > exact or Fraction(repr(nearest)) > exact:
        nearest = math.nextafter(nearest, -math.inf)
    return nearest


def share(guarantee: Guarantee, releases: int) -> Guarantee:
    """Return a K-th of a budget, rounded down.

    >>> share(PureDP(1.0), 4)
    PureDP(epsilon=0.25, adjacency='add-remove')
    """
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP):
        raise SpecError("releases.price.no_series", guarantee=guarantee)
    whole = {n: v for n in ("epsilon", "delta", "rho") if (v := getattr(guarantee, n, None))}
    parts: dict[str, Any] = {n: _below(decimal(v) / releases) for n, v in whole.items()}
    return replace(guarantee, **parts)


def _noise(mechanism: str, currency: Currency) -> type[WholeNoise]:
    """Return the law that a spec names, or the usual one for a budget in that currency."""
    named = None if mechanism == "auto" else released_law(mechanism)
    return usual_noise(currency) if named is None else named


def _spends(mechanism: str) -> tuple[Currency, ...]:
    """Return the currencies in which (ε, δ) may be spent."""
    return ("epsilon", "rho") if mechanism == "auto" else (_noise(mechanism, "rho").paid_in,)


def _why(reason: str, law: type[WholeNoise]) -> str:
    """Say why the noise is of that law."""
    name = f"releases.why.{reason}_{law.released_as}"
    return say(name) if has(name) else say("releases.why.asked", noise=law.released_as)


def priced(asked: Sequence[Asked], budget: Guarantee, spec: Spec) -> Pricing:
    """Return the price of a spec's calls; on a sample, charged as what it costs the whole frame."""
    sample, protect = spec.sample, spec.protect
    if sample is None:
        return price(asked, budget, spec.mechanism)
    needs, has = sample.adjacency, protect.adjacency
    if has != needs:
        design = "rate" if sample.units is None else "units"
        raise SpecError("releases.sample.adjacency", design=design, needs=needs, has=has)
    if not protect.column:
        raise SpecError("releases.sample.unit")
    if "sampled" in (spec.promise_keys or {}):
        raise SpecError("releases.sample.twice")
    rate = up(float(sample.chance))
    if isinstance(budget, ZCDP):
        budget = PureDP(as_pure(budget), adjacency=budget.adjacency)
    if not isinstance(budget, PureDP | ApproxDP):
        raise SpecError("releases.price.no_currency", guarantee=budget)
    inside = price(asked, before_sampling(budget, rate), spec.mechanism)
    (spent,) = inside.charges
    return replace(inside, charges=(amplified(spent, rate),))


def price(asked: Sequence[Asked], budget: Guarantee, mechanism: str) -> Pricing:
    """Split a budget over the calls, by the mechanism that the spec allows with least error."""
    if isinstance(budget, ZCDP):
        return _in_rho(asked, budget, mechanism)
    if isinstance(budget, PureDP):
        if "epsilon" not in _spends(mechanism):
            raise SpecError("releases.price.not_pure", mechanism=mechanism)
        found = _in_epsilon(asked, budget, mechanism)
        reason = "keys" if delta_of(asked) else "pure"
        return replace(found, why=_why(reason, _noise(mechanism, "epsilon")))
    if isinstance(budget, ApproxDP):
        return _approximate(asked, budget, mechanism)
    raise SpecError("releases.price.no_currency", guarantee=budget)


def _approximate(asked: Sequence[Asked], budget: ApproxDP, mechanism: str) -> Pricing:
    """Spend (ε, δ) as ε or through ρ, whichever the spec allows and has less error."""
    for_keys = delta_of(asked)
    left = decimal(budget.delta) - for_keys
    if left < 0:
        raise SpecError("releases.plan.keys_delta", needs=float(for_keys), has=budget.delta)
    ways: dict[Currency, Pricing] = {}
    if "epsilon" in _spends(mechanism):
        ways["epsilon"] = _in_epsilon(asked, budget, mechanism)
    if "rho" in _spends(mechanism) and left > 0:
        found = _through_rho(asked, budget, _below(left), mechanism)
        ways |= {"rho": found} if found else {}
    if not ways:
        raise SpecError("releases.price.no_delta_left")
    best = min(ways, key=lambda way: ways[way].spread)
    law = _noise(mechanism, best).released_as
    noise = say(f"releases.why.{law}") if has(f"releases.why.{law}") else law
    if len(ways) == 1:
        why = say("releases.why.only", noise=noise)
    else:
        ratio = math.exp(max(way.spread for way in ways.values()) - ways[best].spread)
        why = say("releases.why.narrower", noise=noise, ratio=ratio)
    return replace(ways[best], why=why)


def _through_rho(
    asked: Sequence[Asked], budget: ApproxDP, delta: float, mechanism: str
) -> Pricing | None:
    keys = [a for a in asked if a.keys]
    rest = [a for a in asked if not a.keys]
    if not rest:
        return None
    weights = sum((a.weight_in("epsilon") for a in asked), Fraction(0))
    for_keys = decimal(budget.epsilon) * sum((a.weight for a in keys), Fraction(0)) / weights
    paid, spent_keys = _split(keys, _below(for_keys), "epsilon", mechanism) if keys else ((), 0.0)
    epsilon = _below(decimal(budget.epsilon) - decimal(spent_keys))
    rho = _largest_rho(epsilon, delta)
    calls, _ = _split(rest, rho, "rho", mechanism)
    ordered = {id(call.asked): call for call in (*paid, *calls)}
    return Pricing((budget,), tuple(ordered[id(a)] for a in asked if id(a) in ordered), "")


def _largest_rho(epsilon: float, delta: float) -> float:
    """Return a ρ whose tight conversion stays within (ε, δ), below the largest by 1e-12."""
    low, _ = bracket(lambda rho: zcdp_delta(rho, epsilon) <= delta, 0.0, epsilon, halvings=200)
    if low == 0:
        raise SpecError("releases.price.no_gaussian", epsilon=epsilon, delta=delta)
    return down(low)


def _in_epsilon(asked: Sequence[Asked], budget: PureDP | ApproxDP, mechanism: str) -> Pricing:
    """Spend ε, and the δ of keys that are found."""
    calls, spent = _split(asked, budget.epsilon, "epsilon", mechanism)
    delta = float_up(delta_of(call.asked for call in calls))
    return Pricing((stated(spent, delta, adjacency=budget.adjacency),), calls, "")


def _in_rho(asked: Sequence[Asked], budget: ZCDP, mechanism: str) -> Pricing:
    """Spend ρ; keys that are paid for enter as (ε, δ), which costs ε²/2 and δ."""
    calls, spent = _split(asked, budget.rho, "rho", mechanism)
    keys = tuple(
        ApproxDP(call.epsilon or 0.0, call.asked.delta, adjacency=budget.adjacency)
        for call in calls
        if call.asked.keys
    )
    if keys:
        others = (decimal(call.rho or 0.0) for call in calls if not call.asked.keys)
        spent = float_up(sum(others, Fraction(0)))
    rest = (ZCDP(spent, adjacency=budget.adjacency),) if spent else ()
    return Pricing((*rest, *keys), calls, _why("rho", _noise(mechanism, "rho")))


def _split(
    asked: Sequence[Asked], budget: float, currency: Currency, mechanism: str
) -> tuple[tuple[Priced, ...], float]:
    """Return the calls with their prices, and what they cost together."""
    asked = [a for a in asked if a.weight_in(currency)]
    total = decimal(budget)
    needs = {id(a): decimal(_need(a, currency, mechanism)) for a in asked if a.within}
    bought = sum(needs.values(), Fraction(0))
    weights = sum((a.weight_in(currency) for a in asked if not a.within), Fraction(0))
    if bought > total or (weights and bought == total):
        _refuse(asked, budget, currency, mechanism, bought)
    calls = []
    for a in asked:
        share = a.weight_in(currency) / weights if weights else Fraction(0)
        exact = needs[id(a)] if a.within else (total - bought) * share
        calls.append(_priced(a, _below(exact), currency, mechanism))
    return tuple(calls), budget if weights else float_up(bought)


def _priced(asked: Asked, amount: float, currency: Currency, mechanism: str) -> Priced:
    if amount <= 0:
        raise SpecError("releases.price.small_share", statistic=asked.statistic)
    part = asked.part
    epsilon, rho = (amount, None) if currency == "epsilon" else (None, amount)
    if part.form == "choice":
        pure = currency == "epsilon"
        scale = laplace_scale(part.l1, amount) if pure else gaussian_scale(part.l2_squared, amount)
        chosen = SELECTIONS[0 if pure and not part.joint else 1]
        return Priced(asked, chosen, scale, epsilon, rho)
    # A threshold for keys is proved for geometric noise.
    law = Geometric if asked.keys else _noise(mechanism, currency)
    if epsilon is None and law.paid_in == "epsilon":
        epsilon = down(math.sqrt(2 * amount), 4)
    paid = amount if epsilon is None else epsilon
    scale = law.least_scale(part.l1, part.l2_squared, paid)
    return Priced(asked, law.released_as, scale, epsilon, rho)


def _need(asked: Asked, currency: Currency, mechanism: str) -> float:
    """Return the least price at which a call is as accurate as it is wanted, rounded up."""
    if asked.within is None:
        return 0.0
    confidence = asked.within.confidence
    target = math.floor(decimal(asked.within.error) / asked.part.resolution)

    def enough(amount: float) -> bool:
        return _priced(asked, amount, currency, mechanism).half_width(confidence) <= target

    high = 1e-9
    while not enough(high):
        high *= 2
        if high > 1e9:
            raise SpecError("releases.price.no_accuracy", statistic=asked.statistic)
    high, _ = bracket(enough, high, high / 2, relative=1e-9)
    # To ten digits upward: a price that a person can read, and past any later rounding down.
    return float(f"{high * (1 + 1e-9):.10g}")


def _refuse(
    asked: Sequence[Asked], budget: float, currency: Currency, mechanism: str, bought: Fraction
) -> None:
    """Say what is asked for, what there is, and what accuracy would fit."""
    others = any(not a.within for a in asked)
    room = decimal(budget) * (Fraction(1, 2) if others else 1)
    fits = []
    for a in asked:
        if a.within:
            amount = _below(decimal(_need(a, currency, mechanism)) * room / bought)
            sure, resolution = a.within.confidence, float(a.part.resolution)
            error = _priced(a, amount, currency, mechanism).half_width(sure) * resolution
            said = {"statistic": a.statistic, "error": error, "confidence": sure}
            fits.append(say("releases.price.fit", **said))
    raise BudgetExceeded(
        "releases.price.accuracy_over_half" if others else "releases.price.accuracy_over",
        symbol=currency,
        needs=float(bought),
        has=budget,
        fits="; ".join(fits),
    )

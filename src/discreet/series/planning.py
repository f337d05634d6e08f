"""`plan`: from a promise over a whole series to the budget of each release.

A budget x (ε or ρ, times the weights of the split) adds up to a loss that rises with x
(`composition`); the plan has the largest x whose total keeps the promise (`budgets.keeping`). It
is found in a shrinking bracket whose lower end was seen to keep it, so that budget, put back
through the same bound, keeps the promise.

The plan is for releases fixed in advance: one whose budgets are changed after looking at what was
published needs a filter instead (`discreet.ledger.Filter`).

One release of a plan: its share of the budget, its accuracy, and what adds up over all of them.

A split is a list of weights, the largest of which is 1; release j gets the weight w_j times the
budget of the largest. Weights divide what adds up: ε for pure and approximate DP, ρ for zCDP and
Gaussian noise.

What accumulates depends on the unit of protection (KSZ Examples 4.1 and 4.2, note 1). A guarantee
for a partition (one person's day, one person's month) speaks of one period's data of one person.
What an adversary may learn about one period is bounded by that period's release alone. Whoever is
there in many periods is exposed by all of them together. A guarantee for a whole person, or a
household, speaks of all their data in all releases at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from discreet.beliefs.belief import Assumptions, assumptions_for
from discreet.budgets.keeping import Kept, kept, largest, rectangle, rule_for
from discreet.budgets.limits import Limits, limits_of
from discreet.composition import Part, Releases, guarantee_of
from discreet.composition.curves import Strength
from discreet.composition.loss import PrivacyLoss
from discreet.composition.theorems import described
from discreet.errors import GuaranteeError, InputError, ToleranceError
from discreet.frames import JsonReady, Tabular, html_table
from discreet.guarantees import Adjacency, ApproxDP, parameters, stated
from discreet.laws.checks import whole
from discreet.laws.gaussian import Gaussian
from discreet.laws.mechanism import Budget, NormalLoss, TwoPoint
from discreet.laws.registry import by_budget, kind_of, usual
from discreet.numerics import double_above, exact, float_down
from discreet.promises.keys import delta_in, promise_from
from discreet.promises.promise import Promise, PromiseLike
from discreet.promises.unit import Unit
from discreet.rounding import decimal_down, down, up
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Plan(JsonReady, Tabular):
    """The budget of each release of a series, and what all of them add up to.

    `per_release` and `total` are `{epsilon, delta, rho}`; where the split is unequal, `per_release`
    is that of the first release and `budgets` lists all. `epsilon_prime` bounds the privacy loss of
    one step of the whole series, and `two_steps` that of two, with probability `holds_with`; None
    where the promise does not speak of it.
    """

    releases: int
    promise: Promise
    per_release: dict[str, Any]
    total: dict[str, Any]
    budgets: tuple[float, ...]
    budget: Budget
    split: str
    method: str
    how: str
    strength: Strength
    survives_post_processing: bool
    epsilon_prime: float | None
    two_steps: float | None
    holds_with: float
    accuracy: Accuracy
    accuracy_last: Accuracy
    accumulation: Accumulation
    assumptions: Assumptions
    sigma: float | None = None
    note: str | None = None
    drawn: Releases | None = field(default=None, repr=False, compare=False)
    account_delta: float = 0.0
    """The δ at which an account of the promise is opened: that of the total, where one is given."""
    shows: ClassVar = (
        *("releases", "promise", "per_release", "total", "budgets", "budget", "sigma", "split"),
        *("method", "theorem", "how", "strength", "survives_post_processing", "epsilon_prime"),
        *("two_steps", "holds_with", "sided", "accuracy", "accuracy_last", "accumulation"),
        *("assumptions", "note", "on_account"),
    )

    @property
    def loss(self) -> PrivacyLoss | None:
        """The privacy loss of all releases together."""
        return None if self.drawn is None else self.drawn.loss()

    @property
    def on_account(self) -> dict[str, Any] | None:
        """What an account of the promise allows a release: its filter, and {epsilon, delta, rho}.

        It is the account that `ledger open` opens for the promise at the same δ, with its `cap`. It
        adds up what is charged, whatever is charged next, and so allows less than a plan that is
        fixed in advance, unless that is held to one δ; None where both are the same, as for every
        output. It is that of the first release, with its share of the weights, as `per_release` is.
        An account may add up ρ where the plan has ε; `accuracy` and `more_accurate` (than in the
        plan) compare them.
        """
        promise, delta = self.promise, self.account_delta
        if promise.every_output:
            return None
        sure = promise.confidence is not None
        rule = rule_for(sure=sure, delta=delta, rho=self.budget == "rho")
        own = float_down(Fraction(exact(delta)) / self.releases)
        each = min(self.per_release["delta"] or 0.0, own)
        try:
            most = rectangle(promise, rule, delta)
        except ToleranceError:  # none, or any
            return None
        lead: Budget = "rho" if rule == "zcdp" else "epsilon"
        part = Fraction(self.budgets[0]) / sum(map(Fraction, self.budgets))
        first = float_down(Fraction(exact(most[lead])) * part)
        if lead == self.budget and math.isclose(first, self.budgets[0], rel_tol=1e-9):
            return None
        off = self._accuracy_at(lead, first)
        sd, planned = None if off is None else off.sd, self.accuracy.sd
        more = None if sd is None or planned is None else sd < planned
        said = {"accuracy": None if off is None else off.to_dict(), "more_accurate": more}
        cap = {"cap": parameters(**most)}
        return {"filter": rule} | _parameters(lead, first, each) | cap | said

    @property
    def rule_text(self) -> str:
        """The filter of the account that `on_account` tells of, with its δ."""
        rule = str((self.on_account or {}).get("filter", ""))
        return f"{rule}, δ = {self.account_delta:g}" if self.account_delta else rule

    @property
    def summed(self) -> bool:
        """Whether the ε of the total is the plain sum, which holds at no further δ."""
        total = self.total["epsilon"]
        return total is not None and total == _sum_of(self.budgets)

    def _accuracy_at(self, lead: Budget, budget: float) -> Accuracy | None:
        """Return how far off a release is at a budget of that kind, with noise that is paid in it.

        Of answers that people randomized themselves it is not known.
        """
        own = self.accuracy
        if kind_of(own.mechanism).local:
            return None
        same = kind_of(own.mechanism).budget == lead
        return accuracy_of(own.mechanism if same else usual(lead), budget, own.sensitivity)

    @property
    def theorem(self) -> str:
        """How the releases add up, in words."""
        form = "rho" if (self.method, self.budget) == ("paper", "rho") else "known"
        return say(f"composition.theorem.{self.method.replace(' ', '_')}.{form}")

    @property
    def sided(self) -> str:
        """Whether falls count as well as rises."""
        return self.promise.sided

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.promise.adjacency

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the releases: number, budget, and how far off a released value is."""
        law = self.accuracy
        off = [accuracy_of(law.mechanism, x, law.sensitivity) for x in self.budgets]
        return {
            "k": list(range(1, self.releases + 1)),
            self.budget: list(self.budgets),
            "sd": [one.sd for one in off],
            "within_95": [one.within_95 for one in off],
        }

    def __repr__(self) -> str:
        name = "ε" if self.budget == "epsilon" else "ρ"
        each = f"{name}={shown_down(self.budgets[0])}"
        if self.split != "equal":
            each += f" … {shown_down(self.budgets[-1])}"
        how = f"{self.method}, {self.strength}"
        values = {"releases": self.releases, "each": each, "how": how, "sure": self.holds_with}
        return say("series.plan_line", **values)

    def _repr_html_(self) -> str:
        rows = [("promise", self.promise.sentence()), ("by", self.how)]
        rows += [("accuracy", self.accuracy.words)]
        if account := self.on_account:
            lead = "epsilon" if account["rho"] is None else "rho"
            words = (account["accuracy"] or {}).get("words", "")
            values = {"filter": self.rule_text, "each": f"{lead} = {shown_down(account[lead])}"}
            rows += [("on account", say("series.on_account", **values, accuracy=words).strip())]
        rows += [("accumulates", self.accumulation.accumulates)]
        return html_table(repr(self), rows + list(self.assumptions.to_dict().items()))


def shown_down(budget: float, figures: int = 4) -> str:
    """Return a budget with so many figures, rounded down.

    >>> shown_down(0.101366)
    '0.1013'
    """
    if budget <= 0:
        return "0"
    digits = max(0, figures - 1 - math.floor(math.log10(budget)))
    return f"{decimal_down(budget, digits):.{digits}f}"


def plan(
    promise: PromiseLike | int | None = None,
    releases: int | PromiseLike | None = None,
    *,
    delta_total: float | None = None,
    delta_each: float | None = None,
    mechanism: str | None = None,
    budget: Budget | None = None,
    sensitivity: float = 1,
    strength: Strength | None = None,
    method: str | None = None,
    weights: Sequence[float] | None = None,
    growth: float | None = None,
    nonnegative: bool = False,
    period: str = "period",
    **keys: Any,
) -> Plan:
    """Return the largest per-release budget that keeps a promise over all releases.

    `promise` is whatever `choose` takes, or what it gave back; `keys` are the keys of a promise
    (`ratio=3, about="membership"`; `prior=0.05` is p = 0.05, q = 1). Without a confidence it is to
    hold for every output, unless there is a δ or a mechanism that is not pure DP.

    `delta_each` is the δ of one release, `delta_total` fixes the δ of the total (without it the
    best point of the curve is taken). With a `mechanism` its own loss is used, at `strength`
    (without a choice, the strongest that survives post-processing). `weights` or `growth` make an
    unequal split. `nonnegative` says that no contribution is negative, as with counts: two steps of
    Gaussian noise are then shorter.

    >>> plan(12, difference=0.2, about="membership").budgets[0] < 0.8109302162163288 / 12
    True
    """
    if isinstance(promise, int) and not isinstance(promise, bool):
        if isinstance(releases, int):
            raise InputError("series.releases_twice", first=promise, second=releases)
        promise, releases = releases, promise
    if not isinstance(releases, int | None):
        raise InputError("series.releases_not_whole", releases=releases)
    split = _split(releases, weights, growth)
    account_delta = delta_total
    if delta_each is None and delta_total is None:
        delta_each = _delta_beside(promise, len(split.weights))
        account_delta = None if isinstance(promise, Mapping) else delta_in(promise) or None
    kind = _budget_kind(mechanism, budget)
    spent, note = _delta_each(delta_each, mechanism, kind)
    if mechanism is not None and keys.get("adjacency") is None:
        natural = by_budget(mechanism, 1.0).guarantee().adjacency
        keys["adjacency"] = None if natural is Adjacency.ADD_REMOVE else natural.value
    asked = promise_from(promise, keys)
    if mechanism is not None:
        adjacency_of(by_budget(mechanism, 1.0), asked.adjacency.value)
    pure = kind == "epsilon" and spent == 0 and not delta_total
    asked = _settled(asked, pure, strength)
    if mechanism is None and strength not in (None, "generic"):
        raise InputError("series.strength_needs_mechanism", strength=strength)
    _check_deltas(spent, delta_total, asked, len(split.weights))
    limits = limits_of(asked)
    drawn = _Drawn(split, kind, spent, mechanism, sensitivity, asked.adjacency)
    x, found = _largest(asked, limits, drawn, method, strength, delta_total, nonnegative)
    budgets = tuple(x * w for w in split.weights)
    if account_delta is None:
        account_delta = up(spent * len(budgets), 2) if spent else 0.0
    releases_drawn = drawn.parts(x, method, strength, delta_total, nonnegative)
    point = None if delta_total is None else releases_drawn.loss().at(delta_total)
    shown = mechanism or usual(kind)
    first = accuracy_of(shown, budgets[0], sensitivity)
    certain = found.failure == 0 and not asked.on_average
    return Plan(
        releases=len(budgets),
        promise=asked,
        per_release=_parameters(kind, budgets[0], spent),
        total=_total(kind, budgets, spent, found, point),
        budgets=budgets,
        budget=kind,
        split=split.name,
        method=method or _method_name(asked, kind, found, releases_drawn),
        how=found.method,
        strength=found.strength,
        survives_post_processing=found.survives,
        epsilon_prime=found.one,
        two_steps=found.two,
        holds_with=1.0 if certain or asked.confidence is None else asked.confidence,
        accuracy=first,
        accuracy_last=accuracy_of(shown, budgets[-1], sensitivity),
        accumulation=accumulation(asked.unit, len(budgets), period),
        assumptions=assumptions_for(
            asked.adjacency,
            strong=not asked.every_output,
            unit=str(asked.unit),
            confidence=None if certain else asked.confidence,
            values_unknown=asked.about != "membership",
            survives=found.survives,
            on_average=asked.on_average,
        ),
        sigma=first.sd if isinstance(by_budget(shown, 1.0).loss, NormalLoss) else None,
        note=found.note or note or _beyond_account(found),
        drawn=releases_drawn,
        account_delta=account_delta,
    )


def _beyond_account(found: Kept) -> str | None:
    """Say that an account allows less, where the plan rests on the law of the noise."""
    return say("series.beyond_account") if found.strength != "generic" else None


def _delta_beside(promise: Any, releases: int) -> float | None:
    """Return the δ of each release that a mapping names, or that a choice leaves each of them."""
    beside = delta_in(promise)
    if isinstance(promise, Mapping):
        return beside or None
    return down(beside / releases, 1) if beside else None


def _settled(asked: Promise, pure: bool, strength: Strength | None) -> Promise:
    """Return the promise with how surely said; refuse what no accounting can make true."""
    if asked.every_output and not pure:
        raise InputError("series.every_output_needs_pure")
    settled = asked.settled(pure=pure)
    if strength == "exact" and settled.every_output:
        raise InputError("series.exact_needs_confidence")
    return settled


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What each release of the plan is, at a budget."""

    split: Split
    kind: Budget
    delta: float
    mechanism: str | None
    sensitivity: float
    adjacency: Adjacency

    def parts(
        self,
        x: float,
        method: str | None = None,
        strength: Strength | None = None,
        delta: float | None = None,
        nonnegative: bool = False,
    ) -> Releases:
        """Return the plan at a budget."""
        found = tuple((self._one(x * w), k) for w, k in self.split.counted())
        return Releases(found, method, strength, delta, nonnegative)

    def _one(self, budget: float) -> Part:
        if self.mechanism is not None:
            return by_budget(self.mechanism, budget, self.sensitivity)
        if self.kind == "rho":
            return stated(rho=budget, adjacency=self.adjacency)
        return stated(budget, self.delta, adjacency=self.adjacency)


def _largest(
    promise: Promise,
    limits: Limits,
    drawn: _Drawn,
    method: str | None,
    strength: Strength | None,
    delta: float | None,
    nonnegative: bool,
) -> tuple[float, Kept]:
    bound = min(limits.one or math.inf, limits.two or math.inf)
    if math.isinf(bound) and not promise.on_average:
        raise ToleranceError("series.allows_everything")
    if promise.every_output and method in (None, "basic"):
        return _pure(limits, drawn)

    def at(x: float) -> Kept:
        plan = drawn.parts(x, method, strength, delta, nonnegative)
        asked = plan.strength if plan.by_law else None
        return kept(promise, limits, plan.loss(), strength=asked)

    start = min(1.0, bound)
    first = drawn.parts(start, method, strength)
    losses = {law.loss for law, _ in first.mechanisms or ()}
    normal = all(isinstance(loss, NormalLoss) for loss in losses)
    binomial = len(losses) == 1 and all(isinstance(loss, TwoPoint) for loss in losses)
    if normal or binomial or not first.by_law:  # with closed forms
        return largest(at, start)

    def nearly(x: float) -> Kept:
        """The same for Gaussian noise of the same ρ, which takes no transforms."""
        rho = (first.rho or 0.0) * (x / start) ** (2 if drawn.kind == "epsilon" else 1)
        alike = Releases(((Gaussian.of_rho(rho), 1),), None, strength, delta, nonnegative)
        return kept(promise, limits, alike.loss(), strength="curve")

    return largest(at, largest(nearly, start)[0], 1.01)


def _pure(limits: Limits, drawn: _Drawn) -> tuple[float, Kept]:
    """For every output ε adds up: the share of the pure budget, exactly, rounded down."""
    whole = limits.pure
    weights = sum((Fraction(w) for w in drawn.split.weights), Fraction(0))
    x = float(Fraction(whole) / weights)
    while sum((Fraction(x * w) for w in drawn.split.weights), Fraction(0)) > Fraction(whole):
        x = math.nextafter(x, 0.0)
    found = Kept(
        excess=0.0,
        failure=0.0,
        strength="generic",
        survives=True,
        method=described("basic", say("composition.bound.pure")),
        one=None if limits.one is None else limits.steps[0] * whole,
        two=None if limits.two is None else limits.steps[1] * whole,
    )
    return x, found


def _split(releases: int | None, weights: Sequence[float] | None, growth: float | None) -> Split:
    if weights is not None and growth is not None:
        raise InputError("series.two_splits")
    if weights is not None:
        if releases is not None and releases != len(weights):
            raise InputError("series.weights_differ", weights=len(weights), releases=releases)
        return Split.weighted(weights)
    if releases is None:
        raise InputError("series.no_releases")
    return Split.equal(releases) if growth is None else Split.growing(releases, growth)


def _budget_kind(mechanism: str | None, budget: Budget | None) -> Budget:
    if budget not in (None, "epsilon", "rho"):
        raise InputError("series.budget_unknown", budget=budget)
    if mechanism is None:
        return budget or "epsilon"
    kind: Budget = kind_of(mechanism).budget
    if budget not in (None, kind):
        raise InputError("series.other_budget", mechanism=mechanism, kind=kind, budget=budget)
    return kind


def _delta_each(
    delta_each: float | None, mechanism: str | None, kind: Budget
) -> tuple[float, str | None]:
    if delta_each is None:
        return 0.0, None
    ApproxDP(0.0, delta_each)
    if delta_each > 0 and (mechanism is not None or kind == "rho"):
        what = "zCDP" if mechanism is None else f"{mechanism} noise"
        return 0.0, say("series.delta_not_used", what=what)
    return delta_each, None


def _check_deltas(each: float, total: float | None, promise: Promise, releases: int) -> None:
    if total is not None:
        ApproxDP(0.0, total)
        if total == 0 and each > 0:
            raise InputError("series.delta_total_zero", each=each)
    if promise.confidence is None:
        return
    from discreet.beliefs.prior import failure_of

    failure = failure_of(promise.confidence)
    if total is not None and total >= failure:
        raise InputError("series.delta_total_large", total=total, failure=failure)
    if each * releases >= failure:
        raise InputError(
            "series.delta_each_large",
            releases=releases,
            each=each,
            total=each * releases,
            failure=failure,
        )


def _parameters(kind: Budget, budget: float, delta: float) -> dict[str, Any]:
    if kind == "rho":
        return parameters(rho=budget)
    return parameters(epsilon=budget, delta=delta)


def _sum_of(budgets: tuple[float, ...]) -> float:
    """Return the sum, never above a budget that it is within: it is exact, and rounded up once."""
    counted = Counter(budgets).items()
    return double_above(sum((Fraction(one) * times for one, times in counted), Fraction(0)))


def _total(
    kind: Budget,
    budgets: tuple[float, ...],
    delta: float,
    found: Kept,
    fixed: ApproxDP | None,
) -> dict[str, Any]:
    """What the whole plan promises: at the δ that was given, at the point used, or the plain sum.

    Of a promise about a value alone the point is that of two steps, which is no promise.
    """
    sum_of = _sum_of(budgets)
    of_two = found.one is None and found.two is not None
    epsilon, at = (None, None) if of_two else found.point or (None, None)
    if fixed is not None:
        epsilon, at = fixed.epsilon, fixed.delta
    if kind == "rho":
        return parameters(epsilon=epsilon, delta=at, rho=sum_of)
    if epsilon is None:
        return parameters(epsilon=sum_of, delta=double_above(Fraction(delta) * len(budgets)))
    return parameters(epsilon=epsilon, delta=at)


def _method_name(promise: Promise, kind: Budget, found: Kept, drawn: Releases) -> str:
    if promise.on_average:
        return "on average"
    if found.failure == 0:
        return "basic"
    if found.strength != "generic":
        return found.strength
    if kind == "rho":
        return "zcdp"
    return found.theorem or ("curve" if drawn.by_law else "basic")


def adjacency_of(part: Part, asked: str | None = None) -> Adjacency:
    """Return the adjacency of a guarantee, or the one that a mechanism's sensitivity is under.

    A randomized answer protects what was answered, not whether; a guarantee says its own.
    """
    stated = guarantee_of(part).adjacency
    if asked is None or Adjacency.of(asked) is stated:
        return stated
    if guarantee_of(part) is part or stated is not Adjacency.ADD_REMOVE:
        raise GuaranteeError(
            "series.other_adjacency", stated=guarantee_of(part), has=stated.value, asked=asked
        )
    return Adjacency.of(asked)


@dataclass(frozen=True, slots=True)
class Split:
    """The share of each release, as weights whose largest is 1.

    >>> Split.growing(3, 2.0).weights
    (0.25, 0.5, 1.0)
    """

    name: str
    weights: tuple[float, ...]

    @classmethod
    def equal(cls, releases: int) -> Split:
        """The same for each of so many releases."""
        return cls("equal", (1.0,) * whole("releases", releases))

    @classmethod
    def weighted(cls, weights: Sequence[float]) -> Split:
        """Given weights, one a release, all positive."""
        if not weights:
            raise InputError("series.no_weights")
        for w in weights:
            number = isinstance(w, (int, float)) and not isinstance(w, bool)
            if not number or not 0 < w < math.inf:
                raise InputError("series.weight_not_positive", weight=w)
        largest = max(weights)
        return cls("weighted", tuple(w / largest for w in weights))

    @classmethod
    def growing(cls, releases: int, factor: float) -> Split:
        """Each release gets `factor` times the one before (below 1 it shrinks)."""
        Split.equal(releases)
        if math.isnan(factor) or not 0 < factor < math.inf:
            raise InputError("series.growth_not_positive", factor=factor)
        exponents = [j * math.log(factor) for j in range(releases)]
        largest = max(exponents)
        if min(exponents) - largest < -30:
            raise InputError("series.growth_too_steep", factor=factor, releases=releases)
        return cls("growing", tuple(math.exp(x - largest) for x in exponents))

    def counted(self) -> list[tuple[float, int]]:
        """Return the distinct weights and how often each occurs, in order of first use."""
        counts: dict[float, int] = {}
        for w in self.weights:
            counts[w] = counts.get(w, 0) + 1
        return list(counts.items())


@dataclass(frozen=True, slots=True)
class Accuracy(JsonReady):
    """How far off one released value is; None for what the mechanism has not."""

    mechanism: str
    sensitivity: float
    sd: float | None
    prob_exact: float | None
    within_95: float | None
    words: str


def accuracy_of(name: str, budget: float, sensitivity: float = 1) -> Accuracy:
    """Return the accuracy of one release with the named mechanism at a budget."""
    law = by_budget(name, budget, sensitivity)
    sd, within = law.sd, law.half_width(0.95)
    return Accuracy(
        mechanism=name,
        sensitivity=sensitivity,
        sd=None if sd is None else float(sd),
        prob_exact=law.prob_exact,
        within_95=None if within is None else float(within),
        words=say("series.one_number", words=law.explain(), sensitivity=sensitivity),
    )


@dataclass(frozen=True, slots=True)
class Accumulation(JsonReady):
    """What adds up over the releases of a plan, and what does not."""

    unit: str
    accumulates: str
    does_not_accumulate: str


def accumulation(unit: Unit, releases: int, period: str = "period") -> Accumulation:
    """Say what accumulates over so many releases for the unit that is protected."""
    if unit.is_person:
        return Accumulation(
            unit=str(unit),
            accumulates=say("series.accumulates.person", unit=unit, releases=releases),
            does_not_accumulate=say("series.does_not_accumulate.person", unit=unit),
        )
    return Accumulation(
        unit=str(unit),
        accumulates=say("series.accumulates.period", releases=releases, period=period),
        does_not_accumulate=say("series.does_not_accumulate.period", unit=unit, period=period),
    )

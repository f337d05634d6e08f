"""`horizon`: how many releases until a promise is no longer kept, and the belief on the way there.

Notation. After k equal releases, on top of what was spent before, the privacy loss of one step is
bounded by a and that of two by b, with the confidence of the promise (`composition`). Where the
value is known (q = 1) only a counts: the posterior at the prior p is at most expit(logit p + a),
and the difference, over all priors, at most tanh(a/4). For a value of someone who is in, b takes
the place of a; for both at once the difference over all priors is at most tanh(max(a, b/2)/2).

Passing is strictly greater. One more release never makes a bound smaller: the truth is monotone in
k, and what a search along a curve leaves loose is taken out by a running maximum, on the safe side.
For the same reason a bound after k releases is one after fewer, so the first k that passes can be
found by bisection where not every step is asked for (`most`).

Under a cap: how many more releases fit, and what a δ may cost.

Releases left are added up as a filter adds them, by plain sums. pure: Σε ≤ cap; basic: Σε and Σδ;
zCDP: Σρ. Sums of this kind may be spent as one goes, on budgets chosen after looking at what was
published; tighter accounting is for a plan fixed in advance (`horizon`). Numbers are compared as
exact fractions, so repeated small releases never slip past.

Advice on δ. (0, δ)-DP is kept by publishing each person's full record with probability δ: no record
need be protected at all as long as that is rare. So of n people up to nδ may be exposed outright,
in expectation, and a δ near 1/n allows one person's record to be published on every occasion (Dwork
and Roth 2014, §2.3, who ask for δ far below 1/n; Kasiviswanathan and Smith 2014 for Bayesian
adversaries). δ is neither the probability that something is learned nor the failure probability δ'
of a belief bound, which may be larger by far: see `discreet.composition.curves`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, cast

from discreet.beliefs import bounds
from discreet.beliefs.belief import Assumptions, assumptions_for
from discreet.beliefs.prior import Prior, failure_of
from discreet.budgets.keeping import Kept, OneLoss, kept, one_loss
from discreet.budgets.limits import Limits, limits_of
from discreet.composition import LossBound, Part, Releases, guarantee_of
from discreet.composition.curves import Sided, Strength
from discreet.errors import GuaranteeError, InputError
from discreet.frames import JsonReady, Tabular, columns_from, html_table
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, Guarantee, PureDP
from discreet.laws.checks import whole
from discreet.numerics import first_above
from discreet.promises.keys import promise_from, shape_keys
from discreet.promises.promise import Promise, PromiseLike
from discreet.promises.tolerance import PRIORS
from discreet.rounding import FIGURES, decimal_up, number, up
from discreet.series.planning import adjacency_of
from discreet.words import catalogue, say

_CEILING = 1_000_000
_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Step(JsonReady):
    """Bounds after k releases: `difference` over all priors, `posterior` at the promise's."""

    k: int
    posterior: float | None
    difference: float
    epsilon_prime: float
    shows: ClassVar = ("k", "posterior", "difference")


@dataclass(frozen=True, slots=True)
class Horizon(JsonReady, Tabular):
    """The first number of releases after which a promise is not kept, and the series up to it.

    `releases` is None where it is kept for all `searched` releases, and 0 where what was spent
    before has passed it already.
    """

    releases: int | None
    series: tuple[Step, ...]
    searched: int
    each: Part
    promise: Promise | None
    prior: float | None
    holds_with: float
    sided: Sided
    strength: Strength
    survives_post_processing: bool
    method: str
    assumptions: Assumptions
    spent: Part | None = None
    note: str | None = None
    rounding: str | None = None
    """What rounding did, where the promise is passed by the last figure of ε or ρ alone."""

    def to_dict(self) -> dict[str, Any]:
        """Return the horizon as JSON-ready values."""
        each = guarantee_of(self.each)
        return super(Horizon, self).to_dict() | {
            "each": each.to_dict(),
            "mechanism": None if self.each is each else repr(self.each),
            "spent": None if self.spent is None else guarantee_of(self.spent).to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the series: the bounds after each number of releases."""
        return columns_from(step.to_dict() for step in self.series)

    def __repr__(self) -> str:
        what = "no limit passed" if self.releases is None else f"passed at {self.releases}"
        values = {"each": guarantee_of(self.each), "how": self.strength, "sure": self.holds_with}
        return say("series.horizon_line", what=what, **values)

    def _repr_html_(self) -> str:
        rows = [("after", f"{self.series[-1].k} releases")]
        if self.series[-1].posterior is not None:
            rows.append(("posterior ≤", f"{decimal_up(self.series[-1].posterior, 4):g}"))
        rows.append(("difference ≤", f"{decimal_up(self.series[-1].difference, 4):g}"))
        rest = list(self.assumptions.to_dict().items())
        return html_table(repr(self), [*rows, ("by", self.method), *rest])


def horizon(
    each: Part,
    promise: PromiseLike | float | None = None,
    *,
    posterior_limit: float | None = None,
    difference_limit: float | None = None,
    spent: Part | None = None,
    strength: Strength | None = None,
    delta: float | None = None,
    method: str | None = None,
    upto: int | None = None,
    most: int | None = None,
    ceiling: int = _CEILING,
    nonnegative: bool = False,
    **keys: Any,
) -> Horizon:
    """Return after how many releases like `each` a promise is no longer kept.

    `each` is a guarantee or a mechanism, and so is `spent`, what was released before. `promise` is
    whatever `choose` takes; a number is a prior of being in the data, with the value known.
    `posterior_limit` and `difference_limit` are other names for the keys posterior and difference.
    `delta` fixes one point (ε, δ) of the composed curve; left out, the best point is taken.
    `method` is basic, advanced, tanh or optimal for guarantees, paper for zCDP. With `upto` the
    series runs to that many releases, whatever is passed before; with `most` it holds about so many
    steps of it, spread evenly. No promise is followed beyond `ceiling` releases.

    >>> from discreet.guarantees import ZCDP
    >>> horizon(ZCDP(0.01), 0.5, posterior_limit=0.99).releases
    79
    """
    _check_whole(upto=upto, most=most, ceiling=ceiling)
    if isinstance(promise, (int, float)):
        promise, keys["prior"] = None, promise
    keys = {key: value for key, value in keys.items() if value is not None}
    for name, limit in (("posterior", posterior_limit), ("difference", difference_limit)):
        if limit is not None:
            keys[name] = limit
    where = adjacency_of(each, keys.get("adjacency"))
    if promise is None and where is not Adjacency.ADD_REMOVE:
        keys["adjacency"] = where.value
    limited = _asked(promise, keys, upto)
    asked = limited or _unlimited(keys)
    for part in (each, spent):
        if part is not None:
            adjacency_of(part, asked.adjacency.value)
    one, before = _alike(each, spent)
    parts = Releases(((one, 1),), method, strength, delta, nonnegative)
    watched = _watched(asked, parts, before)
    if (limited is None or not watched.keeps(1)) and math.isinf(watched.shown(1, kept=False)):
        raise GuaranteeError("series.one_spends_all", confidence=watched.promise.confidence)
    passed = watched.first_over(upto or ceiling)
    if passed == 0:
        places = [0]
    else:
        last = upto or passed or min(_SHOWN, ceiling)
        places = list(range(1, last + 1)) if most is None else _spread(last, most, passed)
    steps = watched.walk(places, passed)
    end, sure = watched.end(places[-1], passed), watched.promise
    final = watched.after(end).kept
    finite = not math.isinf(steps[-1].epsilon_prime)
    certain = final.failure == 0 and finite and not sure.on_average
    return Horizon(
        releases=passed,
        series=tuple(steps),
        searched=steps[-1].k if upto is not None or passed is not None else ceiling,
        each=each,
        promise=None if limited is None else sure,
        prior=None if watched.prior is None else watched.prior.pq,
        holds_with=1.0 if certain or sure.confidence is None else sure.confidence,
        sided=sure.sided,
        strength=final.strength,
        survives_post_processing=final.survives,
        method=say("series.at_release", method=final.method, release=end)
        if end and final.failure
        else final.method,
        assumptions=assumptions_for(
            sure.adjacency,
            strong=not sure.every_output,
            unit=str(sure.unit),
            confidence=None if certain else sure.confidence,
            values_unknown=sure.about != "membership",
            survives=final.survives,
            on_average=sure.on_average,
        ),
        spent=spent,
        note=final.note,
        rounding=None if not passed or limited is None else _by_rounding(watched, one, passed),
    )


def _by_rounding(watched: _Watched, each: Part, passed: int) -> str | None:
    """Say so if a release that spends one unit less in its last figure would pass no limit.

    Budgets that are spent are shown rounded up, so what is typed from there may be too much.
    """
    for name, sign in (("epsilon", "ε"), ("rho", "ρ")):
        given = getattr(each, name, 0.0) if isinstance(each, (PureDP, ApproxDP, ZCDP)) else 0.0
        if not given or float(told := number(given, "up", FIGURES).replace(",", "")) != given:
            continue
        unit = Decimal(10) ** (Decimal(told).adjusted() - FIGURES + 1)
        less = float(Decimal(told) - unit)
        spends: Any = replace(cast("Any", each), **{name: less})
        parts = replace(watched.parts, parts=((spends, 1),))
        if replace(watched, parts=parts, _seen={}).keeps(passed):
            shown = number(less, "down", FIGURES)
            return say("series.rounded", sign=sign, given=told, less=shown, releases=passed)
    return None


def _asked(promise: PromiseLike | None, keys: dict[str, Any], upto: int | None) -> Promise | None:
    """Return the promise that is followed; None where only the way is asked for."""
    given = {key for key, value in keys.items() if value is not None}
    if promise is None and not given & shape_keys():
        if upto is None:
            raise InputError("series.no_limit")
        return None
    if promise is None and "posterior" in given and not given & {*PRIORS, "prior", "unless_ratio"}:
        raise InputError("series.no_prior")
    return promise_from(promise, keys)


def _unlimited(keys: dict[str, Any]) -> Promise:
    """Return a promise that no release breaks, with the priors and the surety that were given."""
    priors = {} if {"prior", "p", "q", "box", "about"} & set(keys) else {"about": "membership"}
    if Adjacency.of(keys.get("adjacency") or "add-remove") is not Adjacency.ADD_REMOVE:
        priors = {}
    return promise_from(None, keys | priors | {"difference": 1.0})


def _alike(each: Part, spent: Part | None) -> tuple[Part, Part | None]:
    """Return a release and what was spent before as parts that can be added up.

    What is spent as ε may stand for its worst case, geometric noise; a ρ has none, so that the
    releases are then counted by their ρ as well.
    """
    if spent is None or guarantee_of(each) is each or guarantee_of(spent) is not spent:
        return each, spent
    if isinstance(spent, PureDP):
        from discreet.laws import Geometric, RandomizedResponse

        worst = RandomizedResponse if isinstance(each, RandomizedResponse) else Geometric
        return each, worst(spent.epsilon)
    return guarantee_of(each), spent


def _check_whole(**numbers: int | None) -> None:
    for name, given in numbers.items():
        if given is not None:
            whole(name, given)


@lru_cache(maxsize=4096)
def _bound(plan: Releases, m: int, failure: float, sided: str) -> LossBound:
    """Return the bound on the loss of m steps; infinite where too much δ is spent for any.

    It depends on no prior and no limit, so those may be moved.
    """
    loss = plan.loss(m)
    try:
        return loss.one_step(failure, sided, strength=plan.strength)
    except GuaranteeError:
        method = loss.described(say("composition.bound.none"))
        return LossBound(math.inf, 0.0, "generic", True, method)


class _After(NamedTuple):
    """What is known after k releases: `one` bounds the only loss that counts, if one does.

    `guess` is how often the best guess is right, and how often it was beforehand.
    """

    kept: Kept
    one: float | None = None
    guess: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class _Watched:
    """A promise, and the series of releases that it is watched over."""

    promise: Promise
    limits: Limits
    alone: OneLoss | None
    parts: Releases
    spent: Part | None
    prior: Prior | None
    _seen: dict[int, _After] = field(default_factory=dict, compare=False)

    def series(self, k: int) -> Releases:
        """Return the plan of k releases, with what was spent before."""
        (each, _), *_rest = self.parts.parts
        before = () if self.spent is None else ((self.spent, 1),)
        if k == 0:
            return replace(self.parts, parts=before)
        if self.spent == each:
            return replace(self.parts, parts=((each, k + 1),))
        return replace(self.parts, parts=(*before, (each, k)))

    def after(self, k: int) -> _After:
        """Return what is known after k releases."""
        if k not in self._seen:
            self._seen[k] = self._found(k)
        return self._seen[k]

    def _found(self, k: int) -> _After:
        plan = self.series(k)
        if self.alone is not None:
            strength = self.alone.strength(plan.strength)
            plan, wanted = replace(plan, strength=strength), plan.strength
            bound = _bound(plan, self.alone.steps, self.alone.failure, self.alone.sided)
            loss = bound.epsilon_prime
            found = self.alone.judged(bound, wanted)
            return _After(replace(found, excess=math.inf) if math.isinf(loss) else found, loss)
        total = plan.loss()
        by_law = plan.strength if plan.by_law else None
        found = kept(self.promise, self.limits, total, strength=by_law)
        guess = None
        if self.promise.on_average:
            related = total.steps(self.promise.related)
            before = {part.box.q1 for _, part in self.promise.parts}
            rates = ((related.right_guess(q), q) for q in before)
            guess = max(rates, key=lambda pair: pair[0] - pair[1])
        return _After(found, guess=guess)

    def keeps(self, k: int) -> bool:
        """Whether the promise is kept after k releases."""
        return self.after(k).kept.kept

    def first_over(self, reach: int) -> int | None:
        """Return the first number of releases, up to `reach`, that does not keep the promise."""
        if self.spent is not None and not self.keeps(0):
            return 0
        return first_above(lambda k: self.after(k).kept.excess, reach)

    def end(self, last: int, passed: int | None) -> int:
        """Return the number of releases whose bound is told: the last, or the first that passes.

        Where two losses count it is not followed beyond the number that passes: after that all
        that is said of it stays the same.
        """
        follows = self.alone is None and not (self.promise.every_output or self.promise.on_average)
        return min(last, passed or last) if follows else last

    def walk(self, places: Iterable[int], passed: int | None) -> list[Step]:
        """Return the beliefs after so many releases; a bound never falls."""
        largest, steps = 0.0, []
        for k in places:
            largest = max(largest, self.shown(k, kept=passed is None or k < passed))
            steps.append(self.step(k, largest))
        return steps

    def shown(self, k: int, *, kept: bool) -> float:
        """Return the bound of the loss that the belief after k releases is shown from.

        Where both losses count, the larger of a and b/2, which share what may fail in a direction;
        not more than the limits, where these are `kept`.
        """
        if self.alone is not None:
            return self.after(k).one or 0.0
        if self.promise.every_output or self.promise.on_average:
            found = self.after(k).kept
            return max(found.one or 0.0, (found.two or 0.0) / 2)
        plan = self.series(k)
        if plan.strength == "exact":  # which is for membership alone
            plan = replace(plan, strength="curve")
        failure = failure_of(self.promise.confidence or 0.0)
        failure /= 2 if self.promise.sided == "two" else 1
        near, far = self.limits.steps
        shown = math.inf
        for share in (0.5, 0.25, 0.1):  # two steps may need more where much δ is spent
            one = _bound(plan, near, share * failure, "one").epsilon_prime
            two = _bound(plan, far, (1 - share) * failure, "one").epsilon_prime
            shown = max(one, two / 2)
            if math.isfinite(shown):
                break
        if kept and self.limits.one is not None and self.limits.two is not None:
            shown = min(shown, max(self.limits.one, self.limits.two / 2))  # whatever the split
        return shown

    def step(self, k: int, largest: float) -> Step:
        """Return the beliefs after k releases from a bound on the loss."""
        if self.promise.on_average and (guess := self.after(k).guess) is not None:
            after, before = guess
            return Step(k, None if self.prior is None else after, after - before, largest)
        if math.isinf(largest):
            return Step(k, None if self.prior is None else 1.0, 1.0, largest)
        if self.promise.about == "membership":
            posterior = None
            if self.prior is not None:
                posterior = bounds.posterior(largest, self.prior.p).upper
            return Step(k, posterior, bounds.differences(largest, None).upper, largest)
        central = self.promise.adjacency is Adjacency.ADD_REMOVE
        # A value: one loss between two values, the two steps themselves where `alone` says so.
        across = largest if not central or self.alone is not None else 2 * largest
        posterior = None
        if self.prior is not None:
            where = self.promise.adjacency if self.alone is None else Adjacency.REPLACE
            loss = largest if where is Adjacency.ADD_REMOVE else across
            ratio = bounds.ratio(loss, self.prior, bounds.steps_between(where))[1]
            posterior = min(1.0, up(self.prior.pq * ratio))
        return Step(k, posterior, bounds.differences(across, None).upper, largest)


@lru_cache(maxsize=16)
def _watched(asked: Promise, parts: Releases, spent: Part | None) -> _Watched:
    """Return what is watched; the same question again finds what was computed for it."""
    stated = [guarantee_of(part) for part, _ in parts.parts]
    stated += [] if spent is None else [guarantee_of(spent)]
    pure = all(isinstance(g, PureDP) or getattr(g, "delta", 1.0) == 0 for g in stated)
    if asked.every_output and not (pure and parts.delta is None):
        raise InputError("series.every_output_needs_pure")
    sure = asked.settled(pure=pure and parts.delta is None)
    limits = limits_of(sure)
    own = sure.own_prior
    return _Watched(
        promise=sure,
        limits=limits,
        alone=None if sure.every_output or sure.on_average else one_loss(sure, limits),
        parts=parts,
        spent=spent,
        prior=None if own is None else Prior(*own),
    )


def _spread(last: int, most: int, passed: int | None) -> list[int]:
    """About so many of the numbers 1 to `last`, with both ends and where a limit is passed."""
    pieces = max(2, most) - 1
    found = {1 + round(i * (last - 1) / pieces) for i in range(pieces + 1)}
    if passed is not None:
        found |= {k for k in (passed - 1, passed) if 1 <= k <= last}
    return sorted(found)


_SAFE = 1e-2  # of one person, in expectation, over everything


def releases_left(cap: Guarantee, each: Guarantee, spent: Guarantee | None = None) -> int | None:
    """Return how many more releases like `each` fit under the cap; None if they cost nothing.

    >>> releases_left(PureDP(1.0), PureDP(0.1), spent=PureDP(0.35))
    6
    """
    stated = [cap, each] if spent is None else [cap, each, spent]
    if len({g.adjacency for g in stated}) > 1:
        raise GuaranteeError("series.cap_under_another_adjacency")
    names = _names(cap)
    limits = []
    for name in names:
        room = _amount(cap, name) - (Fraction(0) if spent is None else _amount(spent, name))
        cost = _amount(each, name)
        if cost > 0 or room < 0:
            limits.append(max(0, room // cost) if cost > 0 else 0)
    for g in stated[1:]:
        extra = [n for n in ("epsilon", "delta", "rho") if n not in names and _amount(g, n) > 0]
        if extra:
            raise GuaranteeError("series.cap_does_not_count", stated=g, spends=extra[0], cap=cap)
    return min(limits) if limits else None


def _names(cap: Guarantee) -> tuple[str, ...]:
    match cap:
        case PureDP():
            return ("epsilon",)
        case ApproxDP():
            return ("epsilon", "delta")
        case ZCDP():
            return ("rho",)
    raise GuaranteeError("series.no_cap", kind=type(cap).__name__)


def _amount(stated: Guarantee, name: str) -> Fraction:
    """The exact value of a float, read as the decimal that was written."""
    return Fraction(repr(float(getattr(stated, name, 0.0))))


@dataclass(frozen=True, slots=True)
class DeltaAdvice(JsonReady):
    """What a δ may cost among so many people, and a δ that costs next to nothing."""

    people: int
    delta: float
    exposed: float
    advised: float
    verdict: str
    sentences: tuple[str, ...]
    sources: tuple[str, ...]


def advice_on_delta(people: int, delta: float) -> DeltaAdvice:
    """Return what δ allows at worst among `people`, over everything it was summed over.

    >>> advice_on_delta(1_000_000, 1e-6).verdict
    'too large'
    """
    whole("people", people)
    ApproxDP(0.0, delta)
    exposed, advised = people * delta, min(1e-6, _SAFE / people)
    if delta == 0:
        verdict = "none"
        sentences = [say("series.delta.none", advised=advised, people=people)]
    else:
        large = "large" if delta > advised else "small enough"
        verdict = "too large" if exposed >= 0.5 else large
        shown = decimal_up(exposed, 4)
        sentences = [
            say("series.delta.at_worst", delta=delta, exposed=shown, people=people),
            say("series.delta.advised", advised=advised),
            say("series.delta.is_not"),
        ]
    sources = catalogue().names("series.delta.sources")
    return DeltaAdvice(people, delta, exposed, advised, verdict, tuple(sentences), sources)

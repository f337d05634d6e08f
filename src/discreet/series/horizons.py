"""`horizon`: how many releases until a belief bound is passed, and the belief on the way there.

Notation. After k equal releases the privacy loss of a strong adversary is bounded by ε'_k with
probability 1 − δ' (`accumulating`); the posterior at the prior p is then at most
expit(logit p + ε'_k), and the difference, over all priors, at most tanh(ε'_k/4).

Passing is strictly greater. One more release never makes a bound smaller: the truth is monotone in
k, and what a search along a curve leaves loose is taken out by a running maximum, on the safe side.
For the same reason a bound after k releases is one after fewer, so the first k that passes can be
found by bisection where not every step is asked for (`most`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, cast

from discreet.beliefs import membership
from discreet.beliefs.assumptions import assumptions_for
from discreet.beliefs.belief import Assumptions, Sided, Strength
from discreet.beliefs.confidence import check_sided, failure_of
from discreet.beliefs.loss_bounds import LossBound
from discreet.beliefs.notebook import html_table
from discreet.beliefs.prior import check_probability
from discreet.errors import GuaranteeError, InputError
from discreet.rounding import decimal_up
from discreet.series.accumulating import Part, adjacency_of, bound_of, guarantee_of

__all__ = ["Horizon", "Step", "horizon"]

_CEILING = 1_000_000
_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """The bounds after k releases; `difference` is over all priors."""

    k: int
    posterior: float | None
    difference: float
    epsilon_prime: float

    def to_dict(self) -> dict[str, Any]:
        """Return `{k, posterior, difference}`."""
        return {"k": self.k, "posterior": self.posterior, "difference": self.difference}


@dataclass(frozen=True, slots=True)
class Horizon:
    """The first number of releases at which a limit is passed, and the series up to it.

    `releases` is None where no limit is passed within `searched` releases.
    """

    releases: int | None
    series: tuple[Step, ...]
    searched: int
    each: Part
    prior: float | None
    posterior_limit: float | None
    difference_limit: float | None
    holds_with: float
    sided: Sided
    strength: Strength
    survives_post_processing: bool
    method: str
    assumptions: Assumptions
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the horizon as JSON-ready values."""
        return {
            "releases": self.releases,
            "searched": self.searched,
            "each": guarantee_of(self.each).to_dict(),
            "mechanism": None if self.each is guarantee_of(self.each) else repr(self.each),
            "prior": self.prior,
            "posterior_limit": self.posterior_limit,
            "difference_limit": self.difference_limit,
            "holds_with": self.holds_with,
            "sided": self.sided,
            "strength": self.strength,
            "survives_post_processing": self.survives_post_processing,
            "method": self.method,
            "note": self.note,
            "assumptions": self.assumptions.to_dict(),
            "series": [step.to_dict() for step in self.series],
        }

    def __repr__(self) -> str:
        what = "no limit passed" if self.releases is None else f"passed at {self.releases}"
        return (
            f"Horizon({what}, {guarantee_of(self.each)} each, {self.strength}, "
            f"with probability {self.holds_with:g})"
        )

    def _repr_html_(self) -> str:
        rows = [("after", f"{self.series[-1].k} releases")]
        if self.series[-1].posterior is not None:
            rows.append(("posterior ≤", f"{decimal_up(self.series[-1].posterior, 4):g}"))
        rows.append(("difference ≤", f"{decimal_up(self.series[-1].difference, 4):g}"))
        return html_table(repr(self), [*rows, ("by", self.method), *_said(self.assumptions)])


def _said(assumptions: Assumptions) -> list[tuple[str, str]]:
    return list(assumptions.to_dict().items())


def horizon(
    each: Part,
    prior: float | None = None,
    *,
    posterior_limit: float | None = None,
    difference_limit: float | None = None,
    confidence: float = 0.99,
    sided: Sided = "two",
    strength: Strength | None = None,
    delta: float | None = None,
    method: str | None = None,
    upto: int | None = None,
    most: int | None = None,
    ceiling: int = _CEILING,
    adjacency: str | None = None,
    unit: str = "one person",
) -> Horizon:
    """Return after how many releases like `each` a belief bound passes a limit.

    `each` is a guarantee or a mechanism. `delta` fixes one point (ε, δ) of the composed curve; left
    out, the best point is taken. `method` is basic, advanced, tanh or optimal for guarantees, paper
    for zCDP. With `upto` the series runs to that many releases, whatever is passed before; with
    `most` it holds about so many steps of it, spread evenly. No limit is looked for beyond
    `ceiling` releases. `adjacency` is the one that a mechanism's sensitivity is stated under;
    guarantees carry theirs.

    >>> from discreet.guarantees import ZCDP
    >>> horizon(ZCDP(0.01), 0.5, posterior_limit=0.99).releases
    79
    """
    check_sided(sided)
    _check_limits(prior, posterior_limit, difference_limit, upto)
    _check_whole(upto=upto, most=most, ceiling=ceiling)
    adjacency_of(each, adjacency)
    failure = failure_of(confidence)

    best: dict[int, float] = {}

    def after(k: int, hint: float | None = None) -> LossBound:
        how = (each, k, failure, sided, strength, delta, method)
        if most is None:
            return _after.__wrapped__(*how, _Hint(hint))
        bound = _after(*how, _Hint(_pointed_to(best, k)))
        if bound.point is not None:
            best[k] = bound.point[0]
        return bound

    def passes(step: Step) -> bool:
        over = posterior_limit is not None and cast("float", step.posterior) > posterior_limit
        return over or (difference_limit is not None and step.difference > difference_limit)

    if math.isinf(after(1).epsilon_prime):
        raise GuaranteeError(
            f"one release alone spends more delta than the confidence {confidence:g} (or the fixed "
            "delta) leaves; lower the delta of each release, or the confidence."
        )
    look = _Look(after, passes, prior, upto, ceiling)
    steps, final, passed = look.at_every() if most is None else look.at_some(most)
    certain = final.failure == 0 and not math.isinf(final.epsilon_prime)
    return Horizon(
        releases=passed,
        series=tuple(steps),
        searched=steps[-1].k if upto is not None or passed is not None else ceiling,
        each=each,
        prior=prior,
        posterior_limit=posterior_limit,
        difference_limit=difference_limit,
        holds_with=1.0 if certain else confidence,
        sided=sided,
        strength=final.strength,
        survives_post_processing=final.survives,
        method=final.method,
        assumptions=assumptions_for(
            adjacency_of(each, adjacency),
            strong=True,
            unit=unit,
            confidence=None if certain else confidence,
            survives=final.survives,
        ),
        note=final.note,
    )


def _check_limits(
    prior: float | None,
    posterior_limit: float | None,
    difference_limit: float | None,
    upto: int | None,
) -> None:
    if prior is not None:
        check_probability("prior", prior)
    if posterior_limit is None and difference_limit is None and upto is None:
        raise InputError(
            "no limit was given; say which posterior or difference must not be passed, or how many "
            "releases to look at."
        )
    for name, limit in (("posterior", posterior_limit), ("difference", difference_limit)):
        if limit is not None and (math.isnan(limit) or not 0 <= limit <= 1):
            raise InputError(f"the {name} limit is {limit!r}; it must lie between 0 and 1.")
    if posterior_limit is not None and prior is None:
        raise InputError(
            "a posterior is reached from a prior; give the prior, or a limit on the difference, "
            "which holds for every prior."
        )


def _check_whole(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and (isinstance(number, bool) or number < 1):
            raise InputError(f"{name} is {number!r}; it must be a whole number, 1 or more.")


@dataclass(frozen=True, slots=True)
class _Hint:
    """An ε near the best point of a curve; it shortens a search, and all hints count as equal."""

    epsilon: float | None = field(compare=False)


def _pointed_to(best: dict[int, float], k: int) -> float | None:
    """Where the best points after other numbers of releases point to: a power of k through two."""
    near = sorted(best, key=lambda other: abs(math.log(other / k)))[:2]
    if len(near) < 2 or not all(best[other] > 0 for other in near):
        return None
    one, two = near
    power = math.log(best[two] / best[one]) / math.log(two / one)
    return best[one] * math.pow(k / one, min(2.0, max(0.0, power)))


@lru_cache(maxsize=4096)
def _after(
    each: Part,
    k: int,
    failure: float,
    sided: str,
    strength: Strength | None,
    delta: float | None,
    method: str | None,
    hint: _Hint,
) -> LossBound:
    """The bound after k releases; it hangs on no prior and no limit, so those may be moved."""
    found = hint.epsilon
    return bound_of(
        [(each, k)], failure, sided, strength=strength, delta=delta, method=method, hint=found
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """A look along a series: at every number of releases, or at some of them."""

    after: Callable[..., LossBound]
    passes: Callable[[Step], bool]
    prior: float | None
    upto: int | None
    ceiling: int

    def at_every(self) -> tuple[list[Step], LossBound, int | None]:
        """The series from 1 on, the last bound, and the first number that passes."""
        last = self.upto
        if last is None and self._around(self.ceiling) is None:
            last = min(_SHOWN, self.ceiling)
        steps: list[Step] = []
        passed: int | None = None
        for step, bound in self._walk(count(1)):
            steps.append(step)
            final = bound
            if passed is None and self.passes(step):
                passed = step.k
            if step.k == last or (last is None and passed is not None):
                break
        return steps, final, passed

    def at_some(self, most: int) -> tuple[list[Step], LossBound, int | None]:
        """The same at about so many steps; the first that passes is found by bisection."""
        around = self._around(self.ceiling if self.upto is None else self.upto)
        passed = None if around is None else self._first(*around)
        last = self.upto or passed or min(_SHOWN, self.ceiling)
        found = list(self._walk(_spread(last, most, passed)))
        return [step for step, _ in found], found[-1][1], passed

    def _over(self, k: int) -> bool:
        return self.passes(_step(k, self.after(k).epsilon_prime, self.prior))

    def _around(self, reach: int) -> tuple[int, int] | None:
        """Two numbers of releases, the first seen to keep the limits and the second to pass."""
        kept, k = 0, 1
        while not self._over(k):
            if k >= reach:
                return None
            kept, k = k, min(2 * k, reach)
        return kept, k

    def _first(self, kept: int, over: int) -> int:
        """The first number that passes; the one before it was seen not to."""
        while over - kept > 1:
            middle = (kept + over) // 2
            if self._over(middle):
                over = middle
            else:
                kept = middle
        return over

    def _walk(self, places: Iterable[int]) -> Iterator[tuple[Step, LossBound]]:
        """The bounds after so many releases, each search begun where the last ones point to."""
        largest, hints = 0.0, (0.0, 0.0)
        for k in places:
            bound = self.after(k, max(0.0, 2 * hints[1] - hints[0]) or None)
            hints = (hints[1], 0.0 if bound.point is None else bound.point[0])
            largest = max(largest, bound.epsilon_prime)
            yield _step(k, largest, self.prior), bound


def _spread(last: int, most: int, passed: int | None) -> list[int]:
    """About so many of the numbers 1 to `last`, with both ends and where a limit is passed."""
    pieces = max(2, most) - 1
    found = {1 + round(i * (last - 1) / pieces) for i in range(pieces + 1)}
    if passed is not None:
        found |= {k for k in (passed - 1, passed) if 1 <= k <= last}
    return sorted(found)


def _step(k: int, epsilon_prime: float, prior: float | None) -> Step:
    if math.isinf(epsilon_prime):
        return Step(k, None if prior is None else 1.0, 1.0, epsilon_prime)
    posterior = None if prior is None else membership.posterior(epsilon_prime, prior).upper
    return Step(k, posterior, membership.differences(epsilon_prime, None).upper, epsilon_prime)

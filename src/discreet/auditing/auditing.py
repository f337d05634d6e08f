"""`audit`: attack the release that a spec describes, and compare what was seen with the promise.

    spec ─ raised to ε_audit ─ neighbours ─ training ─ one event a pair ─ fresh trials ─ verdict

Generated neighbours (`neighbours`) go through the real path (`path`) many times. On training trials
an event is chosen for every pair, for the whole release and for each mechanism call; the few pairs
that look worst are then released afresh, and their events (`events`) and beliefs (`belief_checks`)
tested there. `checks` need next to no statistics.

Failure probability. All statistical conclusions together are wrong about a release that keeps its
promise with probability at most `failure_probability`: half of it is shared by the events, a
quarter by the beliefs, a quarter goes to the check for fresh noise (a union bound; pairs and events
were chosen on other trials).

The audit reads no protected row: it never opens the spec's source, and charges nothing. Passing
proves nothing: it says that these attacks, on these data sets, found no fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.auditing import checks
from discreet.auditing.belief_checks import BeliefCheck, beliefs, edges_of
from discreet.auditing.checks import Check
from discreet.auditing.events import Event, Name, Sample, Tested, best_event, judged
from discreet.auditing.neighbours import Pair, neighbours
from discreet.auditing.path import columns_of, raised
from discreet.auditing.promises import Promise
from discreet.auditing.releasing import Progress, Releases
from discreet.auditing.settings import NOTE, WHOLE, check_settings, training_size
from discreet.errors import InputError
from discreet.frames import Tabular, columns_from, html_grid
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, parameters
from discreet.releases.planning import KEYS, Plan
from discreet.releases.pricing import Priced
from discreet.releases.spec import Spec, load

__all__ = ["Audit", "audit"]

_WORST = 3


@dataclass(frozen=True, slots=True)
class Audit(Tabular):
    """What an audit found: the verdict, the tests, the beliefs, the checks."""

    account: str
    epsilon_audit: float
    promised: dict[str, Any]
    passed: bool
    trials: int
    releases: int
    failure_probability: float
    epsilon_lower: float
    epsilon_promised: float
    delta: float
    rho_lower: float | None
    worst: str
    tests: tuple[Tested, ...]
    beliefs: tuple[BeliefCheck, ...]
    checks: tuple[Check, ...]
    pairs: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-ready values."""
        return {
            "passed": self.passed,
            "trials": self.trials,
            "releases": self.releases,
            "epsilon_lower": self.epsilon_lower,
            "epsilon_promised": self.epsilon_promised,
            "delta": self.delta,
            "rho_lower": self.rho_lower,
            "epsilon_audit": self.epsilon_audit,
            "promised": self.promised,
            "failure_probability": self.failure_probability,
            "worst_pair": self.worst,
            "pairs": list(self.pairs),
            "tests": [test.to_dict() for test in self.tests],
            "beliefs": [belief.to_dict() for belief in self.beliefs],
            "checks": [check.to_dict() for check in self.checks],
            "faults": self.faults,
            "note": NOTE,
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the tests."""
        return columns_from(test.to_dict() for test in self.tests)

    @property
    def faults(self) -> list[str]:
        """Everything that did not pass, a sentence each."""
        found = [f"{check.name}: {check.found}" for check in self.checks if not check.passed]
        found += [
            f"{test.view}, pair {test.pair!r}: {_exceeded(test)} was promised, by the event "
            f"{test.event}."
            for test in self.tests
            if test.broken
        ]
        found += [
            f"beliefs, pair {belief.pair!r}: outside the promised bounds in {belief.outside:.3g} "
            f"of the releases, where {belief.allowed:g} is allowed."
            for belief in self.beliefs
            if not belief.passed
        ]
        return found

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "NOT passed"
        at = f" at delta {self.delta:.2g}" if self.delta else ""
        return (
            f"Audit({self.account!r}, {verdict}, epsilon_lower={self.epsilon_lower:.3g} of "
            f"{self.epsilon_promised:.3g}{at}, failure_probability={self.failure_probability:g})"
        )

    def _repr_html_(self) -> str:
        rows = [
            [
                test.pair,
                test.view,
                f"{test.shown.epsilon_lower:.3f}",
                f"{test.shown.epsilon:.3f}",
                "broken" if test.broken else "kept",
            ]
            for test in self.tests
        ]
        rows += [[c.name, c.found, "", "", "passed" if c.passed else "failed"] for c in self.checks]
        header = ["neighbours or check", "of", "ε at least", "promised", "promise"]
        return html_grid(f"{self!r}. {NOTE}", header, rows)


def _exceeded(test: Tested) -> str:
    shown = test.shown
    if shown.rho is not None and shown.rho_lower is not None and shown.rho_lower > shown.rho:
        return f"ρ is at least {shown.rho_lower:.3g} where {shown.rho:.3g}"
    return f"ε is at least {shown.epsilon_lower:.3g} where {shown.epsilon:.3g}"


def audit(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    folder: str | Path | None = None,
    epsilon: float = 2.0,
    trials: int = 2000,
    failure_probability: float = 1e-3,
    draws: int = 3,
    progress: Progress | None = None,
) -> Audit:
    """Attack the release that a spec describes; nothing protected is read, nothing charged.

    `epsilon` is what the budget is raised to: a small one cannot be told from none in any feasible
    number of trials. `trials` is how often each data set of the worst pairs is released for the
    test; a quarter of that, for every data set, goes into choosing. `draws` is how often bounding
    and aggregation run afresh on each data set.
    """
    check_settings(epsilon, trials, failure_probability)
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= 1000:
        raise InputError(f"draws is {draws!r}; give a whole number from 1 to 1000.")
    asked = spec if isinstance(spec, Spec) else load(spec, folder=folder)
    plan, columns = raised(asked, float(epsilon)), columns_of(asked)
    made = neighbours(plan, columns)
    released = Releases(plan, columns, made.data, draws, progress)
    try:
        training = {
            name: released.of(name, training_size(trials))
            for name in {side for pair in made.pairs for side in (pair.left, pair.right)}
        }
        ranked = _ranked(plan, made.pairs, training)
        chosen = ranked[:_WORST]
        fresh = {
            name: released.of(name, trials)
            for name in {side for c in chosen for side in (c.pair.left, c.pair.right)}
        }
        tests, believed = _tested(plan, chosen, training, fresh, failure_probability)
        seen = released.noise
        found = (
            checks.sensitivity(plan, made, columns, max(1, draws - 1)),
            checks.cells(plan, released.shapes),
            checks.charge(plan, made.data["whole person"], columns),
            checks.support(plan),
            checks.fresh(plan, seen, failure_probability / 4),
        )
    finally:
        released.close()
    return _verdict(
        plan, epsilon, trials, failure_probability, released, ranked, tests, believed, found
    )


@dataclass(frozen=True)
class _Chosen:
    pair: Pair
    events: tuple[tuple[str, Event, Promise], ...]


def _views(plan: Plan, names: set[Name]) -> list[tuple[str, Promise, list[Name] | None]]:
    """Return the whole release, and each call alone where its promise stands alone."""
    views: list[tuple[str, Promise, list[Name] | None]] = [
        (WHOLE, Promise.of(plan.pricing.charges), None)
    ]
    found = {planned.name for planned in plan.statistics if planned.found_by is not None}
    if len(plan.pricing.calls) == 1:
        return views
    for call in plan.pricing.calls:
        statistic, part = call.asked.statistic, call.asked.part.name
        if part == KEYS or statistic in found:
            continue  # what is published of found keys also tells which keys were found
        mine = [name for name in sorted(names) if name[:2] == (statistic, part)]
        if mine:
            views.append((f"{statistic} ({part})", Promise.of([_price(call, plan)]), mine))
    return views


def _price(call: Priced, plan: Plan) -> Guarantee:
    adjacency = plan.pricing.charges[0].adjacency
    if call.epsilon is not None:
        return PureDP(call.epsilon, adjacency=adjacency)
    return ZCDP(call.rho or 0.0, adjacency=adjacency)


def _ranked(plan: Plan, pairs: Sequence[Pair], training: Mapping[str, Sample]) -> list[_Chosen]:
    """Choose on the training trials: an event for each pair and view; worst pairs first."""
    names = {name for sample in training.values() for name in sample.columns}
    views = _views(plan, names)
    ranked = []
    for pair in pairs:
        left, right = training[pair.left], training[pair.right]
        events = [
            (view, best_event(left, right, promise, mine), promise) for view, promise, mine in views
        ]
        whole, *calls = events
        worst = sorted(calls, key=lambda event: -event[1].suspicion)[:1]
        kept = (whole, *worst)
        ranked.append((max(event.suspicion for _, event, _ in kept), _Chosen(pair, kept)))
    ranked.sort(key=lambda entry: -entry[0])
    return [chosen for _, chosen in ranked]


def _tested(
    plan: Plan,
    chosen: Sequence[_Chosen],
    training: Mapping[str, Sample],
    fresh: Mapping[str, Sample],
    alpha: float,
) -> tuple[list[Tested], list[BeliefCheck]]:
    count = sum(len(entry.events) for entry in chosen)
    tests, believed = [], []
    failure = Promise.of(plan.pricing.charges).failure
    for entry in chosen:
        pair = entry.pair
        left, right = fresh[pair.left], fresh[pair.right]
        for view, event, promise in entry.events:
            tests.append(judged(event, left, right, promise, alpha / 2 / count, pair.name, view))
        _, event, promise = entry.events[0]
        edges = edges_of(event.score, training[pair.left], training[pair.right])
        share = alpha / 4 / len(chosen)
        believed.append(beliefs(event, edges, left, right, promise, failure, share, pair.name))
    return tests, believed


def _verdict(
    plan: Plan,
    epsilon: float,
    trials: int,
    alpha: float,
    released: Releases,
    ranked: Sequence[_Chosen],
    tests: Sequence[Tested],
    believed: Sequence[BeliefCheck],
    found: Sequence[Check],
) -> Audit:
    whole = [test for test in tests if test.view == WHOLE]
    most = max(whole, key=lambda test: test.shown.epsilon_lower)
    worst = max(tests, key=lambda test: test.shown.epsilon_lower - test.shown.epsilon)
    passed = (
        all(check.passed for check in found)
        and not any(test.broken for test in tests)
        and all(belief.passed for belief in believed)
    )
    delta = sum(c.delta for c in plan.pricing.charges if isinstance(c, ApproxDP))
    rho = sum(c.rho for c in plan.pricing.charges if isinstance(c, ZCDP))
    pure = sum(c.epsilon for c in plan.pricing.charges if isinstance(c, (PureDP, ApproxDP)))
    return Audit(
        account=plan.spec.account,
        epsilon_audit=epsilon,
        promised=parameters(pure or None, delta or None, rho or None),
        passed=passed,
        trials=trials,
        releases=released.count,
        failure_probability=alpha,
        epsilon_lower=most.shown.epsilon_lower,
        epsilon_promised=most.shown.epsilon,
        delta=most.shown.delta,
        rho_lower=max((t.shown.rho_lower for t in whole if t.shown.rho_lower), default=None),
        worst=worst.pair,
        tests=tuple(tests),
        beliefs=tuple(believed),
        checks=tuple(found),
        pairs=tuple(entry.pair.name for entry in ranked),
    )

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
from typing import Any, ClassVar

from discreet.auditing import checks
from discreet.auditing.attacks import Exposure, exposures
from discreet.auditing.checks import Check
from discreet.auditing.claims import Claim, Shown
from discreet.auditing.events import (
    BeliefCheck,
    Event,
    Name,
    Sample,
    Tested,
    beliefs,
    best_event,
    check_settings,
    edges_of,
    judged,
    training_size,
)
from discreet.auditing.neighbours import Pair, neighbours
from discreet.auditing.path import Progress, Releases, columns_of, raised
from discreet.errors import InputError
from discreet.frames import JsonReady, Tabular, columns_from, html_grid
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, parameters, stated
from discreet.releases.charge import assumed_account
from discreet.releases.planning import Plan
from discreet.releases.pricing import Priced, require_own
from discreet.releases.spec import Spec, load
from discreet.words import say

_WORST = 3
_COLUMNS = ("neighbours", "of", "at_least", "promised", "promise")


@dataclass(frozen=True, slots=True)
class Audit(JsonReady, Tabular):
    """What an audit found: the verdict, the tests, the beliefs, the checks."""

    account: str
    epsilon_audit: float
    promised: dict[str, Any]
    trials: int
    releases: int
    failure_probability: float
    tests: tuple[Tested, ...]
    beliefs: tuple[BeliefCheck, ...]
    checks: tuple[Check, ...]
    pairs: tuple[str, ...]
    exposures: tuple[Exposure, ...]
    assumed: str | None = None
    """For which account the release was priced, where it matters: no ledger is read."""
    shows: ClassVar = (
        *("passed", "trials", "releases", "epsilon_lower", "epsilon_promised", "delta"),
        *("rho_lower", "epsilon_audit", "promised", "failure_probability", "pairs", "tests"),
        *("beliefs", "checks", "exposures", "faults"),
    )

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        kept = not any(test.broken for test in self.tests)
        passed = [*(c.passed for c in self.checks), *(b.passed for b in self.beliefs)]
        return kept and all(passed)

    @property
    def _whole(self) -> list[Shown]:
        """What the tests of the whole release show, the most first."""
        whole = say("auditing.whole")
        shown = [test.shown for test in self.tests if test.view == whole]
        return sorted(shown, key=lambda one: -one.epsilon_lower)

    @property
    def epsilon_lower(self) -> float:
        """What ε is at least, at `delta`."""
        return self._whole[0].epsilon_lower

    @property
    def epsilon_promised(self) -> float:
        """What ε was promised to be, at `delta`."""
        return self._whole[0].epsilon

    @property
    def delta(self) -> float:
        """The δ at which ε is stated."""
        return self._whole[0].delta

    @property
    def rho_lower(self) -> float | None:
        """What ρ is at least, where one was promised."""
        return max((one.rho_lower for one in self._whole if one.rho_lower), default=None)

    @property
    def worst(self) -> str:
        """The pair that comes nearest to breaking the promise, or breaks it most."""

        def reached(test: Tested) -> float:
            return test.shown.epsilon_lower / max(test.shown.epsilon, 1e-12)

        return max(self.tests, key=reached).pair

    @property
    def note(self) -> str:
        """What passing means, and for which account the release was priced."""
        return " ".join(one for one in (say("auditing.note"), self.assumed) if one is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-ready values."""
        said = super(Audit, self).to_dict()
        return said | {"worst_pair": self.worst, "note": self.note}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the tests."""
        return columns_from(test.to_dict() for test in self.tests)

    @property
    def faults(self) -> list[str]:
        """Everything that did not pass, a sentence each."""
        found = [f"{check.name}: {check.found}" for check in self.checks if not check.passed]
        found += [_broken(test) for test in self.tests if test.broken]
        found += [
            say(
                "auditing.fault.beliefs",
                pair=belief.pair,
                outside=belief.outside,
                allowed=belief.allowed,
            )
            for belief in self.beliefs
            if not belief.passed
        ]
        return found

    def __repr__(self) -> str:
        verdict = say("auditing.passed" if self.passed else "auditing.not_passed")
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
                say("auditing.broken" if test.broken else "auditing.kept"),
            ]
            for test in self.tests
        ]
        for check in self.checks:
            verdict = say("auditing.passed" if check.passed else "auditing.failed")
            rows.append([check.name, check.found, "", "", verdict])
        header = [say(f"auditing.column.{name}") for name in _COLUMNS]
        return html_grid(f"{self!r}. {self.note}", header, rows)


def _broken(test: Tested) -> str:
    shown = test.shown
    by_rho = shown.rho is not None and (shown.rho_lower or 0.0) > shown.rho
    return say(
        "auditing.fault.test",
        view=test.view,
        pair=test.pair,
        sign="ρ" if by_rho else "ε",
        lower=shown.rho_lower if by_rho else shown.epsilon_lower,
        promised=shown.rho if by_rho else shown.epsilon,
        event=test.event,
    )


def audit(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    folder: str | Path | None = None,
    epsilon: float = 2.0,
    trials: int = 2000,
    failure_probability: float = 1e-3,
    draws: int = 3,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack the release that a spec describes; nothing protected is read, nothing charged.

    `epsilon` is what the budget is raised to: a small one cannot be told from none in any feasible
    number of trials. `trials` is how often each data set of the worst pairs is released for the
    test; a quarter of that, for every data set, goes into choosing. `draws` is how often bounding
    and aggregation run afresh on each data set. Files of public keys lie below the spec's folder,
    or below `keys_from`. `changes` set keys of the spec, as in `release`.
    """
    check_settings(epsilon, trials, failure_probability)
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= 1000:
        raise InputError("auditing.bad_draws", draws=draws)
    told = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    require_own(told)
    asked, whole = told.as_shaped(), told.sample is None
    plan, columns = raised(asked, float(epsilon)), columns_of(asked)
    made = neighbours(plan, columns)
    # First, since it takes the way of a release, and whatever refuses it would lose the trials.
    charged = checks.charge(plan, made.data["whole person"], columns)
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
            charged,
            checks.support(plan),
            checks.fresh(seen, failure_probability / (4 if whole else 8)),
            *(() if whole else (checks.sample(told, failure_probability / 8),)),
        )
    finally:
        released.close()
    charges = plan.pricing.charges
    delta = sum(c.delta for c in charges if isinstance(c, ApproxDP))
    rho = sum(c.rho for c in charges if isinstance(c, ZCDP))
    pure = sum(c.epsilon for c in charges if isinstance(c, (PureDP, ApproxDP)))
    return Audit(
        account=plan.spec.account,
        epsilon_audit=epsilon,
        promised=parameters(pure or None, delta or None, rho or None),
        trials=trials,
        releases=released.count,
        failure_probability=failure_probability,
        tests=tuple(tests),
        beliefs=tuple(believed),
        checks=found,
        pairs=tuple(entry.pair.name for entry in ranked),
        exposures=exposures(plan, 1 if asked.series is None else asked.series.releases),
        assumed=assumed_account(told, charges),
    )


@dataclass(frozen=True)
class _Chosen:
    pair: Pair
    events: tuple[tuple[str, Event, Claim], ...]


def _views(plan: Plan, names: set[Name]) -> list[tuple[str, Claim, list[Name] | None]]:
    """Return the whole release, and each call alone where its promise stands alone."""
    views: list[tuple[str, Claim, list[Name] | None]] = [
        (say("auditing.whole"), Claim.of(plan.pricing.charges), None)
    ]
    found = {planned.name for planned in plan.statistics if planned.searches}
    if len(plan.pricing.calls) == 1:
        return views
    for call in plan.pricing.calls:
        statistic, part = call.asked.statistic, call.asked.part.name
        if statistic in found:
            continue  # what is published of found keys also tells which keys were found
        mine = [name for name in sorted(names) if name[:2] == (statistic, part)]
        if mine:
            views.append((f"{statistic} ({part})", Claim.of([_price(call, plan)]), mine))
    return views


def _price(call: Priced, plan: Plan) -> Guarantee:
    adjacency = plan.pricing.charges[0].adjacency
    return stated(call.epsilon, rho=call.rho, adjacency=adjacency)


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
    failure = Claim.of(plan.pricing.charges).failure
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

"""`attack`: an adversary sees exact answers, and then noisy ones, and grows surer of one person.

    adversary ─ exact answers ─ belief after each step
              └ noisy answers ─ belief after each step, beside what we say it can be at most

The bound after k releases is the one that `explain` gives for the loss of all their answers. It
holds for every output where the adversary is not a strong one, and with the confidence asked for
otherwise; the attack is therefore also repeated, and how often the bound was passed is compared
with how often it may be.

Data are invented, or those of a spec only in how many rows a unit has and how much noise there is:
no source is opened, nothing is charged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from discreet.auditing.attackers import ATTACKERS, Asked, Scene, Seen, likelihood_of
from discreet.beliefs import Prior, explain
from discreet.composition import PrivacyLoss, loss_of
from discreet.errors import InputError
from discreet.frames import JsonReady, Tabular, columns_from
from discreet.guarantees import Adjacency, PureDP, parameters
from discreet.laws.mechanism import Noise
from discreet.laws.registry import KINDS, Kind, kind_of, names
from discreet.noise import add_noise
from discreet.releases.planning import Plan, plan_of
from discreet.releases.pricing import Priced
from discreet.releases.spec import Spec, load
from discreet.statements.presenter import amount_text, belief_text, bound_text
from discreet.words import say

_BUDGETS = {"epsilon": 0.5, "rho": 0.05}
_MOST_TIMES = 10_000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Step(JsonReady):
    """The adversary after k steps: what is true, its estimate, its belief, and our bound."""

    k: int
    noise: bool
    truth: float
    estimate: float | None
    belief: float
    bound: float | None

    @property
    def passed(self) -> bool:
        """Whether the belief is above the bound, by more than the rounding of both."""
        return self.bound is not None and self.belief > self.bound * (1 + _ROUNDING)


@dataclass(frozen=True, slots=True)
class Release:
    """The noise of one release, and what it promises; a target moves an answer by `moves`.

    Answers are whole multiples of `unit`, of a `statistic` of a spec where there is one.
    """

    kind: Kind
    budget: float
    sensitivity: float = 1
    moves: int = 1
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: float = 1
    statistic: str | None = None

    def law(self, share: int = 1) -> Noise:
        """Return the noise of one of so many answers that share the budget."""
        return self.kind.make(self.budget / share, self.sensitivity)  # type: ignore[return-value]

    def loss(self, share: int, answers: int) -> PrivacyLoss:
        """Return the privacy loss of so many answers."""
        return loss_of((self.law(share), answers), adjacency=self.adjacency.value)

    def to_dict(self, times: int = 1) -> dict[str, Any]:
        """Return its budget, or that of several."""
        return parameters(**{"epsilon": None, "rho": None, self.kind.budget: times * self.budget})


@dataclass(frozen=True, slots=True)
class Cap:
    """How many releases an account of this size makes, and what may be believed after them."""

    budget: dict[str, Any]
    releases: int
    bound: float

    def to_dict(self) -> dict[str, Any]:
        """Return the cap as JSON-ready values."""
        return {**self.budget, "releases": self.releases, "bound": self.bound}


@dataclass(frozen=True)
class Attack(JsonReady, Tabular):
    """One attack: the beliefs with noise and without, step by step, and what they show.

    The noisy steps are a typical one of `repeats` attacks: that whose last belief is in the middle.
    `passes` says in how many of them the belief was above the bound, for each step; with
    probability `holds_with` at least it is not.
    """

    name: str
    release: Release
    prior: float
    steps: tuple[Step, ...]
    cap: Cap
    holds_with: float
    repeats: int
    passes: tuple[int, ...]
    shows: ClassVar = (
        *("prior", "steps", "bound_passed", "holds_with", "repeats", "passes", "cap"),
        "sentences",
    )

    @property
    def bound_passed(self) -> bool:
        """Whether a belief of this attack was above its bound."""
        return any(step.passed for step in self.steps)

    @property
    def exact(self) -> tuple[Step, ...]:
        """The steps without noise."""
        return tuple(step for step in self.steps if not step.noise)

    @property
    def noisy(self) -> tuple[Step, ...]:
        """The steps with noise."""
        return tuple(step for step in self.steps if step.noise)

    def label(self, column: str) -> str:
        """Return what a column is called in this attack."""
        return say(f"auditing.attack.{self.name}.{column}")

    @property
    def title(self) -> str:
        """The attack in a line."""
        return self.label("title")

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What is attacked, what happened, and what follows, a sentence or two each."""
        own = f"auditing.attack.{self.name}"
        budget = amount_text(self.release.to_dict(), "up")
        first = next(step for step in self.exact if step.belief == self.exact[-1].belief)
        last = self.noisy[-1]
        said = [
            self._scene,
            say(f"{own}.exact", k=first.k, belief=belief_text(first.belief)),
            say(
                f"{own}.noisy",
                k=last.k,
                belief=belief_text(last.belief),
                bound=bound_text(last.bound or 0.0),
                budget=budget,
            ),
            say(f"{own}.lesson"),
        ]
        if self.cap.releases < last.k and self.cap.bound < (last.bound or 0.0):
            said.append(
                say(
                    f"{own}.cap",
                    cap=amount_text(self.cap.budget, "up"),
                    made=self.cap.releases,
                    bound=bound_text(self.cap.bound),
                )
            )
        return (*said, self._kept)

    @property
    def _scene(self) -> str:
        scene = say(f"auditing.attack.{self.name}.scene", prior=belief_text(self.prior))
        if self.release.statistic is None:
            return scene
        return f"{scene} {say('auditing.attack.on_spec', statistic=self.release.statistic)}"

    @property
    def _kept(self) -> str:
        name = "never" if self.holds_with == 1 else "seldom"
        return say(
            f"auditing.attack.{name}",
            repeats=self.repeats,
            passed=sum(self.passes),
            steps=self.repeats * len(self.passes),
            allowed=f"{100 * (1 - self.holds_with):.3g}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the attack as JSON-ready values."""
        names = {
            "attack": self.name,
            "each": self.release.to_dict(),
            "mechanism": self.release.kind.name,
        }
        return names | super().to_dict()

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the steps."""
        return columns_from(step.to_dict() for step in self.steps)

    def __repr__(self) -> str:
        last = self.noisy[-1]
        belief, bound = belief_text(last.belief), bound_text(last.bound or 0.0)
        return say("auditing.attack.line", name=self.name, k=last.k, belief=belief, bound=bound)


def attack(
    name: str,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    mechanism: str | None = None,
    prior: float = 0.1,
    times: int | None = None,
    cap: float | None = None,
    confidence: float = 0.99,
    repeats: int = 100,
    spec: str | Path | Mapping[str, Any] | Spec | None = None,
) -> Attack:
    """Attack invented answers, exact ones and noisy ones, and show the belief step by step.

    `name` is one of `discreet.auditing.ATTACKERS`. `epsilon` or `rho` is the budget of one release,
    or that of a `spec`, whose noise is then used. `times` is how many releases, days or questions
    there are, `cap` what an account allows in all (two releases if it is left out).

    >>> shown = attack("differencing", epsilon=0.5)
    >>> shown.exact[-1].belief, shown.bound_passed
    (1.0, False)
    """
    if not isinstance(name, str) or name not in ATTACKERS:
        raise InputError("auditing.unknown_attack", name=name, known=", ".join(ATTACKERS))
    if math.isnan(prior) or not 0 < prior < 1:
        raise InputError("auditing.bad_prior", prior=prior)
    for what, number, most in (("times", times, _MOST_TIMES), ("repeats", repeats, _MOST_TIMES)):
        whole = not isinstance(number, bool) and isinstance(number, int)
        if number is not None and not (whole and 1 <= number <= most):
            raise InputError("auditing.bad_number", name=what, number=number, most=most)
    release = _given(epsilon, rho, mechanism) if spec is None else _of_spec(spec, epsilon or rho)
    scene = ATTACKERS[name](Asked(prior, times, release.moves))
    if not scene.strong and release.kind.budget != "epsilon":
        raise InputError("auditing.needs_epsilon", name=name)
    law = release.law(scene.share)
    bounds = {k: _bound(release, scene, k, prior, confidence) for k in scene.steps}
    exact = scene.believes(scene.answers, likelihood_of(None))
    unit = release.unit if scene.in_units else 1
    steps = [_step(k, seen, None, unit) for k, seen in zip(scene.steps, exact, strict=True)]
    noisy = []
    for _ in range(repeats):
        seen = scene.believes(add_noise(law, scene.answers), likelihood_of(law))
        pairs = zip(scene.steps, seen, strict=True)
        noisy.append([_step(k, one, bounds[k], unit) for k, one in pairs])
    typical = sorted(noisy, key=lambda way: way[-1].belief)[repeats // 2]
    return Attack(
        name=name,
        release=release,
        prior=prior,
        steps=(*steps, *typical),
        cap=_cap(release, scene, cap, prior, confidence),
        holds_with=confidence if scene.strong else 1.0,
        repeats=repeats,
        passes=tuple(sum(step.passed for step in after) for after in zip(*noisy, strict=True)),
    )


def _step(k: int, seen: Seen, bound: float | None, unit: float) -> Step:
    estimate = None if seen.estimate is None else seen.estimate * unit
    return Step(k, bound is not None, seen.truth * unit, estimate, seen.belief, bound)


def _bound(release: Release, scene: Scene, k: int, prior: float, confidence: float) -> float:
    """Return the most that may be believed after k steps."""
    loss: Any = release.loss(scene.share, k * scene.each)
    if not scene.strong:
        loss = PureDP(loss.pure(), adjacency=release.adjacency)
    central = release.adjacency is Adjacency.ADD_REMOVE
    guess = Prior(prior) if central else Prior(1.0, prior)
    posterior = explain(loss, guess, confidence=confidence).posterior
    return 1.0 if posterior is None else posterior.upper


def _cap(release: Release, scene: Scene, cap: float | None, prior: float, confidence: float) -> Cap:
    """Return what an account with this cap, or one for two releases, would have allowed."""
    made = 2 if cap is None else math.floor(cap / release.budget * (1 + 1e-12))
    budget = (
        release.to_dict(made) if cap is None else release.to_dict() | {release.kind.budget: cap}
    )
    after = made * scene.share // scene.each
    bound = prior if made == 0 else _bound(release, scene, after, prior, confidence)
    return Cap(budget, made, bound)


def _given(epsilon: float | None, rho: float | None, mechanism: str | None) -> Release:
    """Return the release of a budget: by the mechanism named, or one that draws whole numbers."""
    if epsilon is not None and rho is not None:
        raise InputError("auditing.one_budget")
    if mechanism is None:
        wanted = "epsilon" if rho is None else "rho"
        kind = next(kind for kind in _kinds() if kind.budget == wanted)
    else:
        kind = kind_of(mechanism)
    if kind not in _kinds():
        known = ", ".join(one.name for one in _kinds())
        raise InputError("auditing.no_whole_noise", name=kind.name, known=known)
    given = {"epsilon": epsilon, "rho": rho}[kind.budget]
    if given is None and (epsilon is not None or rho is not None):
        raise InputError("auditing.other_budget", name=kind.name, budget=kind.budget)
    return Release(kind, _BUDGETS[kind.budget] if given is None else given)


def _kinds() -> list[Kind]:
    """The mechanisms that add whole numbers, which are those that can be drawn."""
    known = [KINDS[name] for name in names(planned=True)]
    return [kind for kind in known if getattr(kind.make(1.0, 1), "whole_numbers", False)]


def _plan(spec: str | Path | Mapping[str, Any] | Spec) -> Plan:
    from discreet.auditing.path import columns_of

    asked = (spec if isinstance(spec, Spec) else load(spec)).as_shaped()
    return plan_of(asked, columns_of(asked))


def _of_spec(spec: str | Path | Mapping[str, Any] | Spec, budget: float | None) -> Release:
    """Return the numbers of a spec that are attacked: counts first, those with most budget."""
    if budget is not None:
        raise InputError("auditing.budget_of_spec")
    plan = _plan(spec)
    calls = [call for call in plan.pricing.calls if _is_sum(call)]
    if not calls:
        raise InputError("auditing.no_numbers")
    found = {one.name: one for one in plan.statistics}

    def first(one: Priced) -> tuple[bool, float]:
        counts = one.asked.part.l1 <= 2 * found[one.asked.statistic].contribution.total
        return counts, one.epsilon or one.rho or 0.0

    call = max(calls, key=first)
    planned = found[call.asked.statistic]
    part, most = call.asked.part, planned.contribution
    one_step = part.l1 / (1 if most.adjacency is Adjacency.ADD_REMOVE else 2)
    moves = max(1, int(one_step * most.rows_per_group / most.total))
    kind = next(one for one in _kinds() if one.budget == ("rho" if call.rho else "epsilon"))
    size = int(part.l1) if kind.budget == "epsilon" else math.sqrt(part.l2_squared)
    budget, unit = call.epsilon or call.rho or 0.0, float(part.resolution)
    return Release(kind, budget, size, moves, most.adjacency, unit, planned.name)


# -- which attacks a spec would have allowed


@dataclass(frozen=True, slots=True)
class Exposure(JsonReady):
    """Whether an attack would have worked on a release without noise, and why."""

    attack: str
    allowed: bool
    why: str


def exposures(plan: Plan, releases: int = 1) -> tuple[Exposure, ...]:
    """Return for each attack whether releases by a plan would have allowed it without noise."""
    adds_up = [p.name for p in plan.statistics if _adds_up(plan, p.name)]
    tables = [p for p in plan.statistics if p.name in adds_up]
    grouped = [p.name for p in tables if p.by]
    overlapping = {p.by for p in tables}
    told = {
        "differencing": adds_up,
        "averaging": adds_up,
        "draining": adds_up if releases > 1 else [],
        "linkage": grouped,
        "reconstruction": [p.name for p in tables] if len(overlapping) > 1 else [],
    }
    found = []
    for name in ATTACKERS:
        side = "allowed" if told[name] else "not_allowed"
        why = say(f"auditing.attack.{name}.{side}", names=", ".join(told[name]), series=releases)
        found.append(Exposure(name, bool(told[name]), why))
    return tuple(found)


def _adds_up(plan: Plan, name: str) -> bool:
    """Whether a statistic publishes sums of what its units contribute."""
    return any(_is_sum(call) for call in plan.calls(name).values())


def _is_sum(call: Priced) -> bool:
    return call.asked.part.form == "numbers" and not call.asked.keys

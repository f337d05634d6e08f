"""Accounting: what many releases add up to, at δ = 1e-6, by our laws and by other accountants.

Every task starts from nothing (our caches are emptied before every turn). The truths are known
independently of all of them: the analytic Gaussian curve, the binomial sum, sums on a lattice, and
direct convolution at 50 digits. The advantage of the best attack is δ(0), the distance in total
variation; for geometric noise it is a binomial sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Adding up many releases"
ABOUT = (
    "ε of a plan at δ = 1e-6. The error is ε less the true one: below zero is unsafe, far above "
    "zero wastes budget. prv-accountant gives bounds within an error that one asks for (0.1 here, "
    "its documentation's own choice); RDP and zCDP are bounds by moments."
)

DELTA = 1e-6
DAYS = 3_650
MIXED = [0.01 + 0.19 * i / 99 for i in range(100)]
GAUSSIAN, LAPLACE = (
    Task("gaussian", "3,650 Gaussian, ρ = 0.01"),
    Task("laplace", "365 Laplace, ε = 0.05"),
)
GEOMETRIC = Task("geometric", "365 geometric, ε = 0.05")
MIXED_LAPLACE = Task("mixed-laplace", "100 Laplace, ε from 0.01 to 0.2")
MIXED_GEOMETRIC = Task("mixed-geometric", "100 geometric, ε from 0.01 to 0.2")
ADVANTAGE = Task("advantage", "advantage of the best attack, 365 geometric, ε = 0.05")
DAILY = Task("daily", "3,650 days: the bound of every day / ε of the last day only")
TRUTHS = {
    "gaussian": 76.3195531226,
    "laplace": 4.568865774,
    "geometric": 4.6134483458,
    "mixed-laplace": 5.559491179,
    "mixed-geometric": 5.7039048990,
    "advantage": 0.36729762884379425865,
}


def _warm(work: Callable[[], Any]) -> Prepared:
    work()
    return Prepared(work)


def forget() -> None:
    """Empty our caches: every turn starts from nothing."""
    from discreet.composition import walk
    from discreet.composition.grid import lattice, loss
    from discreet.series import horizons

    for module in (loss, lattice, walk, horizons):
        for thing in vars(module).values():
            if hasattr(thing, "cache_clear"):
                thing.cache_clear()


def _ours(task: str) -> Prepared:
    from discreet.composition import loss_of
    from discreet.laws import Gaussian, Geometric, Laplace

    parts: list[tuple[Any, int]] = {
        "gaussian": lambda: [(Gaussian.of_rho(0.01), DAYS)],
        "laplace": lambda: [(Laplace(0.05), 365)],
        "geometric": lambda: [(Geometric(0.05), 365)],
        "mixed-laplace": lambda: [(Laplace(e), 1) for e in MIXED],
        "mixed-geometric": lambda: [(Geometric(e), 1) for e in MIXED],
        "advantage": lambda: [(Geometric(0.05), 365)],
    }[task]()

    def work() -> float:
        forget()
        loss = loss_of(*parts)
        return loss.delta(0.0) if task == "advantage" else loss.epsilon(DELTA)

    return _warm(work)


def _pld(task: str) -> Prepared:
    from dp_accounting.pld import privacy_loss_distribution as pld

    def mixed(one: Callable[[float], Any]) -> Any:
        total = None
        for epsilon in MIXED:
            loss = one(epsilon)
            total = loss if total is None else total.compose(loss)
        return total

    made = {
        "gaussian": lambda: pld.from_gaussian_mechanism(1 / math.sqrt(0.02)).self_compose(DAYS),
        "laplace": lambda: pld.from_laplace_mechanism(20.0).self_compose(365),
        "geometric": lambda: pld.from_discrete_laplace_mechanism(0.05).self_compose(365),
        "mixed-laplace": lambda: mixed(lambda e: pld.from_laplace_mechanism(1 / e)),
        "mixed-geometric": lambda: mixed(pld.from_discrete_laplace_mechanism),
    }[task]
    return _warm(lambda: float(made().get_epsilon_for_delta(DELTA)))


def _closed() -> Prepared:
    from dp_accounting import get_epsilon_gaussian

    sigma = 1 / math.sqrt(0.02 * DAYS)
    return _warm(lambda: float(get_epsilon_gaussian(sigma, DELTA)))


def _rdp(task: str) -> Prepared:
    import dp_accounting as dpa
    from dp_accounting.rdp import RdpAccountant

    event = {
        "gaussian": lambda: dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1 / math.sqrt(0.02)), DAYS),
        "laplace": lambda: dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(20.0), 365),
        "mixed-laplace": lambda: dpa.ComposedDpEvent([dpa.LaplaceDpEvent(1 / e) for e in MIXED]),
    }[task]()
    return _warm(lambda: float(RdpAccountant().compose(event).get_epsilon(DELTA)))


def _prv(task: str) -> Prepared:
    from prv_accountant import GaussianMechanism, LaplaceMechanism, PRVAccountant

    prvs, times = {
        "gaussian": lambda: ([GaussianMechanism(1 / math.sqrt(0.02))], [DAYS]),
        "laplace": lambda: ([LaplaceMechanism(mu=0.05)], [365]),
        "mixed-laplace": lambda: ([LaplaceMechanism(mu=e) for e in MIXED], [1] * 100),
    }[task]()

    def work() -> float:
        accountant = PRVAccountant(
            prvs=prvs, max_self_compositions=times, eps_error=0.1, delta_error=DELTA / 1000
        )
        return float(accountant.compute_epsilon(DELTA, times)[2])

    return _warm(work)


def _zcdp(task: str) -> Prepared:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rho = {"gaussian": 0.01 * DAYS, "laplace": 365 * 0.05**2 / 2, "geometric": 365 * 0.05**2 / 2}
    input_space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    scale = 1 / math.sqrt(2 * rho[task])

    def work() -> float:
        noisy = input_space >> dp.m.then_gaussian(scale)
        curve = dp.c.make_zCDP_to_approxDP(noisy).map(1)
        return float(curve.epsilon(DELTA))

    return _warm(work)


def _riskcal() -> Prepared:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from riskcal.analysis import get_advantage_from_pld

    def work() -> float:
        loss = pld.from_discrete_laplace_mechanism(0.05).self_compose(365)
        return float(get_advantage_from_pld(loss))

    return _warm(work)


def _horizon(strength: str) -> Prepared:
    from discreet.laws import Gaussian
    from discreet.series import horizon

    each = Gaussian.of_rho(0.01)

    def work() -> None:
        forget()
        horizon(each, 0.5, confidence=0.99, upto=DAYS, strength=strength)

    return _warm(work)


def contenders(size: Size) -> list[Contender]:
    """Return every accountant on every plan that it knows."""
    listed: list[Contender] = []

    def add(task: Task, name: str, prepare: Callable[[str], Prepared], **more: Any) -> None:
        def prepared() -> Prepared:
            return prepare(task.key)

        more.setdefault("turns", 2)
        listed.append(Contender(task, name, prepared, truth=TRUTHS.get(task.key), **more))

    dpa = {"package": "dp-accounting"}
    for task in (GAUSSIAN, LAPLACE, GEOMETRIC, MIXED_LAPLACE, MIXED_GEOMETRIC):
        if size.quick and task not in (GAUSSIAN, LAPLACE):
            continue
        add(task, "Discreet", _ours, ours=True, turns=3, repeats=9)
        add(task, "dp-accounting, loss distribution", _pld, repeats=2, **dpa)
        if task is GAUSSIAN:
            add(task, "dp-accounting, closed form", lambda _: _closed(), repeats=5, **dpa)
        if task in (GAUSSIAN, LAPLACE, MIXED_LAPLACE):
            add(task, "dp-accounting, RDP", _rdp, repeats=5, **dpa)
            add(
                task, "prv-accountant, error 0.1", _prv, package="prv-accountant", environment="prv"
            )
        if task in (GAUSSIAN, LAPLACE, GEOMETRIC):
            note = "" if task is GAUSSIAN else "each as ρ = ε²/2"
            add(task, "OpenDP, zCDP", _zcdp, repeats=3, package="opendp", note=note)
    add(ADVANTAGE, "Discreet", _ours, ours=True, turns=3, repeats=9)
    add(
        ADVANTAGE,
        "riskcal",
        lambda _: _riskcal(),
        repeats=2,
        package="riskcal",
        environment="riskcal",
    )
    add(
        DAILY,
        "Discreet, every day, whole curve",
        lambda _: _horizon("curve"),
        ours=True,
        repeats=2,
    )
    add(DAILY, "Discreet, every day, exact law", lambda _: _horizon("exact"), repeats=2)
    add(DAILY, "dp-accounting, last day only", lambda _: _pld("gaussian"), repeats=2, **dpa)
    return listed

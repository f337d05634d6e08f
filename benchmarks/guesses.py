"""On average: how often a guess that is right 5 times in 100 may be right after the releases.

1 − f(.05), f the trade-off curve. riskcal reads it from zCDP, from (ε, δ), from μ or from a loss
distribution of dp-accounting; every task starts from the plan (our caches are emptied before every
turn). The truths are known independently of both: normal quantiles and the worst bit of any ρ-zCDP
at 40 digits, the most powerful test between two binomial laws, and, for Laplace noise, a Fourier
integral with the atoms of the loss taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "How often the best guess is right"
ABOUT = (
    "A guess that is right with probability 5 % beforehand: how often at most it is right after "
    "the releases. The error is this probability less the true one: below zero is unsafe."
)

KAPPA = 0.05
RHO = 0.1104
PURE = Task("pure", "pure, ε = 0.5")
GAUSSIAN = Task("gaussian", "Gaussian, ρ = 0.1104")
CONCENTRATED = Task("zcdp", "any ρ-zCDP, ρ = 0.1104")
GEOMETRIC = Task("geometric", "365 geometric, ε = 0.05")
LAPLACE = Task("laplace", "365 Laplace, ε = 0.05")
TRUTHS = {
    "pure": 0.082436063535006407342,
    "gaussian": 0.12000535518666543122,
    "zcdp": 0.13954923057146867634,
    "geometric": 0.24511092016840942228,
    "laplace": 0.2427352190394,
}


def _ours(task: str) -> Prepared:
    from benchmarks.accounting import forget
    from discreet.composition import loss_of
    from discreet.guarantees import ZCDP, PureDP
    from discreet.laws import Gaussian, Geometric, Laplace

    made: Callable[[], Any] = {
        "pure": lambda: PureDP(0.5),
        "gaussian": lambda: loss_of(Gaussian.of_rho(RHO)),
        "zcdp": lambda: ZCDP(RHO),
        "geometric": lambda: loss_of((Geometric(0.05), 365)),
        "laplace": lambda: loss_of((Laplace(0.05), 365)),
    }[task]

    def work() -> float:
        forget()
        return made().right_guess(KAPPA)

    work()
    return Prepared(work)


def _riskcal(task: str) -> Prepared:
    from riskcal import analysis

    def work() -> float:
        if task == "pure":
            return 1 - float(analysis.get_beta_from_adp(0.5, 0.0, KAPPA))
        if task == "gaussian":
            return 1 - float(analysis.get_beta_from_gdp(math.sqrt(2 * RHO), KAPPA))
        return 1 - float(analysis.get_beta_from_zcdp(RHO, KAPPA))

    work()
    return Prepared(work)


def _distribution(task: str) -> Prepared:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from riskcal.analysis import get_beta_from_pld

    made: Callable[[], Any] = {
        "gaussian": lambda: pld.from_gaussian_mechanism(1 / math.sqrt(2 * RHO)),
        "geometric": lambda: pld.from_discrete_laplace_mechanism(0.05).self_compose(365),
        "laplace": lambda: pld.from_laplace_mechanism(20.0).self_compose(365),
    }[task]

    def work() -> float:
        return 1 - float(get_beta_from_pld(made(), KAPPA))

    work()
    return Prepared(work)


def contenders(size: Size) -> list[Contender]:
    """Return both readers of every plan, riskcal by each way that it has."""
    listed: list[Contender] = []

    def add(task: Task, name: str, prepare: Callable[[str], Prepared], **more: Any) -> None:
        def prepared() -> Prepared:
            return prepare(task.key)

        listed.append(Contender(task, name, prepared, truth=TRUTHS[task.key], **more))

    peer = {"package": "riskcal", "environment": "riskcal", "turns": 2}
    for task in (PURE, GAUSSIAN, CONCENTRATED, GEOMETRIC, LAPLACE):
        if size.quick and task not in (GAUSSIAN, CONCENTRATED):
            continue
        add(task, "Discreet", _ours, ours=True, turns=3, repeats=9)
        if task in (PURE, GAUSSIAN, CONCENTRATED):
            add(task, "riskcal", _riskcal, repeats=9, **peer)
        if task in (GAUSSIAN, GEOMETRIC, LAPLACE):
            add(task, "riskcal, loss distribution", _distribution, repeats=3, **peer)
    return listed

"""Accounting, in one run with dp-accounting's privacy loss distributions on the same tasks.

Each task is the epsilon of a plan at δ = 1e-6, from nothing (our caches are emptied before every
turn), the best of a few turns on both sides. The truths are known independently: the analytic
Gaussian curve, the binomial sum, sums on the lattice, and direct convolution at 50 digits.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

DELTA = 1e-6
MIXED = [0.01 + 0.19 * i / 99 for i in range(100)]
TRUTHS = {
    "3650 Gaussian": 76.3195531226,
    "365 Laplace": 4.568865774,
    "365 geometric": 4.6134483458,
    "100 mixed Laplace": 5.559491179,
    "100 mixed geometric": 5.7039048990,
}


def _forget() -> None:
    from discreet.composition import grid, walk

    for cached in (grid._window, grid._step, grid._centre, walk._table):
        cached.cache_clear()


def _ours() -> dict[str, Callable[[], float]]:
    from discreet.composition import loss_of
    from discreet.laws import Gaussian, Geometric, Laplace

    def plan(*parts: Any) -> float:
        _forget()
        return loss_of(*parts).epsilon(DELTA)

    return {
        "3650 Gaussian": lambda: plan((Gaussian.of_rho(0.01), 3650)),
        "365 Laplace": lambda: plan((Laplace(0.05), 365)),
        "365 geometric": lambda: plan((Geometric(0.05), 365)),
        "100 mixed Laplace": lambda: plan(*[(Laplace(e), 1) for e in MIXED]),
        "100 mixed geometric": lambda: plan(*[(Geometric(e), 1) for e in MIXED]),
    }


def _theirs() -> dict[str, Callable[[], float]]:
    from dp_accounting.pld import privacy_loss_distribution as pld

    def mixed(one: Callable[[float], Any]) -> float:
        total = None
        for epsilon in MIXED:
            loss = one(epsilon)
            total = loss if total is None else total.compose(loss)
        return float(total.get_epsilon_for_delta(DELTA))

    def many(loss: Any, times: int) -> float:
        return float(loss.self_compose(times).get_epsilon_for_delta(DELTA))

    sigma = 1 / math.sqrt(0.02)
    return {
        "3650 Gaussian": lambda: many(pld.from_gaussian_mechanism(sigma), 3650),
        "365 Laplace": lambda: many(pld.from_laplace_mechanism(20.0), 365),
        "365 geometric": lambda: many(pld.from_discrete_laplace_mechanism(0.05), 365),
        "100 mixed Laplace": lambda: mixed(lambda e: pld.from_laplace_mechanism(1 / e)),
        "100 mixed geometric": lambda: mixed(pld.from_discrete_laplace_mechanism),
    }


def _measured(task: Callable[[], float], turns: int) -> tuple[float, float]:
    """The value, and the median milliseconds of some turns after a first one."""
    value = task()
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        value = task()
        seconds.append(time.perf_counter() - start)
    return value, 1000 * statistics.median(seconds)


def _whole_series() -> dict[str, float]:
    """Every k from 1 to 3,650: the epsilon and the exact bound of Gaussian and geometric plans."""
    from discreet.composition import losses_of
    from discreet.laws import Gaussian, Geometric

    found = {}
    for name, mechanism in (("Gaussian", Gaussian.of_rho(0.01)), ("geometric", Geometric(0.05))):
        _forget()
        start = time.perf_counter()
        for loss in losses_of(mechanism, range(1, 3651)):
            loss.epsilon(DELTA)
        middle = time.perf_counter()
        for loss in losses_of(mechanism, range(1, 3651)):
            loss.exact_epsilon(0.01)
        found[f"{name}, epsilon, ms"] = 1000 * (middle - start)
        found[f"{name}, exact, ms"] = 1000 * (time.perf_counter() - middle)
    return found


def _cold(code: str, turns: int = 3) -> float:
    """The least milliseconds of a fresh interpreter that runs the code."""
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds)


def _cold_starts() -> dict[str, float]:
    """`discreet compose` from nothing, beside importing dp-accounting alone."""
    words = ["discreet", "compose", "--epsilon", ".05", "--times", "365", "--delta", "1e-6"]
    ours = _cold(f"import sys; from discreet.cli import main; sys.argv = {words!r}; main()")
    theirs = _cold("import dp_accounting")
    return {
        "discreet compose, ms": round(ours, 1),
        "import dp_accounting, ms": round(theirs, 1),
        "times_faster": round(theirs / ours, 1),
    }


def run() -> dict[str, Any]:
    """Measure every task on both sides; times in milliseconds, errors as value less truth."""
    ours, theirs = _ours(), _theirs()
    tasks = {}
    for name, truth in TRUTHS.items():
        value, milliseconds = _measured(ours[name], 9)
        other, others = _measured(theirs[name], 3)
        tasks[name] = {
            "truth": truth,
            "ours_ms": round(milliseconds, 3),
            "ours_error": value - truth,
            "dp_accounting_ms": round(others, 1),
            "dp_accounting_error": other - truth,
            "times_faster": round(others / milliseconds, 1),
        }
    series = _whole_series()
    one = tasks["3650 Gaussian"]["dp_accounting_ms"]
    return {
        "tasks": tasks,
        "cold start": _cold_starts(),
        "all of k = 1..3650": {name: round(value, 1) for name, value in series.items()},
        "all of k against one dp-accounting composition": {
            name: round(value / one, 2) for name, value in series.items()
        },
    }


if __name__ == "__main__":
    import json

    print(json.dumps(run(), indent=2))

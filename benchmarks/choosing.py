"""Choosing: the certified search against the plain-Python loop over a million points, and others.

The loop is what the only public code for this does (there in R): a double loop over a grid, whose
answer is too large. SciPy's shgo and a NumPy grid stand beside it with their errors; neither gives
a certificate. Errors are against our own lower bound, which is within 1e-8 of the infimum.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

PROFILES = {
    "kinked": "max(0.25/(p*q), 3)",
    "step": "3 if p < 0.3 else (1.5 if q < 0.5 else 2)",
    "smooth in pq": "1 + 0.2*sqrt(1/(p*q))",
    "smooth off pq": "max(0.3/(p*q), 3 - 1.5*p)",
    "interior minimum": "2 + 8*((p-0.4)**2 + (q-0.3)**2)",
}
PYTHON: dict[str, Callable[[float, float], float]] = {
    "kinked": lambda p, q: max(0.25 / (p * q), 3),
    "step": lambda p, q: 3 if p < 0.3 else (1.5 if q < 0.5 else 2),
    "smooth in pq": lambda p, q: 1 + 0.2 * math.sqrt(1 / (p * q)),
    "smooth off pq": lambda p, q: max(0.3 / (p * q), 3 - 1.5 * p),
    "interior minimum": lambda p, q: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2),
}
WANTED = {name: 500 if name in ("kinked", "step") else 50 for name in PROFILES}


def at(r: float, p: float, q: float) -> float:
    """ε at one prior as a first program would write it (K&R Theorem 2 as printed)."""
    c = 1 / r - p * q
    if c <= 0:
        return math.inf
    if q == 1:
        return math.log((1 - p) / c)
    return math.log(2 * p * (1 - q) / (math.sqrt((1 - p) ** 2 + 4 * p * (1 - q) * c) - (1 - p)))


def loop(r: Callable[[float, float], float], n: int = 1000) -> float:
    """The double loop over n × n priors."""
    least = math.inf
    for i in range(1, n + 1):
        p = i / n
        for j in range(1, n + 1):
            q = j / n
            epsilon = at(r(p, q), p, q)
            if epsilon < least:
                least = epsilon
    return least


def numpy_grid(name: str, n: int = 1000) -> float:
    """The same grid in NumPy."""
    import numpy as np

    p, q = np.meshgrid(np.arange(1, n + 1) / n, np.arange(1, n + 1) / n, indexing="ij")
    with np.errstate(all="ignore"):
        r = {
            "kinked": lambda: np.maximum(0.25 / (p * q), 3),
            "step": lambda: np.where(p < 0.3, 3, np.where(q < 0.5, 1.5, 2)),
            "smooth in pq": lambda: 1 + 0.2 * np.sqrt(1 / (p * q)),
            "smooth off pq": lambda: np.maximum(0.3 / (p * q), 3 - 1.5 * p),
            "interior minimum": lambda: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2),
        }[name]()
        a, b, c = p * (1 - q), 1 - p, 1 / r - p * q
        epsilon = np.where(
            c > 0, np.log((b + np.sqrt(b * b + 4 * a * np.maximum(c, 0))) / (2 * c)), np.inf
        )
    return float(np.nanmin(epsilon))


def shgo(r: Callable[[float, float], float]) -> float:
    """SciPy's global optimiser, which proves nothing."""
    from scipy.optimize import shgo as optimise

    def objective(x: Any) -> float:
        # The printed form divides by zero for small p; the optimiser gets the stable one.
        p, q = float(x[0]), float(x[1])
        a, b, c = p * (1 - q), 1 - p, 1 / r(p, q) - p * q
        return min(math.log((b + math.sqrt(b * b + 4 * a * c)) / (2 * c)), 50.0) if c > 0 else 50.0

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optimise(objective, [(1e-6, 1.0), (1e-6, 1.0)])
    return float(found.fun) if found.fun is not None else math.nan


def timed(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """The median time of some runs, and the last answer."""
    times, answer = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), answer


def cold_start() -> dict[str, float]:
    """Seconds of whole processes: the command line against `import typer`."""

    def process(*words: str) -> float:
        return timed(
            lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True), 9
        )[0]

    typer = process("-c", "import typer")
    return {
        "import typer": typer,
        "discreet --help": process("-m", "discreet", "--help") / typer,
        "discreet choose": process("-m", "discreet", "choose", "--ratio", "3") / typer,
    }


def run() -> dict[str, Any]:
    """Measure everything in one run; ratios are times of the loop over ours."""
    from discreet import choose
    from discreet.budgets.closed_forms import closed_form
    from discreet.tolerances import PosteriorUnlessRatio

    out: dict[str, Any] = {}
    for name, text in PROFILES.items():
        ours, choice = timed(lambda text=text: choose(text), 41)
        plain, from_loop = timed(lambda name=name: loop(PYTHON[name]), 1)
        grid, from_grid = timed(lambda name=name: numpy_grid(name), 3)
        other, from_shgo = timed(lambda name=name: shgo(PYTHON[name]), 3)
        true = choice.epsilon
        out[name] = {
            "epsilon": true,
            "width": choice.certificate.upper - choice.certificate.lower,
            "ours_ms": 1e3 * ours,
            "loop_ms": 1e3 * plain,
            "ratio": plain / ours,
            "wanted": WANTED[name],
            "loop_error": from_loop - true,
            "numpy_ms": 1e3 * grid,
            "numpy_error": from_grid - true,
            "shgo_ms": 1e3 * other,
            "shgo_error": from_shgo - true,
        }
    shape = PosteriorUnlessRatio(0.25, 3)
    out["closed form"] = {
        "closed_form_us": 1e6
        * timed(lambda: [closed_form(shape) for _ in range(100)], 20)[0]
        / 100,
        "choose_us": 1e6 * timed(lambda: [choose(shape) for _ in range(100)], 20)[0] / 100,
    }
    out["cold start"] = cold_start()
    return out

"""Choosing: the largest ε that keeps a risk profile, by the certified search and by other ways.

The only public code for this (Kazan and Reiter's, in R) loops over a grid of 1,000 × 1,000 priors,
and a grid's answer is too large: it errs on the unsafe side. The same loop stands here in plain
Python and, where R is there, in R; beside them a grid in NumPy and SciPy's global optimiser,
neither of which proves anything. The true values are closed forms or, for two profiles, a grid
refined about its least point at 40 digits until its cells are below 1e-12.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Choosing a budget"
ABOUT = (
    "The largest ε that keeps a risk profile r\\*(p, q) at every prior. The error is ε less the "
    "true one: above zero is unsafe. Discreet's answer comes with a proof, the others' with none."
)


def at(r: float, p: float, q: float) -> float:
    """ε at one prior as a first program would write it (K&R Theorem 2 as printed)."""
    c = 1 / r - p * q
    if c <= 0:
        return math.inf
    if q == 1:
        return math.log((1 - p) / c)
    return math.log(2 * p * (1 - q) / (math.sqrt((1 - p) ** 2 + 4 * p * (1 - q) * c) - (1 - p)))


# In our language of formulas, in words, in Python and in R; and the true least ε.
PROFILES: dict[str, tuple[str, str, Callable[[float, float], float], str, float]] = {
    "kinked": (
        "max(0.25/(p*q), 3)",
        "one kink",
        lambda p, q: max(0.25 / (p * q), 3),
        "max(0.25/(p*q), 3)",
        0.5 * math.log(11 / 3),
    ),
    "step": (
        "3 if p < 0.3 else (1.5 if q < 0.5 else 2)",
        "steps",
        lambda p, q: 3 if p < 0.3 else (1.5 if q < 0.5 else 2),
        "if (p < 0.3) 3 else if (q < 0.5) 1.5 else 2",
        0.5 * math.log(1.5),
    ),
    "smooth": (
        "1 + 0.2*sqrt(1/(p*q))",
        "smooth in pq",
        lambda p, q: 1 + 0.2 * math.sqrt(1 / (p * q)),
        "1 + 0.2*sqrt(1/(p*q))",
        0.23957309169999106774,
    ),
    "off": (
        "max(0.3/(p*q), 3 - 1.5*p)",
        "smooth, not in pq",
        lambda p, q: max(0.3 / (p * q), 3 - 1.5 * p),
        "max(0.3/(p*q), 3 - 1.5*p)",
        0.5 * math.log(12 / 7),
    ),
    "interior": (
        "2 + 8*((p-0.4)**2 + (q-0.3)**2)",
        "least inside",
        lambda p, q: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2),
        "2 + 8*((p-0.4)^2 + (q-0.3)^2)",
        0.64519307806512003781,
    ),
}


def loop(r: Callable[[float, float], float], n: int) -> float:
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


_R = """
n <- %d
least <- Inf
start <- proc.time()[["elapsed"]]
for (i in 1:n) { p <- i/n
  for (j in 1:n) { q <- j/n
    r <- %s
    c <- 1/r - p*q
    if (c > 0) {
      e <- if (q == 1) log((1 - p)/c) else
        log(2*p*(1 - q)/(sqrt((1 - p)^2 + 4*p*(1 - q)*c) - (1 - p)))
      if (!is.nan(e) && e < least) least <- e
    }
  }
}
cat(sprintf("%%.17g %%.6f", least, proc.time()[["elapsed"]] - start))
"""


def _in_r(profile: str, n: int) -> Prepared:
    taken: list[float] = []

    def run() -> float:
        done = subprocess.run(
            ["Rscript", "-e", _R % (n, profile)], check=True, capture_output=True, text=True
        )
        least, seconds = done.stdout.split()
        taken.append(float(seconds))
        return float(least)

    return Prepared(run, seconds=lambda _: taken[-1])


def _no_r() -> str | None:
    return None if shutil.which("Rscript") else "there is no R on this machine"


def numpy_grid(key: str, n: int) -> float:
    """The same grid in NumPy, by the stable form."""
    import numpy as np

    p, q = np.meshgrid(np.arange(1, n + 1) / n, np.arange(1, n + 1) / n, indexing="ij")
    with np.errstate(all="ignore"):
        r: Any = {
            "kinked": lambda: np.maximum(0.25 / (p * q), 3),
            "step": lambda: np.where(p < 0.3, 3, np.where(q < 0.5, 1.5, 2)),
            "smooth": lambda: 1 + 0.2 * np.sqrt(1 / (p * q)),
            "off": lambda: np.maximum(0.3 / (p * q), 3 - 1.5 * p),
            "interior": lambda: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2),
        }[key]()
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optimise(objective, [(1e-6, 1.0), (1e-6, 1.0)])
    return float(found.fun) if found.fun is not None else math.nan


def _warm(work: Callable[[], float]) -> Prepared:
    work()
    return Prepared(work)


def _ours(formula: str) -> Prepared:
    from discreet import choose

    return _warm(lambda: choose(formula).epsilon)


def _closed() -> Prepared:
    from discreet import choose
    from discreet.promises import PosteriorUnlessRatio

    tolerance = PosteriorUnlessRatio(0.25, 3)
    return _warm(lambda: choose(tolerance).epsilon)


def contenders(size: Size) -> list[Contender]:
    """Return every way to choose, for five profiles, and the closed form of one."""
    n = 100 if size.quick else 1000
    listed = []
    for key, (formula, said, python, r, truth) in PROFILES.items():
        task = Task(key, f"r\\* = `{formula}` ({said})")

        def add(name: str, prepare: Callable[[], Prepared], task: Task = task, **more: Any) -> None:
            listed.append(Contender(task, name, prepare, truth=more.pop("truth"), **more))

        def ours(formula: str = formula) -> Prepared:
            return _ours(formula)

        def in_r(r: str = r) -> Prepared:
            return _in_r(r, n)

        def plain(python: Any = python) -> Prepared:
            return Prepared(lambda: loop(python, n))

        def grid(key: str = key) -> Prepared:
            return _warm(lambda: numpy_grid(key, n))

        def optimised(python: Any = python) -> Prepared:
            return _warm(lambda: shgo(python))

        add("Discreet", ours, ours=True, turns=3, repeats=15, truth=truth)
        if key == "kinked":
            add(
                "Discreet, closed form",
                _closed,
                turns=3,
                repeats=200,
                truth=truth,
                note="the profile named as a shape",
            )
        add(f"loop in R over {n}²", in_r, turns=1, truth=truth, needs=_no_r)
        add(f"loop in Python over {n}²", plain, turns=2, truth=truth)
        add(f"NumPy grid of {n}²", grid, package="numpy", turns=2, repeats=3, truth=truth)
        add("SciPy shgo", optimised, package="scipy", turns=2, repeats=5, truth=truth)
    return listed

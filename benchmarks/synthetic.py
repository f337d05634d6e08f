"""Synthetic data: the risk of every record, by our sums and by the ways one would first write.

The expected increase of belief (M&R's ER) for 24 pairs of share and ε at n = n_s = 1000 is a double
sum over a million pairs of counts. scipy's pmf for each element is timed on a sample of the pairs
and multiplied up: the whole takes an hour.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Risk of synthetic records"
ABOUT = "The accuracy is the largest relative difference from a vectorised sum in log space."

SHARES = (0.001, 0.3, 0.5, 0.999)
EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)
N, SAMPLE = 1000, 2000
TABLE = Task("table", "expected increase of belief, 24 cells, n = 1000")


def _ours() -> Prepared:
    from discreet.synthetic import expected_risk_increase

    def table() -> dict[tuple[float, float], float]:
        return {
            (p0, epsilon): expected_risk_increase(p0, epsilon=epsilon, n=N)
            for p0 in SHARES
            for epsilon in EPSILONS
        }

    def accuracy() -> str:
        worst = max(abs(value / one_pass(*cell) - 1) for cell, value in table().items())
        return f"{worst:.0e}"

    table()
    return Prepared(table, accuracy=accuracy)


def _per_element() -> Prepared:
    import numpy as np
    from scipy.stats import binom

    alpha = 1 / np.expm1(10 / N)
    pairs = np.random.default_rng(1).integers(1, N + 1, (SAMPLE, 2)).tolist()

    def run() -> None:
        for x, s in pairs:
            truth = binom.pmf(s, N, (x + alpha) / (N + 2 * alpha))
            rival = binom.pmf(s, N, (x - 1 + alpha) / (N + 2 * alpha))
            r = truth / (truth + rival) if truth + rival else 0.5
            max(r - 0.5, 0) * truth * binom.pmf(x, N, 0.5)

    return Prepared(run)


def one_pass(p0: float, epsilon: float, n: int = N) -> float:
    """One cell of the table by a vectorised pass over all pairs, in log space."""
    import numpy as np
    from scipy.special import expit, gammaln, xlog1py, xlogy

    alpha = 1 / np.expm1(epsilon / n)
    k = np.arange(n + 1)
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    x = k[:, None]
    rival = np.where(x == 0, 1, x - 1)
    theta, other = (x + alpha) / (n + 2 * alpha), (rival + alpha) / (n + 2 * alpha)
    truth = k * np.log(theta) + (n - k) * np.log1p(-theta)
    shift = truth - (k * np.log(other) + (n - k) * np.log1p(-other))
    weight = np.exp(choose + xlogy(k, p0) + xlog1py(n - k, -p0))
    gain = np.maximum(expit(shift) - 0.5, 0) * np.exp(choose + truth)
    return float(weight @ gain.sum(axis=1))


def _with_pmf() -> Prepared:
    """The same by scipy's binom.pmf on whole arrays."""
    import numpy as np
    from scipy.stats import binom

    k = np.arange(N + 1)

    def cell(p0: float, epsilon: float) -> float:
        alpha = 1 / np.expm1(epsilon / N)
        x = k[:, None]
        rival = np.where(x == 0, 1, x - 1)
        truth = binom.pmf(k, N, (x + alpha) / (N + 2 * alpha))
        other = binom.pmf(k, N, (rival + alpha) / (N + 2 * alpha))
        with np.errstate(all="ignore"):
            r = np.nan_to_num(truth / (truth + other), nan=0.5)
        gain = np.maximum(r - 0.5, 0) * truth
        return float(binom.pmf(k, N, p0) @ gain.sum(axis=1))

    def run() -> None:
        for p0 in SHARES:
            for epsilon in EPSILONS:
                cell(p0, epsilon)

    return Prepared(run)


def _log_space() -> Prepared:
    def run() -> None:
        for p0 in SHARES:
            for epsilon in EPSILONS:
                one_pass(p0, epsilon)

    one_pass(0.3, 1.0)
    return Prepared(run)


def _file(folder: Path, rows: int) -> Prepared:
    """Judge a file over ten thousand cells at 1,000 priors, from Parquet to judgement."""
    import duckdb
    import numpy as np

    from discreet.releases.engines import opened
    from discreet.synthetic import Synthesizer, assess, files
    from discreet.synthetic.spec import load

    spec = {
        "account": "bench",
        "purpose": "bench",
        "source": "original.parquet",
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1.0},
        "columns": ["a", "b", "c", "d"],
        "keys": {column: [str(i) for i in range(10)] for column in "abcd"},
        "n_synthetic": rows,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    with duckdb.connect() as connection:
        for file in ("original", "file"):
            target = folder / f"{file}.parquet"
            draws = ", ".join(
                f"cast(floor(10 * pow(random(), {i})) as int)::varchar as {c}"
                for i, c in enumerate("abcd", start=1)
            )
            connection.execute(
                f"copy (select {draws} from range({rows})) to '{target}' (format parquet)"  # noqa: S608
            )
    asked = load(json.loads(json.dumps(spec)), folder=folder)
    cells = asked.cells()
    law = Synthesizer.of(5e4, n_synthetic=rows, cells=cells.size)
    priors = np.linspace(0.001, 0.999, 1000).tolist()
    taken: dict[str, float] = {}

    def run() -> None:
        start = time.perf_counter()
        with closing(opened(asked.source, asked.path)) as engine:
            x = files.original_counts(engine, asked, cells)
        with closing(opened("file.parquet", asked.path)) as engine:
            s = files.candidate_counts(engine, cells)
        taken["count"] = time.perf_counter() - start
        assess(x, s, synthesizer=law, cells=cells, region="RR <= 1.5", priors=priors)

    return Prepared(run, figures=lambda: taken)


def contenders(size: Size) -> list[Contender]:
    """Return the ways to the table, and one large file."""
    rows = size.cut(10_000_000)
    large = Task("file", f"{rows:,} records, 10,000 cells, 1,000 priors, from Parquet")
    times = 24 * (N + 1) ** 2 / SAMPLE
    scipy: dict[str, Any] = {"package": "scipy", "turns": 1}
    listed = [
        Contender(TABLE, "Discreet", _ours, ours=True, repeats=3),
        Contender(TABLE, "NumPy, one pass a cell, in log space", _log_space, repeats=2, **scipy),
        Contender(TABLE, "NumPy with scipy's pmf on arrays", _with_pmf, **scipy),
        Contender(
            TABLE,
            "scipy's pmf an element",
            _per_element,
            times=times,
            note=f"multiplied up from {SAMPLE:,} of 24 million pairs",
            **scipy,
        ),
        Contender(large, "Discreet", lambda: _file(size.data, rows), ours=True, turns=1, repeats=2),
    ]
    return [
        one for one in listed if not size.quick or one.name != "NumPy with scipy's pmf on arrays"
    ]

"""Speed of synthetic-data risk: the table of expected increases, and a large file.

Run with `python -m benchmarks.synthetic`. Times depend on the machine; read the ratios.

- ER table (24 cells, n = n_s = 1000) against the double loop with scipy's pmf for every element
  (timed on a sample of its pairs and extrapolated: the whole takes an hour) and against one
  vectorised NumPy pass a cell, in log space.
- The risk of every record of a file of ten million, over ten thousand cells and 1,000 priors, from
  Parquet to judgement in a process of its own, with its peak memory; then the risk alone at ten
  times the records and ten times the cells.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SHARES = (0.001, 0.3, 0.5, 0.999)
EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)


def _best(action: Any, times: int = 3) -> float:
    spans = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        spans.append(time.perf_counter() - start)
    return min(spans)


def _per_element(sample: int = 2000, n: int = 1000) -> float:
    """Seconds for one cell of the table by scipy's pmf an element, from a sample of the pairs."""
    import numpy as np
    from scipy.stats import binom

    alpha = 1 / np.expm1(10 / n)
    rng = np.random.default_rng(1)
    pairs = rng.integers(1, n + 1, (sample, 2)).tolist()
    start = time.perf_counter()
    for x, s in pairs:
        truth = binom.pmf(s, n, (x + alpha) / (n + 2 * alpha))
        rival = binom.pmf(s, n, (x - 1 + alpha) / (n + 2 * alpha))
        r = truth / (truth + rival) if truth + rival else 0.5
        max(r - 0.5, 0) * truth * binom.pmf(x, n, 0.5)
    return (time.perf_counter() - start) / sample * (n + 1) ** 2


def _one_pass(p0: float, epsilon: float, n: int = 1000) -> float:
    """One cell by a vectorised pass over all pairs, in log space."""
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


def table() -> dict[str, Any]:
    """Time the 24-cell table three ways."""
    from discreet.synthetic import risk_table

    ours = _best(risk_table)
    passes = _best(lambda: [_one_pass(p0, e) for p0 in SHARES for e in EPSILONS], 2)
    for row, p0 in zip(risk_table().values, SHARES, strict=True):
        for value, epsilon in zip(row, EPSILONS, strict=True):
            assert abs(value / _one_pass(p0, epsilon) - 1) < 1e-8
    loop = 24 * _per_element()
    return {
        "seconds": ours,
        "one NumPy pass a cell, seconds": passes,
        "scipy pmf an element, seconds (extrapolated)": loop,
        "times faster than the pass": passes / ours,
        "times faster than the loop": loop / ours,
    }


_LARGE = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
from discreet.synthetic import Synthesizer, assess, source
from discreet.synthetic.spec import load
folder, rows = Path(sys.argv[1]), int(sys.argv[2])
asked = load(json.loads((folder / "spec.json").read_text()), folder=folder)
cells = asked.cells()
law = Synthesizer.of(5e4, n_synthetic=rows, cells=cells.size)
start = time.perf_counter()
with source.opened(asked.source, source.source_path(asked)) as engine:
    x = source.original_counts(engine, asked, cells)
with source.opened("file.parquet", folder / "file.parquet") as engine:
    s = source.candidate_counts(engine, cells)
counted = time.perf_counter() - start
start = time.perf_counter()
judged = assess(x, s, synthesizer=law, cells=cells, region="RR <= 1.5",
                priors=np.linspace(0.001, 0.999, 1000).tolist())
spent = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"count both files, seconds": counted, "risk at 1,000 priors, seconds": spent,
                  "peak memory, GB": peak, "records": int(x.sum()),
                  "records outside": judged.records_outside}))
"""


def large(rows: int = 10_000_000) -> dict[str, Any]:
    """Judge a file of ten million records over ten thousand cells, in a process of its own."""
    import duckdb

    levels = [str(i) for i in range(10)]
    spec = {
        "account": "bench",
        "purpose": "bench",
        "source": "original.parquet",
        "protect": {"unit": "record"},
        "budget": {"epsilon": 1.0},
        "columns": ["a", "b", "c", "d"],
        "keys": dict.fromkeys("abcd", levels),
        "n_synthetic": rows,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.json").write_text(json.dumps(spec))
        with duckdb.connect() as connection:
            for file in ("original", "file"):
                draws = ", ".join(
                    f"cast(floor(10 * pow(random(), {i})) as int)::varchar as {c}"
                    for i, c in enumerate("abcd", start=1)
                )
                connection.execute(
                    f"copy (select {draws} from range({rows})) to "  # noqa: S608
                    f"'{folder / file}.parquet' (format parquet)"
                )
        ran = subprocess.run(
            [sys.executable, "-c", _LARGE, name, str(rows)],
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(ran.stdout)


def growth() -> dict[str, Any]:
    """Time the risk at 1,000 priors, at ten times the records and at ten times the cells."""
    import numpy as np

    from discreet.synthetic import assess_counts

    rng = np.random.default_rng(7)
    priors = np.linspace(0.001, 0.999, 1000).tolist()

    def seconds(records: int, cells: int) -> float:
        shares = rng.dirichlet(np.full(cells, 0.5))
        x, s = rng.multinomial(records, shares, 2)
        return _best(lambda: assess_counts(x, s, epsilon=5e4, region="RR <= 1.5", priors=priors), 2)

    return {
        "10⁶ records, 10⁴ cells, seconds": (base := seconds(10**6, 10**4)),
        "10⁷ records, 10⁴ cells, times that": seconds(10**7, 10**4) / base,
        "10⁷ records, 10⁵ cells, times that": seconds(10**7, 10**5) / base,
    }


def run() -> dict[str, Any]:
    """Run every measurement of this file."""
    return {"table of expected increases": table(), "large file": large(), "growth": growth()}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2, ensure_ascii=False))

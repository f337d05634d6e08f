"""Margins that add up: all tables of up to two or three columns of a survey.

The rows are those of the Medical Expenditure Panel Survey as `linearmodels` has them, in twelve
columns of categories; they are read in an environment of their own and not kept in the tree. Where
that cannot be installed, rows are invented: the error of an estimate does not depend on them.
"""

from __future__ import annotations

import csv
import math
import subprocess
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Tables that add up"
ABOUT = (
    "All tables of up to two or three of twelve columns (6, 5, 7, 6, 6, 8, 2, 2, 2, 2, 2, 2 "
    "categories) of the Medical Expenditure Panel Survey as `linearmodels` has it, 10,391 rows, "
    "one a person, ρ = 0.5: planned, counted by DuckDB, noised, made to add up, with an interval "
    "for every cell. The error is the root mean square over all cells of one draw. *Covers* tells "
    "how often 95 % intervals hold the true number over 200 draws, in the table where that is "
    "least often and in the one where it is most often. If the errors of its c cells were "
    "independent, that share would have a standard deviation of 1.5 %/√c, so it is told of "
    "tables with 25 cells or more. For the numbers `published` it is over five "
    "releases, and all tables."
)
SIZES = (6, 5, 7, 6, 6, 8, 2, 2, 2, 2, 2, 2)
ROWS = 10_391

# Runs where linearmodels is; the cuts give the categories of SIZES.
_READ = """
import sys
import numpy as np
from linearmodels.datasets import meps

rows = meps.load()
cuts = {
    "age": [70, 75, 80, 85, 90], "educyr": [8, 12, 13, 16], "totchr": [1, 2, 3, 4, 5, 6],
    "firmsz": [0.5, 1.5, 3, 10, 40], "income": [8, 14, 22, 35, 60],
    "drugexp": [50, 150, 300, 600, 1200, 2500, 5000],
}
codes = {name: np.digitize(rows[name], edges) for name, edges in cuts.items()}
codes |= {name: rows[name] for name in ("female", "black", "hisp", "marry", "private", "msa")}
rows.assign(**codes)[list(codes)].astype(int).to_csv(sys.argv[1], index=False)
"""


def _file(folder: Path) -> Path:
    return folder / "meps.csv"


def make(size: Size) -> None:
    """Read the survey, or invent rows of the same shape."""
    file = _file(size.data)
    if file.is_file():
        return
    interpreter, _ = environments.python("meps", install=not size.quick)
    if interpreter is not None:
        subprocess.run([interpreter, "-c", _READ, str(file)], check=True)
        return
    import numpy as np

    chance = np.random.default_rng(1)
    columns = [chance.geometric(0.4, ROWS) % size for size in SIZES]
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(f"c{i}" for i in range(len(SIZES)))
        writer.writerows(zip(*columns, strict=True))


def _data(file: Path, columns: int) -> dict[str, list[str]]:
    with file.open(newline="") as lines:
        header, *rows = csv.reader(lines)
    every = dict(zip(header, zip(*rows, strict=True), strict=True))
    return {name: list(every[name]) for name in header[:columns]}


def _spec(data: Mapping[str, list[str]], margins: Any, **more: Any) -> Any:
    from discreet.releases.spec import load

    keys = {name: [str(k) for k in range(n)] for name, n in zip(data, SIZES, strict=False)}
    entry = {"name": "n", "count": "rows", "margins": margins, "keys": keys, **more}
    said = {
        "account": "survey",
        "purpose": "benchmark",
        "protect": {"unit": "record"},
        "budget": {"rho": 0.5},
        "statistics": [entry],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    return load(said, folder=".")


def release(file: Path, columns: int, most: int, draws: int) -> Prepared:
    """Return a release of all margins of the first columns; `draws` tell how often it covers."""
    import pyarrow as pa

    from discreet.releases.drawing import draw
    from discreet.releases.engines.duckdb import DuckDB
    from discreet.releases.planning import plan_of

    data = _data(file, columns)
    spec = _spec(data, {"up_to": most, "of": list(data)})
    engine = DuckDB.of(pa.table(data))
    made: list[Any] = []

    def run() -> None:
        made[:] = [draw(plan_of(spec, engine.columns), engine)]

    def accuracy() -> str:
        said = f"off by {_rmse(made[0].columns, data):.2f}"
        if not draws:
            return said
        least, largest = _covered(plan_of(spec, engine.columns), draws)
        return f"{said}; covers {least:.1%} to {largest:.1%}"

    run()
    return Prepared(run, accuracy=accuracy, close=engine.close)


def _rmse(table: Mapping[str, Any], data: Mapping[str, list[str]]) -> float:
    """Return the root mean square error of all cells."""
    names, squares = list(data), []
    rows = list(zip(*data.values(), strict=True))
    counts: dict[tuple[int, ...], Counter[tuple[str, ...]]] = {}
    for *key, value in zip(*(table[n] for n in (*names, "value")), strict=True):
        at = tuple(i for i, part in enumerate(key) if part != "(all)")
        if at not in counts:
            counts[at] = Counter(tuple(row[i] for i in at) for row in rows)
        squares.append((float(value) - counts[at][tuple(key[i] for i in at)]) ** 2)
    return math.sqrt(sum(squares) / len(squares))


def _covered(plan: Any, draws: int) -> tuple[float, float]:
    """Return the least and largest share of true numbers within 95 % intervals, of large tables."""
    import numpy as np

    from discreet.noise import add_noise

    statistic = plan.statistics[0].statistic
    laws = {name: call.law for name, call in plan.calls("n").items()}
    known = statistic.following(tuple(laws.items()))
    design, errors = known.design, known.errors
    large = [margin for margin in design.published if design.cells(margin) >= 25]
    hits: dict[Any, list[float]] = {margin: [] for margin in large}
    for _ in range(draws):
        drawn = {}
        for name, law in laws.items():
            margin = statistic.margin_of[name]
            drawn[margin] = np.array(add_noise(law, [0] * design.cells(margin)))
        found = design.combined(drawn, known.noise, 6)
        for margin in large:
            within = np.abs(found[margin] / 1e6) <= errors[margin].half_width(0.95)[0]
            hits[margin].append(float(within.mean()))
    shares = [float(np.mean(one)) for one in hits.values()]
    return min(shares), max(shares)


def _published(file: Path, draws: int) -> Prepared:
    import pyarrow as pa

    from discreet.releases.drawing import completed, draw
    from discreet.releases.engines.duckdb import DuckDB
    from discreet.releases.planning import plan_of

    data = _data(file, 4)
    spec = _spec(data, {"up_to": 3, "of": list(data)}, twin=True)
    engine = DuckDB.of(pa.table(data))
    plan = plan_of(spec, engine.columns)

    def run() -> Any:
        return completed(plan, draw(plan, engine)).columns

    def accuracy() -> str:
        rows = list(zip(*data.values(), strict=True))
        exact = _truth(list(data), rows)
        hits = []
        for _ in range(draws):
            table = run()
            ends = (table[n] for n in (*data, "published_low", "published_high"))
            for *key, low, high in zip(*ends, strict=True):
                hits.append(float(low) <= exact[tuple(key)] <= float(high))
        return f"covers {sum(hits) / len(hits):.1%}"

    return Prepared(run, accuracy=accuracy, close=engine.close)


def _truth(names: list[str], rows: list[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """Return the true number of every cell of every table, `(all)` where it is summed over."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        for which in range(2 ** len(names)):
            found[tuple(k if which >> i & 1 else "(all)" for i, k in enumerate(row))] += 1
    return found


def _opendp(file: Path, columns: int) -> Prepared:
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.mbi import Count, Fixed, make_contingency_table

    dp.enable_features("contrib")
    data = _data(file, columns)
    names = list(data)
    keys = {name: [str(k) for k in range(n)] for name, n in zip(names, SIZES, strict=False)}
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    domain = dp.lazyframe_domain([dp.series_domain(n, dp.atom_domain(T=dp.String)) for n in names])
    made: list[Any] = []

    def run() -> None:
        measurement, _, _ = make_contingency_table(
            domain,
            dp.symmetric_distance(),
            dp.zero_concentrated_divergence(),
            d_in=1,
            d_out=0.5,
            keys=keys,
            algorithm=Fixed(queries=[Count(pair) for pair in pairs]),
        )
        made[:] = [measurement(pl.LazyFrame(data))]

    def accuracy() -> str:
        squares = []
        for pair in pairs:
            exact = Counter(zip(*(data[name] for name in pair), strict=True))
            cells = made[0].project(list(pair))
            for i, a in enumerate(keys[pair[0]]):
                for j, b in enumerate(keys[pair[1]]):
                    squares.append((float(cells[i][j]) - exact[a, b]) ** 2)
        return f"off by {math.sqrt(sum(squares) / len(squares)):.2f} (pairs alone)"

    return Prepared(run, accuracy=accuracy)


def contenders(size: Size) -> list[Contender]:
    """Return the contenders."""
    file = _file(size.data)
    tasks = [
        ("seven-two", 7, 2, 5, 200),
        ("twelve-two", 12, 2, 5, 0),
        ("twelve-three", 12, 3, 3, 0),
    ]
    words = {2: "two", 3: "three", 7: "seven", 12: "twelve"}
    found = [
        Contender(
            Task(key, f"up to {words[most]} of {words[columns]} columns"),
            "Discreet",
            partial(release, file, columns, most, 2 if size.quick else draws),
            ours=True,
            turns=1,
            repeats=1 if size.quick else repeats,
        )
        for key, columns, most, repeats, draws in tasks
    ]
    twin = Task("published", "up to three of four columns, with whole numbers and their intervals")
    peer = Contender(
        found[0].task,
        "OpenDP, ContingencyTable",
        partial(_opendp, file, 7),
        package="opendp",
        environment="meps",
        turns=1,
        limit=60,
    )
    own = Contender(
        twin, "Discreet", partial(_published, file, 1 if size.quick else 5), ours=True, turns=1
    )
    return [found[0], peer, *found[1:], own]

"""Margins that add up: all tables of up to two or three columns of a survey.

The columns have the numbers of categories of the Medical Expenditure Panel Survey as `linearmodels`
has it, and as many rows; the rows themselves are invented. The error does not depend on them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Tables that add up"
ABOUT = (
    "All tables of up to two or three of twelve columns (6, 5, 7, 6, 6, 8, 2, 2, 2, 2, 2, 2 "
    "categories), one row a person, ρ = 0.5: planned, counted by DuckDB, noised, made to add up, "
    "with an interval for every cell. The error is the root mean square over all cells of one draw."
)
SIZES = (6, 5, 7, 6, 6, 8, 2, 2, 2, 2, 2, 2)
ROWS = 20_190


def _data(columns: int) -> dict[str, list[str]]:
    import numpy as np

    chance = np.random.default_rng(1)
    return {
        f"c{i}": [str(value) for value in chance.geometric(0.4, ROWS) % size]
        for i, size in enumerate(SIZES[:columns])
    }


def _release(columns: int, most: int) -> Prepared:
    import pyarrow as pa

    from discreet.releases.drawing import draw
    from discreet.releases.engines.duckdb import DuckDB
    from discreet.releases.planning import plan_of
    from discreet.releases.spec import load

    data = _data(columns)
    keys = {name: [str(k) for k in range(n)] for name, n in zip(data, SIZES, strict=False)}
    entry = {"count": "rows", "margins": {"up_to": most, "of": list(data)}, "keys": keys}
    spec = load(
        {
            "account": "survey",
            "purpose": "benchmark",
            "protect": {"unit": "record"},
            "budget": {"rho": 0.5},
            "statistics": [entry],
            "ledger": "sqlite:///ledger.db",
            "output": "out",
        },
        folder=".",
    )
    engine = DuckDB.of(pa.table(data))
    made: list[Any] = []

    def run() -> None:
        made[:] = [draw(plan_of(spec, engine.columns), engine)]

    run()
    return Prepared(run, accuracy=lambda: f"off by {_rmse(made[0], data):.2f}", close=engine.close)


def _rmse(table: Any, data: dict[str, list[str]]) -> float:
    """Return the root mean square error of all cells."""
    from collections import Counter

    names, squares = list(data), []
    rows = list(zip(*data.values(), strict=True))
    counts: dict[tuple[int, ...], Counter[tuple[str, ...]]] = {}
    for *key, value in zip(*(table.columns[n] for n in (*names, "value")), strict=True):
        at = tuple(i for i, part in enumerate(key) if part != "(all)")
        if at not in counts:
            counts[at] = Counter(tuple(row[i] for i in at) for row in rows)
        squares.append((float(value) - counts[at][tuple(key[i] for i in at)]) ** 2)
    return math.sqrt(sum(squares) / len(squares))


def contenders(size: Size) -> list[Contender]:
    """Return the contenders."""
    tasks = [("seven-two", 7, 2, 5), ("twelve-two", 12, 2, 5), ("twelve-three", 12, 3, 2)]
    words = {2: "two", 3: "three", 7: "seven", 12: "twelve"}
    return [
        Contender(
            Task(key, f"up to {words[most]} of {words[columns]} columns"),
            "Discreet",
            partial(_release, columns, most),
            ours=True,
            repeats=1 if size.quick else repeats,
        )
        for key, columns, most, repeats in tasks
    ]

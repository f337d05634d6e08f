"""Speed of a release: bounded count and sum by 500 public groups, against others, in one run.

    python -m benchmarks.release [--rows 20000000] [--repeats 3] [--json]

Data made here: ROWS rows, a tenth as many persons, 500 groups, a cost. `heavy`: at most five rows
a person, and most persons have more. `light`: the same data, at most fourteen, and one person in
twelve has more. `skewed`: at most five, and one person in ten has more, but these have four fifths
of all rows. Every contender runs in a process
of its own, in turn, `repeats` times; the best time counts and the largest peak memory. Imports and
the opening of the source are not timed. Times depend on the machine; read the ratios.

- floor: DuckDB's plain GROUP BY; count: rows per person, nothing else
- window: DuckDB's row_number() over (partition by person order by a random column), no noise
- opendp: OpenDP's Polars extension, truncated by sampling, with its noise (needs the version of
  Polars that its own release names; elsewhere it is left out); polars: the same truncation alone
- ours: engine, bounding and noise; record: the same where every row is a unit
- cells: half a million cells (and a half and a quarter of that), noise and all
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

LIMIT, LIGHT_LIMIT, GROUPS = 5, 14, 500
_VALUE = "cast(round(least(greatest(cost, 0), 500) * 100) as bigint)"


def make(folder: Path, rows: int) -> None:
    """Write heavy.parquet and skewed.parquet."""
    import duckdb

    persons = rows // 10
    many = persons // 10
    rest = "cast(floor(random() * 500) as int) grp, random() * 500 cost"
    heavy = f"cast(floor(random() * {persons}) as int) person, {rest}"
    # Nine persons in ten have two rows on average, one in ten the rest of them.
    few = 2 * (persons - many) / rows
    skewed = (
        f"cast(case when random() < {few} then floor(random() * {persons - many}) "
        f"else {persons - many} + floor(random() * {many}) end as int) person, {rest}"
    )
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = false")
        for name, columns in (("heavy", heavy), ("skewed", skewed)):
            target = folder / f"{name}.parquet"
            if not target.exists():
                connection.execute(
                    f"copy (select {columns} from range({rows})) to '{target}' (format parquet)"  # noqa: S608
                )


def _duckdb(query: str) -> Callable[[str], Any]:
    def prepared(source: str) -> Any:
        import duckdb

        connection = duckdb.connect(config={"preserve_insertion_order": "false"})
        return lambda: connection.sql(query.format(source=source)).fetchall()

    return prepared


def _ours(unit: tuple[str, ...], limit: int = LIMIT) -> Callable[[str], Any]:
    def prepared(source: str) -> Any:
        from discreet.noise import discrete_laplace
        from discreet.releases.contributions import Contribution
        from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing
        from discreet.releases.engines.duckdb import DuckDB

        discrete_laplace([0], 1.0)  # loads OpenDP
        engine = DuckDB.open(source, Path(source))
        cells = KeySet(("grp",), tuple((str(i),) for i in range(GROUPS)))
        rows = limit if unit else None
        bounds = Contribution.of(rows, None, None, adjacency="add-remove", grouped=True)
        cost = Number("cost", 0, 50_000, Fraction(1, 100))
        query = Query(unit, cells, bounds, (Counting("n"), Summing("s", cost)))
        _warm(query)

        def work() -> Any:
            found = engine.measure(query)
            return [
                discrete_laplace(found["n"], 10.0),  # type: ignore[arg-type]
                discrete_laplace(found["s"], 500_000.0),  # type: ignore[arg-type]
            ]

        return work

    return prepared


def _warm(query: Any) -> None:
    """Ask the same of an empty table, both ways: what is loaded on first use is not timed."""
    import pyarrow as pa

    from discreet.releases.engines import duckdb
    from discreet.releases.engines.duckdb import DuckDB

    types = {"person": pa.int32(), "grp": pa.int32(), "cost": pa.float64()}
    empty = DuckDB.of(pa.table({name: pa.array([], kind) for name, kind in types.items()}))
    large, duckdb.LARGE = duckdb.LARGE, 0
    empty.measure(query)
    if query.unit:
        names = [measure.name for measure in query.measures]
        cells = query.cells
        empty._without_the_rest(query, empty._key_table(cells), names, len(cells))  # type: ignore[arg-type]
    empty.close()
    duckdb.LARGE = large


def _polars(source: str) -> Any:
    """The truncation that OpenDP's Polars extension writes, without its noise: a lower bound."""
    import polars as pl

    def work() -> Any:
        shuffled = pl.int_range(pl.len()).shuffle().over("person")
        kept = pl.scan_parquet(source).filter(shuffled < LIMIT).group_by("grp")
        return kept.agg(pl.len(), pl.col("cost").clip(0, 500).sum()).collect()

    return work


def _opendp(source: str) -> Any:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(source),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=10**9), dp.polars.Margin(by=["grp"])],
    )

    keys = pl.LazyFrame({"grp": pl.Series(range(GROUPS), dtype=pl.Int32)})

    def work() -> Any:
        query = (
            context.query()
            .truncate_per_group(LIMIT)
            .group_by("grp")
            .agg(dp.len(), pl.col("cost").cast(int).fill_null(0).dp.sum((0, 500)))
            .with_keys(keys)
        )
        return query.release().collect()

    return work


def _cells(count: int) -> Callable[[str], Any]:
    def prepared(source: str) -> Any:
        from discreet.noise import discrete_laplace
        from discreet.releases.contributions import Contribution
        from discreet.releases.engines.base import Counting, KeySet, Query
        from discreet.releases.engines.duckdb import DuckDB

        discrete_laplace([0], 1.0)
        engine = DuckDB.open(source, Path(source))
        keys = tuple(
            (str(group), str(person))
            for person in range(count // GROUPS)
            for group in range(GROUPS)
        )
        cells = KeySet(("grp", "person"), keys)
        bounds = Contribution.of(LIMIT, None, None, adjacency="add-remove", grouped=True)
        query = Query(("person",), cells, bounds, (Counting("n"),))
        _warm(query)

        def work() -> Any:
            told: list[int] = []
            counts = engine.measure(query)["n"]
            released = discrete_laplace(
                counts,  # type: ignore[arg-type]
                10.0,
                progress=lambda done, total: told.append(done),
            )
            assert told[-1] == count
            return released

        return work

    return prepared


_COUNT = (
    "select count(*) filter (n > 5) from (select person, count(*) n from '{source}' group by 1)"
)
CONTENDERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "floor": (
        "heavy",
        _duckdb("select grp, count(*), sum(" + _VALUE + ") from '{source}' group by 1"),  # noqa: S608
    ),
    "count": ("heavy", _duckdb(_COUNT)),
    "window": (
        "heavy",
        _duckdb(
            "select grp, count(*), sum(v) from (select grp, v, row_number() over (partition by "  # noqa: S608
            "person order by r) k from (select person, grp, " + _VALUE + " v, random() r "
            "from '{source}')) where k <= 5 group by 1"
        ),
    ),
    "polars": ("heavy", _polars),
    "opendp": ("heavy", _opendp),
    "ours": ("heavy", _ours(("person",))),
    "record": ("heavy", _ours(())),
    "light ours": ("heavy", _ours(("person",), LIGHT_LIMIT)),
    "skewed count": ("skewed", _duckdb(_COUNT)),
    "skewed ours": ("skewed", _ours(("person",))),
    "cells 125,000": ("heavy", _cells(125_000)),
    "cells 250,000": ("heavy", _cells(250_000)),
    "cells 500,000": ("heavy", _cells(500_000)),
}


def one(name: str, folder: Path) -> dict[str, float]:
    """Run one contender in this process."""
    data, prepared = CONTENDERS[name]
    work = prepared(str(folder / f"{data}.parquet"))
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return {"seconds": seconds, "peak_gb": peak}


def run(
    rows: int = 2_000_000,
    repeats: int = 3,
    folder: Path | None = None,
    opendp_python: str = sys.executable,
) -> dict[str, Any]:
    """Measure every contender; return times, memory and the ratios that matter."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
            return run(rows, repeats, Path(name), opendp_python)
    make(folder, rows)
    found: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for name in CONTENDERS:
            ran = subprocess.run(
                [
                    opendp_python if name == "opendp" else sys.executable,
                    __file__,
                    "--one",
                    name,
                    "--folder",
                    str(folder),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode != 0:
                print(f"{name} failed: {ran.stderr[-300:]}", file=sys.stderr)
                continue
            now = json.loads(ran.stdout)
            best = found.setdefault(name, now)
            best["seconds"] = min(best["seconds"], now["seconds"])
            best["peak_gb"] = max(best["peak_gb"], now["peak_gb"])
    return {"rows": rows, "contenders": found, "ratios": _ratios(found)}


def _ratios(found: dict[str, dict[str, float]]) -> dict[str, float]:
    def over(a: str, b: str) -> float | None:
        if a not in found or b not in found:
            return None
        return round(found[a]["seconds"] / found[b]["seconds"], 2)

    wanted = {
        "opendp / ours (3 or more)": ("opendp", "ours"),
        "polars / ours": ("polars", "ours"),
        "window / ours (2 or more)": ("window", "ours"),
        "ours / count (stretch: 3 or less)": ("ours", "count"),
        "light ours / count (2 or less)": ("light ours", "count"),
        "skewed ours / skewed count": ("skewed ours", "skewed count"),
        "record / floor (1.3 or less, and the noise)": ("record", "floor"),
        "500,000 cells / 250,000 cells (linear: 2)": ("cells 500,000", "cells 250,000"),
    }
    return {name: ratio for name, pair in wanted.items() if (ratio := over(*pair)) is not None}


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Speed of a release, against others.")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument(
        "--opendp-python", default=sys.executable, help="An interpreter with opendp[polars]."
    )
    parser.add_argument("--one", choices=list(CONTENDERS), default=None)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.one is not None:
        print(json.dumps(one(asked.one, asked.folder)))
        return 0
    found = run(asked.rows, asked.repeats, asked.folder, asked.opendp_python)
    if asked.json:
        print(json.dumps(found, indent=1))
        return 0
    for name, measured in found["contenders"].items():
        print(f"{name:16} {measured['seconds']:8.2f} s  {measured['peak_gb']:6.2f} GB")
    for name, ratio in found["ratios"].items():
        print(f"{name}: {ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

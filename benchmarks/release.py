"""A release on one machine: bounded count and clipped sum by 500 public groups, against others.

Every contender runs in a process of its own; imports and the opening of the source are not timed.
What is loaded on first use is not timed either: each answers a small question first.

- GROUP BY: no privacy at all, the floor; count per person: the floor of anything that looks at
  persons
- row_number: bounding as one would first write it, without noise
- Polars: the truncation that OpenDP's Polars extension writes, without its noise
- OpenDP-Polars, PipelineDP: the same release, with their noise at ε = 1
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.contest import Contender, Prepared, Size, Task
from benchmarks.data import GROUPS, LIGHT_LIMIT, LIMIT

TITLE = "A release on one machine"
ABOUT = (
    "Count and clipped sum by 500 public groups, whole persons protected, ε = 1 shared evenly, "
    "from one Parquet file. The accuracy is the root mean square error where nothing has to be cut."
)
_VALUE = "cast(round(least(greatest(cost, 0), 500) * 100) as bigint)"
PER_PERSON = (
    "select count(*) filter (n > 5) from (select person, count(*) n from '{source}' group by 1)"
)
FLOOR = "select grp, count(*), sum(" + _VALUE + ") from '{source}' group by 1"  # noqa: S608
WINDOW = (
    "select grp, count(*), sum(v) from (select grp, v, row_number() over (partition by "  # noqa: S608
    "person order by r) k from (select person, grp, " + _VALUE + " v, random() r "
    "from '{source}')) where k <= 5 group by 1"
)


def duckdb_query(query: str, source: Path) -> Prepared:
    """A query of DuckDB's own over one file."""
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    return Prepared(lambda: connection.sql(query.format(source=source)).fetchall())


def question(unit: tuple[str, ...], limit: int, groups: int = GROUPS) -> Any:
    """Count and clipped sum by public groups, as our engines are asked."""
    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing

    cells = KeySet(("grp",), tuple((str(i),) for i in range(groups)))
    rows = limit if unit else None
    bounds = Contribution.of(rows, None, None, adjacency="add-remove", grouped=True)
    cost = Number("cost", 0, 50_000, Fraction(1, 100))
    return Query(unit, cells, bounds, (Counting("n"), Summing("s", cost)))


def noisy(engine: Any, query: Any, limit: int) -> tuple[list[int], list[int]]:
    """Measure on an engine of ours and add the noise of ε = 1, half for each statistic."""
    from discreet.noise import discrete_laplace

    found = engine.measure(query)
    return (
        discrete_laplace(found["n"], 2.0 * limit),
        discrete_laplace(found["s"], 2.0 * limit * 50_000),
    )


def accuracy_of(folder: Path, opened: Callable[[Path], Any]) -> str:
    """Say how far off a release of the exact file by an engine of ours is."""
    engine = opened(data.exact(folder))
    counts, sums = noisy(engine, question(("person",), LIMIT), LIMIT)
    engine.close()
    return data.rms(folder, dict(enumerate(counts)), {g: s / 100 for g, s in enumerate(sums)})


def _open(source: Path) -> Any:
    from discreet.releases.engines.duckdb import DuckDB

    return DuckDB.open(str(source), Path)


def _ours(
    source: Path,
    unit: tuple[str, ...],
    limit: int,
    groups: int = GROUPS,
    judged_in: Path | None = None,
) -> Prepared:
    engine = _open(source)
    query = question(unit, limit, groups)
    _warm(query)
    judged = None if judged_in is None else lambda: accuracy_of(judged_in, _open)
    return Prepared(lambda: noisy(engine, query, limit), accuracy=judged, close=engine.close)


def bounded(source: Path, groups: int = GROUPS) -> Callable[[], Prepared]:
    """Our release with at most five rows a person, over so many groups."""
    return lambda: _ours(source, ("person",), LIMIT, groups)


def bounded_by(source: Path, limit: int) -> Prepared:
    """Our release with so many rows a person."""
    return _ours(source, ("person",), limit)


def many_cells(source: Path, count: int) -> Callable[[], Prepared]:
    """Our release with so many public cells."""
    return lambda: _cells(source, count)


def _warm(query: Any) -> None:
    """Ask the same of an empty table, both ways, and draw noise once."""
    import pyarrow as pa

    from discreet.noise import discrete_laplace
    from discreet.releases.engines import duckdb
    from discreet.releases.engines.duckdb import DuckDB

    discrete_laplace([0], 1.0)
    types = {"person": pa.int32(), "grp": pa.int32(), "cost": pa.float64()}
    empty = DuckDB.of(pa.table({name: pa.array([], kind) for name, kind in types.items()}))
    large, duckdb.LARGE = duckdb.LARGE, 0
    empty.measure(query)
    if query.unit:
        empty._without_the_rest(query, [empty._keys(query.cells)])
    empty.close()
    duckdb.LARGE = large


def _polars(source: Path) -> Prepared:
    import polars as pl

    def run() -> Any:
        shuffled = pl.int_range(pl.len()).shuffle().over("person")
        kept = pl.scan_parquet(source).filter(shuffled < LIMIT).group_by("grp")
        return kept.agg(pl.len(), pl.col("cost").clip(0, 500).sum()).collect()

    return Prepared(run)


def _opendp(folder: Path, source: Path) -> Prepared:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    keys = pl.LazyFrame({"grp": pl.Series(range(GROUPS), dtype=pl.Int32)})

    def run(file: Path = source) -> Any:
        context = dp.Context.compositor(
            data=pl.scan_parquet(file),
            privacy_unit=dp.unit_of(contributions=1, identifier="person"),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=[], max_length=10**9), dp.polars.Margin(by=["grp"])],
        )
        query = (
            context.query()
            .truncate_per_group(LIMIT)
            .group_by("grp")
            .agg(
                dp.len().alias("n"),
                pl.col("cost").cast(int).fill_null(0).dp.sum((0, 500)).alias("s"),
            )
            .with_keys(keys)
        )
        return query.release().collect()

    def accuracy() -> str:
        found = run(data.exact(folder))
        groups = found["grp"].to_list()
        return data.rms(
            folder,
            dict(zip(groups, found["n"].to_list(), strict=True)),
            dict(zip(groups, found["s"].to_list(), strict=True)),
        )

    run(data.exact(folder))
    return Prepared(run, accuracy=accuracy)


def pipeline_release(pipeline_dp: Any, backend: Any, rows: Any) -> Any:
    """The release by PipelineDP, on any backend of its own; `rows` are (person, group, cost)."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-10)
    engine = pipeline_dp.DPEngine(accountant, backend)
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_contributions=LIMIT,
        min_value=0,
        max_value=500,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    released = engine.aggregate(rows, parameters, extractors, public_partitions=list(range(GROUPS)))
    accountant.compute_budgets()
    return released


def _pipelinedp(folder: Path, source: Path) -> Prepared:
    import pipeline_dp
    import pyarrow.parquet as pq

    def run(file: Path = source) -> Any:
        table = pq.read_table(file, columns=["person", "grp", "cost"])
        columns = (table[name].to_pylist() for name in table.column_names)
        rows = list(zip(*columns, strict=True))
        return list(pipeline_release(pipeline_dp, pipeline_dp.LocalBackend(), rows))

    def accuracy() -> str:
        found = run(data.exact(folder))
        return data.rms(folder, {g: m.count for g, m in found}, {g: m.sum for g, m in found})

    run(data.exact(folder))
    return Prepared(run, accuracy=accuracy)


def _cells(source: Path, count: int, *, noise: bool = True) -> Prepared:
    from discreet.noise import discrete_laplace
    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Counting, KeySet, Query

    engine = _open(source)
    keys = tuple(
        (str(group), str(person)) for person in range(count // GROUPS) for group in range(GROUPS)
    )
    bounds = Contribution.of(LIMIT, None, None, adjacency="add-remove", grouped=True)
    query = Query(("person",), KeySet(("grp", "person"), keys), bounds, (Counting("n"),))
    _warm(query)

    def run() -> Any:
        told: list[int] = []
        counts = engine.measure(query)["n"]
        if not noise:
            return counts
        released = discrete_laplace(counts, 10.0, progress=lambda done, _: told.append(done))
        assert told[-1] == count
        return released

    return Prepared(run, close=engine.close)


def make(size: Size) -> None:
    """Make the data."""
    rows = size.cut(size.rows)
    data.write_truth(size.data)
    data.heavy(size.data, rows)
    data.heavy(size.data, max(rows // 10, 1000))
    data.skewed(size.data, rows)


def contenders(size: Size) -> list[Contender]:
    """Return everyone, on every kind of data."""
    folder, rows = size.data, size.cut(size.rows)
    heavy, skewed = data.heavy(folder, rows), data.skewed(folder, rows)
    fewer = max(rows // 10, 1000)
    tenth = data.heavy(folder, fewer)
    said = f"{rows:,} rows, {rows // 10:,} persons"
    bound = Task("bound", f"{said}, at most 5 rows each (most have more)")
    light = Task("light", f"{said}, at most 14 rows each (one in twelve has more)")
    skew = Task("skewed", f"{said}, at most 5 each (one in ten has more, with 4/5 of the rows)")
    record = Task("record", f"{rows:,} rows, each protected by itself")
    less = Task("tenth", f"{fewer:,} rows, {fewer // 10:,} persons, at most 5 rows each")
    person = ("person",)
    duck: dict[str, Any] = {"package": "duckdb"}

    def floor(name: str, query: str, task: Task, source: Path = heavy) -> Contender:
        return Contender(task, name, lambda: duckdb_query(query, source), **duck)

    def ours(task: Task, unit: tuple[str, ...], limit: int, source: Path = heavy) -> Contender:
        judged = folder if unit and limit == LIMIT else None
        return Contender(
            task, "Discreet", lambda: _ours(source, unit, limit, judged_in=judged), ours=True
        )

    peers = [
        Contender(
            bound,
            "OpenDP-Polars, by sampling",
            lambda: _opendp(folder, heavy),
            package="opendp",
            environment="opendp",
            turns=2,
        ),
        Contender(
            less,
            "PipelineDP, local",
            lambda: _pipelinedp(folder, tenth),
            package="pipeline-dp",
            environment="pipelinedp",
            turns=1,
            limit=240,
        ),
    ]
    counted = "DuckDB, count per person only"
    group_by = "DuckDB, GROUP BY, no privacy"
    listed = [
        ours(bound, person, LIMIT),
        floor(group_by, FLOOR, bound),
        floor(counted, PER_PERSON, bound),
        Contender(
            bound,
            "DuckDB, row_number over persons, no noise",
            lambda: duckdb_query(WINDOW, heavy),
            turns=2,
            **duck,
        ),
        Contender(
            bound,
            "Polars, shuffle over persons, no noise",
            lambda: _polars(heavy),
            package="polars",
            turns=2,
        ),
        peers[0],
        ours(light, person, LIGHT_LIMIT),
        floor(counted, PER_PERSON, light),
        ours(skew, person, LIMIT, skewed),
        floor(counted, PER_PERSON, skew, skewed),
        ours(record, (), LIMIT),
        floor(group_by, FLOOR, record),
        ours(less, person, LIMIT, tenth),
        peers[1],
    ]
    for count in (250_000, 500_000):
        cells = size.cut(count)
        task = Task(f"cells-{count // 1000}k", f"{said}, {cells:,} cells, noise and all")
        listed += [
            Contender(task, "Discreet", lambda n=cells: _cells(heavy, n), ours=True, turns=2),
            Contender(
                task,
                "bounding and aggregation alone, no noise",
                lambda n=cells: _cells(heavy, n, noise=False),
                turns=2,
            ),
        ]
    return listed

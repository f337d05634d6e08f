"""Spark on this machine, two workers: the same release by us, by Tumult and by PipelineDP.

Count and clipped sum by 500 public groups, at most five rows a person, ε = 1 shared evenly, from
the same Parquet file. The start of Spark is not timed, nor is a first release of a small file that has
every part loaded; both sides get the same memory. Sizes go up tenfold until a contender would take
longer than its limit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "A release on Spark"
ABOUT = (
    "Count and clipped sum by 500 public groups, at most 5 rows a person, ε = 1, Spark with two "
    "workers in local mode, 4 GB for the driver on every side. The accuracy is the root mean "
    "square error where nothing has to be cut."
)
LIMIT_SECONDS = 330.0
_OPTIONS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.default.parallelism": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(folder: Path) -> Any:
    """Return a local Spark session whose files lie in the benchmark's folder."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.setdefault("SPARK_LOCAL_DIRS", str(folder / "spark"))
    builder = SparkSession.builder.appName("bench")
    for name, value in _OPTIONS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def _plain(folder: Path, source: Path) -> Prepared:
    spark = session(folder)

    def run(file: Path = source) -> Any:
        spark.read.parquet(str(file)).createOrReplaceTempView("rows")
        value = "cast(round(least(greatest(cost, 0), 500) * 100) as bigint)"
        return spark.sql(
            f"select grp, count(*), sum({value}) from rows group by grp"  # noqa: S608
        ).collect()

    run(data.exact(folder))
    return Prepared(run, close=spark.stop)


def _window(folder: Path, source: Path) -> Prepared:
    """Bounding as one would first write it, with no noise."""
    spark = session(folder)

    def run(file: Path = source) -> Any:
        spark.read.parquet(str(file)).createOrReplaceTempView("rows")
        value = "cast(round(least(greatest(cost, 0), 500) * 100) as bigint)"
        return spark.sql(
            "select grp, count(*), sum(v) from (select grp, v, row_number() over "  # noqa: S608
            f"(partition by person order by r) k from (select person, grp, {value} v, rand() r "
            f"from rows)) where k <= {data.LIMIT} group by grp"
        ).collect()

    run(data.exact(folder))
    return Prepared(run, close=spark.stop)


def _tumult(folder: Path, source: Path) -> Prepared:
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxRowsPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    spark = session(folder)
    keys = KeySet.from_dict({"grp": list(range(data.GROUPS))})

    def run(file: Path = source) -> tuple[Any, Any]:
        private = Session.from_dataframe(
            privacy_budget=PureDPBudget(1),
            source_id="rows",
            dataframe=spark.read.parquet(str(file)),
            protected_change=AddRowsWithID(id_column="person"),
        )
        bounded = QueryBuilder("rows").enforce(MaxRowsPerID(data.LIMIT)).groupby(keys)
        half = PureDPBudget(0.5)
        counts = private.evaluate(bounded.count(name="n"), half).collect()
        sums = private.evaluate(bounded.sum("cost", 0, 500, name="s"), half).collect()
        return counts, sums

    def accuracy() -> str:
        counts, sums = run(data.exact(folder))
        return data.rms(folder, {r.grp: r.n for r in counts}, {r.grp: r.s for r in sums})

    run(data.exact(folder))
    return Prepared(run, accuracy=accuracy, close=spark.stop)


def pipeline_release(pipeline_dp: Any, backend: Any, rows: Any) -> Any:
    """The release by PipelineDP, on any backend of its own; `rows` are (person, group, cost)."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-10)
    engine = pipeline_dp.DPEngine(accountant, backend)
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_contributions=data.LIMIT,
        min_value=0,
        max_value=500,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    released = engine.aggregate(
        rows, parameters, extractors, public_partitions=list(range(data.GROUPS))
    )
    accountant.compute_budgets()
    return released


def _pipelinedp(folder: Path, source: Path) -> Prepared:
    import pipeline_dp

    spark = session(folder)
    backend = pipeline_dp.SparkRDDBackend(spark.sparkContext)

    def run(file: Path = source) -> Any:
        rows = spark.read.parquet(str(file)).select("person", "grp", "cost").rdd.map(tuple)
        return pipeline_release(pipeline_dp, backend, rows).collect()

    def accuracy() -> str:
        found = run(data.exact(folder))
        return data.rms(folder, {g: m.count for g, m in found}, {g: m.sum for g, m in found})

    run(data.exact(folder))
    return Prepared(run, accuracy=accuracy, close=spark.stop)


def no_java() -> str | None:
    """Say why Spark cannot run."""
    return None if shutil.which("java") else "there is no Java on this machine"


def _steps(size: Size) -> list[tuple[str, int]]:
    largest = size.cut(size.rows)
    steps = [("small", largest // 100), ("middle", largest // 10), ("large", largest)]
    return steps[-1:] if size.quick else steps


def make(size: Size) -> None:
    """Make the data; peers' environments could not."""
    data.write_truth(size.data)
    for _, rows in _steps(size):
        data.heavy(size.data, rows)


def contenders(size: Size) -> list[Contender]:
    """Return every contender at three sizes, a tenth of the next each."""
    folder = size.data
    steps = _steps(size)
    listed: list[Contender] = []
    for place, (key, rows) in enumerate(steps):
        task = Task(key, f"{rows:,} rows, {rows // 10:,} persons")

        def add(
            name: str,
            prepare: Callable[[Path, Path], Prepared],
            task: Task = task,
            rows: int = rows,
            before: str | None = steps[place - 1][0] if place else None,
            **more: Any,
        ) -> None:
            def prepared() -> Prepared:
                return prepare(folder, data.heavy(folder, rows))

            listed.append(
                Contender(
                    task,
                    name,
                    prepared,
                    turns=more.pop("turns", 1),
                    limit=LIMIT_SECONDS + 90,  # the start and the small release are not timed
                    after=before,
                    needs=no_java,
                    **more,
                )
            )

        add("Spark SQL, GROUP BY, no privacy", _plain, package="pyspark")
        add("Spark SQL, row_number over persons, no noise", _window, package="pyspark")
        add("Tumult Analytics", _tumult, package="tmlt.analytics", environment="tumult")
        add("PipelineDP on Spark", _pipelinedp, package="pipeline-dp", environment="pipelinedp")
    return listed

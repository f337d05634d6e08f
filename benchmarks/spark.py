"""Spark on this machine, two workers: the same release by us, by Tumult and by PipelineDP.

Count and clipped sum by 500 public groups, at most five rows a person, ε = 1 shared evenly, from
the same Parquet file. All are measured alike: the start of Spark is not timed, nor is a first
release of a small file; then each does the same five times in one process. The least time counts,
and the first is told beside it, since Java compiles what it runs only then. What took a minute is
not repeated. All get the same memory. Sizes go up tenfold until a contender would take longer than
its limit.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import data, release
from benchmarks.contest import FIRST_TURN, Contender, Prepared, Size, Task

TITLE = "A release on Spark"
ABOUT = (
    "Count and clipped sum by 500 public groups, at most 5 rows a person, ε = 1, Spark with two "
    "workers in local mode, 4 GB for the driver on every side. After a small release that is not "
    "timed, each does the same five times in one process (once if that takes a minute): the least "
    "time counts, and that of the first turn, in which Java compiles what it runs, is told beside "
    "it. The accuracy is the root mean square error where nothing has to be cut."
)
LIMIT_SECONDS = 240.0
REPEATS = 5
_OPTIONS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(folder: Path, **more: str) -> Any:
    """Return a local Spark session whose files lie in the benchmark's folder."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Workers run in the contender's own environment; else whatever `python3` is would be taken.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_DIRS", str(folder / "spark"))
    builder = SparkSession.builder.appName("bench")
    for name, value in (_OPTIONS | more).items():
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


def _pipelinedp(folder: Path, source: Path) -> Prepared:
    import pipeline_dp

    spark = session(folder)
    backend = pipeline_dp.SparkRDDBackend(spark.sparkContext)

    def run(file: Path = source) -> Any:
        rows = spark.read.parquet(str(file)).select("person", "grp", "cost").rdd.map(tuple)
        return release.pipeline_release(pipeline_dp, backend, rows).collect()

    def accuracy() -> str:
        found = run(data.exact(folder))
        return data.rms(folder, {g: m.count for g, m in found}, {g: m.sum for g, m in found})

    run(data.exact(folder))
    return Prepared(run, accuracy=accuracy, close=spark.stop)


def ours(folder: Path, source: Path, *, judged: bool = False) -> Prepared:
    """Our release on Spark; its figures say how many bytes were shuffled."""
    from discreet.releases.engines.spark import Spark

    log = folder / "events"
    log.mkdir(exist_ok=True)
    logged = {"enabled": "true", "dir": log.as_uri(), "compress": "false"}
    logged |= {"rolling.enabled": "false", "logStageExecutorMetrics": "false"}
    spark = session(folder, **{f"spark.eventLog.{name}": value for name, value in logged.items()})

    def opened(file: Path) -> Any:
        return Spark.open(f"spark://{file}", Path)

    def shuffled() -> float:
        time.sleep(1.0)  # events are written a moment after they happen
        return _shuffled(log / next(p.name for p in log.iterdir() if application in p.name))

    application = spark.sparkContext.applicationId
    query = release.question(("person",), data.LIMIT)
    small = opened(data.exact(folder))
    release.noisy(small, query, data.LIMIT)
    small.close()
    engine = opened(source)
    before, turns = shuffled(), count()

    def run() -> Any:
        next(turns)
        return release.noisy(engine, query, data.LIMIT)

    return Prepared(
        run,
        accuracy=(lambda: release.accuracy_of(folder, opened)) if judged else None,
        figures=lambda: {"shuffle bytes": (shuffled() - before) / next(turns)},
        close=spark.stop,
    )


def first_told(prepared: Prepared) -> Prepared:
    """Add how long the first turn took to the figures."""
    spans: list[float] = []

    def run() -> Any:
        start = time.perf_counter()
        value = prepared.run()
        spans.append(time.perf_counter() - start)
        return value

    def figures() -> dict[str, float]:
        return {**(prepared.figures() if prepared.figures else {}), FIRST_TURN: spans[0]}

    return replace(prepared, run=run, figures=figures)


def _shuffled(log: Path) -> float:
    """The bytes that all finished stages wrote for others to read."""
    total = 0.0
    for line in log.read_text(encoding="utf-8").splitlines():
        if '"SparkListenerStageCompleted"' not in line:
            continue
        for entry in json.loads(line)["Stage Info"]["Accumulables"]:
            if entry.get("Name") == "internal.metrics.shuffle.write.bytesWritten":
                total += float(entry["Value"])
    return total


def not_ours() -> str | None:
    """Say why our release cannot run on Spark here."""
    if find_spec("pyspark") is None or find_spec("discreet") is None:
        return "PySpark is not installed"
    return no_java()


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
                return first_told(prepare(folder, data.heavy(folder, rows)))

            listed.append(
                Contender(
                    task,
                    name,
                    prepared,
                    turns=1,
                    repeats=REPEATS,
                    limit=LIMIT_SECONDS + 60,  # the start and the small release are not timed
                    after=before,
                    growth=8.0,  # ten times the rows, and a start that does not grow
                    needs=no_java,
                    **more,
                )
            )

        listed.append(
            Contender(
                task,
                "Discreet",
                lambda rows=rows: first_told(ours(folder, data.heavy(folder, rows), judged=True)),
                ours=True,
                turns=1,
                repeats=REPEATS,
                limit=LIMIT_SECONDS,
                needs=not_ours,
            )
        )
        add("Spark SQL, GROUP BY, no privacy", _plain, package="pyspark")
        add("Tumult Analytics", _tumult, package="tmlt.analytics", environment="tumult")
        add("PipelineDP on Spark", _pipelinedp, package="pipeline-dp", environment="pipelinedp")
    return listed

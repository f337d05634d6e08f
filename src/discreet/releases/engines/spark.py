"""Spark: a table of its catalogue (`spark://health.visits`), or Parquet, a file or a folder.

    spark://visits                      a table, as the session knows it
    spark://data/visits.parquet         a file or folder, relative to the spec
    spark:///srv/visits                 the same, absolute
    spark://s3a://bucket/visits         the same, wherever Spark can read

A name without a slash and not ending in .parquet is a table. The session that is running is used,
also one of Spark Connect (4.3 or later, which can open a second session on the same server);
else one is started, on the master that `SPARK_MASTER` or Spark's own configuration names (without
either, on this machine), and stopped afterwards. A session that is started here writes no log (a
task that fails would quote values there), opens no page, and keeps what it spills in a private
folder. Nothing is written to the catalogue: intermediate tables are checkpoints on the executors
under names of this session alone, gone when it ends, also by a crash. A checkpoint that is lost
fails the release; it is not drawn again.

Bounding. Rows are exchanged once, by unit. In the plainest case (units are whole numbers or texts,
only their rows are limited) Spark's Python workers do it with NumPy (`bounding_arrays`): they
divide the rows by unit, exchange them in blocks, draw priorities, sort and look back, as DuckDB
does for all rows at once. Elsewhere, and where the workers lack NumPy or PyArrow (a warning says
so), the rows of each unit are numbered in a window, a sort in each partition, and Spark cuts the
window short at the bound; this takes longer, since Spark moves and compares row by row.

Few bytes. What one task reads stays in one: it is bounded and added up there, in one stage without
an exchange, since starting a stage or a worker would take longer than the work. Of a file whose
footer tells few rows, the ranks of each unit are gathered in an array, which is sorted and cut: all
of them fit in memory, and Spark sorts whole numbers faster than rows. Elsewhere it is a window.

Priorities. Workers draw them, each from a generator seeded with 128 secret bits of this release.
Elsewhere `rand(0)` tells the rows of a partition apart, by numbers that are the same each time, and
all that is random comes from 128 secret bits, drawn for this query, with which they are hashed. The
bits are drawn anew each time since a row may have another place in another query: priorities that
came back at other rows would depend on who is in the data. Spark writes whole numbers, such as a
seed, into the code that it generates for a query, and bytes beside it: a query that is asked again
finds its code compiled. Either way a task that is run again draws the same.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import ibis
import pyarrow as pa
import pyarrow.dataset
from ibis.config import Config

from discreet.errors import DataError, InputError, SpecError
from discreet.releases.engines import bounding_arrays, file_of
from discreet.releases.engines.base import TEXTS, Column, Query
from discreet.releases.engines.bounding import PRIORITY
from discreet.releases.engines.expressions import (
    BLANKS,
    INFINITE,
    LONGEST,
    NUMERAL,
    UNIT,
    HashedDialect,
    Value,
    packed,
    payload,
    prioritized,
)
from discreet.releases.engines.spilling import Spill
from discreet.releases.engines.sql import SOURCE, Answer, SQLEngine
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.rows import Looked

try:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession, functions, types
except ImportError:  # pragma: no cover - depends on what is installed
    raise InputError("engines.spark.not_installed") from None

_log = logging.getLogger("discreet")

# Spark's workers have nothing of this package: functions are sent to them whole, not by name.
register_pickle_by_value(bounding_arrays)

_PREFIX = "spark://"
# Tables of keys up to this size are sent to every executor, so that rows stay where they are.
_SMALL = 2_000_000
ONE_TASK = 2**22
"""The most bytes of a source that stays in one task: Spark does not divide files of this size."""
FEW_ROWS = 2**20
"""The most rows whose ranks are gathered in arrays; they take some 40 MB."""
# A sum of whole numbers below 2^20 passes 2^63, which Spark would refuse, with 2^43 rows. Wider
# ones are added up as decimals of thirty digits: 2^62 a row, 10^11 rows.
_NARROW = 2**20

_SESSION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    # Any other limit of bytes has Spark add up a batch anew after every row.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # By the usual setting a date before 1582 fails the query.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
    # Arrays are gathered in a hash table, also for more units than Spark's 128.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(FEW_ROWS),
}
_STARTED = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Without an appender Spark would take the configuration for none, and log by its own.
_SILENT = """status = off
appender.nowhere.type = Null
appender.nowhere.name = nowhere
rootLogger.level = off
rootLogger.appenderRef.nowhere.ref = nowhere
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""


class _Options(Config):  # type: ignore[misc]
    """What Ibis's compiler asks of its own Spark backend, which is not loaded here."""

    treat_nan_as_null: bool = False


_random = ibis.udf.scalar.builtin(name="rand", signature=(("int64",), "float64"))(lambda seed: None)
_gathered = ibis.udf.agg.builtin(name="collect_list", signature=(("int64",), "array<int64>"))(
    lambda rank: None
)
_sorted = ibis.udf.scalar.builtin(name="sort_array", signature=(("array<int64>",), "array<int64>"))(
    lambda ranks: None
)
_cut = ibis.udf.scalar.builtin(
    name="slice", signature=(("array<int64>", "int64", "int64"), "array<int64>")
)(lambda ranks, first, most: None)


class _Spoken(HashedDialect):
    """Spark's dialect."""

    name: ClassVar[str] = "pyspark"
    few_keys: ClassVar[int] = 16
    hashed = ibis.udf.scalar.builtin(name="xxhash64", signature=(("float64", "binary"), "int64"))(
        lambda x, secret: None
    )

    def random(self) -> Value:
        return _random(0)

    def secret(self) -> bytes:
        return secrets.token_bytes(16)

    def number(self, value: Value, kind: Column) -> Value:
        if kind not in TEXTS:
            return value.cast("float64")
        written = value.re_search(NUMERAL) | value.re_search(INFINITE)
        plain = value.translate("_+" + BLANKS, "").try_cast("float64")
        short = value.length() <= LONGEST
        return ibis.ifelse(short, ibis.ifelse(written, plain, None), ibis.null("float64"))

    def text(self, value: Value) -> Value:
        # A moment with an offset is told in UTC, as the other engines tell it.
        zoned = value.type().is_timestamp() and value.type().timezone is not None
        return value.cast("string") + "+00" if zoned else value.cast("string")

    def summable(self, value: Value, size: int) -> Value:
        return value if size < _NARROW else value.cast("decimal(20, 0)")


@contextmanager
def _in_our_words(doing: str) -> Iterator[None]:
    """Tell a fault of the engine without its message, which may quote data."""
    try:
        with warnings.catch_warnings():
            # PySpark warns of pandas 3 wherever it meets it; nothing goes through pandas here.
            warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
            yield
    except (PySparkException, Py4JError, OSError, pa.ArrowException) as fault:
        condition = getattr(fault, "getCondition", lambda: None)()
        told = f"{type(fault).__name__}, {condition}" if condition else type(fault).__name__
        raise DataError("engines.spark.fault", doing=doing, kind=told) from None


class Spark(SQLEngine):
    """One table or folder, opened for one release."""

    _in_our_words = staticmethod(_in_our_words)

    def __init__(
        self,
        session: SparkSession,
        frame: DataFrame,
        end: Callable[[], None],
        *,
        few_rows: bool = False,
    ) -> None:
        self._session = session
        self._end = end
        self._kept: list[DataFrame] = []
        self._sorting: bool | None = None
        self._few_rows = False
        self._views = [SOURCE]
        if ibis.options.pyspark is None:
            ibis.options.pyspark = _Options()
        with self._in_our_words(say("engines.doing.columns")):
            if _few_bytes(frame):
                self._sorting, self._few_rows = False, few_rows
                session.conf.set("spark.sql.adaptive.enabled", "false")
                frame = frame.coalesce(1)
            fields = [(field.name, field.dataType) for field in frame.schema.fields]
            frame.select(
                *(_binary(frame[_quoted(name)], dtype).alias(name) for name, dtype in fields)
            ).createTempView(SOURCE)
        columns: dict[str, Column] = {name: _kind(dtype)[0] for name, dtype in fields}
        schema = ibis.schema({name: _kind(dtype)[1] for name, dtype in fields})
        super().__init__(columns, schema, _Spoken())

    @classmethod
    def open(cls, source: str, path_of: Callable[[str], Path]) -> Spark:
        """Open a source by its URL; `path_of` makes a path of the spec absolute."""
        name = source.removeprefix(_PREFIX)
        if not name or name.lower().endswith((".csv", ".csv.gz")):
            raise SpecError("engines.spark.source", source=source)
        file, few_rows = file_of(source), False
        stored = file is not None or "://" in name  # the second: wherever Spark can read
        if file is not None:
            path = path_of(file)
            if not path.exists():
                raise SpecError("engines.spark.no_file", source=source, path=path)
            name = f"file:{path.resolve()}"  # Spark takes it as it stands, blanks and all
            few_rows = _rows_in(path) <= FEW_ROWS
        running = SparkSession.getActiveSession()
        if running is not None and not stored:
            with _in_our_words(say("engines.spark.open", source=source)):
                return cls.of(running.table(name))  # a view of that session, too
        session, end = _session()
        try:
            with _in_our_words(say("engines.spark.open", source=source)):
                frame = session.read.parquet(name) if stored else session.table(name)
            return cls(session, frame, end, few_rows=few_rows)
        except BaseException:
            end()
            raise

    @classmethod
    def of(cls, frame: DataFrame) -> Spark:
        """Open a frame where it is: a session of our own sees it by a name that is dropped."""
        running, name = frame.sparkSession, f"discreet_{secrets.token_hex(8)}"
        session = _settled(running)
        with _in_our_words(say("engines.doing.open")):
            frame.createGlobalTempView(name)

        def end() -> None:
            running.catalog.dropGlobalTempView(name)
            _leave(session)

        try:
            return cls(session, session.table(f"global_temp.{name}"), end)
        except BaseException:
            end()
            raise

    def close(self) -> None:
        """Let go of the data and of what was stored; stop the session if it was started here."""
        with _in_our_words(say("engines.doing.close")):
            for frame in self._kept:
                frame.unpersist()
            for view in self._views:
                self._session.catalog.dropTempView(view)
        self._end()

    def _share(self) -> float | None:
        # Of the tasks of the jobs that run; a stage that is not planned yet has none.
        if _connected(self._session):
            return None
        tracker = self._session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        tasks = sum(stage.numTasks for stage in stages if stage)
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        return done / tasks if tasks else None

    def _give(self, name: str, schema: ibis.Schema, columns: Sequence[Sequence[Any]]) -> None:
        given = pa.table(dict(zip(schema, columns, strict=True)), schema=schema.to_pyarrow())
        frame = self._session.createDataFrame(given)
        if len(columns[0]) <= _SMALL:
            frame = functions.broadcast(frame)
        self._shown(frame, name)

    def _keep(self, name: str, sql: str) -> None:
        frame = self._session.sql(sql).localCheckpoint(eager=True)
        self._kept.append(frame)
        self._shown(frame, name)

    def looked_up(self, other: Looked, *, drop: bool) -> Self:
        """Return an engine with columns that another table has for the keys of each row."""
        found = super().looked_up(other, drop=drop)
        # A row may be there several times, once for each that a protected table has.
        found._few_rows = self._few_rows and not other.protected
        return found

    def _best(self, rows: Any, query: Query, most: int, bits: Mapping[str, int]) -> Any | None:
        if self._few_rows and most <= FEW_ROWS:
            rows = prioritized(rows, self._reading, 63 - sum(bits.values()))
            ranks = rows.select(UNIT, **{PRIORITY: packed(rows, bits)})
            of_unit = ranks.group_by(UNIT).agg(_ranks=_gathered(ranks[PRIORITY]))
            kept = _cut(_sorted(of_unit["_ranks"]), 1, most)
            return of_unit.select(**{PRIORITY: kept.unnest()})
        kind = rows[UNIT].type()
        if not (kind.is_integer() or kind.is_string()) or not self._workers_sort():
            return None
        places = int(self._session.conf.get("spark.sql.shuffle.partitions", "200"))
        name, drawn = self._name("_best"), None
        if query.priority is None:
            drawn = secrets.randbits(128), sum(bits.values())
            rank = payload(rows, bits).cast("int32")
        else:
            rows = prioritized(rows, self._reading, 63 - sum(bits.values()))
            rank = packed(rows, bits)
        with self._doing(say("engines.doing.bound")):
            frame = self._session.sql(self._sql(rows.select(UNIT, **{PRIORITY: rank})))
            self._shown(_bounded(frame, places, most, drawn), name)
        return ibis.table({PRIORITY: "int64"}, name=name)

    def _workers_sort(self) -> bool:
        """Whether Spark's Python workers are there, with NumPy and PyArrow; asked once."""
        if self._sorting is None and _workers_are_as_we_are(self._session):
            self._sorting = True
        if self._sorting is None:
            try:
                with self._in_our_words(say("engines.spark.sort")):
                    probe = self._session.sql(f"select 1L as {UNIT}, 1L as {PRIORITY}")
                    parted = probe.mapInArrow(
                        bounding_arrays.parted(1, tasks=True), bounding_arrays.BLOCKS
                    )
                    self._sorting = len(parted.collect()) == 1
            except (DataError, ImportError):
                self._sorting = False
                _log.warning(say("engines.spark.no_workers"))
        return self._sorting

    def _shown(self, frame: DataFrame, name: str) -> None:
        frame.createTempView(name)
        self._views.append(name)

    def _fetch(self, sql: str) -> Answer:
        return self._session.sql(sql).toArrow().to_pydict()  # type: ignore[no-any-return]


def _bounded(
    frame: DataFrame, places: int, most: int, drawn: bounding_arrays.Drawn | None = None
) -> DataFrame:
    """Return, of rows with a unit and a rank, the `most` least ranks of each unit."""
    kind = frame.schema[UNIT].dataType
    texts, narrow = isinstance(kind, types.StringType), not isinstance(kind, types.LongType)
    if texts:
        place = functions.pmod(functions.xxhash64(UNIT), functions.lit(places)).cast("int")
        rows = frame.select(UNIT, PRIORITY, place)
    else:
        rows = frame.select(functions.col(UNIT).cast("int" if narrow else "bigint"), PRIORITY)
    columns = bounding_arrays.TEXT_BLOCKS if texts else bounding_arrays.BLOCKS
    blocks = rows.mapInArrow(bounding_arrays.parted(places, tasks=True), columns)
    # Both take a number of partitions, which keeps Spark from dividing one, and with it a unit,
    # afterwards. Spark 4.0 has only the second: there some partitions get two places, some none.
    exchange = getattr(blocks, "repartitionById", blocks.repartition)
    kept = bounding_arrays.looking_back(most, texts=texts, narrow=narrow, drawn=drawn)
    return exchange(places, "place").mapInArrow(kept, f"{PRIORITY} bigint")


def _session() -> tuple[SparkSession, Callable[[], None]]:
    """Return a session of our own in the Spark that runs, or in one that is started."""
    running = SparkSession.getActiveSession()
    if running is not None:
        own = _settled(running)
        return own, lambda: _leave(own)
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise InputError("engines.spark.no_java")
    spill = Spill()
    silent = spill.path / "log4j2.properties"
    builder = SparkSession.builder.appName("discreet").config("spark.local.dir", str(spill.path))
    master = os.environ.get("SPARK_MASTER")
    if master:
        builder = builder.master(master)
    if not master or master.startswith("local"):
        for name, value in (_STARTED | {"spark.driver.memory": _third_of_memory()}).items():
            builder = builder.config(name, value)

    def end(session: SparkSession | None = None) -> None:
        if session is not None:
            session.stop()
        spill.remove()

    try:
        silent.write_text(_SILENT)
        with (
            _in_our_words(say("engines.spark.start")),
            _environment("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={silent.as_uri()}"),
            _environment("PYSPARK_PYTHON", _worker(master)),
        ):
            session = builder.getOrCreate()
    except BaseException:
        end()
        raise
    return _settled(session), lambda: end(session)


def _third_of_memory() -> str:
    """Return a third of the machine's memory: Spark's own default of one gigabyte spills early."""
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return f"{max(1024, megabytes // 3)}m"


def _worker(master: str | None) -> str:
    """Return the Python of the workers: on this machine the one that runs, with its libraries."""
    if os.environ.get("PYSPARK_PYTHON") or (master and not master.startswith("local")):
        return ""
    return sys.executable


@contextmanager
def _environment(name: str, added: str) -> Iterator[None]:
    """Add to a variable for as long as Spark is being started, which reads it before all else."""
    if not added:
        yield
        return
    before = os.environ.get(name)
    os.environ[name] = added if before is None else f"{before} {added}"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _settled(running: SparkSession) -> SparkSession:
    """Return a session with views and settings of its own."""
    try:
        session = running.newSession()
    except (AttributeError, NotImplementedError):
        raise InputError("engines.spark.no_new_session") from None
    for name, value in _SESSION.items():
        session.conf.set(name, value)
    if not _connected(session) and session.sparkContext.master.startswith("local"):
        tasks = str(2 * session.sparkContext.defaultParallelism)
        session.conf.set("spark.sql.shuffle.partitions", tasks)
    return session


def _workers_are_as_we_are(session: SparkSession) -> bool:
    """Whether workers run on this machine, in the Python that runs here, with its libraries."""
    if _connected(session) or session.sparkContext.pythonExec != sys.executable:
        return False
    return session.sparkContext.master.startswith("local") and find_spec("numpy") is not None


def _connected(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _leave(session: SparkSession) -> None:
    """Let a session of Spark Connect go: a process that ends with two open ones would hang."""
    if _connected(session):
        session.client.release_session()
        session.client.close()


def _rows_in(path: Path) -> float:
    """Return how many rows Parquet files have, by their footers; infinity if those do not tell."""
    try:
        return float(pyarrow.dataset.dataset(path, format="parquet").count_rows())
    except (OSError, pa.ArrowException):
        return math.inf


def _few_bytes(frame: DataFrame) -> bool:
    """Whether Spark expects so few bytes that one task reads them; Spark Connect does not tell."""
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        return False
    found = plan.queryExecution().optimizedPlan().stats().sizeInBytes()
    return int(str(found)) <= ONE_TASK


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _binary(column: Any, dtype: types.DataType) -> Any:
    """Return a column whose texts are compared byte by byte."""
    collation = getattr(dtype, "collation", "UTF8_BINARY")
    return functions.collate(column, "UTF8_BINARY") if collation != "UTF8_BINARY" else column


def _kind(dtype: types.DataType) -> tuple[Column, str]:
    """Return what a spec is told of a column, and what Ibis is."""
    if isinstance(dtype, types.DecimalType):
        return "number", f"decimal({dtype.precision}, {dtype.scale})"
    if isinstance(dtype, (types.StringType, types.CharType, types.VarcharType)):
        return "text", "string"
    return _KINDS.get(type(dtype), ("other", "string"))


_KINDS: dict[type[types.DataType], tuple[Column, str]] = {
    types.ByteType: ("integer", "int8"),
    types.ShortType: ("integer", "int16"),
    types.IntegerType: ("integer", "int32"),
    types.LongType: ("integer", "int64"),
    types.FloatType: ("number", "float32"),
    types.DoubleType: ("number", "float64"),
    types.BooleanType: ("truth", "boolean"),
    types.DateType: ("moment", "date"),
    types.TimestampType: ("moment", "timestamp('UTC')"),
    types.TimestampNTZType: ("moment", "timestamp"),
}

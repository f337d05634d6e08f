"""A release from a table on PostgreSQL, against what the same server takes for plain SQL.

Each contender has a server of its own, started and filled before the clock runs: the tests' server,
with its usual settings.

- GROUP BY: no privacy at all; count per person: the floor of anything that looks at persons
- row_number: bounding as one would first write it, without noise
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import data, release
from benchmarks.contest import Contender, Prepared, Size, Task
from benchmarks.data import LIGHT_LIMIT, LIMIT
from benchmarks.ledger import no_postgresql

TITLE = "A release from PostgreSQL"
ABOUT = (
    "Count and clipped sum by 500 public groups from a table on a PostgreSQL server on the same "
    "machine, whole persons protected, ε = 1 shared evenly. The others are queries of the server."
)
_VALUE = "round(least(greatest(cost, 0), 500) * 100)"
PER_PERSON = (
    "select count(*) filter (where n > 5) from (select person, count(*) n from visits group by 1) t"
)
FLOOR = f"select grp, count(*), sum({_VALUE}) from visits group by 1"  # noqa: S608
WINDOW = (
    f"select grp, count(*), sum(v) from (select grp, {_VALUE} v, row_number() over "  # noqa: S608
    "(partition by person order by random()) k from visits) t where k <= 5 group by 1"
)


def _served(source: Path, *, text: bool) -> tuple[Any, str]:
    """Return a server with the rows of a file in its table `visits`, and its address."""
    import psycopg
    import pyarrow.parquet as pq
    from tests.servers import PostgreSQL

    server = PostgreSQL()
    server.start()
    url = server.url(server.database())
    kind = "text" if text else "int"
    with psycopg.connect(url.replace("+psycopg", "")) as connection, connection.cursor() as cursor:
        cursor.execute(f"create table visits (person {kind}, grp int, cost float8)")
        with cursor.copy("copy visits from stdin") as copy:
            for batch in pq.ParquetFile(source).iter_batches(columns=["person", "grp", "cost"]):
                for row in zip(*(column.to_pylist() for column in batch), strict=True):
                    copy.write_row((f"person {row[0]}", *row[1:]) if text else row)
        cursor.execute("create table nobody (like visits)")
        connection.commit()
        connection.autocommit = True
        cursor.execute("vacuum analyze visits")
    return server, url


def _ours(source: Path, unit: tuple[str, ...], limit: int, *, text: bool = False) -> Prepared:
    from discreet.releases.engines import opened

    server, url = _served(source, text=text)
    query = release.question(unit, limit)
    with closing(opened(f"{url}?table=nobody", Path)) as empty:
        release.noisy(empty, query, limit)
    engine = opened(f"{url}?table=visits", Path)

    def close() -> None:
        engine.close()
        server.remove()

    return Prepared(lambda: release.noisy(engine, query, limit), close=close)


def _queried(source: Path, query: str, *, text: bool = False) -> Prepared:
    import psycopg

    server, url = _served(source, text=text)
    connection = psycopg.connect(url.replace("+psycopg", ""))

    def close() -> None:
        connection.close()
        server.remove()

    return Prepared(lambda: connection.execute(query).fetchall(), close=close)


def make(size: Size) -> None:
    """Make the data."""
    data.heavy(size.data, size.cut(size.rows) // 10)


def contenders(size: Size) -> list[Contender]:
    """Return our release in four ways, each beside the server's own queries."""
    rows = size.cut(size.rows) // 10
    source = data.heavy(size.data, rows)
    said = f"{rows:,} rows, {rows // 10:,} persons"
    bound = Task("bound", f"{said}, at most 5 rows each (most have more)")
    texts = Task("texts", f"{said} named by texts, at most 5 rows each")
    light = Task("light", f"{said}, at most 14 rows each (one in twelve has more)")
    record = Task("record", f"{rows:,} rows, each protected by itself")
    group_by, counted = "PostgreSQL, GROUP BY, no privacy", "PostgreSQL, count per person only"
    window = "PostgreSQL, row_number over persons, no noise"
    more: dict[str, Any] = {"turns": 2, "limit": 240, "needs": no_postgresql}

    def ours(task: Task, unit: tuple[str, ...], limit: int, *, text: bool = False) -> Contender:
        run = lambda: _ours(source, unit, limit, text=text)  # noqa: E731
        return Contender(task, "Discreet", run, ours=True, **more)

    def theirs(task: Task, name: str, query: str, *, text: bool = False) -> Contender:
        return Contender(task, name, lambda: _queried(source, query, text=text), **more)

    person = ("person",)
    return [
        ours(bound, person, LIMIT),
        theirs(bound, group_by, FLOOR),
        theirs(bound, counted, PER_PERSON),
        theirs(bound, window, WINDOW),
        ours(texts, person, LIMIT, text=True),
        theirs(texts, counted, PER_PERSON, text=True),
        theirs(texts, window, WINDOW, text=True),
        ours(light, person, LIGHT_LIMIT),
        theirs(light, counted, PER_PERSON),
        ours(record, (), LIMIT),
        theirs(record, group_by, FLOOR),
    ]

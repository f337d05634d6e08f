"""What a charge costs the ledger, beside bare durable inserts on the same disk.

A release is two transactions, its charge and its output, and each is on disk before the call
returns. The floor is two bare INSERTs, each on disk before the next: on SQLite with the same
`synchronous = EXTRA`, on PostgreSQL with `synchronous_commit = on`. Everyone is connected, and has
written before, when the clock starts.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "The ledger"
ABOUT = (
    "Releases charged and committed: two durable transactions each. The floor is as many bare "
    "INSERTs on the same disk, each durable before the next. A charge also reads the newest "
    "entries again, recomputes them, and adds to a chain that has one end: of several writers only "
    "one at a time. After each run the chain was verified, and the account had spent exactly what "
    "was charged."
)
HANDS = 8
_EACH = 0.001


def no_postgresql() -> str | None:
    """Say why no PostgreSQL server can be started here, if none can."""
    try:
        from tests.servers import NoServer, programs
    except ImportError:
        return "the tests' server, or its driver, is not installed"
    try:
        programs()
    except NoServer as reason:
        return str(reason)
    return None


def opened(url: str) -> Any:
    """Return a new ledger with an account that allows more than is spent here."""
    from discreet.guarantees import PureDP
    from discreet.ledger import Ledger

    ledger = Ledger.open(url)
    ledger.open_account(
        "scale",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1e6),
        approver="benchmark",
        reason="benchmark",
    )
    return ledger


def spender(url: str) -> Callable[[int], None]:
    """Return what makes so many releases on a ledger, connected."""
    from discreet.guarantees import PureDP
    from discreet.ledger import Ledger

    ledger, each = Ledger.open(url), PureDP(_EACH)

    def spend(releases: int) -> None:
        for _ in range(releases):
            entry = ledger.reserve("scale", each, purpose="scale", who="bench", spec_hash="0" * 64)
            ledger.commit(str(entry.release_id), output_hash="0" * 64)

    spend(2)
    return spend


def inserter(url: str) -> Callable[[int], None]:
    """Return what adds two rows for each of so many releases, each on disk before the next."""
    connection: Any
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        connection = sqlite3.connect(path, isolation_level=None, timeout=60)
        connection.execute("PRAGMA synchronous = EXTRA")
        statement = "INSERT INTO bare (body) VALUES (?)"
    else:
        import psycopg

        connection = psycopg.connect(url, autocommit=True)
        statement = "INSERT INTO bare (body) VALUES (%s)"

    def insert(releases: int) -> None:
        for _ in range(2 * releases):
            connection.execute(statement, ("x" * 700,))

    insert(2)
    return insert


def _table(url: str, rows: int = 0) -> None:
    """Make the table for bare inserts, with so many rows."""
    if url.startswith("sqlite"):
        bare = sqlite3.connect(url.removeprefix("sqlite:///"))
        bare.execute("CREATE TABLE bare (seq INTEGER PRIMARY KEY, body TEXT)")
        bare.executemany("INSERT INTO bare (body) VALUES (?)", (("x" * 700,) for _ in range(rows)))
        bare.commit()
        bare.close()
    else:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (seq bigserial PRIMARY KEY, body text)")


def _hand(make: Callable[[str], Callable[[int], None]], url: str, releases: int, go: Any) -> None:
    spend = make(url)
    go.wait()
    go.wait()
    spend(releases)
    go.wait()  # to end takes a process time, too, and is not what is measured


def prepared(
    product: str, releases: int, hands: int = 1, *, bare: bool = False, entries: int = 0
) -> Prepared:
    """So many releases, or bare inserts, by so many processes, where so many entries are."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-ledger-"))
    server = None
    if product == "sqlite":
        url = f"sqlite:///{folder / 'ledger.db'}"
    else:
        from tests.servers import PostgreSQL

        server = PostgreSQL()
        server.start()
        url = server.url(server.database())
    make = inserter if bare else spender
    if bare:
        _table(url, entries)
    else:
        opened(url)
        lengthen(url, entries)
    context = multiprocessing.get_context("spawn")
    go = context.Barrier(hands + 1, timeout=100)
    workers = [
        context.Process(target=_hand, args=(make, url, releases // hands, go))
        for _ in range(hands if hands > 1 else 0)
    ]
    spend = None if workers else make(url)
    for worker in workers:
        worker.start()
    if workers:
        go.wait()

    def run() -> None:
        if spend is not None:
            spend(releases)
            return
        go.wait()
        go.wait()

    def checked() -> str:
        from discreet.ledger import Amount, Ledger

        ledger = Ledger.open(url)
        assert ledger.verify().verified
        charged = sum(entry.cost is not None for entry in ledger.entries("scale"))
        assert ledger.spent("scale") == Amount.of(epsilon=_EACH).times(charged)
        assert charged == releases // hands * hands + 2 * hands + entries
        return ""

    def close() -> None:
        for worker in workers:
            worker.join()
        if server is not None:
            server.remove()
        shutil.rmtree(folder, ignore_errors=True)

    return Prepared(run, accuracy=None if bare or entries else checked, close=close)


def lengthen(url: str, entries: int) -> None:
    """Add valid charges to the account by hand: the chain is computed, the checks are left out."""
    from discreet.guarantees import PureDP
    from discreet.ledger import Ledger
    from discreet.ledger.entries import canonical, digest
    from discreet.ledger.store import FORMAT, REPEATED, Store

    if not entries:
        return
    said = Ledger.open(url).charge("scale", PureDP(_EACH), purpose="scale", who="bench")
    cost, spent, body, last = said.cost, said.spent, dict(said.said), said.hash
    assert cost is not None
    assert spent is not None

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal spent, last
        for number in range(1, entries):
            spent = spent.plus(cost)
            body.update(
                seq=said.seq + number,
                previous=last,
                account_seq=said.said["account_seq"] + number,
                account_previous=last,
                release_id=f"long-{number}",
                standing={**said.said["standing"], "spent": spent.stored()},
            )
            text = canonical(body)
            last = digest(text)
            repeated = {name: body.get(name) for name in REPEATED[FORMAT]}
            yield {"seq": body["seq"], "body": text, "hash": last, **repeated}

    store = Store(url)
    store.write(lambda found: found.connection.exec_driver_sql(store.insert, list(rows())))


def contenders(size: Size) -> list[Contender]:
    """Return our releases and bare inserts, on both databases, and on a server by eight writers."""
    few, many, long = (4, 16, 50) if size.quick else (50, 480, 100_000)
    listed = []
    names = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
    for product, name in names.items():
        needs = None if product == "sqlite" else no_postgresql
        sizes = [(few, 1, 0), (few, 1, long), (many, HANDS, 0)]
        for releases, hands, entries in sizes[: 2 if product == "sqlite" else 3]:
            writers = "one process" if hands == 1 else f"{hands} processes at once"
            there = f" that has {entries:,} entries" if entries else ""
            title = f"{releases} releases in a {name} ledger{there}, {writers}"
            task = Task(f"{product}-{hands}-{entries}", title)
            for bare in (False, True):
                if bare and entries:
                    continue
                listed.append(
                    Contender(
                        task,
                        "bare INSERT" if bare else "Discreet",
                        lambda p=product, r=releases, h=hands, b=bare, e=entries: prepared(
                            p, r, h, bare=b, entries=e
                        ),
                        ours=not bare,
                        turns=1 if entries else 3,
                        package=None if not bare else {"postgresql": "psycopg"}.get(product),
                        needs=needs,
                    )
                )
    return listed

"""What only a ledger on a server has: connections that are lost, roles, a server that is away."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hands import Hand, amid_charges
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError

from discreet.errors import (
    BudgetExceeded,
    DataError,
    DiscreetError,
    InputError,
    InternalError,
    PolicyError,
)
from discreet.guarantees import PureDP
from discreet.ledger import Account, Amount, Ledger
from discreet.ledger.store import Rows, Store
from discreet.releases.engines import opened as opened_source
from servers import Cut, PostgreSQL, Proxy, free_port
from soaking import soaked

SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}
Opened = Callable[..., Ledger]


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
def proxy(postgres: PostgreSQL) -> Iterator[Proxy]:
    made = Proxy(postgres.port)
    yield made
    made.close()


@pytest.fixture
def through(proxy: Proxy, opened: Opened, url: str) -> Ledger:
    """A ledger behind the proxy, used once so that what follows is one transaction a cut."""
    opened()
    ledger = Ledger.open(proxy.through(url))
    assert ledger.spent("clinic") == Amount.of(epsilon=0)
    return ledger


# -- connections that are lost


@pytest.mark.parametrize("kind", ["unsent", "unanswered", "late"])
def test_a_connection_lost_at_its_commit_charges_once(
    through: Ledger, proxy: Proxy, url: str, kind: str
) -> None:
    proxy.cuts.append(Cut(kind))
    entry = through.reserve("clinic", PureDP(0.1), **SAID)
    assert [cut.kind for cut in proxy.made] == [kind]
    time.sleep(0.4 if kind == "late" else 0)  # nothing may arrive afterwards
    ledger = Ledger.open(url)
    assert [e for e in ledger.entries("clinic") if e.kind == "reserve"] == [entry]
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)
    assert ledger.verify().verified


@pytest.mark.parametrize("kind", ["unsent", "unanswered", "late"])
def test_every_kind_of_entry_survives_a_lost_commit(
    through: Ledger, proxy: Proxy, url: str, kind: str
) -> None:
    def lost(use: Callable[[], object]) -> object:
        before = len(proxy.made)
        proxy.cuts.append(Cut(kind))
        found = use()
        assert len(proxy.made) == before + 1
        return found

    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
    proxy.cuts.append(None)  # the look at the table that is locked
    lost(lambda: through.open_account("b", approver="a", reason="b", **terms))  # type: ignore[arg-type]
    lost(lambda: through.grant("clinic", add=PureDP(1.0), approver="a", reason="b"))
    lost(lambda: through.charge("clinic", PureDP(0.1), purpose="p", who="w", release_id="mine"))
    plan = lost(
        lambda: through.register_plan(
            "clinic", [(PureDP(0.1), 2)], PureDP(0.2), purpose="p", who="w"
        )
    )
    slot = through.next_slot(str(plan))
    lost(lambda: through.commit(slot.release_id, "a" * 64))
    ledger = Ledger.open(url)
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds == ["begin", "open", "open", "grant", "charge", "plan", "slot", "commit"]
    assert ledger.account("clinic").cap == Amount.of(epsilon=2.0)
    assert ledger.verify().verified


def test_a_connection_lost_anywhere_else_is_made_again(
    through: Ledger, proxy: Proxy, url: str
) -> None:
    for at in (0, 1, 100, 400, 700, 1000, 1500, 2000, 2500, 3000):
        proxy.cuts.append(Cut("bytes", at))
        through.reserve("clinic", PureDP(0.01), **SAID)
    assert len(proxy.made) >= 8
    ledger = Ledger.open(url)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.01).times(10)
    assert ledger.verify().verified


def test_a_commit_that_cannot_be_looked_up_is_said_and_not_taken_for_a_charge(
    through: Ledger, proxy: Proxy, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.postgresql.AWAY", 0.3)
    proxy.cuts += [Cut("unanswered"), *[Cut("bytes", 0)] * 200]
    with pytest.raises(InternalError, match="nothing may be drawn"):
        through.reserve("clinic", PureDP(0.1), **SAID)
    # It was charged, and stays so: a release may be lost, a charge never.
    ledger = Ledger.open(url)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)
    assert len(ledger.unfinished("clinic")) == 1


def test_what_was_told_as_not_charged_is_not(
    through: Ledger, proxy: Proxy, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.postgresql.AWAY", 0.3)
    proxy.cuts += [Cut("bytes", 600)] * 200
    with pytest.raises(InputError, match=r"cannot be reached.*Nothing was charged"):
        through.reserve("clinic", PureDP(0.1), **SAID)
    assert Ledger.open(url).spent("clinic") == Amount.of(epsilon=0)


def test_a_session_ended_by_an_administrator_is_begun_again(
    opened: Opened, postgres: PostgreSQL, url: str
) -> None:
    ledger, ended = opened(), []
    database = url.rsplit("/", 1)[1]

    def end(after: Account) -> None:
        if not ended:
            ended.extend(
                postgres.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                    "AND backend_type = 'client backend'",  # the server vacuums when it likes
                    database,
                )
            )

    with amid_charges(end):
        ledger.reserve("clinic", PureDP(0.1), **SAID)
    assert ended == [(True,)]
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)


def test_a_server_that_comes_back_is_waited_for(own_postgres: PostgreSQL) -> None:
    url = own_postgres.url(own_postgres.database())
    ledger = Ledger.open(url)
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
    ledger.open_account("clinic", approver="a", reason="b", **terms)  # type: ignore[arg-type]
    restarted = []

    def restart(after: Account) -> None:
        if not restarted:
            own_postgres.restart()
            restarted.append(after)

    with amid_charges(restart):
        ledger.reserve("clinic", PureDP(0.1), **SAID)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)
    assert ledger.verify().verified


# -- one writer at a time


def test_a_writer_that_waited_sees_what_was_written(opened: Opened, url: str) -> None:
    """The second begins while the first is inside its transaction, and is not turned back."""
    import threading

    ledger, second, told = opened(), Ledger.open(url), []
    inside, seen = threading.Event(), []

    def slow(after: Account) -> None:
        seen.append(after.spent)
        if not inside.is_set():
            inside.set()
            time.sleep(0.5)

    def later() -> None:
        inside.wait()
        told.append(second.reserve("clinic", PureDP(0.2), **SAID))

    waiting = threading.Thread(target=later)
    with amid_charges(slow):
        waiting.start()
        first = ledger.reserve("clinic", PureDP(0.1), **SAID)
        waiting.join()
    assert told[0].seq == first.seq + 1
    assert seen == [Amount.of(epsilon=0.1), Amount.of(epsilon=0.3)]  # each once


def test_a_ledger_in_use_for_too_long_says_so(
    opened: Opened, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened()
    monkeypatch.setattr("discreet.ledger.postgresql.LOCK_SECONDS", 0.1)
    monkeypatch.setattr("discreet.ledger.postgresql.BUSY", 0.3)
    with hand.connected() as connection:
        connection.exec_driver_sql("LOCK TABLE discreet_lock IN EXCLUSIVE MODE")
        with pytest.raises(InternalError, match="in use by others"):
            ledger.reserve("clinic", PureDP(0.1), **SAID)
        assert ledger.spent("clinic") == Amount.of(epsilon=0)  # reading never waits
    ledger.reserve("clinic", PureDP(0.1), **SAID)


def test_a_transaction_is_serializable_and_a_reader_only_reads(opened: Opened, url: str) -> None:
    opened()
    store = Store(url)

    def settings(rows: Rows) -> list[str]:
        return [
            str(rows.connection.exec_driver_sql(f"SHOW {name}").scalar())
            for name in ("transaction_isolation", "transaction_read_only")
        ]

    assert store.write(settings) == ["serializable", "off"]
    assert store.read(settings) == ["repeatable read", "on"]


def test_what_was_acknowledged_is_on_disk() -> None:
    """The server writes its log late, loses its memory, and would by itself wait for no disk.

    The last entry is one whose commit was not answered: it is looked up, and was not on disk.
    """
    server = PostgreSQL(wal_writer_delay="10s", synchronous_commit="off")
    proxy = Proxy(server.port)
    try:
        server.start()
        url = server.url(server.database())
        terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
        ledger = Ledger.open(url)
        ledger.open_account("clinic", approver="a", reason="b", **terms)  # type: ignore[arg-type]
        for _ in range(3 if soaked() else 1):
            entry = ledger.reserve("clinic", PureDP(0.1), **SAID)
            server.restart()
            assert ledger.entries("clinic")[-1] == entry
        proxy.cuts.append(Cut("unanswered"))
        entry = Ledger.open(proxy.through(url)).reserve("clinic", PureDP(0.1), **SAID)
        server.restart()
        assert ledger.entries("clinic")[-1] == entry
        assert ledger.verify().verified
    finally:
        proxy.close()
        server.remove()


# -- what is sent


def test_a_charge_is_two_messages(opened: Opened) -> None:
    ledger, sent = opened(), []
    assert ledger.spent("clinic") == Amount.of(epsilon=0)  # looks once whether there is a ledger
    engine = ledger._store.backend.engine
    event.listen(engine, "after_cursor_execute", lambda *args: sent.append(args[2]))
    entry = ledger.reserve("clinic", PureDP(0.1), **SAID | {"purpose": "50 % of 'it'; COMMIT"})
    assert [("LOCK TABLE" in one, "INSERT" in one) for one in sent] == [(1, 0), (0, 1)]
    assert ledger.entries("clinic")[-1].said["purpose"] == "50 % of 'it'; COMMIT"
    sent.clear()
    ledger.commit(str(entry.release_id), "a" * 64)
    assert len(sent) == 2
    assert ledger.verify().verified


def test_what_waits_is_sent_before_it_is_too_much(
    full: Ledger, url: str, postgres: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.postgresql._MANY", 3)
    name = postgres.database()
    try:
        copied = full.copy(postgres.url(name))
        assert (copied.verified, copied.head) == (True, full.head)
    finally:
        postgres.drop(name)


def test_what_a_refused_transaction_was_to_send_is_not_sent_by_the_next(opened: Opened) -> None:
    ledger = opened()

    def refuse(after: Account) -> None:
        raise PolicyError("ledger.not_a_url")

    with amid_charges(refuse), pytest.raises(PolicyError):
        ledger.reserve("clinic", PureDP(0.1), **SAID)
    with pytest.raises(PolicyError):
        ledger._store.write(lambda rows: refuse(ledger.account("clinic")))
    assert ledger.spent("clinic") == Amount.of(epsilon=0)
    ledger.reserve("clinic", PureDP(0.1), **SAID)
    assert [entry.kind for entry in ledger.entries()] == ["begin", "open", "reserve"]


def test_a_charge_on_a_long_ledger_reads_no_table_from_end_to_end(
    opened: Opened, hand: Hand
) -> None:
    ledger = opened()
    with hand.past_the_guards():
        hand.execute(
            "INSERT INTO discreet_entries (seq, kind, account, release_id, body, hash) "
            "SELECT n, 'charge', 'other', 'r' || n, repeat('x', 500), n "
            "FROM generate_series(3, 5000) n"
        )
    store, asked = ledger._store, []
    assert store.exists()

    def pages(rows: Rows) -> list[int]:
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
        execute = rows.connection.exec_driver_sql
        told = [execute(explain + one, of).scalar_one() for one, of in asked]
        plans = [one[0]["Plan"] for one in told]
        return [plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans]

    def note(
        connection: Connection, cursor: object, statement: str, of: object, *_: object
    ) -> None:
        asked.append((statement, of))

    def foresee(rows: Rows) -> None:
        for account, release in (("clinic", "none"), ("other", "r5000"), (None, "r5000")):
            # What the rows say is nonsense, and refused: it is about what is asked of the server.
            with suppress(PolicyError):
                rows.foresee(16, account, release)

    event.listen(store.backend.engine, "after_cursor_execute", note)
    store.read(foresee)
    event.remove(store.backend.engine, "after_cursor_execute", note)
    assert len(asked) == 4
    for _ in range(2):  # before and after the server has counted what there is
        assert max(store.write(pages)) < 100
        hand.execute("ANALYZE discreet_entries")


# -- the connection that is kept


def test_one_connection_is_kept_until_it_fails(through: Ledger, proxy: Proxy) -> None:
    before = proxy.taken
    for _ in range(3):
        through.reserve("clinic", PureDP(0.01), **SAID)
    assert proxy.taken == before
    with pytest.raises(BudgetExceeded):  # a refusal of ours is no failure of the connection
        through.reserve("clinic", PureDP(2.0), **SAID)
    through.reserve("clinic", PureDP(0.01), **SAID)
    assert proxy.taken == before
    with pytest.raises(InternalError):  # any error of the database is
        through._store.read(lambda rows: rows.connection.exec_driver_sql("SELECT 1/0"))
    through.reserve("clinic", PureDP(0.01), **SAID)
    assert proxy.taken == before + 1


def test_a_forked_process_leaves_the_connection_of_its_parent_alone(
    opened: Opened, url: str
) -> None:
    opened()
    script = """
import os, sys
from discreet.guarantees import PureDP
from discreet.ledger import Ledger

def pid():
    asked = lambda rows: rows.connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    return ledger._store.read(asked)

ledger, said = Ledger.open(sys.argv[1]), {"purpose": "p", "who": "w", "spec_hash": "0"}
ledger.reserve("clinic", PureDP(0.1), **said)
mine = pid()
child = os.fork()
ledger.reserve("clinic", PureDP(0.1), **said)
if child == 0:
    assert pid() != mine
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
ledger.reserve("clinic", PureDP(0.1), **said)
assert pid() == mine
"""
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ledger = Ledger.open(url)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1).times(4)
    assert ledger.verify().verified


def test_a_server_without_fsync_is_refused() -> None:
    server = PostgreSQL(fsync="off")
    try:
        server.start()
        ledger = Ledger.open(server.url("postgres"))
        with pytest.raises(PolicyError, match="fsync = off"):
            ledger.open_account(
                "a", unit="person", adjacency="add-remove", filter="pure", cap=None,
                approver="a", reason="b",
            )  # fmt: skip
    finally:
        server.remove()


# -- roles and guards


def test_a_spender_needs_no_right_to_change_anything(
    opened: Opened, postgres: PostgreSQL, hand: Hand, url: str
) -> None:
    opened()
    database = url.rsplit("/", 1)[1]
    for statement in (
        "CREATE ROLE spender LOGIN PASSWORD 'p4ss-w0rd'",
        f"GRANT CONNECT ON DATABASE {database} TO spender",
        "GRANT SELECT, INSERT ON discreet_entries TO spender",
        "GRANT SELECT ON discreet_format TO spender",
        "GRANT UPDATE ON discreet_lock TO spender",
    ):
        hand.execute(statement)
    theirs = f"postgresql://spender:p4ss-w0rd@127.0.0.1:{postgres.port}/{database}"
    try:
        spender = Ledger.open(theirs)
        entry = spender.reserve("clinic", PureDP(0.1), **SAID)
        spender.commit(str(entry.release_id), "a" * 64)
        assert spender.verify().verified
        hand.execute("REVOKE INSERT ON discreet_entries FROM spender")
        with pytest.raises(InputError, match=r"lacks a right .*Nothing was charged") as caught:
            spender.reserve("clinic", PureDP(0.1), **SAID)
        assert "p4ss" not in str(caught.value)
    finally:
        hand.execute("DROP OWNED BY spender")
        hand.execute("DROP ROLE spender")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "DROP TRIGGER discreet_entries_no_change ON discreet_entries",
            "the trigger discreet_entries_no_change was removed",
        ),
        (
            "ALTER TABLE discreet_entries DISABLE TRIGGER discreet_entries_append",
            "the trigger discreet_entries_append was switched off",
        ),
        (
            "ALTER TABLE discreet_entries ENABLE REPLICA TRIGGER discreet_entries_append",
            "the trigger discreet_entries_append was switched off",
        ),
        (
            "CREATE OR REPLACE FUNCTION discreet_entries_no_change() RETURNS trigger "
            "LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            "the trigger discreet_entries_no_change was altered",
        ),
        (
            "CREATE TRIGGER mine BEFORE INSERT ON discreet_entries FOR EACH ROW "
            "EXECUTE FUNCTION discreet_entries_append()",
            "the trigger mine was added",
        ),
        (
            "GRANT UPDATE ON discreet_entries TO PUBLIC",
            "the role PUBLIC was given the right to UPDATE entries",
        ),
    ],
)
def test_a_guard_taken_away_is_named(
    opened: Opened, hand: Hand, statement: str, problem: str
) -> None:
    ledger = opened()
    hand.execute(statement)
    assert ledger.verify().problems == (problem,)


def test_triggers_hold_where_a_session_switches_ordinary_ones_off(
    opened: Opened, hand: Hand
) -> None:
    opened()
    with hand.connected() as connection:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        with pytest.raises(DBAPIError, match="never changed"):
            connection.exec_driver_sql("DELETE FROM discreet_entries")


def test_a_ledger_may_lie_in_a_schema_of_its_own(hand: Hand, url: str) -> None:
    hand.execute("CREATE SCHEMA privacy")
    ledger = Ledger.open(f"{url}?options=-csearch_path%3Dprivacy")
    ledger.open_account(
        "a", unit="person", adjacency="add-remove", filter="pure", cap=None, approver="a",
        reason="b",
    )  # fmt: skip
    assert ledger.verify().verified
    assert hand.execute("SELECT to_regclass('privacy.discreet_entries') IS NOT NULL") == [(True,)]
    assert Ledger.open(url).accounts() == []


def test_a_standby_can_be_read_and_not_spent_on(opened: Opened, url: str) -> None:
    ledger = opened()
    standby = Ledger.open(f"{url}?options=-cdefault_transaction_read_only%3Don")
    assert standby.spent("clinic") == ledger.spent("clinic")
    with pytest.raises(InputError, match=r"can only be read there.*Nothing was charged"):
        standby.reserve("clinic", PureDP(0.1), **SAID)


# -- addresses and passwords


@pytest.mark.parametrize(
    "wrong",
    ["postgresql://discreet:s3cret@127.0.0.1:{port}/postgres",
     "postgresql://nobody:s3cret@127.0.0.1:{port}/postgres",
     "postgresql://127.0.0.1:{port}/nowhere?user=discreet&password=s3cret",
     "postgresql://discreet:s3cret@no-such-host.invalid:{port}/postgres"],
)  # fmt: skip
def test_a_refusal_comes_at_once_and_repeats_no_password(postgres: PostgreSQL, wrong: str) -> None:
    ledger = Ledger.open(wrong.format(port=postgres.port))
    start = time.monotonic()
    with pytest.raises(InputError, match="refuses this user, password or database") as caught:
        ledger.account("clinic")
    assert time.monotonic() - start < 25  # a server that is away is waited for: 30 seconds
    for text in (str(caught.value), repr(ledger), ledger.url, repr(caught.value.__cause__)):
        assert "s3cret" not in text


@pytest.mark.parametrize(
    "url",
    ["postgresql://", "postgresql://u:s3cret@h", "postgresql+asyncpg://u:s3cret@h/d",
     "postgresql+psycopg2://u:s3cret@h/d?password=s3cret", "postgresql://u:s3cret@h:port/d"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(DiscreetError) as caught:
        Ledger.open(url)
    assert isinstance(caught.value, InputError)
    assert "s3cret" not in str(caught.value)


def test_a_database_that_keeps_bytes_without_an_encoding_is_refused(postgres: PostgreSQL) -> None:
    """Its bytes are no characters: neither a ledger's names nor the keys of a source."""
    postgres.execute(
        "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    try:
        ledger = Ledger.open(postgres.url("bytes"))
        with pytest.raises(InputError, match="UTF"):
            ledger.spent("clinic")
        with pytest.raises(InputError, match="UTF"):
            ledger.open_account(
                "clinic",
                unit="person",
                adjacency="add-remove",
                filter="pure",
                cap=PureDP(1.0),
                approver="a",
                reason="b",
            )
        postgres.execute("CREATE TABLE t (id text)", "bytes")
        with pytest.raises(DataError, match="SQL_ASCII"):
            opened_source(f"{postgres.url('bytes')}?table=t", Path)
    finally:
        postgres.drop("bytes")


def test_a_server_that_is_away_is_waited_for_aloud(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from discreet.ledger import postgresql, store

    monkeypatch.setattr(store, "_SILENT", 0.05)
    monkeypatch.setattr(postgresql.PostgreSQL, "patience", lambda *_: 0.6)
    with pytest.raises(InputError):
        Ledger.open(f"postgresql://somebody@127.0.0.1:{free_port()}/nothing").spent("clinic")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1, "it is said once"
    assert "trying again" in said[0]

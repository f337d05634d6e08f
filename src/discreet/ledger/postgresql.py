"""Everything about a ledger that only PostgreSQL needs to be told.

A writing transaction is SERIALIZABLE and begins with a lock that one writer holds at a time. The
lock is that of a table without columns, `discreet_lock`, for three reasons. LOCK TABLE is the one
way to wait *before* the transaction's snapshot is taken (PostgreSQL manual, "LOCK"): a writer that
waited sees what the one before it wrote, so that nobody ever has to be turned back for reading an
old sum. It ends with the transaction, also behind a connection pooler. And it needs no right to
change the entries: a role that spends needs SELECT and INSERT on `discreet_entries`, SELECT on
`discreet_format` and UPDATE on `discreet_lock`, no more. Should a program write past the lock, the
isolation and the numbers of the entries still let only one of two through.

The lock also settles what became of a transaction whose connection was lost at its COMMIT: while it
may still be committed it holds the lock, so whoever has the lock next knows.

A charge is two messages. The first begins, waits for the lock and looks up what is asked; the
second inserts, commits and waits for the disk. Between them the others wait for this process alone.

A charge that was acknowledged is on disk, whatever the role's default. The lock is not held while
the disk is waited for: a transaction commits without waiting, which lets the next writer in, and
then a second one, with `synchronous_commit = on` and a message that only the server's log has,
ends when the log is on disk up to there. The log has one order, so what was committed before is on
disk too, and writers that wait at the same time share one sync. A writer may build on an entry that
is not on disk yet; its own entry comes later in the log, and a crash loses both or the later one.
A server that runs with `fsync = off` cannot promise any of this and is refused.

A few connections are kept between transactions. One is thrown away at any error of the database,
after half a minute, and in a process that was forked.

Triggers refuse UPDATE, DELETE and TRUNCATE, and an INSERT anywhere but at the end, also where a
session switches off ordinary triggers; and the rights to change entries are revoked, its owner's
too.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import URL, Connection, ExceptionContext, event, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from discreet.errors import DiscreetError, InputError, InternalError, PolicyError
from discreet.ledger.backend import Damaged, kept_engine
from discreet.words import say

# Waiting is in turn, so it is worth waiting long.
LOCK_SECONDS = 55.0
# A server that restarts is back after seconds; that one is not there is told after half a minute.
BUSY, AWAY = 60.0, 30.0
# How long a connection is kept: a way that was closed silently is not met later than this.
KEPT_SECONDS = 30.0
# A host that vanishes with the lock is given up after this, by the server.
VANISHED_SECONDS = 60.0

# Filled in where the URL does not say otherwise: a dead network is noticed within half a minute.
_DEFAULTS = {
    "application_name": "discreet",
    "client_encoding": "utf8",  # of SQL_ASCII the driver would return bytes
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
# Of "discreet" on a telephone; it is held only while `discreet_lock` is made.
_FIRST = 34727338

# A refused connection carries no SQLSTATE, only words: these will not change by waiting.
_REFUSED = re.compile(
    r"authentication failed|no password supplied|does not exist|pg_hba\.conf|permission denied"
    r"|failed to resolve|could not translate"
)

# Kept with a connection: statements that are sent with the next one.
_WAITING = "discreet_waiting"
_MANY = 100  # so many are not kept waiting
_ENTRIES = "discreet_entries"
_CHANGES = ("DELETE", "TRUNCATE", "UPDATE")
_BODIES = {
    "discreet_entries_no_change": """
BEGIN
  RAISE EXCEPTION 'entries of a ledger are never changed';
END
""",
    "discreet_entries_append": """
BEGIN
  IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM discreet_entries) THEN
    RAISE EXCEPTION 'entries of a ledger are only added at its end';
  END IF;
  RETURN NEW;
END
""",
}
_WHEN = {
    "discreet_entries_no_change": "BEFORE UPDATE OR DELETE OR TRUNCATE ON discreet_entries "
    "FOR EACH STATEMENT",
    "discreet_entries_append": "BEFORE INSERT ON discreet_entries FOR EACH ROW",
}
_TRIGGERS = """
SELECT t.tgname, t.tgenabled, p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
WHERE t.tgrelid = 'discreet_entries'::regclass AND NOT t.tgisinternal
"""
_RIGHTS = """
SELECT DISTINCT r.privilege_type,
       CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(r.grantee) END
FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) r
WHERE c.oid = 'discreet_entries'::regclass
"""


class PostgreSQL:
    """A ledger in a database of a PostgreSQL server."""

    mark = r"%(\1)s"

    def __init__(self, url: URL) -> None:
        shown = url.set(query={}).render_as_string(hide_password=True)
        if url.drivername not in ("postgresql", "postgresql+psycopg"):
            raise InputError("ledger.postgresql_driver", shown=shown)
        if not url.database:
            raise InputError("ledger.postgresql_database", shown=shown)
        self.shown = shown
        defaults = {name: said for name, said in _DEFAULTS.items() if name not in url.query}
        try:
            from psycopg import ClientCursor

            self.engine = kept_engine(
                self,
                url.set(drivername="postgresql+psycopg").update_query_dict(defaults),
                pool_recycle=KEPT_SECONDS,
                # Values stand in the text: then several statements can be sent in one message, and
                # a pooler in between may give each transaction another session.
                connect_args={"cursor_factory": ClientCursor},
            )
        except ImportError:
            raise InputError("ledger.postgresql_missing") from None
        event.listen(self.engine, "handle_error", _throw_away)
        event.listen(self.engine, "before_cursor_execute", _with_what_waits, retval=True)
        event.listen(self.engine, "after_cursor_execute", _to_the_last_answer)
        event.listen(self.engine, "checkin", _forget_what_waits)
        self._there = False

    def exists(self) -> bool:
        """Whether the tables of a ledger are there; once they are, they stay."""
        if not self._there:
            with self.engine.connect() as connection:
                self._check_encoding(connection)
                self._there = self.laid_out(connection)
        return self._there

    def _check_encoding(self, connection: Connection) -> None:
        if connection.execute(text("SHOW server_encoding")).scalar() != "UTF8":
            raise InputError("ledger.not_utf8", url=self.shown)

    def create(self) -> None:
        """Make the table that is locked, on a server that keeps what it acknowledges."""
        with self.engine.begin() as connection:
            self._check_encoding(connection)
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _FIRST})
            if connection.execute(text("SELECT to_regclass('discreet_lock')")).scalar() is None:
                if connection.execute(text("SHOW fsync")).scalar() != "on":
                    raise PolicyError("ledger.fsync_off", shown=self.shown)
                connection.execute(text("CREATE TABLE discreet_lock ()"))

    def options(self, *, write: bool) -> dict[str, Any]:
        """Serializable to write; one moment of the ledger, and nothing but reading, to read.

        To the driver, a writing transaction is none: `lock` and `settle` begin and end it, each in
        one message together with what belongs to it.
        """
        if write:
            return {"isolation_level": "AUTOCOMMIT"}
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def guard(self, connection: Connection) -> None:
        """Add the triggers that make the table append-only, and revoke the rights to change it."""
        for name, body in _BODIES.items():
            for statement in (
                # The path of now: a trigger must not look for its table where a caller says.
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql "
                f"SET search_path FROM CURRENT AS $body${body}$body$",
                f"CREATE TRIGGER {name} {_WHEN[name]} EXECUTE FUNCTION {name}()",
                f"ALTER TABLE {_ENTRIES} ENABLE ALWAYS TRIGGER {name}",
            ):
                connection.exec_driver_sql(statement)
        rights = ", ".join(_CHANGES)
        connection.exec_driver_sql(f"REVOKE {rights} ON {_ENTRIES} FROM PUBLIC, CURRENT_USER")

    def unguard(self, connection: Connection) -> None:
        """Remove the triggers, and let the owner change entries, until they are guarded again."""
        for name in _BODIES:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name} ON {_ENTRIES}")
        connection.exec_driver_sql(f"GRANT UPDATE ON {_ENTRIES} TO CURRENT_USER")

    def lock(self, connection: Connection) -> None:
        """Wait in turn for the one lock; none of these statements takes the snapshot."""
        connection.info[_WAITING] = [
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            f"SET LOCAL lock_timeout = {1000 * LOCK_SECONDS:.0f}",
            f"SET LOCAL idle_in_transaction_session_timeout = {1000 * VANISHED_SECONDS:.0f}",
            "SET LOCAL synchronous_commit = off",
            # Whatever the server believes of the table: by indexes, in their order.
            "SET LOCAL enable_sort = off",
            "SET LOCAL enable_seqscan = off",
            "SET LOCAL jit = off",  # compiling would take longer than all the rest
            "LOCK TABLE discreet_lock IN EXCLUSIVE MODE",
        ]

    def later(self, connection: Connection, statement: str, values: dict[str, Any]) -> None:
        """Send it in one message with the next statement."""
        driver: Any = connection.connection.driver_connection
        waiting = connection.info.setdefault(_WAITING, [])
        waiting.append(driver.cursor().mogrify(statement, values))
        if len(waiting) >= _MANY:
            connection.exec_driver_sql("SELECT 1")

    def settle(self, connection: Connection) -> None:
        """Commit, which lets the next writer in; then wait until the log is on disk up to here."""
        connection.exec_driver_sql(
            "COMMIT; BEGIN; SET LOCAL synchronous_commit = on; "
            "SELECT pg_logical_emit_message(true, 'discreet', ''); COMMIT"
        )

    def laid_out(self, connection: Connection) -> bool:
        """Whether the tables are there; not remembered, for they may be made and rolled back."""
        query = text("SELECT to_regclass('discreet_format') IS NOT NULL")
        return self._there or connection.scalar(query) is True

    def damage(self, connection: Connection) -> list[str]:
        """Return guards that are missing, switched off or altered, and rights to change entries."""
        if connection.execute(text("SELECT to_regclass('discreet_entries')")).scalar() is None:
            return [say("ledger.entries_removed")]
        there = {name: (on, body) for name, on, body in connection.execute(text(_TRIGGERS))}
        problems = []
        for name, body in sorted(_BODIES.items()):
            enabled, found = there.pop(name, (None, None))
            if enabled is None:
                problems.append(say("ledger.trigger_removed", name=name))
            elif enabled not in ("A", b"A"):
                problems.append(say("ledger.trigger_off", name=name))
            elif found != body:
                problems.append(say("ledger.trigger_altered", name=name))
        problems += [say("ledger.trigger_added", name=name) for name in sorted(there)]
        for right, role in sorted(tuple(row) for row in connection.execute(text(_RIGHTS))):
            if right in _CHANGES:
                problems.append(say("ledger.right_given", role=role, right=right))
        return problems

    def refused(self, problem: DBAPIError) -> bool:
        """Whether the server said why, and so is there."""
        return bool(_state(problem)) and not self.patience(problem)

    def patience(self, problem: DBAPIError) -> float:
        """Return how long to go on: others were in the way, or the server is away for a moment."""
        state = _state(problem)
        # Serialization, deadlock, lock not available, or an entry's number already taken.
        if state in ("40001", "40P01", "55P03", "23505"):
            return BUSY
        # Connection lost or refused, server going down or coming up, too many connections.
        if state[:2] == "08" or state[:4] == "57P0" or state in ("25P03", "53300"):
            return AWAY
        return AWAY if _lost(problem) and not _REFUSED.search(str(problem.orig)) else 0.0

    def said(self, problem: DBAPIError) -> DiscreetError:
        """Return the failure in words of ours, with what it means for the charge."""
        state = _state(problem)
        if state in ("XX001", "XX002", "42P01"):
            return Damaged("ledger.damaged", shown=self.shown)
        if state == "42501":
            return InputError("ledger.rights_missing", shown=self.shown)
        if state == "25006":
            return InputError("ledger.read_only_server", shown=self.shown)
        if _lost(problem) and _REFUSED.search(str(problem.orig)):
            return InputError("ledger.server_refuses", shown=self.shown)
        if self.patience(problem) == BUSY:
            return InternalError("ledger.busy", shown=self.shown, busy=BUSY)
        if _lost(problem) or self.patience(problem):
            return InputError("ledger.unreachable", shown=self.shown)
        return InternalError(
            "ledger.unusable", shown=self.shown, name=type(problem.orig).__name__, state=state
        )


def _state(problem: DBAPIError) -> str:
    """Return the SQLSTATE; empty where the server said none, for it was not reached or is gone."""
    return str(getattr(problem.orig, "sqlstate", None) or "")


def _lost(problem: DBAPIError) -> bool:
    """Whether there was no connection, or there is none any more."""
    return _state(problem) == "" and isinstance(problem, (OperationalError, InterfaceError))


def _with_what_waits(
    connection: Connection, cursor: Any, statement: str, values: Any, _: object, many: bool
) -> tuple[str, Any]:
    """Send what waits before the next statement, in one message with it unless it is many."""
    waiting = connection.info.pop(_WAITING, None)
    if not waiting:
        return statement, values
    if many:
        cursor.execute("; ".join(waiting))
        return statement, values
    message = "; ".join([*waiting, cursor.mogrify(statement, values or None)])
    return message.replace("%", "%%"), ()


def _to_the_last_answer(connection: Connection, cursor: Any, *_: Any) -> None:
    while cursor.nextset():
        pass


def _forget_what_waits(_: object, record: Any) -> None:
    record.info.pop(_WAITING, None)


def _throw_away(context: ExceptionContext) -> None:
    """Let no connection be used again that an error was seen on."""
    context.is_disconnect = True

"""The table of entries, and transactions on it, in SQLAlchemy Core.

One append-only table holds the chain; a second, of one row, the format of this layout, so that an
older Discreet refuses a newer ledger before it reads anything else. Columns beside the text of an
entry repeat what it says, for looking up; the verification compares them. What differs between
databases (how one is made, locked and guarded) is behind `Backend`.

| format | what is new |
|---|---|
| 1 | the entries |
| 2 | `spec_hash`, indexed: whether a spec was released before is found without reading them all |
| 3 | promises: entries that register and withdraw them, and a standing that holds their limits |
| 4 | accounts as chains of their own; a slot is taken once |

A Discreet reads every format up to its own, writes its own alone, and refuses a newer one. Going to
a newer format is an act of its own (`discreet ledger upgrade`) and an entry in the chain: from then
on, every older Discreet on every host refuses the ledger. It changes tables and never what an entry
says: the texts, and so the hashes, stay.

A transaction is a function of its `Rows`. If others are in the way, or a server is away for a
moment, it is rolled back and run again after a random pause, as long as the backend's patience
lasts; so a function must do nothing but read and write the ledger.

A connection may be lost at the COMMIT itself; then nobody has told us whether the entry is there.
It is not written again before that is known: the next attempt, once it has the lock that no other
writer can have, first looks for the hash of what the last one wrote.
"""

from __future__ import annotations

import json
import logging
import random
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from discreet.errors import InputError, InternalError, PolicyError
from discreet.ledger.backend import Backend
from discreet.ledger.entries import Entry
from discreet.ledger.postgresql import PostgreSQL
from discreet.ledger.sqlite import SQLite
from discreet.words import say

_T = TypeVar("_T")
_PRODUCTS: dict[str, Callable[[URL], Backend]] = {"sqlite": SQLite, "postgresql": PostgreSQL}
FIRST, FORMAT = 1, 4
_MOVED = 0  # the format of a ledger that is kept elsewhere now
_NONE = object()  # the format where there are no tables
# Columns that repeat what the body says, for looking up, in each format.
_COLUMNS = ("kind", "account", "release_id", "plan_id", "slot")
REPEATED = {FIRST: _COLUMNS, **dict.fromkeys((2, 3, FORMAT), (*_COLUMNS, "spec_hash"))}
_AT_ONCE = 10_000  # hashes are looked for: a statement takes so many values and not many more
# After so many seconds of trying again, people are told that the ledger is waited for.
_SILENT = 2.0
_log = logging.getLogger("discreet")

_metadata = MetaData()
_format = Table("discreet_format", _metadata, Column("version", Integer, nullable=False))
_entries = Table(
    "discreet_entries",
    _metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("account", String(100)),
    Column("release_id", String(64)),
    Column("plan_id", String(64)),
    Column("slot", Integer),
    Column("spec_hash", String(200)),
    Column("body", Text, nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    # At most one reservation, one slot and one output of a release, whatever a program does.
    UniqueConstraint("release_id", "kind", name="discreet_entries_once"),
    Index("discreet_entries_account", "account", "seq"),
    Index("discreet_entries_kind", "account", "kind", "seq"),
    Index("discreet_entries_plan", "plan_id", "seq"),
    Index("discreet_entries_spec", "account", "spec_hash"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A stored row as it is, for the verification: nothing about it is trusted."""

    seq: Any
    repeated: dict[str, Any]
    body: Any
    hash: Any


@dataclass(slots=True)
class _Tried:
    """An attempt whose COMMIT was sent and not answered: what it wrote, and what it found."""

    hash: str | None
    result: Any


_NAMED = [column.name for column in _entries.columns]
_INSERT = f"""INSERT INTO discreet_entries ({", ".join(_NAMED)})
VALUES ({", ".join(f":{name}" for name in _NAMED)})"""  # noqa: S608
# What `Rows.foresee` looks up: the newest entries of the chain and of an account, the first of the
# chain, those of a release, the account's opening, and what follows in the chain on this and on the
# account's last. It is quickly planned, for others wait meanwhile, and it walks through no chain:
# BETWEEN, and the order by account and number, leave a server no index but the account's to choose.
_ROWS = "SELECT seq, body, hash, kind, account, release_id FROM discreet_entries"
_OWN = "WHERE account BETWEEN :account AND :account ORDER BY account DESC, seq DESC LIMIT"
_FORESEEN = f"""
SELECT found.*, (SELECT version FROM discreet_format) FROM (
  SELECT * FROM ({_ROWS} ORDER BY seq DESC LIMIT :recent) AS newest
  UNION ALL SELECT * FROM ({_ROWS} {_OWN} :recent) AS own
  UNION ALL {_ROWS} WHERE seq = 1 OR release_id = :release_id
    OR (account = :account AND kind = 'open')
    OR seq = (SELECT seq + 1 FROM discreet_entries {_OWN} 1)
  UNION ALL SELECT link.seq, link.body, link.hash, link.kind, link.account, link.release_id
    FROM discreet_entries AS opening JOIN discreet_entries AS link ON link.seq = opening.seq + 1
    WHERE opening.account = :account AND opening.kind = 'open'
) AS found
"""  # noqa: S608  (put together from the texts above alone)


def _last(entries: list[Entry]) -> Entry | None:
    return entries[-1] if entries else None


class Store:
    """A ledger's database, by URL."""

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):
            # What cannot be parsed may hold a password: only the plain name of a file is repeated.
            if isinstance(url, str) and re.fullmatch(r"[\w./-]+", url):
                raise InputError("ledger.no_url_but_file", given=url) from None
            raise InputError("ledger.not_a_url") from None
        product = parsed.get_backend_name()
        if product not in _PRODUCTS:
            raise InputError("ledger.other_database", product=product)
        # Options may hold a password as well.
        self.url = parsed.set(query={}).render_as_string(hide_password=True)
        self.backend: Backend = _PRODUCTS[product](parsed)
        # Plain text with the driver's marks for values: both are run at every charge.
        self.foreseen, self.insert = (
            re.sub(r":(\w+)", self.backend.mark, statement) for statement in (_FORESEEN, _INSERT)
        )

    def exists(self) -> bool:
        """Whether there is a ledger to read."""
        return self._patiently(lambda *_: self.backend.exists())

    def create(self) -> None:
        """Make what must be there before the first entry can be written."""
        self._patiently(lambda *_: self.backend.create())

    def read(self, what: Callable[[Rows], _T]) -> _T:
        """Run a function in a transaction that sees one moment of the ledger."""

        def once(*_: object) -> _T:
            with self._connected(write=False) as connection, connection.begin():
                return what(Rows(self, connection))

        return self._patiently(once)

    def write(self, what: Callable[[Rows], _T]) -> _T:
        """Run a function in the one writing transaction; durable when this returns."""

        def once(tried: list[_Tried], refused: DBAPIError | None) -> _T:
            with self._connected(write=True) as connection:
                with connection.begin() as transaction:
                    self.backend.lock(connection)
                    rows = Rows(self, connection)
                    done = next((one for one in tried if rows.recorded(one.hash)), None)
                    if done is None:
                        tried.clear()
                        if refused is not None:
                            raise refused
                        result = what(rows)
                        done = _Tried(rows.written, result)
                        tried.append(done)
                    # What an earlier attempt recorded may not be on disk yet, either.
                    self.backend.settle(connection)
                    transaction.commit()
                return cast("_T", done.result)

        return self._patiently(once)

    def _connected(self, *, write: bool) -> AbstractContextManager[Connection]:
        options = self.backend.options(write=write)
        return self.backend.engine.connect().execution_options(**options)

    def _patiently(self, once: Callable[[list[_Tried], DBAPIError | None], _T]) -> _T:
        """Try again while that is worth it; say in the end what may have been recorded.

        Where a server refused what was to be recorded, it is looked up once whether it was.
        """
        since = time.monotonic()
        pause = 0.005
        tried: list[_Tried] = []
        told, refused = False, None
        while True:
            try:
                return once(tried, refused)
            except DBAPIError as problem:
                if tried and refused is None and self.backend.refused(problem):
                    refused = problem
                    continue
                waited = time.monotonic() - since
                if waited > self.backend.patience(problem):
                    if tried:
                        raise InternalError("ledger.write_unknown", url=self.url) from None
                    raise self.backend.said(problem) from None
                if waited > _SILENT and not told:
                    told = True
                    _log.warning(say("ledger.waiting", url=self.url))
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  (a pause, not a secret)
            pause = min(0.25, 2 * pause)


class Rows:
    """The entries inside one transaction, and what is known of them since it began."""

    def __init__(self, store: Store, connection: Connection) -> None:
        self.store, self.connection, self.backend = store, connection, store.backend
        self.written: str | None = None  # the hash of the last entry that was added here
        self.known: dict[tuple[Any, ...], Any] = {}  # answers, by their questions

    def version(self) -> int | None:
        """Return the format of the tables, None if there are none; refuse a newer one."""

        def ask() -> Any:
            there = self.backend.laid_out(self.connection)
            return self.connection.scalar(select(_format.c.version)) if there else _NONE

        version, url = self._asked(("version",), ask), self.store.url
        if version is _NONE:
            return None
        if version == _MOVED:
            raise PolicyError("ledger.moved", url=url)
        if version not in REPEATED:
            raise PolicyError("ledger.newer_format", url=url, version=version, format=FORMAT)
        return int(version)

    def writable(self) -> bool:
        """Whether the tables are there; refuse those of an older format as well."""
        version, url = self.version(), self.store.url
        if version is not None and version < FORMAT:
            told = {"version": version, "format": FORMAT, "quoted": shlex.quote(url)}
            raise PolicyError("ledger.older_format", url=url, **told)
        return version is not None

    def lay_out(self) -> None:
        """Make the tables and what guards them."""
        _metadata.create_all(self.connection)
        self.connection.execute(insert(_format).values(version=FORMAT))
        self.backend.guard(self.connection)
        self.known.clear()

    def copy(self, target: Store) -> None:
        """Copy every row into a database that has no ledger yet."""
        stored = list(self.stored())

        def write(other: Rows) -> None:
            if other.version() is not None:
                raise InputError("ledger.copy_there", url=target.url)
            other.lay_out()
            for row in stored:
                other.append(Entry.read(row.seq, row.body, row.hash), row.body)

        target.create()
        target.write(write)

    def leave(self) -> None:
        """Mark the tables as those of a ledger that was moved: nobody reads or writes them."""
        self.connection.execute(update(_format).values(version=_MOVED))

    def upgrade(self, version: int) -> None:
        """Bring the tables of an older format to the newest."""
        self.backend.unguard(self.connection)
        if version == FIRST:
            self._add_spec_hash()
        self.backend.guard(self.connection)
        self.connection.execute(update(_format).values(version=FORMAT))
        self.known.clear()

    def _add_spec_hash(self) -> None:
        """Written out: the tables that are described above are those of the newest format."""
        execute = self.connection.execute
        execute(text("ALTER TABLE discreet_entries ADD COLUMN spec_hash VARCHAR(200)"))
        change = text("UPDATE discreet_entries SET spec_hash = :spec_hash WHERE seq = :seq")
        for seq, body in execute(select(_entries.c.seq, _entries.c.body)).all():
            spec_hash = json.loads(body).get("spec_hash")
            if spec_hash is not None:
                execute(change, {"spec_hash": spec_hash, "seq": seq})
        execute(text("CREATE INDEX discreet_entries_spec ON discreet_entries (account, spec_hash)"))

    def append(self, entry: Entry, body: str) -> None:
        """Add one row at the end."""
        said = {name: entry.said.get(name) for name in REPEATED[FORMAT]}
        row = {"seq": entry.seq, "body": body, "hash": entry.hash, **said}
        self.backend.later(self.connection, self.store.insert, row)
        self.written = entry.hash
        known, stay = self.known, (("version",), ("seq", 1))
        self.known = {question: known[question] for question in stay if question in known}
        self.known |= {("find",): entry, ("find", ("account", entry.account)): entry}

    def foresee(self, recent: int, account: str | None, release_id: str | None) -> None:
        """Look up in one query what a charge or a commit asks; kept until an entry is added.

        The questions are asked as ever, and answered from here. Without an account's name, it is
        the account that the release was charged to.
        """
        if not self.backend.laid_out(self.connection):
            return
        if account is None:
            # By itself, and without a LIMIT: nobody plans a walk through the chain for it.
            query = select(_entries.c.account).where(_entries.c.release_id == release_id)
            account = next(iter(self.connection.scalars(query).all()), None)
        asked = {"recent": recent, "account": account, "release_id": release_id}
        answer = self.connection.exec_driver_sql(self.store.foreseen, asked).all()
        rows = sorted({tuple(row) for row in answer})
        if not rows:
            return
        known = self.known
        known["version",] = rows[0][-1]
        self.writable()  # a newer ledger is refused before its entries are read
        found = [(Entry.read(*row[:3]), *row[3:6]) for row in rows]
        newest = [entry for entry, *_ in found[-recent:]]
        known |= {("find",): newest[-1], ("newest", recent, None): newest}
        if release_id is not None:
            release = [entry for entry, *_, of in found if of == release_id]
            same = ("release_id", release_id)
            known |= {("find", same): _last(release), ("all", same): release}
        numbers = {entry.seq: entry for entry, *_ in found}
        seqs = [1]
        if account is not None:
            own = [entry for entry, _, of, _ in found if of == account][-recent:]
            opening = [entry for entry, kind, of, _ in found if (kind, of) == ("open", account)]
            same = ("account", account)
            known |= {("find", same): _last(own), ("newest", recent, account): own}
            known["find", same, ("kind", "open")] = _last(opening)
            seqs += [entry.seq + 1 for entry in (*own[-1:], *opening[:1])]
        known |= {("seq", seq): numbers.get(seq) for seq in (*seqs, *numbers)}
        known |= {("holds", entry.hash): True for entry in numbers.values()}

    def _asked(self, question: tuple[Any, ...], ask: Callable[[], _T]) -> _T:
        """Answer from what is known, else ask the database, once until an entry is added."""
        if question not in self.known:
            self.known[question] = ask()
        return cast("_T", self.known[question])

    def find(self, **equal: str | None) -> Entry | None:
        """Return the newest entry whose columns have these values."""

        def ask() -> Entry | None:
            query = self._matching(equal).order_by(_entries.c.seq.desc()).limit(1)
            return _last(self._entries(query))

        return self._asked(("find", *sorted(equal.items())), ask)

    def all(self, **equal: str | None) -> list[Entry]:
        """Return the entries whose columns have these values, oldest first."""

        def ask() -> list[Entry]:
            return self._entries(self._matching(equal).order_by(_entries.c.seq))

        return self._asked(("all", *sorted(equal.items())), ask)

    def newest(self, count: int, account: str | None = None) -> list[Entry]:
        """Return the last so many entries, of the chain or of an account, oldest first."""

        def ask() -> list[Entry]:
            equal = {} if account is None else {"account": account}
            query = self._matching(equal).order_by(_entries.c.seq.desc()).limit(count)
            return self._entries(query)[::-1]

        return self._asked(("newest", count, account), ask)

    def first(self) -> Entry | None:
        """Return the entry that began the ledger."""
        return self.numbered([1]).get(1)

    def accounts(self) -> Iterator[str]:
        """Yield the names of all accounts, each found by the index: entries are not read."""
        last: str | None = ""
        while last is not None:
            query = select(func.min(_entries.c.account)).where(_entries.c.account > last)
            last = self.connection.scalar(query)
            if last is not None:
                yield last

    def numbered(self, numbers: Iterable[int]) -> dict[int, Entry]:
        """Return the entries that have these numbers."""
        asked = [number for number in numbers if ("seq", number) not in self.known]
        if asked:
            found = self._entries(self._matching({}).where(_entries.c.seq.in_(asked)))
            self.known |= {("seq", number): None for number in asked}
            self.known |= {("seq", entry.seq): entry for entry in found}
        told = {number: self.known["seq", number] for number in numbers}
        return {number: entry for number, entry in told.items() if entry is not None}

    def held(self, digests: Iterable[str]) -> set[str]:
        """Return which of these hashes an entry of the chain has."""
        wanted = set(digests)
        found = {digest for digest in wanted if ("holds", digest) in self.known}
        left = sorted(wanted - found)
        for start in range(0, len(left), _AT_ONCE):
            query = select(_entries.c.hash).where(_entries.c.hash.in_(left[start:][:_AT_ONCE]))
            found |= set(self.connection.scalars(query))
        return found

    def recorded(self, digest: str | None) -> bool:
        """Whether an entry with this hash was added, if there are tables at all."""
        there = digest is not None and self.backend.laid_out(self.connection)
        return there and digest in self.held([str(digest)])

    def unfinished(self, account: str, latest: int | None = None) -> list[Entry]:
        """Return an account's reservations, and slots still to be drawn, without stored output.

        With `latest`, only among the account's last so many entries: without, all are looked at.
        """
        done = _entries.alias("done")
        since: Any = 0
        if latest is not None:
            of_account = select(_entries.c.seq).where(_entries.c.account == account)
            before = of_account.order_by(_entries.c.seq.desc()).offset(latest).limit(1)
            since = func.coalesce(before.scalar_subquery(), 0)
        itself = and_(done.c.kind == "commit", done.c.release_id == _entries.c.release_id)
        # Looked up once for all slots (for each anew, a plan would cost the square of its length),
        # and no further back than they are: an output is stored after its slot was taken.
        stored = select(done.c.plan_id, done.c.slot).where(
            done.c.account == account,
            done.c.kind == "commit",
            done.c.slot.is_not(None),
            done.c.seq > since,
        )
        slot = tuple_(_entries.c.plan_id, _entries.c.slot)
        query = (
            self._matching({"account": account})
            .where(_entries.c.kind.in_(("reserve", "slot")))
            .where(_entries.c.seq > since, ~exists().where(itself))
            .where(or_(_entries.c.kind == "reserve", slot.not_in(stored)))
            .order_by(_entries.c.seq)
        )
        return self._entries(query)

    def runs(self, account: str, spec_hash: str) -> int:
        """Return how many releases of a spec an account was charged for, or a plan took."""
        if self.version() == FIRST:
            found = [e for e in self.all(account=account) if e.said.get("spec_hash") == spec_hash]
            return sum(1 for entry in found if entry.kind != "plan")
        same = (_entries.c.account == account, _entries.c.spec_hash == spec_hash)
        query = select(func.count()).where(*same, _entries.c.kind != "plan")
        return int(self.connection.execute(query).scalar_one())

    def stored(self) -> Iterator[Row]:
        """Yield every row as stored, in the order of the chain."""
        names = REPEATED[self.version() or FORMAT]
        columns = [_entries.c[name] for name in names]
        query = select(_entries.c.seq, _entries.c.body, _entries.c.hash, *columns)
        for seq, body, digest, *repeated in self.connection.execute(query.order_by(_entries.c.seq)):
            yield Row(seq, dict(zip(names, repeated, strict=True)), body, digest)

    @staticmethod
    def _matching(equal: Mapping[str, str | None]) -> Any:
        query = select(_entries.c.seq, _entries.c.body, _entries.c.hash)
        return query.where(*(_entries.c[name] == value for name, value in equal.items()))

    def _entries(self, query: Any) -> list[Entry]:
        return [Entry.read(*row) for row in self.connection.execute(query)]

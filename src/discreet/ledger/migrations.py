"""From one layout of the tables to the next: forwards only, one step a format.

A layout has a number, stored beside the entries. A Discreet reads every format up to its own,
writes its own alone, and refuses a newer one before it reads anything else. Going to a newer format
is an act of its own (`discreet ledger upgrade`) and an entry in the chain: from then on, every
older Discreet on every host refuses the ledger.

A step changes tables and never what an entry says: the texts, and so the hashes, stay. Its SQL is
written out here, because the tables that the store describes are those of the newest format.

| format | what is new |
|---|---|
| 1 | the entries |
| 2 | `spec_hash`, indexed: whether a spec was released before is found without reading them all |
| 3 | promises: entries that register and withdraw them, and a standing that holds their limits |
| 4 | accounts as chains of their own; a slot is taken once |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from sqlalchemy import Connection, text

from discreet.ledger.backend import Backend

FIRST, FORMAT = 1, 4

# Columns that repeat what the body says, for looking up, in each format.
_COLUMNS = ("kind", "account", "release_id", "plan_id", "slot")
REPEATED = {
    1: _COLUMNS,
    2: (*_COLUMNS, "spec_hash"),
    3: (*_COLUMNS, "spec_hash"),
    4: (*_COLUMNS, "spec_hash"),
}


def _add_spec_hash(connection: Connection, bodies: Iterable[tuple[int, str]]) -> None:
    connection.execute(text("ALTER TABLE discreet_entries ADD COLUMN spec_hash VARCHAR(200)"))
    change = text("UPDATE discreet_entries SET spec_hash = :spec_hash WHERE seq = :seq")
    for seq, body in bodies:
        spec_hash = json.loads(body).get("spec_hash")
        if spec_hash is not None:
            connection.execute(change, {"spec_hash": spec_hash, "seq": seq})
    connection.execute(
        text("CREATE INDEX discreet_entries_spec ON discreet_entries (account, spec_hash)")
    )


def _tables_stay(connection: Connection, bodies: Iterable[tuple[int, str]]) -> None:
    """Formats 3 and 4 are about what entries say; an older Discreet would not see it."""


_STEPS: dict[int, Callable[[Connection, Iterable[tuple[int, str]]], None]] = {
    1: _add_spec_hash,
    2: _tables_stay,
    3: _tables_stay,
}


def migrate(connection: Connection, backend: Backend, version: int) -> None:
    """Bring tables of an older format to the newest, in the transaction that is under way."""
    backend.unguard(connection)
    for step in range(version, FORMAT):
        rows = connection.execute(text("SELECT seq, body FROM discreet_entries ORDER BY seq"))
        _STEPS[step](connection, [(int(seq), str(body)) for seq, body in rows])
    backend.guard(connection)
    connection.execute(text("UPDATE discreet_format SET version = :new"), {"new": FORMAT})

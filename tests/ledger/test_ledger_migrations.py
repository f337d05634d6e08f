"""Formats of the tables: read all, write one, refuse the newer, go forwards only."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hands import Hand
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

from discreet.cli.ledger import app
from discreet.errors import InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Amount, Ledger
from discreet.ledger.store import FORMAT

HERE = Path(__file__).parent
SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}
# The heads that the Discreet of that time printed.
HEADS = {
    (1, "sqlite"): "21bd215b26e763a4062c3b636e0c52f6cb2c7584afca0fa39c7c9c7184bab675",
    (1, "postgresql"): "cdae10533ac7fbcb29842e0313ff084b0cb9f4f72c9aee4efafe4d1f29eb6dee",
    (2, "sqlite"): "8a8355409bae8e92702a7533b42ece662e95f16dea6bd98efd5f7d8d3a8cb4e6",
    (2, "postgresql"): "73ad71260080011a63a9a6d4ead5bc06e7d521a26049683a29f55af603e1c3ee",
}


@pytest.fixture(params=[1, 2])
def version(request: pytest.FixtureRequest) -> int:
    """An older format."""
    return int(request.param)


@pytest.fixture
def head(hand: Hand, version: int) -> str:
    return HEADS[version, hand.kind]


@pytest.fixture
def old(hand: Hand, url: str, version: int) -> Ledger:
    """A ledger as a Discreet that wrote that format left it."""
    script = (HERE / f"format_{version}_{hand.kind}.sql").read_text()
    if hand.kind == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)
    else:
        with hand.connected() as connection:
            connection.exec_driver_sql(script)
    return Ledger.open(url)


def layout(hand: Hand) -> list[tuple[object, ...]]:
    """What the tables are made of, apart from the order of columns."""
    if hand.kind == "sqlite":
        found = hand.execute("SELECT type, name FROM sqlite_master ORDER BY name")
        columns = hand.execute('SELECT name, type, "notnull" FROM pragma_table_info(:t)', t=TABLE)
    else:
        found = hand.execute(
            "SELECT indexname, '' FROM pg_indexes WHERE tablename = :t UNION ALL "
            "SELECT tgname, tgenabled::text FROM pg_trigger WHERE tgrelid = to_regclass(:t)",
            t=TABLE,
        )
        columns = hand.execute(
            "SELECT column_name, data_type, character_maximum_length FROM "
            "information_schema.columns WHERE table_name = :t",
            t=TABLE,
        )
    return sorted(map(repr, found + columns))  # type: ignore[arg-type]


TABLE = "discreet_entries"


def test_an_older_format_is_read_and_verified_as_it_is(old: Ledger, head: str) -> None:
    found = old.verify(head)
    assert (found.verified, found.entries, found.since_head) == (True, 10, 0)
    assert old.spent("clinic") == Amount.of(epsilon=0.5)
    assert len(old.unfinished("clinic")) == 1
    assert old.runs("clinic", "5" * 64) == old.runs("clinic", "6" * 64) == 1
    assert old.runs("clinic", "7" * 64) == 0
    assert old.show("clinic").promises == old.made_promises("clinic") == ()


def test_an_older_format_is_written_only_after_an_upgrade(
    old: Ledger, head: str, version: int
) -> None:
    words = rf"has format {version} .*writes format {FORMAT}.*discreet ledger upgrade --ledger"
    for use in (
        lambda: old.reserve("clinic", PureDP(0.1), **SAID),
        lambda: old.charge("clinic", PureDP(0.1), purpose="a", who="b"),
        lambda: old.withdraw("clinic", "0" * 16, approver="a", reason="b"),
        lambda: old.grant("clinic", add=PureDP(0.1), approver="a", reason="b"),
        lambda: old.open_account(
            "b", unit="person", adjacency="add-remove", filter="pure", cap=None, approver="a",
            reason="b",
        ),
    ):  # fmt: skip
        with pytest.raises(PolicyError) as refused:
            use()
        assert re.search(words, refused.value.on_the_command_line)
    assert old.head == head


def test_an_upgrade_keeps_every_entry_and_stands_in_the_chain(
    old: Ledger, hand: Hand, url: str, head: str, version: int
) -> None:
    before = hand.execute("SELECT seq, body, hash FROM discreet_entries ORDER BY seq")
    done = old.upgrade()
    assert (done.before, done.after, done.releases) == (version, FORMAT, ())
    after = hand.execute("SELECT seq, body, hash FROM discreet_entries ORDER BY seq")
    assert after[:-1] == before
    found = old.verify(head)
    assert (found.verified, found.problems, found.since_head) == (True, (), 1)
    assert old.entries()[-1].said["from"] == version
    # A second time changes nothing; and the ledger is spent on as any other.
    assert (old.upgrade().before, old.upgrade().after) == (FORMAT, FORMAT)
    assert old.head == found.head
    assert old.runs("clinic", "5" * 64) == old.runs("clinic", "6" * 64) == 1
    old.reserve("clinic", PureDP(0.1), **SAID)
    assert old.runs("clinic", "5" * 64) == 2
    assert old.runs("other", "5" * 64) == 0
    assert Ledger.open(url).verify().verified
    with pytest.raises(DBAPIError, match="entries of a ledger"):
        hand.execute("UPDATE discreet_entries SET spec_hash = 'x'")


def test_an_upgraded_ledger_is_laid_out_as_a_new_one(
    old: Ledger, hand: Hand, url: str, opened: Callable[..., Ledger]
) -> None:
    old.upgrade()
    upgraded = layout(hand)
    if hand.kind == "sqlite":
        Path(url.removeprefix("sqlite:///")).unlink()
    else:
        hand.execute("DROP TABLE discreet_entries, discreet_format, discreet_lock")
    opened()
    assert layout(hand) == upgraded


def test_a_ledger_that_was_altered_is_not_upgraded(old: Ledger, hand: Hand, version: int) -> None:
    with hand.past_the_guards():
        hand.execute("UPDATE discreet_entries SET body = replace(body, '0.1', '0.0') WHERE seq = 3")
    with pytest.raises(PolicyError, match="not what was written"):
        old.upgrade()
    assert hand.execute("SELECT version FROM discreet_format") == [(version,)]


def test_an_upgrade_that_is_cut_off_leaves_the_old_format(
    old: Ledger, hand: Hand, head: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(BaseException):
        pass

    def die(*_: object) -> None:
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr("discreet.ledger.book.Chain.append", die)
        with pytest.raises(Cut):
            old.upgrade()
    assert old.verify(head).verified
    assert hand.execute("SELECT version FROM discreet_format") == [(version,)]
    assert old.upgrade().before == version


def test_tables_that_say_another_format_than_the_chain_are_reported(
    old: Ledger, hand: Hand
) -> None:
    old.upgrade()
    hand.execute("UPDATE discreet_format SET version = 1")
    words = f"the tables have format 1, and the chain says format {FORMAT}"
    assert old.verify().problems == (words,)


def test_there_is_nothing_to_upgrade_where_there_is_no_ledger(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="There is no ledger"):
        ledger.upgrade()


def test_the_command_line_upgrades(old: Ledger, url: str, version: int) -> None:
    done = CliRunner().invoke(app, ["upgrade", "--ledger", url, "--json"])
    said = json.loads(done.stdout)
    assert (done.exit_code, said["from"], said["to"], said["verified"]) == (
        0, version, FORMAT, True,
    )  # fmt: skip
    assert said["releases"] == []
    again = CliRunner().invoke(app, ["upgrade", "--ledger", url])
    assert f"already has format {FORMAT}; nothing was changed" in again.stdout

"""The page for operators: its roles are made on a real server, every command of it is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from discreet.cli import main
from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release
from servers import PostgreSQL

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"
ROLES = ("owner", "curator", "auditor", "reader")
TERMS = {
    "unit": "person",
    "adjacency": "add-remove",
    "filter": "pure",
    "approver": "tester",
    "reason": "test",
}


def _blocks() -> list[list[str]]:
    """Return the statements of each SQL block of the page."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    plain = [re.sub(r"--[^\n]*", "", block) for block in blocks]
    return [[s.strip() for s in block.split(";") if s.strip()] for block in plain]


@pytest.fixture
def database(postgres: PostgreSQL) -> Iterator[str]:
    name = postgres.database()
    yield name
    postgres.drop(name)
    for role in ROLES:
        postgres.execute(f"DROP ROLE IF EXISTS discreet_{role}")


def _url(postgres: PostgreSQL, database: str, role: str) -> str:
    return f"postgresql://discreet_{role}:change me@127.0.0.1:{postgres.port}/{database}".replace(
        "change me", "change%20me"
    )


def _refused(url: str, statement: str) -> None:
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.Error, match=r"permission denied|must be owner|read-only"),
    ):
        connection.execute(statement)  # type: ignore[call-overload]


def test_the_roles_of_the_page(postgres: PostgreSQL, database: str, tmp_path: Path) -> None:
    rotate, roles, rights, data = _blocks()
    for statement in roles:
        postgres.execute(statement, database)
    owner, curator, auditor, reader = (_url(postgres, database, role) for role in ROLES)
    Ledger.open(owner).open_account("clinic", cap=PureDP(2.0), **TERMS)  # type: ignore[arg-type]
    with psycopg.connect(owner, autocommit=True) as connection:
        for statement in rights:
            connection.execute(statement)  # type: ignore[call-overload]
    for statement in (
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.visits (person text, county text)",
        "INSERT INTO clinic.visits SELECT 'p' || i, 'north' FROM generate_series(1, 50) i",
        *data,
    ):
        postgres.execute(statement, database)

    made = release(
        {
            "account": "clinic",
            "purpose": "test",
            "source": f"{reader}?table=clinic.visits",
            "protect": {"unit": "person", "column": "person", "rows": 1},
            "budget": {"epsilon": 1.0},
            "statistics": [{"count": "rows"}],
            "ledger": curator,
            "output": "out",
        },
        folder=tmp_path,
    )
    assert made.to_dict()["spent"]["epsilon"] == 1.0

    assert Ledger.open(auditor).verify().verified
    assert Ledger.open(auditor).spent("clinic").epsilon == 1
    with pytest.raises(DiscreetError):
        Ledger.open(auditor).charge("clinic", PureDP(0.5), purpose="x", who="auditor")
    with pytest.raises(PolicyError, match="is not open"):  # it does not see that there is a ledger
        Ledger.open(reader).spent("clinic")
    for theirs in (curator, auditor):
        for statement in (
            "UPDATE privacy.discreet_entries SET body = ''",
            "DELETE FROM privacy.discreet_entries",
            "TRUNCATE privacy.discreet_entries",
            "DROP TABLE privacy.discreet_entries",
            "ALTER TABLE privacy.discreet_entries DISABLE TRIGGER ALL",
            "SELECT * FROM clinic.visits",
        ):
            _refused(theirs, statement)
    for statement in (
        "SELECT * FROM privacy.discreet_entries",
        "INSERT INTO clinic.visits VALUES ('x', 'y')",
        "DELETE FROM clinic.visits",
    ):
        _refused(reader, statement)
    assert Ledger.open(owner).verify().problems == ()

    for statement in rotate:
        postgres.execute(statement, database)
    with pytest.raises(InputError):
        Ledger.open(curator).spent("clinic")
    assert Ledger.open(curator.replace("change%20me", "a%20new%20one")).spent("clinic").epsilon == 1
    postgres.execute("DROP OWNED BY " + ", ".join(f"discreet_{r}" for r in ROLES), database)


def test_a_ledger_restored_from_a_copy(
    tmp_path: Path, private_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host lost its private folder too: the shared witness tells."""
    (tmp_path / "witness").mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(tmp_path / "witness"))
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(f"sqlite:///{path}")
    ledger.open_account("clinic", cap=PureDP(1.0), **TERMS)  # type: ignore[arg-type]
    shutil.copy(path, tmp_path / "copy.db")
    ledger.charge("clinic", PureDP(0.8), purpose="one", who="tester")
    shutil.copy(tmp_path / "copy.db", path)
    shutil.rmtree(private_state)
    restored = Ledger.open(f"sqlite:///{path}")
    with pytest.raises(PolicyError, match="lacks an entry that was seen before"):
        restored.charge("clinic", PureDP(0.9), purpose="two", who="tester")
    assert len(restored.restore(approver="B. Board", reason="disk lost")) == 1
    restored.charge("clinic", PureDP(0.8), purpose="one, again", who="tester")
    with pytest.raises(DiscreetError, match="cap"):
        restored.charge("clinic", PureDP(0.9), purpose="two", who="tester")
    assert restored.verify().verified


def _commands() -> list[str]:
    """Return the lines of each shell block of the page, in their order."""
    blocks = re.findall(r"^ *```sh\n(.*?)```", PAGE.read_text(), re.S | re.M)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_every_command_of_the_page(
    postgres: PostgreSQL, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge after the backup is lost and answered for; then the ledger moves to a server."""
    monkeypatch.chdir(tmp_path)
    key = tmp_path / "key"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(make, check=True)
    (tmp_path / "signers").write_text("curator " + key.with_suffix(".pub").read_text())
    ledger = Ledger.open("sqlite:///ledger.db")
    ledger.open_account("clinic", cap=PureDP(2.0), **TERMS)  # type: ignore[arg-type]
    ledger.charge("clinic", PureDP(0.5), purpose="one", who="tester")
    server = postgres.url(database)
    places = {
        "~/.ssh/id_ed25519": str(key),
        "/mnt/other-host": str(tmp_path),
        "--ledger URL": "--ledger sqlite:///ledger.db",
        "postgresql://discreet_owner@host/privacy": server,
    }
    ran = []
    for told in _commands():
        command = told
        for before, after in places.items():
            command = command.replace(before, after)
        words = shlex.split(command)
        ran.append(" ".join(words[:3]))
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            ledger.charge("clinic", PureDP(0.5), purpose="two", who="tester")
            continue
        if words[:3] == ["discreet", "ledger", "restore"]:
            (copy,) = Path("backup").iterdir()
            shutil.copy(copy, "ledger.db")
        if words[0] == "discreet":
            with pytest.raises(SystemExit) as ended:
                main(words[1:])
            assert ended.value.code in (0, None), told
        else:
            done = subprocess.run(["sh", "-c", command], env=os.environ, capture_output=True)
            assert done.returncode == 0, (told, done.stderr)
    for name in ("backup", "sign", "verify", "restore", "move"):
        assert f"discreet ledger {name}" in ran
    assert Ledger.open(server).spent("clinic").epsilon == Decimal("0.5")
    with pytest.raises(DiscreetError):
        Ledger.open("sqlite:///ledger.db").charge("clinic", PureDP(0.1), purpose="x", who="tester")

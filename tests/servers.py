"""Servers that tests start for themselves: PostgreSQL, on the loopback interface, gone afterwards.

Loaded as a plugin by `tests/conftest.py`, so any test may ask for

    postgres       the server of this worker, started at the first use: a `PostgreSQL`
    postgres_url   the URL, with a password, of a new and empty database on it
    own_postgres   a server of the test's own, for tests that stop or restart it

and may put a `Proxy` before a server, which loses connections where it is told to.

PostgreSQL refuses to run as root; then it runs as an unprivileged user of the machine. Where no
server can be had, the tests that need one are skipped, with the reason.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import re
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

USER = "discreet"
_EMPTIED = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA public CASCADE;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC
"""
# All that a test can leave in a database, or have set for it.
_LOOKS = """
SELECT
    (SELECT string_agg(concat(nspname, nspowner, nspacl), ' ' ORDER BY nspname)
        FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'),
    (SELECT count(*) FROM pg_class WHERE oid >= 16384),
    (SELECT count(*) FROM pg_proc WHERE oid >= 16384),
    (SELECT count(*) FROM pg_type WHERE oid >= 16384),
    (SELECT count(*) FROM pg_extension),
    (SELECT count(*) FROM pg_event_trigger),
    (SELECT count(*) FROM pg_default_acl),
    (SELECT count(*) FROM pg_largeobject_metadata),
    (SELECT count(*) FROM pg_publication),
    datacl::text, datdba, datconnlimit, datallowconn, encoding,
    (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = d.oid)
FROM pg_database AS d WHERE datname = current_database()
"""
# Where distributions keep the programs of the server, which are seldom on the PATH.
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
WAIT = 60.0


class NoServer(Exception):
    """There can be no server here, and why."""


def programs() -> Path:
    """Return the folder of initdb and postgres, the newest if there are several."""
    found = [Path(p).parent for p in [shutil.which("initdb")] if p]
    for place in PLACES:
        root, *rest = place.lstrip("/").split("/", 1)
        found += sorted(Path("/", root).glob(rest[0]), key=_version, reverse=True)
    for folder in found:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NoServer(
        "the programs of a PostgreSQL server (initdb, postgres) are not installed; "
        "scripts/system.sh installs them on Debian and Ubuntu"
    )


def _version(folder: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(folder))]


def unprivileged() -> pwd.struct_passwd | None:
    """Return the user to run a server as: nobody else unless we are root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoServer("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with_parent() -> None:
    # A test run that is killed leaves no server behind (PR_SET_PDEATHSIG is 1).
    ctypes.CDLL(None).prctl(1, signal.SIGINT)


class PostgreSQL:
    """One server in a folder of its own, and its databases."""

    def __init__(self, **settings: object) -> None:
        self._programs = programs()
        self._user = unprivileged()
        # Not below pytest's folders: only their owner may enter those.
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
        self.port = free_port()
        self.password = secrets.token_urlsafe(12)
        self.settings = {"listen_addresses": "127.0.0.1", "max_connections": 120} | settings
        self._process: subprocess.Popen[bytes] | None = None
        self._names = itertools.count(1)
        self._emptied: list[str] = []
        self._new: tuple[Any, ...] | None = None
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._initialise()

    def _as_user(self) -> dict[str, Any]:
        kept = ("PATH", "LANG", "LD_LIBRARY_PATH", "TZ")
        run: dict[str, Any] = {
            "cwd": self.folder,
            "env": {k: os.environ[k] for k in kept if k in os.environ},
        }
        if self._user is not None:
            run |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return run

    def _initialise(self) -> None:
        words = self.folder / "password"
        words.write_text(self.password + "\n")
        if self._user is not None:
            os.chown(words, self._user.pw_uid, self._user.pw_gid)
        done = subprocess.run(
            [
                self._programs / "initdb",
                f"--pgdata={self.folder / 'data'}",
                f"--username={USER}",
                f"--pwfile={words}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ],
            capture_output=True,
            text=True,
            check=False,
            **self._as_user(),
        )
        words.unlink()
        if done.returncode != 0:
            raise NoServer(f"initdb did not work here: {done.stderr.strip()[-300:]}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = {"port": self.port, "unix_socket_directories": self.folder, **self.settings}
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data"]
                + [f"--{name.replace('_', '-')}={value}" for name, value in options.items()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
                **self._as_user(),
            )
        until = time.monotonic() + WAIT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                told = (self.folder / "log").read_text(errors="replace")
                self.stop(signal.SIGQUIT)
                raise NoServer(f"PostgreSQL did not start here: {told.strip()[-300:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT is a fast shutdown, SIGQUIT an immediate one, as after a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(WAIT)
            self._process = None

    def restart(self) -> None:
        """Stop at once, without a checkpoint, and start again; it recovers from its log."""
        self.stop(signal.SIGQUIT)
        self.start()

    def remove(self) -> None:
        """Stop it and remove everything that it had."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """Return the URL of a database of the server."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the server's owner; return its rows, if it has any."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement)  # type: ignore[call-overload]
            return list(done.fetchall()) if done.description else []

    def database(self) -> str:
        """Make a new database; return its name."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def drop(self, name: str) -> None:
        """Remove a database, whoever still uses it."""
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def lend(self) -> str:
        """Give an empty database under a name that no other had; return the name.

        To make one and to remove it takes the server far longer than to empty it.
        """
        if not self._emptied:
            name = self.database()
            self._new = self._new or self.execute(_LOOKS, name)[0]
            return name
        name = f"test_{next(self._names)}"
        self.execute(f"ALTER DATABASE {self._emptied.pop()} RENAME TO {name}")
        return name

    def take_back(self, name: str) -> None:
        """Empty a database, whoever still uses it, and keep it if it looks like a new one then."""
        import psycopg

        with suppress(psycopg.Error):
            self.execute(_EMPTIED, name)
            if self.execute(_LOOKS, name)[0] == self._new:
                self._emptied.append(name)
                return
        self.drop(name)


@dataclass(frozen=True)
class Cut:
    """Where a connection is lost: after so many bytes, or at its COMMIT.

    `bytes`        after `at` bytes, in whichever direction they went
    `unsent`       the COMMIT does not reach the server
    `unanswered`   the server commits, and its answer is lost
    `late`         the client loses the connection first, the server gets the COMMIT afterwards
    """

    kind: str
    at: int = 0


class Proxy:
    """A way to a server on the loopback interface that loses connections where it is told to."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        # One for each connection to come, and for each further transaction on one that is kept.
        self.cuts: deque[Cut | None] = deque()
        self.made: list[Cut] = []
        self.taken = 0  # connections so far
        self.begun = 0  # those, and further transactions on them
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, url: str) -> str:
        """Return a URL of the server that goes through here."""
        return url.replace(f":{self._target}/", f":{self.port}/")

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self.taken += 1
            self.begun += 1
            cut = self.cuts.popleft() if self.cuts else None
            threading.Thread(target=self._carry, args=(client, cut), daemon=True).start()

    def _carry(self, client: socket.socket, cut: Cut | None) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            _lose(client)
            return
        with client, server, suppress(OSError):
            passed, fresh = 0, True
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client and b"BEGIN" in data and not _commits(data):
                        self.begun += not fresh
                        if not fresh and cut is None and self.cuts:
                            cut, passed = self.cuts.popleft(), 0
                        fresh = False
                    to = server if source is client else client
                    if cut is not None and self._lost(cut, client, server, to, data, passed):
                        return
                    passed += len(data)
                    to.sendall(data)

    def _lost(
        self,
        cut: Cut,
        client: socket.socket,
        server: socket.socket,
        to: socket.socket,
        data: bytes,
        passed: int,
    ) -> bool:
        """Lose the connection if its moment has come."""
        if cut.kind == "bytes":
            if passed + len(data) < cut.at:
                return False
            to.sendall(data[: max(0, cut.at - passed)])
        elif to is not server or not _commits(data):
            return False
        self.made.append(cut)
        if cut.kind == "unanswered":
            server.sendall(data)
            server.recv(65536)
        _lose(client)
        if cut.kind == "late":
            time.sleep(0.3)
            server.sendall(data)
            server.recv(65536)
        _lose(server)
        return True


def _commits(data: bytes) -> bool:
    """Whether a message commits; READ COMMITTED, which one that begins may say, does not."""
    return re.search(rb"\bCOMMIT\b", data) is not None


def _lose(connection: socket.socket) -> None:
    """Close without a goodbye."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def _server() -> Iterator[PostgreSQL]:
    pytest.importorskip("psycopg", reason="psycopg, PostgreSQL's driver, is not installed")
    try:
        server = PostgreSQL()
    except NoServer as reason:
        pytest.skip(str(reason))
    try:
        try:
            server.start()
        except NoServer as reason:
            pytest.skip(str(reason))
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgreSQL]:
    """Give the server that the tests of this worker share."""
    yield from _server()


@pytest.fixture
def own_postgres() -> Iterator[PostgreSQL]:
    """Give a server that the test may stop, restart and break."""
    yield from _server()


@pytest.fixture
def postgres_url(postgres: PostgreSQL) -> Iterator[str]:
    """Give the URL of a new, empty database."""
    name = postgres.lend()
    yield postgres.url(name)
    postgres.take_back(name)

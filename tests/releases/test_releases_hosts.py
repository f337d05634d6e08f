"""Several hosts (processes with folders of their own) that release at once on one ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
import yaml
from sqlalchemy.engine import make_url

from discreet.guarantees import PureDP
from discreet.ledger import Amount, Ledger
from discreet.releases import load, outputs

HOSTS = 4


@pytest.fixture
def hosts(
    spec: dict[str, Any], people: pa.Table, postgres_url: str, tmp_path: Path
) -> tuple[Ledger, list[Path]]:
    """A ledger on a server, with room for three releases, and folders that have the same spec."""
    ledger = Ledger.open(postgres_url)
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(HOSTS - 1.0),
        approver="tester",
        reason="test",
    )
    folders = [tmp_path / f"host-{number}" for number in range(HOSTS)]
    for folder in folders:
        folder.mkdir()
        pyarrow.csv.write_csv(people, folder / "people.csv")
        said = spec | {"source": "people.csv", "ledger": postgres_url}
        (folder / "spec.yaml").write_text(yaml.safe_dump(said))
    return ledger, folders


# Hosts are forked from a process that has everything imported and has no threads yet: so they
# really meet, and imports are paid for once.
_HOSTS = """
import os, sys
import opendp.prelude, psycopg, pyarrow.parquet
import discreet.releases.engines.duckdb, discreet.releases.script
from discreet.cli import main

children = []
for folder in sys.argv[1].split(os.pathsep):
    children.append(os.fork())
    if children[-1] == 0:
        os.chdir(folder)
        for stream, name in ((1, "told"), (2, "errors")):
            os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY), stream)
        try:
            main(sys.argv[2:])
        except SystemExit as ended:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended.code or 0)
        finally:
            os._exit(70)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def at_once(folders: list[Path], *flags: str) -> list[tuple[int, str, str]]:
    """Release on every host at the same moment; return exit codes, outputs and errors."""
    release = ["release", "spec.yaml", "--json", *flags]
    ran = subprocess.run(
        [sys.executable, "-c", _HOSTS, os.pathsep.join(map(str, folders)), *release],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    told = [[(folder / name).read_text() for name in ("told", "errors")] for folder in folders]
    return [(code, *said) for code, said in zip(json.loads(ran.stdout), told, strict=True)]


@pytest.mark.slow
def test_hosts_at_once_use_up_the_cap_and_one_is_refused(
    hosts: tuple[Ledger, list[Path]], postgres_url: str
) -> None:
    ledger, folders = hosts
    found = at_once(folders, "--yes")
    assert sorted(code for code, _, _ in found) == [0] * (HOSTS - 1) + [3], found
    assert ledger.spent("people") == Amount.of(epsilon=HOSTS - 1.0)
    stored = {e.release_id: e.output_hash for e in ledger.entries("people") if e.kind == "commit"}
    shown = {p.name: outputs.hash_of(p) for f in folders for p in (f / "out").iterdir()}
    assert shown == stored
    assert ledger.verify().verified
    # The password of the ledger is in the spec alone.
    password = str(make_url(postgres_url).password)
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "spec.yaml":
                assert password.encode() not in path.read_bytes(), path.name
    assert all(password not in out + err for _, out, err in found)
    assert all(password not in json.dumps(dict(e.said)) for e in ledger.entries())


@pytest.mark.slow
def test_hosts_at_once_with_one_key_publish_one_release(
    hosts: tuple[Ledger, list[Path]],
) -> None:
    ledger, folders = hosts
    plan = ledger.register_plan(
        "people", [(PureDP(1.0), 2)], PureDP(2.0), purpose="two months", who="tester"
    )
    found = at_once(folders, "--plan", plan, "--next", "--key", "2026-01")
    # The others have nothing to publish, and are told where it is.
    assert sorted(code for code, _, _ in found) == [0] + [4] * (HOSTS - 1), found
    (name,) = {json.loads(out)["release_id"] for code, out, _ in found if code == 0}
    assert all(name in out for _, out, _ in found)
    shown = [p for folder in folders for p in (folder / "out").iterdir()]
    assert [path.name for path in shown] == [name]
    assert ledger.plan(plan).releases == {1: name}
    assert ledger.spent("people") == Amount.of(epsilon=2.0)


def test_the_hash_of_a_spec_does_not_depend_on_a_password(spec: dict[str, Any]) -> None:
    def hashed(**more: str) -> str:
        return load(spec | more, folder=".").hash

    bare = hashed(
        ledger="postgresql://host/db?sslmode=require", source="postgresql://host/d?table=t"
    )
    for secret in ("hunter2", "p%40ss:w"):
        for ledger, source in (
            (f"u:{secret}@host/db?sslmode=require", f"u:{secret}@host/d?table=t"),
            (f"host/db?password={secret}&sslmode=require", f"host/d?password={secret}&table=t"),
        ):
            assert hashed(ledger=f"postgresql://{ledger}", source=f"postgresql://{source}") == bare
    assert hashed(ledger="postgresql://host/other?sslmode=require") != bare

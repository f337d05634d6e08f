"""Files of a release: written where nobody looks, made durable, shown in one step.

`OUTPUT/RELEASE_ID/` either is not there or is whole and recorded. Everything is written to a hidden
folder, each file and the folder are synchronised to disk (`store`); then the ledger records their
hash; then the folder is renamed to its name (`publish`). So of two draws of one slot of a plan, the
one that the ledger refuses was never shown. `release.json` is the stored release: a report renders
it and never draws again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import InputError, InternalError
from discreet.releases.tables import Table

__all__ = [
    "FILES",
    "RELEASE",
    "STATEMENT",
    "all_or_nothing",
    "hash_of",
    "hash_together",
    "prepare",
    "publish",
    "store",
    "stored",
    "synchronise",
    "written",
]

RELEASE = "release.json"
STATEMENT = "statement.md"
FILES = ("table.csv", "table.parquet", RELEASE, STATEMENT)
_WHOLE = ".whole"


def prepare(output: Path) -> None:
    """Make the output folder, or refuse, before anything is charged."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the output folder {output} cannot be made: {error.strerror}.") from None
    if not os.access(output, os.W_OK | os.X_OK):
        raise InputError(f"the output folder {output} cannot be written to; check its permissions.")


def store(output: Path, release_id: str, write: Callable[[Path], None]) -> Path:
    """Let `write` fill a folder with the files of a release; return it whole, still hidden."""
    whole, hidden = output / f".{release_id}{_WHOLE}", output / f".{release_id}.tmp"
    with all_or_nothing(hidden, release_id):
        write(hidden)
        for name in FILES:
            synchronise(hidden / name)
        synchronise(hidden)
        hidden.rename(whole)
        synchronise(output)
    return whole


def written(said: Mapping[str, Any], table: Table, words: str) -> Callable[[Path], None]:
    """Return what writes a release of statistics: its table, what it says of itself, its words."""

    def write(folder: Path) -> None:
        import pyarrow.parquet as pq

        (folder / "table.csv").write_text(table.to_csv(), encoding="utf-8", newline="")
        pq.write_table(table.to_arrow(), folder / "table.parquet")
        (folder / RELEASE).write_text(_json(said), encoding="utf-8")
        (folder / STATEMENT).write_text(words, encoding="utf-8")

    return write


@contextmanager
def all_or_nothing(hidden: Path, release_id: str) -> Iterator[None]:
    """Make a folder to write in; whatever stops the writing, nothing half-written is left in it."""
    try:
        shutil.rmtree(hidden, ignore_errors=True)
        hidden.mkdir(parents=True)
        yield
    except OSError as error:
        shutil.rmtree(hidden, ignore_errors=True)
        raise InternalError(
            f"The files of release {release_id} could not be written to {hidden.parent}: "
            f"{error.strerror or type(error).__name__}. Nothing was released; its charge stays "
            "spent. Make room, and run the spec again."
        ) from None
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def stored(output: Path) -> dict[str, Path]:
    """Return the folders that are whole and not shown, by release."""
    return {
        path.name[1 : -len(_WHOLE)]: path
        for path in sorted(output.glob(f".*{_WHOLE}"))
        if (path / RELEASE).is_file()
    }


def publish(whole: Path) -> Path:
    """Show a folder that is stored and recorded; return where it is then."""
    final = whole.with_name(whole.name[1 : -len(_WHOLE)])
    try:
        whole.rename(final)
    except FileNotFoundError:
        if not final.is_dir():
            raise
        # Another run found it stored and recorded, and was first to show it.
    synchronise(final.parent)
    return final


def _json(said: Mapping[str, Any]) -> str:
    """Return the stored release as JSON, a line for each of its parts."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"
        for key, value in said.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def hash_of(folder: Path) -> str:
    """Return SHA-256 over the files of a release, by name."""
    hashes = {}
    for name in FILES:
        with (folder / name).open("rb") as file:
            hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hash_together(hashes)


def hash_together(hashes: Mapping[str, str]) -> str:
    """Return the one hash of a release, from those of its files, as the ledger keeps it."""
    together = hashlib.sha256()
    for name in sorted(hashes):
        together.update(name.encode() + b"\0" + bytes.fromhex(hashes[name]))
    return together.hexdigest()


def synchronise(path: Path) -> None:
    """Make a file or a folder durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

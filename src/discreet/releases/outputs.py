"""Files of a release: made in a private folder, recorded, and only then shown.

    work/ID/ (0700) ── hash ──> the ledger records it ── rename ──> OUTPUT/ID/

A draw that the ledger has not recorded lies where only its maker can read it, never in a folder
that is published or synchronised. What a run that was cut off left there is shown by the next run
if the ledger recorded exactly these files, and removed otherwise: nothing is drawn twice for one
charge. `release.json` is the stored release: a report renders it and never draws again.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, InputError, InternalError
from discreet.ledger.witness import private_folder
from discreet.releases.tables import Table, uncollected
from discreet.words import say as text

if TYPE_CHECKING:
    from discreet.ledger import Ledger

RELEASE = "release.json"
STATEMENT = "statement.md"
FILES = ("table.csv", "table.parquet", RELEASE, STATEMENT)
RECENT = timedelta(minutes=10)
"""So long another run may still be making a release that was charged."""
_TARGET, _LOCK, _FILES, _RECORDING, _ENDED = "target", "lock", "files", "recording", ".ended"
# What versions before 0.2 left in the output folder itself.
_OLD = re.compile(r"\.([0-9a-z]{26})\.(?:tmp|whole)")


def prepare(output: Path) -> None:
    """Make the output folder, or refuse, before anything is charged."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("charge.no_output", output=output, why=error.strerror) from None
    if not os.access(output, os.W_OK | os.X_OK):
        raise InputError("charge.closed_output", output=output)


@dataclass(frozen=True, slots=True)
class Work:
    """The private folder in which one release is made, and where its files are to be shown."""

    folder: Path
    output: Path

    @property
    def release_id(self) -> str:
        """The release that is made here."""
        return self.folder.name

    def store(self, write: Callable[[Path], None]) -> str:
        """Let `write` make the files; return their hash once they are durable."""
        files = self.folder / _FILES
        try:
            files.mkdir()
            write(files)
            for name in FILES:
                synchronise(files / name)
            synchronise(files)
            synchronise(self.folder)
            return hash_of(files)
        except OSError as error:
            raise _not_written(self.release_id, error) from None

    def recording(self) -> None:
        """Note that the ledger is asked to record the files: from here on it says what they are."""
        try:
            (self.folder / _RECORDING).touch()
        except OSError as error:
            raise _not_written(self.release_id, error) from None

    def ended(self) -> None:
        """Note that the run ended without files, so that no other waits for them."""
        if not (self.folder / _RECORDING).exists():
            _note_end(self.folder)

    def discard(self) -> None:
        """Remove files that the ledger refused."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def show(self) -> Path:
        """Move files that were recorded to the output folder; return where they are then."""
        files, final = self.folder / _FILES, self.output / self.release_id
        part = self.output / f".{self.release_id}.part"
        try:
            files.rename(final)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            # Another file system: copied under a hidden name first. It is the recorded draw.
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(files, part)
            for name in FILES:
                synchronise(part / name)
            part.rename(final)
            shutil.rmtree(files, ignore_errors=True)  # before what says where they were shown
        synchronise(self.output)
        shutil.rmtree(self.folder, ignore_errors=True)
        return final

    def intact(self, digest: str) -> bool:
        """Whether the files are plain files, these and no others, with that hash."""
        files = self.folder / _FILES
        if not stat.S_ISDIR(files.lstat().st_mode) or sorted(os.listdir(files)) != sorted(FILES):
            return False
        plain = all(stat.S_ISREG((files / name).lstat().st_mode) for name in FILES)
        return plain and hash_of(files) == digest


def _note_end(folder: Path) -> None:
    with suppress(OSError):
        folder.with_suffix(_ENDED).touch()


def has_ended(ledger_id: str, release_id: str | None) -> bool:
    """Whether a run on this host that charged a release ended without one."""
    return (private_folder("work", ledger_id) / f"{release_id}{_ENDED}").exists()


def is_kept(ledger_id: str, output: Path, release_id: str) -> bool:
    """Whether the files of a stored release are in the output folder, or the next run puts them."""
    left = private_folder("work", ledger_id) / release_id
    waits = (left / _FILES).exists() and _target(left) == output
    return waits or (output / release_id / RELEASE).is_file()


def _not_written(release_id: str, error: OSError) -> InternalError:
    why = error.strerror or type(error).__name__
    return InternalError("charge.not_written", release=release_id, why=why)


@contextmanager
def work(ledger_id: str, release_id: str, output: Path) -> Iterator[Work]:
    """Make the private folder of a release; files that the ledger was not told of go again."""
    base = private_folder("work", ledger_id)
    folder = base / release_id
    with ExitStack() as held:
        try:
            with _locked(base / _LOCK):  # so that no other run takes it for one that was left
                folder.mkdir(mode=0o700)
                held.enter_context(_locked(folder / _LOCK))
            (folder / _TARGET).symlink_to(output)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError("charge.no_work", folder=base, why=error.strerror) from None
        try:
            yield Work(folder, output)
        except DiscreetError:
            if not (folder / _RECORDING).exists():
                shutil.rmtree(folder, ignore_errors=True)
            raise
        except BaseException:  # cut off: the folder is left, so that the next run tells of it
            if not (folder / _RECORDING).exists():
                shutil.rmtree(folder / _FILES, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    with path.open("a") as lock:
        fcntl.flock(lock, how)
        yield


def recover(ledger: Ledger, output: Path, say: Callable[[str], None]) -> None:
    """Show what earlier runs recorded and did not show; remove what they did not record."""
    base = private_folder("work", ledger.id)
    with suppress(OSError), _locked(base / _LOCK):  # without room for a lock, the next run looks
        for path in sorted(base.iterdir()):
            if path.is_symlink():
                path.unlink()
            elif path.suffix == _ENDED:
                if time.time() - path.stat().st_mtime > RECENT.total_seconds():
                    path.unlink()
            elif path.is_dir():
                # A run that is still alive holds the lock of the folder in which it works.
                with suppress(OSError), _locked(path / _LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    _recovered(ledger, path, say)
    for path in output.glob(".*"):
        old = _OLD.fullmatch(path.name)
        if old and ledger.about(old[1]) and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


def _recovered(ledger: Ledger, folder: Path, say: Callable[[str], None]) -> None:
    entries = ledger.about(folder.name)
    recorded = next((entry.output_hash for entry in entries if entry.kind == "commit"), None)
    if entries and recorded is None:
        say(text("charge.lost", release=folder.name, at=entries[0].at[:19]))
        _note_end(folder)
    elif recorded is not None:
        made = Work(folder, _target(folder))
        if not (folder / _FILES).exists() or (made.output / folder.name).exists():
            pass  # it was shown before the run ended
        elif made.intact(recorded):
            made.show()
            say(text("charge.shown_now", release=folder.name, output=made.output))
        else:
            say(text("charge.not_as_recorded", release=folder.name))
    shutil.rmtree(folder, ignore_errors=True)


def _target(folder: Path) -> Path:
    try:
        return (folder / _TARGET).readlink()
    except OSError:
        return folder / "nowhere"


def written(said: Mapping[str, Any], table: Table, words: str) -> Callable[[Path], None]:
    """Return what writes a release of statistics: its table, what it says of itself, its words."""

    @uncollected()
    def write(folder: Path) -> None:
        import pyarrow.parquet as pq

        (folder / "table.csv").write_text(table.to_csv(), encoding="utf-8", newline="")
        pq.write_table(table.to_arrow(), folder / "table.parquet")
        (folder / RELEASE).write_text(_json(said), encoding="utf-8")
        (folder / STATEMENT).write_text(words, encoding="utf-8")

    return write


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

"""The private folders to which rows are spilled, and those that killed runs left.

Whoever works in a folder holds the lock of a file in it. A process that is killed lets go of it, so
the next one knows which folders nobody uses any more, and removes them with the rows in them.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from discreet.errors import DataError

_LOCK = "lock"
_OURS = re.compile(r"discreet-[0-9a-f]{16}")


class Spill:
    """A folder for this process alone, removed at its end, or else by a later process."""

    def __init__(self) -> None:
        home = tempfile.gettempdir()
        remove_abandoned(home)
        # Its name is known before it is there: a signal at any moment leaves nothing. It gets
        # the name by which others look for it once it is locked.
        self.path = Path(home, f"discreet-{secrets.token_hex(8)}")
        self._handle: int | None = None
        first = self.path.with_suffix(".new")
        try:
            first.mkdir(mode=0o700)
            self._handle = os.open(first / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            first.rename(self.path)
        except BaseException as fault:
            shutil.rmtree(first, ignore_errors=True)
            self.remove()
            if isinstance(fault, OSError):
                raise DataError("engines.no_spill", folder=home, why=fault.strerror) from None
            raise

    def remove(self) -> None:
        """Remove it with all that was spilled."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


@cache
def remove_abandoned(home: str) -> None:
    """Remove, once in a process, the folders of this user whose lock nobody holds."""
    with suppress(OSError), os.scandir(home) as there:
        for one in there:
            if _OURS.fullmatch(one.name) and not one.is_symlink():
                with suppress(OSError):
                    _remove_unless_locked(Path(one.path))


def _remove_unless_locked(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)  # without a lock it stays
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)

"""A folder of this user that nobody else can read: work in progress, and heads that were seen.

It is `$DISCREET_STATE`, else `$XDG_STATE_HOME/discreet`, else `~/.local/state/discreet`; where none
of these can be made, a folder of this user among the temporary files.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from discreet.errors import PolicyError

__all__ = ["private_folder"]


def private_folder(*names: str) -> Path:
    """Return a folder below the private one, made if need be; refuse one that others can open."""
    for place in _places():
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check(place)
            folder = place.joinpath(*names)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        return folder
    raise PolicyError("ledger.no_private_folder")


def _places() -> Iterator[Path]:
    own, state = os.environ.get("DISCREET_STATE"), os.environ.get("XDG_STATE_HOME")
    if own:
        yield Path(own).absolute()
        return
    if state and os.path.isabs(state):
        yield Path(state) / "discreet"
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        yield Path(home) / ".local" / "state" / "discreet"
    yield Path(tempfile.gettempdir()) / f"discreet-{os.getuid()}"


def _check(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PolicyError("ledger.private_folder_of_another", folder=folder)
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)

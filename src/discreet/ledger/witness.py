"""Heads that were seen: what shows that a ledger was restored from an old copy.

Each write leaves the new head in a small file outside the ledger: in this user's private folder,
and in the folder that `DISCREET_WITNESS` names, which may be shared with another host. Stored
releases carry the head at their charge. A head that was seen and is not in the chain any more means
that entries were lost, and charges with them; then nothing is charged until someone has answered
for it (`Ledger.restore`). A head names its ledger by the ledger's first hash, so that other
ledgers' heads are left alone.

The private folder is this user's, and nobody else can read it: heads, and work in progress. It is
`$DISCREET_STATE`, else `$XDG_STATE_HOME/discreet`, else `~/.local/state/discreet`; where none of
these can be made, a folder of this user among the temporary files.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.errors import PolicyError

LATEST = 5
"""So many of the newest stored releases of an output folder are looked at."""


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


def _folders() -> Iterator[Path]:
    shared = os.environ.get("DISCREET_WITNESS")
    if shared:
        yield Path(shared)
    yield private_folder("heads")


def seen(ledger_id: str) -> tuple[str, ...]:
    """Return the heads of a ledger that were left in the witness folders."""
    told = (_told(folder / f"{ledger_id}.json") for folder in _folders())
    return tuple(str(said["head"]) for said in told if "head" in said)


def _told(path: Path) -> dict[str, Any]:
    """Return what a file says; nothing of one that cannot be read: others may write there."""
    with suppress(OSError, ValueError, RecursionError):
        said = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        return said if isinstance(said, dict) else {}
    return {}


def leave(ledger_id: str, head: str, seq: int) -> None:
    """Leave the head of a ledger in every witness folder; where that fails, there is none."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = folder / f".{ledger_id}.{os.getpid()}"
            part.unlink(missing_ok=True)
            with part.open("x", encoding="utf-8") as file:  # follows no link that lies there
                file.write(json.dumps({"ledger_id": ledger_id, "head": head, "seq": seq}) + "\n")
            part.replace(folder / f"{ledger_id}.json")


def heads_in_releases(output: Path, ledger_id: str) -> tuple[str, ...]:
    """Return the heads that the newest releases in an output folder carry, of this ledger."""
    stored: list[Path] = [path for path in output.glob("*/release.json") if path.is_file()]
    told = map(_told, _newest(stored))
    return tuple(str(said.get("head")) for said in told if said.get("ledger_id") == ledger_id)


def _newest(paths: Iterable[Path]) -> list[Path]:
    def age(path: Path) -> float:
        with suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    return sorted(paths, key=age)[-LATEST:]

"""Heads that were seen: what shows that a ledger was restored from an old copy.

Each write leaves the new head in a small file outside the ledger: in this user's private folder,
and in the folder that `DISCREET_WITNESS` names, which may be shared with another host. The last
line of a file counts. In the private folder a line is added, since to replace a file is to wait for
the disk; where others may write, and perhaps over a network, the file is replaced. Stored
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
_FULL = 3500
"""A file of so many bytes is begun anew: a line within one page is never seen half written."""


def private_folder(*names: str) -> Path:
    """Return a folder below the private one, made if need be; refuse one that others can open."""
    for place in _places():
        try:
            folder = place.joinpath(*names)
            if not folder.is_dir():
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check(place)
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


def _folders() -> Iterator[tuple[Path, bool]]:
    """Yield the witness folders, and of each whether it is this user's alone."""
    shared = os.environ.get("DISCREET_WITNESS")
    if shared:
        yield Path(shared), False
    yield private_folder("heads"), True


def seen(ledger_id: str) -> tuple[str, ...]:
    """Return the heads of a ledger that were left in the witness folders."""
    told = (_told(folder / f"{ledger_id}.json", last=True) for folder, _ in _folders())
    return tuple(str(said["head"]) for said in told if "head" in said)


def _told(path: Path, *, last: bool = False) -> dict[str, Any]:
    """Return what a file, or its last line, says; nothing of one that cannot be read."""
    with suppress(OSError, ValueError, LookupError, RecursionError):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        said = json.loads(text.splitlines()[-1] if last else text)
        return said if isinstance(said, dict) else {}
    return {}


def leave(ledger_id: str, head: str, seq: int) -> None:
    """Leave the head of a ledger in every witness folder; where that fails, there is none."""
    told = json.dumps({"ledger_id": ledger_id, "head": head, "seq": seq})
    for folder, ours in _folders():
        with suppress(OSError):
            path = folder / f"{ledger_id}.json"
            if ours and path.is_file() and path.stat().st_size < _FULL:
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"\n{told}")  # whatever it ended with
                continue
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = folder / f".{ledger_id}.{os.getpid()}"
            part.unlink(missing_ok=True)
            with part.open("x", encoding="utf-8") as file:  # follows no link that lies there
                file.write(told)
            part.replace(path)


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

"""Heads that were seen: what shows that a ledger was restored from an old copy.

Each write leaves the new head in a small file outside the ledger: in this user's private folder,
and in the folder that `DISCREET_WITNESS` names, which may be shared with another host. Stored
releases carry the head at their charge. A head that was seen and is not in the chain any more means
that entries were lost, and charges with them; then nothing is charged until someone has answered
for it (`Ledger.restore`). A head names its ledger by the ledger's first hash, so that other
ledgers' heads are left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from discreet.ledger.private import private_folder

__all__ = ["heads_in_releases", "leave", "seen"]

LATEST = 5
"""So many of the newest stored releases of an output folder are looked at."""


def _folders() -> Iterator[Path]:
    shared = os.environ.get("DISCREET_WITNESS")
    if shared:
        yield Path(shared)
    yield private_folder("heads")


def seen(ledger_id: str) -> tuple[str, ...]:
    """Return the heads of a ledger that were left in the witness folders."""
    found = []
    for folder in _folders():
        with suppress(OSError, ValueError, KeyError, TypeError):
            text = (folder / f"{ledger_id}.json").read_text(encoding="utf-8")
            found.append(str(json.loads(text)["head"]))
    return tuple(found)


def leave(ledger_id: str, head: str, seq: int) -> None:
    """Leave the head of a ledger in every witness folder; where that fails, there is none."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = folder / f".{ledger_id}.{os.getpid()}"
            text = json.dumps({"ledger_id": ledger_id, "head": head, "seq": seq})
            part.write_text(text + "\n", encoding="utf-8")
            part.replace(folder / f"{ledger_id}.json")


def heads_in_releases(output: Path, ledger_id: str) -> tuple[str, ...]:
    """Return the heads that the newest releases in an output folder carry, of this ledger."""
    stored: list[Path] = [path for path in output.glob("*/release.json") if path.is_file()]
    found = []
    for path in _newest(stored):
        with suppress(OSError, ValueError, AttributeError):
            said = json.loads(path.read_text(encoding="utf-8"))
            if said.get("ledger_id") == ledger_id:
                found.append(str(said.get("head")))
    return tuple(found)


def _newest(paths: Iterable[Path]) -> list[Path]:
    def age(path: Path) -> float:
        with suppress(OSError):
            return path.stat().st_mtime
        return 0.0

    return sorted(paths, key=age)[-LATEST:]

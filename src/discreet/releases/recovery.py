"""What an earlier run left behind, and a key that was used before.

A run may be cut off anywhere. Files that are whole are recorded and shown by the next run, unless
another draw of the same slot was recorded meanwhile: then they are removed, unseen. A reservation
without files is told as what it is, spent. A key whose release is stored finds that release again:
the same release id, the same files, nothing drawn and nothing charged.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import DataError, PolicyError
from discreet.ledger import Entry, Ledger, Slot
from discreet.releases import outputs
from discreet.releases.confirmation import Say

__all__ = ["LOOKED_BACK", "Repeat", "charged_for", "recover", "repeat_of"]

LOOKED_BACK = 1_000
"""So many entries of an account are looked at for releases that were cut off; older ones were told
by every run since, and `discreet ledger show` lists them all."""


def recover(ledger: Ledger, account: str, output: Path, say: Say) -> None:
    """Finish what a crash left: record and show whole files, say what was spent for nothing."""
    for name, whole in outputs.stored(output).items():
        charged = ledger.about(name)
        if not charged:
            continue  # of another ledger
        if _drawn_again(ledger, charged[0]):
            shutil.rmtree(whole, ignore_errors=True)
            say(f"Release {name} was cut off, and its slot was drawn again since; it is removed.")
            continue
        try:
            digest = outputs.hash_of(whole)
        except FileNotFoundError:
            continue  # it was not cut off: the run that makes it was about to show it, and has
        ledger.commit(name, digest)
        outputs.publish(whole)
        say(f"Release {name} was cut off after its files were stored; recorded now, and shown.")
    for entry in ledger.unfinished(account, latest=LOOKED_BACK):
        say(
            f"Release {entry.release_id} was charged on {entry.at[:19]} and has no files here; it "
            "was cut off, or is still being made. Its charge stays spent."
        )


@contextmanager
def charged_for(left: str) -> Iterator[None]:
    """Tell with a fault of the data, found after the charge, what is left of that charge."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{error} Nothing was released; {left}.") from None


def _drawn_again(ledger: Ledger, taken: Entry) -> bool:
    """Whether another draw of the same slot was recorded."""
    if taken.plan_id is None or taken.slot is None:
        return False
    recorded = ledger.plan(taken.plan_id).releases.get(taken.slot)
    return recorded not in (None, taken.release_id)


@dataclass(frozen=True, slots=True)
class Repeat:
    """A release of a plan that was made before, under the same key: nothing new was drawn."""

    release_id: str
    key: str
    slot: int
    spent: dict[str, Any]
    remaining: dict[str, Any]
    files: tuple[Path, ...]
    statement: Path | None
    head: str
    described: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the release as JSON-ready values, with `repeated`."""
        return {
            "release_id": self.release_id,
            "repeated": True,
            "key": self.key,
            "slot": self.slot,
            "spent": self.spent,
            "remaining": self.remaining,
            "files": [str(path) for path in self.files],
            "statement": None if self.statement is None else str(self.statement),
            "head": self.head,
            **self.described,
        }

    def __repr__(self) -> str:
        return f"Repeat({self.release_id!r}, key {self.key!r}, slot {self.slot})"


def repeat_of(
    ledger: Ledger,
    slot: Slot,
    key: str,
    output: Path,
    *,
    spec_hash: str,
    spent: dict[str, Any],
    remaining: dict[str, Any],
) -> Repeat:
    """Return the release that a key stands for; refuse a key that stands for something else."""
    if slot.entry.said.get("spec_hash") != spec_hash:
        raise PolicyError(
            f"Key {key!r} of plan {slot.plan_id} was used for another spec, released as "
            f"{slot.release_id}; give another release a key of its own."
        )
    where = output / slot.release_id
    files: tuple[Path, ...] = ()
    described: dict[str, Any] = {}
    # Made on another host, or into another folder, its files are not here.
    if (where / outputs.RELEASE).is_file():
        if outputs.hash_of(where) != slot.output_hash:
            raise PolicyError(
                f"The files of release {slot.release_id} are not those that were recorded; look "
                "who changed them, and restore them from a copy."
            )
        files = tuple(sorted(where.iterdir()))
        stored = json.loads((where / outputs.RELEASE).read_text(encoding="utf-8"))
        spent, described = stored["spent"], stored["plan"]
    return Repeat(
        release_id=slot.release_id,
        key=key,
        slot=slot.number,
        spent=spent,
        remaining=remaining,
        files=files,
        statement=where / outputs.STATEMENT if files else None,
        head=ledger.head,
        described=described,
    )

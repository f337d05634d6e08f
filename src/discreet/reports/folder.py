"""`report`: one folder that anyone can open, send and check.

Into `OUTPUT/RELEASE_ID/report/` go `report.html`, `participant.html`, `statement.json`,
`statement.md`, `registry.yaml`, `evidence.json` (the chain of the account's entries), `released/`
(the files of the release, byte for byte), `verify.py`, which needs nothing but Python, and
`manifest.json`, which names every other file with its size and hash. The ledger gets an entry with
the manifest's hash, where it can be written. Made again from the same ledger, every file comes out
the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.ledger.entries import canonical
from discreet.releases.outputs import FILES
from discreet.reports.facts import Statement, statement, text_of_json
from discreet.reports.page import page
from discreet.reports.participant import participant_page
from discreet.reports.pictures import pictures
from discreet.reports.sentences import series_text
from discreet.reports.stored import Stored, find
from discreet.reports.written import markdown, registry_yaml

__all__ = ["FOLDER", "Report", "report"]

FOLDER = "report"


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written: its files, the statement that it renders, its place in the ledger.

    `entry` is the number of the entry that holds its manifest's hash; None if none could be added.
    """

    release_id: str
    folder: Path
    files: tuple[Path, ...]
    statement: Statement
    manifest: str
    entry: int | None

    @property
    def html(self) -> Path:
        """The page to open."""
        return self.folder / "report.html"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready values."""
        return {
            "release_id": self.release_id,
            "report": str(self.html),
            "files": [str(path) for path in self.files],
            "manifest": self.manifest,
            "entry": self.entry,
            "statement": self.statement.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Report({self.release_id!r}, {self.html})"


def report(
    release_id: str,
    *,
    ledger: str | None = None,
    output: str | Path | None = None,
    note: str | None = None,
) -> Report:
    """Write the report of a stored release; find it by its ledger or its output folder.

    `note` is shown on the page; it changes nothing else.
    """
    from discreet import __version__

    stored = find(release_id, ledger=ledger, output=output)
    stated = statement(stored)
    evidence = {"format": 2, "head": stored.head, "chain": stored.evidence()}
    shown = page(
        stated,
        pictures(stated),
        version=__version__,
        series=_series(stored, stated),
        note=note,
    )
    texts = {
        "report.html": shown,
        "participant.html": participant_page(stated),
        "statement.json": text_of_json(stated.facts),
        "statement.md": markdown(stated),
        "registry.yaml": registry_yaml(stated),
        "evidence.json": text_of_json(evidence),
        "verify.py": (Path(__file__).parent / "verifier.py").read_text(encoding="utf-8"),
    }
    files = {name: text.encode() for name, text in texts.items()}
    files |= {f"released/{name}": (stored.folder / name).read_bytes() for name in FILES}
    files["manifest.json"] = manifest = _manifest(files)
    written = _write(stored.folder / FOLDER, files)
    digest = hashlib.sha256(manifest).hexdigest()
    return Report(
        release_id, stored.folder / FOLDER, written, stated, digest, _recorded(stored, digest)
    )


def _manifest(files: Mapping[str, bytes]) -> bytes:
    """Return the canonical bytes that name every file, its size and its hash."""
    named = [
        {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in sorted(files.items())
    ]
    return canonical({"files": named, "format": 1}).encode()


def _recorded(stored: Stored, manifest: str) -> int | None:
    """Add the hash of a manifest to the ledger; None where it may only be read."""
    from sqlalchemy.exc import DBAPIError

    try:
        return stored.ledger.record_report(stored.account, stored.release_id, manifest).seq
    except (DiscreetError, DBAPIError):
        return None


def _series(stored: Stored, stated: Statement) -> str | None:
    """Return where a series stands, if the spec says that this release is one of several."""
    from discreet.beliefs import explain

    planned = stored.said.get("spec", {}).get("series")
    cost = stored.entry.cost
    if planned is None or cost is None or stated.risk is None:
        return None
    total = int(planned["releases"])
    same = [e for e in stored.charges if e.said.get("spec_hash") == stored.said["spec_hash"]]
    k = 1 + [entry.seq for entry in same].index(stored.entry.seq)
    left = total - len(same)
    if left < 0 or k > total:
        return None
    now = stated.risk.headline
    end = stored.account.spent if not left else stored.account.spent.plus(cost.times(left))
    promised = stored.account.promise(end)
    at_end = explain(promised, now.prior, confidence=min(now.holds_with, 0.999999), unit=now.unit)
    return series_text(now, at_end, k, total)


def _write(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write each file beside its place and move it there, so that none is ever half written."""
    try:
        (folder / "released").mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            path = folder / name
            beside = path.with_name(f".{path.name}.tmp")
            try:
                beside.write_bytes(data)
                os.replace(beside, path)
            finally:
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            "reports.folder.unwritable", folder=folder, reason=error.strerror
        ) from None
    return tuple(folder / name for name in sorted(files))

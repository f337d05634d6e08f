"""`report`: one folder that anyone can open, send and check, of a release or of an account.

Into `OUTPUT/RELEASE_ID/report/` go `report.html`, `participant.html`, `statement.json`,
`statement.md`, `registry.yaml`, `evidence.json` (the chain of the account's entries), `released/`
(the files of the release, byte for byte), `verify.py`, which needs nothing but Python, and
`manifest.json`, which names every other file with its size and hash. The ledger gets an entry with
the manifest's hash, where it can be written. Made again from the same ledger, every file comes out
the same. The report of an account has no released files, record and participant's page.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.ledger.entries import canonical, digest
from discreet.releases.outputs import FILES
from discreet.reports.facts import Statement, account_statement, statement, text_of_json
from discreet.reports.page import page, pictures
from discreet.reports.participant import Ahead, ahead, participant_page
from discreet.reports.stored import Books, books_of, find, ledger_folder
from discreet.reports.written import markdown, registry_yaml, slug

FOLDER = "report"


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written: its files, the statement that it renders, its place in the ledger.

    `entry` is the number of the entry that holds its manifest's hash; None if none could be added.
    """

    account: str
    release_id: str | None
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
            "account": self.account,
            "release_id": self.release_id,
            "report": str(self.html),
            "files": [str(path) for path in self.files],
            "manifest": self.manifest,
            "entry": self.entry,
            "statement": self.statement.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Report({self.release_id or self.account!r}, {self.html})"


def report(
    release_id: str | None = None,
    *,
    account: str | None = None,
    ledger: str | None = None,
    output: str | Path | None = None,
    note: str | None = None,
) -> Report:
    """Write the report of a stored release; find it by its ledger or its output folder.

    With an `account` instead, write the report of everything charged to it, into a folder below
    `output`, or beside the ledger. `note` is shown on the page; it changes nothing else.
    """
    if (release_id is None) == (account is None) or (account is not None and ledger is None):
        raise InputError("reports.folder.of_what")
    if account is not None and ledger is not None:
        books = books_of(account, ledger)
        # Other ledgers in the same folder may have an account of that name.
        name = f"account-{slug(account)}-{digest(f'{books.ledger.id} {account}')[:8]}"
        base = Path(output).resolve() if output is not None else ledger_folder(ledger)
        return _reported(books, account_statement(books), base / name, {}, ahead(books), note)
    stored = find(str(release_id), ledger=ledger, output=output)
    stated, later = statement(stored), ahead(stored)
    more = {
        "participant.html": participant_page(stated, later).encode(),
        "registry.yaml": registry_yaml(stated).encode(),
    }
    more |= {f"released/{name}": (stored.folder / name).read_bytes() for name in FILES}
    return _reported(stored, stated, stored.folder / FOLDER, more, later, note)


def _reported(
    books: Books,
    stated: Statement,
    folder: Path,
    more: Mapping[str, bytes],
    later: Ahead,
    note: str | None,
) -> Report:
    """Write the files that every report has, and those of its own; record its manifest."""
    from discreet import __version__

    evidence = {"format": 2, "head": books.head, "chain": books.evidence()}
    told = "" if stated.learned is None else later.told(stated.learned)
    how: dict[str, Any] = {"later": told, "final": later.final, "note": note}
    shown = page(stated, pictures(stated), version=__version__, **how)
    texts = {
        "report.html": shown,
        "statement.json": text_of_json(stated.facts),
        "statement.md": markdown(stated, told),
        "evidence.json": text_of_json(evidence),
        "verify.py": (Path(__file__).parent / "verifier.py").read_text(encoding="utf-8"),
    }
    files = {name: text.encode() for name, text in texts.items()} | dict(more)
    files["manifest.json"] = manifest = _manifest(files)
    written = _write(folder, files)
    found = hashlib.sha256(manifest).hexdigest()
    entry = _recorded(books, found)
    return Report(books.account.name, books.release_id, folder, written, stated, found, entry)


def _manifest(files: Mapping[str, bytes]) -> bytes:
    """Return the canonical bytes that name every file, its size and its hash."""
    named = [
        {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in sorted(files.items())
    ]
    return canonical({"files": named, "format": 1}).encode()


def _recorded(stored: Books, manifest: str) -> int | None:
    """Add the hash of a manifest to the ledger; None where it may only be read."""
    from sqlalchemy.exc import DBAPIError

    try:
        return stored.ledger.record_report(stored.account, stored.release_id, manifest).seq
    except (DiscreetError, DBAPIError):
        return None


def _write(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write each file beside its place and move it there, so that none is ever half written.

    Someone else may be able to write to the folder: no link that lies there is followed.
    """
    try:
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.parent.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            beside = path.with_name(f".{path.name}.tmp")
            beside.unlink(missing_ok=True)
            try:
                with beside.open("xb") as file:
                    file.write(data)
                os.replace(beside, path)
            finally:
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            "reports.folder.unwritable", folder=folder, reason=error.strerror
        ) from None
    return tuple(folder / name for name in sorted(files))

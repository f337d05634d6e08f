"""`report`: one file that anyone can open, the statement in three forms, and the means to check it.

Into `OUTPUT/RELEASE_ID/report/` go `report.html`, `statement.json`, `statement.md`,
`registry.yaml`, `evidence.json` (the chain of the account's entries, and the hashes of the other
files) and `verify.py`, which needs nothing but Python. The released files stay as they are; made
again from the same ledger, every file comes out the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.explanations.markdown import markdown
from discreet.explanations.page import page
from discreet.explanations.pictures import pictures
from discreet.explanations.registry import registry_yaml
from discreet.explanations.statements import Statement, statement
from discreet.explanations.stored import Stored, find
from discreet.explanations.topics import series_text

__all__ = ["FOLDER", "Report", "report"]

FOLDER = "report"
EVIDENCE = "evidence.json"
VERIFY = "verify.py"


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written: its files, and the statement that it renders."""

    release_id: str
    folder: Path
    files: tuple[Path, ...]
    statement: Statement

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
    shown = page(
        stated,
        pictures(stated),
        version=__version__,
        series=_series(stored, stated),
        note=note,
    )
    texts = {
        "report.html": shown,
        "statement.json": stated.to_json(),
        "statement.md": markdown(stated),
        "registry.yaml": registry_yaml(stated),
        VERIFY: (Path(__file__).parent / "verifier.py").read_text(encoding="utf-8"),
    }
    texts[EVIDENCE] = _evidence(stored, texts)
    folder = stored.folder / FOLDER
    files = _write(folder, texts)
    return Report(release_id, folder, files, stated)


def _evidence(stored: Stored, texts: Mapping[str, str]) -> str:
    """Return the chain as text: entries of this account in full, of others their hashes alone."""
    from discreet.ledger.entries import canonical

    mine = (None, stored.account.name)
    chain = [
        {
            "seq": entry.seq,
            "hash": entry.hash,
            "body": canonical(dict(entry.said)) if entry.account in mine else None,
        }
        for entry in stored.chain
    ]
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    said = {"format": 1, "head": stored.head, "chain": chain, "report": hashes}
    return json.dumps(said, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


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


def _write(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write each file beside its place and move it there, so that none is ever half written."""
    try:
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            beside = folder / f".{name}.tmp"
            try:
                beside.write_text(text, encoding="utf-8", newline="")
                os.replace(beside, folder / name)
            finally:
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"the report cannot be written to {folder}: {error.strerror}.") from None
    return tuple(folder / name for name in sorted(texts))

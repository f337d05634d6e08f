"""An account as the ledger has it, and a stored release of it: what reports are made from.

Nothing is drawn and nothing is read but `release.json`, the hashes of the files beside it, and the
ledger. Files that do not match the hash that was committed are refused: what they say is not what
was released.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.ledger.entries import canonical, checked_id
from discreet.ledger.witness import released_below
from discreet.reading import json_values
from discreet.releases.outputs import FILES, RELEASE, hash_together
from discreet.reports import verifier

if TYPE_CHECKING:
    from discreet.guarantees import Guarantee
    from discreet.ledger import Account, Entry, Ledger

_PREFIX = "sqlite:///"
_CHARGES = ("reserve", "charge", "plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """An account as it stands now, its entries, and the whole chain that they are in.

    `said` is what the release says that it is about; nothing, if it is about the account.
    """

    account: Account
    entries: tuple[Entry, ...]
    chain: tuple[Entry, ...]
    ledger: Ledger
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The hash of the last entry that it is about."""
        return self.chain[-1].hash

    @property
    def release_id(self) -> str | None:
        """The name of the release that it is about."""
        return self.said.get("release_id")

    @property
    def charges(self) -> tuple[Entry, ...]:
        """The entries that cost something."""
        return tuple(entry for entry in self.entries if entry.kind in _CHARGES)

    @property
    def synthetic(self) -> bool:
        """Whether it is a synthetic file, and not a table."""
        return self.said.get("kind") == "synthetic"

    @property
    def promised(self) -> bool:
        """Whether a promise goes with it: a file chosen by looking at the data has none."""
        return self.said.get("guarantee") != "none"

    @property
    def unpromised(self) -> bool:
        """Whether the account also paid for a file that promises nothing: no bound covers it."""
        return not all(entry.guaranteed for entry in self.charges)

    def evidence(self) -> list[dict[str, Any]]:
        """Return the chain: entries of this account in full, of others their hashes alone."""
        mine = (None, self.account.name)
        return [
            {
                "seq": entry.seq,
                "hash": entry.hash,
                "body": canonical(dict(entry.said)) if entry.account in mine else None,
            }
            for entry in self.chain
        ]

    def walked(self) -> verifier.Chain:
        """Return the chain as the verifier reads it; the ledger was verified before."""
        chain = verifier.Chain(self.account.name, self.release_id)
        deque(chain.check(self.evidence()), maxlen=0)
        return chain

    def total(self) -> Guarantee:
        """Return what everything charged to the account so far promises together."""
        return self.account.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Books):
    """A release as it was stored, with its account as it stands now."""

    folder: Path
    hashes: Mapping[str, str]
    output_hash: str
    entry: Entry


def find(release_id: str, *, ledger: str | None = None, output: str | Path | None = None) -> Stored:
    """Find a release by its ledger, by its output folder, or both, and read it.

    By the ledger alone, its files are looked for beside the ledger and below; by the output alone,
    the ledger is the one that the stored spec names. Its own folder may be given instead of its id.
    """
    folder = given_folder(release_id) if output is None else None
    if folder is None and ledger is None and output is None:
        raise InputError("reports.stored.nowhere", release_id=release_id)
    folder = folder or _folder(checked_id(release_id), ledger, output)
    return stored_release(folder, ledger or _ledger_of(read_release(folder), folder))


def given_folder(release: str) -> Path | None:
    """Return the folder of a release, if one is given; None for an id."""
    folder = Path(release)
    if (folder / RELEASE).is_file():
        return folder.resolve()
    try:
        checked_id(release)
    except InputError:
        raise InputError("reports.stored.no_release", release=release) from None
    if folder.is_dir():
        raise InputError("reports.stored.no_release", release=release)
    return None


def stored_release(folder: Path, ledger_url: str) -> Stored:
    """Read a release from its folder and its ledger; refuse what was changed after it was made."""
    said = read_release(folder)
    books = books_of(str(said["account"]), ledger_url)
    mine = [entry for entry in books.entries if entry.release_id == said["release_id"]]
    commits = [entry for entry in mine if entry.kind == "commit"]
    taken = [entry for entry in mine if entry.kind in ("reserve", "slot")]
    if not taken:
        raise PolicyError(
            "reports.stored.not_reserved", release_id=said["release_id"], ledger=books.ledger.url
        )
    if not commits:
        raise PolicyError("reports.stored.not_committed", release_id=said["release_id"])
    hashes = {name: _hash(folder / name) for name in FILES}
    together = hash_together(hashes)
    if together != commits[0].output_hash:
        raise PolicyError(
            "reports.stored.other_files",
            release_id=said["release_id"],
            found=together,
            committed=commits[0].output_hash,
        )
    of_account = {name: getattr(books, name) for name in ("account", "entries", "chain", "ledger")}
    return Stored(
        **of_account,
        said=said,
        folder=folder,
        hashes=hashes,
        output_hash=together,
        entry=taken[0],
    )


def books_of(account: str, ledger_url: str) -> Books:
    """Read an account from its ledger, which is verified first."""
    from discreet.ledger import Ledger

    ledger = Ledger.open(ledger_url)
    found = ledger.verify()
    if found.lost:
        raise PolicyError("ledger.behind", url=ledger.url, head=found.lost[0])
    if found.problems:
        problem = found.problems[0]
        raise PolicyError("reports.stored.ledger_altered", ledger=ledger.url, problem=problem)
    sheet, chain = ledger.show(account), list(ledger.entries())
    # Reports at the end change nothing that is stated. Entries of other accounts after the last
    # of this one are not shown, so that their hash, as a head, would vouch for nothing.
    while chain[-1].kind == "report" or chain[-1].account not in (None, account):
        chain.pop()
    return Books(account=sheet.account, entries=sheet.entries, chain=tuple(chain), ledger=ledger)


def ledger_rows(url: str) -> list[tuple[int, str, str]]:
    """Return number, text and hash of every entry of a ledger, in a file or on a server.

    One that lacks a head which was seen is refused, as when it is charged.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from discreet.ledger import Ledger

    in_file = url.startswith(_PREFIX) or "://" not in url
    ledger = Ledger.open(url if "://" in url else f"{_PREFIX}{url}")
    rows = verifier.sqlite_rows(url) if in_file else []  # as it is, even where it was altered
    try:
        lost = ledger.lost()
        rows = rows or [(one.seq, canonical(dict(one.said)), one.hash) for one in ledger.entries()]
    except (DiscreetError, SQLAlchemyError) as fault:
        if not in_file:
            raise ValueError(str(fault).split("\n")[0]) from None
        lost = []
    if lost:
        raise PolicyError("ledger.behind", url=ledger.url, head=lost[0])
    return rows


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        raise InputError("reports.stored.file_unreadable", path=path) from None


def read_release(folder: Path) -> dict[str, Any]:
    """Return what a release says of itself, as it lies in its folder."""
    path = folder / "release.json"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError("reports.stored.no_release_at", path=path) from None
    said = json_values(text, str(path))
    if not isinstance(said, dict) or not {"release_id", "account", "spent"} <= said.keys():
        raise InputError("reports.stored.not_a_release", path=path)
    return said


def _folder(release_id: str, ledger: str | None, output: str | Path | None) -> Path:
    if output is not None:
        folder = Path(output).resolve() / release_id
        if not (folder / "release.json").is_file():
            raise InputError(
                "reports.stored.not_in_output", release_id=release_id, folder=folder.parent
            )
        return folder
    base = ledger_folder(str(ledger), "reports.stored.ledger_on_server")
    for found in released_below(base, release_id):
        return found
    raise InputError("reports.stored.not_below", release_id=release_id, folder=base)


def ledger_folder(url: str, otherwise: str = "reports.folder.where") -> Path:
    """Return the folder that a ledger lies in; refuse one on a server, by the name of an error."""
    if not url.startswith(_PREFIX):
        raise InputError(otherwise)
    return Path(url.removeprefix(_PREFIX)).resolve().parent


def _ledger_of(said: Mapping[str, Any], folder: Path) -> str:
    """Return the ledger that a stored spec names, relative to the spec's folder."""
    spec = said.get("spec")
    url, output = (
        (spec.get("ledger"), spec.get("output")) if isinstance(spec, dict) else (None,) * 2
    )
    if not isinstance(url, str) or not isinstance(output, str):
        raise InputError("reports.stored.ledger_unknown", release_id=said["release_id"])
    if not url.startswith(_PREFIX) or Path(url.removeprefix(_PREFIX)).is_absolute():
        return str(url)
    # OUTPUT is the folder above; the spec lies as many steps above it as its output has.
    base = folder.parent
    for part in reversed(Path(output).parts):
        if base.name != part:
            raise InputError("reports.stored.ledger_unclear", release_id=said["release_id"])
        base = base.parent
    return _PREFIX + str((base / url.removeprefix(_PREFIX)).resolve())

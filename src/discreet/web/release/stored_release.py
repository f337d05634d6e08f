"""A stored release as the page shows it, and its downloads. Nothing is ever drawn here.

The files are compared with the hash that the ledger committed before anything of them is shown or
sent. The report is rendered from them on request. Its folder is checked as a whole, so it is sent
as a whole, as one archive; asked for again, it is the same one, and the ledger records it once.

`table.csv` is the exact bytes that were committed; beside it the page offers a workbook, and a copy
in the encoding and with the line ends that spreadsheets expect. No text of any is a formula.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.releases.tables import RESERVED, STATISTIC, evenly
from discreet.web.release.confirmations import spec_name
from discreet.web.release.spec_form import written
from discreet.web.workfolder import Workfolder
from discreet.words import has, say

SHOWN = 200
BARRED = 40
_SIGNS = {
    "table-for-spreadsheets.csv": (",", "."),
    "table-with-semicolons.csv": (";", ","),
}
_STORED = {
    "table.csv": "text/csv",
    "table.parquet": "application/vnd.apache.parquet",
    "statement.md": "text/markdown",
    "release.json": "application/json",
}
_REPORT = {
    "report.zip": "application/zip",
    "report.html": "text/html",
    "participant.html": "text/html",
    "registry.yaml": "application/yaml",
}
DOWNLOADS = {
    **_STORED,
    **_REPORT,
    **dict.fromkeys(_SIGNS, "text/csv"),
    "spec.yaml": "application/yaml",
    "table.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A stored release: what it says, and whether its files are those that were committed."""

    folder: Path
    said: Mapping[str, Any]
    problem: str | None
    spec: str
    ledger: str | None = None
    """The ledger of a release whose stored spec does not name it."""

    @property
    def release_id(self) -> str:
        """Its name."""
        return str(self.said["release_id"])

    def only_bounds(self) -> list[str]:
        """Say of which of its values no more is known than their bounds."""
        from discreet.releases.sheets import tells_nothing

        return tells_nothing(self.said)

    def sections(self) -> list[Section]:
        """Return its table by statistic: a pivot where it has two groups, and a chart."""
        table: Mapping[str, list[Any]] = self.said.get("table") or {}
        if self.said.get("kind") == "synthetic":
            return [self._records()]
        names = list(dict.fromkeys(table.get(STATISTIC, ())))
        shown = evenly(table) if names else {}
        return [_section(shown, name, self._said_of(name)) for name in names]

    def _records(self) -> Section:
        """Return the first records of a synthetic file."""
        with (self.folder / "table.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = islice(csv.reader(file), SHOWN + 1)
        law = self.said["synthesizer"]
        size = int(law["n_synthetic"]) * int(law["copies"])
        title = say("web.made.synthetic")
        return Section(title, title, header, len(header), rows, size, [])

    def _said_of(self, name: str) -> str:
        """Return what a statistic is, in words: its kind, what it is of, its groups."""
        from discreet.releases.statistics.base import KINDS, kind_of

        entries = (self.said.get("spec") or {}).get("statistics") or []
        for place, entry in enumerate(entries, start=1):
            kind = kind_of(entry)
            own = entry.get("name")
            unnamed = own is None and re.fullmatch(f"{kind}_.*_{place}", name, re.DOTALL)
            if kind is None or not (own == name or unnamed):
                continue
            what = entry[kind] if isinstance(entry[kind], str) else ""
            words = f"{KINDS[kind].label()} {what}".strip().replace("_", " ")
            by = ", ".join(entry.get("by") or ())
            if not by and (columns := KINDS[kind].keyed_by(entry)):
                return " × ".join(columns).replace("_", " ")
            return say("web.made.by", what=words, by=by.replace("_", " ")) if by else words
        return name


@dataclass(frozen=True, slots=True)
class Section:
    """The values of one statistic: a table of texts, and rows for a chart with intervals."""

    name: str
    title: str
    header: list[str]
    labels: int
    """How many of the first columns are names, not figures."""
    rows: list[list[str]]
    size: int
    chart: list[dict[str, Any]]


def _section(table: Mapping[str, Sequence[Any]], name: str, title: str) -> Section:
    places = [i for i, one in enumerate(table[STATISTIC]) if one == name]
    groups = [
        column
        for column in table
        if column not in RESERVED and any(table[column][i] is not None for i in places)
    ]
    plain = [c for c in table if c in RESERVED and c != STATISTIC]
    plain = [c for c in plain if any(table[c][i] not in (None, "") for i in places)]
    # What is to be published stands first, where it is not the value itself.
    plain.sort(key=lambda column: not column.startswith("published"))
    bars = _PUBLISHED if "published" in plain else _BARS
    keys = [tuple(str(table[c][i] or "") for c in groups) for i in places]
    chart = [
        {"cell": " · ".join(key) or title, **dict(zip(_BAR, values, strict=True))}
        for key, i in zip(keys, places, strict=True)
        if None not in (values := [_float(table[c][i]) if c in table else None for c in bars])
    ]
    if len(groups) == 2 and len(set(keys)) == len(keys) and len({k[1] for k in keys}) <= _WIDE:
        across = list(dict.fromkeys(key[1] for key in keys))
        cells = {key: _spanned(table, i, bars) for key, i in zip(keys, places, strict=True)}
        down = dict.fromkeys(key[0] for key in keys)
        rows = [[one, *(cells.get((one, other), "") for other in across)] for one in down]
        header = [_readable(groups[0]), *across]
        return Section(name, title, header, 1, rows[:SHOWN], len(rows), chart)
    rows = [
        [*key, *(_figure(table[c][i]) for c in plain)] for key, i in zip(keys, places, strict=True)
    ]
    header = [_readable(column) for column in (*groups, *plain)]
    return Section(name, title, header, len(groups), rows[:SHOWN], len(rows), chart)


_BAR = ("value", "low", "high")
_BARS = ("value", "interval_low", "interval_high")
_PUBLISHED = ("published", "published_low", "published_high")
_WIDE = 12


def _float(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None


def _figure(text: object) -> str:
    """Return a printed number with its thousands apart; any other text as it is.

    >>> _figure("1234567.50"), _figure("-12"), _figure(None), _figure("[0, 5)")
    ('1,234,567.50', '-12', '', '[0, 5)')
    """
    if text is None or _float(text) is None:
        return "" if text is None else str(text)
    return f"{Decimal(str(text)):,f}"


def _spanned(table: Mapping[str, Sequence[Any]], place: int, bars: Sequence[str]) -> str:
    value, low, high = (_figure(table[c][place]) if c in table else "" for c in bars)
    return f"{value} ({low} – {high})" if low and high else value


def _readable(column: str) -> str:
    known = f"web.made.column_{column}"
    return say(known) if has(known) else column.replace("_", " ")


def find_stored(folder: Workfolder, release_id: str) -> StoredRelease:
    """Return a release stored in the working folder, checked against its ledger."""
    from discreet.ledger.entries import checked_id
    from discreet.reports.stored import find, read_release

    name = checked_id(release_id)
    place = _place(folder, name)
    problem = ledger = None
    said: Mapping[str, Any] = {"release_id": name}
    try:
        ledger = _ledger(folder, read_release(place))
        said = find(name, output=place.parent, ledger=ledger).said
    except DiscreetError as error:
        problem = str(error)
    return StoredRelease(place, said, problem, _spec_text(folder, said), ledger)


def _ledger(folder: Workfolder, said: Mapping[str, Any]) -> str | None:
    """Return the ledger of a synthetic file, which says its id alone: one that a spec names."""
    from discreet.ledger import Ledger

    if said.get("kind") != "synthetic":
        return None
    for spec in folder.specs().values():
        with suppress(DiscreetError):
            url = folder.ledger_url(str(spec.get("ledger")))
            if Ledger.open(url).id == said.get("ledger_id"):
                return url
    return None


def _place(folder: Workfolder, name: str) -> Path:
    """Return the folder of a release, at most three levels below the working folder."""
    for depth in ("", "*/", "*/*/", "*/*/*/"):
        for path in sorted(folder.root.glob(f"{depth}{name}/release.json")):
            inside = folder.inside(str(path.parent.relative_to(folder.root)), "release")
            if inside.is_dir():
                return inside
    raise InputError("web.made.unknown", name=name)


def _spec_text(folder: Workfolder, said: Mapping[str, Any]) -> str:
    """Return the spec that a release was made from; a stored release leaves out the source."""
    kept = folder.root / spec_name(str(said.get("spec_hash", "")))
    if said.get("spec_hash") and kept.is_file():
        return folder.spec_text(kept.name)
    spec = said.get("spec")
    if not isinstance(spec, dict):
        return ""
    return say("web.made.add_source") + "\n" + written(spec)


def download(made: StoredRelease, name: str) -> bytes:
    """Return the bytes of one of the files of a release."""
    if made.problem is not None:
        raise InputError(made.problem)
    if name == "spec.yaml":
        return made.spec.encode()
    if name in _STORED:
        return (made.folder / name).read_bytes()
    if name in _REPORT:
        from discreet.reports import report

        written = report(made.release_id, output=made.folder.parent, ledger=made.ledger)
        if name == "report.zip":
            return packed(written.folder, written.files)
        return bytes((written.folder / name).read_bytes())
    if name not in DOWNLOADS or "table" not in made.said:
        raise InputError("web.made.no_file", name=name[:80])
    from discreet.releases import sheets

    if name == "table.xlsx":
        return sheets.release_workbook(made.said)
    return sheets.spreadsheet_csv(sheets.tidy(made.said), *_SIGNS[name])


def packed(folder: Path, files: Iterable[Path]) -> bytes:
    """Return files of a folder as one archive: of the same files, always the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            inside = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix())  # made in 1980
            inside.compress_type, inside.create_system = zipfile.ZIP_DEFLATED, 3
            inside.external_attr = 0o100644 << 16
            archive.writestr(inside, path.read_bytes())
    return out.getvalue()

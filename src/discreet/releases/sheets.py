"""A stored release as tables that people open: wide, for spreadsheets, a workbook with notes.

`release.json` is read and nothing else. Texts of the spec's `labels` stand for statistics, columns
and keys; a column may have labels of its own for its keys. In CSV no text is a formula
(`tables.harmless`), and in a workbook every text is an inline string, which no program computes.
What stands for a number must be one: whoever wrote the folder could have put a formula there.

The workbook is the least that the format (ECMA-376) asks for, written with the standard library:
numbers as numbers, the header and totals in bold, the header in sight while one scrolls. The same
release gives the same bytes.

The numbers of a statistic are shown with as many decimals each (`tables.evenly`); cells of a
workbook hold them as they were released. An interval that is the whole of its bounds
tells nothing, and every form of the table says so.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from discreet.errors import DiscreetError, InputError
from discreet.guarantees import amount
from discreet.reading import number_text
from discreet.releases.statistics.margins import ALL
from discreet.releases.tables import AT, NUMERIC, STATISTIC, csv_text, evenly, is_shares
from discreet.statements.presenter import cut_lines
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.spec import Spec

_MOST_ROWS, _MOST_COLUMNS, _DIGITS = 2**20 - 1, 2**14, 15
_SHARE = re.compile(r"0\.[0-9]{1,15}")
_NOTE = ""  # the column that says which intervals tell nothing; no column of data has this name


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table to be shown: texts as they are, numbers as released; `texts` columns come first."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    texts: int
    intervals: tuple[tuple[str | None, ...], ...] = ()
    """What each number of a wide table may be, beside `rows`."""
    even: tuple[tuple[str | None, ...], ...] = ()
    """The rows with numbers as they are shown; without them, as in `rows`."""
    shares: frozenset[int] = frozenset()
    """Columns whose texts, or whose name, may be shares of quantiles: numbers where no label is."""

    @property
    def shown(self) -> tuple[tuple[str | None, ...], ...]:
        """The rows as a person reads them."""
        return self.even or self.rows

    def is_total(self, row: Sequence[str | None]) -> bool:
        """Whether a row is a total over some column."""
        return ALL in row[: self.texts]

    def is_number(self, place: int, text: str | None, *, header: bool = False) -> bool:
        """Whether a cell is a number: behind the texts, or a share that has no label."""
        if not header and place >= self.texts:
            return True
        return place in self.shares and _SHARE.fullmatch(text or "") is not None


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts that stand for names and keys of a stored release: its `labels`."""

    labels: Mapping[str, Any]

    def name(self, name: str) -> str:
        """Return what a statistic or a column is called."""
        found = self.labels.get(name, name)
        return found if isinstance(found, str) else found.get("name") or name

    def key(self, column: str, key: str) -> str:
        """Return what a key of a column is called: by its column, or by the key alone."""
        own = self.labels.get(column)
        if isinstance(own, Mapping) and key in (own.get("keys") or {}):
            return str(own["keys"][key])
        return self.name(key)

    def text(self, column: str, text: str | None) -> str | None:
        """Return what stands for a text of the table."""
        if not text:
            return text
        return self.name(text) if column == STATISTIC else self.key(column, text)


def texts_of(said: Mapping[str, Any]) -> Texts:
    """Return the texts that stand for names and keys of a stored release."""
    return Texts(said.get("spec", {}).get("labels") or {})


_Stored: TypeAlias = Mapping[str, Sequence[str | None]]


def _table(said: Mapping[str, Any], statistic: str | None = None) -> _Stored:
    """Return the stored table, or the part of one statistic; raise ValueError for no number."""
    table: _Stored = said["table"]
    for name in NUMERIC:
        for text in set(table.get(name, ())):
            if text is not None:
                number_text(text)
    nothing = [None if known is None else say("sheets.nothing") for known in _whole_bounds(said)]
    if any(nothing):
        texts = {name: column for name, column in table.items() if name not in NUMERIC}
        table = {**texts, _NOTE: nothing, **table}
    if statistic is None:
        return table
    names = table[STATISTIC]
    if statistic not in names:
        known = ", ".join(str(name) for name in dict.fromkeys(names))
        raise InputError("sheets.no_statistic", statistic=statistic, statistics=known)
    return _only(table, [name == statistic for name in names])


def _only(table: _Stored, kept: Sequence[bool]) -> _Stored:
    """Return some rows, with the columns of groups that they have."""
    found = {name: list(compress(values, kept)) for name, values in table.items()}
    always = {STATISTIC, *NUMERIC}
    return {n: own for n, own in found.items() if n in always or any(v is not None for v in own)}


def _whole_bounds(said: Mapping[str, Any]) -> list[object]:
    """Return of each row whether its interval tells nothing."""
    from discreet.releases.planning import whole_bounds

    return _of_stored(said, whole_bounds)


def tells_nothing(said: Mapping[str, Any]) -> list[str]:
    """Say which values of a stored release have all of their bounds as interval."""
    from discreet.releases.planning import only_bounds

    return _of_stored(said, only_bounds)


def beyond_limits(said: Mapping[str, Any], statistic: str | None = None) -> list[str]:
    """Say in a line that only so many rows of a unit count in a stored release, where some may not.

    The limits are the largest of all statistics, or those of one.
    """
    bounds = (said.get("plan") or {}).get("contributions", {})
    shown = bounds.values() if statistic is None else filter(None, [bounds.get(statistic)])
    losing = [one for one in shown if one.get("left_out")]
    if not losing:
        return []
    of = {one["left_out"]["of"] for one in losing}
    most = {name: max(one[name] for one in losing) for name in ("rows", "groups")}
    how = "units" if not of & {"rows", "groups"} else "groups" if "groups" in of else "rows"
    return [say(f"sheets.beyond_{how}", unit=said["unit_name"], **most)]


def _of_stored(said: Mapping[str, Any], ask: Callable[[Spec, Any], Iterable[Any]]) -> list[Any]:
    """Ask a question of the spec and table of a stored release; nothing if it is not read."""
    from discreet.releases.spec import load

    with suppress(DiscreetError, KeyError):  # a spec of a version before; a table of no intervals
        return [*ask(load(said["spec"]), said["table"])]
    return []


def tidy(said: Mapping[str, Any], statistic: str | None = None) -> Sheet:
    """Return the table as it is stored, a row for each number; or that of one statistic."""
    table, labels = _table(said, statistic), texts_of(said)
    rows, even = (
        tuple(
            zip(
                *(
                    column if name in NUMERIC else [labels.text(name, v) for v in column]
                    for name, column in shown.items()
                ),
                strict=True,
            )
        )
        for shown in (table, evenly(table))
    )
    texts = sum(name not in NUMERIC for name in table)
    header = tuple(_headed(name, labels) for name in table)
    shares = _places(table) if is_shares(table.get(AT, ())) else frozenset()
    return Sheet(say("sheets.table"), header, rows, texts, even=even, shares=shares)


def _places(names: Iterable[str | None]) -> frozenset[int]:
    """Return where the column of shares is among columns."""
    return frozenset(place for place, name in enumerate(names) if name == AT)


def _headed(name: str, labels: Texts) -> str:
    return say("sheets.note") if name == _NOTE else labels.name(name)


def wide(said: Mapping[str, Any], across: str | None = None, statistic: str | None = None) -> Sheet:
    """Return the values with the keys of one column side by side; by default the last that varies.

    Rows without such a key have their value in a column of its own. A number that has a twin is
    shown by it (the column `published`). Shares of quantiles are no groups: they stand side by side
    only if there is nothing else. What was cut is left out, since the notes tell it.
    """
    table, labels = _table(said, statistic), texts_of(said)
    if statistic is None:
        cut = {row["name"] for row in said.get("cut") or ()}
        table = _only(table, [name not in cut for name in table[STATISTIC]])
    groups = [name for name in table if name not in (STATISTIC, _NOTE, *NUMERIC)]
    if across is None:
        varying = [name for name in reversed(groups) if len(set(table[name])) > 1]
        across = next((name for name in varying if name != AT), AT if varying else None)
    elif across not in groups:
        raise InputError("sheets.no_column", column=across, columns=", ".join(groups) or "-")
    left = [name for name in (STATISTIC, *groups) if name != across]
    found: dict[tuple[str | None, ...], dict[str | None, int]] = {}
    size = len(table[STATISTIC])
    places = table[across] if across is not None else [None] * size
    for at in range(size):
        key = tuple(table[name][at] for name in left)
        found.setdefault(key, {})[places[at]] = at
    keys = sorted(dict.fromkeys(places), key=lambda key: key is None)  # None comes last
    named = [say("sheets.value") if key is None else labels.key(str(across), key) for key in keys]
    held = [[own.get(key) for key in keys] for own in found.values()]
    texts = [[*map(labels.text, left, key)] for key in found]
    header = [*map(labels.name, left)]
    if note := table.get(_NOTE):
        header.append(say("sheets.note"))
        for row, own in zip(texts, held, strict=True):
            empty = [n for n, at in zip(named, own, strict=True) if at is not None and note[at]]
            told = "nothing" if across is None else "nothing_of"
            row.append(say(f"sheets.{told}", keys=", ".join(empty)) if empty else None)
    even = evenly(table)
    rows, shown = (
        tuple(
            (*row, *(_shown(printed, n) for n in own)) for row, own in zip(texts, held, strict=True)
        )
        for printed in (table, even)
    )
    ends = tuple(tuple(_interval(even, n) for n in own) for own in held)
    shares: frozenset[int] = frozenset()
    if is_shares(table.get(AT, ())):
        width = len(header)
        shares = frozenset(range(width, width + len(keys))) if across == AT else _places(left)
    return Sheet(say("sheets.wide"), (*header, *named), rows, len(header), ends, shown, shares)


def _shown(table: Mapping[str, Any], at: int | None) -> str | None:
    """The number of a row: its twin where it has one."""
    if at is None:
        return None
    twin = table["published"][at] if "published" in table else None
    found: str | None = table["value"][at] if twin is None else twin
    return found


def _interval(table: Mapping[str, Any], at: int | None) -> str | None:
    """The interval of a row's number, in words: that of its twin where it has one."""
    for value, ends in (("published", "published"), ("value", "interval")):
        columns = [table.get(name) for name in (value, f"{ends}_low", f"{ends}_high")]
        found = [None if at is None or column is None else column[at] for column in columns]
        if None not in found:
            return say("sheets.interval", low=found[1], high=found[2])
    return None


def release_workbook(
    said: Mapping[str, Any], across: str | None = None, statistic: str | None = None
) -> bytes:
    """Return a release as a workbook: the table as stored, the wide one if it fits, and notes."""
    pivoted = wide(said, across, statistic)
    fits = across is not None or len(pivoted.header) <= _MOST_COLUMNS
    return workbook([tidy(said, statistic), *([pivoted] if fits else []), notes(said)])


def notes(said: Mapping[str, Any]) -> Sheet:
    """Return what a reader has to know beside the numbers."""
    nothing = say("release_statement.nothing")
    lines = [
        ("sheets.about.purpose", said["purpose"]),
        ("sheets.about.release", said["release_id"]),
        ("sheets.about.made", said["made"]),
        ("sheets.about.unit", said["unit_name"]),
        ("sheets.about.spent", amount(said["spent"], "up", nothing)),
        ("sheets.about.intervals", say("sheets.intervals", interval=said["interval"])),
        *(("sheets.about.nothing", line) for line in tells_nothing(said)),
        *(("sheets.about.cut", line) for line in cut_lines(said)),
    ]
    labels = texts_of(said)
    rows = [(say(name), str(text)) for name, text in lines]
    rows += [(labels.name(name), text) for name, text in said["explanations"].items()]
    return Sheet(say("sheets.notes"), (say("sheets.what"), say("sheets.text")), tuple(rows), 2)


def spreadsheet_csv(sheet: Sheet, separator: str = ",", decimal: str = ".") -> bytes:
    """Return a sheet as CSV for spreadsheets: marked as UTF-8, lines ended by CRLF.

    A wide table has its numbers as they are shown, the long one as they were released.
    """
    separator = "\t" if separator == "tab" else separator
    if separator not in (",", ";", "\t") or decimal not in (".", ",") or separator == decimal:
        raise InputError("sheets.signs", separator=separator, decimal=decimal)

    def signed(row: Sequence[str | None], *, header: bool = False) -> list[str | None]:
        return [
            text and text.replace(".", decimal)
            if sheet.is_number(place, text, header=header)
            else text
            for place, text in enumerate(row)
        ]

    rows = map(signed, sheet.shown if sheet.intervals else sheet.rows)
    columns = list(zip(*rows, strict=True))
    header = [name or "" for name in signed(sheet.header, header=True)]
    text = csv_text(header, columns, sheet.texts, "\r\n", separator)
    return text.encode("utf-8-sig")


# ---------------------------------------------------------------------- the workbook

_SPREAD = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKED = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MOST_DECIMALS, _OWN_FORMATS = 30, 163
# Style 0 is plain, 1 is bold; 2 n and 2 n + 1 are, too, with n decimals.
_STYLES = (
    f'{_HEAD}<styleSheet xmlns="{_SPREAD}"><numFmts count="{_MOST_DECIMALS}">'
    + "".join(
        f'<numFmt numFmtId="{_OWN_FORMATS + n}" formatCode="0.{"0" * n}"/>'
        for n in range(1, _MOST_DECIMALS + 1)
    )
    + '</numFmts><fonts count="2"><font><sz val="11"/>'
    '<name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill '
    'patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs '
    'count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    f'<cellXfs count="{2 * _MOST_DECIMALS + 2}">'
    + "".join(
        f'<xf numFmtId="{n and _OWN_FORMATS + n}" fontId="{bold}" fillId="0" borderId="0" '
        'xfId="0" applyNumberFormat="1" applyFont="1"/>'
        for n in range(_MOST_DECIMALS + 1)
        for bold in (0, 1)
    )
    + "</cellXfs></styleSheet>"
)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


def workbook(sheets: Sequence[Sheet]) -> bytes:
    """Return sheets as an XLSX file."""
    for sheet in sheets:
        if len(sheet.rows) > _MOST_ROWS:
            raise InputError("sheets.many_rows", rows=len(sheet.rows), most=_MOST_ROWS)
        if len(sheet.header) > _MOST_COLUMNS:
            raise InputError("sheets.many_columns", columns=len(sheet.header), most=_MOST_COLUMNS)
    numbers = range(1, len(sheets) + 1)
    parts = {
        "[Content_Types].xml": _types(numbers),
        "_rels/.rels": _links({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": _book(sheets),
        "xl/_rels/workbook.xml.rels": _links(
            {f"rId{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in numbers}
            | {"rId0": ("styles", "styles.xml")}
        ),
        "xl/styles.xml": _STYLES,
    }
    parts |= {
        f"xl/worksheets/sheet{n}.xml": "".join(_sheet(sheet))
        for n, sheet in zip(numbers, sheets, strict=True)
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            inside = zipfile.ZipInfo(name)  # made in 1980: the same bytes each time
            inside.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(inside, text.encode())
    return out.getvalue()


def _types(numbers: Sequence[int]) -> str:
    named = {"/xl/workbook.xml": "sheet.main", "/xl/styles.xml": "styles"}
    named |= {f"/xl/worksheets/sheet{n}.xml": "worksheet" for n in numbers}
    parts = "".join(
        f'<Override PartName="{part}" ContentType="{_KIND}.{kind}+xml"/>'
        for part, kind in named.items()
    )
    links = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'{_HEAD}<Types xmlns="{_PACKED}/content-types"><Default Extension="rels" '
        f'ContentType="{links}"/><Default Extension="xml" ContentType="application/xml"/>'
        f"{parts}</Types>"
    )


def _links(links: Mapping[str, tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="{name}" Type="{_LINKS}/{kind}" Target="{target}"/>'
        for name, (kind, target) in links.items()
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKED}/relationships">{listed}</Relationships>'


def _book(sheets: Sequence[Sheet]) -> str:
    listed = "".join(
        f'<sheet name={quoteattr(sheet.name[:31])} sheetId="{n}" r:id="rId{n}"/>'
        for n, sheet in enumerate(sheets, start=1)
    )
    start = f'<workbook xmlns="{_SPREAD}" xmlns:r="{_LINKS}"><sheets>'
    return f"{_HEAD}{start}{listed}</sheets></workbook>"


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield f'{_HEAD}<worksheet xmlns="{_SPREAD}"><sheetViews><sheetView workbookViewId="0">'
    yield '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    yield "</sheetView></sheetViews><cols>"
    for place in range(len(sheet.header)):
        longest = max((len(row[place] or "") for row in (sheet.header, *sheet.shown)), default=0)
        width = min(max(longest + 2, 8), 60)
        yield f'<col min="{place + 1}" max="{place + 1}" width="{width}" customWidth="1"/>'
    yield "</cols><sheetData>"
    yield _row(1, sheet.header, sheet.header, [False] * len(sheet.header), bold=True)
    for number, (row, shown) in enumerate(zip(sheet.rows, sheet.shown, strict=True), start=2):
        numbers = [sheet.is_number(place, text) for place, text in enumerate(row)]
        yield _row(number, row, shown, numbers, bold=sheet.is_total(row))
    yield "</sheetData></worksheet>"


def _row(
    number: int,
    row: Sequence[str | None],
    even: Sequence[str | None],
    numbers: Sequence[bool],
    *,
    bold: bool,
) -> str:
    cells = "".join(
        _cell(f"{_letters(place)}{number}", value, shown, not numbers[place], bold)
        for place, (value, shown) in enumerate(zip(row, even, strict=True))
        if value is not None and shown is not None
    )
    return f'<row r="{number}">{cells}</row>'


def _cell(where: str, value: str, shown: str, is_text: bool, bold: bool) -> str:
    # A program has 15 digits of a number; one that is shown with more stays a text, with all.
    decimals = 0 if is_text else min(len(shown.partition(".")[2]), _MOST_DECIMALS)
    style = f' s="{2 * decimals + bold}"' if decimals or bold else ""
    for number in () if is_text else (value, shown):
        if sum(map(str.isdigit, number)) <= _DIGITS:
            return f'<c r="{where}"{style}><v>{number}</v></c>'
    text = escape(_ESCAPED.sub("_x005F_", _NOT_XML.sub("\ufffd", value)))
    kept = f'<is><t xml:space="preserve">{text}</t></is>'
    return f'<c r="{where}"{style} t="inlineStr">{kept}</c>'


def _letters(place: int) -> str:
    """The name of a column: A, …, Z, AA, …"""
    name = ""
    while place >= 0:
        name, place = chr(ord("A") + place % 26) + name, place // 26 - 1
    return name

"""How DuckDB reads a file: CSV line by line, Parquet (also a folder), a table of a DuckDB file.

CSV. A line is a row, whatever is in it: so a row cannot take others with it, as a quotation mark
that is never closed does for readers that let a field go on in the next line. A line is cut at its
delimiters; a field in quotation marks may hold delimiters, and a quotation mark written twice. A
line with a quotation mark elsewhere, with more or fewer fields than the header, longer than 2 MB,
or not in its encoding, is left out. Every value is a text; the empty one, quoted or not, is a null.
DuckDB reads UTF-8 by itself. In other encodings it fails on a file with one byte that they lack, so
those are decoded here, where every byte means something.

Parquet. Files may hold moments that no calendar has. DuckDB fails on some of them, so those are
read as the whole numbers that they are stored as, and what is out of range is a null.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from discreet.errors import DataError, SpecError
from discreet.releases.engines import is_csv
from discreet.releases.engines.base import named, quoted
from discreet.releases.engines.in_memory import PER_SECOND, occurs
from discreet.releases.source import Source
from discreet.words import say

PARQUET = (".parquet", ".pq")
ATTACHED = "_attached"
"""What a DuckDB file is called once it is attached."""
_LONGEST_HEADER = 2**20
# Bytes of a CSV file that a thread holds. By itself DuckDB takes eight times as many, and several,
# which leaves no memory to the sort under a low limit.
_BUFFER = 2**22
_OTHER_SIGNS = {";": "semicolon", "\t": "tab", "|": "bar"}
_GIVEN = "_file"
_LONGEST_LINE = 2_000_000
_CHUNK = 2**18
# A compressed text is taken to be so many times as long as its file.
_COMPRESSED = 4
# Latin-1 is read as Windows-1252, as browsers do: what it has more is no text in Latin-1. The five
# bytes that neither has stay the control characters that they are in Latin-1.
_LETTERS = "".join(bytes([n]).decode("cp1252", "ignore") or chr(n) for n in range(256))
# Microseconds, or whatever a moment counts, up to which DuckDB can take every one.
_MOST = 9_200_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Relation:
    """A query that reads a source, and what it needs before the engine is locked.

    Where a file is attached, the query follows from the tables that it has.
    """

    query: str
    path: Path
    attach: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    table: str | None = None
    untyped: frozenset[str] | None = None
    """The columns that have no type of their own; None for all."""
    bytes: int | None = None
    """The size of a file whose rows cannot be counted without reading all of it."""

    def rows_about(self) -> int:
        """Return about how many rows such a file has, by its first lines: ask after the charge."""
        with pa.input_stream(str(self.path), compression=_compression(self.path)) as file:
            head = file.read(_CHUNK)
        size = (self.bytes or 0) * (_COMPRESSED if _compression(self.path) else 1)
        return size * int(head.count(b"\n")) // max(len(head), 1) + 1


def relation(
    source: str, path: Path, options: Source, mentioned: Mapping[str, Any] | None
) -> Relation:
    """Return how a source is read; `mentioned` is the spec, if only its columns are needed."""
    if source.startswith("duckdb:///"):
        table = table_of(source)
        if not table:
            raise SpecError("engines.duckdb.table_missing", source=source)
        _require(source, path.is_file(), path)
        attach = f"attach {quoted(str(path))} as {ATTACHED} (read_only)"
        return Relation("", path, attach, table=table, untyped=frozenset())
    if "://" in source:
        raise SpecError("engines.duckdb.no_url", source=source)
    if is_csv(source):
        _require(source, path.is_file(), path)
        return _csv(path, options)
    if options.of_a_file:
        raise SpecError("engines.no_options", source=source)
    if path.is_dir():
        return _folder(source, path, mentioned)
    if path.name.lower().endswith(PARQUET):
        _require(source, path.is_file(), path)
        return _parquet(path, mentioned)
    spec = Path(source).suffix.lower() in (".yaml", ".yml", ".json")
    raise SpecError("engines.duckdb.spec" if spec else "engines.duckdb.suffix", source=source)


def table_of(source: str) -> str:
    """Return the table that the URL of a DuckDB file names, or an empty text."""
    given = parse_qsl(source.partition("?")[2], keep_blank_values=True)
    for name, _ in given:
        if name != "table":
            raise SpecError("engines.duckdb.parameter", source=source, name=name)
    if len(given) > 1:
        raise SpecError("engines.duckdb.table_twice", source=source)
    return given[0][1] if given else ""


def _require(source: str, there: bool, path: Path) -> None:
    if not there:
        same = source == str(path)
        raise SpecError(f"engines.no_file{'_there' * same}", source=source, path=path)


# ---------------------------------------------------------------------- CSV


def _csv(path: Path, options: Source) -> Relation:
    """Read a CSV as text: the header names the columns, and nothing is guessed from the rows.

    No line of the file but the header is looked at before the charge. No name in the header is
    told: a file without one begins with a person.
    """
    header, lines = _header(path, options)
    sign = quoted(options.delimiter)
    decoded = {} if options.encoding == "utf-8" else {_GIVEN: _Decoded(path, options, lines)}
    if decoded:
        found = f"select unnest(string_split(lines, chr(10))) as line from {_GIVEN}"  # noqa: S608
        fits = f"line <> '' and length(line) <= {_LONGEST_LINE} and not contains(line, chr(65533))"
        line = f"(select line from ({found}) where {fits})"  # noqa: S608
    else:
        # A sign that separates nothing: a line is one column.
        line = (
            f"read_csv({quoted(str(path))}, auto_detect=false, header=false, skip={lines}, "
            f"delim='\x1f', quote='', escape='', ignore_errors=true, strict_mode=false, "
            f"compression='{_compression(path) or 'none'}', buffer_size={_BUFFER}, "
            "columns={'line': 'VARCHAR'})"
        )
    cut = _pattern(options.delimiter)
    cell = f'(?:"(?:[^"]|"")*"|[^"{cut}]*)'
    cells = (
        f"case when not contains(line, '\"') then string_split(line, {sign}) "
        f"when regexp_full_match(line, {quoted(f'{cell}(?:{cut}{cell})*')}) then "
        "[case when starts_with(one, '\"') then replace(one[2:-2], '\"\"', '\"') else one end "
        f"for one in regexp_extract_all({sign} || line, {quoted(f'{cut}({cell})')}, 1)] end"
    )
    nothing = ", ".join(quoted(text) for text in ("", *options.nulls))
    columns = ", ".join(
        f"case when cells[{place}] not in ({nothing}) then cells[{place}] end as {named(name)}"
        for place, name in enumerate(header, start=1)
    )
    return Relation(
        f"select {columns} from (select {cells} as cells from {line}) "  # noqa: S608
        f"where len(cells) = {len(header)}",
        path,
        given=decoded,
        bytes=path.stat().st_size,
    )


@dataclass(frozen=True, slots=True)
class _Decoded:
    """The lines of a file below its header, many in each text; read anew for each query."""

    path: Path
    options: Source
    skip: int

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        schema = pa.schema([("lines", pa.large_string())])
        batches = (pa.record_batch([[text]], schema) for text in self._texts())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return reader.__arrow_c_stream__(requested_schema)

    def _texts(self) -> Iterator[str]:
        decoder = io.IncrementalNewlineDecoder(_decoder(self.options.encoding), translate=True)
        rest, skip = "", self.skip
        with pa.input_stream(str(self.path), compression=_compression(self.path)) as file:
            while chunk := file.read(_CHUNK):
                lines = (rest + decoder.decode(chunk)).split("\n")
                # What is too long already need not be kept whole to be left out.
                rest = lines.pop()[: _LONGEST_LINE + 1]
                yield "\n".join(lines[skip:])
                skip = max(skip - len(lines), 0)
        if not skip:
            yield rest + decoder.decode(b"", final=True)


def _pattern(sign: str) -> str:
    """Return a sign as a regular expression, also inside brackets."""
    return sign if sign.isspace() or not sign.isascii() else f"\\{sign}"


def _header(path: Path, options: Source) -> tuple[list[str], int]:
    """Return the names of the columns, and how many lines they take."""
    try:
        text = first_line(path, options.encoding)
        if "\ufffd" in text or "\0" in text:
            raise UnicodeError
        read = csv.reader(io.StringIO(text, newline=""), delimiter=options.delimiter, strict=True)
        header = next(read, [])
    except OSError as error:
        raise DataError("engines.duckdb.unreadable", reason=error.strerror or "") from None
    except (UnicodeError, csv.Error, pa.ArrowException):
        raise DataError("engines.duckdb.header_csv", encoding=options.encoding.upper()) from None
    if not header:
        raise DataError("engines.duckdb.header_empty")
    sign = _other_sign(header)
    if sign is not None:
        words = {"sign": say(f"engines.signs.{_OTHER_SIGNS[sign]}"), "delimiter": repr(sign)}
        raise DataError("engines.duckdb.separator", **words)
    # The engine does not tell names apart by case.
    if len({name.lower() for name in header}) != len(header) or "" in header:
        raise DataError("engines.duckdb.header_names")
    return header, 1 + sum(text.replace("\r\n", "\n").count(end) for end in "\r\n")


def _other_sign(header: list[str]) -> str | None:
    """Return the sign that seems to part the columns, where the one that was named does not."""
    return next((s for s in _OTHER_SIGNS if s in header[0]), None) if len(header) == 1 else None


def written_as(path: Path, options: Source) -> Source:
    """Return a CSV source with the sign and encoding that its header line shows.

    No other line is read. Where semicolons part the columns, the decimal mark is usually a comma,
    and a point stands between thousands. A name that is not in UTF-8 is in an encoding of one byte
    a letter, or begins with the mark of UTF-16.
    """
    line = first_line(path, options.encoding)
    if options.encoding == "utf-8" and "\ufffd" in line:
        wide = line.startswith("\ufffd\ufffd")
        options = options.model_copy(update={"encoding": "utf-16" if wide else "windows-1252"})
        line = first_line(path, options.encoding)
    header = next(csv.reader(io.StringIO(line, newline=""), delimiter=options.delimiter), [])
    sign = _other_sign(header)
    if sign is None:
        return options
    return options.model_copy(
        update={"delimiter": sign} | ({"decimal": ",", "thousands": "."} if sign == ";" else {})
    )


def public_rows(path: Path, options: Source) -> list[list[str]]:
    """Return the rows of a public CSV file, the header first.

    Of protected data a line that does not fit is left out in silence, since a refusal would tell of
    it. Of public data it is refused, by its number.
    """
    with pa.input_stream(str(path), compression=_compression(path)) as file:
        written = file.read()
    try:
        decoder = _decoder(options.encoding)
        decoder.errors = "strict"
        text = decoder.decode(written, final=True)
    except UnicodeDecodeError as error:
        line = written[: error.start].count(b"\n") + 1
        said = {"file": path.name, "line": line, "encoding": options.encoding.upper()}
        raise SpecError("releases.public.encoding", **said) from None
    rows: list[list[str]] = []
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        try:
            row = next(csv.reader([line], delimiter=options.delimiter, strict=True), [])
        except csv.Error:
            row = ["", *(rows[0] if rows else ())]
        if rows and row and len(row) != len(rows[0]):
            said = {"file": path.name, "line": number, "delimiter": options.delimiter}
            raise SpecError("releases.public.line", columns=len(rows[0]), **said)
        rows += [row] if row else []
    return rows or [[]]


def shows_encoding(path: Path) -> bool:
    """Whether a file itself shows how its letters are written: a header of ASCII does not."""
    return not is_csv(path.name) or not first_line(path, "latin-1").isascii()


def first_line(path: Path, encoding: str) -> str:
    """Return the first line of a file, line ends in quotation marks apart."""
    # What is wrong below the first line is no matter of the header.
    decoder = _decoder(encoding)
    found, marks = "", False
    with pa.input_stream(str(path), compression=_compression(path)) as file:
        while chunk := file.read(4096):
            for place, sign in enumerate(text := decoder.decode(chunk)):
                if sign in "\r\n" and not marks:
                    return found + text[:place]
                marks ^= sign == '"'
            found += text
            if len(found) > _LONGEST_HEADER:
                raise csv.Error
    return found


class _Letters(codecs.IncrementalDecoder):
    """A letter for each byte."""

    def decode(self, data: Any, final: bool = False) -> str:
        return codecs.charmap_decode(data, "strict", _LETTERS)[0]


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    if encoding in ("windows-1252", "latin-1"):
        return _Letters()
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    return codecs.getincrementaldecoder(codec)(errors="replace")


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())


# ---------------------------------------------------------------------- Parquet


def _parquet(path: Path, mentioned: Mapping[str, Any] | None) -> Relation:
    reader = f"read_parquet({quoted(str(path))})"
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        # The engine says what is wrong.
        return Relation(f"select * from {reader}", path, untyped=frozenset())  # noqa: S608
    used, unused = _stored_otherwise(schema, mentioned)
    if not used:
        return Relation(_ranged(reader, schema, unused), path, untyped=frozenset())
    whole = {name: _integer(schema.field(name).type) for name in used}
    as_stored = pa.schema([(f.name, whole.get(f.name, f.type)) for f in schema])
    given = pyarrow.dataset.dataset(path, schema=as_stored, format="parquet")
    query = _ranged(_GIVEN, schema, unused)
    return Relation(query, path, given={_GIVEN: given}, untyped=frozenset())


def _folder(source: str, path: Path, mentioned: Mapping[str, Any] | None) -> Relation:
    """Read a folder of Parquet files; folders named `month=3` in it are a column, as text."""
    files = (file for file in sorted(path.rglob("*.parquet")) if file.is_file())
    first = next(files, None)
    if first is None:
        raise SpecError("engines.no_file", source=source, path=path / "*.parquet")
    reader = (
        f"read_parquet({quoted(str(path / '**' / '*.parquet'))}, "
        "hive_partitioning=true, hive_types_autocast=false)"
    )
    parts = first.relative_to(path).parts[:-1]
    folders = frozenset(part.partition("=")[0] for part in parts if "=" in part)
    try:
        schema = pq.read_schema(first)
    except (OSError, pa.ArrowException):
        return Relation(f"select * from {reader}", path, untyped=folders)  # noqa: S608
    used, unused = _stored_otherwise(schema, mentioned)
    if used:
        raise DataError("engines.duckdb.moment_in_folder", column=used[0])
    return Relation(_ranged(reader, schema, unused), path, untyped=folders)


def _stored_otherwise(
    schema: pa.Schema, mentioned: Mapping[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Return the columns on whose values DuckDB may fail as it reads: used ones, and others."""
    found: tuple[list[str], list[str]] = ([], [])
    for column in schema:
        coarse = pa.types.is_timestamp(column.type) and column.type.unit in ("s", "ms")
        if coarse or pa.types.is_time(column.type):
            used = mentioned is None or occurs(column.name, mentioned)
            found[not used].append(column.name)
    return found


def _integer(dtype: pa.DataType) -> pa.DataType:
    return pa.int32() if dtype.bit_width == 32 else pa.int64()


def _moment(value: str, dtype: pa.DataType) -> str:
    """Return a stored whole number as a moment or a time of day, null if it is none."""
    per_second = PER_SECOND[dtype.unit]
    if pa.types.is_time(dtype):
        micros = f"{value} * {10**6 // per_second}" if per_second < 10**9 else f"{value} // 1000"
        found = f"time '00:00:00' + to_microseconds({micros})"
        return f"case when {value} between 0 and {86_400 * per_second - 1} then {found} end"
    found = f"make_timestamp({value} * {10**6 // per_second})"
    if dtype.tz is not None:
        found = f"{found}::timestamptz"
    most = _MOST * per_second // 10**6
    return f"case when {value} between {-most} and {most} then {found} end"


def _ranged(reader: str, schema: pa.Schema, unused: Sequence[str]) -> str:
    """Return a query of the columns but the unused, with moments that are out of range as nulls."""
    changed = []
    for column in schema:
        name, dtype = named(column.name), column.type
        if column.name in unused:
            continue
        if pa.types.is_timestamp(dtype) and dtype.unit in ("us", "ns"):
            inside = f"epoch_{dtype.unit}({name}) between {-_MOST} and {_MOST}"
            changed.append(f"case when {inside} then {name} end as {name}")
        elif pa.types.is_timestamp(dtype) or pa.types.is_time(dtype):
            changed.append(f"{_moment(name, dtype)} as {name}")
    # The engine fails on a moment also in the statistics of a column that is not used.
    columns = f"* exclude ({', '.join(map(named, unused))})" if unused else "*"
    if changed:
        columns += f" replace ({', '.join(changed)})"
    return f"select {columns} from {reader}"  # noqa: S608

"""The working folder: all of the file system that the page reaches.

A name from the browser is a relative path of plain characters. It is resolved, links followed, and
must still lie in the folder; this holds for the source, files of keys, a tolerance's table, the
ledger and the output of a spec alike. A source or ledger that is a URL of another kind (a database
server, `duckdb:///`, whose views may read any file) is used only where a spec file in the folder
names it, for the browser cannot write such a file.

Of data only the schema is read: the header of a CSV file, the footer of a Parquet file. A first
line that looks like data is refused, or the page would show a person's values as column names.
"""

from __future__ import annotations

import csv
import io
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from unicodedata import normalize

from pydantic import ValidationError

from discreet.errors import DataError, DiscreetError, InputError, PolicyError
from discreet.promises.keys import files_in
from discreet.words import say

if TYPE_CHECKING:
    from starlette.requests import Request

    from discreet.releases.engines.base import Column
    from discreet.releases.source import Source
    from discreet.releases.spec import Spec
    from discreet.synthetic.spec import SyntheticSpec

MOST_BYTES = 64 * 2**20
"""The largest upload. A larger file is put into the folder by hand, and named."""

MOST_ROWS = 50_000_000
MOST_EXPANDED = 4 * 2**30
MOST_COLUMNS = 1_000
_FOOTER = 8 * 2**20
_LISTED = 200
_KINDS = (".csv", ".parquet")
_SQLITE = "sqlite:///"
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\*?\[\]{}]")
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
_NUMBER = re.compile(r"[\s+\-.,:/\d]*\d[\s+\-.,:/\d]*")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of data in the folder: its name, and how large it is."""

    name: str
    size: int

    @property
    def said(self) -> str:
        """Its size in words.

        >>> DataFile("a.csv", 2_500_000).said
        '2.5 MB'
        """
        for unit, many in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
            if self.size >= many:
                return f"{self.size / many:.1f} {unit}"
        return f"{self.size} bytes"


@dataclass(frozen=True, slots=True)
class Workfolder:
    """The folder that the page works in."""

    root: Path

    def inside(self, name: str, what: str = "file") -> Path:
        """Return the absolute path of a name, or refuse it: nothing outside is ever reached."""
        long = max((len(part.encode()) for part in name.split("/")), default=0) > 200
        if not name or long or len(name) > 1_000 or _FORBIDDEN.search(name) or "://" in name:
            raise InputError("web.folder.plain_name", what=what, name=name[:200])
        root = self.root.resolve()
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise PolicyError("web.folder.outside", what=what, name=name[:200])
        try:
            found = (root / path).resolve()
        except (OSError, RuntimeError, ValueError):
            raise PolicyError("web.folder.outside", what=what, name=name[:200]) from None
        if not found.is_relative_to(root):
            raise PolicyError("web.folder.outside", what=what, name=name[:200])
        return found

    def _files(self, *suffixes: str) -> Iterator[Path]:
        """Yield the plain files of the folder, by name; a link to elsewhere is none."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.root) if entry.is_file())
        except OSError:
            return
        listed = [n for n in names if not n.startswith(".") and n.lower().endswith(suffixes)]
        for name in listed[:_LISTED]:
            with suppress(DiscreetError):
                yield self.inside(name)

    def data(self) -> tuple[DataFile, ...]:
        """Return the CSV and Parquet files that may be named."""
        return tuple(DataFile(path.name, path.stat().st_size) for path in self._files(*_KINDS))

    def specs(self) -> dict[str, dict[str, Any]]:
        """Return the spec files of the folder, by name, as the plain values that they hold."""
        found = {}
        for path in self._files(".yaml", ".yml"):
            with suppress(DiscreetError):
                said = _values(path)
                if "account" in said and said.keys() & {"statistics", "columns"}:
                    found[path.name] = said
        return found

    def spec_text(self, name: str) -> str:
        """Return the text of a spec file of the folder."""
        from discreet.reading import text_of

        path = self.inside(name, "spec")
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise InputError("web.folder.not_spec", name=name[:200])
        if not path.is_file():
            raise InputError("web.folder.no_spec", name=name[:200])
        return text_of(path, say("web.spec.is"))

    def ledgers(self) -> tuple[str, ...]:
        """Return the ledgers of the folder: those that specs name, and SQLite files."""
        names = []
        for said in self.specs().values():
            ledger = said.get("ledger")
            if isinstance(ledger, str) and ledger.startswith(_SQLITE):
                with suppress(DiscreetError):
                    path = self.inside(ledger.removeprefix(_SQLITE))
                    names += [str(path.relative_to(self.root.resolve()))] * path.is_file()
        for path in self._files(".db", ".sqlite"):
            with suppress(OSError), path.open("rb") as file:
                names += [path.name] * (file.read(15) == b"SQLite format 3")
        return tuple(dict.fromkeys(names))

    def ledger_url(self, name: str) -> str:
        """Return the URL of a ledger in the folder, by its file's name."""
        return _SQLITE + str(self.inside(name.removeprefix(_SQLITE), "ledger"))

    def confine(self, spec: Spec | SyntheticSpec, *, from_file: bool = False) -> None:
        """Refuse a spec that reaches outside; `from_file` for one read from the folder."""
        from discreet.releases.source import path_in

        if spec.located is None:
            raise InputError("web.folder.no_source")
        joined = (path_in(join.source) or "" for join in getattr(spec, "join", ()))
        for located in (spec.located, *joined):
            if "://" not in located:
                self.inside(located, "source")
                if not located.lower().endswith(_KINDS):
                    raise InputError("web.folder.ending", name=located[:200])
            elif not from_file:
                raise PolicyError("web.folder.by_file", what="source")
        if spec.ledger.startswith(_SQLITE):
            self.inside(spec.ledger.removeprefix(_SQLITE), "ledger")
        elif not from_file:
            raise PolicyError("web.folder.by_file", what="ledger")
        self.inside(spec.output, "output")
        for name in (*_key_files(spec), *files_in(spec.promise_keys)):
            self.inside(name, say("web.folder.spec_file"))

    def screened(self, name: str, how: Source | None = None) -> Path:
        """Return the path of a file of data whose schema can be used, or refuse it.

        Unless a spec says how the file is written, its header line shows what separates columns.
        """
        path = self._named(name)
        _screened(path, how or _written(path), uploaded=False)
        return path

    def _named(self, name: str) -> Path:
        path = self.inside(name, "source")
        if path.suffix.lower() not in _KINDS:
            raise InputError("web.folder.ending", name=name[:200])
        if not path.is_file():
            raise InputError("web.folder.no_file", name=name[:200])
        return path

    def proposed(self, name: str, encoding: str = "") -> Source:
        """Return a file as the source of a spec: with the signs that its header line shows."""
        return _written(self._named(name), encoding).model_copy(update={"path": name})

    def shows_encoding(self, name: str) -> bool:
        """Whether a file itself shows how its letters are written."""
        from discreet.releases.engines.files import shows_encoding

        return shows_encoding(self._named(name))

    def columns(self, name: str, how: Source | None = None) -> Mapping[str, Column]:
        """Return the columns of a file and their kinds: its schema, and nothing of its rows."""
        path = self.screened(name, how)
        from discreet.releases.engines.duckdb import DuckDB

        engine = DuckDB.open(name, lambda _: path, how or _written(path))
        try:
            return dict(engine.columns)
        finally:
            engine.close()

    def receive(self, filename: str, stream: BinaryIO, encoding: str = "") -> str:
        """Store an upload under a safe name and return it; a file that is refused leaves nothing.

        It is checked as it arrives, never executed, never unpacked, and never overwrites. How a CSV
        file is written says its curator, or its header line.
        """
        stem, suffix = _safe(filename)
        beside = self.root / f".upload-{secrets.token_hex(8)}{suffix}"
        handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with os.fdopen(handle, "wb") as out:
                for chunk in _bounded(stream):
                    out.write(chunk)
            _screened(beside, _written(beside, encoding), uploaded=True)
            return self._placed(beside, stem, suffix)
        finally:
            beside.unlink(missing_ok=True)

    def _placed(self, beside: Path, stem: str, suffix: str) -> str:
        for number in range(1, 1_000):
            name = f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}"
            try:
                os.link(beside, self.root / name)  # fails if the name is taken, in one step
            except FileExistsError:
                continue
            except OSError as error:
                raise InputError("web.upload.not_stored", why=error.strerror) from None
            return name
        raise InputError("web.upload.too_many", name=f"{stem}{suffix}")


def folder_of(request: Request) -> Workfolder:
    """Return the folder that the page works in."""
    return Workfolder(request.app.state.folder)


def _values(path: Path) -> dict[str, Any]:
    from discreet.reading import text_of, yaml_values

    what = say("web.spec.is")
    said = yaml_values(text_of(path, what), what)
    return said if isinstance(said, dict) else {}


def _key_files(spec: Spec | SyntheticSpec) -> list[str]:
    """Return the files of keys, and earlier releases, that a spec names."""
    entries = getattr(spec, "statistics", (spec,))
    keys = [getattr(entry, "keys", {}) for entry in entries]
    public = [given for given in keys if isinstance(given, dict)]
    earlier = [entry.change.against for entry in entries if hasattr(entry, "change")]
    return earlier + [
        value for given in public for value in given.values() if isinstance(value, str)
    ]


def _safe(filename: str) -> tuple[str, str]:
    """Return the stem and the ending of an upload's name, of letters of any script, and digits."""
    last = re.split(r"[/\\]", filename)[-1]
    stem, dot, ending = last.rpartition(".")
    suffix = f".{ending.lower()}"
    if not dot or suffix not in _KINDS:
        raise InputError("web.upload.ending")
    # Some systems send ü as u and two dots, which are no letter by themselves.
    plain = re.sub(r"[^\w-]+", "-", normalize("NFC", stem)).strip("-_")
    short = plain.encode()[:80].decode(errors="ignore")
    return short or "data", suffix


def _bounded(stream: BinaryIO) -> Iterator[bytes]:
    """Yield what arrives, up to the bound."""
    total = 0
    while chunk := stream.read(2**20):
        total += len(chunk)
        if total > MOST_BYTES:
            raise InputError("web.upload.large", most=MOST_BYTES // 2**20)
        yield chunk
    if not total:
        raise DataError("web.file.empty")


def _written(path: Path, encoding: str = "") -> Source:
    """Return a file with what its header line shows of it, or as its curator says."""
    from pyarrow import ArrowException

    from discreet.releases.engines.files import written_as
    from discreet.releases.source import Source

    try:
        said = Source(encoding=encoding or "utf-8")  # type: ignore[arg-type]
        return written_as(path, said) if path.suffix.lower() == ".csv" else said
    except ValidationError:
        raise InputError("web.form.unusable") from None
    except (csv.Error, UnicodeError, OSError, ArrowException):
        return said  # the header is read once more, and says what is wrong with it


def _packed(start: bytes) -> None:
    if start.startswith(_PACKED):
        raise DataError("web.file.packed")


def _screened(path: Path, how: Source, *, uploaded: bool) -> None:
    """Refuse a file whose schema cannot be used; of others than uploads no more is read."""
    try:
        if path.suffix.lower() == ".csv":
            names = _header(path, how)
        else:
            names = _footer(path, uploaded=uploaded)
    except OSError as error:
        raise InputError("web.file.unreadable", why=error.strerror) from None
    if len(names) > MOST_COLUMNS:
        raise DataError("web.file.wide", columns=f"{len(names):,}", most=f"{MOST_COLUMNS:,}")
    for place, name in enumerate(names, start=1):
        if not name or len(name) > 200 or not name.isprintable():
            raise DataError("web.file.column_name", place=place)
        if _NUMBER.fullmatch(name):
            raise DataError("web.file.header_is_data", place=place)
    if len(set(names)) != len(names):
        raise DataError("web.file.same_names")


def _header(path: Path, how: Source) -> list[str]:
    """Return the names in the header line; no other line decides whether a file is taken."""
    from discreet.releases.engines.files import first_line

    with path.open("rb") as file:
        _packed(file.read(8))
    try:
        text = first_line(path, how.encoding)
        if "\ufffd" in text or "\0" in text:
            raise UnicodeError
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=how.delimiter, strict=True)
        names = next(lines, [])
    except UnicodeError:
        raise DataError("web.file.not_text", encoding=how.encoding.upper()) from None
    except csv.Error:
        raise DataError("web.file.header_quotes") from None
    if not names:
        raise DataError("web.file.no_header")
    return names


def _footer(path: Path, *, uploaded: bool) -> list[str]:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(0, size - 8))
        end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if size < 12 or start != b"PAR1" or end[4:] != b"PAR1" or length > min(size - 12, _FOOTER):
        raise DataError("web.file.not_parquet")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(
            path, thrift_string_size_limit=_FOOTER, thrift_container_size_limit=10**5
        ) as file:
            said = file.metadata
            names = [str(name) for name in file.schema_arrow.names]
            groups = [said.row_group(place) for place in range(said.num_row_groups)]
            expanded = sum(group.total_byte_size for group in groups)
            rows = max(int(said.num_rows), sum(int(group.num_rows) for group in groups))
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        raise DataError("web.file.not_parquet") from None
    if uploaded and (rows > MOST_ROWS or expanded > MOST_EXPANDED):
        most = {"rows": f"{MOST_ROWS:,}", "size": MOST_EXPANDED // 2**30}
        raise DataError("web.upload.unfolds", **most)
    return names

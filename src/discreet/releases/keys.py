"""Public keys: the cells of a statistic, from the spec or from a file beside it.

Keys are published, so they must not come from the protected data: the source itself (by whatever
path or link), a copy of it, and the column that names a person or a household are refused as keys
before anything is read. A file of keys lies below the spec's folder, or below one that was named
beside the spec: a spec alone publishes no other file.

A file of keys is CSV in UTF-8 with a header; it must have a column of the same name as the column
of the data, or only one column. Every key is a text, compared exactly: no blank is stripped and no
case is folded. The cells of several columns are all their combinations, in the order given.
"""

from __future__ import annotations

import csv
import filecmp
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import PolicyError, SpecError
from discreet.reading import fraction_of
from discreet.releases.engines import file_of
from discreet.releases.source import path_in

if TYPE_CHECKING:
    from discreet.releases.spec import InFolder


def public_keys(spec: InFolder, name: str, column: str) -> tuple[str, ...]:
    """Return the keys of a column from a file; refuse the protected source, and files elsewhere."""
    return keys_from_file(_public_file(spec, name, column), column)


@dataclass(frozen=True, slots=True)
class PublicFiles:
    """The public files of a spec, for a statistic that reads its own."""

    spec: InFolder

    def keys(self, name: str, column: str) -> tuple[str, ...]:
        """Return the keys of a column."""
        return public_keys(self.spec, name, column)

    def parents(self, name: str, child: str, parent: str) -> dict[str, str]:
        """Return the key of a column for each key of another; refuse two for one."""
        path = _public_file(self.spec, name, child)
        header, *body = _csv_rows(path)
        if not {child, parent} <= set(header):
            raise SpecError("releases.keys.no_column", file=path.name, column=parent)
        found: dict[str, str] = {}
        for row in (row for row in body if len(row) == len(header)):
            key, above = row[header.index(child)], row[header.index(parent)]
            if found.setdefault(key, above) != above:
                raise SpecError("releases.keys.two_parents", file=path.name, key=key, parent=parent)
        return found


def _public_file(spec: InFolder, name: str, column: str) -> Path:
    path = spec.path(name)
    if not spec.may_have_keys(path):
        raise PolicyError("releases.keys.outside", column=column, file=name)
    if is_source(spec, path):
        raise PolicyError("releases.keys.from_source", column=column, file=name)
    return path


def public_numbers(
    spec: InFolder, name: str, by: tuple[str, ...]
) -> dict[tuple[str, ...], Fraction]:
    """Return the positive numbers in a public file, by the columns `by`; one column more has them.

    The same rules hold as for keys: a file that is published, and not the protected one.
    """
    path = _public_file(spec, name, ", ".join(by))
    header, *body = _csv_rows(path)
    others = [column for column in header if column not in by]
    if len(others) != 1 or not set(by) <= set(header):
        raise SpecError("releases.keys.no_numbers", file=path.name, columns=", ".join(by) or "-")
    places, place = [header.index(column) for column in by], header.index(others[0])
    found: dict[tuple[str, ...], Fraction] = {}
    for row in (row for row in body if len(row) == len(header)):
        key = tuple(row[at] for at in places)
        try:
            number = fraction_of(row[place])
        except (ValueError, ZeroDivisionError):
            number = Fraction(0)
        if number <= 0 or key in found:
            raise SpecError("releases.keys.bad_number", file=path.name, column=others[0], key=key)
        found[key] = number
    return found


def is_source(spec: InFolder, path: Path) -> bool:
    """Whether a file is the protected source, or a copy of it."""
    return any(_same(path, source) for source in _sources(spec))


def _sources(spec: InFolder) -> Iterator[Path]:
    """The files that hold protected data: the source, and protected tables joined with it."""
    joins = (path_in(join.source) for join in getattr(spec, "join", ()) if not join.public)
    for located in (spec.located, *joins):
        name = None if located is None else file_of(located)
        if name is not None:
            yield spec.path(name)


def _same(path: Path, source: Path) -> bool:
    """Whether two files are one, by any path or link, or have the same bytes."""
    try:
        return path.samefile(source) or filecmp.cmp(path, source, shallow=False)
    except OSError:
        return False  # whichever is missing is refused by who reads it


def refuse_unit_column(spec: InFolder, by: tuple[str, ...], statistic: str) -> None:
    """Refuse groups by the column that names a person or a household: each would be published."""
    if spec.protect.unit not in ("person", "household"):
        return
    own = [column for column in by if column in spec.protect.column]
    if own:
        raise PolicyError(
            "releases.keys.unit_column", whose=statistic, column=own[0], unit=spec.protect.unit
        )


def _csv_rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, the header first; an empty one has an empty header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.reader(lines)) or [[]]
    except OSError as error:
        raise SpecError("releases.keys.unreadable", file=path.name, reason=error.strerror) from None
    except (UnicodeDecodeError, csv.Error):
        raise SpecError("releases.keys.no_csv", file=path.name) from None


def keys_from_file(path: Path, column: str) -> tuple[str, ...]:
    """Return the keys in a CSV file, in its order."""
    header, *body = _csv_rows(path)
    if column in header:
        place = header.index(column)
    elif len(header) == 1:
        place = 0
    else:
        raise SpecError("releases.keys.no_column", file=path.name, column=column)
    keys = tuple(row[place] for row in body if len(row) > place and row[place] != "")
    if not keys:
        raise SpecError("releases.keys.no_rows", file=path.name, column=column)
    if len(set(keys)) != len(keys):
        raise SpecError("releases.keys.twice", file=path.name, column=column)
    return keys

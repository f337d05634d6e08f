"""Public keys: the cells of a statistic, from the spec or from a file beside it.

A file of keys is CSV in UTF-8 with a header; it must have a column of the same name as the column
of the data, or only one column. Every key is a text, compared exactly: no blank is stripped and no
case is folded. The cells of several columns are all their combinations, in the order given.
"""

from __future__ import annotations

import csv
import math
from itertools import product
from pathlib import Path

from discreet.errors import SpecError
from discreet.releases.engines.base import KeySet
from discreet.releases.spec import Spec

__all__ = ["MOST_CELLS", "cells_of", "keys_from_file"]

MOST_CELLS = 5_000_000


def keys_from_file(path: Path, column: str) -> tuple[str, ...]:
    """Return the keys in a CSV file, in its order."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
    except OSError as error:
        raise SpecError(f"the keys {path.name} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise SpecError(f"the keys {path.name} are not CSV in UTF-8.") from None
    header, *body = rows or [[]]
    if column in header:
        place = header.index(column)
    elif len(header) == 1:
        place = 0
    else:
        raise SpecError(
            f"the keys {path.name} have no column {column!r}; name one so, or keep a single column."
        )
    keys = tuple(row[place] for row in body if len(row) > place and row[place] != "")
    if not keys:
        raise SpecError(f"the keys {path.name} have no rows; list each public value of {column!r}.")
    if len(set(keys)) != len(keys):
        raise SpecError(f"the keys {path.name} list a value of {column!r} twice; list each once.")
    return keys


def cells_of(
    spec: Spec, by: tuple[str, ...], keys: dict[str, tuple[str, ...] | str]
) -> KeySet | None:
    """Return the cells of a statistic over public keys; None where it has one cell."""
    if not by:
        return None
    lists = []
    for column in by:
        given = keys[column]
        lists.append(keys_from_file(spec.path(given), column) if isinstance(given, str) else given)
    size = math.prod(len(values) for values in lists)
    if size > MOST_CELLS:
        raise SpecError(
            f"the keys of {', '.join(by)} make {size:,} cells; at most {MOST_CELLS:,} are released "
            "in one statistic. Use fewer columns or coarser keys."
        )
    return KeySet(by, tuple(product(*lists)))

"""What commands print: one JSON object, or lines for a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_objects = 0


def emit(payload: Mapping[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print the payload as one JSON object, or the lines; both on standard output."""
    global _objects
    if as_json:
        _objects += 1
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, indent=2)
    else:
        text = "\n".join(lines)
    sys.stdout.write(text + "\n")


def emitted() -> int:
    """Return how many JSON objects were printed so far: a command prints one, also if it fails."""
    return _objects


def table(rows: Sequence[Sequence[str]], header: Sequence[str] | None = None) -> list[str]:
    """Return rows as aligned lines, two spaces between columns.

    >>> table([["epsilon", "0.5493"], ["sd", "2.54"]])
    ['  epsilon  0.5493', '  sd       2.54']
    """
    everything = [list(header), *map(list, rows)] if header else [list(row) for row in rows]
    if not everything:
        return []
    widths = [max(len(row[i]) for row in everything) for i in range(len(everything[0]))]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in everything
    ]


def grid(
    rows: Iterable[Mapping[str, Any]], cells: Sequence[str], header: Sequence[str] | None = None
) -> list[str]:
    """Return rows of JSON as aligned lines; each cell is a format of the row.

    >>> grid([{"k": 1, "risk": 0.25}], ["{k}", "{risk:.1%}"], ["", "risk"])
    ['     risk', '  1  25.0%']
    """
    return table([[cell.format(**row) for cell in cells] for row in rows], header)


def charted(path: Path | None, name: str) -> Callable[[Any], Any]:
    """Return what draws a chart of a result into a file; nothing is drawn without a file.

    What is missing for charts is told now, before the result is computed.
    """
    if path is None:
        return lambda result: None
    from discreet import charts

    return lambda result: charts.save(getattr(charts, name)(result), path)


def progress(what: str, done: int, total: int) -> None:
    """Show how far something is, on a line of standard error that the next one replaces."""
    share = f"{100 * done // total:3d} %" if total > 1 else ("done" if done else "…")
    sys.stderr.write("\r\x1b[K" + ("" if done >= total else f"{what} {share}"))
    sys.stderr.flush()

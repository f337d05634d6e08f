"""What commands print: one JSON object, or lines for a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["emit", "table"]


def emit(payload: dict[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print the payload as one JSON object, or the lines; both on standard output."""
    if as_json:
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, indent=2)
    else:
        text = "\n".join(lines)
    sys.stdout.write(text + "\n")


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

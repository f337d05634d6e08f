"""What commands print: one JSON object, or lines for a person."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.words import say

_objects = 0


def emit(payload: Mapping[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print the payload as one JSON object, or the lines; both on standard output."""
    global _objects
    if as_json:
        _objects += 1
        text = as_text(payload)
    else:
        text = printable("\n".join(lines))
    sys.stdout.write(text + "\n")


def as_text(payload: Mapping[str, Any]) -> str:
    """Return JSON in which whatever could move a terminal's cursor is written as an escape."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, indent=2)
    return printable(text, lambda odd: json.dumps(odd)[1:-1])


_SAFE = {*"\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"}


def printable(text: str, instead: Callable[[str], str] = lambda _: "\ufffd") -> str:
    """Return a text that does nothing to a terminal but appear on it, line by line."""
    odd = {ord(c): instead(c) for c in set(text) - _SAFE if not c.isprintable()}
    return text.translate(odd) if odd else text


def emitted() -> int:
    """Return how many JSON objects were printed so far: a command prints one, also if it fails."""
    return _objects


def table(rows: Sequence[Sequence[str]], header: Sequence[str] | None = None) -> list[str]:
    """Return rows as aligned lines, two spaces between columns.

    >>> table([["epsilon", "0.5493"], ["sd", "2.54"]])
    ['  epsilon  0.5493', '  sd       2.54']
    """
    everything = [list(header), *rows] if header else list(rows)
    everything = [[printable(cell).replace("\n", "\ufffd") for cell in row] for row in everything]
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

    What is missing for charts, or an ending that is not known, is told now, before the result is
    computed.
    """
    if path is None:
        return lambda result: None
    from discreet import charts
    from discreet.charts.style import kind_of

    kind_of(path)
    return lambda result: charts.save(getattr(charts, name)(result), path)


_CLEARED = "\r\x1b[K"  # the line of a terminal that the cursor is in


class _Progress:
    """A line on standard error that says how far something is, and how long the rest may take."""

    def __init__(self) -> None:
        self._what, self._done, self._since = "", 0, 0.0
        self._shown = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show it in place of what was shown; `total` is 1 where nobody knows how far it is."""
        now = time.monotonic()
        if what != self._what or done < self._done:
            self._what, self._since = what, now
        self._done = done
        share = f"{100 * done // total:3d} %" if total > 1 else ("done" if done else "…")
        left = (now - self._since) * (total - done) / done if done else 0.0
        if left >= 1:
            share = say("cli.progress", share=share, seconds=left)
        self._shown = done < total
        sys.stderr.write(_CLEARED + (f"{what} {share}" if self._shown else ""))
        sys.stderr.flush()

    def over(self, message: str) -> None:
        """Print a message on standard error, in place of what is shown."""
        sys.stderr.write((_CLEARED if self._shown else "") + printable(message))
        self._shown = False


progress = _Progress()

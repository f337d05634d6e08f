"""Write what was measured: one section a topic, in marked blocks that a run replaces.

A row has an address (`topic-task-contender`), so that a claim elsewhere can point to it. Ratios are
the contender's time over Discreet's for the same task in the same run: above 1, Discreet is faster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.contest import FIRST_TURN
from benchmarks.runner import Row

__all__ = ["QUALITY", "address", "machine", "replaced", "section", "today", "write_section"]

QUALITY = Path(__file__).parents[1] / "docs" / "quality.md"
_HEAD = """\
| task | contender | time | × Discreet | peak memory | accuracy |
|---|---|---:|---:|---:|---|"""


def address(row: Row) -> str:
    """Return what a link to a row ends in."""
    # A contender's name may carry a size ("over 1000²") that is no part of its address.
    plain = re.sub(r"\s+over\s+[\d,²]+|\s+of\s+[\d,²]+", "", row.name.lower())
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return f"{row.topic}-{row.task}-{words}"


def today() -> str:
    """Return the day of a measurement."""
    return date.today().isoformat()


def machine() -> str:
    """Name the machine by its cores and memory only."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} cores, {round(pages / 2**30)} GB of memory"


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:,.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"


def _ratio(row: Row, ours: Row | None) -> str:
    if row.ours or ours is None or row.seconds is None or not ours.seconds:
        return "1" if row.ours else "–"
    ratio = row.seconds / ours.seconds
    return f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def _accuracy(row: Row) -> str:
    if row.accuracy is not None:
        return row.accuracy
    if row.error is None:
        return ""
    return f"{row.error:+.1e}".replace("-", "−", 1) if row.error else "0"


def _memory(row: Row) -> str:
    return "" if row.peak_gb is None else f"{row.peak_gb:.2f} GB"


def _line(row: Row, ours: Row | None, first: bool) -> str:
    title = row.title if first else ""
    name = f'<a id="{address(row)}"></a>{"**" + row.name + "**" if row.ours else row.name}'
    if row.seconds is None:
        return f"| {title} | {name} | – | – | – | left out: {row.skipped} |"
    begun = (row.figures or {}).get(FIRST_TURN)
    turn = "" if begun is None else f"first turn {_time(begun)}"
    told = "; ".join(part for part in (_accuracy(row), turn, row.note) if part)
    time = _time(row.seconds)
    return f"| {title} | {name} | {time} | {_ratio(row, ours)} | {_memory(row)} | {told} |"


def _versions(rows: Iterable[Row]) -> str:
    known = {row.package: row.version for row in rows if row.package and row.version}
    return ", ".join(f"{package} {version}" for package, version in sorted(known.items()))


def section(title: str, about: str, rows: Sequence[Row], conclusion: str = "") -> str:
    """Return the Markdown of a topic."""
    lines = [f"## {title}", "", about, "", _HEAD]
    for task in dict.fromkeys(row.task for row in rows):
        rivals = [row for row in rows if row.task == task]
        ours = next((row for row in rivals if row.ours and row.seconds), None)
        lines += [_line(row, ours, place == 0) for place, row in enumerate(rivals)]
    versions = _versions(rows)
    against = f" Against: {versions}." if versions else ""
    lines += ["", f"Measured on {today()}, {machine()}.{against}"]
    if conclusion:
        lines += ["", conclusion]
    return "\n".join(lines)


def replaced(text: str, name: str, block: str) -> str:
    """Return a document with the block of that name replaced, or with the block at its end."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    whole = f"{begin}\n{block.strip()}\n{end}"
    if begin in text and end in text:
        before, rest = text.split(begin, 1)
        return before + whole + rest.split(end, 1)[1]
    return text.rstrip("\n") + f"\n\n{whole}\n"


def write_section(document: Path, name: str, block: str) -> None:
    """Replace one block of a document on disk."""
    text = document.read_text(encoding="utf-8")
    document.write_text(replaced(text, name, block), encoding="utf-8")

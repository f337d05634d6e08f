"""What commands print: one JSON object, or lines for a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

__all__ = ["amounts", "beside", "emit", "emitted", "progress", "table"]

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


def amounts(said: Mapping[str, Any], side: Literal["up", "down"], figures: int = 6) -> str:
    """Return `{epsilon, delta, rho}` in words: spending rounded up, what is left rounded down."""
    from discreet.rounding import number

    return ", ".join(
        f"{name} {number(said[name], side, figures)}"
        for name in ("epsilon", "delta", "rho")
        if said.get(name) is not None
    )


def beside(spent: Mapping[str, Any], limit: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is spent and what limits it, with figures enough that neither seems passed.

    >>> beside({"epsilon": 1.2992831}, {"epsilon": 1.2992832})
    ('epsilon 1.2992831', 'epsilon 1.2992832')
    """
    both = [n for n in ("epsilon", "delta", "rho") if None not in (spent.get(n), limit.get(n))]
    for figures in range(6, 17):
        shown = amounts(spent, "up", figures), amounts(limit, "down", figures)
        if all(spent[n] > limit[n] or _fits(spent[n], limit[n], figures) for n in both):
            return shown
    return amounts(spent, "up", 17), amounts(limit, "down", 17)


def _fits(spent: float, limit: float, figures: int) -> bool:
    from discreet.rounding import number

    up, down = number(spent, "up", figures), number(limit, "down", figures)
    return float(up.replace(",", "")) <= float(down.replace(",", ""))


def progress(what: str, done: int, total: int) -> None:
    """Show how far something is, on a line of standard error that the next one replaces."""
    share = f"{100 * done // total:3d} %" if total > 1 else ("done" if done else "…")
    sys.stderr.write("\r\x1b[K" + ("" if done >= total else f"{what} {share}"))
    sys.stderr.flush()

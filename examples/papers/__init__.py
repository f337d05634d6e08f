"""The papers, computed again: their tables (`rows`) and their figures (`figure_1`, …).

One module a paper, importing what `discreet` offers to everyone.

    python examples/papers                    print the tables
    python examples/papers docs/papers.md     put them into the page, between its marks
    python examples/gallery.py FOLDER         draw the figures

A test compares the page with what these modules compute, so no number of ours on it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from discreet.rounding import decimal_down, decimal_up

__all__ = ["Row", "filled", "rounded_down", "rounded_up", "table"]


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a paper: where it stands, what it is, what is printed, what we compute."""

    where: str
    what: str
    printed: str
    here: Callable[[], str]
    note: str = ""


def rounded_down(x: float, digits: int = 4) -> str:
    """Write a budget: never above its value."""
    return f"{decimal_down(x, digits):.{digits}f}"


def rounded_up(x: float, digits: int = 3) -> str:
    """Write a bound: never below its value."""
    return f"{decimal_up(x, digits):.{digits}f}"


def table(rows: Iterable[Row]) -> str:
    """Return rows as a table in Markdown."""
    lines = ["| where | what | in print | here | |", "|---|---|---|---|---|"]
    lines += [f"| {r.where} | {r.what} | {r.printed} | {r.here()} | {r.note} |" for r in rows]
    return "\n".join(lines)


def filled(page: str, papers: dict[str, Callable[[], Iterable[Row]]]) -> str:
    """Return the page with every table between its marks computed anew."""
    for name, rows in papers.items():
        mark = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        made = table(rows())
        page = re.sub(mark, lambda m, made=made: f"{m[1]}\n{made}\n\n{m[2]}", page, flags=re.S)
    return page

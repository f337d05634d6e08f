"""Say, room by room, how much of the code the tests ran, and fail below the marks.

Reads the JSON that `coverage json` writes. Lines and branches are held to the marks separately:
together, the many lines would hide the few branches.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

MATHEMATICS = (
    "errors",
    "reading",
    "lazily",
    "rounding",
    "guarantees",
    "laws",
    "composition",
    "beliefs",
    "promises",
    "budgets",
    "series",
)
MARKS = {"mathematics": 98.0, "everything": 92.0}
COUNTED = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def room(path: str) -> str:
    """Return the package or module directly under `discreet` that a file belongs to."""
    return Path(path).parts[Path(path).parts.index("discreet") + 1].removesuffix(".py")


def percent(done: int, of: int) -> float:
    """Return 100 % where there is nothing to do."""
    return 100.0 if of == 0 else 100 * done / of


def main(path: str) -> int:
    """Print the table of the file at `path`; return 1 if a mark is missed."""
    rooms: dict[str, Counter[str]] = {}
    for name, file in json.loads(Path(path).read_text())["files"].items():
        found = room(name)
        groups = [found, "everything"] + ["mathematics"] * (found in MATHEMATICS)
        for group in groups:
            rooms.setdefault(group, Counter()).update(
                {key: file["summary"][key] for key in COUNTED}
            )
    missed = []
    said = [f"{'room':<14}{'lines':>17}{'branches':>18}"]
    for name in sorted(rooms, key=lambda name: (name in MARKS, name)):
        of = rooms[name]
        lines = percent(of["covered_lines"], of["num_statements"])
        branches = percent(of["covered_branches"], of["num_branches"])
        said.append(
            f"{name:<14}{lines:>8.2f} % {of['num_statements']:>6}"
            f"{branches:>9.2f} % {of['num_branches']:>6}"
        )
        if name in MARKS and min(lines, branches) < MARKS[name]:
            missed.append(f"{name} is below its mark of {MARKS[name]:g} %")
    said += missed or ["every mark is met"]
    sys.stdout.write("\n".join(said) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Write docs/licences.md: what Discreet installs, and under which licence, from installed metadata.

    python scripts/licences.py

What is listed is `discreet[all]` and everything that it needs, as it is installed here.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).parents[1] / "docs" / "licences.md"
HEAD = """# Licences of what is installed

Discreet is under the Apache License 2.0. `pip install discreet[all]` also installs these packages,
each under its own licence, as its metadata state it. The table is made by `scripts/licences.py`;
versions, with hashes, are in `requirements-demo.txt`. `discreet[spark]` adds pyspark (Apache
License 2.0) and what it needs.

| package | licence | needed by |
|---|---|---|
"""


def licence(of: Distribution) -> str:
    """Return the licence that a package states: an expression, a classifier, or a short text."""
    said = of.metadata
    stated = said.get("License-Expression")
    if stated:
        return str(stated)
    classifiers = [c for c in said.get_all("Classifier") or [] if c.startswith("License ::")]
    names = [c.split(" :: ")[-1] for c in classifiers if c.count(" :: ") > 1]
    if names:
        return ", ".join(names)
    text = str(said.get("License") or "").strip()
    first = text.splitlines()[0].strip() if text else ""
    return first if 0 < len(first) < 60 else ""


def name_of(text: str) -> str:
    """Return a package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", text).lower()


def needed(root: str = "discreet", extras: tuple[str, ...] = ("all",)) -> dict[str, set[str]]:
    """Return every package that is needed here, and by which."""
    found: dict[str, set[str]] = {}
    queue, done = [(root, extras)], set()
    while queue:
        name, asked = queue.pop()
        if (name_of(name), asked) in done:
            continue
        done.add((name_of(name), asked))
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for line in requires:
            one = Requirement(line)
            applies = one.marker is None or any(
                one.marker.evaluate({"extra": extra}) for extra in (*asked, "")
            )
            if applies:
                by = found.setdefault(name_of(one.name), set())
                if name_of(one.name) != name_of(root):
                    by.add(name_of(name))
                queue.append((one.name, tuple(sorted(one.extras))))
    found.pop(name_of(root), None)
    return found


def rows() -> list[tuple[str, str, str]]:
    """Return the table: package, licence, and what needs it."""
    table = []
    for name, by in sorted(needed().items()):
        try:
            one = distribution(name)
        except PackageNotFoundError:
            continue
        table.append((name, licence(one) or "not stated", ", ".join(sorted(by))))
    return table


if __name__ == "__main__":
    lines = [f"| {' | '.join(row)} |" for row in rows()]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")

"""What other installed packages add: they name a module as an entry point, and it is imported.

A package adds a mechanism, a statistic, a shape of tolerance, an engine or a language in a module
that registers it. Its `pyproject.toml` names that module, so that the command line finds it:

    [project.entry-points."discreet.statistics"]
    share = "our_package.share"

Entry points are read only when a name is unknown, because that takes longer than most commands.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

__all__ = ["Group", "load_from_outside"]

Group: TypeAlias = Literal["mechanisms", "statistics", "shapes", "engines", "languages"]


@cache
def load_from_outside(group: Group) -> bool:
    """Import what installed packages name in the group `discreet.<group>`; say if there is any."""
    from importlib.metadata import entry_points

    found = list(entry_points(group=f"discreet.{group}"))
    for entry in found:
        entry.load()
    return bool(found)

"""A spec that is not whole yet: where it begins, and what is still to be said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.web.release.spec_form import KINDS
from discreet.words import say

__all__ = ["missing", "start"]

_FIRST = {
    "tolerance": {
        "posterior": 0.25,
        "unless_ratio": 3,
        "about": "membership",
        "every_output": True,
    }
}


def start(source: str, promise: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    return {
        "source": source,
        "protect": {"unit": "person", "adjacency": "add-remove"},
        **(promise or _FIRST),
        "statistics": [{"count": "rows"}],
        "mechanism": "auto",
        "interval": 0.95,
        "ledger": "sqlite:///ledger.db",
        "output": "out/",
    }


def missing(values: Mapping[str, Any]) -> list[str]:
    """Return what is still to be said before a spec can be looked at, in words.

    That is not an error: nobody is told off for a form that is not filled in yet.
    """
    protect = values.get("protect")
    unit = protect if isinstance(protect, Mapping) else {}
    named = unit.get("unit") == "record"
    needed = {
        "source": values.get("source"),
        "account": values.get("account"),
        "purpose": values.get("purpose"),
        "column": named or unit.get("column"),
        "rows": named or unit.get("rows"),
        "promise": values.get("tolerance") or values.get("budget"),
        "statistics": values.get("statistics"),
    }
    found = [say(f"web.missing.{name}") for name, there in needed.items() if not there]
    entries = values.get("statistics")
    for place, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        for what in _needs(entry):
            found.append(say("web.missing.statistic", place=place, what=what))
    return found


_NEEDED = {
    **dict.fromkeys(("sum", "mean", "variance"), ("bounds", "resolution")),
    "quantile": ("bounds", "resolution", "at"),
    "histogram": ("edges",),
    "randomized": ("answers", "keep"),
    "best": ("score", "of", "candidates"),
}


def _needs(entry: object) -> list[str]:
    """Return what a statistic still needs, in words; of an odd one, nothing."""
    kinds = [kind for kind in KINDS if isinstance(entry, Mapping) and kind in entry]
    if len(kinds) != 1 or not isinstance(entry, Mapping):
        return []
    kind = kinds[0]
    found = [say(f"web.missing.{name}") for name in _NEEDED.get(kind, ()) if not entry.get(name)]
    if kind != "count" and not entry[kind]:
        found.insert(0, say("web.missing.what" if kind == "best" else "web.missing.own_column"))
    by, keys = entry.get("by") or [], entry.get("keys") or {}
    if isinstance(by, list) and isinstance(keys, Mapping) and "discover" not in keys:
        named = [column for column in by if isinstance(column, str) and not keys.get(column)]
        found += [say("web.missing.keys", column=column) for column in named]
    return found

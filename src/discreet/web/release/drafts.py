"""A spec that is not whole yet: where it begins, and what is still to be said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.web.release.spec_form import own_fields
from discreet.words import say

__all__ = ["missing", "proposed_unit", "start"]

_FIRST = {
    "tolerance": {
        "posterior": 0.25,
        "unless_ratio": 3,
        "about": "membership",
        "every_output": True,
    }
}


def start(
    source: str, promise: Mapping[str, Any] | None = None, columns: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    unit = proposed_unit(columns)
    return {
        "source": source,
        "protect": {"unit": "person"}
        | ({"column": unit} if unit else {})
        | {"adjacency": "add-remove"},
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


def _needs(entry: object) -> list[str]:
    """Return what a statistic still needs, in words; of an odd one, nothing."""
    from discreet.releases.statistics.base import kind_of

    kind = kind_of(entry)
    if kind is None or not isinstance(entry, Mapping):
        return []
    fields = own_fields(kind).values()
    needed = [one for one in fields if one.required and entry.get(one.name) in (None, "", [], {})]
    found = [say("web.missing.field", label=one.label) for one in needed]
    by, keys = entry.get("by") or [], entry.get("keys") or {}
    if isinstance(by, list) and isinstance(keys, Mapping) and "discover" not in keys:
        named = [column for column in by if isinstance(column, str) and not keys.get(column)]
        found += [say("web.missing.keys", column=column) for column in named]
    return found


_NAMES = re.compile(
    r"(.*[_ -])?(id|person|patient|user|customer|client|resident|pupil|student|employee|member)"
    r"([_ -]?(id|no|number|key))?",
    re.IGNORECASE,
)


def proposed_unit(columns: Iterable[str]) -> str | None:
    """Return the column that names one person, by its own name; None if none looks like it."""
    return next((name for name in columns if _NAMES.fullmatch(name)), None)

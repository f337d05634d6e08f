"""A spec that is not whole yet: where it begins, and what is still to be said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.releases.checking import proposed_unit
from discreet.web.release.dry_run import is_synthetic
from discreet.web.release.spec_form import kinds, own_fields
from discreet.words import say

_FIRST = {
    "tolerance": {
        "posterior": 0.25,
        "unless_ratio": 3,
        "about": "membership",
        "every_output": True,
    }
}


def start(
    source: str | Mapping[str, str],
    promise: Mapping[str, Any] | None = None,
    columns: Iterable[str] = (),
    *,
    synthetic: bool = False,
) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    unit, said = proposed_unit(columns), dict(promise or _FIRST)
    tolerance = dict(said.get("tolerance") or {})
    adjacency = tolerance.pop("adjacency", "add-remove")  # a spec says it where it says who
    if tolerance:
        said["tolerance"] = tolerance
    asked: dict[str, Any] = {
        "statistics": [{"count": "rows"}],
        "mechanism": "auto",
        "interval": 0.95,
    }
    if synthetic:
        asked = {"columns": [], "n_synthetic": 100}
    return {
        "source": source,
        "protect": {"unit": "person"}
        | ({"column": unit} if unit else {})
        | {"adjacency": adjacency},
        **said,
        **asked,
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
    }
    if is_synthetic(values):
        needed |= {name: values.get(name) for name in ("columns", "n_synthetic")}
    else:
        needed["statistics"] = values.get("statistics")
    found = [say(f"web.missing.{name}") for name, there in needed.items() if not there]
    entries = values.get("statistics")
    for place, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        for what in _needs(entry):
            found.append(say("web.missing.statistic", place=place, what=what))
    return found + _unlisted(values.get("columns"), values.get("keys"))


def _unlisted(columns: object, keys: object) -> list[str]:
    """Return the columns whose public keys are still to be listed, in words."""
    listed = keys if isinstance(keys, Mapping) else {}
    names = columns if isinstance(columns, list) and "discover" not in listed else []
    open_ones = [name for name in names if isinstance(name, str) and not listed.get(name)]
    return [say("web.missing.keys", column=column) for column in open_ones]


def _needs(entry: object) -> list[str]:
    """Return what a statistic still needs, in words; of an odd one, nothing."""
    from discreet.releases.statistics.base import kind_of

    kind = kind_of(entry)
    if kind is None or not isinstance(entry, Mapping):
        return []
    fields = own_fields(kind).values()
    needed = [one for one in fields if one.required and entry.get(one.name) in (None, "", [], {})]
    found = [say("web.missing.field", label=one.label) for one in needed]
    return found + _unlisted([*kinds()[kind].keyed_by(entry)], entry.get("keys"))

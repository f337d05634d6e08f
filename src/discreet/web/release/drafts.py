"""A spec that is not whole yet: where it begins, and what is still to be said."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from discreet.errors import DiscreetError
from discreet.reading import nearest
from discreet.releases.checking import proposed_unit
from discreet.web.release.dry_run import is_synthetic
from discreet.web.release.spec_form import kinds, own_fields
from discreet.web.thread import Thread, promise_of
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
    thread: Thread,
    columns: Iterable[str] = (),
    *,
    synthetic: bool = False,
) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    unit, said = proposed_unit(columns), promise_of(thread.promise) or dict(_FIRST)
    tolerance = dict(said.get("tolerance") or {})
    adjacency = tolerance.pop("adjacency", "add-remove")  # a spec says it where it says who
    if tolerance:
        said["tolerance"] = tolerance
    asked: dict[str, Any] = {
        "statistics": [{"count": "rows"}],
        "mechanism": "auto",
        "interval": 0.95,
    }
    if thread.series:
        asked["series"] = {"releases": int(thread.series)}
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


def missing(values: Mapping[str, Any], columns: Iterable[str] = ()) -> list[str]:
    """Return what is still to be said before a spec can be looked at, in words.

    That is not an error: nobody is told off for a form that is not filled in yet. Of a group that
    is like one of the columns, and none itself, not the keys are missing but the right name.
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
        "promise": any(values.get(name) for name in ("tolerance", "promise", "budget")),
    }
    if is_synthetic(values):
        needed |= {name: values.get(name) for name in ("columns", "n_synthetic")}
    else:
        needed["statistics"] = values.get("statistics")
    found = [say(f"web.missing.{name}") for name, there in needed.items() if not there]
    entries, known = values.get("statistics"), keys_said(values)
    derives = any(values.get(name) for name in ("let", "per_unit", "join"))
    there = frozenset[str]() if derives else frozenset(columns)
    for place, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        for what in _needs(entry, known, there):
            found.append(say("web.missing.statistic", place=place, what=what))
    return found + _unlisted(values.get("columns"), values.get("keys"))


def keys_said(values: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """Return the public keys that a draft itself says, by column; of an odd one, nothing."""
    from discreet.releases.rows import Condition, Features, keys_known

    try:
        let = TypeAdapter(dict[str, Condition]).validate_python(values.get("let") or {})
        per_unit = TypeAdapter(Features).validate_python(values.get("per_unit") or {})
        return keys_known(let, per_unit)
    except (DiscreetError, ValidationError):
        return {}  # the dry run says what is wrong with it


def _unlisted(columns: object, keys: object, there: Collection[str] = ()) -> list[str]:
    """Return the columns whose public keys are still to be listed, in words."""
    listed = keys if isinstance(keys, Mapping) else {}
    names = columns if isinstance(columns, list) and "discover" not in listed else []
    open_ones = [name for name in names if isinstance(name, str) and not listed.get(name)]
    return [_named(column, there) or say("web.missing.keys", column=column) for column in open_ones]


def _named(column: str, there: Collection[str]) -> str | None:
    """Return that a column is not there but another like it is, in words; None for any other."""
    near = None if column in there else nearest(column, there)
    return None if near is None else say("web.missing.near", column=column, near=near)


def _needs(entry: object, known: Mapping[str, object], there: Collection[str] = ()) -> list[str]:
    """Return what a statistic still needs, in words; of an odd one, nothing."""
    from discreet.releases.statistics.base import kind_of

    kind = kind_of(entry)
    if kind is None or not isinstance(entry, Mapping):
        return []
    fields = own_fields(kind).values()
    needed = [one for one in fields if one.required and entry.get(one.name) in (None, "", [], {})]
    found = [say("web.missing.field", label=one.label) for one in needed]
    asked = [name for name in kinds()[kind].keyed_by(entry) if name not in known]
    return found + _unlisted(asked, entry.get("keys"), there)

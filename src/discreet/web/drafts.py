"""A spec that is not whole yet: where it begins, and what is still to be said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.web.forms import KINDS

__all__ = ["missing", "start"]


def start(source: str) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    return {
        "source": source,
        "protect": {"unit": "person", "adjacency": "add-remove"},
        "tolerance": {
            "posterior": 0.25,
            "unless_ratio": 3,
            "values_known": True,
            "every_output": True,
        },
        "statistics": [{"count": "rows"}],
        "mechanism": "auto",
        "nulls": "drop",
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
        "which file holds the data": values.get("source"),
        "the account: whose budget is charged": values.get("account"),
        "the purpose of the release": values.get("purpose"),
        "the column that names a person": named or unit.get("column"),
        "the most rows of one person that count": named or unit.get("rows"),
        "what may be learned, or the budget": values.get("tolerance") or values.get("budget"),
        "at least one statistic": values.get("statistics"),
    }
    entries = values.get("statistics")
    for place, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        for what, there in _needs(entry).items():
            needed[f"statistic {place}: {what}"] = there
    return [words for words, there in needed.items() if not there]


_BOUNDED = ("sum", "mean", "variance", "quantile")


def _needs(entry: object) -> dict[str, Any]:
    """Return what a statistic needs and whether it is there; of an odd one, nothing."""
    kinds = [kind for kind in KINDS if isinstance(entry, Mapping) and kind in entry]
    if len(kinds) != 1 or not isinstance(entry, Mapping):
        return {}
    kind, needed = kinds[0], {}
    if kind != "count":
        needed["its column" if kind != "best" else "what is chosen"] = entry[kind]
    if kind in _BOUNDED:
        needed |= {"its bounds": entry.get("bounds"), "its resolution": entry.get("resolution")}
    more = {
        "quantile": {"at which share": "at"},
        "histogram": {"its edges": "edges"},
        "randomized": {"the answers": "answers", "the probability of the true one": "keep"},
        "best": {"its score": "score", "its column": "of", "its candidates": "candidates"},
    }
    needed |= {words: entry.get(name) for words, name in more.get(kind, {}).items()}
    by, keys = entry.get("by") or [], entry.get("keys") or {}
    if isinstance(by, list) and isinstance(keys, Mapping) and "discover" not in keys:
        named = [column for column in by if isinstance(column, str)]
        needed |= {f"the public keys of {column}": keys.get(column) for column in named}
    return needed

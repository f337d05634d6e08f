"""A spec that is not whole yet: where it begins, and what is still to be said.

What was chosen on another screen comes along as its `promise`: a line of YAML, `tolerance: {…}` or
`budget: {…}`, in the words of a spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import InputError
from discreet.web.forms import KINDS, readable
from discreet.web.links import link

__all__ = ["missing", "promise_of", "release_link", "start"]

_FIRST = {
    "tolerance": {
        "posterior": 0.25,
        "unless_ratio": 3,
        "about": "membership",
        "every_output": True,
    }
}
_LONGEST = 4_000


def release_link(promise: Mapping[str, Any]) -> str:
    """Return the link that takes a tolerance or a budget to the screen Release.

    >>> release_link({"tolerance": {"ratio": 3.0, "q": 1.0}})
    '/release?promise=tolerance%3A+%7Bratio%3A+3.0%2C+about%3A+membership%2C+every_output%3A+true%7D'
    """
    import yaml

    lines = []
    for name, values in promise.items():
        said = _said(values) if name == "tolerance" else dict(values)
        text = yaml.safe_dump(said, default_flow_style=True, sort_keys=False, width=10**6)
        lines.append(f"{name}: {text}")
    return link("/release", {"promise": "".join(lines).strip()})


def _said(tolerance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tolerance with the words of a spec, where it has words: q = 1, and δ = 0."""
    said = {key: value for key, value in tolerance.items() if key != "q" or value != 1}
    if "q" not in said and "q" in tolerance:
        said["about"] = "membership"
    return said if "delta" in tolerance else {**said, "every_output": True}


def promise_of(text: str | None) -> dict[str, Any]:
    """Return the promise that came along from another screen; of nothing, nothing."""
    if not text:
        return {}
    values = readable(text) if len(text) <= _LONGEST else None
    if values is None or len(values) != 1 or not values.keys() <= {"tolerance", "budget"}:
        raise InputError("promise must be YAML with one key, tolerance or budget; choose it anew.")
    return values


def start(source: str, promise: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    return {
        "source": source,
        "protect": {"unit": "person", "adjacency": "add-remove"},
        **(promise or _FIRST),
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

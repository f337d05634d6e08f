"""Results as JSON, and those that are tables as pandas, Polars or Arrow, whichever the reader has.

What a result has as JSON follows from its fields (`JsonReady`). A result that is a table says only
its columns (`to_columns`); everything else follows. The libraries are loaded when they are asked
for, so no room that makes results depends on one.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from discreet.lazily import missing
from discreet.words import catalogue, say

__all__ = [
    "JsonReady",
    "Results",
    "Tabular",
    "columns_from",
    "html_grid",
    "html_page",
    "html_table",
    "json_ready",
]

_SHOWN = 20


def json_ready(value: Any) -> Any:
    """Return a value as JSON has it; the one place that says how.

    Results are objects, by their own `to_dict` where they have one; tuples are lists, paths and
    members of enumerations text. Infinity is null, and its object has `unbounded`.

    >>> json_ready({"upper": math.inf, "names": ("a", "b")})
    {'upper': None, 'names': ['a', 'b'], 'unbounded': True}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        ready = {name: json_ready(one) for name, one in value.items()}
        endless = any(isinstance(one, float) and math.isinf(one) for one in value.values())
        return ready | {"unbounded": True} if endless else ready
    if isinstance(value, (list, tuple)):
        return [json_ready(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PathLike):
        return fspath(value)
    return None if isinstance(value, float) and math.isinf(value) else value


class JsonReady:
    """A frozen result that is a JSON object: what `shows` names, or else all of its fields."""

    __slots__ = ()
    shows: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        names = self.shows or [field.name for field in fields(self)]  # type: ignore[arg-type]
        ready: dict[str, Any] = json_ready({name: getattr(self, name) for name in names})
        return ready


class Tabular:
    """A result that is a table."""

    __slots__ = ()

    @abstractmethod
    def to_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name, all of one length."""

    def to_arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`."""
        return _library("pyarrow").table({k: list(v) for k, v in self.to_columns().items()})

    def doubles(self) -> Sequence[str]:
        """Return the columns that are numbers even where all of them are missing."""
        return ()

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`."""
        frame = _library("pandas").DataFrame(dict(self.to_columns()))
        return frame.astype(dict.fromkeys(self.doubles(), float))

    def to_polars(self) -> Any:
        """Return the table as a `polars.DataFrame`."""
        polars = _library("polars")
        kinds = dict.fromkeys(self.doubles(), polars.Float64)
        return polars.DataFrame(dict(self.to_columns()), schema_overrides=kinds, strict=False)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Export the table through the Arrow PyCapsule interface, as any Arrow library reads it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        shown = self.to_columns().items()
        columns = {name: own for name, own in shown if any(value is not None for value in own)}
        rows = islice(zip(*columns.values(), strict=True), _SHOWN)
        return html_grid(
            repr(self), list(columns), [[_cell(value) for value in row] for row in rows]
        )


class _Result(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=_Result)


class Results(Tabular, Generic[T]):
    """Several results of one kind, in order, and a table with a row for each of them.

    It is no tuple, since Arrow and Polars take a tuple for a list of columns.
    """

    __slots__ = ("_items",)
    named: ClassVar[str] = "results"
    tabled: ClassVar[tuple[str, ...]] = ()

    def __init__(self, items: Iterable[T]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __getitem__(self, place: int) -> T:
        return self._items[place]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._items)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what each result says of itself, by dotted names as JSON nests them.

        What `tabled` names, or else all of it.
        """
        return columns_from((one.to_dict() for one in self), self.tabled)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON-ready values."""
        return {self.named: [one.to_dict() for one in self]}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"


def columns_from(
    rows: Iterable[Mapping[str, Any]], only: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Return rows as columns: nested names are joined by dots, lists are left out.

    With `only` there are those columns alone, in that order; a name stands for all inside it.

    >>> columns_from([{"k": 1, "after": {"at most": 0.2}}, {"k": 2, "all": [1, 2]}])
    {'k': [1, 2], 'after.at most': [0.2, None]}
    """
    flat = [dict(_flat(row)) for row in rows]
    names: Iterable[str] = dict.fromkeys(name for row in flat for name in row)
    if only:
        order = {name: place for place, name in enumerate(only)}
        kept = (name for name in names if name.partition(".")[0] in order)
        names = sorted(kept, key=lambda name: order[name.partition(".")[0]])
    return {name: [row.get(name) for row in flat] for name in names}


def _flat(row: Mapping[str, Any], within: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        elif not isinstance(value, (list, tuple)):
            yield f"{within}{name}", value


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as fault:
        raise missing(say("extra.frame"), fault) from None


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values as HTML.

    >>> html_table("a < b", [("x", "1")])
    '<table><caption>a &lt; b</caption><tr><th>x</th><td>1</td></tr></table>'
    """
    from html import escape

    body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


_HEAD = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}</style>
</head>
"""


def html_page(template: Path, *, title: str, style: str, script: str = "", **values: str) -> str:
    """Return a page that asks nothing of any server, from the template of its body.

    Each `{{name}}` of the template is replaced by its value, once. The page's policy names its
    script by its hash, so that no other can run.
    """
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(script.encode()).digest()).decode()
    runs = f"script-src 'sha256-{digest}'; " if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; {runs}base-uri 'none'; form-action 'none'"
    )
    head = _HEAD.format(language=catalogue().language, policy=policy, title=title, style=style)
    filling = {"title": title, "script": script, **values}
    text = template.read_text(encoding="utf-8")
    return head + re.sub(r"\{\{(\w+)\}\}", lambda name: filling[name[1]], text)


def html_grid(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a header as HTML.

    >>> html_grid("a < b", ["x"], [["1"]])
    '<table><caption>a &lt; b</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
    """
    from html import escape

    lines = [("th", header), *(("td", row) for row in rows)]
    body = "".join(
        "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in line) + "</tr>"
        for tag, line in lines
    )
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"

"""How results show themselves in a notebook: one small table, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["html_table"]


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values as HTML.

    >>> html_table("a < b", [("x", "1")])
    '<table><caption>a &lt; b</caption><tr><th>x</th><td>1</td></tr></table>'
    """
    from html import escape

    body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"

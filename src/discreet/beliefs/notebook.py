"""How results show themselves in a notebook: small tables, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["html_grid", "html_table"]


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values as HTML.

    >>> html_table("a < b", [("x", "1")])
    '<table><caption>a &lt; b</caption><tr><th>x</th><td>1</td></tr></table>'
    """
    from html import escape

    body = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


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

"""A state of the page as a link, and as a YAML file that the command line accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

__all__ = ["as_yaml", "link", "yaml_file"]


def link(path: str, state: Mapping[str, Any]) -> str:
    """Return a path with the state as its query; what is empty is left out.

    >>> link("/tolerate", {"after": 12.0, "before": 5, "fold": None, "formula": "3 + 1/p"})
    '/tolerate?after=12&before=5&formula=3+%2B+1%2Fp'
    """
    pairs = [(name, _text(value)) for name, value in state.items() if value not in (None, "")]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def as_yaml(mapping: Mapping[str, Any], command: str = "") -> str:
    """Return a mapping as YAML, with the command that reads it as a comment on top.

    >>> print(as_yaml({"ratio": 3.0}, "discreet choose --file tolerance.yaml"), end="")
    # discreet choose --file tolerance.yaml
    ratio: 3.0
    """
    import yaml

    text = str(yaml.safe_dump(dict(mapping), sort_keys=False, allow_unicode=True))
    return f"# {command}\n{text}" if command else text


def yaml_file(text: str, name: str) -> Response:
    """Return a YAML text as a download; the name is one of ours, never one that was sent."""
    disposition = f'attachment; filename="{name}"'
    return Response(
        text, media_type="application/yaml", headers={"Content-Disposition": disposition}
    )

"""The page: what you tolerate, what it costs, what was promised; a thin shell on loopback.

`create_app` makes the application, `serve` runs it. No formula lives here: every number comes from
the room that computes it for Python and for the command line, and looks as `statements.presenter`
says. Each screen is a sub-package (`tolerate`, `cost`, `series`, `release`, `ledger`, `explain`,
`me`) with its form, its view and its addresses; `forms` reads what was typed, `screens` renders.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["create_app", "serve"]

_HOME = {"create_app": "discreet.web.app", "serve": "discreet.web.serving"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.web' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

"""The page: what you tolerate, what it costs, what was promised; on this machine only.

`create_app` makes the application, `serve` runs it. It contains no formulas: every number is from
the package that computes it for Python and for the command line, and `statements.presenter` writes
it. Each screen is a module (`tolerate`, `cost`, `series`, `release`, `ledger`, `explain`,
`attack`) with its form, its view and its addresses; `forms` reads what was typed, and `screens`
renders.
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

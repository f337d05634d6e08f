"""Attacks our own releases and checks that beliefs stay inside the promise.

    from discreet.auditing import audit
    audit("clinic.yaml")     # an Audit: passed, epsilon_lower, failure_probability, tests, checks

`neighbours` makes up data sets, `path` runs the real release on them, `events` and `believing` are
the adversary, `promises` what was promised, `checks` what needs next to no statistics.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.auditing.auditing import Attack, Audit, attack, audit

__all__ = ["Attack", "Audit", "attack", "audit"]

_EXTRA = {"duckdb", "ibis", "opendp", "pyarrow", "pydantic", "sqlalchemy"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'discreet.auditing' has no attribute {name!r}")
    try:
        return getattr(import_module("discreet.auditing.auditing"), name)
    except ModuleNotFoundError as missing:
        if missing.name not in _EXTRA:
            raise
        raise InputError(
            f"An audit needs {missing.name}, which is not installed; install discreet[release]."
        ) from None

"""Attacks our own releases and checks that beliefs stay inside the promise.

    from discreet.auditing import audit
    audit("clinic.yaml")     # an Audit: passed, epsilon_lower, failure_probability, tests, checks

`neighbours` makes up data sets, `path` runs the real release on them, `events` and `believing` are
the adversary, `promises` what was promised, `checks` what needs next to no statistics. `attack` is
for mechanisms outside a release.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.auditing.attacking import Attack, attack
    from discreet.auditing.auditing import Audit, audit

__all__ = ["Attack", "Audit", "attack", "audit"]

_HOME = {"Attack": "attacking", "attack": "attacking", "Audit": "auditing", "audit": "auditing"}

_EXTRA = {"duckdb", "ibis", "opendp", "pyarrow", "pydantic", "sqlalchemy"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.auditing' has no attribute {name!r}")
    try:
        return getattr(import_module(f"discreet.auditing.{_HOME[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name not in _EXTRA:
            raise
        raise InputError(
            f"An audit needs {missing.name}, which is not installed; install discreet[release]."
        ) from None

"""One spec → reservation → contribution bounding → aggregation → noise → commit → tables.

    from discreet.releases import release
    made = release("clinic.yaml")          # a Release: release_id, spent, remaining, files, table
    release("clinic.yaml", dry_run=True)   # a Preview: cost and accuracy; nothing read or spent

`spec` and `questions` are what is asked; `contributions` and `statistics` (with `choices`) what it
measures and how sensitive that is; `pricing` and `planning` what it costs; `engines` where the rows
are; `pipeline` the way through; `tables`, `outputs` and `statement` what is left on disk.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.releases.contributions import Contribution
    from discreet.releases.pipeline import Preview, Release, release
    from discreet.releases.spec import Spec, json_schema, load

_HOME = {
    "Contribution": "contributions",
    "Preview": "pipeline",
    "Release": "pipeline",
    "Spec": "spec",
    "json_schema": "spec",
    "load": "spec",
    "release": "pipeline",
}

__all__ = ["Contribution", "Preview", "Release", "Spec", "json_schema", "load", "release"]

_EXTRA = {"duckdb", "ibis", "opendp", "pyarrow", "pydantic", "sqlalchemy"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet.releases' has no attribute {name!r}")
    try:
        return getattr(import_module(f"discreet.releases.{_HOME[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name not in _EXTRA:
            raise
        raise InputError(
            f"A release needs {missing.name}, which is not installed; install discreet[release]."
        ) from None

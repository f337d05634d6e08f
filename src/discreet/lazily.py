"""Names of a package that are loaded on first use, and what to install where a library is missing.

Every room that touches data is an extra. Importing the room costs nothing and needs nothing; the
first use of a name loads the module where it lives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from discreet.errors import InputError

__all__ = ["found_in", "missing"]

_EXTRAS = {
    **dict.fromkeys(
        ("duckdb", "ibis", "opendp", "pyarrow", "pydantic", "sqlalchemy"), "discreet[release]"
    ),
    **dict.fromkeys(("altair", "vl_convert"), "discreet[charts]"),
    **dict.fromkeys(("fastapi", "jinja2", "python_multipart", "uvicorn"), "discreet[web]"),
    "dp_accounting": "discreet[accounting]",
    "pandas": "pandas",
    "polars": "polars",
    "psycopg": "discreet[postgres]",
    "pyspark": "discreet[spark]",
}


def missing(what: str, fault: ModuleNotFoundError) -> Exception:
    """Return the refusal for a library of an extra that is not installed, or the fault itself."""
    library = (fault.name or "").partition(".")[0]
    if library not in _EXTRAS:
        return fault
    return InputError("extra.missing", what=what, library=library, extra=_EXTRAS[library])


def found_in(
    package: str, what: str, files: Mapping[str, str]
) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package: `files` says which names a file has.

    `what` begins the sentence that says which library is missing: "A release" needs duckdb, …
    """
    home = {name: file for file, names in files.items() for name in names.split()}

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        except ModuleNotFoundError as fault:
            raise missing(what, fault) from None

    return __getattr__, sorted(home)

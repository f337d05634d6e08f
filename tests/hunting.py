"""The hunt for a secret: plant it in data, run something, look for it in all that is said or left.

    hunt = Hunt(folder)
    told = hunt.told(lambda: release(...))      # output, logs, warnings, the traceback of an error
    hunt.found(told)                            # where the secret is; it must be nowhere

Any test may use it: give it a folder, and whatever else was said (the body of a page, for example).
"""

from __future__ import annotations

import contextlib
import io
import logging
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

__all__ = ["CSV", "SECRET", "Hunt", "lines", "tables"]

SECRET = "zebra7351"  # noqa: S105
LONG = SECRET * 1_200


def lines(*rows: str) -> bytes:
    """Return a CSV of these rows."""
    return ("person,county,cost\n" + "\n".join(rows) + "\n").encode()


CSV: dict[str, bytes] = {
    "text in a number column": lines(f"a,north,{SECRET}", "b,south,3"),
    "secret people and counties": lines(f"{SECRET},north,1", f"b,{SECRET},2", f"{SECRET},,"),
    "a ragged row": lines(f"a,north,{SECRET},{SECRET},{SECRET}", "b,south,1"),
    "a short row": lines(f"{SECRET}", "b,south,1"),
    "an unclosed quote": lines(f'a,"{SECRET},1', "b,south,1"),
    "not UTF-8": lines("a,north,1") + SECRET.encode() + b"\xff\xfe,north,1\n",
    "a NUL": lines(f"a\0{SECRET},north,1"),
    "10,000 characters": lines(f"{LONG},north,{LONG}", f"b,{LONG},1"),
    "numbers at the edges": lines(f"a,north,1e308,{SECRET}", "b,north,-1e308"),
    "markup": lines(f"<script>{SECRET}</script>,north,1", f"=cmd|{SECRET},south,2"),
}


def tables() -> dict[str, pa.Table]:
    """Tables whose columns are not what a spec expects, each with the secret in it."""
    return {
        "nested": pa.table({"person": ["a"], "county": [[SECRET]], "cost": [1.0]}),
        "binary": pa.table({"person": ["a"], "county": [SECRET.encode()], "cost": [1.0]}),
        "missing column": pa.table({"person": [SECRET], "cost": [1.0]}),
        "cost is text": pa.table({"person": ["a"], "county": ["north"], "cost": [SECRET]}),
    }


@dataclass
class Hunt:
    """One hunt: the folder that everything is left in, and the files that hold the secret."""

    folder: Path
    secret: str = SECRET
    planted: Iterable[str] = field(default_factory=lambda: ("data.csv", "data.parquet"))

    def told(self, run: Callable[[], object]) -> str:
        """Run it and return everything that it said, errors with their whole traceback."""
        heard = io.StringIO()
        handler = logging.StreamHandler(heard)
        root = logging.getLogger()
        level = root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            with (
                contextlib.redirect_stdout(heard),
                contextlib.redirect_stderr(heard),
                warnings.catch_warnings(record=True) as seen,
            ):
                warnings.simplefilter("always")
                try:
                    heard.write(repr(run()))
                except SystemExit as ended:
                    heard.write(f"\nexit {ended.code}\n")
                except Exception as error:
                    heard.write("".join(traceback.format_exception(error)) + repr(error))
            heard.write("".join(str(warning.message) for warning in seen))
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
        return heard.getvalue()

    def found(self, *said: str | bytes) -> list[str]:
        """Return where the secret is: in what was said, in a file, or in the name of one."""
        places = []
        for number, text in enumerate(said):
            body = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
            if self.secret.encode() in body:
                places.append(f"what was said ({number})")
        for path in sorted(self.folder.rglob("*")):
            if self.secret in path.name:
                places.append(f"the name {path.name}")
            looked_at = path.is_file() and path.name not in self.planted
            if looked_at and self.secret.encode() in path.read_bytes():
                places.append(str(path.relative_to(self.folder)))
        return places

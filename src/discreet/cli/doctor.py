"""`discreet doctor`: whether what Discreet needs is here, and works."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Annotated, Any

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit, table
from discreet.errors import DiscreetError
from discreet.words import say


@described("doctor")
def doctor(
    ledger: Annotated[str | None, typer.Option("--ledger")] = None, as_json: Json = False
) -> None:
    """Look at this environment: versions, engines, samplers, and a ledger."""
    found = [*_packages(), _java(), *_engines(), *_samplers(), *_ledger(ledger)]
    works = all(one["works"] is not False for one in found)
    rows = [[_MARKS[one["works"]], one["part"], one["found"]] for one in found]
    closing = say("cli.doctor.works" if works else "cli.doctor.fails")
    emit({"works": works, "checks": found}, [*table(rows), closing], as_json)
    if not works:
        raise typer.Exit(1)


_MARKS = {True: "ok", False: "FAILS", None: "-"}


def _line(part: str, works: bool | None, found: str) -> dict[str, Any]:
    """One line; `works` is None for what is not installed and may be missing."""
    return {"part": part, "works": works, "found": found}


def _packages() -> Iterator[dict[str, Any]]:
    yield _line("Python", True, f"{platform.python_version()}, {platform.platform(terse=True)}")
    yield _line("discreet", True, version("discreet"))
    for name, extra in _wanted().items():
        try:
            yield _line(name, True, version(name))
        except PackageNotFoundError:
            missing = say("cli.doctor.missing", extra=extra or "discreet")
            yield _line(name, None if extra else False, missing)


def _wanted() -> dict[str, str]:
    """The packages that Discreet names as its own, with the first extra that asks for each."""
    found: dict[str, str] = {}
    for line in requires("discreet") or ():
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = line.partition("extra ==")[2].strip(" '\"")
        if name != "discreet" and extra not in ("all", "docs", "test", "tools"):
            found.setdefault(name, extra)
    return found


def _java() -> dict[str, Any]:
    """Java, which Spark needs: its version as it says itself."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin" if home else None)
    if program is None:
        return _line("Java", None, say("cli.doctor.no_java"))
    try:
        said = subprocess.run(  # noqa: S603  # the Java of this machine, with a fixed argument
            [program, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return _line("Java", False, say("cli.doctor.java_fails", program=program))
    return _line("Java", True, (said.stderr or said.stdout).splitlines()[0])


def _engines() -> Iterator[dict[str, Any]]:
    """Count four invented rows in DuckDB."""
    try:
        import pyarrow as pa

        from discreet.releases.contributions import Contribution
        from discreet.releases.engines.base import Counting, Query
        from discreet.releases.engines.duckdb import DuckDB

        rows = pa.table({"unit": [1, 1, 2, 3]})
        query = Query(("unit",), None, Contribution(), (Counting("rows"),))
        works = DuckDB.of(rows).measure(query)["rows"] == [3]
    except ImportError:
        yield _line("DuckDB counts", None, say("cli.doctor.missing", extra="release"))
        return
    yield _line("DuckDB counts", works, say("cli.doctor.counted"))


def _samplers() -> Iterator[dict[str, Any]]:
    try:
        from discreet.noise.samplers import self_test

        for law, works, draws in self_test():
            yield _line(f"noise, {law}", works, say("cli.doctor.drawn", draws=draws))
    except ImportError:
        yield _line("noise", None, say("cli.doctor.missing", extra="release"))


def _ledger(url: str | None) -> Iterator[dict[str, Any]]:
    if url is None:
        return
    try:
        from discreet.ledger import Ledger

        book = Ledger.open(url)
        found = book.verify()
        said = say("cli.doctor.ledger", accounts=len(book.accounts()))
        yield _line("ledger", found.verified, said)
    except DiscreetError as error:
        yield _line("ledger", False, error.message)

"""`discreet init`: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit
from discreet.errors import InputError
from discreet.words import catalogue, say

__all__ = ["TEMPLATE", "command"]

TEMPLATE = (catalogue().folder / "release.yaml").read_text(encoding="utf-8")


@described("init")
def command(
    file: Annotated[Path, typer.Argument()] = Path("release.yaml"), as_json: Json = False
) -> None:
    """Write a commented spec to start from; an existing file is left alone."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(TEMPLATE)
    except FileExistsError:
        raise InputError("cli.file_exists", file=file) from None
    except OSError as error:
        raise InputError("cli.file_unwritable", file=file, why=error.strerror) from None
    emit({"file": str(file.resolve())}, [say("cli.init.wrote", file=file)], as_json)

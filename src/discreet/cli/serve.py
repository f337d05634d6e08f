"""`discreet serve`: the page, on this machine only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit
from discreet.lazily import missing
from discreet.words import say


@described("serve")
def serve(
    port: Annotated[int, typer.Option(metavar="N")] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser")] = True,
    folder: Annotated[Path, typer.Option(metavar="DIR")] = Path(),
    as_json: Json = False,
) -> None:
    """The page: all of this in the browser. Ctrl-C ends it.

    It listens on this machine only, and the address that it prints works once, in one browser.
    """

    def announce(address: str) -> None:
        lines = say("cli.serve.at", address=address)
        emit({"url": address, "folder": str(folder.resolve())}, [lines], as_json)
        sys.stdout.flush()

    try:
        from discreet.web.serving import serve

        serve(folder, port=port, browser=browser, announce=announce)
    except ModuleNotFoundError as fault:
        raise missing("The page", fault) from None

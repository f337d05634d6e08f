"""`discreet serve`: the page, on this machine only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit
from discreet.errors import InputError

__all__ = ["command"]


def command(
    port: Annotated[
        int, typer.Option(help="The port on loopback; 0 takes any free one.", metavar="N")
    ] = 8765,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    folder: Annotated[
        Path, typer.Option(help="The folder that releases are made in.", metavar="DIR")
    ] = Path(),
    as_json: JsonOption = False,
) -> None:
    """The page: tolerate, cost, series, release, ledger, explain. Ctrl-C ends it.

    It listens on this machine only, and the address that it prints works once, in one browser.
    """

    def announce(address: str) -> None:
        lines = [f"Discreet is at {address}", "The address works once. Ctrl-C ends it."]
        emit({"url": address, "folder": str(folder.resolve())}, lines, as_json)
        sys.stdout.flush()

    try:
        from discreet.web.serving import serve

        serve(folder, port=port, browser=browser, announce=announce)
    except ImportError as error:
        raise InputError(
            f"the page needs {error.name}; install it with `pip install 'discreet[web]'`."
        ) from None

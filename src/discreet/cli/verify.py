"""`discreet verify`: check a report folder, as the `verify.py` in it does."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit
from discreet.words import say

__all__ = ["command"]


def command(
    folder: Annotated[Path, typer.Argument(help=say("reports.verify.folder"))],
    head: Annotated[str | None, typer.Option(help=say("reports.verify.head"))] = None,
    ledger: Annotated[str | None, typer.Option(help=say("reports.verify.ledger"))] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a report folder; exit 1 on a problem or a broken promise."""
    from discreet.reports.stored import ledger_rows
    from discreet.reports.verifier import examined, lines_of

    rows = None if ledger is None else partial(ledger_rows, ledger)
    found = examined(folder, head, rows)
    answer = found.answer()
    emit(answer, lines_of(found), as_json)
    if not answer["verified"] or answer["promise_kept"] is False:
        raise typer.Exit(1)

"""`discreet verify`: check a report folder, as the `verify.py` in it does."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit

__all__ = ["command"]


@described("verify")
def command(
    folder: Path, head: str | None = None, ledger: str | None = None, as_json: Json = False
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

"""`discreet report`: the report of a stored release, and the means to check it."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit
from discreet.words import say

__all__ = ["command"]


def command(
    release_id: Annotated[str, typer.Argument(help=say("reports.folder.help_release"))],
    ledger: Annotated[str | None, typer.Option(help=say("reports.folder.help_ledger"))] = None,
    output: Annotated[str | None, typer.Option(help=say("reports.folder.help_output"))] = None,
    note: Annotated[str | None, typer.Option(help=say("reports.folder.help_note"))] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a release: HTML, Markdown, JSON, registry YAML and a verifier."""
    from discreet.reports.folder import report

    made = report(release_id, ledger=ledger, output=output, note=note)
    if made.entry is None:
        recorded = say("reports.folder.not_recorded", manifest=made.manifest)
    else:
        recorded = say("reports.folder.recorded", entry=made.entry)
    lines = [
        say("reports.folder.written", release_id=release_id, page=made.html),
        *(f"  {path}" for path in made.files),
        recorded,
        say("reports.folder.check", script=made.folder / "verify.py"),
    ]
    emit(made.to_dict(), lines, as_json)

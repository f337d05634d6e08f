"""`discreet report`: the report of a stored release, and the means to check it."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit

__all__ = ["command"]


def command(
    release_id: Annotated[str, typer.Argument(help="The release, as `ledger show` lists it.")],
    ledger: Annotated[
        str | None, typer.Option(help="Where it was charged, e.g. sqlite:///ledger.db.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="The output folder that holds the release.")
    ] = None,
    note: Annotated[
        str | None, typer.Option(help="A note to show on the page; it changes nothing else.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a release: HTML, Markdown, JSON, registry YAML and a verifier."""
    from discreet.explanations.reporting import report

    made = report(release_id, ledger=ledger, output=output, note=note)
    lines = [
        f"Report of release {release_id}: {made.html}",
        *(f"  {path}" for path in made.files),
        f"Check it with nothing installed: python3 -I {made.folder / 'verify.py'}",
    ]
    emit(made.to_dict(), lines, as_json)

"""`discreet synthesize`: a synthetic file from one spec, charged to the ledger."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import amounts, emit, table
from discreet.rounding import number, percent
from discreet.words import say

__all__ = ["command"]


@described("synthesize")
def command(
    spec: str,
    dry_run: bool = False,
    yes: bool = False,
    keys_from: Path | None = None,
    as_json: Json = False,
) -> None:
    """Draw a differentially private synthetic file, charged before anything is drawn."""
    from discreet.synthetic import synthesize

    def confirmed(notice: str) -> bool:
        question = say("cli.go_on", notice=notice)
        return yes or (sys.stdin.isatty() and typer.confirm(question, err=True))

    made = synthesize(
        spec,
        dry_run=dry_run,
        confirm=confirmed,
        say=lambda notice: typer.echo(notice, err=True),
        keys_from=keys_from,
    )
    payload = made.to_dict()
    emit(payload, _lines(payload), as_json)


def _lines(made: dict[str, Any]) -> list[str]:
    law, blur = made["synthesizer"], made["utility"]["prior_share"]
    rows = [
        ["epsilon", number(made["epsilon"], "up", 6)],
        [say("cli.synthesize.left"), _left(made["remaining"])],
        ["synthetic records", f"{law['n_synthetic']} × {law['copies']}"],
        ["possible cells", str(law["cells"])],
        [say("cli.synthesize.weight"), f"{made['utility']['alpha']:.6g}"],
        [
            say("cli.synthesize.blur"),
            say("cli.synthesize.size_unknown") if blur is None else f"{blur:.1%}",
        ],
    ]
    said = [
        say("cli.from_to", before=f"{row['prior']:.0%}", after=percent(row["posterior"], "up", 1))
        for row in made["risk"]["worst_case"]
    ]
    first = (
        say("cli.synthesize.not_drawn")
        if made["release_id"] is None
        else f"Release {made['release_id']}"
    )
    files = [f"  {path}" for path in made["files"]]
    return [first, *table(rows), say("cli.synthesize.worst_case"), *said, *files, *made["notes"]]


def _left(remaining: dict[str, Any] | None) -> str:
    if remaining is None:
        return "not open"
    if remaining.get("unbounded"):
        return "no cap"
    return amounts(remaining, "down")

"""`discreet synthesize`: a synthetic file from one spec, charged to the ledger."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table
from discreet.rounding import number, percent

__all__ = ["command"]


def command(
    spec: Annotated[str, typer.Argument(help="The spec of the synthetic file (YAML).")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Spend nothing, read only the schema, show the cost.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Draw again if this spec was drawn before: a new charge.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a differentially private synthetic file, charged before anything is drawn."""
    from discreet.synthetic import synthesize

    def confirmed(notice: str) -> bool:
        return yes or (sys.stdin.isatty() and typer.confirm(f"{notice} Go on?", err=True))

    made = synthesize(
        spec,
        dry_run=dry_run,
        confirm=confirmed,
        say=lambda notice: typer.echo(notice, err=True),
    )
    payload = made.to_dict()
    emit(payload, _lines(payload), as_json)


def _lines(made: dict[str, Any]) -> list[str]:
    law, blur = made["synthesizer"], made["utility"]["prior_share"]
    rows = [
        ["epsilon", number(made["epsilon"], "up", 6)],
        ["left in the account", _left(made["remaining"])],
        ["synthetic records", f"{law['n_synthetic']} × {law['copies']}"],
        ["possible cells", str(law["cells"])],
        ["weight in each cell", f"{made['utility']['alpha']:.6g}"],
        ["share of the file that is blur", "n is not public" if blur is None else f"{blur:.1%}"],
    ]
    said = [
        f"  from {row['prior']:.0%} to at most {percent(row['posterior'], 'up', 1)}"
        for row in made["risk"]["worst_case"]
    ]
    first = (
        "Not drawn (dry run)." if made["release_id"] is None else f"Release {made['release_id']}"
    )
    files = [f"  {path}" for path in made["files"]]
    return [first, *table(rows), "What any file may do to a belief:", *said, *files, *made["notes"]]


def _left(remaining: dict[str, Any] | None) -> str:
    if remaining is None:
        return "not open"
    if remaining.get("unbounded"):
        return "no cap"
    return ", ".join(
        f"{name} {number(value, 'down', 6)}"
        for name, value in remaining.items()
        if isinstance(value, float) and name in ("epsilon", "delta", "rho")
    )

"""`discreet rehearse SPEC`: what limits and bounds cost beside the noise, on a twin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit, table
from discreet.words import say


@described("rehearse")
def rehearse(
    file: Path,
    twin: Annotated[Path, typer.Option("--twin")],
    limit: list[int] | None = None,
    repeats: int = 10,
    keys_from: Path | None = None,
    png: Path | None = None,
    as_json: Json = False,
) -> None:
    """Try the spec on a public or invented twin of the data, with different limits of rows."""
    from discreet.releases.rehearsal import rehearse

    if png is not None:
        from discreet.charts import rehearsal_chart, save  # missing extras are told now

    found = rehearse(file, twin, limits=limit, repeats=repeats, keys_from=keys_from)
    if png is not None:
        save(rehearsal_chart(found), png)
    rows = [
        [
            str(row["limit"]),
            row["statistic"],
            *(f"{row[n]:.4g}" for n in ("bias", "noise", "error")),
        ]
        for row in found.rows
    ]
    lines = table(rows, ["rows", "statistic", "bias", "noise", "error"])
    lines.append(say("cli.rehearse.recommended", limit=found.recommended, now=found.limit))
    emit(found.to_dict(), lines, as_json)

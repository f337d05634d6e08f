"""`discreet summarize SOURCE`: every column with its public type and bounds, in one release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.flags import Json, PromiseFlags, described
from discreet.cli.output import emit, table
from discreet.errors import InputError
from discreet.statements.presenter import amount_text
from discreet.words import say


@described("summarize")
def summarize(
    source: str,
    promise: PromiseFlags,
    columns: Annotated[Path, typer.Option("--columns")],
    account: Annotated[str, typer.Option("--account")],
    ledger: Annotated[str, typer.Option("--ledger")],
    unit_column: list[str] | None = None,
    rows: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    output: Path = Path("out"),
    write: Path = Path("summary.yaml"),
    dry_run: bool = False,
    as_json: Json = False,
) -> None:
    """Release counts, missing values, quantiles and public keys of every column, in one charge."""
    from discreet.reading import text_of, yaml_values
    from discreet.releases.summary import Summary, summarize

    known = yaml_values(text_of(columns, "the columns"), f"the columns {columns}")
    if not (isinstance(known, dict) and known):
        raise InputError("cli.summarize.no_columns", file=columns)
    keys = promise.all_keys
    whom = {"unit": keys.pop("unit", "person"), "adjacency": keys.pop("adjacency", "add-remove")}
    name = keys.pop("unit_name", None)
    own = {"name": name, "column": unit_column, "rows": rows}
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    numbers = {key: value for key, value in budget.items() if value is not None}
    made = summarize(
        source,
        known,
        account=account,
        protect=whom | {key: value for key, value in own.items() if value is not None},
        ledger=ledger,
        output=output,
        write=None if dry_run else write,
        dry_run=dry_run,
        **({"tolerance": keys | _delta(delta)} if promise.says_what else {"budget": numbers}),
    )
    said = made.to_dict() | {"spec": None if dry_run else str(write.resolve())}
    spent = amount_text(said["spent"], "up")
    if not isinstance(made, Summary):
        emit(said, [say("cli.summarize.would_spend", spent=spent)], as_json)
        if made.refused is not None:
            raise made.refused
        return
    cells = [
        [str(one["column"] or "-"), row["what"], str(row["label"] or ""), *_numbers(row)]
        for one in made.columns
        for row in one["rows"]
    ]
    lines = table(cells, ["column", "what", "", "value", "from", "to"])
    lines.append(say("cli.summarize.made", release_id=said["release_id"], spec=write, spent=spent))
    emit(said, lines, as_json)


def _delta(delta: float | None) -> dict[str, float]:
    return {} if delta is None else {"delta": delta}


def _numbers(row: dict[str, Any]) -> list[str]:
    ends = (row["value"], row["interval_low"], row["interval_high"])
    return ["" if number is None else f"{number:.10g}" for number in ends]

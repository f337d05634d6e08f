"""`discreet cost`: what promises cost in accuracy, side by side."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.flags import FlagsFiles, Json, PromiseFlags, described
from discreet.cli.output import emit, table
from discreet.errors import InputError
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Costs


@described("cost")
def cost(
    promise: PromiseFlags,
    file: FlagsFiles = None,
    delta: Annotated[float | None, typer.Option(metavar="D")] = None,
    sensitivity: int = 1,
    denominator: int = 1,
    per: float = 1.0,
    target: float | None = None,
    away: Annotated[list[float] | None, typer.Option()] = None,
    gap: Annotated[list[int] | None, typer.Option()] = None,
    cells: Annotated[list[int] | None, typer.Option()] = None,
    png: Path | None = None,
    as_json: Json = False,
) -> None:
    """What promises cost: budget, errors, and how often a decision would turn out wrong."""
    from discreet.budgets import cost

    if png is not None:
        from discreet.charts import cost_chart, save  # missing extras are told now

    if not (file or promise.says_what):
        raise InputError("cli.nothing_promised")
    found = cost(
        *promise.promises(),
        delta=delta or 0.0,
        sensitivity=sensitivity,
        denominator=denominator,
        per=per,
        target=target,
        away=away or (),
        gaps=gap or (),
        cells=cells or (10, 1000),
    )
    if png is not None:
        save(cost_chart(found), png)
    emit(found.to_dict(), _lines(found), as_json)


def _lines(found: Costs) -> list[str]:
    from discreet.statements.presenter import budget_text, chance_text

    names = [ascii_uppercase[i] if len(found) <= 26 else str(i + 1) for i in range(len(found))]
    asked = found[0].asked
    rated = asked.denominator != 1
    header = ["", say("cli.cost.column_budget"), say("cli.cost.rmse"), say("cli.cost.within")]
    header += [say("cli.cost.exact"), *([say("cli.cost.rate")] if rated else [])]
    header += [say("cli.cost.table", cells=cells) for cells in asked.cells]
    rows = []
    for name, one in zip(names, found, strict=True):
        errors = one.errors
        count = errors["count"]
        row = [name, budget_text(one.epsilon), f"{count['rmse']:.3f}", f"{count['within_95']:,}"]
        row += [chance_text(count["prob_exact"])]
        row += [f"{errors['rate']['within_95']:.3g}"] if rated else []
        rows.append(row + [f"{one['all_within_95']:,}" for one in errors["tables"]])
    sentences = [one.sentence or one.name for one in found]
    lines = [
        *(
            say("cli.cost.promise", name=name, sentence=sentence)
            for name, sentence in zip(names, sentences, strict=True)
        ),
        "",
        *table(rows, header),
    ]
    if not found[0].switch:
        return lines
    chances = []
    for place, first in enumerate(found[0].switch):
        chances.append([first.truth, *(chance_text(one.switch[place].chance) for one in found)])
    target = []
    if asked.target is not None:
        target = [say("cli.cost.target", target=asked.target, limit=asked.limit)]
    return [
        *lines,
        "",
        *target,
        say("cli.cost.switches"),
        *table(chances, ["", *names]),
        "",
        say("cli.cost.hypothetical"),
    ]

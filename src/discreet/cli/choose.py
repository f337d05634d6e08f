"""`discreet choose` and `cost`: from promises to the largest budgets, and what they cost."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.flags import FlagsFile, FlagsFiles, Json, PromiseFlags, as_flag, described
from discreet.cli.output import charted, emit, table
from discreet.errors import InputError
from discreet.reading import share_of
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Choice, Costs


@described("choose")
def choose(
    promise: PromiseFlags,
    file: FlagsFile = None,
    delta: Annotated[float | None, typer.Option(metavar="D")] = None,
    sensitivity: int = 1,
    population: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    statistic: str = "mean",
    converse: bool = False,
    as_json: Json = False,
) -> None:
    """From a promise to the largest budget that keeps it.

    Several limits must all hold. With no arguments, on a terminal, it asks.
    """
    from discreet.budgets import choose, lee_clifton, proved_by
    from discreet.statements.presenter import budget_text

    if promise.keys.get("preset") == "list":
        _list_presets(as_json)
        return
    if file is None and not promise.says_what:
        promise = PromiseFlags({**_ask(), **promise.keys})
    choice = choose(promise.promise(), delta=delta or 0.0, sensitivity=sensitivity)
    payload = choice.to_dict()
    if population is not None:
        limit = promise.all_keys.get("posterior")
        if limit is None:
            raise InputError("cli.population_without_posterior")
        compared = lee_clifton(_population(population), limit, statistic)
        payload["alternatives"]["lee_clifton"] = compared.epsilon
        payload["lee_clifton"] = compared.to_dict()
    lines = _lines(choice)
    if population is not None:
        told = payload["lee_clifton"]
        told = told | {name: budget_text(told[name]) for name in ("epsilon", "ours")}
        lines += ["", say("cli.choose.lee_clifton", **told)]
    if converse:
        proved = proved_by(promise.promise())
        payload["converse"] = proved.to_dict()
        lines += ["", proved.text]
    emit(payload, lines, as_json)


def _population(given: str) -> list[float]:
    """Return the numbers of a public population: of a file, one in a line, or given in a row."""
    from discreet.promises.keys import read_text

    if given.strip().isdigit():
        raise InputError("cli.population_size")
    numbers = given.split(",") if "," in given else read_text(Path(given)).split()
    try:
        return [float(number) for number in numbers]
    except ValueError:
        raise InputError("cli.population_numbers") from None


def _list_presets(as_json: bool) -> None:
    from discreet.promises import PRESETS

    payload = {
        "presets": [
            {"name": name, "about": one.about, "tolerance": one.tolerance.to_mapping()}
            for name, one in PRESETS.items()
        ]
    }
    emit(payload, table([[name, one.about] for name, one in PRESETS.items()]), as_json)


def _ask() -> dict[str, Any]:
    """Ask in plain words, and print the command that the answers amount to."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError("cli.nothing_promised")

    def percentage(question: str, default: str = "") -> float | None:
        while True:
            text = str(
                typer.prompt(question, default=default, show_default=bool(default), err=True)
            )
            text = text.strip().rstrip("%").strip()
            if not text:
                return None
            value = share_of(f"{text}%")
            if isinstance(value, float) and 0 < value <= 1:
                return value
            typer.echo(say("cli.asked.percentage"), err=True)

    typer.echo(say("cli.asked.what"), err=True)
    kinds = {"1": "membership", "2": "value", "3": "both"}
    about = None
    while about is None:
        about = kinds.get(str(typer.prompt(say("cli.asked.which"), default="1", err=True)).strip())
        if about is None:
            typer.echo(say("cli.asked.worry"), err=True)
    before = percentage(say("cli.asked.before"))
    after = None
    while after is None or (before is not None and after <= before):
        proposed = "25" if before is None or before < 0.25 else ""
        after = percentage(say("cli.asked.after"), proposed)
        if after is not None and before is not None and after <= before:
            typer.echo(say("cli.asked.more"), err=True)
    asked: dict[str, Any] = {"posterior": after}
    asked["about"] = about
    if before is not None:
        asked["q" if about == "value" else "p"] = before
    else:
        growth = typer.prompt(say("cli.asked.growth"), default="3", err=True)
        try:
            asked["unless_ratio"] = float(growth)
        except ValueError:
            raise InputError("cli.asked.no_number", given=str(growth)[:40]) from None
    words = ["discreet", "choose"]
    for key, value in asked.items():
        text = value if isinstance(value, str) else f"{value:g}"
        words += [as_flag(key), text]
    typer.echo(say("cli.asked.command", command=shlex.join(words)), err=True)
    return asked


def _lines(choice: Choice) -> list[str]:
    import math

    from discreet.guarantees import Adjacency
    from discreet.rounding import decimal_up, exact_text, number
    from discreet.statements.presenter import budget_text, decided_by, implied_table
    from discreet.statements.tables import compared

    guarantee, binding, proof = choice.guarantee, choice.binding, choice.certificate
    at = f"p = {binding.p:.4g}, q = {binding.q:.4g}"
    noise = choice.noise
    rounded = "" if math.isinf(choice.epsilon) else "  (rounded down)"
    rows = [
        ["promised", choice.promise.sentence()],
        ["epsilon", f"{budget_text(choice.epsilon)}{rounded}"],
    ]
    if getattr(guarantee, "delta", 0.0):
        rows.append(["delta", f"{getattr(guarantee, 'delta', 0.0):g}"])
    rows += [
        ["adjacency", guarantee.adjacency.value],
        [say("cli.choose.decided_by"), f"{decided_by(choice)} ({at})"],
        ["proof", proof.method + ("" if proof.certified else " — NOT CERTIFIED")],
    ]
    if proof.certified and math.isfinite(proof.upper):
        upper = decimal_up(proof.upper, 6)
        gap = number(proof.upper - proof.lower, "up", 1)
        rows.append(["certified", say("cli.choose.certified", upper=f"{upper:.6f}", gap=gap)])
    if choice.confidence is not None:
        rows.append(["sided", say(f"cli.sided.{choice.promise.sided}")])
    kind = "noise_local" if guarantee.adjacency is Adjacency.LOCAL else "noise"
    exact = exact_text(noise["prob_exact"])
    rows.append(["noise", say(f"cli.choose.{kind}", exact=exact, **noise)])
    for reading in choice.readings:
        if reading.reading != (choice.promise.surety and choice.promise.surety.reading):
            words = reading.reading.replace("_", " ")
            rows.append(["read otherwise", f"{words}: ε {budget_text(reading.epsilon)}"])
    lines = [*table(rows), "", say("cli.choose.elsewhere")]
    header, body = implied_table(choice)
    lines += table(body, header)
    lines += ["", compared([choice.promise], str(choice.promise.unit), "budget")]
    lines += ["", *(f"Note: {warning}" for warning in choice.warnings)]
    return lines + ([] if choice.question is None else [choice.question])


# -- what promises cost


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

    draw = charted(png, "cost_chart")
    if not (file or promise.says_what):
        raise InputError("cli.nothing_promised")
    found = cost(
        *promise.promises(),
        delta=delta,
        sensitivity=sensitivity,
        denominator=denominator,
        per=per,
        target=target,
        away=away or (),
        gaps=gap or (),
        cells=cells or (10, 1000),
    )
    draw(found)
    emit(found.to_dict(), _cost_lines(found), as_json)


def _cost_lines(found: Costs) -> list[str]:
    from discreet.rounding import exact_text
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
        row += [exact_text(count["prob_exact"])]
        row += [f"{errors['rate']['within_95']:.3g}"] if rated else []
        rows.append(row + [f"{one['all_within_95']:,}" for one in errors["tables"]])
    lines = [
        say("cli.cost.promise", name=name, sentence=one.sentence or one.name)
        for name, one in zip(names, found, strict=True)
    ]
    lines += ["", *table(rows, header)]
    for note in filter(None, (found.unlike, found.no_gain)):
        lines += ["", note]
    if not found[0].switch:
        return lines
    chances = []
    for place, first in enumerate(found[0].switch):
        chances.append([first.truth, *(chance_text(one.switch[place].chance) for one in found)])
    target = []
    if asked.target is not None:
        target = [say("cli.cost.target", target=asked.target, limit=asked.limit)]
    lines += ["", *target, say("cli.cost.switches"), *table(chances, ["", *names])]
    return [*lines, "", say("cli.cost.hypothetical")]

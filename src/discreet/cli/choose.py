"""`discreet choose`: from a promise to the largest budget that keeps it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import FILE_HELP, flags_from
from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table
from discreet.cli.promise_options import PromiseFlags, takes_promise
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budgets import Choice

__all__ = ["command"]


@takes_promise()
def command(
    promise: PromiseFlags,
    file: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=flags_from("choose"), help=FILE_HELP),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Approximate DP: the δ of (ε, δ); strong adversary.", metavar="D"),
    ] = None,
    sensitivity: Annotated[int, typer.Option(help="How far one unit moves a count.")] = 1,
    population: Annotated[
        int | None,
        typer.Option(help="Show Lee and Clifton's epsilon for a public population.", metavar="N"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """From a promise to the largest budget that keeps it.

    Several limits must all hold. With no arguments, on a terminal, it asks.
    """
    from discreet.budgets import choose, lee_clifton

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
            raise InputError("--population compares with a posterior; give --posterior too.")
        payload["alternatives"]["lee_clifton"] = lee_clifton(population, limit)
    emit(payload, _lines(choice, payload["alternatives"]), as_json)


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
        raise InputError(
            "nothing is promised yet: give --ratio, --posterior, --difference, --profile, --table, "
            "--preset or --file; `discreet choose --help` explains them."
        )

    def percentage(question: str, default: str = "") -> float | None:
        while True:
            text = str(
                typer.prompt(question, default=default, show_default=bool(default), err=True)
            )
            text = text.strip().rstrip("%").strip()
            if not text:
                return None
            try:
                value = float(text) / 100
            except ValueError:
                value = -1.0
            if 0 < value <= 1:
                return value
            typer.echo("A percentage above 0 and up to 100, please.", err=True)

    say = typer.echo
    say("What may someone come to believe about one person from what you publish?", err=True)
    say(
        "  1  that they are in the data\n  2  a value of theirs, when it is known that they are in",
        err=True,
    )
    say("  3  both at once", err=True)
    worry = typer.prompt("Which worries you", default="1", err=True)
    before = percentage("How likely may someone think it before (in %, Enter for any)")
    after = None
    while after is None or (before is not None and after <= before):
        after = percentage("How sure may someone become at the most (in %)", "25")
        if after is not None and before is not None and after <= before:
            say("More than before, please: otherwise nothing may be published.", err=True)
    asked: dict[str, Any] = {"posterior": after}
    about = {"1": "membership", "2": "value"}.get(str(worry).strip(), "both")
    asked["about"] = about
    if before is not None:
        asked["q" if about == "value" else "p"] = before
    else:
        growth = typer.prompt(
            "Unless their belief grows at most how many fold", default="3", err=True
        )
        try:
            asked["unless_ratio"] = float(growth)
        except ValueError:
            raise InputError(
                f"{str(growth)[:40]!r} is not a number; answer 3, for instance."
            ) from None
    words = ["discreet", "choose"]
    for key, value in asked.items():
        text = value if isinstance(value, str) else f"{value:g}"
        words += [f"--{key.replace('_', '-')}", text]
    say(f"\nThe same as a command:\n  {shlex.join(words)}\n", err=True)
    return asked


def _lines(choice: Choice, alternatives: dict[str, Any]) -> list[str]:
    import math

    from discreet.guarantees import Adjacency
    from discreet.rounding import decimal_down, percent

    def number(x: float) -> str:
        return "unbounded" if math.isinf(x) else f"{decimal_down(x, 4):.4f}"

    guarantee, binding, proof = choice.guarantee, choice.binding, choice.certificate
    who = f"p = {binding.p:.4g}, q = {binding.q:.4g}"
    if binding.name:
        who = f"{binding.name}: {who}"
    rounded = "" if math.isinf(choice.epsilon) else "  (rounded down)"
    rows = [
        ["promised", choice.promise.sentence()],
        ["epsilon", f"{number(choice.epsilon)}{rounded}"],
    ]
    if getattr(guarantee, "delta", 0.0):
        rows.append(["delta", f"{getattr(guarantee, 'delta', 0.0):g}"])
    rows += [
        ["adjacency", guarantee.adjacency.value],
        ["binds", who if binding.attained else f"{who} (in the limit)"],
        ["proof", proof.method + ("" if proof.certified else " — NOT CERTIFIED")],
        [
            "noise",
            f"sd {choice.noise['sd']:.2f} on a count; exact {choice.noise['prob_exact']:.0%} of "
            f"the time; 95 % within ±{choice.noise['half_width_95']}",
        ],
    ]
    for name, value in alternatives.items():
        if value is not None:
            central = guarantee.adjacency is Adjacency.ADD_REMOVE
            naive = "naive ½ log r" if central else "naive log r"
            label = {"naive": naive, "lee_clifton": "Lee and Clifton"}[name]
            rows.append(["beside it", f"{label}: {number(value)}"])
    for reading in choice.readings:
        if reading.reading != (choice.promise.surety and choice.promise.surety.reading):
            words = reading.reading.replace("_", " ")
            rows.append(["read otherwise", f"{words}: ε {number(reading.epsilon)}"])
    lines = [*table(rows), "", "What the budget allows at other priors:"]
    known_in = "posterior_known_in" in choice.implied[0]
    header = ["before", "after, at most", *(["after, if known to be in"] if known_in else [])]
    body = []
    for row in choice.implied:
        cells = [percent(row["prior"], "up"), percent(row["posterior"], "up", 1)]
        if known_in:
            cells.append(percent(row["posterior_known_in"], "up", 1))
        body.append(cells)
    lines += table(body, header)
    lines += ["", *(f"Note: {warning}" for warning in choice.warnings)]
    return lines + ([] if choice.question is None else [choice.question])

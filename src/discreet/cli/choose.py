"""`discreet choose`: from a tolerance to the largest budget that keeps it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budgets import Choice

__all__ = ["command"]


def command(
    ratio: Annotated[
        float | None,
        typer.Option(help="Belief grows at most R-fold.", metavar="R"),
    ] = None,
    posterior: Annotated[
        float | None,
        typer.Option(help="Nobody becomes more than A sure.", metavar="A"),
    ] = None,
    unless_ratio: Annotated[
        float | None,
        typer.Option(help="With --posterior: unless belief grows at most R-fold.", metavar="R"),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Belief grows by at most B (0.2: twenty percentage points).", metavar="B"
        ),
    ] = None,
    counterfactual: Annotated[
        float | None,
        typer.Option(help="Odds if one joins at most R times those if not.", metavar="R"),
    ] = None,
    counts_sensitive_only: Annotated[
        bool, typer.Option(help="The statistic counts the sensitive ones alone.")
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(help='A formula in p and q, "max(0.25/(p*q), 3)".', metavar="FORMULA"),
    ] = None,
    table_file: Annotated[
        str | None, typer.Option("--table", help="A CSV with p,q,ratio.", metavar="FILE")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A tolerance with a name; `list` shows them.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="A tolerance in YAML, with these flags as keys.")
    ] = None,
    p: Annotated[
        float | None, typer.Option("--p", help="Fix the prior of being in the data.", metavar="P")
    ] = None,
    q: Annotated[
        float | None, typer.Option("--q", help="Fix the prior of the value, if in.", metavar="Q")
    ] = None,
    box: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="Restrict both priors.", metavar="P0 P1 Q0 Q1"),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Approximate DP: the δ of (ε, δ); strong adversary.", metavar="D")
    ] = 0.0,
    confidence: Annotated[
        float, typer.Option(help="With --delta: how often it must hold.", metavar="C")
    ] = 0.99,
    sided: Annotated[str, typer.Option(help="one (increases only) or two.")] = "two",
    adjacency: Annotated[str, typer.Option(help="add-remove, replace or local.")] = "add-remove",
    sensitivity: Annotated[int, typer.Option(help="How far one unit moves a count.")] = 1,
    population: Annotated[
        int | None,
        typer.Option(help="Show Lee and Clifton's epsilon for a public population.", metavar="N"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """From a tolerance to the largest budget that keeps it.

    Several tolerances must all hold. With no arguments, on a terminal, it asks.
    """
    from discreet.budgets import choose, lee_clifton

    if preset == "list":
        _list_presets(as_json)
        return
    given: dict[str, Any] = {
        "ratio": ratio,
        "posterior": posterior,
        "unless_ratio": unless_ratio,
        "difference": difference,
        "counterfactual": counterfactual,
        "counts_sensitive_only": counts_sensitive_only or None,
        "profile": profile,
        "table": table_file,
        "preset": preset,
        "p": p,
        "q": q,
        "box": list(box) if box else None,
    }
    asked = {key: value for key, value in given.items() if value is not None}
    promise: dict[str, Any] = {"delta": delta, "confidence": confidence, "sided": sided}
    if file is not None:
        if asked:
            raise InputError(
                f"--file already says what is tolerated; drop --{next(iter(asked))}, or put it "
                "into the file."
            )
        tolerance, promise = _from_file(file, promise)
    else:
        if not asked:
            asked = _ask()
        tolerance = _from_flags(asked)
    choice = choose(tolerance, adjacency=adjacency, sensitivity=sensitivity, **promise)
    payload = choice.to_dict()
    if population is not None:
        posterior_asked = asked.get("posterior")
        if posterior_asked is None:
            raise InputError("--population compares with a posterior; give --posterior too.")
        payload["alternatives"]["lee_clifton"] = lee_clifton(population, posterior_asked)
    emit(payload, _lines(choice, payload["alternatives"]), as_json)


def _from_flags(asked: dict[str, Any]) -> Any:
    from discreet.promises import from_mapping

    return from_mapping(asked)


def _from_file(file: Path, promise: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    from discreet.promises.mapping import from_mapping, load_yaml, promise_of, read_text

    mapping = load_yaml(read_text(file))
    said = promise_of(mapping)
    if "delta" in mapping or "confidence" in mapping or "sided" in mapping:
        promise = {"delta": said.delta, "confidence": said.confidence, "sided": said.sided}
    return from_mapping(mapping, file.parent), promise


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
            "nothing is tolerated or forbidden yet: give --ratio, --posterior, --difference, "
            "--profile, --table, --preset or --file; `discreet choose --help` explains them."
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
    fixed = {"1": ("q", "p"), "2": ("p", "q")}.get(str(worry).strip())
    if fixed is not None:
        asked[fixed[0]] = 1.0
    if before is not None:
        asked["p" if fixed is None else fixed[1]] = before
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
        words += [f"--{key.replace('_', '-')}", f"{value:g}"]
    say(f"\nThe same as a command:\n  {shlex.join(words)}\n", err=True)
    return asked


def _lines(choice: Choice, alternatives: dict[str, Any]) -> list[str]:
    import math

    from discreet.budgets.choice import QUESTION
    from discreet.rounding import decimal_down, percent

    def number(x: float) -> str:
        return "unbounded" if math.isinf(x) else f"{decimal_down(x, 4):.4f}"

    guarantee, binding, proof = choice.guarantee, choice.binding, choice.certificate
    who = f"p = {binding.p:.4g}, q = {binding.q:.4g}"
    if binding.name:
        who = f"{binding.name}: {who}"
    rows = [
        ["tolerated", str(choice.tolerance)],
        ["epsilon", f"{number(choice.epsilon)}  (rounded down)"],
    ]
    if choice.confidence is not None:
        delta = getattr(guarantee, "delta", 0.0)
        rows.append(
            ["delta", f"{delta:g}, holding with probability {choice.confidence:g} for each"]
        )
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
            label = {"naive": "naive ½ log r", "lee_clifton": "Lee and Clifton"}[name]
            rows.append(["beside it", f"{label}: {number(value)}"])
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
    lines += ["", *(f"Note: {warning}" for warning in choice.warnings), QUESTION]
    return lines

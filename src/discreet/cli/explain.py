"""`discreet explain`: from a guarantee to what may be learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.files import FILE_HELP, flags_from
from discreet.cli.options import (
    AdjacencyOption,
    JsonOption,
    MechanismOption,
    ScaleOption,
    SensitivityOption,
    SidedOption,
    SigmaOption,
    StrengthOption,
    UnitOption,
)
from discreet.cli.output import emit, table

__all__ = ["command"]


def command(
    epsilon: Annotated[
        float | None, typer.Option(help="The budget, for pure or (ε, δ)-DP.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="δ of the guarantee; with --rho or --mechanism, one point of the curve."),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="ρ of zCDP.")] = None,
    sigma: SigmaOption = None,
    scale: ScaleOption = None,
    probabilistic: Annotated[
        bool, typer.Option("--probabilistic", help="Read (ε, δ) as probabilistic DP.")
    ] = False,
    mechanism: MechanismOption = None,
    times: Annotated[int, typer.Option(help="How often the mechanism is used.")] = 1,
    prior: Annotated[
        float | None, typer.Option("--prior", "--p", help="Prior probability of being in.")
    ] = None,
    value_prior: Annotated[
        float,
        typer.Option(
            "--value-prior", "--q", help="Prior probability of the sensitive value, given in."
        ),
    ] = 1.0,
    confidence: Annotated[
        float, typer.Option(help="Where no bound holds for every output.")
    ] = 0.99,
    sided: SidedOption = "two",
    strength: StrengthOption = None,
    method: Annotated[str | None, typer.Option(help="paper: KSZ's own route for zCDP.")] = None,
    sensitivity: SensitivityOption = 1.0,
    adjacency: AdjacencyOption = None,
    counts_sensitive_only: Annotated[
        bool,
        typer.Option(
            "--counts-sensitive-only", help="The release counts the sensitive ones alone."
        ),
    ] = False,
    unit: UnitOption = "one person",
    people: Annotated[
        int, typer.Option(help="N of 'up to N·δ′ of N beyond the bound'.")
    ] = 1_000_000,
    audience: Annotated[str, typer.Option(help="public, technical or regulator.")] = "public",
    file: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=flags_from("explain"), help=FILE_HELP),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """From a guarantee and a prior to what an adversary may come to believe."""
    from discreet.beliefs import Prior, explain
    from discreet.cli.guarantee_options import read_subject
    from discreet.errors import InputError
    from discreet.explanations.sentences import sentence

    if prior is None and value_prior != 1.0:
        raise InputError("--value-prior was given without --prior; a value's prior needs both.")
    subject, at_delta = read_subject(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        sigma=sigma,
        scale=scale,
        probabilistic=probabilistic,
        mechanism=mechanism,
        sensitivity=sensitivity,
        adjacency=adjacency,
        times=times,
    )
    belief = explain(  # type: ignore[call-overload]  # checked by explain
        subject,
        None if prior is None else Prior(prior, value_prior),
        confidence=confidence,
        sided=sided,
        strength=strength,
        delta=at_delta,
        method=method,
        counts_sensitive_only=counts_sensitive_only,
        unit=unit,
        people=people,
    )
    text = sentence(belief, audience)  # type: ignore[arg-type]
    payload = belief.to_dict() | {"text": text, "audience": audience}
    emit(payload, _lines(belief, text), as_json)


def _lines(belief: Any, text: str) -> list[str]:
    rows = []
    if belief.posterior is not None:
        rows.append(["posterior", *_pair(belief.posterior, 4)])
    rows.append(["posterior / prior", *_pair(belief.ratio, 4)])
    rows.append(["posterior − prior", *_pair(belief.difference, 4)])
    lines = [text, "", *table(rows, ["", "at least", "at most"]), ""]
    lines += table(
        [
            ["holds with", f"{belief.holds_with:g}"],
            ["strength", belief.strength],
            ["by", belief.method],
            ["worst prior, ratio", f"p = {belief.worst_ratio.p:.4g}"],
            ["worst prior, difference", f"p = {belief.worst_difference.p:.4g}"],
        ]
    )
    if belief.at_confidence:
        lines += ["", "  at other confidences, at most:"]
        lines += table([_row(row) for row in belief.at_confidence], ["", "posterior", "difference"])
    return [*lines, "", *(f"  {name}: {v}" for name, v in belief.assumptions.to_dict().items())]


def _pair(bounds: Any, digits: int) -> list[str]:
    from discreet.rounding import decimal_down, decimal_up

    return [
        f"{decimal_down(bounds.lower, digits):.{digits}f}",
        f"{decimal_up(bounds.upper, digits):.{digits}f}",
    ]


def _row(row: Any) -> list[str]:
    from discreet.rounding import decimal_up

    posterior = "" if row.posterior is None else f"{decimal_up(row.posterior, 4):.4f}"
    return [f"{100 * row.confidence:g} %", posterior, f"{decimal_up(row.difference, 4):.4f}"]

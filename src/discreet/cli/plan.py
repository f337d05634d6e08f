"""`discreet plan`: from a tolerance over a series to the budget of each release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.files import FILE_HELP, flags_from
from discreet.cli.options import (
    AdjacencyOption,
    JsonOption,
    MechanismOption,
    PriorOption,
    SensitivityOption,
    SeriesMethodOption,
    SidedOption,
    StrengthOption,
)
from discreet.cli.output import emit, table

__all__ = ["command"]


def command(
    releases: Annotated[int | None, typer.Option(help="How many releases.")] = None,
    difference: Annotated[
        float | None, typer.Option(help="Largest posterior minus prior, at any prior.")
    ] = None,
    posterior: Annotated[float | None, typer.Option(help="Largest posterior at --prior.")] = None,
    ratio: Annotated[
        float | None, typer.Option(help="Largest posterior over prior, at --prior or at any.")
    ] = None,
    prior: PriorOption = None,
    delta_total: Annotated[
        float | None,
        typer.Option(
            "--delta-total",
            "--delta",
            help="δ of the total, one point of the curve; left out, the best is taken.",
        ),
    ] = None,
    delta_each: Annotated[float | None, typer.Option(help="δ of each release.")] = None,
    confidence: Annotated[float, typer.Option(help="With which the tolerance is kept.")] = 0.99,
    sided: SidedOption = "two",
    mechanism: MechanismOption = None,
    budget: Annotated[
        str | None, typer.Option(help="epsilon or rho, where no mechanism is named.")
    ] = None,
    sensitivity: SensitivityOption = 1.0,
    strength: StrengthOption = None,
    method: SeriesMethodOption = None,
    weight: Annotated[
        list[float] | None, typer.Option(help="Weight of a release; once for each of them.")
    ] = None,
    growth: Annotated[
        float | None, typer.Option(help="Each release gets so many times the one before.")
    ] = None,
    adjacency: AdjacencyOption = None,
    unit: Annotated[str, typer.Option(help="user, or user-period (one user's month).")] = "user",
    period: Annotated[str, typer.Option(help="What a period is: day, month.")] = "period",
    people: Annotated[
        int | None, typer.Option(help="How many people are in the data: advice on δ.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=flags_from("plan"), help=FILE_HELP),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The largest budget for each of several releases that keeps a tolerance over all of them."""
    from discreet.series import advice_on_delta, plan

    found = plan(
        releases,
        difference=difference,
        posterior=posterior,
        ratio=ratio,
        prior=prior,
        delta_total=delta_total,
        delta_each=delta_each,
        confidence=confidence,
        sided=sided,  # type: ignore[arg-type]  # checked by plan
        mechanism=mechanism,
        budget=budget,  # type: ignore[arg-type]
        sensitivity=sensitivity,
        strength=strength,  # type: ignore[arg-type]
        method=method,
        weights=weight or None,
        growth=growth,
        adjacency=adjacency,
        unit=unit,  # type: ignore[arg-type]
        period=period,
    )
    payload = found.to_dict()
    lines = _lines(found)
    if people is not None:
        promised = delta_total or (delta_each or 0.0) * found.releases
        advice = advice_on_delta(people, promised)
        payload["delta_advice"] = advice.to_dict()
        lines += ["", *advice.sentences]
    emit(payload, lines, as_json)


def _lines(found: Any) -> list[str]:
    from discreet.rounding import decimal_up
    from discreet.series.planning import shown_down

    name = "epsilon" if found.budget == "epsilon" else "rho"
    head = [[name, shown_down(found.budgets[0])]]
    if found.split != "equal":
        head = [[f"{name}, first release", shown_down(found.budgets[0])]]
        head.append([f"{name}, last release", shown_down(found.budgets[-1])])
    if found.per_release["delta"]:
        head.append(["delta", f"{found.per_release['delta']:g}"])
    if found.sigma is not None:
        head.append(["sigma", f"{decimal_up(found.sigma, 4):.4f}"])  # never less noise than planned
    total = [
        [f"total {key}", f"{value:.6g}"]
        for key, value in found.total.items()
        if value and key in ("epsilon", "delta", "rho")
    ]
    return [
        f"Each of {found.releases} releases may spend:",
        *table(head),
        "",
        *table(
            [
                *total,
                ["method", found.method],
                ["by", found.how],
                ["strength", found.strength],
                ["holds with", f"{found.holds_with:g}"],
                ["accuracy", found.accuracy.words],
                ["post-processing", found.assumptions.post_processing],
                ["adversary", found.assumptions.adversary],
            ]
        ),
        "",
        found.accumulation.accumulates,
        found.accumulation.does_not_accumulate,
        *([f"Note: {found.note}"] if found.note else []),
    ]

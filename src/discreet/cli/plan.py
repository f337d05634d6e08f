"""`discreet plan`: from a promise over a series to the budget of each release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.files import FILE_HELP, flags_from
from discreet.cli.options import (
    JsonOption,
    MechanismOption,
    NonnegativeOption,
    SensitivityOption,
    SeriesMethodOption,
    StrengthOption,
)
from discreet.cli.output import emit, table
from discreet.cli.promise_options import PromiseFlags, takes_promise

__all__ = ["command"]


@takes_promise()
def command(
    promise: PromiseFlags,
    releases: Annotated[int | None, typer.Option(help="How many releases.")] = None,
    delta_total: Annotated[
        float | None,
        typer.Option(
            "--delta-total",
            "--delta",
            help="δ of the total, one point of the curve; left out, the best is taken.",
        ),
    ] = None,
    delta_each: Annotated[float | None, typer.Option(help="δ of each release.")] = None,
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
    nonnegative: NonnegativeOption = False,
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
    """The largest budget for each of several releases that keeps a promise over all of them."""
    from discreet.series import advice_on_delta, plan

    found = plan(
        None,
        releases,
        delta_total=delta_total,
        delta_each=delta_each,
        mechanism=mechanism,
        budget=budget,  # type: ignore[arg-type]
        sensitivity=sensitivity,
        strength=strength,  # type: ignore[arg-type]
        method=method,
        weights=weight or None,
        growth=growth,
        nonnegative=nonnegative,
        period=period,
        **promise.all_keys,
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
        found.promise.sentence(),
        "",
        f"Each of {found.releases:,} releases may spend:"
        if found.releases > 1
        else "The release may spend:",
        *table(head),
        "",
        *table(
            [
                *total,
                ["method", found.method],
                ["by", found.how],
                ["strength", found.strength],
                [
                    "holds",
                    "on average"
                    if found.promise.on_average
                    else f"with probability {found.holds_with:g}",
                ],
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

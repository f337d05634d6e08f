"""`discreet plan`: from a promise over a series to the budget of each release."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet.cli.flags import FlagsFile, Json, PromiseFlags, described
from discreet.cli.output import emit, table
from discreet.words import say

__all__ = ["command"]


@described("plan")
def command(
    promise: PromiseFlags,
    releases: int | None = None,
    delta_total: Annotated[float | None, typer.Option("--delta-total", "--delta")] = None,
    delta_each: float | None = None,
    mechanism: str | None = None,
    budget: str | None = None,
    sensitivity: float = 1.0,
    strength: str | None = None,
    method: str | None = None,
    weight: list[float] | None = None,
    growth: float | None = None,
    nonnegative: bool = False,
    period: str = "period",
    people: int | None = None,
    file: FlagsFile = None,
    as_json: Json = False,
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
        say("cli.plan.may_spend", releases=found.releases),
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

"""`discreet horizon`: releases until a belief bound is passed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.files import FILE_HELP, flags_from
from discreet.cli.options import (
    JsonOption,
    MechanismOption,
    NonnegativeOption,
    ScaleOption,
    SensitivityOption,
    SeriesMethodOption,
    SigmaOption,
    StrengthOption,
)
from discreet.cli.output import emit, table
from discreet.cli.promise_options import PromiseFlags, takes_promise

__all__ = ["command"]


@takes_promise()
def command(
    promise: PromiseFlags,
    epsilon: Annotated[float | None, typer.Option(help="ε of each release.")] = None,
    delta_each: Annotated[float, typer.Option(help="δ of each release, with --epsilon.")] = 0.0,
    rho: Annotated[float | None, typer.Option(help="ρ of each release.")] = None,
    sigma: SigmaOption = None,
    scale: ScaleOption = None,
    mechanism: MechanismOption = None,
    delta: Annotated[
        float | None,
        typer.Option(help="δ of the total, one point of the curve; left out, the best is taken."),
    ] = None,
    method: SeriesMethodOption = None,
    strength: StrengthOption = None,
    upto: Annotated[int | None, typer.Option(help="Show the series to so many releases.")] = None,
    cap: Annotated[
        float | None, typer.Option(help="Cap on the sum of ε or ρ: how many releases fit under it.")
    ] = None,
    cap_delta: Annotated[float, typer.Option(help="Cap on the sum of δ, with --cap.")] = 0.0,
    spent: Annotated[
        float, typer.Option(help="ε or ρ already spent; it counts in the beliefs and under --cap.")
    ] = 0.0,
    sensitivity: SensitivityOption = 1.0,
    nonnegative: NonnegativeOption = False,
    file: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=flags_from("horizon"), help=FILE_HELP),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """How many releases until a promise is no longer kept."""
    from discreet.cli.guarantee_options import read_subject
    from discreet.errors import InputError
    from discreet.series import horizon

    if delta_each and (mechanism is not None or epsilon is None):
        raise InputError("--delta-each belongs to --epsilon; the noise brings its own curve.")
    keys = promise.all_keys
    each, _ = read_subject(
        epsilon=epsilon,
        delta=delta_each,
        rho=rho,
        sigma=sigma,
        scale=scale,
        mechanism=mechanism,
        sensitivity=sensitivity,
        adjacency=keys.get("adjacency") if mechanism is None else None,
    )
    left = None if cap is None else _left(each, cap, cap_delta, spent)
    if left and not promise.says_what and upto is None:
        upto = left
    found = horizon(
        each,
        spent=_spent(each, spent),
        strength=strength,  # type: ignore[arg-type]
        delta=delta,
        method=method,
        upto=upto,
        nonnegative=nonnegative,
        **keys,
    )
    payload, lines = found.to_dict(), _lines(found)
    if cap is not None:
        payload["left_under_cap"] = left
        lines += [
            "",
            f"Under the cap, {left if left is not None else 'any number of'} releases fit.",
        ]
    emit(payload, lines, as_json)


def _spent(each: Any, spent: float) -> Any:
    """What was spent before, in the words of the releases; None for nothing."""
    from discreet.composition import guarantee_of
    from discreet.guarantees import ZCDP, PureDP

    if not spent:
        return None
    stated = guarantee_of(each)
    if isinstance(stated, ZCDP):
        return ZCDP(spent, adjacency=stated.adjacency)
    return PureDP(spent, adjacency=stated.adjacency)


def _left(each: Any, cap: float, cap_delta: float, spent: float) -> int | None:
    """How many releases fit under a cap that is given in the words of the releases."""
    from discreet.composition import guarantee_of
    from discreet.guarantees import ZCDP, ApproxDP, PureDP
    from discreet.series import releases_left

    stated = guarantee_of(each)
    where = stated.adjacency
    if isinstance(stated, ZCDP):
        return releases_left(ZCDP(cap, adjacency=where), stated, ZCDP(spent, adjacency=where))
    limit = ApproxDP(cap, cap_delta, adjacency=where)
    return releases_left(limit, stated, PureDP(spent, adjacency=where))


def _lines(found: Any) -> list[str]:
    if found.releases is None:
        head = f"No limit is passed within {found.searched:,} releases."
    elif found.releases == 0:
        head = "The promise is passed already, by what was spent before."
    else:
        some = "one release" if found.releases == 1 else f"{found.releases:,} releases"
        head = f"The promise is first passed after {some}."
    if found.promise is not None:
        head = f"{found.promise.sentence()}\n{head}"
    chosen = _some(len(found.series))
    rows = [_row(found.series[i]) for i in chosen]
    return [
        head,
        "",
        *table(rows, ["releases", "posterior ≤", "difference ≤"]),
        "",
        *table(
            [
                ["holds with", f"{found.holds_with:g}, for each k"],
                ["strength", found.strength],
                ["by", found.method],
                ["adversary", found.assumptions.adversary],
                ["post-processing", found.assumptions.post_processing],
            ]
        ),
        *([f"  note: {found.note}"] if found.note else []),
    ]


def _some(count: int, most: int = 12) -> list[int]:
    """Some places of a series, evenly spread, with its first and its last two."""
    if count <= most:
        return list(range(count))
    return sorted({*(round(i * (count - 1) / (most - 1)) for i in range(most)), count - 2})


def _row(step: Any) -> list[str]:
    from discreet.rounding import decimal_up

    posterior = "" if step.posterior is None else f"{decimal_up(step.posterior, 4):.4f}"
    return [f"{step.k:,}", posterior, f"{decimal_up(step.difference, 4):.4f}"]

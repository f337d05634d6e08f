"""`discreet horizon`: releases until a belief bound is passed."""

from __future__ import annotations

from typing import Any

from discreet.cli.flags import FlagsFile, Json, PromiseFlags, described
from discreet.cli.output import emit, table
from discreet.words import say

__all__ = ["command"]


@described("horizon")
def command(
    promise: PromiseFlags,
    epsilon: float | None = None,
    delta_each: float = 0.0,
    rho: float | None = None,
    sigma: float | None = None,
    scale: float | None = None,
    mechanism: str | None = None,
    delta: float | None = None,
    method: str | None = None,
    strength: str | None = None,
    upto: int | None = None,
    cap: float | None = None,
    cap_delta: float = 0.0,
    spent: float = 0.0,
    sensitivity: float = 1.0,
    nonnegative: bool = False,
    file: FlagsFile = None,
    as_json: Json = False,
) -> None:
    """How many releases until a promise is no longer kept."""
    from discreet.cli.mechanisms import read_subject
    from discreet.errors import InputError
    from discreet.series import horizon

    if delta_each and (mechanism is not None or epsilon is None):
        raise InputError("cli.delta_each_without_epsilon")
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
        fit = "any" if left is None else "some"
        lines += ["", say(f"cli.horizon.fit_{fit}", releases=left)]
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
        head = say("cli.horizon.not_passed", releases=found.searched)
    elif found.releases == 0:
        head = say("cli.horizon.passed_before")
    else:
        head = say("cli.horizon.passed", releases=found.releases)
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

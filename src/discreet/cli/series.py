"""`discreet plan` and `discreet horizon`: promises over a series of releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli.flags import FlagsFile, Group, Json, OneRelease, PromiseFlags, described
from discreet.cli.output import emit, table
from discreet.rounding import decimal_up, number
from discreet.words import say


@dataclass(frozen=True, slots=True)
class _Planned(Group):
    """What is planned beside the promise."""

    releases: int | None = None
    delta_total: Annotated[float | None, typer.Option("--delta-total", "--delta")] = None
    delta_each: float | None = None
    mechanism: str | None = None
    budget: str | None = None
    sensitivity: float = 1.0
    strength: str | None = None
    method: str | None = None
    weights: Annotated[list[float] | None, typer.Option("--weight")] = None
    growth: float | None = None
    nonnegative: bool = False
    period: str = "period"


@described("plan")
def plan(
    promise: PromiseFlags,
    how: _Planned,
    people: int | None = None,
    file: FlagsFile = None,
    as_json: Json = False,
) -> None:
    """The largest budget for each of several releases that keeps a promise over all of them."""
    from discreet.series import advice_on_delta, plan

    found = plan(None, **how.given, **promise.all_keys)
    payload, lines = found.to_dict(), _plan_lines(found)
    if people is not None:
        promised = how.delta_total or (how.delta_each or 0.0) * found.releases
        advice = advice_on_delta(people, promised)
        payload["delta_advice"] = advice.to_dict()
        lines += ["", *advice.sentences]
    emit(payload, lines, as_json)


def _holds(average: bool, sure: float) -> str:
    how = "on_average" if average else "every_output" if sure == 1 else "with_probability"
    return say(f"cli.plan.{how}", sure=sure)


def _off_by(accuracy: dict[str, Any], *, better: bool, than: Any = None) -> list[str]:
    """The line that says how far off one number is, where it is known; beside another budget's.

    It names the noise, where that is another one `than` before.
    """
    if accuracy.get("sd") is None or accuracy["within_95"] is None:
        return []
    sd, within = (number(accuracy[name], "up", 3) for name in ("sd", "within_95"))
    off = say("cli.plan.off_by", sd=sd, within=within)
    if than is not None and accuracy["mechanism"] != than.mechanism:
        from discreet.laws.registry import kind_of

        noise = kind_of(accuracy["mechanism"]).label
        off = say("cli.plan.with_noise", off=off, noise=noise)
    return table([["one number", say("cli.plan.more_accurate", off=off) if better else off]])


def _plan_lines(found: Any) -> list[str]:
    from discreet.series.planning import shown_down

    name = "epsilon" if found.budget == "epsilon" else "rho"
    first = "" if found.split == "equal" else ", first release"
    head = [[f"{name}{first}", shown_down(found.budgets[0])]]
    if first:
        head.append([f"{name}, last release", shown_down(found.budgets[-1])])
    if found.per_release["delta"]:
        head.append(["delta", f"{found.per_release['delta']:g}"])
    if found.sigma is not None:
        shown = f"{decimal_up(found.sigma, 4):.4f}"  # never less noise than planned
        head.append([f"sigma{first}", shown])
        if first:
            last = decimal_up(found.accuracy_last.sd, 4)
            head.append(["sigma, last release", f"{last:.4f}"])
    of = "sum" if found.summed and found.method != "basic" else "bound"
    total = [
        [f"total {key}", say(f"cli.plan.total_{of}", total=number(value, "up", 6))]
        for key, value in found.total.items()
        if value and key in ("epsilon", "delta", "rho")
    ]
    average = found.promise.on_average
    rests = [
        *total,
        ["method", found.method],
        ["theorem", found.theorem],
        ["by", found.how],
        ["strength", found.strength],
        ["holds", _holds(average, found.holds_with)],
        *([["sided", say(f"cli.sided.{found.sided}")]] if found.holds_with < 1 else []),
        [f"accuracy{first}", found.accuracy.words],
        ["post-processing", found.assumptions.post_processing],
        ["adversary", found.assumptions.adversary],
    ]
    lines = [found.promise.sentence(), "", say("cli.plan.may_spend", releases=found.releases)]
    lines += table(head)
    account = found.on_account
    if account is not None:
        more = account["more_accurate"]
        lines += _off_by(found.accuracy.to_dict(), better=more is False)
        lines += [say("cli.plan.on_account", filter=found.rule_text)]
        lead = "epsilon" if account["rho"] is None else "rho"
        delta = [["delta", f"{account['delta']:g}"]] if account["delta"] else []
        lines += table([[f"{lead}{first}", shown_down(account[lead])], *delta])
        lines += _off_by(account["accuracy"] or {}, better=more is True, than=found.accuracy)
    lines += ["", *table(rests), "", found.accumulation.accumulates]
    return [
        *lines,
        found.accumulation.does_not_accumulate,
        *([f"Note: {found.note}"] if found.note else []),
    ]


@described("horizon")
def horizon(
    promise: PromiseFlags,
    release: OneRelease,
    delta_each: float = 0.0,
    delta: float | None = None,
    method: str | None = None,
    strength: str | None = None,
    upto: int | None = None,
    cap: float | None = None,
    cap_delta: float = 0.0,
    spent: float = 0.0,
    nonnegative: bool = False,
    file: FlagsFile = None,
    as_json: Json = False,
) -> None:
    """How many releases until a promise is no longer kept."""
    from discreet.series import horizon

    keys = promise.all_keys
    stated_under = keys.get("adjacency") if release.mechanism is None else None
    each = release.read(delta_each, stated_under)
    left = None if cap is None else _left(each, cap, cap_delta, spent)
    if left and not promise.says_what and upto is None:
        upto = left
    found = horizon(
        each,
        spent=_in_words_of(each, spent) if spent else None,
        strength=strength,  # type: ignore[arg-type]
        delta=delta,
        method=method,
        upto=upto,
        nonnegative=nonnegative,
        **keys,
    )
    payload, lines = found.to_dict(), _horizon_lines(found)
    if cap is not None:
        payload["left_under_cap"] = left
        fit = "any" if left is None else "some"
        lines += ["", say(f"cli.horizon.fit_{fit}", releases=left)]
    emit(payload, lines, as_json)


def _in_words_of(each: Any, amount: float, delta: float = 0.0) -> Any:
    """Return an amount as ρ where a release promises ρ, else as ε."""
    from discreet.composition import guarantee_of
    from discreet.guarantees import ZCDP, stated

    of = guarantee_of(each)
    if isinstance(of, ZCDP):
        return stated(rho=amount, adjacency=of.adjacency)
    return stated(amount, delta, adjacency=of.adjacency)


def _left(each: Any, cap: float, cap_delta: float, spent: float) -> int | None:
    """How many releases fit under a cap that is given in the words of the releases."""
    from discreet.composition import guarantee_of
    from discreet.series import releases_left

    limit = _in_words_of(each, cap, cap_delta)
    return releases_left(limit, guarantee_of(each), _in_words_of(each, spent))


def _horizon_lines(found: Any) -> list[str]:
    if found.promise is None and found.releases is None:
        head = say("cli.horizon.no_promise")
    elif found.releases is None:
        head = say("cli.horizon.not_passed", releases=found.searched)
    elif found.releases == 0:
        head = say("cli.horizon.passed_before")
    else:
        how = "passed_first" if found.releases == 1 else "passed"
        head = say(f"cli.horizon.{how}", releases=found.releases, kept=found.releases - 1)
    head += f" {found.rounding}" if found.rounding else ""
    if found.promise is not None:
        head = f"{found.promise.sentence()}\n{head}"
    header = ["releases", "posterior ≤", say("cli.horizon.difference")]
    if found.promise is not None and found.promise.on_average:
        header[1:] = [say("cli.horizon.right"), say("cli.horizon.more_right")]
    rows = [_row(found.series[i]) for i in _some(len(found.series))]
    if not any(row[1] for row in rows):  # no prior, no posterior
        header, rows = [header[0], header[2]], [[row[0], row[2]] for row in rows]
    rests = [
        ["holds with", f"{found.holds_with:g}, for each k"],
        *([["sided", say(f"cli.sided.{found.sided}")]] if found.holds_with < 1 else []),
        ["strength", found.strength],
        ["by", found.method],
        ["adversary", found.assumptions.adversary],
        ["post-processing", found.assumptions.post_processing],
    ]
    lines = [head, "", *table(rows, header), "", *table(rests)]
    return lines + ([f"  note: {found.note}"] if found.note else [])


def _some(count: int, most: int = 12) -> list[int]:
    """Some places of a series, evenly spread, with its first and its last two."""
    if count <= most:
        return list(range(count))
    return sorted({*(round(i * (count - 1) / (most - 1)) for i in range(most)), count - 2})


def _row(step: Any) -> list[str]:
    posterior = "" if step.posterior is None else f"{decimal_up(step.posterior, 4):.4f}"
    return [f"{step.k:,}", posterior, f"{decimal_up(step.difference, 4):.4f}"]

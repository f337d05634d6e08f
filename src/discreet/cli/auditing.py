"""`discreet attack` and `audit`: adversaries on invented data, and on the release of a spec."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.flags import Group, Json, SetKeys, changes_in, described
from discreet.cli.output import charted, emit, grid, progress, table
from discreet.words import say

if TYPE_CHECKING:
    from discreet.auditing import Attack


_WIDE = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class _Attacked(Group):
    """What is attacked, and how often."""

    epsilon: float | None = None
    rho: float | None = None
    mechanism: str | None = None
    prior: float = 0.1
    times: int | None = None
    cap: float | None = None
    confidence: float = 0.99
    repeats: int = 100
    spec: Path | None = None


@described("attack")
def attack(name: str, how: _Attacked, png: Path | None = None, as_json: Json = False) -> None:
    """Show what an attacker comes to believe, with noise and without, on invented data."""
    from discreet.auditing import attack

    draw = charted(png, "attack_chart")
    shown = attack(name, **how.given)
    draw(shown)
    emit(shown.to_dict(), _lines(shown), as_json)


def _lines(shown: Attack) -> list[str]:
    from discreet.statements.presenter import belief_text, bound_text

    def number(x: float | None) -> str:
        return "–" if x is None else f"{x:.4g}"

    def belief(x: float) -> str:
        return f"{_bar(x)} {belief_text(x)}"

    rows = []
    for exact, noisy in zip(shown.exact, shown.noisy, strict=True):
        row = [str(exact.k), number(noisy.truth), number(exact.estimate), belief(exact.belief)]
        row += [number(noisy.estimate), belief(noisy.belief), bound_text(noisy.bound or 0.0)]
        rows.append(row)
    names = ("noiseless", "belief", "with_noise", "belief", "bound")
    header = [shown.label("k"), shown.label("truth")]
    header += [say(f"auditing.attack.{name}") for name in names]
    scene, *rest = shown.sentences
    columns = say("auditing.attack.columns", estimate=shown.label("estimate"))
    lines = [shown.title, "", scene, "", *table(rows, header), columns, "", *rest]
    return [*lines, say("auditing.attack.invented")]


def _bar(share: float) -> str:
    """Return a share of 1 as a bar of fixed width."""
    eighths = round(8 * _WIDE * share)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_WIDE, "·")


# -- an audit of a release


@described("audit")
def audit(
    file: Path,
    epsilon: float = 2.0,
    trials: int = 2000,
    failure_probability: float = 1e-3,
    keys_from: Path | None = None,
    set_: SetKeys = None,
    chart: Path | None = None,
    as_json: Json = False,
) -> None:
    """Attack the release that FILE describes, on made-up data: nothing is read, nothing charged.

    Exit code 1 means that a fault was found; 0 that none was, which proves nothing.
    """
    from discreet.auditing import audit

    draw = charted(chart, "promised_against_seen")
    found = audit(
        file,
        epsilon=epsilon,
        trials=trials,
        failure_probability=failure_probability,
        keys_from=keys_from,
        changes=changes_in(set_),
        progress=progress if sys.stderr.isatty() else None,
    )
    progress.over("")
    draw(found)
    said = found.to_dict()
    emit(said, _audit_lines(said), as_json)
    if not found.passed:
        raise typer.Exit(1)


def _audit_lines(said: dict[str, Any]) -> list[str]:
    verdict = say("cli.audit.passed") if said["passed"] else say("cli.audit.broken")
    tests = [one | {"claim": _claim(not one["broken"])} for one in said["tests"]]
    shown = ("{pair}", "{of}", "{epsilon_lower:.3f}", "{epsilon_promised:.3f}", "{claim}")
    checks = [
        [check["name"], "passed" if check["passed"] else "FAILED", check["found"]]
        for check in said["checks"]
    ]
    return [
        verdict,
        say("cli.audit.reached", reached=_reached(said), failure=said["failure_probability"]),
        say("cli.audit.trials", **said),
        *grid(tests, shown, ["neighbours", "tested", "ε at least", "claimed", "claim"]),
        say("cli.audit.beliefs"),
        *table(*_belief_rows(said["beliefs"])),
        "Checks:",
        *table(checks),
        say("cli.audit.exposures"),
        *table([[one["attack"], one["why"]] for one in said["exposures"]]),
        *said["faults"],
        said["note"],
    ]


def _reached(said: dict[str, Any]) -> str:
    if said["rho_lower"] is not None:
        return say("cli.audit.rho", lower=said["rho_lower"], promised=said["promised"]["rho"])
    at = f" at δ = {said['delta']:g}" if said["delta"] else ""
    shown, promised = said["epsilon_lower"], said["epsilon_promised"]
    return say("cli.audit.epsilon", lower=shown, at=at, promised=promised)


def _belief_rows(beliefs: list[dict[str, Any]]) -> tuple[list[list[str]], list[str]]:
    rows = []
    for belief in beliefs:
        at = next(entry for entry in belief["priors"] if entry["prior"] == 0.1)["posterior"]
        spans = [
            f"{low:.1%} – {high:.1%}" for low, high in (at["promised"], at["certain"], at["seen"])
        ]
        outside = f"{belief['seen_outside']:.2%} (at most {belief['allowed_outside']:.2%})"
        rows.append([belief["pair"], *spans, outside, _claim(belief["passed"])])
    return rows, ["neighbours", "claimed", "shown", "estimated", "outside", "claim"]


def _claim(held: bool) -> str:
    return say(f"cli.audit.{'not_contradicted' if held else 'contradicted'}")

"""`discreet audit FILE`: attack the release that a spec describes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit, progress, table
from discreet.words import say


@described("audit")
def audit(
    file: Path,
    epsilon: float = 2.0,
    trials: int = 2000,
    failure_probability: float = 1e-3,
    keys_from: Path | None = None,
    chart: Path | None = None,
    as_json: Json = False,
) -> None:
    """Attack the release that FILE describes, on made-up data: nothing is read, nothing charged.

    Exit code 1 means that a fault was found; 0 that none was, which proves nothing.
    """
    from discreet.auditing import audit

    if chart is not None:
        from discreet.charts import promised_against_seen, save  # missing extras are told now

    found = audit(
        file,
        epsilon=epsilon,
        trials=trials,
        failure_probability=failure_probability,
        keys_from=keys_from,
        progress=progress if sys.stderr.isatty() else None,
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if chart is not None:
        save(promised_against_seen(found), chart)
    said = found.to_dict()
    emit(said, _lines(said), as_json)
    if not found.passed:
        raise typer.Exit(1)


def _lines(said: dict[str, Any]) -> list[str]:
    verdict = say("cli.audit.passed") if said["passed"] else say("cli.audit.broken")
    tests = [
        [
            test["pair"],
            test["of"],
            f"{test['epsilon_lower']:.3f}",
            f"{test['epsilon_promised']:.3f}",
            "BROKEN" if test["broken"] else "kept",
        ]
        for test in said["tests"]
    ]
    checks = [
        [check["name"], "passed" if check["passed"] else "FAILED", check["found"]]
        for check in said["checks"]
    ]
    return [
        verdict,
        say("cli.audit.reached", reached=_reached(said), failure=said["failure_probability"]),
        say("cli.audit.trials", **said),
        *table(tests, ["neighbours", "of", "ε at least", "promised", "promise"]),
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
        share = f"{belief['seen_outside']:.2%} of {belief['allowed_outside']:.2%}"
        rows.append([belief["pair"], *spans, share, "inside" if belief["passed"] else "OUTSIDE"])
    return rows, ["neighbours", "promised", "certain", "estimated", "outside", ""]

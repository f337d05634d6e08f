"""`discreet audit FILE`: attack the release that a spec describes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table

__all__ = ["command"]


def command(
    file: Annotated[Path, typer.Argument(help="The spec of the release (YAML).")],
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="What the budget is raised to for the audit.")
    ] = 2.0,
    trials: Annotated[
        int, typer.Option("--trials", help="Releases of each data set in a test.")
    ] = 2000,
    failure_probability: Annotated[
        float,
        typer.Option("--failure-probability", help="Of a false alarm, over the whole audit."),
    ] = 1e-3,
    chart: Annotated[
        Path | None, typer.Option("--chart", help="Draw promised against seen (PNG, SVG, HTML).")
    ] = None,
    as_json: JsonOption = False,
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
        progress=_progress if sys.stderr.isatty() else None,
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if chart is not None:
        save(promised_against_seen(found), chart)
    said = found.to_dict()
    emit(said, _lines(said), as_json)
    if not found.passed:
        raise typer.Exit(1)


def _progress(what: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r\x1b[K{what} {100 * done // total:3d} %")
    sys.stderr.flush()


def _lines(said: dict[str, Any]) -> list[str]:
    verdict = "No fault was found." if said["passed"] else "NOT PASSED: the promise is broken."
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
        f"{_reached(said)} (budget raised for the audit); all of this is wrong with probability at "
        f"most {said['failure_probability']:g}.",
        f"{said['releases']:,} releases of made-up data, {said['trials']:,} for each side of a "
        f"test; worst pair: {said['worst_pair']}.",
        *table(tests, ["neighbours", "of", "ε at least", "promised", "promise"]),
        "Beliefs (posterior, from a prior of 10 %):",
        *table(*_belief_rows(said["beliefs"])),
        "Checks:",
        *table(checks),
        *said["faults"],
        said["note"],
    ]


def _reached(said: dict[str, Any]) -> str:
    if said["rho_lower"] is not None:
        return (
            f"ρ is at least {said['rho_lower']:.3f}, where {said['promised']['rho']:g} is promised"
        )
    at = f" at δ = {said['delta']:g}" if said["delta"] else ""
    shown, promised = said["epsilon_lower"], said["epsilon_promised"]
    return f"ε is at least {shown:.3f}{at}, where {promised:g} is promised"


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

"""`discreet release FILE`: the whole way for one spec."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table
from discreet.errors import InputError
from discreet.rounding import number

__all__ = ["accuracy_lines", "command"]


def command(
    file: Annotated[Path, typer.Argument(help="The spec of the release (YAML).")],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Spend nothing, read only the schema; show cost, accuracy."),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Do not ask before a second run of the same spec (for CI)."),
    ] = False,
    plan: Annotated[
        str | None, typer.Option("--plan", help="A registered plan, already charged in full.")
    ] = None,
    next_slot: Annotated[
        bool, typer.Option("--next", help="Take the next slot of the plan.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="The occasion of the slot, e.g. 2026-11: the same key again draws nothing, and "
            "finds the stored release.",
        ),
    ] = None,
    as_opendp: Annotated[
        Path | None,
        typer.Option(
            "--as-opendp",
            help="Spend nothing; write a script here that makes this release with OpenDP alone.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the release that FILE describes: charge it, draw it once, store it."""
    from discreet.releases import Preview, Repeat, release

    if (plan is not None) != next_slot:
        raise InputError("--plan ID and --next come together: give both or neither.")
    if key is not None and plan is None:
        raise InputError("--key KEY goes with --plan ID --next: it names a slot of the plan.")
    if as_opendp is not None:
        _write_script(file, as_opendp, as_json)
        return
    teller = _Teller()
    made = release(
        file,
        dry_run=dry_run,
        confirm=lambda notice: yes or _asked(),
        say=teller.say,
        progress=teller.progress if sys.stderr.isatty() else None,
        plan_id=plan,
        key=key,
    )
    said = made.to_dict()
    if isinstance(made, Preview):
        emit(said, _preview_lines(said), as_json)
        if made.refused is not None:
            raise made.refused
    elif isinstance(made, Repeat):
        emit(said, _repeat_lines(said), as_json)
    else:
        emit(said, _release_lines(said), as_json)


def _write_script(file: Path, path: Path, as_json: bool) -> None:
    from discreet.releases.script import opendp_script, write_script

    write_script(opendp_script(file), path)
    where = str(path.resolve())
    lines = [
        f"Wrote {where}; nothing was spent. Running it draws new noise, which is a new release:",
        "charge it first with discreet ledger charge.",
    ]
    emit({"release_id": None, "dry_run": True, "files": [where]}, lines, as_json)


def _asked() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm("Charge it?", default=False, err=True)


class _Teller:
    """Messages and progress, on standard error; progress on a terminal only."""

    def __init__(self) -> None:
        self._open = False

    def say(self, sentence: str) -> None:
        self._end()
        sys.stderr.write(sentence + "\n")

    def progress(self, what: str, done: int, total: int) -> None:
        share = f"{100 * done // total:3d} %" if total > 1 else ("done" if done else "…")
        sys.stderr.write(f"\r\x1b[K{what} {share}")
        sys.stderr.flush()
        self._open = True
        if done >= total:
            self._end()

    def _end(self) -> None:
        if self._open:
            sys.stderr.write("\r\x1b[K")
            self._open = False


def _amount(said: dict[str, Any] | None, side: Literal["up", "down"]) -> str:
    """Return what is spent, rounded up, or what is left, rounded down."""
    if said is None:
        return "unknown: the account is not open"
    if said.get("unbounded"):
        return "no lifetime cap"
    return ", ".join(
        f"{name} {number(said[name], side, 6)}"
        for name in ("epsilon", "delta", "rho")
        if said[name] is not None
    )


def _call_lines(said: dict[str, Any]) -> list[str]:
    rows = [
        [
            call["statistic"],
            call["part"],
            call["mechanism"],
            f"{call['l1']:.6g}",
            f"{call['l2']:.6g}",
            f"{call['scale']:.6g}",
            _price(call),
        ]
        for call in said["calls"]
    ]
    return table(rows, ["statistic", "part", "mechanism", "L1", "L2", "scale", "price"])


def _price(call: dict[str, Any]) -> str:
    name = "epsilon" if call["rho"] is None else "rho"
    return f"{name} {number(call[name], 'up')}"


def accuracy_lines(said: dict[str, Any]) -> list[str]:
    """Return how accurate each statistic of a plan will be, a line for each."""
    lines = []
    for row in said["accuracy"]:
        sure = f"with probability {row['interval']:g}"
        if "half_width" in row:
            lines.append(f"  {row['statistic']}: off by at most {row['half_width']:.6g} {sure}")
        elif "score_within" in row:
            lines.append(f"  {row['statistic']}: score within {row['score_within']:.6g} {sure}")
        else:
            found = []
            for size in row["assumed"]:
                if "half_width" in size:
                    found.append(f"{size['half_width']:.4g} in a group of {size['rows']}")
                else:
                    found.append(f"{size['rank_share']:.1%} of the ranks in {size['rows']} rows")
            lines.append(f"  {row['statistic']}: off by at most {'; '.join(found)}, {sure}")
    return lines


def _preview_lines(said: dict[str, Any]) -> list[str]:
    left = _amount(said["remaining"], "down")
    return [
        f"Would spend {_amount(said['spent'], 'up')}; remaining now: {left}.",
        *_call_lines(said),
        "Accuracy:",
        *accuracy_lines(said),
        f"Mechanism: {said['mechanism']}",
        *said["notes"],
    ]


def _release_lines(said: dict[str, Any]) -> list[str]:
    return [
        f"Released {said['release_id']}.",
        f"Spent {_amount(said['spent'], 'up')}; remaining: {_amount(said['remaining'], 'down')}.",
        *accuracy_lines(said),
        f"Ledger head: {said['head']}",
        *(f"  {path}" for path in said["files"]),
    ]


def _repeat_lines(said: dict[str, Any]) -> list[str]:
    return [
        f"Released before as {said['release_id']} (key {said['key']}, slot {said['slot']}).",
        f"Nothing new was spent; remaining: {_amount(said['remaining'], 'down')}.",
        *(f"  {path}" for path in said["files"]),
    ]

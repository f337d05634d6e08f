"""Run contenders in turn, each in a process of its own, and watch time and memory.

Memory is the largest sum of resident memory over the process and all that it started (a Java
machine, workers), looked at twenty times a second.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import contest, environments
from benchmarks.contest import RESULT, Contender, Size

__all__ = ["Row", "run"]

ROOT = Path(__file__).parent.parent
_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one contender; `skipped` says why nothing was."""

    topic: str
    task: str
    title: str
    name: str
    ours: bool
    seconds: float | None = None
    peak_gb: float | None = None
    value: float | None = None
    error: float | None = None
    accuracy: str | None = None
    version: str | None = None
    package: str | None = None
    note: str = ""
    skipped: str = ""
    figures: dict[str, float] | None = None


def _tree(root: int) -> int:
    """The resident bytes of a process and of all its descendants."""
    children: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            stat = Path(entry.path, "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        process = int(entry.name)
        children.setdefault(int(stat[1]), []).append(process)
        resident[process] = int(stat[21])
    total, left = 0, [root]
    while left:
        process = left.pop()
        total += resident.get(process, 0)
        left += children.get(process, [])
    return total * os.sysconf("SC_PAGE_SIZE")


def _watched(command: list[str], limit: float) -> tuple[str, str, float, str]:
    """Run a command; return what it wrote, its peak memory in GB, and why it failed if it did."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    if os.path.dirname(command[0]) != os.path.dirname(sys.executable):
        environment |= {"PYSPARK_PYTHON": command[0], "PYSPARK_DRIVER_PYTHON": command[0]}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, cwd=ROOT, env=environment, start_new_session=True
        )
        peak, reason = 0, ""
        end = time.monotonic() + limit
        proc = Path("/proc").is_dir()
        while process.poll() is None:
            peak = max(peak, _tree(process.pid) if proc else 0)
            if time.monotonic() > end:
                reason = f"not done in {limit:.0f} s"
                break
            time.sleep(_LOOK)
        # What the contender started ends with it: they are all of the session made above.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        out.seek(0)
        err.seek(0)
        written, said = out.read(), err.read()
        if not reason and RESULT not in written:
            reason = "it failed"
        return written, said, peak / 2**30, reason


def _one(
    topic: str, contender: Contender, size: Size, interpreter: str, say: Callable[[str], None]
) -> tuple[dict[str, Any], str]:
    command = [interpreter, "-m", "benchmarks.contest", contest.order(topic, contender, size)]
    written, said, peak, reason = _watched(command, contender.limit)
    if reason:
        say(f"    {contender.name}: {reason}\n{said.strip()[-1500:]}")
        return {}, reason
    last = [line for line in written.splitlines() if line.startswith(RESULT)][-1]
    return json.loads(last[len(RESULT) :]) | {"peak_gb": peak}, ""


def _merged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The best time, the largest memory, and the rest from the fastest turn."""
    best = min(rows, key=lambda row: float(row["seconds"]))
    return best | {"peak_gb": max(float(row["peak_gb"]) for row in rows)}


def _too_slow(contender: Contender, done: dict[tuple[str, str], Row]) -> str:
    """Say why a contender is left out of a larger task, judged by the smaller one."""
    if contender.after is None:
        return ""
    before = done.get((contender.after, contender.name))
    if before is None:
        return ""
    if before.seconds is None:
        return before.skipped
    expected = before.seconds * contender.growth
    if expected <= contender.limit:
        return ""
    return f"about {expected:,.0f} s expected, above the limit of {contender.limit:,.0f} s"


def run(
    topic: str, size: Size, *, install: bool = True, say: Callable[[str], None] = print
) -> list[Row]:
    """Measure every contender of a topic."""
    module = contest.topic(topic)
    if hasattr(module, "make"):
        module.make(size)
    listed: list[Contender] = module.contenders(size)
    if size.quick:
        listed = [replace(one, turns=1, limit=min(one.limit, 150.0)) for one in listed]
    done: dict[tuple[str, str], Row] = {}
    for key in dict.fromkeys(one.task.key for one in listed):
        rivals = [one for one in listed if one.task.key == key]
        say(f"  {rivals[0].task.title}")
        for row in _task(topic, rivals, size, done, install, say):
            done[key, row.name] = row
    return list(done.values())


def _task(
    topic: str,
    rivals: Iterable[Contender],
    size: Size,
    done: dict[tuple[str, str], Row],
    install: bool,
    say: Callable[[str], None],
) -> list[Row]:
    """Measure the contenders of one task, turn by turn."""
    found: dict[str, list[dict[str, Any]]] = {}
    skipped: dict[str, str] = {}
    rivals = list(rivals)
    for turn in range(max(one.turns for one in rivals)):
        for one in rivals:
            if turn >= one.turns or one.name in skipped:
                continue
            interpreter, reason = environments.python(one.environment, install=install, say=say)
            reason = (one.needs() if one.needs else None) or reason or _too_slow(one, done)
            result: dict[str, Any] = {}
            if not reason and interpreter is not None:
                result, reason = _one(topic, one, size, interpreter, say)
            if reason:
                skipped[one.name] = reason
                continue
            found.setdefault(one.name, []).append(result)
    rows = [_row(topic, one, found.get(one.name, []), skipped.get(one.name, "")) for one in rivals]
    for row in rows:
        told = row.skipped or f"{row.seconds:10.4f} s {row.peak_gb or 0:7.2f} GB"
        say(f"    {row.name:44} {told}")
    return rows


def _row(topic: str, one: Contender, found: list[dict[str, Any]], skipped: str) -> Row:
    blank = Row(
        topic,
        one.task.key,
        one.task.title,
        one.name,
        one.ours,
        package=one.package,
        note=one.note,
    )
    if not found:
        return replace(blank, skipped=skipped or "nothing was measured")
    best = _merged(found)
    value = best["value"]
    error = value - one.truth if one.truth is not None and value is not None else None
    return replace(
        blank,
        seconds=best["seconds"],
        peak_gb=best["peak_gb"],
        value=value,
        error=error,
        accuracy=best["accuracy"],
        version=best["version"],
        figures=best["figures"],
    )

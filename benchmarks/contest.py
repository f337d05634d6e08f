"""What a contender is, and how one is measured: in a process of its own, imports not timed.

A topic's `contenders(size)` returns contenders; those of one task do the same work. Where it has
`make(size)`, that makes the data first; where it has `conclude(rows, docs)`, that adds what follows
from the figures. The process of a contender finds it again by topic, task and name, calls `prepare`
(imports, connections, a first small turn), then times the work. Only this file and the topic are
imported there, and at their top only the standard library: a peer's environment has nothing else
of ours.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "FIRST_TURN",
    "RESULT",
    "Contender",
    "Prepared",
    "Size",
    "Task",
    "measured_here",
    "topic",
]

RESULT = "RESULT "
FIRST_TURN = "first turn"
"""The figure that says how many seconds the first of several turns took, if a topic tells it."""
_PATIENCE = 60.0
TOPICS = (
    "choosing",
    "accounting",
    "release",
    "postgresql",
    "margins",
    "spark",
    "questions",
    "synthetic",
    "cold",
    "page",
    "ledger",
    "growth",
    "scale",
)


@dataclass(frozen=True, slots=True)
class Size:
    """How large the run is, and where its data lie."""

    rows: int
    quick: bool
    folder: str

    @property
    def data(self) -> Path:
        """The folder of the data."""
        return Path(self.folder)

    def cut(self, rows: int) -> int:
        """Return that many rows, or a thousandth of them in a quick run."""
        return max(rows // 1000, 1000) if self.quick else rows


@dataclass(frozen=True, slots=True)
class Task:
    """What is done: the same for all of its contenders. `key` is part of a row's address."""

    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """Work that is ready to be timed.

    `run` returns what it found: a number is compared with the contender's truth. `accuracy` is
    called afterwards, untimed, and says how far off the result is, in words or figures; `figures`
    likewise gives numbers that a topic's conclusion reads. `seconds` replaces the clock where the
    work times itself. `close` lets go of what is still running.
    """

    run: Callable[[], Any]
    accuracy: Callable[[], str] | None = None
    figures: Callable[[], dict[str, float]] | None = None
    seconds: Callable[[Any], float] | None = None
    close: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do a task.

    `turns` processes run it in turn with the others, each `repeats` times; the least time counts.
    What has taken a minute is not repeated.
    Above `limit` seconds a process is ended. `after` names a smaller task: if this contender took
    too long there (its time there times `growth` exceeds the limit), it is left out here and the
    table says so. `times` multiplies a time that was taken on a part of the work.
    """

    task: Task
    name: str
    prepare: Callable[[], Prepared]
    ours: bool = False
    package: str | None = None
    environment: str | None = None
    turns: int = 3
    repeats: int = 1
    limit: float = 120.0
    after: str | None = None
    growth: float = 10.0
    times: float = 1.0
    truth: float | None = None
    note: str = ""
    needs: Callable[[], str | None] | None = None


def topic(name: str) -> Any:
    """Return the module of a topic."""
    return importlib.import_module(f"benchmarks.{name}")


def _version(package: str | None) -> str | None:
    if package is None:
        return None
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def measured_here(contender: Contender) -> dict[str, Any]:
    """Measure one contender in this process."""
    prepared = contender.prepare()
    try:
        seconds = []
        value: Any = None
        for _ in range(contender.repeats):
            start = time.perf_counter()
            value = prepared.run()
            span = time.perf_counter() - start
            seconds.append(span if prepared.seconds is None else prepared.seconds(value))
            if sum(seconds) > _PATIENCE:
                break
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return {
            "seconds": min(seconds) * contender.times,
            "value": float(value) if number else None,
            # Figures first: the accuracy may be found by more work of the same kind.
            "figures": prepared.figures() if prepared.figures else {},
            "accuracy": prepared.accuracy() if prepared.accuracy else None,
            "version": _version(contender.package),
        }
    finally:
        if prepared.close is not None:
            prepared.close()


def find(asked: dict[str, Any]) -> Contender:
    """Return the contender that a process was asked to run."""
    listed = topic(asked["topic"]).contenders(Size(**asked["size"]))
    for one in listed:
        if one.task.key == asked["task"] and one.name == asked["name"]:
            return one
    raise LookupError(f"no contender {asked['name']!r} in {asked['task']!r}")


def order(name: str, contender: Contender, size: Size) -> str:
    """Return what a process is asked, as one argument."""
    return json.dumps(
        {
            "topic": name,
            "task": contender.task.key,
            "name": contender.name,
            "size": asdict(size),
        }
    )


def main() -> int:
    """Run the contender that the first argument names, and print what was measured."""
    try:
        found = measured_here(find(json.loads(sys.argv[1])))
    except Exception:
        traceback.print_exc()
        return 1
    print("\n" + RESULT + json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

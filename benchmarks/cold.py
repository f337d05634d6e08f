"""Cold start: whole processes, from nothing to an answer, beside what others need to be imported.

A command that answers in a blink is asked often. The clock here is around a whole fresh
interpreter; the least of some runs counts.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "Cold start"
ABOUT = "A whole fresh process, to its answer for Discreet, and to the end of an import for others."

ANSWER = Task("answer", "a first answer about a budget")
SERIES = Task("series", "365 releases added up (ours) / the library imported (others)")


def _process(*words: str) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        command = [sys.executable, *words]

        def run() -> None:
            subprocess.run(command, check=True, capture_output=True)

        run()
        return Prepared(run)

    return prepare


def contenders(size: Size) -> list[Contender]:
    """Return the processes."""
    repeats = 2 if size.quick else 7

    def add(task: Task, name: str, *words: str, **more: Any) -> Contender:
        return Contender(task, name, _process(*words), turns=1, repeats=repeats, **more)

    def imported(
        task: Task, package: str, module: str, environment: str | None = None
    ) -> Contender:
        return add(
            task,
            f"import {module}",
            "-c",
            f"import {module}",
            package=package,
            environment=environment,
        )

    compose = ("compose", "--epsilon", ".05", "--times", "365", "--delta", "1e-6")
    return [
        add(ANSWER, "discreet choose", "-m", "discreet", "choose", "--ratio", "3", ours=True),
        add(
            ANSWER,
            "discreet explain",
            "-m",
            "discreet",
            "explain",
            "--epsilon",
            "1",
            "--prior",
            ".3",
        ),
        add(ANSWER, "discreet --help", "-m", "discreet", "--help"),
        add(ANSWER, "python, nothing else", "-c", "pass"),
        imported(ANSWER, "typer", "typer"),
        imported(ANSWER, "numpy", "numpy"),
        add(SERIES, "discreet compose", "-m", "discreet", *compose, ours=True),
        imported(SERIES, "dp-accounting", "dp_accounting"),
        imported(SERIES, "opendp", "opendp.prelude"),
        imported(SERIES, "riskcal", "riskcal", "riskcal"),
        imported(SERIES, "prv-accountant", "prv_accountant", "prv"),
        imported(SERIES, "scipy", "scipy.stats"),
        imported(SERIES, "tmlt.analytics", "tmlt.analytics", "tumult"),
        imported(SERIES, "pipeline-dp", "pipeline_dp", "pipelinedp"),
    ]

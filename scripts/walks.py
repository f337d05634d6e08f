"""Trace what the code walks through for four tasks: files, rooms, and calls between rooms.

    python scripts/walks.py                    # the code beside this script
    python scripts/walks.py --source OTHER/src # an older version of it
    python scripts/walks.py --list             # the files of each walk, as they are first entered

An older version is unpacked beside this one: `git archive COMMIT src | tar -x -C FOLDER`.

A file is visited if one of its functions is called. A change of room is a pair of functions of
which one calls the other from another room, each pair counted once; those that call what every
room stands on (texts, errors, numbers, files) are counted apart. A call is upward if the room
called may not be imported by the caller: a function that was handed down and is called back. Calls
are all calls from one room to another, however often the same.
Modules are imported before the trace, so that imports do not count.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

LAYERS = [
    *("web", "cli", "reports", "explanations", "charts", "auditing", "synthetic", "releases"),
    *("statements", "noise", "ledger", "series", "budgets", "promises", "tolerances", "beliefs"),
    *("composition", "laws", "guarantees", "numerics", "rounding", "reading", "frames", "lazily"),
    *("errors", "words", "outside"),
]
GROUND = set(LAYERS[LAYERS.index("guarantees") :])
LIMIT = ["--prior", "0.05", "--posterior", "0.12"]
WALKS = ("choose", "plan", "release", "drag")
SPEC = """\
account: people
purpose: a walk
source: visits.csv
protect: {unit: person, column: person, rows: 1}
budget: {epsilon: 1.0}
statistics: [{count: rows, by: [county], keys: {county: [n, s]}}]
ledger: sqlite:///ledger.db
output: out
"""
OPEN = "ledger open --account people --ledger sqlite:///ledger.db --unit person --filter pure"
DRAG = {"kind": "posterior", "worry": "in", "before": "5", "after": "12", "handle": "after"}


class Trace:
    """The functions that were called, file by file, and who called whom across rooms."""

    def __init__(self, package: Path) -> None:
        self.package = str(package) + os.sep
        self.files: dict[str, None] = {}
        self.changes: set[tuple[str, str]] = set()
        self.ground: set[tuple[str, str]] = set()
        self.calls = 0
        self.upward: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call of a function of the package."""
        if event != "call" or not self._ours(frame) or frame.f_code.co_name == "<module>":
            return
        file = self._file(frame)
        self.files[file] = None
        caller = frame.f_back
        while caller is not None and not self._ours(caller):
            caller = caller.f_back
        if caller is None:
            return
        here, there = _room(self._file(caller)), _room(file)
        if here != there:
            pair = (self._name(caller), self._name(frame))
            self.calls += there not in GROUND
            (self.ground if there in GROUND else self.changes).add(pair)
            if {here, there} <= set(LAYERS) and LAYERS.index(there) < LAYERS.index(here):
                self.upward.add(pair)

    def _ours(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(self.package)

    def _file(self, frame: FrameType) -> str:
        return frame.f_code.co_filename.removeprefix(self.package)

    def _name(self, frame: FrameType) -> str:
        return f"{self._file(frame)}:{frame.f_code.co_qualname}"


def _room(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


def walk(name: str) -> dict[str, Any]:
    """Do one task in an empty folder, traced."""
    import discreet

    package = Path(discreet.__file__).parent
    for module in pkgutil.walk_packages([str(package)], "discreet."):
        if not module.name.endswith(("spark", "__main__", "verifier")):
            importlib.import_module(module.name)
    do = _prepared(name)
    trace = Trace(package)
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        do()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {
        "files": list(trace.files),
        "rooms": sorted({_room(file) for file in trace.files}),
        "changes": len(trace.changes),
        "ground": len(trace.ground),
        "upward": len(trace.upward),
        "calls": trace.calls,
    }


def _prepared(name: str) -> Any:
    if name == "choose":
        return lambda: _typed(["choose", "--ratio", "3", "--json"])
    if name == "plan":
        how = ["--mechanism", "geometric", "--confidence", "0.99"]
        return lambda: _typed(["plan", "--releases", "12", *LIMIT, *how, "--json"])
    if name == "release":
        rows = "\n".join(f"p{i},{'ns'[i % 2]}" for i in range(50))
        Path("visits.csv").write_text(f"person,county\n{rows}\n")
        Path("release.yaml").write_text(SPEC)
        _typed([*OPEN.split(), "--no-cap", "--approver", "us", "--reason", "a walk"])
        return lambda: _typed(["release", "release.yaml", "--json"])
    return _drag()


def _typed(arguments: list[str]) -> None:
    from discreet.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main(arguments)
    if "error" in json.loads(said.getvalue() if "--json" in arguments else "{}"):
        raise SystemExit(said.getvalue())


def _drag() -> Any:
    from starlette.testclient import TestClient

    from discreet.web import create_app

    home = "http://127.0.0.1"
    client = TestClient(create_app("."), base_url=home, headers={"Origin": home})
    fields = "&".join(f"{key}={value}" for key, value in (DRAG | {"x": "5", "y": "20"}).items())

    def ask() -> None:
        answer = client.get(f"/api/tolerate?{fields}")
        if answer.status_code != 200:
            raise SystemExit(answer.text)

    return ask


def main() -> None:
    """Measure each walk in a process and a folder of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    here = Path(__file__).resolve().parents[1] / "src"
    parser.add_argument("--source", type=Path, default=here)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--walk", choices=WALKS)
    given = parser.parse_args()
    if given.walk:
        sys.stdout.write(json.dumps(walk(given.walk)))
        return
    heads = ("walk", "files", "rooms", "changes of room", "to the ground", "upward", "calls")
    sys.stdout.write(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|\n")
    for name in WALKS:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(  # noqa: S603
                [sys.executable, str(Path(__file__).resolve()), "--walk", name],
                env={**os.environ, "PYTHONPATH": str(given.source.resolve())},
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        found = json.loads(done.stdout)
        numbers = (found[key] for key in ("changes", "ground", "upward", "calls"))
        row = (name, len(found["files"]), len(found["rooms"]), *numbers)
        sys.stdout.write(f"| {' | '.join(map(str, row))} |\n")
        if given.list:
            sys.stdout.write("".join(f"    {file}\n" for file in found["files"]))


if __name__ == "__main__":
    main()

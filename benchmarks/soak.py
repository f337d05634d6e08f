"""Kill releases at random moments and look at what is left.

    python benchmarks/soak.py [--kills 200] [--seed 1] [--json]

Each release runs in a process of its own and is killed (SIGKILL): every other one after a delay
drawn, from a seeded generator, between nothing and a little more than a whole release takes; the
rest right before or after a step that matters, each in turn. After each kill: the chain
of the ledger verifies, every stored output was charged and is whole, and a plain release after the
last kill says what happened and goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

# Imported before any fork, so that the moments fall on the work and not on imports.
import opendp.prelude  # noqa: F401
import pyarrow.parquet  # noqa: F401

import discreet.releases.engines.duckdb  # noqa: F401
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.ledger.witness import private_folder
from discreet.releases import load, outputs, pipeline
from discreet.releases.outputs import hash_of
from discreet.releases.pipeline import release

EPSILON = 0.25


def _prepared(folder: Path, rows: int) -> dict[str, Any]:
    lines = ["person,county,cost"]
    lines += [f"p{i % (rows // 4)},c{i % 7},{i % 90}.5" for i in range(rows)]
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    Ledger.open(f"sqlite:///{folder / 'ledger.db'}").open_account(
        "soak",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1e6),
        approver="soak",
        reason="crash test",
    )
    keys = {"county": [f"c{i}" for i in range(7)]}
    return {
        "account": "soak",
        "purpose": "crash test",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": EPSILON},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": keys},
            {"sum": "cost", "bounds": [0, 90], "resolution": 0.5, "by": ["county"], "keys": keys},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


# Where a release can be cut off so that it matters, and whether before or after that.
STEPS = [
    (place, name, when)
    for place, name in (
        (Ledger, "reserve"),
        (pipeline, "draw"),
        (outputs.Work, "store"),
        (Ledger, "commit"),
        (outputs.Work, "show"),
    )
    for when in ("before", "after")
]


def _cut_off(place: Any, name: str, when: str) -> None:
    """Have this process killed right before or after a step."""
    step = getattr(place, name)

    def fatal(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        step(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(place, name, fatal)


def _start(spec: dict[str, Any], folder: Path, step: tuple[Any, str, str] | None = None) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if step is not None:
                _cut_off(*step)
            with (folder / "told").open("a", buffering=1) as told:  # each is told once
                release(spec, folder=folder, confirm=lambda _: True, say=partial(print, file=told))
            code = 0
        finally:
            os._exit(code)
    return child


def private(ledger: Ledger) -> dict[str, Path]:
    """Return the files of releases that are whole and lie in the private folder."""
    made = private_folder("work", ledger.id).glob("*/files")
    return {
        path.parent.name: path
        for path in made
        if all((path / name).is_file() for name in outputs.FILES)
    }


def _check(folder: Path, output: Path) -> tuple[str, int]:
    """Return what the last kill left, and how many outputs there are; fail on a broken promise."""
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    assert ledger.verify().verified, "the chain is broken"
    entries = ledger.entries("soak")
    charged = {e.release_id for e in entries if e.kind == "reserve"}
    stored = {e.release_id: e.output_hash for e in entries if e.kind == "commit"}
    shown = {p.name: p for p in output.iterdir() if not p.name.startswith(".")}
    whole = shown | private(ledger)  # what is recorded and still private, the next run shows
    assert set(whole) <= charged, "an output without a charge"
    assert set(stored) <= set(whole), "a commit without an output"
    assert set(shown) <= set(stored), "an output shown before it was recorded"
    for name, folder_of_it in whole.items():
        found = hash_of(folder_of_it)  # reads every file: a missing one is an error
        assert stored.get(name, found) == found, "an output that is not the one committed"
    spent = ledger.spent("soak").epsilon
    assert spent == len(charged) * Decimal(str(EPSILON)), "spending does not match the charges"
    last = entries[-1]
    if last.kind == "commit":
        return "complete", len(shown)
    if last.kind == "reserve":
        left = "files stored" if last.release_id in whole else "charged, nothing stored"
        return left, len(shown)
    return "nothing charged", len(shown)


def soak(kills: int, seed: int, rows: int = 20_000) -> dict[str, Any]:
    """Kill `kills` releases at seeded moments; return what was found."""
    draw = random.Random(seed)  # noqa: S311  (moments of a test, not noise)
    left: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="discreet-soak-") as name:
        folder = Path(name)
        output = folder / "out"
        spec = _prepared(folder, rows)
        load(spec, folder=folder)
        # The first release also warms the caches of the operating system; the second is measured.
        for _ in range(2):
            start = time.perf_counter()
            _, status = os.waitpid(_start(spec, folder), 0)
            whole = time.perf_counter() - start
            assert status == 0, "a release that nobody killed failed"
        before = len(Ledger.open(f"sqlite:///{folder / 'ledger.db'}").entries("soak"))
        for kill in range(kills):
            step = STEPS[kill // 2 % len(STEPS)] if kill % 2 else None
            child = _start(spec, folder, step)
            if step is None:
                time.sleep(draw.uniform(0, 1.1 * whole))
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            what, _ = _check(folder, output)
            entries = len(Ledger.open(f"sqlite:///{folder / 'ledger.db'}").entries("soak"))
            left["nothing charged" if entries == before else what] += 1
            before = entries
        said: list[str] = []
        release(spec, folder=folder, confirm=lambda _: True, say=said.append)
        _check(folder, output)
        ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
        open_now = {e.release_id for e in ledger.unfinished("soak")}
        shown = {p.name for p in output.iterdir() if not p.name.startswith(".")}
        assert not open_now & shown, "an output that was not recorded afterwards"
        told = "\n".join([*said, (folder / "told").read_text()])
        lost = [name for name in open_now if str(name) not in told]
        assert not lost, f"lost releases that no later run told of: {lost}"
    return {"kills": kills, "seed": seed, "seconds_a_release": round(whole, 3), "left": dict(left)}


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Kill releases and look at what is left.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    found = soak(asked.kills, asked.seed)
    print(json.dumps(found) if asked.json else f"{found['kills']} kills survived: {found['left']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

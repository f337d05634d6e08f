"""Lose the connection to a ledger on PostgreSQL at random points of releases; look what is left.

    python -m benchmarks.cuts [--cuts 200] [--seed 1] [--json]

Each release goes to the ledger through a proxy on the loopback interface that loses one of its
connections: after a seeded number of bytes, before its COMMIT reaches the server, before the answer
to it comes back, or with the COMMIT delivered late; and every eighth time the server ends all
sessions instead. After each: the chain verifies, every output was charged and is the one recorded,
and no release was charged twice.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from benchmarks.soak import private
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import outputs, release
from servers import Cut, NoServer, PostgreSQL, Proxy

EPSILON = 0.25
ACCOUNT = "soak"


def _spec(ledger: str) -> dict[str, Any]:
    return {
        "account": ACCOUNT,
        "purpose": "connections lost",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": EPSILON},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": {"county": [f"c{i}" for i in range(7)]}}
        ],
        "ledger": ledger,
        "output": "out",
    }


def _terminate(server: PostgreSQL, database: str, after: float) -> threading.Thread:
    """End all sessions of the database a little later, as an administrator would."""

    def end() -> None:
        time.sleep(after)
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            database,
        )

    thread = threading.Thread(target=end)
    thread.start()
    return thread


def _check(ledger: Ledger, output: Path, calls: int) -> None:
    assert ledger.verify().verified, "the chain is broken"
    entries = ledger.entries(ACCOUNT)
    charged = [e.release_id for e in entries if e.kind == "reserve"]
    stored = {e.release_id: e.output_hash for e in entries if e.kind == "commit"}
    shown = {p.name: p for p in output.iterdir() if not p.name.startswith(".")}
    assert len(charged) == len(set(charged)) <= calls, "a release was charged twice"
    assert set(shown) <= set(stored) <= set(charged), "an output without a charge"
    assert set(stored) <= set(shown | private(ledger)), "a commit without an output"
    for name, folder in shown.items():
        assert outputs.hash_of(folder) == stored[name], "an output that is not the one recorded"
    spent = ledger.spent(ACCOUNT).epsilon
    assert spent == len(charged) * Decimal(str(EPSILON)), "spending does not match the charges"


def cuts(times: int, seed: int) -> dict[str, Any]:
    """Lose a connection in each of so many releases; return what was found."""
    draw = random.Random(seed)  # noqa: S311  (moments of a test, not noise)
    left: Counter[str] = Counter()
    server = PostgreSQL()
    with tempfile.TemporaryDirectory(prefix="discreet-cuts-") as name:
        try:
            server.start()
            folder, database = Path(name), server.database()
            lines = [f"p{i % 500},c{i % 7}" for i in range(2000)]
            (folder / "visits.csv").write_text("\n".join(["person,county", *lines]) + "\n")
            ledger, proxy = Ledger.open(server.url(database)), Proxy(server.port)
            ledger.open_account(
                ACCOUNT,
                unit="person",
                adjacency="add-remove",
                filter="pure",
                cap=PureDP(1e6),
                approver="soak",
                reason="connections lost",
            )
            spec = _spec(proxy.through(server.url(database)))
            for _ in range(2):  # the first also warms what is read once; the second is measured
                start, before = time.perf_counter(), proxy.begun
                release(spec, folder=folder, confirm=lambda _: True)
                whole, chances = time.perf_counter() - start, proxy.begun - before
            for turn in range(times):
                before, ending = len(proxy.made), None
                if turn % 8 == 7:
                    ending = _terminate(server, database, draw.uniform(0, whole))
                else:
                    kind = draw.choice(["bytes", "bytes", "unsent", "unanswered", "late"])
                    cut = Cut(kind, draw.randint(0, 3000))
                    proxy.cuts.extend([*[None] * draw.randrange(chances), cut])
                try:
                    release(spec, folder=folder, confirm=lambda _: True)
                except Exception as problem:  # whatever it was, the promise is looked at below
                    left[f"refused: {type(problem).__name__}"] += 1
                else:
                    left["complete"] += 1
                if ending is not None:
                    ending.join()
                    left["sessions ended"] += 1
                elif len(proxy.made) > before:
                    left[f"cut: {proxy.made[-1].kind}"] += 1
                proxy.cuts.clear()
                _check(ledger, folder / "out", 2 + turn + 1)
            proxy.close()
        finally:
            server.remove()
    return {
        "cuts": times,
        "seed": seed,
        "seconds_a_release": round(whole, 3),
        "transactions_a_release": chances,
        "left": dict(left),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Lose connections of releases to their ledger.")
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    try:
        found = cuts(asked.cuts, asked.seed)
    except NoServer as reason:
        print(f"no connections were lost: {reason}", file=sys.stderr)
        return 2
    print(json.dumps(found) if asked.json else f"{found['cuts']} releases: {found['left']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

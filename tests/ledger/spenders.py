"""Processes that spend on one ledger, for test_ledger_processes.py; run as a script.

    spenders.py many URL PROCESSES CHARGES EPSILON [FOLDER]
                                                     all at once; prints what they got, as JSON;
                                                     each stores outputs in a folder of its own
    spenders.py promising URL PROCESSES CHARGES EPSILON
                                                     the same, each with the promise 5 % to 12 %
    spenders.py killed URL SEED ROUNDS               one by one, each killed at a random moment
    spenders.py inside URL WHERE                     one that dies inside its transaction

Processes are forked from this one, which has no threads, after the imports: starting costs nothing,
so that they really meet.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from hands import amid_charges

from discreet.errors import BudgetExceeded
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.ledger.store import Rows
from discreet.promises import Posterior, Promise, priors

SAID = {"purpose": "a table", "who": "spender", "spec_hash": "s"}


def many(
    url: str,
    processes: int,
    charges: int,
    epsilon: float,
    folder: str | None = None,
    promise: Promise | None = None,
) -> dict[str, object]:
    """Let processes charge at the same moment; return the release ids that each was given."""
    start = time.time() + 0.5
    readers = []
    for number in range(processes):
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            said: dict[str, object] = {"got": [], "refused": 0, "failed": []}
            ledger = Ledger.open(url)
            time.sleep(max(0.0, start - time.time()))
            for _ in range(charges):
                try:
                    entry = ledger.reserve("clinic", PureDP(epsilon), promise=promise, **SAID)
                    said["got"].append(entry.release_id)  # type: ignore[attr-defined]
                    if folder is not None:
                        own = Path(folder) / f"host-{number}"
                        own.mkdir(exist_ok=True)
                        (own / str(entry.release_id)).write_text(f"{number}")
                    ledger.commit(str(entry.release_id), f"{number}")
                except BudgetExceeded:
                    said["refused"] += 1  # type: ignore[operator]
                except BaseException as problem:
                    said["failed"].append(repr(problem))  # type: ignore[attr-defined]
            with os.fdopen(write, "w") as out:
                json.dump(said, out)
            os._exit(0)
        os.close(write)
        readers.append(os.fdopen(read))
    found = [json.load(reader) for reader in readers]
    took = time.time() - start
    for _ in range(processes):
        os.wait()
    return {
        "seconds": took,
        "got": [name for one in found for name in one["got"]],
        "refused": sum(one["refused"] for one in found),
        "failed": [words for one in found for words in one["failed"]],
    }


def killed(url: str, seed: int, rounds: int) -> list[list[str]]:
    """Kill a spender at a random moment, again and again; return what it had acknowledged.

    The moment is a little after a few acknowledgements, so that it is amid the work on any machine.
    """
    moments = random.Random(seed)  # noqa: S311
    told = []
    for _ in range(rounds):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            ledger = Ledger.open(url)
            while True:
                entry = ledger.reserve("clinic", PureDP(0.001), **SAID)
                os.write(write, f"reserved {entry.release_id}\n".encode())
                ledger.commit(str(entry.release_id), "output")
                os.write(write, f"stored {entry.release_id}\n".encode())
        os.close(write)
        with os.fdopen(read) as reader:
            lines = [reader.readline().strip() for _ in range(moments.randint(1, 6))]
            time.sleep(moments.uniform(0.0, 0.01))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines += reader.read().splitlines()
        # Half a line means that the child was killed while it spoke: nothing was acknowledged.
        told.append([line for line in lines if len(line.split()[-1]) == 26])
    return told


def inside(url: str, where: str) -> int:
    """Die inside the transaction, before or after the entry is inserted; return the exit status."""
    child = os.fork()
    if child == 0:

        def die(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        if where == "after":
            insert = Rows.append

            def append(self: Rows, *args: object) -> None:
                insert(self, *args)  # type: ignore[arg-type]
                die()

            Rows.append = append  # type: ignore[method-assign,assignment]
        with amid_charges(die) if where == "before" else nullcontext():
            Ledger.open(url).reserve("clinic", PureDP(0.001), **SAID)
        os._exit(0)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    what, url, *rest = sys.argv[1:]
    if what == "many":
        result: object = many(url, int(rest[0]), int(rest[1]), float(rest[2]), *rest[3:])
    elif what == "promising":
        promise = Promise(Posterior(0.12, priors(p=0.05, q=1)))
        result = many(url, int(rest[0]), int(rest[1]), float(rest[2]), promise=promise)
    elif what == "killed":
        result = killed(url, int(rest[0]), int(rest[1]))
    else:
        result = inside(url, rest[0])
    sys.stdout.write(json.dumps(result))

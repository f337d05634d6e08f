"""Run a function in a child process that may be limited, stopped or killed; tell how it ended.

What is heavy is imported before the fork, so that the child starts at once and faults fall on the
work and not on imports.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import opendp.prelude  # noqa: F401
import pyarrow as pa
import pyarrow.parquet as pq

import discreet.releases.engines.duckdb
import discreet.releases.script  # noqa: F401
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger

__all__ = ["KEYS", "Ended", "clinic", "forked", "hidden_left", "limited"]

KEYS = {"county": [f"c{i}" for i in range(5)]}


@dataclass(frozen=True)
class Ended:
    """How a child ended: its error by name and text, its result, or the signal that ended it."""

    error: str | None = None
    said: str = ""
    ours: bool = True
    code: int | None = None
    result: Any = None
    seconds: float = 0.0  # of the processor, until the work was done


def forked(
    work: Callable[[], Any], *, signal_after: tuple[int, float] | None = None, seconds: float = 180
) -> Ended:
    """Run it in a child; `signal_after` sends a signal after so many seconds of the processor.

    Those are the same share of the work whatever else the machine does. The child is ended after
    `seconds`, of the clock. What draws charts cannot run in it: their library keeps
    threads, which a fork leaves behind.

    A child that did not end, of a process with threads, is tried once more: what a thread had
    locked when it forked stays locked in the child. Work that hangs by itself hangs again, or in
    the campaigns, whose processes have no threads.
    """
    ended = _forked(work, signal_after, seconds)
    if ended.code == -signal.SIGALRM and len(os.listdir("/proc/self/task")) > 1:
        ended = _forked(work, signal_after, seconds)
    return ended


def _forked(
    work: Callable[[], Any], signal_after: tuple[int, float] | None, seconds: float
) -> Ended:
    receive, send = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads that the child never uses
        child = os.fork()
    if child == 0:
        os.close(receive)
        # A thread of a library that the parent had and the child has not must not hang the tests.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        # A shell starts what runs in its background with Ctrl-C switched off, nohup with SIGHUP.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.alarm(math.ceil(seconds))
        ended: dict[str, Any] = {}
        code = 0
        try:
            ended["result"] = work()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        except BaseException as error:
            ended = {
                "error": type(error).__name__,
                "said": "".join(traceback.format_exception(error)),
                "ours": isinstance(error, DiscreetError),
            }
        ended["seconds"] = time.process_time()
        try:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os.write(send, json.dumps(ended).encode()[:60_000])
        finally:
            os._exit(code)
    os.close(send)
    if signal_after is not None:
        while not _ended(child) and _used(child) < signal_after[1]:
            time.sleep(0.0005)
        os.kill(child, signal_after[0])  # it is not yet waited for, and so still there
    with os.fdopen(receive, "rb") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(**json.loads(told), code=code) if told else Ended(ours=False, code=code)


def _ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _used(child: int) -> float:
    """Return the seconds of the processor that a child has used so far."""
    return time.clock_gettime(~child << 3 | 2)  # as clock_getcpuclockid(3) makes it


def limited(work: Callable[[], Any], most: int) -> Callable[[], Any]:
    """Return the work with every file limited to so many bytes: a disk that fills up."""

    def run() -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return work()

    return run


def clinic(folder: Path, rows: int = 4_000) -> dict[str, Any]:
    """Write a source, open an account, and return the spec of a small release."""
    table = pa.table(
        {
            "person": [f"p{i % (rows // 4)}" for i in range(rows)],
            "county": [f"c{i % 7}" for i in range(rows)],
            "cost": [float(i % 90) for i in range(rows)],
        }
    )
    pq.write_table(table, folder / "visits.parquet")
    Ledger.open(f"sqlite:///{folder / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1000.0),
        approver="tester",
        reason="test",
    )
    return {
        "account": "people",
        "purpose": "test",
        "source": "visits.parquet",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": 1.0},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": KEYS},
            {"sum": "cost", "bounds": [0, 90], "resolution": 0.5, "by": ["county"], "keys": KEYS},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


def hidden_left(folder: Path) -> list[str]:
    """Return what was half-written and left."""
    return sorted(path.name for path in folder.rglob(".*"))

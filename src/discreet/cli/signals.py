"""Signals end a command like an exception: what is open is closed, and what is spilled removed.

A release may hold rows in a private folder on disk while it sorts them. Killed outright it would
leave them there, so SIGTERM and SIGHUP unwind like Ctrl-C does. The exit code is 128 plus the
signal's number, as shells have it. A second signal of the kind is not held up any more.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from discreet.words import say

_KINDS = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGINT", "SIGTERM"))
STOPPED = tuple(128 + kind for kind in _KINDS)  # the exit codes


class Stopped(BaseException):
    """A signal asked to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """128 plus the signal's number."""
        return 128 + self.number

    def __str__(self) -> str:
        return say("cli.stopped", signal=signal.Signals(self.number).name)


def end_at_once(ended: Sequence[int]) -> None:
    """End the process with the exit code, where Python's own last steps would go wrong.

    A library whose loading a signal cut off would tell at length of what it could not let go. A
    thread that is still at work in a library (the page gets ready in one) would abort the process.
    """
    if ended and (ended[0] in STOPPED or threading.active_count() > 1):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # whoever read it has gone
                stream.flush()
        os._exit(ended[0])


@contextmanager
def unwinding() -> Iterator[None]:
    """Within it, a signal raises `Stopped`; one that is ignored (nohup) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {kind: signal.getsignal(kind) for kind in _KINDS}
    seen: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        seen.append(number)
        raise Stopped(number)

    for kind, handler in before.items():
        if handler not in (signal.SIG_IGN, None):
            signal.signal(kind, stop)
    try:
        yield
    except BaseException:
        if seen:  # a library may have turned it into an exception of its own
            raise Stopped(seen[0]) from None
        raise
    finally:
        for kind, handler in before.items():
            if handler is not None:
                signal.signal(kind, handler)

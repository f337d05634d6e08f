"""Run the page on loopback until Ctrl-C.

The arguments of a program can be read by every user of the machine, so the browser is not given the
address with its token. It is given a file that only this user can read, which leads there. The file
is removed as soon as the token was used, and at the latest when the server ends.

A program can open connections and send nothing, until the server may open no more files. So
someone who is waited for longer than `PATIENCE` seconds is not waited for any more, whether a
request, its body, or the reading of an answer is due from them. Beyond `MOST` connections the one
that was silent for the longest time is ended for the newest, first of all among those waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import InputError

MOST = 128
PATIENCE = 20.0


class Connection(H11Protocol):
    """One connection of the server, which ends when nothing comes of it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._heard = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _waiting(self) -> bool:
        """Whether it is their turn: to ask, to send the rest, or to read what they asked for."""
        now = self.cycle
        return now is None or now.response_complete or now.more_body or self.flow.write_paused

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; beyond the most there may be, end another one."""
        super().connection_made(transport)
        self._heard = self.loop.time()
        self._timer = self.loop.call_later(PATIENCE, self._look)
        if len(self.connections) > MOST:
            others = [one for one in self.connections if isinstance(one, Connection)]
            silent = min(others, key=lambda one: (not one._waiting, one._heard))
            silent._end()

    def data_received(self, data: bytes) -> None:
        """Hear from them."""
        self._heard = self.loop.time()
        super().data_received(data)

    def resume_writing(self) -> None:
        """They read on."""
        self._heard = self.loop.time()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """They were answered; from now on it is their turn."""
        self._heard = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over, by their will or ours."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """End it if it is their turn for too long; else look again when it could be."""
        left = self._heard + PATIENCE - self.loop.time()
        if self._waiting and left <= 0:
            self._end()
        else:
            self._timer = self.loop.call_later(max(left, 1.0), self._look)

    def _end(self) -> None:
        self.connections.discard(self)
        self.transport.abort()


def serve(
    folder: Path | str = ".",
    *,
    port: int = 8765,
    browser: bool = True,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve the page for `folder` on 127.0.0.1; `announce` is told the address, token included.

    Port 0 takes any free one. The address works once: its token becomes a cookie.
    """
    home = Path(folder).resolve()
    if not home.is_dir():
        raise InputError("web.serve.no_folder", name=home.name)
    listener = _listener(port)
    with contextlib.closing(listener), contextlib.ExitStack() as ending:
        import uvicorn

        from discreet.web.app import create_app
        from discreet.web.assets import warm
        from discreet.web.guards import BODY_LIMIT

        token = secrets.token_urlsafe(24)
        taken = listener.getsockname()[1]
        address = f"http://127.0.0.1:{taken}/?token={token}"
        way_in = _way_in(address) if browser else None
        if way_in is not None:
            ending.callback(_remove, way_in)
        app = create_app(
            home, token, taken, entered=None if way_in is None else lambda: _remove(way_in)
        )
        options = uvicorn.Config(
            app,
            http=Connection,
            backlog=64,  # as many are taken at once, before any of them can be ended
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            # An address that is much too long is read to its end, so that it can be answered.
            h11_max_incomplete_event_size=BODY_LIMIT,
            timeout_graceful_shutdown=5,  # someone who sends slowly does not keep it from ending
        )
        server = uvicorn.Server(options)
        if announce is not None:
            announce(address)
        if way_in is not None:
            # The socket listens already: the browser waits until the first answer.
            threading.Thread(target=webbrowser.open, args=(way_in.as_uri(),), daemon=True).start()
        warm(app.whole)
        with _quiet_end():
            server.run(sockets=[listener])


def _way_in(address: str) -> Path:
    """Write a file that leads to the address, for this user alone, in a folder of its own."""
    from discreet.web.guards import leading

    path = Path(tempfile.mkdtemp(prefix="discreet-")) / "discreet.html"  # the folder is 0700
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out:
        out.write(leading(address, "Discreet"))
    return path


def _remove(way_in: Path) -> None:
    shutil.rmtree(way_in.parent, ignore_errors=True)


@contextlib.contextmanager
def _quiet_end() -> Iterator[None]:
    """Let Ctrl-C be the way to end: the server raises the signal again when it has stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listener(port: int) -> socket.socket:
    """Return a listening socket on loopback, or say that the port is taken."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise InputError("web.serve.port", port=port)
    # With the protocol named, asyncio turns Nagle's algorithm off; else a body waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError("web.serve.taken", port=port, why=error.strerror) from None
    return listener

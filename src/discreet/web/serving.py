"""Run the page on loopback until Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

from discreet.errors import InputError

__all__ = ["serve"]


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
    with contextlib.closing(listener):
        import uvicorn

        from discreet.web.app import create_app
        from discreet.web.assets import warm
        from discreet.web.guards import BODY_LIMIT

        token = secrets.token_urlsafe(24)
        taken = listener.getsockname()[1]
        app = create_app(home, token, taken)
        address = f"http://127.0.0.1:{taken}/?token={token}"
        options = uvicorn.Config(
            app,
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
        if browser:
            # The socket listens already: the browser waits until the first answer.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        warm()
        with _quiet_end():
            server.run(sockets=[listener])


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
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError("web.serve.taken", port=port, why=error.strerror) from None
    return listener

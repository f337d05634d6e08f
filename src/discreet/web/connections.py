"""Connections that keep the page from answering others are ended.

A program can open connections and send nothing, until the server may open no more files. So
someone who is waited for longer than `PATIENCE` seconds is not waited for any more, whether a
request, its body, or the reading of an answer is due from them. Beyond `MOST` connections the one
that was silent for the longest time is ended for the newest, first of all among those waited for.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

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

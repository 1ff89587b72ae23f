"""Connections of clients: one that sends no request is closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 20.0
"""After this long without a whole head of a request a connection is closed, at the latest after twice as long."""


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, which itself waits for a head without end."""

    _timer: asyncio.TimerHandle | None = None
    _last: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection if no request has begun since the last look."""
        cycle = self.cycle
        if cycle is self._last and (cycle is None or cycle.response_complete):
            self.transport.close()
            return
        self._last = cycle
        self._timer = self.loop.call_later(HEAD_S, self._look)

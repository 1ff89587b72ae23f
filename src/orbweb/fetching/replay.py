"""Asking a recording instead of servers.

Always holds: nothing is sent; each ticket is answered in a later turn of the event loop, as a server would. Never
decides what is answered: that is the recording's.
"""

from __future__ import annotations

import asyncio

from orbweb.fetching import PAGE, ROBOTS, SITEMAP, Listener, Want
from orbweb.model import Failed, Fetched
from orbweb.store.queries.recorded import Recording


class ReplayFetcher:
    """A fetcher that a recording answers."""

    def __init__(self, recording: Recording, listener: Listener) -> None:
        self._recording = recording
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Handle] = {}

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        self._waiting[ticket] = self._loop.call_soon(self._answer, ticket, url, want)

    def _answer(self, ticket: int, url: str, want: Want) -> None:
        del self._waiting[ticket]
        self._listener.sent(ticket)
        self._listener.answered(ticket, self._found(url, want))

    def _found(self, url: str, want: Want) -> Fetched | Failed:
        if want == ROBOTS:
            return self._recording.robots(url[: url.index("/", url.index("//") + 2)], url)
        return self._recording.sitemap(url) if want == SITEMAP else self._recording.page(url)

    def cancel_all(self) -> None:
        for handle in self._waiting.values():
            handle.cancel()
        self._waiting.clear()

    def close(self) -> None:
        self.cancel_all()

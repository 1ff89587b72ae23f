"""A fetcher that returns recorded responses instead of sending requests.

Each ticket is reported in a later turn of the event loop, as with a server.
"""

from __future__ import annotations

import asyncio

from orbweb.fetching import PAGE, ROBOTS, SITEMAP, Listener, Want
from orbweb.model import Failed, Fetched
from orbweb.store.queries.recorded import Recording


class ReplayFetcher:
    def __init__(self, recording: Recording, listener: Listener) -> None:
        self._recording = recording
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Handle] = {}

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        self._waiting[ticket] = self._loop.call_soon(self._respond, ticket, url, want)

    def _respond(self, ticket: int, url: str, want: Want) -> None:
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

"""A URL becomes a response: the `Fetcher` protocol, the requests it takes, and what users may supply.

Every started ticket is reported exactly once, unless it is cancelled. A site's fault is a value (`Failed`), never
an exception.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from orbweb.model import Failed, Fetched


class Validators(NamedTuple):
    """The validators of a stored response: an entity tag, a date, or both."""

    etag: str | None
    last_modified: str | None


class Want(NamedTuple):
    """Which part of a body is read: only possible pages, also style sheets, or any type; at most how many bytes;
    and whether a longer body is cut or fails.

    Without `most`, the fetcher's own limit applies. `unless` makes the request conditional. `new_connection`
    avoids a reused connection, which the server may have closed.
    """

    any_type: bool = False
    styles: bool = False
    most: int | None = None
    cut: bool = False
    unless: Validators | None = None
    new_connection: bool = False


PAGE = Want()
STYLE = Want(styles=True)
ANYTHING = Want(any_type=True)
ROBOTS = Want(any_type=True, most=512_000, cut=True)
SITEMAP = Want(any_type=True, most=50_000_000)


class Listener(Protocol):
    """Receives the events of a fetcher, in the thread of the event loop."""

    def sent(self, ticket: int) -> None:
        """The request is about to leave on an open connection."""

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        """The ticket is done."""


class Fetcher(Protocol):
    """One implementation per transport."""

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        """Request the URL now."""

    def cancel_all(self) -> None:
        """Drop every request in flight; nothing more is reported."""

    def close(self) -> None:
        """Cancel everything and close every connection."""


class ProxyChooser(Protocol):
    """A program of the user that chooses proxies. It is called between requests, so it must be fast."""

    def pick(self, host: str) -> str:
        """The proxy of the next request to the host, as SCHEME://[USER:PASSWORD@]HOST:PORT."""

    def report(self, proxy: str, ok: bool) -> None:  # noqa: FBT001
        """Whether the proxy that `pick` returned delivered a request, whatever the server responded."""

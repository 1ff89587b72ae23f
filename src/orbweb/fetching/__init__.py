"""Asking servers. A fetcher is given tickets and reports what became of each.

Always holds: a ticket started is reported exactly once as done, unless it is cancelled; what a server does
wrong comes back as a value (`Failed`), never as an exception.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from orbweb.model import Failed, Fetched


class Validators(NamedTuple):
    """What tells a body that we have from a newer one: an entity tag, a date, or both."""

    etag: str | None
    last_modified: str | None


class Want(NamedTuple):
    """What of a body is read: only what may be a page, styles too, or any; how much of it; and whether more is cut
    or fails. Without `most`, the fetcher's own limit counts. With `unless`, nothing if it is still that one. With
    `anew`, it is asked for by a new connection: one that was kept open may have been closed by the server.
    """

    any_type: bool = False
    styles: bool = False
    most: int | None = None
    cut: bool = False
    unless: Validators | None = None
    anew: bool = False


PAGE = Want()
STYLE = Want(styles=True)
ANYTHING = Want(any_type=True)
ROBOTS = Want(any_type=True, most=512_000, cut=True)
SITEMAP = Want(any_type=True, most=50_000_000)


class Listener(Protocol):
    """Who is told. Both are called in the thread of the event loop."""

    def sent(self, ticket: int) -> None:
        """The request is about to leave on an open connection."""

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        """The ticket is done."""


class Fetcher(Protocol):
    """One implementation a transport."""

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        """Ask for the URL now."""

    def cancel_all(self) -> None:
        """Drop everything under way; nothing more is reported."""

    def close(self) -> None:
        """Close every connection."""

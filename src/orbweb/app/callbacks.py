"""Callbacks by which a verb reports to its caller: notes, progress, signals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

from orbweb import urls
from orbweb.engine.control import Command
from orbweb.events import ExtractProgress, Snapshot, Visit

Watch = Callable[[Snapshot], None]
VisitWatch = Callable[[Visit], None]
ExtractWatch = Callable[[ExtractProgress], None]
Count = Callable[[int, int], None]
"""Called with how many are done, of how many."""
Note = Callable[[str], None]
Relay = Callable[[Command], None]

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from orbweb.store.runs import Run

log = logging.getLogger("orbweb")


def redacted(text: str) -> str:
    """A text for people, without what looks like a secret in a URL."""
    return urls.shown(text)


def redacted_note(note: Note) -> Note:
    """The same callback, given redacted texts."""
    return lambda text: note(redacted(text))


def ignore_note(_text: str) -> None: ...


def ignore_progress(_now: Snapshot | ExtractProgress) -> None: ...


def ignore_count(_done: int, _total: int) -> None: ...


class Attachment(Protocol):
    """Another thread that follows a crawl, holds it back and stops it. The crawl calls from its own thread."""

    def opened(self, run: Run) -> None:
        """The run is known; no page of this crawl is committed yet."""

    def written(self, visit: int) -> None:
        """The visits up to this one are durable."""

    def brake(self) -> str | None:
        """Why the crawl should wait; None if it need not."""

    def attach(self, loop: AbstractEventLoop, handle: Callable[[Command], None]) -> None:
        """`handle` takes commands, in the loop."""

    def detach(self) -> None:
        """The loop takes no more commands."""


class Unattached:
    """No other thread follows the crawl."""

    def opened(self, run: Run) -> None: ...

    def written(self, visit: int) -> None: ...

    def brake(self) -> str | None:
        return None

    def attach(self, loop: AbstractEventLoop, handle: Callable[[Command], None]) -> None: ...

    def detach(self) -> None: ...


UNATTACHED = Unattached()


@dataclass(frozen=True, slots=True)
class AlsoOnHold:
    """An `on_progress` that is called while the crawl is on hold, too: what draws must go on drawing."""

    watch: Watch

    def __call__(self, now: Snapshot) -> None:
        self.watch(now)


@dataclass(frozen=True, slots=True)
class CrawlCallbacks:
    """What a crawl reports to its caller. Visits are read only if `on_visit` is given."""

    on_progress: Watch = ignore_progress
    note: Note = ignore_note
    on_visit: VisitWatch | None = None
    attachment: Attachment = UNATTACHED

    def redacted(self) -> Self:
        """The same callbacks, whose notes have no secrets."""
        return replace(self, note=redacted_note(self.note))

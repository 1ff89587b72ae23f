"""Callbacks by which a verb reports to its caller: notes, progress, signals."""

from __future__ import annotations

import logging
from collections.abc import Callable

from orbweb import urls
from orbweb.engine.control import Command
from orbweb.events import ExtractProgress, Snapshot

Watch = Callable[[Snapshot], None]
ExtractWatch = Callable[[ExtractProgress], None]
Count = Callable[[int, int], None]
"""Called with how many are done, of how many."""
Note = Callable[[str], None]
Relay = Callable[[Command], None]

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

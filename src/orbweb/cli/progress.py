"""Progress on stderr: a live line for a person, plain lines for a pipe."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from orbweb.cli.output.format import many, span
from orbweb.events import ExtractProgress, Snapshot

LINE_S = 5.0
LIVE_S = 0.2


def describe(now: Snapshot | ExtractProgress) -> str:
    """The progress of a crawl or an extraction in one line."""
    if isinstance(now, ExtractProgress):
        return f"{now.done} of {many(now.total, 'page')} extracted, {now.failed} failed, {now.rate:.1f}/s"
    eta = f", about {span(now.eta_s)} left" if now.eta_s is not None and now.queued else ""
    state = f" [on hold: {now.held_by}]" if now.held else " [stopping]" if now.stopping else ""
    reused = f", {now.reused} reused" if now.reused else ""
    return (
        f"{many(now.pages, 'page')}, {now.visited} visited{reused}, {now.failed} failed, {now.queued} queued, "
        f"{now.rate:.1f}/s{eta}{state}"
    )


class Steps:
    """Counts on stderr; nothing if quiet or if it takes no time."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what, self._quiet = what, quiet
        self._live = sys.stderr.isatty()
        self._shown_at = time.monotonic()
        self._drawn = False

    def __enter__(self) -> Steps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K" if self._live else "")

    def watch(self, done: int, total: int) -> None:
        moment = time.monotonic()
        if self._quiet or moment - self._shown_at < (LIVE_S if self._live else LINE_S):
            return
        self._shown_at, self._drawn = moment, True
        line = f"{done:,} of {total:,} {self._what}"
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()


class Display:
    """Writes only to stderr, and nothing if quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._every = LIVE_S if self._live else LINE_S
        self._shown_at = time.monotonic() if not self._live else 0.0
        self._drawn = False

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()

    def note(self, text: str) -> None:
        """Print a line for the user."""
        self._erase()
        sys.stderr.write(f"{text}\n")

    def watch(self, now: Snapshot | ExtractProgress) -> None:
        """Called several times a second."""
        if self._is_due():
            self._draw(describe(now))

    def count(self, done: int, total: int) -> None:
        """Called for each of many pages."""
        if self._is_due():
            self._draw(f"{done} of {many(total, 'page')}")

    def _is_due(self) -> bool:
        moment = time.monotonic()
        if self._quiet or moment - self._shown_at < self._every:
            return False
        self._shown_at = moment
        return True

    def _draw(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()
        self._drawn = self._live

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            self._drawn = False

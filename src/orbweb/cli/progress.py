"""Progress on stderr: a live line for a person, plain lines for a pipe."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from orbweb.cli.output import many, span
from orbweb.events import Snapshot

LINE_S = 5.0
LIVE_S = 0.2


def describe(now: Snapshot) -> str:
    """One line that says where a crawl stands."""
    eta = f", about {span(now.eta_s)} left" if now.eta_s is not None and now.queued else ""
    state = " [held]" if now.held else " [stopping]" if now.stopping else ""
    return (
        f"{many(now.pages, 'page')}, {now.visited} visited, {now.failed} failed, {now.queued} queued, "
        f"{now.rate:.1f}/s{eta}{state}"
    )


class Steps:
    """How many of how many are done, on stderr; nothing if quiet or if it takes no time."""

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
        """Something the user should know."""
        self._erase()
        sys.stderr.write(f"{text}\n")

    def watch(self, now: Snapshot) -> None:
        """Called several times a second."""
        moment = time.monotonic()
        if self._quiet or moment - self._shown_at < self._every:
            return
        self._shown_at = moment
        if self._live:
            sys.stderr.write(f"\r\x1b[K{describe(now)}")
            self._drawn = True
        else:
            sys.stderr.write(f"{describe(now)}\n")
        sys.stderr.flush()

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            self._drawn = False

"""Progress on stderr: a live block for a person at a terminal, plain lines for a pipe or a dumb terminal.

Nothing is drawn if quiet. rich is imported where a terminal is, and nowhere else.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from orbweb.cli import output
from orbweb.cli.output import colour, printable
from orbweb.cli.output.format import many, span
from orbweb.cli.output.visits import visit_parts
from orbweb.events import ExtractProgress, Snapshot

if TYPE_CHECKING:
    from orbweb.cli.terminal import Block
    from orbweb.events import OpenRequest, Visit

LINE_S = 5.0
FIRST_S = 0.3
"""What ends sooner shows no bar."""


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


class Display:
    """Shows the progress of one command. Writes only to stderr."""

    def __init__(self, *, quiet: bool, what: str = "page") -> None:
        self._silent = output.is_quiet()
        self._quiet = quiet or self._silent
        self._what = what
        self._started = time.monotonic()
        self._said_at = self._started
        self._is_live = sys.stderr.isatty() and not colour.is_dumb(os.environ) and not self._quiet
        self._block: Block | None = None
        self._latest: tuple[OpenRequest, ...] = ()

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._block is not None:
            self._block.close()

    def note(self, text: str) -> None:
        """Print a line for the user."""
        if self._block is not None:
            self._above(text)
        elif not self._silent:
            for line in _fitting(printable(text)):
                _say(line)

    def visit(self, visit: Visit) -> None:
        """Print one visit."""
        if self._is_live:
            self._live_visit(visit)
        else:
            mark, figures, url, remark = visit_parts(visit)
            _say(f"{mark}{figures}{url}  {remark}".rstrip())

    def watch(self, now: Snapshot | ExtractProgress) -> None:
        """Called several times a second."""
        if not self._is_live:
            self._say_now_and_then(describe(now))
        elif isinstance(now, ExtractProgress):
            self.count(now.done + now.failed, now.total, failed=now.failed)
        else:
            self._live_crawl(now)

    def count(self, done: int, total: int, *, failed: int = 0) -> None:
        """Called for each of many, with how many are done, of how many."""
        if self._is_live:
            self._live_count(done, total, failed)
        else:
            self._say_now_and_then(f"{done:,} of {total:,} {self._what}s")

    def _say_now_and_then(self, line: str) -> None:
        moment = time.monotonic()
        if not self._quiet and moment - self._said_at >= LINE_S:
            self._said_at = moment
            _say(line)

    # The block of a terminal.

    def _opened(self) -> Block:
        from orbweb.cli.terminal import Block

        if self._block is None:
            self._block = Block()
        return self._block

    def _live_crawl(self, now: Snapshot) -> None:
        from orbweb.cli.layout import crawl_lines

        shown = self._with_latest(now)
        self._opened().show(lambda columns, rows: crawl_lines(shown, columns, rows))

    def _with_latest(self, now: Snapshot) -> Snapshot:
        """If every response has come, the latest request stays on the screen, so that lines do not come and go."""
        if now.in_progress:
            self._latest = tuple(replace(each, age_s=0.0) for each in now.in_progress[:1])
        if now.in_progress or now.held or now.stopping:
            return now
        return replace(now, in_progress=self._latest)

    def _live_count(self, done: int, total: int, failed: int) -> None:
        seconds = time.monotonic() - self._started
        if seconds < FIRST_S:
            return
        from orbweb.cli.layout import Done, done_lines

        now = Done(self._what, done, total, seconds, failed)
        self._opened().show(lambda columns, rows: done_lines(now, columns, rows))

    def _live_visit(self, visit: Visit) -> None:
        from orbweb.cli.layout import visit_line
        from orbweb.cli.terminal import size as terminal_size

        self._opened().add_above(visit_line(visit, terminal_size(sys.stderr)[0] - 1))

    def _above(self, text: str) -> None:
        from rich.text import Text

        for line in _fitting(printable(text)):
            self._opened().add_above(Text(line))


def _fitting(text: str) -> list[str]:
    """The lines of a note; on a terminal broken between words, so that it can be read, but never within a URL."""
    lines = text.splitlines()
    if not sys.stderr.isatty():
        return lines
    columns = max(shutil.get_terminal_size().columns - 1, 20)
    wrapper = textwrap.TextWrapper(columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [part for line in lines for part in wrapper.wrap(line) or [""]]


def _say(line: str) -> None:
    """A line on stderr. A reader that is gone does not end a crawl."""
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

"""The verbs that make files of what is stored, read it again, or take it over: export, extract, replay, import."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Literal

from orbweb import app
from orbweb.app import Request
from orbweb.app import configure as layout
from orbweb.app.request import configure
from orbweb.app.session import subject
from orbweb.app.settings import url_rules
from orbweb.errors import UsageError
from orbweb.events import Reading
from orbweb.export import Exported, Format
from orbweb.library.handle import Handle, check_thread, uncounted, unread
from orbweb.library.options import settings_of
from orbweb.library.results import ExtractResult
from orbweb.store import runs
from orbweb.store.queries.reports import Report

_log = logging.getLogger("orbweb")


class Records(Handle):
    """Verbs that make files, read again and take over."""

    __slots__ = ()

    def export(
        self,
        project: str,
        *,
        to: Literal["markdown", "jsonl", "csv", "zip", "llms", "files", "state"],
        out: str | PathLike[str] | IO[bytes],
        run: int | None = None,
        raw: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Exported:
        """Write the pages of a run to a folder, a file or, as JSON lines or CSV, a binary stream.

        `on_progress` is called after each page with the pages done and the pages in all.
        """
        if to not in list(Format):
            raise UsageError(f"to: {to!r} is no format; use one of {', '.join(Format)}")
        place = Path(out) if isinstance(out, str | PathLike) else out
        if isinstance(place, Path) and to in (Format.JSONL, Format.CSV, Format.ZIP):
            layout.keep_off(self.path, place)
        with self._opened() as opened:
            owner = runs.project(opened.db, project)
            config, _ = configure(owner, Request())
            told = subject(opened, owner, runs.run_of(opened.db, owner, run), config)
            rules, page_type, watch = url_rules(config), told.page_type, on_progress or uncounted
            return opened.export(
                project, Format(to), place, run, rules=rules, page_type=page_type, raw=raw, watch=watch
            )

    def extract(
        self,
        project: str,
        *,
        run: int | None = None,
        everything: bool = False,
        processes: int | None = None,
        on_progress: Callable[[Reading], None] | None = None,
    ) -> ExtractResult:
        """Read stored pages again with the extractor of this version; only documents change."""
        check_thread()
        request = Request((), project, None, settings_of({} if processes is None else {"processes": processes}))
        with self._opened() as opened:
            report = app.extract(
                opened,
                request,
                number=run,
                everything=everything,
                watch=on_progress or unread,
                note=_log.info,
            )
        failed = {row["url"]: row["problem"] for row in report.pop("failed")}
        return ExtractResult(**report, failed=failed)

    def replay(
        self,
        project: str | None = None,
        *,
        run: int | None = None,
        out: str | PathLike[str] | None = None,
        verify: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Make the files and the Markdown of a run again from what is stored; with `verify`, check every body."""
        check_thread()
        place, request = None if out is None else Path(out), Request((), project)
        with self._opened() as opened:
            return app.replay(
                opened,
                request,
                number=run,
                out=place,
                verify=verify,
                watch=on_progress or uncounted,
                note=_log.info,
            )

    def import_state(
        self,
        path: str | PathLike[str],
        *,
        project: str | None = None,
        bases: Sequence[str] = (),
        bodies: str | PathLike[str] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Take over the state of a crawl that is in plain files, as a new project; `resume` goes on with it."""
        folder, place = Path(path), None if bodies is None else Path(bodies)
        with self._opened(create=True) as opened:
            return app.adopt(
                opened, folder, project=project, bases=bases, bodies=place, watch=on_progress or uncounted
            )

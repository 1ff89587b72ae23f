"""The verbs that steer a project, also while a crawl is running: pause, stop, finish, rules, release, retry."""

from __future__ import annotations

import logging
from typing import Unpack

from orbweb import app
from orbweb.app import Request
from orbweb.engine.control import Command
from orbweb.library.handle import Handle, check_thread
from orbweb.library.options import RuleOptions, check_names, config_file, settings_of
from orbweb.store.queries.reports import Report

_log = logging.getLogger("orbweb")


class Steering(Handle):
    """Verbs that steer a project."""

    __slots__ = ()

    def pause(self, project: str) -> None:
        """Hold the running crawl: no new request until `unpause`."""
        with self._opened() as opened:
            opened.tell(project, Command.PAUSE)

    def unpause(self, project: str) -> None:
        """Let a held crawl go on."""
        with self._opened() as opened:
            opened.tell(project, Command.UNPAUSE)

    def stop(self, project: str) -> bool:
        """Stop the running crawl; the rest stays queued. Whether it has ended."""
        with self._opened() as opened:
            return opened.stop(project)

    def finish(self, project: str) -> Report:
        """Complete the run by hand: what is queued is skipped. The status."""
        with self._opened() as opened:
            return opened.finish(project)

    def rules(self, project: str, **options: Unpack[RuleOptions]) -> Report:
        """Change which URLs a project visits, also while a crawl is running; without options, show the rules."""
        check_thread()
        given = dict(options)
        check_names(given, RuleOptions.__optional_keys__)
        request = Request((), project, config_file(given), settings_of(given))
        with self._opened() as opened:
            return app.rules(opened, request, note=_log.info)

    def release(self, project: str, pattern: str) -> int:
        """Queue the parked URLs of a family, or those in which the RE2 pattern is found. How many URLs."""
        with self._opened() as opened:
            return opened.release(project, pattern)

    def clear_queue(self, project: str) -> int:
        """Give up what is queued, which completes the run. How many URLs."""
        with self._opened() as opened:
            return opened.clear_queue(project)

    def retry(self, project: str, *, kind: str | None = None) -> int:
        """Queue failed URLs again; `resume` then visits them. How many."""
        with self._opened() as opened:
            return app.retry(opened, project, kind)

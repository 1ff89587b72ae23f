"""A fetcher that renders: another fetcher requests the page, the browser shows what a reader would see of it.

So robots.txt, spacing, redirects, retries, limits and revalidation are those of every fetch, and a page is requested
once. What is rendered is decided by the response alone (`wanted`), so that it does not depend on other pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from orbweb.extraction import shell
from orbweb.fetching import PAGE, Fetcher, Listener, Want
from orbweb.fetching.browser.pool import TabPool
from orbweb.fetching.browser.settings import Rendering, RenderJob, RenderMode, RenderSettings
from orbweb.model import Failed, Fetched
from orbweb.parsing.encodings import media_type

HTML = ("text/html", "application/xhtml+xml", "")

SettingsFor = Callable[[str], RenderSettings]
"""How a URL is rendered; its patterns are those of the project."""
Words = Callable[[bytes, str, str | None], int]
"""How many words a reader sees of a page without its scripts: body, URL and content type."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a page is rendered, in words."""

    text: str


def wanted(response: Fetched, settings: RenderSettings, words: Words) -> Reason | None:
    """Why a response is rendered; None if it is not. A function of the response and the settings alone."""
    if settings.mode is RenderMode.OFF or not response.body or not 200 <= response.status < 300:
        return None
    if media_type(response.content_type or "") not in HTML:
        return None
    if settings.mode is not RenderMode.AUTO:
        return Reason(f"render.mode: {settings.mode.value}")
    found = shell.evidence(response.body, words(response.body, response.url, response.content_type))
    return Reason(f"render.mode: auto; {found}") if found else None


class RenderingFetcher:
    """Wraps the fetcher that `attach` gives; listens to it, and tells `listener` of finished tickets."""

    def __init__(self, pool: TabPool, settings_for: SettingsFor, words: Words, listener: Listener) -> None:
        self._pool, self._settings_for, self._words, self._listener = pool, settings_for, words, listener
        self._at_work: dict[int, asyncio.Task[None]] = {}
        self._wants: dict[int, Want] = {}

    def attach(self, fetcher: Fetcher) -> None:
        """The fetcher reports to this object, so it is created after it."""
        self._fetcher = fetcher

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        self._wants[ticket] = want
        self._fetcher.start(ticket, url, want)

    def cancel_all(self) -> None:
        self._wants.clear()
        for task in self._at_work.values():
            task.cancel()
        self._at_work.clear()
        self._fetcher.cancel_all()

    def close(self) -> None:
        self.cancel_all()
        self._fetcher.close()

    # Events of the wrapped fetcher.

    def sent(self, ticket: int) -> None:
        self._listener.sent(ticket)

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        want = self._wants.pop(ticket, PAGE)
        settings = self._settings_for(answer.url) if isinstance(answer, Fetched) and not want.any_type else None
        if settings is None or not isinstance(answer, Fetched) or wanted(answer, settings, self._words) is None:
            self._listener.answered(ticket, answer)
            return
        task = asyncio.ensure_future(self._render(ticket, answer, settings))
        self._at_work[ticket] = task

    async def _render(self, ticket: int, response: Fetched, settings: RenderSettings) -> None:
        job = RenderJob(
            response.url, response.status, response.content_type or "text/html", response.body or b""
        )
        found = await self._pool.render(job, settings)
        del self._at_work[ticket]
        self._listener.answered(ticket, _rendered(response, found))


def _rendered(response: Fetched, found: Rendering | Failed) -> Fetched | Failed:
    if isinstance(found, Failed):
        return found
    return response._replace(body=found.html, content_type="text/html; charset=utf-8")

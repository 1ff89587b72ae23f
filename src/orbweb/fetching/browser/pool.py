"""The tabs of a crawl: so many pages are rendered at once, in one browser that is replaced before it grows old.

Slots are counted here, never by events of the browser. Every page ends: by itself, at its deadline, by the end of
its target, or with the browser. A page that takes the browser along is tried again, at most `TRIES` times.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orbweb.fetching.browser.devtools import BrowserError, BrowserGone
from orbweb.fetching.browser.egress import Caps, EgressProxy
from orbweb.fetching.browser.page import Page, Stuck
from orbweb.fetching.browser.process import BrowserProcess
from orbweb.fetching.browser.settings import Rendering, RenderJob, RenderSettings
from orbweb.fetching.guard import Guard
from orbweb.model import Failed, FailKind

TRIES = 3
STARTS = 5
"""Browsers in a row that do not start before the crawl gives up."""
START_S = 30.0
PAGES_PER_BROWSER = 200
MOST_BYTES = 1_500_000_000
GRACE_S = 10.0
"""How much longer than its deadline a page may take in all."""
BACKOFF_S = 0.2


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many tabs there are, and when the browser is replaced."""

    executable: Path
    tabs: int = 4
    sandbox: bool = True
    pages_per_browser: int = PAGES_PER_BROWSER
    most_bytes: int = MOST_BYTES
    caps: Caps = Caps()


@dataclass(slots=True)
class PoolFigures:
    """What `status` shows."""

    busy: int = 0
    waiting: int = 0
    rendered: int = 0
    failed: int = 0
    restarts: int = 0
    memory: int = 0


class _Browser:
    """A browser and the pages at work in it. One that is `retired` gets no further pages."""

    def __init__(self, process: BrowserProcess) -> None:
        self.process = process
        self.pages = self.begun = 0
        self.retired = False


class TabPool:
    """Renders pages; any number may wait. `close` must be called."""

    def __init__(self, settings: PoolSettings, guard: Guard, note: Callable[[str], None]) -> None:
        self._settings, self._guard, self._note = settings, guard, note
        self._slots: asyncio.Queue[EgressProxy] = asyncio.Queue()
        self._proxies: list[EgressProxy] = []
        self._browser: _Browser | None = None
        self._all: set[_Browser] = set()
        self._starting = asyncio.Lock()
        self.figures = PoolFigures()

    async def start(self) -> None:
        for _ in range(self._settings.tabs):
            proxy = EgressProxy(self._guard, self._settings.caps)
            await proxy.start()
            self._proxies.append(proxy)
            self._slots.put_nowait(proxy)

    async def render(self, job: RenderJob, settings: RenderSettings) -> Rendering | Failed:
        """The rendering of a page, or why there is none."""
        self.figures.waiting += 1
        try:
            proxy = await self._slots.get()
        finally:
            self.figures.waiting -= 1
        self.figures.busy += 1
        try:
            found = await self._attempts(job, settings, proxy)
        finally:
            self.figures.busy -= 1
            self._slots.put_nowait(proxy)
        if isinstance(found, Failed):
            self.figures.failed += 1
        else:
            self.figures.rendered += 1
        return found

    async def close(self) -> None:
        """End every browser."""
        for browser in list(self._all):
            self._end(browser)
        for proxy in self._proxies:
            await proxy.close()

    async def _attempts(self, job: RenderJob, settings: RenderSettings, proxy: EgressProxy) -> Rendering | Failed:
        error: BrowserError = BrowserGone("the browser has ended")
        for _ in range(TRIES):
            browser = await self._acquire()
            page = Page(browser.process.tools, settings, proxy, job)
            try:
                async with asyncio.timeout(settings.deadline_s + GRACE_S):
                    return await page.run()
            except TimeoutError:
                error = Stuck("the page does not answer")
            except BrowserError as raised:
                error = raised
            finally:
                await self._put_back(browser, page)
            if not isinstance(error, BrowserGone):
                break
        return _failed(error)

    async def _put_back(self, browser: _Browser, page: Page) -> None:
        """End the page. A browser that cannot even do that ends too."""
        try:
            await page.close()
        except BrowserError:
            self._retire(browser)
            self._end(browser)
        browser.pages -= 1
        if browser.pages == 0 and browser.retired:
            self._end(browser)

    # Browsers.

    async def _acquire(self) -> _Browser:
        async with self._starting:
            if self._browser is None:
                self._browser = await self._started()
            browser = self._browser
            browser.pages += 1
            browser.begun += 1
            if browser.begun >= self._settings.pages_per_browser or self._is_large(browser):
                self._retire(browser)
            return browser

    def _is_large(self, browser: _Browser) -> bool:
        self.figures.memory = browser.process.memory()
        return self.figures.memory > self._settings.most_bytes

    async def _started(self) -> _Browser:
        for attempt in range(STARTS):
            try:
                return await self._start()
            except BrowserError as error:
                failure = error
                await asyncio.sleep(BACKOFF_S * 2**attempt * (1 + random.random()))  # noqa: S311
        raise failure

    async def _start(self) -> _Browser:
        flags: Sequence[str] = () if self._settings.sandbox else ("--no-sandbox",)
        browser: _Browser

        def gone() -> None:
            self._retire(browser)

        process = BrowserProcess(self._settings.executable, flags, on_gone=gone)
        browser = _Browser(process)
        self._all.add(browser)
        try:
            await process.tools.call("Browser.getVersion", timeout_s=START_S)
        except BrowserError:
            self._end(browser)
            raise
        return browser

    def _retire(self, browser: _Browser) -> None:
        if not browser.retired:
            browser.retired = True
            self.figures.restarts += 1
        if self._browser is browser:
            self._browser = None

    def _end(self, browser: _Browser) -> None:
        if browser in self._all:
            self._all.discard(browser)
            with suppress(BrowserError):
                browser.process.close()


def _failed(error: BrowserError) -> Failed:
    kind = FailKind.TIMEOUT if isinstance(error, Stuck) else FailKind.UNPARSABLE
    return Failed(kind, f"rendering: {error}")

"""A headless Chromium of this machine, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Error, Playwright, sync_playwright

from serving import RunningServer

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
MISSING = (
    "the tests of the interface need Chromium: apt-get install chromium-headless-shell (Debian), or "
    ".venv/bin/playwright install --with-deps chromium-headless-shell"
)
PATIENCE_MS = 60_000
"""Playwright waits for a condition this long; a busy machine is slow, not wrong."""


class NoBrowser(Exception):
    """No Chromium is installed."""


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = _launched(playwright)
        try:
            yield started
        finally:
            started.close()


def _launched(playwright: Playwright) -> Browser:
    """A Chromium of the system, or the one that Playwright has installed."""
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    words = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    try:
        return playwright.chromium.launch(executable_path=path, args=words, timeout=PATIENCE_MS)
    except Error as error:
        if path is None:
            raise NoBrowser(MISSING) from error
        raise


@contextmanager
def visitor(
    started: Browser, server: RunningServer, *, is_known: bool = True, **options: object
) -> Iterator[BrowserContext]:
    """A browser profile of its own; `is_known`: logged in."""
    context = started.new_context(base_url=server.url, **options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    try:
        if is_known:
            answer = context.request.post("/login", form={"token": server.token}, max_redirects=0)
            assert answer.status == 303, answer.text()
        yield context
    finally:
        context.close()

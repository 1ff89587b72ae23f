"""One browser for each module, and a profile for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from browser.chromium import NoBrowser, browser


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    try:
        with browser() as started:
            yield started
    except NoBrowser as error:
        pytest.fail(str(error), pytrace=False)

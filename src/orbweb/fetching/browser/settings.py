"""What a rendering is asked for, and what comes of it: frozen records, and how a mode becomes a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class RenderMode(StrEnum):
    """When a page is rendered, and how long the page may take by its own clock."""

    OFF = "off"
    AUTO = "auto"
    FAST = "fast"
    BALANCED = "balanced"
    THOROUGH = "thorough"


class Budget(NamedTuple):
    """How long a page may run by its own clock, and whether it is scrolled to its end."""

    page_ms: int
    scrolls: bool


BUDGETS = {
    RenderMode.FAST: Budget(0, scrolls=False),
    RenderMode.AUTO: Budget(5_000, scrolls=False),
    RenderMode.BALANCED: Budget(5_000, scrolls=False),
    RenderMode.THOROUGH: Budget(20_000, scrolls=True),
}


class RenderNote(StrEnum):
    """What a reader of a capture should know."""

    DEADLINE = "deadline"
    """The page was captured at the wall-clock deadline, before its time was over."""
    SELECTOR_MISSING = "selector_missing"
    """An element that was waited for did not appear."""
    NAVIGATES = "navigates"
    """A script or a meta element led to another URL."""
    BLOCKED = "requests_blocked"
    """Requests to addresses that are not allowed were refused."""
    LIMITED = "requests_limited"
    """The page reached a cap on its requests, connections or bytes."""


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """How all pages of a crawl are rendered."""

    mode: RenderMode = RenderMode.BALANCED
    deadline_s: float = 20.0
    wait_for: tuple[str, ...] = ()
    assets: bool = False
    virtual_clock: bool = True
    user_agent: str = ""
    languages: tuple[str, ...] = ("en",)
    max_bytes: int = 20_000_000
    screenshot: bool = False
    pdf: bool = False


class RenderJob(NamedTuple):
    """A page whose response has arrived. `body` is what the browser gets as the response to its first request."""

    url: str
    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a reader sees: the document as HTML, and where scripts led.

    `routes` are URLs that the page gave itself by the history API. `navigation` is the URL to which it wanted to go.
    """

    html: bytes
    routes: tuple[str, ...] = ()
    navigation: str | None = None
    notes: tuple[RenderNote, ...] = ()
    requests: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    page_ms: int = 0
    screenshot: bytes | None = None
    pdf: bytes | None = None
    console_errors: int = field(default=0)

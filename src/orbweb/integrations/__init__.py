"""Loaders for other frameworks. Each module needs its extra, and uses `import orbweb` as any program does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orbweb.errors import NoPage, call

if TYPE_CHECKING:
    from orbweb.app import CrawlResult, Page


def metadata(page: Page) -> dict[str, str]:
    """What a vector store keeps beside the text: strings that change only if the page does.

    Frameworks hash the metadata with the text to find what is new; a time of the crawl would make every page new.
    """
    return {
        "source": page.url,
        "title": page.title,
        "description": page.description,
        "language": page.language,
    }


def require_pages(urls: str | Sequence[str], result: CrawlResult | None) -> None:
    """NoPage if a crawl ended without a page: the caller of a loader does not see its result."""
    if result is not None and not result.pages:
        first = urls if isinstance(urls, str) else next(iter(urls), "")
        skipped = sum(result.skipped.values())
        raise NoPage(first, f"{result.failed} failed, {skipped} skipped; see {call('failed', result.project)}")

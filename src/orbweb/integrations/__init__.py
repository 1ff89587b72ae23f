"""Loaders for other frameworks. Each module needs its extra, and uses `import orbweb` as any program does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orbweb.app import Page


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

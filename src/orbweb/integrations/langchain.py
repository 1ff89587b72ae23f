"""A document loader for LangChain: `pip install 'orbweb[langchain]'`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import orbweb
from orbweb.integrations import metadata, require_pages

try:
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document
except ImportError as error:
    message = "orbweb.integrations.langchain needs langchain-core: pip install 'orbweb[langchain]'"
    raise ImportError(message) from error

if TYPE_CHECKING:
    from typing import Unpack

    from orbweb.app import CrawlOptions, Page


class OrbwebLoader(BaseLoader):
    """The pages of a site, crawled as they are consumed: Markdown, with `source`, `title`, `description` and
    `language`. The id of a document is its URL.

    The arguments are those of `orbweb.crawl_iter`. With `cursor`, a name, loading continues after the last
    document that was consumed, also after a crash.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        workspace: str | PathLike[str] = "orbweb-data",
        project: str | None = None,
        cursor: str | None = None,
        **options: Unpack[CrawlOptions],
    ) -> None:
        self._urls = urls
        self._workspace = orbweb.open(workspace)
        self._project = project
        self._cursor = cursor
        self._options = options

    def lazy_load(self) -> Iterator[Document]:
        """The documents one after the other; NoPage at the end if there is none.

        Closing the iterator stops the crawl; the run can be resumed.
        """
        with self._workspace.crawl_iter(
            self._urls, project=self._project, cursor=self._cursor, **self._options
        ) as pages:
            for page in pages:
                yield _document(page)
            require_pages(self._urls, pages.result)

    async def alazy_load(self) -> AsyncIterator[Document]:
        """As `lazy_load`, without blocking the event loop."""
        async with self._workspace.stream(
            self._urls, project=self._project, cursor=self._cursor, **self._options
        ) as pages:
            async for page in pages:
                yield _document(page)
            require_pages(self._urls, pages.result)


def _document(page: Page) -> Document:
    return Document(page_content=page.markdown, metadata=metadata(page), id=page.url)

"""A reader for LlamaIndex: `pip install 'orbweb[llamaindex]'`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orbweb
from orbweb.integrations import metadata, require_pages

try:
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.readers.base import BasePydanticReader
    from llama_index.core.schema import Document
except ImportError as error:
    message = "orbweb.integrations.llamaindex needs llama-index-core: pip install 'orbweb[llamaindex]'"
    raise ImportError(message) from error


class OrbwebReader(BasePydanticReader):
    """The pages of a site, crawled as they are consumed: Markdown, with `source`, `title`, `description` and
    `language`. The id of a document is its URL.

    `options` are those of `orbweb.crawl`. With `cursor`, a name, loading continues after the last document that
    was consumed, also after a crash.
    """

    is_remote: bool = True
    workspace: str = "orbweb-data"
    project: str | None = None
    cursor: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        return "OrbwebReader"

    def lazy_load_data(self, urls: str | Sequence[str]) -> Iterable[Document]:
        """The documents one after the other; NoPage at the end if there is none.

        Closing the iterator stops the crawl; the run can be resumed.
        """
        with orbweb.crawl_iter(
            urls, workspace=self.workspace, project=self.project, cursor=self.cursor, **self.options
        ) as pages:
            for page in pages:
                yield Document(text=page.markdown, metadata=metadata(page), id_=page.url)
            require_pages(urls, pages.result)

"""A page as a program receives it, from a stream or from `fetch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

from orbweb.app.cursors import NamedCursor, Position
from orbweb.app.directory import BodyOnDisk
from orbweb.app.visits import instant
from orbweb.errors import UsageError, option
from orbweb.model import Document, Heading
from orbweb.parsing.elements import Element, Selectable, parse
from orbweb.parsing.encodings import decoded
from orbweb.store.queries.page_stream import CommittedPage
from orbweb.store.runs import Run
from orbweb.store.workspace_paths import AnchoredPath


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is durable in the workspace.

    `url` is where it was found, `final_url` where it was after redirects. `links` are in document order.
    `headers` are those of the response, with names in lower case. `reused`: an earlier run has the content.
    `truncated`: the body ends too early. `cursor` is its position in the stream, for `after`. `body` and `html`
    are read from the workspace each time; everything else is in memory.
    """

    url: str
    final_url: str
    status: int
    depth: int
    content_type: str | None
    encoding: str
    size: int
    at: datetime
    reused: bool
    truncated: bool
    cursor: str
    document: Document = field(repr=False)
    links: tuple[str, ...] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    _read: Callable[[], bytes] = field(repr=False, compare=False)
    _named: NamedCursor | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        return self.document.title

    @property
    def markdown(self) -> str:
        """The main content as Markdown."""
        return self.document.markdown

    @property
    def text(self) -> str:
        """The main content as plain text."""
        return self.document.text

    @property
    def description(self) -> str:
        return self.document.description

    @property
    def language(self) -> str:
        return self.document.language

    @property
    def headings(self) -> tuple[Heading, ...]:
        return self.document.headings

    @property
    def body(self) -> bytes:
        """The body as it was received, verified."""
        return self._read()

    @property
    def html(self) -> str:
        """The body as text, decoded as browsers do."""
        return decoded(self.body, self.encoding)

    def select(self, css: str) -> list[Element]:
        """The elements that match a CSS selector, in document order."""
        return _tree(self._read, self.content_type).select(css)

    def select_one(self, css: str) -> Element | None:
        """The first of them; None if there is none."""
        return _tree(self._read, self.content_type).select_one(css)

    def xpath(self, expression: str, **variables: str | float | bool) -> list[Element | str | float | bool]:
        """What an XPath 1.0 expression gives: elements, or the strings of attributes, texts and comments."""
        return _tree(self._read, self.content_type).xpath(expression, **variables)

    def ack(self) -> None:
        """Move the named cursor of the stream past this page: it is not given again, whatever happens.

        Requesting the next page does the same.
        """
        if self._named is None:
            raise UsageError(f"the page is of no stream with a named cursor: give {option('cursor', 'NAME')}")
        self._named.move(Position.parse(self.cursor))


@lru_cache(maxsize=2)
def _tree(read: Callable[[], bytes], content_type: str | None) -> Selectable:
    """The parsed body, for the selections of one page after each other."""
    return parse(read(), content_type)


@dataclass(frozen=True, slots=True)
class HeldBody:
    """A body in memory."""

    data: bytes

    def read(self) -> bytes:
        return self.data


def page_of(found: CommittedPage, run: Run, store: AnchoredPath, named: NamedCursor | None = None) -> Page:
    return Page(
        url=found.url,
        final_url=found.final_url,
        status=found.status,
        depth=found.depth,
        content_type=found.content_type,
        encoding=found.encoding,
        size=found.size,
        at=instant(found.fetched_at),
        reused=found.reused,
        truncated=found.truncated,
        cursor=str(Position(run.number, run.started_at, found.number)),
        document=found.document,
        links=found.links,
        headers=headers_of(found.head),
        _read=BodyOnDisk(store, found.sha256, found.location).read,
        _named=named,
    )


def with_body(page: Page) -> Page:
    """The same page with its body in memory, for one whose workspace is about to be deleted."""
    return replace(page, _read=HeldBody(page.body).read)


def headers_of(head: bytes) -> dict[str, str]:
    """The headers of a response head; the values of a repeated one are joined by commas."""
    found: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            key = name.strip().lower()
            found[key] = f"{found[key]}, {value.strip()}" if key in found else value.strip()
    return found

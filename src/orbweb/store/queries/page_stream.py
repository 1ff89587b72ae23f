"""The pages of a run one after the other, from any visit on, while a crawl adds more."""

from __future__ import annotations

from typing import NamedTuple

from orbweb.model import Document
from orbweb.store import Queries, body_rows, documents, heads
from orbweb.store.bodies import Location
from orbweb.store.journal import LinkPortions


class CommittedPage(NamedTuple):
    """A page of a run: its visit, its document, its links and its response head, if one is stored."""

    number: int
    url: str
    status: int
    depth: int
    final_url: str
    content_type: str | None
    encoding: str
    size: int
    truncated: bool
    reused: bool
    fetched_at: int
    sha256: bytes
    location: Location | None
    document: Document
    links: tuple[str, ...]
    head: bytes


class PageReader:
    """Reads the pages of one run. No statement stays open between two pages."""

    def __init__(self, db: Queries, run_id: int) -> None:
        self._db, self._run_id = db, run_id
        self._links = LinkPortions(db, run_id, str)

    def after(self, number: int) -> CommittedPage | None:
        """The next page after this visit; None if there is none yet."""
        row = self._db.one("next_page", run_id=self._run_id, after=number)
        if row is None:
            return None
        number, url_id, url, status, depth, final, kind, encoding, size, cut, reuse, at, body, sha256, *packed = (
            row
        )
        document = documents.unpack(sha256, *packed, where=f"{self._db.path}: document of {url}")
        exchange = heads.of_url(self._db, self._run_id, url_id)
        return CommittedPage(
            number,
            url,
            status,
            depth,
            final or url,
            kind,
            encoding or "utf-8",
            size,
            bool(cut),
            reuse is not None,
            at,
            body,
            body_rows.location(self._db, body),
            document,
            tuple(self._links.after(number - 1, 1).targets),
            exchange.response if exchange else b"",
        )

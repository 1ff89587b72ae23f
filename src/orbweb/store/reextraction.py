"""Pages whose documents are extracted again from their stored bodies, and the documents that replace them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orbweb.failpoints import failpoint
from orbweb.model import PackedDocument
from orbweb.store import Queries, unit_times

PORTION = 200


class StoredPage(NamedTuple):
    """A page to extract again; the columns of the query `pages_to_read`."""

    number: int
    content_sha256: bytes
    document: bytes
    url: str
    final_url: str | None
    content_type: str | None
    body_sha256: bytes


@dataclass(frozen=True, slots=True)
class OutdatedPages:
    """The pages of a run that another extractor made, or all of them with `everything`."""

    db: Queries
    run_id: int
    extractor: int
    everything: bool

    def count(self) -> int:
        return int(self.db.value("count_pages_to_read", **self._which()))

    def __iter__(self) -> Iterator[StoredPage]:
        after = 0
        while rows := self.db.all("pages_to_read", after=after, count=PORTION, **self._which()):
            for row in rows:
                page = StoredPage(*row)
                yield page
                after = page.number

    def _which(self) -> dict[str, object]:
        return {"run_id": self.run_id, "everything": self.everything, "extractor": self.extractor}


def replace(db: Queries, run_id: int, documents: Sequence[tuple[StoredPage, PackedDocument]], now: int) -> None:
    """Store the documents and let their pages refer to them, in one transaction. It is a unit of work of the run,
    so that what is derived from its pages is made anew."""
    with db.transaction():
        unit_times.record(db, run_id, now)
        db.many("add_document", [document for _, document in documents])
        for page, document in documents:
            db.run(
                "change_document",
                run_id=run_id,
                content_sha256=page.content_sha256,
                document=document.sha256,
                replaced=page.document,
            )
        failpoint("documents_written")


def forget_unused(db: Queries) -> None:
    """Delete documents that no page refers to, inside a transaction."""
    db.run("forget_documents")

"""The unit of work: the changes of many ordered commits, written in one transaction.

A plain buffer, the same for every backend: the engine fills it, `RunStore.write` writes all of it or nothing.
Changes of a URL keep their order; a URL that is added and changed in one unit is added first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from orbweb.model import Carried, FamilyRow, PackedDocument
from orbweb.store.bodies import Location
from orbweb.store.rows import (
    BaseRow,
    CarryRow,
    Change,
    DateRow,
    DeferRow,
    ListRow,
    ReadmitRow,
    RefuseRow,
    SettleRow,
    ShortenRow,
    Tally,
    UrlRow,
    VisitRow,
)


@dataclass(slots=True)
class UnitOfWork:
    """The changes of one run. The backend reads the lists."""

    run_id: int
    urls: list[UrlRow] = field(default_factory=list)
    settled: list[SettleRow] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    visits: list[VisitRow] = field(default_factory=list)
    pages: list[tuple[int, bytes, int, int, bytes]] = field(default_factory=list)
    documents: list[PackedDocument] = field(default_factory=list)
    outlinks: list[tuple[int, int, bytes]] = field(default_factory=list)
    spool_lines: list[tuple[int, int, str | None, str | None, str | None]] = field(default_factory=list)
    bodies: list[tuple[bytes, Location]] = field(default_factory=list)
    families: list[FamilyRow] = field(default_factory=list)
    marks: list[tuple[int, bytes]] = field(default_factory=list)
    bases: dict[int, BaseRow] = field(default_factory=dict)
    limited: dict[int, str] = field(default_factory=dict)
    tallies: Counter[Tally] = field(default_factory=Counter)

    @property
    def is_empty(self) -> bool:
        return not self.settled and not self.changes and not self.urls

    def add_url(self, row: UrlRow) -> None:
        self.urls.append(row)

    def settle(self, url_id: int, state: str, reason: str | None = None, rule: str | None = None) -> None:
        """A queued URL was visited, failed, or is marked noindex."""
        self.settled.append(SettleRow(state, reason, rule, self.run_id, url_id))

    def refuse(self, url_id: int, reason: str, rule: str) -> None:
        """A leased URL may not be requested."""
        self.changes.append(RefuseRow(reason, rule, self.run_id, url_id))

    def defer(self, url_id: int, rank: int, due_at: int) -> None:
        self.changes.append(DeferRow(rank, due_at, self.run_id, url_id))

    def readmit(self, row: ReadmitRow) -> None:
        self.changes.append(row)

    def shorten_path(self, url_id: int, hops: int) -> None:
        self.changes.append(ShortenRow(hops, self.run_id, url_id))

    def list_in_sitemap(self, url_id: int, lastmod: str | None) -> None:
        """A sitemap lists a known URL."""
        self.changes.append(ListRow(self.run_id, url_id))
        if lastmod is not None:
            self.changes.append(DateRow(lastmod, self.run_id, url_id))

    def carry(self, url_id: int, carried: Carried) -> None:
        """The new state of a URL that a recrawl took over."""
        self.changes.append(CarryRow(carried.value, self.run_id, url_id))

    def add_visit(self, row: VisitRow) -> None:
        self.visits.append(row)

    def add_page(self, content_sha256: bytes, url_id: int, base: int, document_sha256: bytes) -> None:
        self.pages.append((self.run_id, content_sha256, url_id, base, document_sha256))

    def add_document(self, document: PackedDocument) -> None:
        self.documents.append(document)

    def add_links(self, url_id: int, packed: bytes) -> None:
        self.outlinks.append((self.run_id, url_id, packed))

    def add_spool_line(self, url_id: int, page_type: str | None, referrer: str | None, extra: str | None) -> None:
        """What the line of a spool says of a URL that is added in this unit."""
        self.spool_lines.append((self.run_id, url_id, page_type, referrer, extra))

    def add_body(self, sha256: bytes, location: Location) -> None:
        self.bodies.append((sha256, location))

    def add_mark(self, sha256: bytes) -> None:
        """A URL with this hash counts as seen."""
        self.marks.append((self.run_id, sha256))

    def save_base(self, number: int, scope_key: str, pages: int) -> None:
        self.bases[number] = BaseRow(scope_key, pages, self.run_id, number)

    def skip_base(self, number: int, rule: str) -> None:
        """Skip the queued URLs of the base URL."""
        self.limited[number] = rule

    def count(self, old: Tally | None, new: Tally, number: int) -> None:
        """`number` URLs change from state `old` (None: they are new) to state `new`."""
        if old is not None:
            self.tallies[old] -= number
        self.tallies[new] += number

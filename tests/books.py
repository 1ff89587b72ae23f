"""A run whose units of work are filled by hand, for suites of the store."""

from __future__ import annotations

from collections import Counter
from typing import Any

from backends import NOW, Backend
from orbweb.lifecycle import EndedBy
from orbweb.model import Role
from orbweb.store import links as packed_links
from orbweb.store import runs
from orbweb.store.rows import (
    FAILED,
    QUEUED,
    VISITED,
    Ending,
    Progress,
    ReadmitRow,
    RejudgeRow,
    UrlRow,
    VisitRow,
    skipped,
)
from orbweb.store.runs import Base, Run


class Books:
    """A run whose units of work are filled by hand. Base URLs have the ids from 1 on, what is found follows."""

    def __init__(
        self,
        backend: Backend,
        *hosts: str,
        carried: dict[str, str] | None = None,
        recalls: Run | None = None,
        project: str = "docs",
    ) -> None:
        """`carried`: what a recrawl knows from the start, by name, and how."""
        keys = [f"https://{host}/" for host in hosts or ("h",)]
        rows = [runs.initial_url(number, key, key, "") for number, key in enumerate(keys)]
        rows += [
            url_row(len(rows) + at, f"https://h/{name}", rank=len(rows) + at, carried=how)
            for at, (name, how) in enumerate((carried or {}).items(), 1)
        ]
        bases = [Base(number, key, key) for number, key in enumerate(keys)]
        self.backend = backend
        self.open(backend.start_run(bases, rows, project=project, recalls=recalls))

    def open(self, run: Run) -> None:
        self.run = run
        self.store = self.backend.store.open_run(run)
        self.unit = self.store.begin()
        self.next_url, self.next_rank, self.next_visit = run.next_url, run.next_rank, run.next_visit
        self.visited = self.failed = self.pages = 0

    def find(self, *names: str, reason: str | None = None, **fields: Any) -> list[int]:
        """Add URLs that were found on the first base URL."""
        return [self._find(name, reason, fields) for name in names]

    def _find(self, name: str, reason: str | None, fields: dict[str, Any]) -> int:
        number, rank = self.next_url, None if reason else self.next_rank
        self.next_url += 1
        self.next_rank += reason is None
        row = url_row(number, f"https://h/{name}", rank=rank, run_id=self.run.id, referrer=1)
        if reason:
            row = row._replace(state="skipped", reason=reason, rule=f"rule of {reason}")
        self.unit.add_url(row._replace(**fields))
        self.unit.count(None, skipped(reason) if reason else QUEUED, 1)
        return number

    def visit(self, number: int, **fields: Any) -> VisitRow:
        """Settle a queued URL by a visit."""
        row = self.visit_row(number, **fields)
        self.next_visit += 1
        self.unit.add_visit(row)
        self.unit.settle(number, "failed" if row.kind else "visited")
        self.unit.count(QUEUED, FAILED if row.kind else VISITED, 1)
        self.failed += row.kind is not None
        self.visited += row.kind is None
        return row

    def visit_row(self, number: int, **fields: Any) -> VisitRow:
        row = VisitRow(
            run_id=self.run.id, number=self.next_visit, url_id=number, crawl_id=self.store.crawl.id, depth=1,
            rank=number, status=200, kind=None, error=None, tries=1, final_url=None, redirect_to=None,
            content_type="text/html", encoding="utf-8", etag='"e"', last_modified=None, title="T", canonical=None,
            noindex=False, nofollow=False, links_cut=False, truncated=False, body_sha256=None, content_sha256=None,
            role=Role.NONE.value, bytes=5, wire_bytes=3, latency_ms=7, fetched_at=NOW + number,
        )  # fmt: skip
        return row._replace(**fields)

    def link(self, number: int, *targets: int) -> bytes:
        packed = packed_links.pack(targets, bytes([packed_links.FLAGS["a", False]]) * len(targets))
        self.unit.add_links(number, packed)
        return packed

    def progress(self) -> Progress:
        numbers = (self.next_url, self.next_rank, self.next_visit)
        return Progress(*numbers, True, False, self.visited, self.failed, self.pages, 5 * self.visited)

    def write(self, ended_by: EndedBy | None = None, error: str | None = None, now: int = NOW + 9) -> None:
        unit, self.unit = self.unit, self.store.begin()
        with self.store.transaction():
            self.store.write(unit, self.progress(), now)
            if ended_by is not None:
                self.store.end(Ending(ended_by, error), now)

    def row(self, number: int) -> UrlRow:
        return next(row for row in self.backend.urls(self.run) if row.id == number)

    def is_balanced(self) -> bool:
        counted = Counter((row.state, row.reason or "") for row in self.backend.urls(self.run))
        return counted == self.store.tallies()


def url_row(number: int, key: str, *, rank: int | None, **fields: Any) -> UrlRow:
    row = UrlRow(
        run_id=0, id=number, key=key, url=None, state="queued", reason=None, rule=None, source="spider", depth=1,
        rank=rank, lane="", hops=0, redirects=0, base=0, referrer=None,
    )  # fmt: skip
    return row._replace(**fields)


def readmitted(books: Books, number: int, **fields: Any) -> ReadmitRow:
    row = ReadmitRow(
        "https://h/a/", "queued", None, None, "redirect", 0, 70, "lane", 2, 1, 0, 5, True, 4, 3, "p",
        books.run.id, number,
    )  # fmt: skip
    return row._replace(**fields)


def rejudged(books: Books, number: int, **fields: Any) -> RejudgeRow:
    row = RejudgeRow("queued", None, None, 80, "lane", 1, 2, True, "", books.run.id, number)
    return row._replace(**fields)

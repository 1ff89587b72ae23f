"""A workspace with a project of many pages, written by the store itself: what `server.py` serves.

Owns the rows. Always the same for the same number of pages; nothing is fetched. Run 1 is completed and has a fifth
of the pages, run 2 is paused and has all of them, of which a tenth of those that run 1 had are changed. Besides
pages, run 2 has alternates, failures of several kinds on several hosts, a queue and skipped URLs: half as many
again, in all.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import zstandard

from orbweb.app.directory import OpenWorkspace
from orbweb.extraction import VERSION
from orbweb.lifecycle import EndedBy
from orbweb.model import Document, Heading, PackedDocument
from orbweb.store import Store, documents, links, runs
from orbweb.store.bodies import Location
from orbweb.store.rows import FAILED, QUEUED, VISITED, Ending, Progress, UrlRow, VisitRow, skipped
from orbweb.store.runs import Base, Run

PROJECT = "million"
SMALL = tuple(f"small-{number}" for number in range(1, 4))
COMMON, RARE = "crawler", "zyzzyva"
"""A word of every page, and one of very few."""
RARE_PAGES = 7
STARTED = 1_780_000_000_000_000
SECOND = 1_000_000
UNIT = 5_000
HOSTS = 12
FAILING_HOSTS = 40
LINKS = 12
LANGUAGES = ("en",) * 7 + ("de", "fr", "ja")
KINDS = (
    *(("http_4xx", 404, "HTTP 404"),) * 5,
    *(("http_5xx", 503, "HTTP 503"),) * 2,
    ("timeout", None, "no response within 30 s"),
    ("dns_nxdomain", None, "the name does not exist"),
    ("connect", None, "connection refused"),
)
REASONS = (
    *(("out_of_scope", "scope: https://docs{host}.example.org/"),) * 6,
    *(("excluded", "scope.exclude: /archive/"),) * 2,
    ("excluded", "scope.exclude: [?]print=1"),
    ("robots", "Disallow: /private/"),
)
FEW = ("max_depth", "limits.max_depth: 12")
"""A reason that few URLs have: every thousandth of those that are skipped."""
SOURCES = ("spider",) * 8 + ("sitemap", "redirect")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many URLs of each kind run 2 has."""

    pages: int

    @property
    def alternates(self) -> int:
        return self.pages // 25

    @property
    def failed(self) -> int:
        return self.pages // 20

    @property
    def queued(self) -> int:
        return self.pages // 4

    @property
    def skipped(self) -> int:
        return self.pages * 4 // 25

    @property
    def earlier(self) -> int:
        """The pages of run 1."""
        return self.pages // 5


def make(path: Path, pages: int) -> None:
    """Write the workspace."""
    sizes = Sizes(pages)
    with closing(OpenWorkspace(path, create=True)) as workspace:
        store = workspace.store()
        for name in SMALL:
            owner = runs.save_project(workspace.db, name, {}, ["https://small.example.org/"], STARTED)
            _Writer(store, runs.start_run(workspace.db, owner, _bases(1), _urls(1), None, STARTED)[0]).end(
                EndedBy.EXHAUSTED
            )
        owner = runs.save_project(workspace.db, PROJECT, {}, [each.url for each in _bases(HOSTS)], STARTED)
        first = _Writer(store, runs.start_run(workspace.db, owner, _bases(HOSTS), _urls(HOSTS), None, STARTED)[0])
        first.add_pages(sizes.earlier, changed=False)
        first.add_failures(sizes.failed // 10)
        first.end(EndedBy.EXHAUSTED)
        later = STARTED + 86_400 * SECOND
        second = _Writer(store, runs.start_run(workspace.db, owner, _bases(HOSTS), _urls(HOSTS), None, later)[0])
        second.add_pages(sizes.pages, changed=True, same_until=sizes.earlier)
        second.add_alternates(sizes.alternates)
        second.add_failures(sizes.failed)
        second.add_skipped(sizes.skipped)
        second.add_queued(sizes.queued)
        second.end(EndedBy.CANCELLED)


def page_url(number: int) -> str:
    """The URL of a page: a host, a section, a chapter, and a name."""
    host, section, chapter = number % HOSTS, number // HOSTS % 15, number // 200 % 40
    return f"https://docs{host}.example.org/section-{section}/chapter-{chapter}/page-{number:07}.html"


def _bases(count: int) -> list[Base]:
    return [Base(number, f"https://docs{number}.example.org/", f"https://docs{number}.example.org/")
            for number in range(count)]  # fmt: skip


def _urls(count: int) -> list[UrlRow]:
    return [runs.initial_url(base.number, base.url, base.url, "") for base in _bases(count)]


class _Writer:
    """A run while it is written, in units of work of a moderate size."""

    def __init__(self, store: Store, run: Run) -> None:
        self._store, self._run = store.open_run(run), run
        self._unit = self._store.begin()
        self._next_url, self._next_rank, self._next_visit = run.next_url, run.next_rank, run.next_visit
        self._visited = self._failed = self._pages = self._bytes = 0
        self._now = run.started_at
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._random = random.Random(run.id)
        self._bases = dict.fromkeys(range(HOSTS), 0)
        for number in range(1, run.next_url):
            self._visit(number, bytes_=900)
            self._unit.settle(number, VISITED[0])
            self._unit.count(QUEUED, VISITED, 1)

    # What a run has.

    def add_pages(self, count: int, *, changed: bool, same_until: int = 0) -> None:
        for number in range(count):
            is_new = number >= same_until or (changed and number % 10 == 3)
            version = self._run.number if is_new else 1
            content = _hash(f"content {number} {version}")
            body = _hash(f"body {number} {version}")
            document = self._document(number, version)
            url_id = self._add(page_url(number), VISITED, depth=_depth(number), rank=True)
            self._visit(
                url_id,
                depth=_depth(number),
                title=document.title,
                body_sha256=body,
                content_sha256=content,
                role="primary",
                bytes_=2_000 + number * 7919 % 60_000,
            )
            self._unit.add_document(document)
            self._unit.add_page(content, url_id, number % HOSTS, document.sha256)
            self._unit.add_body(body, Location(None, None, 900, 2_000))
            last = max(1, self._next_url - 1)
            targets = [self._random.randint(max(1, last - 3_000), last) for _ in range(LINKS)]
            self._unit.add_links(url_id, links.pack(targets, bytes([links.FLAGS["a", False]]) * LINKS))
            self._pages += 1
            self._bases[number % HOSTS] += 1
            self._write_if_full()

    def add_alternates(self, count: int) -> None:
        for number in range(count):
            version = self._run.number
            depth = _depth(number)
            # Of pages that are new in this run, so that their content is that of this version.
            page = count * 25 - 1 - number * 3
            url_id = self._add(f"{page_url(page)}?ref={number}", VISITED, depth=depth, rank=True)
            content, body = _hash(f"content {page} {version}"), _hash(f"body {page} {version}")
            self._visit(
                url_id, depth=depth, content_sha256=content, body_sha256=body, role="alternate", title="Again"
            )
            self._write_if_full()

    def add_failures(self, count: int) -> None:
        for number in range(count):
            kind, status, error = KINDS[number % len(KINDS)]
            host = number * 7 % FAILING_HOSTS
            url = f"https://fails{host}.example.org/gone/{number:06}.html"
            url_id = self._add(url, FAILED, depth=_depth(number), rank=True)
            self._visit(url_id, depth=_depth(number), status=status, kind=kind, error=error, tries=3, bytes_=0)
            self._write_if_full()

    def add_skipped(self, count: int) -> None:
        for number in range(count):
            reason, rule = FEW if number % 1000 == 999 else REASONS[number % len(REASONS)]
            url = f"https://elsewhere{number % 300}.example.net/archive/{number:06}.html"
            rule = rule.format(host=number % HOSTS)
            self._add(url, skipped(reason), reason=reason, rule=rule, depth=_depth(number), rank=False)
            self._write_if_full()

    def add_queued(self, count: int) -> None:
        for number in range(count):
            url = f"https://docs{number % HOSTS}.example.org/later/{number // 100}/{number:07}.html"
            self._add(url, QUEUED, depth=6 + number * 4 // count, rank=True, source=SOURCES[number % len(SOURCES)])
            self._write_if_full()

    def end(self, ended_by: EndedBy) -> None:
        self._write()
        with self._store.transaction():
            self._store.end(Ending(ended_by), self._now)

    # Rows.

    def _document(self, number: int, version: int) -> PackedDocument:
        words = [COMMON, *(_WORDS[each] for each in self._random.choices(range(len(_WORDS)), k=60))]
        if number < RARE_PAGES:
            words.append(RARE)
        text = f"Page {number}, version {version}. {' '.join(words)}."
        title = f"{_WORDS[number % len(_WORDS)].capitalize()} of chapter {number // 200 % 40}, page {number}"
        confidence = 0.3 if number % 50 == 0 else 0.5 + number % 50 / 100
        found = Document(
            f"# {title}\n\n{text}\n", text, title, "", LANGUAGES[number % len(LANGUAGES)], "", "",
            (Heading(1, title),), len(words), 40 + number * 104_729 % 9_000, 0, confidence, "",
            int.from_bytes(_hash(text)[:8], "little"),
        )  # fmt: skip
        return documents.pack(found, VERSION, b"", self._compressor)

    def _add(
        self,
        url: str,
        state: tuple[str, str],
        *,
        depth: int,
        rank: bool,
        reason: str | None = None,
        rule: str | None = None,
        source: str = "spider",
    ) -> int:
        number = self._next_url
        self._next_url += 1
        self._unit.add_url(
            UrlRow(
                self._run.id,
                number,
                url,
                None,
                state[0],
                reason,
                rule,
                source,
                depth,
                self._next_rank if rank else None,
                "",
                0,
                0,
                number % HOSTS,
                max(1, number // 8),
            )
        )
        self._next_rank += rank
        self._unit.count(None, state, 1)
        return number

    def _visit(self, url_id: int, *, bytes_: int = 700, **fields: object) -> None:
        self._now += 400
        row = VisitRow(
            run_id=self._run.id, number=self._next_visit, url_id=url_id, crawl_id=self._store.crawl.id, depth=0,
            rank=url_id, status=200, kind=None, error=None, tries=1, final_url=None, redirect_to=None,
            content_type="text/html; charset=utf-8", encoding="utf-8", etag=f'"{url_id:x}-{self._run.id}"',
            last_modified="Mon, 16 Nov 2026 05:00:07 GMT", title=None, canonical=None, noindex=False,
            nofollow=False, links_cut=False, truncated=False, body_sha256=None, content_sha256=None, role="-",
            bytes=bytes_, wire_bytes=bytes_ // 4, latency_ms=20 + url_id % 90, fetched_at=self._now,
        )._replace(**fields)  # fmt: skip
        self._next_visit += 1
        self._failed += row.kind is not None
        self._visited += row.kind is None
        self._bytes += bytes_
        self._unit.add_visit(row)

    def _write_if_full(self) -> None:
        if len(self._unit.urls) >= UNIT:
            self._write()

    def _write(self) -> None:
        unit, self._unit = self._unit, self._store.begin()
        for number, pages in self._bases.items():
            if number < len(self._store.bases()):
                unit.save_base(number, f"https://docs{number}.example.org/", pages)
        numbers = (self._next_url, self._next_rank, self._next_visit)
        progress = Progress(*numbers, True, True, self._visited, self._failed, self._pages, self._bytes)
        with self._store.transaction():
            self._store.write(unit, progress, self._now)


def _depth(number: int) -> int:
    return 1 + number % 97 % 7


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _words() -> Iterator[str]:
    for first in ("con", "per", "sta", "mo", "re", "tri"):
        for second in ("la", "ver", "nis", "to", "qua", "sel"):
            for third in ("tion", "ment", "ing", "er", "al", "ous"):
                yield first + second + third


_WORDS = tuple(_words())

"""The visits of a run in the order of commits, from any visit on: the source of files that follow a run.

Also stores the cursors of these files. During a transaction in portions a caller would read rows that are not yet
durable, so it must not call then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from orbweb.errors import StoreError, call
from orbweb.store import Queries
from orbweb.store import links as packed_links
from orbweb.store.workspace_paths import AnchoredPath

NAMED_AT_ONCE = 512
MOST_NAMES = 65_536
WHOLE = ".whole"


class Portion(NamedTuple):
    """Visits with their URLs, their referrers and the locations of their bodies: the columns of `followed_visits`.

    Columns, because visits are formatted many at once, and most values of a column are equal.
    """

    number: Sequence[int]
    key: Sequence[str]
    url: Sequence[str]
    source: Sequence[str]
    depth: Sequence[int]
    referrer: Sequence[str | None]
    status: Sequence[int | None]
    kind: Sequence[str | None]
    error: Sequence[str | None]
    tries: Sequence[int]
    final_url: Sequence[str | None]
    redirect_to: Sequence[str | None]
    content_type: Sequence[str | None]
    encoding: Sequence[str | None]
    etag: Sequence[str | None]
    last_modified: Sequence[str | None]
    title: Sequence[str | None]
    canonical: Sequence[str | None]
    links_cut: Sequence[int]
    truncated: Sequence[int]
    body_sha256: Sequence[bytes | None]
    content_sha256: Sequence[bytes | None]
    role: Sequence[str]
    bytes: Sequence[int]
    latency_ms: Sequence[int]
    fetched_at: Sequence[int]
    proxy: Sequence[str | None]
    robots_tags: Sequence[str | None]
    reuse: Sequence[str | None]
    segment: Sequence[int | None]
    offset: Sequence[int | None]
    length: Sequence[int | None]
    size: Sequence[int | None]
    spooled_type: Sequence[str | None]
    spooled_extra: Sequence[str | None]


def stored_path(
    store: AnchoredPath, sha256: bytes, location: tuple[int | None, int | None, int | None, int | None]
) -> str:
    """The location of a body relative to the workspace, or absolute if it is outside: a file, or a range of one as
    `FILE#OFFSET+LENGTH`."""
    segment, offset, length, size = location
    if segment is not None:
        return f"{store.shown}/segments/{segment:04d}.seg#{offset}+{length}"
    name = sha256.hex()
    stem = f"html/{name[:2]}/{name[2:4]}/{name}.html"
    packed = length != size or not (store.path / stem).exists()
    return f"{store.shown}/{stem}{'.zst' if packed else ''}"


class Cursor(NamedTuple):
    """How far a file has been written: its last visit, its length, and the checksum of its bytes from `since` on.

    `whole` is the checksum of all its bytes, None if unknown. It is stored as a second cursor that begins at the
    first byte: `doctor` verifies the whole file, which would take too long at the start of a crawl.
    """

    visit: int
    offset: int
    since: int
    checksum: int
    whole: int | None = None


class Count(NamedTuple):
    """Visits of one kind, the bytes of their bodies and their retries; a row of `counted_visits`.

    `kept`: the bodies are stored.
    """

    status: int | None
    kind: str | None
    role: str
    reuse: str | None
    kept: bool
    visits: int
    bytes: int
    retries: int


def latest(db: Queries, run_id: int) -> int:
    """The number of the last visit."""
    return int(db.value("latest_visit", run_id=run_id))


def cursor(db: Queries, run_id: int, name: str) -> Cursor | None:
    end, whole = (db.one("cursor_of", run_id=run_id, name=each) for each in (name, name + WHOLE))
    if end is None:
        return None
    return Cursor(*end)._replace(whole=whole[3] if whole is not None and whole[:2] == end[:2] else None)


def least_visit(db: Queries, run_id: int) -> int | None:
    """The last visit of the file that is furthest behind; None if there are no files."""
    found: int | None = db.value("least_cursor", run_id=run_id)
    return found


def move(db: Queries, run_id: int, cursors: Sequence[tuple[str, Cursor]]) -> None:
    """Move the cursors of these files in one transaction."""
    with db.transaction():
        db.many("move_cursor", [(run_id, name, *at[:4]) for name, at in cursors])
        whole = [(name + WHOLE, at) for name, at in cursors if at.whole is not None]
        db.many("move_cursor", [(run_id, name, at.visit, at.offset, 0, at.whole) for name, at in whole])


def counts(db: Queries, run_id: int) -> Iterator[Count]:
    """All visits of a run, counted by their results."""
    return (Count(*row) for row in db.each("counted_visits", run_id=run_id))


class VisitPortions:
    """Reads portions of the visits of a run. The last portion is cached: several files are written from it."""

    def __init__(self, db: Queries, run_id: int) -> None:
        self._db, self._run_id = db, run_id
        self._last: tuple[int, Portion | None] | None = None

    def renew(self) -> None:
        """Drop the cache: there may be new visits."""
        self._last = None

    def after(self, number: int, count: int) -> Portion | None:
        """The next visits after this one; None if there are none."""
        if self._last is None or self._last[0] != number:
            rows = self._db.all("followed_visits", run_id=self._run_id, after=number, count=count)
            self._last = number, Portion._make(zip(*rows, strict=True)) if rows else None
        return self._last[1]


class Linked(NamedTuple):
    """Visited URLs, the number of links of each, and all their targets, in the order of visits and documents.
    `last` is the number of the last visit."""

    sources: Sequence[str]
    counts: Sequence[int]
    targets: Sequence[str]
    last: int


class LinkPortions:
    """Reads portions of the links of a run, each URL formatted by `spell`. The results of `spell` are cached."""

    def __init__(self, db: Queries, run_id: int, spell: Callable[[str], str]) -> None:
        self._db, self._run_id, self._spell = db, run_id, spell
        self._known: dict[int, str] = {}

    def after(self, number: int, count: int) -> Linked:
        """The next visits after this one, with their link targets."""
        rows = self._db.all("followed_links", run_id=self._run_id, after=number, count=count)
        found = [packed_links.followable(packed) if packed else () for _, _, packed in rows]
        targets = self._names(list(chain.from_iterable(found)))
        sources = self._names([url_id for _, url_id, _ in rows])
        return Linked(sources, list(map(len, found)), targets, rows[-1][0] if rows else number)

    def _names(self, ids: Sequence[int]) -> list[str]:
        known = self._known
        try:
            return list(map(known.__getitem__, ids))
        except KeyError:
            return [known.get(each) or self._name(each) for each in ids]

    def _name(self, number: int) -> str:
        """The formatted URL; its neighbors are read with it, because they are likely to be needed next."""
        if len(self._known) > MOST_NAMES:
            self._known.clear()
        first = number - number % NAMED_AT_ONCE
        rows = self._db.all("urls_between", run_id=self._run_id, first=first, last=first + NAMED_AT_ONCE - 1)
        self._known.update((each, self._spell(url or key)) for each, key, url in rows)
        if number not in self._known:
            raise StoreError(f"{self._db.path}: link target {number} is missing; run {call('doctor')}")
        return self._known[number]

"""The visits of a run in the order of commits, from any of them on: what files that follow a run are made of.

Owns the cursors of these files. Never changes anything else. A caller inside a transaction in portions would see
what is not yet durable, so it asks when none is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from orbweb.errors import StoreError
from orbweb.store import outlinks
from orbweb.store.db import Database

NAMED_AT_ONCE = 512
NAMES_KEPT = 65_536
WHOLE = ".whole"


class Visit(NamedTuple):
    """A visit with its URL, its referrer, and where its body lies; the fields of `followed_visits`."""

    number: int
    key: str
    url: str
    source: str
    depth: int
    referrer: str | None
    status: int | None
    kind: str | None
    error: str | None
    tries: int
    final_url: str | None
    redirect_to: str | None
    content_type: str | None
    encoding: str | None
    etag: str | None
    last_modified: str | None
    title: str | None
    canonical: str | None
    truncated: int
    body_sha256: bytes | None
    content_sha256: bytes | None
    role: str
    bytes: int
    wire_bytes: int
    latency_ms: int
    fetched_at: int
    proxy: str | None
    robots_tags: str | None
    reuse: str | None
    segment: int | None
    offset: int | None
    length: int | None
    size: int | None


def stored_path(
    store: Path, sha256: bytes, location: tuple[int | None, int | None, int | None, int | None]
) -> str:
    """Where a body lies, from the workspace on: a file, or a stretch of one as `FILE#OFFSET+LENGTH`."""
    segment, offset, length, size = location
    if segment is not None:
        return f"{store.name}/segments/{segment:04d}.seg#{offset}+{length}"
    name = sha256.hex()
    stem = f"html/{name[:2]}/{name[2:4]}/{name}.html"
    packed = length != size or not (store / stem).exists()
    return f"{store.name}/{stem}{'.zst' if packed else ''}"


class Cursor(NamedTuple):
    """How far a file has come: its last visit, its length, and the checksum of its bytes from `since` on.

    `whole` is the checksum of all of them, None if that is not known. It is kept as a second cursor, which begins
    at the first byte: a start has no time to read the whole file, `doctor` has.
    """

    visit: int
    offset: int
    since: int
    checksum: int
    whole: int | None = None


class Count(NamedTuple):
    """Visits of one kind, the bytes of their bodies and the tries after the first; a row of `counted_visits`.

    `kept`: there is a body.
    """

    status: int | None
    kind: str | None
    role: str
    reuse: str | None
    kept: bool
    visits: int
    bytes: int
    retries: int


def latest(db: Database, run_id: int) -> int:
    """The number of the last visit."""
    return int(db.value("latest_visit", run_id=run_id))


def cursor(db: Database, run_id: int, name: str) -> Cursor | None:
    end, whole = (db.one("cursor_of", run_id=run_id, name=each) for each in (name, name + WHOLE))
    if end is None:
        return None
    return Cursor(*end)._replace(whole=whole[3] if whole is not None and whole[:2] == end[:2] else None)


def least_visit(db: Database, run_id: int) -> int | None:
    """How far the file has come that is the least far; None if there is none."""
    found: int | None = db.value("least_cursor", run_id=run_id)
    return found


def move(db: Database, run_id: int, cursors: Sequence[tuple[str, Cursor]]) -> None:
    """Move the cursors of these files, all in one transaction."""
    with db.transaction():
        db.many("move_cursor", [(run_id, name, *at[:4]) for name, at in cursors])
        whole = [(name + WHOLE, at) for name, at in cursors if at.whole is not None]
        db.many("move_cursor", [(run_id, name, at.visit, at.offset, 0, at.whole) for name, at in whole])


def counts(db: Database, run_id: int) -> Iterator[Count]:
    """All visits of a run by what they came to."""
    return (Count(*row) for row in db.each("counted_visits", run_id=run_id))


class Visits:
    """Reads portions of the visits of a run. The last portion is kept: several files are made of the same."""

    def __init__(self, db: Database, run_id: int) -> None:
        self._db, self._run_id = db, run_id
        self._last: tuple[int, list[Visit]] | None = None

    def renew(self) -> None:
        """There may be more than was read last."""
        self._last = None

    def after(self, number: int, count: int) -> list[Visit]:
        """The next visits after that one."""
        if self._last is None or self._last[0] != number:
            rows = self._db.all("followed_visits", run_id=self._run_id, after=number, count=count)
            self._last = number, list(map(Visit._make, rows))
        return self._last[1]


class Links:
    """Reads portions of the links of a run, each URL as `spell` writes it. The spelling of many is remembered."""

    def __init__(self, db: Database, run_id: int, spell: Callable[[str], str]) -> None:
        self._db, self._run_id, self._spell = db, run_id, spell
        self._known: dict[int, str] = {}

    def after(self, number: int, count: int) -> Iterator[tuple[int, str, list[str]]]:
        """The number of each visit after that one, its URL, and what it links to, in the order of the page."""
        rows = self._db.all("followed_links", run_id=self._run_id, after=number, count=count)
        for visit, url_id, packed in rows:
            targets = outlinks.followable(packed) if packed else ()
            yield visit, self._names([url_id])[0], self._names(targets) if targets else []

    def _names(self, ids: Sequence[int]) -> list[str]:
        known = self._known
        try:
            return list(map(known.__getitem__, ids))
        except KeyError:
            return [known.get(each) or self._name(each) for each in ids]

    def _name(self, number: int) -> str:
        """The spelling of a URL, and of its neighbours: they are likely to be needed next."""
        if len(self._known) > NAMES_KEPT:
            self._known.clear()
        first = number - number % NAMED_AT_ONCE
        rows = self._db.all("urls_between", run_id=self._run_id, first=first, last=first + NAMED_AT_ONCE - 1)
        self._known.update((each, self._spell(url or key)) for each, key, url in rows)
        if number not in self._known:
            raise StoreError(f"{self._db.path}: URL {number} is linked to, and missing; run `orbweb doctor`")
        return self._known[number]

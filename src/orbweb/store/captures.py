"""What earlier runs of the workspace captured, by key.

Owns the horizon: only crawls that had ended when the run began, and that asked as this one does, are looked at.
So what is found is the same at any time of the run, whatever other projects do meanwhile, and after a crash; the
run's own captures are never among it. There is no table for this: the runs that know the origin of a key are asked
by the index they have, the latest first. Never: changes anything, or judges whether a capture is still good.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orbweb.errors import StoreError
from orbweb.model import Blob, Capture, Digest, Link, PackedDocument, Parsed, Role
from orbweb.store import outlinks
from orbweb.store.blobs import BodyStore, Location
from orbweb.store.db import Database, Row
from orbweb.store.files import FileStore
from orbweb.store.segments import SegmentStore

MOST_ORIGINS = 10_000
NAMED_AT_ONCE = 512
LINKS_KEPT = 100_000
"""Links to earlier URLs that are kept in memory."""


class Captures:
    """The captures that one run may reuse. `read_with` and `extractor` are what bodies are read with now."""

    def __init__(
        self,
        db: Database,
        store: Path,
        *,
        horizon: int,
        asked_as: str | None,
        read_with: str | None,
        extractor: int,
        only: int | None = None,
    ) -> None:
        """`only`: the one run whose captures are looked at, whoever it asked as."""
        self._db = db
        self._horizon = horizon
        self._asked_as = asked_as
        self._read_with = read_with
        self._extractor = extractor
        self._only = only
        self._crawls: dict[int, str | None] = dict(
            db.all("reusable_crawls", horizon=horizon, asked_as=asked_as)
            if only is None
            else db.all("crawls_read_with", run_id=only)
        )
        self._runs: dict[str, tuple[int, ...]] = {}
        self._made: dict[int, dict[tuple[int, int], Link]] = {}
        self._segments = SegmentStore(store)
        self._files = FileStore(store)

    def find(self, key: str) -> Capture | None:
        """What the latest run that captured the key has of it."""
        if not self._crawls:
            return None
        for run_id in self._runs_that_know(key[: key.index("/", 8) + 1]):
            row = self._db.one("capture_of", run_id=run_id, key=key)
            if row is not None and row[2] in self._crawls:
                capture = _capture(row)
                if capture.body_sha256 is not None or self._is_read_alike(capture):
                    return capture
        return None

    def _is_read_alike(self, capture: Capture) -> bool:
        """Whether its body was read, or left unread, by the rules of now."""
        return self._crawls[capture.crawl_id] == self._read_with

    def _runs_that_know(self, origin: str) -> tuple[int, ...]:
        if self._only is not None:
            return (self._only,)
        found = self._runs.get(origin)
        if found is None:
            if len(self._runs) >= MOST_ORIGINS:
                self._runs.clear()
            rows = self._db.all(
                "runs_that_know",
                horizon=self._horizon,
                asked_as=self._asked_as,
                first=origin,
                beyond=f"{origin[:-1]}0",
            )
            found = self._runs[origin] = tuple(run_id for (run_id,) in rows)
        return found

    def body(self, capture: Capture) -> bytes | None:
        """The captured body, verified; None if none was kept, StoreError if it cannot be read."""
        if capture.body_sha256 is None:
            return None
        location = Location(*capture.location)
        store: BodyStore = self._files if location.segment is None else self._segments
        return store.read(capture.body_sha256, location)

    def digest(self, capture: Capture) -> Digest | None:
        """What was read out of the body then, if it is what would be read out of it now; else None.

        An alternate has no document of its own, and what a page says to robots was not kept in its words: their
        bodies are read again. StoreError if the record of the links is damaged.
        """
        if not self._is_read_alike(capture) or capture.noindex or capture.nofollow:
            return None
        sha256 = capture.body_sha256 or b""
        blob = Blob(sha256, b"", capture.location[3] if sha256 else 0)
        if capture.role is Role.NONE:
            parsed = self._parsed(
                capture, self._db.value("outlinks_of", run_id=capture.run_id, url_id=capture.url_id)
            )
            return Digest(parsed, blob, sha256) if sha256 or parsed.resources else None
        content = capture.content_sha256
        if capture.role is not Role.PRIMARY or content is None:
            return None
        row = self._db.one("captured_document", run_id=capture.run_id, content_sha256=content)
        if row is None or row[1] != self._extractor:
            return None
        document = PackedDocument._make((*row[:-1], b""))
        return Digest(self._parsed(capture, row[-1]), blob, content, document)

    def _parsed(self, capture: Capture, packed: bytes | None) -> Parsed:
        links = self._links(capture.run_id, packed)
        loaded = next((at for at, link in enumerate(links) if link.kind in outlinks.LOADED), len(links))
        return Parsed(
            tuple(links[:loaded]),
            tuple(links[loaded:]),
            capture.title or "",
            capture.canonical,
            encoding=capture.encoding or "",
            truncated=capture.truncated,
        )

    def _links(self, run_id: int, packed: bytes | None) -> Sequence[Link]:
        """The links in document order, each spelt as that run found its target first."""
        if packed is None:
            return ()
        edges = outlinks.edges(packed)
        made = self._made.setdefault(run_id, {})
        try:
            return [made[edge] for edge in edges]
        except KeyError:
            return [made.get(edge) or self._make(run_id, *edge) for edge in edges]

    def _make(self, run_id: int, target: int, flag: int) -> Link:
        """A link to an earlier URL, and those that differ from it by the URL alone: they may be needed next."""
        made = self._made[run_id]
        if len(made) > LINKS_KEPT:
            made.clear()
        first = target - target % NAMED_AT_ONCE
        kind, nofollow = outlinks.EDGES[flag]
        for number, key, url in self._db.each(
            "urls_between", run_id=run_id, first=first, last=first + NAMED_AT_ONCE - 1
        ):
            made[number, flag] = Link(key, url or key, kind, nofollow)
        if (target, flag) not in made:
            raise StoreError(f"run {run_id}: URL {target} is linked to, and missing")
        return made[target, flag]

    def close(self) -> None:
        self._segments.close()
        self._files.close()


def _capture(row: Row) -> Capture:
    tags = tuple(row[9].split("\n")) if row[9] else ()
    flags = (bool(flag) for flag in row[12:15])
    return Capture._make((*row[:9], tags, *row[10:12], *flags, *row[15:17], Role(row[17]), row[18], row[19:]))

"""Captures of earlier runs of the workspace, by key; read-only.

Only crawls that had ended when the run began, and that sent requests as this one does, are searched. So the result
is the same throughout the run, whatever other projects do meanwhile, and after a crash; the run's own captures are
never among them. There is no table for this: the runs that know the origin of a key are searched by their own
index, the latest first. Pages are mostly visited in the same order again, so the next visits of such a run are
read ahead. Whether a capture is still valid is decided elsewhere (`fetching.revalidation`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import overload

from orbweb.errors import StoreError
from orbweb.model import Blob, Capture, Link, Parsed, ProcessedPage, Role
from orbweb.store import Queries, Row
from orbweb.store import links as packed_links
from orbweb.store.bodies import Location
from orbweb.store.bodies.stored import StoredBodies
from orbweb.store.workspace_paths import AnchoredPath

MOST_ORIGINS = 10_000
NAMED_AT_ONCE = 512
MOST_NAMES = 100_000
"""Names of earlier URLs in memory."""
MOST_AHEAD = 256
LONG = 8_192
"""Links records of this many bytes or more are not read ahead."""

Name = tuple[str, str]
"""The key of a URL, and the URL."""


class EarlierLinks(Sequence[Link]):
    """Links of a captured page in document order, each URL as that run found it first.

    A `Link` is created when it is read; a caller that knows the targets by their ids in `run_id` does not need it.
    Callers compare the type, because `isinstance` with an abstract class is slow.
    """

    __slots__ = ("_name", "flags", "run_id", "targets")

    def __init__(self, run_id: int, targets: array[int], flags: bytes, name: Callable[[int, int], Name]) -> None:
        self.run_id = run_id
        self.targets = targets
        self.flags = flags
        self._name = name

    def __len__(self) -> int:
        return len(self.flags)

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> EarlierLinks: ...
    def __getitem__(self, at: int | slice) -> Link | EarlierLinks:
        if isinstance(at, slice):
            return EarlierLinks(self.run_id, self.targets[at], self.flags[at], self._name)
        return Link(*self._name(self.run_id, self.targets[at]), *packed_links.EDGES[self.flags[at]])


@dataclass(slots=True)
class _Ahead:
    """Rows of one run that were read ahead, by key. The next read is larger if most of them were used."""

    rows: dict[str, Row] = field(default_factory=dict)
    count: int = 0

    def next_count(self) -> int:
        wanted = len(self.rows) * 2 <= self.count
        return min(2 * self.count or 1, MOST_AHEAD) if wanted else 1


@dataclass(frozen=True, slots=True)
class CaptureTerms:
    """Which captures a run may reuse.

    `horizon` and `asked_as` choose the crawls (see `runs.RequestProfile`); with `only`, they are those of that
    run. `read_with` and `extractor` stand for how bodies are processed now.
    """

    project_id: int
    horizon: int
    asked_as: str | None
    read_with: str | None
    extractor: int
    only: int | None = None


class StoredCaptures:
    """The captures that one run may reuse."""

    def __init__(self, db: Queries, store: AnchoredPath, terms: CaptureTerms) -> None:
        self._db = db
        self._terms = terms
        self._crawls: dict[int, str | None] = dict(
            db.all("reusable_crawls", horizon=terms.horizon, asked_as=terms.asked_as)
            if terms.only is None
            else db.all("crawls_read_with", run_id=terms.only)
        )
        self._runs: dict[str, tuple[int, ...]] = {}
        self._ahead: dict[int, _Ahead] = {}
        self._names: dict[int, dict[int, Name]] = {}
        self._named: dict[int, bytearray] = {}
        self._bodies = StoredBodies(store)

    def find(self, key: str) -> Capture | None:
        """The capture of the key by the latest run that has one."""
        if not self._crawls:
            return None
        for run_id in self._runs_that_know(key[: key.index("/", 8) + 1]):
            row = self._row(run_id, key)
            if row is not None and row[1] and row[4] in self._crawls:
                capture = Capture._make(row[2:])
                if capture.body_sha256 is not None or self._is_known_without_body(capture):
                    return capture
        return None

    def is_latest(self, key: str, capture: Capture) -> bool:
        """Whether no later run got something else: a redirect, a failure, or a page marked noindex."""
        for run_id in self._runs_that_know(key[: key.index("/", 8) + 1]):
            if run_id == capture.run_id:
                break
            row = self._db.one("answered_by", run_id=run_id, key=key, project_id=self._terms.project_id)
            if row is not None and (row[0] is None or row[0] in self._crawls):
                return False
        return True

    def _row(self, run_id: int, key: str) -> Row | None:
        """The visit of a key by a run, whether it can be reused or not; None if it never visited it."""
        ahead = self._ahead.get(run_id)
        if ahead is None:
            ahead = self._ahead[run_id] = _Ahead()
        if key not in ahead.rows:
            count = ahead.next_count()
            rows = self._db.all("captures_from", run_id=run_id, key=key, count=count, long=LONG)
            if rows:
                ahead.rows, ahead.count = {row[0]: row for row in rows}, count
        return ahead.rows.pop(key, None)

    def _is_known_without_body(self, capture: Capture) -> bool:
        """Whether a capture without a body can be reused. Pages of discovery cannot: it stores no bodies."""
        return capture.role == Role.NONE and self._is_processed_alike(capture)

    def _is_processed_alike(self, capture: Capture) -> bool:
        """Whether its body was processed, or not, by the current settings."""
        return self._crawls[capture.crawl_id] == self._terms.read_with

    def _runs_that_know(self, origin: str) -> tuple[int, ...]:
        terms = self._terms
        if terms.only is not None:
            return (terms.only,)
        found = self._runs.get(origin)
        if found is None:
            if len(self._runs) >= MOST_ORIGINS:
                self._runs.clear()
            rows = self._db.all(
                "runs_that_know",
                horizon=terms.horizon,
                asked_as=terms.asked_as,
                first=origin,
                beyond=f"{origin[:-1]}0",
            )
            found = self._runs[origin] = tuple(run_id for (run_id,) in rows)
        return found

    def body(self, capture: Capture) -> bytes | None:
        """The captured body, verified; None if none was stored, StoreError if it cannot be read."""
        if capture.body_sha256 is None:
            return None
        return self._bodies.read(capture.body_sha256, Location(*capture.location))

    def has_body(self, capture: Capture) -> bool:
        """Whether the captured body is still at its place, or none was stored. What is replayed needs none."""
        if capture.body_sha256 is None or self._terms.only is not None:
            return True
        return self._bodies.has(capture.body_sha256, Location(*capture.location))

    def stands(self, capture: Capture) -> bool:
        """Whether the capture holds everything that processing its body would give now: a primary page with a
        document, a record of its links, and no robots directives."""
        return (
            capture.role == Role.PRIMARY
            and capture.extractor == self._terms.extractor
            and capture.packed is not None
            and not (capture.noindex or capture.nofollow)
            and self._is_processed_alike(capture)
        )

    def process(self, capture: Capture) -> ProcessedPage | None:
        """The stored result of processing the body, if processing it now would give the same; else None.

        The text of robots directives is not stored, so a body with directives is processed again. An alternate has
        no document of its own, and needs one only if it becomes the page. StoreError if the links are damaged.
        """
        if not self._is_processed_alike(capture) or capture.noindex or capture.nofollow:
            return None
        sha256 = capture.body_sha256 or b""
        blob = Blob(sha256, b"", capture.location[3] if sha256 else 0)
        if capture.role == Role.NONE:
            parsed = self._parsed(capture)
            return ProcessedPage(parsed, blob, sha256) if sha256 or parsed.resources else None
        content, document = capture.content_sha256, capture.document
        if content is None or document is None or document.extractor != self._terms.extractor:
            return None
        own = document if capture.role == Role.PRIMARY else None
        return ProcessedPage(self._parsed(capture), blob, content, own)

    def _parsed(self, capture: Capture) -> Parsed:
        links = self._links(capture)
        followed = packed_links.followed(links.flags)
        is_split = followed < len(links)
        return Parsed(
            links[:followed] if is_split else links,
            links[followed:] if is_split else (),
            capture.title or "",
            capture.canonical,
            encoding=capture.encoding or "",
            links_cut=bool(capture.links_cut),
        )

    def _links(self, capture: Capture) -> EarlierLinks:
        run_id, packed = capture.run_id, capture.packed
        if packed is None:
            packed = self._db.value("outlinks_of", run_id=run_id, url_id=capture.url_id)
        targets, flags = packed_links.edges(packed) if packed else (array("I"), b"")
        named = self._named.setdefault(run_id, bytearray(1))
        if targets and not (max(targets) < len(named) and all(map(named.__getitem__, targets))):
            for target in targets:
                self._name(run_id, target)
        return EarlierLinks(run_id, targets, flags, self._name)

    def _name(self, run_id: int, target: int) -> Name:
        """The name of an earlier URL; StoreError if it is missing."""
        known = self._names.setdefault(run_id, {})
        if target not in known:
            self._read_names(run_id, target - target % NAMED_AT_ONCE)
        if target not in known:
            raise StoreError(f"run {run_id}: link target {target} is missing")
        return known[target]

    def _read_names(self, run_id: int, first: int) -> None:
        """Read the names of neighboring ids, which are likely to be needed next, and record which exist."""
        known, named, last = self._names[run_id], self._named[run_id], first + NAMED_AT_ONCE - 1
        if len(known) > MOST_NAMES:
            known.clear()
        rows = self._db.all("urls_between", run_id=run_id, first=first, last=last)
        named.extend(bytes(max([0, *(row[0] + 1 - len(named) for row in rows)])))
        for number, key, url in rows:
            known[number] = key, url or key
            named[number] = 1

    def close(self) -> None:
        self._bodies.close()

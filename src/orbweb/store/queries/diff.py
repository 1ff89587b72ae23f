"""The differences between two runs of a project, URL by URL.

Both runs are read in parallel in key order, so memory holds only the differences. Each URL captured in either run
is counted once: unchanged, changed, noise, added, removed, moved, redirected, failing, unvisited, pending or left
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from orbweb.lifecycle import ItemState
from orbweb.model import Carried, Document, Role
from orbweb.store import Queries, documents
from orbweb.store.queries import text_diff
from orbweb.store.queries.text_diff import TextChange
from orbweb.store.runs import Run

Report = dict[str, Any]

GONE = (404, 410)
NO_LONGER_LINKED = "no longer linked"
NO_LONGER_A_PAGE = "no longer a page"
_NOT_VISITED = (ItemState.QUEUED, ItemState.SKIPPED)


class Seen(NamedTuple):
    """A URL in one of the runs: a row of `compared_urls`."""

    key: str
    url: str
    state: str
    reason: str | None
    status: int | None
    kind: str | None
    role: str | None
    body_sha256: bytes | None
    content_sha256: bytes | None
    document: bytes | None
    redirects_to: str | None
    carried: str | None = None

    @property
    def unlinked(self) -> bool:
        return self.carried == Carried.UNLINKED

    @property
    def captured(self) -> bool:
        return self.role in (Role.PRIMARY, Role.ALTERNATE) and not self.unlinked


class Comparison:
    """The comparison of two runs. `keep_noise`: dates, counters and tokens count as changes too."""

    def __init__(self, db: Queries, old: Run, new: Run, *, keep_noise: bool) -> None:
        self._db = db
        self._names = f"run {old.number}", f"run {new.number}"
        self._keep_noise = keep_noise
        self._ended = new.ended_at is not None
        self._added: dict[str, Seen] = {}
        self._unvisited: dict[str, Seen] = {}
        self._removed: dict[str, tuple[Seen, str]] = {}
        self._redirected: dict[str, tuple[Seen, str]] = {}
        self._changed: list[Report] = []
        self._noise: list[Report] = []
        self._failing: list[Report] = []
        self._left_out: Counter[str] = Counter()
        self._unchanged = 0
        self._pending = 0
        for before, after in _side_by_side(_urls(db, old.id), _urls(db, new.id)):
            self._judge(before, after)

    def report(self) -> Report:
        """The differences, each list in URL order."""
        moved = self._moves()
        return {
            "added": [{"url": seen.url} for seen in self._added.values()],
            "removed": [{"url": seen.url, "why": why} for seen, why in self._removed.values()],
            "changed": self._changed,
            "moved": moved,
            "redirected": [{"url": seen.url, "to": to} for seen, to in self._redirected.values()],
            "failing": self._failing,
            "noise": self._noise,
            "unchanged": self._unchanged,
            "unvisited": len(self._unvisited),
            "pending": self._pending,
            "left_out": dict(self._left_out),
        }

    def _judge(self, before: Seen | None, after: Seen | None) -> None:
        if before is not None and before.captured:
            if after is not None and after.captured:
                self._both(before, after)
            else:
                self._lost(before, after)
        elif after is not None and after.captured:
            arrived = self._unvisited if before is not None and before.state in _NOT_VISITED else self._added
            arrived[after.key] = after
        elif after is not None and after.state == ItemState.FAILED and not _failed(before):
            self._fails(after)

    def _both(self, before: Seen, after: Seen) -> None:
        if before.body_sha256 == after.body_sha256 or before.content_sha256 == after.content_sha256:
            self._unchanged += 1
            return
        change = self._compare(before, after)
        report: Report = {"url": after.url, "noise": change.noise}
        if not change.added and not change.removed:
            self._noise.append(report)
        else:
            self._changed.append(
                {**report, "lines_added": change.added, "lines_removed": change.removed, "diff": list(change.diff)}
            )

    def _compare(self, before: Seen, after: Seen) -> TextChange:
        old, new = self._document(before), self._document(after)
        names = {"old_name": f"{before.url} ({self._names[0]})", "new_name": f"{after.url} ({self._names[1]})"}
        return text_diff.compare(old.markdown, new.markdown, keep_noise=self._keep_noise, **names)

    def _document(self, seen: Seen) -> Document:
        row = self._db.one("document_by_hash", sha256=seen.document)
        if row is None or seen.document is None:
            return _NO_DOCUMENT
        return documents.unpack(seen.document, *row, where=f"{self._db.path}: document of {seen.url}")

    def _lost(self, before: Seen, after: Seen | None) -> None:
        if after is None:
            if self._ended:
                self._removed[before.key] = before, NO_LONGER_LINKED
            else:
                self._pending += 1
        elif after.unlinked:
            self._removed[before.key] = before, NO_LONGER_LINKED
        elif after.state == ItemState.QUEUED:
            self._pending += 1
        elif after.state == ItemState.SKIPPED:
            self._left_out[str(after.reason)] += 1
        elif after.redirects_to is not None:
            self._redirected[before.key] = before, after.redirects_to
        elif after.status in GONE:
            self._removed[before.key] = before, f"HTTP {after.status}"
        elif after.state == ItemState.FAILED:
            self._fails(after)
        else:
            self._removed[before.key] = before, NO_LONGER_A_PAGE

    def _fails(self, after: Seen) -> None:
        self._failing.append({"url": after.url, "kind": after.kind, "status": after.status})

    def _moves(self) -> list[Report]:
        """The same content at a new URL: neither added nor removed."""
        arrived: dict[bytes, Seen] = {}
        for seen in (*self._added.values(), *self._unvisited.values()):
            if seen.content_sha256 is not None:
                arrived.setdefault(seen.content_sha256, seen)
        for seen, to in self._redirected.values():
            target = self._arrived(to)
            if target is not None and target.content_sha256 == seen.content_sha256:
                self._forget(to)
        moved = []
        for key, (seen, _) in list(self._removed.items()):
            target = arrived.pop(seen.content_sha256, None) if seen.content_sha256 else None
            if target is not None and self._arrived(target.key) is not None:
                self._forget(target.key)
                del self._removed[key]
                moved.append({"url": target.url, "from": seen.url})
        return moved

    def _arrived(self, key: str) -> Seen | None:
        return self._added.get(key) or self._unvisited.get(key)

    def _forget(self, key: str) -> None:
        self._added.pop(key, None)
        self._unvisited.pop(key, None)


_NO_DOCUMENT = Document("", "", "", "", "", "", "", (), 0, 0, 0, 0.0, "", 0)


def _failed(seen: Seen | None) -> bool:
    return seen is not None and seen.state == ItemState.FAILED


def _urls(db: Queries, run_id: int) -> Iterator[Seen]:
    return (Seen(*row) for row in db.each("compared_urls", run_id=run_id))


def _side_by_side(old: Iterator[Seen], new: Iterator[Seen]) -> Iterator[tuple[Seen | None, Seen | None]]:
    """Both runs in key order, each key once."""
    before, after = next(old, None), next(new, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before.key < after.key):
            yield before, None
            before = next(old, None)
        elif before is None or after.key < before.key:
            yield None, after
            after = next(new, None)
        else:
            yield before, after
            before, after = next(old, None), next(new, None)

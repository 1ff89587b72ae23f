"""Lists of a large run, some rows at a time: each continues after a key, so that its later parts cost no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orbweb.model import Place
from orbweb.store import Queries
from orbweb.store.rows import moment

Report = dict[str, Any]
NAMES = (
    *("url", "status", "depth", "title", "content_sha256", "body_sha256", "bytes", "content_type", "captured_at"),
    *("truncated", "language", "words", "tokens"),
)


@dataclass(frozen=True, slots=True)
class PageKey:
    """Where a list of pages continues: after this visit and, sorted by another value, after that."""

    number: int
    value: str | int | None = None


@dataclass(frozen=True, slots=True)
class PageTerms:
    """Which pages are wanted, and their order: `place`, or a column."""

    sort: str = "place"
    descending: bool = False
    status: int | None = None
    depth: int | None = None
    language: str | None = None
    words: str | None = None


def pages(
    db: Queries, run_id: int, terms: PageTerms, after: PageKey | None, count: int
) -> tuple[list[Report], PageKey | None]:
    """Some pages, and the key after the last one; None at the end."""
    given = {"run_id": run_id, "status": terms.status, "depth": terms.depth, "language": terms.language}
    given |= {"words": terms.words, "count": count + 1}
    if terms.sort == "place":
        rows = db.all("page_list", **given, after=after.number if after else 0)
    else:
        key = {"after": after.number, "value": after.value} if after else {"after": None, "value": None}
        rows = db.all("page_list_down" if terms.descending else "page_list_up", **given, **key, sort=terms.sort)
    found = [_page(row) for row in rows[:count]]
    if len(rows) <= count:
        return found, None
    last = rows[count - 1]
    return found, PageKey(last[0], last[-1] if terms.sort != "place" else None)


def _page(row: tuple[Any, ...]) -> Report:
    found: Report = dict(zip(NAMES, row[1 : len(NAMES) + 1], strict=True))
    found.update(
        content_sha256=found["content_sha256"].hex(),
        body_sha256=found["body_sha256"].hex() if found["body_sha256"] else None,
        captured_at=moment(found["captured_at"]),
        truncated=bool(found["truncated"]),
    )
    return found


def queue_items(
    db: Queries, run_id: int, source: str | None, after: Place | None, count: int
) -> tuple[list[Report], Place | None]:
    """Some of the queue, and the place of the last one; None at the end."""
    depth, rank = (after.depth, after.rank) if after else (None, None)
    rows = db.all("queue_items", run_id=run_id, source=source, depth=depth, rank=rank, count=count + 1)
    found = [
        {
            "url": url,
            "source": source,
            "place": str(Place(depth, rank)),
            "depth": depth,
            "hops": hops,
            "rule": rule,
        }
        for url, source, depth, rank, hops, rule, _ in rows[:count]
    ]
    return found, Place(rows[count - 1][2], rows[count - 1][3]) if len(rows) > count else None


def skipped_items(
    db: Queries, run_id: int, terms: Mapping[str, str | None], after: int, count: int
) -> tuple[list[Report], int | None]:
    """Some skipped URLs after an id, and the id of the last one; None at the end. `terms`: reason and rule."""
    rows = db.all("skipped_items", run_id=run_id, after=after, count=count + 1, **terms)
    names = ("url", "reason", "rule", "source", "depth", "referrer")
    found = [dict(zip(names, row[1:], strict=True)) for row in rows[:count]]
    return found, rows[count - 1][0] if len(rows) > count else None


def queued_urls(db: Queries, run_id: int) -> Iterator[tuple[str, int]]:
    """The keys and depths of the queue, in its order, read as they are consumed."""
    return ((row[0], row[1]) for row in db.each("queued_keys", run_id=run_id))


def captures(db: Queries, project_id: int, key: str) -> list[Report]:
    """One URL in all runs of a project, the latest first."""
    names = (
        *("run_id", "run", "state", "status", "kind", "captured_at", "body_sha256", "content_sha256", "role"),
        *("bytes", "reuse", "title"),
    )
    found = [dict(zip(names, row, strict=True)) for row in db.all("captures_of", project_id=project_id, key=key)]
    for each in found:
        each["captured_at"] = moment(each["captured_at"])
        for name in ("body_sha256", "content_sha256"):
            each[name] = each[name].hex() if each[name] else None
    return found

"""Lists of a large run, some rows at a time, and what a rule would do to its queue."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orbweb.app.columns import ColumnQuery
from orbweb.app.directory import OpenWorkspace
from orbweb.app.reports import PAGE_ORDERS, target_of
from orbweb.app.results.catalog import ListPart
from orbweb.app.results.listings import PageRow, QueueItem, QueueItems, ReadPages, RulePreview, UrlCapture
from orbweb.app.results.record import records
from orbweb.errors import UsageError, option
from orbweb.export.csv import row
from orbweb.export.escaping import guarded, one_line
from orbweb.model import Source
from orbweb.policy import patterns
from orbweb.store import runs
from orbweb.store.queries import listings

MOST = 1000
EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which pages of a run are wanted. `sort` is a column, with `-` the largest first; `words` are looked for in
    URL and title; `after` is the key of the rows before."""

    sort: str = "place"
    status: int | None = None
    depth: int | None = None
    language: str | None = None
    words: str | None = None
    after: str | None = None
    limit: int = 100


def pages(
    read: Callable[..., ListPart[PageRow]], project: str, number: int | None, wanted: PageFilter
) -> ReadPages:
    column = wanted.sort.removeprefix("-")
    if column not in PAGE_ORDERS or wanted.sort == "-place":
        raise UsageError(f"{option('sort')}: {wanted.sort!r} is not an order; choose {', '.join(PAGE_ORDERS)}")
    given = {"status": wanted.status, "depth": wanted.depth, "language": wanted.language}
    query = ColumnQuery(
        {name: str(value) for name, value in given.items() if value is not None},
        wanted.words or "",
        "" if column == "place" else column,
        wanted.sort.startswith("-"),
        _row_key(wanted.after),
        _count(wanted.limit),
    )
    found = read(project, query, run=number)
    return ReadPages(found.run, found.items, _packed([found.next]) if found.next is not None else None)


def queue_items(
    read: Callable[..., ListPart[QueueItem]], project: str, *, source: str | None, after: str | None, limit: int
) -> QueueItems:
    if source is not None and source not in list(Source):
        raise UsageError(f"{option('source')}: unknown source {source!r}; choose one of {', '.join(Source)}")
    query = ColumnQuery({"source": source} if source else {}, after=_row_key(after), rows=_count(limit))
    found = read(project, query, patience_s=None)
    return QueueItems(found.run, found.items, _packed([found.next]) if found.next is not None else None)


def _row_key(text: str | None) -> int | None:
    """The row that a part begins after."""
    if text is None:
        return None
    (number,) = _unpacked(text, 1)
    if type(number) is not int or not 0 <= number < 1 << 63:
        raise _wrong_key(text)
    return number


def check_pattern(pattern: str) -> None:
    """UsageError if this is not an RE2 pattern."""
    patterns.finder(option("match"), pattern)


def preview(
    workspace: OpenWorkspace,
    project: str,
    *,
    include: Sequence[str],
    exclude: Sequence[str],
    max_depth: int | None,
) -> RulePreview:
    """What further patterns would remove from the queue, each URL judged as the policy judges it: RE2 search."""
    run = workspace.run(project)
    included = [patterns.finder(option("include"), each) for each in include]
    excluded = [patterns.finder(option("exclude"), each) for each in exclude]
    queued, removed = 0, 0
    examples: list[str] = []
    for key, depth in listings.queued_urls(workspace.db, run.id):
        queued += 1
        is_out = any(finds(key) for finds in excluded) or (max_depth is not None and depth > max_depth)
        if is_out or (included and not any(finds(key) for finds in included)):
            removed += 1
            if len(examples) < EXAMPLES:
                examples.append(key)
    return RulePreview(run.number, queued, removed, tuple(examples))


def captures(workspace: OpenWorkspace, project: str, url: str) -> list[UrlCapture]:
    target = target_of(workspace, project, url)
    if target is None:
        raise UsageError(f"{url!r} is not an http(s) URL")
    found = runs.project(workspace.db, project)
    return records(UrlCapture, listings.captures(workspace.db, found.id, target.key))


def csv_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """A table as CSV, safe to open in a spreadsheet; what is not a plain value is JSON."""
    yield row(list(columns))
    for cells in rows:
        yield row([_cell(cell) for cell in cells])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return guarded(one_line(text))


def _count(limit: int) -> int:
    if not 1 <= limit <= MOST:
        raise UsageError(f"{option('limit')}: {limit} is not a number from 1 to {MOST}")
    return limit


def _packed(key: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _unpacked(text: str, length: int) -> list[Any]:
    try:
        found = json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
    except ValueError:
        raise _wrong_key(text) from None
    if not isinstance(found, list) or len(found) != length:
        raise _wrong_key(text)
    return found


def _wrong_key(text: str) -> UsageError:
    return UsageError(f"{option('after')}: {text[:100]!r} is not a key of this list; use its `next`")

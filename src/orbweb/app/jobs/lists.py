"""The lists of runs that a server shows: parts of lists that are kept in memory. Any thread may call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from orbweb.app.columns import ColumnQuery, Selected
from orbweb.app.directory import OpenWorkspace
from orbweb.app.kept_lists import KeptList, KeptLists, ListMaker
from orbweb.app.list_makers import FAILURES, PAGES, QUEUE, SKIPPED, place_key, place_of
from orbweb.app.results.catalog import FailedItem, FailureList, ListedPage, ListPart, PageList
from orbweb.app.results.listings import PageRow, QueueItem, SkippedItem
from orbweb.app.results.record import record
from orbweb.store import Queries
from orbweb.store.queries import catalog
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Run

PATIENCE_S = 0.06
"""How long a page waits for a list that is being made."""

Item = TypeVar("Item")
Rows = Callable[[OpenWorkspace, Run, Sequence[int]], Iterator[Report | None]]


class RunLists:
    """Parts of the lists of a workspace. `patience_s`: how long to wait for a list that is not made yet; with
    None, until it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = KeptLists(path)

    def close(self) -> None:
        self._kept.close()

    def pages(
        self,
        project: str,
        query: ColumnQuery,
        *,
        run: int | None = None,
        patience_s: float | None = PATIENCE_S,
        fresh: bool = False,
    ) -> PageList:
        """Some of the pages of a run. What is asked for in the order of visits is there at once."""
        found = self._look(PAGES, project, run, patience_s, fresh=fresh)

        def rows(workspace: OpenWorkspace, of: Run, numbers: Sequence[int]) -> Iterator[Report | None]:
            for number in numbers:
                row = catalog.page_at(workspace.db, of.id, number)
                others = found.columns.figure("alternates", number)
                yield None if row is None else {**row, "alternates": others}

        return PageList(
            self._part(ListedPage, found, query, (project, run), rows, catalog.pages_from), found.extra
        )

    def page_rows(self, project: str, query: ColumnQuery, *, run: int | None = None) -> ListPart[PageRow]:
        """As `pages`, as programs read them: without an order and filters at once, or else when all are known."""
        found = self._look(PAGES, project, run, 0 if _is_plain(query) else None)

        def rows(workspace: OpenWorkspace, of: Run, numbers: Sequence[int]) -> Iterator[Report | None]:
            return (catalog.page_row_at(workspace.db, of.id, number) for number in numbers)

        return self._part(PageRow, found, query, (project, run), rows, catalog.pages_from)

    def failures(
        self,
        project: str,
        query: ColumnQuery,
        *,
        run: int | None = None,
        patience_s: float | None = PATIENCE_S,
    ) -> FailureList:
        """Some of the failures of a run, and the groups of all of them."""
        found = self._look(FAILURES, project, run, patience_s)

        def rows(workspace: OpenWorkspace, of: Run, numbers: Sequence[int]) -> Iterator[Report | None]:
            for number in numbers:
                since = found.columns.figure("since", number) or of.number
                yield catalog.failure_at(workspace.db, of, number, since)

        part = self._part(FailedItem, found, query, (project, run), rows, None)
        every = found.columns.select(ColumnQuery(rows=0)).counts["since"]
        return FailureList(part, found.extra.frozen if found.extra else (), every.get(str(part.run), 0))

    def failed_ids(self, project: str, *, run: int | None = None) -> list[int]:
        """The ids of all URLs that failed."""
        found = self._look(FAILURES, project, run, None)
        return found.columns.column("url")

    def skipped(
        self,
        project: str,
        query: ColumnQuery,
        *,
        run: int | None = None,
        patience_s: float | None = PATIENCE_S,
    ) -> ListPart[SkippedItem]:
        """Some of the skipped URLs of a run, in the order in which they were found."""
        found = self._look(SKIPPED, project, run, patience_s)

        def rows(workspace: OpenWorkspace, of: Run, numbers: Sequence[int]) -> Iterator[Report | None]:
            return (catalog.skipped_at(workspace.db, of.id, number) for number in numbers)

        return self._part(SkippedItem, found, query, (project, run), rows, None)

    def queue(
        self, project: str, query: ColumnQuery, *, patience_s: float | None = PATIENCE_S
    ) -> ListPart[QueueItem]:
        """Some of the queue of the latest run, in its order."""
        found = self._look(QUEUE, project, None, 0 if _is_plain(query) and patience_s is None else patience_s)
        ids: dict[int, int] = {}

        def following(db: Queries, run_id: int, after: int, count: int) -> list[int] | None:
            begun = place_of(after) if query.after is not None else None
            queued = catalog.queue_from(db, run_id, begun, count)
            if queued is None:
                return None
            ids.update((place_key(depth, rank), number) for number, depth, rank in queued)
            return list(ids)

        def rows(workspace: OpenWorkspace, of: Run, places: Sequence[int]) -> Iterator[Report | None]:
            for place in places:
                number = ids.get(place) or found.columns.figure("url", place) or 0
                yield catalog.queued_at(workspace.db, of.id, number)

        return self._part(QueueItem, found, query, (project, None), rows, following)

    def _look(
        self, maker: ListMaker, project: str, run: int | None, patience_s: float | None, *, fresh: bool = False
    ) -> KeptList:
        if patience_s is None:
            return self._kept.whole(maker, project, run, fresh=fresh)
        return self._kept.look(maker, project, run, patience_s=patience_s, fresh=fresh)

    def _part(
        self,
        kind: type[Item],
        found: KeptList,
        query: ColumnQuery,
        of: tuple[str, int | None],
        rows: Rows,
        following: Callable[..., list[int] | None] | None,
    ) -> ListPart[Item]:
        """The rows that a query selects. Those of a list that is not made yet are read in the order of ids, if it
        asks for all of them."""
        columns = found.columns
        project, number = of
        with closing(OpenWorkspace(self._path)) as workspace:
            run = workspace.run(project, number)
            selected = columns.select(query if _is_known(found, query) else replace(query, rows=0))
            if following is not None and _is_plain(query) and (found.is_snapshot or not found.is_whole):
                ids = following(workspace.db, run.id, query.after or 0, query.rows + 1)
                selected = _unmade(selected, ids, query) if ids is not None else selected
            items = [record(kind, row) for row in rows(workspace, run, selected.ids) if row is not None]
        return ListPart(
            run.number,
            tuple(items),
            selected.total,
            selected.begin,
            len(columns),
            selected.previous,
            selected.next,
            selected.counts,
            found.is_whole,
            found.made_at,
        )


def _is_plain(query: ColumnQuery) -> bool:
    """Whether a query asks for all rows in the order of ids."""
    return not (query.facets or query.words or query.sort)


def _is_known(found: KeptList, query: ColumnQuery) -> bool:
    """Whether the list has come to the row that a part begins after."""
    return found.is_whole or query.after is None or found.columns.has(query.after)


def _unmade(selected: Selected, ids: Sequence[int], query: ColumnQuery) -> Selected:
    """A part of a list that is not made yet; `ids` has one more if others follow. Its total is what is known."""
    shown = tuple(ids[: query.rows])
    rest = len(ids) - len(shown)
    begin = selected.begin if query.after else 0
    total = max(selected.total, begin + len(shown) + rest)
    return Selected(shown, total, begin, 0 if query.after else None, selected.counts)

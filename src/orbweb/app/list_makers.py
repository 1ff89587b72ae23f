"""How the lists of a run are made: pages, failures, the queue, and what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any

from orbweb.app.columns import PORTION, ColumnRow, Columns
from orbweb.app.kept_lists import Subject
from orbweb.app.request import Request, configure
from orbweb.app.results.catalog import FailureGroup
from orbweb.app.settings import page_type, policy_rules
from orbweb.model import Place, Role
from orbweb.store.queries import catalog
from orbweb.store.queries.catalog import FailureColumns, PageColumns
from orbweb.store.rows import moment

UNSURE = 0.5
"""Below this confidence, a document is worth a look."""
PASSING = ("http_5xx", "timeout", "connect", "dns_timeout", "dns_servfail", "dns_no_address")
"""Kinds of failure that may pass again."""
STATUSES, REASONS = 3, 20
FEW = 2_000
FIRST_PORTIONS = (200, 1_000)
"""Rows that are there at once, and soon."""
RANK_BITS = 40


def host_of(key: str) -> str:
    """The host of a URL, with its port if that is not the default."""
    return key.partition("://")[2].partition("/")[0]


class PageMaker:
    """The pages of a run, by the number of their visit. The extra is the run that `since` compares with."""

    name, grows = "pages", True

    def columns(self) -> Columns:
        facets = ("type", "host", "depth", "language", "since", "alternates", "confidence", "status")
        return Columns(facets, ("tokens", "bytes", "alternates", "confidence", "words", "depth"), ("url", "title"))

    def append(
        self, subject: Subject, columns: Columns, after: int, _extra: Any
    ) -> Iterator[tuple[int, int | None]]:
        db, run_id = subject.workspace.db, subject.run.id
        before = subject.before.id if subject.before is not None else None
        compared = subject.before.number if subject.before is not None else None
        config = configure(subject.project, Request())[0]
        type_of = page_type(config) if policy_rules(config).page_types else None
        yield after, compared
        for count in chain(FIRST_PORTIONS, repeat(PORTION)):
            rows = catalog.page_columns(db, run_id, before, after, count)
            if not rows:
                break
            columns.append(_page_row(row, type_of) for row in rows if row.role == Role.PRIMARY)
            for row in rows:
                if row.role == Role.ALTERNATE:
                    number = catalog.visit_number(db, run_id, row.page_id) or 0
                    columns.change(number, facet="alternates", value="some", figure="alternates", add=1)
            after = rows[-1].number
            yield after, compared


def _page_row(row: PageColumns, type_of: Callable[[str], str] | None) -> ColumnRow:
    sure = 1.0 if row.confidence is None else row.confidence
    values = (
        type_of(row.key) if type_of else "",
        host_of(row.key),
        str(row.depth),
        row.language or "",
        row.since,
        "none",
        "low" if sure < UNSURE else "high",
        str(row.status),
    )
    figures = (row.tokens or 0, row.bytes, 0, round(100 * sure), row.words or 0, row.depth)
    return ColumnRow(row.number, values, figures, (row.url, row.title))


@dataclass(slots=True)
class _FailedGroup:
    """The failures of a kind at a host."""

    count: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    newest: int = 0

    def add(self, row: FailureColumns) -> None:
        self.count += 1
        self.newest = max(self.newest, row.at)
        if row.status is not None:
            self.statuses[row.status] += 1
        elif row.reason in self.reasons or len(self.reasons) < REASONS:
            self.reasons[row.reason] += 1


class FailureGroups:
    """Failures by kind and host. One thread adds, others read what was frozen last."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _FailedGroup] = {}
        self.frozen: tuple[FailureGroup, ...] = ()

    def add(self, rows: Iterable[FailureColumns]) -> None:
        for row in rows:
            self._groups.setdefault((row.kind, host_of(row.key)), _FailedGroup()).add(row)
        self.frozen = tuple(
            FailureGroup(
                kind,
                host,
                each.count,
                dict(each.statuses.most_common(STATUSES)),
                next((reason for reason, _ in each.reasons.most_common(1)), ""),
                moment(each.newest) or "",
            )
            for (kind, host), each in self._groups.items()
        )


class FailureMaker:
    """The failures of a run, by the number of their visit. The extra are its groups of kind and host."""

    name, grows = "failures", True

    def columns(self) -> Columns:
        return Columns(("kind", "host", "since", "again"), ("since", "url"))

    def append(
        self, subject: Subject, columns: Columns, after: int, extra: Any
    ) -> Iterator[tuple[int, FailureGroups]]:
        groups: FailureGroups = extra or FailureGroups()
        yield after, groups
        for count in chain(FIRST_PORTIONS, repeat(FEW)):
            rows = catalog.failure_columns(subject.workspace.db, subject.run, after, count)
            if not rows:
                break
            columns.append(
                ColumnRow(
                    row.number,
                    (row.kind, host_of(row.key), str(row.since), "yes" if row.kind in PASSING else "no"),
                    (row.since, row.url_id),
                )
                for row in rows
            )
            groups.add(rows)
            after = rows[-1].number
            yield after, groups


class SkippedMaker:
    """The skipped URLs of a run, by their ids."""

    name, grows = "skipped", False

    def columns(self) -> Columns:
        return Columns(("reason", "rule"), ())

    def append(self, subject: Subject, columns: Columns, after: int, _extra: Any) -> Iterator[tuple[int, None]]:
        for rows in catalog.skipped_columns(subject.workspace.db, subject.run.id, after):
            columns.append(ColumnRow(number, (reason, rule or ""), ()) for number, reason, rule in rows)
            yield 0, None


class QueueMaker:
    """The queue of a run in its order, each URL by its place, with its id as a figure."""

    name, grows = "queue", False

    def columns(self) -> Columns:
        return Columns(("source",), ("url",))

    def append(self, subject: Subject, columns: Columns, after: int, _extra: Any) -> Iterator[tuple[int, None]]:
        rows = (
            ColumnRow(place_key(depth, rank), (source,), (number,))
            for number, source, depth, rank in catalog.queue_columns(subject.workspace.db, subject.run.id)
        )
        while part := list(islice(rows, PORTION)):
            columns.append(part)
            yield after, None


def place_key(depth: int, rank: int) -> int:
    """A place in the queue as one number, in the same order."""
    return depth << RANK_BITS | rank


def place_of(key: int) -> Place:
    return Place(key >> RANK_BITS, key & (1 << RANK_BITS) - 1)


PAGES, FAILURES, SKIPPED, QUEUE = PageMaker(), FailureMaker(), SkippedMaker(), QueueMaker()

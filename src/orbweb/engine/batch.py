"""The counters of a run at work, the numbers it gives out, and the unit of work that is not written yet.

After `flush` everything committed is durable. Memory relies on the store only for what is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orbweb.failpoints import failpoint
from orbweb.frontier import Frontier
from orbweb.model import Role
from orbweb.policy.traps import Traps
from orbweb.store import RunStore
from orbweb.store.bodies import BodyStore
from orbweb.store.rows import QUEUED, Progress, Tally, VisitRow
from orbweb.store.runs import Run
from orbweb.store.seen import REMEMBERED, SeenHashes
from orbweb.store.unit import UnitOfWork

WRITTEN_AT_ONCE = 4_000
"""A unit with at most this many rows is written without a pause."""
LARGE = 20_000
"""A unit with this many URLs is written before anything else is committed."""


class Numbers:
    """Ids of URLs, ranks and visit numbers, each given out once.

    The lane is named with every request: today all lanes of a run share one series.
    """

    __slots__ = ("next_rank", "next_url", "next_visit")

    def __init__(self, run: Run) -> None:
        self.next_url = run.next_url
        self.next_rank = run.next_rank
        self.next_visit = run.next_visit

    def url(self, _lane: str) -> int:
        self.next_url += 1
        return self.next_url - 1

    def rank(self, _lane: str) -> int:
        self.next_rank += 1
        return self.next_rank - 1

    def visit(self, _lane: str) -> int:
        self.next_visit += 1
        return self.next_visit - 1


class Batch:
    """Of one run, while one crawl works on it.

    `fed` counts the lines taken from the spool. `new_redirects` and `old_redirects` are the targets of redirects
    in the current unit of work, and in the one that is being written.
    """

    def __init__(
        self, store: RunStore, *, frontier: Frontier, bodies: BodyStore, traps: Traps, clock: Callable[[], int]
    ) -> None:
        run, crawl = store.run, store.crawl
        self.store = store
        self.run_id = run.id
        self.crawl_id = crawl.id
        self._frontier = frontier
        self._bodies = bodies
        self._traps = traps
        self._clock = clock
        self.numbers = Numbers(run)
        self.scope_fixed = run.scope_fixed
        self.surveyed = run.surveyed
        roles = store.roles()
        self.pages = roles.get(Role.PRIMARY, 0)
        self.alternates = roles.get(Role.ALTERNATE, 0)
        self.reused = store.reused()
        self.crawl_visited = crawl.visited
        self.crawl_failed = crawl.failed
        self.crawl_pages = crawl.pages
        self.crawl_bytes = crawl.bytes
        self.pages_seen = SeenHashes(store.page_hashes(REMEMBERED + 1), store.has_page)
        self.bodies_seen = SeenHashes(store.body_hashes(REMEMBERED + 1), store.has_body)
        self.written = 0
        self.fed = self._fed_written = 0
        self.old_redirects: dict[int, int] = {}
        self._writing = 0
        self.recount()
        self._begin_unit()

    def recount(self) -> None:
        """Count the rows of the store; everything is written."""
        self.counts: Counter[Tally] = self.store.tallies()
        self.queued_by_base: Counter[int] = Counter(self.store.queued_by_base())

    @property
    def queued(self) -> int:
        """URLs queued or leased."""
        return self.counts[QUEUED]

    @property
    def crawl_settled(self) -> int:
        """What counts against the budget."""
        return self.crawl_visited + self.crawl_failed

    @property
    def unwritten(self) -> int:
        """Committed places that a crash would lose."""
        return len(self.unit.settled) + self._writing

    @property
    def is_large(self) -> bool:
        """Whether the unit takes so much memory that it should be written first."""
        return len(self.unit.urls) >= LARGE

    @property
    def fed_durable(self) -> int:
        """Lines of the spool whose URLs a crash would not lose."""
        return self.fed if self.unit.is_empty and not self.store.is_writing else self._fed_written

    @property
    def is_fed_durable(self) -> bool:
        return self.fed_durable == self.fed

    def count(self, old: Tally | None, new: Tally, number: int = 1) -> None:
        """`number` URLs had the state `old`, or are new, and have the state `new`."""
        self.unit.count(old, new, number)
        if old is not None:
            self.counts[old] -= number
        self.counts[new] += number

    def add_visit(self, row: VisitRow) -> None:
        self.unit.add_visit(row)
        self.crawl_bytes += row.bytes
        self.reused += row.reuse is not None

    def flush(self) -> None:
        """Make everything committed so far durable."""
        while self.store.is_writing:
            self.store.step()
        if not self.unit.is_empty:
            with self.writing():
                pass
            failpoint("group_committed")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction with the unit of work, and with what the block adds to it."""
        self._prepare()
        with self.store.transaction():
            self.store.write(self.unit, self.progress(), self._clock())
            yield
        self._begin_unit()
        self._on_durable()

    def begin_flush(self) -> None:
        """Begin to make everything committed so far durable. Nothing is being written."""
        unit = self.unit
        if len(unit.urls) + len(unit.changes) <= WRITTEN_AT_ONCE:
            self.flush()
            return
        self._prepare()
        progress, self._writing, self.old_redirects = self.progress(), len(unit.settled), self.new_redirects
        self._begin_unit()
        self.store.write_in_portions(unit, progress, self._clock(), self._on_portions_durable)

    def _prepare(self) -> None:
        """Bodies are durable before the rows that name them. The units before this one are written, so memory may
        rely on the store for what they hold."""
        self._bodies.sync()
        self._frontier.forget()
        self.pages_seen.forget()
        self.bodies_seen.forget()
        self.unit.families.extend(self._traps.take_changes())

    def _on_portions_durable(self) -> None:
        failpoint("group_committed")
        self._on_durable()

    def _on_durable(self) -> None:
        """Unless more came in meanwhile, the frontier may rely on the store for all of it."""
        self._writing = 0
        self.old_redirects = {}
        self._fed_written = self._fed_writing
        self.written += 1
        if self.unit.is_empty:
            self._frontier.refill()

    def progress(self) -> Progress:
        """Where the run and its crawl stand."""
        return Progress(
            self.numbers.next_url,
            self.numbers.next_rank,
            self.numbers.next_visit,
            self.scope_fixed,
            self.surveyed,
            self.crawl_visited,
            self.crawl_failed,
            self.crawl_pages,
            self.crawl_bytes,
        )

    def _begin_unit(self) -> None:
        self.unit: UnitOfWork = self.store.begin()
        self._fed_writing = self.fed
        self.new_redirects: dict[int, int] = {}

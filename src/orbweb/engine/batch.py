"""The counters of a running crawl, the ids it gives out, and the unit of work that is not written yet.

After `flush` everything committed is durable. Caches drop only what is written to the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from orbweb.failpoints import failpoint
from orbweb.frontier import Frontier
from orbweb.model import Role
from orbweb.policy.traps import Traps
from orbweb.store import RunStore
from orbweb.store.bodies import BodyStore
from orbweb.store.rows import QUEUED, Progress, Tally, VisitRow
from orbweb.store.runs import Run
from orbweb.store.unit import UnitOfWork

WRITTEN_AT_ONCE = 4_000
"""A unit with at most this many rows is written at once, a larger one in portions."""
LARGE = 20_000
"""A unit with this many URLs is written before anything else is committed."""
REMEMBERED = 50_000
"""Hashes in memory, in each of two halves."""
KEPT = 2_000
"""The same, of bodies that need not be looked at again."""


class Numbers:
    """Ids of URLs, ranks and visit numbers, each given out once.

    Callers name the lane, though all lanes of a run share one series today.
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


class SeenHashes:
    """A set of hashes, exact in bounded memory: beyond the bound the store is read.

    Hashes that are not yet written to the store are always in memory.
    """

    def __init__(
        self, hashes: Iterable[bytes], is_stored: Callable[[bytes], bool], most: int | None = None
    ) -> None:
        self._young = set(hashes)
        self._old: set[bytes] = set()
        self._is_stored = is_stored
        self._most = REMEMBERED if most is None else most
        self._complete = len(self._young) <= self._most

    def __contains__(self, sha256: bytes) -> bool:
        return sha256 in self._young or sha256 in self._old or (not self._complete and self._is_stored(sha256))

    def add(self, sha256: bytes) -> None:
        self._young.add(sha256)

    def forget(self) -> None:
        """A unit of work is about to be written, and all before it are: drop what those added.

        What this unit added is in the younger half, and stays in memory as the older one.
        """
        if len(self._young) > self._most:
            self._old, self._young = self._young, set()
            self._complete = False


class Batch:
    """Counters and unwritten changes of one run, while one crawl works on it.

    `bodies_seen` are the bodies that rows of the workspace name, `bodies_kept` those that this crawl has lately
    written or found undamaged. `fed` counts the lines read from the spool. `new_redirects` and `old_redirects` are
    the targets of redirects in the current unit of work and in the one that is being written.
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
        self.now = clock
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
        self.bodies_kept = SeenHashes((), lambda _sha256: False, KEPT)
        self.written = 0
        self.fed = self._fed_written = 0
        self.old_redirects: dict[int, int] = {}
        self._writing = 0
        self.recount()
        self._begin_unit()

    def recount(self) -> None:
        """Read the counters from the store; everything must be written."""
        self.counts: Counter[Tally] = self.store.tallies()
        self.queued_by_base: Counter[int] = Counter(self.store.queued_by_base())

    @property
    def queued(self) -> int:
        """URLs queued or leased."""
        return self.counts[QUEUED]

    @property
    def crawl_settled(self) -> int:
        """Visits of this crawl, which count against the budget."""
        return self.crawl_visited + self.crawl_failed

    @property
    def unwritten(self) -> int:
        """Committed places that a crash would lose."""
        return len(self.unit.settled) + self._writing

    @property
    def is_large(self) -> bool:
        """Whether the unit must be written before more is committed, to bound its memory."""
        return len(self.unit.urls) >= LARGE

    @property
    def fed_durable(self) -> int:
        """Lines of the spool whose URLs a crash would not lose."""
        return self.fed if self.unit.is_empty and not self.store.is_writing else self._fed_written

    def is_settled(self, url_id: int) -> bool:
        """Whether a URL is durably visited, failed or skipped."""
        return self.store.state_of(url_id) not in (None, QUEUED[0])

    @property
    def is_fed_durable(self) -> bool:
        return self.fed_durable == self.fed

    def count(self, old: Tally | None, new: Tally, number: int = 1) -> None:
        """`number` URLs change from state `old` (None: they are new) to state `new`."""
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
        """One transaction with the unit of work and with what the block writes."""
        self._prepare()
        with self.store.transaction():
            self.store.write(self.unit, self.progress(), self.now())
            yield
        self._begin_unit()
        self._on_durable()

    def begin_flush(self) -> None:
        """Begin to make everything committed so far durable; no other unit may be in the middle of its write."""
        unit = self.unit
        if len(unit.urls) + len(unit.changes) <= WRITTEN_AT_ONCE:
            self.flush()
            return
        self._prepare()
        progress, self._writing, self.old_redirects = self.progress(), len(unit.settled), self.new_redirects
        self._begin_unit()
        self.store.write_in_portions(unit, progress, self.now(), self._on_portions_durable)

    def _prepare(self) -> None:
        """Bodies are durable before the rows that name them. The units before this one are written, so caches may
        drop what they added."""
        self._bodies.sync()
        self._frontier.forget()
        self.pages_seen.forget()
        self.bodies_seen.forget()
        self.bodies_kept.forget()
        self.unit.families.extend(self._traps.take_changes())

    def _on_portions_durable(self) -> None:
        failpoint("group_committed")
        self._on_durable()

    def _on_durable(self) -> None:
        """The frontier loads from the store only if every admitted row is written."""
        self._writing = 0
        self.old_redirects = {}
        self._fed_written = self._fed_writing
        self.written += 1
        if self.unit.is_empty:
            self._frontier.refill()

    def progress(self) -> Progress:
        """The counters of the run and of its crawl, as they are stored."""
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

"""The books of a run: how much there is of what, which ids are given out, and the group that is not yet
written.

Owns the counters of a run and of its crawl, the changes on their way to one transaction, and what is only
begun: a page with very many links, a group with very many URLs. Both are done in portions by `step`. Always
holds: after `flush` all that was settled is durable; a group that is written never holds a part of a page;
memory relies on the database only for what is written. Never decides what a visit means, never waits and never
fetches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.model import Role
from orbweb.policy.traps import Traps
from orbweb.store import QUEUED, Ending, Group, Progress, Tally, commit, commit_in_portions
from orbweb.store.bodies import BodyStore
from orbweb.store.runs import Crawl, Run
from orbweb.store.seen import REMEMBERED, SeenHashes
from orbweb.store.sqlite.db import Database

WRITTEN_AT_ONCE = 4_000
"""Rows of a group that are not worth a pause."""
LARGE = 20_000
"""URLs of a group that is written before anything else is settled."""


class Batch:
    """Of one run, while one crawl works on it.

    `fed` counts the lines of the spool that were taken; `new_redirects` and `old_redirects` are where those of the
    group lead, and those of the group that is being written.
    """

    def __init__(
        self,
        db: Database,
        run: Run,
        crawl: Crawl,
        *,
        frontier: SqliteFrontier,
        bodies: BodyStore,
        traps: Traps,
        clock: Callable[[], int],
    ) -> None:
        self.db = db
        self.run_id = run.id
        self.crawl_id = crawl.id
        self._frontier = frontier
        self._bodies = bodies
        self._traps = traps
        self._clock = clock
        self.next_url = run.next_url
        self.next_rank = run.next_rank
        self.next_visit = run.next_visit
        self.scope_fixed = run.scope_fixed
        self.surveyed = run.surveyed
        roles: dict[str, int] = dict(db.all("count_roles", run_id=run.id))
        self.pages = roles.get(Role.PRIMARY, 0)
        self.alternates = roles.get(Role.ALTERNATE, 0)
        self.reused = sum(count for reuse, count, _ in db.all("count_reuses", run_id=run.id) if reuse)
        self.crawl_visited = crawl.visited
        self.crawl_failed = crawl.failed
        self.crawl_pages = crawl.pages
        self.crawl_bytes = crawl.bytes
        self.pages_seen = SeenHashes(
            [sha for (sha,) in db.each("page_hashes", run_id=run.id, most=REMEMBERED + 1)],
            lambda sha: db.one("page_exists", run_id=run.id, content_sha256=sha) is not None,
        )
        self.bodies_seen = SeenHashes(
            [sha for (sha,) in db.each("body_hashes", most=REMEMBERED + 1)],
            lambda sha: db.one("body_exists", sha256=sha) is not None,
        )
        self.groups = 0
        self.fed = self._fed_written = 0
        self.old_redirects: dict[int, int] = {}
        self._settling: dict[str, Iterator[None]] = {}
        self._freed: set[str] = set()
        self._writing = 0
        self.recount()
        self._begin_group()

    def recount(self) -> None:
        """Know how many rows there are in the database; everything is written."""
        tallies = self.db.all("tallies_of", run_id=self.run_id)
        self.counts: Counter[Tally] = Counter({(state, reason): count for state, reason, count in tallies})
        self.queued_by_base: Counter[int] = Counter(dict(self.db.all("queued_by_base", run_id=self.run_id)))

    @property
    def queued(self) -> int:
        """URLs queued or leased."""
        return self.counts[QUEUED]

    @property
    def crawl_settled(self) -> int:
        """What the budget counts."""
        return self.crawl_visited + self.crawl_failed

    @property
    def unwritten(self) -> int:
        """Settled places that a crash would lose."""
        return len(self.group.settled) + self._writing

    @property
    def is_large(self) -> bool:
        """Whether the group takes so much memory that it should be written first."""
        return len(self.group.urls) >= LARGE

    @property
    def is_busy(self) -> bool:
        """Whether there is something for `step` to do."""
        return bool(self._settling) or self.db.is_writing

    @property
    def is_settling(self) -> bool:
        """Whether a page is only begun."""
        return bool(self._settling)

    @property
    def fed_durable(self) -> int:
        """Lines whose URLs a crash would not lose."""
        return self.fed if self._is_empty() and not self.db.is_writing else self._fed_written

    @property
    def is_fed_durable(self) -> bool:
        return self.fed_durable == self.fed

    def settles(self, lane: str) -> bool:
        """Whether the place of the lane that was settled last is only begun."""
        return lane in self._settling

    def count(self, old: Tally | None, new: Tally, number: int = 1) -> None:
        """So many URLs, which had one state or are new, have another now."""
        for tallies in (self.group.tallies, self.counts):
            if old is not None:
                tallies[old] -= number
            tallies[new] += number

    def step(self) -> None:
        """Do a portion of what is begun."""
        self.db.step()
        lane = next(iter(self._settling), None)
        if lane is not None:
            self.advance(lane, self._settling.pop(lane))
            if lane not in self._settling:
                self._freed.add(lane)

    def freed(self) -> set[str]:
        """The lanes whose page is done with since the last call, and which can settle their next."""
        freed, self._freed = self._freed, set()
        return freed

    def advance(self, lane: str, steps: Iterator[None]) -> None:
        """Take a step of settling the place of a lane. If it was not the last, `step` takes the others."""
        if next(steps, self) is None:
            self._settling[lane] = steps

    def finish_begun(self) -> None:
        """Do all that is begun."""
        while self.is_busy:
            self.step()

    def flush(self) -> None:
        """Make everything settled so far durable."""
        self.finish_begun()
        if not self._is_empty():
            self.write(_goes_on)

    def write(self, ending: Callable[[], Ending | None]) -> Ending | None:
        """Make the group durable, and the ending that is given when it is written. Nothing is begun."""
        self._bodies.sync()
        self._forget()
        self.group.families.extend(self._traps.take_changes())
        ended = commit(self.db, self.run_id, self.crawl_id, self.group, self.progress(), self._clock(), ending)
        self._begin_group()
        self._written()
        return ended

    def begin_flush(self) -> bool:
        """Begin to make everything settled so far durable; False where something has to end first."""
        if self.is_busy:
            return False
        group = self.group
        if len(group.urls) + len(group.changes) <= WRITTEN_AT_ONCE:
            self.flush()
            return True
        self._bodies.sync()
        self._forget()
        group.families.extend(self._traps.take_changes())
        progress, self._writing, self.old_redirects = self.progress(), len(group.settled), self.new_redirects
        self._begin_group()
        commit_in_portions(self.db, self.run_id, self.crawl_id, group, progress, self._clock(), self._written)
        return True

    def _forget(self) -> None:
        """The group is about to be written, and those before it are: memory may rely on the database for them."""
        self._frontier.forget()
        self.pages_seen.forget()
        self.bodies_seen.forget()

    def _is_empty(self) -> bool:
        return not self.group.settled and not self.group.changes and not self.group.urls

    def _written(self) -> None:
        """What was being written is durable; unless more came in meanwhile, the frontier may rely on it."""
        self._writing = 0
        self.old_redirects = {}
        self._fed_written = self._fed_writing
        self.groups += 1
        if self._is_empty():
            self._frontier.refill()

    def progress(self) -> Progress:
        """Where the run and its crawl stand."""
        return Progress(
            self.next_url,
            self.next_rank,
            self.next_visit,
            self.scope_fixed,
            self.surveyed,
            self.crawl_visited,
            self.crawl_failed,
            self.crawl_pages,
            self.crawl_bytes,
        )

    def _begin_group(self) -> None:
        self.group = Group()
        self._fed_writing = self.fed
        self.new_redirects: dict[int, int] = {}


def _goes_on() -> None:
    """The ending of a crawl that does not end."""

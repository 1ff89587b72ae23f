"""The ordered commit: outcomes of places, in their order, become rows.

`commit` is called in the order of places of each lane, so everything it decides is a function of the site's
responses: visited, failed, refused or deferred, page or alternate, where a redirect leads, which links get places.
All of it goes into one unit of work. A page with very many links is committed in portions (`step`); a unit that is
written never holds a part of a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from orbweb.engine.admission import Admission, FoundUrl
from orbweb.engine.batch import Batch
from orbweb.engine.context import RunContext
from orbweb.engine.rescope import Rescope
from orbweb.engine.scope import ScopeTracker
from orbweb.failpoints import failpoint
from orbweb.lifecycle import RunState, run_after
from orbweb.model import (
    Blob,
    Failed,
    FailKind,
    Item,
    Known,
    Link,
    Outcome,
    ProcessedPage,
    Refused,
    Role,
    SkipReason,
    Source,
    Unchanged,
)
from orbweb.policy.rules import Candidate
from orbweb.policy.traps import family
from orbweb.store import links as packed_links
from orbweb.store.bodies import BodyStore, KnownBodies
from orbweb.store.rows import FAILED, QUEUED, VISITED, Ending, Tally, skipped
from orbweb.store.runs import Base
from orbweb.store.visits import Result, VisitNumber, unchanged_row, visit_row

MAX_REDIRECTS = 10
_VISITED = Result()


class Committer:
    """Commits the places of one run while one crawl works on it."""

    def __init__(
        self,
        context: RunContext,
        bases: Sequence[Base],
        *,
        bodies: BodyStore,
        known_bodies: KnownBodies,
        clock: Callable[[], int],
    ) -> None:
        self._store = context.store
        self._run_id = context.store.run.id
        self._policy = context.policy
        self._frontier = context.frontier
        self._traps = context.traps
        self._bodies = bodies
        self._known_bodies = known_bodies
        self._clock = clock
        self._stores_resources = context.settings.stores_resources
        self._begun: dict[str, Iterator[None]] = {}
        self._freed: set[str] = set()
        self.batch = Batch(
            context.store, frontier=context.frontier, bodies=bodies, traps=context.traps, clock=clock
        )
        self._admission = Admission(context, self.batch)
        self._rescope = Rescope(
            context, self.batch, self._admission, several_bases=len(bases) > 1, flush=self.flush
        )
        self.scope = ScopeTracker(context, self.batch, self._admission, self._rescope, bases, flush=self.flush)

    @property
    def has_scores(self) -> bool:
        """Whether the order within a depth is by score."""
        return self._policy.has_scores

    # Work in portions.

    @property
    def is_busy(self) -> bool:
        """Whether `step` has something to do."""
        return bool(self._begun) or self._store.is_writing

    @property
    def has_begun(self) -> bool:
        """Whether any page is committed in part."""
        return bool(self._begun)

    def is_begun(self, lane: str) -> bool:
        """Whether the last page of the lane is committed in part."""
        return lane in self._begun

    def step(self) -> None:
        """Write a portion of the unit, and commit a portion of a page."""
        self._store.step()
        lane = next(iter(self._begun), None)
        if lane is not None:
            self._advance(lane, self._begun.pop(lane))
            if lane not in self._begun:
                self._freed.add(lane)

    def _advance(self, lane: str, steps: Iterator[None]) -> None:
        if next(steps, self) is None:
            self._begun[lane] = steps

    def take_freed(self) -> set[str]:
        """The lanes whose page was finished since the last call and which can commit the next one."""
        freed, self._freed = self._freed, set()
        return freed

    def flush(self) -> None:
        """Finish pages committed in part, and make everything committed durable."""
        self._finish_begun()
        self.batch.flush()

    def begin_flush(self) -> bool:
        """Begin to make everything committed durable; False while a page or a unit is unfinished."""
        if self.is_busy:
            return False
        self.batch.begin_flush()
        return True

    def _finish_begun(self) -> None:
        while self.is_busy:
            self.step()

    # One place.

    def has_page(self, content_sha256: bytes) -> bool:
        """Whether another URL of the run is the page with this content."""
        return content_sha256 in self.batch.pages_seen

    def commit(self, item: Item, outcome: Outcome) -> None:
        """Commit the place whose turn it is; of a page with very many links only the first portion."""
        self._advance(item.lane, self._commit(item, outcome))

    def _commit(self, item: Item, outcome: Outcome) -> Iterator[None]:
        failpoint("page_settled")
        if item.hops:
            item = item._replace(hops=self._hops_now(item))
        response = outcome.response
        if isinstance(response, Refused):
            self._refuse(item, response)
        elif isinstance(response, Failed):
            self._fail(item, outcome, response.kind, response.error)
        elif response.status >= 400:
            kind = FailKind.HTTP_4XX if response.status < 500 else FailKind.HTTP_5XX
            self._fail(item, outcome, kind, f"HTTP {response.status}")
        elif outcome.redirect is not None:
            self._redirect(item, outcome, *outcome.redirect)
        elif outcome.processed is not None and outcome.is_page:
            yield from self._page(item, outcome, outcome.processed)
        elif outcome.processed is not None:
            yield from self._resource(item, outcome, outcome.processed)
        else:
            self._visit(item, outcome)
        if item.depth == 0 and not self.batch.scope_fixed:
            self.scope.base_committed(item.base)

    def commit_unchanged(self, item: Item, seen: Unchanged) -> bool:
        """Commit a page that an earlier run captured unchanged, on a short path to the same rows that `commit`
        would write. False, with nothing changed, unless the page is the first with its content, is of no family,
        and finding its links again would change nothing.
        """
        batch, content, document = self.batch, seen.capture.content_sha256, seen.capture.read
        if content is None or document is None or content in batch.pages_seen or self._may_be_trap(item):
            return False
        if item.hops:
            item = item._replace(hops=self._hops_now(item))
        packed = self._admission.inherit(item, seen.capture)
        if packed is None:
            return False
        failpoint("page_settled")
        self._close(item, VISITED)
        batch.crawl_visited += 1
        batch.add_visit(unchanged_row(item, seen, self._number(item)))
        self._add_page(item, content, document)
        if packed:
            batch.unit.add_links(item.id, packed)
        if item.depth == 0 and not batch.scope_fixed:
            self.scope.base_committed(item.base)
        return True

    def defer(self, item: Item, due_at: int) -> None:
        """Move a place that blocks the order to the end of its depth; it is not leased before `due_at`."""
        rank = self.batch.numbers.rank(item.lane)
        self.batch.unit.defer(item.id, rank, due_at)
        self._frontier.defer(item._replace(rank=rank), due_at)

    def end(self, ending: Ending) -> bool:
        """Make everything durable and end the crawl, in one transaction. False if the crawl continues because
        URLs that waited for others of their family are queued now."""
        self._finish_begun()
        completes = run_after(ending.ended_by) is RunState.COMPLETED
        with self.batch.writing():
            ends = not (completes and self._rescope.readmit_waiting())
            if ends:
                if completes and self._store.run.recalls is not None:
                    self._store.mark_carried(self._store.unlinked())
                self._store.end(ending, self._clock())
        failpoint("crawl_ended" if ends else "group_committed")
        if not ends:
            self._rescope.reload()
        return ends

    def _hops_now(self, item: Item) -> int:
        """A shorter path may have been found since the item was leased."""
        known = self._frontier.known(item.key)
        return known.hops if known else item.hops

    def _close(self, item: Item, tally: Tally, *, reason: str | None = None, rule: str | None = None) -> None:
        self._frontier.committed(item)
        self.batch.unit.settle(item.id, tally[0], reason, rule)
        self.batch.count(QUEUED, tally)
        self.batch.queued_by_base[item.base] -= 1

    def _refuse(self, item: Item, refused: Refused) -> None:
        reason = refused.reason.value
        self._frontier.committed(item)
        self._frontier.remember(item.key, Known(item.id, item.depth, item.hops, reason))
        self._admission.earlier.refused(item.key)
        self.batch.unit.refuse(item.id, reason, refused.rule)
        self.batch.count(QUEUED, skipped(reason))
        self.batch.queued_by_base[item.base] -= 1

    def _fail(self, item: Item, outcome: Outcome, kind: FailKind, error: str) -> None:
        self._close(item, FAILED)
        self.batch.crawl_failed += 1
        self._record(item, outcome, Result(kind, error))

    def _visit(self, item: Item, outcome: Outcome, result: Result = _VISITED) -> None:
        self._close(item, VISITED)
        self.batch.crawl_visited += 1
        self._record(item, outcome, result)

    def _record(self, item: Item, outcome: Outcome, result: Result) -> None:
        self.batch.add_visit(visit_row(item, outcome, result, self._number(item)))

    def _number(self, item: Item) -> VisitNumber:
        return VisitNumber(self._run_id, self.batch.numbers.visit(item.lane), self.batch.crawl_id)

    def _redirect(self, item: Item, outcome: Outcome, key: str, url: str) -> None:
        if item.redirects >= MAX_REDIRECTS:
            self._fail(item, outcome, FailKind.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS} redirects")
            return
        known = self._frontier.known(key)
        if known is not None and self._leads_back(known.id, item.id):
            self._fail(item, outcome, FailKind.REDIRECT_LOOP, f"redirects back to {url}")
            return
        base_chain = item.depth == 0 and not self.batch.scope_fixed and self._policy.bars_base(key) is None
        if base_chain:
            self.scope.move(item.base, key)
        source = item.source if item.source is Source.RESOURCE else Source.REDIRECT
        found = FoundUrl(key, url, source, item.depth, item.redirects + 1, item)
        target = self._admission.find(found, known, forced=base_chain)
        self._visit(item, outcome, Result(redirect_to=target))
        self.batch.new_redirects[item.id] = target
        flag = bytes([packed_links.FLAGS["redirect", False]])
        self.batch.unit.add_links(item.id, packed_links.pack([target], flag))

    def _leads_back(self, target: int | None, start: int) -> bool:
        """Whether the redirects from the target lead back to the start."""
        for _ in range(2 * MAX_REDIRECTS):
            if target is None or target == start:
                break
            target = (
                self.batch.new_redirects.get(target)
                or self.batch.old_redirects.get(target)
                or self._store.redirect_of(target)
            )
        return target == start

    def _page(self, item: Item, outcome: Outcome, processed: ProcessedPage) -> Iterator[None]:
        directives = processed.parsed.directives
        rule = self._policy.noindex_rule(directives)
        repeats = False
        if rule is None:
            repeats = self._store_page(item, outcome, processed) is Role.ALTERNATE
        else:
            self._skip_noindex(item, rule)
        if self._may_be_trap(item):
            elsewhere = self._leads_elsewhere(item, processed.parsed.links)
            sketch = processed.document.sketch if processed.document else b""
            self._traps.settled(
                item.key, family_member=item.family_member, repeats=repeats, elsewhere=elsewhere, summary=sketch
            )
        return self._admission.follow(
            item, processed.parsed.links, () if rule else processed.parsed.resources, directives
        )

    def _may_be_trap(self, item: Item) -> bool:
        """Whether the page belongs to a family of URLs that may be a trap."""
        return self._policy.rules.park_traps and (item.family_member or family(item.key) is not None)

    def _leads_elsewhere(self, item: Item, links: Sequence[Link]) -> bool:
        """Whether the page links to a new URL that may be visited and is not of the page's own family."""
        for link in links:
            if self._frontier.known(link.key) is None and not self._traps.is_family_member(link.key, item.key):
                candidate = Candidate(link.key, item.depth + 1, item.hops, item.base, Source.SPIDER)
                if self._policy.judge(candidate).reason is None:
                    return True
        return False

    def _resource(self, item: Item, outcome: Outcome, processed: ProcessedPage) -> Iterator[None]:
        """A resource of a page. Its body is stored if resources are; a style sheet may load more."""
        if self._stores_resources:
            self._store_body(processed)
        else:
            outcome = outcome._replace(processed=None)
        self._visit(item, outcome)
        return self._admission.follow(item, (), processed.parsed.resources, processed.parsed.directives)

    def _skip_noindex(self, item: Item, rule: str) -> None:
        """Skip a fetched page that is marked noindex. That is final: no better path can change it."""
        reason = SkipReason.NOINDEX.value
        self._close(item, skipped(reason), reason=reason, rule=rule)
        self._frontier.remember(item.key, Known(item.id, item.depth, item.hops, reason))

    def _store_page(self, item: Item, outcome: Outcome, processed: ProcessedPage) -> Role:
        is_new = processed.content_sha256 not in self.batch.pages_seen
        self._store_body(processed)
        role = Role.PRIMARY if is_new else Role.ALTERNATE
        self._visit(item, outcome, Result(role=role))
        if is_new and processed.document is not None:
            if processed.document.frame:
                self.batch.unit.add_document(processed.document)
            self._add_page(item, processed.content_sha256, processed.document.sha256)
        else:
            self.batch.alternates += 1
        return role

    def _add_page(self, item: Item, content_sha256: bytes, document_sha256: bytes) -> None:
        batch = self.batch
        batch.pages_seen.add(content_sha256)
        batch.unit.add_page(content_sha256, item.id, item.base, document_sha256)
        batch.pages += 1
        batch.crawl_pages += 1
        self.scope.add_page(item.base)

    def _store_body(self, processed: ProcessedPage) -> None:
        """Store a body that was fetched, unless it is stored undamaged; a reused one has no frame."""
        blob, batch = processed.blob, self.batch
        if not blob.frame or blob.sha256 in batch.bodies_kept:
            return
        if blob.sha256 not in batch.bodies_seen or not self._is_stored(blob):
            batch.bodies_seen.add(blob.sha256)
            batch.unit.add_body(blob.sha256, self._bodies.put(blob))
        batch.bodies_kept.add(blob.sha256)

    def _is_stored(self, blob: Blob) -> bool:
        location = self._store.body_location(blob.sha256)
        return location is not None and self._known_bodies.holds(blob, location)

"""What a visit means: outcomes, in the order of places, become rows.

Owns the settling of one place: visited, failed, refused or deferred, page or alternate, where a redirect leads;
and how the crawl ends. Always holds: `settle` is called in the order of places, so everything it decides is a
function of the site's answers. What a page links to is found in `admission`, when rows are written is decided
in `books`. Never waits and never fetches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orbweb.engine.admission import Admission, FoundUrl
from orbweb.engine.batch import Batch
from orbweb.engine.rescope import Rescope
from orbweb.engine.scope import ScopeTracker
from orbweb.failpoints import failpoint
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.lifecycle import RunState, run_after
from orbweb.model import (
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
from orbweb.policy.rules import Candidate, Policy
from orbweb.policy.traps import Traps, family
from orbweb.store import (
    FAILED,
    QUEUED,
    VISITED,
    DeferRow,
    Ending,
    RefuseRow,
    SettleRow,
    Tally,
    VisitRow,
    skipped,
    visits,
)
from orbweb.store import links as packed_links
from orbweb.store.bodies import BodyStore
from orbweb.store.queries import vanished
from orbweb.store.runs import Run

MAX_REDIRECTS = 10


class Committer:
    """What becomes of the places of one run while one crawl works on it."""

    def __init__(
        self,
        run: Run,
        *,
        books: Batch,
        admission: Admission,
        scopes: ScopeTracker,
        review: Rescope,
        policy: Policy,
        frontier: SqliteFrontier,
        traps: Traps,
        bodies: BodyStore,
        keeps_resources: bool,
    ) -> None:
        self._run = run
        self._run_id = run.id
        self._books = books
        self._admission = admission
        self._scopes = scopes
        self._review = review
        self._policy = policy
        self._frontier = frontier
        self._traps = traps
        self._bodies = bodies
        self._keeps_resources = keeps_resources

    def has_page(self, content_sha256: bytes) -> bool:
        """Whether another URL of the run is the page with this content."""
        return content_sha256 in self._books.pages_seen

    def settle(self, item: Item, outcome: Outcome) -> None:
        """Commit the outcome of the place whose turn it is. A page with very many links is only begun."""
        self._books.advance(item.lane, self._settle(item, outcome))

    def _settle(self, item: Item, outcome: Outcome) -> Iterator[None]:
        failpoint("page_settled")
        if item.hops:
            item = item._replace(hops=self._hops_now(item))
        answer = outcome.answer
        if isinstance(answer, Refused):
            self._refuse(item, answer)
        elif isinstance(answer, Failed):
            self._fail(item, outcome, answer.kind, answer.error)
        elif answer.status >= 400:
            kind = FailKind.HTTP_4XX if answer.status < 500 else FailKind.HTTP_5XX
            self._fail(item, outcome, kind, f"HTTP {answer.status}")
        elif outcome.redirect is not None:
            self._redirect(item, outcome, *outcome.redirect)
        elif outcome.processed is not None and outcome.is_page:
            yield from self._page(item, outcome, outcome.processed)
        elif outcome.processed is not None:
            yield from self._resource(item, outcome, outcome.processed)
        else:
            self._visit(item, outcome)
        if item.depth == 0 and not self._books.scope_fixed:
            self._scopes.base_settled(item.base)

    def take_over(self, item: Item, seen: Unchanged) -> bool:
        """Commit a page that is as an earlier run captured it, if that is all it means: it is the first with its
        content, it is of no family, and what it links to is known as it is. Else nothing has happened.

        The short way to the very rows that `settle` would make.
        """
        books, content, document = self._books, seen.capture.content_sha256, seen.capture.read
        if content is None or document is None or content in books.pages_seen or self._may_be_trap(item):
            return False
        if item.hops:
            item = item._replace(hops=self._hops_now(item))
        packed = self._admission.inherit(item, seen.capture)
        if packed is None:
            return False
        failpoint("page_settled")
        self._close(item, VISITED)
        books.crawl_visited += 1
        self._add_visit(visits.unchanged_row(item, seen, self._run_id, books.next_visit, books.crawl_id))
        self._add_page(item, content, document)
        if packed:
            books.group.outlinks.append((self._run_id, item.id, packed))
        if item.depth == 0 and not books.scope_fixed:
            self._scopes.base_settled(item.base)
        return True

    def defer(self, item: Item, due_at: int) -> None:
        """Put a place that holds up the order at the end of its depth; it has no turn before `due_at`."""
        rank = self._books.next_rank
        self._books.next_rank += 1
        self._books.group.changes.append(("defer_url", DeferRow(rank, due_at, self._run_id, item.id)))
        self._frontier.defer(item._replace(rank=rank), due_at)

    def end(self, ending: Ending) -> bool:
        """Make everything durable and end the crawl, in one transaction. False where it goes on: URLs that waited
        for others of their family have their turn instead."""
        self._books.finish_begun()
        if self._books.write(lambda: self._ends(ending)) is not None:
            return True
        self._review.reread()
        return False

    def _ends(self, ending: Ending) -> Ending | None:
        """The ending, unless something is left to visit. Runs inside a transaction, with everything written."""
        if run_after(ending.ended_by) is RunState.COMPLETED:
            if self._review.readmit_waiting():
                return None
            self._mark_unlinked()
        return ending

    def _mark_unlinked(self) -> None:
        """A recrawl has read everything: what it knew and cannot reach is gone."""
        if self._run.recalls is not None:
            self._books.db.many("carry_url", vanished.marks(self._books.db, self._run))

    def _hops_now(self, item: Item) -> int:
        """A shorter path may have been found since the item was leased."""
        known = self._frontier.known(item.key)
        return known.hops if known else item.hops

    def _close(self, item: Item, tally: Tally, *, reason: str | None = None, rule: str | None = None) -> None:
        self._frontier.settled(item)
        self._books.group.settled.append(SettleRow(tally[0], reason, rule, self._run_id, item.id))
        self._books.count(QUEUED, tally)
        self._books.queued_by_base[item.base] -= 1

    def _refuse(self, item: Item, refused: Refused) -> None:
        reason = refused.reason.value
        self._frontier.settled(item)
        self._frontier.remember(item.key, Known(item.id, item.depth, item.hops, reason))
        self._admission.refused(item.key)
        self._books.group.changes.append(("refuse_url", RefuseRow(reason, refused.rule, self._run_id, item.id)))
        self._books.count(QUEUED, skipped(reason))
        self._books.queued_by_base[item.base] -= 1

    def _fail(self, item: Item, outcome: Outcome, kind: FailKind, error: str) -> None:
        self._close(item, FAILED)
        self._books.crawl_failed += 1
        self._record(item, outcome, kind=kind, error=error)

    def _visit(
        self, item: Item, outcome: Outcome, *, role: Role = Role.NONE, redirect_to: int | None = None
    ) -> None:
        self._close(item, VISITED)
        self._books.crawl_visited += 1
        self._record(item, outcome, role=role, redirect_to=redirect_to)

    def _record(
        self,
        item: Item,
        outcome: Outcome,
        *,
        kind: FailKind | None = None,
        error: str | None = None,
        role: Role = Role.NONE,
        redirect_to: int | None = None,
    ) -> None:
        row = visits.visit_row(
            item,
            outcome,
            run_id=self._run_id,
            number=self._books.next_visit,
            crawl_id=self._books.crawl_id,
            kind=kind,
            error=error,
            role=role,
            redirect_to=redirect_to,
        )
        self._add_visit(row)

    def _add_visit(self, row: VisitRow) -> None:
        books = self._books
        books.group.visits.append(row)
        books.next_visit += 1
        books.crawl_bytes += row.bytes
        books.reused += row.reuse is not None

    def _redirect(self, item: Item, outcome: Outcome, key: str, url: str) -> None:
        if item.redirects >= MAX_REDIRECTS:
            self._fail(item, outcome, FailKind.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS} redirects")
            return
        known = self._frontier.known(key)
        if known is not None and self._leads_back(known.id, item.id):
            self._fail(item, outcome, FailKind.REDIRECT_LOOP, f"redirects back to {url}")
            return
        base_chain = item.depth == 0 and not self._books.scope_fixed and self._policy.bars_base(key) is None
        if base_chain:
            self._scopes.move(item.base, key)
        source = item.source if item.source is Source.RESOURCE else Source.REDIRECT
        found = FoundUrl(key, url, source, item.depth, item.redirects + 1, item)
        target = self._admission.find(found, known, forced=base_chain)
        self._visit(item, outcome, redirect_to=target)
        self._books.new_redirects[item.id] = target
        flag = bytes([packed_links.FLAGS["redirect", False]])
        self._books.group.outlinks.append((self._run_id, item.id, packed_links.pack([target], flag)))

    def _leads_back(self, target: int | None, start: int) -> bool:
        """Whether following the redirects from the target ends where it began."""
        for _ in range(2 * MAX_REDIRECTS):
            if target is None or target == start:
                break
            target = (
                self._books.new_redirects.get(target)
                or self._books.old_redirects.get(target)
                or self._books.db.value("redirect_of", run_id=self._run_id, url_id=target)
            )
        return target == start

    def _page(self, item: Item, outcome: Outcome, processed: ProcessedPage) -> Iterator[None]:
        said = processed.parsed.directives
        rule = self._policy.noindex_rule(said)
        repeats = False
        if rule is None:
            repeats = self._keep(item, outcome, processed) is Role.ALTERNATE
        else:
            self._leave_out(item, rule)
        if self._may_be_trap(item):
            elsewhere = self._leads_elsewhere(item, processed.parsed.links)
            sketch = processed.document.sketch if processed.document else b""
            self._traps.settled(item.key, kin=item.kin, repeats=repeats, elsewhere=elsewhere, summary=sketch)
        return self._admission.follow(
            item, processed.parsed.links, () if rule else processed.parsed.resources, said
        )

    def _may_be_trap(self, item: Item) -> bool:
        """Whether the page tells something of a family of URLs."""
        return self._policy.rules.park_traps and (item.kin or family(item.key) is not None)

    def _leads_elsewhere(self, item: Item, links: Sequence[Link]) -> bool:
        """Whether a page leads to a new URL that may be visited and is not of the page's own family."""
        for link in links:
            if self._frontier.known(link.key) is None and not self._traps.is_kin(link.key, item.key):
                candidate = Candidate(link.key, item.depth + 1, item.hops, item.base, Source.SPIDER)
                if self._policy.judge(candidate).reason is None:
                    return True
        return False

    def _resource(self, item: Item, outcome: Outcome, processed: ProcessedPage) -> Iterator[None]:
        """Something a page loads. Its body is kept if they are; a style sheet may load more."""
        if self._keeps_resources:
            self._keep_body(processed)
        else:
            outcome = outcome._replace(processed=None)
        self._visit(item, outcome)
        return self._admission.follow(item, (), processed.parsed.resources, processed.parsed.directives)

    def _leave_out(self, item: Item, rule: str) -> None:
        """The page was fetched and asks not to be kept. That is final: no better path can change it."""
        reason = SkipReason.NOINDEX.value
        self._close(item, skipped(reason), reason=reason, rule=rule)
        self._frontier.remember(item.key, Known(item.id, item.depth, item.hops, reason))

    def _keep(self, item: Item, outcome: Outcome, processed: ProcessedPage) -> Role:
        is_new = processed.content_sha256 not in self._books.pages_seen
        self._keep_body(processed)
        role = Role.PRIMARY if is_new else Role.ALTERNATE
        self._visit(item, outcome, role=role)
        if is_new and processed.document is not None:
            if processed.document.frame:
                self._books.group.documents.append(processed.document)
            self._add_page(item, processed.content_sha256, processed.document.sha256)
        else:
            self._books.alternates += 1
        return role

    def _add_page(self, item: Item, content_sha256: bytes, document: bytes) -> None:
        books = self._books
        books.pages_seen.add(content_sha256)
        books.group.pages.append((self._run_id, content_sha256, item.id, item.base, document))
        books.pages += 1
        books.crawl_pages += 1
        self._scopes.add_page(item.base)

    def _keep_body(self, processed: ProcessedPage) -> None:
        blob = processed.blob
        if not blob.sha256 or blob.sha256 in self._books.bodies_seen:
            return
        self._books.bodies_seen.add(blob.sha256)
        at = self._bodies.put(blob)
        self._books.group.bodies.append((blob.sha256, *at))
        if at.segment is not None and at.offset is not None:
            self._books.group.segments[at.segment] = at.offset + at.length

"""What a visit means: outcomes, in the order of places, become rows.

Owns the run's counters (ids, ranks, visits), its pages and limits, and the group of changes that is not
yet written. Always holds: `settle` is called in the order of places, so everything it decides is a
function of the site's answers; after `flush` all of it is durable. What takes long, a page with very many links or
a group with very many URLs, is only begun, and done in portions by `go_on`; a group that is written never holds a
part of a page. Never waits and never fetches.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from orbweb import rejudge, traps, urls
from orbweb.failpoints import failpoint
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.lifecycle import ItemState, RunState, run_after
from orbweb.model import (
    Carried,
    Digest,
    Directives,
    Failed,
    FailKind,
    Item,
    Known,
    Link,
    Outcome,
    PackedDocument,
    Refused,
    Role,
    SkipReason,
    Source,
    Verdict,
)
from orbweb.outset import Outset, Scope
from orbweb.policy import Candidate, Policy
from orbweb.rejudge import Judge, Sweep
from orbweb.spool import Line
from orbweb.store import (
    FAILED,
    PORTION,
    QUEUED,
    VISITED,
    BaseRow,
    CarryRow,
    DateRow,
    DeferRow,
    Ending,
    Group,
    ListRow,
    Progress,
    ReadmitRow,
    RefuseRow,
    SettleRow,
    ShortenRow,
    Tally,
    UrlRow,
    advance,
    commit,
    commit_in_portions,
    gone,
    outlinks,
    skipped,
    visits,
)
from orbweb.store.blobs import BodyStore
from orbweb.store.captures import EarlierLinks
from orbweb.store.db import Database
from orbweb.store.hashes import REMEMBERED, SeenHashes
from orbweb.store.runs import Base, Crawl, Run
from orbweb.traps import Traps, family
from orbweb.urls import Target, UrlRules

MAX_REDIRECTS = 10
WRITTEN_AT_ONCE = 4_000
"""Rows of a group that are not worth a pause."""
LARGE = 20_000
"""URLs of a group that is written before anything else is settled."""

# What a link is refused for, and a sitemap that lists it or a page that loads it is not.
NOT_FOR = {
    Source.SITEMAP: (SkipReason.SITEMAP_ONLY, SkipReason.TRAP),
    Source.RESOURCE: (SkipReason.SITEMAP_ONLY, SkipReason.OUT_OF_SCOPE, SkipReason.MAX_DEPTH),
}


LEFT_RULE = "scrape: what pages link to is for discovery to find"


class _Found(NamedTuple):
    """A target and how it was reached; `nofollow` is the rule by which this link is not to be followed."""

    key: str
    url: str
    source: Source
    depth: int
    redirects: int
    parent: Item
    lastmod: str | None = None
    nofollow: str | None = None
    fed: bool = False


class Ledger:
    """The books of one run while one crawl works on it."""

    def __init__(
        self,
        db: Database,
        run: Run,
        crawl: Crawl,
        *,
        bases: Sequence[Base],
        policy: Policy,
        frontier: SqliteFrontier,
        bodies: BodyStore,
        keeps_resources: bool,
        lane_of: Callable[[str], str],
        drop_query: bool,
        by_site: bool,
        url_rules: UrlRules,
        is_fed: bool,
        clock: Callable[[], int],
    ) -> None:
        self._db = db
        self._run = run
        self._run_id = run.id
        self._crawl_id = crawl.id
        self._policy = policy
        self._frontier = frontier
        self._bodies = bodies
        self._keeps_resources = keeps_resources
        self._lane_of = lane_of
        self._url_rules = url_rules
        self._is_fed = is_fed
        self._fed = self._fed_written = 0
        self.groups = 0
        self._drop_query = drop_query
        self._clock = clock
        self._next_url = run.next_url
        self._next_rank = run.next_rank
        self._next_visit = run.next_visit
        self._bases = {base.number: base for base in bases}
        self.scope_fixed = run.scope_fixed
        self.surveyed = run.surveyed
        self._outset = Outset(
            [Scope(base.number, base.scope_key) for base in bases],
            {} if run.scope_fixed else dict(db.all("open_base_places", run_id=run.id)),
            by_site=by_site,
        )
        self._count_rows()
        roles: dict[str, int] = dict(db.all("count_roles", run_id=run.id))
        self.pages = roles.get(Role.PRIMARY, 0)
        self.alternates = roles.get(Role.ALTERNATE, 0)
        self.reused = sum(count for reuse, count, _ in db.all("count_reuses", run_id=run.id) if reuse)
        self.crawl_visited = crawl.visited
        self.crawl_failed = crawl.failed
        self._crawl_pages = crawl.pages
        self._crawl_bytes = crawl.bytes
        self._pages_seen = SeenHashes(
            [sha for (sha,) in db.each("page_hashes", run_id=run.id, most=REMEMBERED + 1)],
            lambda sha: db.one("page_exists", run_id=run.id, content_sha256=sha) is not None,
        )
        self._bodies_seen = SeenHashes(
            [sha for (sha,) in db.each("body_hashes", most=REMEMBERED + 1)],
            lambda sha: db.one("body_exists", sha256=sha) is not None,
        )
        self._traps = Traps(
            run.id, db.all("families_of", run_id=run.id), lambda key: frontier.known(key) is not None
        )
        self._heirs: dict[int, array[int]] = {}
        self._settling: dict[str, Iterator[None]] = {}
        self._freed: set[str] = set()
        self._writing = 0
        self._old_redirects: dict[int, int] = {}
        self._begin_group()
        for base in bases:
            if self._check_limit(base.number):
                self._outset.drop(base.number)
        if not self.scope_fixed and self._outset.is_settled:
            self._fix_scope()

    def _count_rows(self) -> None:
        tallies = self._db.all("tallies_of", run_id=self._run_id)
        self.counts: Counter[Tally] = Counter({(state, reason): count for state, reason, count in tallies})
        self._queued_by_base: Counter[int] = Counter(dict(self._db.all("queued_by_base", run_id=self._run_id)))

    def _read_books(self) -> None:
        """Rows were changed in the database: know them as they are there."""
        self._count_rows()
        self._heirs.clear()
        self._frontier.reload()

    def _begin_group(self) -> None:
        self._group = Group()
        self._fed_writing = self._fed
        self._new_redirects: dict[int, int] = {}

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
        return len(self._group.settled) + self._writing

    @property
    def is_large(self) -> bool:
        """Whether the group takes so much memory that it should be written first."""
        return len(self._group.urls) >= LARGE

    @property
    def is_busy(self) -> bool:
        """Whether there is something for `go_on` to do."""
        return bool(self._settling) or self._db.is_writing

    @property
    def is_settling(self) -> bool:
        """Whether a page is only begun."""
        return bool(self._settling)

    def settles(self, lane: str) -> bool:
        """Whether the place of the lane that was settled last is only begun."""
        return lane in self._settling

    @property
    def every_limit_reached(self) -> bool:
        return self._policy.all_full

    def page_room(self, base: int) -> int | None:
        """Unique pages the base URL may still give; None without a limit."""
        limit = self._policy.rules.page_limit
        return None if limit is None else limit - self._bases[base].pages

    def has_page(self, content_sha256: bytes) -> bool:
        """Whether another URL of the run is the page with this content."""
        return content_sha256 in self._pages_seen

    def settle(self, item: Item, outcome: Outcome) -> None:
        """Commit the outcome of the place whose turn it is. A page with very many links is only begun."""
        self._advance(item.lane, self._settle(item, outcome))

    def go_on(self) -> None:
        """Do a portion of what is begun."""
        self._db.go_on()
        lane = next(iter(self._settling), None)
        if lane is not None:
            self._advance(lane, self._settling.pop(lane))
            if lane not in self._settling:
                self._freed.add(lane)

    def freed(self) -> set[str]:
        """The lanes whose page is done with since the last call, and which can settle their next."""
        freed, self._freed = self._freed, set()
        return freed

    def _advance(self, lane: str, steps: Iterator[None]) -> None:
        if next(steps, self) is None:
            self._settling[lane] = steps

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
        elif outcome.digest is not None and outcome.is_page:
            yield from self._page(item, outcome, outcome.digest)
        elif outcome.digest is not None:
            yield from self._resource(item, outcome, outcome.digest)
        else:
            self._visit(item, outcome)
        if item.depth == 0 and not self.scope_fixed:
            self._close_base(item.base)

    def defer(self, item: Item, due_at: int) -> None:
        """Put a place that holds up the order at the end of its depth; it has no turn before `due_at`."""
        rank = self._next_rank
        self._next_rank += 1
        self._group.changes.append(("defer_url", DeferRow(rank, due_at, self._run_id, item.id)))
        self._frontier.defer(item._replace(rank=rank), due_at)

    def flush(self, ending: Ending | None = None) -> None:
        """Make everything settled so far durable; with an ending, this is the crawl's last group."""
        while self.is_busy:
            self.go_on()
        if self._is_empty() and ending is None:
            return
        if ending is not None and run_after(ending.ended_by) is RunState.COMPLETED:
            self._mark_unlinked()
        self._write(ending)

    def _mark_unlinked(self) -> None:
        """A recrawl has read everything: what it knew and cannot reach is gone."""
        if self._run.recalls is not None:
            self._write(None)
            self._group.changes.extend(("carry_url", row) for row in gone.marks(self._db, self._run))

    def _write(self, ending: Ending | None) -> None:
        self._bodies.sync()
        self._group.families.extend(self._traps.take_changes())
        commit(self._db, self._run_id, self._crawl_id, self._group, self._progress(), ending, self._clock())
        self._begin_group()
        self._written()

    def begin_flush(self) -> bool:
        """Begin to make everything settled so far durable; False where something has to end first."""
        if self.is_busy:
            return False
        group = self._group
        if len(group.urls) + len(group.changes) <= WRITTEN_AT_ONCE:
            self.flush()
            return True
        self._bodies.sync()
        group.families.extend(self._traps.take_changes())
        progress, self._writing, self._old_redirects = self._progress(), len(group.settled), self._new_redirects
        self._begin_group()
        commit_in_portions(self._db, self._run_id, self._crawl_id, group, progress, self._clock(), self._written)
        return True

    def _is_empty(self) -> bool:
        return not self._group.settled and not self._group.changes and not self._group.urls

    def _written(self) -> None:
        """What was being written is durable; unless more came in meanwhile, memory may rely on the database."""
        self._writing = 0
        self._old_redirects = {}
        self._fed_written = self._fed_writing
        self.groups += 1
        if self._is_empty():
            self._pages_seen.written()
            self._bodies_seen.written()
            self._frontier.refill()

    def _progress(self) -> Progress:
        return Progress(
            self._next_url,
            self._next_rank,
            self._next_visit,
            self.scope_fixed,
            self.surveyed,
            self.crawl_visited,
            self.crawl_failed,
            self._crawl_pages,
            self._crawl_bytes,
        )

    def is_ripe(self, item: Item) -> bool:
        """Whether the place may be asked for: a base URL, or what lies in the scope however others still move."""
        if not item.depth or self.surveyed or self.is_fed_now:
            return True
        if item.hops or not self._outset.is_free(item.key):
            return False
        return not self._policy.judge(Candidate(item.key, item.depth, 0, item.base, item.source)).hops

    def unsurveyed(self) -> list[tuple[Scope, ...]]:
        """The scopes whose sitemaps may be read from now on, each named once."""
        return [] if self.surveyed else self._outset.due()

    def chart(self, base: int, entries: Iterable[tuple[Target, str | None]]) -> None:
        """Find what a sitemap lists, in its order, as if the base URL linked to it."""
        owner = self._bases[base]
        parent = Item(base + 1, owner.scope_key, owner.url, Source.INITIAL, 0, 0, "", 0, 0, base)
        for (key, url), lastmod in entries:
            found = _Found(key, url, Source.SITEMAP, 1, 0, parent, lastmod)
            known = self._frontier.known(key)
            number = self._find(found, known)
            if known is not None and self._run.recalls is not None:
                self._group.changes.append(("carry_url", CarryRow(Carried.LISTED.value, self._run_id, number)))
            if known is not None:
                self._group.changes.append(("list_url", ListRow(self._run_id, number)))
            if known is not None and lastmod is not None:
                self._group.changes.append(("date_url", DateRow(lastmod, self._run_id, number)))

    def end_survey(self, scopes: Iterable[Scope]) -> None:
        """Their sitemaps are read, or none are to be; after the last of them all links are followed.

        What is due is asked of the database, so what the sitemaps date has to be there.
        """
        if self._run.due_only:
            self.flush()
        self._outset.read(scopes)
        self.surveyed = self._outset.is_over and not self._is_fed

    # The feed of a scraper.

    @property
    def is_fed_now(self) -> bool:
        """Whether lines of the spool may be taken: base URLs are settled, and there may be more lines."""
        return self._is_fed and not self.surveyed and self._outset.is_over

    @property
    def fed_durable(self) -> int:
        """Lines whose URLs a crash would not lose."""
        return self._fed if self._is_empty() and not self._db.is_writing else self._fed_written

    @property
    def is_fed_durable(self) -> bool:
        return self.fed_durable == self._fed

    def feed(self, lines: Iterable[Line]) -> None:
        """Admit what discovery found, in its order, with its depth, as if the page it was found on led there."""
        for line in lines:
            self._fed += 1
            target = urls.target(line.url, rules=self._url_rules)
            if target is not None:
                source = Source.SPIDER if line.depth else Source.INITIAL
                parent = self._referrer(line)
                found = _Found(target.key, target.url, source, line.depth, 0, parent, fed=True)
                self._find(found, self._frontier.known(target.key))

    def _referrer(self, line: Line) -> Item:
        """The page that led there, if this run knows it where it should be; else nobody."""
        page = urls.target(line.referrer, rules=self._url_rules) if line.referrer else None
        known = self._frontier.known(page.key) if page else None
        if page is None or known is None or known.depth != line.depth - 1:
            return Item(0, self._bases[0].scope_key, "", Source.INITIAL, 0, 0, "", 0, 0, 0)
        owner = self._policy.owner(page.key) or 0
        return Item(known.id, page.key, page.url, Source.SPIDER, known.depth, 0, "", known.hops, 0, owner)

    def end_feed(self) -> None:
        """No line will come any more."""
        self.surveyed = True

    def _hops_now(self, item: Item) -> int:
        """A shorter path may have been found since the item was leased."""
        known = self._frontier.known(item.key)
        return known.hops if known else item.hops

    def _count(self, old: Tally | None, new: Tally, number: int = 1) -> None:
        for tallies in (self._group.tallies, self.counts):
            if old is not None:
                tallies[old] -= number
            tallies[new] += number

    def _close(self, item: Item, tally: Tally, *, reason: str | None = None, rule: str | None = None) -> None:
        self._frontier.settled(item)
        self._group.settled.append(SettleRow(tally[0], reason, rule, self._run_id, item.id))
        self._count(QUEUED, tally)
        self._queued_by_base[item.base] -= 1

    def _refuse(self, item: Item, refused: Refused) -> None:
        reason = refused.reason.value
        self._heirs.clear()
        self._frontier.settled(item)
        self._frontier.remember(item.key, Known(item.id, item.depth, item.hops, reason))
        self._group.changes.append(("refuse_url", RefuseRow(reason, refused.rule, self._run_id, item.id)))
        self._count(QUEUED, skipped(reason))
        self._queued_by_base[item.base] -= 1

    def _fail(self, item: Item, outcome: Outcome, kind: FailKind, error: str) -> None:
        self._close(item, FAILED)
        self.crawl_failed += 1
        self._record(item, outcome, kind=kind, error=error)

    def _visit(
        self, item: Item, outcome: Outcome, *, role: Role = Role.NONE, redirect_to: int | None = None
    ) -> None:
        self._close(item, VISITED)
        self.crawl_visited += 1
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
            number=self._next_visit,
            crawl_id=self._crawl_id,
            kind=kind,
            error=error,
            role=role,
            redirect_to=redirect_to,
        )
        self._group.visits.append(row)
        self._next_visit += 1
        self._crawl_bytes += row.bytes
        self.reused += row.reuse is not None

    def _redirect(self, item: Item, outcome: Outcome, key: str, url: str) -> None:
        if item.redirects >= MAX_REDIRECTS:
            self._fail(item, outcome, FailKind.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS} redirects")
            return
        known = self._frontier.known(key)
        if known is not None and self._leads_back(known.id, item.id):
            self._fail(item, outcome, FailKind.REDIRECT_LOOP, f"redirects back to {url}")
            return
        base_chain = item.depth == 0 and not self.scope_fixed and self._policy.bars_base(key) is None
        if base_chain:
            self._move_scope(item.base, key)
        source = item.source if item.source is Source.RESOURCE else Source.REDIRECT
        found = _Found(key, url, source, item.depth, item.redirects + 1, item)
        target = self._find(found, known, forced=base_chain)
        self._visit(item, outcome, redirect_to=target)
        self._new_redirects[item.id] = target
        flag = bytes([outlinks.FLAGS["redirect", False]])
        self._group.outlinks.append((self._run_id, item.id, outlinks.pack([target], flag)))

    def _leads_back(self, target: int | None, start: int) -> bool:
        """Whether following the redirects from the target ends where it began."""
        for _ in range(2 * MAX_REDIRECTS):
            if target is None or target == start:
                break
            target = (
                self._new_redirects.get(target)
                or self._old_redirects.get(target)
                or self._db.value("redirect_of", run_id=self._run_id, url_id=target)
            )
        return target == start

    def _page(self, item: Item, outcome: Outcome, digest: Digest) -> Iterator[None]:
        said = digest.parsed.directives
        rule = self._policy.noindex_rule(said)
        repeats = False
        if rule is None:
            repeats = self._keep(item, outcome, digest) is Role.ALTERNATE
        else:
            self._leave_out(item, rule)
        if self._policy.rules.park_traps and (item.kin or family(item.key) is not None):
            elsewhere = self._leads_elsewhere(item, digest.parsed.links)
            sketch = digest.document.sketch if digest.document else b""
            self._traps.settled(item.key, kin=item.kin, repeats=repeats, elsewhere=elsewhere, summary=sketch)
        return self._follow(item, digest.parsed.links, () if rule else digest.parsed.resources, said)

    def _leads_elsewhere(self, item: Item, links: Sequence[Link]) -> bool:
        """Whether a page leads to a new URL that may be visited and is not of the page's own family."""
        for link in links:
            if self._frontier.known(link.key) is None and not self._traps.is_kin(link.key, item.key):
                candidate = Candidate(link.key, item.depth + 1, item.hops, item.base, Source.SPIDER)
                if self._policy.judge(candidate).reason is None:
                    return True
        return False

    def readmit_waiting(self) -> bool:
        """Nothing is queued: what waited for others of its family has its turn. Whether there is anything."""
        if not self._traps.are_waiting:
            return False
        ranks = self._next_rank
        self.flush()
        with self._db.transaction():
            if rejudge.release_waiting(self._db, self._run_id, self._traps):
                self._judge_again()
            self._db.many("save_family", self._traps.take_changes())
        if self._next_rank > ranks:
            self._read_books()
        return self.queued > 0

    def _resource(self, item: Item, outcome: Outcome, digest: Digest) -> Iterator[None]:
        """Something a page loads. Its body is kept if they are; a style sheet may load more."""
        if self._keeps_resources:
            self._keep_body(digest)
        else:
            outcome = outcome._replace(digest=None)
        self._visit(item, outcome)
        return self._follow(item, (), digest.parsed.resources, digest.parsed.directives)

    def _leave_out(self, item: Item, rule: str) -> None:
        """The page was fetched and asks not to be kept. That is final: no better path can change it."""
        reason = SkipReason.NOINDEX.value
        self._close(item, skipped(reason), reason=reason, rule=rule)
        self._frontier.remember(item.key, Known(item.id, item.depth, item.hops, reason))

    def _keep(self, item: Item, outcome: Outcome, digest: Digest) -> Role:
        is_new = digest.content_sha256 not in self._pages_seen
        self._keep_body(digest)
        role = Role.PRIMARY if is_new else Role.ALTERNATE
        self._visit(item, outcome, role=role)
        if is_new and digest.document is not None:
            self._add_page(item, digest.content_sha256, digest.document)
        else:
            self.alternates += 1
        return role

    def _add_page(self, item: Item, content_sha256: bytes, document: PackedDocument) -> None:
        self._pages_seen.add(content_sha256)
        if document.frame:
            self._group.documents.append(document)
        self._group.pages.append((self._run_id, content_sha256, item.id, item.base, document.sha256))
        self.pages += 1
        self._crawl_pages += 1
        base = self._bases[item.base]
        self._save_base(Base(base.number, base.url, base.scope_key, base.pages + 1))
        self._check_limit(item.base)

    def _save_base(self, base: Base) -> None:
        self._bases[base.number] = base
        self._group.bases[base.number] = BaseRow(base.scope_key, base.pages, self._run_id, base.number)

    def _check_limit(self, base: int) -> bool:
        """Skip what the base URL has queued if its page limit is reached; whether it is."""
        room = self.page_room(base)
        if room is None or room > 0:
            return False
        rule = self._policy.page_limit_rule()
        self._policy.fill(base)
        self._frontier.drop(base)
        self._group.limited[base] = rule
        self._count(QUEUED, skipped(SkipReason.PAGE_LIMIT.value), self._queued_by_base[base])
        self._queued_by_base[base] = 0
        return True

    def _keep_body(self, digest: Digest) -> None:
        blob = digest.blob
        if not blob.sha256 or blob.sha256 in self._bodies_seen:
            return
        self._bodies_seen.add(blob.sha256)
        at = self._bodies.put(blob)
        self._group.bodies.append((blob.sha256, *at))
        if at.segment is not None and at.offset is not None:
            self._group.segments[at.segment] = at.offset + at.length

    def _follow(
        self, item: Item, links: Sequence[Link], resources: Sequence[Link], said: Directives
    ) -> Iterator[None]:
        """Find every link of a page, in document order, then what it loads, with a pause after each portion."""
        if not links and not resources:
            return
        page_rule = self._policy.nofollow_rule(said, item.url)
        rel_rule = page_rule or self._policy.rel_nofollow_rule(item.url)
        targets: list[int] = []
        for at, portion in enumerate(_portions(links)):
            if at:
                yield
            targets += self._find_links(item, portion, page_rule, rel_rule)
        for at, portion in enumerate(_portions(resources)):
            if at:
                yield
            targets += self._find_resources(item, portion)
        flags = _flags(links) + _flags(resources)
        self._group.outlinks.append((self._run_id, item.id, outlinks.pack(targets, flags)))

    def _find_links(
        self, item: Item, links: Sequence[Link], page_rule: str | None, rel_rule: str | None
    ) -> list[int]:
        """The ids of what a page links to. The hottest loop there is."""
        if type(links) is EarlierLinks:
            return self._inherit(
                links,
                lambda link: self._find_links(item, (link,), page_rule, rel_rule)[0],
            )
        recall, targets = self._frontier.known, []
        for link in links:
            known = recall(link.key)
            if known is not None and not known.hops and known.reason is None:
                targets.append(known.id)
            else:
                nofollow = rel_rule if link.nofollow else page_rule
                found = _Found(link.key, link.url, Source.SPIDER, item.depth + 1, 0, item, nofollow=nofollow)
                targets.append(self._find(found, known))
        return targets

    def _find_resources(self, item: Item, resources: Sequence[Link]) -> list[int]:
        depth = item.depth + (item.source is not Source.RESOURCE)

        def find(link: Link) -> int:
            found = _Found(link.key, link.url, Source.RESOURCE, depth, 0, item)
            return self._find(found, self._frontier.known(link.key))

        if type(resources) is EarlierLinks:
            return self._inherit(resources, find)
        return [find(link) for link in resources]

    def _inherit(self, links: EarlierLinks, find: Callable[[Link], int]) -> list[int]:
        """The ids of what an earlier run had found. A target that is followed anyway is looked up once."""
        heirs, last = self._heirs.setdefault(links.run_id, array("I")), max(links.targets)
        if last >= len(heirs):
            heirs.extend([0] * (last + 1 - len(heirs)))
        targets = list(map(heirs.__getitem__, links.targets))
        if not all(targets):
            for at in [at for at, target in enumerate(targets) if not target]:
                link = links[at]
                targets[at] = find(link)
                known = self._frontier.known(link.key)
                if known is not None and not known.hops and known.reason is None:
                    heirs[links.targets[at]] = known.id
        return targets

    def _find(self, found: _Found, known: Known | None, *, forced: bool = False) -> int:
        """Admit or refuse a new target; judge a known one again if this path is better. Its id."""
        if self._drop_query:
            found = found._replace(url=found.url.partition("?")[0])
        if known is None:
            return self._add(found, self._judge(found, forced=forced))
        if known.reason is not None:
            if _is_better(found, known, forced=forced):
                self._reconsider(found, known.id, known.reason, self._judge(found, forced=forced))
        elif known.hops > found.parent.hops + 1 and found.nofollow is None:
            hops = found.parent.hops + 1
            self._group.changes.append(("shorten_path", ShortenRow(hops, self._run_id, known.id)))
            self._frontier.remember(found.key, known._replace(hops=hops))
        return known.id

    def _judge(self, found: _Found, *, forced: bool) -> Verdict:
        parent = found.parent
        if forced:
            return Verdict(None, None, parent.base, 0)
        candidate = Candidate(found.key, found.depth, parent.hops, parent.base, found.source)
        verdict = self._policy.judge(candidate)
        if found.nofollow is not None:
            return verdict._replace(reason=SkipReason.NOFOLLOW, rule=found.nofollow)
        if verdict.reason is None and self._is_fed and found.source is Source.SPIDER and not found.fed:
            return verdict._replace(reason=SkipReason.LEFT, rule=LEFT_RULE)
        if verdict.reason is None and self._policy.rules.park_traps and found.source in traps.JUDGED:
            pattern, kin = self._traps.judge(found.key, parent.key)
            if pattern is not None:
                return verdict._replace(reason=SkipReason.TRAP, rule=traps.rule(pattern))
            return verdict._replace(kin=kin)
        return verdict

    def _parked(self, found: _Found, verdict: Verdict) -> str | None:
        """What was learned of the URL's family: the pattern, nothing, or None if nobody looked."""
        if verdict.reason is SkipReason.TRAP and verdict.rule is not None:
            return verdict.rule.removeprefix(traps.rule(""))
        looked = verdict.reason is None and self._policy.rules.park_traps and found.source in traps.JUDGED
        return "" if looked else None

    def _add(self, found: _Found, verdict: Verdict) -> int:
        number, allowed = self._next_url, verdict.reason is None
        self._next_url += 1
        rank = self._admit(found, number, verdict) if allowed else None
        self._group.urls.append(
            UrlRow(
                self._run_id,
                number,
                found.key,
                None if found.url == found.key else found.url,
                ItemState.QUEUED.value if allowed else ItemState.SKIPPED.value,
                verdict.reason.value if verdict.reason else None,
                verdict.rule,
                found.source.value,
                found.depth,
                rank,
                self._lane_of(found.key),
                verdict.hops,
                found.redirects,
                verdict.base,
                found.parent.id or None,
                found.lastmod,
                verdict.kin,
                None,
                found.parent.hops,
                found.parent.base,
                self._parked(found, verdict),
                found.source is Source.SITEMAP,
            )
        )
        reason = verdict.reason.value if verdict.reason else None
        self._frontier.remember(found.key, Known(number, found.depth, verdict.hops, reason))
        self._count(None, _tally(reason))
        return number

    def _admit(self, found: _Found, number: int, verdict: Verdict) -> int:
        """Give the target its place; the rank."""
        rank = self._policy.rank(found.key, self._next_rank, later=found.depth > found.parent.depth)
        self._next_rank += 1
        self._policy.admit(found.key)
        self._queued_by_base[verdict.base] += 1
        if found.depth == 0 and not self.scope_fixed:
            self._outset.admit(verdict.base)
        self._frontier.admit(
            Item(
                number,
                found.key,
                found.url,
                found.source,
                found.depth,
                rank,
                self._lane_of(found.key),
                verdict.hops,
                found.redirects,
                verdict.base,
                verdict.kin,
            )
        )
        self._traps.admitted(found.key, found.parent.key)
        return rank

    def _reconsider(self, found: _Found, number: int, old_reason: str, verdict: Verdict) -> None:
        """A skipped URL was found on a better path. Still refused, it keeps the verdict that is stored.

        But `nofollow` says that nobody asks to look at it, and now someone does: any other verdict is nearer.
        """
        reason = verdict.reason.value if verdict.reason else None
        if reason is not None and old_reason != SkipReason.NOFOLLOW:
            return
        rank = self._admit(found, number, verdict) if reason is None else None
        self._group.changes.append(
            (
                "readmit_url",
                ReadmitRow(
                    None if found.url == found.key else found.url,
                    ItemState.SKIPPED.value if reason else ItemState.QUEUED.value,
                    reason,
                    verdict.rule,
                    found.source.value,
                    found.depth,
                    rank,
                    self._lane_of(found.key),
                    verdict.hops,
                    found.redirects,
                    verdict.base,
                    found.parent.id or None,
                    verdict.kin,
                    found.parent.hops,
                    found.parent.base,
                    self._parked(found, verdict),
                    self._run_id,
                    number,
                ),
            )
        )
        self._count(skipped(old_reason), _tally(reason))
        self._frontier.remember(found.key, Known(number, found.depth, verdict.hops, reason))

    def _move_scope(self, base: int, key: str) -> None:
        self._policy.move_scope(base, key)
        self._outset.move(base, key)
        moved = self._bases[base]
        self._save_base(Base(base, moved.url, key, moved.pages))

    def _close_base(self, base: int) -> None:
        """When the last base URL and what it redirects to are settled, the scope is fixed."""
        self._outset.settle(base)
        if self._outset.is_settled:
            self._fix_scope()

    def _fix_scope(self) -> None:
        """With several base URLs, a page may have been judged before another one's scope moved. In a recrawl, what
        was known has been judged by the scope of the run before."""
        if len(self._bases) == 1 and self._run.recalls is None:
            self.scope_fixed = True
            return
        self.flush()
        with self._db.transaction():
            self.scope_fixed = True
            moved = self._has_moved()
            if moved:
                self._judge_again()
            advance(self._db, self._run_id, self._progress())
        if moved:
            self._read_books()

    def _has_moved(self) -> bool:
        """Whether something was judged by another scope than there is now."""
        queries = ["moved_base"] if len(self._bases) > 1 else []
        if self._run.recalls is not None:
            queries.append("moved_since")
        return any(self._db.value(query, run_id=self._run_id) is not None for query in queries)

    def _judge_again(self) -> None:
        """Judge what was found and not asked for once more. Runs inside a transaction, with everything written.

        What is leased or visited by now is in the scope whoever moved, and keeps its owner.
        """
        judge = Judge(
            self._policy,
            self._traps,
            lambda number: self._db.value("key_of", run_id=self._run_id, id=number),
            obey_robots=True,
        )
        sweep = Sweep(
            self._db,
            self._run_id,
            judge,
            self._lane_of,
            next_rank=self._next_rank,
            is_leased=self._frontier.is_leased,
        )
        sweep.run()
        self._next_rank = sweep.next_rank
        advance(self._db, self._run_id, self._progress())


def _portions(links: Sequence[Link]) -> Sequence[Sequence[Link]]:
    if len(links) <= PORTION:
        return (links,) if links else ()
    return [links[start : start + PORTION] for start in range(0, len(links), PORTION)]


def _flags(links: Sequence[Link]) -> bytes:
    if type(links) is EarlierLinks:
        return links.flags
    return bytes([outlinks.FLAGS[link.kind, link.nofollow] for link in links])


def _is_better(found: _Found, known: Known, *, forced: bool) -> bool:
    """Whether this path to a skipped URL may lead to another verdict than the one it has."""
    if found.nofollow is not None or known.reason == SkipReason.NOINDEX:
        return False
    if known.reason == SkipReason.LEFT:
        return found.fed or found.source is not Source.SPIDER
    if forced or known.reason in (SkipReason.NOFOLLOW, SkipReason.TRAP):
        return True
    if known.reason in NOT_FOR.get(found.source, ()):
        return True
    return found.depth < known.depth or found.parent.hops + 1 < known.hops


def _tally(reason: str | None) -> Tally:
    return skipped(reason) if reason else QUEUED

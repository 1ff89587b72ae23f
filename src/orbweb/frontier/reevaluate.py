"""Judging the URLs of a run again: when the scope moves, and when a person changes the rules.

One pass over all URLs that were never requested, queued or skipped. Each is judged as at its admission, by the
path that is stored with it: source, depth, hops and base URL of the page that led to it. So the verdict is a
function of the stored rows and of the current rules, whatever rules applied in between. Skipped URLs that are
queued again get a new rank, in the order of finding; queued URLs are ordered by the current scores, and with equal
scores in the order in which they were queued. States, tallies, ranks and rules change in one transaction, which
the caller opens.

A new reason that `Policy.judge` returns needs no code here; one that is decided elsewhere is listed in
`Judge.stands`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from orbweb.failpoints import failpoint
from orbweb.lifecycle import ItemState, RunState
from orbweb.model import SkipReason, Source, Verdict
from orbweb.policy import traps
from orbweb.policy.page_types import sequence
from orbweb.policy.rules import Candidate, Policy, Rules, fed
from orbweb.policy.traps import Traps
from orbweb.store import UrlJudging
from orbweb.store import links as packed_links
from orbweb.store.rows import QUEUED, Progress, RejudgeRow, StoredUrl, Tally, skipped
from orbweb.store.runs import Base, Run

PORTION = 5_000
BY_ROBOTS = (SkipReason.ROBOTS, SkipReason.ROBOTS_UNAVAILABLE)

_SOURCES = {source.value: source for source in Source}
_LINKED, _FOLLOWED = 1, 2
_REQUESTED = (ItemState.VISITED, ItemState.FAILED)
_BY_OTHERS = (SkipReason.FINISHED, SkipReason.IMPORTED, SkipReason.LEFT, SkipReason.BEFORE_BOOKMARK)

Lanes = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class JudgingTerms:
    """Everything by which the URLs of a run are judged, including whether robots.txt and sitemaps apply."""

    rules: Rules
    obey_robots: bool = True
    read_sitemaps: bool = True

    def text(self) -> str:
        """As stored with a run: equal for equal terms. A rule that earlier versions did not know is left out where
        it is off, so that their runs are not judged again."""
        terms = asdict(self)
        if not self.rules.prefers_sitemaps:
            del terms["rules"]["prefers_sitemaps"]
        return json.dumps(terms, sort_keys=True)


class Judged(NamedTuple):
    """A verdict, and the result of the trap detection (see `model.Item` and the column `parked`)."""

    verdict: Verdict
    family_member: bool
    parked: str | None


class Judge:
    """Judges a URL. `parent` returns the key of an id; `unfollowed` the rule that forbids every link to a URL, and
    is None if the nofollow rules have not changed."""

    def __init__(
        self,
        policy: Policy,
        families: Traps,
        parent: Callable[[int], str | None],
        *,
        obey_robots: bool = True,
        unfollowed: Callable[[StoredUrl], str | None] | None = None,
    ) -> None:
        self._policy = policy
        self._families = families
        self._parent = parent
        self._obey_robots = obey_robots
        self._unfollowed = unfollowed

    def stands(self, reason: str | None) -> bool:
        """Whether a reason that does not depend on the path still applies: from a response, or from the user."""
        if reason in BY_ROBOTS:
            return self._obey_robots
        if reason == SkipReason.NOINDEX:
            return self._policy.rules.obey_directives
        return reason in _BY_OTHERS

    def recount(self, keys: Iterable[str]) -> None:
        """Set the URLs that have a place, before any is judged again."""
        self._policy.recount(keys)

    def admit(self, found: StoredUrl) -> None:
        """The URL keeps its place, or gets one."""
        self._policy.admit(found.key)

    def rank(self, found: StoredUrl, number: int) -> int:
        """The rank of a URL with this sequence number, as at its admission."""
        return self._policy.rank(found.key, number, later=bool(found.later))

    @property
    def counts(self) -> bool:
        """Whether it matters how many URLs have a place."""
        return self._policy.has_caps

    def judge(self, found: StoredUrl) -> Judged:
        """The verdict as at the admission of the URL."""
        verdict = self._by_path(found)
        nofollow = self._nofollow(found)
        if nofollow is not None:
            verdict = verdict._replace(reason=SkipReason.NOFOLLOW, rule=nofollow)
            return Judged(verdict, bool(found.family_member), found.parked)
        if verdict.reason is not None or found.depth == 0 or found.carried or found.source not in traps.JUDGED:
            return Judged(verdict, bool(found.family_member), found.parked)
        return self._by_family(found, verdict)

    def _by_path(self, found: StoredUrl) -> Verdict:
        if found.depth == 0 and found.reason in (None, *BY_ROBOTS, SkipReason.NOINDEX, SkipReason.PAGE_LIMIT):
            full = self._policy.is_full(found.base)
            reason, rule = (SkipReason.PAGE_LIMIT, self._policy.page_limit_rule()) if full else (None, None)
            return Verdict(reason, rule, found.base, found.hops)
        source = Source.SITEMAP if found.listed and found.source == Source.SPIDER else _SOURCES[found.source]
        return self._policy.judge(Candidate(found.key, found.depth, found.found_hops, found.found_base, source))

    def _nofollow(self, found: StoredUrl) -> str | None:
        if self._unfollowed is not None:
            return self._unfollowed(found)
        return found.rule if found.reason == SkipReason.NOFOLLOW else None

    def _by_family(self, found: StoredUrl, verdict: Verdict) -> Judged:
        """A URL that was found while trap detection was off is checked now."""
        parks, parked, family_member = self._policy.rules.park_traps, found.parked, bool(found.family_member)
        if parked is None and parks:
            pattern, family_member = self._families.judge(
                found.key, self._parent(found.referrer or 0) or found.key
            )
            parked = pattern or ""
        if parked and parks and not self._families.is_released(parked):
            verdict = verdict._replace(reason=SkipReason.TRAP, rule=traps.rule(parked))
        return Judged(verdict, family_member, parked)


class Sweep:
    """One pass over a run, inside a transaction. `moves` counts changes by old and new reason; None is queued."""

    def __init__(
        self,
        store: UrlJudging,
        judge: Judge,
        lane_of: Lanes,
        *,
        next_rank: int,
        is_leased: Callable[[int], bool],
        now: int,
    ) -> None:
        self._store = store
        self._run_id = store.run_id
        self._judge = judge
        self._lane_of = lane_of
        self._is_leased = is_leased
        self._now = now
        self.next_rank = next_rank
        self.moves: Counter[tuple[str | None, str | None]] = Counter()
        self.base_came_back = False

    def run(self) -> None:
        """Judge all URLs; can be repeated."""
        before = self.moves.copy()
        after = 0
        if self._judge.counts:
            self._judge.recount(self._keeping())
        while rows := self._store.urls_to_judge(after, PORTION):
            changes = [self._change(found) for found in rows]
            self._store.rejudge([row for row in changes if row is not None], self._now)
            after = rows[-1].id
        tallies: Counter[Tally] = Counter()
        for (old, new), number in (self.moves - before).items():
            tallies[_tally(old)] -= number
            tallies[_tally(new)] += number
        self._store.add_tallies(tallies)
        if self._judge.counts:
            self._judge.recount(key for _, key, *_ in self._store.admitted_urls())

    def _keeping(self) -> Iterator[str]:
        """URLs that keep their place whatever the rules say; caps count them before all others."""
        for number, key, state, reason in self._store.admitted_urls():
            requested = state in _REQUESTED
            if requested or self._is_leased(number) or self._judge.stands(reason):
                yield key

    def _change(self, found: StoredUrl) -> RejudgeRow | None:
        if self._is_leased(found.id) or self._judge.stands(found.reason):
            return None
        verdict, family_member, parked = self._judge.judge(found)
        reason = verdict.reason.value if verdict.reason else None
        if reason is None:
            self._judge.admit(found)
        rank = found.rank if reason is not None else self._rank(found)
        now = (reason, verdict.rule, verdict.hops, verdict.base, parked, rank)
        if now == (found.reason, found.rule, found.hops, found.base, found.parked, found.rank):
            return None
        if reason != found.reason:
            self.base_came_back |= reason is None and found.depth == 0
            self.moves[found.reason, reason] += 1
        state = ItemState.SKIPPED if reason else ItemState.QUEUED
        return RejudgeRow(
            state.value,
            reason,
            verdict.rule,
            rank,
            self._lane_of(found.key),
            verdict.hops,
            verdict.base,
            family_member,
            parked,
            self._run_id,
            found.id,
        )

    def _rank(self, found: StoredUrl) -> int:
        """By the current score. Among equals, queued URLs keep their order and precede those queued again."""
        if found.reason is None and found.rank is not None:
            return self._judge.rank(found, sequence(found.rank))
        self.next_rank += 1
        return self._judge.rank(found, self.next_rank - 1)


def _tally(reason: str | None) -> Tally:
    return skipped(reason) if reason else QUEUED


@dataclass(frozen=True, slots=True)
class RuleEffects:
    """What new rules did to a run: URLs queued again, by their old reason; URLs skipped, by their new one."""

    came_back: dict[str, int]
    skipped: dict[str, int]
    state: RunState

    def __str__(self) -> str:
        return f"rules changed: {_listed(self.came_back)} queued again, {_listed(self.skipped)} skipped"


def _listed(counts: dict[str, int]) -> str:
    parts = ", ".join(f"{reason} {number}" for reason, number in counts.items())
    return f"{sum(counts.values())} URLs" + (f" ({parts})" if parts else "")


def apply(
    store: UrlJudging,
    run: Run,
    bases: Sequence[Base],
    terms: JudgingTerms,
    *,
    lane_of: Lanes,
    now: int,
    is_fed: bool = False,
) -> RuleEffects | None:
    """Judge a run of which nothing is leased by these terms, unless it already is. Inside a transaction.

    A run that has work again is reopened, one that has none left is completed; the state of a run in progress is
    left to the caller, which ends its crawl.
    """
    if run.rules == terms.text():
        return None
    before: dict[str, Any] = json.loads(run.rules) if run.rules else asdict(terms)
    rules = fed(terms.rules, has_bases=bool(bases)) if is_fed else terms.rules
    policy = Policy(rules, [base.scope_key for base in bases])
    limit = rules.page_limit
    for base in bases:
        if limit is not None and base.pages >= limit:
            policy.fill(base.number)
    reads_more = _reads_more(before, terms, bases, policy)
    if rules.prefers_sitemaps and run.surveyed and not reads_more:
        follow_unlisted(store, policy, [base.number for base in bases])
    families = Traps(run.id, store.families(), store.is_known)
    judge = Judge(
        policy,
        families,
        store.key_of,
        obey_robots=terms.obey_robots,
        unfollowed=_unfollowed(store, run, policy, before["rules"]),
    )
    sweep = Sweep(store, judge, lane_of, next_rank=run.next_rank, is_leased=_nobody, now=now)
    sweep.run()
    if not store.tallies()[QUEUED] and release_waiting(store, families):
        store.save_families(families.take_changes())
        sweep.run()
    reopened = run.scope_fixed and sweep.base_came_back
    surveyed = run.surveyed and not reopened and not reads_more
    store.advance(
        Progress(
            run.next_url, sweep.next_rank, run.next_visit, run.scope_fixed and not reopened, surveyed, 0, 0, 0, 0
        )
    )
    store.save_rules(terms.text())
    failpoint("rules_written")
    return _effects(
        sweep.moves, _move_run(store, run, has_work=bool(store.tallies()[QUEUED]) or not surveyed, now=now)
    )


def follow_unlisted(store: UrlJudging, policy: Policy, bases: Iterable[int]) -> list[int]:
    """Sitemaps are preferred, and those of these base URLs are read: follow links where they list nothing. Returns
    the base URLs whose links are followed now."""
    listed = store.listed_bases()
    found = [base for base in bases if base not in listed]
    for base in found:
        policy.follow_links(base)
    return found


def release_waiting(store: UrlJudging, families: Traps) -> bool:
    """The queue is empty: unpark URLs that waited for others of their family. True if there are any."""
    return sum(map(store.unpark_family, families.take_waiting())) > 0


def _nobody(_number: int) -> bool:
    return False


def _reads_more(before: dict[str, Any], terms: JudgingTerms, bases: Sequence[Base], policy: Policy) -> bool:
    """Whether there may be sitemaps that were not read because of the previous rules."""
    if not terms.read_sitemaps or policy.all_full:
        return False
    limit = before["rules"]["page_limit"]
    was_full = limit is not None and all(base.pages >= limit for base in bases)
    return was_full or not before["read_sitemaps"]


def _move_run(store: UrlJudging, run: Run, *, has_work: bool, now: int) -> RunState:
    """Pause or complete the run, by whether it has work."""
    state = RunState.PAUSED if has_work else RunState.COMPLETED
    if state is run.state:
        return state
    if state is RunState.COMPLETED and run.recalls is not None:
        store.mark_carried(store.unlinked())
    if run.state is not RunState.IN_PROGRESS:
        store.move(run.state, state, now)
    return state


def _effects(moves: Counter[tuple[str | None, str | None]], state: RunState) -> RuleEffects:
    back = {old: number for (old, new), number in sorted(moves.items(), key=str) if old and new is None}
    lost = {new: number for (old, new), number in sorted(moves.items(), key=str) if new and old is None}
    return RuleEffects(back, lost, state)


def _unfollowed(
    store: UrlJudging, run: Run, policy: Policy, before: dict[str, Any]
) -> Callable[[StoredUrl], str | None] | None:
    """Returns the rule that forbids every link to a URL, if any; None if the nofollow rules are unchanged."""
    rules = policy.rules
    now = (rules.obey_directives, rules.follow_nofollow_links)
    if now == (before["obey_directives"], before["follow_nofollow_links"]):
        return None
    ways = _ways(store, run, rules)

    def rule_of(found: StoredUrl) -> str | None:
        if found.source != Source.SPIDER or found.listed or found.carried or ways[found.id] != _LINKED:
            return None
        url, page_says = store.nofollow_page(found.referrer or 0) or (found.key, False)
        by_page = page_says and rules.obey_directives
        return f"nofollow on {url} (robots.obey_directives)" if by_page else policy.rel_nofollow_rule(url)

    return rule_of


def _ways(store: UrlJudging, run: Run, rules: Rules) -> bytearray:
    """For each id, whether pages link to it, and whether one of these links may be followed."""
    ways = bytearray(run.next_url)
    for packed, page_says in store.link_records():
        page_followed = not (page_says and rules.obey_directives)
        for target, flag in zip(*packed_links.edges(packed), strict=True):
            followed = page_followed and (rules.follow_nofollow_links or not flag & packed_links.NOFOLLOW)
            ways[target] |= _FOLLOWED | _LINKED if followed else _LINKED
    return ways

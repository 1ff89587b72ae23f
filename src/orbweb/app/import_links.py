"""The links of imported pages: a URL that no file of the state names is judged, and queued or skipped.

The rules are those of a crawl (see `engine.admission`), except that endless families of URLs are not looked for:
the crawl that continues does that, with the links that it finds itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orbweb.export.state.places import StateReader, StateUrl
from orbweb.lifecycle import ItemState
from orbweb.model import Link, Parsed, SkipReason, Source, Verdict
from orbweb.policy.rules import Candidate, Policy
from orbweb.store import links as packed_links
from orbweb.store import marks
from orbweb.store.rows import UrlRow
from orbweb.urls import Target

_JUMP = packed_links.FLAGS["redirect", False]


class ImportedLinks:
    """Gives every target of a link an id; `add` is called with the row of each new one."""

    def __init__(
        self,
        intake: StateReader,
        policy: Policy,
        lane_of: Callable[[str], str],
        has_mark: Callable[[bytes], bool],
        add: Callable[[UrlRow], None],
    ) -> None:
        self._intake, self._policy = intake, policy
        self._lane_of, self._has_mark, self._add = lane_of, has_mark, add
        self._ids: dict[str, int] = {}
        self.next_url, self.next_rank = intake.next_url, intake.next_rank
        policy.recount(each.key for each in intake.urls() if each.rank is not None)

    def of_page(self, page: StateUrl, parsed: Parsed) -> bytes | None:
        """The packed record of a page's links; None if it has none."""
        if not parsed.links and not parsed.resources:
            return None
        page_rule = self._policy.nofollow_rule(parsed.directives, page.url)
        rel_rule = page_rule or self._policy.rel_nofollow_rule(page.url)
        targets = [
            self._find(page, link, Source.SPIDER, page.depth + 1, rel_rule if link.nofollow else page_rule)
            for link in parsed.links
        ]
        below = page.depth + (page.source != Source.RESOURCE)
        targets += [self._find(page, link, Source.RESOURCE, below, None) for link in parsed.resources]
        return packed_links.pack(targets, _flags(parsed.links) + _flags(parsed.resources))

    def of_redirect(self, page: StateUrl, target: Target) -> bytes:
        """The packed record of a redirect."""
        link = Link(target.key, target.url, "redirect", nofollow=False)
        found = self._find(page, link, Source.REDIRECT, page.depth, None)
        return packed_links.pack([found], bytes([_JUMP]))

    def id_of(self, key: str) -> int | None:
        known = self._intake.find(key)
        return known.id if known is not None else self._ids.get(key)

    def _find(self, page: StateUrl, link: Link, source: Source, depth: int, nofollow: str | None) -> int:
        known = self.id_of(link.key)
        if known is not None:
            return known
        verdict = self._judge(page, link, source, depth, nofollow)
        number = self._ids[link.key] = self.next_url
        self.next_url += 1
        self._add(self._row(page, link, source, depth, number, verdict))
        return number

    def _judge(self, page: StateUrl, link: Link, source: Source, depth: int, nofollow: str | None) -> Verdict:
        verdict = self._policy.judge(Candidate(link.key, depth, page.hops, page.base, source))
        if nofollow is not None:
            return verdict._replace(reason=SkipReason.NOFOLLOW, rule=nofollow)
        if verdict.reason is None and marks.is_marked(link.key, link.url, self._has_mark):
            return verdict._replace(reason=SkipReason.IMPORTED, rule=marks.RULE)
        return verdict

    def _row(
        self, page: StateUrl, link: Link, source: Source, depth: int, number: int, verdict: Verdict
    ) -> UrlRow:
        reason = verdict.reason.value if verdict.reason else None
        return UrlRow(
            run_id=0,
            id=number,
            key=link.key,
            url=None if link.url == link.key else link.url,
            state=ItemState.SKIPPED.value if reason else ItemState.QUEUED.value,
            reason=reason,
            rule=verdict.rule,
            source=source.value,
            depth=depth,
            rank=None if reason else self._admit(link.key, later=depth > page.depth),
            lane=self._lane_of(link.key),
            hops=verdict.hops,
            redirects=page.redirects + 1 if source is Source.REDIRECT else 0,
            base=verdict.base,
            referrer=page.id,
            found_hops=page.hops,
            found_base=page.base,
        )

    def _admit(self, key: str, *, later: bool) -> int:
        rank = self._policy.rank(key, self.next_rank, later=later)
        self.next_rank += 1
        self._policy.admit(key)
        return rank


def _flags(links: Sequence[Link]) -> bytes:
    return bytes(packed_links.FLAGS[link.kind, link.nofollow] for link in links)

"""Reports on the workspace, as plain dictionaries and lists: the objects that `--json` prints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orbweb.lifecycle import CrawlState, EndedBy, ItemState, RunState, shown
from orbweb.model import Place, Reuse, Role, SkipReason
from orbweb.store import Queries, alternates, documents
from orbweb.store.links import unpack
from orbweb.store.queries import base_outcomes
from orbweb.store.rows import QUEUED, exact_moment, moment
from orbweb.store.runs import Crawl, Run, bases_of, crawls_of, named
from orbweb.store.unit_times import UnitTimes

Report = dict[str, Any]

QUEUE_HEAD = 20
CAP_REASONS = (SkipReason.CAP, SkipReason.PAGE_LIMIT)
POLICY_REASONS = (
    *(SkipReason.OUT_OF_SCOPE, SkipReason.EXTERNAL_HOPS, SkipReason.EXCLUDED, SkipReason.NOT_INCLUDED),
    *(SkipReason.MAX_DEPTH, SkipReason.TRAP, SkipReason.NOFOLLOW, SkipReason.SITEMAP_ONLY),
)
"""What the rules of the user refuse, without caps; not robots.txt, nor what a page says of itself."""


def _hex(sha256: bytes | None) -> str | None:
    return sha256.hex() if sha256 else None


def counts(db: Queries, run_id: int) -> Report:
    """The number of URLs of a run by state; `discovered` is the sum of all others."""
    tallies = {(state, reason): count for state, reason, count in db.all("tallies_of", run_id=run_id)}
    roles: dict[str, int] = dict(db.all("count_roles", run_id=run_id))
    reuses = {how: (count, wire) for how, count, wire in db.all("count_reuses", run_id=run_id)}
    not_modified, cached = (reuses.get(how, (0, 0))[0] for how in (Reuse.NOT_MODIFIED, Reuse.CACHED))
    skips = {reason: count for (state, reason), count in tallies.items() if state == ItemState.SKIPPED}
    return {
        "discovered": sum(tallies.values()),
        "visited": tallies.get((ItemState.VISITED, ""), 0),
        "failed": tallies.get((ItemState.FAILED, ""), 0),
        "queued": tallies.get(QUEUED, 0),
        "skipped": skips,
        "pages": roles.get(Role.PRIMARY, 0),
        "alternates": roles.get(Role.ALTERNATE, 0),
        "reused": not_modified + cached,
        "not_modified": not_modified,
        "bytes": db.value("run_bytes", run_id=run_id),
        "transferred": sum(wire for _, wire in reuses.values()),
    }


def state_of(run: Run, *, alive: bool) -> RunState:
    """A run in progress without an owner is paused, as the next start will record it."""
    return RunState.PAUSED if run.state is RunState.IN_PROGRESS and not alive else run.state


def effort(db: Queries, run_id: int, skips: Mapping[str, int]) -> Report:
    """What it took to find the URLs of a run: links, refusals of the policy and of caps, and retries."""
    links, new = db.value("run_links", run_id=run_id), db.value("linked_urls", run_id=run_id)
    return {
        "links_found": links,
        "links_known": max(0, links - new),
        "refused_by_policy": sum(skips.get(reason, 0) for reason in POLICY_REASONS),
        "refused_by_caps": sum(skips.get(reason, 0) for reason in CAP_REASONS),
        "retries": db.value("run_retries", run_id=run_id),
    }


def settled(db: Queries, run_id: int) -> int:
    """The number of URLs of a run that were visited or failed."""
    found = counts(db, run_id)
    return int(found["visited"] + found["failed"])


def tokens(db: Queries, run_id: int) -> Report:
    """The tokens of a run's pages, and the tokenizer: several names if it was changed meanwhile."""
    found: dict[str, int] = dict(db.all("run_tokens", run_id=run_id))
    return {"tokens": sum(found.values()), "tokenizer": ", ".join(found) or None}


def crawl_report(crawl: Crawl, *, alive: bool, failed: bool) -> Report:
    """One crawl. One in progress without an owner was killed, and is reported as crashed, as the next start will
    record it. `failed`: whether a URL failed, or a base URL gave no page."""
    dead = crawl.state is CrawlState.IN_PROGRESS and not alive
    state = CrawlState.FAILED if dead else crawl.state
    ended_by = EndedBy.CRASHED if dead else crawl.ended_by
    return {
        "crawl": crawl.number,
        "state": shown(state, ended_by, failed=failed),
        "ended_by": ended_by.value if ended_by else None,
        "error": crawl.error,
        "budget": crawl.budget,
        "started_at": moment(crawl.started_at),
        "seconds": round((crawl.updated_at - crawl.started_at) / 1_000_000, 3),
        "visited": crawl.visited,
        "failed": crawl.failed,
        "pages": crawl.pages,
        "bytes": crawl.bytes,
    }


def run_report(db: Queries, run: Run, *, alive: bool) -> Report:
    """One run with its crawls and base URLs."""
    crawls, found = crawls_of(db, run.id), counts(db, run.id)
    bases = _bases(db, run.id, found["pages"])
    ended_badly = has_errors(found, bases)
    state = state_of(run, alive=alive)
    return {
        "run": run.number,
        "state": state.value,
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "seconds": round(sum(crawl.updated_at - crawl.started_at for crawl in crawls) / 1_000_000, 3),
        **found,
        **tokens(db, run.id),
        "bases": bases,
        "crawls": [
            crawl_report(crawl, alive=alive, failed=bool(crawl.failed) or (crawl is crawls[-1] and ended_badly))
            for crawl in crawls
        ],
    }


def has_errors(found: Report, bases: Sequence[Report]) -> bool:
    """Whether a run has URLs that failed, or base URLs that gave no page."""
    unknown = SkipReason.ROBOTS_UNAVAILABLE in found["skipped"]
    return bool(found["failed"]) or unknown or any(base["problem"] for base in bases)


def nothing_crawled(found: Report, bases: Sequence[Report]) -> bool:
    """Whether a run captured nothing, because no base URL gave a page."""
    captured = found["pages"] or found["alternates"] or found["bytes"] or found["reused"]
    return not captured and bool(bases) and all(base["problem"] for base in bases)


def _bases(db: Queries, run_id: int, pages: int) -> list[Report]:
    alternates: dict[int, int] = dict(db.all("alternates_by_base", run_id=run_id))
    outcomes = base_outcomes.base_outcomes(db, run_id)
    problems = base_outcomes.problems(outcomes, found=pages)
    return [
        {
            "url": base.url,
            "scope": base.scope_key,
            "pages": base.pages,
            "alternates": alternates.get(base.number, 0),
            "problem": problems.get(base.number),
        }
        for base in bases_of(db, run_id)
    ]


def queue(db: Queries, run: Run, *, alive: bool) -> Report:
    """The queue of a run and its next URLs, with ids that are unique in the workspace. A paused run with unread
    sitemaps can resume with an empty queue."""
    found, crawls = counts(db, run.id), crawls_of(db, run.id)
    state = state_of(run, alive=alive)
    return {
        "project_id": run.project_id,
        "current_run_id": run.id,
        "run_crawl_ids": [crawl.id for crawl in crawls],
        "run": run.number,
        "state": state.value,
        "run_state": state.value,
        "has_queue": found["queued"] > 0,
        "visited": found["visited"],
        "failed": found["failed"],
        "queued": found["queued"],
        "pending": found["queued"],
        "total": found["visited"] + found["queued"],
        "can_resume": not alive and state is RunState.PAUSED,
        "crawls": [crawl.number for crawl in crawls],
        "by_source": dict(db.all("queued_by_source", run_id=run.id)),
        "visited_by_source": dict(db.all("settled_by_source", run_id=run.id)),
        "traps": [
            {"pattern": rule.partition(": ")[2], "parked": count}
            for rule, count in db.all("traps_of", run_id=run.id)
        ],
        "next": _queue_head(db, run.id),
    }


def _queue_head(db: Queries, run_id: int) -> list[Report]:
    times = UnitTimes(db, run_id)
    head = []
    for number, changed_in, url, source, depth, rank, hops in db.all(
        "queue_head", run_id=run_id, count=QUEUE_HEAD
    ):
        found_at, changed_at = times.of(number, None, changed_in)
        head.append(
            {
                "url": url,
                "source": source,
                "place": str(Place(depth, rank)),
                "hops": hops,
                "found_at": exact_moment(found_at),
                "changed_at": exact_moment(changed_at),
            }
        )
    return head


def pages(db: Queries, run_id: int) -> list[Report]:
    """Unique pages in order, each with its alternates."""
    found: dict[bytes, Report] = {}
    others = alternates.of_run(db, run_id)
    for url, status, depth, title, content, body, size, kind, final, at, role, truncated, *read in db.each(
        "page_visits", run_id=run_id
    ):
        if role == Role.ALTERNATE and content in found:
            continue
        found[content] = {
            "url": url,
            **others.get(content, alternates.NONE).report(url),
            "status": status,
            "depth": depth,
            "title": title,
            "content_sha256": _hex(content),
            "body_sha256": _hex(body),
            "bytes": size,
            "content_type": kind,
            "final_url": final or url,
            "captured_at": moment(at),
            "truncated": bool(truncated),
            **_summary(*read),
        }
    return list(found.values())


def short_pages(db: Queries, run_id: int, *, tokens: int, most: int) -> list[tuple[str, bytes, int]]:
    """The first pages with at most so many tokens: URL, body and words."""
    return db.all("short_pages", run_id=run_id, tokens=tokens, count=most)


def _summary(
    language: str, words: int, tokens: int, confidence: float, simhash: int | None, extractor: int
) -> Report:
    """The fields of a document in lists."""
    return {
        "language": language,
        "words": words,
        "tokens": tokens,
        "confidence": confidence,
        "simhash": None if simhash is None else f"{documents.unsigned(simhash):016x}",
        "extractor": extractor,
    }


def dead_ends(db: Queries, run_id: int) -> list[str]:
    """Why base URLs are missing among the pages, or why none of their links could be followed."""
    unfollowed = _unfollowed(db, run_id)
    found = []
    for number, url, reason, rule in db.all("refused_bases", run_id=run_id):
        still = "; its links are followed" if reason == SkipReason.NOINDEX and number not in unfollowed else ""
        found.append(f"{url} is skipped ({reason}): {rule}{still}")
    found += [f"{count} links are not followed: {rule}" for rule, count in unfollowed.values()]
    for url, status, kind, error, content_type, role in db.all("base_visits", run_id=run_id):
        if kind is not None:
            found.append(f"{url} failed: {error}")
        elif base_outcomes.gives_no_page(role, status, content_type):
            found.append(
                f"{url} is {content_type or 'of no declared type'}, not HTML: there are no links to follow"
            )
    return found


def _unfollowed(db: Queries, run_id: int) -> dict[int, tuple[str, int]]:
    """Nofollow base URLs: the rule, and how many links are not followed because of it."""
    if not counts(db, run_id)["skipped"].get(SkipReason.NOFOLLOW):
        return {}
    return {base: (rule, count) for base, rule, count in db.all("unfollowed_of_bases", run_id=run_id)}


def manifest(db: Queries, run_id: int) -> Iterator[str]:
    """One line per visit, in order, without times."""
    return (line for _, line in manifest_after(db, run_id, 0, -1))


def manifest_after(db: Queries, run_id: int, after: int, count: int) -> Iterator[tuple[int, str]]:
    """The lines of a manifest after a visit with the numbers of their visits: at most `count`, -1 for all."""
    for number, depth, rank, url, status, kind, reuse, body, content, role, truncated in db.each(
        "manifest", run_id=run_id, after=after, count=count
    ):
        answer = kind if kind and not kind.startswith("http_") else status
        if reuse == Reuse.CACHED:
            answer = reuse
        mark = "truncated" if truncated else "-"
        hashes = _hex(body) or "-", _hex(content) or "-"
        yield number, "\t".join((str(Place(depth, rank)), url, str(answer), *hashes, role, mark))


def manifest_hash(db: Queries, run_id: int) -> str:
    """One SHA-256 over the lines of the manifest."""
    digest = hashlib.sha256()
    for line in manifest(db, run_id):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def url_report(db: Queries, run_id: int, key: str, *, others: bool = True) -> Report | None:
    """Everything known about one URL. Without `others`, the other URLs of its page are not searched for, which
    takes a pass over the run."""
    row = db.one("url_by_key", run_id=run_id, key=key)
    if row is None:
        return None
    number, url, state, reason, rule, source, depth, rank, hops, referrer = row
    report: Report = {
        "url": url,
        "state": state,
        "reason": reason,
        "rule": rule,
        "source": source,
        "depth": depth,
        "place": str(Place(depth, rank)) if rank is not None else None,
        "hops": hops,
        "referrer": referrer,
    }
    page = alternates.end_of(db, run_id, number)
    report.update(_visit_report(db, run_id, number))
    report.update(_document_report(documents.of_url(db, run_id, page)))
    if "role" in report:
        report.update(_page_urls(db, run_id, page, report["primary"]) if others else alternates.NONE.report(""))
    return report


def _page_urls(db: Queries, run_id: int, url_id: int, primary: str | None) -> Report:
    content = alternates.content_of(db, run_id, url_id)
    found = alternates.NONE if content is None else alternates.of_page(db, run_id, content)
    return found.report(primary or "")


def _document_report(found: documents.StoredDocument | None) -> Report:
    """The document of a page without its text, and the primary URL of the page."""
    if found is None:
        return {"primary": None, "document": None}
    facts = asdict(found.document)
    del facts["markdown"], facts["text"]
    facts["headings"] = [{"level": level, "text": text} for level, text in found.document.headings]
    facts["simhash"] = f"{found.document.simhash:016x}"
    return {
        "primary": found.url,
        "document": {**facts, "extractor": found.extractor, "sha256": found.sha256.hex()},
    }


def _visit_report(db: Queries, run_id: int, url_id: int) -> Report:
    row = db.one("visit_of", run_id=run_id, url_id=url_id)
    if row is None:
        return {}
    names = (
        "status kind error tries final_url content_type encoding etag last_modified title canonical noindex "
        "nofollow links_cut truncated body_sha256 content_sha256 role bytes wire_bytes latency_ms fetched_at "
        "proxy robots_tags reuse reused_from"
    )
    report: Report = dict(zip(names.split(), row, strict=False))
    report.update(
        noindex=bool(report["noindex"]),
        nofollow=bool(report["nofollow"]),
        links_cut=bool(report["links_cut"]),
        truncated=bool(report["truncated"]),
        body_sha256=_hex(report["body_sha256"]),
        content_sha256=_hex(report["content_sha256"]),
        fetched_at=moment(report["fetched_at"]),
        reused_from=named(db, report["reused_from"]),
    )
    target = db.value("redirect_of", run_id=run_id, url_id=url_id)
    report["redirects_to"] = None if target is None else db.value("url_of", run_id=run_id, id=target)
    packed = db.value("outlinks_of", run_id=run_id, url_id=url_id)
    report["links"] = [
        {"url": db.value("key_of", run_id=run_id, id=link.target), "kind": link.kind, "nofollow": link.nofollow}
        for link in (unpack(packed) if packed else ())
    ]
    return report

"""`explain`: the verdict and rule of a URL, the path on which it was found, the pages that link to it.

Reads committed data only, so a report is correct during a crawl and after a resume. Referrers have no table: they
are found by searching the packed link records of the run for the four bytes of the URL's id, which takes a
fraction of a second for 100,000 pages, and cannot become inconsistent. Every report has the same fields.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from orbweb import urls
from orbweb.errors import StoreError
from orbweb.lifecycle import ItemState
from orbweb.model import Place, Role, Source, Verdict
from orbweb.store import Queries
from orbweb.store.links import FLAGS, VERSION, Outlink, pack
from orbweb.store.rows import exact_moment, moment
from orbweb.store.runs import Base, named
from orbweb.store.unit_times import UnitTimes

Report = dict[str, Any]

UNKNOWN = "unknown"
ALLOWED = "allowed"
REFUSED = "skipped"

_FIELDS = (
    "url key state verdict reason rule found_at changed_at source depth hops place before due base status kind "
    "error tries role proxy reuse reused_from primary redirects_to chain referrers"
)
_HEAD = len(pack([], b""))
_EDGES = {flag: edge for edge, flag in FLAGS.items()}


class _Url(NamedTuple):
    """A row of `explained_url`."""

    id: int
    url: str
    state: str
    reason: str | None
    rule: str | None
    source: str
    depth: int
    rank: int | None
    lane: str
    hops: int
    due_at: int | None
    changed_in: int | None
    base_url: str
    scope_key: str
    visit: int | None


def known(db: Queries, run_id: int, key: str, *, search: bool = True) -> Report | None:
    """The report on a URL that the run has seen; None if it has not. `search`: for the pages that link to it."""
    row = db.one("explained_url", run_id=run_id, key=key)
    if row is None:
        return None
    found = _Url(*row)
    refused = found.state == ItemState.SKIPPED
    times = UnitTimes(db, run_id).of(found.id, found.visit, found.changed_in)
    return _report(
        url=found.url,
        key=key,
        state=found.state,
        verdict=REFUSED if refused else ALLOWED,
        reason=found.reason,
        rule=found.rule if refused else _allowing_rule(found),
        found_at=exact_moment(times.found_at),
        changed_at=exact_moment(times.changed_at),
        source=found.source,
        depth=found.depth,
        hops=found.hops,
        base=found.base_url,
        chain=[{"url": url, "how": source} for url, source in db.all("chain_to", run_id=run_id, id=found.id)],
        referrers=referrers(db, run_id, found.id) if search else [],
        **_turn(db, run_id, found),
        **_outcome(db, run_id, found.id),
    )


def unseen(key: str, url: str, verdict: Verdict, base: Base) -> Report:
    """The report on a URL that the run has not seen: the verdict of the policy now."""
    return _report(
        url=url,
        key=key,
        state=UNKNOWN,
        verdict=REFUSED if verdict.reason else ALLOWED,
        reason=verdict.reason.value if verdict.reason else None,
        rule=verdict.rule or _reach(verdict.hops, base.scope_key),
        hops=verdict.hops,
        base=base.url,
        chain=[],
        referrers=[],
    )


def referrers(db: Queries, run_id: int, url_id: int) -> list[Report]:
    """Every visited URL that links or redirects to this one, in the order in which they were found."""
    pattern = _pattern(url_id)
    rows = db.each("outlinks_with", run_id=run_id, pattern=pattern)
    edges = ((url, _edge(packed, url_id, pattern)) for url, packed in rows)
    return [{"url": url, "kind": edge.kind, "nofollow": edge.nofollow} for url, edge in edges if edge is not None]


def _report(**facts: object) -> Report:
    return {name: facts.get(name) for name in _FIELDS.split()}


def _allowing_rule(found: _Url) -> str:
    if found.source == Source.INITIAL:
        return f"base URL: {found.base_url}"
    if found.depth == 0:
        return f"base URL: {found.base_url} redirects here"
    if found.source == Source.RESOURCE and not found.hops:
        return "resources.mode: a page of the scope loads it"
    return _reach(found.hops, found.scope_key)


def _reach(hops: int, scope_key: str) -> str:
    """The setting that allows a URL: the scope that contains it, or external hops."""
    return "scope.external_hops" if hops else f"scope: {urls.scope(scope_key)}"


def _turn(db: Queries, run_id: int, found: _Url) -> Report:
    """The URL's place; while it is queued, also how many URLs are before it, and when it is due."""
    if found.rank is None:
        return {}
    turn: Report = {"place": str(Place(found.depth, found.rank))}
    if found.state == ItemState.QUEUED:
        turn["due"] = moment(found.due_at)
        turn["before"] = db.value(
            "queued_before", run_id=run_id, lane=found.lane, depth=found.depth, rank=found.rank
        )
    return turn


def content_of(db: Queries, run_id: int, url_id: int) -> bytes | None:
    """The hash of what a visited URL contained; None if it gave no page."""
    row = db.one("outcome_of", run_id=run_id, url_id=url_id)
    return row[6] if row is not None else None


def _outcome(db: Queries, run_id: int, url_id: int) -> Report:
    row = db.one("outcome_of", run_id=run_id, url_id=url_id)
    if row is None:
        return {}
    status, kind, error, tries, role, target, content, proxy, reuse, reused_run = row
    outcome: Report = {
        "status": status,
        "kind": kind,
        "error": error,
        "tries": tries,
        "role": role,
        "proxy": proxy,
        "reuse": reuse,
        "reused_from": named(db, reused_run),
    }
    if role == Role.ALTERNATE:
        outcome["primary"] = db.value("primary_of", run_id=run_id, content_sha256=content)
    if target is not None:
        outcome["redirects_to"] = db.value("url_of", run_id=run_id, id=target)
    return outcome


def _pattern(target: int) -> bytes:
    """The id as it is in a packed record."""
    return pack([target], b"")[_HEAD:]


def _edge(packed: bytes, target: int, pattern: bytes) -> Outlink | None:
    """The first edge of a record to the target. A match across two ids, or among the flags, does not count.

    The layout is that of `store.links`; unpacking whole records would take ten times as long.
    """
    if packed[0] != VERSION:
        raise StoreError(f"outlink record of version {packed[0]}, not {VERSION}")
    flags = _HEAD + 4 * ((len(packed) - _HEAD) // 5)
    at = packed.find(pattern, _HEAD, flags)
    while at >= 0:
        number, across = divmod(at - _HEAD, 4)
        if not across:
            return Outlink(target, *_EDGES[packed[flags + number]])
        at = packed.find(pattern, at + 1, flags)
    return None

"""What a report says of a run: records, read from the store in a few passes. Long: each panel has its record.

Lists are cut where a person stops reading; what is left out is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from orbweb.export.report.pictures import Thread, thread_of
from orbweb.export.report.sections import MapSection, sections_of
from orbweb.export.report.texts import host_of
from orbweb.model import SkipReason
from orbweb.store import Queries, runs
from orbweb.store.queries import distributions, failures, linking_pages, overview, reports, sections
from orbweb.store.queries.diff import Comparison
from orbweb.store.queries.distributions import PageScale
from orbweb.store.runs import Project, Run

Report = dict[str, Any]

RUNS = 8
CRAWLS = 4
BASES = 8
STATUSES = 12
TYPES = 10
LANGUAGES = 10
KINDS = 12
HOSTS = 4
FAILURES = 24
SOURCES = 2
RULES = 3
PAGES = 8
CHANGES = 5
EXAMPLES = 3
LINKING = 20_000
"""Pages of the largest section whose links are read."""
UNSURE = 0.5
"""Below this confidence, the main content of a page is worth a look."""
NEAR = 0.9
"""The part of the largest allowed body from which a body is near the limit."""
LIMITS = {
    SkipReason.PAGE_LIMIT: "left out because a page limit was reached",
    SkipReason.CAP: "left out by the cap of their page type",
    SkipReason.MAX_DEPTH: "left out because they are too deep",
    SkipReason.TRAP: "left out because they seem to be endless",
    SkipReason.ROBOTS_UNAVAILABLE: "left out because robots.txt could not be read",
    SkipReason.FINISHED: "left out because the run was finished early",
}
CHANGE_KINDS = ("changed", "added", "removed", "moved", "redirected", "failing")


@dataclass(frozen=True, slots=True)
class ReportSource:
    """A run, and what the store does not know of it. `page_type` is None if the rules name no types. `shells` are
    the pages that seem to need JavaScript: how many, and examples. `settings` are keys, values and where they come
    from; `command` does the same crawl."""

    db: Queries
    project: Project
    run: Run
    alive: bool
    page_type: Callable[[str], str] | None
    shells: tuple[int, tuple[str, ...]]
    settings: tuple[tuple[str, str, str], ...]
    command: str
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A value and how many there are."""

    name: str
    count: int


class ReportedPage(NamedTuple):
    """A page of a ranking; `figure` is bytes, milliseconds or words."""

    url: str
    title: str
    figure: int


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """A URL that failed, and the pages that link to it; `sources` of them are named."""

    url: str
    reason: str
    sources: tuple[str, ...]
    linked_from: int


@dataclass(frozen=True, slots=True)
class HostFailures:
    """The failures of a host of one kind; the first are named."""

    host: str
    count: int
    failures: tuple[ReportedFailure, ...]


@dataclass(frozen=True, slots=True)
class KindFailures:
    """The failures of a kind, by host; `hosts_left` hosts with fewer are left out."""

    kind: str
    count: int
    hosts: tuple[HostFailures, ...]
    hosts_left: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A reason, and the rules that skipped most URLs for it, with the URLs of each."""

    reason: str
    count: int
    rules: tuple[Counted, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """A page that differs from the run before. `note` says why, where from or where to."""

    url: str
    added: int
    removed: int
    note: str


@dataclass(frozen=True, slots=True)
class ChangeKind:
    name: str
    count: int
    changes: tuple[Changed, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """How a run differs from the one before."""

    before: int
    kinds: tuple[ChangeKind, ...]
    noise: int
    unchanged: int
    pending: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that wants a look: how many of what, why, and examples."""

    count: int
    noun: str
    text: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """Everything that a report shows. `numbers` is the run as `status --json` prints it; `history` are the latest
    runs, with `runs` in all;
    `links` lead out of the largest section, by `host/first`."""

    project: str
    numbers: Mapping[str, Any]
    active_at: str
    thread: Thread
    history: tuple[Mapping[str, Any], ...]
    runs: int
    statuses: tuple[Counted, ...]
    types: tuple[Counted, ...]
    page_types: tuple[Counted, ...]
    languages: tuple[Counted, ...]
    lengths: tuple[tuple[int, int], ...]
    depths: tuple[tuple[int, int, int], ...]
    sections: tuple[MapSection, ...]
    links: Mapping[str, int]
    largest: tuple[ReportedPage, ...]
    slowest: tuple[ReportedPage, ...]
    thinnest: tuple[ReportedPage, ...]
    failures: tuple[KindFailures, ...]
    skipped: tuple[Skipped, ...]
    changes: Changes | None
    warnings: tuple[Warned, ...]
    settings: tuple[tuple[str, str, str], ...]
    command: str


class _Place(NamedTuple):
    """Pages and failures of a part of a site."""

    host: str
    path: str
    depth: int
    pages: int
    failed: int


def read(source: ReportSource) -> ReportFacts:
    """The facts of a run."""
    db, run = source.db, source.run
    numbers = reports.run_report(db, run, alive=source.alive)
    every = sorted(runs.runs_of(db, source.project.id), key=lambda each: -each.number)
    older = [each for each in every if each.number <= run.number]
    skipped = sum(numbers["skipped"].values())
    site = sections_of((_Place(*part) for part in sections.parts(db, run.id)), by_host=False)
    history = tuple(overview.history(db, each, alive=source.alive and each is every[0]) for each in older[:RUNS])
    return ReportFacts(
        project=source.project.name,
        numbers=numbers,
        active_at=history[0]["active_at"],
        thread=thread_of(
            numbers["visited"], numbers["failed"], numbers["queued"], skipped, pages=numbers["pages"]
        ),
        history=history,
        runs=len(older),
        statuses=_statuses(db, run.id),
        types=_types(db, run.id),
        page_types=_page_types(source),
        languages=_languages(db, run.id),
        lengths=distributions.by_tokens(db, run.id),
        depths=distributions.by_depth(db, run.id),
        sections=site,
        links=_links(db, run.id, site),
        largest=_ranking(db, PageScale.LARGEST, run.id),
        slowest=_ranking(db, PageScale.SLOWEST, run.id),
        thinnest=_ranking(db, PageScale.THINNEST, run.id),
        failures=_failures(db, run.id),
        skipped=_skipped(db, run.id, numbers["skipped"]),
        changes=_changes(db, run),
        warnings=tuple(_warnings(source, numbers)),
        settings=source.settings,
        command=source.command,
    )


def _links(db: Queries, run_id: int, site: Sequence[MapSection]) -> Mapping[str, int]:
    """Where the pages of the largest section link to."""
    if not site:
        return {}
    key = site[0].key
    return sections.links_below(db, run_id, key if key.endswith("/") else f"{key}/", LINKING)[1]


def _statuses(db: Queries, run_id: int) -> tuple[Counted, ...]:
    rows = distributions.by_status(db, run_id)
    found = {"no response" if status is None else str(status): count for status, count in rows}
    return _most(Counter(found), STATUSES)


def _types(db: Queries, run_id: int) -> tuple[Counted, ...]:
    """Visits by media type, without its parameters."""
    found: Counter[str] = Counter()
    for text, count in distributions.by_content_type(db, run_id, 1000):
        found[text.partition(";")[0].strip().lower()] += count
    return _most(found, TYPES)


def _most(found: Counter[str], most: int) -> tuple[Counted, ...]:
    """The most frequent values, and the others as one."""
    ranked = [Counted(*each) for each in sorted(found.items(), key=lambda each: (-each[1], each[0]))]
    rest = sum(each.count for each in ranked[most:])
    return (*ranked[:most], *[Counted("others", rest)] * bool(rest))


def _page_types(source: ReportSource) -> tuple[Counted, ...]:
    if source.page_type is None:
        return ()
    keys = distributions.page_keys(source.db, source.run.id)
    return _most(Counter(map(source.page_type, keys)), TYPES)


def _languages(db: Queries, run_id: int) -> tuple[Counted, ...]:
    found = Counter({name or "unknown": count for name, count in distributions.by_language(db, run_id)})
    return _most(found, LANGUAGES)


def _ranking(db: Queries, scale: PageScale, run_id: int) -> tuple[ReportedPage, ...]:
    rows = distributions.ranking(db, run_id, scale, PAGES)
    return tuple(ReportedPage(url, title or "", figure) for url, title, figure in rows)


class _Failed(NamedTuple):
    """A URL that failed, before it is known what links to it."""

    id: int
    url: str
    reason: str


def _failures(db: Queries, run_id: int) -> tuple[KindFailures, ...]:
    """By kind and host, the most frequent first. The first of each host are named, as long as there is room."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[tuple[str, str], list[_Failed]] = defaultdict(list)
    for each in failures.failures(db, run_id):
        host = host_of(each.url)
        counts[each.kind][host] += 1
        if len(first[each.kind, host]) < EXAMPLES:
            reason = f"HTTP {each.status}" if each.status else each.reason
            first[each.kind, host].append(_Failed(each.url_id, each.url, reason))
    kinds = sorted(counts.items(), key=lambda each: (-each[1].total(), each[0]))[:KINDS]
    shown = {kind: sorted(hosts.items(), key=lambda each: (-each[1], each[0]))[:HOSTS] for kind, hosts in kinds}
    named = list(
        islice((each for kind, of in shown.items() for host, _ in of for each in first[kind, host]), FAILURES)
    )
    linked = _linked(db, run_id, named)
    return tuple(
        KindFailures(
            kind,
            hosts.total(),
            tuple(
                HostFailures(
                    host, count, tuple(linked[each.id] for each in first[kind, host] if each.id in linked)
                )
                for host, count in shown[kind]
            ),
            len(hosts) - len(shown[kind]),
        )
        for kind, hosts in kinds
    )


def _of(linked: Mapping[int, ReportedFailure], failed: Sequence[_Failed]) -> tuple[ReportedFailure, ...]:
    return tuple(linked[each.id] for each in failed if each.id in linked)


def _linked(db: Queries, run_id: int, named: Sequence[_Failed]) -> dict[int, ReportedFailure]:
    """The failures with the pages that link to them, by one pass over the links of the run."""
    found = linking_pages.referrers(db, run_id, [each.id for each in named], SOURCES)
    return {
        each.id: ReportedFailure(
            each.url,
            each.reason,
            tuple(linking_pages.linking_page(db, run_id, number).url for number in found[each.id].ids),
            found[each.id].total,
        )
        for each in named
    }


def _skipped(db: Queries, run_id: int, counts: Mapping[str, int]) -> tuple[Skipped, ...]:
    rules: dict[str, list[Counted]] = defaultdict(list)
    for reason, rule, count in distributions.skip_rules(db, run_id, RULES):
        rules[reason].append(Counted(rule or "", count))
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tuple(Skipped(reason, count, tuple(rules[reason])) for reason, count in ranked)


def _changes(db: Queries, run: Run) -> Changes | None:
    before = runs.run_before(db, run)
    if before is None:
        return None
    found = Comparison(db, before, run, keep_noise=False).report()
    return Changes(
        before.number,
        tuple(
            ChangeKind(name, len(found[name]), tuple(_changed(name, each) for each in found[name][:CHANGES]))
            for name in CHANGE_KINDS
        ),
        len(found["noise"]),
        found["unchanged"],
        found["pending"],
        sum(found["left_out"].values()),
    )


def _changed(kind: str, row: Report) -> Changed:
    note = {"removed": row.get("why"), "moved": row.get("from"), "redirected": row.get("to")}.get(kind)
    if kind == "failing":
        note = f"HTTP {row['status']}" if row["status"] else row["kind"]
    return Changed(row["url"], row.get("lines_added", 0), row.get("lines_removed", 0), note or "")


def _warnings(source: ReportSource, numbers: Report) -> Iterator[Warned]:
    """What a person should know before they rely on the pages."""
    db, run = source.db, source.run.id
    if numbers["state"] != "completed":
        yield Warned(numbers["queued"], "URL", "still queued; the numbers are those so far", ())
    empty = [base["url"] for base in numbers["bases"] if base["problem"]]
    yield _named("base URL", "without a page", iter(empty))
    count, examples = source.shells
    yield Warned(count, "page", "with almost no text without JavaScript", examples)
    truncated = distributions.truncated(db, run)
    yield _named("response", "cut off: the compressed body ends too early", truncated)
    yield _named("page", "with more links than are read", distributions.with_cut_links(db, run))
    near = distributions.larger_than(db, run, int(source.max_bytes * NEAR))
    yield _named("response", "near the limit of fetch.max_bytes", near)
    unsure = distributions.unsure(db, run, UNSURE)
    yield Warned(unsure, "page", "of which the main content was hard to tell", ())
    for reason, text in LIMITS.items():
        yield Warned(numbers["skipped"].get(reason, 0), "URL", text, ())


def _named(noun: str, text: str, urls: Iterator[str]) -> Warned:
    count = 0
    examples: list[str] = []
    for url in urls:
        count += 1
        if len(examples) < EXAMPLES:
            examples.append(url)
    return Warned(count, noun, text, tuple(examples))

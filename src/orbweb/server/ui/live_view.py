"""The live page as texts and shares: the same record for the page, for its events and for a page without scripts.

Pure. An event is this record as JSON, so that a script only puts texts where they belong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from orbweb.app.list_makers import PASSING
from orbweb.app.pictures import Thread, bars_of, thread_of
from orbweb.app.results.live import FollowedRun, NextUrl, QueueShares
from orbweb.app.results.runs import CrawlSummary
from orbweb.events import OpenRequest, Snapshot
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import run_path
from orbweb.server.ui.live_figures import FailureFigure, VisitFigures, percentile
from orbweb.server.ui.live_hosts import HostRow, host_rows

NEXT = 3
SLOTS = 16
MOST_SLOTS = 64
SLOW_S = 1.0
KINDS = 12
SOURCES = ("sitemap", "spider", "redirect", "initial")
AT_WORK = ("in_progress", "on_hold", "stopping")
_MS = 1000


@dataclass(frozen=True, slots=True)
class Figure:
    """A stat: its figure, its unit and one line of context."""

    figure: str
    context: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class SlotRow:
    """A row of the requests in flight: a URL in two parts, how it was found, its place and its age. A free slot
    has no URL."""

    name: str
    host: str = ""
    rest: str = ""
    source: str = ""
    place: str = ""
    age: str = ""
    slow: bool = False


@dataclass(frozen=True, slots=True)
class KindRow:
    """Failures of a kind with the newest one."""

    kind: str
    count: str
    host: str
    rest: str
    cause: str
    ago: str
    href: str


@dataclass(frozen=True, slots=True)
class BarRow:
    """A count with its share in percent."""

    name: str
    count: str
    share: float
    href: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class LiveView:
    """All of the page that changes. `state` is that of the crawl, or of the run if none is at work; `so_far`: the
    visits of the run are still being counted."""

    run: int | None
    crawl: int | None
    title: str
    state: str
    at_work: bool
    took: str
    since: str
    updated: str
    rate: str
    thread: Thread
    thread_label: str
    counts: Mapping[str, int]
    figures: Mapping[str, Figure]
    latency: Mapping[str, str]
    slots: tuple[SlotRow, ...]
    next: tuple[SlotRow, ...]
    failures: tuple[KindRow, ...]
    may_pass: int
    sources: tuple[BarRow, ...]
    traps: int
    hosts: tuple[HostRow, ...]
    classes: tuple[BarRow, ...]
    settled: str
    so_far: bool


@dataclass(frozen=True, slots=True)
class SeenCrawl:
    """What a view is made of: the run as it was read, what its visits add up to, the shares of the queue if they
    are known, and the slots with their URLs."""

    run: FollowedRun
    figures: VisitFigures
    shares: QueueShares | None
    slots: Sequence[OpenRequest | None]
    at: datetime


def view_of(project: str, seen: SeenCrawl) -> LiveView:
    run, figures, at = seen.run, seen.figures, seen.at
    outline, now, crawl = run.outline, run.snapshot, run.crawl
    skipped, lists = sum(outline.skipped.values()), run_path(project)
    thread = thread_of(outline.visited, outline.failed, outline.queued, skipped, pages=outline.pages)
    rate = figures.fine.rate(at.timestamp()) if now is not None else 0.0
    latencies = figures.fine.latencies(at.timestamp())
    settled = outline.visited + outline.failed
    return LiveView(
        run=outline.run,
        crawl=crawl.crawl if crawl is not None else None,
        title=f"Crawl {crawl.crawl}" if crawl is not None else "Live",
        state=state_of(run),
        at_work=now is not None or outline.running,
        took=texts.took(now.seconds if now is not None else crawl.seconds if crawl is not None else 0),
        since=f", since {texts.day(crawl.started_at, at)}" if crawl is not None else "",
        updated=f"{at.astimezone(UTC):%H:%M:%S}",
        rate=texts.rate(rate),
        thread=thread,
        thread_label=thread.label,
        counts={
            "pages": outline.pages,
            "failed": outline.failed,
            "queue": outline.queued,
            "skipped": skipped,
        },
        figures=figures_of(run, rate),
        latency={"p50": ms(percentile(latencies, 50)), "p95": ms(percentile(latencies, 95))},
        slots=slot_rows(seen.slots, run.next),
        next=next_rows(seen.slots, run.next) if now is not None else (),
        failures=kind_rows(figures.failures.values(), lists, at),
        may_pass=sum(each.count for each in figures.failures.values() if each.kind in PASSING),
        sources=source_rows(seen.shares, lists),
        traps=outline.skipped.get("trap", 0),
        hosts=host_rows(
            figures.host_rates(at.timestamp()),
            seen.shares,
            now.slowest if now is not None else (),
            now.host_rate if now is not None else None,
            at_work=now is not None,
        ),
        classes=class_rows(figures.classes, lists),
        settled=f"{texts.number(settled)} done in run {outline.run}",
        so_far=figures.count < settled,
    )


def state_of(run: FollowedRun) -> str:
    """What the crawl is doing or, without one, how the run stands."""
    if run.snapshot is not None:
        return run.snapshot.state
    if run.outline.running:
        return "on_hold" if run.outline.held else "in_progress"
    last = run.crawl.state if run.crawl is not None else ""
    state = run.outline.state or "never_crawled"
    return last if state == "completed" and last == "completed_with_errors" else state


def ms(value: int | None) -> str:
    return f"{value:,} ms" if value is not None else texts.NOTHING


def figures_of(run: FollowedRun, rate: float) -> dict[str, Figure]:
    outline, now = run.outline, run.snapshot
    settled = outline.visited + outline.failed
    share = f"{100 * outline.failed / settled:.1f} % of what is done" if settled else ""
    return {
        "pages": Figure(texts.number(outline.pages), "unique content"),
        "visited": Figure(texts.number(outline.visited), texts.many(outline.visited - outline.pages, "other")),
        "failed": Figure(texts.number(outline.failed), share),
        "queued": Figure(texts.number(outline.queued), _left(now)),
        "skipped": Figure(texts.number(sum(outline.skipped.values())), texts.many(len(outline.skipped), "reason")),
        "in_flight": _in_flight(now),
        "rate": Figure(f"{rate:.1f}", _mean(now, run.crawl), "/s"),
    }


def _left(now: Snapshot | None) -> str:
    return f"about {texts.span(now.eta_s)} left" if now is not None and now.eta_s is not None else ""


def _in_flight(now: Snapshot | None) -> Figure:
    if now is None:
        return Figure("0", "")
    waiting = sum(each.waiting for each in now.slowest)
    context = f"{texts.number(waiting)} wait{'s' if waiting == 1 else ''} for a host"
    return Figure(texts.number(now.in_flight), context, f"of {texts.number(now.workers)}")


def _mean(now: Snapshot | None, crawl: CrawlSummary | None) -> str:
    if now is not None:
        return f"{texts.rate(now.rate)} this crawl"
    if crawl is None or not crawl.seconds:
        return ""
    return f"{texts.rate((crawl.visited + crawl.failed) / crawl.seconds)} in crawl {crawl.crawl}"


def placed(
    slots: Sequence[OpenRequest | None], now: Sequence[OpenRequest], count: int
) -> list[OpenRequest | None]:
    """The slots of the next look: a URL keeps its slot until it is done, a new one gets the first free one."""
    known = {each.url: each for each in now}
    kept: list[OpenRequest | None] = [known.pop(each.url, None) if each is not None else None for each in slots]
    while len(kept) < min(count, MOST_SLOTS):
        kept.append(None)
    for request in known.values():
        if None in kept:
            kept[kept.index(None)] = request
        elif len(kept) < MOST_SLOTS:
            kept.append(request)
    while len(kept) > count and kept[-1] is None:
        kept.pop()
    return kept


def slot_rows(slots: Sequence[OpenRequest | None], queue: Sequence[NextUrl]) -> tuple[SlotRow, ...]:
    known = {each.url: each for each in queue}
    return tuple(_slot_row(str(number), each, known) for number, each in enumerate(slots, 1))


def _slot_row(name: str, request: OpenRequest | None, known: Mapping[str, NextUrl]) -> SlotRow:
    if request is None:
        return SlotRow(name)
    found = known.get(request.url)
    return SlotRow(
        name,
        texts.host_of(request.url),
        texts.rest_of(request.url),
        found.source if found is not None else "",
        found.place if found is not None else "",
        f"{request.age_s * _MS:,.0f} ms",
        slow=request.age_s >= SLOW_S,
    )


def next_rows(slots: Sequence[OpenRequest | None], queue: Sequence[NextUrl]) -> tuple[SlotRow, ...]:
    busy = {each.url for each in slots if each is not None}
    found = [each for each in queue if each.url not in busy][:NEXT]
    rows = [
        SlotRow("next", texts.host_of(each.url), texts.rest_of(each.url), each.source, each.place)
        for each in found
    ]
    return tuple(rows)


def kind_rows(found: Iterable[FailureFigure], lists: str, at: datetime) -> tuple[KindRow, ...]:
    """The most frequent kinds first; a page that is open keeps its own order."""
    ordered = sorted(found, key=lambda each: (-each.count, each.kind))
    return tuple(
        KindRow(
            each.kind,
            texts.number(each.count),
            texts.host_of(each.newest.url),
            texts.rest_of(each.newest.url),
            str(each.newest.status) if each.newest.status is not None else texts.cause_of(each.newest.error or ""),
            texts.ago(datetime.fromtimestamp(each.newest.at, UTC).isoformat(), at),
            f"{lists}/failed?kind={each.kind}",
        )
        for each in ordered[:KINDS]
    )


def source_rows(shares: QueueShares | None, lists: str) -> tuple[BarRow, ...]:
    if shares is None:
        return ()
    others = sorted(shares.by_source.keys() - set(SOURCES))
    counts = [(name, shares.by_source.get(name, 0)) for name in (*SOURCES, *others)]
    return tuple(
        BarRow(bar.name, texts.number(bar.count), bar.share, f"{lists}/queue?source={bar.name}")
        for bar in bars_of(counts)
    )


def class_rows(classes: Mapping[str, int], lists: str) -> tuple[BarRow, ...]:
    """Responses by class. A class of failures links to them."""
    tones = {"2xx": "", "3xx": "other"}
    links = {
        "2xx": f"{lists}/pages",
        "4xx": f"{lists}/failed?kind=http_4xx",
        "5xx": f"{lists}/failed?kind=http_5xx",
    }
    return tuple(
        BarRow(bar.name, texts.number(bar.count), bar.share, links.get(bar.name, ""), tones.get(bar.name, "red"))
        for bar in bars_of(classes)
    )

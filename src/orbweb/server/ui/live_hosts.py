"""The hosts of the live page: how fast each is requested, why not faster, and when it was slowed down. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orbweb.app.pictures import short_hosts
from orbweb.app.results.live import QueueShares
from orbweb.events import HostQueue
from orbweb.server.ui import format as texts

HOSTS = 12
NOTES = 40
SAME_S = 2.0
"""Two looks at one slow-down differ by less."""
TIMES = {1: "halved", 2: "halved twice"}


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host: its pace now, what is queued for it, and why it is not faster. A narrow screen leaves out the
    `suffix` of its name. `waits`: it wants a look."""

    host: str
    short: str
    suffix: str
    rate: str
    queued: str
    pace: str
    waits: bool


@dataclass(frozen=True, slots=True)
class Note:
    """When a host was slowed down, and why."""

    at: float
    host: str
    text: str


def host_rows(
    rates: Mapping[str, float],
    shares: QueueShares | None,
    slowest: Sequence[HostQueue],
    usual: float | None,
    *,
    at_work: bool,
) -> tuple[HostRow, ...]:
    """The hosts with most of the queue, then those that wait, then those that responded lately."""
    paces = {plain_host(each.host): each for each in slowest}
    queued = dict(shares.by_host) if shares is not None else {}
    names = list(dict.fromkeys([*queued, *paces, *sorted(rates, key=lambda host: -rates[host])]))
    shown = names[:HOSTS]
    short = short_hosts(shown)
    return tuple(
        HostRow(
            host,
            short[host],
            host.removeprefix(short[host]),
            texts.rate(rates.get(host, 0.0)),
            texts.number(queued.get(host, 0)),
            pace_of(paces.get(host), usual) if at_work else "",
            waits=host in paces and paces[host].cause in ("busy", "retry_after", "robots", "robots_unavailable"),
        )
        for host in shown
    )


def plain_host(site: str) -> str:
    """A host as URLs show it: without the port that its scheme implies."""
    return site.removesuffix(":80").removesuffix(":443")


def pace_of(found: HostQueue | None, usual: float | None) -> str:
    """How fast a host may be requested, and why not faster, in a few words."""
    if found is None or found.cause == "rate":
        return f"{usual:.3g}/s as set" if usual else "no limit"
    if found.cause == "robots_unavailable":
        return f"robots.txt: {found.error}, URLs skipped"
    if found.cause == "robots":
        return f"robots.txt: {found.error}, again in {texts.span(found.due_s)}"
    if found.cause == "retry_after":
        return f"{found.status}, Retry-After, {texts.span(found.due_s)} left"
    rate = f"{1 / found.gap_s:.2g}/s" if found.gap_s > 0 else "no limit"
    if found.cause == "crawl_delay":
        return f"{rate}, Crawl-delay {found.gap_s:g} s"
    return f"{rate}, {_slowed(found.gap_s, usual)} after {found.status}"


def _slowed(gap_s: float, usual: float | None) -> str:
    times = round(math.log2(gap_s * usual)) if usual and gap_s > 0 else 0
    return TIMES.get(times, f"halved {times} times" if times > 0 else "slowed down")


def with_notes(known: Sequence[Note], slowest: Iterable[HostQueue], at: float) -> list[Note]:
    """The notes with those of the hosts that were slowed down since; a slow-down is noted once."""
    latest = {note.host: note.at for note in known}
    found = list(known)
    for each in slowest:
        if each.busy_s is None:
            continue
        then = at - each.busy_s
        if then - latest.get(each.host, -math.inf) > SAME_S:
            found.append(Note(then, each.host, _note(each)))
    return sorted(found, key=lambda note: note.at)[-NOTES:]


def _note(found: HostQueue) -> str:
    host = plain_host(found.host)
    if found.cause == "retry_after":
        return f"{host} {found.status}, Retry-After {round(found.due_s + (found.busy_s or 0)):g} s"
    if found.cause == "crawl_delay":
        return f"{host} Crawl-delay {found.gap_s:g} s"
    return f"{host} {found.status}, rate halved"


def notes_between(notes: Iterable[Note], begin: float, end: float) -> tuple[Note, ...]:
    return tuple(note for note in notes if begin <= note.at <= end)

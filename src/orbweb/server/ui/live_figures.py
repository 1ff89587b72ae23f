"""Figures of a run that grow with each visit: responses and failures by kind, and the pace of hosts and of all.

A visit is added once, in the order of commits, so that following a crawl costs the same however large its run is.
Each list is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orbweb.app.results.live import FollowedVisit
from orbweb.server.ui.format import host_of

CLASSES = ("2xx", "3xx", "4xx", "5xx", "no response")
PACE_S = 5
"""The pace is that of the last seconds."""
FINE_S, FINE = 1, 900
COARSE_S, COARSE = 10, 8640
SAMPLES = 32
"""Latencies that a step of time keeps, for percentiles."""
HOSTS = 200


@dataclass(frozen=True, slots=True)
class FailureFigure:
    """The failures of a kind, and the newest of them."""

    kind: str
    count: int
    newest: FollowedVisit


@dataclass(slots=True)
class FigureStep:
    """A step of time: responses, failures, and some latencies."""

    count: int = 0
    failed: int = 0
    latencies: list[int] = field(default_factory=list)

    def add(self, visit: FollowedVisit) -> None:
        self.count += 1
        self.failed += visit.kind is not None
        if len(self.latencies) < SAMPLES and visit.kind is None:
            self.latencies.append(visit.latency_ms)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the chart: when, responses and failures per second, and the latency of half and of 95 % of the
    responses in milliseconds; None without responses."""

    at: int
    rate: float
    failed: float
    p50: int | None
    p95: int | None


class Steps:
    """The latest steps of time, all of the same length."""

    def __init__(self, seconds: int, most: int) -> None:
        self.seconds, self._most = seconds, most
        self._steps: dict[int, FigureStep] = {}
        self._newest = 0

    def add(self, visit: FollowedVisit) -> None:
        number = int(visit.at // self.seconds)
        if number <= self._newest - self._most:
            return
        if number not in self._steps:
            self._newest = max(self._newest, number)
            self._steps[number] = FigureStep()
            if len(self._steps) > self._most:
                del self._steps[min(self._steps)]
        self._steps[number].add(visit)

    @property
    def first(self) -> int | None:
        """When the first step begins, in UTC seconds."""
        return min(self._steps) * self.seconds if self._steps else None

    @property
    def newest(self) -> int:
        """When the last step begins."""
        return self._newest * self.seconds

    def points(self, begin: float, end: float) -> list[Point]:
        """One point per step that is over, also where nothing came; at most as many as are kept."""
        first, last = int(begin // self.seconds), int(end // self.seconds)
        return [self._point(number) for number in range(max(first, last - self._most), last)]

    def _point(self, number: int) -> Point:
        step = self._steps.get(number, FigureStep())
        ordered = sorted(step.latencies)
        return Point(
            number * self.seconds,
            round(step.count / self.seconds, 2),
            round(step.failed / self.seconds, 2),
            percentile(ordered, 50),
            percentile(ordered, 95),
        )

    def rate(self, end: float) -> float:
        """Responses per second in the last whole seconds."""
        last = int(end // self.seconds)
        steps = (self._steps.get(last - each) for each in range(1, PACE_S + 1))
        return sum(step.count for step in steps if step is not None) / (PACE_S * self.seconds)

    def latencies(self, end: float) -> list[int]:
        """Latencies of the last minute, in order."""
        last = int(end // self.seconds)
        steps = (self._steps.get(number) for number in range(last - 60 // self.seconds, last + 1))
        return sorted(latency for step in steps if step is not None for latency in step.latencies)


def percentile(ordered: Sequence[int], share: int) -> int | None:
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else None


def class_of(visit: FollowedVisit) -> str:
    """The class of a response: 2xx to 5xx, or none."""
    return f"{visit.status // 100}xx" if visit.status is not None else "no response"


class VisitFigures:
    """What the visits of one run add up to. `last` is the number of the last one."""

    def __init__(self, run: int | None) -> None:
        self.run, self.last, self.count = run, 0, 0
        self.classes: dict[str, int] = dict.fromkeys(CLASSES, 0)
        self.failures: dict[str, FailureFigure] = {}
        self.fine, self.coarse = Steps(FINE_S, FINE), Steps(COARSE_S, COARSE)
        self._hosts: dict[str, deque[float]] = {}

    def add(self, visits: Iterable[FollowedVisit]) -> None:
        for visit in visits:
            self.last, self.count = visit.number, self.count + 1
            found = class_of(visit)
            self.classes[found] = self.classes.get(found, 0) + 1
            if visit.kind is not None:
                known = self.failures.get(visit.kind)
                self.failures[visit.kind] = FailureFigure(visit.kind, known.count + 1 if known else 1, visit)
            if not visit.reused:
                self.fine.add(visit)
                self.coarse.add(visit)
                self._note_host(visit)

    def _note_host(self, visit: FollowedVisit) -> None:
        host = host_of(visit.url)
        if host not in self._hosts and len(self._hosts) >= HOSTS:
            del self._hosts[min(self._hosts, key=lambda each: self._hosts[each][-1])]
        times = self._hosts.setdefault(host, deque())
        times.append(visit.at)
        while times[-1] - times[0] > PACE_S:
            times.popleft()

    def host_rates(self, end: float) -> dict[str, float]:
        """Responses per second of each host that answered lately."""
        return {
            host: sum(end - PACE_S <= at for at in times) / PACE_S for host, times in self._hosts.items() if times
        }

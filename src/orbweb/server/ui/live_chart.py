"""The rate chart as a picture of the server, for pages without scripts: lines as points of an SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from orbweb.server.ui.live_figures import Point
from orbweb.server.ui.live_hosts import Note

WIDTH, HEIGHT = 1000.0, 120.0
LATENCY_HEIGHT = 36.0
_STEPS = (1, 2, 3, 4, 6, 8)
LINES = 3
TIMES = 5


@dataclass(frozen=True, slots=True)
class ChartWindow:
    """A part of the time of a crawl: the length of a step, its begin and end, the points of the steps since the
    first response, and when hosts were slowed down."""

    step: int
    begin: float
    end: float
    points: tuple[Point, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """The lines of a chart. `top` is the value of its upper edge, `ticks` the values of its lines from there down,
    `times` those of its lower edge, `failures` and `notes` where something failed or a host was slowed down.
    `label` says in words what it shows."""

    top: float
    ticks: tuple[str, ...]
    times: tuple[str, ...]
    rate: str
    area: str
    failures: tuple[float, ...]
    notes: tuple[float, ...]
    p50: str
    p95: str
    label: str

    @property
    def is_empty(self) -> bool:
        return not self.rate


def chart_of(window: ChartWindow) -> Chart:
    points = window.points
    times = times_of(window)
    if len(points) < 2:
        return Chart(1.0, ("1", "0"), times, "", "", (), (), "", "", label_of(window))
    top = ceiling(max(point.rate for point in points))
    wide = max(window.end - window.begin, 1.0)
    xs = [round(WIDTH * (point.at - window.begin) / wide, 1) for point in points]
    rate = " ".join(f"{x:g},{HEIGHT * (1 - point.rate / top):.1f}" for x, point in zip(xs, points, strict=True))
    slowest = max((point.p95 for point in points if point.p95 is not None), default=1) or 1
    return Chart(
        top,
        tuple(f"{top * (LINES - number) / LINES:g}" for number in range(LINES + 1)),
        times,
        rate,
        f"{xs[0]:g},{HEIGHT:g} {rate} {xs[-1]:g},{HEIGHT:g}",
        tuple(x for x, point in zip(xs, points, strict=True) if point.failed),
        tuple(round(WIDTH * (note.at - window.begin) / wide, 1) for note in window.notes),
        _line(xs, [point.p50 for point in points], slowest),
        _line(xs, [point.p95 for point in points], slowest),
        label_of(window),
    )


def times_of(window: ChartWindow) -> tuple[str, ...]:
    """Times from the begin to the end, evenly spaced."""
    gap = (window.end - window.begin) / (TIMES - 1)
    moments = (datetime.fromtimestamp(window.begin + gap * at, UTC) for at in range(TIMES))
    return tuple(f"{each:%H:%M:%S}" for each in moments)


def label_of(window: ChartWindow) -> str:
    """What the chart shows, in words."""
    points = window.points
    if not points:
        return "No response yet."
    first, *_, last = times_of(window)
    mean = sum(point.rate for point in points) / len(points)
    failing = sum(point.failed > 0 for point in points)
    steps = f"{failing} of {len(points)} {'seconds' if window.step == 1 else 'steps'} with failures"
    most = max(point.rate for point in points)
    notes = "; ".join(note.text for note in window.notes)
    return f"Responses per second from {first} to {last}: {mean:.1f} on average, {most:.1f} at most; {steps}" + (
        f". {notes}." if notes else "."
    )


def _line(xs: Sequence[float], values: Sequence[int | None], top: int) -> str:
    return " ".join(
        f"{x:g},{LATENCY_HEIGHT * (1 - value / top):.1f}"
        for x, value in zip(xs, values, strict=True)
        if value is not None
    )


def ceiling(value: float) -> float:
    """The next round number that three lines divide well."""
    size = 3.0
    while True:
        for step in _STEPS:
            if value <= step * size:
                return step * size
        size *= 10

"""The rate chart as a picture of the server, for pages without scripts: lines as points of an SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orbweb.server.ui.live_figures import Point

WIDTH, HEIGHT = 1000.0, 120.0
LATENCY_HEIGHT = 36.0
_STEPS = (1, 2, 3, 4, 6, 8)
LINES = 3


@dataclass(frozen=True, slots=True)
class Chart:
    """The lines of a chart. `top` is the value of its upper edge, `ticks` the values of its lines from there down,
    `failures` where something failed."""

    top: float
    ticks: tuple[str, ...]
    rate: str
    area: str
    failures: tuple[float, ...]
    p50: str
    p95: str

    @property
    def is_empty(self) -> bool:
        return not self.rate


def chart_of(points: Sequence[Point]) -> Chart:
    if len(points) < 2:
        return Chart(1.0, ("1", "0"), "", "", (), "", "")
    top = ceiling(max(point.rate for point in points))
    xs = [round(WIDTH * number / (len(points) - 1), 1) for number in range(len(points))]
    rate = " ".join(f"{x:g},{HEIGHT * (1 - point.rate / top):.1f}" for x, point in zip(xs, points, strict=True))
    slowest = max((point.p95 for point in points if point.p95 is not None), default=1) or 1
    return Chart(
        top,
        tuple(f"{top * (LINES - number) / LINES:g}" for number in range(LINES + 1)),
        rate,
        f"0,{HEIGHT:g} {rate} {WIDTH:g},{HEIGHT:g}",
        tuple(x for x, point in zip(xs, points, strict=True) if point.failed),
        _line(xs, [point.p50 for point in points], slowest),
        _line(xs, [point.p95 for point in points], slowest),
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

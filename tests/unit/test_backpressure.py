"""What holds a crawl lets go only when things are clearly better, and settings that change are told apart."""

from __future__ import annotations

from dataclasses import dataclass

from orbweb.config import reload
from orbweb.engine import backpressure
from orbweb.engine.backpressure import Threshold


@dataclass
class Gauge:
    figure: float = 0.0
    limit: float = 100.0
    now: float = 0.0

    def brake(self, *, minimum: bool = False) -> Threshold:
        return Threshold(
            lambda: self.figure, lambda: self.limit, lambda *at: f"{at}", clock=lambda: self.now, minimum=minimum
        )

    def at(self, figure: float) -> None:
        self.figure = figure
        self.now += backpressure.CHECK_EVERY_S


def test_too_much_holds_until_there_is_clearly_less() -> None:
    gauge = Gauge()
    brake = gauge.brake()
    held = []
    for figure in (0, 100, 101, 99, 81, 80, 99, 100, 101):
        gauge.at(figure)
        held.append(brake() is not None)
    assert held == [False, False, True, True, True, False, False, False, True]
    gauge.limit = 200
    gauge.at(101)
    assert brake() is None, "a limit may be reloaded"


def test_too_little_holds_until_there_is_clearly_more() -> None:
    gauge = Gauge()
    brake = gauge.brake(minimum=True)
    held = []
    for figure in (200, 100, 99, 100, 124, 125, 100, 99):
        gauge.at(figure)
        held.append(brake() is not None)
    assert held == [False, False, True, True, True, False, False, True]


def test_a_figure_is_not_asked_for_all_the_time() -> None:
    gauge = Gauge(figure=500)
    brake = gauge.brake()
    assert brake() == "(500, 100.0)"
    gauge.figure = 0
    assert brake() == "(500, 100.0)"
    gauge.at(0)
    assert brake() is None


def test_reasons_name_the_setting() -> None:
    assert "spool.max_backlog_gb" in backpressure.backlog_reason(2e6, 1e6)
    assert "store.reserve_mb" in backpressure.disk_reason(1e6, 64e6)


def test_what_can_be_reloaded_and_what_waits() -> None:
    old = {"limits.rate": 2.0, "limits.workers": 5, "scope.include": (), "fetch.retries": 2}
    new = {**old, "limits.rate": 5.0, "scope.include": ("a",)}
    found = reload.changes(old.items(), new.items())
    assert [change.key for change in found] == ["limits.rate", "scope.include"]
    told = reload.describe(found, "site.yaml")
    assert told == "site.yaml reloaded; in effect: limits.rate 2.0 -> 5.0; after a restart: scope.include"
    assert reload.describe([], "site.yaml") == "site.yaml reloaded; no changes"

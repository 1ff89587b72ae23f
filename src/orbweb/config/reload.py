"""Settings that change while a crawl is at work: which ones can, and what is told about those that cannot.

Pure: two sets of settings become what differs. Always holds: a setting that is not named here waits for the next
start, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

LIVE = frozenset(
    {
        "limits.rate",
        "limits.workers",
        "limits.per_host",
        "limits.slowest_s",
        "limits.budget",
        "engine.group_ms",
        "store.compress",
        "store.reserve_mb",
        "spool.max_backlog_gb",
        "metrics.flush_interval_sec",
    }
)
"""How fast, how much, how often: nothing that decides what a run is."""


class SettingChange(NamedTuple):
    """A setting that differs."""

    key: str
    old: Any
    new: Any

    @property
    def is_live(self) -> bool:
        return self.key in LIVE


def changes(old: Iterable[tuple[str, Any]], new: Iterable[tuple[str, Any]]) -> list[SettingChange]:
    """What differs between two lists of settings with the same keys."""
    now = dict(new)
    return [SettingChange(key, value, now[key]) for key, value in old if now[key] != value]


def describe(found: list[SettingChange], source: str) -> str:
    """One line for the operator."""
    live = [f"{change.key} {change.old} -> {change.new}" for change in found if change.is_live]
    later = [change.key for change in found if not change.is_live]
    words = [f"in force: {', '.join(live)}"] * bool(live) + [f"after a restart: {', '.join(later)}"] * bool(later)
    return f"{source} reloaded; " + ("; ".join(words) or "nothing has changed")

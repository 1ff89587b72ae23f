"""Reloading of settings during a crawl: which changes take effect at once. Pure.

A change of any other setting takes effect at the next start, and `describe` says so.
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
"""Settings of speed and amount; none that decides which URLs a run visits or what it stores."""


class SettingChange(NamedTuple):
    key: str
    old: Any
    new: Any

    @property
    def is_live(self) -> bool:
        return self.key in LIVE


def changes(old: Iterable[tuple[str, Any]], new: Iterable[tuple[str, Any]]) -> list[SettingChange]:
    """The differences between two lists of settings with the same keys."""
    now = dict(new)
    return [SettingChange(key, value, now[key]) for key, value in old if now[key] != value]


def describe(found: list[SettingChange], source: str) -> str:
    """One line for the operator."""
    live = [f"{change.key} {change.old} -> {change.new}" for change in found if change.is_live]
    later = [change.key for change in found if not change.is_live]
    parts = [f"in effect: {', '.join(live)}"] * bool(live) + [f"after a restart: {', '.join(later)}"] * bool(later)
    return f"{source} reloaded; " + ("; ".join(parts) or "no changes")

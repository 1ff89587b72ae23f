"""The slots of hosts, shared by whoever has the object."""

from __future__ import annotations

from typing import NamedTuple

from orbweb.store import LONGEST_WAIT, Limiter


class Host(NamedTuple):
    """When a host has its next slot, and the interval it was slowed down to."""

    due_at: int
    pace: int = 0


class MemoryLimiter:
    """One `Host` per site."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}

    def take(self, site: str, now: int, interval: int) -> int:
        host = self._hosts.get(site, Host(now))
        if now < host.due_at <= now + LONGEST_WAIT + interval:
            return host.due_at
        self._hosts[site] = host._replace(due_at=now + max(interval, host.pace))
        return 0

    def sent(self, site: str, now: int, interval: int) -> None:
        host = self._hosts.get(site)
        if host is not None:
            self._hosts[site] = host._replace(due_at=max(host.due_at, now + interval))

    def pace(self, site: str) -> int:
        return self._hosts[site].pace if site in self._hosts else 0

    def hold(self, site: str, until: int, pace: int) -> None:
        self._hosts[site] = Host(max(self.due(site), until), pace)

    def set_pace(self, site: str, pace: int) -> None:
        if site in self._hosts:
            self._hosts[site] = self._hosts[site]._replace(pace=pace)

    def due(self, site: str) -> int:
        return self._hosts[site].due_at if site in self._hosts else 0

    def close(self) -> None:
        """There is nothing to close."""


def _proof(limiter: MemoryLimiter) -> Limiter:
    """For mypy: the class is what the protocol asks for."""
    return limiter

"""The fetcher by itself, on a loop of its own, with a guard whose judge and clock a test may choose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from orbweb.fetching.addresses import not_public
from orbweb.fetching.dns import DnsResolver
from orbweb.fetching.guard import Guard, PrivateConsent
from orbweb.fetching.headers import Identity
from orbweb.fetching.http import HttpFetcher, trusted_certificates
from orbweb.fetching.proxies import Direct, Proxies
from orbweb.fetching.transfer import Egress, HttpSettings
from orbweb.model import Failed, Fetched

T = TypeVar("T")


class Watcher:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.sent_tickets: list[int] = []
        self.notes: list[str] = []
        self.answers: dict[int, Fetched | Failed] = {}
        self._waiting: dict[int, asyncio.Future[Fetched | Failed]] = {}

    def sent(self, ticket: int) -> None:
        self.sent_tickets.append(ticket)

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        assert ticket not in self.answers, f"ticket {ticket} was reported twice"
        self.answers[ticket] = answer
        if ticket in self._waiting:
            self._waiting.pop(ticket).set_result(answer)

    async def wait(self, ticket: int) -> Fetched | Failed:
        if ticket not in self.answers:
            self._waiting[ticket] = asyncio.get_running_loop().create_future()
            return await asyncio.wait_for(self._waiting[ticket], 30)
        return self.answers[ticket]


class Client:
    """A fetcher and its listener; `get` asks for one URL and waits."""

    def __init__(self, fetcher: HttpFetcher, watcher: Watcher) -> None:
        self.fetcher = fetcher
        self.watcher = watcher
        self._tickets = 0

    def start(self, url: str) -> int:
        self._tickets += 1
        self.fetcher.start(self._tickets, url)
        return self._tickets

    async def get(self, url: str) -> Fetched | Failed:
        return await self.watcher.wait(self.start(url))


def with_client(
    work: Callable[[Client], Coroutine[Any, Any, T]],
    *,
    servers: Sequence[str] = (),
    sites: Sequence[str] = (),
    everything: bool = False,
    routes: Mapping[str, tuple[str, str]] | None = None,
    judge: Callable[[str], str | None] = not_public,
    clock: Callable[[], float] | None = None,
    timeout_s: float = 10.0,
    max_bytes: int = 20_000_000,
    max_ratio: int = 200,
    proxies: Proxies | None = None,
    proxy_judge: Callable[[str], str | None] = not_public,
    connections: int = 100,
) -> T:
    """Run `work` with a client that has these settings."""

    async def run() -> T:
        now = clock or asyncio.get_running_loop().time
        names = DnsResolver(servers, timeout_s, clock=now)
        guard = Guard(names, PrivateConsent(frozenset(sites), everything), routes or {}, clock=now, judge=judge)
        settings = HttpSettings(
            user_agent="test/1.0",
            timeout_s=timeout_s,
            connect_timeout_s=timeout_s,
            max_bytes=max_bytes,
            max_ratio=max_ratio,
            ca_file=trusted_certificates(),
            connections=connections,
        )
        watcher = Watcher()
        egress = Egress(
            Identity(clock=now),
            proxies or Direct(),
            Guard(names, PrivateConsent(), {}, clock=now, judge=proxy_judge),
        )
        client = Client(HttpFetcher(settings, guard, egress, watcher, watcher.notes.append), watcher)
        try:
            return await work(client)
        finally:
            client.fetcher.close()

    return asyncio.run(run())

"""R12: a name server that fails, lies or says nothing. Each class has its kind, and the loop never waits."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

import pytest

from harness import Cli
from orbweb.fetching.dns import MOST_S, DnsResolver, Resolved
from orbweb.model import Failed, FailKind
from servers.dns import NXDOMAIN, REFUSED, SERVFAIL, SILENCE, NameServer, Reply, at, serve_names
from servers.pages import page
from servers.site import StaticSite, serve

FAST = ("--rate", "max", "--project", "site", "--workers", 8)
QUICK = {
    "ORBWEB_FETCH__BACKOFF_S": "0.02",
    "ORBWEB_FETCH__CONNECT_TIMEOUT_S": "0.4",
    "ORBWEB_ROBOTS__RETRY_FOR_S": "1",
}
MANY = tuple(f"93.184.{number // 250}.{number % 250 + 1}" for number in range(500))
ZONE: dict[str, Reply | Callable[[int], Reply]] = {
    "none.test": Reply(rcode=NXDOMAIN),
    "empty.test": Reply(),
    "silent.test": SILENCE,
    "broken.test": Reply(rcode=SERVFAIL),
    "refused.test": Reply(rcode=REFUSED),
    "many.test": at(*MANY, ttl=60),
    "huge.test": at(*(f"93.{n // 250}.0.{n % 250 + 1}" for n in range(4_000)), ttl=60),
    "both.test": at("93.184.216.34", "93.184.216.35", "2606:4700::1", ttl=60),
    "long.test": at("93.184.216.34", ttl=86_400),
    "short.test": at("93.184.216.34", ttl=0),
    "flapping.test": lambda nth: at("127.0.0.1") if nth % 2 == 0 else Reply(rcode=SERVFAIL),
}


class Gaps:
    """The longest time the loop did not come round, looked at every millisecond."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        before = time.monotonic()
        while True:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            self.longest_s, before = max(self.longest_s, now - before), now

    def stop(self) -> None:
        self._task.cancel()


def resolve(
    names: NameServer, *hosts: str, timeout_s: float = 0.5, clock: Callable[[], float] = time.monotonic
) -> tuple[list[Resolved | Failed], float]:
    """Ask for all the hosts at once; the answers, and the longest gap of the loop."""

    async def run() -> tuple[list[Resolved | Failed], float]:
        loop, gaps = asyncio.get_running_loop(), Gaps()
        asked = DnsResolver([names.address], timeout_s, clock=clock)
        waiting = []
        for host in hosts:
            future: asyncio.Future[Resolved | Failed] = loop.create_future()
            asked.resolve(host, future.set_result)
            waiting.append(future)
        found = list(await asyncio.gather(*waiting))
        gaps.stop()
        asked.close()
        return found, gaps.longest_s

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("host", "kind", "again"),
    [
        ("none.test", FailKind.DNS_NXDOMAIN, False),
        ("empty.test", FailKind.DNS_NO_ADDRESS, False),
        ("silent.test", FailKind.DNS_TIMEOUT, True),
        ("broken.test", FailKind.DNS_SERVFAIL, True),
        ("refused.test", FailKind.DNS_SERVFAIL, True),
        ("a" * 64 + ".test", FailKind.DNS_NXDOMAIN, False),
    ],
)
def test_each_class_has_its_kind(host: str, kind: FailKind, *, again: bool) -> None:
    with serve_names(ZONE) as names:
        (found,), _ = resolve(names, host)
    assert isinstance(found, Failed)
    assert (found.kind, found.retriable) == (kind, again)
    assert host in found.error


def test_a_name_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (found,), _ = resolve(NameServer(taken.getsockname()[1]), "any.test")
    assert isinstance(found, Failed)
    assert found.kind in (FailKind.DNS_SERVFAIL, FailKind.DNS_TIMEOUT)
    assert found.retriable


@pytest.mark.alone
def test_the_loop_is_never_blocked() -> None:
    """Everything at once: silence, failure, 500 and 4,000 addresses. A busy machine may need more looks."""
    hosts = [*ZONE, "many.test", "localhost", *(f"n{number}.test" for number in range(200))]
    gaps = []
    for _ in range(10):
        with serve_names(ZONE) as names:
            found, longest_s = resolve(names, *hosts)
        assert len(found) == len(hosts)
        gaps.append(longest_s)
        if longest_s < 0.1:
            return
    pytest.fail(f"the loop was blocked for {min(gaps):.3f} s")


def test_all_of_very_many_addresses_are_told() -> None:
    with serve_names(ZONE) as names:
        (many, huge), _ = resolve(names, "many.test", "huge.test", timeout_s=5.0)
    assert isinstance(many, Resolved)
    assert set(many.addresses) == set(MANY)
    assert isinstance(huge, Resolved)
    assert len(huge.addresses) == 4_000


def test_families_take_turns() -> None:
    with serve_names(ZONE) as names:
        (found,), _ = resolve(names, "both.test")
    assert isinstance(found, Resolved)
    assert found.addresses == ("93.184.216.34", "2606:4700::1", "93.184.216.35")


def test_a_question_under_way_is_shared_and_answers_hold_for_a_bounded_time() -> None:
    now = [1000.0]

    async def run(names: NameServer) -> None:
        asked = DnsResolver([names.address], 2.0, clock=lambda: now[0])

        async def ask(host: str) -> Resolved | Failed:
            future: asyncio.Future[Resolved | Failed] = asyncio.get_running_loop().create_future()
            asked.resolve(host, future.set_result)
            return await future

        first = await asyncio.gather(*(ask("long.test") for _ in range(20)))
        assert len(set(first)) == 1
        assert isinstance(first[0], Resolved)
        assert first[0].until == now[0] + MOST_S
        assert len(names.questions) == 2
        await ask("short.test")
        before = len(names.questions)
        now[0] += 4.9
        await ask("short.test")
        assert len(names.questions) == before
        now[0] += 0.2
        await ask("short.test")
        assert len(names.questions) > before
        await ask("none.test")
        await ask("none.test")
        assert sum(name == "none.test" for name, _ in names.questions) <= 2
        await ask("broken.test")
        before = len(names.questions)
        await ask("broken.test")
        assert len(names.questions) > before
        asked.close()

    with serve_names(ZONE) as names:
        asyncio.run(run(names))


def test_the_failed_list_has_the_reason(cli: Cli) -> None:
    hosts = ("none.test", "empty.test", "silent.test", "broken.test")
    with serve_names(ZONE) as names, serve(StaticSite({})) as unused:
        start = page("start", *(f"http://{host}:{unused.port}/" for host in hosts), "/inside")
        with serve(StaticSite({"/": start, "/inside": page("inside")})) as server:
            done = cli.crawl(server.url, *FAST, "--external-hops", 1, env={**QUICK, **names.env}).ok(3)
    assert done.json["visited"] == 2
    told = {
        failure["url"].split("/")[2].partition(":")[0]: failure
        for failure in cli.ask("failed", "site", "--json").json
    }
    assert {host: (told[host]["kind"], told[host]["tries"]) for host in hosts} == {
        "none.test": ("dns_nxdomain", 1),
        "empty.test": ("dns_no_address", 1),
        "silent.test": ("dns_timeout", 3),
        "broken.test": ("dns_servfail", 3),
    }
    text = cli.ask("failed", "site").ok().out
    assert all(f"{host}: " in text for host in hosts)
    cli.check("site")


def test_a_flapping_name_server_costs_tries_and_nothing_else(cli: Cli) -> None:
    pages = {"/": page("start", *(f"/{n}" for n in range(5))), **{f"/{n}": page(f"page {n}") for n in range(5)}}
    with serve_names(ZONE) as names, serve(StaticSite(pages)) as server:
        url = f"http://flapping.test:{server.port}/"
        done = cli.crawl(url, *FAST, env={**QUICK, **names.env, "ORBWEB_FETCH__RETRIES": "6"}).ok(0)
    assert done.json["visited"] == 6

"""S2: a name that changes its mind between check and connection gains nothing.

Here 127.0.0.1 plays the public address, by a judge that calls it so, and 127.0.0.2 the private one: nothing but
loopback is ever dialled.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from orbweb.fetching.addresses import not_public
from orbweb.model import Failed, FailKind, Fetched
from security.addresses import Canary
from security.fetching import Client, with_client
from servers.dns import NameServer, Reply, at, serve_names
from servers.site import Answer, Ending, Server, StaticSite, serve

PUBLIC, PRIVATE = "127.0.0.1", "127.0.0.2"
TRIES = 1_000
PAGE = Answer(200, (("Content-Type", "text/html"),), b"public", ending=Ending.CLOSE)


def judge(address: str) -> str | None:
    return None if address == PUBLIC else not_public(address)


class Clock:
    """Ten seconds pass at every look, so that no answer is remembered."""

    def __init__(self) -> None:
        self._ticks = count(step=10)

    def __call__(self) -> float:
        return float(next(self._ticks))


@contextlib.contextmanager
def stage(zone: dict[str, Reply | Callable[[int], Reply]]) -> Iterator[tuple[NameServer, Server, Canary]]:
    """A name server, a server at the public address and a canary at the private one, on the same port."""
    with (
        serve_names(zone) as names,
        serve(StaticSite({}, default=PAGE)) as server,
        socket.create_server((PRIVATE, server.port)) as listening,
    ):
        listening.setblocking(False)
        yield names, server, Canary([listening])


def flips(nth: int) -> Reply:
    return at(PUBLIC if nth % 2 else PRIVATE)


def turns(nth: int) -> Reply:
    return at(*((PUBLIC, PRIVATE) if nth % 2 else (PRIVATE, PUBLIC)))


@pytest.mark.parametrize(("zone", "public"), [(flips, TRIES // 2), (turns, 0)], ids=["flips", "both, in turns"])
def test_a_name_that_changes_at_every_question(zone: Callable[[int], Reply], public: int) -> None:
    with stage({"flip.test": zone}) as (names, server, watch):
        url = f"http://flip.test:{server.port}/"

        async def work(client: Client) -> list[Fetched | Failed]:
            return [await client.get(url) for _ in range(TRIES)]

        found = with_client(work, servers=[names.address], judge=judge, clock=Clock())
        assert watch.hits() == 0
        assert len(server.whole_log) == public
        assert len(names.questions) >= TRIES
    refused = [answer for answer in found if isinstance(answer, Failed)]
    assert len(refused) == TRIES - public
    assert {answer.kind for answer in refused} == {FailKind.BLOCKED_ADDRESS}
    assert not any(answer.retriable for answer in refused)


def test_many_at_once() -> None:
    """Requests that share a lookup share its verdict."""
    with stage({"flip.test": flips}) as (names, server, watch):
        url = f"http://flip.test:{server.port}/"

        async def work(client: Client) -> list[Fetched | Failed]:
            tickets = [client.start(url) for _ in range(50)]
            assert not client.watcher.answers, "nothing is reported inside start"
            return [await client.watcher.wait(ticket) for ticket in tickets]

        found = with_client(work, servers=[names.address], judge=judge)
        assert watch.hits() == 0
        assert {type(answer) for answer in found} == {Fetched}
        assert len(names.questions) == 2


def test_the_address_is_judged_again_when_it_is_dialled() -> None:
    """A judge that changes its mind stands for anything that may go wrong between the two checks."""
    verdicts = iter([None, "private"])
    with stage({}) as (_, server, _watch):

        async def work(client: Client) -> Fetched | Failed:
            return await client.get(server.url)

        found = with_client(work, judge=lambda _: next(verdicts))
        assert isinstance(found, Failed)
        assert (found.kind, found.retriable) == (FailKind.BLOCKED_ADDRESS, False)
        assert server.stats["connections"] == 0


def test_an_address_that_cannot_be_reached_gives_way_to_the_next() -> None:
    with (
        serve_names({"two.test": at("127.0.0.3", PUBLIC, ttl=300)}) as names,
        serve(StaticSite({}, PAGE)) as server,
    ):

        async def work(client: Client) -> list[Fetched | Failed]:
            return [await client.get(f"http://two.test:{server.port}/") for _ in range(3)]

        first, *others = with_client(work, servers=[names.address], everything=True)
    assert isinstance(first, Failed)
    assert (first.kind, first.retriable) == (FailKind.CONNECT, True)
    assert all(isinstance(answer, Fetched) for answer in others)


def test_cancelling_silences_what_is_still_being_looked_up() -> None:
    with stage({"slow.test": Reply(silent=True), "quick.test": at(PUBLIC)}) as (names, server, _):

        async def work(client: Client) -> tuple[dict[int, Fetched | Failed], Fetched | Failed]:
            client.start(f"http://slow.test:{server.port}/")
            client.start(f"http://{PRIVATE}:{server.port}/")
            client.fetcher.cancel_all()
            await asyncio.sleep(3.0)
            before = dict(client.watcher.answers)
            return before, await client.get(f"http://quick.test:{server.port}/")

        before, after = with_client(work, servers=[names.address], judge=judge, timeout_s=2.0)
    assert before == {}
    assert isinstance(after, Fetched)

"""Connections that are kept open stay watched; whatever happens to an idle one, the next request is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from orbweb.model import Fetched
from security.fetching import Client, with_client

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
ROUNDS = 3
IDLE_S = 1.2
"""libcurl looks whether a connection still lives only when it was idle for a second."""

Served = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def answer_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether there was a request."""
    try:
        await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    writer.write(ANSWER)
    await writer.drain()
    return True


async def keeps_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await answer_one(reader, writer):
        pass
    writer.close()


async def closes_when_idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await answer_one(reader, writer)
    writer.close()


async def talks_when_idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What nobody asked for, on a connection that nobody uses; then silence, and no end."""
    if await answer_one(reader, writer):
        await asyncio.sleep(0.01)
        writer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await reader.read()
    writer.close()


@pytest.mark.parametrize("served", [keeps_open, closes_when_idle, talks_when_idle])
def test_the_next_request_is_answered_and_an_idle_connection_costs_nothing(served: Served) -> None:
    async def work(client: Client) -> tuple[list[int], float]:
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            await served(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        statuses = []
        spent = 0.0
        for turn in range(ROUNDS):
            tickets = [client.start(f"http://127.0.0.1:{port}/{turn}/{each}") for each in range(3)]
            for answer in [await client.watcher.wait(ticket) for ticket in tickets]:
                assert isinstance(answer, Fetched), answer
                statuses.append(answer.status)
            since = time.process_time()
            await asyncio.sleep(IDLE_S)
            spent = max(spent, time.process_time() - since)
        server.close()
        for writer in writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)
        await asyncio.sleep(0.05)
        return statuses, spent

    statuses, spent = with_client(work, everything=True)
    assert statuses == [200] * (3 * ROUNDS)
    assert spent < IDLE_S / 2

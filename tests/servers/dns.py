"""A name server on loopback whose every answer is chosen by the test.

Owns the wire format of questions and answers, over UDP and TCP on one port, in one thread. Always holds: an answer
that does not fit into 512 bytes of UDP is cut and asked for again by TCP; what it is not told to know does not
exist. It logs every question.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

A, AAAA = 1, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
UDP_BYTES = 512


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said about a name. `silent`: nothing at all."""

    addresses: tuple[str, ...] = ()
    ttl: int = 0
    rcode: int = NOERROR
    silent: bool = False


def at(*addresses: str, ttl: int = 0) -> Reply:
    return Reply(addresses, ttl)


SILENCE = Reply(silent=True)
Zone = Mapping[str, Reply | Callable[[int], Reply]]


@dataclass(slots=True)
class NameServer:
    """The server's address, and the questions it got as (name, type)."""

    port: int
    questions: list[tuple[str, int]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """The variable that makes orbweb ask here."""
        return {"ORBWEB_FETCH__DNS_SERVERS": f'["{self.address}"]'}


class _Answers:
    """A zone with a memory of how often each question came: a callable gets that number, from 1."""

    def __init__(self, zone: Zone, log: list[tuple[str, int]]) -> None:
        self._zone = zone
        self._log = log
        self._asked: Counter[tuple[str, int]] = Counter()

    def answer(self, query: bytes, limit: int) -> bytes | None:
        name, kind, end = _question(query)
        self._log.append((name, kind))
        self._asked[name, kind] += 1
        found = self._zone.get(name, Reply(rcode=NXDOMAIN))
        reply = found if isinstance(found, Reply) else found(self._asked[name, kind])
        if reply.silent:
            return None
        packed = [ipaddress.ip_address(text).packed for text in reply.addresses]
        wanted = [address for address in packed if len(address) == (4 if kind == A else 16)]
        records = b"".join(
            struct.pack("!HHHIH", 0xC00C, kind, 1, reply.ttl, len(address)) + address for address in wanted
        )
        cut = end + len(records) > limit
        flags = 0x8180 | reply.rcode | (0x0200 if cut else 0)
        head = query[:2] + struct.pack("!HHHHH", flags, 1, 0 if cut else len(wanted), 0, 0)
        return head + query[12:end] + (b"" if cut else records)


def _question(query: bytes) -> tuple[str, int, int]:
    labels, place = [], 12
    while query[place]:
        labels.append(query[place + 1 : place + 1 + query[place]].decode("ascii"))
        place += 1 + query[place]
    return ".".join(labels).lower(), struct.unpack_from("!H", query, place + 1)[0], place + 5


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, answers: _Answers) -> None:
        self._answers = answers

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._answers.answer(data, UDP_BYTES)
        if answer is not None:
            self._transport.sendto(answer, addr)


class _Tcp(asyncio.Protocol):
    def __init__(self, answers: _Answers, members: set[asyncio.Transport]) -> None:
        self._answers = answers
        self._members = members
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._members.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._members.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 2:
            length = struct.unpack_from("!H", self._buffer)[0]
            if len(self._buffer) < 2 + length:
                return
            query, self._buffer = self._buffer[2 : 2 + length], self._buffer[2 + length :]
            answer = self._answers.answer(query, 65_535)
            if answer is not None:
                self._transport.write(struct.pack("!H", len(answer)) + answer)


def _bound() -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket on one port of loopback."""
    while True:
        listening = socket.create_server(("127.0.0.1", 0))
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            datagrams.bind(listening.getsockname())
        except OSError:
            listening.close()
            datagrams.close()
            continue
        return datagrams, listening


@contextlib.contextmanager
def serve_names(zone: Zone) -> Iterator[NameServer]:
    """Answer for the zone from a thread until the block ends."""
    datagrams, listening = _bound()
    server = NameServer(datagrams.getsockname()[1])
    answers = _Answers(zone, server.questions)
    loop = asyncio.new_event_loop()
    over = asyncio.Event()
    members: set[asyncio.Transport] = set()

    async def run() -> None:
        udp, _ = await loop.create_datagram_endpoint(lambda: _Udp(answers), sock=datagrams)
        tcp = await loop.create_server(lambda: _Tcp(answers, members), sock=listening)
        await over.wait()
        udp.close()
        tcp.close()
        await asyncio.sleep(0)
        while members:
            for member in tuple(members):
                member.abort()
            await asyncio.sleep(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="names", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()

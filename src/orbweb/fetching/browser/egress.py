"""The local proxy through which a browser reaches the network: it resolves names itself, connects only to addresses
that the guard has checked, and counts what a page uses.

Each slot of the pool has a port of its own, so every connection belongs to one page. Outside of a page the port
refuses everything.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orbweb.fetching.guard import Guard, Pin
from orbweb.model import Failed

HEAD_BYTES = 64 * 1024
CHUNK = 64 * 1024
HEAD_S = 10.0
_DROPPED = ("proxy-connection", "proxy-authorization", "connection", "keep-alive")


@dataclass(frozen=True, slots=True)
class Caps:
    """What one page may use."""

    connections: int = 24
    requests: int = 1_000
    bytes: int = 50_000_000
    connect_s: float = 10.0


@dataclass(slots=True)
class Usage:
    """What a page has used, and what was refused, by reason."""

    requests: int = 0
    bytes: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class EgressProxy:
    """One port. `open_for_page` and `shut` bracket a page; `usage` is that of the page at work or the last one."""

    def __init__(self, guard: Guard, caps: Caps) -> None:
        self._guard, self._caps = guard, caps
        self._is_open = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.usage = Usage()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    def open_for_page(self) -> None:
        self.usage, self._is_open = Usage(), True

    def shut(self) -> None:
        """Close every connection of the page."""
        self._is_open = False
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        self.shut()
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._handle(reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            self.usage.refused["connection broken"] += 1
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        line, *lines = head[:-4].split(b"\r\n")
        method, target, _version = line.decode("latin-1").split(" ", 2)
        site, path = _destination(method, target)
        why = self._refusal() if site else "not a request to a proxy"
        if why is None:
            self.usage.requests += 1
            found = await self._connect(site)
            if not isinstance(found, str):
                await self._relay(method, path, lines, (reader, writer), found)
                return
            why = found
        self.usage.refused[why] += 1
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        with suppress(OSError):
            await writer.drain()

    def _refusal(self) -> str | None:
        if not self._is_open:
            return "no page is open"
        if len(self._tasks) > self._caps.connections:
            return "too many connections"
        if self.usage.requests >= self._caps.requests:
            return "too many requests"
        return "too many bytes" if self.usage.bytes >= self._caps.bytes else None

    async def _connect(self, site: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | str:
        """A connection to the checked address of a site, or why there is none."""
        pin = await self._pin(site)
        if isinstance(pin, Failed):
            return pin.kind.value
        address = pin.addresses[0]
        refused = self._guard.refusal(pin, address)
        if refused is not None:
            return refused.kind.value
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            async with asyncio.timeout(self._caps.connect_s):
                return await asyncio.open_connection(address, int(pin.port), family=family)
        except (OSError, TimeoutError):
            self._guard.rotate(pin)
            return "connect"

    async def _pin(self, site: str) -> Pin | Failed:
        known = self._guard.pin(site)
        if known is not None:
            return known
        future: asyncio.Future[Pin | Failed] = asyncio.get_running_loop().create_future()

        def found(_site: str, pin: Pin | Failed) -> None:
            if not future.done():
                future.set_result(pin)

        self._guard.find(site, found)
        return await future

    async def _relay(
        self,
        method: str,
        path: str,
        lines: list[bytes],
        here: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        there: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        try:
            if method == "CONNECT":
                here[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                there[1].write(_head(method, path, lines))
            copies = [asyncio.ensure_future(self._copy(*pair)) for pair in ((here[0], there[1]), (there[0], here[1]))]
            try:
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
                if not copies[1].done():
                    await copies[1]
            finally:
                for copy in copies:
                    copy.cancel()
                await asyncio.gather(*copies, return_exceptions=True)
        finally:
            there[1].close()

    async def _copy(self, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        while chunk := await reads.read(CHUNK):
            self.usage.bytes += len(chunk)
            if self.usage.bytes > self._caps.bytes:
                self.usage.refused["too many bytes"] += 1
                return
            writes.write(chunk)
            await writes.drain()
        if writes.can_write_eof():
            writes.write_eof()


def _destination(method: str, target: str) -> tuple[str, str]:
    """`host:port` and the path of a request to a proxy; empty if it is none."""
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        return (f"{host.lower()}:{port}", "") if host and port.isdigit() else ("", "")
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname:
        return "", ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path or "/"
    return f"{host}:{parts.port or 80}", f"{path}?{parts.query}" if parts.query else path


def _head(method: str, path: str, lines: list[bytes]) -> bytes:
    """The head as the site gets it: a connection carries one request."""
    kept = [each for each in lines if each.partition(b":")[0].strip().lower().decode("latin-1") not in _DROPPED]
    return b"\r\n".join([f"{method} {path} HTTP/1.1".encode("latin-1"), *kept, b"Connection: close", b"", b""])

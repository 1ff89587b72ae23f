"""A proxy on loopback for HTTP (CONNECT only) and SOCKS 4 and 5, all on one port, that logs what it was asked for.

Owns the handshakes. Always holds: what it is asked to reach is in the log before it tries. It never listens
anywhere but on 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """One wish of a client: the way it was put, where to, who asks, and the head of an HTTP request as it came."""

    how: str
    target: str
    user: str | None = None
    head: str = ""


@dataclass(slots=True)
class ProxyServer:
    """A proxy at work. `refuse` is the status it answers every CONNECT with instead."""

    port: int = 0
    refuse: int | None = None
    log: list[Asked] = field(default_factory=list)
    connections: int = 0

    def url(self, scheme: str = "http", userinfo: str = "") -> str:
        return f"{scheme}://{userinfo and userinfo + '@'}127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._talk(reader, writer)
        except (OSError, EOFError, ValueError):
            pass
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == b"\x05":
            target = await self._socks5(reader, writer)
        elif first == b"\x04":
            target = await self._socks4(reader, writer)
        else:
            target = await self._http(first + await reader.readuntil(HEAD_END), writer)
        if target is not None:
            await self._pipe(target, reader, writer)

    async def _http(self, raw: bytes, writer: asyncio.StreamWriter) -> str | None:
        head = raw.decode("latin-1")
        method, target, _ = head.split(" ", 2)
        self.log.append(Asked(method, target, _basic_user(head), head))
        if method == "CONNECT" and self.refuse is None:
            writer.write(b"HTTP/1.1 200 Connected\r\nX-Proxy: here\r\nSet-Cookie: proxy=1\r\n\r\n")
            return target
        status = self.refuse or 405
        writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        return None

    async def _socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        user = None
        writer.write(b"\x05\x02" if 2 in methods else b"\x05\x00")
        if 2 in methods:
            await reader.readexactly(1)
            user = (await _counted(reader)).decode() + ":" + (await _counted(reader)).decode()
            writer.write(b"\x01\x00")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await _counted(reader)).decode()
        else:
            size, family = (4, socket.AF_INET) if kind == 1 else (16, socket.AF_INET6)
            host = socket.inet_ntop(family, await reader.readexactly(size))
        target = f"{host}:{int.from_bytes(await reader.readexactly(2), 'big')}"
        self.log.append(Asked("socks5 name" if kind == 3 else "socks5", target, user))
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        return target

    async def _socks4(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        raw = await reader.readexactly(7)
        user = (await reader.readuntil(b"\x00"))[:-1].decode()
        target = f"{socket.inet_ntoa(raw[3:])}:{int.from_bytes(raw[1:3], 'big')}"
        self.log.append(Asked("socks4", target, user or None))
        writer.write(b"\x00\x5a" + bytes(6))
        return target

    async def _pipe(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = target.rpartition(":")
        behind, before = await asyncio.open_connection(host.strip("[]"), int(port))
        ways = [asyncio.ensure_future(_copy(reader, before)), asyncio.ensure_future(_copy(behind, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        before.close()


async def _counted(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly((await reader.readexactly(1))[0])


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65_536):
        writer.write(chunk)
        await writer.drain()


def _basic_user(head: str) -> str | None:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "proxy-authorization":
            return base64.b64decode(value.split()[-1]).decode()
    return None


@contextlib.contextmanager
def serve_proxy(*, refuse: int | None = None, tls: ssl.SSLContext | None = None) -> Iterator[ProxyServer]:
    """A proxy in a thread until the block ends."""
    proxy = ProxyServer(refuse=refuse)
    listening = socket.create_server(("127.0.0.1", 0))
    proxy.port = listening.getsockname()[1]
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(proxy.serve, sock=listening, ssl=tls)
        await over.wait()
        server.close()
        mine = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not mine]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="proxy", daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()

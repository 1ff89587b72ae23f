"""A site that only grows: page /w/N links to FAN pages nobody else links to; / is page 0.

Owns a loopback server in a process of its own; prints its URL on the first line and serves until it is
terminated. Always the same bytes for the same path; /robots.txt and everything unknown is 404. Never
keeps anything about a request.
"""

from __future__ import annotations

import asyncio
import re

FAN = 1000
PAGE = re.compile(rb"GET /(?:w/(\d{1,18}))? ")


def body(number: int) -> bytes:
    """Page `number`: its own title, and links to its FAN children."""
    first = number * FAN + 1
    links = "".join(f'<a href="/w/{child}">{child}</a>\n' for child in range(first, first + FAN))
    return f"<!doctype html><title>Page {number}</title><h1>Page {number}</h1>\n{links}".encode()


def answer(request: bytes) -> bytes:
    """The whole response to one request head."""
    page = PAGE.match(request)
    status, content = ("200 OK", body(int(page[1] or 0))) if page else ("404 Not Found", b"")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests without bodies, answered in order."""

    def __init__(self) -> None:
        self.pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self.pending = (self.pending + data).split(b"\r\n\r\n")
        for request in requests:
            self.transport.write(answer(request))


async def serve() -> None:
    """Serve on a free loopback port until cancelled."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())

"""The sites of `servers.site` over TLS, with HTTP/2 where the client speaks it: hypercorn in a process of its own.

Run as `python -m servers.secure PORT CERT KEY`; every path answers a page that names the HTTP version.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trustme
from hypercorn.asyncio import serve
from hypercorn.config import Config


async def _app(scope: dict[str, Any], _receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(1, 21)) if scope["path"] == "/" else ""
    body = f"<!doctype html><title>HTTP/{scope['http_version']}</title><p>{scope['path']}{links}".encode()
    headers = [(b"content-type", b"text/html; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _run(port: str, certificate: str, key: str) -> None:
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.certfile, config.keyfile = certificate, key
    asyncio.run(serve(_app, config))  # type: ignore[arg-type]


@contextlib.contextmanager
def secure_site(home: Path) -> Iterator[tuple[str, Path]]:
    """The URL of a TLS site on loopback, and the file of the authority that signed for it."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    home.mkdir()
    issued.private_key_pem.write_to_path(home / "key.pem")
    issued.cert_chain_pems[0].write_to_path(home / "cert.pem")
    authority.cert_pem.write_to_path(home / "ca.pem")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "servers.secure", str(port), str(home / "cert.pem"), str(home / "key.pem")]
    tests = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=tests, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _await_port(port)
            yield f"https://localhost:{port}/", home / "ca.pem"
        finally:
            process.kill()


def certificate(home: Path, *names: str) -> tuple[ssl.SSLContext, Path]:
    """What a server of this process needs to speak TLS for the names, and the file of its authority."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    authority.cert_pem.write_to_path(home / "authority.pem")
    return context, home / "authority.pem"


def _await_port(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), contextlib.closing(socket.create_connection(("127.0.0.1", port), 1)):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no server on port {port}")


if __name__ == "__main__":
    _run(*sys.argv[1:])

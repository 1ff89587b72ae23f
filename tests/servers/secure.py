"""The sites of `servers.site` over TLS, with HTTP/2 where the client speaks it: hypercorn in a process of its own.

Run as `python -m servers.secure SOCKET CERT KEY` with the number of a socket that listens; every path answers a
page that names the HTTP version.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
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


def _run(listening: str, certificate: str, key: str) -> None:
    config = Config()
    config.bind = [f"fd://{listening}"]
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
    tests = Path(__file__).parents[1]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number, port = listening.fileno(), listening.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "servers.secure",
            str(number),
            str(home / "cert.pem"),
            str(home / "key.pem"),
        ]
        process = subprocess.Popen(
            command, cwd=tests, pass_fds=[number], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    with process:
        try:
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


if __name__ == "__main__":
    _run(*sys.argv[1:])

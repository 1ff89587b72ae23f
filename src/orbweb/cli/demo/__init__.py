"""The demo site: the manual of a fictional tool, served on 127.0.0.1 only.

All files are read when the server starts, so a request can only name a bundled file. There are also one redirect,
one copy of a page and one broken link, because real sites have them.
"""

from __future__ import annotations

import mimetypes
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from importlib.resources.abc import Traversable
from socketserver import BaseServer, TCPServer
from threading import Thread
from typing import Any

START = "/docs/"
REDIRECTS = {"/": START, "/docs/getting-started.html": "/docs/tutorial/"}
COPIES = {"/docs/reference/units-to-print.html": "/docs/reference/units.html"}
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    header: tuple[str, str]
    body: bytes


_NOT_FOUND = _Answer(404, ("Content-Type", "text/plain; charset=utf-8"), b"There is no such page.\n")


@contextmanager
def serve(port: int = 0) -> Iterator[str]:
    """Serve the demo site within the block, at this port if it is free; yields the URL where a crawl starts."""
    with _bound(port, partial(_Handler, _answers())) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), name="demo-site", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{START}"
        finally:
            server.shutdown()
            thread.join()


def _bound(port: int, handler: partial[_Handler]) -> _Server:
    try:
        return _Server(("127.0.0.1", port), handler)
    except OSError:
        return _Server(("127.0.0.1", 0), handler)


def _answers() -> dict[str, _Answer]:
    """The response for every path."""
    answers = {path: _redirect(target) for path, target in REDIRECTS.items()}
    for path, body in _bundled(files(__name__) / "site", "/"):
        answers[path] = _Answer(200, ("Content-Type", _content_type(path)), body)
        if path.endswith(f"/{INDEX}"):
            folder = path.removesuffix(INDEX)
            answers[folder] = answers[path]
            answers[folder.rstrip("/")] = _redirect(folder)
    answers.update({path: answers[original] for path, original in COPIES.items()})
    return answers


def _bundled(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _bundled(entry, f"{path}{entry.name}/")
        else:
            yield f"{path}{entry.name}", entry.read_bytes()


def _redirect(target: str) -> _Answer:
    return _Answer(301, ("Location", target), b"")


def _content_type(path: str) -> str:
    guessed = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return f"{guessed}; charset=utf-8" if guessed.startswith("text/") else guessed


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def server_bind(self) -> None:
        # The inherited method would resolve the name of the address, which can query a name server.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do not report clients that disconnect."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    wbufsize = -1

    def __init__(self, answers: Mapping[str, _Answer], request: Any, address: Any, server: BaseServer) -> None:
        self._answers = answers
        super().__init__(request, address, server)

    def do_GET(self) -> None:
        self.wfile.write(self._head().body)

    def do_HEAD(self) -> None:
        self._head()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""

    def _head(self) -> _Answer:
        answer = self._answers.get(self.path.partition("?")[0], _NOT_FOUND)
        self.send_response(answer.status)
        self.send_header(*answer.header)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        return answer

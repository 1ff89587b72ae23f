"""The documentation site every peer crawls, served by nginx on loopback.

Owns: finding the installed trees, the scratch directory, one private nginx with its own configuration, port and
directory, and the log of what it answered. Always: bound to 127.0.0.1, one worker process, one log per server,
so that the pages of a peer are counted by the server and not by the peer. Never touches the system's
nginx.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {"python": "python3.11-doc", "postgresql": "postgresql-doc-15", "cmake": "cmake-doc"}
ALL = "all"

BACKLOG = 511

CONFIG = """\
daemon off;
worker_processes 1;
pid {home}/nginx.pid;
error_log {home}/error.log warn;
events {{ worker_connections 1024; }}
http {{
  types {{
    text/html html;
    text/plain txt py;
    text/css css;
    text/xml xml;
    application/javascript js;
    application/json json;
    image/png png;
    image/svg+xml svg;
    image/x-icon ico;
  }}
  default_type application/octet-stream;
  log_format answers '$status|$sent_http_content_type|$request_uri';
  access_log {home}/access.log answers;
  client_body_temp_path {home}/body;
  proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi;
  scgi_temp_path {home}/scgi;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 60s;
  keepalive_requests 1000000;
  server {{
    listen 127.0.0.1:{port};
    root {home}/site;
{locations}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Answers:
    """What one server answered: its requests, the paths it had (200), and which of them are HTML."""

    requests: int
    found: frozenset[str]
    pages: frozenset[str]


@dataclass(frozen=True, slots=True)
class Site:
    """A running server; `url` ends with a slash."""

    url: str
    log: Path

    def answers(self) -> Answers:
        rows = [line.split("|", 2) for line in self.log.read_text().splitlines()]
        found = [(path, kind) for status, kind, path in rows if status == "200"]
        pages = frozenset(path for path, kind in found if kind.startswith("text/html"))
        return Answers(len(rows), frozenset(path for path, _ in found), pages)


def find_trees(choice: str) -> dict[str, Path]:
    """The html directory of the named tree, or of all. If one is missing: exit code 2, and what to install."""
    found = {name: _html_directory(PACKAGES[name]) for name in (PACKAGES if choice == ALL else (choice,))}
    missing = [PACKAGES[name] for name, directory in found.items() if directory is None]
    if shutil.which("nginx") is None:
        missing.append("nginx")
    if missing:
        print(f"not installed; run: apt-get install {' '.join(missing)}", file=sys.stderr)
        raise SystemExit(2)
    return {name: directory for name, directory in found.items() if directory is not None}


@contextmanager
def scratch(parent: Path | None) -> Iterator[Path]:
    """A directory for servers and what peers write, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=parent) as name:
        path = Path(name).resolve()
        # nginx workers of root run as nobody and must pass through this directory.
        path.chmod(0o755)
        yield path


def warm(trees: dict[str, Path]) -> None:
    """Read every page once, so that no peer pays for a cold page cache."""
    for directory in trees.values():
        for path in directory.rglob("*.html"):
            path.read_bytes()


@contextmanager
def serving(trees: dict[str, Path], home: Path) -> Iterator[Site]:
    """A server for the trees under /NAME/, with a start page that links to each of them."""
    _lay_out(trees, home)
    config = home / "nginx.conf"
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        port = listening.getsockname()[1]
        config.write_text(CONFIG.format(home=home, port=port, locations=_locations(trees)))
        process = _start(config, listening)
    try:
        _await(process, home)
        yield Site(f"http://127.0.0.1:{port}/", home / "access.log")
    finally:
        process.terminate()
        process.wait(10)


def _html_directory(package: str) -> Path | None:
    if shutil.which("dpkg") is None:
        return None
    listing = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    indexes = [Path(line) for line in listing.stdout.splitlines() if line.endswith("/html/index.html")]
    return next((index.parent for index in indexes if index.is_file()), None)


def _lay_out(trees: dict[str, Path], home: Path) -> None:
    # The worker of an nginx started by root runs as nobody and must be able to read the site.
    home.chmod(0o755)
    site = home / "site"
    site.mkdir(mode=0o755)
    items = "".join(f'<li><a href="/{name}/index.html">{name}</a></li>' for name in trees)
    (site / "index.html").write_text(f"<!doctype html><title>Documentation</title><ul>{items}</ul>")


def _locations(trees: dict[str, Path]) -> str:
    return "\n".join(f"    location /{name}/ {{ alias {path}/; }}" for name, path in trees.items())


def _start(config: Path, listening: socket.socket) -> subprocess.Popen[bytes]:
    """nginx takes over the socket, as one does that replaces another: nobody can take the port in between."""
    number = listening.fileno()
    return subprocess.Popen(
        ["nginx", "-p", str(config.parent), "-c", str(config)],
        stderr=subprocess.DEVNULL,
        pass_fds=[number],
        env={**os.environ, "NGINX": f"{number};"},
    )


def _await(process: subprocess.Popen[bytes], home: Path) -> None:
    """Until it has written its number, which it does when its configuration is read."""
    for _ in range(500):
        if process.poll() is not None:
            break
        if (home / "nginx.pid").exists():
            return
        time.sleep(0.02)
    log = home / "error.log"
    raise RuntimeError(f"nginx did not start: {log.read_text() if log.exists() else ''}")

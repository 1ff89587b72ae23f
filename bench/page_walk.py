"""Which files of orbweb a page goes through in the main process, by a profile hook.

A site of five pages is crawled, each linked from the one before, one at a time. Counted are the files that
the whole crawl enters, those between the lease of the first place and the transaction that makes it durable
(robots.txt, name look-up and sitemaps included), and those of a page in the middle.

    python bench/page_walk.py [--list] [--processes N]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

import orbweb
from orbweb.frontier.heaps import HeapFrontier
from orbweb.store.sqlite.run_store import SqliteRunStore

PACKAGE = str(Path(orbweb.__file__).parent) + "/"
PAGES = {"/": 1, "/1": 2, "/2": 3, "/3": 4, "/4": 4}
MIDDLE = 4


class Site(BaseHTTPRequestHandler):
    """Five pages, and no robots.txt."""

    def do_GET(self) -> None:
        page = b"<title>%d</title><main><h1>Page %s</h1><p>Some words. <a href='/%d'>Next</a></p></main>"
        number = PAGES.get(self.path)
        body = page % (number, self.path.encode(), number) if number is not None else b""
        self.send_response(404 if number is None else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Walk:
    """The files whose functions are called: all of them, and those between the lease of a place and its commit."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.places: list[list[str]] = []
        self._inside = False

    def hook(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code is HeapFrontier.lease.__code__:
            self._inside = True
            self.places.append([])
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
            name = code.co_filename[len(PACKAGE) :]
            for names in (self.all, *(self.places[-1:] if self._inside else ())):
                if name not in names:
                    names.append(name)
        if event == "return" and code is SqliteRunStore.write.__code__:
            self._inside = False


def crawl(url: str, workspace: Path, processes: int | None) -> None:
    chosen: dict[str, Any] = {} if processes is None else {"processes": processes}
    orbweb.crawl(url, workspace=workspace, project="one", rate="max", workers=1, **chosen)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--list", action="store_true", help="name the files, in the order in which they are entered"
    )
    options.add_argument("--processes", type=int, help="worker processes; 0 reads pages in the main process")
    chosen = options.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=server.serve_forever, daemon=True).start()
    url, walk = f"http://127.0.0.1:{server.server_port}/", Walk()
    with tempfile.TemporaryDirectory() as home:
        crawl(url, Path(home, "warm"), chosen.processes)
        sys.setprofile(walk.hook)
        try:
            crawl(url, Path(home, "watched"), chosen.processes)
        finally:
            sys.setprofile(None)
    server.shutdown()
    counted = {
        "the whole crawl": walk.all,
        "the first page, lease to durable": walk.places[0],
        "a page in the middle, lease to durable": walk.places[MIDDLE - 1],
    }
    for title, names in counted.items():
        print(f"{title}: {len(names)} files")
        if chosen.list:
            print(*(f"  {name}" for name in names), sep="\n")


if __name__ == "__main__":
    main()

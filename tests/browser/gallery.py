"""A workspace in which every page of the interface has something to show, served by `orbweb serve`.

The bundled site, two runs that differ, failures of several kinds, a paused run, a crawl at work and one that
waits, an export, a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import httpx

from browser.larder import API, DOCS, FORUM, HOSTS, LEGACY, LarderSite, pins
from harness import wait_until
from orbweb.cli import demo
from servers.site import serve
from serving import RunningServer, served, site_of

UNREAD = re.compile("being compared|Being searched|data-counting")
QUICK = {"fetch.backoff_s": 0.05, "fetch.retries": 1}


@dataclass(frozen=True)
class Gallery:
    """The server, and the names of its projects by what they show."""

    server: RunningServer
    site: LarderSite
    demo: ClassVar[str] = "demo"
    runs: ClassVar[str] = "larder-docs"
    paused: ClassVar[str] = "larder-forum"
    failing: ClassVar[str] = "larder-legacy"
    running: ClassVar[str] = "larder"
    waiting: ClassVar[str] = "larder-api"
    stored: ClassVar[str] = "larder-de"


@contextmanager
def gallery(
    directory: Path, *, size: int = 60, live_size: int = 6000, live_delay_s: float = 0.0
) -> Iterator[Gallery]:
    """Serve such a workspace. `size` is the number of pages of the docs, the rest is for `run_live`."""
    with ExitStack() as stack:
        bundled = stack.enter_context(demo.serve())
        site = LarderSite(size)
        web = stack.enter_context(serve(site))
        demo_pin = f"larder.example:80:{site_of(bundled)}"
        options = ("--resolve", demo_pin, *pins(web.port))
        server = stack.enter_context(served(directory / "workspace", *options))
        made = Gallery(server, site)
        server.crawl("http://larder.example/docs/", project=made.demo)
        _crawl(made, made.runs, DOCS, exclude=["/archive/1\\.0/"])
        site.edition = 2
        again = server.post(f"/recrawl/{made.runs}", {"rate": "max"})
        server.ended(again["jobID"])
        _crawl(made, made.failing, LEGACY)
        _crawl(made, made.paused, FORUM, budget=size // 8)
        server.call("PUT", "/config", {"url": f"http://{DOCS}/de/", "project": made.stored, "maxDepth": 4})
        server.ended(server.post(f"/projects/{made.runs}/exports", {"to": "zip"}, status=202)["id"])
        server.post("/tokens", {"name": "nightly build", "scope": "crawl"}, status=201)
        site.size, site.delay_s = live_size, live_delay_s
        yield made


def run_live(made: Gallery, rate: float = 12) -> None:
    """Start the crawl that the live page shows, and one that waits for it."""
    urls = [f"http://{host}/" for host in HOSTS]
    _configure(made, made.running, urls)
    made.server.post("/crawl", {"urls": urls, "project": made.running, "rate": rate, "workers": 16})
    made.server.post("/crawl", {"url": f"http://{API}/", "project": made.waiting, "rate": 2})


def wait_for_lists(server: RunningServer, paths: Iterable[str]) -> None:
    """Until what these pages have read in the background is there."""
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
        http.post("/login", data={"token": server.token})
        for path in paths:
            wait_until(lambda path=path: not UNREAD.search(http.get(path).text))


def wait_for_visits(made: Gallery, project: str, count: int) -> None:
    wait_until(lambda: made.server.get(f"/queue/{project}")["visited"] >= count, timeout=600)


def _configure(made: Gallery, project: str, urls: list[str], **options: object) -> None:
    made.server.call("PUT", "/config", {"urls": urls, "project": project, "settings": QUICK, **options})


def _crawl(made: Gallery, project: str, host: str, **options: object) -> None:
    url = f"http://{host}/"
    _configure(made, project, [url])
    started = made.server.post("/crawl", {"url": url, "project": project, "rate": "max", **options})
    made.server.ended(started["jobID"])

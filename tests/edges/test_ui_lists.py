"""The lists of a run and its pages in the interface, over a real socket, beside what the library says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

import orbweb
from servers.graph import GraphSite
from servers.site import StaticSite, html, serve
from serving import RunningServer, served, site_of

PAGES = 60
EVIL = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, Path]]:
    workspace = tmp_path_factory.mktemp("lists") / "workspace"
    evil = StaticSite(
        {"/": html(f"<title>{EVIL.replace('<', '&lt;')}</title><main><p>Words of a page.</p></main>")}
    )
    with serve(GraphSite(5, PAGES)) as site, serve(evil) as other:
        space = orbweb.open(workspace)
        space.crawl(site.url, project="site", rate="max", allow_private=True)
        space.crawl(other.url, project="evil", rate="max", allow_private=True)
    with served(workspace, "--private-host", site_of(site.url)) as server:
        yield server, workspace


def page(server: RunningServer, path: str, status: int = 200) -> str:
    found = server.send("GET", path, headers={"accept": "text/html"})
    assert found.status_code == status, found.text
    return found.text


def test_the_pages_twin_has_every_page_once_in_parts(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    known = [each.url for each in orbweb.open(workspace).pages("site")]
    found, path = [], "/p/site/runs/latest/pages.json?limit=7"
    while path:
        part = server.send("GET", path)
        found += [each["url"] for each in part.json()]
        path = part.headers["link"].partition("<")[2].partition(">")[0] if "link" in part.headers else ""
    assert found == known


def test_every_facet_count_is_the_length_of_its_list(crawled: tuple[RunningServer, Path]) -> None:
    server, _ = crawled
    text = page(server, "/p/site/runs/1/pages")
    facets = re.findall(
        r'href="(/p/site/runs/1/pages\?depth=\d+)"[^>]*><span[^>]*>\d+</span><span class="number">(\d+)', text
    )
    assert facets
    for href, count in facets:
        query = unescape(href).partition("?")[2]
        assert len(server.send("GET", f"/p/site/runs/1/pages.json?{query}").json()) == int(count)


def test_pages_are_sorted_and_found_by_words(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    tokens = [each["tokens"] for each in server.send("GET", "/p/site/runs/1/pages.json?sort=-tokens").json()]
    assert tokens == sorted(tokens, reverse=True)
    url = orbweb.open(workspace).pages("site")[-1].url
    found = server.send("GET", "/p/site/runs/1/pages.json", params={"q": url}).json()
    assert url in [each["url"] for each in found]
    assert page(server, "/p/site/runs/1/pages?sort=nothing", 422)


def test_failed_and_skipped_lists_are_those_of_the_library(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    space = orbweb.open(workspace)
    failed = server.send("GET", "/p/site/runs/1/failed.json").json()
    assert sorted(each["url"] for each in failed) == sorted(each.url for each in space.failed("site"))
    skipped = server.send("GET", "/p/site/runs/1/skipped.json").json()
    assert len(skipped) == sum(space.runs("site")[-1].skipped.values())
    for name in ("pages", "failed", "queue", "skipped"):
        page(server, f"/p/site/runs/latest/{name}")
        assert server.send("GET", f"/p/site/runs/1/{name}.csv").status_code == 200


def test_every_view_of_a_url_answers(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    space = orbweb.open(workspace)
    for url in (space.pages("site")[1].url, space.failed("site")[0].url):
        for tab in ("", "markdown", "source", "original", "meta", "links", "explain", "history"):
            path = f"/p/site/runs/1/page?url={url}&tab={tab}"
            assert url.rpartition("/")[2] in page(server, path)
    page(server, "/p/site/runs/1/page?url=http://nowhere.example/", 404)


def test_a_title_of_a_page_is_only_text(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    url = orbweb.open(workspace).pages("evil")[0].url
    for path in ("pages", f"page?url={url}&tab=meta", f"page?url={url}"):
        text = page(server, f"/p/evil/runs/1/{path}")
        assert EVIL not in text
    assert "&lt;script&gt;" in page(server, "/p/evil/runs/1/pages")

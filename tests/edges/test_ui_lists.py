"""The lists of a run and its pages in the interface, over a real socket, beside what the library says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

import orbweb
from harness import wait_until
from servers.graph import GraphSite
from servers.site import StaticSite, html, serve
from serving import TOKEN, RunningServer, served, site_of

PAGES = 60
LONG = 2_000_000
NEAR = " ".join(f"word{number}" for number in range(200))
EVIL = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, Path]]:
    workspace = tmp_path_factory.mktemp("lists") / "workspace"
    evil = StaticSite(
        {"/": html(f"<title>{EVIL.replace('<', '&lt;')}</title><main><p>Words of a page.</p></main>")}
    )
    long = StaticSite(
        {
            "/": html(
                "<h1>Long</h1>"
                + "".join(f"<h2>Part {at}</h2><p>{'word ' * 200}</p>" for at in range(LONG // 1000))
            ),
            "/broken": html("gone", 404),
            "/busy": html("later", 500),
        }
    )
    with serve(GraphSite(5, PAGES)) as site, serve(evil) as other, serve(long) as third:
        space = orbweb.open(workspace)
        space.crawl(site.url, project="site", rate="max", allow_private=True)
        space.crawl(other.url, project="evil", rate="max", allow_private=True)
        seeds = [third.url, f"{third.url}broken", f"{third.url}busy"]
        near = StaticSite(
            {
                "/": html("<a href='/a'>a</a><a href='/b'>b</a><a href='/again'>a</a>"),
                "/a": html(f"<p>{NEAR} one</p>"),
                "/again": html(f"<p>{NEAR} one</p>"),
                "/b": html(f"<p>{NEAR} two</p>"),
            }
        )
        with serve(near) as fourth:
            space.crawl(fourth.url, project="near", rate="max", allow_private=True)
        space.crawl(seeds, project="long", rate="max", allow_private=True)
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


def test_a_page_of_two_megabytes_is_shown_in_part_and_says_so(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    space = orbweb.open(workspace)
    url = space.pages("long")[0].url
    document = space.document("long", url)
    assert document is not None
    assert len(document.markdown) > LONG
    for tab in ("markdown", "source", "original"):
        text = page(server, f"/p/long/runs/1/page?url={url}&tab={tab}")
        assert len(text) < 400_000, tab
        assert "characters are shown" in text, tab
    whole = server.send("GET", "/p/long/runs/1/page/markdown", params={"url": url})
    assert whole.text == document.markdown
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_one_failed_url_is_retried_and_its_run_can_be_resumed(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    space = orbweb.open(workspace)
    assert sorted(each.kind for each in space.failed("long")) == ["http_4xx", "http_5xx"]
    (busy,) = (each.url for each in space.failed("long") if each.kind == "http_5xx")
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        client.post("/login", data={"token": TOKEN})
        text = client.get("/p/long/runs/latest/failed?kind=http_5xx", headers={"accept": "text/html"}).text
        token = re.search(r'name="form_token" value="([^"]*)"', text)
        assert token is not None
        retry = {"form_token": token[1], "url": busy}
        assert client.post("/p/long/runs/latest/retry", data=retry).status_code == 303
    assert "Retry queues URLs again; Resume then visits them." in text
    assert f'aria-label="Retry {busy}"' in text
    assert [each.kind for each in space.failed("long")] == ["http_4xx"]
    assert (space.status("long").queued, space.status("long").state) == (1, "paused")
    assert "Resume 1 URL" in page(server, "/p/long/runs/latest/queue")


def test_near_duplicates_are_the_groups_of_the_library(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    (group,) = orbweb.open(workspace).near_duplicates("near")
    rows = server.send("GET", "/p/near/runs/latest/near.json").json()
    assert [(row["group"], row["url"]) for row in rows] == [(1, each.url) for each in group]
    wait_until(lambda: "2 pages of 3 in 1 group" in page(server, "/p/near/runs/latest/near"))
    assert "/p/near/runs/latest/near" in page(server, "/p/near/runs/latest/pages")
    assert server.send("GET", "/p/site/runs/1/near.csv").status_code == 200


def test_an_alternate_names_its_page_and_not_itself(crawled: tuple[RunningServer, Path]) -> None:
    server, workspace = crawled
    (one,) = (each for each in orbweb.open(workspace).pages("near") if each.alternates)
    (other,) = one.alternates
    for url, shown in ((one.url, other), (other, one.url)):
        wait_until(lambda url=url: "Alternates" in page(server, f"/p/near/runs/1/page?url={url}"))
        panel = page(server, f"/p/near/runs/1/page?url={url}").partition("Alternates")[2]
        assert re.findall(r'title="(http[^"]*)"', panel) == [shown]

"""The test site and the demo site themselves: what other tests rely on must hold before they mean anything."""

from __future__ import annotations

import http.client
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from ada_url import join_url

from orbweb.cli import demo
from servers.graph import ELSEWHERE, GraphSite, Kind, WideSite, canonical, resolve
from servers.site import (
    Answer,
    Ending,
    Hit,
    Request,
    StaticSite,
    TreeSite,
    html,
    redirect,
    serve,
    spawn,
    text,
)

BASE = "http://127.0.0.1:8000"


@contextmanager
def wire(port: int) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        yield connection


def ask(
    connection: http.client.HTTPConnection, target: str, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    connection.request(method, target, headers={"User-Agent": "probe"})
    response = connection.getresponse()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


def fetch(port: int, target: str) -> tuple[int, dict[str, str], bytes]:
    with wire(port) as connection:
        return ask(connection, target)


# The server


def test_log_has_every_request_in_order_of_arrival() -> None:
    with serve(StaticSite({"/": html("root"), "/a": text("a")})) as server, wire(server.port) as connection:
        before = time.monotonic()
        for target in ("/", "/a?x=1", "/none"):
            ask(connection, target)
        log = server.log
        after = time.monotonic()
    assert [(hit.method, hit.path, hit.status) for hit in log] == [
        ("GET", "/", 200),
        ("GET", "/a?x=1", 200),
        ("GET", "/none", 404),
    ]
    assert {hit.host for hit in log} == {f"127.0.0.1:{server.port}"}
    assert {hit.user_agent for hit in log} == {"probe"}
    assert before <= log[0].at <= log[1].at <= log[2].at <= after


def test_keep_alive_uses_one_connection_and_close_ends_it() -> None:
    site = StaticSite({"/": html("root"), "/last": Answer(body=b"x", ending=Ending.CLOSE)})
    with serve(site) as server, wire(server.port) as connection:
        ask(connection, "/")
        ask(connection, "/")
        _, headers, _ = ask(connection, "/last")
        ask(connection, "/")
        assert headers["connection"] == "close"
        assert [hit.connection for hit in server.log] == [1, 1, 1, 2]


def test_head_has_the_headers_of_get_and_no_body() -> None:
    with serve(StaticSite({"/": html("four")})) as server, wire(server.port) as connection:
        status, headers, body = ask(connection, "/", "HEAD")
        assert (status, headers["content-length"], body) == (200, "4", b"")
        assert ask(connection, "/")[2] == b"four"


def test_request_body_is_read_and_does_not_leak_into_the_next_request() -> None:
    site = StaticSite({"/echo": lambda request: Answer(body=request.body)})
    with serve(site) as server, wire(server.port) as connection:
        connection.request("POST", "/echo", body=b"GET /trap HTTP/1.1\r\n\r\n")
        assert connection.getresponse().read() == b"GET /trap HTTP/1.1\r\n\r\n"
        ask(connection, "/next")
        assert [hit.path for hit in server.log] == ["/echo", "/next"]


def test_pipelined_requests_are_answered_in_order() -> None:
    site = StaticSite({"/slow": html("slow", delay_s=0.05), "/fast": html("fast")})
    with serve(site) as server, socket.create_connection(("127.0.0.1", server.port), 10) as raw:
        raw.sendall(
            b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        )
        received = b"".join(iter(lambda: raw.recv(65_536), b""))
    assert received.count(b"HTTP/1.1 200") == 2
    assert received.index(b"slow") < received.index(b"fast")


def test_slow_answer_does_not_delay_others() -> None:
    site = StaticSite({"/slow": html("slow", delay_s=3.0), "/fast": html("fast")})
    with serve(site) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(fetch, server.port, "/slow")
        while not server.log:
            time.sleep(0.001)
        fetch(server.port, "/fast")
        assert not slow.done()
        assert slow.result()[2] == b"slow"


def test_two_hundred_connections_at_once() -> None:
    with serve(StaticSite({"/": html("x", delay_s=0.02)})) as server:
        sockets = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(200)]
        for one in sockets:
            one.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert all(one.recv(65_536).startswith(b"HTTP/1.1 200") for one in sockets)
        assert server.stats["peak_open"] == 200
        for one in sockets:
            one.close()


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (Ending.CUT, http.client.IncompleteRead),
        (Ending.RESET, (ConnectionResetError, http.client.IncompleteRead)),
        (Ending.STALL, TimeoutError),
        (Ending.DROP, http.client.RemoteDisconnected),
    ],
)
def test_broken_endings(ending: Ending, error: type[Exception]) -> None:
    site = StaticSite({"/": Answer(body=b"x" * 1_000, ending=ending)})
    with serve(site) as server, wire(server.port) as connection:
        connection.timeout = 0.2
        with pytest.raises(error):
            ask(connection, "/")
        assert [hit.status for hit in server.log] == [0 if ending is Ending.DROP else 200]


@pytest.mark.parametrize("head", [b"nonsense\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n", b"GET / HTTP/1.1\r\nx\r\n\r\n"])
def test_bad_head_is_refused(head: bytes) -> None:
    with serve(StaticSite({})) as server, socket.create_connection(("127.0.0.1", server.port), 10) as raw:
        raw.sendall(head)
        assert raw.recv(65_536).startswith(b"HTTP/1.1 400")
        assert server.log == ()


def test_nth_counts_requests_of_a_target_since_the_reset() -> None:
    site = StaticSite({"/n": lambda request: text(str(request.nth))})
    with serve(site) as server, wire(server.port) as connection:
        assert [ask(connection, target)[2] for target in ("/n", "/n", "/n?a", "/n")] == [b"1", b"2", b"1", b"3"]
        server.reset()
        assert server.log == ()
        assert ask(connection, "/n")[2] == b"1"


def test_tree_site_serves_files_and_redirects_directories(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    (root / "sub dir").mkdir(parents=True)
    (root / "index.html").write_text("<p>root</p>")
    (root / "sub dir" / "index.html").write_text("<p>sub</p>")
    (root / "note.txt").write_text("note")
    with serve(TreeSite(root)) as server, wire(server.port) as connection:
        assert ask(connection, "/")[2] == b"<p>root</p>"
        status, headers, _ = ask(connection, "/sub%20dir")
        assert (status, headers["location"]) == (301, "/sub%20dir/")
        assert ask(connection, "/sub%20dir/")[2] == b"<p>sub</p>"
        assert ask(connection, "/note.txt")[1]["content-type"] == "text/plain; charset=utf-8"
        assert ask(connection, "/../secret")[0] == 404
        assert ask(connection, "/none.html")[0] == 404


def test_process_has_the_same_log_stats_and_reset() -> None:
    with spawn("--seed", "3", "--pages", "60", "--base-path", "/docs/") as remote:
        graph = GraphSite(3, 60, base_path="/docs/")
        assert fetch(remote.port, "/docs/")[2] == graph.body(graph.nodes[0], f"127.0.0.1:{remote.port}")
        (hit,) = remote.log()
        assert isinstance(hit, Hit)
        assert (hit.path, hit.status, hit.user_agent) == ("/docs/", 200, "probe")
        assert hit.at <= time.monotonic()
        assert remote.stats()["requests"] == 1
        remote.reset()
        assert remote.log() == ()


# The graph


@pytest.mark.parametrize(
    ("href", "key"),
    [
        ("b", "/x/b"),
        ("./b/", "/x/b"),
        ("../b#part", "/b"),
        ("../../../b", "/b"),
        ("/p//7/", "/p/7"),
        ("/p/%37", "/p/7"),
        ("/n/caf%c3%a9%2d1", "/n/caf%C3%A9-1"),
        ("/n/café", "/n/caf%C3%A9"),
        ("/q?z=1&utm_source=s&a=2", "/q?a=2&z=1"),
        ("?k=1", "/x/a?k=1"),
        ("", "/x/a?old=1"),
        ("#top", "/x/a?old=1"),
        (" /p/7\n", "/p/7"),
        ("HTTP://127.0.0.1:8000/p/./7", "/p/7"),
        ("//127.0.0.1:8000", "/"),
    ],
)
def test_reference_canonical_form(href: str, key: str) -> None:
    url = resolve(f"{BASE}/x/a?old=1", href)
    assert url is not None
    assert canonical(url) == BASE + key


@pytest.mark.parametrize("href", ["mailto:a@b", "javascript:void(0)", "tel:+1", "data:text/html,x"])
def test_reference_has_no_url_for_other_schemes(href: str) -> None:
    assert resolve(f"{BASE}/", href) is None


def test_graph_is_a_function_of_its_seed() -> None:
    one, same, other = GraphSite(5, 80), GraphSite(5, 80), GraphSite(6, 80)
    assert one.nodes == same.nodes
    assert one.expected(BASE + "/") == same.expected(BASE + "/")
    assert [one.body(node, "h") for node in one.nodes] == [same.body(node, "h") for node in same.nodes]
    assert one.nodes != other.nodes


def test_graph_has_every_kind_and_reaches_all_but_the_islands() -> None:
    graph = GraphSite(1, 400, base_path="/docs/")
    expected = graph.expected(BASE + "/docs/")
    assert {node.kind for node in graph.nodes} == set(Kind)
    keys = set(expected.order)
    assert all(BASE + node.path in keys for node in graph.nodes[:400])
    assert not any(BASE + node.path in keys for node in graph.nodes[400:])
    kinds = Counter(visit.kind for visit in expected.visits)
    assert kinds["redirect_loop"] == 2
    assert kinds["http_4xx"] >= 12
    assert kinds["http_5xx"] >= 1
    assert expected.alternates >= 10
    assert expected.discovered == len(expected.visited) + len(expected.failed) + len(expected.skipped)
    refused = expected.skipped_for("out_of_scope")
    assert any(ELSEWHERE in key for key in refused)
    assert any(key.startswith(f"{BASE}/docs-blog/") for key in refused)
    assert not any("decoy" in key for key in keys | refused)


def test_redirect_chains_have_up_to_four_steps() -> None:
    expected = GraphSite(2, 1_500).expected(BASE + "/")
    before = {visit.key: visit.referrer for visit in expected.visits if visit.source == "redirect"}

    def steps(key: str) -> int:
        return 1 + steps(before[key]) if key in before else 0

    assert max(map(steps, before)) == 4


def test_bodies_look_like_pages() -> None:
    graph = GraphSite(4, 200)
    sizes = [len(graph.body(node, "127.0.0.1:8000")) for node in graph.nodes if node.is_page]
    assert min(sizes) > 800
    assert max(sizes) < 20_000


def test_flaky_pages_fail_first_and_again_after_a_reset() -> None:
    graph = GraphSite(1, 400)
    flaky = [node for node in graph.nodes if node.failures]
    with serve(graph) as server, wire(server.port) as connection:
        for node in flaky:
            statuses = [ask(connection, node.path)[0] for _ in range(4)]
            assert statuses == [500] * node.failures + [200] * (4 - node.failures)
        server.reset()
        assert ask(connection, flaky[0].path)[0] == 500


def test_latency_is_seeded_and_jitter_is_not() -> None:
    def delays(graph: GraphSite) -> list[float]:
        requests = [Request(0, "GET", node.proper, {}, b"", 1, 9) for node in graph.nodes]
        return [graph.answer(request).delay_s for request in requests]

    seeded = delays(GraphSite(1, 60, max_delay_ms=50))
    assert seeded == delays(GraphSite(1, 60, max_delay_ms=50))
    assert 0 < max(seeded) <= 0.05
    assert delays(GraphSite(1, 60, jitter_ms=50)) != delays(GraphSite(1, 60, jitter_ms=50))


def test_max_depth_refuses_what_lies_deeper() -> None:
    graph = GraphSite(1, 400)
    whole, shallow = graph.expected(BASE + "/"), graph.expected(BASE + "/", max_depth=2)
    assert shallow.order == tuple(visit.key for visit in whole.visits if visit.depth <= 2)
    assert shallow.skipped_for("max_depth")
    assert not shallow.skipped_for("max_depth") & set(shallow.order)


class Anchors(HTMLParser):
    """The hrefs and the base of a page, by the standard library alone."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.base = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href is not None:
            self.hrefs.append(href)
        elif tag == "base" and href is not None:
            self.base = href


class WireCrawl:
    """A plain crawl over HTTP that shares no code with the reference, to check it."""

    def __init__(self, server_url: str, base_url: str) -> None:
        self.base = self.key(base_url)
        self.host = urlsplit(server_url).netloc
        self.levels: list[list[tuple[str, tuple[str, ...]]]] = [[]]
        self.known: set[str] = set()
        self.refused: set[str] = set()
        self.visits: list[tuple[str, int]] = []
        self.offer(base_url, 0, ())
        with wire(urlsplit(server_url).port or 0) as self.connection:
            for depth, level in enumerate(self.levels):
                for url, chain in level:
                    self.visit(url, depth, chain)

    @staticmethod
    def key(url: str) -> str:
        parts = urlsplit(url)
        path = quote(unquote("/".join(filter(None, parts.path.split("/")))), safe="/-._~")
        query = "&".join(sorted(item for item in parts.query.split("&") if not item.startswith("utm_")))
        return f"{parts.scheme}://{parts.netloc}/{path}" + (f"?{query}" if query else "")

    def offer(self, url: str, depth: int, chain: tuple[str, ...]) -> None:
        key = self.key(url)
        if urlsplit(url).scheme not in ("http", "https") or key in self.known:
            return
        if key != self.base and not key.startswith(self.base.rstrip("/") + "/"):
            self.refused.add(key)
            return
        self.known.add(key)
        if depth == len(self.levels):
            self.levels.append([])
        self.levels[depth].append((url, chain))

    def get(self, url: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        answer = ask(self.connection, target)
        tries = 1
        while answer[0] >= 500 and tries < 3:
            answer = ask(self.connection, target)
            tries += 1
        return answer

    @staticmethod
    def aim(url: str, headers: dict[str, str]) -> str:
        return join_url(url, headers["location"]).partition("#")[0]

    def visit(self, url: str, depth: int, chain: tuple[str, ...]) -> None:
        key = self.key(url)
        status, headers, body = self.get(url)
        asked = {url}
        while 300 <= status < 400 and self.key(aim := self.aim(url, headers)) == key:
            if aim in asked:
                break
            asked.add(url := aim)
            status, headers, body = self.get(url)
        self.visits.append((key, status))
        if 300 <= status < 400:
            if self.key(aim := self.aim(url, headers)) not in (*chain, key):
                self.offer(aim, depth, (*chain, key))
        elif status == 200 and "html" in headers["content-type"].lower():
            anchors = Anchors(body.decode())
            base = join_url(url, anchors.base)
            for href in anchors.hrefs:
                self.offer(join_url(base, href).partition("#")[0], depth + 1, ())


@pytest.mark.parametrize(("seed", "base_path"), [(1, "/"), (2, "/docs/"), (3, "/a/b/")])
def test_reference_agrees_with_a_plain_crawl_over_the_wire(seed: int, base_path: str) -> None:
    graph = GraphSite(seed, 250, base_path=base_path)
    with serve(graph) as server:
        base_url = server.url.rstrip("/") + base_path
        crawl = WireCrawl(server.url, base_url)
        expected = graph.expected(base_url)
        assert crawl.visits == [(visit.key, visit.status) for visit in expected.visits]
        assert crawl.refused == set(expected.skipped)
        assert Counter(hit.path for hit in server.log) == Counter(expected.requests())


def test_wide_site_presents_each_page_once() -> None:
    site = WideSite(total=5_000, fanout=70)
    links = [child for number in range(site.total) for child in site.children(number)]
    assert links == list(range(1, 5_000))
    with serve(site) as server:
        assert Anchors(fetch(server.port, "/")[2].decode()).hrefs == [f"/w/{n}" for n in range(1, 71)]
        assert fetch(server.port, "/w/4999")[0] == 200
        assert fetch(server.port, "/w/5000")[0] == 404


def test_redirect_helper() -> None:
    with serve(StaticSite({"/old": redirect("/new", 308)})) as server:
        status, headers, _ = fetch(server.port, "/old")
        assert (status, headers["location"]) == (308, "/new")


# The demo site


def test_demo_site_has_one_redirect_one_copy_one_broken_link_and_one_page_outside() -> None:
    with demo.serve() as url:
        root = url.removesuffix("docs/")
        crawl = WireCrawl(root, url)
        statuses = dict(crawl.visits)
        port = urlsplit(url).port or 0
        copies = {fetch(port, f"/docs/reference/{name}.html")[2] for name in ("units", "units-to-print")}
    assert Counter(statuses.values()) == {200: 18, 301: 1, 404: 1}
    assert statuses[f"{root}docs/getting-started.html"] == 301
    assert statuses[f"{root}docs/how-to/scan-a-barcode.html"] == 404
    assert crawl.refused == {f"{root}blog/larder-1-4.html"}
    assert len(copies) == 1


def test_demo_site_serves_images_and_keeps_the_connection() -> None:
    with demo.serve() as url, wire(urlsplit(url).port or 0) as connection:
        status, headers, body = ask(connection, "/docs/images/shelf.svg")
        assert (status, headers["content-type"]) == (200, "image/svg+xml")
        assert ask(connection, "/docs/images/shelf.svg", "HEAD")[1]["content-length"] == str(len(body))
        assert connection.sock is not None
        assert ask(connection, "/docs/../../__init__.py")[0] == 404

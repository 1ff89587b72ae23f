"""Issue 5, builds 1, 2 and 6: sessions of a run, what they leave in the books, and retries by kind."""

from __future__ import annotations

import gzip
import re
import socketserver
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import orbweb
from harness import Cli, assert_books_balance, deaf_port, wait_until
from orbweb.app.doctor import check_store
from orbweb.cli.output.crawls import queue_text
from orbweb.model import FailKind
from orbweb.store.maintenance.doctor import DoctorQueries
from servers.dns import NXDOMAIN, SERVFAIL, SILENCE, Reply, serve_names
from servers.pages import chain, page
from servers.site import Answer, Ending, Request, StaticSite, html, redirect, serve, text

FAST = {"project": "site", "rate": "max"}


# A run and its crawls.


def test_crawl_goes_on_with_a_paused_run_unless_it_is_not_incremental(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    space = orbweb.open(tmp_path / "w")
    config = tmp_path / "config.yaml"
    config.write_text("incremental: false\n")
    with serve(StaticSite(chain(9))) as server, caplog.at_level("INFO", "orbweb"):
        space.crawl(server.url, budget=4, **FAST)
        again = space.crawl(project="site")
        assert (again.run, again.crawl, again.crawl_visited, again.queued) == (1, 2, 4, 2), "the budget is stored"
        assert "resuming run 1 of site, 6 URLs queued" in caplog.messages
        anew = space.crawl(project="site", config=config)
        assert (anew.run, anew.crawl, anew.visited, anew.exit_code) == (2, 1, 4, 4)
        assert "finished run 1 of site (2 queued URLs skipped); starting a new run" in caplog.messages
        third = space.crawl(project="site")
        assert (third.run, third.crawl) == (3, 1), "incremental is stored too"
    assert [run.state for run in space.runs("site")] == ["completed", "completed", "paused"]
    assert space.runs("site")[0].skipped == {"finished": 2}
    assert_books_balance(space.path / "orbweb.db")


def test_a_finished_or_completed_run_cannot_be_resumed_and_the_error_says_why(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(3))) as server:
        space.crawl(server.url, budget=2, **FAST)
        assert space.finish("site").state == "completed"
        with pytest.raises(
            orbweb.NothingToDo, match=r"no paused run to resume: run 1 is completed, nothing is queued"
        ):
            space.resume("site")
        new = space.crawl(project="site", budget=None)
    assert (new.run, new.visited) == (2, 4), "a new run begins with an empty queue"


def test_every_crawl_has_its_row_and_the_run_their_totals(cli: Cli) -> None:
    space = orbweb.open(cli.workspace)
    answers = {
        "/": page("start", "/a", "/gone", "/b", "/r"),
        "/a": page("a"),
        "/b": page("a"),
        "/r": redirect("/a"),
    }
    with serve(StaticSite(answers)) as server:
        while space.crawl(server.url, budget=2, **FAST).exit_code == 4:
            pass
    (run,) = space.runs("site")
    rows = [(row.visited, row.failed, row.pages, row.ended_by) for row in run.crawls]
    assert rows == [(2, 0, 2, "budget"), (1, 1, 0, "budget"), (1, 0, 0, "exhausted")]
    assert [row.state for row in run.crawls] == ["stopped_early", "stopped_early", "completed_with_errors"]
    for field in ("visited", "failed", "pages", "bytes"):
        assert getattr(run, field) == sum(getattr(row, field) for row in run.crawls)
    assert run.seconds == pytest.approx(sum(row.seconds for row in run.crawls), abs=0.01)
    assert all(row.started_at >= run.started_at for row in run.crawls)
    lines = cli.ask("runs", "site").ok().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["run", "1"], ["├", "crawl"], ["├", "crawl"], ["└", "crawl"]]
    assert re.search(r"2 visited, 0 failed, 2 pages, \d+ B, budget 2$", lines[1])


def test_the_last_word_is_of_the_run_and_so_is_the_exit_code(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start", "/gone", "/a"), "/a": page("a")})) as server:
        assert cli("crawl", server.url, "--project", "site", "--rate", "max", "--budget", "2").code == 4
        last = cli("crawl", "--project", "site", "--budget", "9")
    assert last.code == 3
    assert "resuming run 1 of site, 1 URL queued" in last.err
    assert last.out.startswith("Crawled 2 URLs: 2 pages, 1 failed.\n")


def test_the_queue_tells_what_is_visited_what_is_left_and_whence(cli: Cli) -> None:
    answers = {
        "/": html("<title>start</title><h1>start</h1><img src=/i.txt><a href=/r>r</a><a href=/a>a</a>"),
        "/a": page("a"),
        "/r": redirect("/target"),
        "/target": page("target"),
        "/listed": page("listed"),
        "/i.txt": text("i"),
    }
    space = orbweb.open(cli.workspace)
    with serve(StaticSite(answers)) as server:
        answers["/sitemap.xml"] = text(f"{server.url}listed\n")
        space.crawl(server.url, budget=4, resources="check", **FAST)
        half = space.queue("site")
        assert half.visited_by_source == {"initial": 1, "resource": 1, "spider": 2}
        assert (half.by_source, half.can_resume) == ({"redirect": 1, "sitemap": 1}, True)
        shown = cli.ask("queue", "site").ok().out
        assert "can resume: yes" in shown
        assert "queued: redirect 1, sitemap 1" in shown
        space.resume("site", budget=None)
    queue = space.queue("site")
    assert (queue.run, queue.state, queue.crawls, queue.can_resume) == (1, "completed", (1, 2), False)
    assert (queue.visited, queue.failed, queue.queued, queue.total) == (6, 0, 0, 6)
    assert queue.visited_by_source == {"initial": 1, "redirect": 1, "resource": 1, "sitemap": 1, "spider": 2}
    assert_books_balance(cli.workspace / "orbweb.db")
    assert check_store(cli.workspace)["damages"] == []


def test_the_queue_has_the_names_of_the_api_and_ids_that_are_unique_in_the_workspace(cli: Cli) -> None:
    names = {"projectID", "hasQueue", "visited", "pending", "total", "canResume", "currentRunID", "runState"}
    todays = {"run", "state", "failed", "queued", "can_resume", "crawls", "by_source", "visited_by_source", "next"}
    space = orbweb.open(cli.workspace)
    with serve(StaticSite({"/": page("start", "/gone", "/a", "/b"), "/a": page("a"), "/b": page("b")})) as server:
        for project in ("one", "two"):
            space.crawl(server.url, project=project, rate="max", processes=0, budget=2)
            space.resume(project, budget=1)
        found = {name: cli.ask("queue", name, "--json").ok().json for name in ("one", "two")}
        for queue in found.values():
            assert names | todays | {"runCrawlIDs"} <= set(queue)
            assert (queue["visited"], queue["failed"], queue["pending"], queue["total"]) == (2, 1, 1, 3)
            assert (queue["hasQueue"], queue["canResume"], queue["runState"]) == (True, True, "paused")
            assert (queue["queued"], queue["can_resume"], queue["state"], queue["run"]) == (1, True, "paused", 1)
            assert queue["crawls"] == [1, 2]
        one, two = found["one"], found["two"]
        assert one["projectID"] != two["projectID"]
        assert one["currentRunID"] != two["currentRunID"]
        assert len({*one["runCrawlIDs"], *two["runCrawlIDs"]}) == 4
        space.resume("one", budget=None)
        done = cli.ask("queue", "one", "--json").ok().json
        assert (done["hasQueue"], done["canResume"], done["runState"]) == (False, False, "completed")
        assert (done["visited"], done["pending"], done["total"]) == (3, 0, 3)
        assert done["currentRunID"] == one["currentRunID"]
        assert done["runCrawlIDs"][:2] == one["runCrawlIDs"]
        space.recrawl("one", budget=None)
        later = space.queue("one")
        assert (later.run, later.project_id) == (2, one["projectID"])
        assert later.current_run_id not in (one["currentRunID"], two["currentRunID"])
        assert not {*later.run_crawl_ids} & {*done["runCrawlIDs"], *two["runCrawlIDs"]}


def test_a_queue_shows_parked_families() -> None:
    report = {
        "run": 1, "state": "completed", "crawls": [1], "visited": 3, "failed": 0, "queued": 0, "total": 3,
        "can_resume": False, "by_source": {}, "visited_by_source": {"initial": 1, "spider": 2}, "next": [],
        "traps": [{"pattern": "calendar: /cal/<date>", "parked": 7}],
    }  # fmt: skip
    assert queue_text(report).splitlines()[1:] == [
        "visited or failed: initial 1, spider 2",
        "queued: nothing",
        "parked: 7 URLs of calendar: /cal/<date>",
    ]


def test_stopped_before_the_sitemaps_were_read_a_run_has_work_and_says_so(cli: Cli) -> None:
    """The base URL is visited and has no links, so nothing is queued; what the sitemap lists is still to come."""
    asked: list[str] = []

    def slow(request: Request) -> Answer:
        asked.append(request.target)
        return text("", 503) if len(asked) == 1 else text(f"{server.url}listed\n")

    answers = {"/": page("start"), "/listed": page("listed"), "/sitemap.xml": slow}
    brake = {"ORBWEB_FETCH__BACKOFF_S": "20", "ORBWEB_FETCH__BACKOFF_CAP_S": "20"}
    with serve(StaticSite(answers)) as server:
        process = cli.start("crawl", server.url, "--rate", "max", "--project", "site", env=brake)
        wait_until(lambda: asked)
        assert "stopped" in cli("stop", "site").ok().out
        process.communicate(timeout=120)
        assert process.returncode == 4
        status = cli.check("site")
        assert (status["state"], status["visited"], status["queued"]) == ("paused", 1, 0)
        assert cli.ask("queue", "site", "--json").ok().json["can_resume"]
        done = cli.resume("site").ok(0).json
    assert (done["visited"], done["run_state"]) == (2, "completed")


def test_a_url_visited_twice_would_be_found(tmp_path: Path) -> None:
    """The index forbids it; so that the proofs do not rest on the index, both ask the rows themselves."""
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(2))) as server:
        space.crawl(server.url, budget=2, **FAST)
        space.resume("site")
    database = space.path / "orbweb.db"
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP INDEX visits_by_url")
        columns = [row[1] for row in db.execute("PRAGMA table_info(visits)")]
        copied = ", ".join({"number": "99", "crawl_id": "2"}.get(name, name) for name in columns)
        db.execute(f"INSERT INTO visits SELECT {copied} FROM visits WHERE number = 1")
        db.commit()
    with closing(DoctorQueries(database)) as books:
        assert [problem for _, _, problem in books.all("visited_twice")] == [f"{server.url} was visited 2 times"]
    with pytest.raises(AssertionError, match="visited in two crawls of one run"):
        assert_books_balance(database)


# Retries, by kind.

KINDS: dict[FailKind, str] = {
    FailKind.HTTP_4XX: "/gone",
    FailKind.HTTP_5XX: "/broken",
    FailKind.TIMEOUT: "/stalled",
    FailKind.INTERRUPTED: "/reset",
    FailKind.PROTOCOL: "/negative",
    FailKind.TOO_LARGE: "/large",
    FailKind.BOMB: "/bomb",
    FailKind.BAD_ENCODING: "/coded",
    FailKind.REDIRECT_LOOP: "/self",
    FailKind.TOO_MANY_REDIRECTS: "/chain/10",
    FailKind.BAD_REDIRECT: "/data",
    FailKind.BLOCKED_ADDRESS: "http://127.0.0.1:1/",
    FailKind.CONNECT: "http://dead.test/",
    FailKind.TLS: "https://plain.test/",
    FailKind.DNS_NXDOMAIN: "http://none.test/",
    FailKind.DNS_NO_ADDRESS: "http://empty.test/",
    FailKind.DNS_SERVFAIL: "http://broken.test/",
    FailKind.DNS_TIMEOUT: "http://silent.test/",
}
HTML = ("Content-Type", "text/html")
ANSWERS: dict[str, Answer] = {
    "/broken": html("down", 500),
    "/stalled": Answer(200, (HTML,), b"x" * 100, ending=Ending.STALL),
    "/reset": Answer(200, (HTML,), b"x" * 100, ending=Ending.RESET),
    "/negative": Answer(200, (HTML, ("Content-Length", "-5")), b"x"),
    "/large": Answer(200, (HTML,), b"x" * 3_500_000),
    "/bomb": Answer(200, (HTML, ("Content-Encoding", "gzip")), gzip.compress(bytes(2_500_000))),
    "/coded": Answer(200, (HTML, ("Content-Encoding", "unheard-of")), b"x"),
    "/self": redirect("/self"),
    "/data": redirect("data:text/html,x"),
    **{f"/chain/{number}": redirect(f"/chain/{number + 1}") for number in range(12)},
}
ZONE = {
    "none.test": Reply(rcode=NXDOMAIN),
    "empty.test": Reply(),
    "broken.test": Reply(rcode=SERVFAIL),
    "silent.test": SILENCE,
}
CONFIG = """
fetch: {{retries: 0, timeout_s: 1, connect_timeout_s: 0.4, max_bytes: 3000000, dns_servers: ["{dns}"]}}
robots: {{obey: false}}
sitemap: {{mode: "off"}}
scope: {{external_hops: 1}}
"""


@contextmanager
def speaks_no_tls() -> Iterator[int]:
    """A port at which every hello is answered with words of another protocol."""

    class Answering(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1000)
            self.request.sendall(b"HTTP/1.0 400 speak HTTP\r\n\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_retry_queues_the_failed_urls_of_one_kind(tmp_path: Path) -> None:
    hrefs = [href for href in KINDS.values() if not href.startswith("/chain")]
    with (
        serve_names(ZONE) as names,
        deaf_port() as dead,
        speaks_no_tls() as plain,
        serve(StaticSite({"/": page("start", *hrefs, "/chain/0"), **ANSWERS})) as server,
    ):
        config = tmp_path / "config.yaml"
        config.write_text(CONFIG.format(dns=names.address))
        space = orbweb.open(tmp_path / "w")
        pins = [f"dead.test:80:127.0.0.1:{dead}", f"plain.test:443:127.0.0.1:{plain}"]
        first = space.crawl(server.url, config=config, resolve=pins, **FAST)
        failed = {row.kind: row.url for row in space.failed("site")}
        own = server.url.rstrip("/")
        assert failed == {kind: own + href if href[0] == "/" else href for kind, href in KINDS.items()}
        for count, (kind, url) in enumerate(failed.items(), 1):
            assert space.retry("site", kind=kind) == 1, kind
            queue = space.queue("site")
            assert queue.next[-1].url == url
            assert (queue.queued, queue.failed) == (count, len(KINDS) - count)
            assert space.retry("site", kind=kind) == 0, "it is queued already"
            assert_books_balance(space.path / "orbweb.db")
        again = space.resume("site")
    assert (again.crawl_failed, again.failed, again.exit_code) == (len(KINDS), first.failed, 3)
    assert {row.kind: row.url for row in space.failed("site")} == failed
    assert_books_balance(space.path / "orbweb.db")
    assert check_store(space.path)["damages"] == []


@pytest.mark.parametrize("kind", [kind for kind in FailKind if kind not in KINDS])
def test_retry_knows_every_kind(tmp_path: Path, kind: str) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite({"/": page("start", "/gone")})) as server:
        space.crawl(server.url, **FAST)
    assert space.retry("site", kind=kind) == 0
    assert space.status("site").state == "completed", "nothing was queued, so the run is not reopened"


def test_an_unknown_kind_is_refused_with_those_there_are(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start", "/gone")})) as server:
        orbweb.crawl(server.url, workspace=cli.workspace, **FAST)
    refused = cli("retry", "site", "--kind", "nonsense")
    assert refused.code == 2
    assert "http_4xx, http_5xx, " in refused.err
    assert cli.check("site")["failed"] == 1

"""The pages of the server as a browser without JavaScript uses them: projects, a new crawl, a project, lists."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from harness import Cli, wait_until
from servers.pages import page
from servers.site import Answer, StaticSite, html, redirect, serve, text
from serving import TOKEN, served, site_of

HTML = {"accept": "text/html"}
HOSTILE = '"><script>alert(1)</script>'
SITE: dict[str, Answer] = {
    "/robots.txt": text("User-agent: *\nDisallow: /private/\n"),
    "/": page("start", "/a", "/b", "/private/x", "/gone", "/old", "/archive/1", f"/c?x={HOSTILE}"),
    "/a": page("a", "/b"),
    "/b": page("b", "/c"),
    "/c": page(HOSTILE),
    "/old": redirect("/a"),
    "/archive/1": page("archive"),
}


class Browser:
    """A browser without JavaScript: cookies, links and forms."""

    def __init__(self, url: str, token: str = TOKEN) -> None:
        self.http = httpx.Client(base_url=url, timeout=60, trust_env=False, headers=HTML)
        answer = self.http.post("/login", data={"token": token, "next": "/"})
        assert answer.status_code == 303, answer.text

    def get(self, path: str, status: int = 200) -> str:
        answer = self.http.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
        return answer.text

    def post(self, path: str, form: dict[str, str]) -> httpx.Response:
        found = re.search(r'name="form_token" value="([^"]*)"', self.get("/keys"))
        assert found is not None
        return self.http.post(path, data={"form_token": found[1], **form})


class Visited(NamedTuple):
    browser: Browser
    cli: Cli
    site: str


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visited]:
    workspace = tmp_path_factory.mktemp("ui") / "workspace"
    cli = Cli(workspace)
    with serve(StaticSite(SITE)) as site:
        options = ("--rate", "max", "--processes", "0", "--project", "docs", "--exclude", "/archive/")
        cli("crawl", site.url, *options, "--budget", "2").ok(4)
        cli("resume", "docs", "--budget", "none").ok(3)
        cli("crawl", site.url, "--rate", "max", "--project", "part", "--budget", "2").ok(4)
        with served(workspace, "--private-host", site_of(site.url)) as server:
            browser = Browser(server.url)
            yield Visited(browser, cli, site.url)
            browser.http.close()


def links(text: str) -> set[str]:
    return {unescape(found) for found in re.findall(r'href="(/[^"#]*)"', text)}


def words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_projects_show_the_counts_of_the_command_line(visited: Visited) -> None:
    shown = visited.browser.get("/")
    rows = {row["project"]: row for row in visited.browser.http.get("/projects.json").json()}
    for status in visited.cli.ask("status", "--json").ok().json:
        row = rows[status["project"]]
        assert (row["pages"], row["failed"], row["queued"]) == (
            status["pages"],
            status["failed"],
            status["queued"],
        )
        assert f"/p/{status['project']}" in links(shown)
    assert "/?state=paused" in links(shown)
    assert "part" not in words(visited.browser.get("/?state=completed_with_errors").partition("<tbody>")[2])
    lines = visited.browser.http.get("/projects.csv?sort=project").text.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["project", "docs", "part"]
    visited.browser.get("/?sort=nonsense", 422)
    assert [row["project"] for row in visited.browser.http.get("/projects.json?q=PART").json()] == ["part"]
    assert "No project is paused and has “x” in its name" in unescape(visited.browser.get("/?state=paused&q=x"))
    assert 'aria-sort="ascending"><a href="/?sort=active">Active' in shown, "the last column shows ages"


def test_a_project_shows_its_runs_and_crawls_as_a_tree(visited: Visited) -> None:
    shown = visited.browser.get("/p/docs")
    (run,) = visited.cli.ask("runs", "docs", "--json").ok().json
    text = words(shown)
    assert f"Run 1 discovered {run['discovered']} URLs : {run['visited']} visited ( {run['pages']} pages" in text
    assert text.index("run 1") < text.index("crawl 2") < text.index("crawl 1")
    assert "stopped early (budget) 2 used" in text
    for reason, count in run["skipped"].items():
        assert f"/p/docs/runs/latest/skipped?reason={reason}" in links(shown)
        assert len(visited.browser.http.get(f"/p/docs/runs/1/skipped.json?reason={reason}").json()) == count
    assert "robots.txt line 2: Disallow: /private/" in text
    assert 'action="/p/docs/recrawl"' in shown
    assert 'action="/p/part/resume"' in visited.browser.get("/p/part")


def test_the_totals_of_a_run_are_those_of_status(visited: Visited) -> None:
    status = visited.cli.ask("status", "docs", "--json").ok().json
    noun = "alternate" if status["alternates"] == 1 else "alternates"
    wait_until(lambda: f"{status['alternates']} {noun}," in words(visited.browser.get("/p/docs")))


def test_the_books_balance_on_the_page_of_a_project(visited: Visited) -> None:
    for project in ("docs", "part"):
        wait_until(lambda project=project: "alternate" in words(visited.browser.get(f"/p/{project}")))
        shown = words(visited.browser.get(f"/p/{project}")).partition(" discovered ")[2].partition(" Runs ")[0]
        discovered, done, pages, alternates, others, failed, queued, skipped = map(
            int, re.findall(r"\d+", shown)[:8]
        )
        assert discovered == done + failed + queued + skipped, shown
        assert done == pages + alternates + others, shown
        status = visited.cli.ask("status", project, "--json").ok().json
        assert (discovered, done, pages) == (status["discovered"], status["visited"], status["pages"])
        found = set(re.findall(r'<p class="sentence">.*?</p>', visited.browser.get(f"/p/{project}"), re.DOTALL))
        counted = {path.rpartition("/")[2] for path in links(found.pop())}
        assert counted == {name for name, count in (("pages", pages), ("failed", failed), ("queue", queued),
                                                    ("skipped", skipped)) if count}  # fmt: skip


def test_queue_and_skipped_are_lists_with_twins(visited: Visited) -> None:
    queue = visited.cli.ask("queue", "part", "--json").ok().json
    rows = visited.browser.http.get("/p/part/runs/latest/queue.json").json()
    assert len(rows) == queue["queued"]
    shown = words(visited.browser.get("/p/part/runs/latest/queue"))
    assert f"{len(rows)} of {len(rows)}" in shown
    assert all(row["place"] in shown for row in rows)
    assert "1 of" in words(visited.browser.get("/p/part/runs/latest/queue?match=/archive/"))
    assert "Nothing is queued." in visited.browser.get("/p/docs/runs/1/queue")
    visited.browser.get("/p/docs/runs/latest/skipped?after=nonsense", 422)
    visited.browser.get("/p/docs/runs/nonsense/skipped", 409)


def test_every_link_of_these_pages_to_these_pages_resolves(visited: Visited) -> None:
    own = re.compile(r"/(\?.*|projects\..*|new.*|keys|static/.*|p/[a-z]+(/finish|/runs/[^/]+/(queue|skipped).*)?)")
    seen, waiting = set[str](), ["/", "/p/docs", "/p/part"]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        answer = visited.browser.http.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        if "text/html" in answer.headers["content-type"]:
            waiting += [link for link in links(answer.text) - seen - set(waiting) if own.fullmatch(link)]
    assert len(seen) > 20


def test_titles_and_urls_of_a_site_are_only_text(visited: Visited) -> None:
    for path in ("/", "/p/docs", "/p/part", "/p/part/runs/latest/queue", "/p/docs/runs/latest/skipped"):
        assert "<script>alert" not in visited.browser.get(path)
    for path in (f"/?state={HOSTILE}", f"/new?url={HOSTILE}&exclude={HOSTILE}", f"/p/{HOSTILE}"):
        answer = visited.browser.http.get(path)
        assert "<script>alert" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_pages_have_nothing_inline_and_nothing_foreign(visited: Visited) -> None:
    for path in ("/", "/new", "/keys", "/p/docs", "/nothing"):
        text = visited.browser.http.get(path).text
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", text), path
        assert not re.search(r'(?:src|action)="(?:[a-z]+:)?//', text), path


def test_a_form_that_is_not_right_keeps_what_was_typed(visited: Visited) -> None:
    form = {"url": visited.site, "exclude": "/ok/\n(", "workers": "many"}
    answer = visited.browser.post("/new", form)
    assert answer.status_code == 422
    assert "is not a whole number" in unescape(answer.text)
    assert "/ok/\n(" in unescape(answer.text)
    assert "Workers</a>: 'many' is not a whole number" in unescape(answer.text), "the summary links to the field"
    answer = visited.browser.post("/new", {**form, "workers": ""})
    assert answer.status_code == 422
    assert re.search(r'id="exclude"[^>]*aria-invalid="true"', answer.text), answer.text
    assert "nothing was started" in answer.text


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "http://10.0.0.1/",
            "10.0.0.1:80 is not a public address, and this server may not crawl it; nothing was sent",
        ),
        ("http://[bad", "is not a URL"),
        ("ftp://docs.example/", "only http and https URLs can be crawled"),
    ],
)
def test_a_url_that_cannot_be_crawled_is_refused_in_words(visited: Visited, url: str, said: str) -> None:
    for path, status in (("/new", {403, 422}), ("/new/plan", {200})):
        answer = visited.browser.post(path, {"url": url})
        assert answer.status_code in status
        assert said in unescape(answer.text)
        assert f">{escape(url)}</textarea>" in answer.text, "what was typed is kept"


def test_the_form_says_what_the_project_will_be_called(visited: Visited) -> None:
    part = visited.browser.post("/new/plan?fragment=1", {"url": visited.site})
    name = re.search(r"data-project-name>([^<]+)<", part.text)
    assert name is not None
    later = visited.browser.post("/new", {"url": visited.site, "later": "1"})
    assert later.headers["location"] == f"/p/{name[1]}"
    visited.browser.post(f"/p/{name[1]}/delete", {})


def test_the_plan_is_shown_without_javascript(visited: Visited) -> None:
    form = {"url": visited.site, "exclude": "/archive/", "rate": "max"}
    whole = visited.browser.post("/new/plan", form)
    assert "can be crawled" in words(whole.text)
    assert "scope.exclude: /archive/" in words(whole.text)
    assert "<form" in whole.text
    part = visited.browser.post("/new/plan?fragment=1", form)
    assert "can be crawled" in words(part.text)
    assert "<html" not in part.text


def test_a_crawl_is_started_resumed_and_finished_by_forms(visited: Visited) -> None:
    later = visited.browser.post("/new", {"url": visited.site, "project": "made", "budget": "1", "later": "1"})
    assert (later.status_code, later.headers["location"]) == (303, "/p/made")
    shown = visited.browser.get("/p/made")
    assert "Not crawled yet." in shown
    assert "made is stored, nothing is crawled yet" in shown
    assert "made is stored" not in visited.browser.get("/p/made")

    def pages_are(state: str) -> bool:
        return visited.cli.ask("status", "made", "--json").ok().json.get("state") == state

    def is_sent(form: str, to: str) -> bool:
        """Refused as long as the process of the crawl before is ending."""
        answer = visited.browser.post(f"/p/made/{form}", {})
        assert answer.status_code in (303, 409), answer.text
        return answer.headers.get("location") == to

    for form in ("crawl", "resume"):
        wait_until(lambda form=form: is_sent(form, "/p/made/live"))
        wait_until(lambda: visited.browser.http.get("/projects.json?state=paused").text.count('"made"') == 1)
    assert "cannot be undone" in visited.browser.get("/p/made/finish")
    wait_until(lambda: is_sent("finish", "/p/made"))
    assert "Run 1 is completed" in visited.browser.get("/p/made")
    assert pages_are("completed")
    visited.browser.get("/p/made/finish", 409)


def test_a_project_is_renamed_and_deleted(visited: Visited) -> None:
    browser = visited.browser
    browser.post("/new", {"url": visited.site, "project": "draft", "later": "1"})
    for name, problem in (
        ("12", "digits alone"),
        ("a/b", "use up to 100 letters"),
        ("docs", "there is a project"),
    ):
        refused = browser.post("/p/draft/rename", {"name": name})
        assert refused.status_code == 422
        assert problem in unescape(refused.text)
        assert f'value="{name}"' in refused.text, "what was typed is kept"
    renamed = browser.post("/p/draft/rename", {"name": "final"})
    assert (renamed.status_code, renamed.headers["location"]) == (303, "/p/final")
    shown = browser.get("/p/final")
    assert "draft is now final" in shown
    assert 'action="/p/final/rename"' in shown, "the toast has Undo"
    browser.get("/p/draft", 404)
    assert "nothing crawled yet" in words(browser.get("/p/final/delete"))
    deleted = browser.post("/p/final/delete", {})
    assert (deleted.status_code, deleted.headers["location"]) == (303, "/")
    assert "final is deleted: 0 runs" in browser.get("/")
    browser.get("/p/final", 404)


def test_a_name_of_digits_is_not_an_id(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "digits")
    with serve(StaticSite(SITE)) as site:
        for name in ("other", "1"):
            cli("crawl", site.url, "--rate", "max", "--processes", "0", "--project", name, "--budget", "1").ok(4)
        with served(tmp_path / "digits") as server:
            browser = Browser(server.url)
            assert server.call("POST", "/projects/other/exports", {"to": "jsonl"}, status=202)["id"] == 1
            assert server.ended(1)["state"] == "completed"
            assert browser.post("/p/1/delete", {}).headers["location"] == "/"
            assert server.job(1)["state"] == "completed", "the job of project 1 by its id is still there"
            assert [each["name"] for each in server.get("/projects")["items"]] == ["other"]
            browser.http.close()


def test_what_a_delete_would_lose_is_said_before(visited: Visited) -> None:
    status = visited.cli.ask("status", "docs", "--json").ok().json
    shown = words(visited.browser.get("/p/docs/delete"))
    assert f"1 run with {status['pages']} pages" in shown
    assert "Delete 1 run" in shown
    assert visited.browser.post("/p/docs/delete", {"form_token": "wrong"}).status_code == 403
    assert visited.cli.ask("status", "docs", "--json").ok().json["pages"] == status["pages"]


def test_a_crawl_at_work_is_in_the_way_and_one_that_waits_can_be_taken_back(tmp_path: Path) -> None:
    leaves = {f"/{number}": html("slow", delay_s=0.5) for number in range(200)}
    slow = StaticSite({"/": page("start", *leaves), **leaves})
    with serve(slow) as site, served(tmp_path / "busy", "--private-host", site_of(site.url)) as server:
        browser = Browser(server.url)
        assert browser.post("/new", {"url": site.url, "project": "slow"}).headers["location"] == "/p/slow/live"
        wait_until(lambda: "crawl 1 in progress" in words(browser.get("/p/slow")))
        again = browser.post("/new", {"url": site.url, "project": "slow", "exclude": "/9"})
        assert again.status_code == 409
        text = words(again.text)
        assert "slow is being crawled already Crawl 1 of run 1 began" in text, text
        assert "nothing was started and nothing was changed" in text
        assert "scope.exclude /9" in text, "what was asked for is kept"
        assert f"/new?url={site.url.replace(':', '%3A').replace('/', '%2F')}&project=slow&exclude=%2F9" in links(
            again.text
        )
        assert 'action="/p/slow/stop"' in again.text

        browser.post("/new", {"url": f"{site.url}1", "project": "second"})
        shown = browser.get("/p/second")
        assert "waits for its turn: it is the next" in words(shown)
        assert "/?state=waiting" in links(shown)
        assert "second" in words(browser.get("/?state=waiting").partition("<tbody>")[2])
        resumed = browser.post("/p/second/crawl", {})
        assert resumed.status_code == 409
        assert "Take it out of the queue" in words(resumed.text)
        taken = browser.post("/p/second/cancel", {})
        assert (taken.status_code, taken.headers["location"]) == (303, "/p/second")
        shown = browser.get("/p/second")
        assert "The crawl is taken out of the queue" in shown
        assert "Not crawled yet." in shown
        assert browser.post("/p/second/cancel", {}).status_code == 409
        assert browser.post("/p/slow/delete", {}).status_code == 409
        browser.http.close()


def test_a_problem_is_shown_in_the_frame_of_its_project(visited: Visited) -> None:
    answer = visited.browser.post("/p/docs/resume", {})
    assert answer.status_code == 409
    assert "/p/docs/runs/latest/pages" in links(answer.text)
    assert "nothing_queued" in answer.text
    assert "/p/docs" in links(answer.text.partition('class="actions"')[2])
    text = visited.browser.get("/p/missing/live", 404)
    assert "There is no such project" in text
    assert "No project 'missing' (projects: " in unescape(text)
    assert str(visited.cli.workspace.parent) not in text, "no path of this machine"
    assert "/new" in links(text.partition('class="actions"')[2])


def test_a_token_that_may_only_read_sees_no_buttons_that_it_may_not_press(visited: Visited) -> None:
    made = visited.browser.post("/tokens", {"name": "reader", "scope": "read"})
    token = re.search(r"<code>([\w-]{30,})</code>", made.text)
    assert token is not None
    reader = Browser(str(visited.browser.http.base_url), token[1])
    for path in ("/", "/p/docs", "/p/part"):
        shown = reader.get(path).partition("<main")[2].partition("</main>")[0]
        assert 'method="post"' not in shown, path
        assert "/new" not in links(reader.get(path)), path
    refused = reader.post("/p/part/resume", {})
    assert refused.status_code == 403
    assert "This token may not do that" in refused.text
    assert "/login" in links(refused.text.partition('class="actions"')[2])
    reader.get("/tokens", 403)
    reader.http.close()


def test_a_form_without_its_token_changes_nothing(visited: Visited) -> None:
    answer = visited.browser.http.post("/p/part/finish", data={"x": "1"})
    assert answer.status_code == 403
    assert "The form is out of date" in answer.text
    assert visited.cli.ask("status", "part", "--json").ok().json["state"] == "paused"


def test_the_theme_is_a_cookie(visited: Visited) -> None:
    answer = visited.browser.post("/theme", {"theme": "dark", "next": "/keys"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/keys")
    assert 'data-theme="dark"' in visited.browser.get("/keys")
    answer = visited.browser.post("/theme", {"theme": "", "next": "//elsewhere.example/"})
    assert answer.headers["location"] == "/"
    assert "data-theme=" not in visited.browser.get("/keys").partition("<head>")[0]


def test_a_port_in_use_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = Cli(tmp_path / "new")("serve", "--demo", "--port", str(port))
    assert refused.code == 2
    assert f"127.0.0.1:{port}: another program uses this port; choose another --port" in refused.err
    assert "demo site" not in refused.err
    assert not (tmp_path / "new").exists()


def test_an_empty_workspace_begins_with_a_url(tmp_path: Path) -> None:
    with served(tmp_path / "empty") as server:
        browser = Browser(server.url)
        shown = browser.get("/")
        assert "No projects in this workspace yet" in shown
        assert 'action="/new"' in shown
        assert "There is no such project" in browser.get("/p/nothing", 404)
        assert "There is no such page" in browser.get("/nothing", 404)
        browser.http.close()

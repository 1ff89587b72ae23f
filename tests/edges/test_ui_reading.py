"""Changes, search, settings, exports and tokens as pages, over a real socket and without JavaScript."""

from __future__ import annotations

import html as markup
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import orbweb
from harness import wait_until
from orbweb.app import EffectiveSetting
from orbweb.server.ui.hunks import compared, hunks_of
from orbweb.server.ui.search import parts_of
from orbweb.server.ui.setting_form import changed, errors_of
from servers.site import Answer, Request, html, serve
from serving import TOKEN, RunningServer, served, site_of

HOSTILE = "<script>alert(1)</script>"
TEXT = "<p>The larder keeps a journal of every batch, and the journal is plain text that anyone can read.</p>"


class TwoEditions:
    """A site whose pages change when `later` is set."""

    later = False

    def answer(self, request: Request) -> Answer:
        now, shown = self.later, markup.escape(HOSTILE)
        links = " ".join(f'<a href="/{name}">{name}</a>' for name in self.links())
        used = f"If there is not enough, {'what there is is taken' if now else 'nothing is taken'}."
        pages = {
            "/": f"<title>Home</title><h1>Home</h1>{TEXT}{links}",
            "/commands": f"<title>{shown}</title><h1>Commands</h1>{TEXT}<h2>Use</h2><p>{used}</p>",
            "/dated": f"<title>Dated</title><h1>Dated</h1>{TEXT}<p>Updated on 2026-11-{18 if now else 11}.</p>",
            "/same": f"<title>Same</title><h1>Same</h1>{TEXT}<p>{shown} stays.</p>",
            "/old": f"<title>Old</title><h1>Old</h1>{TEXT}<p>Only of the first edition.</p>",
            "/new": f"<title>New</title><h1>New</h1>{TEXT}<p>Only of the second edition.</p>",
        }  # fmt: skip
        gone = "/old" if now else "/new"
        found = pages.get(request.path)
        return html("gone", status=404) if found is None or request.path == gone else html(found)

    def links(self) -> list[str]:
        return ["commands", "dated", "same", "new" if self.later else "old"]


class Browser:
    """A browser without JavaScript: a login, pages and forms."""

    def __init__(self, server: RunningServer) -> None:
        self.http = httpx.Client(base_url=server.url, timeout=60, trust_env=False, headers={"accept": "text/html"})
        self.post("/login", {"token": TOKEN}, token="")

    def get(self, path: str, status: int = 200) -> str:
        found = self.http.get(path, follow_redirects=True)
        assert found.status_code == status, f"{path}: {found.status_code} {found.text[-600:]}"
        return found.text

    def post(self, path: str, fields: dict[str, str], *, token: str | None = None) -> httpx.Response:
        if token is None:
            hidden = re.search(r'name="([a-z_]+)" value="([^"]+)"', self.get("/"))
            assert hidden is not None
            fields = {hidden[1]: hidden[2], **fields}
        return self.http.post(path, data=fields, headers={"origin": str(self.http.base_url).rstrip("/")})


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Path, RunningServer]]:
    workspace, site = tmp_path_factory.mktemp("ui") / "workspace", TwoEditions()
    with serve(site) as listener, served(workspace, "--private-host", site_of(listener.url)) as server:
        server.crawl(listener.url, project="larder")
        site.later = True
        started = server.post("/recrawl/larder", {"rate": "max", "refresh": True})
        server.ended(started["jobID"])
        browser = Browser(server)
        yield browser, workspace, server
        browser.http.close()


def changes(browser: Browser, path: str = "/p/larder/diff/1..2") -> str:
    wait_until(lambda: "are being compared" not in browser.get(path))
    return browser.get(path)


def test_changes_are_those_of_the_command_line(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, workspace, _ = crawled
    page, diff = changes(browser), orbweb.open(workspace).diff("larder", 1, 2)
    for kind in ("added", "removed", "moved", "redirected", "failing", "changed"):
        assert re.search(rf"{kind} {len(getattr(diff, kind))}</a>", page), kind
    assert len(diff.noise) == 1
    assert "1 page</span>" in page
    assert f"{diff.unchanged} unchanged, not listed" in page
    assert "<mark>nothing</mark>" in page or "<mark>nothing is" in page
    assert "## Use" in page
    assert re.search(r'<option value="2" selected>run 2, \d', page)
    for kind in ("added", "removed"):
        listed = browser.http.get("/p/larder/diff/1..2.json", params={"kind": kind}).json()
        assert [each["url"] for each in listed] == [each.url for each in getattr(diff, kind)]


def test_noise_is_hidden_until_it_is_asked_for(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, _, _ = crawled
    assert ">/dated</a>" not in changes(browser)
    assert ">/dated</a>" in changes(browser, "/p/larder/diff/1..2?noise=1")


def test_a_change_that_was_seen_is_marked_and_can_be_left_out(
    crawled: tuple[Browser, Path, RunningServer],
) -> None:
    browser, workspace, _ = crawled
    url = next(each.url for each in orbweb.open(workspace).diff("larder", 1, 2).changed if "commands" in each.url)
    changes(browser)
    marked = browser.post("/p/larder/diff/1..2/seen", {"url": url, "seen": "1", "asked": "?kind=changed"})
    assert (marked.status_code, marked.headers["location"]) == (303, "/p/larder/diff/1..2?kind=changed")
    assert f'id="{url}"' not in browser.get("/p/larder/diff/1..2?unseen=1")
    browser.post("/p/larder/diff/1..2/seen", {"url": url, "seen": "0"})
    assert f'id="{url}"' in browser.get("/p/larder/diff/1..2?unseen=1")
    elsewhere = browser.post("/p/larder/diff/1..2/seen", {"url": url, "seen": "0", "asked": "//evil.example"})
    assert elsewhere.headers["location"] == "/p/larder/diff/1..2"


def test_runs_that_cannot_be_compared_say_so(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, _, _ = crawled
    assert "There is no such page" in browser.get("/p/larder/diff/x..y", status=404)
    assert "has no run 99" in browser.get("/p/larder/diff/1..99", status=409)


def searched(browser: Browser, path: str) -> str:
    """A page of hits, when they are known."""
    wait_until(lambda: "data-counting" not in browser.get(path))
    return browser.get(path)


def test_search_marks_the_words_and_escapes_the_rest(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, workspace, _ = crawled
    page = searched(browser, "/p/larder/runs/latest/search?q=journal+-edition")
    hits = orbweb.open(workspace).search("larder", "journal -edition")
    assert page.count('class="hit"') == len(hits) > 0
    assert "<mark>journal</mark>" in page
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    rows = browser.http.get("/p/larder/runs/latest/search.json", params={"q": "journal -edition"}).json()
    assert [each["url"] for each in rows] == [each.url for each in hits]
    assert "No page has all of this." in searched(browser, "/p/larder/runs/1/search?q=nothingofthesort")
    assert '<a href="/p/larder/runs/latest/search?q=journal">larder</a>' in searched(browser, "/search?q=journal")


def test_settings_show_where_each_value_comes_from(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, workspace, _ = crawled
    page = browser.get("/p/larder/settings")
    shown = set(re.findall(r'<label for="([a-z_.]+)">', page))
    assert {"scope.exclude", "limits.rate", "fetch.timeout_s", "user_agent"} <= shown
    assert not [key for key in shown if key.startswith(("proxy.", "store.", "serve.", "fetch.headers", "resolve"))]
    assert str(workspace) not in page


def test_a_wrong_setting_is_told_at_its_field_and_nothing_is_saved(
    crawled: tuple[Browser, Path, RunningServer],
) -> None:
    browser, workspace, _ = crawled
    before = orbweb.open(workspace).settings("larder").settings
    typed = {"scope.exclude": "/archive/\n/(?!en/)x/", "fetch.timeout_s": "soon", "limits.workers": "7"}
    answer = browser.post("/p/larder/settings", typed)
    assert answer.status_code == 422
    assert "2 settings are not right; nothing was saved." in answer.text
    assert re.search(r'id="scope.exclude-under" class="under error">.*?line 2: ', answer.text)
    assert re.search(r'id="fetch.timeout_s-under" class="under error">.*?must be a number', answer.text)
    assert 'value="7"' in answer.text
    assert "/(?!en/)x/</textarea>" in answer.text
    assert orbweb.open(workspace).settings("larder").settings == before


def test_settings_are_saved_and_previewed(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, workspace, _ = crawled

    def value(key: str) -> object:
        return next(each.value for each in orbweb.open(workspace).settings("larder").settings if each.key == key)

    preview = browser.post("/p/larder/settings", {"limits.workers": "7", "preview": "1"})
    assert preview.status_code == 200
    assert "1 setting would change: <code>limits.workers</code>" in preview.text
    assert value("limits.workers") == 5
    saved = browser.post("/p/larder/settings", {"limits.workers": "7", "scope.exclude": "/archive/"})
    assert (saved.status_code, saved.headers["location"]) == (303, "/p/larder/settings")
    assert value("limits.workers") == 7
    assert value("scope.exclude") == ["/archive/"]
    assert "2 settings saved" in browser.get("/p/larder/settings")
    refused = browser.post("/p/larder/settings", {"proxy.urls": "http://127.0.0.1:1", "store.layout": "files"})
    assert "No setting is changed." in refused.text


def test_an_export_is_a_job_with_a_file(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, _, _ = crawled
    assert "Nothing was exported yet." in browser.get("/p/larder/exports")
    started = browser.post("/p/larder/exports", {"to": "zip", "run": "2"})
    assert (started.status_code, started.headers["location"]) == (303, "/p/larder/exports")
    wait_until(lambda: "Download" in browser.get("/p/larder/exports"))
    path = re.search(r'href="(/p/larder/exports/\d+/file)"', browser.get("/p/larder/exports"))
    assert path is not None
    found = browser.http.get(path[1])
    assert found.headers["content-disposition"] == 'attachment; filename="larder-run-2.zip"'
    assert zipfile.ZipFile(io.BytesIO(found.content)).namelist()
    assert browser.post("/p/larder/exports", {"to": "files", "run": "2"}).status_code == 422


def test_a_report_is_downloaded_like_an_export(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, workspace, server = crawled
    assert '<a class="button" href="/p/larder/exports?to=report">Report</a>' in browser.get("/p/larder")
    assert re.search(r'value="report" checked', browser.get("/p/larder/exports?to=report"))
    job = server.post("/projects/larder/exports", {"to": "report", "run": 1}, status=202)
    assert server.ended(job["id"])["state"] == "completed"
    found = browser.http.get(f"/p/larder/exports/{job['id']}/file")
    assert found.headers["content-disposition"] == 'attachment; filename="larder-run-1.html"'
    stream = io.BytesIO()
    orbweb.open(workspace).write_report("larder", out=stream, run=1)
    assert found.content == stream.getvalue()


def test_only_an_export_that_waits_can_be_cancelled(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, _, server = crawled
    job = server.post("/projects/larder/exports", {"to": "csv"}, status=202)["id"]
    server.ended(job)
    assert browser.post(f"/p/larder/exports/{job}/cancel", {}).status_code == 409
    crawl = next(each["id"] for each in server.get("/jobs")["items"] if each["kind"] == "crawl")
    assert browser.post(f"/p/larder/exports/{crawl}/cancel", {}).status_code == 404
    assert browser.http.get(f"/p/larder/exports/{crawl}/file").status_code == 404


def test_a_token_is_shown_once_and_can_be_revoked(crawled: tuple[Browser, Path, RunningServer]) -> None:
    browser, _, server = crawled
    made = browser.post("/tokens", {"name": HOSTILE, "scope": "read"})
    assert made.status_code == 201
    assert HOSTILE not in made.text
    text = re.search(r'<div class="command"><code>([^<]+)</code>', made.text)
    assert text is not None
    assert server.send("GET", "/tokens", token=text[1], headers={"accept": "text/html"}).status_code == 403
    assert server.send("GET", "/api/v1/projects", token=text[1]).status_code == 200
    listed = browser.get("/tokens")
    assert text[1] not in listed
    revoked = browser.post(re.findall(r'action="(/tokens/\d+/revoke)"', listed)[-1], {})
    assert (revoked.status_code, revoked.headers["location"]) == (303, "/tokens")
    assert server.send("GET", "/api/v1/projects", token=text[1]).status_code == 401
    assert browser.post("/tokens", {"name": "", "scope": "read"}).status_code == 422


def test_words_that_changed_in_a_line_are_marked() -> None:
    old, new = compared("the cat sat on the mat", "the dog sat on the mat")
    assert old == (("the ", False), ("cat", True), (" sat on the mat", False))
    assert new == (("the ", False), ("dog", True), (" sat on the mat", False))
    assert compared("one two", "entirely other words here")[0] == (("one two", False),)


def test_hunks_number_their_lines_and_name_their_section() -> None:
    diff = ("--- a", "+++ b", "@@ -2,2 +2,3 @@", " kept", "-gone for good", "+here", "+@@ -1 +1 @@")
    (hunk,) = hunks_of(diff, "# Title\nkept\nhere\n")
    assert [(line.old, line.new, line.sign) for line in hunk.lines] == [
        *((2, 2, " "), (3, None, "-"), (None, 3, "+"), (None, 4, "+"))
    ]
    assert (hunk.section, hunk.added, hunk.removed) == ("# Title", 2, 1)


def test_snippets_and_errors_are_read() -> None:
    assert parts_of("a journal b", [(2, 9)]) == (("a ", False), ("journal", True), (" b", False))
    message = "request: scope.exclude[1]: '(?!' is not an RE2 pattern; limits.rate: must be more than 0, got -1"
    assert errors_of(message, ["scope.exclude", "limits.rate"]) == {
        "scope.exclude": "line 2: '(?!' is not an RE2 pattern",
        "limits.rate": "must be more than 0, got -1",
    }
    assert errors_of("no key", ["limits.rate"]) == {"": "no key"}
    setting = EffectiveSetting("limits.budget", None, None, None, "default", differs=False)
    about = {"limits.budget": ""}
    assert changed([setting], about, {"limits.budget": "none"}) == {}
    assert changed([setting], about, {"limits.budget": "1,000"}) == {"limits.budget": 1000}
    assert changed([setting], {}, {"limits.budget": "1,000"}) == {}

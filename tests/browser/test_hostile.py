"""A hundred hostile texts wherever a site or a link can put them: no script runs, no request leaves, nothing is
taken for markup. What the policy would have stopped counts as failed, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, Page

from browser.chromium import visitor
from browser.gallery import wait_for_lists
from browser.payloads import CHUNK, COUNT, HostileSite, chunks, payloads
from browser.views import PAGE_TABS
from browser.watch import Watch, watched
from harness import wait_until
from servers.site import Server, StaticSite, serve, text
from serving import RunningServer, served

HOST = "hostile.example"
TEXTS = (
    *(
        "q",
        "type",
        "host",
        "language",
        "since",
        "sort",
        "after",
        "fresh",
        "state",
        "kind",
        "pattern",
        "span",
        "tab",
    ),
    *(
        "section",
        "view",
        "by",
        "source",
        "match",
        "reason",
        "rule",
        "to",
        "next",
        "only",
        "error",
        "url",
        "project",
    ),
    *("exclude", "include", "user_agent", "headers", "rate", "profile", "old", "new", "asked", "noise", "unseen"),
)
"""Parameters of any page."""
NUMBERS = ("run", "start", "before", "after", "noise", "unseen", "limit")
FOREIGN = """() => {
  const tags = /^(iframe|object|embed|base|img|image|video|audio|style|marquee|math|foreignObject|animate|use)$/i;
  const places = /^(href|src|action|formaction|data|xlink:href)$/;
  const schemes = /^[\\s\\x00-\\x20]*(javascript|data|vbscript):/i;
  const isForeign = ({name, value}) => /^(on|ping$)/.test(name) || places.test(name) && schemes.test(value);
  return [...document.querySelectorAll("*")].filter((each) =>
    [...each.attributes].some(isForeign) || tags.test(each.tagName)
    || each.tagName === "SCRIPT" && !each.src.startsWith(`${location.origin}/static/`)
    || each.tagName === "META" && each.httpEquiv
    || each.tagName === "FORM" && new URL(each.action, location).origin !== location.origin
  ).map((each) => each.outerHTML.slice(0, 200));
}"""
"""What our own pages never have."""


@dataclass
class Trap:
    """Everything that hostile texts did."""

    ran: list[str] = field(default_factory=list)

    def set_in(self, page: Page) -> None:
        page.expose_function("pwned", lambda number: self.ran.append(str(number)))
        page.on("dialog", lambda dialog: (self.ran.append(dialog.message), dialog.dismiss()))


@dataclass(frozen=True)
class Place:
    """A server whose workspace is full of hostile texts, the site that had them, and the canary."""

    server: RunningServer
    site: HostileSite
    web: Server
    canary: Server


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ExitStack() as stack:
        canary = stack.enter_context(serve(StaticSite({}, text("you should not be here"))))
        site = HostileSite(payloads(canary.url))
        web = stack.enter_context(serve(site))
        folder: Path = tmp_path_factory.mktemp("hostile") / "workspace"
        pin = ("--resolve", f"{HOST}:80:127.0.0.1:{web.port}")
        made = Place(stack.enter_context(served(folder, *pin)), site, web, canary)
        fill(made)
        wait_for_lists(made.server, ["/p/hostile/diff/1..2"])
        canary.reset()
        yield made


def fill(place: Place) -> None:
    """Two runs that differ, a paused one, and every text in what a user may name."""
    server, texts = place.server, place.site.texts
    plain = [each for each in texts if each.isprintable() and each.isascii()]
    options = {"url": f"http://{HOST}/", "rate": "max", "resources": "off"}
    settings = {
        "fetch.backoff_s": 0.01,
        "fetch.retries": 0,
        "user_agent": f"test {plain[0]} (+mailto:a@example.org)",
    }
    server.call("PUT", "/config", {"url": options["url"], "project": "hostile", "settings": settings})
    rules = [re.escape(each) for each in plain[:30]]
    server.ended(server.post("/crawl", {**options, "project": "hostile", "exclude": rules})["jobID"])
    place.site.edition = 2
    server.ended(server.post("/recrawl/hostile", {"rate": "max"})["jobID"])
    server.ended(server.post("/crawl", {**options, "project": "queued", "budget": 3})["jobID"])
    for each in texts:
        assert server.send("POST", "/api/v1/tokens", {"name": each, "scope": "read"}).status_code in (
            201,
            400,
            422,
        )
        named = server.send("PUT", "/api/v1/config", {"url": options["url"], "project": each})
        assert named.status_code in (400, 422), "a project has a plain name"


@pytest.fixture
def trap() -> Trap:
    return Trap()


@pytest.fixture
def watch(chrome: Browser, place: Place, trap: Trap) -> Iterator[tuple[Page, Watch]]:
    with visitor(chrome, place.server) as context:
        found, page = watched(context, place.server.url), context.new_page()
        trap.set_in(page)
        yield page, found
    assert trap.ran == []
    assert place.canary.whole_log == ()


def test_the_texts_run_and_call_where_they_are_markup(chrome: Browser, place: Place, trap: Trap) -> None:
    with visitor(chrome, place.server) as context:
        page = context.new_page()
        trap.set_in(page)
        page.goto(f"{place.web.url}raw", wait_until="domcontentloaded")
        assert page.evaluate(FOREIGN)
        wait_until(lambda: page.evaluate("1") and len(set(trap.ran)) >= 35 and len(place.canary.whole_log) >= 15)
    place.canary.reset()


def test_the_workspace_is_full_of_them(place: Place) -> None:
    found = place.server.get("/projects/hostile/pages", params={"limit": 1000})["items"]
    assert sum("pwned" in (each["title"] or "") for each in found) > COUNT / 2
    assert {each["kind"] for each in place.server.get("/projects/hostile/failed")["items"]} >= {
        "http_4xx",
        "http_5xx",
    }
    assert place.server.get("/queue/queued")["pending"] > COUNT


SILENT = r"^/$|exports|/map|kind=added|/p/hostile$|hostile/live"
"""Pages that show no text of a site when its crawl has ended."""
LISTS = (
    *(
        "/",
        "/tokens",
        "/p/hostile",
        "/p/hostile/live",
        "/p/hostile/exports",
        "/p/hostile/settings",
        "/p/queued/live",
    ),
    *(f"/p/hostile/runs/latest/{each}" for each in ("pages", "failed", "skipped", "map", "map?view=web")),
    *("/p/hostile/runs/latest/failed?kind=http_4xx", "/p/hostile/runs/latest/skipped?reason=robots"),
    *("/p/queued/runs/latest/queue", "/p/hostile/diff/1..2", "/p/hostile/diff/1..2?kind=added&noise=1"),
    *("/p/hostile/runs/latest/search?q=text", "/search?q=script", "/p/hostile/runs/latest/pages?sort=-tokens"),
)


@pytest.mark.parametrize("path", LISTS)
def test_lists_show_them_as_text(watch: tuple[Page, Watch], place: Place, path: str) -> None:
    page, watching = watch
    look(page, watching, path)
    assert shows_some(page, place) or re.search(SILENT, path)


@pytest.mark.parametrize("tab", PAGE_TABS)
def test_the_views_of_a_page_show_them_as_text(watch: tuple[Page, Watch], place: Place, tab: str) -> None:
    page, watching = watch
    found = place.server.get("/projects/hostile/pages", params={"limit": 1000})["items"]
    urls = [each["url"] for each in found if re.search(r"/page/\d*[0-9]\?q=", each["url"])]
    richest = [url for url in urls if int(re.findall(r"/page/(\d+)", url)[0]) % CHUNK == 0]
    assert richest
    for url in [*richest, *urls[:: 20 if tab != "markdown" else 4]]:
        look(page, watching, f"/p/hostile/runs/latest/page?tab={tab}&url={quote(url, safe='')}")
        assert shows_some(page, place)


REFLECTING = (
    *("/", "/new", "/search", "/login", "/keys", "/tokens", "/p/hostile", "/p/hostile/live", "/p/hostile/exports"),
    *("/p/hostile/settings", "/p/hostile/diff/1..2", "/p/hostile/compare", "/p/hostile/finish"),
    *(f"/p/hostile/runs/latest/{each}" for each in ("pages", "page", "failed", "skipped", "map", "search")),
    "/p/queued/runs/latest/queue",
)


@pytest.mark.parametrize("path", REFLECTING)
def test_what_a_link_says_is_shown_as_text(watch: tuple[Page, Watch], place: Place, path: str) -> None:
    page, watching = watch
    for chunk in chunks(place.site.texts):
        look(page, watching, f"{path}?{urlencode(dict.fromkeys(TEXTS, chunk[:900]))}")
    for name in NUMBERS:
        look(page, watching, f"{path}?{urlencode({name: place.site.texts[22]})}")


def test_what_a_path_says_is_shown_as_text(watch: tuple[Page, Watch], place: Place) -> None:
    page, watching = watch
    for each in place.site.texts[::5]:
        word = quote(each, safe="")
        for path in (f"/p/{word}", f"/{word}", f"/p/hostile/diff/{word}", f"/p/hostile/runs/{word}/pages"):
            look(page, watching, path)
    for each in place.site.texts[::10]:
        look(page, watching, f"/p/hostile/web/{quote(each, safe='')}")


def test_what_is_typed_is_shown_as_text(watch: tuple[Page, Watch], place: Place) -> None:
    page, watching = watch
    for chunk in chunks(place.site.texts):
        page.goto("/new")
        with page.expect_response("**/new/plan?fragment=1"):
            page.get_by_label("Where to start").fill(f"http://{HOST}/?x={chunk}")
        assert page.evaluate(FOREIGN) == []
        page.goto("/p/queued/live")
        with page.expect_response("**/live/rule?*"):
            page.get_by_label("Pattern of the rule").fill(re.escape(chunk[:300]))
        with page.expect_response("**/live/rule?*"):
            page.get_by_label("Pattern of the rule").fill("(" + chunk[:300])
        page.locator("#rule-preview .error").wait_for()
        assert page.evaluate(FOREIGN) == []
        for path, name in (("/tokens", "name"), ("/p/hostile/settings", "scope.exclude")):
            page.goto(path)
            page.locator(f"[name='{name}']").fill("(" + chunk)
            page.locator("form[data-main] button.primary").click()
            page.wait_for_load_state()
            assert page.evaluate(FOREIGN) == []
    assert watching.foreign == []


def test_urls_in_flight_are_shown_as_text(watch: tuple[Page, Watch], place: Place) -> None:
    page, watching = watch
    place.site.slow = 0.3
    job = place.server.post("/crawl", {"url": f"http://{HOST}/", "project": "moving", "rate": 20, "workers": 8})
    page.goto("/p/moving/live")
    page.locator("[data-slots]", has_text="pwned").wait_for()
    page.locator("[data-failures] tr").first.wait_for()
    assert watching.wrongs(page) == []
    assert page.evaluate(FOREIGN) == []
    place.server.post("/crawl/{}/stop".format(place.server.job(job["jobID"])["crawlID"]))
    place.server.ended(job["jobID"])
    place.site.slow = 0.0


def test_the_bytes_of_a_page_are_a_download_that_cannot_run(watch: tuple[Page, Watch], place: Place) -> None:
    page, _ = watch
    found = place.server.get("/projects/hostile/pages", params={"limit": 1000})["items"]
    for each in found[::10]:
        path = f"/p/hostile/runs/latest/page/original?url={quote(each['url'], safe='')}"
        answer = page.context.request.get(path)
        assert answer.ok
        assert answer.headers["content-type"].partition(";")[0] in ("text/plain", "application/octet-stream")
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "attachment" in answer.headers["content-disposition"]
    page.goto("/")
    with page.expect_download():
        page.evaluate("(path) => { location.href = path; }", path)


def test_a_login_leads_nowhere_else(chrome: Browser, place: Place, trap: Trap) -> None:
    wanted = (
        "javascript:pwned(1)",
        place.canary.url,
        f"//{place.canary.url[7:]}",
        f"/\\{place.canary.url[7:]}",
        "\t//x.y",
    )
    for each in wanted:
        with visitor(chrome, place.server, is_known=False) as context:
            page = context.new_page()
            trap.set_in(page)
            page.goto(f"/login?{urlencode({'next': each})}")
            page.get_by_label("Token").fill(place.server.token)
            page.keyboard.press("Enter")
            page.locator(".foot").get_by_text("Log out").wait_for()
            assert page.url.startswith(place.server.url)
    assert trap.ran == []
    assert place.canary.whole_log == ()


def shows_some(page: Page, place: Place) -> bool:
    return re.search(f"pwned|{place.canary.port}", page.locator("main").inner_text()) is not None


def look(page: Page, watching: Watch, path: str) -> None:
    """Open a page, and find nothing on it that is not ours."""
    watching.clear()
    answer = page.goto(path)
    assert answer is not None
    assert answer.status < 500, path
    wrongs = [each for each in watching.wrongs(page) if f"status of {answer.status}" not in each]
    assert (wrongs, page.evaluate(FOREIGN)) == ([], []), path

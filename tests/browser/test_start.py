"""How a person gets in and starts: the link that `serve` prints, keys, cursors of lists, the plan while typing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.chromium import visitor
from harness import Cli
from servers.pages import page as html_page
from servers.site import StaticSite, serve
from serving import RunningServer, served, site_of

SITE = StaticSite({"/": html_page("start", "/a", "/b"), "/a": html_page("a"), "/b": html_page("b")})


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, str]]:
    workspace = tmp_path_factory.mktemp("start") / "workspace"
    cli = Cli(workspace)
    with serve(SITE) as site:
        for project in ("first", "second"):
            cli("crawl", site.url, "--rate", "max", "--processes", "0", "--project", project).ok()
        with served(workspace, "--private-host", site_of(site.url), env={"ORBWEB_TOKEN": ""}) as server:
            yield server, site.url


@pytest.fixture
def known(chrome: Browser, started: tuple[RunningServer, str]) -> Iterator[Page]:
    """A page of a browser that is logged in."""
    with visitor(chrome, started[0]) as context:
        yield context.new_page()


def test_the_link_that_serve_prints_logs_in_and_forgets_the_token(
    chrome: Browser, started: tuple[RunningServer, str]
) -> None:
    server, _ = started
    assert server.process.stdout is not None
    link = server.process.stdout.readline().removeprefix("open ").strip()
    assert link == f"{server.url}/login#token={server.token}"
    with visitor(chrome, server, is_known=False) as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(link)
        expect(page.get_by_role("heading", name="Projects")).to_be_visible()
        assert page.url == f"{server.url}/"
        assert not [url for url in asked if server.token in url and "#" not in url]
        page.go_back()
        assert server.token not in page.url
    with visitor(chrome, server, is_known=False) as context:
        page = context.new_page()
        page.goto(f"{server.url}/login?next=/new#token=wrong")
        expect(page.get_by_text("This token is not known here.")).to_be_visible()


def test_keys_lead_through_the_pages(known: Page) -> None:
    known.goto("/?sort=project")
    keys = known.get_by_role("dialog", name="Keys")
    known.keyboard.press("?")
    expect(keys).to_be_visible()
    known.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    row = known.locator("tr.cursor")
    known.keyboard.press("j")
    known.keyboard.press("j")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("second")
    known.keyboard.press("Tab")
    expect(row).to_contain_text("second")
    known.keyboard.press("k")
    expect(row).to_contain_text("first")
    known.keyboard.press("Enter")
    known.wait_for_url("**/p/first")
    known.keyboard.press("g")
    known.keyboard.press("p")
    known.wait_for_url("**/p/first/runs/latest/pages")
    known.keyboard.press("n")
    known.wait_for_url("**/new")


def test_keys_are_off_in_fields_and_can_be_switched_off(known: Page) -> None:
    known.goto("/new")
    field = known.get_by_label("Where to start")
    expect(field).to_be_focused()
    known.keyboard.type("n?/")
    expect(field).to_have_value("n?/")
    known.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    known.keyboard.press("/")
    expect(known.get_by_role("searchbox")).to_be_focused()
    known.goto("/keys")
    known.keyboard.press("?")
    known.get_by_label("Keys act on every page").uncheck()
    known.keyboard.press("Escape")
    known.keyboard.press("n")
    known.keyboard.press("?")
    expect(known.get_by_role("dialog")).to_be_hidden()
    assert known.url.endswith("/keys")
    known.goto("/")
    known.keyboard.press("j")
    expect(known.locator("tr.cursor")).to_have_count(0)


def test_the_plan_follows_what_is_typed_and_the_command_at_once(
    known: Page, started: tuple[RunningServer, str]
) -> None:
    known.goto("/new")
    known.get_by_label("Where to start").fill(started[1])
    known.get_by_label("Exclude").fill("/b\n")
    expect(known.locator("#command")).to_have_text(f"orbweb crawl {started[1]} --exclude=/b")
    plan = known.get_by_label("Plan")
    expect(plan).to_contain_text("can be crawled")
    expect(plan).to_contain_text("scope.exclude: /b")
    known.get_by_label("Exclude").fill("(")
    expect(plan).to_contain_text("no plan")
    expect(plan).to_contain_text("Exclude: ")
    known.get_by_role("button", name="Start crawl").click()
    expect(known.get_by_role("alert")).to_contain_text("nothing was started")
    expect(known.get_by_label("Exclude")).to_have_attribute("aria-invalid", "true")
    expect(known.get_by_role("alert")).to_be_focused()
    known.get_by_label("Exclude").fill("/b")
    known.get_by_role("textbox", name="Project").fill("third")
    known.get_by_role("button", name="Start crawl").click()
    known.wait_for_url("**/p/third/live")


def test_on_a_phone_menus_stay_in_the_window_and_fields_do_not_zoom(
    chrome: Browser, started: tuple[RunningServer, str]
) -> None:
    with visitor(chrome, started[0], viewport={"width": 360, "height": 700}) as context:
        page = context.new_page()
        page.goto("/p/first")
        page.locator(".bar details.menu summary").click()
        shown = page.get_by_role("navigation", name="Breadcrumbs").locator("details li")
        expect(shown.nth(0)).to_have_text("first")
        expect(shown.nth(1)).to_have_text("second")
        box = page.locator(".bar details.menu ul").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        page.goto("/new")
        sizes = page.evaluate("""[...document.querySelectorAll("main :is(input, select, textarea)")]
            .filter((each) => each.type !== "hidden" && each.type !== "radio")
            .map((each) => getComputedStyle(each).fontSize)""")
        assert set(sizes) == {"16px"}, "Safari zooms into a field with smaller text"


def test_heads_of_long_lists_stay_in_sight(known: Page) -> None:
    known.set_viewport_size({"width": 1440, "height": 200})
    known.goto("/")
    known.mouse.wheel(0, 160)
    known.wait_for_function("scrollY > 100")
    head = known.get_by_role("columnheader", name="State").bounding_box()
    assert head is not None
    assert abs(head["y"]) < 4

"""What a person does with the interface, from the login to an export, by pointer and by keys."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import orbweb
from browser.chromium import PATIENCE_MS, visitor
from browser.larder import DOCS, FORUM, LarderSite, pins
from browser.watch import watched
from harness import wait_until
from servers.site import serve
from serving import RunningServer, served

SIZE, LARGE = 75, 2_000
"""Pages of the site; the large one is not done before a test is, at the rate that it asks for."""

NUMBER = re.compile(r"[\d,]+")


@dataclass
class Desk:
    """A server with two runs of a project that differ, one with failures, and a page of a browser."""

    server: RunningServer
    site: LarderSite
    workspace: orbweb.Workspace
    page: Page


@pytest.fixture(scope="module")
def place(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[RunningServer, LarderSite, orbweb.Workspace]]:
    folder = tmp_path_factory.mktemp("flow") / "workspace"
    site = LarderSite(SIZE)
    with ExitStack() as stack:
        web = stack.enter_context(serve(site))
        server = stack.enter_context(served(folder, "--max-active", "2", *pins(web.port)))
        server.crawl(f"http://{DOCS}/", project="docs")
        site.edition = 2
        server.ended(server.post("/recrawl/docs", {"rate": "max"})["jobID"])
        settings = {"fetch.backoff_s": 0.05, "fetch.retries": 1}
        server.call("PUT", "/config", {"url": f"http://{FORUM}/", "project": "forum", "settings": settings})
        server.crawl(f"http://{FORUM}/", project="forum")
        yield server, site, orbweb.open(folder)


@pytest.fixture
def desk(
    chrome: Browser, place: tuple[RunningServer, LarderSite, orbweb.Workspace], tmp_path: Path
) -> Iterator[Desk]:
    server, site, workspace = place
    expect.set_options(timeout=PATIENCE_MS)
    with visitor(chrome, server, viewport={"width": 1440, "height": 900}) as context:
        watch = watched(context, server.url)
        page = context.new_page()
        yield Desk(server, site, workspace, page)
        page.wait_for_load_state()
        assert not [each for each in watch.wrongs(page) if "422" not in each]


def test_who_is_not_known_logs_in_first_and_gets_where_he_wanted(
    chrome: Browser, place: tuple[RunningServer, LarderSite, orbweb.Workspace]
) -> None:
    server = place[0]
    with visitor(chrome, server, is_known=False) as context:
        page = context.new_page()
        page.goto("/p/docs/runs/latest/pages?q=shelf")
        expect(page).to_have_url(re.compile("/login"))
        expect(page.get_by_label("Token")).to_be_focused()
        page.keyboard.type("a wrong one")
        page.keyboard.press("Enter")
        expect(page.locator("#token-under")).to_have_text("This token is not known here.")
        page.get_by_label("Token").fill(server.token)
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{server.url}/p/docs/runs/latest/pages?q=shelf")
        page.get_by_role("button", name="Log out").click()
        page.goto("/")
        expect(page).to_have_url(re.compile("/login"))


def test_a_crawl_is_planned_started_watched_steered_and_finished(desk: Desk) -> None:
    desk.site.size, desk.site.edition = LARGE, 1
    page, known = desk.page, lambda: desk.workspace.status("watched")
    page.goto("/")
    page.keyboard.press("n")
    page.get_by_label("Where to start").fill(f"{DOCS}/releases/\n")
    page.get_by_label("Where to start").fill(f"http://{DOCS}/")
    expect(page.locator("#plan .verdict")).to_contain_text("URLs")
    page.get_by_label("Project", exact=True).fill("watched")
    page.get_by_text("Limits", exact=True).click()
    page.get_by_label("Rate").fill("5")
    expect(page.locator("#command")).to_have_text(f"orbweb crawl http://{DOCS}/ --project=watched --rate=5")
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(f"{desk.server.url}/p/watched/live")

    figure = page.locator("[data-figure=visited]")
    figure.evaluate("(node) => { node.mine = true; }")
    wait_for_more(page, "visited")
    assert figure.evaluate("(node) => node.mine"), "a figure changes in place"
    expect(page.locator("[data-slots] tr")).not_to_have_count(0)
    expect(page.locator("canvas")).to_have_count(2)

    page.keyboard.press("p")
    expect(page.locator(".head .badge.on_hold")).to_be_visible()
    wait_until(lambda: not desk.server.get("/projects/watched")["running"] or known().held)
    page.get_by_role("button", name="Unpause").click()
    expect(page.locator(".head .badge.in_progress")).to_be_visible()
    wait_for_more(page, "visited")

    page.keyboard.press("s")
    expect(page.locator(".head .badge.paused")).to_be_visible()
    wait_until(lambda: known().state == "paused")
    before = known()

    page.get_by_label("Pattern of the rule").fill("/how-to/")
    button = page.locator("#rule-preview button.primary")
    expect(button).to_have_text(re.compile(r"Skip \d[\d,]* URLs"))
    removed = number_in(button.inner_text())
    assert known().queued == before.queued, "a preview changes nothing"
    page.get_by_label("Pattern of the rule").fill("(")
    expect(page.locator("#rule-preview .error")).to_be_visible()
    page.get_by_label("Pattern of the rule").fill("/how-to/")
    expect(button).to_have_text(f"Skip {removed:,} URLs")
    button.click()
    expect(page.locator(".toast")).to_contain_text(f"{removed:,} URLs skipped")
    assert known().queued == before.queued - removed
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text(f"{removed:,} URLs came back")
    assert known().queued == before.queued

    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".head .badge.in_progress")).to_be_visible()
    expect(page.locator(".head h1")).to_have_text("Crawl 2")
    wait_for_more(page, "visited")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".head .badge.paused")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.get_by_role("link", name="Finish").click()
    queued = number_in(page.get_by_role("button", name="and finish").inner_text())
    assert queued == known().queued
    page.get_by_role("button", name="and finish").click()
    expect(page.locator(".head .badge")).to_contain_text("completed")
    assert (known().state, known().queued, known().skipped["finished"]) == ("completed", 0, queued)


def test_a_rule_is_applied_while_the_crawl_is_at_work(desk: Desk) -> None:
    desk.site.size, desk.site.edition = LARGE, 1
    started = desk.server.post("/crawl", {"url": f"http://{DOCS}/", "project": "ruled", "rate": 5})
    page = desk.page
    page.goto("/p/ruled/live")
    wait_for_more(page, "queued", than=100)
    page.get_by_label("Pattern of the rule").fill("/reference/")
    button = page.locator("#rule-preview button.primary")
    expect(button).to_have_text(re.compile(r"Skip \d[\d,]* URLs"))
    button.click()
    expect(page.locator(".toast")).to_contain_text("URLs skipped")
    wait_until(lambda: "/reference/" in desk.workspace.rules("ruled").rules["scope.exclude"])
    page.get_by_label("Pattern of the rule").fill("/reference/")
    expect(page.locator("#rule-preview button.primary")).to_have_text("Add the rule")
    page.get_by_role("button", name="Stop").click()
    desk.server.ended(started["jobID"])


def test_pages_are_found_by_search_opened_and_read_by_tabs(desk: Desk) -> None:
    page = desk.page
    page.goto("/p/docs")
    page.keyboard.press("/")
    page.keyboard.type("household journal")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_contain_text("household")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("article.prose h1, article.prose h2").first).to_be_visible()
    url = page.locator("h1.mono.url").inner_text()
    captured = desk.workspace.document("docs", f"http://{url}")
    assert captured is not None
    for key, tab in enumerate(("markdown", "source", "original", "meta", "links", "explain", "history"), 1):
        page.wait_for_load_state()
        page.keyboard.press(str(key))
        expect(page.locator(".page-tabs [aria-current=page]")).to_have_text(re.compile(f"^{tab}", re.IGNORECASE))
    page.wait_for_load_state()
    page.keyboard.press("2")
    expect(page.get_by_label("Markdown source")).to_have_text(captured.markdown.strip())
    page.wait_for_load_state()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".steps [aria-current=true]")).to_contain_text("run 1")
    page.wait_for_load_state()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".steps [aria-current=true]")).to_contain_text("run 2")


def test_changes_of_two_runs_are_read_and_marked_by_keys(desk: Desk) -> None:
    page = desk.page
    page.goto("/p/docs/diff/1..2")
    rows = page.locator("tr[data-change]")
    expect(rows.first).to_be_visible()
    known = desk.workspace.diff("docs", 1, 2)
    assert rows.count() == len(known.changed) > 2
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(rows.nth(1)).to_have_class(re.compile("cursor"))
    page.keyboard.press("k")
    expect(rows.nth(0)).to_have_class(re.compile("cursor"))
    for key, number in (("J", 0), ("J", 1), ("K", 0)):
        page.keyboard.press(key)
        expect(page.locator(".hunk").nth(number)).to_be_focused()
    unseen = number_in(page.locator("[data-unseen]").inner_text())
    page.keyboard.press("x")
    expect(rows.nth(0)).to_have_class(re.compile("seen"))
    expect(page.locator("[data-unseen]")).to_have_text(str(unseen - 1))
    page.reload()
    expect(rows.nth(0)).to_have_class(re.compile("seen"))
    page.get_by_role("switch", name="Only unseen").click()
    expect(rows).to_have_count(len(known.changed) - 1)


def test_failures_are_retried_and_pass(desk: Desk) -> None:
    page = desk.page
    failed = desk.workspace.status("forum").failed
    again = sum(each.kind == "http_5xx" for each in desk.workspace.failed("forum"))
    assert failed >= again > 0
    desk.site.size, desk.site.is_mended = SIZE, True
    page.goto("/p/forum")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("button", name=f"Retry {again}").first).to_be_visible()
    page.keyboard.press("r")
    expect(page.locator(".toast")).to_contain_text(f"{again} URLs queued again")
    page.get_by_role("button", name="Resume").click()
    expect(
        page.locator(".head .badge.completed, .head .badge.completed_with_errors").locator("visible=true")
    ).to_be_visible()
    assert desk.workspace.status("forum").failed == failed - again


def test_an_export_is_followed_and_downloaded(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    page.goto("/p/docs")
    page.keyboard.press("e")
    page.get_by_label("zip").check()
    page.get_by_role("button", name="Export", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("exported as zip")
    link = page.get_by_role("link", name="Download")
    expect(link).to_be_visible()
    with page.expect_download() as waiting:
        link.click()
    assert waiting.value.suggested_filename == "docs-run-2.zip"
    waiting.value.save_as(tmp_path / "docs.zip")
    with zipfile.ZipFile(tmp_path / "docs.zip") as archive:
        assert archive.testzip() is None
        found = [name for name in archive.namelist() if name.endswith(".md")]
    assert len(found) == desk.workspace.status("docs").pages


def test_a_wrong_setting_is_told_at_its_field_and_nothing_that_was_typed_is_lost(desk: Desk) -> None:
    page = desk.page
    page.goto("/p/docs/settings")
    page.locator("[id='limits.max_depth']").fill("7")
    page.locator("[id='scope.exclude']").fill("(unclosed")
    page.keyboard.press("Control+Enter")
    wrong = page.locator("[id='scope.exclude']")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_have_value("(unclosed")
    expect(page.locator("[id='limits.max_depth']")).to_have_value("7")
    expect(page.locator("[id='scope.exclude-under'].error")).to_contain_text("(unclosed")
    expect(page.get_by_role("alert")).to_be_focused()
    wrong.fill("/never/")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("2 settings saved")
    stored = {each.key: each.value for each in desk.workspace.settings("docs").settings}
    assert (stored["limits.max_depth"], list(stored["scope.exclude"])) == (7, ["/never/"])


@pytest.mark.parametrize(
    ("keys", "path"),
    [("o", ""), ("l", "/live"), ("p", "/runs/latest/pages"), ("f", "/runs/latest/failed"),
     ("q", "/runs/latest/queue"), ("s", "/runs/latest/skipped"), ("c", "/diff/1..2"), ("m", "/runs/latest/map"),
     ("t", "/settings")],
)  # fmt: skip
def test_g_and_a_letter_go_to_a_tab(desk: Desk, keys: str, path: str) -> None:
    desk.page.goto("/p/docs/exports")
    desk.page.keyboard.press("g")
    desk.page.keyboard.press(keys)
    expect(desk.page).to_have_url(f"{desk.server.url}/p/docs{path}")


def test_keys_are_listed_move_over_rows_and_can_be_switched_off(desk: Desk) -> None:
    page = desk.page
    page.goto("/p/docs/runs/latest/pages")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("f")
    expect(page.get_by_label("URL or title contains")).to_be_focused()
    page.keyboard.type("jjj")
    expect(page.get_by_label("URL or title contains")).to_have_value("jjj")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("tr.cursor a").first).to_be_focused()
    page.keyboard.press("?")
    page.get_by_label("Keys act on every page").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("n")
    page.keyboard.press("j")
    expect(page.locator("tr.cursor")).to_have_count(0)
    expect(page).to_have_url(f"{desk.server.url}/p/docs/runs/latest/pages")


def test_the_theme_is_chosen_kept_and_follows_the_system_again(desk: Desk) -> None:
    page = desk.page
    page.emulate_media(color_scheme="light")
    page.goto("/p/docs")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="dark").click()
    dark = page.evaluate(background)
    assert dark != light
    page.goto("/")
    assert page.evaluate(background) == dark
    expect(page.get_by_role("button", name="dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="system").click()
    assert page.evaluate(background) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(background) == dark


def number_in(text: str) -> int:
    found = NUMBER.search(text)
    assert found is not None, text
    return int(found[0].replace(",", ""))


def wait_for_more(page: Page, name: str, than: int | None = None) -> None:
    """Until a figure of the live page is larger."""
    place = f"[data-figure={name}]"
    before = number_in(page.locator(place).inner_text()) if than is None else than
    page.wait_for_function(
        "([place, before]) => Number(document.querySelector(place).textContent.replaceAll(',', '')) > before",
        arg=[place, before],
    )

"""Without JavaScript: every page says the same, and a crawl is started and steered by forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.chromium import PATIENCE_MS, visitor
from browser.gallery import Gallery, gallery, run_live, wait_for_lists
from browser.larder import DOCS
from browser.views import VIEWS
from harness import wait_until

DIFFERENT = ".chart, .command, .scripted, .unscripted, .hints, .rule-line button"
"""The chart is drawn anew, the command follows what is typed; the rest is for one of the two alone."""
SAID = """(main, different) => {
  for (const each of main.querySelectorAll(different)) each.style.display = "none";
  return main.innerText;
}"""
DURATION = re.compile(r"\b\d[\d,]* (ms|s|min|h)\b|\bnow\b|\b\d\d:\d\d(:\d\d)?\b")
COUNTED = re.compile(r"\d[\d,]*\d|\d")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    with gallery(tmp_path_factory.mktemp("unscripted"), live_delay_s=0.5) as made:
        wait_for_lists(made.server, [view.url for view in VIEWS if not view.alive])
        yield made


@pytest.fixture
def without(chrome: Browser, shown: Gallery) -> Iterator[Page]:
    expect.set_options(timeout=PATIENCE_MS)
    with visitor(chrome, shown.server, java_script_enabled=False) as context:
        yield context.new_page()


def test_every_page_says_the_same_with_and_without(chrome: Browser, shown: Gallery, without: Page) -> None:
    with visitor(chrome, shown.server) as context:
        page = context.new_page()
        for view in VIEWS:
            if not view.alive:
                assert said(without, view.url) == said(page, view.url), view.name


def test_a_crawl_is_planned_started_paused_and_stopped_by_forms(shown: Gallery, without: Page) -> None:
    page = without
    page.goto("/new")
    page.get_by_label("Where to start").fill(f"http://{DOCS}/")
    page.get_by_label("Project", exact=True).fill("by-hand")
    page.get_by_text("Limits", exact=True).click()
    page.get_by_label("Rate").fill("5")
    page.get_by_role("button", name="Read the plan").click()
    expect(page.locator("#plan .verdict")).to_contain_text("URLs")
    expect(page.get_by_label("Rate")).to_have_value("5")
    page.get_by_role("button", name="Start crawl").click()
    expect(page).to_have_url(f"{shown.server.url}/p/by-hand/live")
    refresh_until(page, "in progress")
    page.get_by_role("button", name="Pause").click()
    refresh_until(page, "on hold")
    page.get_by_role("button", name="Unpause").click()
    refresh_until(page, "in progress")
    page.get_by_role("button", name="Stop").click()
    refresh_until(page, "paused")
    page.get_by_label("Pattern of the rule").fill("/how-to/")
    page.get_by_role("button", name="Preview").click()
    button = page.get_by_role("button", name=re.compile(r"Skip \d+ URLs"))
    wanted = COUNTED.findall(button.inner_text())[0]
    button.click()
    expect(page.locator(".toast")).to_contain_text(f"{wanted} URLs skipped")
    page.get_by_role("button", name="Resume").click()
    refresh_until(page, "in progress")
    page.get_by_role("button", name="Stop").click()
    refresh_until(page, "paused")


def test_the_live_page_has_its_figures_and_its_chart(shown: Gallery, without: Page) -> None:
    run_live(shown)
    wait_until(lambda: shown.server.get(f"/queue/{shown.running}")["visited"] > 20)
    without.goto(f"/p/{shown.running}/live")
    refresh_until(without, "in progress")
    assert int(without.locator("[data-figure=visited]").inner_text().replace(",", "")) > 20
    expect(without.locator("svg.chart-rate")).to_be_visible()
    expect(without.get_by_role("link", name="Refresh")).to_be_visible()
    expect(without.locator("[data-slots] tr")).not_to_have_count(0)


def said(page: Page, url: str) -> Counter[str]:
    """The lines of a page, but for those that differ on purpose."""
    page.goto(url)
    lines = page.locator("main").evaluate(SAID, DIFFERENT).splitlines()
    return Counter(DURATION.sub("", line) for line in lines if line.strip())


def refresh_until(page: Page, words: str) -> None:
    """Load the live page again until its state is this one."""
    page.wait_for_load_state()
    url = page.url

    def shows() -> bool:
        page.goto(url)
        return words in page.locator(".head .badge:visible").first.inner_text()

    wait_until(shows)

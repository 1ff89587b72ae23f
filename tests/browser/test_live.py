"""The live page while a crawl is at work: nothing moves, nothing grows, and a lost stream is found again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from browser.chromium import PATIENCE_MS, visitor
from browser.larder import DOCS, LarderSite, pins
from browser.watch import watched
from servers.site import serve
from serving import RunningServer, start

UPDATES = 40
MINUTE = 240
"""Updates of a minute."""
MOST_A_SECOND = 5.0
"""Four are sent; the first of those that are counted may have come late."""
LARGEST_SHIFT = 0.02

FOLLOWED = """
window.__updates = [];
window.EventSource = class extends EventSource {
  constructor(...given) {
    super(...given);
    window.__stream = this;
    this.addEventListener("live", (event) => window.__updates.push([performance.now(), event.data]));
  }
};
window.__shift = 0;
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.__shift += each.value;
}).observe({type: "layout-shift", buffered: true});
"""
REPLAY = """([events, seconds]) => {
  for (const data of events) {
    const state = JSON.parse(data);
    for (const point of state.points) point[0] += seconds;
    window.__stream.dispatchEvent(new MessageEvent("live", {data: JSON.stringify(state)}));
  }
  window.__updates = [];
}"""


class Place:
    """A server with a crawl at work that can be killed and started again at its port."""

    def __init__(self, folder: Path, options: list[str]) -> None:
        self.folder, self.options = folder, options
        self.server = start(folder, *options)
        self.port = self.server.url.rpartition(":")[2]
        self.server.post("/crawl", {"url": f"http://{DOCS}/", "project": "larder", "rate": 25, "workers": 16})

    def close(self) -> None:
        if self.server.process.poll() is None:
            self.server.terminate()

    def start_again(self) -> RunningServer:
        self.server = start(self.folder, "--port", self.port, *self.options)
        return self.server


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serve(LarderSite(20_000, delay_s=0.4)) as web:
        made = Place(tmp_path_factory.mktemp("live") / "workspace", pins(web.port))
        with closing(made):
            yield made


@pytest.fixture
def page(chrome: Browser, place: Place) -> Iterator[Page]:
    expect.set_options(timeout=PATIENCE_MS)
    with visitor(chrome, place.server, viewport={"width": 1440, "height": 900}) as context:
        context.add_init_script(FOLLOWED)
        watch = watched(context, place.server.url)
        made = context.new_page()
        made.goto("/p/larder/live")
        expect(made.locator("canvas")).to_have_count(2)
        yield made
        assert not [each for each in watch.wrongs(made) if "ERR_" not in each]


def test_updates_are_few_and_nothing_shifts(page: Page) -> None:
    updates = wait_for_updates(page, UPDATES)
    seconds = (updates[-1][0] - updates[0][0]) / 1000
    assert (len(updates) - 1) / seconds < MOST_A_SECOND
    assert page.evaluate("window.__shift") < LARGEST_SHIFT
    page.evaluate("document.querySelector('main').insertAdjacentHTML('afterbegin', '<p>moved</p>'.repeat(20))")
    page.wait_for_function("(least) => window.__shift > least", arg=LARGEST_SHIFT)


def test_on_a_narrow_screen_nothing_shifts_either(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    wait_for_updates(page, UPDATES // 2)
    assert page.evaluate("window.__shift") < LARGEST_SHIFT


def test_the_page_does_not_grow_in_a_minute(page: Page) -> None:
    seen = [data for _, data in wait_for_updates(page, UPDATES)]
    events = (seen * (MINUTE // len(seen) + 1))[:MINUTE]
    session = page.context.new_cdp_session(page)
    page.evaluate(REPLAY, [events, 60])
    before = counted(session)
    for minute in (2, 3):
        page.evaluate(REPLAY, [events, 60 * minute])
    after = counted(session)
    assert after["nodes"] <= before["nodes"] + 50, (before, after)
    assert after["jsEventListeners"] <= before["jsEventListeners"] + 2, (before, after)
    assert after["heap"] < before["heap"] + 500_000, (before, after)


def test_what_is_selected_stays_as_it_is(page: Page) -> None:
    visited = page.locator("[data-figure=visited]")
    shown = visited.evaluate("(node) => { getSelection().selectAllChildren(node); return node.textContent; }")
    wait_for_updates(page, UPDATES // 4)
    assert visited.inner_text() == shown
    page.evaluate("getSelection().removeAllRanges()")
    expect(visited).not_to_have_text(shown)


def test_a_lost_stream_is_told_and_found_again(page: Page, place: Place) -> None:
    wait_for_updates(page, 2)
    note, visited = page.locator("[data-lost]"), page.locator("[data-figure=visited]")
    height = page.evaluate("document.documentElement.scrollHeight")
    place.server.kill()
    expect(note).to_contain_text("The stream is lost")
    kept = visited.inner_text()
    assert amber(page) == page.evaluate("getComputedStyle(document.querySelector('[data-lost]')).color")
    assert page.evaluate("document.documentElement.scrollHeight") == height
    assert visited.inner_text() == kept
    place.start_again()
    expect(note).to_be_empty()
    expect(visited).not_to_have_text(kept)
    assert page.evaluate("window.__shift") < LARGEST_SHIFT


def wait_for_updates(page: Page, count: int) -> list[tuple[float, str]]:
    """The next updates of the page: when each came, and what it was."""
    page.evaluate("window.__updates = []")
    page.wait_for_function("(count) => window.__updates.length >= count", arg=count, timeout=4 * PATIENCE_MS)
    return [(at, data) for at, data in page.evaluate("window.__updates")]


def counted(session: CDPSession) -> dict[str, int]:
    """The nodes, listeners and bytes that are in use."""
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = session.send("Memory.getDOMCounters")
    return {**found, "heap": session.send("Runtime.getHeapUsage")["usedSize"]}


def amber(page: Page) -> str:
    found: str = page.evaluate(
        "() => { const made = document.body.appendChild(document.createElement('i')); made.className = 'amber';"
        " const color = getComputedStyle(made).color; made.remove(); return color; }"
    )
    return found

"""Every page of the interface, with something on it: accessible, light, within its width, alone on its origin."""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from browser.chromium import visitor
from browser.gallery import Gallery, gallery, run_live, wait_for_lists, wait_for_visits
from browser.views import VIEWS, View
from browser.watch import Watch, watched
from orbweb.server import ui

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".venv/browser/axe.min.js"
WIDTHS = (360, 390, 768, 1440, 1920)
LARGEST_PAINT = 100_000
NO_PAGE = re.compile(
    r"\.(json|csv|svg|\{suffix\})$|/(events|rule|original|markdown|file)$|/web/|/compare$|favicon"
)
"""Routes that are data, parts of a page, redirects or downloads."""

SERIOUS = ("serious", "critical")
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules that depend on the theme and on the width; the others depend on one of them at most."""
COMBINATIONS = ((1440, "light", None), (1440, "dark", COLOURS), (390, "light", COLOURS), (390, "dark", None))
RUN_AXE = """(rules) => axe.run(document, {resultTypes: ["violations"], ...(rules ? {runOnly: rules} : {})})
.then((all) => all.violations.map((each) => [
  each.impact, each.id, each.help, each.nodes.map((node) => node.target.join(" ")).slice(0, 3)]))"""
WIDEST = """() => {
  let found = document.body;
  for (const each of document.querySelectorAll("main *, header *, nav *, footer *")) {
    if (each.getBoundingClientRect().right > found.getBoundingClientRect().right + 1) found = each;
  }
  return `${found.tagName}.${found.className.baseVal ?? found.className} ${found.textContent.trim().slice(0, 40)}`;
}"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    with gallery(tmp_path_factory.mktemp("gallery")) as made:
        wait_for_lists(made.server, [view.url for view in VIEWS if not view.alive])
        run_live(made)
        wait_for_visits(made, made.running, 20)
        yield made


@pytest.fixture(scope="module")
def axe() -> str:
    assert AXE.exists(), "axe-core is not here: make .venv/browser/.ready"
    return AXE.read_text(encoding="utf-8")


def test_no_page_is_forgotten() -> None:
    modules = [import_module(f"{ui.__name__}.{each.name}") for each in pkgutil.iter_modules(ui.__path__)]
    routes = [route for module in modules if hasattr(module, "router") for route in module.router.routes]
    paths = {route.path for route in routes if "GET" in route.methods and not NO_PAGE.search(route.path)}
    assert "/p/{project}/live" in paths
    assert {view.route for view in VIEWS} == paths


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_page_is_light_accessible_within_its_width_and_alone(
    chrome: Browser, shown: Gallery, axe: str, view: View
) -> None:
    with visitor(chrome, shown.server, reduced_motion="reduce") as context:
        watch, page = watched(context, shown.server.url), context.new_page()
        answer = page.goto(view.url)
        assert answer is not None
        assert answer.status == view.status
        assert 1_000 < weight(watch) < LARGEST_PAINT, sizes(watch)
        assert not sideways(page)
        assert not serious(page, axe)
        assert not [each for each in watch.wrongs(page) if not _is_asked_for(view, each)]


def test_the_text_of_a_page_uses_the_width_of_a_phone(chrome: Browser, shown: Gallery) -> None:
    (view,) = [each for each in VIEWS if each.name == "page"]
    with visitor(chrome, shown.server) as context:
        page = context.new_page()
        page.set_viewport_size({"width": 390, "height": 900})
        page.goto(view.url)
        found = page.locator("article.prose").bounding_box()
        assert found is not None
        assert found["width"] > 300


def test_static_files_are_compressed_for_who_asks_and_the_same_for_all(shown: Gallery) -> None:
    path = "/static/live.js?v=1"
    plain = httpx.get(shown.server.url + path, headers={"accept-encoding": "identity"})
    packed = httpx.get(shown.server.url + path, headers={"accept-encoding": "gzip"})
    assert (plain.headers.get("content-encoding"), packed.headers["content-encoding"]) == (None, "gzip")
    assert packed.num_bytes_downloaded < plain.num_bytes_downloaded / 2
    assert packed.content == plain.content
    for found in (plain, packed):
        asked = {"accept-encoding": "gzip", "if-none-match": found.headers["etag"]}
        assert httpx.get(shown.server.url + path, headers=asked).status_code == 304
        assert found.headers["vary"] == "accept-encoding"


def weight(watch: Watch) -> int:
    return sum(sizes(watch).values())


def sizes(watch: Watch) -> dict[str, int]:
    """What was transferred: heads and bodies as they were encoded, of everything but the event stream."""
    found = {}
    for each in list(watch.responses):
        if not each.headers.get("content-type", "").startswith("text/event-stream"):
            parts = each.request.sizes()
            found[each.url] = parts["responseHeadersSize"] + parts["responseBodySize"]
    return found


def sideways(page: Page) -> list[str]:
    """The widths at which the page is wider than its window, with what sticks out."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        needed = page.evaluate("document.scrollingElement.scrollWidth")
        if needed > width:
            found.append(f"{needed} px at {width} px: {page.evaluate(WIDEST)}")
    return found


def serious(page: Page, axe: str) -> list[str]:
    """What axe finds serious or critical, in both themes and two widths."""
    page.evaluate(axe)
    found = []
    for width, theme, rules in COMBINATIONS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        for impact, name, said, where in page.evaluate(RUN_AXE, rules):
            if impact in SERIOUS:
                found.append(f"{width} px, {theme}: {name} ({said}): {json.dumps(where)}")
    return found


def _is_asked_for(view: View, error: str) -> bool:
    """A page that says 404 on purpose is an error of the console."""
    return view.status != 200 and str(view.status) in error

"""Every page of the interface, with what the gallery shows there. A test compares the list with the router."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from browser.gallery import Gallery
from browser.larder import DOCS


@dataclass(frozen=True, slots=True)
class View:
    """A page: its name, the path of its route, and its URL. `alive`: a crawl must be at work."""

    name: str
    route: str
    url: str
    alive: bool = False
    status: int = 200


RUN = "/p/{project}/runs/{run}"
PAGE_TABS = ("markdown", "source", "original", "meta", "links", "explain", "history")


def _views() -> Iterator[View]:
    made = Gallery
    runs, run = f"/p/{made.runs}", f"/p/{made.runs}/runs/2"
    page = f"{run}/page?url={quote(f'http://{DOCS}/reference/shelf/create/', safe='')}"
    yield View("login", "/login", "/login")
    yield View("projects", "/", "/")
    yield View("projects-filtered", "/", "/?state=paused")
    yield View("new-crawl", "/new", "/new")
    yield View("new-crawl-filled", "/new", f"/new?url=http://{DOCS}/&exclude=/archive/&max_depth=4&rate=5")
    yield View("live", "/p/{project}/live", f"/p/{made.running}/live", alive=True)
    yield View(
        "live-rule", "/p/{project}/live", f"/p/{made.running}/live?kind=exclude&pattern=/reference/", alive=True
    )
    yield View("live-waiting", "/p/{project}/live", f"/p/{made.waiting}/live", alive=True)
    yield View("live-paused", "/p/{project}/live", f"/p/{made.paused}/live")
    yield View("live-ended", "/p/{project}/live", f"{runs}/live")
    yield View("live-nothing", "/p/{project}/live", f"/p/{made.stored}/live")
    yield View("project", "/p/{project}", runs)
    yield View("project-paused", "/p/{project}", f"/p/{made.paused}")
    yield View("project-running", "/p/{project}", f"/p/{made.running}", alive=True)
    yield View("project-stored", "/p/{project}", f"/p/{made.stored}")
    yield View("project-waiting", "/p/{project}", f"/p/{made.waiting}", alive=True)
    yield View("finish", "/p/{project}/finish", f"/p/{made.paused}/finish")
    yield View("delete", "/p/{project}/delete", f"{runs}/delete")
    yield View("pages", f"{RUN}/pages", f"{run}/pages")
    yield View("pages-filtered", f"{RUN}/pages", f"{run}/pages?language=de&sort=-tokens")
    yield View("near", f"{RUN}/near", f"{run}/near")
    yield View("pages-none", f"{RUN}/pages", f"{run}/pages?q=nothing-like-that")
    yield View("page", f"{RUN}/page", page)
    for tab in PAGE_TABS[1:]:
        yield View(f"page-{tab}", f"{RUN}/page", f"{page}&tab={tab}")
    yield View("failed", f"{RUN}/failed", f"/p/{made.failing}/runs/latest/failed")
    yield View("failed-kind", f"{RUN}/failed", f"{run}/failed?kind=http_4xx")
    yield View("failed-none", f"{RUN}/failed", f"/p/{made.stored}/runs/latest/failed")
    yield View("queue", f"{RUN}/queue", f"/p/{made.paused}/runs/latest/queue")
    yield View("queue-empty", f"{RUN}/queue", f"{run}/queue")
    yield View("skipped", f"{RUN}/skipped", f"{run}/skipped")
    yield View("changes", "/p/{project}/diff/{pair}", f"{runs}/diff/1..2")
    yield View("changes-added", "/p/{project}/diff/{pair}", f"{runs}/diff/1..2?kind=added")
    yield View("changes-none", "/p/{project}/diff/{pair}", f"/p/{made.paused}/diff/latest")
    yield View("search", f"{RUN}/search", f"{run}/search?q=household")
    yield View("search-empty", f"{RUN}/search", f"{run}/search")
    yield View("search-none", f"{RUN}/search", f"{run}/search?q=zeppelin")
    yield View("search-all", "/search", "/search?q=shelf")
    yield View("map", f"{RUN}/map", f"{run}/map")
    yield View("map-section", f"{RUN}/map", f"{run}/map?section=/reference/")
    yield View("map-web", f"{RUN}/map", f"{run}/map?view=web")
    yield View("exports", "/p/{project}/exports", f"{runs}/exports")
    yield View("settings", "/p/{project}/settings", f"{runs}/settings")
    yield View("tokens", "/tokens", "/tokens")
    yield View("keys", "/keys", "/keys")
    yield View("not-found", "/p/{project}", "/p/nothing-of-that-name", status=404)


VIEWS = tuple(_views())

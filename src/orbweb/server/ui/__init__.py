"""The web interface: pages rendered on the server, readable without JavaScript.

A page is a plain function that calls the workspace, makes frozen records of what it returns by pure functions,
and returns `render(request, "name.html", frame=frame, ...)`; `project_frame` makes the frame of a page of a
project. A form sends its fields by POST with `{{ form_token() }}`; the gate has checked that token when a route
sees `form_of(request)`, and a route answers with `toast.done`: 303 to the page that shows the effect. A
template extends `base.html`, and draws with the macros of `components.html` and the texts of `format`. Nothing
is inline: scripts and styles are in `static/` and are named with `static_url("file")`; `base.css` and
`components.css` are on every page, others are linked in the block `head`. Keys: a link or a button names its
key with `data-key`, rows of a table with `data-rows` have a cursor, and a module adds its own with `onKey` of
`keys.js`.
"""

from __future__ import annotations

from fastapi import APIRouter

from orbweb.server.ui import (
    changes,
    exports,
    failed,
    live,
    login,
    map_page,
    near,
    new_crawl,
    page,
    pages,
    preferences,
    project,
    projects,
    search,
    settings,
    tokens,
    url_lists,
)
from orbweb.server.ui.static_files import static_files

router = APIRouter(include_in_schema=False)
for _module in (
    *(login, preferences, projects, new_crawl, project, live, map_page, pages, near, page, failed, url_lists),
    *(changes, search, settings, exports, tokens),
):
    router.include_router(_module.router)

__all__ = ["router", "static_files"]

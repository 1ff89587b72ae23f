"""The web interface: pages rendered on the server, readable without JavaScript.

A page is a plain function that calls the workspace and returns `render(request, "name.html", ...)`. A form sends
its fields by POST with `{{ form_token() }}`; the gate has checked that token when a route sees `form_of(request)`,
and a route answers with `303` to the page that shows the effect. Nothing is inline: scripts and styles are in
`static/` and are named with `static_url("file")`.
"""

from __future__ import annotations

from fastapi import APIRouter

from orbweb.server.ui import login, projects
from orbweb.server.ui.static_files import static_files

router = APIRouter(include_in_schema=False)
for _module in (login, projects):
    router.include_router(_module.router)

__all__ = ["router", "static_files"]

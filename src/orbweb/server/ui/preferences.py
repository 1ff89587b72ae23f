"""What a browser prefers: the theme, and whether keys act. Cookies that say nothing about anyone."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from orbweb.server.services import Served
from orbweb.server.ui.frame import Crumb, workspace_frame
from orbweb.server.ui.keys import KEYS
from orbweb.server.ui.login import local_path
from orbweb.server.ui.templating import THEME, THEMES, field_of, render

YEAR_S = 365 * 24 * 3600

router = APIRouter()


@router.post("/theme")
def choose_theme(request: Request) -> Response:
    """Without JavaScript; with it, the module `theme.js` writes the same cookie."""
    response = RedirectResponse(local_path(field_of(request, "next")), 303)
    chosen = field_of(request, "theme")
    if chosen in THEMES:
        response.set_cookie(THEME, chosen, max_age=YEAR_S, samesite="strict")
    else:
        response.delete_cookie(THEME, samesite="strict")
    return response


@router.get("/keys")
def keys(request: Request, served: Served) -> Response:
    return render(request, "keys.html", frame=workspace_frame(served, Crumb("Keys", "/keys")), groups=KEYS)

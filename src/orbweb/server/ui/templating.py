"""Templates: every value is escaped, and a name that is not given is an error."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from orbweb import __version__
from orbweb.app.tokens import Permission
from orbweb.server.middleware import FORM_TOKEN
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import BARE, PageFrame
from orbweb.server.ui.keys import KEYS
from orbweb.server.ui.static_files import static_url
from orbweb.server.ui.toast import COOKIE, toast_of

FOLDER = Path(__file__).parent / "templates"
THEME = "orbweb_theme"
THEMES = ("light", "dark")
_FILTERS = (
    *(texts.number, texts.short, texts.size, texts.many, texts.words, texts.rate, texts.took, texts.span),
    *(texts.sentence, texts.shell),
    *(texts.in_full, texts.host_of, texts.rest_of, texts.outward, texts.segment),
)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(static_url=static_url, version=__version__, key_groups=KEYS)
    made.filters.update({made_of.__name__: made_of for made_of in _FILTERS})
    return made


def compile_templates() -> None:
    """Compile all templates, so that the first page of a server does not wait for it."""
    made = environment()
    for name in made.list_templates(extensions=["html"]):
        made.get_template(name)


def render(
    request: Request, name: str, *, status: int = 200, frame: PageFrame = BARE, **values: Any
) -> HTMLResponse:
    """A page made from a template. It knows `who` requests it (None: not logged in), whether they `may_crawl` (or
    only read), its own `path`, its `frame`,
    the `theme` of the browser and the `toast` that a form left."""
    who, toast = getattr(request.state, "who", None), toast_of(request)
    theme = request.cookies.get(THEME, "")

    def form_token() -> Markup:
        return Markup('<input type="hidden" name="{}" value="{}">').format(
            FORM_TOKEN, (who and who.form_token) or ""
        )

    query = f"?{request.url.query}" if request.url.query else ""
    template = environment().get_template(name)
    text = template.render(
        who=who,
        may_crawl=who is not None and who.permission >= Permission.CRAWL,
        form_token=form_token,
        path=request.url.path,
        here=request.url.path + query,
        frame=frame,
        theme=theme if theme in THEMES else "",
        toast=toast,
        **values,
    )
    response = HTMLResponse(text, status)
    if COOKIE in request.cookies:
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def now() -> datetime:
    """The time by which a page shows how long ago something was."""
    return datetime.now(UTC)


def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form, whose token was checked."""
    found: dict[str, list[str]] = request.state.form
    return found


def field_of(request: Request, name: str) -> str:
    """The last value of a field; empty if it was not sent."""
    return form_of(request).get(name, [""])[-1]

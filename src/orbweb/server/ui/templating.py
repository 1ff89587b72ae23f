"""Templates: every value is escaped, and a name that is not given is an error."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from orbweb import __version__
from orbweb.server.middleware import FORM_TOKEN
from orbweb.server.ui.static_files import static_url

FOLDER = Path(__file__).parent / "templates"


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
    made.globals.update(static_url=static_url, version=__version__)
    made.filters.update(number=number)
    return made


def number(value: int) -> str:
    """A count with commas: 12,467."""
    return f"{value:,}"


def render(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made from a template. It knows `who` requests it (None: not logged in) and its own `path`."""
    who = getattr(request.state, "who", None)

    def form_token() -> Markup:
        return Markup('<input type="hidden" name="{}" value="{}">').format(
            FORM_TOKEN, (who and who.form_token) or ""
        )

    text = environment().get_template(name).render(who=who, form_token=form_token, path=request.url.path, **values)
    return HTMLResponse(text, status)


def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form, whose token was checked."""
    found: dict[str, list[str]] = request.state.form
    return found


def field_of(request: Request, name: str) -> str:
    """The last value of a field; empty if it was not sent."""
    return form_of(request).get(name, [""])[-1]

"""The toast: what a form did, told on the page that follows it. It travels in a cookie that is read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

COOKIE = "orbweb_toast"
_SECONDS = 60
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Toast:
    """What happened with its number, the rule if one decided, and the form that undoes it: a path of this server,
    and its fields."""

    text: str
    rule: str = ""
    undo: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


def done(to: str, toast: Toast | None = None) -> Response:
    """The answer to a form: the page that shows its effect."""
    response = RedirectResponse(to, 303)
    if toast is not None:
        given = {"text": toast.text, "rule": toast.rule, "undo": toast.undo, "fields": dict(toast.fields)}
        value = quote(json.dumps(given, separators=(",", ":")), safe="")
        if len(value) <= _LONGEST:
            response.set_cookie(COOKIE, value, max_age=_SECONDS, httponly=True, samesite="strict")
    return response


def toast_of(request: Request) -> Toast | None:
    """The toast that the last form left; None if there is none, or if it makes no sense."""
    with suppress(ValueError, TypeError, LookupError, AttributeError):
        given = json.loads(unquote(request.cookies[COOKIE]))
        fields = {str(name): str(value) for name, value in given["fields"].items()}
        undo = str(given["undo"])
        is_local = undo.startswith("/") and not undo.startswith(("//", "/\\"))
        return Toast(str(given["text"]), str(given["rule"]), undo if is_local else "", fields)
    return None

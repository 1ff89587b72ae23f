"""Tokens: who else may use this server, and for what. Needs the scope admin."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app.jobs.service import TokenSummary
from orbweb.errors import UsageError
from orbweb.server.problems import problem_of
from orbweb.server.services import ADMIN, Served, Services
from orbweb.server.ui.format import when
from orbweb.server.ui.frame import Crumb, workspace_frame
from orbweb.server.ui.templating import field_of, now, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter(dependencies=[ADMIN])

SCOPES = (
    ("read", "See everything, change nothing."),
    ("crawl", "Also start and steer crawls, change rules and settings, export."),
    ("admin", "Also delete data and manage tokens."),
)


def _page(
    request: Request,
    served: Services,
    *,
    made: TokenSummary | None = None,
    text: str = "",
    name: str = "",
    scope: str = "read",
    error: str = "",
    status: int = 200,
) -> Response:
    at = now()
    return render(
        request,
        "tokens.html",
        status=status,
        frame=workspace_frame(served, Crumb("Tokens", "/tokens")),
        rows=[(each, when(each.created_at, at)) for each in served.jobs.tokens()],
        scopes=SCOPES,
        made=made,
        text=text,
        typed=name,
        scope=scope,
        error=error,
    )


@router.get("/tokens")
def show(request: Request, served: Served) -> Response:
    return _page(request, served)


@router.post("/tokens")
def create(request: Request, served: Served) -> Response:
    """The one answer that is no redirect: the text of a token is shown once and stored nowhere."""
    name, scope = field_of(request, "name").strip(), field_of(request, "scope") or "read"
    try:
        made, text = served.jobs.add_token(name, scope)
    except UsageError as error:
        detail = problem_of(error).detail.removeprefix("`name`: ")
        return _page(request, served, name=name, scope=scope, error=detail, status=422)
    return _page(request, served, made=made, text=text, status=201)


@router.post("/tokens/{number}/revoke")
def revoke(served: Served, number: int) -> Response:
    name = next((each.name for each in served.jobs.tokens() if each.id == number), "")
    served.jobs.revoke_token(number)
    return done("/tokens", Toast(f"Token {name} is revoked; logins with it have ended"))

"""Login with a token, and logout."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from orbweb.server.credentials import SESSION_S
from orbweb.server.services import Served
from orbweb.server.ui.templating import field_of, render

router = APIRouter()


@router.get("/login")
def show_login(request: Request) -> Response:
    return render(request, "login.html", next=local_path(request.query_params.get("next", "/")), wrong=False)


@router.post("/login")
def login(request: Request, served: Served) -> Response:
    after = local_path(field_of(request, "next"))
    session = served.credentials.login(field_of(request, "token").strip())
    if session is None:
        return render(request, "login.html", status=401, next=after, wrong=True)
    response = RedirectResponse(after, 303)
    response.set_cookie(
        served.credentials.cookie,
        session,
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        secure=request.headers.get("origin", "").startswith("https://"),
    )
    return response


@router.post("/logout")
def logout(served: Served) -> Response:
    response = RedirectResponse("/login", 303)
    response.delete_cookie(served.credentials.cookie, httponly=True, samesite="strict")
    return response


@router.get("/favicon.ico")
def icon() -> Response:
    return RedirectResponse("/static/icon.svg", 303)


def local_path(given: str) -> str:
    """A path of this server; the start page if it is anything else."""
    is_local = given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable()
    return given if is_local else "/"

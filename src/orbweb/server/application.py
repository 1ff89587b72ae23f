"""The application: routes, the gate in front of them, and what happens when something goes wrong."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from orbweb import __version__
from orbweb.errors import OrbwebError
from orbweb.server import api, ui
from orbweb.server.middleware import SecurityMiddleware
from orbweb.server.problems import MEDIA_TYPE, Problem, ProblemRaised, problem_of
from orbweb.server.security import API
from orbweb.server.services import Services
from orbweb.server.ui.comparisons import Comparisons
from orbweb.server.ui.figures import Figures
from orbweb.server.ui.lists import Lists
from orbweb.server.ui.live_board import LiveBoard
from orbweb.server.ui.problem_page import framed_problem, problem_page, project_in
from orbweb.server.ui.search import Searches
from orbweb.server.ui.templating import compile_templates

THREADS = 16
_PLAIN = {
    "extra_forbidden": "unknown field; /api/v1/openapi.json lists those of this request",
    "missing": "missing",
}
"""What is wrong with a field, instead of the words of pydantic."""
_CODES = {404: "not_found", 405: "method_not_allowed"}


def create_app(services: Services) -> FastAPI:
    """The application that serves a workspace."""
    app = FastAPI(
        title="orbweb",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.services, app.state.streams = services, set()
    app.state.figures = Figures(services.workspace, services.jobs)
    app.state.lists = Lists(services)
    app.state.searches = Searches(services)
    app.state.comparisons = Comparisons(services.workspace)
    app.state.live = LiveBoard(services.reading)
    app.include_router(api.router)
    app.include_router(ui.router)
    app.mount("/static", ui.static_files(), name="static")
    _answer_problems(app)
    app.add_middleware(
        SecurityMiddleware,
        hosts=services.hosts,
        credentials=services.credentials,
        answer=answer,
        workspace=services.workspace.path,
    )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Jobs begin and end with the application."""
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    jobs = app.state.services.jobs
    await to_thread.run_sync(jobs.start)
    threading.Thread(target=compile_templates, name="orbweb-templates", daemon=True).start()
    try:
        yield
    finally:
        await to_thread.run_sync(jobs.close)


def answer(request: Request, problem: Problem) -> Response:
    """A problem as JSON for programs, as a page for people."""
    if not _is_for_people(request):
        return JSONResponse(problem.report(), problem.status, media_type=MEDIA_TYPE)
    return problem_page(request, problem, project=project_in(request.url.path))


def _is_for_people(request: Request) -> bool:
    return not request.url.path.startswith(API) and "text/html" in request.headers.get("accept", "")


def _answered(request: Request, problem: Problem, error: OrbwebError | None = None) -> Response:
    """The problem of a route: for people who are logged in, in the frame of the page."""
    if not _is_for_people(request) or request.state.who is None:
        return answer(request, problem)
    return framed_problem(request, request.app.state.services, problem, error)


def _answer_problems(app: FastAPI) -> None:
    @app.exception_handler(OrbwebError)
    def _on_error(request: Request, error: OrbwebError) -> Response:
        return _answered(request, problem_of(error), error)

    @app.exception_handler(ProblemRaised)
    def _on_problem(request: Request, raised: ProblemRaised) -> Response:
        return _answered(request, raised.problem)

    @app.exception_handler(RequestValidationError)
    def _on_invalid(request: Request, error: RequestValidationError) -> Response:
        found = [
            {"field": ".".join(map(str, each["loc"][1:])), "message": _PLAIN.get(each["type"], each["msg"])}
            for each in error.errors()
        ]
        detail = "; ".join(f"{each['field']}: {each['message']}" for each in found)
        return _answered(request, Problem(422, "invalid_request", detail, {"errors": found}))

    @app.exception_handler(HTTPException)
    def _on_http(request: Request, error: HTTPException) -> Response:
        response = _answered(
            request, Problem(error.status_code, _CODES.get(error.status_code, "bad_request"), str(error.detail))
        )
        for name, value in (error.headers or {}).items():
            response.headers[name] = value
        return response

"""Pages of a run: the list, one page and its captured bytes, its captures over time, and why a URL is as it is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, PlainTextResponse, Response

from orbweb.app import UrlDetails, UrlExplanation
from orbweb.app.listings import PageFilter
from orbweb.app.results.listings import PageRow, UrlCapture
from orbweb.server.api.fields import shape, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.problems import ProblemRaised
from orbweb.server.security import CAPTURED
from orbweb.server.services import Served, Services

router = APIRouter(tags=["pages"])

RunNumber = Annotated[int | None, Query(ge=1, description="Number of the run within the project [the latest]")]
PageUrl = Annotated[str, Query(description="The URL of the page", examples=["https://example.org/docs/"])]

CAPTURED_HEADERS = {"content-security-policy": CAPTURED, "x-content-type-options": "nosniff"}


@listed(router, "/projects/{project}/pages", PageRow, summary="The unique pages of a run")
def pages(
    project: str,
    served: Served,
    run: RunNumber = None,
    sort: Annotated[
        str, Query(description="place, url, title, words, tokens, bytes or depth; with `-`, the largest first")
    ] = "place",
    status: Annotated[int | None, Query(ge=100, le=999)] = None,
    depth: Annotated[int | None, Query(ge=0, le=1_000_000)] = None,
    language: Annotated[str | None, Query(max_length=100)] = None,
    q: Annotated[str | None, Query(max_length=500, description="Words in the URL or the title")] = None,
    after: Annotated[str | None, Query(description="`next` of the part before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Listing:
    name = served.jobs.project(project).name
    found = served.jobs.page_list(name, PageFilter(sort, status, depth, language, q, after, limit), run=run)
    return Listing(found.items, found.next)


def _details(served: Services, project: str, url: str, run: int | None) -> UrlDetails:
    found = served.workspace.show(project, url, run=run)
    if found is None:
        raise ProblemRaised(404, "unknown_url", f"the run has never seen {url}")
    return found


@router.get(
    "/projects/{project}/page",
    summary="Everything known about a URL",
    responses={200: {"model": shape(UrlDetails)}},
)
def page(project: str, url: PageUrl, served: Served, run: RunNumber = None) -> Response:
    return JSONResponse(to_json(_details(served, served.jobs.project(project).name, url, run)))


def _document(served: Services, project: str, url: str, run: int | None) -> tuple[str, str]:
    """The Markdown and the text of a page."""
    found = served.workspace.document(served.jobs.project(project).name, url, run=run)
    if found is None:
        raise ProblemRaised(404, "no_page", f"{url} has no page in this run")
    return found.markdown, found.text


@router.get("/projects/{project}/page/markdown", summary="A page as Markdown", response_class=PlainTextResponse)
def page_markdown(project: str, url: PageUrl, served: Served, run: RunNumber = None) -> Response:
    return PlainTextResponse(_document(served, project, url, run)[0], headers=CAPTURED_HEADERS)


@router.get("/projects/{project}/page/text", summary="A page as plain text", response_class=PlainTextResponse)
def page_text(project: str, url: PageUrl, served: Served, run: RunNumber = None) -> Response:
    return PlainTextResponse(_document(served, project, url, run)[1], headers=CAPTURED_HEADERS)


@router.get(
    "/projects/{project}/page/body", summary="The captured bytes, as a download", response_class=PlainTextResponse
)
def page_body(project: str, url: PageUrl, served: Served, run: RunNumber = None) -> Response:
    """The decoded body as the site sent it, always as text/plain and never shown in place."""
    found = _details(served, served.jobs.project(project).name, url, run)
    if found.body_sha256 is None:
        raise ProblemRaised(404, "no_body", f"no body of {url} is stored")
    name = f"{found.body_sha256[:16]}.txt"
    headers = {**CAPTURED_HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    return Response(served.workspace.body(found.body_sha256), media_type="text/plain", headers=headers)


@listed(router, "/projects/{project}/captures", UrlCapture, summary="One URL in all runs, the latest first")
def captures(project: str, url: PageUrl, served: Served) -> Listing:
    return Listing(served.jobs.captures(served.jobs.project(project).name, url))


@router.get(
    "/projects/{project}/explain",
    summary="Why a URL was visited, skipped or failed",
    responses={200: {"model": shape(UrlExplanation)}},
)
def explain(project: str, url: PageUrl, served: Served, run: RunNumber = None) -> Response:
    """The rule that decided, how the URL was found, and what links to it. A URL that was never seen has the state
    `unknown`, and what the rules decide now."""
    return JSONResponse(to_json(served.workspace.explain(served.jobs.project(project).name, url, run=run)))

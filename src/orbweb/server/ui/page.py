"""One URL of a run: its Markdown, source, original, metadata, links, explanation and captures."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import UrlDetails
from orbweb.app.results.listings import UrlCapture
from orbweb.server.problems import ProblemRaised
from orbweb.server.security import CAPTURED
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import address, lists_of, number_of, page_href
from orbweb.server.ui.markdown import headings_of, to_html
from orbweb.server.ui.templating import render
from orbweb.server.ui.toast import done

router = APIRouter()

TABS = (
    ("markdown", "Markdown"),
    ("source", "Source"),
    ("original", "Original as text"),
    ("meta", "Metadata"),
    ("links", "Links"),
    ("explain", "Explain"),
    ("history", "History"),
)
LONGEST = 200_000
"""Characters of an original that are shown; the download has them all."""
LINKS = 500


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the outline, and about how many tokens it has."""

    text: str
    anchor: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Step:
    """A run of the stepper, and what the URL was in it."""

    run: int
    word: str
    href: str
    current: bool


def outline_of(markdown: str, tokens: int) -> list[Section]:
    """The sections of a page, its tokens divided by their length."""
    lines = markdown.splitlines(keepends=True)
    starts = [(line, text) for line, _, text in headings_of(markdown)]
    whole = max(1, len(markdown))
    sections = []
    ends = [*(line for line, _ in starts[1:]), len(lines)]
    for place, ((line, text), end) in enumerate(zip(starts, ends, strict=False), 1):
        size = sum(len(each) for each in lines[line:end])
        sections.append(Section(text, f"#part-{place}", round(tokens * size / whole)))
    return sections


def steps_of(
    captures: list[UrlCapture], runs: tuple[int, ...], shown: int, base: tuple[str, str, str]
) -> list[Step]:
    """The latest runs in the order of time, each with what became of the URL."""
    project, url, tab = base
    known = {each.run: each for each in captures}
    steps = []
    earlier: UrlCapture | None = None
    for run in sorted(runs):
        found = known.get(run)
        steps.append(Step(run, _word(found, earlier), page_href(project, run, url, tab), run == shown))
        earlier = found or earlier
    return steps[-6:]


def _word(found: UrlCapture | None, earlier: UrlCapture | None) -> str:
    if found is None:
        return "not there"
    if found.content_sha256 is None:
        return texts.words(found.state)
    if earlier is None or earlier.content_sha256 is None:
        return "captured" if earlier is None else "added"
    return "unchanged" if earlier.content_sha256 == found.content_sha256 else "changed"


def _details(served: Services, project: str, run: int | None, url: str) -> UrlDetails:
    found = served.workspace.show(project, url, run=run)
    if found is None:
        raise ProblemRaised(404, "unknown_url", f"the run has never seen {url[:500]}")
    return found


@router.get("/p/{project}/runs/{run}/page")
def page(request: Request, served: Served, project: str, run: str, url: str, tab: str = "") -> Response:
    number = number_of(run)
    frame, outline = project_frame(served, project, "pages", run=number)
    details = _details(served, project, number, url)
    document = served.workspace.document(project, url, run=number)
    tab = tab if tab in dict(TABS) else "markdown" if document else "explain"
    captures = served.jobs.captures(project, url)
    path = f"{run_path(project, run)}/page"
    original, cut = _original(served, details) if tab == "original" else ("", False)
    links = lists_of(request).links_of(outline, url)
    return render(
        request,
        "page.html",
        frame=frame,
        outline=outline,
        details=details,
        document=document,
        html=to_html(document.markdown) if document and tab == "markdown" else None,
        sections=outline_of(document.markdown, document.tokens) if document and tab == "markdown" else [],
        original=original,
        cut=cut,
        explained=served.workspace.explain(project, url, run=number, referrers=False),
        captures=captures,
        steps=steps_of(captures, outline.runs, outline.run or 0, (project, details.url, tab)),
        links=links,
        most=LINKS,
        tab=tab,
        tabs=[(name, text, address(path, {"url": details.url, "tab": name})) for name, text in TABS],
        to=lambda each: page_href(project, run, each),
        explain_href=page_href(project, run, details.url, "explain"),
        download=address(f"{path}/original", {"url": details.url}),
    )


def _original(served: Services, details: UrlDetails) -> tuple[str, bool]:
    """The captured body as text, and whether only its beginning is shown."""
    if details.body_sha256 is None:
        return "", False
    body = served.workspace.body(details.body_sha256)
    text = body[: LONGEST * 4].decode("utf-8", "replace")
    return text[:LONGEST], len(text) > LONGEST or len(body) > LONGEST * 4


@router.get("/p/{project}/runs/{run}/page/original")
def original(served: Served, project: str, run: str, url: str) -> Response:
    """The captured bytes, as a download of plain text."""
    details = _details(served, project, number_of(run), url)
    if details.body_sha256 is None:
        raise ProblemRaised(404, "no_body", f"no body of {url[:500]} is stored")
    name = f"{details.body_sha256[:16]}.txt"
    headers = {
        "content-security-policy": CAPTURED,
        "x-content-type-options": "nosniff",
        "content-disposition": f'attachment; filename="{name}"',
    }
    return Response(served.workspace.body(details.body_sha256), media_type="text/plain", headers=headers)


@router.get("/p/{project}/web/{url:path}")
def newest(request: Request, served: Served, project: str, url: str) -> Response:
    """The newest capture of a URL."""
    whole = f"{url}?{request.url.query}" if request.url.query else url
    captures = served.jobs.captures(project, whole)
    if not captures:
        raise ProblemRaised(404, "unknown_url", f"no run has seen {whole[:500]}")
    return done(page_href(project, captures[0].run, whole))

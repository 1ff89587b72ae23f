"""One URL of a run: its Markdown, source, original, metadata, links, explanation and captures."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import UrlDetails
from orbweb.app.results.catalog import UrlLinks
from orbweb.app.results.listings import UrlCapture
from orbweb.model import Document
from orbweb.server.problems import ProblemRaised
from orbweb.server.security import CAPTURED
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import project_frame, project_path, run_path
from orbweb.server.ui.lists import address, lists_of, number_of, page_href
from orbweb.server.ui.markdown import beginning_of, headings_of, to_html
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
"""Characters of a text that are shown; its download has them all."""
LINKS = 500
HEADINGS = 80
"""Headings of an outline that are shown."""
STEPS = 6


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A part of the outline, its level, and about how many tokens it has. What is before the first heading has no
    anchor."""

    text: str
    anchor: str
    level: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a tab, and the whole of it: how many characters it has, and where it is."""

    text: str
    length: int
    whole: str

    @property
    def cut(self) -> bool:
        return len(self.text) < self.length


@dataclass(frozen=True, slots=True)
class RunStep:
    """A run of the stepper, and what the URL was in it."""

    run: int
    word: str
    href: str
    current: bool


def outline_of(markdown: str, tokens: int) -> list[OutlineSection]:
    """The sections of a page, its tokens divided by their length."""
    lines = markdown.splitlines(keepends=True)
    found = headings_of(markdown)
    if not found:
        return []
    base = min(level for _, level, _ in found)
    starts = [(line, f"#part-{place}", level - base, text) for place, (line, level, text) in enumerate(found, 1)]
    if any(line.strip() for line in lines[: starts[0][0]]):
        starts.insert(0, (0, "", 0, "(start)"))
    ends = [*(line for line, *_ in starts[1:]), len(lines)]
    whole = max(1, len(markdown))
    return [
        OutlineSection(text, anchor, level, round(tokens * sum(map(len, lines[line:end])) / whole))
        for (line, anchor, level, text), end in zip(starts, ends, strict=True)
    ]


def steps_of(
    captures: list[UrlCapture], runs: tuple[int, ...], shown: int, base: tuple[str, str, str]
) -> list[RunStep]:
    """The latest runs in the order of time, each with what became of the URL."""
    project, url, tab = base
    known = {each.run: each for each in captures}
    steps = []
    earlier: UrlCapture | None = None
    for run in sorted(runs):
        found = known.get(run)
        steps.append(RunStep(run, _word(found, earlier), page_href(project, run, url, tab), run == shown))
        earlier = found or earlier
    return steps[-STEPS:]


def _word(found: UrlCapture | None, earlier: UrlCapture | None) -> str:
    if found is None:
        return "not there"
    if found.content_sha256 is None:
        return texts.words(found.state)
    if earlier is None or earlier.content_sha256 is None:
        return "captured" if earlier is None else "added"
    return "unchanged" if earlier.content_sha256 == found.content_sha256 else "changed"


def alternates_of(details: UrlDetails, links: UrlLinks | None) -> list[str]:
    """The other URLs with the content of this one, its page first."""
    if links is None:
        return []
    others = dict.fromkeys([*([details.primary] if details.primary else []), *links.alternates])
    return [url for url in others if url != details.url]


def _details(served: Services, project: str, run: int | None, url: str) -> UrlDetails:
    found = served.reading.details(project, url, run=run)
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
    shown = _shown(served, details, document, tab, path)
    is_read = document is not None and tab == "markdown"
    sections = outline_of(document.markdown, document.tokens) if document and is_read else []
    links = lists_of(request).links_of(outline, url)
    steps = steps_of(captures, outline.runs, outline.run or 0, (project, details.url, tab))
    at = next((place for place, each in enumerate(steps) if each.current), 0)
    return render(
        request,
        "page.html",
        frame=frame,
        outline=outline,
        details=details,
        document=document,
        shown=shown,
        html=to_html(shown.text) if is_read else None,
        sections=sections[:HEADINGS],
        more_sections=max(0, len(sections) - HEADINGS),
        explained=served.workspace.explain(project, url, run=number, referrers=False),
        captures=captures,
        contents=len({each.content_sha256 for each in captures if each.content_sha256}),
        steps=steps,
        before=steps[at - 1] if at else None,
        after=steps[at + 1] if at + 1 < len(steps) else None,
        links=links,
        alternates=alternates_of(details, links),
        out=[
            (each.url, f"{each.kind}, nofollow" if each.nofollow else each.kind) for each in details.links[:LINKS]
        ],
        most=LINKS,
        tab=tab,
        tabs=[(name, text, address(path, {"url": details.url, "tab": name})) for name, text in TABS],
        to=lambda each: page_href(project, run, each),
        to_run=lambda each: page_href(project, each, details.url, tab),
        explain_href=page_href(project, run, details.url, "explain"),
        list_path=f"{run_path(project, run)}/pages",
        markdown_href=address(f"{path}/markdown", {"url": details.url}),
        diff_path=f"{project_path(project)}/diff",
    )


def _shown(served: Services, details: UrlDetails, document: Document | None, tab: str, path: str) -> Shown:
    """The beginning of what the tab shows."""
    if tab in ("markdown", "source") and document is not None:
        whole = address(f"{path}/markdown", {"url": details.url})
        text = document.markdown
        return Shown(beginning_of(text, LONGEST) if tab == "markdown" else text[:LONGEST], len(text), whole)
    if tab == "original" and details.body_sha256 is not None:
        body = served.workspace.body(details.body_sha256)
        text = body[: LONGEST * 4].decode("utf-8", "replace")
        length = len(text) if len(body) <= LONGEST * 4 else len(body)
        return Shown(text[:LONGEST], length, address(f"{path}/original", {"url": details.url}))
    return Shown("", 0, "")


@router.get("/p/{project}/runs/{run}/page/markdown")
def markdown(served: Served, project: str, run: str, url: str) -> Response:
    """The Markdown of a page, as a download of plain text."""
    number = number_of(run)
    details = _details(served, project, number, url)
    document = served.workspace.document(project, url, run=number)
    if document is None:
        raise ProblemRaised(404, "no_page", f"there is no page of {url[:500]}")
    return _download(document.markdown.encode(), f"{(details.content_sha256 or 'page')[:16]}.txt")


@router.get("/p/{project}/runs/{run}/page/original")
def original(served: Served, project: str, run: str, url: str) -> Response:
    """The captured bytes, as a download of plain text."""
    details = _details(served, project, number_of(run), url)
    if details.body_sha256 is None:
        raise ProblemRaised(404, "no_body", f"no body of {url[:500]} is stored")
    return _download(served.workspace.body(details.body_sha256), f"{details.body_sha256[:16]}.txt")


def _download(body: bytes, name: str) -> Response:
    headers = {
        "content-security-policy": CAPTURED,
        "x-content-type-options": "nosniff",
        "content-disposition": f'attachment; filename="{name}"',
    }
    return Response(body, media_type="text/plain", headers=headers)


@router.get("/p/{project}/web/{url:path}")
def newest(request: Request, served: Served, project: str, url: str) -> Response:
    """The newest capture of a URL."""
    whole = f"{url}?{request.url.query}" if request.url.query else url
    captures = served.jobs.captures(project, whole)
    if not captures:
        raise ProblemRaised(404, "unknown_url", f"no run has seen {whole[:500]}")
    return done(page_href(project, captures[0].run, whole))

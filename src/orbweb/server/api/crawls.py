"""Crawls: start, resume, recrawl, and steer the one at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias

from fastapi import APIRouter, Body
from typing_extensions import TypedDict

from orbweb.app.ids import CrawlIdentity
from orbweb.app.jobs.follower import AT_WORK
from orbweb.app.jobs.service import ONLY_BASES, StartedCrawl
from orbweb.server.api.fields import given_options, options_body, text_of
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served, Services

router = APIRouter(tags=["crawls"])

if TYPE_CHECKING:
    CrawlBody: TypeAlias = dict[str, Any]
    BatchBody: TypeAlias = dict[str, Any]
    ResumeBody: TypeAlias = dict[str, Any]
    RecrawlBody: TypeAlias = dict[str, Any]
else:
    CrawlBody = options_body(
        "CrawlBody", "crawl", url=NotRequired[str], urls=NotRequired[list[str]], project=NotRequired[str]
    )
    BatchBody = options_body("BatchBody", "crawl", leave_out=ONLY_BASES, urls=list[str], project=NotRequired[str])
    ResumeBody = options_body("ResumeBody", "resume")
    RecrawlBody = options_body("RecrawlBody", "recrawl")


class Started(TypedDict):
    """A crawl that was accepted. `runID` and `crawlID` are null as long as it waits for its turn."""

    projectID: int
    runID: int | None
    crawlID: int | None
    jobID: int
    state: str


class Steered(TypedDict):
    """A crawl that was sent a command."""

    projectID: int
    runID: int
    crawlID: int
    command: str


def _started(found: StartedCrawl) -> Started:
    return Started(
        projectID=found.project_id,
        runID=found.run_id,
        crawlID=found.crawl_id,
        jobID=found.job.id,
        state=found.job.state.value,
    )


@router.post("/crawl", summary="Start a crawl")
def crawl(
    served: Served,
    body: Annotated[
        CrawlBody,
        Body(
            openapi_examples={
                "site": {"summary": "A site", "value": {"url": "https://example.org/docs/", "budget": 100}},
                "rules": {
                    "summary": "With rules",
                    "value": {"url": "https://example.org/", "exclude": ["/archive/"], "maxDepth": 3, "rate": 1},
                },
            }
        ),
    ],
) -> Started:
    """Start a run, or resume the paused run of the project, as `orbweb crawl`. The options are those of the
    command line, in camelCase. A project with an active crawl: 409 `crawl_active`, with its `crawlID`."""
    return _started(
        served.jobs.crawl(urls_of(body), project=_project(served, body), options=given_options("crawl", body))
    )


@router.post("/batch", summary="Visit a list of URLs")
def batch(
    served: Served,
    body: Annotated[
        BatchBody, Body(examples=[{"urls": ["https://example.org/a", "https://example.org/b"], "project": "list"}])
    ],
) -> Started:
    """As `POST /crawl` with these `urls`, and without following links or reading sitemaps: they are visited,
    and what they redirect to."""
    return _started(
        served.jobs.batch(urls_of(body), project=_project(served, body), options=given_options("crawl", body))
    )


def _project(served: Services, body: Any) -> str | None:
    """The name of a project, which may be new; an id must be known."""
    word = text_of(body, "project")
    return served.jobs.project(word).name if word is not None and word.isdigit() else word


def urls_of(body: Any) -> tuple[str, ...]:
    """The URLs of a body: `url`, `urls` or both."""
    one = text_of(body, "url")
    return (*((one,) if one is not None else ()), *body.get("urls", ()))


@router.post("/resume-crawl/{project}", summary="Resume the paused run")
def resume(project: str, served: Served, body: Annotated[ResumeBody | None, Body()] = None) -> Started:
    """Resume the paused run of a project. 409 `nothing_to_resume` if it was never crawled, `nothing_queued` if its
    latest run is completed."""
    name = served.jobs.project(project).name
    return _started(served.jobs.resume(name, given_options("resume", body or {})))


@router.post("/recrawl/{project}", summary="Crawl a project again")
def recrawl(project: str, served: Served, body: Annotated[RecrawlBody | None, Body()] = None) -> Started:
    """Start a run that visits the known URLs first, with conditional requests."""
    name = served.jobs.project(project).name
    return _started(served.jobs.recrawl(name, given_options("recrawl", body or {})))


def _at_work(served: Services, number: int) -> CrawlIdentity:
    """The crawl with this id, or the one that continues its run; 409 if none does."""
    found = served.jobs.crawl_of(number)
    state = served.jobs.state(found.project)
    if state["state"] not in AT_WORK or state["runID"] != found.run_id:
        raise ProblemRaised(
            409, "crawl_ended", f"crawl {number} has ended; its project has no crawl of that run now"
        )
    return found


def _steered(found: CrawlIdentity, command: str) -> Steered:
    return Steered(projectID=found.project_id, runID=found.run_id, crawlID=found.id, command=command)


@router.post("/crawl/{crawl_id}/pause", summary="Pause a crawl")
def pause(crawl_id: int, served: Served) -> Steered:
    """Send no new requests until `unpause`; those in flight finish."""
    found = _at_work(served, crawl_id)
    served.workspace.pause(found.project)
    return _steered(found, "pause")


@router.post("/crawl/{crawl_id}/unpause", summary="Let a crawl continue")
def unpause(crawl_id: int, served: Served) -> Steered:
    """Let a crawl that is on hold continue."""
    found = _at_work(served, crawl_id)
    served.workspace.unpause(found.project)
    return _steered(found, "unpause")


@router.post("/crawl/{crawl_id}/stop", summary="Stop a crawl")
def stop(crawl_id: int, served: Served) -> Steered:
    """Stop the crawl; its queue is kept, and the run can be resumed. Answers before the crawl has ended."""
    found = _at_work(served, crawl_id)
    served.workspace.stop(found.project, wait=False)
    return _steered(found, "stop")


@router.post("/crawl/{crawl_id}/finish", summary="Complete the run of a crawl")
def finish(crawl_id: int, served: Served) -> Steered:
    """Skip what is queued, which completes the run. A crawl at work does so after its requests in flight."""
    found = served.jobs.crawl_of(crawl_id)
    if served.jobs.state(found.project)["runID"] != found.run_id:
        raise ProblemRaised(409, "crawl_ended", f"crawl {crawl_id} is not of the latest run of its project")
    served.workspace.finish(found.project, wait=False)
    return _steered(found, "finish")

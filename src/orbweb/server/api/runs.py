"""Runs and their crawls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from typing_extensions import TypedDict

from orbweb.app import CrawlSummary, RunHistory, RunSummary
from orbweb.app.ids import ProjectIdentity, RunCrawls, RunIdentity
from orbweb.server.api.fields import shape, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.services import Served, Services

router = APIRouter(tags=["runs"])

PART = 2000
"""Lines of a manifest that are read at once."""


class RunCrawl(TypedDict):
    """A crawl of a run; `pagesCrawled` counts its visits."""

    id: int
    state: str
    pagesCrawled: int


class RunView(TypedDict):
    """A run and its crawls, which add up to `totalPagesCrawled`."""

    id: int
    projectID: int
    state: str
    crawls: list[RunCrawl]
    totalPagesCrawled: int
    createdAt: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list."""

    id: int
    number: int
    state: str
    started_at: str
    ended_at: str | None
    seconds: float
    discovered: int
    visited: int
    failed: int
    queued: int
    pages: int
    alternates: int
    bytes: int
    crawl_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """A crawl in a list."""

    id: int
    run_id: int
    number: int
    state: str
    ended_by: str | None
    error: str | None
    budget: int | None
    started_at: str
    seconds: float
    visited: int
    failed: int
    pages: int
    bytes: int


def _summary(served: Services, project: str, number: int) -> RunSummary:
    return next(run for run in served.workspace.runs(project) if run.run == number)


@router.get("/run/{run_id}", summary="A run")
def get_run(run_id: int, served: Served) -> RunView:
    found = served.jobs.run(run_id)
    run = _summary(served, found.project, found.number)
    ids = next(each for each in served.jobs.runs_of(found.project_id) if each.id == run_id)
    crawls = [
        RunCrawl(id=number, state=crawl.state, pagesCrawled=crawl.visited + crawl.failed)
        for number, crawl in zip(ids.crawls, run.crawls, strict=False)
    ]
    return RunView(
        id=run_id,
        projectID=found.project_id,
        state=run.state,
        crawls=crawls,
        totalPagesCrawled=sum(crawl["pagesCrawled"] for crawl in crawls),
        createdAt=run.started_at,
    )


@router.get(
    "/run/{run_id}/report", summary="Everything about a run", responses={200: {"model": shape(RunSummary)}}
)
def get_run_report(run_id: int, served: Served) -> Response:
    """The counts of a run by state and reason, its base URLs and its crawls."""
    found = served.jobs.run(run_id)
    return JSONResponse(to_json(_summary(served, found.project, found.number)))


@router.get("/run/{run_id}/manifest", summary="One line per visit, in order", response_class=PlainTextResponse)
def get_manifest(
    run_id: int, served: Served, hashed: Annotated[bool, Query(alias="hash", description="One SHA-256")] = False
) -> Response:
    """As `orbweb manifest`: the same for the same site, however it was crawled."""
    found = served.jobs.run(run_id)
    if hashed:
        return PlainTextResponse(served.workspace.manifest_hash(found.project, run=found.number) + "\n")
    return StreamingResponse(_manifest(served, found), media_type="text/plain; charset=utf-8")


async def _manifest(served: Services, run: RunIdentity) -> AsyncIterator[str]:
    """The lines in parts, so that a client that reads slowly holds nothing open."""
    after = 0
    while rows := await to_thread.run_sync(
        lambda last: served.reading.manifest(run.project, last, PART, run=run.number), after
    ):
        yield "".join(f"{line}\n" for _, line in rows)
        after = rows[-1][0]


def run_row(ids: RunCrawls, run: RunHistory, alternates: int) -> RunRow:
    return RunRow(
        ids.id,
        run.run,
        run.state,
        run.started_at,
        run.ended_at,
        run.seconds,
        run.visited + run.failed + run.queued + sum(run.skipped.values()),
        run.visited,
        run.failed,
        run.queued,
        run.pages,
        alternates,
        run.bytes,
        ids.crawls,
    )


def _paired(served: Services, project: ProjectIdentity) -> list[tuple[RunCrawls, RunHistory]]:
    """The runs of a project, the latest first, with their ids."""
    ids = {each.number: each for each in served.jobs.runs_of(project.id)}
    every = served.jobs.histories(project.name) if ids else []
    return [(ids[run.run], run) for run in every if run.run in ids]


@listed(router, "/projects/{project}/runs", RunRow, summary="The runs of a project, the latest first")
def runs(project: str, served: Served) -> Listing:
    found = served.jobs.project(project)
    pairs = _paired(served, found)
    return Listing([run_row(ids, run, served.jobs.alternates(found.name, run)) for ids, run in pairs])


@listed(router, "/projects/{project}/crawls", CrawlRow, summary="The crawls of a project, the latest first")
def crawls(project: str, served: Served) -> Listing:
    pairs = _paired(served, served.jobs.project(project))
    return Listing(
        [
            _crawl_row(number, ids.id, crawl)
            for ids, run in pairs
            for number, crawl in reversed(list(zip(ids.crawls, run.crawls, strict=False)))
        ]
    )


def _crawl_row(number: int, run_id: int, crawl: CrawlSummary) -> CrawlRow:
    return CrawlRow(
        number,
        run_id,
        crawl.crawl,
        crawl.state,
        crawl.ended_by,
        crawl.error,
        crawl.budget,
        crawl.started_at,
        crawl.seconds,
        crawl.visited,
        crawl.failed,
        crawl.pages,
        crawl.bytes,
    )


@router.get("/crawl/{crawl_id}", summary="A crawl", responses={200: {"model": shape(CrawlRow)}})
def get_crawl(crawl_id: int, served: Served) -> Response:
    found = served.jobs.crawl_of(crawl_id)
    run = _summary(served, found.project, found.run)
    crawl = next(each for each in run.crawls if each.crawl == found.number)
    return JSONResponse(to_json(_crawl_row(crawl_id, found.run_id, crawl)))

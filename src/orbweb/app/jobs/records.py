"""A job, and what it was asked to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from orbweb.app import job_files
from orbweb.store.rows import moment
from orbweb.store.server_rows import JobRow


class JobState(StrEnum):
    """`interrupted`: the server ended, and resumes the job at its next start. `paused`: its process died, and it
    is not resumed (`--no-autoresume`). `cancelled`: taken out of the queue or, of an export, ended at work."""

    QUEUED = "queued"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    FAILED = "failed"
    PAUSED = "paused"
    CANCELLED = "cancelled"


class JobKind(StrEnum):
    """`crawl`: one of the verbs crawl, resume and recrawl. `batch`: a crawl of a list of URLs, without following
    links. `extract`: the stored pages of a run are extracted again."""

    CRAWL = "crawl"
    BATCH = "batch"
    EXPORT = job_files.EXPORT
    EXTRACT = "extract"


CRAWLS = (JobKind.CRAWL, JobKind.BATCH)
"""Jobs that have a run and crawls."""
OWNING = (*CRAWLS, JobKind.EXTRACT)
"""Jobs that own their project while they work."""


@dataclass(frozen=True, slots=True)
class CrawlOrder:
    """A crawl that a client wants: one of the verbs crawl, resume and recrawl. `settings` are further ones, by
    their dotted keys; `private_sites` the sites at private addresses that it may visit."""

    verb: str
    urls: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    private_sites: tuple[str, ...] = ()

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """An export that a client wants: the format, and the number of the run."""

    to: str
    run: int

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class ExtractOrder:
    """Pages that a client wants to be extracted again: those of a run, by its number, with another version of the
    extractor; or `everything`."""

    run: int
    everything: bool

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def crawl_order(text: str) -> CrawlOrder:
    found = json.loads(text)
    lists = {"urls": tuple(found["urls"]), "private_sites": tuple(found["private_sites"])}
    return CrawlOrder(**{**found, **lists})


def export_order(text: str) -> ExportOrder:
    return ExportOrder(**json.loads(text))


def extract_order(text: str) -> ExtractOrder:
    return ExtractOrder(**json.loads(text))


@dataclass(frozen=True, slots=True)
class ServerJob:
    """A job as clients see it. `done` of `total`: pages that an export has written, or an extraction has
    read."""

    id: int
    kind: JobKind
    project_id: int
    state: JobState
    request: Mapping[str, Any]
    run_id: int | None
    crawl_id: int | None
    done: int
    total: int
    result: Mapping[str, Any] | None
    error: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None


def job_of(row: JobRow) -> ServerJob:
    return ServerJob(
        row.id,
        JobKind(row.kind),
        row.project_id,
        JobState(row.state),
        json.loads(row.request),
        row.run_id,
        row.first_crawl,
        row.done,
        row.total,
        json.loads(row.result) if row.result else None,
        row.error,
        moment(row.created_at) or "",
        moment(row.started_at),
        moment(row.ended_at),
    )

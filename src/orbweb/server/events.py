"""Server-sent events: what crawls are doing, four times a second at most, from where a client left off.

A client has a number, not a queue: what it has not read yet is in the one log that all clients share. One that
reads slowly is held back by its own connection, and costs no more than one that does not read at all. A stream
ends with the server, with the token of its client and with the project that it is about.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Header, Query, Request
from starlette.responses import StreamingResponse

from orbweb.errors import UnknownProject
from orbweb.server.middleware import head_of
from orbweb.server.problems import ProblemRaised
from orbweb.server.security import Denial, judge
from orbweb.server.services import Served, Services

TICK_S = 0.25
BEAT_S = 15.0
CHECK_S = 2.0
"""How often a stream looks whether its token and its project are still there."""
RETRY_MS = 2_000
"""When a client that was cut off should come back."""
AT_ONCE = 64
MOST_STREAMS = 500
LARGEST = 2**62

router = APIRouter(tags=["events"])


EXAMPLE = """id: 17
event: progress
data: {"projectID": 1, "project": "docs", "runID": 3, "crawlID": 5, "jobID": 2, "pagesFound": 20,
 "pagesProcessed": 5, "pagesFailed": 0, "queueSize": 15, "inProgress": [], "rate": 2.0, "state": "in_progress"}
"""
STREAM = {
    "description": "Each event is the whole small state of the crawl of a project.",
    "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
}


class StreamLife:
    """How long a stream lasts."""

    def __init__(self, request: Request, served: Services, project_id: int | None) -> None:
        self._head, self._served, self._project = head_of(request.scope), served, project_id
        self._checked_at = time.monotonic()

    async def lasts(self) -> bool:
        """Whether it goes on. Asked at every tick."""
        if self._served.jobs.is_ending:
            return False
        if time.monotonic() - self._checked_at < CHECK_S:
            return True
        self._checked_at = time.monotonic()
        return await to_thread.run_sync(self._is_allowed)

    def _is_allowed(self) -> bool:
        if isinstance(judge(self._head, self._served.hosts, self._served.credentials), Denial):
            return False
        try:
            return self._project is None or self._served.jobs.project(str(self._project)).id == self._project
        except UnknownProject:
            return False


@router.get(
    "/events",
    summary="What crawls are doing, as server-sent events",
    response_class=StreamingResponse,
    responses={200: STREAM},
)
async def events(
    request: Request,
    served: Served,
    project: Annotated[str | None, Query(description="Only this project, by its name or id")] = None,
    last_event_id: Annotated[str | None, Header(description="Continue after this event")] = None,
    after: Annotated[int | None, Query(ge=0, le=LARGEST, description="As `Last-Event-ID`")] = None,
) -> StreamingResponse:
    """Begins with the present state, or continues after `Last-Event-ID`; with the present state also if some of
    what came after that is no longer stored. `pagesFound` = `pagesProcessed` + `pagesFailed` + `queueSize`.
    `state` is in_progress, on_hold, stopping, paused, completed or never_crawled. `inProgress` has as many URLs as
    fit in 4 kB."""
    streams = request.app.state.streams
    if len(streams) >= MOST_STREAMS:
        raise ProblemRaised(503, "too_many_streams", f"{MOST_STREAMS} streams are open")
    found = (await to_thread.run_sync(served.jobs.project, project)).id if project is not None else None
    begun = number_of(last_event_id) if last_event_id is not None else after
    life = StreamLife(request, served, found)

    async def stream() -> AsyncIterator[str]:
        streams.add(asyncio.current_task())
        try:
            async for text in _events(served, life, found, begun):
                yield text
        finally:
            streams.discard(asyncio.current_task())

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def number_of(text: str) -> int | None:
    """The number of an event; None if it is none of ours."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


async def _events(
    served: Services, life: StreamLife, project_id: int | None, after: int | None
) -> AsyncIterator[str]:
    log = served.jobs.events
    yield f"retry: {RETRY_MS}\n\n"
    if after is not None and await to_thread.run_sync(log.has_all_after, after):
        seq = after
    else:
        # The number comes before the states, so that no change is between them, and is sent after them, so that a
        # client has it only if it has all of them.
        seq = log.last
        for state in await to_thread.run_sync(served.jobs.states, project_id):
            yield event(None, json.dumps(state, separators=(",", ":")))
        yield f"id: {seq}\n\n"
    sent_at = time.monotonic()
    while await life.lasts():
        rows = log.recent(seq, AT_ONCE, project_id)
        if rows is None:
            rows = await to_thread.run_sync(log.after, seq, AT_ONCE, project_id)
        for row in rows:
            yield event(row.seq, row.data)
            seq = row.seq
        now = time.monotonic()
        if rows:
            sent_at = now
        elif now - sent_at >= BEAT_S:
            sent_at = now
            yield ": still here\n\n"
        if len(rows) < AT_ONCE:
            await asyncio.sleep(TICK_S)


def event(seq: int | None, data: str) -> str:
    number = f"id: {seq}\n" if seq is not None else ""
    return f"{number}event: progress\ndata: {data}\n\n"

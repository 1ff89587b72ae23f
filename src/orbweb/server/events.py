"""Server-sent events: what crawls are doing, four times a second at most, from where a client left off.

A client has a number, not a queue: what it has not read yet is in the one log that all clients share. One that
reads slowly is held back by its own connection, and costs no more than one that does not read at all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Query, Request
from starlette.responses import StreamingResponse

from orbweb.app.jobs.follower import EventLog
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served

TICK_S = 0.25
BEAT_S = 15.0
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
    """Begins with the present state, or continues after `Last-Event-ID`. `pagesFound` = `pagesProcessed` +
    `pagesFailed` + `queueSize`. `state` is in_progress, on_hold, stopping, paused or completed."""
    streams = request.app.state.streams
    if len(streams) >= MOST_STREAMS:
        raise ProblemRaised(503, "too_many_streams", f"{MOST_STREAMS} streams are open")
    found = (await to_thread.run_sync(served.jobs.project, project)).id if project is not None else None
    begun = int(last_event_id) if last_event_id and last_event_id.isdigit() and len(last_event_id) < 19 else after
    states: Callable[[], list[dict[str, Any]]] = served.jobs.states

    async def stream() -> AsyncIterator[str]:
        streams.add(asyncio.current_task())
        try:
            async for text in _events(served.jobs.events, states, found, begun):
                yield text
        finally:
            streams.discard(asyncio.current_task())

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _events(
    log: EventLog, states: Callable[[], list[dict[str, Any]]], project_id: int | None, after: int | None
) -> AsyncIterator[str]:
    seq, beats = after if after is not None else log.last, 0.0
    yield ": orbweb\n\n"
    if after is None:
        for state in await to_thread.run_sync(states):
            if project_id in (None, state["projectID"]):
                yield event(seq, json.dumps(state, separators=(",", ":")))
    while True:
        rows = log.recent(seq, AT_ONCE, project_id)
        if rows is None:
            rows = await to_thread.run_sync(log.after, seq, AT_ONCE, project_id)
        for row in rows:
            yield event(row.seq, row.data)
        seq = rows[-1].seq if rows else seq
        beats = 0.0 if rows else beats + TICK_S
        if beats >= BEAT_S:
            beats = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(TICK_S)


def event(seq: int, data: str) -> str:
    return f"id: {seq}\nevent: progress\ndata: {data}\n\n"

"""The life of a run, a crawl and a URL: each one enum and one table of allowed moves.

Always holds: a state changes only through a guarded UPDATE whose move stands in these tables. The
reference page docs/reference/states.md and the CHECK constraints of the schema are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class RunState(StrEnum):
    """One logical pass over a project."""

    IN_PROGRESS = "in_progress"
    PAUSED = "paused"
    COMPLETED = "completed"


class CrawlState(StrEnum):
    """One session of work under a run."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class EndedBy(StrEnum):
    """What ended a crawl."""

    EXHAUSTED = "exhausted"
    BUDGET = "budget"
    PAGE_LIMIT = "page_limit"
    CANCELLED = "cancelled"
    ERROR = "error"
    CRASHED = "crashed"


class ItemState(StrEnum):
    """A URL of a run. A lease lives in the memory of the process that owns the project: in the database
    a leased URL is still queued, so a crash has nothing to give back."""

    QUEUED = "queued"
    LEASED = "leased"
    VISITED = "visited"
    FAILED = "failed"
    SKIPPED = "skipped"


State = TypeVar("State", bound=StrEnum)

RUN_MOVES: Mapping[tuple[RunState, RunState], str] = {
    (RunState.IN_PROGRESS, RunState.PAUSED): "a crawl ended and URLs are left",
    (RunState.IN_PROGRESS, RunState.COMPLETED): "the frontier is empty, or every page limit is reached",
    (RunState.PAUSED, RunState.IN_PROGRESS): "a new crawl continues it",
    (RunState.PAUSED, RunState.COMPLETED): "finished by hand, or new rules leave nothing to visit",
    (
        RunState.COMPLETED,
        RunState.PAUSED,
    ): "reopened: failed URLs are to be retried, parked ones released, damaged ones fetched again, or new rules "
    "bring some back",
}

CRAWL_MOVES: Mapping[tuple[CrawlState, CrawlState], str] = {
    (CrawlState.IN_PROGRESS, CrawlState.COMPLETED): "exhausted, budget or page_limit",
    (CrawlState.IN_PROGRESS, CrawlState.FAILED): "cancelled, error, or crashed (settled at the next start)",
}

ITEM_MOVES: Mapping[tuple[ItemState, ItemState], str] = {
    (ItemState.QUEUED, ItemState.LEASED): "its place came up",
    (
        ItemState.LEASED,
        ItemState.QUEUED,
    ): "the crawl stopped before it was committed, or its host kept everyone waiting: then it has a new rank",
    (ItemState.LEASED, ItemState.VISITED): "2xx or 3xx",
    (ItemState.LEASED, ItemState.FAILED): "4xx, 5xx after retries, or no usable answer",
    (ItemState.LEASED, ItemState.SKIPPED): "robots.txt refuses it, or its page asks not to be kept",
    (
        ItemState.QUEUED,
        ItemState.SKIPPED,
    ): "page limit reached, the scope moved, the rules were changed, or the run was finished by hand",
    (
        ItemState.VISITED,
        ItemState.QUEUED,
    ): "its body or its links were damaged, and `doctor --repair` wants them again",
    (ItemState.FAILED, ItemState.QUEUED): "retried; it gets a new rank",
    (
        ItemState.SKIPPED,
        ItemState.QUEUED,
    ): "found on a better path, released, the scope moved, the rules were changed, or its links were damaged; it "
    "gets a new rank",
}

ENDING_STATE: Mapping[EndedBy, CrawlState] = {
    EndedBy.EXHAUSTED: CrawlState.COMPLETED,
    EndedBy.BUDGET: CrawlState.COMPLETED,
    EndedBy.PAGE_LIMIT: CrawlState.COMPLETED,
    EndedBy.CANCELLED: CrawlState.FAILED,
    EndedBy.ERROR: CrawlState.FAILED,
    EndedBy.CRASHED: CrawlState.FAILED,
}


def run_after(ended_by: EndedBy) -> RunState:
    """The state a run is left in when its crawl ended like this."""
    if ended_by in (EndedBy.EXHAUSTED, EndedBy.PAGE_LIMIT):
        return RunState.COMPLETED
    return RunState.PAUSED


def shown(state: CrawlState, ended_by: EndedBy | None, *, failed: int) -> str:
    """The word a person reads for a crawl."""
    if state is CrawlState.IN_PROGRESS:
        return state.value
    if ended_by in (EndedBy.CANCELLED, EndedBy.CRASHED):
        return "interrupted"
    if state is CrawlState.FAILED:
        return state.value
    return "completed_with_errors" if failed else "completed"

"""The states of runs, crawls and URLs: one enum and one table of transitions each.

A state changes only by a guarded UPDATE whose transition is in these tables. The reference page
docs/reference/states.md and the CHECK constraints of the schema are derived from them.
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
    """Why a crawl ended."""

    EXHAUSTED = "exhausted"
    BUDGET = "budget"
    PAGE_LIMIT = "page_limit"
    DRAINED = "drained"
    CANCELLED = "cancelled"
    ERROR = "error"
    CRASHED = "crashed"


class ItemState(StrEnum):
    """A URL of a run. A lease exists only in the memory of the process that owns the project: in the database a
    leased URL is still queued, so there is nothing to undo after a crash."""

    QUEUED = "queued"
    LEASED = "leased"
    VISITED = "visited"
    FAILED = "failed"
    SKIPPED = "skipped"


State = TypeVar("State", bound=StrEnum)

RUN_MOVES: Mapping[tuple[RunState, RunState], str] = {
    (RunState.IN_PROGRESS, RunState.PAUSED): "a crawl ended with URLs left",
    (RunState.IN_PROGRESS, RunState.COMPLETED): "the frontier is empty, or every page limit is reached",
    (RunState.PAUSED, RunState.IN_PROGRESS): "a new crawl continues it",
    (RunState.PAUSED, RunState.COMPLETED): "finished by the user, or new rules leave nothing to visit",
    (
        RunState.COMPLETED,
        RunState.PAUSED,
    ): "reopened: failed URLs are retried, parked ones released, damaged ones fetched again, skipped ones "
    "readmitted by new rules, or more are spooled",
}

CRAWL_MOVES: Mapping[tuple[CrawlState, CrawlState], str] = {
    (CrawlState.IN_PROGRESS, CrawlState.COMPLETED): "exhausted, budget, page_limit or drained",
    (CrawlState.IN_PROGRESS, CrawlState.FAILED): "cancelled, error, or crashed (recorded at the next start)",
}

ITEM_MOVES: Mapping[tuple[ItemState, ItemState], str] = {
    (ItemState.QUEUED, ItemState.LEASED): "its turn in the order",
    (
        ItemState.LEASED,
        ItemState.QUEUED,
    ): "the crawl stopped before it was committed, or its host blocked the order: then it gets a new rank",
    (ItemState.LEASED, ItemState.VISITED): "2xx or 3xx",
    (ItemState.LEASED, ItemState.FAILED): "4xx, 5xx after retries, or no usable response",
    (ItemState.LEASED, ItemState.SKIPPED): "refused by robots.txt, or a noindex page",
    (
        ItemState.QUEUED,
        ItemState.SKIPPED,
    ): "page limit reached, the scope moved, the rules were changed, or the run was finished by the user",
    (
        ItemState.VISITED,
        ItemState.QUEUED,
    ): "its body or links were damaged, and `doctor --repair` queued it again",
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
    EndedBy.DRAINED: CrawlState.COMPLETED,
    EndedBy.CANCELLED: CrawlState.FAILED,
    EndedBy.ERROR: CrawlState.FAILED,
    EndedBy.CRASHED: CrawlState.FAILED,
}


def run_after(ended_by: EndedBy) -> RunState:
    """The state of a run after its crawl ended for this reason."""
    if ended_by in (EndedBy.EXHAUSTED, EndedBy.PAGE_LIMIT):
        return RunState.COMPLETED
    return RunState.PAUSED


def shown(state: CrawlState, ended_by: EndedBy | None, *, failed: bool) -> str:
    """The state of a crawl in reports. `failed`: whether a URL failed, or a base URL gave no page."""
    if state is CrawlState.IN_PROGRESS:
        return state.value
    if ended_by in (EndedBy.CANCELLED, EndedBy.CRASHED):
        return "interrupted"
    if state is CrawlState.FAILED:
        return state.value
    if ended_by is not None and run_after(ended_by) is RunState.PAUSED:
        return "stopped_early"
    return "completed_with_errors" if failed else "completed"

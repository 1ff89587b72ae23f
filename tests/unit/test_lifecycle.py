"""The tables of states: complete, without dead ends, and in agreement with each other."""

from __future__ import annotations

from enum import StrEnum

import pytest

from orbweb.lifecycle import (
    CRAWL_MOVES,
    ENDING_STATE,
    ITEM_MOVES,
    RUN_MOVES,
    CrawlState,
    EndedBy,
    ItemState,
    RunState,
    run_after,
    shown,
)

TABLES = [
    (RunState, RUN_MOVES, RunState.IN_PROGRESS),
    (CrawlState, CRAWL_MOVES, CrawlState.IN_PROGRESS),
    (ItemState, ITEM_MOVES, ItemState.QUEUED),
]


def reachable(moves: dict[tuple[StrEnum, StrEnum], str], start: StrEnum) -> set[StrEnum]:
    found = {start}
    while more := {new for old, new in moves if old in found} - found:
        found |= more
    return found


@pytest.mark.parametrize(("states", "moves", "start"), TABLES)
def test_every_state_can_be_reached_and_every_move_says_why(
    states: type[StrEnum], moves: dict[tuple[StrEnum, StrEnum], str], start: StrEnum
) -> None:
    assert reachable(moves, start) == set(states)
    assert all(old is not new and why for (old, new), why in moves.items())


def test_a_visited_url_is_only_queued_again_and_an_ended_crawl_stays_ended() -> None:
    assert [move for move in ITEM_MOVES if move[0] is ItemState.VISITED] == [(ItemState.VISITED, ItemState.QUEUED)]
    assert {old for old, _ in CRAWL_MOVES} == {CrawlState.IN_PROGRESS}


def test_only_a_leased_url_is_settled() -> None:
    settled = (ItemState.VISITED, ItemState.FAILED)
    assert {old for old, new in ITEM_MOVES if new in settled} == {ItemState.LEASED}


def test_every_ending_leaves_crawl_and_run_in_an_allowed_state() -> None:
    assert set(ENDING_STATE) == set(EndedBy)
    for ended_by, state in ENDING_STATE.items():
        assert (CrawlState.IN_PROGRESS, state) in CRAWL_MOVES
        assert (RunState.IN_PROGRESS, run_after(ended_by)) in RUN_MOVES


@pytest.mark.parametrize(
    ("ended_by", "run"),
    [
        (EndedBy.EXHAUSTED, RunState.COMPLETED),
        (EndedBy.PAGE_LIMIT, RunState.COMPLETED),
        (EndedBy.BUDGET, RunState.PAUSED),
        (EndedBy.CANCELLED, RunState.PAUSED),
        (EndedBy.ERROR, RunState.PAUSED),
        (EndedBy.CRASHED, RunState.PAUSED),
    ],
)
def test_a_run_is_completed_only_when_nothing_is_left_to_do(ended_by: EndedBy, run: RunState) -> None:
    assert run_after(ended_by) is run


@pytest.mark.parametrize(
    ("state", "ended_by", "failed", "word"),
    [
        (CrawlState.IN_PROGRESS, None, False, "in_progress"),
        (CrawlState.IN_PROGRESS, None, True, "in_progress"),
        (CrawlState.COMPLETED, EndedBy.EXHAUSTED, False, "completed"),
        (CrawlState.COMPLETED, EndedBy.EXHAUSTED, True, "completed_with_errors"),
        (CrawlState.COMPLETED, EndedBy.BUDGET, False, "stopped_early"),
        (CrawlState.COMPLETED, EndedBy.BUDGET, True, "stopped_early"),
        (CrawlState.COMPLETED, EndedBy.DRAINED, False, "stopped_early"),
        (CrawlState.COMPLETED, EndedBy.PAGE_LIMIT, True, "completed_with_errors"),
        (CrawlState.FAILED, EndedBy.CANCELLED, False, "interrupted"),
        (CrawlState.FAILED, EndedBy.CRASHED, True, "interrupted"),
        (CrawlState.FAILED, EndedBy.ERROR, False, "failed"),
    ],
)
def test_the_word_a_person_reads(state: CrawlState, ended_by: EndedBy | None, failed: bool, word: str) -> None:
    assert shown(state, ended_by, failed=failed) == word

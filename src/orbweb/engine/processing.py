"""The queue of bodies for the worker pool, bounded by the memory that their results may take.

A body is submitted if there is room for its result besides the results that wait for their commit and those that
are being computed, or if it is the head of its lane. All others wait, in the order of their places.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import NamedTuple

from orbweb.engine.window import Slot, Window, most_bytes
from orbweb.engine.workers import Pool
from orbweb.engine.workers.page import Job
from orbweb.model import Place

BACKLOG_BYTES = 16_000_000
"""Bytes of ordinary bodies that may wait for a worker: more would not keep workers busier."""
ORDINARY_BYTES = 1_000_000
"""A larger body counts as this many: it is slow to process, and must not stop others from being fetched."""


class _PendingBody(NamedTuple):
    """A body in the order of its place, and the memory that its result may take."""

    place: Place
    ticket: int
    job: Job
    expected: int


class ProcessingQueue:
    """The bodies of one crawl, between their response and their result."""

    def __init__(self, window: Window, window_bytes: int, *, with_resources: bool) -> None:
        self._window = window
        self._window_bytes = window_bytes
        self._with_resources = with_resources
        self._submitted: dict[int, _PendingBody] = {}
        self._waiting: list[_PendingBody] = []
        self._expected = self._backlog = self._ordinary = 0

    def attach(self, pool: Pool) -> None:
        """The pool reports to the engine, so it is created after it."""
        self._pool = pool

    def __bool__(self) -> bool:
        """Whether a body has been submitted and has no result yet."""
        return bool(self._submitted)

    def submitted(self) -> Iterable[int]:
        """The tickets whose bodies have been submitted, in that order."""
        return self._submitted

    @property
    def is_full(self) -> bool:
        """Whether the backlog is so large that nothing more should be fetched."""
        return self._backlog >= self._window_bytes or self._ordinary >= BACKLOG_BYTES

    def add(self, slot: Slot, job: Job) -> None:
        self._weigh(1, job)
        pending = _PendingBody(slot.place, slot.ticket, job, most_bytes(job, with_resources=self._with_resources))
        if self._has_room(pending):
            self._submit(pending)
        else:
            bisect.insort(self._waiting, pending)

    def done(self, ticket: int) -> None:
        """The pool has returned a result."""
        pending = self._submitted.pop(ticket)
        self._expected -= pending.expected
        self._weigh(-1, pending.job)

    def submit_waiting(self) -> None:
        """Submit the bodies for which there is room now: in order, but the head of a lane always."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for pending in waiting:
            if self._has_room(pending):
                self._submit(pending)
            else:
                self._waiting.append(pending)

    def discard(self, ticket: int) -> None:
        """Remove a waiting body; the result of one that is already submitted is ignored."""
        for at, pending in enumerate(self._waiting):
            if pending.ticket == ticket:
                self._weigh(-1, pending.job)
                del self._waiting[at]
                return

    def _has_room(self, pending: _PendingBody) -> bool:
        slot = self._window.get(pending.ticket)
        if slot is not None and self._window.is_head(slot):
            return True
        taken = self._window.bytes + self._expected
        return not self._waiting and taken + pending.expected <= self._window_bytes

    def _submit(self, pending: _PendingBody) -> None:
        self._expected += pending.expected
        self._submitted[pending.ticket] = pending
        self._pool.submit(pending.job)

    def _weigh(self, sign: int, job: Job) -> None:
        size = len(job.body)
        self._backlog += sign * size
        self._ordinary += sign * min(size, ORDINARY_BYTES)

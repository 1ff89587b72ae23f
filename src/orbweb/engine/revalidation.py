"""Places that an earlier run has captured: requested conditionally or not at all, and reused if unchanged.

What was extracted from the body is reused if it would be extracted the same way now; else the stored body is
processed again. If a capture cannot be used after all, the place is fetched as if there were none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from orbweb.engine.responses import Finish, Process, to_process
from orbweb.engine.window import Slot, Window
from orbweb.errors import StoreError, call
from orbweb.fetching.revalidation import Offer, Revalidator, confirmed, taken
from orbweb.model import Capture, Fetched, Outcome, ProcessedPage, Resources, Reuse, Role, Unchanged
from orbweb.policy import traps

TAKEN_AT_ONCE = 32


class Places(Protocol):
    """Fetches, processes and finishes places."""

    def queue(self, slot: Slot) -> None: ...

    def process(self, slot: Slot, response: Fetched, body: bytes, *, is_page: bool) -> None: ...

    def finish(self, slot: Slot, step: Finish, processed: ProcessedPage | None = None) -> None: ...

    def end(self, slot: Slot, outcome: Outcome | Unchanged) -> None: ...

    def reopen(self, slot: Slot) -> None: ...


class Revalidation:
    """Reuses the captures of one crawl. `fresh` are the places that need no request."""

    def __init__(
        self,
        places: Places,
        revalidator: Revalidator,
        window: Window,
        *,
        resources: Resources,
        note: Callable[[str], None],
    ) -> None:
        self._places = places
        self._revalidator = revalidator
        self._captures = revalidator.captures
        self._window = window
        self._resources = resources
        self._note = note
        self._has_told_missing = False
        self.fresh: deque[Slot] = deque()

    def request(self, slot: Slot) -> None:
        """Queue the slot, unless an earlier run captured it so recently that it needs no request."""
        if not slot.looked_up:
            slot.looked_up = True
            slot.offer = self._offer(slot)
            if slot.offer is not None and slot.offer.is_fresh:
                slot.in_flight = True
                self.fresh.append(slot)
                return
        self._places.queue(slot)

    def _offer(self, slot: Slot) -> Offer | None:
        """The capture that may be reused, unless its body is missing: a response that leaves the body out would
        leave it missing."""
        offer = self._revalidator.lookup(slot.item.key)
        if offer is None or self._captures.has_body(offer.capture):
            return offer
        if not self._has_told_missing:
            self._has_told_missing = True
            lost = (offer.capture.body_sha256 or b"").hex()
            self._note(
                f"fetching {slot.item.url} again: its stored body {lost} is missing. Others that are missing are"
                f" fetched again without a note; run {call('doctor')} for details"
            )
        return None

    def take_fresh(self) -> None:
        """Use the captures of some fresh places; the rest wait until sockets and signals have been served."""
        for _ in range(min(TAKEN_AT_ONCE, len(self.fresh))):
            slot = self.fresh.popleft()
            if slot.offer is not None and self._window.get(slot.ticket) is slot:
                capture = slot.offer.capture
                slot.in_flight, slot.fetched_at = False, capture.fetched_at
                self._use(slot, taken(capture), capture, Reuse.CACHED)

    def confirm(self, slot: Slot, response: Fetched, capture: Capture) -> None:
        """The server confirmed the capture. If that holds everything needed, nothing is read before its commit."""
        if response.robots_tags or not self._captures.stands(capture):
            self._use(slot, confirmed(response, capture), capture, Reuse.NOT_MODIFIED)
        else:
            self._places.end(slot, Unchanged(slot.tries + slot.waits, slot.fetched_at, response, capture))

    def use_capture(self, slot: Slot, seen: Unchanged) -> None:
        """The capture cannot be committed as it is: the place gets another outcome, now or later."""
        self._places.reopen(slot)
        self._use(slot, confirmed(seen.response, seen.capture), seen.capture, Reuse.NOT_MODIFIED)

    def process_body(self, slot: Slot, outcome: Outcome) -> None:
        """An alternate becomes the page after all: process its stored body. The place keeps its turn."""
        self._places.reopen(slot)
        if isinstance(outcome.response, Fetched) and slot.offer is not None:
            self._process_stored(slot, outcome.response, slot.offer.capture)

    def refetch(self, slot: Slot) -> None:
        """Fetch the slot as if there were no capture."""
        slot.offer = slot.reuse = None
        slot.tries = 0
        self._places.queue(slot)

    def _use(self, slot: Slot, response: Fetched, capture: Capture, how: Reuse) -> None:
        """Finish the slot with what was extracted from the captured body; if that would differ now, process the
        body again."""
        slot.reuse = how
        known = response.robots_tags == capture.robots_tags
        try:
            processed = self._captures.process(capture) if known else None
        except StoreError as error:
            self._refetch_lost(slot, error)
            return
        if capture.role == Role.ALTERNATE and traps.needs_sketch(response.url):
            processed = None
        if processed is None and capture.body_sha256 is not None:
            self._process_stored(slot, response, capture)
        elif known:
            slot.is_page = capture.role != Role.NONE
            self._places.finish(slot, Finish(response), processed)
        else:
            self.refetch(slot)

    def _process_stored(self, slot: Slot, response: Fetched, capture: Capture) -> None:
        try:
            body = self._captures.body(capture) or b""
        except StoreError as error:
            self._refetch_lost(slot, error)
            return
        step = to_process(response, body, self._resources)
        if isinstance(step, Process):
            self._places.process(slot, response, body, is_page=step.is_page)
        else:
            self._places.finish(slot, step)

    def _refetch_lost(self, slot: Slot, error: StoreError) -> None:
        self._note(f"fetching {slot.item.url} again: {error}; run {call('doctor')} for details")
        self.refetch(slot)

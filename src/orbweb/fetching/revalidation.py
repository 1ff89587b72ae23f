"""HTTP revalidation: whether a visit may reuse the capture of an earlier run, without a request or after a 304.

An offer is a function of the key, the captures before the run's horizon and the settings alone, so that it is the
same after a crash. Only valid header values are sent, and a 304 is accepted only for the validators that were
sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from orbweb.fetching import Validators
from orbweb.model import Capture, Fetched
from orbweb.store import Captures

NOT_MODIFIED = 304
ETAG_LENGTH = 500

# A tag that is not quoted, or is `*`, would be a different condition than "this page is unchanged".
_is_tag = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"').fullmatch
_is_date = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT").fullmatch


class Offer(NamedTuple):
    """A capture that may be reused without a request (`is_fresh`), or if the server confirms it (`validators`)."""

    capture: Capture
    validators: Validators | None
    is_fresh: bool


class Revalidator:
    """The captures that a run may reuse. A capture is fresh if it was made at `fresh_since` or later, or is not
    due, and no later response of the server differs from it."""

    def __init__(
        self, captures: Captures, *, fresh_since: int | None, is_due: Callable[[str], bool] | None = None
    ) -> None:
        self._fresh_since = fresh_since
        self._is_due = is_due
        self.captures = captures

    def lookup(self, key: str) -> Offer | None:
        """The capture that may be reused for a key. A truncated body is always fetched again."""
        capture = self.captures.find(key)
        if capture is None or capture.truncated:
            return None
        is_fresh = self._is_fresh(key, capture) and self.captures.is_latest(key, capture)
        found = validators(capture)
        return Offer(capture, found, is_fresh) if is_fresh or found is not None else None

    def _is_fresh(self, key: str, capture: Capture) -> bool:
        if self._fresh_since is not None and capture.fetched_at >= self._fresh_since:
            return True
        return self._is_due is not None and not self._is_due(key)


def validators(capture: Capture) -> Validators | None:
    """The valid validators of a capture; None if it has none."""
    etag, date = capture.etag or "", capture.last_modified or ""
    valid_tag = etag if len(etag) <= ETAG_LENGTH and _is_tag(etag) else None
    valid_date = date if _is_date(date) else None
    return Validators(valid_tag, valid_date) if valid_tag or valid_date else None


def is_confirmed(response: Fetched, capture: Capture) -> bool:
    """Whether the response confirms the captured body. A 304 with a different tag does not."""
    if response.status != NOT_MODIFIED:
        return False
    return response.etag is None or capture.etag is None or _opaque(response.etag) == _opaque(capture.etag)


def confirmed(response: Fetched, capture: Capture) -> Fetched:
    """The full response that a 304 stands for: its own headers, and those of the capture for what it omits."""
    return response._replace(
        content_type=capture.content_type,
        etag=response.etag or capture.etag,
        last_modified=response.last_modified or capture.last_modified,
        robots_tags=response.robots_tags or capture.robots_tags,
    )


def taken(capture: Capture) -> Fetched:
    """The captured response, reused without a request."""
    return Fetched(
        capture.url,
        capture.status,
        None,
        capture.content_type,
        None,
        capture.etag,
        capture.last_modified,
        0,
        0,
        robots_tags=capture.robots_tags,
    )


def _opaque(etag: str) -> str:
    """If-None-Match uses the weak comparison."""
    return etag.removeprefix("W/")

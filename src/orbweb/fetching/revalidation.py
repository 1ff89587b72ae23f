"""Whether what an earlier run captured may stand for a visit now: unasked, or if the server says it is unchanged.

Pure decisions about one capture, and the `Revalidator` that makes an offer for a key. Always holds: an offer is a
function of the key, the captures before the run's horizon and the settings alone, so that it is the same after a
crash; what goes into a header is what HTTP allows there; a 304 is believed only for what was asked. Never fetches
or commits.
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

# A tag that is not quoted, or is `*`, would ask another question than whether this page is unchanged.
_is_tag = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"').fullmatch
_is_date = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT").fullmatch


class Offer(NamedTuple):
    """A capture that may be taken as it is (`is_fresh`), or if the server confirms it (`validators`)."""

    capture: Capture
    validators: Validators | None
    is_fresh: bool


class Revalidator:
    """The captures that a run may reuse. Fresh are those made at `fresh_since` or later, and what is not due,
    unless the server has answered otherwise since."""

    def __init__(
        self, captures: Captures, *, fresh_since: int | None, is_due: Callable[[str], bool] | None = None
    ) -> None:
        self._fresh_since = fresh_since
        self._is_due = is_due
        self.captures = captures

    def lookup(self, key: str) -> Offer | None:
        """What may be reused for a key. Half of a body is fetched again in full, whatever a server says of it."""
        capture = self.captures.find(key)
        if capture is None or capture.truncated:
            return None
        is_fresh = self._is_fresh(key, capture) and self.captures.is_latest(key, capture)
        asked = validators(capture)
        return Offer(capture, asked, is_fresh) if is_fresh or asked is not None else None

    def _is_fresh(self, key: str, capture: Capture) -> bool:
        if self._fresh_since is not None and capture.fetched_at >= self._fresh_since:
            return True
        return self._is_due is not None and not self._is_due(key)


def validators(capture: Capture) -> Validators | None:
    """What a server can tell by whether the captured body is still what it has; None if it gave nothing of use."""
    etag, date = capture.etag or "", capture.last_modified or ""
    kept_tag = etag if len(etag) <= ETAG_LENGTH and _is_tag(etag) else None
    kept_date = date if _is_date(date) else None
    return Validators(kept_tag, kept_date) if kept_tag or kept_date else None


def is_confirmed(answer: Fetched, capture: Capture) -> bool:
    """Whether the answer says that the captured body is current. A 304 that names another tag does not."""
    if answer.status != NOT_MODIFIED:
        return False
    return answer.etag is None or capture.etag is None or _opaque(answer.etag) == _opaque(capture.etag)


def confirmed(answer: Fetched, capture: Capture) -> Fetched:
    """A 304 as the answer it stands for. It may bring newer headers; what it leaves out is as it was."""
    return answer._replace(
        content_type=capture.content_type,
        etag=answer.etag or capture.etag,
        last_modified=answer.last_modified or capture.last_modified,
        robots_tags=answer.robots_tags or capture.robots_tags,
    )


def taken(capture: Capture) -> Fetched:
    """The captured answer again, for which nothing was sent."""
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
    """Tags are compared weakly, as If-None-Match has it."""
    return etag.removeprefix("W/")

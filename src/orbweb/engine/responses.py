"""What an answer means for its place: try again, follow, processed, or settle.

Pure: a function of the answer, of how often the place was tried, and of where it has been.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from orbweb import urls
from orbweb.engine.workers.page import is_css, is_html
from orbweb.fetching.content_coding import CUT
from orbweb.fetching.revalidation import NOT_MODIFIED, is_confirmed
from orbweb.model import Capture, Failed, FailKind, Fetched, Head, Refused, Resources
from orbweb.parsing import http_heads
from orbweb.urls import Target, UrlRules

REDIRECTS = (301, 302, 303, 307, 308)
AGAIN = (408, 425)
TOO_MANY, UNAVAILABLE = 429, 503
CONDITION_FAILED = 412
BUSY = (TOO_MANY, UNAVAILABLE)
MAX_FOLLOWED = 10


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask for the same URL again, later."""


@dataclass(frozen=True, slots=True)
class Resend:
    """The failure was not the site's: request the same URL again, by a new connection, which costs no try."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The host is busy and said so: ask again when it may be asked, which costs no try."""


@dataclass(frozen=True, slots=True)
class Follow:
    """The same key under another spelling, such as `/dir` to `/dir/`: ask there, in the same place."""

    url: str


class Process(NamedTuple):
    """A page, or something a page loads: processed its body."""

    body: bytes
    is_page: bool = True


class UseCapture(NamedTuple):
    """The server has what was captured before: processed that."""

    capture: Capture


@dataclass(frozen=True, slots=True)
class Unconditional:
    """The server did not understand the conditions of the request: ask without any."""


class Finish(NamedTuple):
    """The place is done. A redirect to another key carries its target."""

    answer: Fetched | Failed | Refused
    redirect: Target | None = None


Step = Retry | Resend | Wait | Follow | Process | UseCapture | Unconditional | Finish


def next_step(
    answer: Fetched | Failed,
    *,
    key: str,
    asked: tuple[str, ...],
    tries_left: int,
    waits_left: int,
    resends_left: int = 0,
    rules: UrlRules,
    resources: Resources = Resources.OFF,
    capture: Capture | None = None,
) -> Step:
    """`asked` are the URLs asked for in this place so far, the last one included.

    `capture` is what the request named as known, if it named anything.
    """
    if isinstance(answer, Failed):
        if not answer.counts and resends_left:
            return Resend()
        return Retry() if answer.retriable and tries_left else Finish(answer)
    if answer.status == TOO_MANY or (answer.status == UNAVAILABLE and answer.retry_after is not None):
        return Wait() if waits_left else Finish(answer)
    if (answer.status in AGAIN or answer.status >= 500) and tries_left:
        return Retry()
    if capture is not None and answer.status in (NOT_MODIFIED, CONDITION_FAILED):
        return UseCapture(capture) if is_confirmed(answer, capture) else Unconditional()
    if answer.status in REDIRECTS and answer.location is not None:
        return _redirected(answer, answer.location, key, asked, rules)
    if answer.truncated and 200 <= answer.status < 300:
        return _cut_short(answer, resources, tries_left)
    if 200 <= answer.status < 300 and answer.body:
        return to_read(answer, answer.body, resources)
    return Finish(answer)


def _cut_short(answer: Fetched, resources: Resources, tries_left: int) -> Step:
    """The last try decides: what could be decoded is read and marked; without any, the place has failed."""
    if tries_left:
        return Retry()
    return to_read(answer, answer.body, resources) if answer.body else Finish(cut_short(answer))


def cut_short(answer: Fetched) -> Failed:
    """A compressed body that ends too early, as a failure."""
    return spoilt(Failed(FailKind.BAD_ENCODING, CUT, retriable=True), answer)


def to_read(answer: Fetched, body: bytes, resources: Resources) -> Process | Finish:
    """Pages are processed; what they load is if it is kept, or may load more."""
    if is_html(answer.content_type, body):
        return Process(body)
    if resources is Resources.STORE or (resources is Resources.CHECK and is_css(answer.content_type)):
        return Process(body, is_page=False)
    return Finish(answer)


def spoilt(failed: Failed, answer: Fetched) -> Failed:
    """The failure of a place that was answered, with what is kept of the answer."""
    return replace(failed, proxy=answer.proxy, head=_head(answer))


def _head(answer: Fetched) -> Head | None:
    """The heads of an answer of which the row keeps nothing else."""
    if answer.head is None:
        return None
    return http_heads.whole(http_heads.decode(answer.head, answer.url, answer.etag, answer.last_modified))


def _redirected(answer: Fetched, location: str, key: str, asked: tuple[str, ...], rules: UrlRules) -> Step:
    target = urls.target(location, answer.url, rules=rules)
    if target is None:
        shown = urls.shown(location)[:200]
        return Finish(
            spoilt(Failed(FailKind.BAD_REDIRECT, f"redirects to {shown!r}, which is not an http(s) URL"), answer)
        )
    if target.key != key:
        return Finish(answer, target)
    if target.url in asked:
        return Finish(spoilt(Failed(FailKind.REDIRECT_LOOP, f"redirects back to {target.url}"), answer))
    if len(asked) > MAX_FOLLOWED:
        return Finish(spoilt(Failed(FailKind.TOO_MANY_REDIRECTS, f"more than {MAX_FOLLOWED} redirects"), answer))
    return Follow(target.url)

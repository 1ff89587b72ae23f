"""What a response means for its place: retry, follow, process or finish.

Pure: a function of the response, of the number of tries, and of the URLs requested so far.
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
    """Request the same URL again, later."""


@dataclass(frozen=True, slots=True)
class Resend:
    """The failure was not the site's: request the same URL again on a new connection. Does not count as a try."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The host is busy: request again when its rate limit allows. Does not count as a try."""


@dataclass(frozen=True, slots=True)
class Follow:
    """A redirect to another spelling of the same key, as from `/dir` to `/dir/`: follow it in the same place."""

    url: str


class Process(NamedTuple):
    """A page, or a resource of a page: process its body."""

    body: bytes
    is_page: bool = True


class UseCapture(NamedTuple):
    """The server confirmed an earlier capture: use that."""

    capture: Capture


@dataclass(frozen=True, slots=True)
class Unconditional:
    """The server did not understand the conditional request: repeat it without conditions."""


class Finish(NamedTuple):
    """The place is finished. `redirect` is the target of a redirect to another key."""

    response: Fetched | Failed | Refused
    redirect: Target | None = None


Step = Retry | Resend | Wait | Follow | Process | UseCapture | Unconditional | Finish


def next_step(
    response: Fetched | Failed,
    *,
    key: str,
    requested: tuple[str, ...],
    tries_left: int,
    waits_left: int,
    resends_left: int = 0,
    rules: UrlRules,
    resources: Resources = Resources.OFF,
    capture: Capture | None = None,
) -> Step:
    """`requested` are the URLs requested in this place so far, including the last one.

    `capture` is the one whose validators the request sent, if it sent any.
    """
    if isinstance(response, Failed):
        if not response.counts and resends_left:
            return Resend()
        return Retry() if response.retriable and tries_left else Finish(response)
    if response.status == TOO_MANY or (response.status == UNAVAILABLE and response.retry_after is not None):
        return Wait() if waits_left else Finish(response)
    if (response.status in AGAIN or response.status >= 500) and tries_left:
        return Retry()
    if capture is not None and response.status in (NOT_MODIFIED, CONDITION_FAILED):
        return UseCapture(capture) if is_confirmed(response, capture) else Unconditional()
    if response.status in REDIRECTS and response.location is not None:
        return _redirected(response, response.location, key, requested, rules)
    if response.truncated and 200 <= response.status < 300:
        return _cut_short(response, resources, tries_left)
    if 200 <= response.status < 300 and response.body:
        return to_process(response, response.body, resources)
    return Finish(response)


def _cut_short(response: Fetched, resources: Resources, tries_left: int) -> Step:
    """After the last try, what could be decoded is processed and marked as truncated; without any it fails."""
    if tries_left:
        return Retry()
    return to_process(response, response.body, resources) if response.body else Finish(cut_short(response))


def cut_short(response: Fetched) -> Failed:
    """A compressed body that ends too early, as a failure."""
    return with_response(Failed(FailKind.BAD_ENCODING, CUT, retriable=True), response)


def to_process(response: Fetched, body: bytes, resources: Resources) -> Process | Finish:
    """Pages are processed; resources are if they are stored, or may load more."""
    if is_html(response.content_type, body):
        return Process(body)
    if resources is Resources.STORE or (resources is Resources.CHECK and is_css(response.content_type)):
        return Process(body, is_page=False)
    return Finish(response)


def with_response(failed: Failed, response: Fetched) -> Failed:
    """The failure of a place that got a response, with the parts of the response that are stored."""
    return replace(failed, proxy=response.proxy, head=_head(response))


def _head(response: Fetched) -> Head | None:
    """The heads of a response of which the row stores nothing else."""
    if response.head is None:
        return None
    return http_heads.whole(http_heads.decode(response.head, response.url, response.etag, response.last_modified))


def _redirected(response: Fetched, location: str, key: str, requested: tuple[str, ...], rules: UrlRules) -> Step:
    target = urls.target(location, response.url, rules=rules)
    if target is None:
        shown = urls.shown(location)[:200]
        return Finish(
            with_response(
                Failed(FailKind.BAD_REDIRECT, f"redirects to {shown!r}, which is not an http(s) URL"), response
            )
        )
    if target.key != key:
        return Finish(response, target)
    if target.url in requested:
        return Finish(with_response(Failed(FailKind.REDIRECT_LOOP, f"redirects back to {target.url}"), response))
    if len(requested) > MAX_FOLLOWED:
        return Finish(
            with_response(Failed(FailKind.TOO_MANY_REDIRECTS, f"more than {MAX_FOLLOWED} redirects"), response)
        )
    return Follow(target.url)

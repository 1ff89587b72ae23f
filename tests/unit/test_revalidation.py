"""Which captures may be asked about, and which answers are believed."""

from __future__ import annotations

from typing import Any

import pytest

from orbweb.app.identity import asked_as
from orbweb.config import Config, build
from orbweb.engine.responses import Finish, Unconditional, UseCapture, next_step
from orbweb.fetching import Validators
from orbweb.fetching.revalidation import confirmed, is_confirmed, taken, validators
from orbweb.model import Capture, Fetched, Role
from orbweb.urls import DEFAULT_RULES

URL = "https://example.org/a"
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


def capture(etag: str | None = '"one"', last_modified: str | None = None, **facts: Any) -> Capture:
    known = Capture(
        run_id=1,
        url_id=1,
        crawl_id=1,
        url=URL,
        status=200,
        content_type="text/html",
        encoding="UTF-8",
        etag=etag,
        last_modified=last_modified,
        tags=None,
        title="",
        canonical=None,
        noindex=False,
        nofollow=False,
        links_cut=False,
        truncated=False,
        body_sha256=bytes(32),
        content_sha256=bytes(32),
        role=Role.PRIMARY,
        fetched_at=7,
        segment=1,
        offset=8,
        length=10,
        size=20,
    )
    return known._replace(**facts)


def answer(status: int, etag: str | None = None, **facts: Any) -> Fetched:
    return Fetched(URL, status, None, None, None, etag, None, 0, 3)._replace(**facts)


@pytest.mark.parametrize("etag", ['"one"', 'W/"one"', '""', '"a,b"', '"it\'s-{odd}"'])
def test_an_entity_tag_is_sent_as_it_came(etag: str) -> None:
    assert validators(capture(etag)) == Validators(etag, None)
    assert validators(capture(etag, DATE)) == Validators(etag, DATE)


@pytest.mark.parametrize(
    "etag",
    [
        None,
        "",
        "*",
        "one",
        '"one',
        'one"',
        '"o"ne"',
        '"one", "two"',
        '"one", *',
        'w/"one"',
        '"ö"',
        '"a b"',
        '"\ufffd"',
    ],
)
def test_what_is_no_entity_tag_is_not_sent(etag: str | None) -> None:
    assert validators(capture(etag)) is None
    assert validators(capture(etag, DATE)) == Validators(None, DATE)


def test_an_endless_entity_tag_is_not_sent() -> None:
    assert validators(capture(f'"{"x" * 498}"')) is not None
    assert validators(capture(f'"{"x" * 499}"')) is None


@pytest.mark.parametrize(
    "date", ["0", "now", "Sunday, 06-Nov-94 08:49:37 GMT", f"{DATE} x", "1994-11-06T08:49:37Z"]
)
def test_what_is_no_date_of_http_is_not_sent(date: str) -> None:
    assert validators(capture(None, date)) is None


@pytest.mark.parametrize(
    ("known", "said", "believed"),
    [
        ('"one"', None, True),
        ('"one"', '"one"', True),
        ('"one"', 'W/"one"', True),
        ('W/"one"', '"one"', True),
        (None, '"one"', True),
        ('"one"', '"two"', False),
    ],
)
def test_a_304_is_believed_unless_it_names_another_tag(
    known: str | None, said: str | None, believed: bool
) -> None:
    assert is_confirmed(answer(304, said), capture(known)) is believed
    assert not is_confirmed(answer(412, said), capture(known))


def test_a_304_keeps_what_it_does_not_say() -> None:
    known = capture('"one"', DATE, tags="nofollow")
    same = confirmed(answer(304), known)
    assert (same.status, same.content_type, same.etag, same.last_modified) == (304, "text/html", '"one"', DATE)
    assert same.robots_tags == ("nofollow",)
    newer = confirmed(answer(304, 'W/"one"', content_type="text/plain", robots_tags=("none",)), known)
    assert (newer.etag, newer.content_type, newer.robots_tags) == ('W/"one"', "text/html", ("none",))


def test_what_is_taken_unasked_costs_nothing() -> None:
    again = taken(capture('"one"', DATE, tags="nofollow"))
    assert (again.url, again.status, again.etag, again.robots_tags) == (URL, 200, '"one"', ("nofollow",))
    assert (again.wire_bytes, again.latency_ms) == (0, 0)


def step(found: Fetched, known: Capture | None) -> object:
    return next_step(
        found, key=URL, requested=(URL,), tries_left=2, waits_left=2, rules=DEFAULT_RULES, capture=known
    )


def test_what_an_answer_to_a_conditional_request_means() -> None:
    known = capture()
    assert step(answer(304), known) == UseCapture(known)
    assert step(answer(304, '"two"'), known) == Unconditional()
    assert step(answer(412), known) == Unconditional()
    assert step(answer(404), known) == Finish(answer(404))


def test_without_conditions_304_and_412_are_answers_like_others() -> None:
    assert step(answer(304), None) == Finish(answer(304))
    assert step(answer(412), None) == Finish(answer(412))


def asked(settings: dict[str, Any], base: str = "https://example.org/") -> str | None:
    return asked_as(build(settings, source="test"), [base])


def test_crawls_that_a_server_cannot_tell_apart_share_their_captures() -> None:
    plain = asked_as(Config(), ["https://example.org/"])
    assert plain is not None
    assert asked({}, "https://example.com/docs") == plain
    assert asked({"limits": {"rate": 9}, "scope": {"external_hops": 1}}) == plain
    assert asked({"user_agent": "orbweb/9.9 (+https://example.org/bot)"}) == plain


OTHERS: list[dict[str, Any]] = [
    {"user_agent": "examplebot/1.0"},
    {"fetch": {"headers": {"accept-language": "de"}}},
    {"fetch": {"headers": {"accept-language": "fr"}}},
    {"fetch": {"languages": ["de"]}},
    {"fetch": {"languages": []}},
    {"resolve": ["example.org:443:127.0.0.1"]},
    {"proxy": {"urls": ["http://proxy.example:3128"]}},
    {"proxy": {"chooser": "own"}},
    {"fetch": {"dns_servers": ["192.0.2.1"]}},
]


def test_crawls_that_a_server_may_tell_apart_do_not() -> None:
    found = [asked({}), *map(asked, OTHERS)]
    assert None not in found
    assert len(set(found)) == len(found)
    german = OTHERS[1]
    assert asked(german, "https://example.com/") != asked(german)


@pytest.mark.parametrize(
    "fetch", [{"auth": "$LOGIN"}, {"headers": {"authorization": "$TOKEN"}}, {"cookies": "keep"}]
)
def test_what_secrets_and_cookies_have_shown_is_not_shared(fetch: dict[str, Any]) -> None:
    assert asked({"fetch": fetch}) is None
    assert asked({"fetch": {"headers": {"authorization": None}}}) == asked({})

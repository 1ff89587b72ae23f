"""The jar: what is kept of Set-Cookie, and what goes back where."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orbweb.fetching.cookies import MOST_BYTES, MOST_ORIGINS, MOST_PER_ORIGIN, SESSION, CookieJar, read, read_date

NOW = 1_000_000.0
HERE = "http://example.org"
SAFE = "https://example.org"


def jar(*lines: str, origin: str = HERE, path: str = "/docs/page") -> CookieJar:
    made = CookieJar()
    made.store(origin, path, lines, NOW)
    return made


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("a=b", "a=b"),
        ("  a = b ; x", "a=b"),
        ('a="b c"', 'a="b c"'),
        ("a=b=c", "a=b=c"),
        ("a=", "a="),
        ("a=b; Max-Age=10", "a=b"),
        ("a=b; Max-Age=0", None),
        ("a=b; Max-Age=-1", None),
        ("a=b; max-age=x", "a=b"),
        ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("a=b; Expires=Thu, 01 Jan 2037 00:00:00 GMT", "a=b"),
        ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5", "a=b"),
        ("a=b; Expires=never", "a=b"),
        ("a=b; Domain=org", "a=b"),
        ("a=b; HttpOnly; SameSite=Strict; Unknown=1", "a=b"),
        ("a=b; Secure", None),
        ("=b", None),
        ("nothing", None),
        ("", None),
        ("a=b\r\nX: y", None),
        ("a\x00=b", None),
        (f"a={'x' * (MOST_BYTES - 1)}", f"a={'x' * (MOST_BYTES - 1)}"),
        (f"a={'x' * MOST_BYTES}", None),
    ],
)
def test_what_is_kept(line: str, sent: str | None) -> None:
    assert jar(line).header(HERE, "/docs/other", NOW + 1) == sent


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.org",
        "http://example.org:8080",
        "http://www.example.org",
        "http://org",
        "http://example.org.evil.test",
    ],
)
def test_nowhere_but_to_its_origin(origin: str) -> None:
    assert jar("a=b; Domain=example.org; Path=/").header(origin, "/docs/page", NOW) is None


def test_a_secure_origin_may_set_secure_cookies_and_gets_them_back() -> None:
    kept = jar("a=b; Secure; Path=/", origin=SAFE)
    assert kept.header(SAFE, "/", NOW) == "a=b"
    assert kept.header(HERE, "/", NOW) is None


@pytest.mark.parametrize(
    ("line", "path", "goes"),
    [
        ("a=b", "/docs/x", True),
        ("a=b", "/docs", True),
        ("a=b", "/docsx", False),
        ("a=b", "/", False),
        ("a=b; Path=/", "/", True),
        ("a=b; Path=/docs/", "/docs/x", True),
        ("a=b; Path=/docs/", "/docs", False),
        ("a=b; Path=relative", "/docs/x", True),
        ("a=b; Path=/other", "/other/x", True),
    ],
)
def test_paths(line: str, path: str, goes: bool) -> None:
    assert (jar(line).header(HERE, path, NOW) == "a=b") is goes


def test_longer_paths_first_then_the_order_of_setting() -> None:
    kept = jar("one=1; Path=/", "two=2; Path=/docs", "three=3; Path=/")
    assert kept.header(HERE, "/docs/x", NOW) == "two=2; one=1; three=3"


def test_a_namesake_replaces_and_deletes() -> None:
    kept = jar("a=1; Path=/", "a=2; Path=/")
    assert kept.header(HERE, "/", NOW) == "a=2"
    kept.store(HERE, "/", ["a=; Path=/; Max-Age=0"], NOW)
    assert kept.header(HERE, "/", NOW) is None


def test_time_passes() -> None:
    kept = jar("a=b; Max-Age=10; Path=/")
    assert kept.header(HERE, "/", NOW + 9) == "a=b"
    assert kept.header(HERE, "/", NOW + 10) is None


def test_no_more_than_fifty_an_origin() -> None:
    kept = jar(*(f"c{number}=x; Path=/" for number in range(MOST_PER_ORIGIN + 5)))
    sent = (kept.header(HERE, "/", NOW) or "").split("; ")
    assert len(sent) == MOST_PER_ORIGIN
    assert sent[0] == "c5=x"


def test_no_more_than_a_thousand_origins() -> None:
    kept = CookieJar()
    for number in range(MOST_ORIGINS + 1):
        kept.store(f"http://h{number}", "/", ["a=b"], NOW)
    assert kept.header("http://h0", "/", NOW) is None
    assert kept.header(f"http://h{MOST_ORIGINS}", "/", NOW) == "a=b"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", (1994, 11, 6, 8, 49, 37)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", (1994, 11, 6, 8, 49, 37)),
        ("Sun Nov  6 08:49:37 1994", (1994, 11, 6, 8, 49, 37)),
        ("6-nov-2030 8:9:7", (2030, 11, 6, 8, 9, 7)),
        ("Tue, 01-Jan-30 00:00:00 GMT", (2030, 1, 1, 0, 0, 0)),
        ("Wed, 31 Feb 2030 00:00:00 GMT", None),
        ("Wed, 01 Jan 2030 25:00:00 GMT", None),
        ("2030-01-01", None),
        ("", None),
    ],
)
def test_dates(text: str, date: tuple[int, ...] | None) -> None:
    assert read_date(text) == (datetime(*date, tzinfo=UTC).timestamp() if date else None)  # type: ignore[arg-type,misc]


def test_a_session_cookie_lasts_for_the_crawl() -> None:
    cookie = read("a=b", origin=HERE, path="/", now=NOW)
    assert cookie is not None
    assert cookie.expires == SESSION

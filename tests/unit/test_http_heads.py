"""Heads come back byte for byte, and take few bytes where servers say what they said before."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orbweb.parsing.http_heads import (
    BORDER,
    INHERITED,
    LITERAL,
    TARGET,
    Exchange,
    Head,
    HeadEncoder,
    decode,
    field,
    whole,
)

URL = "http://127.0.0.1:8080/a/b?c=d"
REQUEST = field(TARGET, b"GET ") + field(LITERAL, b" HTTP/1.1\r\n\r\n") + field(BORDER)
SENT = b"GET /a/b?c=d HTTP/1.1\r\n\r\n"


def last(lines: list[bytes], name: bytes) -> str | None:
    found = [line.partition(b":") for line in lines]
    values = [value.strip().decode("utf-8", "replace") for key, _, value in found if key.lower() == name]
    return values[-1] if values else None


def coded(coder: HeadEncoder, lines: list[bytes]) -> Head:
    found = {name: last(lines, name) or "" for name in (b"etag", b"last-modified", b"date", b"content-length")}
    return coder.head(REQUEST, b"", lines, {name: value for name, value in found.items() if value})


def assert_same(coder: HeadEncoder, lines: list[bytes]) -> Head:
    """What is kept gives the head again, with the row that goes with it."""
    head = coded(coder, lines)
    assert decode(head, URL, last(lines, b"etag"), last(lines, b"last-modified")) == (SENT, b"".join(lines))
    return head


def answer(at: int, size: int, *more: bytes) -> list[bytes]:
    return [
        b"HTTP/1.1 200 OK\r\n",
        b"Server: nginx/1.22.1\r\n",
        b"Date: " + formatdate(1_700_000_000 + at, usegmt=True).encode() + b"\r\n",
        b"Content-Type: text/html\r\n",
        b"Content-Length: %d\r\n" % size,
        b"Last-Modified: " + formatdate(1_600_000_000 + size, usegmt=True).encode() + b"\r\n",
        b'ETag: "5f5-%x"\r\n' % size,
        *more,
        b"\r\n",
    ]


def test_heads_that_differ_in_dates_sizes_and_tags_share_a_template_and_take_a_few_bytes() -> None:
    coder = HeadEncoder()
    heads = [assert_same(coder, answer(number, 1_000 * number)) for number in range(200)]
    assert len({head.template for head in heads}) == 1
    assert max(len(head.values) for head in heads) <= 14


def test_a_header_that_varies_is_found_out() -> None:
    coder = HeadEncoder()
    heads = [assert_same(coder, answer(0, 5, b"X-Request-Id: %d-abc\r\n" % number)) for number in range(500)]
    assert len({head.template for head in heads}) < 12
    assert len(heads[-1].values) < 30


def test_a_header_with_few_values_is_part_of_templates() -> None:
    coder = HeadEncoder()
    heads = [assert_same(coder, answer(0, 5, b"X-Cache: %d\r\n" % (number % 4))) for number in range(100)]
    assert len({head.template for head in heads}) == 4


@pytest.mark.parametrize(
    "lines",
    [
        [b'ETag: "one"\r\n', b'ETag: "two"\r\n'],
        [b'ETag: "one"\r\n', b'etag:"two"\r\n'],
        [b'ETag:  "one"\r\n', b"etag: \r\n"],
        [b'ETag: "\xf6"\r\n', b"Last-Modified: yesterday\r\n", b"Last-Modified: \xff\r\n"],
        [b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", b"Date: Fri, 02 Jan 1970 00:00:00 GMT\r\n"],
        [b"Date: 1 Jan 1970 00:00:00 GMT\r\n", b"Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n", b"Date: \r\n"],
        [b"Date: Sun, 01 Jan 9999 00:00:00 GMT\r\n", b"Expires: -1\r\n", b"Expires: 0\r\n"],
        [b"Content-Length: 007\r\n", b"Content-Length: 1, 1\r\n", b"Content-Length: 99999999999999999999\r\n"],
        [b"Content-Length: 7 \r\n", b"content-LENGTH: 7\r\n", b"Age: \xd9\xa3\r\n"],
        [b"no colon\r\n", b": no name\r\n", b"bare line end: 1\n", b"Date: Thu, 01 Jan 1970 00:00:00 GMT\n"],
        [b"inner\rreturn: 1\r\n", b"\xff\xfe: \x80\r\n"],
    ],
)
def test_odd_heads_come_back_as_they_were(lines: list[bytes]) -> None:
    coder = HeadEncoder()
    for _ in range(3):
        assert_same(coder, [b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n"])


def test_a_value_that_is_odd_once_is_kept_as_it_was() -> None:
    """Also after many that were usual, and where one value is also that of another header."""
    coder = HeadEncoder()
    date = formatdate(1_600_000_005, usegmt=True).encode()
    for number in range(3):
        assert_same(coder, answer(number, 5))
    for then, now in [
        (b"Content-Length: 5\r\n", b"Content-Length: 005\r\n"),
        (b"Content-Length: 5\r\n", b"Content-Length: 200\r\n"),
        (b"Content-Length: 5\r\n", b"Content-Length: -5\r\n"),
        (b'ETag: "5f5-5"\r\n', b"ETag: \r\n"),
        (b'ETag: "5f5-5"\r\n', b"ETag: text/html\r\n"),
        (b'ETag: "5f5-5"\r\n', b"ETag: 5\r\n"),
        (b'ETag: "5f5-5"\r\n', b"ETag: 50%b%(date)b%\r\n"),
        (b'ETag: "5f5-5"\r\n', b"ETag: " + date + b"\r\n"),
        (b"Last-Modified: " + date, b"Last-Modified: " + answer(0, 5)[2][6:-2]),
        (b"Last-Modified: " + date, b"Last-Modified: now"),
    ]:
        lines = [line.replace(then, now) for line in answer(0, 5)]
        assert lines != answer(0, 5)
        for _ in range(2):
            assert_same(coder, lines)
    for odd in (b"garbage", b"Thu, 01 Jan 1970 00:00:00 UTC", b"", date[:-4]):
        for _ in range(2):
            assert_same(
                coder, [line if line[:5] != b"Date:" else b"Date: " + odd + b"\r\n" for line in answer(0, 5)]
            )


LINES = st.builds(
    lambda name, space, value, end: name + b":" + space + value + end,
    st.sampled_from([b"ETag", b"Date", b"Last-Modified", b"Content-Length", b"X", b"etag", b"Age", b""]),
    st.sampled_from([b" ", b"", b"  "]),
    st.one_of(
        st.binary(max_size=8).map(lambda value: value.replace(b"\n", b"")),
        st.sampled_from([b"7", b'"tag"', b"Thu, 01 Jan 1970 00:00:00 GMT"]),
    ),
    st.sampled_from([b"\r\n", b"\n"]),
)


@given(st.lists(st.lists(LINES, max_size=6), min_size=1, max_size=12))
@example([[b"X: %d\r\n" % number] for number in range(12)])
def test_any_head_comes_back_as_it_was(heads: list[list[bytes]]) -> None:
    coder = HeadEncoder()
    for lines in heads:
        assert_same(coder, [b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n"])


def test_a_large_head_comes_back_and_is_not_remembered_for_ever() -> None:
    coder = HeadEncoder()
    for number in range(40):
        lines = [b"X-%d-%d: %s\r\n" % (number, at, b"a" * 1_000) for at in range(100)]
        assert_same(coder, [b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n"])
    assert sum(map(len, coder._templates)) + sum(len(key[1]) for key in coder._usual) < 1_500_000


def test_a_header_that_varies_costs_no_memory() -> None:
    coder = HeadEncoder()
    for number in range(300):
        assert_same(coder, answer(0, 5, b"X-Request-Id: %d\r\n" % number))
    assert len(coder._usual) < 12


def test_a_head_by_itself_needs_no_row() -> None:
    exchange = Exchange(SENT, b'HTTP/1.1 200 OK\r\nETag: "a"\r\n\r\n')
    assert decode(whole(exchange), "http://elsewhere.test/", None, None) == exchange


@given(st.data())
def test_a_damaged_head_is_an_error_and_never_another_one(data: st.DataObject) -> None:
    lines = answer(3, 12_345, b"X: y\r\n")
    head = coded(HeadEncoder(), lines)
    at = data.draw(st.integers(0, len(head.values) - 1))
    values = bytearray(head.values)
    values[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="head"):
        decode(Head(head.template, bytes(values)), URL, last(lines, b"etag"), last(lines, b"last-modified"))


@pytest.mark.parametrize(
    "template", [b"", b"\x00", b"\x00\x05a", b"\x09\x00", field(BORDER)[:1], b"\x00\xff\xff\xff"]
)
def test_a_damaged_template_is_an_error(template: bytes) -> None:
    with pytest.raises(ValueError, match="head"):
        decode(Head(template, b"\0\0\0\0" + INHERITED), URL, None, None)

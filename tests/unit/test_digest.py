"""What is a page, and what one becomes."""

from __future__ import annotations

import hashlib
import time

import pytest
import zstandard

from orbweb.digest import SNIFFED, Digester, Job, is_html
from orbweb.urls import DEFAULT_RULES, UrlRules

UNDECLARED = [None, "", " ", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*"]


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "TEXT/HTML", "text/html; charset=utf-8", " text/html ;x", "application/xhtml+xml", "text/html;"],
)
@pytest.mark.parametrize("body", [b"", b"anything", b"%PDF-1.7"])
def test_a_declared_page_is_a_page(content_type: str, body: bytes) -> None:
    assert is_html(content_type, body)


@pytest.mark.parametrize("content_type", ["text/plain", "application/pdf", "image/svg+xml", "text/htmlx", "html"])
def test_another_declared_type_is_none_whatever_its_bytes(content_type: str) -> None:
    assert not is_html(content_type, b"<!doctype html>")


@pytest.mark.parametrize("content_type", UNDECLARED)
@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html>",
        b"<!doctype\n  HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>",
        b"<html lang=en>",
        b"\xef\xbb\xbf<html>",
        b" \r\n\t<head>",
        b"<!-- a --> <!-- b > c --><body>",
        b"<?xml version='1.0'?>\n<!-- x --><html xmlns='x'>",
        b"<title>x",
        b"<p>x",
        b"<a href=x>",
    ],
)
def test_undeclared_bytes_that_begin_as_a_page_are_one(content_type: str | None, body: bytes) -> None:
    assert is_html(content_type, body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"plain text <html>",
        b"%PDF-1.7 <html>",
        b"<htmlx>",
        b"<article>",
        b"<?xml version='1.0'?><rss>",
        b"<!-- never closed <html>",
        b'{"a": "<html>"}',
        b" " * SNIFFED + b"<html>",
        b"\x00<html>",
    ],
)
def test_undeclared_bytes_of_another_kind_are_none(body: bytes) -> None:
    assert not is_html(None, body)


@pytest.mark.parametrize(
    "unit", [b"<!---->", b"<!--", b"<!-- --> ", b"<?xml>", b"<?xml", b" ", b"<!---->\n<?xml ?>", b"<"]
)
def test_hostile_bytes_are_judged_at_once(unit: bytes) -> None:
    body = (unit * SNIFFED)[:SNIFFED] + b"x"
    start = time.perf_counter()
    assert not is_html(None, body)
    assert time.perf_counter() - start < 0.05


def test_a_digest_has_links_hashes_and_the_body_itself() -> None:
    body = "<title>T\u00fcr</title><a href='/b?utm_source=x&b=1'>b</a><a href=c rel=nofollow>c</a>".encode()
    digest = Digester(DEFAULT_RULES).digest(Job(7, "https://h/a/", "text/html; charset=utf-8", body))
    assert [(link.key, link.nofollow) for link in digest.parsed.links] == [
        ("https://h/b?b=1", False),
        ("https://h/a/c", True),
    ]
    assert digest.parsed.title == "T\u00fcr"
    assert digest.blob.sha256 == hashlib.sha256(body).digest()
    assert digest.blob.size == len(body)
    assert zstandard.ZstdDecompressor().decompress(digest.blob.frame) == body
    assert digest.content_sha256 == digest.blob.sha256


def test_a_digest_depends_on_the_page_alone_not_on_those_before() -> None:
    pages = [
        Job(number, f"https://h/{number % 3}/", "text/html", b"<a href=x><a href='../y?a=1'>" * number)
        for number in range(1, 40)
    ]
    used = Digester(DEFAULT_RULES)
    forwards = [used.digest(job) for job in pages]
    assert [used.digest(job) for job in reversed(pages)] == forwards[::-1]
    assert [Digester(DEFAULT_RULES).digest(job) for job in pages] == forwards


def test_the_rules_of_the_project_make_the_keys() -> None:
    job = Job(1, "https://h/", "text/html", b"<a href='?a=1&b=2'>")
    (link,) = Digester(UrlRules(keep_params=("b",))).digest(job).parsed.links
    assert (link.key, link.url) == ("https://h/?b=2", "https://h/?a=1&b=2")

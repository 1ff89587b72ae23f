"""What is a page, and what one becomes."""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys

import pytest
import zstandard

from effort import best_s
from orbweb.engine.workers.page import SNIFFED, Job, PageProcessor, ProcessorSettings, is_css, is_html
from orbweb.fetching import PAGE, transfer
from orbweb.model import Directives, Failed, FailKind, ProcessedPage
from orbweb.store import documents
from orbweb.urls import DEFAULT_RULES, UrlRules

SETTINGS = ProcessorSettings(DEFAULT_RULES, "orbweb")
UNDECLARED = [None, "", " ", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*", "html"]


DECLARED = [
    "text/html",
    "TEXT/HTML",
    "text/html; charset=utf-8",
    " text/html ;x",
    "application/xhtml+xml",
    "text/html;",
]
OTHER_TEXT = ["text/plain", "text/plain; charset=utf-8", "text/xml", "application/xml"]


@pytest.mark.parametrize("content_type", DECLARED)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"anything",
        b"{}",
        b"<?xml version='1.0'?><note>",
        b"<svg>",
        b"<rssx>",
        b"%PDF",
        b"PK",
        b"\xff\xd8",
        b"a text with \0 and \0 in it",
        b"\xff" * 100,
        "<html>".encode("utf-16"),
        b"\xfe\xff" + "<html>".encode("utf-16-be"),
    ],
)
def test_a_declared_page_is_a_page(content_type: str, body: bytes) -> None:
    assert is_html(content_type, body)


@pytest.mark.parametrize("content_type", [*DECLARED, *OTHER_TEXT, *UNDECLARED])
@pytest.mark.parametrize(
    "body",
    [
        b"%PDF-1.7 <html>",
        b"\x89PNG\r\n\x1a\n<html>",
        b"GIF89a<html>",
        b"\xff\xd8\xff\xe0<html>",
        b"PK\x03\x04<html>",
        b"\x1f\x8b\x08<html>",
        b"\0\0\1\0<html>",
        b"\0" * 5_000,
        b"ustar" + b"\0" * 507,
        b"<rss version='2.0'>",
        b"\xef\xbb\xbf<?xml version='1.0'?><!-- <html> -->\n<feed xmlns='x'>",
        b"<?xml version='1.0'?><?xml-stylesheet href='x'?><urlset>",
        b"<sitemapindex >",
        b"<rdf:RDF\n>",
    ],
)
def test_what_is_plainly_no_page_is_none_whatever_it_declares(content_type: str | None, body: bytes) -> None:
    assert not is_html(content_type, body)


def test_utf_16_by_the_header_is_not_taken_for_binary() -> None:
    body = "<p>page</p>".encode("utf-16-le")
    assert is_html("text/html; charset=utf-16", body)
    assert not is_html("text/html", body)


@pytest.mark.parametrize("content_type", ["application/pdf", "image/svg+xml", "text/htmlx", "application/rss+xml"])
def test_another_declared_type_is_none_whatever_its_bytes(content_type: str) -> None:
    assert not is_html(content_type, b"<!doctype html>")


@pytest.mark.parametrize("content_type", [*OTHER_TEXT, *UNDECLARED])
@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html>",
        b"\n <!doctype\tHTML PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN'>",
        b"\xef\xbb\xbf<html lang=en>",
        b"<?xml version='1.0'?><?xml-stylesheet href='x'?>\n<!-- - -- x --><html xmlns='x'>",
        "<html>".encode("utf-16"),
        b"\xfe\xff" + "<!doctype html>".encode("utf-16-be"),
    ],
)
def test_text_and_xml_that_are_plainly_html_are_pages(content_type: str | None, body: bytes) -> None:
    assert is_html(content_type, body)


@pytest.mark.parametrize("content_type", OTHER_TEXT)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<h1>A heading in Markdown</h1>",
        b"<div align=center>",
        b"<!-- a licence -->\n# Title",
        b"<!-- a licence -->",
        b".. _index:\n\n<html>",
        b"=====\nTitle\n=====\n",
        b"<html:div>",
        b"<htmlx>",
        b"<!doctype htmlx>",
        b"<!doctype book>",
        b"<note><html>",
        b"&lt;html>",
    ],
)
def test_other_text_stays_what_it_declares(content_type: str, body: bytes) -> None:
    assert not is_html(content_type, body)


@pytest.mark.parametrize("content_type", [*DECLARED, *OTHER_TEXT, *UNDECLARED])
def test_whatever_may_be_a_page_is_read(content_type: str | None) -> None:
    assert transfer.worth_reading(content_type or "", PAGE)


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
        b"<meta charset=x>",
        b"<br/>",
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
        b"<bogus>",
        b"<?xml version='1.0'?><rss>",
        b"<!-- never closed <html>",
        b'{"a": "<html>"}',
        b" " * SNIFFED + b"<html>",
        b"\x00<html>",
    ],
)
def test_undeclared_bytes_of_another_kind_are_none(body: bytes) -> None:
    assert not is_html(None, body)


@pytest.mark.alone
@pytest.mark.parametrize(
    "unit", [b"<!---->", b"<!--", b"<!-- --> ", b"<?xml>", b"<?xml", b" ", b"<!---->\n<?xml ?>", b"<"]
)
def test_hostile_bytes_are_judged_at_once(unit: bytes) -> None:
    body = (unit * SNIFFED)[:SNIFFED] + b"x"
    assert not is_html(None, body)
    assert not is_html("text/plain", body)
    assert is_html("text/html", body)
    assert best_s(lambda: is_html(None, body), enough_s=0.05) < 0.05


def test_a_digest_has_links_hashes_and_the_body_itself() -> None:
    body = "<title>T\u00fcr</title><a href='/b?utm_source=x&b=1'>b</a><a href=c rel=nofollow>c</a>".encode()
    processed = PageProcessor(SETTINGS).process(Job(7, "https://h/a/", "text/html; charset=utf-8", body))
    assert [(link.key, link.nofollow) for link in processed.parsed.links] == [
        ("https://h/b?b=1", False),
        ("https://h/a/c", True),
    ]
    assert processed.parsed.title == "T\u00fcr"
    assert processed.blob.sha256 == hashlib.sha256(body).digest()
    assert processed.blob.size == len(body)
    assert zstandard.ZstdDecompressor().decompress(processed.blob.frame) == body
    kept = processed.document
    document = documents.unpack(kept.sha256, kept.size, kept.frame, where="here")
    assert "".join(document.text.split()) == "bc"
    assert processed.content_sha256 == hashlib.sha256(document.text.encode()).digest()


def test_two_pages_are_one_if_their_texts_are_and_without_text_if_their_bodies_are() -> None:
    def content_sha256(body: bytes) -> bytes:
        return PageProcessor(SETTINGS).process(Job(1, "https://h/", "text/html", body)).content_sha256

    once = content_sha256(b"<title>a</title><main><p>The same words.</p></main>")
    assert content_sha256(b"<title>b</title><script>0</script><main>\n<p>The same\n words.</p></main>") == once
    assert content_sha256(b"<main><p>Other words.</p></main>") != once
    shells = [b"<div id=app></div><script src=/a.js></script>", b"<div id=app></div><script src=/b.js></script>"]
    assert [content_sha256(body) for body in shells] == [hashlib.sha256(body).digest() for body in shells]


def test_a_digest_depends_on_the_page_alone_not_on_those_before() -> None:
    pages = [
        Job(number, f"https://h/{number % 3}/", "text/html", b"<a href=x><a href='../y?a=1'>" * number)
        for number in range(1, 40)
    ]
    used = PageProcessor(SETTINGS)
    forwards = [used.process(job) for job in pages]
    assert [used.process(job) for job in reversed(pages)] == forwards[::-1]
    assert [PageProcessor(SETTINGS).process(job) for job in pages] == forwards


def repeated_formatting(paragraphs: int) -> bytes:
    """A parser must repeat all the open formatting in every paragraph."""
    return b"<p>" + b"".join(b"<b id=%d>" % number for number in range(400)) + b"</p><p>x" * paragraphs


@pytest.mark.alone
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"x<p>" * 1_000_001, "more than 2,000,000 elements and texts"),
        (b"<!---->" * 2_100_000, "more than 2,000,000 elements and texts"),
        (
            b"<p " + b" ".join(b"a%d" % number for number in range(1_500_000)),
            "needs more than 150 MB of memory to be parsed",
        ),
        (b"<blockquote>" * 20 + b"<p>x" * 150_000, "more than 5.2 MB of extracted text"),
    ],
    ids=["texts", "comments", "names", "output"],
)
def test_a_page_that_takes_too_much_fails_and_the_next_does_not(body: bytes, error: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    processor = PageProcessor(SETTINGS)
    job = Job(1, "https://h/", "text/html", body)
    assert processor.process(job) == Failed(FailKind.UNPARSABLE, error)
    assert best_s(lambda: processor.process(job), enough_s=2.0) < 2.0
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    good = processor.process(Job(2, "https://h/", "text/html", b"<a href=x>"))
    assert isinstance(good, ProcessedPage)
    assert len(good.parsed.links) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 1_000_000,
        b"<p>some words</p>\n" * 250_000,
        repeated_formatting(10_000),
        b"<p>" + b"x" * 10_000_000,
    ],
    ids=["nested", "large", "formatting", "one line"],
)
def test_large_pages_are_pages(body: bytes) -> None:
    assert isinstance(PageProcessor(SETTINGS).process(Job(1, "https://h/", "text/html", body)), ProcessedPage)


def test_a_lower_limit_of_the_user_is_kept() -> None:
    """In a process of its own: a limit once lowered could starve the tests that follow."""
    script = (
        "import resource; from orbweb.engine.workers.page import _Memory\n"
        "limit = (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1])\n"
        "resource.setrlimit(resource.RLIMIT_AS, limit)\n"
        "with _Memory().up_to(8 << 30): assert resource.getrlimit(resource.RLIMIT_AS) == limit\n"
        "with _Memory().up_to(1 << 30): assert resource.getrlimit(resource.RLIMIT_AS) < limit\n"
        "assert resource.getrlimit(resource.RLIMIT_AS) == limit\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_rules_of_the_project_make_the_keys() -> None:
    job = Job(1, "https://h/", "text/html", b"<a href='?a=1&b=2'>")
    (link,) = PageProcessor(ProcessorSettings(UrlRules(keep_params=("b",)), "orbweb")).process(job).parsed.links
    assert (link.key, link.url) == ("https://h/?b=2", "https://h/?a=1&b=2")


WITH_RESOURCES = ProcessorSettings(DEFAULT_RULES, "orbweb", resources=True)


def test_resources_of_pages_and_style_sheets_are_found_when_asked_for() -> None:
    page = Job(1, "https://h/a/", "text/html", b"<a href=b><img src=i.png><p style='x: url(j.png)'>")
    sheet = Job(2, "https://h/a/s.css", "Text/CSS; charset=utf-8", b"@import 'b.css'; p { x: url(/i.png) }")
    other = Job(3, "https://h/i.png", "image/png", b"\x89PNG\r\n\x1a\n<a href=no>")
    found = [PageProcessor(WITH_RESOURCES).process(job) for job in (page, sheet, other)]
    assert [[(link.kind, link.key) for link in processed.parsed.resources] for processed in found] == [
        [("image", "https://h/a/i.png"), ("image", "https://h/a/j.png")],
        [("style", "https://h/a/b.css"), ("image", "https://h/i.png")],
        [],
    ]
    assert [[link.key for link in processed.parsed.links] for processed in found] == [["https://h/a/b"], [], []]
    assert [processed.blob.size for processed in found] == [len(job.body) for job in (page, sheet, other)]
    assert PageProcessor(SETTINGS).process(page).parsed.resources == ()


@pytest.mark.parametrize("content_type", [None, "text/html", "text/plain", "text/x-css", "application/css"])
def test_a_style_sheet_is_what_is_declared_as_one(content_type: str | None) -> None:
    assert is_css("text/css")
    assert not is_css(content_type)


def test_header_and_page_speak_to_the_agent_of_the_project() -> None:
    job = Job(1, "https://h/", "text/html", b"<meta name=probe content=nofollow>", ("probe: noindex",))
    said = PageProcessor(ProcessorSettings(DEFAULT_RULES, "Probe")).process(job).parsed.directives
    assert (said.noindex, said.nofollow) == ("X-Robots-Tag: probe: noindex", "meta probe: nofollow")
    assert PageProcessor(SETTINGS).process(job).parsed.directives == Directives()


def test_a_page_is_never_blamed_for_want_of_memory_whichever_library_wants_it() -> None:
    """In a process of its own, whose memory is not yet in pieces. Some libraries get none and do not say so."""
    script = (
        "from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings\n"
        "from orbweb.model import ProcessedPage\n"
        "from orbweb.urls import DEFAULT_RULES\n"
        "processor = PageProcessor(ProcessorSettings(DEFAULT_RULES, 'orbweb'))\n"
        "body = b''.join(b'<a href=/%d%s>x</a>' % (number, b'y' * 200) for number in range(30_000))\n"
        "job = Job(1, 'https://h/', 'text/html', body)\n"
        "for megabytes in (46, 50, 54):\n"
        "    found = processor._within(1 << 30, megabytes << 20, job)\n"
        "    assert found is None or isinstance(found, ProcessedPage), (megabytes, found)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

"""Sitemaps: kinds, packing, encodings, broken and hostile documents."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import TIMES, assert_linear, part
from orbweb.parsing.sitemaps import Sitemap, SitemapEntry, SitemapKind, parse

URL = "https://x.org/maps/sitemap.xml"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'

examples = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def read(text: str | bytes) -> Sitemap:
    return parse(text.encode() if isinstance(text, str) else text, URL)


def urlset(*items: str) -> str:
    return HEAD + "".join(f"<url>{item}</url>" for item in items) + "</urlset>"


def urls(sitemap: Sitemap) -> list[str]:
    return [entry.url for entry in sitemap.entries + sitemap.children]


def test_a_urlset_has_pages_in_order_with_their_dates() -> None:
    found = read(
        urlset(
            "<loc>https://x.org/b</loc><lastmod>2024-01-31</lastmod><priority>0.5</priority>",
            "<lastmod>\n2024-02-01T10:00:00Z </lastmod><loc>\n https://x.org/a </loc>",
            "<loc>https://x.org/b</loc>",
        )
    )
    assert found == Sitemap(
        SitemapKind.URLSET,
        entries=(
            SitemapEntry("https://x.org/b", "2024-01-31"),
            SitemapEntry("https://x.org/a", "2024-02-01T10:00:00Z"),
            SitemapEntry("https://x.org/b", None),
        ),
    )


def test_an_index_has_children_and_no_pages() -> None:
    found = read("<sitemapindex><sitemap><loc>/a.xml.gz</loc><lastmod>2024</lastmod></sitemap></sitemapindex>")
    assert found == Sitemap(SitemapKind.INDEX, children=(SitemapEntry("https://x.org/a.xml.gz", "2024"),))


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ("<loc>https://x.org/?a=1&amp;b=2</loc>", "https://x.org/?a=1&b=2"),
        ("<loc>https://x.org/?a=1&b=2&copy=3&lt=4</loc>", "https://x.org/?a=1&b=2&copy=3&lt=4"),
        ("<loc>https://x.org/?a=1&amp;b=2&c=3&#38;d&#x26;e</loc>", "https://x.org/?a=1&b=2&c=3&d&e"),
        ("<loc>https://x.org/&amp;lt;&amp;amp;</loc>", "https://x.org/&lt;&amp;"),
        ("<loc>https://x.org/&#38;amp;</loc>", "https://x.org/&amp;"),
        ("<loc>https://x.org/&#9999999;</loc>", "https://x.org/&#9999999;"),
        ("<loc>https://x.org/&#228;</loc>", "https://x.org/%C3%A4"),
        ("<loc><![CDATA[https://x.org/?a=1&b=2]]></loc>", "https://x.org/?a=1&b=2"),
        ("<loc>https://<![CDATA[x.org]]>/a<!-- no -->/b<?no?>/c</loc>", "https://x.org/a/b/c"),
        ("<loc><!-- https://y.org/ -->https://x.org/a</loc>", "https://x.org/a"),
        ("<loc>page</loc>", "https://x.org/maps/page"),
        ("<loc>//y.org/a</loc>", "https://y.org/a"),
        ("<loc>HTTPS://X.ORG/A</loc>", "https://x.org/A"),
        ("<LOC>https://x.org/a</LOC>", "https://x.org/a"),
        ("<Loc >https://x.org/a</loc >", "https://x.org/a"),
        ("<loc a='>' b=\"</loc>\">https://x.org/a</loc>", "https://x.org/a"),
        ("<loc>https://x.org/a<loc>", "https://x.org/a"),
        ("<loc/><loc></loc>text<loc>https://x.org/a</loc>", "https://x.org/a"),
        ("<loc>https://x.org/a</loc><loc>https://x.org/b</loc>", "https://x.org/a"),
        ("<i:i><loc>https://y.org/</loc><i:loc>https://y.org/</i:loc></i:i><loc>https://x.org/a</loc>", "https://x.org/a"),
        ("<i:loc>https://y.org/</i:loc><loc>https://x.org/a</loc>", "https://x.org/a"),
        ("<a></b></b></a><loc>https://x.org/a</loc>", "https://x.org/a"),
    ],
)  # fmt: skip
def test_the_url_of_an_item(item: str, url: str) -> None:
    assert read(urlset(item)) == Sitemap(SitemapKind.URLSET, (SitemapEntry(url, None),))


@pytest.mark.parametrize(
    "text",
    [
        "<s:urlset xmlns:s='x'><s:url><s:loc>/a</s:loc><s:lastmod>1</s:lastmod></s:url></s:urlset>",
        "<URLSET><URL><LOC>/a</LOC><LASTMOD>1</LASTMOD></URL></URLSET>",
        "\n\n<!-- <urlset><url><loc>/no</loc> --><urlset><url><loc>/a</loc><lastmod>1</lastmod></url></urlset>",
        "Warning: <b>x</b> on line 1<br />\n<urlset><url><loc>/a</loc><lastmod>1</lastmod></url></urlset>",
        "<!DOCTYPE urlset><urlset><url><loc>/a</loc><lastmod>1</lastmod></url></urlset>",
        "<urlset><url><loc>/a</loc><lastmod>1</lastmod></url></url></urlset>",
        "<urlset><url><loc>/a</loc><lastmod>1</lastmod><url></url></urlset>",
        "<urlset><url><loc>/a</loc><lastmod>1</lastmod></urlset>",
        "<urlset><url><loc>/a</loc><lastmod>1</lastmod><i:i></url><url/></urlset>",
    ],
)
def test_prefixes_case_and_broken_nesting(text: str) -> None:
    assert read(text) == Sitemap(SitemapKind.URLSET, (SitemapEntry("https://x.org/a", "1"),))


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ("<url><loc>/a</loc></url>", ["https://x.org/a"]),
        ("<url><loc>/a</loc></url><url><loc>/b</lo", ["https://x.org/a", "https://x.org/b"]),
        ("<url><loc>/a</loc></url><url><loc>/b", ["https://x.org/a"]),
        ("<url><loc>/a</loc></url><url><loc><![CDATA[/b", ["https://x.org/a"]),
        ("<url><loc>/a</loc></url><!-- <url><loc>/b</loc></url>", ["https://x.org/a"]),
    ],
)
def test_a_document_without_its_end_gives_what_is_whole(cut: str, expected: list[str]) -> None:
    found = read(HEAD + cut)
    assert urls(found) == expected
    assert found.problem == "the document ends before </urlset>"


def test_rss_items_have_a_link_or_a_permalink() -> None:
    found = read(
        """<rss><channel><link>https://x.org/</link><image><url>/i.png</url><link>/</link></image>
        <item><link>/a</link><guid>https://x.org/guid</guid><pubDate>Thu, 05 Jan 2017</pubDate></item>
        <item><guid>https://x.org/b</guid><dc:date>2017-01-05</dc:date></item>
        <item><guid isPermaLink="false">https://x.org/c</guid></item>
        <item><guid>7bd204c6</guid></item>
        <item><atom:link href="/d"/><description>&lt;link>/d&lt;/link></description></item>
        <item><source><link>/no</link></source><link><![CDATA[/e]]></link></item>
        </channel></rss>"""
    )
    assert found == Sitemap(
        SitemapKind.RSS,
        entries=(
            SitemapEntry("https://x.org/a", "Thu, 05 Jan 2017"),
            SitemapEntry("https://x.org/b", "2017-01-05"),
            SitemapEntry("https://x.org/e", None),
        ),
    )


def test_atom_entries_have_one_link_each() -> None:
    found = read(
        """<feed xmlns="http://www.w3.org/2005/Atom"><link href="/feed"/><updated>2000</updated>
        <entry><link rel="edit" href="/no"/><link href="/a?x=1&amp;y=2"/><link rel="alternate" href="/no"/>
          <published>2001</published><updated>2002</updated></entry>
        <entry><link rel="self" href='/no'/><link rel="Alternate" href='/b'></link><issued>2003</issued></entry>
        <entry><link rel="self" href="/c"/><source><link href="/no"/></source></entry>
        <entry><link rel="enclosure" href="/no"/><id>https://x.org/no</id></entry>
        </feed>"""
    )
    assert found == Sitemap(
        SitemapKind.ATOM,
        entries=(
            SitemapEntry("https://x.org/a?x=1&y=2", "2002"),
            SitemapEntry("https://x.org/b", "2003"),
            SitemapEntry("https://x.org/c", None),
        ),
    )


def test_a_text_has_a_url_a_line() -> None:
    found = read(
        "\ufeffSome <b>words</b> about http://x.org\r\n https://x.org/a \t\rHTTP://x.org/b\nx.org/c\nftp://x.org/"
    )
    assert found == Sitemap(
        SitemapKind.TEXT, (SitemapEntry("https://x.org/a", None), SitemapEntry("http://x.org/b", None))
    )


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "koi8-r", "shift_jis"]
)
def test_encodings(encoding: str) -> None:
    letter = "\u65e5" if encoding == "shift_jis" else "\u0436"
    text = f'<?xml version="1.0" encoding="{encoding}"?><urlset><url><loc>/{letter}</loc></url></urlset>'
    mark = "\ufeff" if encoding.startswith("utf-16-") else ""
    expected = parse(text.replace(encoding, "utf-8").encode(), URL)
    assert expected.entries
    assert parse((mark + text).encode(encoding), URL) == expected


def test_text_in_utf_16() -> None:
    assert urls(read("http://x.org/a\nhttp://x.org/b".encode("utf-16"))) == ["http://x.org/a", "http://x.org/b"]


@pytest.mark.parametrize(
    "scheme", ["ftp://x.org/", "javascript:x", "data:,x", "mailto:a@x.org", "file:///etc/passwd"]
)
def test_only_http_comes_out_and_the_rest_is_told(scheme: str) -> None:
    found = read(urlset(f"<loc>{scheme}</loc>", "<loc>http://[</loc>", "<loc>/a</loc>"))
    assert urls(found) == ["https://x.org/a"]
    assert found.problem == f"2 entries are not http(s) URLs of at most 8192 characters, the first: '{scheme}'"


@pytest.mark.parametrize("value", ["2024-01-01\x1b[2J", "x" * 65, "a&#0;b", "&#xD800;", "a\nb"])
def test_a_date_that_is_none_is_left_out(value: str) -> None:
    assert read(urlset(f"<loc>/a</loc><lastmod>{value}</lastmod>")).entries == (
        SitemapEntry("https://x.org/a", None),
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "the document is empty"),
        (b"\xef\xbb\xbf \n", "the document is empty"),
        (b"<!doctype html><html><body><a href='https://x.org/'>x</a>", "neither a sitemap nor a feed"),
        (b"<?xml version='1.0'?><url><loc>/a</loc></url>", "neither a sitemap nor a feed"),
        (b"<a>" * 16 + b"<urlset>", "neither a sitemap nor a feed"),
        (b"Not found", "no http(s) URL on a line of its own"),
        (b'{"urls": ["https://x.org/"]}', "no http(s) URL on a line of its own"),
        (bytes(range(256)), "no http(s) URL on a line of its own"),
    ],
)
def test_what_is_no_sitemap(body: bytes, problem: str) -> None:
    found = parse(body, URL)
    assert (found.kind, found.entries, found.children) == (SitemapKind.UNKNOWN, (), ())
    assert problem in (found.problem or "")


def test_a_sitemap_may_be_empty() -> None:
    assert read("<urlset></urlset>") == read("<urlset/>") == Sitemap(SitemapKind.URLSET)


PLAIN = urlset("<loc>/a</loc>").encode()
ONE = Sitemap(SitemapKind.URLSET, (SitemapEntry("https://x.org/a", None),))


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(PLAIN),
        gzip.compress(gzip.compress(PLAIN)),
        gzip.compress(PLAIN[:50]) + gzip.compress(PLAIN[50:]),
        gzip.compress(PLAIN) + bytes(100),
        gzip.compress(PLAIN) + b"<html>",
    ],
    ids=["gzip", "twice", "two members", "padded", "followed by something"],
)
def test_gzip(body: bytes) -> None:
    assert parse(body, URL) == ONE


def test_gzip_of_noise_in_many_chunks_is_whole() -> None:
    noise = random.Random(7).randbytes(300_000).hex()
    assert parse(gzip.compress(urlset(f"<loc>/a</loc><x>{noise}</x>").encode()), URL) == ONE


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: gzip.compress(gzip.compress(gzip.compress(PLAIN))), "compressed more than 2 times"),
        (lambda: gzip.compress(b"\0" * 3_000_000), "more than 200 times its size"),
        (lambda: gzip.compress(gzip.compress(b"\0" * 300_000_000, 1)), "more than 200 times its size"),
        (lambda: gzip.compress(b"") * 10_001, "more than 10000 parts"),
        (lambda: b"\x1f\x8b", "ends too early"),
        (lambda: b"\x1f\x8b" + bytes(20), "damaged"),
    ],
    ids=["three times", "bomb", "bomb in a bomb", "many members", "nothing", "garbage"],
)
def test_packed_bodies_that_are_refused(make: Callable[[], bytes], problem: str) -> None:
    body = make()
    tracemalloc.start()
    try:
        found = parse(body, URL)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert (found.kind, found.entries) == (SitemapKind.UNKNOWN, ())
    assert problem in (found.problem or "")


def test_a_sitemap_that_packs_well_is_no_bomb() -> None:
    body = urlset(*(f"<loc>/{number}</loc>" for number in range(20_000))).encode() + b" " * 100_000
    assert len(parse(gzip.compress(body, 9), URL).entries) == 20_000


def test_a_damaged_or_short_gzip_gives_what_came_before() -> None:
    items = [f"<loc>/{number}</loc>" for number in random.Random(1).sample(range(10**9), 5_000)]
    packed = gzip.compress(urlset(*items).encode())
    short = parse(packed[: len(packed) // 2], URL)
    assert 1_000 < len(short.entries) < 4_000
    assert short.problem == "the gzip stream ends too early; the document ends before </urlset>"
    damaged = parse(packed[:-8] + bytes(8), URL)
    assert len(damaged.entries) > 4_000
    assert "the gzip stream is damaged after" in (damaged.problem or "")


def test_the_caps_cut_and_say_so() -> None:
    body = urlset(*(f"<loc>/{number}</loc>" for number in range(10))).encode()
    assert parse(body, URL, max_urls=10).problem is None
    few = parse(body, URL, max_urls=9)
    assert (len(few.entries), few.problem) == (9, "there are more than 9 entries, the rest is not read")
    for packed in (body, gzip.compress(body)):
        assert parse(packed, URL, max_bytes=len(body)).problem is None
        short = parse(packed, URL, max_bytes=len(body) - 40)
        assert urls(short) == [f"https://x.org/{number}" for number in range(len(short.entries))]
        assert len(short.entries) in (8, 9)
        assert f"larger than {len(body) - 40} bytes, the rest is not read" in (short.problem or "")
    lines = parse(b"http://x.org/\n" * 5, URL, max_urls=4)
    assert (len(lines.entries), lines.problem) == (4, "there are more than 4 entries, the rest is not read")


def test_a_url_without_end_is_none() -> None:
    found = read(urlset(f"<loc>https://x.org/{'a' * 8_200}</loc>"))
    assert found.entries == ()
    assert "1 entry is not an http(s) URL of at most 8192 characters" in (found.problem or "")
    assert len(found.problem or "") < 500


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
HOSTILE = {
    "billion laughs": f'<!DOCTYPE u [<!ENTITY l0 "lol">{LAUGHS}]><urlset><url><loc>/&l19;</loc></url></urlset>',
    "quadratic": f'<!DOCTYPE u [<!ENTITY a "{"a" * 1_000}">]><urlset><url><loc>{"&a;" * 300_000}</loc></url>',
    "nested tags": HEAD + "<a>" * 1_000_000,
    "nested tags in an item": HEAD + "<url>" + "<a>" * 1_000_000,
    "items": HEAD + "<url>" * 1_000_000,
    "values": HEAD + "<url>" + "<loc>" * 1_000_000,
    "open brackets": HEAD + "<" * 3_000_000,
    "open tags": HEAD + "<a " * 1_000_000,
    "open quotes": HEAD + "<a \"'" * 1_000_000,
    "open comments": HEAD + "<!--" * 1_000_000,
    "open comments, dashes": HEAD + "<!--" + "--" * 1_000_000,
    "open CDATA": HEAD + "<url><loc><![CDATA[" * 300_000,
    "open CDATA, brackets": HEAD + "<url><loc><![CDATA[" + "]" * 3_000_000,
    "open declarations": HEAD + "<!x [" * 1_000_000,
    "declaration, brackets": "<!x [" + "] " * 1_000_000,
    "open instructions": HEAD + "<?" * 1_000_000,
    "ampersands": HEAD + "<url><loc>" + "&" * 3_000_000 + "</loc></url></urlset>",
    "blanks": " " * 3_000_000,
    "lines": "\n" * 3_000_000,
    "lines of blanks": "\n http:// " * 300_000,
    "attributes": "<feed><entry><link " + "a " * 1_000_000 + "/></entry></feed>",
    "attribute": "<feed><entry><link " + "a" * 3_000_000 + "/></entry></feed>",
    "equals": "<feed><entry><link " + "a = " * 1_000_000 + "/></entry></feed>",
}


@pytest.mark.alone
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_take_linear_time_and_little_memory(name: str) -> None:
    body = HOSTILE[name].encode()
    assert_linear(read, (part(HOSTILE[name]) + HOSTILE[name][-30:]).encode(), body)
    assert len(read(body).entries) <= 1
    tracemalloc.start()
    try:
        parse(body[:100_000], URL)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_entities_are_neither_expanded_nor_fetched() -> None:
    found = read(
        '<!DOCTYPE urlset [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY w "word">]>'
        "<urlset><url><loc>/&f;/&w;/&nbsp;</loc></url></urlset>"
    )
    assert urls(found) == ["https://x.org/&f;/&w;/&nbsp;"]


def test_elements_have_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orbweb.parsing.sitemaps.reader.MAX_TAGS", 7)
    found = read(urlset("<loc>/a</loc>", "<loc>/b</loc>", "<loc>/c</loc>"))
    assert urls(found) == ["https://x.org/a", "https://x.org/b"]
    assert found.problem == "there are more than 7 elements, the rest is not read"


@pytest.mark.alone
def test_fifty_thousand_urls_are_read_at_once() -> None:
    item = (
        "<loc>https://x.org/docs/page-{}.html?a=1&amp;b=2</loc><lastmod>2024-01-01</lastmod><priority>1</priority>"
    )
    small, large = (
        urlset(*(item.format(number) for number in range(count))) for count in (50_000 // TIMES, 50_000)
    )
    assert_linear(read, small, large)
    found = read(large)
    assert (len(found.entries), found.problem) == (50_000, None)


FRAGMENTS = [
    *("<urlset>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "<loc", "<lastmod>1</lastmod>"),
    *(
        "<feed>",
        "<entry>",
        "</entry>",
        "<link href='",
        '<link rel="self" href="/a"/>',
        "<rss>",
        "<item>",
        "<guid>",
    ),
    *("<![CDATA[", "]]>", "<!--", "-->", "<!DOCTYPE x [", "]>", "<?xml", "?>", "&amp;", "&#x", "&#xD800;"),
    *("http://", "https://x.org/a", "\n", " ", "'", '"', ">", "<", "/", "\u0436", "\x00"),
]


@examples
@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join), st.sampled_from(["utf-8", "utf-16", "latin-1"])
)
def test_any_mixture_gives_http_urls_only(text: str, encoding: str) -> None:
    found = parse(text.encode(encoding, "replace"), URL)
    assert all(url.startswith(("http://", "https://")) for url in urls(found))
    assert found.entries == () or found.children == ()
    for entry in found.entries:
        (entry.lastmod or "").encode()
        entry.url.encode()
    (found.problem or "").encode()


@examples
@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\0", b"<urlset>", b"\xff\xfe"]),
)
def test_any_bytes_give_an_answer(data: bytes, start: bytes) -> None:
    parse(start + data, URL)
    parse(gzip.compress(start + data), URL)


def test_deflate_without_a_header_is_no_gzip() -> None:
    assert parse(zlib.compress(PLAIN), URL).kind is SitemapKind.UNKNOWN

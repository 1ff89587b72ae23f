"""The parser: which elements are links, what a page says about itself, and no bytes that break it."""

from __future__ import annotations

import re

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import assert_linear, part
from orbweb.model import Directives, Link, Parsed
from orbweb.parsing import page as page_parser
from orbweb.parsing.html import page_facts
from orbweb.urls import Resolver, UrlRules

PAGE = "http://h/dir/page.html"

# fmt: off
SOUP = (
    "<a href=x>", "<a ", "<base href=/b/>", "<template>", "</template>", "<svg>", "</svg>", "<title>", "</title>",
    "<noscript>", "<p>", "</p>", "<table>", "&#0;", "'", '"', ">", "<!--", "-->", "\0", "<meta ",
    "<link rel=next href=y>", "<img srcset=a,b>",
)
# fmt: on

examples = settings(max_examples=100, deadline=None, derandomize=True, database=None)

EVERYONE = frozenset({"robots"})


def parsed(
    html: str | bytes, url: str = PAGE, *, content_type: str | None = None, resources: bool = False
) -> Parsed:
    body = html.encode() if isinstance(html, str) else html
    return page_parser.parse(body, url, resolver=Resolver(), content_type=content_type, resources=resources)


def found(html: str | bytes, url: str = PAGE) -> list[tuple[str, str]]:
    return [(link.kind, link.url) for link in parsed(html, url).links]


def test_links_come_in_document_order_whatever_their_kind() -> None:
    html = """
    <link rel=alternate type=application/rss+xml href=feed.xml><link rel=next href=2.html>
    <meta http-equiv=refresh content="3; url=moved.html">
    <a href=a.html>a</a><iframe src=i.html></iframe><map><area href=area.html></map><a href=/b>b</a>
    """
    assert found(html) == [
        ("alternate", "http://h/dir/feed.xml"),
        ("next", "http://h/dir/2.html"),
        ("refresh", "http://h/dir/moved.html"),
        ("a", "http://h/dir/a.html"),
        ("iframe", "http://h/dir/i.html"),
        ("area", "http://h/dir/area.html"),
        ("a", "http://h/b"),
    ]


def test_frames_are_links() -> None:
    assert found("<frameset><frame src=left.html><frame src=right.html></frameset>") == [
        ("frame", "http://h/dir/left.html"),
        ("frame", "http://h/dir/right.html"),
    ]


def test_a_key_appears_once_in_its_first_spelling() -> None:
    html = "<a href='x/?b=1&amp;a=2#one'>1</a><a href='x?a=2&amp;b=1'>2</a><iframe src='x/?b=1&amp;a=2'></iframe>"
    assert parsed(html).links == (Link("http://h/dir/x?a=2&b=1", "http://h/dir/x/?b=1&a=2", "a", False),)


@pytest.mark.parametrize(
    "href", ["", "#top", "page.html", "page.html#x", "/dir/page.html?utm_source=x", "//h/dir/./page.html"]
)
def test_a_page_does_not_link_to_itself(href: str) -> None:
    assert found(f"<a href='{href}'>x</a>") == []


@pytest.mark.parametrize(
    "html",
    [
        "<a>no href</a>",
        "<a name=x>",
        "<a href='mailto:a@b'>",
        "<a href='javascript:go()'>",
        "<a href='data:text/html,x'>",
        "<a href='ftp://h/x'>",
        "<a href='http://a b/'>",
        "<a href='http://h:99999/'>",
        "<link href=x>",
        "<link rel=prev href=x>",
        "<link rel=canonical href=x>",
        "<link rel='alternate stylesheet' href=x>",
        "<meta http-equiv=refresh content=5>",
        "<meta http-equiv=refresh content=yes>",
        "<meta http-equiv=refresh content='5 ; '>",
        "<meta http-equiv=refresh content='5;url='>",
        "<meta name=refresh content='5; url=x'>",
        "<!-- <a href=x>x</a> -->",
        "<textarea><a href=x></textarea>",
        "<script>'<a href=x>'</script>",
        "<template><a href=x></template>",
        "<form action=x></form>",
    ],
)
def test_what_is_no_link(html: str) -> None:
    assert found(html) == []


@pytest.mark.parametrize(
    "content", ["0;url=x", "0; URL = 'x'", '5,url="x" y', "1.5 url=x", " 3 ; x", "0;url=x ", ".5; Url='x"]
)
def test_the_ways_to_write_a_refresh(content: str) -> None:
    escaped = content.replace('"', "&quot;")
    assert found(f'<meta http-equiv=Refresh content="{escaped}">') == [("refresh", "http://h/dir/x")]


def test_blanks_around_and_in_an_href_are_those_of_a_browser() -> None:
    assert found("<a href=' \n x\ty\n.html '>") == [("a", "http://h/dir/xy.html")]
    assert found("<a href='x '></a><a href='x #f'></a>") == [("a", "http://h/dir/x"), ("a", "http://h/dir/x%20")]


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("<base href=/other/>", "http://h/other/x"),
        ("<base href='https://b/y/z?q'>", "https://b/y/x"),
        ("<base target=_top><base href=/one/><base href=/two/>", "http://h/one/x"),
        ("<base href='data:text/html,'>", "http://h/dir/x"),
        ("<base href='javascript:0'><base href=/two/>", "http://h/dir/x"),
        ("<base href='http://a b/'>", "http://h/dir/x"),
        ("<template><base href=/other/></template>", "http://h/dir/x"),
    ],
)
def test_hrefs_are_resolved_against_the_first_base(base: str, url: str) -> None:
    assert found(f"{base}<a href=x>x</a>") == [("a", url)]


def test_a_base_counts_for_what_stands_before_it_and_for_fragments() -> None:
    html = "<a href=x>x</a><a href='#top'>top</a><base href=/other/y>"
    assert found(html) == [("a", "http://h/other/x"), ("a", "http://h/other/y")]


def test_nofollow_holds_only_if_every_occurrence_says_so() -> None:
    html = """
    <a rel='noopener NoFollow' href=x></a><a rel=nofollow href=x#2></a>
    <a rel=nofollow href=y></a><a href=y></a>
    <a rel=nofollow href=z></a><a href='z?'></a>
    <area rel=nofollow href=v><a href=w></a><a rel=nofollow href=w></a><a rel=nofollower href=u></a>
    """
    links = {link.key.rpartition("/")[2]: link.nofollow for link in parsed(html).links}
    assert links == {"x": True, "y": False, "z": False, "v": True, "w": False, "u": False}


def test_noscript_and_shadow_roots_are_read_templates_are_not() -> None:
    html = """
    <noscript><a href=noscript></a></noscript>
    <template><a href=1><template><a href=2></template></template>
    <div><template shadowrootmode=open><a href=shadow></a><template><a href=3></template></template></div>
    <template shadowrootmode=no><a href=4><img src=4.png></template><a href=after></a><img src=5.png>
    """
    assert [url for _, url in found(html)] == [f"http://h/dir/{name}" for name in ("noscript", "shadow", "after")]
    assert [link.url for link in parsed(html, resources=True).resources] == ["http://h/dir/5.png"]


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> A\n &amp;\u00a0 B </title><title>second</title>", "A & B"),
        ("<svg><title>drawing</title></svg>", ""),
        ("<body><svg><title>drawing</title></svg><title>late</title>", "late"),
        ("<template><title>inert</title></template><title>real</title>", "real"),
        ("<title></title><title>second</title>", ""),
        ("<title>" + "x" * 3_000 + "</title>", "x" * 1_000),
        ("", ""),
    ],
)
def test_title(html: str, title: str) -> None:
    assert parsed(html).title == title


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<link rel=Canonical href='/C/?b=1#x'>", "http://h/C/?b=1"),
        ("<base href=/other/><link rel=canonical href=c>", "http://h/other/c"),
        ("<link rel=canonical href='mailto:x'><link rel=canonical href=c>", "http://h/dir/c"),
        ("<link rel=canonical>", None),
        ("", None),
    ],
)
def test_canonical(html: str, canonical: str | None) -> None:
    assert parsed(html).canonical == canonical


@pytest.mark.parametrize(
    ("html", "directives"),
    [
        ("", Directives()),
        ("<meta name=robots content='index, follow'>", Directives()),
        ("<meta name=ROBOTS content='NoIndex'>", Directives("meta robots: NoIndex")),
        ("<meta name=robots content='noarchive ,nofollow'>", Directives(None, "meta robots: noarchive ,nofollow")),
        ("<meta name=robots content=none>", Directives("meta robots: none", "meta robots: none")),
        (
            "<meta name=robots content=noindex><body><meta name=robots content=nofollow>",
            Directives("meta robots: noindex", "meta robots: nofollow"),
        ),
        (
            "<meta name=Probe content=noindex><meta name=probe-news content=none>",
            Directives("meta probe: noindex"),
        ),
        ("<meta name=description content=noindex><meta name=robots><meta content=none>", Directives()),
        ("<template><meta name=robots content=none></template>", Directives()),
    ],
)
def test_directives(html: str, directives: Directives) -> None:
    found = page_parser.parse(html.encode(), PAGE, resolver=Resolver(), agent="probe")
    assert found.directives == directives


def test_without_an_agent_only_what_is_said_to_everyone_counts() -> None:
    html = "<meta content=noindex><meta name content=noindex><meta name=orbweb content=noindex>"
    assert parsed(html).directives == Directives()


def test_the_header_counts_as_well() -> None:
    html, headers = b"<meta name=robots content=none>", ("noarchive", "probe: noindex")
    found = page_parser.parse(html, PAGE, resolver=Resolver(), robots_tags=headers, agent="probe")
    assert found.directives == Directives("X-Robots-Tag: probe: noindex", "meta robots: none")


def test_resources_are_read_only_when_asked_for() -> None:
    html = """
    <link rel=stylesheet href=a.css><link rel='shortcut icon' href=i.ico><link rel=manifest href=m.json>
    <link rel=preload as=font href=f.woff2><link rel=preload as=fetch href=d.json>
    <link rel=modulepreload href=m.js><script src=a.js></script>
    <img src=1.png srcset='2.png 2x, 3.png'><picture><source srcset=4.webp></picture>
    <video src=v.mp4 poster=p.jpg><source src=w.mp4><track src=t.vtt></video><audio src=a.ogg></audio>
    <embed src=e.swf><object data=o.pdf></object><img src='data:,'><img src=1.png#again>
    """
    assert parsed(html).resources == ()
    assert [(link.kind, link.url.rpartition("/")[2]) for link in parsed(html, resources=True).resources] == [
        ("style", "a.css"),
        ("image", "i.ico"),
        ("other", "m.json"),
        ("font", "f.woff2"),
        ("other", "d.json"),
        ("script", "m.js"),
        ("script", "a.js"),
        ("image", "1.png"),
        ("image", "2.png"),
        ("image", "3.png"),
        ("image", "4.webp"),
        ("media", "v.mp4"),
        ("image", "p.jpg"),
        ("media", "w.mp4"),
        ("media", "t.vtt"),
        ("media", "a.ogg"),
        ("other", "e.swf"),
        ("other", "o.pdf"),
    ]


def test_css_of_a_page_is_read_in_its_place_and_resolved_like_its_hrefs() -> None:
    html = """
    <base href=/b/><link rel=stylesheet href=a.css><style>@import "b.css"; p { x: url(c.png) }</style>
    <style type="text/less">p { x: url(no.png) }</style><style type=" TEXT/CSS ">p { x: url(d.png) }</style>
    <template><p style="x: url(no.png)"></p><style>p { x: url(no.png) }</style></template>
    <p style="background: URL('e.png')"><img src=f.png style="x: url(g.png)"><p style="x: y">
    <svg><style>p { x: url(h.png) }</style><rect style="fill: url(#i)"/></svg>
    <a href=link.html style="x: url(j.png)">
    """
    page = parsed(html, resources=True)
    assert [link.key for link in page.links] == ["http://h/b/link.html"]
    assert [link.kind for link in page.resources[:2]] == ["style", "style"]
    names = [link.url.removeprefix("http://h/b/").partition(".")[0] for link in page.resources]
    assert "".join(names) == "abcdefghj"
    assert parsed(html).resources == ()


def test_a_style_sheet_has_resources_only() -> None:
    body = "@import 'a.css'; @font-face { src: url(/f.woff) } p { x: url(../i\u00e4.png), url(self.css#x) }"
    sheet = page_parser.parse_css(body.encode("latin-1"), "http://h/s/self.css", resolver=Resolver(),
                            content_type="text/css; charset=latin1")  # fmt: skip
    assert [(link.kind, link.url) for link in sheet.resources] == [
        ("style", "http://h/s/a.css"),
        ("font", "http://h/f.woff"),
        ("image", "http://h/i%C3%A4.png"),
    ]
    assert (sheet.links, sheet.title, sheet.encoding, sheet.links_cut) == ((), "", "windows-1252", False)
    with pytest.raises(ValueError, match="not an http"):
        page_parser.parse_css(b"", "ftp://h/", resolver=Resolver())


def test_a_style_sheet_has_a_limit_of_references() -> None:
    body = b"".join(b"url(%x)" % number for number in range(page_parser.MAX_LINKS + 1))
    sheet = page_parser.parse_css(body, "http://h/", resolver=Resolver())
    assert (len(sheet.resources), sheet.links_cut) == (page_parser.MAX_LINKS, True)


@pytest.mark.parametrize(
    ("srcset", "names"),
    [
        ("a.png", ["a.png"]),
        (" ,, a.png 1x ,b.png 2x", ["a.png", "b.png"]),
        ("a.png,b.png", ["a.png,b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("a(1,2).png 1x (x,y), b.png", ["a(1,2).png", "b.png"]),
        ("a.png 1x (x, b.png", ["a.png"]),
        (",", []),
    ],
)
def test_srcset(srcset: str, names: list[str]) -> None:
    links = parsed(f'<img srcset="{srcset}">', resources=True).resources
    assert [link.url.rpartition("/")[2] for link in links] == names


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "title"),
    [
        ("<title>\u00e9</title>".encode(), "text/html; charset=utf-8", "UTF-8", "\u00e9"),
        ("<title>\u00e9</title>".encode("latin-1"), 'text/html;charset="ISO-8859-1"', "windows-1252", "\u00e9"),
        ("<meta charset=koi8-r><title>\u00e9</title>".encode(), "text/html; charset=utf-8", "UTF-8", "\u00e9"),
        ("<meta charset=koi8-r><title>\u0436</title>".encode("koi8-r"), "text/html", "KOI8-R", "\u0436"),
        ("<title>\u00e9</title>".encode(), "text/html; charset=bogus", "UTF-8", "\u00e9"),
        ("<title>\u00e9</title>".encode(), "text/html; charset=", "UTF-8", "\u00e9"),
        ("<title>\u00e9</title>".encode("utf-16"), None, "UTF-16LE", "\u00e9"),
        (b"<title>\xc3\xa9\xff</title>", "text/html; charset=utf-8", "UTF-8", "\u00e9\ufffd"),
    ],
)
def test_encoding(body: bytes, content_type: str | None, encoding: str, title: str) -> None:
    page = parsed(body, content_type=content_type)
    assert (page.encoding, page.title) == (encoding, title)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" * 1_000,
        b"\0<a href='a\0b'>\0",
        b"\xff\xfe",
        b"<",
        b"<a href=",
        b"x" * 1_500_000,
        b"<div>" * 50_000,
        b"<a href=x>" * 20_000,
        b"<template>" * 20_000,
        b"<template shadowrootmode=open>" * 20_000,
        b"<svg><title>" * 20_000,
        b"<table><b><p>" * 5_000,
        b"<a href='" + b"a/" * 500_000,
        b"<meta http-equiv=refresh content='1" + b" " * 300_000,
        b"<img srcset='" + b"a 1x (," * 100_000,
    ],
    ids=lambda body: repr(body[:24]),
)
def test_hostile_bytes_are_a_page(body: bytes) -> None:
    assert len(parsed(body, resources=True).links) <= 1


def test_a_page_with_too_many_links_is_cut_and_says_so() -> None:
    anchors = [f"<a href=/p/{number}>" for number in range(page_parser.MAX_LINKS)]
    whole = parsed("".join(anchors))
    cut = parsed("".join([*anchors, "<a href=/p/1>", "<a href=/one/too/many>"]))
    assert len(whole.links) == len(cut.links) == page_parser.MAX_LINKS
    assert whole.links == cut.links
    assert (whole.links_cut, cut.links_cut) == (False, True)


def test_a_page_with_long_links_is_cut_and_says_so() -> None:
    """A short page with a long base would take gigabytes."""
    anchors = "".join(f"<a href=x{number}>" for number in range(20_000))
    cut = parsed(f"<base href='/{'a/' * 3_000}'>{anchors}")
    characters = [len(link.url) for link in cut.links]
    assert page_parser.MAX_LINK_CHARACTERS - max(characters) < sum(characters) <= page_parser.MAX_LINK_CHARACTERS
    assert cut.links_cut
    assert cut.links[0].url.endswith("a/x0")


@pytest.mark.alone
@pytest.mark.parametrize("anchor", ["<a rel=nofollow href=%d>", "<a rel=nofollow href=%d><a href=%d>"])
def test_a_hundred_thousand_nofollow_links_are_read_in_a_moment(anchor: str) -> None:
    html = "".join(anchor.replace("%d", str(number)) for number in range(100_000))
    page = parsed(html)
    assert_linear(parsed, part(html), html)
    assert len(page.links) == page_parser.MAX_LINKS
    assert {link.nofollow for link in page.links} == {anchor.count("%d") == 1}


def test_of_endless_lists_of_words_the_first_are_read() -> None:
    many = "word " * 200_000
    assert parsed(f"<title>\n{many}</title>").title == many[:1_000]
    assert [link.nofollow for link in parsed(f"<a href=x rel='nofollow {many}'>").links] == [True]
    directives = parsed(f"<meta name=robots content='noindex,{many.replace(' ', ',')}'>").directives
    assert (directives.noindex or "").startswith("meta robots: noindex,word")
    assert directives.nofollow is None


def test_keys_follow_the_rules_of_the_project() -> None:
    resolver = Resolver(UrlRules(keep_params=("id",)))
    page = page_parser.parse(b"<a href='?id=1&x=2'>", PAGE, resolver=resolver)
    assert page.links == (Link("http://h/dir/page.html?id=1", "http://h/dir/page.html?id=1&x=2", "a", False),)


def test_one_dom_serves_more_than_one_reader() -> None:
    document = page_parser.dom(b"<title>t</title><a href=x>")
    before = document.markup()
    first = page_parser.read(document, PAGE, resolver=Resolver())
    assert page_parser.read(document, PAGE, resolver=Resolver()) == first
    assert document.markup() == before


def test_a_page_that_is_not_http_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="ftp://h/"):
        parsed("", "ftp://h/")


@examples
@given(st.lists(st.sampled_from(SOUP)).map("".join))
def test_any_soup_gives_the_same_answer_twice(html: str) -> None:
    resolver = Resolver()
    first = page_parser.parse(html.encode(), PAGE, resolver=resolver, resources=True)
    assert page_parser.parse(html.encode(), PAGE, resolver=resolver, resources=True) == first


FRAGMENTS = [
    "<a href='x'>", "<a href='x#f'>", "<a href='y #f'>", "<a href=' z'>", "<a href='w\t#f'>",
    "<a href='' rel=next>", "<a rel='x NoFollow' href='n'>", "<a href='n'>", "<iframe src='i'></iframe>",
    "<area href='r'>", "<svg><a href='s'>", "<template><a href='t'></a></template>",
    "<link rel=next href='l'>", "<meta http-equiv=refresh content='0;url=m'>", "<base href='/b/'>",
    "<title>T</title>", "<p>", "</p>", "<table>", "<noscript><a href='q'></a></noscript>", "</a>",
    "<link rel=canonical href='c'>", "<meta name=robots content=nofollow>", "<body>", "</head>",
    "<svg><title>S</title>",
]  # fmt: skip


def hrefs(document: turbohtml.Document) -> set[str]:
    """The hrefs of all `<a>` that are in no template, as the parser of HTML has them."""
    found = (link.attr("href") for link in document.select("a[href]") if link.closest("template") is None)
    return {href if href is None or re.search(r"\s#", href) else href.partition("#")[0] for href in found}


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12))
def test_the_links_are_those_of_the_parser(fragments: list[str]) -> None:
    html = "".join(fragments)
    kinds = page_facts.read(page_parser.dom(html), EVERYONE).references.kinds
    assert {href for href, kind in kinds.items() if kind == "a"} == hrefs(turbohtml.parse(html))

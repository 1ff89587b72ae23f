"""HTML becomes the tree that a browser makes of it; any bytes become one."""

from __future__ import annotations

import re

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import TIMES, assert_linear
from orbweb.parsing.html.tokenizer import MAX_DEPTH, is_utf8, parsed

TAGS = [
    *("a", "b", "i", "em", "font", "nobr", "p", "div", "span", "table", "tbody", "thead", "tfoot", "tr", "td"),
    *("th", "caption", "colgroup", "col", "ul", "ol", "li", "dl", "dt", "dd", "h1", "h2", "form", "input"),
    *("button", "select", "option", "optgroup", "hr", "br", "pre", "textarea", "script", "style", "title"),
    *("template", "svg", "math", "mi", "mo", "annotation-xml", "foreignobject", "desc", "mglyph", "malignmark"),
    *("head", "body", "frameset", "frame", "noframes", "iframe", "object", "applet", "marquee", "image", "img"),
    *("xmp", "ruby", "rb", "rt", "rtc", "rp", "address", "article", "section", "main", "nav", "details"),
    *("summary", "center", "listing", "keygen", "wbr", "base", "meta", "link", "embed", "area", "x-foo"),
    *("search", "dialog", "menu", "menuitem", "big", "code", "s", "u", "tt", "strike", "small", "noembed"),
    *("fieldset", "blockquote"),
]
ATTRIBUTES = (
    *("", " a=1", ' class="x y"', " type=hidden", ' encoding="text/html"', " color=red", "/", " x=/", " disabled"),
    *(' href="?a&amp;b&copy=1&lt;"', " viewbox=1 definitionurl=2", "  b='&notit;' A=2 a=3", " =x", ' "'),
)
TEXTS = (
    *(
        "x",
        " ",
        "\n",
        "y z",
        "&amp;",
        "&lt",
        "&notin;",
        "&#128;",
        "&#x41",
        "<",
        "</>",
        "</ x>",
        "<!-- c -->",
        "<!--->",
    ),
    *("<!-->", "<?php ?>", "<![CDATA[q]]>", "&", "&#;", "&bogus;", "--!>", "\xe9", "a\0b", "\r\n", "\r", "&#0;"),
)
DOCTYPES = ("", "<!doctype html>", '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">')
DIFFERENT = re.compile(
    r"</head>.*<head|<template.*<frameset|<(?:pre|listing)[^>]*>(?:\r\n?|\n)",
    re.DOTALL,
).search
"""Where turbohtml differs from the standard."""


def markup(html: str) -> str:
    return parsed(html.encode("utf-8", "surrogatepass"), "UTF-8").markup()


def body(html: str) -> str:
    found = re.fullmatch("<html><head></head><body>(.*)</body></html>", markup(html), re.DOTALL)
    assert found is not None, markup(html)
    return found[1]


def reference(html: str) -> str:
    """The same by turbohtml, without comments and doctype."""
    document = turbohtml.parse(html, positions=False, allow_declarative_shadow_roots=False)
    for node in list(turbohtml.NodeIterator(document, 64 | 128 | 512)):
        node.extract()
    return document.html


def tag(name: str, attributes: str, *, closes: bool) -> str:
    return f"</{name}>" if closes else f"<{name}{attributes}>"


@st.composite
def soups(draw: st.DrawFn) -> str:
    """Tags of a few kinds in any order, with texts between them."""
    names = st.sampled_from(draw(st.lists(st.sampled_from(TAGS), min_size=1, max_size=8)))
    tags = st.builds(tag, names, st.sampled_from(ATTRIBUTES), closes=st.booleans())
    parts = draw(st.lists(st.one_of(tags, tags, st.sampled_from(TEXTS)), max_size=25))
    return draw(st.sampled_from(DOCTYPES)) + "".join(parts)


@settings(max_examples=3_000, deadline=None, derandomize=True, database=None)
@given(soups())
def test_the_tree_is_that_of_another_parser(html: str) -> None:
    if not DIFFERENT(html):
        assert markup(html) == reference(html)


@pytest.mark.parametrize(
    ("html", "tree"),
    [
        ("<b><p>x</b>y</p>z", "<b></b><p><b>x</b>y</p>z"),
        ("<a>1<p>2<a>3</a>4", "<a>1</a><p><a>2</a><a>3</a>4</p>"),
        ("<table>x<tr><td>y</table>z", "x<table><tbody><tr><td>y</td></tr></tbody></table>z"),
        ("<p><table><td>x", "<p><table><tbody><tr><td>x</td></tr></tbody></table></p>"),
        ("<!doctype html><p><table>", "<p></p><table></table>"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"),
        ("<svg><foreignobject><p>x</p></svg>y", "<svg><foreignObject><p>x</p></foreignObject></svg>y"),
        ("<math><mi>x<p>y</math>z", "<math><mi>x<p>yz</p></mi></math>"),
        ("<pre>\n\nx</pre>", "<pre>\n\nx</pre>"),
        ("<pre>\nx</pre>", "<pre>x</pre>"),
        ("a<!-- b -->c", "ac"),
        ("<textarea><p>&amp;</textarea>x", "<textarea>&lt;p&gt;&amp;</textarea>x"),
        ("<select><option>a<option>b<select>c", "<select><option>a</option><option>b</option></select>c"),
        ("<select><div>x</div><input>y", "<select><div>x</div></select><input>y"),
        ("</br></p>x", "<br><p></p>x"),
        ("<image src=x>", '<img src="x">'),
        ("&notit; &notin; &AMP &#x80; &#xD800; &bogus;", "\xacit; \u2209 &amp; \u20ac \ufffd &amp;bogus;"),
        ('<a href="?a&copy=1&copy;&lt">', '<a href="?a&amp;copy=1\xa9&lt;"></a>'),
        ("x" + "<div>" * 3 + "</x></div>y", "x<div><div><div></div>y</div></div>"),
    ],
)
def test_a_tree_is_as_the_standard_has_it(html: str, tree: str) -> None:
    assert body(html) == tree


@pytest.mark.parametrize(
    ("html", "tree"),
    [
        ("", "<html><head></head><body></body></html>"),
        ("<title>t</title>x", "<html><head><title>t</title></head><body>x</body></html>"),
        ("</head><head><meta>", "<html><head><meta></head><body></body></html>"),
        ("<noscript> <link>x", "<html><head><noscript> <link></noscript></head><body>x</body></html>"),
        ("<frameset><html a=1>", '<html a="1"><head></head><frameset></frameset></html>'),
        ("<body a=1>x<body b=2 a=3>", '<html><head></head><body a="1" b="2">x</body></html>'),
        ("<template><tr><td>x", "<html><head><template><tr><td>x</td></tr></template></head><body></body></html>"),
        (
            "<script><!--<script></script>--></script>x",
            "<html><head><script><!--<script></script>--></script></head><body>x</body></html>",
        ),
    ],
)
def test_a_page_has_its_frame(html: str, tree: str) -> None:
    assert markup(html) == tree


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(st.text() | st.binary().map(lambda some: some.decode("utf-8", "surrogateescape")))
def test_any_text_is_a_page(html: str) -> None:
    assert markup(html).endswith("</html>")


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_utf_8_is_known(some: bytes) -> None:
    try:
        some.decode()
    except UnicodeDecodeError:
        assert not is_utf8(some)
    else:
        assert is_utf8(some)


HOSTILE = {
    **{
        name: lambda size, name=name: f"<{name}>" * size
        for name in ("div", "b", "a", "p", "table", "svg", "li", "template", "select", "object", "table><td")
    },
    "fonts": lambda size: "".join(f"<font a={number}>" for number in range(size // 2)),
    "fonts again": lambda size: "".join(f"<font a={number}>" for number in range(2_000)) + "<p>x" * (size // 100),
    "ends of nothing": lambda size: "<div>" * 900 + "</x>" * size,
    "misnested": lambda size: "<i><b><div></i>" * (size // 4),
    "beside a table": lambda size: "<table>" + "<b>x" * (size // 2),
    "attributes": lambda size: "<a " + " ".join(f"a{number}" for number in range(size // 2)) + ">",
    "scripts": lambda size: "<script><!--<script>" * (size // 2),
    "comments": lambda size: "<!--" * size,
    "ampersands": lambda size: "&" * (5 * size),
}


@pytest.mark.alone
@pytest.mark.parametrize("kind", HOSTILE)
def test_the_time_of_a_hostile_page_is_in_proportion_to_its_size(kind: str) -> None:
    small, large = (HOSTILE[kind](size).encode() for size in (200_000 // TIMES, 200_000))
    assert_linear(lambda body: parsed(body, "UTF-8"), small, large)


def test_what_is_too_deep_stands_side_by_side() -> None:
    tree = markup("<div>" * (2 * MAX_DEPTH) + "x")
    inner = tree.partition("x")[0]
    assert inner.count("<div>") == 2 * MAX_DEPTH
    assert inner.count("<div>") - inner.count("</div>") <= MAX_DEPTH

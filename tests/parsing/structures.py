"""Markup of any size whose structure is hostile: nesting, repetition, attributes, tables, lists, formatting.

Each structure makes markup of about N bytes; twice the bytes are the same structure twice as large. The
random ones are drawn from pieces, by a generator of random numbers that the caller seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Structure = Callable[[int], str]


def repeated(piece: str, *, before: str = "", most: int = 10**9) -> Structure:
    """A piece again and again, up to `most` bytes; `#` in it counts."""

    def made(size: int) -> str:
        found, length, number = [before], len(before), 0
        while length < min(size, most):
            found.append(piece.replace("#", str(number)))
            length += len(found[-1])
            number += 1
        return "".join(found)

    return made


def halves(first: Structure, second: Structure) -> Structure:
    return lambda size: first(size // 2) + second(size // 2)


def attributes(name: str, more: str = "") -> Structure:
    """A tag with as many attributes as fit."""
    return lambda size: repeated("a# ", before=f"<{name} ")(size) + more + ">"


def shuffled(count: int) -> Structure:
    """Formatting with the same many attributes, forwards and backwards."""

    def made(size: int) -> str:
        names = [f"a{number}" for number in range(size // count // 7)]
        return "".join(f"<b {' '.join(names[:: 1 - 2 * (turn % 2)])}>" for turn in range(count))

    return made


STRUCTURES: dict[str, Structure] = {
    "formatting with many attributes": repeated(f"<font {' '.join(f'a{number}=#' for number in range(50))}>"),
    "formatting with attributes that say nothing": repeated(
        f"<b {' '.join(f'a{number}' for number in range(300))} b#>"
    ),
    "formatting with attributes in another order": shuffled(8),
    "formatting, each another": repeated("<b a=#>"),
    "formatting in paragraphs": repeated("<p><font a=#>"),
    "formatting in paragraphs of an object": repeated("<p><font a=#>", before="<object>"),
    "formatting that is never closed": halves(repeated("<b a=#>", most=8_000), repeated("<p>x")),
    "equal formatting that is never closed": repeated("<p>x", before="<main>" + "<b>" * 997),
    "one formatting element with all attributes": halves(attributes("b"), repeated("<p>x")),
    "html again": repeated("<html a#=1>"),
    "body again": repeated("<body a#=1>", before="<body>"),
    "adoption": repeated("<i><b><div></i>"),
    "adoption of many": repeated("<a><b><i><u><s><p></a></b></i></u></s>"),
    "adoption of all attributes": halves(attributes("b"), repeated("<div>" * 8 + "</b>" + "</div>" * 8 + "x")),
    "links around blocks": repeated("<a href=#><div>"),
    "links in paragraphs": repeated("<a href=#><p>x"),
    "unbroken text around blocks": repeated("<nobr><div>"),
    "forms": repeated("<form><div></form>"),
    "text in a table": repeated("<tr a=#>x", before="<table>"),
    "text between cells": repeated("x<td></td>", before="<table>"),
    "formatting in a table": repeated("<b>x", before="<table>"),
    "tables": repeated("<table>x"),
    "tables in cells": repeated("<table><td>x"),
    "tables and what they do not hold": repeated("<table><a><div>"),
    "tables that end": halves(repeated("<table><tr>x<td>"), repeated("</table>y")),
    "columns": repeated("<col><colgroup>x", before="<table>"),
    "captions": repeated("<table><caption><b>x"),
    "markers that stay": halves(
        repeated("<template><tr><td></template>"), repeated("<b><b><b><b></b></b></b></b>")
    ),
    "templates": repeated("<template>x"),
    "lists": repeated("<ul><li><b>x"),
    "items far down": repeated("<li></li>", before="<div>" * 900),
    "terms": repeated("<dl><dt>x<dd>y"),
    "rubies": repeated("<ruby><rt>x<rb>"),
    "headings": repeated("<h1><h2>"),
    "buttons": repeated("<p><button>"),
    "objects": repeated("<object><b>x"),
    "choices": repeated("<select><option>x"),
    "choices that show themselves": repeated("<select><selectedcontent></selectedcontent><option><object>x"),
    "ends of nothing": repeated("</x>", before="<div>" * 900),
    "ends of nothing in a picture": halves(repeated("<svg><g>", most=8_000), repeated("</x>")),
    "pictures with text": repeated("<svg><foreignObject><p>x"),
    "formulas with text": repeated("<math><mi><p>x"),
    "a formula that is HTML": halves(
        lambda size: "<math>" + attributes("annotation-xml", "encoding=text/html")(size), repeated("<i></i>")
    ),
    "attributes": attributes("a"),
    "one attribute": repeated("a=1 ", before="<a "),
    "names": repeated("<x#>"),
    "framesets": repeated("<frameset> x<frame>"),
    "comments": repeated("<!--x-->y"),
    "comments that do not end": repeated("<!--"),
    "scripts in comments": repeated("<script><!--<script>"),
    "raw texts": repeated("<title>x</title><textarea>\ny</textarea>"),
    "NULs": repeated("\0x<svg>\0</svg><br>"),
    "named characters": repeated("&amp;&notit;&#10;&CounterClockwiseContourIntegral;&bogus"),
    "signs": repeated("<&</"),
}

_TAGS = (
    *("a", "b", "i", "font", "nobr", "p", "div", "span", "h1", "ul", "li", "dl", "dt", "dd", "pre", "blockquote"),
    *("table", "tbody", "tr", "td", "th", "caption", "colgroup", "col", "form", "button", "select", "option"),
    *(
        "selectedcontent",
        "object",
        "marquee",
        "template",
        "svg",
        "g",
        "foreignObject",
        "desc",
        "math",
        "mi",
        "html",
    ),
    *("annotation-xml", "ruby", "rt", "title", "textarea", "script", "style", "plaintext", "frameset", "body"),
    *("head", "details", "summary", "img", "br", "hr", "input", "main", "nav", "article", "code", "a href=/#"),
)
_ATTRIBUTES = ("", "", "", "", " a", " a=#", " a#=1", " class='x y#' id=#", " encoding=text/html", " href=#", "/")
_TEXTS = ("x", " ", "\n", "&amp;", "<!--c-->", "\0", "long text with words ", "&#10;", "<![CDATA[d]]>", "\u00e9")


def drawn(random: Random) -> Structure:
    """A random structure: a beginning, and pieces of tags, end tags and texts that are repeated."""
    before = _piece(random, random.randint(0, 4)) * random.choice((0, 1, 1, 30, 300))
    first, second = (repeated(_piece(random, random.randint(1, 6))) for _ in range(2))
    body = first if random.random() < 0.5 else halves(first, second)
    return lambda size: before + body(max(size - len(before), 1))


def _piece(random: Random, parts: int) -> str:
    found = []
    for _ in range(parts):
        tag = random.choice(_TAGS)
        kind = random.random()
        if kind < 0.6:
            found.append(f"<{tag}{random.choice(_ATTRIBUTES)}>")
        elif kind < 0.8:
            found.append(f"</{tag}>")
        else:
            found.append(random.choice(_TEXTS))
    return "".join(found) or "x"

"""Elements by CSS selector and by XPath, as programs read fields from pages."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from effort import TIMES, assert_linear
from orbweb.errors import TooComplex, UsageError
from orbweb.parsing.elements import Element, parse
from orbweb.parsing.page import MAX_BYTES, MAX_NODES

SHOP = parse("""<!doctype html><title>Shop</title>
<script type="application/ld+json">{"name": "Two  blanks"}</script>
<ul id=wares><li class="ware new" data-id=1><a href="/one?a=1&amp;b=2">One  <b>big</b>
 ware</a> <i>12.50</i><li class=ware data-id=2><a href=/two>Two</a> <i>7</i></ul>
<table><tr><th>size<td>L</table><noscript><img src=a.png></noscript><!-- stock: 3 -->""")


def one(css: str) -> Element:
    found = SHOP.select_one(css)
    assert found is not None
    return found


def test_fields_of_a_page() -> None:
    wares = [
        (ware.get("data-id"), ware.select("a")[0].text, ware.select("i")[0].text) for ware in SHOP.select(".ware")
    ]
    assert wares == [("1", "One big ware", "12.50"), ("2", "Two", "7")]


@pytest.mark.parametrize(
    ("css", "tags"),
    [
        ("ul > li.new", ["li"]),
        ("li:nth-child(2) a, li:first-of-type i", ["i", "a"]),
        ("li:not(.new) a[href$=two]", ["a"]),
        ("ul:has(i)", ["ul"]),
        ("[data-id='2'] ~ *, th + td", ["td"]),
        ("noscript img", ["img"]),
        ("html", ["html"]),
        ("video", []),
    ],
)
def test_selectors(css: str, tags: list[str]) -> None:
    assert [element.tag for element in SHOP.select(css)] == tags
    assert (SHOP.select_one(css) is None) == (not tags)


def test_an_element() -> None:
    link = one("a")
    assert (link.tag, link.text) == ("a", "One big ware")
    assert link.html.startswith('<a href="/one?a=1&amp;b=2">One')
    assert (link.get("href"), link.get("title"), link.get("title", "none")) == ("/one?a=1&b=2", None, "none")
    assert one("li").attributes == {"class": "ware new", "data-id": "1"}
    assert repr(link) == "<Element a {'href': '/one?a=1&b=2'}>"
    assert link == SHOP.select("a")[0] != SHOP.select("a")[1]
    with pytest.raises(FrozenInstanceError):
        link.tag = "b"  # type: ignore[misc]


def test_words_of_different_blocks_do_not_run_together() -> None:
    assert one("table").text == one("tbody").text == one("tr").text == "size L"
    assert one("ul").text == "One big ware 12.50\nTwo 7"
    assert parse("<div><p>a<p>b<br>c<pre>d\n  e</pre></div>").select("div")[0].text == "a\nb\nc\nd\n  e"


def test_the_text_of_a_script_is_unchanged() -> None:
    assert json.loads(one("script[type*=json]").text) == {"name": "Two  blanks"}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("//a/@href", ["/one?a=1&b=2", "/two"]),
        ("//li[@data-id=2]/a/text()", ["Two"]),
        ("count(//li)", [2.0]),
        ("string(//title)", ["Shop"]),
        ("//li[3]", []),
        ("boolean(//ul)", [True]),
        ("//comment()", [" stock: 3 "]),
    ],
)
def test_xpath(expression: str, found: list[str | float | bool]) -> None:
    assert SHOP.xpath(expression) == found


def test_elements_by_xpath_are_those_by_selector() -> None:
    assert SHOP.xpath("//li[contains(@class, 'new')]") == SHOP.select("li.new")
    assert one("li.new").xpath("./a/b") == SHOP.select("li b")
    assert SHOP.xpath("//li[@data-id=$id]//i", id="2") == SHOP.select("[data-id='2'] i")


@pytest.mark.parametrize("css", ["", "li[", "li:frob", "a,,b"])
def test_a_bad_selector_is_named(css: str) -> None:
    for select in (SHOP.select, SHOP.select_one, one("ul").select):
        with pytest.raises(UsageError, match="not a valid CSS selector: ") as caught:
            select(css)
        assert repr(css) in str(caught.value)


def test_pseudo_elements_of_scrapy_are_explained() -> None:
    with pytest.raises(UsageError, match=r"in place of ::text use \.text"):
        SHOP.select("a::text")


@pytest.mark.parametrize(
    "expression", ["", "//li[", "frob()", "$x", "document('/etc/passwd')", "re:test('a', '(')"]
)
def test_a_bad_expression_is_named(expression: str) -> None:
    with pytest.raises(UsageError, match="not a valid XPath expression: ") as caught:
        SHOP.xpath(expression)
    assert repr(expression) in str(caught.value)


def test_nested_expressions_are_refused_rather_than_exhaust_the_stack() -> None:
    for expression in ("(" * 100_000, "-" * 100_000 + "1", "not(" * 50_000):
        with pytest.raises(UsageError, match="nested too deeply"):
            SHOP.xpath(expression)
    for css in ("a" + ":not(" * 100_000, ":is(" * 100_000):
        with pytest.raises(UsageError, match="not a valid CSS selector"):
            SHOP.select(css)


def test_bytes_are_decoded_as_in_a_crawl() -> None:
    said = "<meta charset=windows-1251><p>да".encode("windows-1251")
    assert parse(said).select("p")[0].text == "да"
    assert parse("<p>é".encode("latin-1"), "text/html; charset=latin1").select("p")[0].text == "é"


def test_entities_of_a_document_are_not_expanded() -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><p>&a;&b;'
    assert parse(bomb).select("p")[0].text == "&a;&b;"


@pytest.mark.parametrize("html", ["x" * (MAX_BYTES + 1), "<p>x" * (MAX_NODES // 2 + 1)], ids=["size", "elements"])
def test_pages_are_bounded_as_in_a_crawl(html: str) -> None:
    with pytest.raises(TooComplex):
        parse(html)


DEEP = {
    "blocks": "<div class=a>",
    "formatting": "<b>",
    "lists": "<ul><li>",
    "cells": "<table><tr><td>",
    "siblings": "<p>x</p>",
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.alone
def test_hostile_pages_take_time_in_proportion(kind: str) -> None:
    def read(html: str) -> None:
        page = parse(html)
        assert page.select(".b div, div:has(video), p:nth-child(2n) b, video ~ p") == []
        assert page.xpath("//div//video") == []
        page.select("body")[0].text, page.select("body")[0].html

    assert_linear(read, DEEP[kind] * 4_000, DEEP[kind] * 4_000 * TIMES)


def test_parsing_pages_of_a_crawl_does_not_load_the_selectors() -> None:
    loaded = "import orbweb.engine.workers.page, sys; print('orbweb.parsing.elements' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True) == "False\n"

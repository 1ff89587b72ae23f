"""Options of `extract`: links, images, the title, and content by selectors."""

from __future__ import annotations

from pathlib import Path

import pytest

import orbweb
from effort import TIMES, assert_linear
from examples import run_examples
from extraction.reading import URL, read
from orbweb.cli import demo
from orbweb.errors import TooComplex, UsageError
from orbweb.parsing.page import MAX_BYTES

PAGE = """<title>Guide | Docs</title><nav><a href=/n>Index</a></nav><main><h1>Guide</h1>
<p>See <a href=b>the <b>next</b> page</a>, <a href=c><img src=i.png alt=logo></a> <img src=j.png alt=plot>.</p>
<h2>Install <a class=headerlink href=#s>¶</a></h2><p class=ad>Buy</p><p hidden>Unseen</p>
<ol><li class=x>one<li>two<li class=x>three</ol><table><tr class=r><th>a<th>b<tr class=r><td>1<td>2</table>
<pre><code>[x](y) ![z](w)</code></pre><a href=https://e.example/>https://e.example/</a></main><aside>More</aside>"""


def markdown(html: str = PAGE, **options: bool | str | list[str]) -> str:
    return orbweb.extract(html, URL, **options).markdown  # type: ignore[arg-type]


def test_by_default_nothing_is_left_out() -> None:
    plain = orbweb.extract(PAGE, URL)
    assert plain == orbweb.extract(PAGE, URL, links=True, images=True, title=True, keep=[], drop=())
    assert "![plot](https://docs.example/guide/j.png)" in plain.markdown


def test_links_become_their_text() -> None:
    document = orbweb.extract(PAGE, URL, links=False)
    seen = read(document.markdown)
    assert seen.links == []
    assert "See the **next** page, ![logo](https://docs.example/guide/i.png)" in document.markdown
    assert "\nhttps://e.example/" in document.markdown
    assert "[x](y) ![z](w)" in document.markdown
    assert document.text == orbweb.extract(PAGE, URL).text
    assert seen.headings == [(1, "Guide"), (2, "Install")]


def test_images_are_left_out_with_links_around_them() -> None:
    written = markdown(images=False)
    assert ".png" not in written
    assert "guide/c" not in written
    assert "See [the **next** page](https://docs.example/guide/b), ." in written


def test_formulas_and_emoji_are_not_images() -> None:
    said = "<p><img class=emoji alt=🎉 src=e.png> <img class=mwe-math-fallback-image-inline src=f.svg alt='x^2'>"
    assert markdown(said, images=False) == markdown(said) == "🎉 $x^2$"


@pytest.mark.parametrize(
    ("html", "left"),
    [
        (PAGE, [(2, "Install")]),
        ("<title>Guide - Docs</title><main><h2>Guide</h2><p>text<h2>More</h2>", [(2, "More")]),
        ("<title>Guide</title><main><h1>One</h1><p>text<h1>Two</h1>", [(1, "One"), (1, "Two")]),
        ("<title>Guide</title><main><h1>Guide</h1><p>text<h1>Two</h1>", [(1, "Two")]),
        ("<title>Guide</title><header><h1>Guide</h1></header><main><p>text</main>", []),
        ("<main><h2>First</h2><p>text", [(2, "First")]),
        ("<main><h1>Only</h1><p>text", []),
        ("<p>text", []),
    ],
)
def test_the_heading_that_repeats_the_title_is_left_out(html: str, left: list[tuple[int, str]]) -> None:
    document = orbweb.extract(html, URL, title=False)
    assert [(heading.level, heading.text) for heading in document.headings] == left
    assert read(document.markdown).headings == left
    assert document.title == orbweb.extract(html, URL).title


def test_what_matches_drop_is_removed() -> None:
    document = orbweb.extract(PAGE, URL, drop=[".ad", "ol, table"])
    assert "Buy" not in document.markdown
    assert "one" not in document.text
    assert read(document.markdown).rows == []
    assert document.title == "Guide"


@pytest.mark.parametrize(
    ("keep", "written"),
    [
        ("h2, .ad", "## Install\n\nBuy"),
        (["aside", "nav"], "[Index](https://docs.example/n)\n\nMore"),
        ("li.x", "1. one\n2. three"),
        ("tr.r", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("td", "1\n\n2"),
        ("main b", "**next**"),
        ("main :is(p, b).ad", "Buy"),
        ("[hidden]", ""),
        ("video", ""),
    ],
)
def test_the_content_is_what_matches_keep(keep: str | list[str], written: str) -> None:
    document = orbweb.extract(PAGE, URL, keep=keep)
    assert document.markdown == written
    assert document.confidence == (1.0 if written else 0.0)
    assert document.title == "Guide"


def test_a_part_inside_of_another_is_there_once() -> None:
    assert markdown("<div class=a>x<div class=a>y</div></div>", keep=".a") == "x\n\ny"
    assert markdown("<div class=a>x<div class=b>y</div></div>", keep=".a", drop=".b") == "x"
    assert markdown(PAGE, keep="html").count("Install") == 1


def test_nothing_is_left_of_a_page_that_is_dropped() -> None:
    for selector in ("html", "body", "*"):
        assert markdown(drop=selector) == ""
    assert markdown(keep="main", drop="main") == ""


@pytest.mark.parametrize("option", ["keep", "drop"])
@pytest.mark.parametrize("selector", ["", "li[", "a:hover", "p::text", "a,,b"])
def test_a_selector_that_is_not_supported_is_named(option: str, selector: str) -> None:
    with pytest.raises(UsageError, match=f"^{option}: not a known selector: ") as caught:
        markdown(**{option: ["main", selector]})
    assert repr(selector) in str(caught.value)


def test_a_selector_is_a_text() -> None:
    with pytest.raises(UsageError, match="keep: 5 is not a CSS selector"):
        orbweb.extract(PAGE, URL, keep=[5])  # type: ignore[list-item]


def test_bounds_hold_with_options() -> None:
    with pytest.raises(TooComplex):
        markdown("x" * (MAX_BYTES + 1), keep="main")


HOSTILE = {
    "nested parts": lambda size: "<div class=a>x" * size,
    "many parts": lambda size: "<p class=a>x</p>" * size,
    "images in one link": lambda size: "<a href=x>" + "<img src=i.png><i></i>" * size,
    "links far down": lambda size: "<div>" * size + "<a href=x><img src=y></a>" * size,
    "rows": lambda size: "<table>" + "<tr class=a><td>x" * size,
    "headings": lambda size: "<title>x</title>" + "<h1>y</h1>" * size,
}


@pytest.mark.alone
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_pages_take_time_in_proportion(kind: str) -> None:
    def extract(html: str) -> None:
        for options in ({"keep": ".a, div i, p:has(b)"}, {"drop": ".a > .b, i ~ i", "images": False}):
            markdown(html, **options, title=False, links=False)  # type: ignore[arg-type]

    assert_linear(extract, HOSTILE[kind](4_000), HOSTILE[kind](4_000 * TIMES))


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with demo.serve() as url:
        assert run_examples("extract.md", url) > 8

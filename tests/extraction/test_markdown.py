"""What the generators of documentation write besides code, in small, and the Markdown that it becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from extraction.reading import URL, markdown_of, page_of, read, rendered, text_of
from orbweb.extraction import extract
from orbweb.model import Heading


def conventions() -> dict[str, tuple[str, str]]:
    """Name -> markup and Markdown; `=== name` begins each, `---` stands between the two."""
    found = {}
    for part in (Path(__file__).parent / "pages" / "markdown.txt").read_text().split("=== ")[1:]:
        name, _, rest = part.partition("\n")
        markup, _, written = rest.partition("\n-->\n")
        found[name.strip()] = (markup, written.strip("\n"))
    return found


@pytest.mark.parametrize(("markup", "written"), conventions().values(), ids=conventions().keys())
def test_what_generators_write(markup: str, written: str) -> None:
    assert markdown_of(markup) == written


def test_links_are_resolved_against_the_base_of_the_page() -> None:
    page = "<head><base href='/other/'></head><body><main><a href='x.html'>y</a></main>"
    assert extract(page, URL).markdown == "[y](https://docs.example/other/x.html)"


@pytest.mark.parametrize(
    "base",
    ["javascript:x", "data:,", "/" + "x" * 5_000, "http://[x", "//["],
    ids=["script", "data", "too long", "no host", "half a host"],
)
def test_a_base_that_is_no_place_does_not_count(base: str) -> None:
    page = f"<base href='{base}'><main><a href='x.html'>y</a></main>"
    assert extract(page, URL).markdown == "[y](https://docs.example/guide/x.html)"


@pytest.mark.parametrize("bad", ["//[", "//a[b/"])
def test_a_reference_that_is_no_url_stays_and_spoils_no_other(bad: str) -> None:
    written = markdown_of(
        f"<p><a href='a'>1</a> <a href='{bad}'>2</a> <img src='{bad}' alt=3> <a href='b'>4</a></p>"
    )
    assert "[1](https://docs.example/guide/a)" in written
    assert "[4](https://docs.example/guide/b)" in written


@pytest.mark.parametrize(
    ("markup", "written"),
    [
        ("Das ist <b>sch\xf6n</b> und <i>gr\xf6\xdfer</i>.", "Das ist **sch\xf6n** und *gr\xf6\xdfer*."),
        ("\u8fd9\u662f<b>\u91cd\u8981</b>\u7684\u3002", "\u8fd9\u662f**\u91cd\u8981**\u7684\u3002"),
        ("a<b>\xf6!</b>b", "a<strong>\xf6!</strong>b"),
        ("\u201e<b>Ja\u201c</b>x <b>y</b>", "\u201e<strong>Ja\u201c</strong>x **y**"),
    ],
)
def test_emphasis_in_any_language_is_that_of_markdown_where_it_can_be(markup: str, written: str) -> None:
    assert markdown_of(f"<p>{markup}</p>") == written


def test_headings_are_listed_with_their_level_and_without_signs() -> None:
    page = "<h1>A <code>b</code><a class='headerlink' href='#a'>¶</a></h1><h3>C</h3><h2> </h2>"
    assert rendered(page_of(page)).headings == (Heading(1, "A b"), Heading(3, "C"))


@pytest.mark.parametrize("tag", ["ul", "ol", "dl"])
def test_lists_that_nest_still_nest(tag: str) -> None:
    item = ("<dt>t</dt><dd>", "</dd>") if tag == "dl" else ("<li>", "</li>")
    page = f"<{tag}>{item[0]}one<{tag}>{item[0]}two{item[1]}</{tag}>{item[1]}</{tag}>"
    assert read(markdown_of(page)).depth == 2


@pytest.mark.parametrize(
    "said",
    [
        "1. x",
        "1) x",
        "- x",
        "+ x",
        "* x",
        "# x",
        "> x",
        "===",
        "---",
        "```",
        "~~~",
        "| a | b |",
        "&amp;",
        "a_b_",
        "[x]: y",
    ],
)
def test_text_that_looks_like_markdown_stays_text(said: str) -> None:
    for page in (f"<p>{said}</p>", f"<p>before<br>{said}</p>", f"<ul><li>{said}</li></ul>"):
        seen = read(markdown_of(page))
        assert seen.words[-len(said.split()) :] == said.replace("&amp;", "&").split()
        assert [seen.headings, seen.code, seen.rows, seen.links] == [[], [], [], []]


def test_underscores_inside_words_are_not_escaped_unless_a_page_writes_them_so() -> None:
    assert markdown_of("<p>snake_case_name _x_</p>") == "snake_case_name \\_x\\_"
    assert markdown_of("<p>snake_case <code>a\\_b</code></p>") == "snake\\_case `a\\_b`"


def test_text_is_one_line_a_block_without_markup_and_without_numbers_of_lists() -> None:
    page = "<h1>T</h1><p>a <b>b</b>c<br>d</p><ol><li>e<li>f <a href=x>g</a></ol><pre>h\n  i</pre>"
    assert text_of(page + "<table><tr><td>j<td>k</table>") == "T\na bc\nd\ne\nf g\nh\ni\nj\nk"


def test_text_does_not_depend_on_the_url() -> None:
    page = "<p><a href='x'>y</a> <img src='z' alt='w'></p><iframe src='q'></iframe>"
    said = {rendered(page_of(page), url).text for url in (URL, "http://other.example/")}
    assert len(said) == 1

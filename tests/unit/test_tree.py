"""The tree of a page: what the parser of HTML writes becomes a tree, and any bytes do."""

from __future__ import annotations

import time

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.dom.select import select
from orbweb.dom.tree import MAX_DEPTH, Tree, tag_number

examples = settings(max_examples=500, deadline=None, derandomize=True, database=None)

# fmt: off
SOUP = (
    "<p>", "</p>", "<div class='a b' id=\"x\">", "</div>", "<br>", "<img alt='a\"b' src=x>", "<a href='?a&amp;b'>",
    "</a>", "<pre>", "</pre>", "\n", "\n\n", "<textarea>", "</textarea>", "<table>", "<td>", "<svg>", "<path d=1>",
    "</svg>", "<math>", "<mi>", "<foreignObject>", "<script>", "</script>", "<style>", "</style>", "a < b && c",
    "&lt;&amp;&gt;&quot;&nbsp;", "<title>", "</title>", "<x-y z>", "<template>", "</template>", "<ul>", "<li>",
    "<iframe>", "</iframe>", "<noscript>", "<select><option>", "\xa0", "\u20ac", "\U0001f600", "&#0;",
    "<body lang=de>",
    "<b>", "<i>", "</b>", "<h1>", "<form>", "<input disabled>", "<plaintext>", "<xmp>", "</xmp>", "<col>", "'",
    '"', "<!DOCTYPE html>", "<frameset>", "<noframes>", "<listing>", "<param>", "<svg><br/><title>",
)
PIECES = (
    "<p>", "</p>", "<br>", "<", ">", "</", "<!--", "-->", "--", "<!", "<?x", "&", "&amp", "&lt;", '"', "=", ' a="',
    " class=", "/", "\0", "\xe9", "\ud800", "<script>", "</script", "<svg>", "</svg>", "<pre>\n", "text", " ",
    "\n", "<a b c=d>", "<\xe9>",
)
# fmt: on


def read(markup: str) -> tuple[str, Tree]:
    """What the parser writes of a page, without what no tree holds, and the tree of it."""
    document = turbohtml.parse(markup)
    html = document.html
    return html.removeprefix("<!DOCTYPE html>"), Tree(html.encode("utf-8", "surrogatepass"))


@examples
@given(st.lists(st.sampled_from(SOUP)).map("".join))
def test_a_tree_is_written_as_it_was_read(soup: str) -> None:
    html, tree = read(soup)
    assert tree.markup() == html


@examples
@given(st.lists(st.sampled_from(SOUP)).map("".join))
def test_a_tree_holds_the_elements_and_the_text_that_the_parser_holds(soup: str) -> None:
    document = turbohtml.parse(soup)
    tree = Tree(document.html.encode("utf-8", "surrogatepass"))
    assert len(select(tree, "*")) == len(document.select("*"))
    if "<template>" not in soup:
        assert tree.said() == document.text


@examples
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_markup_is_a_tree(markup: str) -> None:
    tree = Tree(markup.encode("utf-8", "surrogatepass"))
    for node in select(tree, "*"):
        assert tree.said(node) in tree.said()
        assert tree.markup(node) in tree.markup()


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        ("<p>a &amp; b &lt;c&gt; &quot;d&quot;&nbsp;e</p>", 'a & b <c> "d"\xa0e'),
        ("<p>&amp;lt; &copy; &#65; & &am</p>", "&lt; &copy; &#65; & &am"),
        ("<script>a &lt; b</script><style>&amp;</style>", "a &lt; b&amp;"),
        ("<script>'</scripts>' </script>b", "'</scripts>' b"),
        ("<svg><style>&lt;</style></svg>", "<"),
        ("<pre>\n\na</pre><p>\nb</p>", "\na\nb"),
        ("a<!-- b > -- c -->d<!DOCTYPE html>e<?f?>g", "adeg"),
        ("a<!-- b", "a"),
        ("</p></p>a</p><b>c", "ac"),
        ("<br>a<br/>b<img>c", "abc"),
    ],
)
def test_text_is_read_without_its_escapes(markup: str, said: str) -> None:
    assert Tree(markup.encode()).said() == said


@pytest.mark.parametrize(
    ("markup", "written"),
    [
        ('<a title="&quot;&amp;&lt;&nbsp;" b="" c>', '<a title="&quot;&amp;&lt;&nbsp;" b="" c=""></a>'),
        ('<a b="\n c" B="d">', '<a b="\n c" B="d"></a>'),
        ("<x-y><\xe9></\xe9></x-y>", "<x-y><\xe9></\xe9></x-y>"),
        ('<p a="b', '<p a="b"></p>'),
        ("<p", "<p></p>"),
    ],
)
def test_tags_and_attributes_are_kept(markup: str, written: str) -> None:
    assert Tree(markup.encode()).markup() == written


@pytest.mark.parametrize(
    "markup",
    [
        "<script><!-- '<script></script>' --></script>b",
        "<script><!-- '<script></script>' </script>b",
        "<script>'<script></script>b",
    ],
)
def test_a_script_ends_where_the_parser_ends_it(markup: str) -> None:
    html, tree = read(markup)
    assert tree.markup() == html


def test_elements_that_are_too_deep_stand_beside_each_other() -> None:
    tree = Tree(b"<div>" * 3 * MAX_DEPTH + b"text" + b"</div>" * 3 * MAX_DEPTH + b"<p>behind</p>")
    assert len(select(tree, "div")) == 3 * MAX_DEPTH
    assert len(select(tree, "div > div > div")) == 3 * MAX_DEPTH - 2
    assert tree.markup().endswith("</div><p>behind</p>")
    assert tree.said() == "textbehind"


def test_nodes_are_numbers_of_one_tree() -> None:
    tree = Tree(b"<main><p>a</p><p>b</p></main>", "utf-8")
    assert tree.encoding == "utf-8"
    paragraph = tree.find("p")
    assert tree.markup(paragraph) == "<p>a</p>"
    assert tree.said(paragraph) == "a"
    assert tree.find("p", paragraph) == -1
    for node in (-1, 100):
        with pytest.raises(IndexError):
            tree.markup(node)
        with pytest.raises(IndexError):
            tree.said(node)


def test_nothing_is_a_tree_without_elements() -> None:
    assert Tree().markup() == Tree(b"").said() == ""
    assert Tree().find("body") == -1


def test_a_tag_that_is_not_known_has_no_number() -> None:
    assert tag_number("p") > 0
    assert tag_number("x-y") == tag_number("") == 0


@pytest.mark.parametrize(
    "piece", [b"<a>", b"<", b"</a>", b"&", b"<!--", b"<script>", b'<a b="', b"<a ", b"<svg>", b"-", b"<a><b>c</b>"]
)
def test_the_time_does_not_grow_with_the_square_of_the_page(piece: bytes) -> None:
    began = time.process_time()
    tree = Tree(b"<p>" + piece * 100_000)
    tree.said()
    tree.markup()
    assert time.process_time() - began < 2

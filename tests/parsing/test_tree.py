"""The tree of a page: nodes are numbers, and it is written out as it was read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.parsing.html.selectors import select
from orbweb.parsing.html.tokenizer import parsed
from orbweb.parsing.html.tree import Tree

# fmt: off
SOUP = (
    "<p>", "</p>", "<div class='a b' id=\"x\">", "</div>", "<br>", "<img alt='a\"b' src=x>", "<a href='?a&amp;b'>",
    "</a>", "<pre>", "</pre>", "\n", "\n\n", "<textarea>", "</textarea>", "<table>", "<td>", "<svg>", "<path d=1>",
    "</svg>", "<math>", "<mi>", "<foreignObject>", "<script>", "</script>", "<style>", "</style>", "a < b && c",
    "&lt;&amp;&gt;&quot;&nbsp;", "<title>", "</title>", "<x-y z>", "<template>", "</template>", "<ul>", "<li>",
    "<iframe>", "</iframe>", "<noscript>", "\xa0", "\u20ac", "\U0001f600", "&#0;", "<body lang=de>", "<h1>",
    "<xmp>", "</xmp>", "<col>", "'", '"', "<!DOCTYPE html>", "\ud800",
)
# fmt: on


def page(markup: str) -> Tree:
    return parsed(markup.encode("utf-8", "surrogatepass"), "UTF-8")


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(st.lists(st.sampled_from(SOUP)).map("".join))
def test_every_element_is_written_within_what_is_around_it(soup: str) -> None:
    tree = page(soup)
    whole, said = tree.markup(), tree.said()
    for node in select(tree, "*"):
        assert tree.markup(node) in whole
        assert tree.said(node) in said


@pytest.mark.parametrize(
    "markup",
    [
        '<a title="&quot;&amp;&lt;&nbsp;" b="">x</a>',
        '<p>a &amp; b &lt;c&gt; "d"&nbsp;e</p>',
        "<p></p><script>a < b && c</script><style>&amp;</style>",
        "<svg><style>&lt;</style><path></path></svg>",
        "<pre>\n\na</pre><textarea>b</textarea>",
        '<x-y><img alt="\u20ac"><br></x-y>',
    ],
)
def test_markup_is_written_as_it_was_read(markup: str) -> None:
    assert page(markup).markup().endswith(f"<body>{markup}</body></html>")


def test_nodes_are_numbers_of_one_tree() -> None:
    tree = page("<main><p>a</p><p>b</p></main>")
    assert tree.encoding == "UTF-8"
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
    assert Tree().markup() == Tree().said() == ""
    assert Tree().find("body") == -1

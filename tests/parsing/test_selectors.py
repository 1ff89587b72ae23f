"""Selectors on the tree of a page, against those of the parser of HTML."""

from __future__ import annotations

from contextlib import suppress

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import TIMES, assert_linear
from orbweb.extraction import generators
from orbweb.parsing.html.selectors import MAX_BESIDE, select
from orbweb.parsing.html.tokenizer import MAX_DEPTH, parsed
from orbweb.parsing.html.tree import Tree

PAGE = """<main id=top class="page wide" role=main><h1 class=title>One</h1><hr>
<p class="note  Note">a<b lang=EN title="">b</b>c</p><x-tip data-tip='a "b" ]'></x-tip>
<ul><li id=one><a href="/t/1" rel="x NoFollow">1</a><li class=note><a href=/u/2>2</a><li>3</ul></main>"""

TAGS = ("div", "span", "section", "x-tip")
CLASSES = ("note", "a", "wide-b", "Note", "a-1")
IDS = ("one", "two", "note")
VALUES = ("", "a", "A", "ab", "a b", "b-a", "note", "ä", "/t/1")
ATTRIBUTES = ("title", "data-tip", "href", "rel")

attributes = st.fixed_dictionaries(
    {},
    optional={
        "class": st.lists(st.sampled_from(CLASSES), max_size=3).map("  ".join),
        "id": st.sampled_from(IDS),
        **{name: st.sampled_from(VALUES) for name in ATTRIBUTES},
    },
)


def written(tag: str, said: dict[str, str], inner: list[str]) -> str:
    opening = " ".join([tag, *(f'{name}="{value}"' for name, value in said.items())])
    return f"<{opening}>{''.join(inner)}</{tag}>"


elements = st.recursive(
    st.builds(written, st.sampled_from(TAGS), attributes, st.just([])),
    lambda inner: st.builds(
        written, st.sampled_from(TAGS), attributes, st.lists(st.one_of(inner, st.just("text")), max_size=4)
    ),
    max_leaves=12,
)
pages = st.lists(elements, max_size=4).map("".join)

attribute_tests = st.one_of(
    st.sampled_from(ATTRIBUTES).map("[{}]".format),
    st.builds(
        '[{}{}"{}"{}]'.format,
        st.sampled_from((*ATTRIBUTES, "class", "id")),
        st.sampled_from(("=", "~=", "^=", "$=", "*=")),
        st.sampled_from(VALUES),
        st.sampled_from(("", " i")),
    ),
)
tests = st.one_of(
    st.sampled_from(CLASSES).map(".{}".format),
    st.sampled_from(IDS).map("#{}".format),
    attribute_tests,
    st.just(":last-child"),
)
compounds = st.builds(
    lambda tag, asked: "".join([tag, *asked]) or "*",
    st.sampled_from(("", "", "*", *TAGS)),
    st.lists(tests, max_size=2),
)
signs = st.sampled_from((" ", " > ", ">", " + ", " ~ "))


def chained(first: str, rest: list[tuple[str, str]]) -> str:
    return "".join([first, *(sign + compound for sign, compound in rest)])


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    held = st.builds(
        "{}:{}({})".format,
        st.sampled_from(("", "div", ".note")),
        st.sampled_from(("is", "not")),
        st.lists(inner, min_size=1, max_size=2).map(", ".join),
    )
    having = st.builds(
        "{}:has({}{})".format, st.sampled_from(("", "div")), st.sampled_from(("", "> ", "+ ", "~ ")), inner
    )
    return st.builds(chained, st.one_of(inner, held, having), st.lists(st.tuples(signs, compounds), max_size=1))


chains = st.builds(chained, compounds, st.lists(st.tuples(signs, compounds), max_size=3))
selectors = st.lists(st.recursive(chains, nested, max_leaves=3), min_size=1, max_size=3).map(", ".join)


def found(tree: Tree, selector: str, top: int = 0) -> list[int]:
    """The places of what is found among all elements."""
    places = {node: place for place, node in enumerate(select(tree, "*"))}
    return [places[node] for node in select(tree, selector, top)]


def found_by_the_parser(document: turbohtml.Document, selector: str, top: turbohtml.Node) -> list[int]:
    places = {element: place for place, element in enumerate(document.select("*"))}
    return [places[element] for element in top.select(selector)]


def page(markup: str) -> Tree:
    return parsed(markup.encode(), "UTF-8")


def both(markup: str) -> tuple[turbohtml.Document, Tree]:
    document = turbohtml.parse(f"<!DOCTYPE html>{markup}")
    return document, page(markup)


@settings(max_examples=1_000, deadline=None, derandomize=True, database=None)
@given(pages, selectors, st.integers(0, 20))
def test_the_elements_are_those_that_the_parser_finds(markup: str, selector: str, place: int) -> None:
    document, tree = both(markup)
    assert found(tree, selector) == found_by_the_parser(document, selector, document)
    elements = document.select("*")
    place %= len(elements)
    top = select(tree, "*")[place]
    assert found(tree, selector, top) == found_by_the_parser(document, selector, elements[place])


@pytest.mark.parametrize(
    ("selector", "texts"),
    [
        ("h1", ["One"]),
        ("H1.title", ["One"]),
        (".note", ["abc", "2"]),
        (".Note.note", ["abc"]),
        ("#one", ["1"]),
        ("#One", []),
        ("main#top.wide[role=main] > p", ["abc"]),
        ("[lang=en], [lang='En']", ["b"]),
        ("[title='']", ["b"]),
        ("[title^=''], [title*=''], [title~='']", []),
        ("[class~=note]", ["abc", "2"]),
        ("[class='note  note' i]", ["abc"]),
        ("a[rel~=nofollow], a[href^='/u/']", ["1", "2"]),
        ("x-tip[data-tip$=']']", [""]),
        ('[data-tip="a \\"b\\" ]"], [nowhere]', None),
        ("[data-tip*='\"b\"']", [""]),
        ("hr + p, h1 + p", ["abc"]),
        ("h1 ~ p > b", ["b"]),
        ("li:last-child", ["3"]),
        ("li:has(> a[rel]), li:not(:has(a))", ["1", "3"]),
        ("h1:has(+ hr + .note)", ["One"]),
        ("h1:has(~ ul a), h1:has(~ ol)", ["One"]),
        (":is(li, p).note a", ["2"]),
        ("nowhere, [nowhere]", []),
        ("html body main ul li > a[href='/t/1']", ["1"]),
    ],
)
def test_what_a_selector_means(selector: str, texts: list[str] | None) -> None:
    _, tree = both(PAGE)
    if texts is None:
        with pytest.raises(ValueError, match="not a known selector"):
            select(tree, selector)
    else:
        assert [tree.said(node).strip() for node in select(tree, selector)] == texts


def test_what_is_around_may_be_outside() -> None:
    _, tree = both(PAGE)
    top = tree.find("ul")
    assert [tree.said(node) for node in select(tree, "main > ul > li > a", top)] == ["1", "2"]
    assert select(tree, "ul", top) == []


@pytest.mark.parametrize(
    "selector",
    [
        *(
            "",
            ",",
            "a,",
            "a,,b",
            "a >",
            "> a",
            "a > > b",
            "a b)",
            ":is(a",
            ":is()",
            ":has()",
            "a:hover",
            "::after",
        ),
        *("[", "[]", "[a", "[a=", "[a='b]", "[a!=b]", "[a=b x]", "#", ".", ".1a", "a|b", "*a", ".a*", "a{}", "1"),
        *(":last-child(1)", ":last-childs", "a\\b", "[a|=b]", ":not(a,)"),
    ],
)
def test_what_is_not_known_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="not a known selector"):
        select(page("<p>"), selector)


@given(st.text(alphabet="ab .#[]=>+~,:()ishanot*\"'-"))
def test_any_text_is_a_selector_or_refused(selector: str) -> None:
    with suppress(ValueError):
        assert select(Tree(), selector) == []


@pytest.mark.parametrize("made", generators.TABLE, ids=lambda made: made.name)
def test_every_selector_of_the_table_of_generators_is_known(made: generators.Generator) -> None:
    for selector in (*made.main, made.parts, made.title, made.drop):
        assert not selector or select(Tree(), selector) == []


def test_the_root_is_no_element() -> None:
    tree = page("<p><b>")
    assert len(select(tree, "*")) == 5
    assert select(tree, "* > html") == []
    assert len(select(tree, "p > b, :not(p):not(html):not(head):not(body)")) == 1


def test_a_number_that_is_no_node_is_refused() -> None:
    for top in (-1, 100, 1 << 20):
        with pytest.raises(IndexError):
            select(page("<p>"), "*", top)


def test_a_text_is_a_node_with_nothing_below() -> None:
    tree = page("text<p>")
    text = next(node for node in range(10) if tree.markup(node) == "text")
    assert select(tree, "*", text) == []


@pytest.mark.parametrize(
    "selector", ["b x > x x", "b x x x x x", "b > x x > x x", "x:has(b)", "b ~ x", "x:has(~ b)"]
)
@pytest.mark.alone
def test_the_time_does_not_grow_with_the_square_of_the_page(selector: str) -> None:
    deep = "<x>" * (MAX_DEPTH - 10) + "</x>" * (MAX_DEPTH - 10)
    small, large = (page(times * deep + "<x></x>" * times * MAX_BESIDE) for times in (1, TIMES))
    assert select(large, selector) == []
    assert_linear(lambda tree: select(tree, selector), small, large)

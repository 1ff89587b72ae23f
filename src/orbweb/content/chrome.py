"""What surrounds the content of a page: navigation, headers, footers, banners, related links, comments.

Always: a name that would take too much of a page's text is no name of chrome on that page, so nothing is dropped
by it; a page that is nothing but chrome keeps it. Never: reads text, only how much of it there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from turbohtml import Element

from orbweb.content.manuals import tells
from orbweb.content.names import Kind, Names, Verdict, verdicts
from orbweb.content.scoring import Tree

LEAST = 100
"""Characters without which a page is nothing but chrome."""
MAX_HEADERS = 100
"""Headers of which it is asked whether they are those of the page."""
MAX_TEXT = 0.6
"""Share of a page's text that one word may take."""
MAX_TOPICS = 300
"""Names of which it is asked whether they are topics."""
LINKS_ONLY = 0.05
"""Share of prose in what is nothing but a list of links."""
MAX_PROSE = {Kind.CHROME: 0.4, Kind.CARDS: 0.4, Kind.COMMENTS: 0.6, Kind.REVIEWS: 0.9}
"""Share of a page's prose that one word of a kind may take. More than these and comments are a discussion."""
MAX_OF_ARTICLE = 0.9
"""Share of both that the comments on what states that it is an article may take."""

_NAVIGATION = frozenset(("nav", "navbar", "navigation", "sidebar", "sidebars", "menu", "menus", "submenu"))
"""Words for lists of links that may be longer than the page itself."""
_TAGS = ("nav", "footer", "aside")
_ROLES = frozenset(
    (
        *("navigation", "banner", "contentinfo", "search", "complementary", "dialog", "alertdialog"),
        *("menu", "menubar", "toolbar"),
    )
)
_NOTES = frozenset(
    (
        *("admonition", "callout", "note", "tip", "warning", "important", "caution", "danger", "hint"),
        *("starlight-aside", "notecard"),
    )
)
_LISTS = frozenset(("nav", "aside", "header"))
_FRAME = frozenset(("html", "body", "main", "article"))


def drop_places(body: Element, *, shell: bool) -> None:
    """Drop what its tag or role calls chrome, and headers that are not those of an article.

    A page that has nothing else keeps its lists of links, unless it may be a shell: a shell's content is not there
    yet, and its chrome is that of every other page.
    """
    found = [element for element in body.iter_elements(_TAGS) if element.tag != "aside" or not _is_note(element)]
    found += [header for header in islice(body.iter_elements("header"), MAX_HEADERS) if _is_of_page(header)]
    found += [element for element in body.select("[role]") if element.attr("role") in _ROLES]
    for element in found:
        element.extract()
    if not shell and len("".join(islice(_words(body), LEAST))) < LEAST:
        for element in found:
            if element.tag in _LISTS:
                body.append(element)


def _is_note(aside: Element) -> bool:
    """Whether what stands aside is a note to the text, by its role or its class."""
    return aside.attr("role") == "note" or not _NOTES.isdisjoint((aside.attr("class") or "").split())


def _words(body: Element) -> Iterator[str]:
    return (word for text in body.stripped_strings for word in text.split())


def _is_of_page(header: Element) -> bool:
    return header.closest("article, main") is None


def drop_named(names: Names, tree: Tree, *, article: bool, manual: bool) -> None:
    """Drop what its names call chrome, from the page and from the tree."""
    named = _named(names, manual=manual)
    taken = _taken(named, tree)
    whole_prose, whole_text = tree.prose[0], tree.text[0]
    for element, said in named.items():
        if said.kind is Kind.CARDS and element.select_one("a") is None:
            continue
        most_prose, most_text = MAX_PROSE[said.kind], MAX_TEXT
        if article and said.kind is Kind.COMMENTS:
            most_prose = most_text = MAX_OF_ARTICLE
        prose, text = taken.get(said.word, (0, 0))
        if said.word in _NAVIGATION and prose <= LINKS_ONLY * text and whole_text - text >= LEAST:
            most_text = 1.0
        if prose <= most_prose * whole_prose and text <= most_text * whole_text:
            number = tree.numbers.get(element)
            if number:
                tree.drop(number)
            element.extract()


def _named(names: Names, *, manual: bool) -> dict[Element, Verdict]:
    """What the names say. In a manual an id may be the topic of a section."""
    found = {
        element: said
        for attribute, said in verdicts(names.classes)
        for element in names.classes[attribute]
        if element.tag not in _FRAME
    }
    for at, (name, said) in enumerate(verdicts(names.ids)):
        element = names.ids[name]
        is_topic = manual and at < MAX_TOPICS and tells(element, said.word)
        if element not in found and element.tag not in _FRAME and not is_topic:
            found[element] = said
    return found


def _taken(named: dict[Element, Verdict], tree: Tree) -> dict[str, tuple[float, float]]:
    """The prose and the text that each word would take; an element within another of its word counts once."""
    taken: dict[str, tuple[float, float]] = {}
    words = {tree.numbers[element]: said.word for element, said in named.items() if element in tree.numbers}
    for number, word in words.items():
        around = tree.around[number]
        while around > 0 and words.get(around) != word:
            around = tree.around[around]
        if around <= 0:
            prose, text = taken.get(word, (0, 0))
            taken[word] = prose + tree.prose[number], text + tree.text[number]
    return taken

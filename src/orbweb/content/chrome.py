"""What surrounds the content of a page: navigation, headers, footers, banners, related links, comments.

Always: a name that would take too much of a page's text is no name of chrome on that page, so nothing is dropped
by it; a page that is nothing but chrome keeps it. Never: reads text, only how much of it there is.
"""

from __future__ import annotations

from turbohtml import Element

from orbweb.content import scoring
from orbweb.content.names import Kind, Names, Verdict, verdict
from orbweb.content.scoring import Weight, Weights

LEAST = 100
"""Characters without which a page is nothing but chrome."""
MAX_TEXT = 0.6
"""Share of a page's text that one word may take."""
MAX_PROSE = {Kind.CHROME: 0.4, Kind.CARDS: 0.4, Kind.COMMENTS: 0.6, Kind.REVIEWS: 0.9}
"""Share of a page's prose that one word of a kind may take. More than these and comments are a discussion."""
MAX_PROSE_ARTICLE = 0.9
"""The same of the comments of what states that it is an article."""

_PLACES = (
    "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [role=search], "
    "[role=complementary], [role=dialog], [role=alertdialog], [role=menu], [role=menubar], [role=toolbar]"
)
_LISTS = frozenset(("nav", "aside", "header"))
_FRAME = frozenset(("html", "body", "main", "article"))


def drop_places(body: Element, *, shell: bool) -> None:
    """Drop what its tag or role calls chrome, and headers that are not those of an article.

    A page that has nothing else keeps its lists of links, unless it may be a shell: a shell's content is not there
    yet, and its chrome is that of every other page.
    """
    found = body.select(_PLACES)
    found += [header for header in body.select("header") if header.closest("article, main") is None]
    for element in found:
        element.extract()
    if not shell and len("".join(body.text.split())) < LEAST:
        for element in found:
            if element.tag in _LISTS:
                body.append(element)


def drop_named(names: Names, body: Element, weights: Weights, *, article: bool) -> None:
    """Drop what its names call chrome; the weights of the elements around it are lowered."""
    named = _named(names)
    sums = _sums(named, weights)
    whole = weights.get(body, Weight())
    for element, said in named.items():
        if said.kind is Kind.CARDS and element.select_one("a") is None:
            continue
        most = MAX_PROSE_ARTICLE if article and said.kind is Kind.COMMENTS else MAX_PROSE[said.kind]
        taken = sums[said.word]
        if taken.prose <= most * whole.prose and taken.text <= MAX_TEXT * whole.text:
            weight = weights.get(element)
            if weight is not None and weight.text:
                scoring.add(weights, element, body, -weight.prose, -weight.text)
            element.extract()


def _named(names: Names) -> dict[Element, Verdict]:
    found = {
        element: said
        for attribute, elements in names.classes.items()
        if (said := verdict(attribute))
        for element in elements
        if element.tag not in _FRAME
    }
    for name, element in names.ids.items():
        if element not in found and (said := verdict(name)) and element.tag not in _FRAME:
            found[element] = said
    return found


def _sums(named: dict[Element, Verdict], weights: Weights) -> dict[str, Weight]:
    """What each word would take; an element within another of the same word counts once."""
    sums = {said.word: Weight() for said in named.values()}
    for element, said in named.items():
        own = weights.get(element)
        if own is not None and own.text and not _is_within(element, said.word, named):
            taken = sums[said.word]
            taken.prose += own.prose
            taken.text += own.text
    return sums


def _is_within(element: Element, word: str, named: dict[Element, Verdict]) -> bool:
    around: object = element.parent
    for _ in range(scoring.MAX_DEPTH):
        if not isinstance(around, Element):
            return False
        said = named.get(around)
        if said is not None and said.word == word:
            return True
        around = around.parent
    return False

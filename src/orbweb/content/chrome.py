"""What surrounds the content of a page: navigation, headers, footers, banners, related links, comments.

Always: a name that would take too much of a page's text is no name of chrome on that page, so nothing is dropped
by it; a page that is nothing but chrome keeps it. Never: reads text, only how much of it there is.
"""

from __future__ import annotations

from turbohtml import Element

from orbweb.content import names, scoring
from orbweb.content.names import Kind, Verdict
from orbweb.content.scoring import Weights

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


def drop_named(body: Element, prose: Weights, text: Weights, *, article: bool) -> None:
    """Drop what its names call chrome; the weights of the elements around it are lowered."""
    named = _named(body)
    sums = _sums(named, body, prose, text)
    for element, said in named.items():
        if said.kind is Kind.CARDS and element.select_one("a") is None:
            continue
        most = MAX_PROSE_ARTICLE if article and said.kind is Kind.COMMENTS else MAX_PROSE[said.kind]
        held_prose, held_text = sums[said.word]
        if held_prose <= most * prose.get(body, 0) and held_text <= MAX_TEXT * text.get(body, 0):
            _drop(element, body, prose, text)


def _named(body: Element) -> dict[Element, Verdict]:
    found: dict[Element, Verdict] = {}
    for element in body.select("[class], [id]"):
        said = names.verdict(element.attr("class") or "") or names.verdict(element.attr("id") or "")
        if said is not None and element.tag not in _FRAME:
            found[element] = said
    return found


def _sums(
    named: dict[Element, Verdict], body: Element, prose: Weights, text: Weights
) -> dict[str, tuple[float, float]]:
    """What each word would take; an element within another of the same word counts once."""
    sums: dict[str, tuple[float, float]] = {}
    for element, said in named.items():
        held_prose, held_text = sums.get(said.word, (0.0, 0.0))
        own = text.get(element, 0)
        if own and not _within(element, said.word, named, body):
            held_prose, held_text = held_prose + prose.get(element, 0), held_text + own
        sums[said.word] = held_prose, held_text
    return sums


def _within(element: Element, word: str, named: dict[Element, Verdict], body: Element) -> bool:
    above = scoring.chain(element, body)
    next(above, None)
    return any(said.word == word for around in above if (said := named.get(around)))


def _drop(element: Element, body: Element, prose: Weights, text: Weights) -> None:
    held_prose, held_text = prose.get(element, 0), text.get(element, 0)
    if held_text:
        for around in scoring.chain(element, body):
            prose[around] = prose.get(around, 0) - held_prose
            text[around] = text.get(around, 0) - held_text
    element.extract()

"""Which part of a page is its content.

Owns the order of the questions: what is shown, which generator made the page, whether it is a manual, what is
chrome, where the text is, whether it is an article. Always: the answer depends on the page alone and takes time
linear in it; a page with any text that is shown has content. Never: drops more than labels where it is not sure
what the page is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from turbohtml import Document as Dom
from turbohtml import Element

from orbweb.content import article, blocks, chrome, data, generators, hidden, manuals, names, scoring, titles
from orbweb.content.scoring import Tree

LITTLE = 400
"""Characters of content below which a page is asked whether it carries more as data."""
ROOT = 0.5
"""Share of the text that the only `<main>` or `<article>` of a page must hold for all content to be in it."""
LONG = 100
"""Characters of a block that is running text."""
LINKED = 0.75
"""Share of links in what leads elsewhere if it stands before the title of a manual."""
LISTING = 0.3
"""Share of prose in the text below which a page is a list of links and all text counts."""


@dataclass(frozen=True, slots=True)
class Main:
    """The element that holds the content, cleaned of what is not content. `classes`: all that the page uses."""

    element: Element
    confidence: float
    generator: str
    hidden: int
    classes: frozenset[str]


def choose(dom: Dom) -> Main:
    """The main element of a page. What is left in it is content."""
    body = dom.find("body")
    if body is None:
        return Main(Element("body"), 0.0, "", 0, frozenset())
    used = names.used(dom)
    found = generators.find(dom, used)
    declared = article.is_declared(dom)
    stated = declared or article.is_marked(dom)
    scripts = data.scripts(dom)
    unseen = hidden.drop(body, used)
    for generator in found:
        if (element := generators.content(generator, body, used)) is not None:
            return Main(element, 0.95, generator.name, unseen, used.classes)
    manual = manuals.is_manual(body, declared=declared)
    stated = stated and not manual
    headings = [] if stated else titles.find(dom, body)
    chrome.drop_places(body, shell=bool(scripts))
    root = _root(body, stated=stated)
    element, confidence = _manual(root, headings) if manual else _general(root, stated=stated)
    titles.put(headings, element)
    if scripts and (little := _size(element)) < LITTLE and len(said := data.text(scripts)) > little:
        element, confidence = Element("div"), 0.3
        element.set_text(said)
    return Main(element, confidence, "", unseen, used.classes)


def _size(element: Element) -> int:
    """The characters of an element that has few of them; of others as many as they have with blanks."""
    text = element.text
    return len(text) if len(text) > 10 * LITTLE else len(" ".join(text.split()))


def _root(body: Element, *, stated: bool) -> Element:
    """The element that surely holds all content, so that what is outside needs no look."""
    if stated and (column := article.column(body)) is not None:
        return column
    for tag in ("main", "article"):
        found = body.find_all(tag, limit=2)
        if len(found) == 1 and len(found[0].text) >= ROOT * len(body.text):
            return found[0]
    return body


def _weighed(root: Element, *, stated: bool, manual: bool) -> Tree | None:
    """The text of an element without what its names call chrome; None where there is too much to be weighed."""
    found = blocks.read(root)
    if found is None:
        return None
    tree = Tree(*found)
    chrome.drop_named(names.read(root), tree, article=stated, manual=manual)
    return tree


def _manual(root: Element, headings: Sequence[Element]) -> tuple[Element, float]:
    """The content of a manual: all of it, but for what its names call chrome."""
    tree = _weighed(root, stated=False, manual=True)
    if tree is None:
        return root, 0.2
    title = next((number for heading in headings if (number := tree.numbers.get(heading))), None)
    top = tree.enclose(title)
    for block in takewhile(lambda block: block.number != title, tree.inside(top) if title else ()):
        if block.linked >= LINKED * block.size and tree.is_leaf(block):
            block.element.extract()
    return tree.elements[top], 0.7


def _general(root: Element, *, stated: bool) -> tuple[Element, float]:
    """The content of a page of unknown make without its chrome, and how sure that is."""
    tree = _weighed(root, stated=stated, manual=False)
    if tree is None:
        return root, 0.2
    if tree.text[0] < LITTLE:
        return root, 0.3
    top = tree.descend(0, listing=tree.prose[0] < LISTING * tree.text[0])
    inside = tree.inside(top)
    size = sum(block.size for block in inside)
    own = size - sum(block.linked for block in inside)
    running = sum(block.size for block in inside if block.size >= LONG and block.linked < 0.3 * block.size)
    stated = stated and running > 0.4 * own
    if stated or running > min(0.65 * size, 0.9 * own):
        top = tree.narrow(top, scoring.columns(inside, tree.around)) if stated else tree.descend(top)
        _clean(tree, top, stated=stated)
    return tree.elements[top], _confidence(running, size, stated=stated)


def _clean(tree: Tree, top: int, *, stated: bool) -> None:
    """Make an article of an element: its lede comes in, what is no text of it goes."""
    text = tree.inside(top)
    leading = article.ledes(tree, text) if text else []
    article.prune(tree, top, text, stated=stated)
    for lede in reversed(leading):
        tree.elements[top].insert(0, lede.extract())


def _confidence(running: float, size: float, *, stated: bool) -> float:
    if not size:
        return 0.0
    return round((0.5 if stated else 0.3) + 0.4 * running / size, 2)

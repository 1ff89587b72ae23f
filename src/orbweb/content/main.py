"""Which part of a page is its content.

Owns the order of the questions: what is shown, which generator made the page, what is chrome, where the text is,
whether it is an article. Always: the answer depends on the page alone and takes time linear in it; a page with any
text that is shown has content. Never: drops more than labels where it is not sure what the page is.
"""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Document as Dom
from turbohtml import Element

from orbweb.content import article, blocks, chrome, data, generators, hidden, names, scoring
from orbweb.content.names import Names
from orbweb.content.scoring import Tree

LEAST_GENERATED = 200
"""Characters that the content of a known generator has at least; with less its marks are taken for chance."""
LITTLE = 400
"""Characters of content below which a page is asked whether it carries more as data."""
LONG = 100
"""Characters of a block that is running text."""
LISTING = 0.3
"""Share of prose in the text below which a page is a list of links and all text counts."""


@dataclass(frozen=True, slots=True)
class Main:
    """The element that holds the content, cleaned of what is not content."""

    element: Element
    confidence: float
    generator: str
    hidden: int


def choose(dom: Dom) -> Main:
    """The main element of a page. What is left in it is content."""
    body = dom.select_one("body")
    if body is None:
        return Main(Element("body"), 0.0, "", 0)
    named = names.read(dom)
    found = generators.find(dom, named)
    stated = article.is_stated(dom)
    scripts = data.scripts(dom)
    unseen = hidden.drop(body)
    for generator in found:
        element = generators.content(generator, body)
        if element is not None and len(element.text) >= LEAST_GENERATED:
            return Main(element, 0.95, generator.name, unseen)
    chrome.drop_places(body, shell=bool(scripts))
    element, confidence = _general(body, named, stated=stated)
    if (little := len(" ".join(element.text.split()))) < LITTLE and len(said := data.text(scripts)) > little:
        element, confidence = Element("div"), 0.3
        element.set_text(said)
    return Main(element, confidence, "", unseen)


def _general(body: Element, named: Names, *, stated: bool) -> tuple[Element, float]:
    """The content of a page of unknown make without its chrome, and how sure that is."""
    found = blocks.read(body)
    if found is None:
        return body, 0.2
    tree = Tree(body, found)
    chrome.drop_named(named, tree, article=stated)
    top = scoring.descend(tree.root, listing=tree.root.prose < LISTING * tree.root.text)
    inside = tree.inside(top)
    size = sum(block.size for block in inside)
    own = size - sum(block.linked for block in inside)
    running = sum(block.size for block in inside if block.size >= LONG and block.linked < 0.3 * block.size)
    stated = stated and running > 0.4 * own
    element = top.element
    if stated or running >= 0.65 * size or running >= 0.9 * own:
        top = scoring.descend(Tree(element, scoring.columns(inside)).root if stated else top)
        element = _article(top.element, tree, stated=stated)
    return element, _confidence(running, size, stated=stated)


def _article(element: Element, tree: Tree, *, stated: bool) -> Element:
    """The article with its lede, cleaned."""
    everything = tree.inside(tree.root)
    part = tree.get(element)
    inside = tree.inside(part) if part else []
    leading = article.ledes(everything, everything.index(inside[0])) if inside else []
    article.prune(element, inside, stated=stated)
    for lede in reversed(leading):
        element.insert(0, lede.extract())
    return element


def _confidence(running: float, size: float, *, stated: bool) -> float:
    if not size:
        return 0.0
    return round((0.5 if stated else 0.3) + 0.4 * running / size, 2)

"""The text of an article: from its lede to its last paragraph, without captions, teasers and labels.

Always: what is longer than a label and no link stays. Never: reads words, so it is the same in every language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from operator import itemgetter

from turbohtml import Document as Dom
from turbohtml import Element

from orbweb.content.blocks import SENTENCE, Block
from orbweb.content.manuals import is_linked_to_itself
from orbweb.content.names import verdict
from orbweb.content.scoring import COLUMN, TOGETHER, Tree

PARAGRAPH = 60
"""Characters of a block without many links that is a paragraph if another stands beside it."""
SOLITARY = 140
"""Characters of a paragraph that stands alone."""
LEDE = 80
"""Characters of a block between title and text that belongs to the text."""
MAX_LEDES = 3
LEAST = 600
"""Characters of a column of paragraphs that is surely the text of an article."""
SHARE = 0.1
"""Share of the characters of the page, blanks and all, that such a column has."""
WIDER = 2
"""How many times the text of the column an element around it may hold to be looked at for title and lede."""
MAX_AROUND = 8

_CAPTIONS = "figcaption, [class*=caption i], [class*=credit i]"
_NO_LEDE = f"figure *, [class*=caption i] *, {_CAPTIONS}, [class*=meta i], [class*=author i]"
_LEDES = frozenset(("p", "div", "h2"))
_RUNNING = frozenset(["p", "div", "li", "td", "blockquote", "section", "pre", "span", "center", "font", "article"])
_KEPT_LINKED = frozenset(("td", "th", "pre"))
_KEPT_BEFORE = frozenset(("h1", "h2", "h3", "td", "th", "pre"))
_DROPPED_AFTER = frozenset(["h1", "h2", "h3", "h4", "h5", "h6", "div", "li", "span", "center"])


def is_declared(dom: Dom) -> bool:
    """Whether the head of a page says that it is an article."""
    head = dom.find("head")
    for meta in head.iter_elements("meta") if head else ():
        name = meta.attr("property")
        if name == "article:published_time" and meta.attr("content") is not None:
            return True
        if name == "og:type" and (meta.attr("content") or "").lower().startswith("article"):
            return True
    return False


def is_marked(dom: Dom) -> bool:
    """Whether a page marks the text of an article. Manuals do so too."""
    return dom.select_one("[itemprop=articleBody]") is not None


def column(body: Element) -> Element | None:
    """The element around title and text, where nearly all paragraphs are in one column."""
    columns: dict[Element, int] = {}
    for paragraph in body.select("p"):
        size = len(paragraph.text)
        around = paragraph.parent
        if size >= SENTENCE and isinstance(around, Element):
            columns[around] = columns.get(around, 0) + size
    if not columns:
        return None
    most, element = max(((size, element) for element, size in columns.items()), key=itemgetter(0))
    great = sum(size for size in columns.values() if size >= COLUMN * most)
    if most < max(LEAST, SHARE * len(body.text), TOGETHER * great):
        return None
    return _widened(element, most)


def _widened(column: Element, size: int) -> Element | None:
    """The widest element around a column that holds little else; None where a name says that it is no text."""
    widest, is_wider = column, True
    for around in (column, *islice(column.ancestors, MAX_AROUND)):
        if not isinstance(around, Element) or around.tag == "html":
            break
        if verdict(around.attr("class") or "") or verdict(around.attr("id") or ""):
            return None
        is_wider = is_wider and len(around.text) <= WIDER * size
        if is_wider:
            widest = around
    return widest


def ledes(tree: Tree, text: Sequence[Block]) -> list[Element]:
    """The paragraphs between the title and the text."""
    blocks = tree.inside(0)
    start = blocks.index(text[0])
    title = next((place for place in range(start - 1, -1, -1) if blocks[place].tag == "h1"), start)
    found = (
        block for block in blocks[title + 1 : start] if block.tag in ("p", "div", "h2") and tree.is_leaf(block)
    )
    fitting = (block.element for block in found if block.size >= LEDE and block.linked < block.size / 5)
    return [element for element in islice(fitting, MAX_LEDES) if not element.matches(_NO_LEDE)]


def prune(tree: Tree, top: int, blocks: Sequence[Block], *, stated: bool) -> None:
    """Drop captions and links of an element with these blocks.

    Of a stated article also the labels before and after its paragraphs go.
    """
    element = tree.elements[top]
    element.remove(_CAPTIONS)
    first, last = _extent(blocks) if stated else (0, len(blocks))
    for place, block in enumerate(blocks):
        dead = block.element is not element and _is_dead(block, before=place < first, after=place > last)
        if dead and tree.is_leaf(block):
            block.element.extract()


def _extent(blocks: Sequence[Block]) -> tuple[int, int]:
    """The places of the first and the last paragraph."""
    paragraphs = [
        (place, block)
        for place, block in enumerate(blocks)
        if block.size >= PARAGRAPH and block.linked < 0.4 * block.size and block.tag in _RUNNING
    ]
    beside = Counter(block.element.parent for _, block in paragraphs)
    places = [place for place, block in paragraphs if block.size >= SOLITARY or beside[block.element.parent] > 1]
    return (places[0], places[-1]) if places else (0, len(blocks))


def _is_dead(block: Block, *, before: bool, after: bool) -> bool:
    if block.linked >= 0.6 * block.size and block.tag not in _KEPT_LINKED:
        return not is_linked_to_itself(block.element)
    if before:
        return block.tag not in _KEPT_BEFORE
    return after and (block.tag in _DROPPED_AFTER or block.linked > 0.2 * block.size)

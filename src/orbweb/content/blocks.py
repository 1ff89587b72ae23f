"""The texts of an element as blocks: which element shows them as one piece, how long they are, how much is links.

Always: linear in the element; blocks are in document order. Never: changes the DOM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from turbohtml import Element, NodeIterator, Text

SENTENCE = 25
"""Characters of a block that may be a sentence; shorter ones are labels."""
MAX_CHARACTERS = 4_000_000
MAX_TEXTS = 50_000
"""Of a page that is weighed. No page that people write is longer."""
MAX_DEPTH = 200
"""Elements above a block that are looked at; deeper nesting is no design of a page."""
MAX_CARD = 4
"""Elements between a link and the blocks that it wraps as a card."""

NOWHERE = -1
"""The number of what is around the root, or around an element that was taken out."""

_SHOW_TEXT = 4
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
    ]
)
_PARAGRAPHS = frozenset(["p", "pre", "li", "td", "dd", "blockquote", "h1", "h2", "h3", "h4"])
_ITEMS = frozenset(("li", "td"))


@dataclass(slots=True, eq=False)
class Block:
    """The text that an element shows itself, not through another block: its characters, and those of links.

    A `card` lies within a link. The `column` is the number of the element in which it and its like stand. `prose`
    is how much of it speaks for content; items count half, because navigation is made of them too.
    """

    number: int
    element: Element
    tag: str
    card: bool
    column: int
    size: int = 0
    linked: int = 0
    prose: float = 0


class Outline:
    """The elements that hold text, each under a number, and the number of the element around each.

    Number 0 is the root, and an element has a higher number than those around it; `depth` counts the elements from
    the link around it. Plain lists hold it together: objects that refer to each other would keep pages in memory
    until the next collection.
    """

    __slots__ = ("around", "depth", "elements", "numbers")

    def __init__(self, root: Element) -> None:
        self.elements = [root]
        self.numbers = {root: 0}
        self.around = [NOWHERE]
        self.depth = [0 if _is_link(root) else MAX_CARD + 1]

    def number(self, element: Element) -> int:
        """The number of an element; numbers are given from the first known element around it down."""
        numbers = self.numbers
        path: list[Element] = []
        while (number := numbers.get(element)) is None and len(path) < MAX_DEPTH:
            path.append(element)
            element = cast("Element", element.parent)
        number = number or 0
        for inner in reversed(path):
            self.around.append(number)
            number = numbers[inner] = len(self.elements)
            self.elements.append(inner)
            self.depth.append(0 if _is_link(inner) else self.depth[self.around[number]] + 1)
        return number


def read(root: Element) -> tuple[Outline, list[Block]] | None:
    """The blocks of an element; None where it has too much text to be weighed.

    This is the innermost loop of the choice, so it calls nothing for a text whose block is known.
    """
    outline = Outline(root)
    found: dict[Element, Block] = {}
    inline = _INLINE
    count = 0
    for node in cast("Iterator[Text]", NodeIterator(root, _SHOW_TEXT)):
        size = len(node.data.strip())
        if not size:
            continue
        count += 1
        holder, linked = cast("Element", node.parent), False
        while (tag := holder.tag) in inline and holder is not root:
            if tag == "a" and holder.attr("href") is not None:
                linked = True
            holder = cast("Element", holder.parent)
        block = found.get(holder)
        if block is None:
            block = found[holder] = _new(outline, holder, tag)
        block.size += size
        if linked or block.card:
            block.linked += size
        if count > MAX_TEXTS:
            return None
    blocks = list(found.values())
    for block in blocks:
        if block.size >= SENTENCE and 2 * block.linked <= block.size:
            own = block.size - block.linked
            block.prose = own / 2 if block.tag in _ITEMS else own
    return (outline, blocks) if sum(block.size for block in blocks) <= MAX_CHARACTERS else None


def _is_link(element: Element) -> bool:
    """Whether it leads somewhere; an `<a>` may be nothing but an address."""
    return element.tag == "a" and element.attr("href") is not None


def _new(outline: Outline, holder: Element, tag: str) -> Block:
    number = outline.number(holder)
    column = outline.around[number] if number and tag in _PARAGRAPHS else number
    return Block(number, holder, tag, 0 < outline.depth[number] <= MAX_CARD, column)

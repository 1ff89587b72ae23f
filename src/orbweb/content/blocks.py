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
MAX_CARD = 4
"""Elements between a link and the blocks that it wraps as a card."""

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

    A `card` lies within a link. The `column` is the element in which it and its like stand. `prose` is how much of
    it speaks for content; items count half, because navigation is made of them too.
    """

    element: Element
    tag: str
    card: bool
    column: Element
    size: int = 0
    linked: int = 0
    prose: float = 0


def read(root: Element) -> list[Block] | None:
    """The blocks of an element; None where it has too much text to be weighed.

    This is the innermost loop of the choice, so it calls nothing for a text whose block is known.
    """
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
            if tag == "a":
                linked = True
            holder = cast("Element", holder.parent)
        block = found.get(holder)
        if block is None:
            block = found[holder] = _new(holder, tag)
        block.size += size
        if linked or block.card:
            block.linked += size
        if count > MAX_TEXTS:
            return None
    if sum(block.size for block in found.values()) > MAX_CHARACTERS:
        return None
    for block in found.values():
        if block.size >= SENTENCE and 2 * block.linked <= block.size:
            own = block.size - block.linked
            block.prose = own / 2 if block.tag in _ITEMS else own
    return list(found.values())


def _new(holder: Element, tag: str) -> Block:
    parent = holder.parent
    column = parent if tag in _PARAGRAPHS and isinstance(parent, Element) else holder
    around: object = parent
    for _ in range(MAX_CARD):
        if not isinstance(around, Element):
            break
        if around.tag == "a":
            return Block(holder, tag, True, column)
        around = around.parent
    return Block(holder, tag, False, column)

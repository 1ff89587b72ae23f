"""The texts of an element as blocks: which element shows them as one piece, how long they are, how much is links.

Always: linear in the element; blocks are in document order. Never: changes the DOM.
"""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Element, Node, NodeIterator, Text

SENTENCE = 25
"""Characters of a block that may be a sentence; shorter ones are labels."""
MAX_CHARACTERS = 4_000_000
MAX_TEXTS = 50_000
"""Of a page that is weighed. No page that people write is longer."""
MAX_INLINE = 32
"""Inline elements around a text that are looked at."""
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


@dataclass(slots=True)
class Block:
    """The text that an element shows itself, not through another block: its characters, and those of links."""

    element: Element
    tag: str
    card: bool
    size: int = 0
    linked: int = 0

    @property
    def prose(self) -> float:
        """How much of it speaks for content. Items count half: navigation is made of them too."""
        if self.size < SENTENCE or 2 * self.linked > self.size:
            return 0
        own = self.size - self.linked
        return own / 2 if self.tag in _ITEMS else own

    @property
    def column(self) -> Element:
        """The element in which it and its like stand."""
        parent = self.element.parent if self.tag in _PARAGRAPHS else None
        return parent if isinstance(parent, Element) else self.element

    def is_leaf(self) -> bool:
        """Whether its element holds no other block of weight."""
        return len(" ".join(self.element.text.split())) <= 1.3 * self.size + 20


def read(root: Element) -> list[Block] | None:
    """The blocks of an element; None where it has too much text to be weighed."""
    if len(root.text) > MAX_CHARACTERS:
        return None
    found: dict[Element, Block] = {}
    for count, node in enumerate(NodeIterator(root, _SHOW_TEXT)):
        if count == MAX_TEXTS:
            return None
        text = node.data.strip() if isinstance(node, Text) else ""
        if not text:
            continue
        holder, linked = _holder(node.parent)
        if holder is None:
            continue
        block = found.get(holder)
        if block is None:
            block = found[holder] = Block(holder, holder.tag, _is_card(holder))
        block.size += len(text)
        if linked or block.card:
            block.linked += len(text)
    return list(found.values())


def _holder(element: Node | None) -> tuple[Element | None, bool]:
    """The nearest element around a text that is not inline, and whether the text is that of a link."""
    linked = False
    for _ in range(MAX_INLINE):
        if not isinstance(element, Element) or (tag := element.tag) not in _INLINE:
            break
        linked = linked or tag == "a"
        element = element.parent
    return (element if isinstance(element, Element) else None), linked


def _is_card(holder: Element) -> bool:
    element = holder.parent
    for _ in range(MAX_CARD):
        if not isinstance(element, Element):
            return False
        if element.tag == "a":
            return True
        element = element.parent
    return False

"""Where the text of a page is: the weights of its elements, and the element in which the weight comes together.

Always: linear in the page, whatever its depth. Never: changes the DOM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbohtml import Element

from orbweb.content.blocks import Block

MAX_DEPTH = 200
"""Elements above a block that are looked at; deeper nesting is no design of a page."""
TOGETHER = 0.85
"""Share of an element's weight that one child must hold for the child to be the content instead."""
COLUMN = 0.2
"""Share of the heaviest column's prose below which another column is no part of an article."""

_WHOLE = frozenset(("p", "ul", "ol", "blockquote", "pre", "li", "dl"))
_NOWHERE = -1


class Tree:
    """The elements that hold text, each under a number, with the prose and the text in them.

    Number 0 is the root, and an element has a higher number than those around it. Plain lists hold it together:
    objects that refer to each other would keep pages in memory until the next collection.
    """

    __slots__ = ("around", "blocks", "elements", "numbers", "prose", "text")

    def __init__(self, root: Element, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.elements = [root]
        self.numbers = {root: 0}
        self.around = [_NOWHERE]
        self.prose: list[float] = [0]
        self.text: list[float] = [0]
        prose, text, places = self.prose, self.text, self.around
        for block in blocks:
            number = self._number(block.element)
            prose[number] += block.prose
            text[number] += block.size
        for number in range(len(places) - 1, 0, -1):
            around = places[number]
            prose[around] += prose[number]
            text[around] += text[number]

    def drop(self, number: int) -> None:
        """Take an element out, and its weight from those around it."""
        prose, text = self.prose[number], self.text[number]
        around, self.around[number] = self.around[number], _NOWHERE
        while around != _NOWHERE:
            self.prose[around] -= prose
            self.text[around] -= text
            around = self.around[around]

    def is_leaf(self, block: Block) -> bool:
        """Whether the element of a block holds no other block of weight."""
        return self.text[self.numbers[block.element]] <= 1.3 * block.size + 20

    def inside(self, top: int) -> list[Block]:
        """The blocks that are in an element, in document order."""
        within = [False] * len(self.elements)
        within[top] = True
        for number in range(top + 1, len(within)):
            around = self.around[number]
            within[number] = around != _NOWHERE and within[around]
        return [block for block in self.blocks if within[self.numbers[block.element]]]

    def descend(self, top: int, *, listing: bool = False) -> int:
        """The deepest element that holds nearly all the prose; of a listing, nearly all the text."""
        weights = self.text if listing else self.prose
        heaviest = list(range(len(weights)))
        for number in range(len(weights) - 1, 0, -1):
            around = self.around[number]
            if around != _NOWHERE and (heaviest[around] == around or weights[number] >= weights[heaviest[around]]):
                heaviest[around] = number
        while (inner := heaviest[top]) != top:
            if not weights[inner] > 0 or weights[inner] < TOGETHER * weights[top]:
                break
            if self.elements[inner].tag in _WHOLE:
                break
            top = inner
        return top

    def _number(self, element: Element) -> int:
        """The number of an element; numbers are given from the first known element around it down."""
        number = self.numbers.get(element)
        if number is not None:
            return number
        path = [element]
        node = element.parent
        while isinstance(node, Element) and (number := self.numbers.get(node)) is None and len(path) < MAX_DEPTH:
            path.append(node)
            node = node.parent
        around = number or 0
        for inner in reversed(path):
            self.around.append(around)
            around = self.numbers[inner] = len(self.elements)
            self.elements.append(inner)
            self.prose.append(0)
            self.text.append(0)
        return around


def columns(blocks: Iterable[Block]) -> list[Block]:
    """The blocks of the great columns alone: a teaser is a column of one paragraph."""
    prose: dict[Element, float] = {}
    places: list[tuple[Block, Element]] = []
    for block in blocks:
        if block.prose:
            column = block.column
            if block.tag == "li" and isinstance(column.parent, Element):
                column = column.parent
            prose[column] = prose.get(column, 0) + block.prose
            places.append((block, column))
    least = COLUMN * max(prose.values(), default=0)
    return [block for block, column in places if prose[column] >= least]

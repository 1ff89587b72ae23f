"""Where the text of a page is: the weights of its elements, and the element in which the weight comes together.

Always: linear in the page, whatever its depth. Never: changes the DOM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbweb.content.blocks import NOWHERE, Block, Outline

TOGETHER = 0.85
"""Share of an element's weight that one child must hold for the child to be the content instead."""
NEARLY_ALL = 0.95
"""The same where all text that is no link counts."""
COLUMN = 0.2
"""Share of the heaviest column's prose below which another column is no part of an article."""

_WHOLE = frozenset(("p", "ul", "ol", "blockquote", "pre", "li", "dl"))


class Tree:
    """The elements that hold text, with the prose and the text in them."""

    __slots__ = ("around", "blocks", "elements", "numbers", "prose", "text")

    def __init__(self, outline: Outline, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.elements, self.numbers, self.around = outline.elements, outline.numbers, outline.around
        self.prose: list[float] = [0] * len(self.around)
        self.text: list[float] = [0] * len(self.around)
        for block in blocks:
            self.prose[block.number] = block.prose
            self.text[block.number] = block.size
        self._add_up(self.prose)
        self._add_up(self.text)

    def _add_up(self, weights: list[float]) -> None:
        """Add to the weight of each element the weights of those in it."""
        for number in range(len(weights) - 1, 0, -1):
            if (weight := weights[number]) and (around := self.around[number]) != NOWHERE:
                weights[around] += weight

    def drop(self, number: int) -> None:
        """Take an element out, and its weight from those around it."""
        prose, text = self.prose[number], self.text[number]
        around, self.around[number] = self.around[number], NOWHERE
        while around != NOWHERE:
            self.prose[around] -= prose
            self.text[around] -= text
            around = self.around[around]

    def is_leaf(self, block: Block) -> bool:
        """Whether the element of a block holds no other block of weight."""
        return self.text[block.number] <= 1.3 * block.size + 20

    def inside(self, top: int) -> list[Block]:
        """The blocks that are in an element, in document order."""
        within = [False] * len(self.around)
        within[top] = True
        for number in range(top + 1, len(within)):
            around = self.around[number]
            within[number] = around != NOWHERE and within[around]
        return [block for block in self.blocks if within[block.number]]

    def descend(self, top: int, *, listing: bool = False) -> int:
        """The deepest element that holds nearly all the prose; of a listing, nearly all the text."""
        return self._deepest(top, self.text if listing else self.prose)

    def enclose(self, title: int | None) -> int:
        """The deepest element with nearly all the text that is no link, and with the title if that adds little."""
        weights: list[float] = [0] * len(self.around)
        for block in self.blocks:
            weights[block.number] = block.size - block.linked
        self._add_up(weights)
        inner = self._deepest(0, weights, NEARLY_ALL)
        if title is None:
            return inner
        both = self._around_both(inner, title)
        return both if weights[inner] >= TOGETHER * weights[both] else inner

    def _around_both(self, one: int, other: int) -> int:
        """The deepest element that holds both, or is one of them. Numbers grow from the outside in."""
        while one != other:
            if one > other:
                one = self.around[one]
            else:
                other = self.around[other]
            if NOWHERE in (one, other):
                return 0
        return one

    def narrow(self, top: int, blocks: Iterable[Block]) -> int:
        """The deepest element that holds nearly all the prose of these blocks."""
        weights: list[float] = [0] * len(self.around)
        for block in blocks:
            weights[block.number] = block.prose
        self._add_up(weights)
        return self._deepest(top, weights)

    def _deepest(self, top: int, weights: Sequence[float], share: float = TOGETHER) -> int:
        heaviest = list(range(len(weights)))
        for number in range(len(weights) - 1, top, -1):
            if weights[number] > 0 and (around := self.around[number]) != NOWHERE:
                known = heaviest[around]
                if known == around or weights[number] >= weights[known]:
                    heaviest[around] = number
        while (inner := heaviest[top]) != top:
            if weights[inner] < share * weights[top] or self.elements[inner].tag in _WHOLE:
                break
            top = inner
        return top


def columns(blocks: Iterable[Block], around: Sequence[int]) -> list[Block]:
    """The blocks of the great columns alone: a teaser is a column of one paragraph."""
    prose: dict[int, float] = {}
    places: list[tuple[Block, int]] = []
    for block in blocks:
        if block.prose:
            column = block.column
            if block.tag == "li" and column:
                column = around[column]
            prose[column] = prose.get(column, 0) + block.prose
            places.append((block, column))
    least = COLUMN * max(prose.values(), default=0)
    return [block for block, column in places if prose[column] >= least]

"""Where the text of a page is: the weights of its elements, and the element in which the weight comes together.

Always: linear in the page, whatever its depth. Never: changes the DOM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from turbohtml import Element

from orbweb.content.blocks import Block

MAX_DEPTH = 200
"""Elements above a block that are looked at; deeper nesting is no design of a page."""
TOGETHER = 0.85
"""Share of an element's weight that one child must hold for the child to be the content instead."""
COLUMN = 0.2
"""Share of the heaviest column's prose below which another column is no part of an article."""

_WHOLE = frozenset(("p", "ul", "ol", "blockquote", "pre", "li", "dl"))


@dataclass(slots=True, eq=False)
class Part:
    """An element of a page that holds text: its own prose and text and, once weighed, those of all in it."""

    element: Element
    parent: Part | None
    prose: float = 0
    text: float = 0
    parts: list[Part] = field(default_factory=list)


class Tree:
    """The elements of a page that hold text, from the body down."""

    __slots__ = ("_parts", "blocks", "root")

    def __init__(self, body: Element, blocks: Sequence[Block]) -> None:
        self.root = Part(body, None)
        self.blocks = blocks
        self._parts = {body: self.root}
        for block in blocks:
            part = self._part(block.element)
            part.prose += block.prose
            part.text += block.size
        # A part is known before those in it.
        for part in reversed(self._parts.values()):
            if part.parent is not None:
                part.parent.prose += part.prose
                part.parent.text += part.text

    def get(self, element: Element) -> Part | None:
        """The part that an element is; None where it holds no text."""
        return self._parts.get(element)

    def drop(self, part: Part) -> None:
        """Take the weight of a part from those around it, and the part out of the tree."""
        around = part.parent
        if around is None:
            return
        around.parts.remove(part)
        part.parent = None
        while around is not None:
            around.prose -= part.prose
            around.text -= part.text
            around = around.parent

    def inside(self, top: Part) -> list[Block]:
        """The blocks that are in a part, in document order."""
        found = {top.element}
        pending = [top]
        while pending:
            for part in pending.pop().parts:
                found.add(part.element)
                pending.append(part)
        return [block for block in self.blocks if block.element in found]

    def _part(self, element: Element) -> Part:
        """The part of an element; parts are made from the first known one around it down."""
        path: list[Element] = []
        node: object = element
        while isinstance(node, Element) and node not in self._parts and len(path) < MAX_DEPTH:
            path.append(node)
            node = node.parent
        part = self._parts.get(node, self.root) if isinstance(node, Element) else self.root
        for below in reversed(path):
            inner = Part(below, part)
            part.parts.append(inner)
            part = self._parts[below] = inner
        return part


def descend(top: Part, *, listing: bool = False) -> Part:
    """The deepest part that holds nearly all the prose; of a listing, nearly all the text."""
    part = top
    while part.parts:
        inner = max(part.parts, key=_text if listing else _prose)
        held, whole = (inner.text, part.text) if listing else (inner.prose, part.prose)
        if held <= 0 or held < TOGETHER * whole or inner.element.tag in _WHOLE:
            break
        part = inner
    return part


def _prose(part: Part) -> float:
    return part.prose


def _text(part: Part) -> float:
    return part.text


def columns(blocks: Iterable[Block]) -> list[Block]:
    """The blocks of the great columns alone: a teaser is a column of one paragraph."""
    prose: dict[Element, float] = {}
    places: list[tuple[Block, Element]] = []
    for block in blocks:
        if own := block.prose:
            column = block.column
            if block.tag == "li" and isinstance(column.parent, Element):
                column = column.parent
            prose[column] = prose.get(column, 0) + own
            places.append((block, column))
    least = COLUMN * max(prose.values(), default=0)
    return [block for block, column in places if prose[column] >= least]

"""Where the text of a page is: the weight of its elements, and the element in which the weight comes together.

Always: linear in the page, whatever its depth. Never: changes the DOM.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from turbohtml import Element, Node

from orbweb.content.blocks import Block

MAX_DEPTH = 200
"""Elements above a block that feel its weight; deeper nesting is no design of a page."""
TOGETHER = 0.85
"""Share of an element's weight that one child must hold for the child to be the content instead."""
COLUMN = 0.2
"""Share of the heaviest column's prose below which another column is no part of an article."""

_WHOLE = frozenset(["p", "ul", "ol", "blockquote", "pre", "li", "dl"])


@dataclass(slots=True)
class Weight:
    """The prose and the text that an element holds."""

    prose: float = 0
    text: float = 0


Weights = dict[Element, Weight]


def weigh(blocks: Iterable[Block], top: Element) -> Weights:
    """The weights of the elements of `top`."""
    columns: Weights = {}
    weights: Weights = {}
    for block in blocks:
        weight = columns.get(block.column)
        if weight is None:
            weight = columns[block.column] = Weight()
        prose = block.prose
        weight.prose += prose
        weight.text += block.size
        if block.column is not block.element:
            weights[block.element] = Weight(prose, block.size)
    for column, own in columns.items():
        add(weights, column, top, own.prose, own.text)
    return weights


def weigh_columns(blocks: Iterable[Block], top: Element) -> Weights:
    """The prose of the great columns alone: a teaser is a column of one paragraph."""
    columns: dict[Element, float] = {}
    for block in blocks:
        if prose := block.prose:
            column = block.column
            if block.tag == "li" and isinstance(column.parent, Element):
                column = column.parent
            columns[column] = columns.get(column, 0) + prose
    least = COLUMN * max(columns.values(), default=0)
    weights: Weights = {}
    for column, own in columns.items():
        if own >= least:
            add(weights, column, top, own, own)
    return weights


def add(weights: Weights, element: Element, top: Element, prose: float, text: float) -> None:
    """Put a weight on an element and on all around it, up to `top`."""
    node: object = element
    for _ in range(MAX_DEPTH):
        if not isinstance(node, Element):
            return
        weight = weights.get(node)
        if weight is None:
            weight = weights[node] = Weight()
        weight.prose += prose
        weight.text += text
        if node is top:
            return
        node = node.parent


def inside(blocks: Iterable[Block], top: Element) -> list[Block]:
    """The blocks that are in `top`. An answer for one element serves all that are in it."""
    known: dict[object, bool] = {top: True, None: False}
    found = []
    for block in blocks:
        path: list[object] = []
        node: object = block.element
        while node not in known and len(path) < MAX_DEPTH:
            path.append(node)
            node = node.parent if isinstance(node, Element) else None
        answer = known.get(node, False)
        known.update(dict.fromkeys(path, answer))
        if answer:
            found.append(block)
    return found


def descend(weights: Weights, top: Element, *, listing: bool = False) -> Element:
    """The deepest element that holds nearly all the prose; of a listing, nearly all the text."""
    node, held = top, _held(weights, top, listing=listing)
    while True:
        children = ((_held(weights, child, listing=listing), child) for child in node.children)
        most, child = max(children, key=lambda pair: pair[0], default=(0, None))
        if not isinstance(child, Element) or most <= 0 or most < TOGETHER * held or child.tag in _WHOLE:
            return node
        node, held = child, most


def _held(weights: Weights, node: Node, *, listing: bool) -> float:
    weight = weights.get(node) if isinstance(node, Element) else None
    if weight is None:
        return 0
    return weight.text if listing else weight.prose

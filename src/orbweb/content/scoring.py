"""Where the text of a page is: the weight of its elements, and the element in which the weight comes together.

Always: linear in the page, whatever its depth. Never: changes the DOM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turbohtml import Element

from orbweb.content.blocks import Block

MAX_DEPTH = 200
"""Elements above a block that feel its weight; deeper nesting is no design of a page."""
TOGETHER = 0.85
"""Share of an element's weight that one child must hold for the child to be the content instead."""
COLUMN = 0.2
"""Share of the heaviest column's prose below which another column is no part of an article."""

_WHOLE = frozenset(["p", "ul", "ol", "blockquote", "pre", "li", "dl"])

Weights = dict[Element, float]


def chain(element: Element, top: Element) -> Iterator[Element]:
    """An element and those around it, up to `top`; nothing where it is not within `top`."""
    above: list[Element] = []
    node: object = element
    while isinstance(node, Element) and len(above) < MAX_DEPTH:
        above.append(node)
        if node is top:
            return iter(above)
        node = node.parent
    return iter(())


def weigh(blocks: Iterable[Block], top: Element) -> tuple[Weights, Weights]:
    """The prose and the text that each element holds."""
    prose: Weights = {}
    text: Weights = {}
    columns: dict[Element, list[float]] = {}
    for block in blocks:
        column = block.column
        sums = columns.setdefault(column, [0, 0])
        sums[0] += block.prose
        sums[1] += block.size
        if column is not block.element:
            prose[block.element] = prose.get(block.element, 0) + block.prose
            text[block.element] = text.get(block.element, 0) + block.size
    for column, (own_prose, own_text) in columns.items():
        for element in chain(column, top):
            prose[element] = prose.get(element, 0) + own_prose
            text[element] = text.get(element, 0) + own_text
    return prose, text


def weigh_columns(blocks: Iterable[Block], top: Element) -> Weights:
    """The prose of the great columns alone: a teaser is a column of one paragraph."""
    columns: Weights = {}
    for block in blocks:
        if block.prose:
            column = block.column
            if block.tag == "li" and isinstance(column.parent, Element):
                column = column.parent
            columns[column] = columns.get(column, 0) + block.prose
    least = COLUMN * max(columns.values(), default=0)
    weights: Weights = {}
    for column, own in columns.items():
        if own >= least:
            for element in chain(column, top):
                weights[element] = weights.get(element, 0) + own
    return weights


def descend(weights: Weights, top: Element) -> Element:
    """The deepest element that holds nearly all the weight."""
    node = top
    while True:
        held, child = max(
            ((weights.get(child, 0), child) for child in node.children if isinstance(child, Element)),
            key=lambda pair: pair[0],
            default=(0, None),
        )
        if child is None or held <= 0 or held < TOGETHER * weights.get(node, 1) or child.tag in _WHOLE:
            return node
        node = child

"""The text of the links of a page, read back from its body: what a visitor clicks on to reach a URL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from orbweb.parsing import robots_meta
from orbweb.parsing.html import page_facts
from orbweb.parsing.page import base_of, dom
from orbweb.urls import Resolver

MOST_CHARACTERS = 200
_LINKS = {"a": "href", "area": "href", "iframe": "src", "img": "src"}
"""Elements that lead to a URL and have a text or a name, and the attribute with the URL."""

Node = tuple[int, str | None, str, tuple[tuple[str, str], ...]]
"""Depth, namespace (None for a text), name or text, attributes: see `Tree.outline`."""


def link_texts(
    body: bytes, url: str, keys: Collection[str], *, resolver: Resolver, content_type: str | None = None
) -> dict[str, str]:
    """The text of the first link to each of these keys, where there is one; TooComplex as for any page."""
    tree = dom(body, content_type)
    base = base_of(page_facts.read(tree, robots_meta.addressees(robots_meta.EVERYONE)).base, url, resolver)
    found: dict[str, str] = {}
    for href, text in _links(tree.outline()):
        target = base.target(href)
        if target is not None and target.key in keys and text and target.key not in found:
            found[target.key] = text
    return found


def _links(nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """The URL as written, and the text or the name of each link, in document order."""
    for number, (depth, space, name, attributes) in enumerate(nodes):
        if space is None or name not in _LINKS:
            continue
        given = dict(attributes)
        if _LINKS[name] in given:
            yield given[_LINKS[name]], _text(nodes, number + 1, depth) or _named(given)


def _text(nodes: Sequence[Node], first: int, depth: int) -> str:
    """The texts below a node, and the replacement texts of images, on one line."""
    parts: list[str] = []
    size = 0
    for inner, space, name, attributes in _below(nodes, first, depth):
        part = name if space is None else dict(attributes).get("alt", "") if name == "img" else ""
        parts.append(part)
        size += len(part)
        if inner and size > 4 * MOST_CHARACTERS:
            break
    return _one_line("".join(parts))


def _below(nodes: Sequence[Node], first: int, depth: int) -> Iterator[Node]:
    for number in range(first, len(nodes)):
        if nodes[number][0] <= depth:
            return
        yield nodes[number]


def _named(attributes: dict[str, str]) -> str:
    return next((_one_line(attributes[name]) for name in ("aria-label", "title", "alt") if name in attributes), "")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:MOST_CHARACTERS]

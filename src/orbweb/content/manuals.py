"""Manuals and references: pages whose sections can be linked to, or that are full of code.

Always: reads tags and names, so it is the same in every language. Never: knows a generator.
"""

from __future__ import annotations

from itertools import islice

from turbohtml import Element

from orbweb.content.titles import HEADINGS, letters

SECTIONS = 3
"""Sections with an address of their own that make a manual."""
LISTINGS = 3
"""Pieces of code that make one of what declares to be an article; else one is enough."""
MAX_HEADINGS = 50
MAX_LINKS = 5
"""Headings, and links in each, that are looked at for an address."""

_SECTIONS = frozenset(("section", "div"))
_BEGINNING = 100
"""Characters, blanks and all, in which an element says what it is about."""


def is_manual(root: Element, *, declared: bool) -> bool:
    """Whether a page is a manual, by the ways of writing that all generators share.

    Of a page that declares to be an article only much code counts: others give addresses to their sections too.
    """
    listings = sum(1 for _ in islice(root.iter_elements("pre"), LISTINGS))
    if listings:
        return not declared or listings == LISTINGS
    headings = () if declared else islice(root.iter_elements(HEADINGS[1:]), MAX_HEADINGS)
    return sum(1 for _ in islice(filter(_has_address, headings), SECTIONS)) == SECTIONS


def _has_address(heading: Element) -> bool:
    """Whether a section can be linked to: by its heading, or by the element that the heading begins."""
    if heading.attr("id") or any(map(_is_anchor, islice(heading.iter_elements("a"), MAX_LINKS))):
        return True
    around = heading.parent
    named = around.attr("id") if isinstance(around, Element) and around.tag in _SECTIONS else None
    return bool(named) and letters(heading.text).endswith(letters(named or ""))


def _is_anchor(link: Element) -> bool:
    return bool(link.attr("name") or link.attr("id"))


def is_linked_to_itself(element: Element) -> bool:
    """Whether an element is a heading that is the link to its own section."""
    if element.tag not in HEADINGS:
        return False
    return all((link.attr("href") or "#").startswith("#") for link in element.iter_elements("a"))


def tells(element: Element, word: str) -> bool:
    """Whether an element begins by saying a word of its own name: then the name is its topic."""
    return word in letters(element.text[:_BEGINNING])

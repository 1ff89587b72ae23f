"""Manuals and references: pages whose sections can be linked to, or that are full of code.

Always: reads tags and names, so it is the same in every language. Never: knows a generator.
"""

from __future__ import annotations

import re
from itertools import islice

from turbohtml import Element

SIGNS = 3
"""Sections with an address of their own, and listings, that make a manual."""
MAX_HEADINGS = 200
"""Headings that are looked at."""

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BELOW_TITLE = ("h2", "h3", "h4", "h5", "h6")
_SECTIONS = frozenset(("section", "div"))
_BEGINNING = 100
"""Characters, blanks and all, in which an element says what it is about."""
_no_letters = re.compile(r"[\W_]+")


def is_manual(root: Element, *, declared: bool) -> bool:
    """Whether a page is a manual, by the ways of writing that all generators share.

    Of a page that declares to be an article only the code counts: addresses are given to the sections of any text.
    """
    signs = sum(1 for _ in islice(root.iter_elements("pre"), SIGNS))
    for heading in () if declared else islice(root.iter_elements(_BELOW_TITLE), MAX_HEADINGS):
        if signs >= SIGNS:
            break
        signs += _has_address(heading)
    return signs >= SIGNS


def _has_address(heading: Element) -> bool:
    """Whether a section can be linked to: by its heading, or by the element that the heading begins."""
    if heading.attr("id") or any(link.attr("name") or link.attr("id") for link in heading.iter_elements("a")):
        return True
    around = heading.parent
    named = around.attr("id") if isinstance(around, Element) and around.tag in _SECTIONS else None
    return bool(named) and _letters(heading.text).endswith(_letters(named or ""))


def is_linked_to_itself(element: Element) -> bool:
    """Whether an element is a heading that is the link to its own section."""
    if element.tag not in _HEADINGS:
        return False
    return all((link.attr("href") or "#").startswith("#") for link in element.iter_elements("a"))


def tells(element: Element, word: str) -> bool:
    """Whether an element begins by saying a word of its own name: then the name is its topic."""
    return word in _letters(element.text[:_BEGINNING])


def _letters(text: str) -> str:
    return _no_letters.sub("", text).casefold()

"""Which part of a page is its content."""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Document as Dom
from turbohtml import Element


@dataclass(frozen=True, slots=True)
class Main:
    """The element that holds the content, cleaned of what is not content."""

    element: Element
    confidence: float
    generator: str
    hidden: int


def choose(dom: Dom) -> Main:
    """The main element of a page. What is left in it is content."""
    found = next((each for tag in ("main", "article", "body", "html") if (each := dom.select_one(tag))), None)
    if found is None:
        found = Element("body")
    found.remove("script, style, template, noscript")
    return Main(found, 0.5, "", 0)

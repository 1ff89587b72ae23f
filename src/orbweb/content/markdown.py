"""The main element becomes Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Element, Markdown

from orbweb.model import Heading


@dataclass(frozen=True, slots=True)
class Rendered:
    """The Markdown of an element and the headings in it."""

    markdown: str
    headings: tuple[Heading, ...]


def render(element: Element, url: str) -> Rendered:
    """The Markdown of an element; its links are made absolute against `url`."""
    element.resolve_links(url)
    headings = tuple(
        Heading(int(found.tag[1]), " ".join(found.text.split()))
        for found in element.select("h1, h2, h3, h4, h5, h6")
    )
    return Rendered(element.to_markdown(Markdown()), headings)

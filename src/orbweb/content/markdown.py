"""The main element becomes Markdown.

Always: what is written reads back, by a CommonMark reader with tables, as the same headings, code, tables and
words; text that looks like Markdown is escaped. The element is used up: it has then the shape for text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from turbohtml import Element, Markdown

from orbweb.content.shape import MATH, shape
from orbweb.content.tables import BREAK
from orbweb.model import Heading


@dataclass(frozen=True, slots=True)
class Rendered:
    """The Markdown of an element and the headings in it."""

    markdown: str
    headings: tuple[Heading, ...]


def render(element: Element, url: str) -> Rendered:
    """The Markdown of an element; its links are made absolute against `url`, or the `<base>` of its page."""
    shape(element, url)
    headings = tuple(
        Heading(int(found.tag[1]), " ".join(found.text.split()))
        for found in element.iter_elements(("h1", "h2", "h3", "h4", "h5", "h6"))
    )
    return Rendered(_tidy(element.to_markdown(_OPTIONS), element), headings)


def _formula(element: Element, _inner: str) -> str:
    tex = " ".join(element.text.split())
    return f"$${tex}$$" if element.has_class("display") else f"${tex}$"


def _raised(element: Element, inner: str) -> str:
    """An exponent or an index. Inside a table the caller escapes bars once more."""
    inner = inner.replace("\\|", "|")
    return f"<{element.tag}>{inner}</{element.tag}>" if inner else ""


_OPTIONS = Markdown(
    tables=Markdown.Tables(header="detect", cell_blocks="text"),
    converters={"sup": _raised, "sub": _raised, MATH: _formula},
)
_breaks = re.compile(rf" *(?:{BREAK} *)+")
_inner_underscores = re.compile(r"\\_(?<=[^\W_]\\_)(?=[^\W_])")


def _tidy(markdown: str, element: Element) -> str:
    if BREAK in markdown:
        markdown = _breaks.sub(" <br> ", markdown).replace("| <br> ", "| ").replace(" <br> |", " |")
    if "\\_" in markdown and "\\_" not in element.text:
        markdown = _inner_underscores.sub("_", markdown)
    return markdown

"""The main element becomes Markdown and text.

Always: what is written reads back, by a CommonMark reader with tables, as the same headings, code, tables and
words; text that looks like Markdown is escaped. The element is used up: it has then the shape for text.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from turbohtml import Element, Markdown

from orbweb.content import signs, text
from orbweb.content.shape import shape
from orbweb.content.titles import HEADINGS
from orbweb.model import Heading


@dataclass(frozen=True, slots=True)
class Rendered:
    """The Markdown and the plain text of an element, and the headings in it."""

    markdown: str
    text: str
    headings: tuple[Heading, ...]


def render(element: Element, url: str, classes: Set[str]) -> Rendered:
    """What people read of an element; its links are made absolute against `url`, or the `<base>` of its page.

    `classes` are all class names that may occur in it.
    """
    shape(element, url, classes)
    headings = tuple(
        Heading(int(found.tag[1]), " ".join(signs.speak(found.text).split()))
        for found in element.iter_elements(HEADINGS)
    )
    markdown = signs.write(element.to_markdown(_OPTIONS))
    plain = text.plain(element)
    return Rendered(_tidy(markdown, plain), plain, headings)


_OPTIONS = Markdown(tables=Markdown.Tables(header="detect", cell_blocks="text"))
_HARD = "&#160;"
"""How the renderer writes a blank that does not break where a plain one would be lost."""
_hard_blanks = re.compile(rf"{_HARD}(?:[ \xa0]|{_HARD})*+(\n++|\Z)?")
_begins_item = re.compile(r" *(?:[-*+]|\d+[.)]) ").match
_inner_underscores = re.compile(r"\\_(?<=[^\W_]\\_)(?=[^\W_])")


def _tidy(markdown: str, plain: str) -> str:
    """An underscore between letters needs no backslash, and a line no blank that nobody sees; where the page has
    written some, all are left."""
    if _HARD in markdown and _HARD not in plain:
        markdown = _without_hard_ends(markdown)
    if "\\_" in markdown and "\\_" not in plain:
        markdown = _inner_underscores.sub("_", markdown)
    return markdown


def _without_hard_ends(markdown: str) -> str:
    """Without blanks at the end of lines, and lines of nothing else, but for one that keeps two lists apart."""
    kept: list[str] = []
    last = 0
    for found in _hard_blanks.finditer(markdown):
        if found[1] is None:
            continue
        before = markdown[last : found.start()].rstrip(" \xa0")
        alone = not before or before[-1] == "\n"
        if before.endswith(">") or (alone and _begins_item(markdown, found.end())):
            kept.append(markdown[last : found.end()])
        else:
            kept.append(before if alone else before + found[1])
        last = found.end()
    return "".join((*kept, markdown[last:])).rstrip("\n")

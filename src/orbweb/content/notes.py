"""A note, a warning, a tip: a quotation with a bold title.

Owns by which classes generators mark them, and their titles.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import islice

from turbohtml import Element, Text

from orbweb.content.titles import HEADINGS

MARKS = frozenset(
    (
        *("admonition", "theme-admonition", "markdown-alert", "custom-block", "notecard", "admonitionblock"),
        *("callout", "alert", "note", "tip", "warning", "important", "caution", "danger", "hint", "attention"),
        *("remark", "todo", "deprecated"),
    )
)
_TAGS = frozenset(("div", "section", "aside", "dl", "details", "blockquote"))
_TITLES = frozenset(
    (
        *("admonition-title", "admonition-heading", "markdown-alert-title", "custom-block-title", "alert-title"),
        *("callout-title", "alert-heading", "icon", "title"),
    )
)
_TITLE_WITHIN = 8
"""Elements of a note among which its title is."""
_NOT_BOLD = (*HEADINGS, "strong", "pre", "table", "summary", "details", "dl")


def shape(root: Element, marked: Set[str]) -> None:
    """A note is a quotation with a bold title."""
    for found in root.select(", ".join(sorted(f".{name}" for name in marked))):
        if found.tag not in _TAGS:
            continue
        for child in found.children:
            if isinstance(child, Element) and child.tag == "table":
                child.attrs["role"] = "presentation"
        for inner in islice(found.iter_elements(), _TITLE_WITHIN):
            if _is_title(inner):
                _name_icon(inner)
                embolden(inner)
                break
        if found.tag == "dl":
            _note_of_terms(found)
        if found.tag != "details":
            found.tag = "blockquote"


def _is_title(inner: Element) -> bool:
    words = inner.attr("class")
    if not words or inner.tag in HEADINGS:
        return False
    return not _TITLES.isdisjoint(words.split()) or "admonitionHeading" in words


def _name_icon(title: Element) -> None:
    """A sign out of a font shows what its title says."""
    icon = next(title.iter_elements("i"), None)
    if icon is not None and not title.text.strip() and (said := icon.attr("title")):
        icon.replace_with(Text(said))


def embolden(title: Element) -> None:
    """Make a title bold that is not by itself."""
    if next(title.iter_elements(_NOT_BOLD), None) is None and title.text.strip():
        title.strip_tags("p, div, b")
        title.wrap_children(Element("strong"))


def _note_of_terms(found: Element) -> None:
    for child in found.children:
        if isinstance(child, Element) and child.tag in ("dt", "dd"):
            if child.tag == "dt":
                embolden(child)
            child.tag = "div"

"""Elements of a page by CSS selector and by XPath, for programs that read fields from pages.

turbohtml has both languages on one tree. It is imported, and the page parsed, when something is selected: a crawl
does neither. Pages are bounded as in a crawl; DTDs, entities of a document and other files are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from orbweb.errors import UsageError
from orbweb.parsing.encodings import decoded, encoding_of
from orbweb.parsing.page import check_nodes, check_size

# Their text is read by programs: JSON, style sheets, what a form contains.
_RAW = frozenset(("script", "style", "textarea"))
# Without the table around them, nothing separates cells and rows.
_PARTS_OF_TABLES = {"tr": " ", "tbody": "\n", "thead": "\n", "tfoot": "\n"}


# Slots by hand: with `slots=True` a frozen dataclass raises TypeError when a property is assigned to.
@dataclass(frozen=True, repr=False)
class Selectable:
    """A page or an element in which elements are selected."""

    __slots__ = ("_node",)

    _node: Any

    def select(self, css: str) -> list[Element]:
        """The elements inside that match a CSS selector, in document order."""
        try:
            return [Element(node) for node in self._node.select(css)]
        except ValueError as error:
            raise UsageError(_selector_message(css, error)) from None

    def select_one(self, css: str) -> Element | None:
        """The first of them; None if there is none."""
        try:
            node = self._node.select_one(css)
        except ValueError as error:
            raise UsageError(_selector_message(css, error)) from None
        return None if node is None else Element(node)

    def xpath(self, expression: str, /, **variables: str | float | bool) -> list[Element | str | float | bool]:
        """What an XPath 1.0 expression gives: elements, or the strings of attributes, texts and comments.

        A string, a number or a truth value is a list of one. `variables` are the values of `$name`.
        """
        try:
            found = self._node.xpath(expression, **variables)
        except (ValueError, re.error) as error:
            raise UsageError(f"not a valid XPath expression: {expression!r} ({error})") from None
        return list(_values(found if isinstance(found, list) else [found]))


@dataclass(frozen=True, repr=False)
class Element(Selectable):
    """An element of a page. Equal to another only if both are the same place of the same parse."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Element {self.tag} {self.attributes}>"

    @property
    def tag(self) -> str:
        """The name of the element, in lower case for HTML."""
        return str(self._node.tag)

    @property
    def text(self) -> str:
        """The text as displayed: white space collapsed, one line per block. That of a script is unchanged."""
        if self.tag in _RAW:
            return str(self._node.text)
        return _displayed(self._node)

    @property
    def html(self) -> str:
        """The markup of the element and everything inside."""
        return str(self._node.serialize())

    @property
    def attributes(self) -> dict[str, str]:
        """All attributes, in the order of the page."""
        return {name: self._node.attr(name) or "" for name in self._node.attrs}

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of an attribute, as written in the page: URLs may be relative."""
        value = self._node.attr(name)
        return default if value is None else str(value)


def parse(html: str | bytes, content_type: str | None = None) -> Selectable:
    """A page, decoded as in a crawl. TooComplex for one that is too large or has too many elements."""
    import turbohtml

    check_size(html)
    text = html if isinstance(html, str) else decoded(html, encoding_of(html, content_type))
    check_nodes(text.encode("utf-8", "surrogatepass"))
    return Selectable(turbohtml.parse(text))


def _values(found: Iterable[Any]) -> Iterator[Element | str | float | bool]:
    """Elements, and nodes of other kinds by their text."""
    from turbohtml import Element as Node

    for value in found:
        if isinstance(value, Node):
            yield Element(value)
        elif isinstance(value, str | float | bool):
            yield value
        else:
            yield str(getattr(value, "data", value.text))


def _displayed(node: Any) -> str:
    from turbohtml import PlainText

    if node.tag in _PARTS_OF_TABLES:
        return _PARTS_OF_TABLES[node.tag].join(filter(None, map(_displayed, node.xpath("./*"))))
    lines = node.to_text(PlainText(layout="strict", bullet="", table_cell_separator=" ")).splitlines()
    return "\n".join(line for line in map(str.rstrip, lines) if line)


def _selector_message(css: str, error: ValueError) -> str:
    if "::" in css:
        return f"not a selector of elements: {css!r}; in place of ::text use .text, of ::attr(name) .get('name')"
    return f"not a valid CSS selector: {css!r} ({str(error).rpartition(': ')[2]})"

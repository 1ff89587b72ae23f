"""HTML and SVG from parts. A text is escaped, unless it is markup that was made here."""

from __future__ import annotations

import html
from collections.abc import Iterable

EMPTY = frozenset({"br", "circle", "col", "meta", "path", "rect"})
"""Elements without content."""
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(128, 160)), 65533)


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        """Templates do not escape it again."""
        return self


def escaped(text: str) -> Markup:
    """A text as markup; a text that is markup already is left. Control characters and lone surrogates are
    replaced, so that the file is valid UTF-8."""
    if isinstance(text, Markup):
        return text
    clean = text.translate(_CONTROLS).encode("utf-8", "replace").decode()
    return Markup(html.escape(clean))


def joined(parts: Iterable[str]) -> Markup:
    return Markup("".join(escaped(part) for part in parts))


def element(tag: str, /, *content: str, **attributes: str | float | None) -> Markup:
    """An element. An attribute is written with `-` for `_`, without the last `_`; None leaves it out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag in EMPTY and not content:
        return Markup(f"<{tag}{given}>" if tag in ("br", "col", "meta") else f"<{tag}{given}/>")
    return Markup(f"<{tag}{given}>{joined(content)}</{tag}>")

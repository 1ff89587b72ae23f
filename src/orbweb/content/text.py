"""The main element becomes plain text: one line a block, the lines of code as they are, no markup and no URL.

Reads the element that Markdown was written from, so both have the same words.
"""

from __future__ import annotations

from turbohtml import Element, PlainText

from orbweb.content import signs

_OPTIONS = PlainText(table_cell_separator=" ", layout="strict")


def plain(element: Element) -> str:
    """The text of an element that Markdown was written from. It depends on the words alone, not on any URL."""
    for found in list(element.iter_elements(("ul", "ol", "li"))):
        found.tag = "div"
    lines = signs.speak(element.to_text(_OPTIONS)).replace("\xa0", " ").split("\n")
    return "\n".join([" ".join(line.split()) if "  " in line else line for raw in lines if (line := raw.strip())])

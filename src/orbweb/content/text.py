"""The main element becomes plain text: one line a block, the lines of code as they are, no markup and no URL.

Reads the element that Markdown was written from, so both have the same words.
"""

from __future__ import annotations

from turbohtml import Element, PlainText

from orbweb.content import signs

_OPTIONS = PlainText(table_cell_separator=" ", layout="strict", bullet="")


def plain(element: Element) -> str:
    """The text of an element that Markdown was written from. It depends on the words alone, not on any URL.

    Between two words is one blank or the end of a line.
    """
    for found in list(element.iter_elements(("ul", "ol"))):
        found.tag = "div"
    text = signs.speak(element.to_text(_OPTIONS)).replace("\xa0", " ").replace("\t", " ")
    text = "\n".join(filter(None, map(str.strip, text.split("\n"))))
    if "  " in text:
        text = "\n".join([" ".join(line.split()) if "  " in line else line for line in text.split("\n")])
    return text


def words(text: str) -> int:
    """How many words a text of `plain` has."""
    return text.count(" ") + text.count("\n") + 1 if text else 0

"""The main element becomes plain text."""

from __future__ import annotations

from turbohtml import Element


def plain(element: Element) -> str:
    """The text of an element, one line a block. It depends on the words alone, not on any URL."""
    return "\n".join(line for raw in element.to_text().splitlines() if (line := " ".join(raw.split())))

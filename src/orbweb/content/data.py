"""The text that a page carries only as data for scripts and search engines.

Always: bounded in size and depth. Never: raises for broken data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from turbohtml import Document as Dom
from turbohtml import Element

MAX_CHARACTERS = 1_000_000
"""Of the data of a page that is read."""
MAX_DEPTH = 8

_TEXTS = ("articleBody", "text", "description")


def scripts(dom: Dom) -> list[Element]:
    """The scripts of a page, to be asked for before they are dropped."""
    return list(dom.iter_elements(("script",)))


def text(found: Iterable[Element]) -> str:
    """The longest text in the data among scripts."""
    best, room = "", MAX_CHARACTERS
    for element in found:
        if element.attr("type") != "application/ld+json":
            continue
        source = element.text
        room -= len(source)
        if room < 0:
            break
        try:
            value = json.loads(source)
        except (ValueError, RecursionError):
            continue
        best = max(best, _longest(value, MAX_DEPTH), key=len)
    return best


def _longest(value: object, depth: int) -> str:
    if depth == 0:
        return ""
    if isinstance(value, list):
        return max((_longest(item, depth - 1) for item in value), key=len, default="")
    if not isinstance(value, dict):
        return ""
    own = (said for name in _TEXTS if isinstance(said := value.get(name), str))
    inner = (_longest(item, depth - 1) for item in value.values())
    return max((*own, *inner), key=len, default="")

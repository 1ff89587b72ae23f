"""The heading of a page that says what its title says.

Always: letters and digits are compared, whatever their case and whatever stands between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from turbohtml import Document as Dom
from turbohtml import Element

from orbweb.content.names import verdict

MAX_HEADINGS = 30
"""Headings among which the title is looked for."""
MAX_TITLE = 2_000
"""Characters of a text that are compared."""
MAX_DEPTH = 200
"""Elements above a heading that are looked at."""
MOST = 0.5
"""Share of a heading that a part of the title is."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LEVELS = HEADINGS[:4]
_CHROME = frozenset(("nav", "aside", "footer"))
_no_letters = re.compile(r"[\W_]+").sub
_parts = re.compile(r"\s+[^\w\s]{1,3}\s+|\s*[|\xbb\xab]\s*|\s+\(").split


def letters(text: str) -> str:
    """What must agree where two texts say the same."""
    return _no_letters("", text[:MAX_TITLE]).casefold()


def find(dom: Dom, body: Element) -> list[Element]:
    """The headings that say a part of the title and are no chrome, the likeliest first.

    A link to another page may be the name of the site: it counts only where there is nothing else. A heading of
    the second level counts only where none of the first does, one below it only where there are no others.
    """
    title = dom.find("title")
    stated = title.text[:MAX_TITLE].strip() if title is not None else ""
    parts = list(filter(None, map(letters, (stated, *_parts(stated)))))
    for level in _LEVELS:
        headings = list(islice(body.iter_elements(level), MAX_HEADINGS))
        said = {heading: _said(letters(heading.text), parts) for heading in headings}
        found = [heading for heading, count in said.items() if count and not _is_chrome(heading)]
        if found:
            own = [heading for heading in found if not _leads_away(heading)]
            return sorted(own or found, key=said.__getitem__, reverse=True)
        if level == "h2" and headings:
            break
    return []


def _leads_away(heading: Element) -> bool:
    """Whether a heading is nothing but a link to another page."""
    links = [link for link in heading.iter_elements("a") if not (link.attr("href") or "#").startswith("#")]
    return any(letters(link.text) == letters(heading.text) for link in links)


def _is_chrome(heading: Element) -> bool:
    """Whether a heading stands in what its tag or its names call chrome. A `<header>` may be that of the text."""
    around = [node for node in islice(heading.ancestors, MAX_DEPTH) if isinstance(node, Element)]
    return any(
        node.tag in _CHROME or verdict(node.attr("class") or "") or verdict(node.attr("id") or "")
        for node in around
    )


def _said(heading: str, parts: list[str]) -> int:
    """How many letters of a part of the title a heading says, if they are most of it, or it is one of them."""
    if not heading:
        return 0
    return max((len(part) for part in parts if part in heading and len(part) >= MOST * len(heading)), default=0)


def put(headings: Sequence[Element], element: Element) -> None:
    """Let an element begin with the likeliest heading, unless one of them is in there, or it is in a heading."""
    is_there = any(around == element for heading in headings for around in islice(heading.ancestors, MAX_DEPTH))
    if headings and not is_there and element.closest(", ".join(_LEVELS)) is None:
        element.insert(0, headings[0].extract())

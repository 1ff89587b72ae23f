"""Signs that stand in a DOM for markup that its renderer does not write, until the Markdown or the text is there.

Each is a code point of which Unicode says that it never is a character, so no page that means something holds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from turbohtml import Element, Text

BREAK = "\ufdd1"
"""A line break inside a cell."""
RAISED = {"sup": ("\ufdd2", "\ufdd3"), "sub": ("\ufdd4", "\ufdd5")}
GAP = "\ufdd9"
"""A paragraph of its own that keeps the blocks around it apart and is not written."""
_INLINE, _DISPLAY, _END = "\ufdd6", "\ufdd7", "\ufdd8"

_formulas = re.compile(rf"(`+) ?([{_INLINE}{_DISPLAY}])([^{_END}]*){_END} ?\1")
_signs = re.compile("[\ufdd1-\ufdd9]")
_WRITTEN = (
    *((sign, f"<{tag}>") for tag, (sign, _) in RAISED.items()),
    *((sign, f"</{tag}>") for tag, (_, sign) in RAISED.items()),
    *((_INLINE, ""), (_DISPLAY, ""), (_END, ""), (GAP, "")),
)
_SPOKEN = ((BREAK, " "), *((sign, "") for sign, _ in _WRITTEN))


def formula(tex: str, *, display: bool) -> str:
    """What a code span says so that it becomes a formula."""
    return f"{_DISPLAY if display else _INLINE}{_signs.sub('', ' '.join(tex.split()))}{_END}"


def gap() -> Element:
    """What keeps two blocks apart that the renderer would join."""
    return Element("p", children=(Text(GAP),))


def write(markdown: str) -> str:
    """Markdown with the markup that the signs in it stand for."""
    if _END in markdown:
        markdown = _formulas.sub(_dollars, markdown)
    if GAP in markdown:
        markdown = _closed(markdown)
    if BREAK in markdown:
        lines = (line for part in markdown.split(BREAK) if (line := part.strip(" ")))
        markdown = " <br> ".join(lines).replace("| <br> ", "| ").replace(" <br> |", " |")
    return _replaced(markdown, _WRITTEN)


def speak(text: str) -> str:
    """Text without the signs."""
    return _replaced(text, _SPOKEN)


def _closed(markdown: str) -> str:
    """Without the gaps: each is a paragraph, of which its line and the blank line before it go."""
    *parts, last = markdown.split(GAP)
    return "".join([_without_line(_without_line(part)) for part in parts] + [last])


def _without_line(part: str) -> str:
    head, line_break, line = part.rpartition("\n")
    return head if line_break and not line.strip("> ") else part


def _replaced(text: str, signs: Iterable[tuple[str, str]]) -> str:
    if not text.isascii():
        for sign, meant in signs:
            text = text.replace(sign, meant)
    return text


def _dollars(found: re.Match[str]) -> str:
    mark = "$$" if found[2] == _DISPLAY else "$"
    return f"{mark}{found[3]}{mark}"

"""Placeholders in a DOM for markup that the renderer does not write, until Markdown and text are complete.

Each consists of two Unicode noncharacters, which no real page contains. The first is the same for all, so one
search for it shows that nearly all texts have no placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SIGN = "\ufdd0"
BREAK = f"{_SIGN}\ufdd1"
"""A line break inside a cell."""
RAISED = {"sup": (f"{_SIGN}\ufdd2", f"{_SIGN}\ufdd3"), "sub": (f"{_SIGN}\ufdd4", f"{_SIGN}\ufdd5")}
GAP = f"{_SIGN}\ufdd9"
"""A paragraph that separates the blocks around it and is not written."""
TASK = (f"{_SIGN}\ufdda", f"{_SIGN}\ufddb")
"""The check box of a list item: open, checked."""
_INLINE, _DISPLAY, _END = f"{_SIGN}\ufdd6", f"{_SIGN}\ufdd7", f"{_SIGN}\ufdd8"

_formulas = re.compile(rf"(`+) ?({_INLINE}|{_DISPLAY})([^{_SIGN}]*){_END} ?\1")
_WRITTEN = {
    **{opening[1]: f"<{tag}>" for tag, (opening, _) in RAISED.items()},
    **{closing[1]: f"</{tag}>" for tag, (_, closing) in RAISED.items()},
    TASK[False][1]: "[ ]",
    TASK[True][1]: "[x]",
    **dict.fromkeys((_INLINE[1], _DISPLAY[1], _END[1], GAP[1]), ""),
}
_SPOKEN = {**dict.fromkeys(_WRITTEN, ""), BREAK[1]: " "}


def formula(tex: str, *, display: bool) -> str:
    """The prefix of a code span that becomes a formula."""
    return f"{_DISPLAY if display else _INLINE}{' '.join(tex.replace(_SIGN, '').split())}{_END}"


def write(markdown: str) -> str:
    """Markdown with placeholders replaced by their markup."""
    if _SIGN not in markdown:
        return markdown
    if _END in markdown:
        markdown = _formulas.sub(_dollars, markdown)
    if GAP in markdown:
        markdown = _closed(markdown)
    if BREAK in markdown:
        lines = (line for part in markdown.split(BREAK) if (line := part.strip(" ")))
        markdown = " <br> ".join(lines).replace("| <br> ", "| ").replace(" <br> |", " |")
    return _replaced(markdown, _WRITTEN)


def speak(text: str) -> str:
    """Text without placeholders."""
    return _replaced(text, _SPOKEN) if _SIGN in text else text


def _closed(markdown: str) -> str:
    """Remove the gaps: each is a paragraph, of which its line and the blank line before it are removed."""
    *parts, last = markdown.split(GAP)
    return "".join([_without_line(_without_line(part)) for part in parts] + [last])


def _without_line(part: str) -> str:
    head, line_break, line = part.rpartition("\n")
    return head if line_break and not line.strip("> ") else part


def _replaced(text: str, meant: Mapping[str, str]) -> str:
    first, *rest = text.split(_SIGN)
    return first + "".join([meant.get(part[:1], part[:1]) + part[1:] for part in rest])


def _dollars(found: re.Match[str]) -> str:
    mark = "$$" if found[2] == _DISPLAY else "$"
    return f"{mark}{found[3]}{mark}"

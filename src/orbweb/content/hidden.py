"""What a reader of a page does not see: scripts, styles, controls, and text that is hidden.

Owns what is hidden. Always: hidden text is counted; what one click shows (a closed `<details>`, a tab that is not
the active one) is not hidden, nor is an element that holds most of the page, because then a script shows it; what
React streams behind the page is put in its place first. Never: reads style sheets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from turbohtml import Element, Text

from orbweb.content import formulas, signs
from orbweb.content.names import Used

MAX_WEIGHED = 50
"""Hidden elements of which it is asked whether they hold most of the page; those around others come first."""

MOST = 0.9
"""Share of the text of a page that an element holds which is not hidden for long,"""
PAGEFUL = 500
"""if it has as many characters as this."""

TASK_DEPTH = 3
"""How far above its box an item of a list may be."""

_NO_TEXT = (
    *("script", "style", "template", "iframe", "object", "embed", "canvas", "svg", "noscript", "video", "audio"),
    *("map", "link", "meta", "button", "select", "input", "textarea", "datalist", "progress", "meter", "dialog"),
)
_FORMULA = "math"
_TITLES = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary"))
_FOR_LISTENERS = frozenset(("sr-only", "visually-hidden", "screen-reader-text"))
_MARKED = ("[hidden]", "[aria-hidden=true]", "[style*=none i]", "[style*=hidden i]")
_hides = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE).search
_STREAMED = 'div[hidden][id^="S:"]'
_PLACES = 'template[id^="P:"], template[id^="B:"]'


def drop(body: Element, used: Used) -> int:
    """Take out what is not shown on a page with these names. Returns the characters of the hidden text."""
    if body.find("template") is not None:
        _place_streamed(body)
    spare, has_formulas = [], False
    for element in list(body.iter_elements((*_NO_TEXT, _FORMULA))):
        tag = element.tag
        if tag == _FORMULA:
            has_formulas = True
        elif tag == "noscript":
            spare.append(element)
        elif _is_shown(element):
            continue
        elif tag == "input" and _is_of_task(element):
            element.replace_with(Text(f"{signs.TASK[element.attr('checked') is not None]} "))
        elif tag == "button" and isinstance(element.parent, Element) and element.parent.tag in _TITLES:
            element.tag = "span"
        else:
            element.extract()
    _settle(spare, body)
    marked = (*_MARKED, *(f".{name}" for name in sorted(_FOR_LISTENERS & used.classes)))
    found = [element for element in body.select(", ".join(marked)) if _is_hidden(element)]
    if has_formulas:
        found = [element for element in found if not _is_formula(element)]
    if not found:
        return 0
    sizes = [len(element.text) for element in islice(found, MAX_WEIGHED)]
    if max(sizes) > PAGEFUL:
        most = MOST * len(body.text)
        found = [element for place, element in enumerate(found) if place >= len(sizes) or sizes[place] <= most]
    # From the last to the first, so that what is hidden twice counts once.
    return sum(len(element.extract().text) for element in reversed(found))


def _is_shown(element: Element) -> bool:
    """What a reader sees in a tag that has no text else: a formula for a script, a field filled with lines."""
    if element.tag == "script":
        return formulas.is_source(element)
    return element.tag == "textarea" and "\n" in element.text.strip()


def _is_of_task(element: Element) -> bool:
    """Whether a box begins an item of a list that nobody can tick, or that says what it is."""
    if element.attr("type") != "checkbox":
        return False
    around = [node for node in islice(element.ancestors, TASK_DEPTH + 1) if isinstance(node, Element)]
    item = next((node for node in around[:TASK_DEPTH] if node.tag == "li"), None)
    return item is not None and (
        element.attr("disabled") is not None or any(node.has_class("task-list") for node in around)
    )


def _is_hidden(element: Element) -> bool:
    if element.attr("role") == "tabpanel":
        return False
    if element.attr("aria-hidden") == "true" and _is_spoken_above(element):
        return False
    if element.attr("aria-hidden") == "true" or element.attr("hidden", "until-found") != "until-found":
        return True
    if _hides(element.attr("style") or "") is not None:
        return True
    return not _FOR_LISTENERS.isdisjoint((element.attr("class") or "").split())


def _is_formula(element: Element) -> bool:
    """A formula that is hidden is shown as a picture, which is hidden from listeners in turn."""
    formula = next(element.iter_elements(_FORMULA), None)
    if formula is None or len(formula.text.strip()) != len(element.text.strip()):
        return False
    return formula.attr("alttext") is not None or next(formula.iter_elements("annotation"), None) is not None


def _is_spoken_above(element: Element) -> bool:
    """Whether listeners are told the text by the label of what is around it, so that only readers need it."""
    label = element.parent.attr("aria-label") if isinstance(element.parent, Element) else None
    return label is not None and label.strip() == element.text.strip()


def _settle(spare: Sequence[Element], body: Element) -> None:
    """What a page shows without scripts counts only where it is most of the page."""
    if not spare:
        return
    size = sum(len(element.text) for element in spare)
    most = size > 0 and 2 * size > len(body.text)
    for element in spare:
        if most:
            element.tag = "div"
        else:
            element.extract()


def _place_streamed(body: Element) -> None:
    """React sends late parts of a page as hidden elements after it, and a script moves them to their places."""
    streamed = {(element.attr("id") or "")[2:]: element for element in body.select(_STREAMED)}
    for element in streamed.values():
        del element.attrs["hidden"]
    for place in body.select(_PLACES):
        part = streamed.pop((place.attr("id") or "")[2:], None)
        if part is not None:
            place.replace_with(part)

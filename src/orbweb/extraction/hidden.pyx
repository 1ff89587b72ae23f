"""Removes what a page does not show: scripts, styles, controls and hidden text.

Hidden text is counted. What one click shows (a closed `<details>`, an inactive tab) is not hidden, nor is an
element with most of the page's text, because then a script shows it. Parts that React streams after the page are
moved to their places first. Style sheets are not read.
"""

import re

from orbweb.extraction import placeholders
from orbweb.extraction.page_scan cimport Glance
from orbweb.extraction.class_names cimport Collector
from orbweb.parsing.html.walk cimport following
from orbweb.parsing.html.tree cimport (
    ATTR_ALTTEXT, ATTR_ARIA_HIDDEN, ATTR_ARIA_LABEL, ATTR_CHECKED, ATTR_CLASS, ATTR_DISABLED, ATTR_HIDDEN,
    ATTR_ID, ATTR_ROLE, ATTR_STYLE, ATTR_TYPE, NONE, ROOT, TAG_ANNOTATION, TAG_BUTTON, TAG_DIV, TAG_INPUT,
    TAG_LI, TAG_MATH, TAG_NOSCRIPT, TAG_SCRIPT, TAG_SPAN, TAG_TEMPLATE, TAG_TEXTAREA, Span, TagSet, Tree,
    as_str, begins, blank_at, is_text, tags,
)

MAX_WEIGHED = 50
"""The most hidden elements that are tested for having most of the page's text; outer ones come first."""

MOST = 0.9
"""The share of a page's text from which on an element does not count as hidden,"""
PAGEFUL = 500
"""if it has at least this many characters."""

FEW = 200
"""Up to this many candidates are looked up one by one; with more, a walk through the page is faster."""

TASK_DEPTH = 3
"""The most elements between a check box and its list item."""

cdef TagSet _TITLES = tags("h1 h2 h3 h4 h5 h6 dt summary")
_FOR_LISTENERS = frozenset(("sr-only", "visually-hidden", "screen-reader-text"))
_hides = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE).search


cdef Py_ssize_t drop(Tree tree, int body, Glance glance) except -1:
    cdef list spare = [], found, sizes
    cdef bint has_formulas = False
    cdef int element, tag
    cdef Py_ssize_t count = 0
    for element in glance.mute:
        if tree.tag(element) == TAG_TEMPLATE:
            if _place_streamed(tree, body, glance):
                glance.look_again(tree)
            break
    for element in glance.mute:
        tag = tree.tag(element)
        if tag == TAG_MATH:
            has_formulas = True
        elif tag == TAG_NOSCRIPT:
            spare.append(element)
        elif _is_shown(tree, element):
            continue
        elif tag == TAG_INPUT and _is_of_task(tree, element):
            is_ticked = tree.attr(element, ATTR_CHECKED).start != NULL
            tree.replace(element, tree.new_text(f"{placeholders.TASK[is_ticked]} "))
        elif tag == TAG_BUTTON and tree.parent(element) != NONE and _TITLES.has[tree.tag(tree.parent(element))]:
            tree.set_tag(element, TAG_SPAN)
        else:
            tree.extract(element)
    if spare:
        _settle(tree, spare, body)
    found = _hidden(tree, body, glance)
    if has_formulas:
        found = [element for element in found if not _is_formula(tree, element)]
    if not found:
        return 0
    sizes = [tree.text_length(element) for element in found[:MAX_WEIGHED]]
    if max(sizes) > PAGEFUL:
        most = MOST * tree.text_length(body)
        found = [element for place, element in enumerate(found) if place >= len(sizes) or sizes[place] <= most]
    # From last to first, so that nested hidden elements count once.
    for element in reversed(found):
        count += tree.text_length(tree.extract(element))
    return count


cdef bint is_formula_source(Tree tree, int script) except -1:
    return begins(tree.attr(script, ATTR_TYPE), "math/")


cdef bint _is_shown(Tree tree, int element) except -1:
    """Replace tags that show text in another way: a script with a formula, a field with lines."""
    cdef int tag = tree.tag(element)
    if tag == TAG_SCRIPT:
        return is_formula_source(tree, element)
    return tag == TAG_TEXTAREA and "\n" in tree.text(element).strip()


cdef bint _is_of_task(Tree tree, int element) except -1:
    """Whether a check box begins a list item and is disabled, or is declared as a task."""
    cdef int around = tree.parent(element), place
    cdef bint is_item = False, is_fixed = tree.attr(element, ATTR_DISABLED).start != NULL
    if not is_text(tree.attr(element, ATTR_TYPE), "checkbox"):
        return False
    for place in range(<int> TASK_DEPTH + 1):
        if around == NONE or around == ROOT:
            break
        is_item = is_item or (place < TASK_DEPTH and tree.tag(around) == TAG_LI)
        is_fixed = is_fixed or tree.has_class(around, "task-list")
        around = tree.parent(around)
    return is_item and is_fixed


cdef list _hidden(Tree tree, int body, Glance glance):
    """The hidden elements that are still in the tree, in document order."""
    cdef list found = glance.hidden
    cdef int element
    if len(found) <= FEW:
        found = [element for element in found if tree.is_inside(element, body)]
    else:
        glance.look_again(tree)
        found = glance.hidden
    return [element for element in found if _is_hidden(tree, element)]


cdef bint _is_hidden(Tree tree, int element) except -1:
    cdef Span value
    if is_text(tree.attr(element, ATTR_ROLE), "tabpanel"):
        return False
    if is_text(tree.attr(element, ATTR_ARIA_HIDDEN), "true"):
        return not _is_spoken_above(tree, element)
    value = tree.attr(element, ATTR_HIDDEN)
    if value.start != NULL and not is_text(value, "until-found"):
        return True
    value = tree.attr(element, ATTR_STYLE)
    if value.start != NULL and _is_hiding(value):
        return True
    value = tree.attr(element, ATTR_CLASS)
    return value.start != NULL and not _FOR_LISTENERS.isdisjoint(as_str(value).split())


cdef bint _is_hiding(Span style) except -1:
    """Whether a style hides an element."""
    cdef Py_ssize_t place
    for place in range(style.size):
        if <unsigned char> style.start[place] >= 0x80:
            return _hides(as_str(style)) is not None
    return _is_stated(style, "display", "none") or _is_stated(style, "visibility", "hidden")


cdef bint _is_stated(Span style, const char* name, const char* wanted) noexcept:
    """Whether an ASCII style has a property with a value that starts with this."""
    cdef const char* at = style.start
    cdef const char* end = at + style.size
    cdef const char* behind
    while at < end:
        behind = _after(at, end, name)
        at += 1
        if behind == NULL:
            continue
        behind = _after_blanks(behind, end)
        if behind < end and behind[0] == b":" and _after(_after_blanks(behind + 1, end), end, wanted) != NULL:
            return True
    return False


cdef const char* _after(const char* at, const char* end, const char* word) noexcept:
    """The position after a word (in lower case) at this position, ignoring case; NULL if it is not there."""
    while word[0]:
        if at == end or (at[0] + 32 if b"A" <= at[0] <= b"Z" else at[0]) != word[0]:
            return NULL
        at += 1
        word += 1
    return at


cdef const char* _after_blanks(const char* at, const char* end) noexcept:
    while at < end and blank_at(at, end):
        at += 1
    return at


cdef bint _is_formula(Tree tree, int element) except -1:
    """A visually hidden formula is shown as a picture, which in turn is hidden from screen readers."""
    cdef int formula = tree.first_tagged(element, TAG_MATH)
    if formula == NONE or len(tree.text(formula).strip()) != len(tree.text(element).strip()):
        return False
    return tree.attr(formula, ATTR_ALTTEXT).start != NULL or tree.first_tagged(formula, TAG_ANNOTATION) != NONE


cdef bint _is_spoken_above(Tree tree, int element) except -1:
    """Whether screen readers get the text from the label of an ancestor, so it is meant for visual readers
    only."""
    cdef int around = tree.parent(element)
    cdef str label = tree.attr_str(around, ATTR_ARIA_LABEL) if around != NONE else None
    return label is not None and label.strip() == tree.text(element).strip()


cdef int _settle(Tree tree, list spare, int body) except -1:
    """The content of `<noscript>` counts only if it is most of the page."""
    cdef Py_ssize_t size = 0
    cdef bint most
    cdef int element
    for element in spare:
        size += tree.text_length(element)
    most = size > 0 and 2 * size > tree.text_length(body)
    for element in spare:
        if most:
            tree.set_tag(element, TAG_DIV)
        else:
            tree.extract(element)
    return 0


cdef bint _place_streamed(Tree tree, int body, Glance glance) except -1:
    """React sends late parts of a page as hidden elements after it, and a script moves them to their places.

    Returns whether there are any.
    """
    cdef dict streamed = {}
    cdef list places = []
    cdef int node = body, tag, place, part
    cdef bint is_any
    cdef Span name
    while True:
        node = following(tree.nodes, node, body)
        if node == NONE:
            break
        tag = tree.nodes[node].tag
        if tag != TAG_DIV and tag != TAG_TEMPLATE:
            continue
        name = tree.attr(node, ATTR_ID)
        if tag == TAG_TEMPLATE:
            if begins(name, "P:") or begins(name, "B:"):
                places.append(node)
        elif begins(name, "S:") and tree.attr(node, ATTR_HIDDEN).start != NULL:
            streamed[as_str(name)[2:]] = node
    is_any = bool(streamed)
    for part in streamed.values():
        tree.drop_attr(part, ATTR_HIDDEN)
        glance.look(tree, part, Collector())
    for place in places:
        part = streamed.pop(tree.attr_str(place, ATTR_ID)[2:], NONE)
        if part != NONE and not tree.is_inside(place, part):
            tree.replace(place, part)
    return is_any

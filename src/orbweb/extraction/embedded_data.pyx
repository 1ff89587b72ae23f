"""The text that a page contains only as data for scripts and search engines.

Size and depth are bounded; broken data is ignored.
"""

import json

from orbweb.parsing.html.tree cimport ATTR_TYPE, Tree, is_text

MAX_CHARACTERS = 1_000_000
"""The most characters of data of a page that are read."""
MAX_DEPTH = 8

_TEXTS = ("articleBody", "text", "description")


cdef str text(Tree tree, list found):
    cdef str best = "", source, said
    cdef Py_ssize_t room = MAX_CHARACTERS
    cdef int element
    for element in found:
        if not is_text(tree.attr(element, ATTR_TYPE), "application/ld+json"):
            continue
        source = tree.text(element)
        room -= len(source)
        if room < 0:
            break
        try:
            value = json.loads(source)
        except (ValueError, RecursionError):
            continue
        said = _longest(value, MAX_DEPTH)
        if len(said) > len(best):
            best = said
    return best


cdef str _longest(object value, int depth):
    cdef str best = "", said
    if depth == 0:
        return best
    if isinstance(value, list):
        for item in value:
            said = _longest(item, depth - 1)
            if len(said) > len(best):
                best = said
    elif isinstance(value, dict):
        for name in _TEXTS:
            own = value.get(name)
            if isinstance(own, str) and len(own) > len(best):
                best = own
        for item in value.values():
            said = _longest(item, depth - 1)
            if len(said) > len(best):
                best = said
    return best

"""Recognizes the generator of a page, and selects its content by the table of generators.

Marks are searched for only if no generator is declared; a selector is tried only on a page that has all of its
names. Of the text only its length is used.
"""

import re

from orbweb.extraction cimport class_names
from orbweb.extraction.class_names cimport Used
from orbweb.parsing.html.selectors cimport Selector, all_matching, compiled, first_matching, matches
from orbweb.parsing.html.tree cimport (
    ATTR_CONTENT, ATTR_NAME, NONE, ROOT, TAG_DIV, TAG_H1, TAG_HEAD, Span, TagSet, Tree, blank_at,
    is_text_in_any_case, tags,
)

from orbweb.extraction.generators import TABLE

LEAST = 40
"""Least characters of the content; with fewer, the marks are considered a coincidence."""
MAX_DEPTH = 100
"""The most ancestors of a part that are searched for another part."""

cdef enum:
    CHARACTERS = 40
    DEPTH = 100

_FRAME = ("div", "body", "main", "article", "section", "table")
_NAMED = re.compile(r"([.#])([\w-]+)")
_MARK = re.compile(r"([a-z]+\d?)?([.#])([\w-]+)")

cdef TagSet _META = tags("meta")
cdef TagSet _HEADINGS = tags("h1 h2 h3 h4 h5 h6")
# For each class that is a mark, its indexes in the table and the selector of elements on which it counts.
cdef dict _by_class = {}
cdef dict _by_id = {}
cdef dict _by_meta = {}
# The selectors of a generator, each with the names that it requires.
cdef dict _needed = {}


def _index():
    for place, generator in enumerate(TABLE):
        for mark in generator.marks:
            named = _MARK.fullmatch(mark)
            if named is None:
                _by_meta[mark] = place
            elif named[2] == "#":
                _by_id[named[3]] = place
            else:
                on = (named[1],) if named[1] else _FRAME
                _by_class.setdefault(named[3], []).append((place, ", ".join(f"{tag}.{named[3]}" for tag in on)))


_index()
cdef frozenset _classes = frozenset(_by_class)
cdef frozenset _ids = frozenset(_by_id)


def found(Tree tree):
    """The names of the generators of a page, for callers in Python."""
    return [generator.name for generator in find(tree, class_names.used(tree, ROOT))]


cdef list find(Tree tree, Used used):
    cdef set places = _stated(tree)
    if not places:
        places = {_by_id[name] for name in _ids & used.ids}
        for name in _classes & used.classes:
            for place, selector in _by_class[name]:
                if place not in places and first_matching(tree, ROOT, compiled(selector)) != NONE:
                    places.add(place)
    return [TABLE[place] for place in sorted(places)]


cdef set _stated(Tree tree):
    """The indexes in the table of the generator declared in `<meta name=generator>`."""
    cdef set places = set()
    cdef int head = tree.first_tagged(ROOT, TAG_HEAD), node = head
    while node != NONE:
        node = tree.next_tagged(node, head, &_META)
        if node != NONE and is_text_in_any_case(tree.attr(node, ATTR_NAME), b"generator"):
            said = (tree.attr_str(node, ATTR_CONTENT) or "").lower()
            places.update(place for mark, place in _by_meta.items() if said.startswith(mark))
    return places


cdef int content(object generator, Tree tree, int body, Used used) except -2:
    cdef list parts = _possible(generator.parts, used), drop, title
    cdef int element = _joined(tree, body, compiled(", ".join(parts))) if parts else NONE, node
    if element == NONE:
        element = _first(tree, body, _possible(generator.main, used))
    if element == NONE:
        return NONE
    drop = _possible(generator.drop, used)
    if drop:
        for node in all_matching(tree, element, compiled(", ".join(drop))):
            tree.extract(node)
    title = _possible(generator.title, used)
    if title:
        _put_title(tree, body, element, compiled(", ".join(title)))
    return element


cdef list _possible(object selectors, Used used):
    """The selectors of a list that may match on a page with these names; trying others would be slow."""
    cdef list needed = _needed.get(selectors)
    if needed is None:
        parted = selectors.split(", ") if isinstance(selectors, str) else selectors
        needed = _needed[selectors] = [(selector, _names(selector)) for selector in parted if selector]
    return [selector for selector, names in needed if (<Used> names).are_among(used)]


def _names(str selector):
    named = _NAMED.findall(selector)
    return Used(*(frozenset(name for sign, name in named if sign == kind) for kind in ".#"))


cdef int _first(Tree tree, int body, list selectors) except -2:
    cdef Selector selector
    cdef int element
    for text in selectors:
        selector = compiled(text)
        if text.startswith("body") and matches(tree, body, selector):
            element = body
        else:
            element = first_matching(tree, body, selector)
        if element != NONE and _is_enough(tree, element):
            return element
    return NONE


cdef bint _is_enough(Tree tree, int element) except -1:
    """Whether an element has LEAST characters, without leading and trailing white space."""
    cdef int node = element, blank
    cdef Py_ssize_t size = 0
    cdef Span text
    cdef const char* end
    while True:
        node = tree.following(node, element)
        if node == NONE:
            return False
        text = tree.data(node)
        end = text.start + text.size
        while text.start < end:
            blank = blank_at(text.start, end)
            size += size > 0 if blank else (<unsigned char> text.start[0] & 0xC0) != 0x80
            if size >= CHARACTERS and not blank:
                return True
            text.start += blank or 1


cdef int _joined(Tree tree, int body, Selector selector) except -2:
    """Move the parts into one element; a nested part moves with the outer one."""
    cdef list parts = all_matching(tree, body, selector)
    cdef int part, joined, holder
    for part in parts:
        if tree.has_text(part):
            break
    else:
        return NONE
    joined = tree.new_element(TAG_DIV)
    for part in parts:
        if not _is_within(tree, part, joined):
            holder = tree.append(joined, tree.new_element(TAG_DIV))
            tree.append(holder, part)
    return joined


cdef bint _is_within(Tree tree, int part, int joined) except -1:
    for _ in range(DEPTH):
        part = tree.parent(part)
        if part == NONE or part == joined:
            break
    return part == joined


cdef int _put_title(Tree tree, int body, int element, Selector selector) except -1:
    cdef int title = first_matching(tree, body, selector), own, heading
    if title == NONE or title == element or tree.is_inside(element, title):
        return 0
    if tree.is_inside(title, element):
        if not _HEADINGS.has[tree.tag(title)]:
            tree.wrap(title, TAG_H1)
        return 0
    own = tree.first_tagged(element, TAG_H1)
    if own == NONE or tree.text(own).split() != tree.text(title).split():
        heading = tree.new_element(TAG_H1)
        tree.append(heading, title)
        tree.prepend(element, heading)
    return 0

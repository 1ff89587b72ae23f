"""The heading of a page that matches its title. Letters and digits are compared, ignoring case and everything
between them.
"""

import re

from cpython.unicode cimport PyUnicode_DecodeASCII

from orbweb.extraction.class_names cimport is_named
from orbweb.parsing.html.walk cimport next_tagged
from orbweb.parsing.html.tree cimport (
    ATTR_HREF, NONE, ROOT, TAG_H1, TAG_H2, TAG_H4, TAG_TITLE, Span, TagSet, Tree, begins, tags,
)

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    const char* PyUnicode_AsUTF8(object text) except NULL

MAX_HEADINGS = 30
"""The most headings that are compared with the title."""
MOST = 0.5
"""Least share of a heading that a part of the title must cover."""

cdef enum:
    MAX_TITLE = 2_000
    # The most characters of a text that are compared.
    MAX_DEPTH = 200
    # The most ancestors of a heading that are inspected.
    LEVELS = TAG_H4 - TAG_H1 + 1

HEADINGS = tags("h1 h2 h3 h4 h5 h6")
cdef TagSet _LEVELS = tags("h1 h2 h3 h4")
cdef TagSet _H1 = tags("h1")
cdef TagSet _LINK = tags("a")
cdef TagSet _CHROME = tags("nav aside footer")
_no_letters = re.compile(r"[\W_]+").sub
_parts = re.compile(r"\s+[^\w\s]{1,3}\s+|\s*[|\xbb\xab]\s*|\s+\(").split


cpdef str letters(str text):
    """The comparable form of a text: its letters and digits."""
    cdef char kept[MAX_TITLE]
    cdef const char* said
    cdef Py_ssize_t place, size = 0
    cdef char sign
    if not PyUnicode_IS_ASCII(text):
        return _no_letters("", text[:MAX_TITLE]).casefold()
    said = PyUnicode_AsUTF8(text)
    for place in range(min(len(text), <Py_ssize_t> MAX_TITLE)):
        sign = said[place]
        if b"A" <= sign <= b"Z":
            sign += 32
        if b"a" <= sign <= b"z" or b"0" <= sign <= b"9":
            kept[size] = sign
            size += 1
    return PyUnicode_DecodeASCII(kept, size, NULL)


cdef list find(Tree tree, int body):
    """The headings that match a part of the title and are not boilerplate, most likely first.

    A link to another page may be the name of the site: it counts only if there is nothing else. A heading of the
    second level counts only if none of the first does, a lower one only if there are no others.
    """
    cdef int title = tree.first_tagged(ROOT, TAG_TITLE), level, heading
    cdef str stated = tree.text(title)[:MAX_TITLE].strip() if title != NONE else ""
    cdef list parts = _parts_of(stated)
    cdef list levels, headings, found, own
    cdef dict said
    if not parts:
        return []
    levels = _headings(tree, body)
    for level in range(LEVELS):
        headings = levels[level]
        said = {heading: _said(letters(tree.text(heading)), parts) for heading in headings}
        found = [heading for heading, count in said.items() if count and not _is_chrome(tree, heading)]
        if found:
            own = [heading for heading in found if not _leads_away(tree, heading)]
            return sorted(own or found, key=said.__getitem__, reverse=True)
        if level == TAG_H2 - TAG_H1 and headings:
            break
    return []


cpdef int drop(Tree tree, int element, str stated) except -1:
    """Remove the heading that repeats the title `stated` from the content: its only heading of the first level, or
    the first one if it matches."""
    cdef int heading = tree.first_tagged(element, TAG_H1)
    cdef bint is_only = heading != NONE and next_tagged(tree.nodes, heading, element, &_H1) == NONE
    if heading == NONE:
        heading = next_tagged(tree.nodes, element, element, &HEADINGS)
    if heading != NONE and (is_only or _said(letters(tree.text(heading)), _parts_of(stated[:MAX_TITLE]))):
        tree.extract(heading)
    return 0


cdef list _parts_of(str stated):
    """The title and its parts, in comparable form."""
    return [part for part in map(letters, (stated, *_parts(stated))) if part] if stated else []


cdef list _headings(Tree tree, int body):
    """The first headings of each level."""
    cdef list levels = [[] for _ in range(LEVELS)], level
    cdef int node = body
    while True:
        node = next_tagged(tree.nodes, node, body, &_LEVELS)
        if node == NONE:
            return levels
        level = levels[tree.tag(node) - TAG_H1]
        if len(level) < MAX_HEADINGS:
            level.append(node)


cdef bint _leads_away(Tree tree, int heading) except -1:
    """Whether a heading is only a link to another page."""
    cdef int link = heading
    cdef str said = letters(tree.text(heading))
    cdef Span href
    while True:
        link = next_tagged(tree.nodes, link, heading, &_LINK)
        if link == NONE:
            return False
        href = tree.attr(link, ATTR_HREF)
        if href.start == NULL or not href.size or begins(href, "#"):
            continue
        if letters(tree.text(link)) == said:
            return True


cdef bint _is_chrome(Tree tree, int heading) except -1:
    """Whether a heading is inside boilerplate by tag or names. A `<header>` may be that of the text."""
    cdef int around = heading, _count
    for _count in range(MAX_DEPTH):
        around = tree.parent(around)
        if around == NONE:
            break
        if _CHROME.has[tree.tag(around)] or is_named(tree, around):
            return True
    return False


cdef Py_ssize_t _said(str heading, list parts) except -1:
    """How many letters of a part of the title a heading contains, if they are most of it, or it equals a part."""
    cdef Py_ssize_t most = 0
    cdef str part
    if heading:
        for part in parts:
            if len(part) > most and len(part) >= MOST * len(heading) and part in heading:
                most = len(part)
    return most


cdef int put(Tree tree, list headings, int element) except -1:
    """Move the most likely heading to the start of an element, unless it contains one of them, or is inside a
    heading."""
    cdef int heading, around, _count
    if not headings:
        return 0
    for heading in headings:
        around = heading
        for _count in range(MAX_DEPTH):
            around = tree.parent(around)
            if around == element:
                return 0
            if around == NONE:
                break
    if tree.closest(element, &_LEVELS) == NONE:
        tree.prepend(element, headings[0])
    return 0

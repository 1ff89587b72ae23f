"""The Markdown and plain text of the main element.

A CommonMark parser with tables reads the output as the same headings, code, tables and words; text that looks like
Markdown is escaped. The element is changed.
"""

import re

from orbweb.extraction import placeholders
from orbweb.model import Heading

from orbweb.extraction.normalise cimport shape
from orbweb.extraction.plain_text cimport said
from orbweb.extraction.titles cimport HEADINGS
from orbweb.parsing.html.walk cimport next_tagged
from orbweb.extraction.markdown_writer cimport finished
from orbweb.parsing.html.tree cimport NONE, TAG_H1, TagSet, Tree, tags

cdef TagSet _LINKS = tags("a")
cdef TagSet _IMAGES = tags("img")

MAX_AROUND = 2
"""The most headings around a listed heading."""


cdef class Rendered:
    """The Markdown and the plain text of an element, and the headings in it."""


cpdef Rendered render(Tree tree, int element, str base, frozenset classes, bint links=True, bint images=True):
    """The Markdown and text of an element; its links are made absolute against `base`.

    `classes` are all class names that may occur in it. Without `links` their text is left, without `images`
    nothing, not even a link that contains nothing else.
    """
    shape(tree, element, base, classes)
    if not images:
        _drop_images(tree, element)
    if not links:
        tree.strip_tags(element, &_LINKS)
    return rendered(tree, element)


cdef int _drop_images(Tree tree, int element) except -1:
    cdef int image, link
    cdef set links = set()
    for image in tree.all_tagged(element, &_IMAGES):
        links.add(tree.closest(image, &_LINKS))
        tree.extract(image)
    links.discard(NONE)
    for link in links:
        if not tree.has_text(link):
            tree.extract(link)
    return 0


cpdef Rendered rendered(Tree tree, int element):
    """The Markdown and text of a normalized element."""
    cdef Rendered found = Rendered()
    cdef bint escaped = False, signed = False, hard = False
    found.headings = _headings(tree, element)
    found.text = said(tree, element, &escaped)
    found.markdown = finished(tree, element, not escaped, &signed, &hard)
    if signed:
        found.markdown = placeholders.write(found.markdown)
    if hard and _HARD not in found.text:
        found.markdown = _without_hard_ends(found.markdown)
    return found


cdef tuple _headings(Tree tree, int element):
    """The headings, with nested ones, but not deeply nested ones, because each would repeat all of the text."""
    cdef list found = [], around = []
    cdef int node = element
    tree.at(element)
    while True:
        node = next_tagged(tree.nodes, node, element, &HEADINGS)
        if node == NONE:
            return tuple(found)
        while around and not tree.is_inside(node, around[len(around) - 1]):
            around.pop()
        if len(around) <= MAX_AROUND:
            found.append(Heading(tree.tag(node) - TAG_H1 + 1, " ".join(placeholders.speak(tree.text(node)).split())))
        around.append(node)


_HARD = "&#160;"
"""A non-breaking space, written where a plain blank would be lost."""
_hard_blanks = re.compile(rf"{_HARD}(?:[ \xa0]|{_HARD})*+(\n++|\Z)?")
_begins_item = re.compile(r" *(?:[-*+]|\d+[.)]) ").match


cdef str _without_hard_ends(str markdown):
    """Remove such spaces at the end of lines, and lines of nothing else, except one that separates two lists. If
    the page itself contains the entity, all are kept."""
    cdef list kept = []
    last = 0
    for found in _hard_blanks.finditer(markdown):
        if found[1] is None:
            continue
        before = markdown[last : found.start()].rstrip(" \xa0")
        alone = not before or before.endswith("\n")
        if before.endswith(">") or (alone and _begins_item(markdown, found.end())):
            kept.append(markdown[last : found.end()])
        else:
            kept.append(before if alone else before + found[1])
        last = found.end()
    return "".join((*kept, markdown[last:])).rstrip("\n")

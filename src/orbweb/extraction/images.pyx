"""Normalizes images, and replaces media and embedded content by links. Images without content are dropped.
"""

import re

from libc.string cimport memchr

from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport (
    ATTR_ALT, ATTR_ARIA_LABEL, ATTR_HEIGHT, ATTR_HREF, ATTR_SRC, ATTR_TITLE, ATTR_WIDTH, NONE, TAG_A, TAG_DIV,
    TAG_IMG, TAG_SOURCE, Span, TagSet, Tree, as_str, begins, is_text_in_any_case, stripped, tags,
)

cdef TagSet FILMS = tags("iframe video audio embed")
cdef dict _CALLED = {"iframe": "embedded page", "video": "video", "audio": "audio", "embed": "embedded file"}
cdef tuple _LAZY = ("data-src", "data-original", "data-lazy-src", "data-srcset", "srcset")

cdef object _no_target = re.compile(r"\s*(?:javascript|vbscript|data|about|file|blob):", re.IGNORECASE).match
cdef object _is_spacer = re.compile(
    r"(?:spacer|blank|pixel|transparent|1x1|clear)\.(?:gif|png)(?:\?.*)?$", re.IGNORECASE
).search


cdef int shape(Tree tree, ElementCensus noted) except -1:
    cdef int picture, place, count = 0
    for place in range(noted.count):
        picture = noted.noted[place]
        if tree.tag(picture) == TAG_IMG and tree.parent(picture) != NONE:
            _shape(tree, picture)
            count += 1
    return count


cdef int _shape(Tree tree, int picture) except -1:
    cdef Span source = tree.attr(picture, ATTR_SRC)
    cdef str late, sign
    if source.size == 0 or begins(source, b"data:"):
        late = _late(tree, picture)
        if late:
            tree.set_attr(picture, ATTR_SRC, late)
            source = tree.attr(picture, ATTR_SRC)
        else:
            source.size = 0
    if tree.has_class(picture, b"emoji"):
        sign = tree.attr_str(picture, ATTR_ALT)
        if sign:
            return tree.replace(picture, tree.new_text(sign))
    if source.size == 0 or begins(source, b"data:") or _is_dot(tree, picture) or (
        _may_be_spacer(source) and _is_spacer(as_str(source))
    ):
        tree.extract(picture)
    return 0


cdef bint _may_be_spacer(Span source) noexcept:
    """Whether the URL names a GIF or PNG whose name ends like that of a spacer, or not in ASCII."""
    cdef const char* at = source.start
    cdef const char* end = at + source.size
    cdef Span kind
    kind.size = 3
    while True:
        at = <const char*> memchr(at, b".", end - at)
        if at == NULL or end - at < 4:
            return False
        at += 1
        kind.start = at
        if at - source.start > 1 and (
            memchr(b"rkltRKLT1", (at - 2)[0], 9) != NULL or <unsigned char> (at - 2)[0] >= 0x80
        ) and (is_text_in_any_case(kind, b"gif") or is_text_in_any_case(kind, b"png")):
            return True


cdef str _late(Tree tree, int picture):
    cdef str source
    for name in _LAZY:
        source = _first_source(as_str(tree.attr_named(picture, name)))
        if source:
            return source
    return ""


cdef str _first_source(str value):
    cdef list words = value.split(None, 1) if value else []
    return words[0].rstrip(",") if words and not words[0].startswith("data:") else ""


cdef bint _is_dot(Tree tree, int picture) except -1:
    return _is_tiny(tree.attr(picture, ATTR_WIDTH)) or _is_tiny(tree.attr(picture, ATTR_HEIGHT))


cdef bint _is_tiny(Span length) noexcept:
    length = stripped(length)
    if length.size == 3 and length.start[1] == b"p" and length.start[2] == b"x":
        length.size = 1
    return length.size == 1 and b"0" <= length.start[0] <= b"2"


cdef bint leads_nowhere(str reference) except -1:
    return _no_target(reference) is not None


cdef int films(Tree tree, ElementCensus noted) except -1:
    cdef int film, place, count = 0
    for place in range(noted.count):
        film = noted.noted[place]
        if FILMS.has[tree.tag(film)] and tree.parent(film) != NONE:
            _link(tree, film, noted)
            count += 1
    return count


cdef int _link(Tree tree, int film, ElementCensus noted) except -1:
    cdef str source = tree.attr_str(film, ATTR_SRC), name
    cdef int node
    if source is None:
        node = _source(tree, film)
        source = tree.attr_str(node, ATTR_SRC) if node != NONE else None
    if not source or leads_nowhere(source):
        return tree.extract(film)
    name = tree.attr_str(film, ATTR_TITLE) or tree.attr_str(film, ATTR_ARIA_LABEL)
    node = tree.new_element(TAG_A)
    tree.set_attr(node, ATTR_HREF, source)
    tree.set_text(node, name or _CALLED[tree.tag_name(film)])
    noted.note(node)
    return tree.replace(film, tree.wrap(node, TAG_DIV))


cdef int _source(Tree tree, int film) except -2:
    cdef int node = film
    while True:
        node = tree.following(node, film)
        if node == NONE or (tree.tag(node) == TAG_SOURCE and tree.attr(node, ATTR_SRC).start != NULL):
            return node

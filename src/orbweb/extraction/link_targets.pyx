"""Makes references absolute, like `urljoin`.

Plain references need no parsing: those that are absolute already, and those that are appended unchanged to a
prefix of the base. The result is the same as with parsing.
"""

from libc.string cimport memcmp, memcpy

from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.tree cimport (ATTR_HREF, ATTR_SRC, NONE, TAG_A, TAG_IMG, Attribute, Span, Tree, as_str, begins)

cdef enum:
    MAX_UP = 8
    # The most directories that a plain reference may go up.
    PAGE = 9
    SITE = 10
    # The indexes of the prefixes of a fragment and of an absolute path, after those of the directories.
    FRONTS = 11


cdef object _element = None
# The element factory of turbohtml, imported when needed.


cdef str joined(str reference, str base):
    global _element
    if _element is None:
        from turbohtml import Element
        _element = Element
    probe = _element("a", {"href": reference})
    try:
        probe.resolve_links(base)
    except ValueError:
        return reference
    return probe.attr("href") or base


cdef class _Base:
    """The prefixes of a base URL."""

    cdef str url
    cdef list fronts
    # The prefixes of plain references, computed when needed.
    cdef dict known
    # A cache of references that are not plain: as written -> absolute.

    cdef bytes front(self, int place):
        cdef bytes found = self.fronts[place]
        if found is None:
            probe = "#x" if place == PAGE else "/x" if place == SITE else "../" * place + "x"
            found = joined(probe, self.url).removesuffix("x").encode("utf-8", "surrogatepass")
            self.fronts[place] = found
        return found

    cdef bytes read(self, Span reference):
        cdef bytes said = reference.start[:reference.size]
        cdef bytes found = self.known.get(said)
        if found is None:
            found = joined(as_str(reference), self.url).encode("utf-8", "surrogatepass")
            self.known[said] = found
        return found


cdef int resolve(Tree tree, ElementCensus noted, str base) except -1:
    cdef _Base known = _Base.__new__(_Base)
    cdef int node, name, place, attribute
    known.url, known.fronts, known.known = base, [None] * FRONTS, {}
    for place in range(noted.count):
        node = noted.noted[place]
        if tree.tag(node) == TAG_A:
            name = ATTR_HREF
        elif tree.tag(node) == TAG_IMG:
            name = ATTR_SRC
        else:
            continue
        for attribute in range(tree.nodes[node].at, tree.nodes[node].at + tree.nodes[node].size):
            if tree.attributes[attribute].name == name:
                _resolve(tree, attribute, known)
                break
    return 0


cdef int _resolve(Tree tree, int place, _Base base) except -1:
    cdef Attribute* attribute = &tree.attributes[place]
    cdef Span reference
    cdef bytes front
    cdef int kind, skipped = 0, start = attribute.at
    reference.start, reference.size = tree.heap + start, attribute.size
    if not reference.size or _is_whole(reference):
        return 0
    kind = _plain_kind(reference, &skipped)
    if kind == NONE:
        front = base.read(reference)
        skipped = attribute.size
    else:
        front = base.front(kind)
    tree.reserve(len(front) + attribute.size - skipped)
    attribute.at, attribute.size = <int> tree.heap_size, <int> len(front) + attribute.size - skipped
    memcpy(tree.heap + tree.heap_size, <const char*> front, len(front))
    memcpy(tree.heap + tree.heap_size + len(front), tree.heap + start + skipped, attribute.size - len(front))
    tree.heap_size += attribute.size
    return 0


cdef inline bint _is_plain(unsigned char sign) noexcept:
    """Whether a character is never changed after the host."""
    return sign > 0x20 and sign != 0x7F and sign != b"\\" and sign != b"[" and sign != b"]"


cdef bint _is_whole(Span reference) noexcept:
    """Whether it is an absolute http(s) URL that is not changed."""
    cdef Py_ssize_t place = 8 if begins(reference, b"https://") else 7 if begins(reference, b"http://") else 0
    cdef char sign
    if not place or place >= reference.size:
        return False
    sign = reference.start[place]
    if sign == b"/" or sign == b"?" or sign == b"#":
        return False
    while place < reference.size:
        if not _is_plain(reference.start[place]):
            return False
        place += 1
    return True


cdef int _plain_kind(Span reference, int* skipped) noexcept:
    """The index of the prefix that a reference is appended to, and its first bytes to skip; NONE if it must be
    parsed."""
    cdef const char* at = reference.start
    cdef const char* end = at + reference.size
    cdef const char* start
    cdef int kind = 0
    cdef bint in_path = True, at_segment = True
    if at[0] == b"#":
        kind, in_path = PAGE, False
        at += 1
    elif at[0] == b"/":
        kind = SITE
        at += 1
    else:
        while end - at >= 3 and memcmp(at, b"../", 3) == 0:
            kind += 1
            at += 3
        if kind > MAX_UP or (not kind and at[0] == b"?"):
            return NONE
    skipped[0] = <int> (at - reference.start)
    start = at
    while at < end:
        if not _is_plain(at[0]):
            return NONE
        if in_path:
            if at[0] == b"?" or at[0] == b"#":
                in_path = False
                if at == start and at == reference.start:
                    return NONE
            elif at_segment and (at[0] == b"." or at[0] == b"/"):
                return NONE
            elif at[0] == b":" or at[0] == b";":
                return NONE
            at_segment = at[0] == b"/"
        at += 1
    return kind
